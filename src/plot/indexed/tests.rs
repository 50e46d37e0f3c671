use super::*;
use crate::plot::Scale;
use crate::plot::color::NOT_FINITE;

#[test]
fn maps_have_x_to_the_right_and_y_upward() {
    let map = Map::from_vec(2, 3, vec![0.0, 0.0, f64::NAN, 0.0, 1.0, 0.0]);
    let palette = Palette::between(Scale::Sequential, 0.0, 1.0, None);
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
