use super::*;

#[test]
fn thinning_keeps_the_extremes_of_each_column() {
    let noisy: Vec<Point> =
        (0..10_000).map(|k| (f64::from(k) * 1e-3, f64::from(k * 7919 % 1009))).collect();
    let kept = thin_out(&noisy, |point| point.0 * 2.0);
    assert!(kept.len() <= 4 * 21, "{}", kept.len());
    let extremes = |p: &[Point]| range(p.iter().map(|p| p.1));
    assert_eq!(extremes(&kept), extremes(&noisy));
    assert_eq!((kept[0], kept.last()), (noisy[0], noisy.last()));
}
