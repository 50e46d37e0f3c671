use super::*;

fn even() -> Axis {
    Axis::even(-8.0, 8.0, 8)
}

fn cover(axis: &Axis, low: f64, high: f64) -> (usize, usize, [f64; 3]) {
    let cover = axis.cover(low, high, Counting::Whole).unwrap();
    (cover.first, cover.last, cover.shares())
}

#[test]
fn intervals_cover_bins_in_shares() {
    let uneven = Axis { edges: vec![-8.0, -6.0, -4.0, 0.0, 8.0], per_bin: None };
    assert_eq!(cover(&even(), -7.0, -0.5), (0, 3, [0.5, 1.0, 0.75]));
    assert_eq!(cover(&uneven, -7.0, -0.5), (0, 2, [0.5, 1.0, 0.875]));
    assert_eq!(cover(&uneven, 2.0, 99.0), (3, 3, [0.75, 0.0, 0.0]));
    assert_eq!(cover(&even(), -4.0, 0.0), (2, 3, [1.0, 1.0, 1.0]));
    assert_eq!(cover(&even(), 8.0, 8.0), (7, 7, [0.0, 0.0, 0.0]));
    for (low, high) in [(8.5, 9.0), (-10.0, -8.5), (f64::NAN, 1.0), (1.0, 0.0)] {
        assert_eq!(even().cover(low, high, Counting::Whole), None);
    }
}

#[test]
fn circuitnet_leaves_out_the_last_bin() {
    let cover = |low, high| {
        let cover = even().cover(low, high, Counting::ButTheLast).unwrap();
        (cover.first, cover.last, cover.shares())
    };
    assert_eq!(cover(-7.0, -0.5), (0, 3, [0.5, 1.0, 0.0]));
    assert_eq!(cover(-7.0, -6.5), (0, 0, [0.25, 0.0, 0.0]));
    // An edge belongs to the bin on its left, of which nothing is covered.
    assert_eq!(cover(-4.0, -3.0), (1, 2, [0.0, 1.0, 0.0]));
    assert_eq!([even().bin(-4.0, Counting::ButTheLast), even().bin(-4.0, Counting::Whole)], [1, 2]);
    assert_eq!([even().bin(-8.0, Counting::ButTheLast), even().bin(8.0, Counting::Whole)], [0, 7]);
}

#[test]
fn shares_per_length_have_a_limit() {
    let axis = even();
    for length in [0.0, 1e-300, 1e-15, 1e-9] {
        let cover = axis.cover(1.0, 1.0 + length, Counting::Whole).unwrap();
        let [head, ..] = cover.shares_per_length(&axis, length);
        assert!(head <= 0.5 && (length < 1e-12 || (head - 0.5).abs() < 1e-5), "{length} {head}");
    }
}

#[test]
fn gcells_lie_between_lines() {
    let lines = |axis, start, count, step| GcellGrid { axis, start, count, step };
    let def = [
        lines(GridAxis::X, 30.0, 2, 3.5),
        lines(GridAxis::X, 0.0, 4, 10.0),
        lines(GridAxis::Y, -4.0, 3, 8.0),
    ];
    let grid = RoutingGrid::from_gcells(&def).unwrap().unwrap();
    assert_eq!(grid.x_edges(), [0.0, 10.0, 20.0, 30.0, 33.5]);
    assert_eq!(grid.y_edges(), [-4.0, 4.0, 12.0]);
    assert!(RoutingGrid::from_gcells(&def[..2]).is_none());
    let many = [def[0], lines(GridAxis::Y, 0.0, u64::MAX, 1.0)];
    assert!(RoutingGrid::from_gcells(&many).unwrap().is_err());
}

#[test]
fn edges_have_to_ascend() {
    let good = || vec![0.0, 1.0];
    for bad in [vec![], vec![0.0], vec![0.0, 0.0], vec![1.0, 0.0], vec![0.0, f64::NAN]] {
        assert!(RoutingGrid::from_edges(bad.clone(), good()).is_err(), "{bad:?}");
        assert!(RoutingGrid::from_edges(good(), bad).is_err());
    }
    assert!(RoutingGrid::from_edges(good(), vec![0.0, f64::INFINITY]).is_err());
    assert_eq!(RoutingGrid::from_edges(good(), vec![0.0, 1.0, 5.0]).unwrap().bin_area(0, 1), 4.0);
}
