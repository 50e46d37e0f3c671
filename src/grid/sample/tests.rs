use super::*;

#[test]
fn small_maps_stay_as_they_are() {
    let map = Map::from_vec(2, 3, vec![0.0, 1.0, 2.0, 10.0, 11.0, 12.0]);
    assert_eq!(shrink(&map, 2, 3), map);
    assert_eq!(shrink(&map, 100, 100), map);
}

#[test]
fn each_axis_shrinks_by_its_own_mean() {
    let map = Map::from_vec(2, 4, vec![1.0_f32, 3.0, 5.0, 7.0, 11.0, 13.0, 15.0, 17.0]);
    assert_eq!(shrink(&map, 2, 2), Map::from_vec(2, 2, vec![2.0, 6.0, 12.0, 16.0]));
    assert_eq!(shrink(&map, 1, 4), Map::from_vec(1, 4, vec![6.0, 8.0, 10.0, 12.0]));
}

#[test]
fn bins_cut_by_a_border_count_by_their_share() {
    let map = Map::from_vec(1, 3, vec![3.0, 6.0, 12.0]);
    let halves = shrink(&map, 1, 2);
    assert!((halves[(0, 0)] - 4.0).abs() < 1e-12, "(3 + 6/2) / 1.5");
    assert!((halves[(0, 1)] - 10.0).abs() < 1e-12, "(6/2 + 12) / 1.5");
}

#[test]
fn the_mean_of_the_whole_is_kept() {
    let map = Map::from_vec(17, 23, (0..17 * 23).map(|k| f64::from(k * k % 97)).collect());
    let mean = |m: &Map<f64>| m.as_slice().iter().sum::<f64>() / m.as_slice().len() as f64;
    for (mx, my) in [(1, 1), (5, 23), (16, 7), (17, 22)] {
        assert!((mean(&shrink(&map, mx, my)) - mean(&map)).abs() < 1e-9, "{mx} x {my}");
    }
}

#[test]
fn means_of_present_values_leave_out_nan() {
    let nan = f64::NAN;
    let map = Map::from_vec(2, 4, vec![1.0, nan, nan, nan, 3.0, 5.0, nan, nan]);
    let small = shrink_present(&map, 1, 2);
    assert_eq!(small[(0, 0)], 3.0);
    assert!(small[(0, 1)].is_nan());
}

#[test]
fn nan_is_not_averaged_away() {
    let mut map = Map::filled(4, 4, 1.0);
    map[(3, 0)] = f64::NAN;
    let small = shrink(&map, 2, 2);
    assert!(small[(1, 0)].is_nan());
    assert_eq!((small[(0, 0)], small[(0, 1)], small[(1, 1)]), (1.0, 1.0, 1.0));
    assert_eq!(finite_range(map.as_slice()), Some((1.0, 1.0)));
    assert_eq!(finite_range(&[f32::NAN; 4]), None);
}
