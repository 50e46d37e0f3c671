//! Errors of making a charge.

use super::{MAX_BODIES, MAX_FILLERS};
use crate::design::DesignError;
use crate::grid::{MAX_BINS, Rect};
use crate::memory::OutOfMemory;

/// Why a [`Charge`](super::Charge) could not be made or enlarged.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ChargeError {
    /// The design's columns do not fit together.
    #[error(transparent)]
    Design(#[from] DesignError),
    /// There is not enough memory for the bins or the bodies.
    #[error(transparent)]
    Memory(#[from] OutOfMemory),
    /// The target density is not in (0, 1].
    #[error("target density {0}: expected a number above 0 and at most 1")]
    TargetDensity(f64),
    /// A rectangle with a negative size, or a size, area or position that is not finite.
    #[error(
        "{what} {index}: {value}: expected a finite number{}",
        if *.non_negative { ", not negative" } else { "" }
    )]
    BadNumber {
        /// The name of the number, e.g. `"width of movable cell"`.
        what: &'static str,
        /// Which one.
        index: usize,
        /// Its value.
        value: f64,
        /// Whether it must not be negative.
        non_negative: bool,
    },
    /// A die so large against its rows that single precision does not tell cells apart on it.
    #[error(
        "f32 holds coordinates of {farthest:e} in steps of {}, for rows that are {row} high",
        rounded(*step)
    )]
    Coarse {
        /// The largest coordinate, or the longer side of the die.
        farthest: f64,
        /// From one number to the next there.
        step: f64,
        /// Height of a row.
        row: f64,
    },
    /// A partial blockage that leaves less than nothing or more than all of its area to cells.
    #[error("partial blockage {index}: {value}: expected a share from 0 to 1")]
    Share {
        /// Which blockage.
        index: usize,
        /// The share.
        value: f64,
    },
    /// A bin of a map of areas or target densities that cannot be.
    #[error(
        "{what} {index}: {value}: expected {}",
        if .what.starts_with("target") {
            "a number above 0 and at most 1"
        } else {
            "a finite number, not negative"
        }
    )]
    BadBin {
        /// The map's name.
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
    /// The free space needs more than [`MAX_FILLERS`] fillers.
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
    /// A fence without rectangles.
    #[error("fence {0}: no rectangles")]
    EmptyFence(usize),
    /// A rectangle of a fence without area, with a bound that is not finite, or outside the die.
    #[error(
        "fence {fence}, rectangle {index}: [{}, {}] x [{}, {}] {}",
        .rect.xl,
        .rect.xh,
        .rect.yl,
        .rect.yh,
        if *.off_die { "lies outside the die" } else { "has no area" }
    )]
    BadFence {
        /// Which fence.
        fence: usize,
        /// Which of its rectangles.
        index: usize,
        /// The rectangle.
        rect: Rect,
        /// Whether it is one, but outside the die.
        off_die: bool,
    },
    /// Two fences that share area.
    #[error("fences {first} and {second} overlap")]
    FencesOverlap {
        /// The lower index.
        first: usize,
        /// The higher one.
        second: usize,
    },
    /// A region of a body that there is not.
    #[error("{what} {index}: region {region}: expected a number below {regions}")]
    NoSuchRegion {
        /// The kind of body, e.g. `"movable cell"`.
        what: &'static str,
        /// Which one.
        index: usize,
        /// The region given.
        region: usize,
        /// Number of regions.
        regions: usize,
    },
    /// More regions than maps of the grid's bins should be kept for.
    #[error("{regions} regions over {bins} bins each: at most {MAX_BINS} bins are possible in all")]
    TooManyRegions {
        /// Regions.
        regions: usize,
        /// Bins of the grid.
        bins: usize,
    },
    /// The movable cells of a region have more area than is free there.
    #[error("region {region}: its movable cells have an area of {area}, and only {free} is free")]
    DoesNotFit {
        /// Which region.
        region: usize,
        /// Σ width × height of its cells.
        area: f64,
        /// Area of the region that nothing fixed takes.
        free: f64,
    },
}

impl ChargeError {
    /// Returns the same with other numbers of fences and regions.
    pub(super) fn about_fences(self, number: impl Fn(usize) -> usize) -> Self {
        use ChargeError::*;
        match self {
            EmptyFence(fence) => EmptyFence(number(fence)),
            BadFence { fence, index, rect, off_die } => {
                BadFence { fence: number(fence), index, rect, off_die }
            }
            FencesOverlap { first, second } => {
                FencesOverlap { first: number(first), second: number(second) }
            }
            DoesNotFit { region, area, free } => DoesNotFit { region: number(region), area, free },
            other => other,
        }
    }
}

/// Returns the number with a digit after the point, or two digits if it is small.
fn rounded(number: f64) -> String {
    if number < 0.1 { format!("{number:.1e}") } else { format!("{number:.1}") }
}
