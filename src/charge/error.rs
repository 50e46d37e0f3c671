//! Why a charge cannot be made.

use super::{MAX_BODIES, MAX_FILLERS};
use crate::design::DesignError;

/// Why a [`Charge`](super::Charge) could not be made or enlarged.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ChargeError {
    /// The design's columns do not fit together.
    #[error(transparent)]
    Design(#[from] DesignError),
    /// The target density is not in (0, 1].
    #[error("target density {0}: expected a number above 0 and at most 1")]
    TargetDensity(f64),
    /// A rectangle with a negative size, or a size, area or position that is not finite.
    #[error("{what} {index}: {value}: expected a finite number{}", if *.non_negative { ", not negative" } else { "" })]
    BadNumber {
        /// What the number is, e.g. `"width of movable cell"`.
        what: &'static str,
        /// Which one.
        index: usize,
        /// Its value.
        value: f64,
        /// Whether it must not be negative.
        non_negative: bool,
    },
    /// A bin of a map of areas or target densities that cannot be.
    #[error("{what} {index}: {value}: expected {}", if .what.starts_with("target") { "a number above 0 and at most 1" } else { "a finite number, not negative" })]
    BadBin {
        /// What the map holds.
        what: &'static str,
        /// Which bin, `x · ny + y`.
        index: usize,
        /// Its value.
        value: f64,
    },
    /// The areas of all movable cells, fixed cells or fillers add up to more than an `f64` holds.
    #[error("the area of the {0} together is not a finite number")]
    TotalArea(&'static str),
    /// A slice of the wrong length.
    #[error("{what}: {found} values, expected {expected}")]
    Length {
        /// Which argument.
        what: &'static str,
        /// Length needed.
        expected: usize,
        /// Length given.
        found: usize,
    },
    /// More than [`MAX_BODIES`] movable cells and fillers.
    #[error("{0} bodies: at most {MAX_BODIES} are possible")]
    TooManyBodies(usize),
    /// The free space asks for more than [`MAX_FILLERS`] fillers.
    #[error(
        "{count:.0} fillers of {width} x {height} to fill the free space, at most {MAX_FILLERS}: \
         evaluate without fillers"
    )]
    TooManyFillers {
        /// Fillers needed.
        count: f64,
        /// Width of one.
        width: f64,
        /// Height of one.
        height: f64,
    },
}
