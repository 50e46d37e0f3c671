//! Numbers as a page carries them: bytes that compress well, as zlib in base64.
//!
//! `page.js` reads each of these back.

use crate::grid::Map;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use serde::Serialize;
use std::io::Write;

/// Any bytes.
pub(super) fn bytes(bytes: &[u8]) -> String {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    // Writing into memory does not fail.
    encoder.write_all(bytes).expect("memory takes bytes");
    STANDARD.encode(encoder.finish().expect("memory takes bytes"))
}

/// Returns the numbers in `f32`, their bytes sorted by significance, the lowest first.
pub(super) fn floats(values: impl ExactSizeIterator<Item = f64> + Clone) -> String {
    let plane = |b: usize| values.clone().map(move |v| (v as f32).to_le_bytes()[b]);
    bytes(&(0..4).flat_map(plane).collect::<Vec<u8>>())
}

/// Returns an image file as the address of a picture.
pub(super) fn image(kind: &str, file: &[u8]) -> String {
    format!("data:image/{kind};base64,{}", STANDARD.encode(file))
}

/// A map in so many levels between its extremes: `value = lo + level · (hi − lo) / levels`.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Levels {
    lo: f64,
    hi: f64,
    /// One less than their number.
    levels: u16,
    /// Each level less the prediction from its neighbours, in 16 bits: all low bytes, then all high
    /// ones.
    data: String,
}

/// The level of a value that is not finite.
const NOT_FINITE: u16 = u16::MAX;

impl Levels {
    /// `levels` is below [`NOT_FINITE`].
    pub(super) fn of(map: &Map<f64>, levels: u16) -> Levels {
        let finite = map.as_slice().iter().copied().filter(|v| v.is_finite());
        let (lo, hi) =
            finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (v.min(l), v.max(h)));
        let (lo, hi) = if lo <= hi { (lo, hi) } else { (0.0, 0.0) };
        let step = if hi > lo { (hi - lo) / f64::from(levels) } else { 1.0 };
        let level = |v: &f64| match v.is_finite() {
            true => ((v - lo) / step).round() as u16,
            false => NOT_FINITE,
        };
        let values: Vec<u16> = map.as_slice().iter().map(level).collect();
        let ny = map.ny();
        let mut planes = vec![0; 2 * values.len()];
        for (k, &value) in values.iter().enumerate() {
            let (i, j) = (k / ny, k % ny);
            let left = if i > 0 { values[k - ny] } else { 0 };
            let below = if j > 0 { values[k - 1] } else { 0 };
            let corner = if i > 0 && j > 0 { values[k - ny - 1] } else { 0 };
            let foretold = left.wrapping_add(below).wrapping_sub(corner);
            let [low, high] = value.wrapping_sub(foretold).to_le_bytes();
            (planes[k], planes[values.len() + k]) = (low, high);
        }
        Levels { lo, hi, levels, data: bytes(&planes) }
    }
}

#[cfg(test)]
mod tests {
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
}
