use super::*;

#[test]
fn differences_are_relative_to_the_reference() {
    let mut reference = vec![0.0; 100_000];
    reference[70_000] = -4.0;
    reference[3] = 3.0;
    let mut other = reference.clone();
    other[70_000] = -3.0;
    other[5] = 2.0;
    let [largest, rms] = difference_of::<f64>(&reference, &other);
    assert_eq!(largest, 2.0 / 4.0);
    assert!((rms - 5f64.sqrt() / 5.0).abs() < 1e-15);
    assert_eq!(difference_of::<f32>(&[1.0; 3], &[1.0; 3]), [0.0, 0.0]);
    other[9] = f64::NAN;
    assert!(difference_of::<f64>(&reference, &other).iter().all(|d| d.is_nan()));
}
