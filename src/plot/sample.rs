//! Maps brought to the size they are drawn at.

use crate::Real;
use crate::grid::Map;

/// Returns the map with at most `max_x × max_y` bins.
///
/// An axis with more bins is divided anew into the most allowed, each the mean of what it covers,
/// bins cut by a border counted by the share inside; an axis with fewer stays as it is. One value
/// that is not finite makes every mean it enters not finite.
pub(crate) fn shrink<T: Real>(map: &Map<T>, max_x: usize, max_y: usize) -> Map<f64> {
    let (nx, ny) = (map.nx(), map.ny());
    let (mx, my) = (nx.min(max_x), ny.min(max_y));
    let mut out = Map::filled(mx, my, 0.0);
    let mut column = vec![0.0; my];
    let (across, along) = (cover(nx, mx), cover(ny, my));
    for (i, shares) in across.iter().enumerate() {
        for (source, share) in shares.iter() {
            mean_over_y(map.row(source), &along, &mut column);
            let target = &mut out.as_mut_slice()[i * my..][..my];
            for (t, c) in target.iter_mut().zip(&column) {
                *t += share * c;
            }
        }
    }
    out
}

/// Shrinks a map as [`shrink`] does, with means of the finite values alone; not finite if there is
/// none.
pub(super) fn shrink_present<T: Real>(map: &Map<T>, max_x: usize, max_y: usize) -> Map<f64> {
    let of = |value: &dyn Fn(f64) -> f64| shrink(&map.map(|v| value(v.wide())), max_x, max_y);
    let mut sum = of(&|v| if v.is_finite() { v } else { 0.0 });
    let share = of(&|v| if v.is_finite() { 1.0 } else { 0.0 });
    for (value, share) in sum.as_mut_slice().iter_mut().zip(share.as_slice()) {
        *value /= share; // 0 / 0 where there is none
    }
    sum
}

fn mean_over_y<T: Real>(values: &[T], along: &[Cover], out: &mut [f64]) {
    for (o, shares) in out.iter_mut().zip(along) {
        *o = shares.iter().map(|(source, share)| share * values[source].wide()).sum();
    }
}

/// The source bins `[start, end)` of the line, in units of source bins.
struct Cover {
    start: f64,
    end: f64,
}

/// Returns the line of `n` bins divided evenly into `m ≤ n`.
fn cover(n: usize, m: usize) -> Vec<Cover> {
    let border = |k: usize| (k * n) as f64 / m as f64;
    (0..m).map(|k| Cover { start: border(k), end: border(k + 1) }).collect()
}

impl Cover {
    /// Returns the source bins and the share of the whole that each makes up.
    fn iter(&self) -> impl Iterator<Item = (usize, f64)> + '_ {
        let length = self.end - self.start;
        (self.start as usize..self.end.ceil() as usize).map(move |k| {
            let inside = self.end.min(k as f64 + 1.0) - self.start.max(k as f64);
            (k, inside / length)
        })
    }
}

/// Returns the smallest and largest finite value; `None` if there is none.
pub(super) fn finite_range<T: Real>(values: &[T]) -> Option<(f64, f64)> {
    let finite = values.iter().map(|v| v.wide()).filter(|v| v.is_finite());
    finite.fold(None, |range, v| {
        let (lo, hi) = range.unwrap_or((v, v));
        Some((v.min(lo), v.max(hi)))
    })
}

#[cfg(test)]
mod tests {
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
}
