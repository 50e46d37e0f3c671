use super::*;

#[test]
fn every_finite_value_is_counted_in_its_part() {
    let values = [0.0, 0.4, 0.5, 1.9, 2.0, f64::NAN, -1.0, 2.1, 900.0];
    let histogram = Histogram::of(values.into_iter(), (0.0, 2.0), false, 4);
    assert_eq!(histogram.counts, [3, 1, 0, 2], "below the range in the first part");
    assert_eq!(histogram.above, 2);
    let decades = Histogram::of([0.0, 0.02, 0.5, 5.0].into_iter(), (0.01, 100.0), true, 4);
    assert_eq!((decades.counts, decades.above), (vec![2, 1, 1, 0], 0));
}
