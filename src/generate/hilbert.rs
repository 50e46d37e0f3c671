//! The hidden placement: cells in index order along a Hilbert curve over the die.
//!
//! A Hilbert curve visits every point of a `2^bits × 2^bits` grid so that points near each other on
//! the curve are near each other on the plane. It represents the design's hierarchy: neighbours in
//! the node list belong together, at every scale. The curve is not written to files.

use crate::grid::Rect;
use fast_hilbert::{h2xy, xy2h};

/// Ideal positions of cells, on a square grid stretched over the die.
pub(super) struct Hidden {
    bits: u8,
    cells: u64,
    die: Rect,
}

impl Hidden {
    /// At least four grid points for each cell.
    pub(super) fn new(die: Rect, cells: u64) -> Self {
        let bits = (1..31).find(|&b| 1u64 << (2 * b) >= 4 * cells).unwrap_or(31);
        Hidden { bits, cells, die }
    }

    /// Returns the die the curve runs over.
    pub(super) fn die(&self) -> Rect {
        self.die
    }

    /// Returns the grid points along one axis.
    pub(super) fn side(&self) -> f64 {
        (1u64 << self.bits) as f64
    }

    fn points(&self) -> u128 {
        1 << (2 * self.bits)
    }

    /// Returns the place on the curve of a cell.
    pub(super) fn curve_of_cell(&self, cell: u64) -> u64 {
        let points = self.points();
        ((2 * u128::from(cell) + 1) * points / (2 * u128::from(self.cells))) as u64
    }

    /// Returns the cell nearest below a place on the curve.
    pub(super) fn cell_at(&self, curve: u64) -> u64 {
        (u128::from(curve) * u128::from(self.cells) / self.points()) as u64
    }

    /// Returns the place on the curve of a point of the layout; points off the die are moved to its
    /// edge.
    pub(super) fn curve_of_point(&self, x: f64, y: f64) -> u64 {
        let scale = |v: f64, low: f64, extent: f64| (v - low) / extent * self.side();
        self.curve_at(
            scale(x, self.die.xl, self.die.width()),
            scale(y, self.die.yl, self.die.height()),
        )
    }

    /// Returns the place on the curve of a point in grid units; points off the grid are moved to
    /// its edge.
    pub(super) fn curve_at(&self, gx: f64, gy: f64) -> u64 {
        let last = (1u32 << self.bits) - 1;
        // `as` saturates, so that points below the grid land on 0.
        xy2h((gx as u32).min(last), (gy as u32).min(last), self.bits)
    }

    /// Returns the grid point at a place on the curve, in grid units, at its middle.
    pub(super) fn grid_point(&self, place: u64) -> (f64, f64) {
        let (x, y): (u32, u32) = h2xy(place, self.bits);
        (f64::from(x) + 0.5, f64::from(y) + 0.5)
    }

    /// Returns the ideal position of a cell's centre, in layout units.
    pub(super) fn cell_point(&self, cell: u64) -> (f64, f64) {
        let (gx, gy) = self.grid_point(self.curve_of_cell(cell));
        let scale = |g: f64, low: f64, extent: f64| low + g / self.side() * extent;
        (scale(gx, self.die.xl, self.die.width()), scale(gy, self.die.yl, self.die.height()))
    }
}

#[cfg(test)]
mod tests;
