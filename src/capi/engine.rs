//! The whole step: density, overflow, energy, forces.
use super::memory::{initialise, output, outputs, plain, structure, values};
use super::solver::{Number, check_bins, wrong_precision};
use super::status::{ErrorText, Failure, Status, call};
use super::{Checked, Grid, Options, handles, options};
use crate::border::{AnyEngine, DeviceEngine, open_any_engine, with_engine};
use crate::charge::{Charge, ChargeOptions, Rectangles};
use crate::engine::{Engine, Evaluation, GradientOptions, MapKind};
use crate::grid::{BinGrid, Map, Rect};

/// A density engine: made once for the bodies of a design, then asked every iteration.
pub struct EngineHandle;

trait EngineNumber: Number {
    fn engine(made: &mut AnyEngine) -> Option<&mut DeviceEngine<Self>>;
}

impl EngineNumber for f32 {
    fn engine(made: &mut AnyEngine) -> Option<&mut DeviceEngine<Self>> {
        if let AnyEngine::F32(engine) = made { Some(engine) } else { None }
    }
}

impl EngineNumber for f64 {
    fn engine(made: &mut AnyEngine) -> Option<&mut DeviceEngine<Self>> {
        if let AnyEngine::F64(engine) = made { Some(engine) } else { None }
    }
}

/// The rectangles of a design, in layout units. Filled by placefield_bodies_init, then changed.
/// Nothing of it is kept: the arrays can be freed once the engine is made.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Bodies {
    /// Set by placefield_bodies_init.
    pub struct_size: u32,
    /// Not 0: fillers take the free space that the target density leaves.
    pub fillers: i32,
    /// Number of movable cells, the length of the next four arrays.
    pub movable: usize,
    /// Widths of the movable cells.
    pub width: *const f64,
    /// Heights.
    pub height: *const f64,
    /// Where they start, lower-left corners; NULL: at the die's.
    pub x: *const f64,
    /// Likewise.
    pub y: *const f64,
    /// For each movable cell not 0 where it is a macro; NULL: those are that are large. Matters
    /// only below a target density of 1.
    pub macros: *const u8,
    /// Number of fixed cells, the length of the next four arrays.
    pub fixed: usize,
    /// Lower-left corners of the fixed cells.
    pub fixed_x: *const f64,
    /// As `fixed_x`.
    pub fixed_y: *const f64,
    /// Widths of the fixed cells.
    pub fixed_width: *const f64,
    /// Heights of the fixed cells.
    pub fixed_height: *const f64,
    /// Height of a row, and so of a filler; 0: the median height of the movable cells.
    pub row_height: f64,
    /// The largest share of a bin that placement should fill, above 0 and at most 1.
    pub target_density: f64,
    /// Seed of the fillers' positions.
    pub seed: u64,
}

impl Bodies {
    /// # Safety
    /// Arrays are as long as they are said to be.
    unsafe fn charge(&self, grid: BinGrid) -> Result<Charge, Failure> {
        let n = self.movable;
        // SAFETY: the caller's promise, for all of them.
        let column = |start, what| unsafe { values(start, n, what) };
        let (width, height) =
            (column(self.width, "bodies.width")?, column(self.height, "bodies.height")?);
        let die = grid.die();
        let corner = |start: *const f64, what, at| match start.is_null() {
            true => Ok(vec![at; n]),
            false => column(start, what).map(<[f64]>::to_vec),
        };
        let (x, y) = (corner(self.x, "bodies.x", die.xl)?, corner(self.y, "bodies.y", die.yl)?);
        let marks = if self.macros.is_null() { 0 } else { n };
        // SAFETY: the caller's promise.
        let marks = unsafe { values(self.macros, marks, "bodies.macros") }?;
        let macros: Vec<bool> = marks.iter().map(|&mark| mark != 0).collect();
        // SAFETY: the caller's promise, for all of them.
        let column = |start, what| unsafe { values(start, self.fixed, what) };
        let fixed_x = column(self.fixed_x, "bodies.fixed_x")?;
        let fixed_y = column(self.fixed_y, "bodies.fixed_y")?;
        let fixed_width = column(self.fixed_width, "bodies.fixed_width")?;
        let fixed_height = column(self.fixed_height, "bodies.fixed_height")?;
        let rect = |i: usize| Rect::at(fixed_x[i], fixed_y[i], fixed_width[i], fixed_height[i]);
        let fixed: Vec<Rect> = (0..self.fixed).map(rect).collect();
        let cells = Rectangles::movable(width, height, &x, &y)
            .fixed(&fixed)
            .row_height((self.row_height != 0.0).then_some(self.row_height))
            .macros((!self.macros.is_null()).then_some(&macros[..]));
        let options = ChargeOptions::default()
            .target_density(self.target_density)
            .fillers(self.fillers != 0)
            .seed(self.seed);
        Ok(Charge::from_rectangles(grid, &cells, &options)?)
    }
}

/// What one step yields besides maps and forces.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct EvaluationResult {
    /// Smoothed overflow, what placers log: Σ max(0, area − target density · bin area) over bins,
    /// over the movable area; fillers left out.
    pub overflow: f64,
    /// Largest area of a bin over the bin area, smoothed; fillers left out.
    pub max_density: f64,
    /// Σ φ·ρ over bins (no ½, no bin area).
    pub energy: f64,
}

impl From<Evaluation> for EvaluationResult {
    fn from(evaluation: Evaluation) -> Self {
        EvaluationResult {
            overflow: evaluation.density.overflow,
            max_density: evaluation.density.max,
            energy: evaluation.energy,
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

/// Fills `bodies` with the defaults: none, target density 1, no fillers, seed 1000.
/// `struct_size` is sizeof(placefield_bodies).
///
/// # Safety
/// As the header's first page has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn placefield_bodies_init(
    bodies: *mut Bodies,
    struct_size: usize,
    error: *mut ErrorText,
) -> Status {
    let none = std::ptr::null();
    let defaults = Bodies {
        struct_size: size_of::<Bodies>() as u32,
        fillers: 0,
        movable: 0,
        width: none,
        height: none,
        x: none,
        y: none,
        macros: std::ptr::null(),
        fixed: 0,
        fixed_x: none,
        fixed_y: none,
        fixed_width: none,
        fixed_height: none,
        row_height: 0.0,
        target_density: 1.0,
        seed: 1000,
    };
    // SAFETY: as the caller was told.
    unsafe { call(error, || initialise(bodies, struct_size, "bodies", defaults)) }
}

/// Makes an engine. Freed by placefield_engine_free.
///
/// # Safety
/// As the header's first page has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn placefield_engine_new(
    grid: *const Grid,
    bodies: *const Bodies,
    options: *const Options,
    engine: *mut *mut EngineHandle,
    error: *mut ErrorText,
) -> Status {
    // SAFETY: as the caller was told.
    unsafe {
        call(error, || {
            let grid = plain(grid, "grid")?.checked()?;
            let Checked { precision, device, engine: how } = self::options(options)?;
            let bodies = structure(bodies, "bodies", |b: &Bodies| b.struct_size)?;
            let engine = output(engine, "engine")?;
            let charge = bodies.charge(grid)?;
            *engine = handles::add(open_any_engine(charge, precision, device, &how)?);
            Ok(())
        })
    }
}

/// Frees an engine. NULL is nothing; a handle freed before is PLACEFIELD_STATUS_BAD_HANDLE.
///
/// # Safety
/// As the header's first page has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn placefield_engine_free(
    engine: *mut EngineHandle,
    error: *mut ErrorText,
) -> Status {
    // SAFETY: as the caller was told.
    unsafe { call(error, || handles::remove::<AnyEngine, _>(engine, "engine")) }
}

/// The number of movable cells, and of bodies: movable cells, then fillers.
///
/// # Safety
/// As the header's first page has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn placefield_engine_bodies(
    engine: *const EngineHandle,
    movable: *mut usize,
    bodies: *mut usize,
    error: *mut ErrorText,
) -> Status {
    // SAFETY: as the caller was told.
    unsafe {
        call(error, || {
            handles::with(engine, "engine", |made: &mut AnyEngine| {
                let charge = made.charge();
                let (movable, bodies) = (output(movable, "movable")?, output(bodies, "bodies")?);
                (*movable, *bodies) = (charge.movable(), charge.bodies());
                Ok(())
            })
        })
    }
}

/// Where the bodies start, lower-left corners, `bodies` values each: those of the movable cells as
/// they were given, those of the fillers as they were drawn.
///
/// # Safety
/// As the header's first page has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn placefield_engine_start_f32(
    engine: *const EngineHandle,
    x: *mut f32,
    y: *mut f32,
    bodies: usize,
    error: *mut ErrorText,
) -> Status {
    // SAFETY: as the caller was told.
    unsafe { start(engine, x, y, bodies, error) }
}

/// As placefield_engine_start_f32, of doubles.
///
/// # Safety
/// As the header's first page has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn placefield_engine_start_f64(
    engine: *const EngineHandle,
    x: *mut f64,
    y: *mut f64,
    bodies: usize,
    error: *mut ErrorText,
) -> Status {
    // SAFETY: as the caller was told.
    unsafe { start(engine, x, y, bodies, error) }
}

/// One step: density, solve and forces for the lower-left corners `x` and `y` (host memory,
/// layout units, movable cells first, then fillers; `bodies` values each). `result` may be NULL.
/// A body outside the die adds to no bin and feels no force. Waits until all is done.
///
/// # Safety
/// As the header's first page has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn placefield_engine_evaluate_f32(
    engine: *mut EngineHandle,
    x: *const f32,
    y: *const f32,
    bodies: usize,
    result: *mut EvaluationResult,
    error: *mut ErrorText,
) -> Status {
    // SAFETY: as the caller was told.
    unsafe { evaluate(engine, x, y, bodies, result, error) }
}

/// As placefield_engine_evaluate_f32, of doubles.
///
/// # Safety
/// As the header's first page has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn placefield_engine_evaluate_f64(
    engine: *mut EngineHandle,
    x: *const f64,
    y: *const f64,
    bodies: usize,
    result: *mut EvaluationResult,
    error: *mut ErrorText,
) -> Status {
    // SAFETY: as the caller was told.
    unsafe { evaluate(engine, x, y, bodies, result, error) }
}

/// The force on every body at the positions last evaluated, the direction that spreads, in layout
/// area × bin widths: minus the gradient that placers of the DREAMPlace kind descend by.
///
/// # Safety
/// As the header's first page has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn placefield_engine_force_f32(
    engine: *mut EngineHandle,
    force_x: *mut f32,
    force_y: *mut f32,
    bodies: usize,
    error: *mut ErrorText,
) -> Status {
    // SAFETY: as the caller was told.
    unsafe { force(engine, force_x, force_y, bodies, error) }
}

/// As placefield_engine_force_f32, of doubles.
///
/// # Safety
/// As the header's first page has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn placefield_engine_force_f64(
    engine: *mut EngineHandle,
    force_x: *mut f64,
    force_y: *mut f64,
    bodies: usize,
    error: *mut ErrorText,
) -> Status {
    // SAFETY: as the caller was told.
    unsafe { force(engine, force_x, force_y, bodies, error) }
}

/// Writes weight · force, or adds it where `accumulate` is not 0, to `gradient` in host memory: x of
/// every body, then y, 2 · `bodies` values. A weight of -1 gives the direction in which density rises;
/// -2 / (bin area · bin width) the derivative of the energy, but for what the field varies within a bin.
///
/// # Safety
/// As the header's first page has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn placefield_engine_gradient_f32(
    engine: *mut EngineHandle,
    gradient: *mut f32,
    bodies: usize,
    weight: f64,
    accumulate: i32,
    error: *mut ErrorText,
) -> Status {
    // SAFETY: as the caller was told.
    unsafe { write_gradient(engine, gradient, bodies, weight, accumulate, error) }
}

/// As placefield_engine_gradient_f32, of doubles.
///
/// # Safety
/// As the header's first page has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn placefield_engine_gradient_f64(
    engine: *mut EngineHandle,
    gradient: *mut f64,
    bodies: usize,
    weight: f64,
    accumulate: i32,
    error: *mut ErrorText,
) -> Status {
    // SAFETY: as the caller was told.
    unsafe { write_gradient(engine, gradient, bodies, weight, accumulate, error) }
}

/// Overflow and largest density at the positions last evaluated with every cell at its exact
/// size, not smoothed; either may be NULL.
///
/// # Safety
/// As the header's first page has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn placefield_engine_exact(
    engine: *mut EngineHandle,
    overflow: *mut f64,
    max_density: *mut f64,
    error: *mut ErrorText,
) -> Status {
    // SAFETY: as the caller was told.
    unsafe {
        call(error, || {
            handles::with(engine, "engine", |made: &mut AnyEngine| {
                let stats = with_engine!(made, engine => engine.as_dyn().exact_density()?);
                let places = [
                    (overflow, "overflow", stats.overflow),
                    (max_density, "max_density", stats.max),
                ];
                for (place, what, value) in places {
                    if !place.is_null() {
                        *output(place, what)? = value;
                    }
                }
                Ok(())
            })
        })
    }
}

/// A map of the last step, a placefield_map, `bins` = nx · ny values, y contiguous.
///
/// # Safety
/// As the header's first page has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn placefield_engine_map_f32(
    engine: *mut EngineHandle,
    kind: i32,
    map: *mut f32,
    bins: usize,
    error: *mut ErrorText,
) -> Status {
    // SAFETY: as the caller was told.
    unsafe { read_map(engine, kind, map, bins, error) }
}

/// As placefield_engine_map_f32, of doubles.
///
/// # Safety
/// As the header's first page has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn placefield_engine_map_f64(
    engine: *mut EngineHandle,
    kind: i32,
    map: *mut f64,
    bins: usize,
    error: *mut ErrorText,
) -> Status {
    // SAFETY: as the caller was told.
    unsafe { read_map(engine, kind, map, bins, error) }
}

/// Calls `body` with an engine of precision `T`.
///
/// # Safety
/// As the header's first page has it.
unsafe fn on_engine<T: EngineNumber>(
    engine: *const EngineHandle,
    error: *mut ErrorText,
    body: impl FnOnce(&mut dyn Engine<T>) -> Result<(), Failure>,
) -> Status {
    // SAFETY: as the caller was told.
    unsafe {
        call(error, || {
            handles::with(engine, "engine", |made: &mut AnyEngine| {
                let engine = T::engine(made);
                body(engine.ok_or_else(|| wrong_precision::<T>("engine"))?.as_dyn())
            })
        })
    }
}

pub(super) fn gradient_options(weight: f64, accumulate: i32) -> GradientOptions {
    GradientOptions::default().weight(weight).accumulate(accumulate != 0)
}

/// An error unless `found` is the number of the engine's bodies.
pub(super) fn check_bodies(charge: &Charge, found: usize) -> Result<(), Failure> {
    match charge.bodies() {
        expected if expected == found => Ok(()),
        expected => {
            let message = format!("{found} bodies, expected {expected}");
            Err(Failure::new(Status::BadLength, message))
        }
    }
}

/// # Safety
/// As the header's first page has it.
unsafe fn start<T: EngineNumber>(
    engine: *const EngineHandle,
    x: *mut T,
    y: *mut T,
    bodies: usize,
    error: *mut ErrorText,
) -> Status {
    // SAFETY: as the caller was told.
    unsafe {
        on_engine::<T>(engine, error, |engine| {
            check_bodies(engine.charge(), bodies)?;
            let (from_x, from_y) = engine.charge().initial_positions::<T>();
            let [x, y] = outputs([(x, "x"), (y, "y")], bodies, &[])?;
            x.copy_from_slice(&from_x);
            y.copy_from_slice(&from_y);
            Ok(())
        })
    }
}

/// # Safety
/// As the header's first page has it.
unsafe fn evaluate<T: EngineNumber>(
    engine: *mut EngineHandle,
    x: *const T,
    y: *const T,
    bodies: usize,
    result: *mut EvaluationResult,
    error: *mut ErrorText,
) -> Status {
    // SAFETY: as the caller was told.
    unsafe {
        on_engine::<T>(engine, error, |engine| {
            check_bodies(engine.charge(), bodies)?;
            let (x, y) = (values(x, bodies, "x")?, values(y, bodies, "y")?);
            let evaluation = engine.evaluate(x, y)?;
            if !result.is_null() {
                *output(result, "result")? = evaluation.into();
            }
            Ok(())
        })
    }
}

/// # Safety
/// As the header's first page has it.
unsafe fn force<T: EngineNumber>(
    engine: *mut EngineHandle,
    force_x: *mut T,
    force_y: *mut T,
    bodies: usize,
    error: *mut ErrorText,
) -> Status {
    // SAFETY: as the caller was told.
    unsafe {
        on_engine::<T>(engine, error, |engine| {
            check_bodies(engine.charge(), bodies)?;
            let places = [(force_x, "force_x"), (force_y, "force_y")];
            let [force_x, force_y] = outputs(places, bodies, &[])?;
            Ok(engine.read_force(force_x, force_y)?)
        })
    }
}

/// # Safety
/// As the header's first page has it.
unsafe fn read_map<T: EngineNumber>(
    engine: *mut EngineHandle,
    kind: i32,
    map: *mut T,
    bins: usize,
    error: *mut ErrorText,
) -> Status {
    // SAFETY: as the caller was told.
    unsafe {
        on_engine::<T>(engine, error, |engine| {
            let kind = usize::try_from(kind).ok().and_then(|kind| MapKind::ALL.get(kind).copied());
            let kind = kind.ok_or_else(|| Failure::argument("no map has this number"))?;
            let grid = engine.charge().grid();
            check_bins(&grid, bins)?;
            let [to] = outputs([(map, "map")], bins, &[])?;
            let mut map = Map::filled(grid.nx(), grid.ny(), T::of(0.0));
            engine.read_map(kind, &mut map)?;
            to.copy_from_slice(map.as_slice());
            Ok(())
        })
    }
}

/// # Safety
/// As the header's first page has it.
unsafe fn write_gradient<T: EngineNumber>(
    engine: *mut EngineHandle,
    gradient: *mut T,
    bodies: usize,
    weight: f64,
    accumulate: i32,
    error: *mut ErrorText,
) -> Status {
    // SAFETY: as the caller was told.
    unsafe {
        on_engine::<T>(engine, error, |engine| {
            check_bodies(engine.charge(), bodies)?;
            let [gradient] = outputs([(gradient, "gradient")], 2 * bodies, &[])?;
            Ok(engine.write_gradient(gradient, &gradient_options(weight, accumulate))?)
        })
    }
}
