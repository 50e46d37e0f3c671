//! The whole step: density, overflow, energy, forces.
use super::bodies::Bodies;
use super::memory::{Span, optional, output, outputs, plain, structure, values};
use super::solver::{check_bins, wrong_precision};
use super::status::{ErrorText, Failure, Status, call};
use super::{Checked, Grid, Options, handles, in_precision, options};
use crate::charge::Charge;
use crate::engine::{Engine, Evaluation, GradientOptions, MapKind};
use crate::engines::{DeviceEngine, EngineReal};
use crate::ffi::{AnyEngine, open_any_engine, with_engine};
use crate::grid::Map;
use std::any::Any;
use std::ffi::c_void;

/// A density engine: made once for the bodies of a design, then used every iteration.
pub struct EngineHandle;

/// Results of one step besides maps and forces.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct EvaluationResult {
    /// Smoothed overflow, which placers log: Σ max(0, area − target density · bin area) over bins
    /// plus the area off the die, divided by the movable area; without fillers.
    pub overflow: f64,
    /// Largest smoothed area of a bin, divided by the bin area; without fillers.
    pub max_density: f64,
    /// Σ φ·ρ over bins (no ½, no bin area).
    pub energy: f64,
    /// Area of the movable cells off the die at their exact sizes, layout units squared. It is in
    /// no bin, but counts as overflow.
    pub area_off_die: f64,
}

impl From<Evaluation> for EvaluationResult {
    fn from(evaluation: Evaluation) -> Self {
        EvaluationResult {
            overflow: evaluation.density.overflow,
            max_density: evaluation.density.max,
            energy: evaluation.energy,
            area_off_die: evaluation.area_off_die,
        }
    }
}

/// Numbers of placefield_engine_map's `kind`.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapName {
    /// ρ: area in the bin over the bin's area, of fixed and movable cells and fillers.
    Density = 0,
    /// φ, in bin widths squared.
    Potential = 1,
    /// E along x, in bin widths.
    FieldX = 2,
    /// E along y, in bin widths.
    FieldY = 3,
}

/// Makes an engine. Freed by placefield_engine_free. Positions are on the die: floats are refused
/// where the die is so far from 0 that they would be rounded by a noticeable part of a row's
/// height. Doubles, or a die moved to 0 by its caller, are right there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn placefield_engine_new(
    grid: *const Grid,
    bodies: *const Bodies,
    options: *const Options,
    engine: *mut *mut EngineHandle,
    error: *mut ErrorText,
) -> Status {
    call(error, || {
        let mut inputs = vec![
            Span::new(grid, 1, "grid"),
            Span::new(options, 1, "options"),
            Span::new(bodies, 1, "bodies"),
        ];
        let grid = plain(grid, "grid")?.checked()?;
        let Checked { precision, device, engine: how } = self::options(options)?;
        let bodies = structure(bodies, "bodies", |b: &Bodies| b.struct_size)?;
        // The lengths are checked here, before the memory of their length.
        let charge = bodies.charge(grid)?;
        inputs.extend(bodies.spans());
        let engine = output(engine, "engine", &inputs)?;
        engine.write(handles::add(open_any_engine(charge, precision, device, &how)?));
        Ok(())
    })
}

/// Frees an engine. NULL has no effect; a freed handle is PLACEFIELD_STATUS_BAD_HANDLE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn placefield_engine_free(
    engine: *mut EngineHandle,
    error: *mut ErrorText,
) -> Status {
    call(error, || handles::remove::<AnyEngine, _>(engine, "engine"))
}

/// Writes the number of movable cells, and of bodies: movable cells, then fillers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn placefield_engine_bodies(
    engine: *const EngineHandle,
    movable: *mut usize,
    bodies: *mut usize,
    error: *mut ErrorText,
) -> Status {
    on_any(engine, error, |engine| {
        let charge = engine.charge();
        let others = [Span::new(movable, 1, "movable")];
        let movable = output(movable, "movable", &[])?;
        let bodies = output(bodies, "bodies", &others)?;
        movable.write(charge.movable());
        bodies.write(charge.bodies());
        Ok(())
    })
}

/// Writes the lower-left corners at which the bodies start, `bodies` values each: the given ones of
/// the movable cells, the drawn ones of the fillers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn placefield_engine_start(
    engine: *const EngineHandle,
    precision: i32,
    x: *mut c_void,
    y: *mut c_void,
    bodies: usize,
    error: *mut ErrorText,
) -> Status {
    in_precision!(precision, error, T => {
        start::<T>(engine, x.cast(), y.cast(), bodies, error)
    })
}

/// Computes one step: density, solve and forces for the lower-left corners `x` and `y` (host
/// memory, layout units, movable cells first, then fillers; `bodies` values each). `result` may be
/// NULL. A body outside the die adds to no bin and feels no force; its area is overflow. Waits until
/// all is done. After an error the results of earlier positions are gone: asking for them is
/// PLACEFIELD_STATUS_OUT_OF_ORDER.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn placefield_engine_evaluate(
    engine: *mut EngineHandle,
    precision: i32,
    x: *const c_void,
    y: *const c_void,
    bodies: usize,
    result: *mut EvaluationResult,
    error: *mut ErrorText,
) -> Status {
    in_precision!(precision, error, T => {
        evaluate::<T>(engine, x.cast(), y.cast(), bodies, result, error)
    })
}

/// Writes the force on every body at the positions last evaluated, the direction that spreads, in
/// layout area × bin widths: minus the gradient that placers of the DREAMPlace kind descend by.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn placefield_engine_force(
    engine: *mut EngineHandle,
    precision: i32,
    force_x: *mut c_void,
    force_y: *mut c_void,
    bodies: usize,
    error: *mut ErrorText,
) -> Status {
    in_precision!(precision, error, T => {
        force::<T>(engine, force_x.cast(), force_y.cast(), bodies, error)
    })
}

/// Writes weight · force to `gradient` in host memory, or adds it if `accumulate` is not 0: x of
/// every body, then y, 2 · `bodies` values. A weight of -1 gives the direction in which density
/// rises. A weight of -2 / (bin area · bin width) gives the derivative of the energy, except for
/// the field's variation within a bin.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn placefield_engine_gradient(
    engine: *mut EngineHandle,
    precision: i32,
    gradient: *mut c_void,
    bodies: usize,
    weight: f64,
    accumulate: i32,
    error: *mut ErrorText,
) -> Status {
    in_precision!(precision, error, T => {
        write_gradient::<T>(engine, gradient.cast(), bodies, weight, accumulate, error)
    })
}

/// Writes overflow and largest density at the positions last evaluated with every cell at its exact
/// size, not smoothed; either may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn placefield_engine_exact(
    engine: *mut EngineHandle,
    overflow: *mut f64,
    max_density: *mut f64,
    error: *mut ErrorText,
) -> Status {
    on_any(engine, error, |engine| {
        let others = [Span::new(overflow, 1, "overflow")];
        let overflow = optional(overflow, "overflow", &[])?;
        let max_density = optional(max_density, "max_density", &others)?;
        let stats = with_engine!(engine, engine => engine.settled()?.exact_density()?);
        overflow.into_iter().for_each(|to| to.write(stats.overflow));
        max_density.into_iter().for_each(|to| to.write(stats.max));
        Ok(())
    })
}

/// Copies a map of the last step, a placefield_map, `bins` = nx · ny values, y contiguous; with
/// fences those of all regions, one after the other, `bins` = regions · nx · ny.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn placefield_engine_map(
    engine: *mut EngineHandle,
    precision: i32,
    kind: i32,
    map: *mut c_void,
    bins: usize,
    error: *mut ErrorText,
) -> Status {
    in_precision!(precision, error, T => {
        read_map::<T>(engine, kind, map.cast(), bins, error)
    })
}

/// Calls `body` with an engine of any precision.
pub(super) unsafe fn on_any(
    engine: *const EngineHandle,
    error: *mut ErrorText,
    body: impl FnOnce(&mut AnyEngine) -> Result<(), Failure>,
) -> Status {
    call(error, || handles::with(engine, "engine", body))
}

/// Calls `body` with an engine of precision `T`.
pub(super) unsafe fn on_engine<T: EngineReal>(
    engine: *const EngineHandle,
    error: *mut ErrorText,
    body: impl FnOnce(&mut dyn Engine<T>) -> Result<(), Failure>,
) -> Status {
    on_any(engine, error, |engine| {
        let engine: &mut dyn Any = with_engine!(engine, engine => engine);
        let engine = engine.downcast_mut::<DeviceEngine<T>>();
        body(engine.ok_or_else(|| wrong_precision::<T>("engine"))?.settled()?)
    })
}

pub(super) fn gradient_options(weight: f64, accumulate: i32) -> GradientOptions<'static> {
    GradientOptions::default().weight(weight).accumulate(accumulate != 0)
}

/// An error unless `found` is the number of the engine's bodies.
pub(super) fn check_bodies(charge: &Charge, found: usize) -> Result<(), Failure> {
    check_count("bodies", found, charge.bodies())
}

/// An error unless there are as many of `what` as expected.
pub(super) fn check_count(what: &str, found: usize, expected: usize) -> Result<(), Failure> {
    if found == expected {
        return Ok(());
    }
    Err(Failure::new(Status::BadLength, format!("{found} {what}, expected {expected}")))
}

unsafe fn start<T: EngineReal>(
    engine: *const EngineHandle,
    x: *mut T,
    y: *mut T,
    bodies: usize,
    error: *mut ErrorText,
) -> Status {
    on_engine::<T>(engine, error, |engine| {
        check_bodies(engine.charge(), bodies)?;
        let (from_x, from_y) = engine.charge().initial_positions::<T>();
        let [x, y] = outputs([(x, "x"), (y, "y")], bodies, &[])?;
        x.copy_from_slice(&from_x);
        y.copy_from_slice(&from_y);
        Ok(())
    })
}

unsafe fn evaluate<T: EngineReal>(
    engine: *mut EngineHandle,
    x: *const T,
    y: *const T,
    bodies: usize,
    result: *mut EvaluationResult,
    error: *mut ErrorText,
) -> Status {
    on_engine::<T>(engine, error, |engine| {
        engine.discard_positions();
        check_bodies(engine.charge(), bodies)?;
        let inputs = [Span::new(x, bodies, "x"), Span::new(y, bodies, "y")];
        let (x, y) = (values(x, bodies, "x")?, values(y, bodies, "y")?);
        let result = optional(result, "result", &inputs)?;
        let evaluation = engine.evaluate(x, y)?;
        result.into_iter().for_each(|to| to.write(evaluation.into()));
        Ok(())
    })
}

unsafe fn force<T: EngineReal>(
    engine: *mut EngineHandle,
    force_x: *mut T,
    force_y: *mut T,
    bodies: usize,
    error: *mut ErrorText,
) -> Status {
    on_engine::<T>(engine, error, |engine| {
        check_bodies(engine.charge(), bodies)?;
        let places = [(force_x, "force_x"), (force_y, "force_y")];
        let [force_x, force_y] = outputs(places, bodies, &[])?;
        Ok(engine.read_force(force_x, force_y)?)
    })
}

unsafe fn read_map<T: EngineReal>(
    engine: *mut EngineHandle,
    kind: i32,
    map: *mut T,
    bins: usize,
    error: *mut ErrorText,
) -> Status {
    on_engine::<T>(engine, error, |engine| {
        let kind = usize::try_from(kind).ok().and_then(|kind| MapKind::ALL.get(kind).copied());
        let kind = kind.ok_or_else(|| Failure::argument("no map has this number"))?;
        let (grid, regions) = (engine.charge().grid(), engine.charge().regions());
        check_bins(&grid, regions, bins)?;
        let [to] = outputs([(map, "map")], bins, &[])?;
        let mut map = Map::filled(regions * grid.nx(), grid.ny(), T::cast(0.0));
        engine.read_map(kind, &mut map)?;
        to.copy_from_slice(map.as_slice());
        Ok(())
    })
}

unsafe fn write_gradient<T: EngineReal>(
    engine: *mut EngineHandle,
    gradient: *mut T,
    bodies: usize,
    weight: f64,
    accumulate: i32,
    error: *mut ErrorText,
) -> Status {
    on_engine::<T>(engine, error, |engine| {
        check_bodies(engine.charge(), bodies)?;
        let [gradient] = outputs([(gradient, "gradient")], 2 * bodies, &[])?;
        Ok(engine.write_gradient(gradient, &gradient_options(weight, accumulate))?)
    })
}
