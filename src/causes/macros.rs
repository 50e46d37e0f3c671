//! Causes in density above the target over macros or in channels between them.

use super::{Case, Cause, Kind, percent};
use crate::cpu::density::CpuDensity;
use crate::grid::{Map, Rect};
use crate::real::largest_first;

/// Area above the target, of the movable area, that is no fault.
const OVERFLOW: f64 = 0.01;
/// The share of it over and between macros from which they are a cause.
const SHARE: f64 = 0.25;
/// An excess over the target below this share of a bin is rounding.
const ROUNDING: f64 = 1e-9;
/// A bin belongs to macros if they cover at least this share of it.
const COVERED: f64 = 0.5;
/// A channel is at most this number of rows wide …
const CHANNEL_ROWS: f64 = 20.0;
/// … or this number of bins, if that is more.
const CHANNEL_BINS: f64 = 2.0;

/// Checks whether area above the target density is over or between macros, fixed or movable.
///
/// Densities are those of the cells at their exact sizes. A bin lies between macros when it lies in
/// a stretch of bins along x or y that ends at a macro on both sides and is no wider than a
/// channel.
pub(super) fn overflow(case: &Case<'_>) -> Option<Cause> {
    let charge = case.charge;
    let grid = charge.grid();
    let mut macros = case.fixed.clone();
    macros.extend(case.movable.iter().filter(|(_, r)| case.is_macro(r)));
    if charge.regions() > 1 || macros.is_empty() || charge.movable_area() <= 0.0 {
        return None;
    }
    let mut above = Map::filled(grid.nx(), grid.ny(), 0.0);
    let (x, y) = charge.initial_positions::<f64>();
    CpuDensity::new(charge, 0.0).exact_map(&x, &y, &mut above);
    let target = charge.target_density();
    for density in above.as_mut_slice() {
        let over = *density - target;
        *density = if over > ROUNDING { over * grid.bin_area() } else { 0.0 };
    }
    let total: f64 = above.as_slice().iter().sum();
    if total < OVERFLOW * charge.movable_area() {
        return None;
    }
    let covered = covered(case, &macros);
    let width = CHANNEL_ROWS * case.row_height;
    let channels = channels(
        &covered,
        [grid.bin_x(), grid.bin_y()].map(|bin| (width / bin).max(CHANNEL_BINS) as usize),
    );
    let sum = |of: &Map<bool>| -> f64 {
        let bins = above.as_slice().iter().zip(of.as_slice());
        bins.filter(|(_, is)| **is).map(|(area, _)| area).sum()
    };
    let (over, between) = (sum(&covered) / total, sum(&channels) / total);
    (over + between >= SHARE).then(|| {
        let channel = width.max(CHANNEL_BINS * f64::min(grid.bin_x(), grid.bin_y()));
        let finding = format!(
            "{} of the movable area is above the target density: \
             {} of that in bins at least half under macros, {} in channels of at most {} between \
             them.",
            percent(total / charge.movable_area()),
            percent(over),
            percent(between),
            case.length(channel)
        );
        let advice = "Place the cells further, as with placefield place --init file and a lower \
                      --stop-overflow; where channels stay full, \
                      move the macros apart or block the channels by fixed nodes.";
        Cause::new(Kind::OverflowAtMacros, finding, advice).about(worst(case, &macros, &above))
    })
}

/// Returns the bins that a rectangle touches, and the area of it in each.
fn bins<'a>(case: &'a Case<'_>, rect: &Rect) -> impl Iterator<Item = ((usize, usize), f64)> + 'a {
    let (grid, die) = (case.charge.grid(), case.die);
    let along = |low: f64, high: f64, from: f64, bin: f64, count: usize| {
        let at = |v: f64| (((v - from) / bin).max(0.0) as usize).min(count - 1);
        at(low)..=at(high)
    };
    let columns = along(rect.xl, rect.xh, die.xl, grid.bin_x(), grid.nx());
    let rows = along(rect.yl, rect.yh, die.yl, grid.bin_y(), grid.ny());
    let rect = *rect;
    columns.flat_map(move |i| rows.clone().map(move |j| (i, j))).map(move |(i, j)| {
        let (x, y) = (die.xl + i as f64 * grid.bin_x(), die.yl + j as f64 * grid.bin_y());
        ((i, j), rect.overlap(&Rect::at(x, y, grid.bin_x(), grid.bin_y())))
    })
}

/// Returns the bins that are macros'.
fn covered(case: &Case<'_>, macros: &[(usize, Rect)]) -> Map<bool> {
    let grid = case.charge.grid();
    let mut area = Map::filled(grid.nx(), grid.ny(), 0.0);
    for (_, rect) in macros.iter().filter(|(_, r)| r.overlap(&case.die) > 0.0) {
        bins(case, rect).for_each(|(bin, share)| area[bin] += share);
    }
    let least = COVERED * grid.bin_area() * (1.0 - ROUNDING);
    area.map(|a| *a >= least)
}

/// Returns the bins in stretches of at most `most` bins, along x or y, between two that are
/// covered.
fn channels(covered: &Map<bool>, most: [usize; 2]) -> Map<bool> {
    let mut found = Map::filled(covered.nx(), covered.ny(), false);
    let mut mark = |line: &dyn Fn(usize) -> (usize, usize), length: usize, most: usize| {
        let mut wall = None;
        for k in (0..length).filter(|&k| covered[line(k)]) {
            if let Some(last) = wall.replace(k)
                && k - last - 1 <= most
            {
                (last + 1..k).for_each(|between| found[line(between)] = true);
            }
        }
    };
    (0..covered.ny()).for_each(|j| mark(&|i| (i, j), covered.nx(), most[0]));
    (0..covered.nx()).for_each(|i| mark(&|j| (i, j), covered.ny(), most[1]));
    found
}

/// Returns the macros with the most area above the target in their own bins and those next to them.
fn worst(case: &Case<'_>, macros: &[(usize, Rect)], above: &Map<f64>) -> Vec<usize> {
    let grid = case.charge.grid();
    let near = |rect: &Rect| Rect {
        xl: rect.xl - grid.bin_x(),
        yl: rect.yl - grid.bin_y(),
        xh: rect.xh + grid.bin_x(),
        yh: rect.yh + grid.bin_y(),
    };
    let inside = macros.iter().filter(|(_, r)| r.overlap(&case.die) > 0.0);
    let mut found: Vec<(f64, usize)> = inside
        .map(|(i, rect)| (bins(case, &near(rect)).map(|(bin, _)| above[bin]).sum(), *i))
        .filter(|(area, _)| *area > 0.0)
        .collect();
    largest_first(&mut found);
    found.into_iter().map(|(_, i)| i).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_channel_has_walls_on_both_sides() {
        // Along x: wall, two free, wall, four free, wall, one free.
        let column = [true, false, false, true, false, false, false, false, true, false];
        let covered = Map::from_vec(10, 1, column.to_vec());
        let found = channels(&covered, [3, 3]);
        let want = [1, 2];
        assert!((0..10).all(|i| found[(i, 0)] == want.contains(&i)), "{found:?}");
        let turned = Map::from_vec(1, 10, column.to_vec());
        assert_eq!(channels(&turned, [9, 4]).as_slice().iter().filter(|v| **v).count(), 6);
    }
}
