use super::*;

#[test]
fn a_column_of_a_paper_has_its_width_and_font() {
    let size = Size::print(88.0, 8.0).unwrap();
    assert!((size.unit * LABELS - 8.0).abs() < 1e-12);
    assert!((size.width.unwrap() * size.unit - 88.0 * POINTS).abs() < 1e-9);
    assert!((size.dpi(600.0).scale - 2.0 * size.scale).abs() < 1e-12);
    let error = Size::print(30.0, 12.0).unwrap_err().to_string();
    assert!(error.contains("at most 3.8"), "{error}");
    assert!(Size::print(0.0, 8.0).is_err() && Size::print(88.0, f64::NAN).is_err());
    assert_eq!(Size::default().dpi(192.0), Size::default());
}
