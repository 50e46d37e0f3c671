//! The exact derivative of the energy with respect to positions.
//!
//! The force on a body ([`Engine::read_force`](crate::engine::Engine::read_force)) is the field
//! weighted by the areas that the body covers, which is the derivative of the energy except for the
//! field's variation within a bin. The energy of a map is Σ φ·ρ with φ = Gρ, G symmetric, so that
//! its own derivative is 2 Σ φ·∂ρ, and a body's x changes ρ only in two columns of bins,
//! those of the edges of the smoothed rectangle:
//!
//! ∂E/∂x = (2·ratio/bin_x) Σ_j overlap_y(j) · (φ(right, j) − φ(left, j)),
//!
//! and in the same way along y. An edge outside the die has no effect. Use this to check optimisers
//! and gradients; placers use the force, whose sums are smoother.

use crate::charge::Charge;
use crate::charge::overlap::{Axis, Span};
use crate::charge::smoothing::LEAST_EXTENT;
use crate::engine::{EngineError, check_bins, check_lengths};
use crate::grid::Map;
use crate::parallel::{self, each_mut};
use crate::real::Real;

/// Writes the derivatives of the energy by x and y of every body, per layout unit, for the
/// lower-left corners `x` and `y` and the `potential` that was solved at them.
///
/// # Errors
/// When a slice does not have one value per body, or the map is not `nx × ny` for each fence
/// region.
pub fn energy_gradient<T: Real>(
    charge: &Charge,
    potential: &Map<T>,
    [x, y]: [&[T]; 2],
    [gradient_x, gradient_y]: [&mut [T]; 2],
) -> Result<(), EngineError> {
    let grid = charge.grid();
    check_bins(charge.stacked_bins(), potential)?;
    let lengths = [
        ("x positions", x.len()),
        ("y positions", y.len()),
        ("x of the gradient", gradient_x.len()),
        ("y of the gradient", gradient_y.len()),
    ];
    check_lengths(charge.bodies(), &lengths)?;
    let (axis_x, axis_y) = Axis::of(&charge.grid_from_origin());
    let gradients = (each_mut(gradient_x), each_mut(gradient_y));
    parallel::for_each(gradients, |body, (to_x, to_y)| {
        (*to_x, *to_y) = (T::zero(), T::zero());
        let first = charge.region(body) * grid.nx();
        let phi = |i: usize, j: usize| potential[(first + i, j)].widen();
        let columns = Covered::new(&axis_x, x[body].widen(), charge.width()[body]);
        let rows = Covered::new(&axis_y, y[body].widen(), charge.height()[body]);
        let (Some(columns), Some(rows)) = (columns, rows) else { return };
        let ratio = 2.0 * charge.ratio()[body];
        let along_x = columns.difference(|i| rows.weighted(|j| phi(i, j)));
        let along_y = rows.difference(|j| columns.weighted(|i| phi(i, j)));
        *to_x = T::cast(ratio / grid.bin_x() * along_x);
        *to_y = T::cast(ratio / grid.bin_y() * along_y);
    });
    Ok(())
}

/// The part of one axis that a smoothed body covers.
struct Covered {
    span: Span,
    /// Whether its edges are on the die.
    low: bool,
    high: bool,
}

impl Covered {
    fn new(axis: &Axis, low: f64, size: f64) -> Option<Self> {
        let (low, size) = (axis.position(low), axis.length(size));
        let span = axis.covered(low, size, LEAST_EXTENT)?;
        let stretched = size.max(LEAST_EXTENT);
        let low = low + 0.5 * (size - stretched);
        Some(Covered { span, low: low > 0.0, high: low + stretched < axis.bins() })
    }

    /// Returns Σ of values, each times the covered share of its bin.
    fn weighted(&self, value: impl Fn(usize) -> f64) -> f64 {
        let bins = self.span.first..=self.span.last;
        bins.map(|bin| self.span.of_bin(bin) * value(bin)).sum()
    }

    /// Returns the value in the bin of the upper edge less that in the bin of the lower one.
    fn difference(&self, value: impl Fn(usize) -> f64) -> f64 {
        let upper = if self.high { value(self.span.last) } else { 0.0 };
        let lower = if self.low { value(self.span.first) } else { 0.0 };
        upper - lower
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::charge::{ChargeOptions, Rectangles};
    use crate::cpu::engine::CpuEngine;
    use crate::engine::{Engine, EngineOptions};
    use crate::grid::{BinGrid, Rect};

    /// Against central differences, which are exact where no edge crosses a bin's: the energy
    /// is a square there. Cells smaller and larger than bins, at the die's edges, a macro.
    #[test]
    fn the_gradient_is_the_slope_of_the_energy() {
        let grid = BinGrid::new(Rect::at(-3.0, 2.0, 24.0, 30.0), 12, 10).unwrap();
        let (width, height) = ([1.0, 5.0, 3.0, 9.0], [1.5, 2.0, 7.0, 9.0]);
        let [x, y] = [[2.3, 4.1, 18.9, 8.3], [6.7, 7.9, 2.4, 14.2]];
        let cells =
            Rectangles::movable(&width, &height, &x, &y).macros(&[false, false, false, true][..]);
        let options = ChargeOptions::default().target_density(0.8);
        let charge = Charge::from_rectangles(grid, &cells, &options).unwrap();
        let mut engine = CpuEngine::<f64>::new(charge.clone(), &EngineOptions::default()).unwrap();
        engine.evaluate(&x, &y).unwrap();
        let potential = engine.fields().unwrap().potential.clone();
        let (mut gx, mut gy) = ([0.0; 4], [0.0; 4]);
        energy_gradient(&charge, &potential, [&x, &y], [&mut gx, &mut gy]).unwrap();
        let step = 1e-3;
        for body in 0..4 {
            for axis in 0..2 {
                let mut energy = |by: f64| {
                    let mut moved = [x, y];
                    moved[axis][body] += by;
                    engine.evaluate(&moved[0], &moved[1]).unwrap().energy
                };
                let want = (energy(step) - energy(-step)) / (2.0 * step);
                let got = [gx, gy][axis][body];
                assert!(
                    (got - want).abs() < 1e-8 * (1.0 + want.abs()),
                    "{body} {axis}: {got} {want}"
                );
            }
        }
        assert!(gx.iter().chain(&gy).all(|g| g.abs() > 1e-6));
        let short = energy_gradient(&charge, &potential, [&x[1..], &y], [&mut gx, &mut gy]);
        assert!(matches!(short, Err(EngineError::Length { .. })));
    }
}
