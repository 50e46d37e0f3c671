use super::*;

#[test]
fn bins_under_a_cell_are_those_it_reaches_into() {
    let grid = BinGrid::new(Rect::at(10.0, 0.0, 64.0, 32.0), 16, 16).unwrap();
    let of = |x, y, w, h| bins_under(&grid, &Rect::at(x, y, w, h));
    assert_eq!(of(14.0, 2.0, 4.0, 4.0), [1..2, 1..3]);
    assert_eq!(of(13.9, 2.0, 4.2, 0.5), [0..3, 1..2]);
    assert_eq!(of(0.0, -5.0, 100.0, 100.0), [0..16, 0..16]);
    assert!(of(80.0, 0.0, 4.0, 4.0)[0].is_empty());
}
