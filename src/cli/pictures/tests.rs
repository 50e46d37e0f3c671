use super::*;

#[test]
fn outliers_are_left_out_and_counted() {
    let series = |values: [f64; 5]| Series {
        name: "side".to_owned(),
        points: (0..5).map(f64::from).zip(values).collect(),
        ..Series::default()
    };
    let even = vec![series([1.0, 1.0, 2.0, 1.0, 1.0]), series([9.0, 7.0, 8.0, 8.0, 40.0])];
    assert_eq!(without_outliers(even.clone()), (even, String::new()));
    let odd = vec![series([1.0, 1.0, 90.0, 1.0, 1.0]), series([2.0, 2.0, 2.0, 11.0, 9.0])];
    let (drawn, left_out) = without_outliers(odd);
    assert_eq!(left_out, "not drawn: 2 of 10 points, above 10.000 and up to 90.000");
    let heights = |s: usize| drawn[s].points.iter().map(|p| p.1).collect::<Vec<_>>();
    assert!(heights(0)[2].is_nan() && heights(1)[3].is_nan());
    assert_eq!(heights(1)[4], 9.0);
}
