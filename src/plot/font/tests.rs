use super::*;
use tiny_skia::PathSegment;

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
    let path = outlines("Ho", 100.0, false).unwrap();
    let count = |wanted: fn(&PathSegment) -> bool| path.segments().filter(wanted).count();
    assert_eq!(count(|s| matches!(s, PathSegment::MoveTo(_))), 3, "H, and o inside and outside");
    assert_eq!(count(|s| *s == PathSegment::Close), 3);
    let bounds = path.bounds();
    assert!((f64::from(-bounds.top()) - CAPITALS * 100.0).abs() < 0.1, "{bounds:?}");
    assert!(bounds.bottom().abs() < 2.0, "{bounds:?}");
    let (right, width) = (f64::from(bounds.right()), width("Ho", 100.0, false));
    assert!(right < width && right > 0.9 * width, "{right} of {width}");
    assert!(outlines(" ", 10.0, true).is_none());
}
