use super::*;
use crate::plot::color::WHITE;
use crate::plot::size::Size;

#[test]
fn pixels_follow_the_scale() {
    let mut drawing = Drawing::new(100.0, 50.0, Size::default());
    let area = Area { left: 20.0, top: 10.0, right: 60.0, bottom: 40.0 };
    drawing.polygon(area.outline(), [1, 2, 3], 1.0);
    for (scale, size) in [(1.0, (100, 50)), (2.5, (250, 125)), (0.5, (50, 25))] {
        let image = render(&drawing, scale).unwrap();
        assert_eq!((image.width, image.height), size);
        let at = |x: f64, y: f64| image.at((x * scale) as usize, (y * scale) as usize);
        assert_eq!([at(22.0, 12.0), at(57.0, 37.0)], [[1, 2, 3]; 2]);
        assert_eq!([at(16.0, 12.0), at(64.0, 37.0)], [WHITE; 2]);
    }
}
