//! Maps with fewer bins, and their extremes.

use super::Map;
use crate::Real;

/// Returns the map with at most `max_x × max_y` bins.
///
/// An axis with more bins is divided into the largest allowed number of parts. Each part is the
/// mean of the bins that it covers; bins at a border count by the share inside. An axis with fewer
/// bins does not change. A value that is not finite makes every mean that uses it not finite.
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
pub(crate) fn shrink_present<T: Real>(map: &Map<T>, max_x: usize, max_y: usize) -> Map<f64> {
    let of = |value: &dyn Fn(f64) -> f64| shrink(&map.map(|v| value(v.widen())), max_x, max_y);
    let mut sum = of(&|v| if v.is_finite() { v } else { 0.0 });
    let share = of(&|v| if v.is_finite() { 1.0 } else { 0.0 });
    for (value, share) in sum.as_mut_slice().iter_mut().zip(share.as_slice()) {
        *value /= share; // 0 / 0 where there is none
    }
    sum
}

fn mean_over_y<T: Real>(values: &[T], along: &[Cover], out: &mut [f64]) {
    for (o, shares) in out.iter_mut().zip(along) {
        *o = shares.iter().map(|(source, share)| share * values[source].widen()).sum();
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
pub(crate) fn finite_range<T: Real>(values: &[T]) -> Option<(f64, f64)> {
    let finite = values.iter().map(|v| v.widen()).filter(|v| v.is_finite());
    finite.fold(None, |range, v| {
        let (lo, hi) = range.unwrap_or((v, v));
        Some((v.min(lo), v.max(hi)))
    })
}

#[cfg(test)]
mod tests;
