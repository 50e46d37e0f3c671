use super::*;

/// Returns the map of `value` at the bins' centres, by shares of the sides.
fn map(n: usize, value: impl Fn(f64, f64) -> f64) -> Map<f64> {
    let at = |k: usize| (k as f64 + 0.5) / n as f64;
    Map::from_vec(n, n, (0..n * n).map(|bin| value(at(bin / n), at(bin % n))).collect())
}

#[test]
fn contours_of_a_cone_are_circles() {
    let cone = map(64, |x, y| (x - 0.5).hypot(y - 0.5));
    for (level, lines) in contours(&cone, 5) {
        // The highest is beyond the middles of the sides.
        assert_eq!(lines.len(), if level > 0.5 { 4 } else { 1 }, "{level}");
        for (x, y) in lines.into_iter().flatten() {
            assert!(((x - 0.5).hypot(y - 0.5) - level).abs() < 2e-3, "{x} {y}");
        }
    }
    assert!(contours(&Map::filled(8, 8, 1.0), 5).is_empty());
}

#[test]
fn streamlines_keep_to_the_field_and_apart() {
    // Circles around the middle: along them the distance from it stays.
    let (x, y) = (map(64, |_, y| 0.5 - y), map(64, |x, _| x - 0.5));
    let lines = streamlines(&x, &y, 1.0);
    assert!(lines.len() > 4, "{}", lines.len());
    for line in &lines {
        let far = |p: &Point| (p.0 - 0.5).hypot(p.1 - 0.5);
        assert!(line.iter().all(|p| (far(p) - far(&line[0])).abs() < 5e-3));
        let turn = |p: &[Point]| (p[0].0 - 0.5) * (p[1].1 - 0.5) - (p[0].1 - 0.5) * (p[1].0 - 0.5);
        assert!(line.windows(2).all(|pair| turn(pair) > 0.0), "in the field's direction");
    }
    let none = Map::filled(8, 8, 0.0);
    assert!(streamlines(&none, &none, 2.0).is_empty());
}

#[test]
fn a_profile_follows_its_line() {
    let plane = map(32, |x, y| 3.0 * x + y);
    let die = Rect::at(10.0, 0.0, 40.0, 30.0);
    let values = profile(&plane, &die, (20.0, 7.5), (40.0, 22.5));
    assert_eq!((values[0].0, values[values.len() - 1].0), (0.0, 25.0));
    for (distance, value) in values {
        assert!((value - (1.0 + distance * 0.08)).abs() < 1e-12);
    }
}
