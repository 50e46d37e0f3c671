//! Causes in bins, fillers and units.

use super::{Case, Cause, Kind, number};
use crate::charge::median;

/// Fillers are too many if their number is this multiple of the cells …
const MOST_FILLERS: f64 = 12.0;
/// … and at least this number.
const LEAST_FILLERS: usize = 2_000;
/// Largest ratio of the heights of most cells and a row, or its inverse.
const UNIT: f64 = 6.0;
/// A bin this much smaller than the mean cell shows single cells.
const FINE: f64 = 1.0 / 16.0;
/// A bin this much larger than the mean cell hides overlaps of cells …
const COARSE: f64 = 64.0;
/// … if there are at least this many cells.
const LEAST_CELLS: usize = 64;

/// Checks whether the fillers are many more than the cells.
pub(super) fn fillers(case: &Case<'_>) -> Option<Cause> {
    let (fillers, cells) = (case.charge.fillers(), case.movable.len());
    let times = fillers as f64 / cells.max(1) as f64;
    (times > MOST_FILLERS && fillers >= LEAST_FILLERS).then(|| {
        let used = case.charge.movable_area() / case.free_area();
        let finding = format!(
            "There are {fillers} fillers beside {cells} movable cells: \
             the cells take only {:.3} of the free area, and fillers are made for the rest.",
            used
        );
        // With three times the cells' area to spread over, fillers have twice that of the cells.
        let target = (300.0 * used - 1e-6).ceil() / 100.0;
        let advice = if target < case.options.target_density {
            format!(
                "Ask for a lower target, as --target-density {target:.2}, \
                     or do without fillers."
            )
        } else {
            "Do without fillers, or check that cells and rows are in one unit.".to_owned()
        };
        Cause::new(Kind::TooManyFillers, finding, advice)
    })
}

/// Checks whether cells are about as tall as rows.
pub(super) fn units(case: &Case<'_>) -> Option<Cause> {
    let row = Some(case.row_height).filter(|h| *h > 0.0)?;
    let mut heights: Vec<f64> = case.movable.iter().map(|(_, r)| r.height()).collect();
    let median = median(&mut heights);
    let times = median / row;
    (median > 0.0 && !(1.0 / UNIT..=UNIT).contains(&times)).then(|| {
        let finding = format!(
            "Half of the movable cells are {} {} high, and most rows {}.",
            if times > 1.0 { "at least" } else { "at most" },
            case.length(median),
            case.length(row)
        );
        let advice = "Write the .nodes, .pl and .scl files in one unit.";
        Cause::new(Kind::UnitsDiffer, finding, advice)
    })
}

/// Checks whether bins are of the cells' order.
pub(super) fn size(case: &Case<'_>) -> Option<Cause> {
    let grid = case.charge.grid();
    let mean = case.mean_area();
    if mean <= 0.0 {
        return None;
    }
    let cells_per_bin = grid.bin_area() / mean;
    // Bins of two mean cells.
    let along = |length: f64| ((length / (2.0 * mean).sqrt()).round() as usize).max(1);
    let [nx, ny] = [along(case.die.width()), along(case.die.height())]
        .map(|n| if n.is_power_of_two() { n } else { n.next_power_of_two() / 2 });
    let finding = |how: &str| {
        format!(
            "A bin has {} of the mean cell's area: {how}",
            if cells_per_bin < 1.0 {
                format!("1/{}", number(1.0 / cells_per_bin))
            } else {
                format!("{} times", number(cells_per_bin))
            }
        )
    };
    if cells_per_bin < FINE {
        let how =
            "the density shows single cells, and the field pushes them about within themselves.";
        let advice = format!("Take fewer bins, as --bins {nx}x{ny}.");
        return Some(Cause::new(Kind::BinsTooFine, finding(how), advice));
    }
    (cells_per_bin > COARSE && case.movable.len() >= LEAST_CELLS).then(|| {
        let how = "cells that lie on one another inside a bin do not show.";
        let advice = format!("Take more bins, as --bins {nx}x{ny}.");
        Cause::new(Kind::BinsTooCoarse, finding(how), advice)
    })
}
