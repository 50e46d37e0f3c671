//! The allowed positions of a body: lower-left corners such that it lies inside the die.

use crate::charge::Charge;
use crate::parallel;
use crate::real::Real;

/// Least and largest lower-left corner of every body, in the backend's precision, rounded *inward*.
/// A body at a bound never reaches beyond the die, not even by the rounding of its position. A body
/// larger than the die stays at its left or bottom edge.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bounds<T> {
    /// Left edge of the die.
    pub low_x: T,
    /// Bottom edge of the die.
    pub low_y: T,
    /// Largest x of every body.
    pub high_x: Vec<T>,
    /// Largest y of every body.
    pub high_y: Vec<T>,
}

impl<T: Real> Bounds<T> {
    /// Returns the bounds of the bodies of `charge`, counted from [`Charge::origin`].
    pub fn of(charge: &Charge) -> Self {
        let die = charge.grid_from_origin().die();
        let (low_x, low_y) = (round_up(die.xl), round_up(die.yl));
        let highs = |low: T, high: f64, sizes: &[f64]| {
            parallel::map(sizes.len(), |i| round_down::<T>(high, sizes[i]).max(low))
        };
        Bounds {
            high_x: highs(low_x, die.xh, charge.width()),
            high_y: highs(low_y, die.yh, charge.height()),
            low_x,
            low_y,
        }
    }

    /// Returns corner `(x, y)` of body `i`, clamped into the die. NaN stays NaN.
    #[inline(always)]
    pub fn clamp(&self, i: usize, x: T, y: T) -> (T, T) {
        (clamp(x, self.low_x, self.high_x[i]), clamp(y, self.low_y, self.high_y[i]))
    }
}

/// Returns `value.max(low).min(high)`, or NaN if `value` is NaN.
#[inline(always)]
fn clamp<T: Real>(value: T, low: T, high: T) -> T {
    if value < low {
        low
    } else if value > high {
        high
    } else {
        value
    }
}

/// Returns a `T` at or just below `high − size` whose sum with `size` is at most `high`.
fn round_down<T: Real>(high: f64, size: f64) -> T {
    let mut value = T::cast(high - size);
    let mut step = unit_in_last_place(value);
    while value.widen() + size > high {
        value -= step;
        step += step;
    }
    value
}

/// Returns a `T` at or just above `low`.
fn round_up<T: Real>(low: f64) -> T {
    let value = T::cast(low);
    if value.widen() < low { value + unit_in_last_place(value) } else { value }
}

/// Returns the distance to the next number, or up to twice that.
fn unit_in_last_place<T: Real>(value: T) -> T {
    (value.abs() * T::epsilon()).max(T::min_positive_value())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::charge::{ChargeOptions, Rectangles};
    use crate::grid::{BinGrid, Rect};

    #[test]
    fn rounding_never_leads_outside() {
        for (high, size) in [(11151.0, 0.3), (1e7 + 0.1, 1.7), (-0.1, 3.3), (0.0, 0.0)] {
            let (single, double): (f32, f64) = (round_down(high, size), round_down(high, size));
            assert!(f64::from(single) + size <= high && double + size <= high, "{high} {size}");
            assert!((f64::from(single) + size - high).abs() <= 2e-7 * high.abs().max(size));
            assert!((double + size - high).abs() <= 1e-15 * high.abs().max(size));
        }
        assert!(f64::from(round_up::<f32>(0.1)) >= 0.1);
        assert!(f64::from(round_up::<f32>(-0.1)) >= -0.1);
    }

    #[test]
    fn oversized_bodies_stay_at_the_lower_corner() {
        let grid = BinGrid::new(Rect::at(1.0, 2.0, 4.0, 8.0), 4, 4).unwrap();
        let cells = Rectangles {
            width: &[6.0],
            height: &[3.0],
            x: &[0.0],
            y: &[0.0],
            ..Rectangles::default()
        };
        let charge = Charge::from_rectangles(grid, &cells, &ChargeOptions::default()).unwrap();
        let bounds = Bounds::<f64>::of(&charge);
        assert_eq!(bounds.clamp(0, 3.0, 30.0), (1.0, 7.0));
        assert_eq!(bounds.clamp(0, -3.0, -3.0), (1.0, 2.0));
        assert!(bounds.clamp(0, f64::NAN, 3.0).0.is_nan());
    }
}
