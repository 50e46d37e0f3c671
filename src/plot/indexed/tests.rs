use super::*;
use crate::plot::color::WHITE;

#[cfg(feature = "cli")]
#[test]
fn maps_have_x_to_the_right_and_y_upward() {
    use crate::plot::color::{Look, NOT_FINITE};
    let map = Map::from_vec(2, 3, vec![0.0, 0.0, f64::NAN, 0.0, 1.0, 0.0]);
    let palette = Look::default().palette(&[0.0, 1.0]);
    let image = Indexed::of_map(&map, &palette);
    assert_eq!((image.width, image.height), (2, 3));
    assert_eq!(image.pixels, [255, 0, 0, 254, 0, 0]);
    let mut decoder = png::Decoder::new(std::io::Cursor::new(image.png().unwrap()));
    decoder.set_transformations(png::Transformations::EXPAND);
    let mut decoded = decoder.read_info().unwrap();
    assert_eq!(decoded.info().size(), (2, 3));
    let mut colors = [0; 18];
    decoded.next_frame(&mut colors).unwrap();
    assert_eq!(colors[..3], NOT_FINITE);
    assert_eq!(colors[6..9], [0x44, 0x01, 0x54]);
}

#[test]
fn frequent_colours_are_kept_and_others_become_the_nearest() {
    // 300 blues, and black, which is rarest, beside much white.
    let color = |k: usize| match k {
        0 => [0, 0, 0],
        k if k < 1500 => [8 * (k % 30) as u8, 4 * (k / 30 % 10) as u8, 0xff],
        _ => WHITE,
    };
    let image = Pixels::from_fn(100, 40, |x, y| color(100 * y + x));
    let indexed = Indexed::of(&image);
    assert_eq!((indexed.width, indexed.height, indexed.colors.len()), (100, 40, 256));
    assert_eq!(indexed.colors[0], WHITE);
    for (k, &number) in indexed.pixels.iter().enumerate().skip(1) {
        let (found, expected) = (indexed.colors[usize::from(number)], color(k));
        assert!((0..3).all(|c| found[c].abs_diff(expected[c]) <= 36), "{found:?} {expected:?}");
    }
    assert_eq!(indexed.pixels[3999], 0);
}
