use super::*;
use crate::plot::drawing::Text;
use crate::plot::size::Size;

#[test]
fn a_page_has_the_size_asked_for() {
    let size = Size::print(88.0, 8.0).unwrap();
    let mut drawing = Drawing::new(size.width.unwrap(), 400.0, size);
    drawing.text(Text::new("ρ a", (50.0, 50.0), 25.0, [0; 3]));
    drawing.polygon(vec![(0.0, 0.0), (9.0, 0.0), (9.0, 9.0)], [255, 0, 0], 0.3);
    drawing.line(vec![(0.0, 0.0), (9.0, 9.0)], 2.0, [0; 3]);
    let file = encode(&drawing).unwrap();
    let text = String::from_utf8_lossy(&file);
    assert!(text.starts_with("%PDF-1.7") && text.trim_end().ends_with("%%EOF"));
    let (_, media) = text.split_once("/MediaBox [0 0 ").unwrap();
    let numbers: Vec<f64> =
        media.split(']').next().unwrap().split(' ').map(|v| v.parse().unwrap()).collect();
    assert!((numbers[0] - 88.0 / 25.4 * 72.0).abs() < 1e-3, "{numbers:?}");
    assert!((numbers[1] - 400.0 * size.unit).abs() < 1e-3, "{numbers:?}");
    assert!(!text.contains("/Font"));
    assert_eq!(encode(&drawing).unwrap(), file, "the same bytes every time");
}
