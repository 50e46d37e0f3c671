use super::*;

fn texts(axis: &Axis) -> Vec<&str> {
    axis.ticks.iter().map(|(_, t)| t.as_str()).filter(|t| !t.is_empty()).collect()
}

#[test]
fn ticks_are_round_and_lie_inside() {
    let axis = Axis::linear(459.0, 11151.0, 7);
    assert_eq!(texts(&axis), ["2000", "4000", "6000", "8000", "10000"]);
    assert_eq!(axis.label("x"), "x");
    assert_eq!(texts(&Axis::linear(-0.3, 0.3, 5)), ["−0.2", "0.0", "0.2"]);
}

#[test]
fn long_numbers_leave_out_a_power_of_ten() {
    let axis = Axis::linear(0.0, 2.5e6, 6);
    assert_eq!(texts(&axis), ["0.0", "0.5", "1.0", "1.5", "2.0", "2.5"]);
    assert_eq!(axis.label("x"), "x ×10⁶");
    let axis = Axis::linear(0.0, 3e-7, 4);
    assert_eq!(texts(&axis), ["0", "100", "200", "300"]);
    assert_eq!(axis.label(""), "×10⁻⁹");
}

#[test]
fn map_axes_share_a_power_of_ten_when_alike() {
    let [x, y] = Axis::pair((0.0, 90_000.0), (0.0, 120_000.0), [3, 3]);
    assert_eq!((x.label("x"), y.label("y")), ("x ×10³".to_owned(), "y ×10³".to_owned()));
    assert_eq!(texts(&x), ["0", "50"]);
    assert_eq!(texts(&y), ["0", "100"]);
    let [x, y] = Axis::pair((0.0, 1.0), (0.0, 1e9), [5, 5]);
    assert_eq!((x.label("x"), y.label("y")), ("x".to_owned(), "y ×10⁹".to_owned()));
    assert_eq!(texts(&Axis::linear(10.0, 90.0, 2)), ["20", "40", "60", "80"]);
}

#[test]
fn logarithmic_ticks_are_powers_of_ten() {
    let axis = Axis::logarithmic(0.03, 400.0, 10);
    assert_eq!(texts(&axis), ["10⁻²", "10⁻¹", "1", "10", "10²", "10³"]);
    let axis_of_shares = Axis::logarithmic(3e-9, 1.0, 8);
    assert_eq!(texts(&axis_of_shares), ["10⁻⁸", "10⁻⁶", "10⁻⁴", "10⁻²", "1"]);
    assert!((axis.share(0.01)).abs() < 1e-12);
    assert!((axis.share(1.0) - 0.4).abs() < 1e-12);
}

#[test]
fn any_range_gives_an_axis() {
    let extremes = [0.0, 1.0, -1.0, f64::MAX, f64::MIN, 1e-320, 1e300, 1e-300, 1e9 + 1.0];
    for lo in extremes {
        for hi in extremes.into_iter().filter(|&hi| hi >= lo) {
            for axis in [Axis::linear(lo, hi, 6), Axis::rounded(lo, hi, 6)] {
                assert!(axis.lo < axis.hi, "{lo} to {hi}");
                assert!((1..=102).contains(&axis.ticks.len()), "{lo} to {hi}");
                let long = axis.ticks.iter().map(|(_, t)| t.chars().count()).max();
                assert!(long.unwrap() <= 14, "{lo} to {hi}: {:?}", axis.ticks);
            }
        }
    }
}

#[test]
fn short_numbers_have_three_digits() {
    let examples = [(0.0, "0"), (-0.01234, "−0.0123"), (4.561, "4.56"), (789.4, "789")];
    for (value, want) in examples {
        assert_eq!(short(value), want);
    }
    assert_eq!(short(-9.999e-6), "−1.00×10⁻⁵", "rounded up to the next power");
    assert_eq!(short(1.234e6), "1.23×10⁶");
    assert_eq!(short(-1e-300), "−1.00×10⁻³⁰⁰");
}
