use super::*;
use std::io::Read;

fn unpack(text: &str) -> Vec<u8> {
    let packed = STANDARD.decode(text).unwrap();
    let mut bytes = Vec::new();
    flate2::read::ZlibDecoder::new(&packed[..]).read_to_end(&mut bytes).unwrap();
    bytes
}

#[test]
fn floats_come_back_by_their_planes() {
    let values = [1.5, -2.0, 3e9];
    let planes = unpack(&floats(values.iter().copied()));
    for (k, value) in values.iter().enumerate() {
        let bytes: [u8; 4] = std::array::from_fn(|b| planes[3 * b + k]);
        assert_eq!(f64::from(f32::from_le_bytes(bytes)), *value);
    }
}

#[test]
fn levels_come_back_to_half_a_step() {
    let mut map = Map::from_vec(5, 7, (0..35).map(|k| f64::from(k * k % 13) - 4.0).collect());
    map[(3, 2)] = f64::NAN;
    let Levels { lo, hi, levels, data } = Levels::of(&map, 4095);
    let planes = unpack(&data);
    let mut back = [0u16; 35];
    for k in 0..35_usize {
        let (i, j) = (k / 7, k % 7);
        let at = |inside: bool, k: usize| if inside { back[k] } else { 0 };
        let left = at(i > 0, k.wrapping_sub(7));
        let below = at(j > 0, k.wrapping_sub(1));
        let corner = at(i > 0 && j > 0, k.wrapping_sub(8));
        let stored = u16::from_le_bytes([planes[k], planes[35 + k]]);
        back[k] = left.wrapping_add(below).wrapping_sub(corner).wrapping_add(stored);
        let value = lo + f64::from(back[k]) * (hi - lo) / f64::from(levels);
        match map.as_slice()[k] {
            v if v.is_nan() => assert_eq!(back[k], NOT_FINITE),
            v => assert!((v - value).abs() <= 0.5 * (hi - lo) / f64::from(levels) + 1e-12),
        }
    }
    assert_eq!(Levels::of(&Map::filled(2, 2, 3.0), 9).lo, 3.0);
    assert_eq!(Levels::of(&Map::filled(2, 2, f64::NAN), 9).hi, 0.0);
}
