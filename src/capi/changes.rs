//! Changes of a design while its placer runs.

use super::engine::{EngineHandle, check_bodies, check_count, on_any};
use super::memory::{outputs, values};
use super::solver::check_bins;
use super::status::{ErrorText, Failure, Status};
use crate::grid::{BinGrid, Map};

/// Writes the sizes of every body, layout units: `bodies` widths and heights, movable cells first,
/// then fillers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn placefield_engine_sizes(
    engine: *const EngineHandle,
    width: *mut f64,
    height: *mut f64,
    bodies: usize,
    error: *mut ErrorText,
) -> Status {
    on_any(engine, error, |engine| {
        let charge = engine.charge();
        check_bodies(charge, bodies)?;
        let [width, height] = outputs([(width, "width"), (height, "height")], bodies, &[])?;
        width.copy_from_slice(charge.width());
        height.copy_from_slice(charge.height());
        Ok(())
    })
}

/// Writes the target density of every region, `regions` values (placefield_engine_regions): the
/// given one, or with fillers the least at which the region's cells fit if that is larger. If bins
/// have separate target densities, it is their mean.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn placefield_engine_region_target_densities(
    engine: *const EngineHandle,
    target_densities: *mut f64,
    regions: usize,
    error: *mut ErrorText,
) -> Status {
    on_any(engine, error, |engine| {
        let charge = engine.charge();
        check_count("regions", regions, charge.regions())?;
        let [targets] = outputs([(target_densities, "target_densities")], regions, &[])?;
        for (region, to) in targets.iter_mut().enumerate() {
            *to = charge.region_target_density(region);
        }
        Ok(())
    })
}

/// Gives every body another size, layout units: `bodies` widths and heights, movable cells first,
/// then fillers. Positions are lower-left corners: a cell that grows about its centre is moved by
/// the caller.
///
/// This and the functions below take effect at the next evaluation, which is bit-identical to that
/// of a new engine. Until then there are no forces and maps. Plans and kernels are reused. After an
/// error the engine is unchanged.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn placefield_engine_set_sizes(
    engine: *mut EngineHandle,
    width: *const f64,
    height: *const f64,
    bodies: usize,
    error: *mut ErrorText,
) -> Status {
    on_any(engine, error, |engine| {
        check_bodies(engine.charge(), bodies)?;
        let (width, height) = (values(width, bodies, "width")?, values(height, bodies, "height")?);
        engine.change(|charge| charge.set_sizes(width, height))
    })
}

/// Fixes the cells whose `fixed` is not 0, at lower-left corners `x` and `y`, and makes the others
/// movable; `movable` values each. Corners of movable cells are ignored. A fixed cell remains a
/// body, so that no array changes: it counts as fixed area and has no force.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn placefield_engine_set_fixed_cells(
    engine: *mut EngineHandle,
    fixed: *const u8,
    x: *const f64,
    y: *const f64,
    movable: usize,
    error: *mut ErrorText,
) -> Status {
    on_any(engine, error, |engine| {
        check_count("movable cells", movable, engine.charge().movable())?;
        let fixed: Vec<bool> =
            values(fixed, movable, "fixed")?.iter().map(|&mark| mark != 0).collect();
        let (x, y) = (values(x, movable, "x")?, values(y, movable, "y")?);
        engine.change(|charge| charge.set_fixed_cells(&fixed, x, y))
    })
}

/// Sets the blocked area of every bin besides fixed cells, for example by routing or power. `area`
/// is a map of `bins` = nx · ny values, layout units squared; NULL: none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn placefield_engine_set_blocked_area(
    engine: *mut EngineHandle,
    area: *const f64,
    bins: usize,
    error: *mut ErrorText,
) -> Status {
    on_any(engine, error, |engine| {
        let area = map(&engine.charge().grid(), area, bins, "area")?;
        engine.change(|charge| charge.set_blocked_area(area))
    })
}

/// Sets a target density for every bin, above 0 and at most 1: a map of `bins` = nx · ny values;
/// NULL: the target density of the bodies everywhere.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn placefield_engine_set_target_densities(
    engine: *mut EngineHandle,
    target_densities: *const f64,
    bins: usize,
    error: *mut ErrorText,
) -> Status {
    on_any(engine, error, |engine| {
        let targets = map(&engine.charge().grid(), target_densities, bins, "target_densities")?;
        engine.change(|charge| charge.set_target_densities(targets))
    })
}

/// Makes new fillers that fill the remaining area, at new positions (placefield_engine_start). The
/// number of bodies changes (placefield_engine_bodies).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn placefield_engine_refill(
    engine: *mut EngineHandle,
    error: *mut ErrorText,
) -> Status {
    on_any(engine, error, |engine| engine.change(|charge| charge.refill()))
}

/// Returns a copy of a map, or `None` for NULL.
///
/// # Safety
/// See [`values`].
unsafe fn map(
    grid: &BinGrid,
    start: *const f64,
    bins: usize,
    what: &str,
) -> Result<Option<Map<f64>>, Failure> {
    check_bins(grid, 1, bins)?;
    if start.is_null() {
        return Ok(None);
    }
    // SAFETY: the caller's promise.
    let values = unsafe { values(start, bins, what) }?;
    Ok(Some(Map::from_vec(grid.nx(), grid.ny(), values.to_vec())))
}
