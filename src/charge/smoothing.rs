//! Local smoothing: cells smaller than √2 bins are spread over √2 bins.
//!
//! Per axis w' = max(w, √2·bin), about the same centre; the area is kept by the weight w·h /
//! (w'·h'). Without it a cell within one bin would feel no change when it moves (ePlace, Lu et al.,
//! TODAES 2015; the factor √2 is DREAMPlace's). The weight of a movable macro is multiplied by the
//! target density: once placed it fills its bins for good, just as fixed cells do. (In DREAMPlace
//! the target density replaces the weight, so that a macro below √2 bins counts more than its area.)

use super::Rectangles;
use crate::grid::BinGrid;
use crate::parallel;
use std::f64::consts::SQRT_2;

/// Least extent of a smoothed body along an axis, in bins: the one definition, for every engine.
pub(crate) const LEAST_EXTENT: f64 = SQRT_2;

/// Returns the length along an axis once it is stretched to √2 bins at least.
pub fn stretch(length: f64, bin: f64) -> f64 {
    length.max(LEAST_EXTENT * bin)
}

/// Returns real over stretched area: the weight of a unit of stretched area.
pub(super) fn ratio(width: f64, height: f64, grid: &BinGrid) -> f64 {
    let stretched = stretch(width, grid.bin_x()) * stretch(height, grid.bin_y());
    width * height / stretched
}

/// Returns which movable cells are macros, by index: those marked, or if none are marked those of
/// DREAMPlace: larger than 10 times the mean area and taller than 2 rows.
pub(super) fn macros(cells: &Rectangles<'_>, movable_area: f64, row_height: f64) -> Vec<u32> {
    let least = 10.0 * movable_area / cells.width.len().max(1) as f64;
    let is_macro = |i: usize| match cells.macros {
        Some(marked) => marked[i],
        None => cells.width[i] * cells.height[i] > least && cells.height[i] > 2.0 * row_height,
    };
    parallel::filter(cells.width.len(), is_macro).into_iter().map(|i| i as u32).collect()
}
