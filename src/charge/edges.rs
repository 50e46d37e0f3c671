//! Area that stretching moves over the die's edge.
//!
//! A cell smaller than √2 bins is stretched about its centre. If the stretched part extends beyond
//! the die, that share is in no bin, although no area of the cell itself is outside.

use super::Charge;
use super::smoothing::stretch;
use crate::grid::Rect;
use crate::real::Real;

impl Charge {
    /// Returns the area of movable cells that do move that lies on the die and yet in no bin of the
    /// smoothed map, because they are stretched over the die's edge, when they are at the
    /// lower-left corners `x`, `y` (those of fillers, if given, are not looked at). Layout units
    /// squared; the same for any number of threads.
    pub fn edge_loss<T: Real>(&self, x: &[T], y: &[T]) -> f64 {
        let (grid, die) = (self.grid(), self.grid().die());
        let lost = |[x, y, width, height]: [f64; 4]| {
            let (w, h) = (stretch(width, grid.bin_x()), stretch(height, grid.bin_y()));
            let spread = Rect::at(x - (w - width) / 2.0, y - (h - height) / 2.0, w, h);
            if width * height == 0.0 || super::fixed::contains(&die, &spread) {
                return 0.0;
            }
            let exact = Rect::at(x, y, width, height).overlap(&die);
            (exact - spread.overlap(&die) * (width * height) / (w * h)).max(0.0)
        };
        let blocks = self.by_blocks(x, y, |sum: &mut f64, cell| *sum += lost(cell));
        blocks.iter().sum()
    }
}

#[cfg(test)]
mod tests {
    use crate::charge::{Charge, ChargeOptions, Rectangles};
    use crate::grid::{BinGrid, Rect};

    #[test]
    fn edge_loss_counts_only_stretching() {
        // Bins of 10 × 20: cells of 2 × 40 are stretched along x alone, to √2 · 10.
        let grid = BinGrid::new(Rect::at(0.0, 0.0, 100.0, 200.0), 10, 10).unwrap();
        let (width, height) = ([2.0; 4], [40.0; 4]);
        // At the left edge, in the middle, outside, and at the left edge with the lower half
        // outside.
        let (x, y) = ([0.0, 50.0, -30.0, 0.0], [80.0, 80.0, 80.0, -20.0]);
        let cells = Rectangles::movable(&width, &height, &x, &y);
        let mut charge = Charge::from_rectangles(grid, &cells, &ChargeOptions::default()).unwrap();
        let wide = 10.0 * 2f64.sqrt();
        let share = (wide / 2.0 - 1.0) / wide;
        assert!((charge.edge_loss(&x, &y) - (80.0 + 40.0) * share).abs() < 1e-9);
        assert_eq!(charge.edge_loss(&x[1..3], &y[1..3]), 0.0);
        // Wider than √2 bins along x, at the lower edge: stretched along neither.
        assert_eq!(charge.edge_loss(&[50.0], &[0.0]), 0.0);
        // The fixed area includes cells that do not move.
        charge.set_fixed_cells(&[true; 4], &x, &y).unwrap();
        assert_eq!(charge.edge_loss(&x, &y), 0.0);
    }
}
