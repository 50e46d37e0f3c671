//! Options of a placement, and the numbers that an expert may change.

use crate::setters::setters;
use serde::Serialize;
use std::ops::RangeInclusive;

/// An option with a value outside its range.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("{option}: {value}: expected {expected}")]
pub struct BadOption {
    /// Its name.
    pub option: &'static str,
    /// Its value.
    pub value: f64,
    /// The values that it may have.
    pub expected: &'static str,
}

/// Fails unless every option, given with its name, is in the range `expected`.
pub(super) fn check_range(
    range: RangeInclusive<f64>,
    expected: &'static str,
    options: &[(&'static str, f64)],
) -> Result<(), BadOption> {
    match options.iter().find(|(_, value)| !range.contains(value)) {
        Some(&(option, value)) => Err(BadOption { option, value, expected }),
        None => Ok(()),
    }
}

/// Options of a placement: when to stop, and the schedules of γ and λ.
///
/// ```
/// use placefield::place::PlaceOptions;
/// let options = PlaceOptions::default().stop_overflow(0.1).iterations(500);
/// assert!(!options.warm);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct PlaceOptions {
    /// Smoothed overflow at which the placement ends; 0.07 by default.
    ///
    /// If some movable cells are macros ([`ClassOverflow`](super::ClassOverflow)), the overflow of
    /// the other cells must be as low, too.
    pub stop_overflow: f64,
    /// Most iterations; 2000 by default.
    pub iterations: usize,
    /// Whether the start is a placement and the result should stay near it. The first weight of the
    /// density then follows from its overflow
    /// ([`schedule::first_density_weight`](super::schedule::first_density_weight)). Otherwise the
    /// weight is for a centred start.
    pub warm: bool,
    /// Least smoothed overflow that the choice of this weight assumes for a warm start; 0 by
    /// default. With higher values cells move more freely at first.
    pub warm_overflow: f64,
    /// Whether gradients are divided by an estimate of the diagonal of the objective's Hessian
    /// ([`Weights`](super::Weights)); yes by default.
    pub precondition: bool,
    /// How γ and λ change.
    pub schedule: Schedule,
}

/// How γ and λ change while cells spread; [`schedule`](super::schedule) has the formulas.
///
/// ```
/// use placefield::place::{PlaceOptions, Schedule};
/// let mut slower = Schedule::default();
/// slower.late_growth = 1.01;
/// let options = PlaceOptions::default().schedule(slower);
/// assert_eq!(options.schedule.late_growth, 1.01);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Schedule {
    /// λ‖∇density‖₁ / ‖∇WA‖₁ at a centred start; 8e-5 by default.
    pub density_weight: f64,
    /// Largest factor on λ in an iteration while cells are clumped (smoothed
    /// overflow above [`schedule::LATE`](super::schedule::LATE)).
    pub growth: f64,
    /// Largest factor on λ in an iteration once cells are roughly spread. Values nearer to 1 take
    /// more iterations and give shorter wires.
    pub late_growth: f64,
    /// The rise of HPWL in an iteration at which λ is not changed, as a share of the estimated
    /// final HPWL.
    pub reference_rise: f64,
    /// Largest momentum once cells are nearly spread (smoothed overflow below
    /// [`schedule::SPREAD`](super::schedule::SPREAD)). Nesterov's momentum tends to 1 and assumes a
    /// constant objective. The weights of this objective change, and a large momentum then carries
    /// cells past their best positions.
    pub momentum: f64,
    /// Pressure λ‖∇density‖₁ / ‖∇WA‖₁ up to which λ grows.
    pub pressure: f64,
    /// γ at overflow 1, in units of ten times the sum of a bin's width and height. If it is more,
    /// the unit is ten times twice the mean distance of cells. DREAMPlace's value is 4. Half of it
    /// gives 1 to 2 % less HPWL on ibm01 and ibm07; a quarter gives no further gain.
    pub gamma: f64,
}

impl Default for Schedule {
    fn default() -> Self {
        Schedule {
            density_weight: 8e-5,
            growth: 1.05,
            late_growth: 1.02,
            reference_rise: 0.01,
            momentum: 0.98,
            pressure: 1.5,
            gamma: 2.0,
        }
    }
}

impl Default for PlaceOptions {
    fn default() -> Self {
        PlaceOptions {
            stop_overflow: 0.07,
            iterations: 2000,
            warm: false,
            warm_overflow: 0.0,
            precondition: true,
            schedule: Schedule::default(),
        }
    }
}

/// A number among [`PlaceOptions`], under the same name in every interface.
pub struct Number {
    /// Its name.
    pub name: &'static str,
    /// The values that it may have.
    pub expected: &'static str,
    /// Whether a value is allowed.
    pub holds: fn(f64) -> bool,
    /// Borrows the number from some options.
    pub of: fn(&mut PlaceOptions) -> &mut f64,
}

impl Number {
    const fn share(name: &'static str, of: fn(&mut PlaceOptions) -> &mut f64) -> Self {
        let holds = |v| (0.0..=1.0).contains(&v);
        Number { name, expected: "a number from 0 to 1", holds, of }
    }

    /// Wide enough for any use, and far from the ends of single precision.
    const fn factor(name: &'static str, of: fn(&mut PlaceOptions) -> &mut f64) -> Self {
        let holds = |v| (1e-12..=1e6).contains(&v);
        Number { name, expected: "a number from 1e-12 to 1e6", holds, of }
    }

    const fn growth(name: &'static str, of: fn(&mut PlaceOptions) -> &mut f64) -> Self {
        let holds = |v| v > 1.0 && v <= 2.0;
        Number { name, expected: "a number above 1 and at most 2", holds, of }
    }
}

impl PlaceOptions {
    /// All numbers.
    pub const NUMBERS: [Number; 9] = [
        Number::share("stop_overflow", |options| &mut options.stop_overflow),
        Number::share("warm_overflow", |options| &mut options.warm_overflow),
        Number::factor("density_weight", |options| &mut options.schedule.density_weight),
        Number::growth("growth", |options| &mut options.schedule.growth),
        Number::growth("late_growth", |options| &mut options.schedule.late_growth),
        Number::factor("reference_rise", |options| &mut options.schedule.reference_rise),
        Number::share("momentum", |options| &mut options.schedule.momentum),
        Number::factor("pressure", |options| &mut options.schedule.pressure),
        Number::factor("gamma", |options| &mut options.schedule.gamma),
    ];

    /// Checks the values of all numbers.
    pub(super) fn check(mut self) -> Result<(), BadOption> {
        for Number { name: option, expected, holds, of } in Self::NUMBERS {
            let value = *of(&mut self);
            if !holds(value) {
                return Err(BadOption { option, value, expected });
            }
        }
        Ok(())
    }

    setters! {
        /// Sets the smoothed overflow at which the placement ends.
        stop_overflow: f64,
        /// Sets the largest number of iterations.
        iterations: usize,
        /// Sets whether the start is a placement and the result should stay near it.
        warm: bool,
        /// Sets the least smoothed overflow assumed for a warm start.
        warm_overflow: f64,
        /// Sets whether gradients are preconditioned.
        precondition: bool,
        /// Sets the schedules of γ and λ.
        schedule: Schedule,
    }
}
