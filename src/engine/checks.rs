//! Checks of the input of every engine, and the state of an evaluation.

use super::{EngineError, GradientOptions, Layout, MapKind};
use crate::Precision;
use crate::charge::Charge;
use crate::grid::BinGrid;
use crate::grid::Map;
use crate::parallel;
use crate::real::Real;
use std::ops::RangeInclusive;

/// The last stage that is valid for the current positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Done {
    Nothing,
    Positions,
    Density,
    Solve,
    Force,
}

/// The progress of a sequence of calls: each value comes after all that are less.
pub(crate) trait Progress: Ord + Sized {
    /// Returns the condition that holds from here on, as errors name it.
    fn condition(&self) -> &'static str;

    /// Fails with [`EngineError::OutOfOrder`] for `stage` unless `at_least` has been reached.
    fn require(self, stage: &'static str, at_least: Self) -> Result<(), EngineError> {
        match self >= at_least {
            true => Ok(()),
            false => Err(EngineError::OutOfOrder { stage, needs: at_least.condition() }),
        }
    }
}

impl Progress for Done {
    fn condition(&self) -> &'static str {
        match self {
            Done::Nothing | Done::Positions => "positions were given",
            Done::Density => "the density was computed",
            Done::Solve => "the field was solved",
            Done::Force => "the forces were computed",
        }
    }
}

/// An error unless `map` has `nx` × `ny` bins.
pub(crate) fn check_bins<T>([nx, ny]: [usize; 2], map: &Map<T>) -> Result<(), EngineError> {
    check_lengths(nx, &[("bins of the map along x", map.nx())])?;
    check_lengths(ny, &[("bins of the map along y", map.ny())])
}

/// Makes ρ of a map of what an engine keeps of it; leaves other maps alone.
pub(crate) fn add_background<T: Real>(kind: MapKind, background: f64, map: &mut [T]) {
    if kind == MapKind::Density {
        map.iter_mut().for_each(|v| *v = T::cast(v.widen() + background));
    }
}

/// An error where the precision of an engine cannot hold the weight of a gradient, or a region's
/// weight times it, or where there are regions' weights but not one for each of so many regions.
pub(crate) fn check_weight<T: Real>(
    options: &GradientOptions,
    regions: usize,
) -> Result<(), EngineError> {
    let of_regions = options.region_weights;
    if !of_regions.is_empty() {
        check_lengths(regions, &[("weights of regions", of_regions.len())])?;
    }
    for weight in of_regions.iter().map(|of| options.weight * of).chain([options.weight]) {
        if !T::cast(weight).is_finite() {
            return Err(EngineError::Weight(weight));
        }
    }
    Ok(())
}

/// An error unless every slice has `expected` values.
pub(crate) fn check_lengths(
    expected: usize,
    slices: &[(&'static str, usize)],
) -> Result<(), EngineError> {
    for &(what, found) in slices {
        if found != expected {
            return Err(EngineError::Length { what, expected, found });
        }
    }
    Ok(())
}

/// An error unless both charges have the same bins.
pub(crate) fn check_same_grid(ours: &Charge, theirs: &Charge) -> Result<(), EngineError> {
    let (expected, found) = (ours.grid(), theirs.grid());
    if expected == found { Ok(()) } else { Err(EngineError::OtherGrid { expected, found }) }
}

/// Areas of a bin and of the die, in square layout units, that a precision computes with, for
/// products of areas with fields and weights to stay in its range.
fn areas(precision: Precision) -> RangeInclusive<f64> {
    match precision {
        Precision::F32 => 1e-30..=1e30,
        Precision::F64 => 1e-290..=1e290,
    }
}

/// Whether `T` can hold every size and starting position, and areas, as engines ask of a charge,
/// and distinguish positions from the charge's origin finely enough.
///
/// # Errors
/// At the first one that it cannot hold, and for positions that are too coarse.
pub fn check_range<T: Real>(charge: &Charge) -> Result<(), EngineError> {
    charge.check_origin(T::PRECISION).map_err(EngineError::CoarsePositions)?;
    let [x, y] = [charge.initial_x(), charge.initial_y()];
    check_range_of::<T>(&charge.grid(), [charge.width(), charge.height(), x, y])
}

/// [`check_range`] of bins, and of widths, heights, x and y of bodies.
pub(crate) fn check_range_of<T: Real>(
    grid: &BinGrid,
    bodies: [&[f64]; 4],
) -> Result<(), EngineError> {
    let areas = areas(T::PRECISION);
    for (what, area) in [("die", grid.die().area()), ("bin", grid.bin_area())] {
        if !areas.contains(&area) {
            let (&least, &most, precision) = (areas.start(), areas.end(), T::PRECISION.name());
            return Err(EngineError::AreaOutOfRange { what, area, least, most, precision });
        }
    }
    let names = ["width of body", "height of body", "x of body", "y of body"];
    for (what, values) in names.into_iter().zip(bodies) {
        let bad = |i: usize| (!T::cast(values[i]).is_finite()).then_some(i);
        if let Some(index) = parallel::first(values.len(), bad) {
            let (value, precision) = (values[index], T::PRECISION.name());
            return Err(EngineError::OutOfRange { what, index, value, precision });
        }
    }
    Ok(())
}

/// An error that names the first position that is not a finite number. Parallel.
pub(crate) fn check_positions<T: Real>(x: &[T], y: &[T]) -> Result<(), EngineError> {
    check_finite(&[("x of body", x), ("y of body", y)])
}

/// An error that names the first value that is not a finite number. Parallel.
pub(crate) fn check_finite<T: Real>(columns: &[(&'static str, &[T])]) -> Result<(), EngineError> {
    for &(what, values) in columns {
        if let Some(index) = first_not_finite(values) {
            return Err(EngineError::NotFinite { what, index, value: values[index].widen() });
        }
    }
    Ok(())
}

/// As [`check_positions`], and an error unless there are two values for each of `bodies`.
pub(crate) fn check_positions_in<T: Real>(
    bodies: usize,
    layout: Layout,
    positions: &[T],
) -> Result<(), EngineError> {
    check_lengths(2 * bodies, &[("positions", positions.len())])?;
    let Some(at) = first_not_finite(positions) else { return Ok(()) };
    let (of_y, index) = match layout {
        Layout::Halves => (at >= bodies, at % bodies),
        Layout::Pairs => (at % 2 == 1, at / 2),
    };
    let what = if of_y { "y of body" } else { "x of body" };
    Err(EngineError::NotFinite { what, index, value: positions[at].widen() })
}

fn first_not_finite<T: Real>(values: &[T]) -> Option<usize> {
    const CHUNK: usize = 1 << 14;
    // No exit within a chunk, so that the loop over it is vectorised.
    let finite = |chunk: &[T]| chunk.iter().fold(true, |finite, v| finite & v.is_finite());
    parallel::first(values.len().div_ceil(CHUNK), |chunk| {
        let first = chunk * CHUNK;
        let chunk = &values[first..values.len().min(first + CHUNK)];
        match finite(chunk) {
            true => None,
            false => Some(first + chunk.iter().position(|v| !v.is_finite())?),
        }
    })
}
