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
fn few_colours_are_kept_as_they_are() {
    let color = |k: usize| [k as u8, (k / 3) as u8, 0x7f];
    let image = Pixels::from_fn(32, 16, |x, y| color((32 * y + x) / 2));
    let indexed = Indexed::of(&image);
    let found: Vec<Rgb> = indexed.pixels.iter().map(|&k| indexed.colors[usize::from(k)]).collect();
    assert_eq!((found, indexed.colors.len()), (image.colors, 256));
}

#[test]
fn rare_colours_become_near_ones() {
    // 1200 shades, each rarer than the one before, then black, beside much white.
    let shade = |k: usize| [(k % 30 * 8) as u8, (k / 30 * 6) as u8, 0xff];
    let color = |k: usize| match k {
        0 => [0, 0, 0],
        k if k < 3000 => shade((1200.0 * (k as f64 / 3000.0).powi(2)) as usize),
        _ => WHITE,
    };
    let image = Pixels::from_fn(100, 40, |x, y| color(100 * y + x));
    let indexed = Indexed::of(&image);
    assert!(indexed.colors.len() <= 256, "{}", indexed.colors.len());
    assert_eq!((indexed.width, indexed.height, indexed.colors[0]), (100, 40, WHITE));
    for (k, &number) in indexed.pixels.iter().enumerate() {
        let (found, expected) = (indexed.colors[usize::from(number)], color(k));
        assert!((0..3).all(|c| found[c].abs_diff(expected[c]) <= 20), "{found:?} {expected:?}");
    }
    assert_eq!(indexed.colors[usize::from(indexed.pixels[0])], [0, 0, 0]);
}
