use super::*;

#[test]
fn finds_the_bottom_of_a_bowl() {
    // ½(x² + 10 y²): unlike curvatures, minimum at the origin.
    let mut descent = Descent::new(&[3.0], &[-2.0]);
    for _ in 0..200 {
        let (x, y) = (descent.point().0[0], descent.point().1[0]);
        *descent.gradient() = [vec![x], vec![10.0 * y]];
        descent.advance(0.01, |_, x, y| (x, y));
    }
    let (x, y) = descent.point();
    assert!(x[0].abs() < 1e-6 && y[0].abs() < 1e-6, "{x:?} {y:?}");
}

#[test]
fn clamping_holds() {
    let mut descent = Descent::new(&[0.5], &[0.5]);
    for _ in 0..20 {
        *descent.gradient() = [vec![-1.0], vec![-1.0]];
        descent.advance(0.1, |_, x, y| (x.clamp(0.0, 1.0), y.clamp(0.0, 0.75)));
    }
    assert_eq!(descent.point(), (&[1.0][..], &[0.75][..]));
}
