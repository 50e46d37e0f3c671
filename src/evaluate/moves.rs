//! Mean displacements of cells, as a map.

use super::coarse_grid;
use crate::design::{Design, Placement};
use crate::grid::{BinGrid, GridError, Map, Rect};

/// Mean displacements of the movable cells by the square that has their centre, layout units; NaN
/// of squares without cells.
#[derive(Clone, Debug)]
pub struct MeanMoves {
    /// The squares.
    pub grid: BinGrid,
    /// Along x and along y.
    pub mean: [Map<f64>; 2],
    /// Whether the squares are those where cells are in the end, not those where they began.
    pub by_end: bool,
}

impl MeanMoves {
    fn squares(&self) -> usize {
        self.mean[0].as_slice().iter().filter(|v| v.is_finite()).count()
    }
}

/// Returns the mean displacements of the cells of `design` from `first` to its own placement, over
/// coarse squares of `die`. Uses the squares of the cells in `first`, or in the second placement if
/// they are more: in a heap all cells are in a few squares.
///
/// # Errors
/// If the die has no area.
///
/// # Panics
/// If `first` has fewer positions than the design has nodes.
pub fn mean_moves(design: &Design, first: &Placement, die: Rect) -> Result<MeanMoves, GridError> {
    let coarse = coarse_grid(design, die)?;
    let by = |at: &Placement, by_end: bool| {
        let zero = Map::filled(coarse.nx(), coarse.ny(), 0.0);
        let (mut x, mut y, mut count) = (zero.clone(), zero.clone(), zero);
        for i in design.movable() {
            let (w, h) = design.size(i);
            let column = (at.x[i] + w / 2.0 - die.xl) / coarse.bin_x();
            let row = (at.y[i] + h / 2.0 - die.yl) / coarse.bin_y();
            let within = |v: f64, bins: usize| v >= 0.0 && v < bins as f64;
            if !within(column, coarse.nx()) || !within(row, coarse.ny()) {
                continue;
            }
            let bin = (column as usize, row as usize);
            x[bin] += design.placement.x[i] - first.x[i];
            y[bin] += design.placement.y[i] - first.y[i];
            count[bin] += 1.0;
        }
        for map in [&mut x, &mut y] {
            for (sum, &n) in map.as_mut_slice().iter_mut().zip(count.as_slice()) {
                *sum /= n; // 0 / 0 where there are none
            }
        }
        MeanMoves { grid: coarse, mean: [x, y], by_end }
    };
    let (start, end) = (by(first, false), by(&design.placement, true));
    Ok(if end.squares() > start.squares() { end } else { start })
}
