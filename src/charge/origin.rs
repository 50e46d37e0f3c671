//! The origin of positions in the precision of an engine.
//!
//! Numbers of single precision have steps of 2⁻²³ of their size. Far from the origin they cannot
//! distinguish cells, even on a small die. Then positions count from the die's
//! lower-left corner. A [`Charge`] and a [`Netlist`](crate::wirelength::Netlist) do not change, and
//! have double precision; engines subtract the corner before they round.
//! Lengths are layout units.

use super::{Charge, ChargeError};
use crate::grid::{BinGrid, Rect};
use crate::real::Precision;

/// The most that coordinates may be rounded by, as a fraction of a row's height.
const COARSEST: f64 = 1.0 / 64.0;

/// Returns the origin for a die with rows of this height: (0, 0) where the precision holds its
/// coordinates, and else the die's lower-left corner.
///
/// # Errors
/// When the precision does not hold coordinates from there either.
pub fn origin_for(
    die: &Rect,
    row_height: Option<f64>,
    precision: Precision,
) -> Result<[f64; 2], ChargeError> {
    let (Some(row), Precision::F32) = (row_height, precision) else { return Ok([0.0; 2]) };
    let longer = die.width().max(die.height());
    match check_steps(farthest(die), row) {
        Ok(()) => Ok([0.0; 2]),
        Err(_) => check_steps(longer, row).map(|()| [die.xl, die.yl]),
    }
}

/// Returns the largest magnitude of the coordinates of `die`.
fn farthest(die: &Rect) -> f64 {
    [die.xl, die.yl, die.xh, die.yh].map(f64::abs).into_iter().fold(0.0, f64::max)
}

/// Fails where single precision rounds coordinates as large as `farthest` by too much for rows.
fn check_steps(farthest: f64, row: f64) -> Result<(), ChargeError> {
    let step = farthest * f64::from(f32::EPSILON);
    if step <= COARSEST * row { Ok(()) } else { Err(ChargeError::Coarse { farthest, step, row }) }
}

impl Charge {
    /// Returns where positions in an engine's precision are counted from, x and y in layout units;
    /// (0, 0) unless set. Every position that an engine takes or gives is from there.
    pub fn origin(&self) -> [f64; 2] {
        self.origin
    }

    /// Sets the origin of positions in an engine's precision to that of [`origin_for`].
    ///
    /// An engine cannot subtract the origin itself: positions reach it in its own precision, rounded
    /// already. Callers therefore subtract the origin in double precision before they round, as
    /// [`Charge::initial_positions`] does. A wirelength operator takes the same origin when it is
    /// made ([`CpuWirelength::new`](crate::cpu::wirelength::CpuWirelength::new)). An engine is not
    /// made where f32 is too coarse for positions from the charge's origin
    /// ([`EngineError::CoarsePositions`](crate::engine::EngineError::CoarsePositions)).
    ///
    /// # Errors
    /// When a number is not finite. The charge is then as it was.
    pub fn set_origin(&mut self, origin: [f64; 2]) -> Result<(), ChargeError> {
        if let Some(index) = origin.iter().position(|v| !v.is_finite()) {
            let (what, value) = ("coordinate of the origin", origin[index]);
            return Err(ChargeError::BadNumber { what, index, value, non_negative: false });
        }
        self.origin = origin;
        Ok(())
    }

    /// Fails where the precision is too coarse for positions from the origin: the rounding exceeds a
    /// small part of a row's height, or of the cells' median height where rows are not known.
    pub(crate) fn check_origin(&self, precision: Precision) -> Result<(), ChargeError> {
        let row = self.source.row_height;
        match precision {
            Precision::F32 if row > 0.0 => {
                check_steps(farthest(&self.grid_from_origin().die()), row)
            }
            _ => Ok(()),
        }
    }

    /// Returns how far in bins, along x and y, the rounding to numbers with this relative step may
    /// move the edge of a body beyond the die.
    pub(crate) fn rounding_at_edges(&self, step: f64) -> [f64; 2] {
        let rounding = 2.0 * step * farthest(&self.grid_from_origin().die());
        [rounding / self.grid.bin_x(), rounding / self.grid.bin_y()]
    }

    /// Returns the bins, where positions from [`Charge::origin`] have them.
    pub(crate) fn grid_from_origin(&self) -> BinGrid {
        let (die, [x, y]) = (self.grid.die(), self.origin);
        match self.origin {
            [0.0, 0.0] => self.grid,
            _ => self.grid.over(Rect {
                xl: die.xl - x,
                yl: die.yl - y,
                xh: die.xh - x,
                yh: die.yh - y,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn far_dies_have_an_origin_of_their_own() {
        let die = Rect::at(3e8, -5e8, 1e5, 2e5);
        let of = |die: &Rect, precision| origin_for(die, Some(12.0), precision);
        assert_eq!(of(&die, Precision::F32), Ok([3e8, -5e8]));
        assert_eq!(of(&die, Precision::F64), Ok([0.0; 2]));
        assert_eq!(of(&Rect::at(459.0, 459.0, 1e4, 1e4), Precision::F32), Ok([0.0; 2]));
        let wide = Rect::at(0.0, 0.0, 1e9, 1e5);
        assert!(of(&wide, Precision::F32).unwrap_err().to_string().starts_with("f32 holds"));
    }
}
