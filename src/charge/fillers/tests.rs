use super::*;

/// More fillers than a block has, drawn one after the other.
#[test]
fn parallel_fillers_equal_one_random_sequence() {
    use crate::charge::{ChargeOptions, Rectangles};
    let grid = BinGrid::new(Rect::at(5.0, -3.0, 300.0, 400.0), 48, 4).unwrap();
    let cells = Rectangles::movable(&[1.0], &[1.0], &[5.0], &[5.0]);
    let options = ChargeOptions::default().fillers(true).seed(11);
    let charge = Charge::from_rectangles(grid, &cells, &options).unwrap();
    assert_eq!(charge.fillers(), 119_999);
    let mut random = Pcg64::seed_from_u64(11);
    let mut drawn: Vec<(f64, f64)> = (1..charge.bodies())
        .map(|_| (5.0 + random.random::<f64>() * 299.0, -3.0 + random.random::<f64>() * 399.0))
        .collect();
    // The second of two stripes begins at 5 + 200. Within each they stand by y.
    drawn.sort_by(|(x, y), (u, v)| (*x >= 205.0).cmp(&(*u >= 205.0)).then(y.total_cmp(v)));
    let found = charge.initial_x()[1..].iter().zip(&charge.initial_y()[1..]);
    assert!(found.map(|(x, y)| (*x, *y)).eq(drawn));
}

#[test]
fn many_fillers_grow_up_to_the_smoothed_size() {
    use crate::charge::{ChargeOptions, Rectangles};
    let grid = BinGrid::new(Rect::at(0.0, 0.0, 320.0, 640.0), 64, 64).unwrap();
    let made = |many| {
        let cells = Rectangles::movable(&[2.0; 2], &[1.0; 2], &[5.0; 2], &[5.0; 2]);
        let options = ChargeOptions::default().fillers(true).many_fillers(many);
        let charge = Charge::from_rectangles(grid, &cells, &options).unwrap();
        let last = charge.bodies() - 1;
        (charge.fillers(), charge.width()[last], charge.height()[last])
    };
    // The die holds 204800; cells take 4.
    assert_eq!(made(usize::MAX), (102_398, 2.0, 1.0));
    assert_eq!(made(102_398), (102_398, 2.0, 1.0));
    let (count, width, height) = made(25_600);
    assert!((25_599..=25_601).contains(&count), "{count}");
    assert!((width / height - 2.0).abs() < 1e-9 && (width - 4.0).abs() < 1e-3, "{width}");
    // Bins are 5 by 10.
    let (count, width, height) = made(1);
    assert_eq!([width, height], [5.0 * LEAST_EXTENT, 10.0 * LEAST_EXTENT]);
    assert_eq!(count, 2048);
}

#[test]
fn rectangles_get_fillers_by_their_area() {
    let over = [Rect::at(0.0, 0.0, 2.0, 5.0), Rect::at(4.0, 0.0, 30.0, 1.0)];
    assert_eq!(shares(&over, 9), [2, 9]);
    assert_eq!(shares(&over[..1], 7), [7]);
}

#[test]
fn filler_width_ignores_extreme_cell_widths() {
    let mut widths = vec![4.0; 18];
    widths.extend([1000.0, 0.001]);
    assert_eq!(mean_width(widths), 4.0);
    assert_eq!(mean_width(vec![2.0]), 2.0);
    assert_eq!(mean_width(Vec::new()), 0.0);
}
