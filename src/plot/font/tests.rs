use super::*;

#[test]
fn digits_have_the_published_advance() {
    // DejaVu Sans: every digit is 1303 of 2048 units wide.
    let digit = 1303.0 / 2048.0 * 100.0;
    assert!((width("0", 100.0, false) - digit).abs() < 0.01);
    assert!((width("2026", 100.0, false) - 4.0 * digit).abs() < 0.05);
    assert!(width("2026", 100.0, true) > 4.0 * digit);
}

#[test]
fn missing_letters_show_their_code_points() {
    assert_eq!(legible("φ² ρ"), "φ² ρ");
    assert_eq!(legible("a中b"), "a‹4E2D›b");
    assert!(width("a中b", 10.0, false) >= width("a‹4E2D›b", 10.0, false));
}

#[test]
fn outlines_are_closed_and_as_large_as_letters() {
    let segments = outlines("Ho", 100.0, false);
    let count = |wanted: fn(&Segment) -> bool| segments.iter().filter(|s| wanted(s)).count();
    assert_eq!(count(|s| matches!(s, Segment::Move(_))), 3, "H, and o inside and outside");
    assert_eq!(count(|s| *s == Segment::Close), 3);
    let ends = segments.iter().filter_map(|s| match s {
        Segment::Move(p) | Segment::Line(p) | Segment::Quadratic(_, p) => Some(*p),
        _ => None,
    });
    let top = ends.clone().map(|p| p.1).fold(0.0, f64::min);
    assert!((-top - CAPITALS * 100.0).abs() < 0.1, "{top}");
    let right = ends.map(|p| p.0).fold(0.0, f64::max);
    assert!(right < width("Ho", 100.0, false) && right > 0.9 * width("Ho", 100.0, false));
    assert_eq!(outlines(" ", 10.0, true), []);
}

#[test]
fn capitals_reach_from_base_line_to_cap_height() {
    let (mut top, mut bottom) = (0, -100);
    rasterize("H", 100.0, false, |_, y, coverage| {
        if coverage > 0.5 {
            (top, bottom) = (top.min(y), bottom.max(y));
        }
    });
    assert_eq!(bottom, -1);
    assert!((f64::from(-top) - CAPITALS * 100.0).abs() <= 1.0, "top at {top}");
}
