//! Local smoothing: cells smaller than √2 bins are spread over √2 bins.
//!
//! Per axis w' = max(w, √2·bin), about the same centre; the area is kept by the weight w·h /
//! (w'·h'). Without it a cell within one bin would feel no change when it moves (ePlace, Lu et al.,
//! TODAES 2015; the factor √2 is DREAMPlace's). Movable macros are weighted by the target density
//! instead: once placed they fill their bins for good, just as fixed cells do.

use super::Rectangles;
use crate::design::Design;
use crate::grid::BinGrid;
use std::f64::consts::SQRT_2;

/// Least extent of a smoothed body along an axis, in bins: the one definition, for every engine.
pub(crate) const LEAST_EXTENT: f64 = SQRT_2;

/// A macro is this many times the mean movable area …
const MACRO_AREA: f64 = 10.0;
/// … and taller than this many rows.
const MACRO_ROWS: f64 = 2.0;

/// Returns the length along an axis once it is stretched to √2 bins at least.
pub fn stretch(length: f64, bin: f64) -> f64 {
    length.max(LEAST_EXTENT * bin)
}

/// Returns real over stretched area: the weight of a unit of stretched area.
pub(super) fn ratio(width: f64, height: f64, grid: &BinGrid) -> f64 {
    let stretched = stretch(width, grid.bin_x()) * stretch(height, grid.bin_y());
    width * height / stretched
}

/// Returns which movable cells are macros, by index: those marked, or where none are marked those
/// of more than 10 times the mean area and 2 rows' height.
pub(super) fn macros(cells: &Rectangles<'_>, movable_area: f64, row_height: f64) -> Vec<u32> {
    let count = cells.width.len();
    let mean = movable_area / count.max(1) as f64;
    let is_macro = |i: usize| match cells.macros {
        Some(marked) => marked[i],
        None => is_macro((cells.width[i], cells.height[i]), mean, row_height),
    };
    (0..count).filter(|&i| is_macro(i)).map(|i| i as u32).collect()
}

/// Whether a movable cell of this size is a macro, by the mean area of all and the rows' height.
pub(crate) fn is_macro((width, height): (f64, f64), mean_area: f64, row_height: f64) -> bool {
    width * height > MACRO_AREA * mean_area && is_tall(height, row_height)
}

/// Returns the movable nodes of `design` that are macros, ascending.
pub(crate) fn movable_macros(design: &Design) -> Vec<usize> {
    let areas = design.movable().map(|i| design.size(i)).map(|(w, h)| w * h);
    let (sum, count) = areas.fold((0.0, 0usize), |(sum, count), area| (sum + area, count + 1));
    let row_height = design.row_height().unwrap_or(0.0);
    let mean = sum / count.max(1) as f64;
    design.movable().filter(|&i| is_macro(design.size(i), mean, row_height)).collect()
}

/// Whether a node is taller than the rows that a macro is taller than.
pub(crate) fn is_tall(height: f64, row_height: f64) -> bool {
    height > MACRO_ROWS * row_height
}
