//! Placements of a design: the whole flow, its legal and its detailed stage alone, and legality.

use super::design::{DesignHandle, Read, on_design};
use super::memory::{Output, Span, initialise, optional, output, structure};
use super::status::{ErrorText, Failure, Status, call};
use super::wirelength::large_net;
use super::{Checked, Device, Options, handles};
use crate::charge::{Charge, ChargeOptions};
use crate::cpu::engine::thread_pool;
use crate::design::Design;
use crate::engines::{no_terms, open_backend, open_refiner};
use crate::flow::{self, Between, FlowError, FlowOptions, Host, StageReport, Stages};
use crate::grid::BinGrid;
use crate::legality::{LegalityError, LegalityReport};
use crate::legalize::LegalizeOptions;
use crate::place::{Backend, Outcome, PlaceError, Placer, Record, default_bins, placement_bins};
use crate::real::Precision;
use crate::refine::{RefineError, RefineOptions};
use crate::rows::RowsError;
use crate::wirelength::Netlist;
use std::ffi::c_void;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Numbers of the stages of a placement, in their order.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StageName {
    /// Cells are spread, but some overlap.
    Global = 0,
    /// Cells are on rows and sites, without overlap.
    Legal = 1,
    /// Wires are shorter, and cells are still legal.
    Detailed = 2,
}

impl From<flow::Stage> for StageName {
    fn from(stage: flow::Stage) -> Self {
        match stage {
            flow::Stage::Global => StageName::Global,
            flow::Stage::Legal => StageName::Legal,
            flow::Stage::Detailed => StageName::Detailed,
        }
    }
}

/// Numbers of `place_result.outcome`: the end of a stage.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutcomeName {
    /// The stage reached its goal.
    Converged = 0,
    /// The iterations ran out before.
    OutOfIterations = 1,
    /// The time limit was reached before.
    OutOfTime = 2,
    /// The caller stopped the global stage.
    Stopped = 3,
    /// Overflow stopped falling at any weight of the density.
    Plateau = 4,
    /// Wirelength and overflow both grew.
    Diverged = 5,
    /// A number was NaN or infinite.
    NotFinite = 6,
}

impl From<Outcome> for OutcomeName {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Converged => OutcomeName::Converged,
            Outcome::OutOfIterations => OutcomeName::OutOfIterations,
            Outcome::OutOfTime => OutcomeName::OutOfTime,
            Outcome::Stopped | Outcome::Interrupted => OutcomeName::Stopped,
            Outcome::Plateau => OutcomeName::Plateau,
            Outcome::Diverged => OutcomeName::Diverged,
            Outcome::NotFinite => OutcomeName::NotFinite,
        }
    }
}

/// An iteration of global placement.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Iteration {
    /// Its number; 0 is the start.
    pub iteration: usize,
    /// Weighted half-perimeter wirelength, layout units.
    pub hpwl: f64,
    /// Smoothed overflow.
    pub overflow: f64,
}

impl From<&Record> for Iteration {
    fn from(record: &Record) -> Self {
        Iteration {
            iteration: record.iteration,
            hpwl: record.sample.hpwl,
            overflow: record.sample.density.overflow,
        }
    }
}

/// Options of a placement. Filled by placefield_place_options_init, then changed.
///
/// Callbacks are called by one thread at a time, which need not be the caller's, while
/// placefield_place waits. A callback returns normally: it throws no exception and does not jump.
/// It may call any function of this library; the design has its old placement until the end.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct PlaceOptions {
    /// Set by placefield_place_options_init.
    pub struct_size: u32,
    /// The last stage, a placefield_stage. Without rows it is PLACEFIELD_STAGE_GLOBAL.
    pub until: i32,
    /// Device, precision and pipeline of global placement; threads of every stage.
    pub engine: Options,
    /// Bins along x; 0, with `ny` 0: chosen for the design.
    pub nx: u32,
    /// Bins along y.
    pub ny: u32,
    /// The largest share of a bin that placement should fill, above 0 and at most 1. 0: the default
    /// of global placement, and no limit in detailed placement.
    pub target_density: f64,
    /// Not 0: global placement starts from the design's positions; 0: from the die's centre.
    pub warm: i32,
    /// Largest number of iterations of global placement.
    pub iterations: u32,
    /// The smoothed overflow at which global placement ends, from 0 to 1.
    pub stop_overflow: f64,
    /// At the start every cell moves by up to half of this many times its size: 0 to 1e6.
    pub noise: f64,
    /// Seed of the start.
    pub seed: u64,
    /// Nets of more pins are left out of the objective of global placement; 0 leaves out no net.
    pub ignore_net_degree: usize,
    /// Free sites on either side of every cell: 0 to 1000000.
    pub padding: u32,
    /// Largest number of rounds of detailed placement, at least 1.
    pub rounds: u32,
    /// Not 0: detailed placement may mirror cells left to right.
    pub mirror: i32,
    /// Largest displacement of a cell in each of the legal and the detailed stage, |Δx| + |Δy| in
    /// row heights. In a warm placement, from the start to the result. 0: no limit.
    pub max_displacement: f64,
    /// Seconds after which the work ends with the best result so far, at most 1e9; 0: no limit.
    pub time_limit: f64,
    /// Called with `data` after every iteration of global placement, if not NULL. Returns 0 to
    /// continue; another number ends global placement normally, and the later stages follow.
    pub progress:
        Option<unsafe extern "C" fn(data: *mut c_void, iteration: *const Iteration) -> i32>,
    /// Called with `data` after every iteration of global placement, if not NULL, to replace net
    /// weights. `x` and `y` are the lower-left corners of the movable cells, layout units, `movable`
    /// values each. `weights` has the present weights, `nets` values in the design's order. If the
    /// result is not 0, the values there, each finite and not negative, are the weights from now on;
    /// the design then has them after the placement.
    pub net_weights: Option<
        unsafe extern "C" fn(
            data: *mut c_void,
            iteration: *const Iteration,
            x: *const f64,
            y: *const f64,
            movable: usize,
            weights: *mut f64,
            nets: usize,
        ) -> i32,
    >,
    /// The first argument of the callbacks.
    pub data: *mut c_void,
}

/// Result of a placement besides positions, which the design has.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct PlaceResult {
    /// The last stage that ran, a placefield_stage.
    pub stage: i32,
    /// The end of global placement, or of the only requested stage: a placefield_outcome.
    pub outcome: i32,
    /// 1 if the placement is legal, 0 if it is not or global placement is the last stage.
    pub legal: i32,
    /// Cells without a legal place, or farther from their place than `max_displacement`.
    pub failed: usize,
    /// Iterations of global placement; rounds of placefield_design_refine.
    pub iterations: usize,
    /// Half-perimeter wirelength, layout units; NaN without nets.
    pub hpwl: f64,
    /// Half-perimeter wirelength with net weights.
    pub hpwl_weighted: f64,
    /// Smoothed overflow of the result; NaN for placefield_design_legalize.
    pub overflow: f64,
    /// Overflow of the result with every cell at its exact size; NaN as well.
    pub overflow_exact: f64,
    /// The target density in use, above that of the options if the cells need more; NaN as well.
    pub target_density: f64,
}

/// Number of faults of every kind in a placement.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct LegalityCounts {
    /// 1 if there is no fault, else 0.
    pub legal: i32,
    /// Pairs of cells that share area, one of them movable.
    pub overlaps: u64,
    /// The shared area of these pairs, layout units squared.
    pub overlap_area: f64,
    /// Movable cells whose bottom edge is on no row.
    pub off_row: usize,
    /// Movable cells whose left edge is on no site.
    pub off_site: usize,
    /// Movable cells outside the die.
    pub outside_die: usize,
    /// Movable cells beyond the sites of a row they cover.
    pub outside_row: usize,
    /// Cells with a wrong orientation.
    pub orientation: usize,
    /// Fixed cells whose position or orientation differs from the design's own placement.
    pub fixed_moved: usize,
    /// Cells on the wrong side of a fence.
    pub fence: usize,
    /// Cells in hard blockages.
    pub blocked: usize,
    /// Cells in halos.
    pub halo: usize,
    /// Cells on rows with wrong rails or sites.
    pub wrong_row: usize,
    /// Cells without a position.
    pub unplaced: usize,
    /// Pairs of neighbours closer than their edge types allow.
    pub edge_spacing: usize,
    /// Partial blockages with more cell area than they allow.
    pub overfilled: usize,
}

impl From<LegalityReport> for LegalityCounts {
    fn from(found: LegalityReport) -> Self {
        LegalityCounts {
            legal: found.legal.into(),
            overlaps: found.overlaps,
            overlap_area: found.overlap_area,
            off_row: found.off_row,
            off_site: found.off_site,
            outside_die: found.outside_die,
            outside_row: found.outside_row,
            orientation: found.orientation,
            fixed_moved: found.fixed_moved,
            fence: found.fence,
            blocked: found.blocked,
            halo: found.halo,
            wrong_row: found.wrong_row,
            unplaced: found.unplaced,
            edge_spacing: found.edge_spacing,
            overfilled: found.overfilled,
        }
    }
}

macro_rules! arguments {
    ($($error:ty)+) => {
        $(impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                Failure::argument(error.to_string())
            }
        })+
    };
}

arguments! { LegalityError RefineError RowsError }

impl From<FlowError> for Failure {
    fn from(error: FlowError) -> Self {
        match error {
            FlowError::Place(PlaceError::Engine(error)) => error.into(),
            FlowError::Place(PlaceError::Charge(error)) | FlowError::Charge(error) => error.into(),
            FlowError::Design(error) => error.into(),
            other => Failure::argument(other.to_string()),
        }
    }
}

/// [`PlaceOptions`], checked.
struct Asked {
    engine: Checked,
    until: flow::Stage,
    bins: Option<[usize; 2]>,
    target_density: Option<f64>,
    place: crate::place::PlaceOptions,
    noise: f64,
    seed: u64,
    large_net: usize,
    padding: u32,
    rounds: usize,
    mirror: bool,
    max_displacement: Option<f64>,
    deadline: Option<Instant>,
    calls: Calls,
}

/// The caller's functions, and their arguments.
#[derive(Clone, Copy)]
struct Calls(PlaceOptions);

// SAFETY: the header says that the functions are called with `data` on other threads, one at a
// time; nothing else follows a pointer of it.
unsafe impl Send for Calls {}
// SAFETY: as above; a shared reference alone calls nothing, for calls need `&mut Calling`.
unsafe impl Sync for Calls {}

impl PlaceOptions {
    fn checked(self) -> Result<Asked, Failure> {
        let number = |name: &str, value: f64, most: f64| match (0.0..=most).contains(&value) {
            true => Ok(value),
            false => Err(Failure::argument(format!(
                "place_options.{name} {value}: expected a number from 0 to {most}"
            ))),
        };
        let count = |name: &str, value: u32, least: u32, most: u32| match value {
            value if (least..=most).contains(&value) => Ok(value),
            value => Err(Failure::argument(format!(
                "place_options.{name} {value}: expected a number from {least} to {most}"
            ))),
        };
        let stage = usize::try_from(self.until).ok().and_then(|at| flow::Stage::ALL.get(at));
        let until = *stage.ok_or_else(|| {
            Failure::argument(format!("place_options.until {}: no such stage", self.until))
        })?;
        let given = |value: f64| (value != 0.0).then_some(value);
        let bins = [self.nx, self.ny].map(|bins| bins as usize);
        let limit = given(number("time_limit", self.time_limit, 1e9)?);
        let place = crate::place::PlaceOptions::default()
            .warm(self.warm != 0)
            .iterations(self.iterations as usize)
            .stop_overflow(self.stop_overflow);
        Ok(Asked {
            engine: self.engine.checked()?,
            until,
            bins: (bins != [0; 2]).then_some(bins),
            target_density: given(number("target_density", self.target_density, 1.0)?),
            place,
            noise: number("noise", self.noise, 1e6)?,
            seed: self.seed,
            large_net: large_net(self.ignore_net_degree)?,
            padding: count("padding", self.padding, 0, 1_000_000)?,
            rounds: count("rounds", self.rounds, 1, u32::MAX)? as usize,
            mirror: self.mirror != 0,
            max_displacement: given(number("max_displacement", self.max_displacement, f64::MAX)?),
            deadline: limit
                .and_then(|limit| Instant::now().checked_add(Duration::from_secs_f64(limit))),
            calls: Calls(self),
        })
    }
}

impl Asked {
    fn legalize(&self) -> LegalizeOptions {
        LegalizeOptions::default().padding(self.padding).max_displacement(self.max_displacement)
    }

    fn refine(&self) -> RefineOptions<'static> {
        RefineOptions::default()
            .rounds(self.rounds)
            .mirror(self.mirror)
            .padding(self.padding)
            .max_displacement(self.max_displacement)
    }

    /// The outcome of a stage that ends now for want of time.
    fn late(&self) -> Option<Outcome> {
        let is_late = self.deadline.is_some_and(|deadline| Instant::now() >= deadline);
        is_late.then_some(Outcome::OutOfTime)
    }

    /// Runs `work` on the threads of the options.
    fn on_threads<R: Send>(
        &self,
        work: impl FnOnce() -> Result<R, Failure> + Send,
    ) -> Result<R, Failure> {
        thread_pool(self.engine.engine.threads)?.install(work)
    }

    /// Returns a charge without fillers, to count overflow.
    fn bare(&self, design: &Design) -> Result<Charge, Failure> {
        let target_density = self.target_density.unwrap_or(1.0);
        let die = design.die().ok_or(FlowError::NoDie)?;
        let [nx, ny] = self.bins.unwrap_or_else(|| default_bins(design, die, target_density));
        let options = ChargeOptions::default().target_density(target_density);
        Ok(Charge::from_design(design, BinGrid::new(die, nx, ny)?, &options)?)
    }
}

/// Returns the result with the numbers of a stage.
fn result_of(stage: flow::Stage, report: &StageReport, outcome: Outcome) -> PlaceResult {
    let overflow = report.overflow;
    PlaceResult {
        stage: StageName::from(stage) as i32,
        outcome: OutcomeName::from(outcome) as i32,
        legal: 0,
        failed: 0,
        iterations: 0,
        hpwl: report.hpwl.unwrap_or(f64::NAN),
        hpwl_weighted: report.hpwl_weighted.unwrap_or(f64::NAN),
        overflow: overflow.map_or(f64::NAN, |overflow| overflow.smoothed),
        overflow_exact: overflow.map_or(f64::NAN, |overflow| overflow.exact),
        target_density: f64::NAN,
    }
}

/// Fills `place_options` with the defaults: all stages, the defaults of placefield_options_init,
/// bins chosen for the design, a start in the middle, seed 1000, no padding, no limits, no
/// callbacks. `struct_size` is sizeof(placefield_place_options).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn placefield_place_options_init(
    place_options: *mut PlaceOptions,
    struct_size: usize,
    error: *mut ErrorText,
) -> Status {
    let (place, flow, refine) =
        (crate::place::PlaceOptions::default(), FlowOptions::default(), RefineOptions::default());
    let defaults = PlaceOptions {
        struct_size: size_of::<PlaceOptions>() as u32,
        until: StageName::Detailed as i32,
        engine: Options::DEFAULT,
        nx: 0,
        ny: 0,
        target_density: 0.0,
        warm: 0,
        iterations: place.iterations as u32,
        stop_overflow: place.stop_overflow,
        noise: flow.noise,
        seed: flow.seed,
        ignore_net_degree: 0,
        padding: 0,
        rounds: refine.rounds as u32,
        mirror: 1,
        max_displacement: 0.0,
        time_limit: 0.0,
        progress: None,
        net_weights: None,
        data: std::ptr::null_mut(),
    };
    call(error, || initialise(place_options, struct_size, "place_options", defaults))
}

/// Returns the options of a caller, and where the result is to be written.
///
/// # Safety
/// The pointers are null or those of such structures.
unsafe fn asked(
    options: *const PlaceOptions,
    result: *mut PlaceResult,
) -> Result<(Asked, Option<Output<PlaceResult>>), Failure> {
    let inputs = [Span::new(options, 1, "place_options")];
    // SAFETY: the caller's promise, for both.
    unsafe {
        let asked = structure(options, "place_options", |o: &PlaceOptions| o.struct_size)?;
        Ok((asked.checked()?, optional(result, "result", &inputs)?))
    }
}

/// Checks that the requested device is the CPU.
fn check_on_cpu(asked: &Asked) -> Result<(), Failure> {
    match asked.engine.device {
        Device::Cpu => Ok(()),
        Device::Cuda(_) => {
            Err(Failure::argument("place_options.engine.device: expected PLACEFIELD_CPU"))
        }
    }
}

/// Moves every movable cell of a design to a nearby legal place, in place of the present positions
/// (placefield_design_move, placefield_design_cells). Uses `padding`, `max_displacement`,
/// `time_limit` and the threads of `place_options`. `result` may be NULL. Cells that find no legal
/// place are counted in `result.failed`: that is no error.
/// PLACEFIELD_STATUS_BAD_ARGUMENT if the design has no rows; the design is then unchanged.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn placefield_design_legalize(
    design: *mut DesignHandle,
    place_options: *const PlaceOptions,
    result: *mut PlaceResult,
    error: *mut ErrorText,
) -> Status {
    on_design(design, error, |read| {
        let (asked, to) = asked(place_options, result)?;
        check_on_cpu(&asked)?;
        let result = asked.on_threads(|| {
            let mut design = read.design.clone();
            let mut stages = Stages::of_global(StageReport::of(&design, None, None));
            stages.legalize(&mut design, &asked.legalize(), None, &mut |_| asked.late())?;
            let legal = stages.stages.legal.as_ref().expect("the legal stage was run");
            let mut result = result_of(flow::Stage::Legal, &legal.stage, legal.status);
            (result.legal, result.failed) = (stages.is_legal().into(), stages.failed.len());
            read.take(design, stages.unplaced());
            Ok(result)
        })?;
        to.into_iter().for_each(|to| to.write(result));
        Ok(())
    })
}

/// Shortens the wires of a legal placement of a design, in place. Uses `padding`, `rounds`,
/// `mirror`, `max_displacement`, `time_limit`, `target_density`, the bins, the device and the
/// threads of `place_options`. `result` may be NULL. PLACEFIELD_STATUS_BAD_ARGUMENT if the
/// placement is not legal or the design has no nets; the design is then unchanged.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn placefield_design_refine(
    design: *mut DesignHandle,
    place_options: *const PlaceOptions,
    result: *mut PlaceResult,
    error: *mut ErrorText,
) -> Status {
    on_design(design, error, |read| {
        let (asked, to) = asked(place_options, result)?;
        let result = asked.on_threads(|| {
            let mut design = read.design.clone();
            let charge = asked.bare(&design)?;
            let device = open_refiner(asked.engine.device)?.engine;
            let mut options = RefineOptions { device: device.as_deref(), ..asked.refine() };
            if charge.target_density() < 1.0 {
                options = options.density(&charge);
            }
            let (detailed, _) =
                flow::shorten(&mut design, &options, &charge, &mut |_| asked.late())?;
            let mut result = result_of(flow::Stage::Detailed, &detailed.stage, detailed.status);
            result.legal = read.legality(&design, &[])?.legal.into();
            (result.iterations, result.target_density) = (detailed.rounds, charge.target_density());
            read.take(design, &[]);
            Ok(result)
        })?;
        to.into_iter().for_each(|to| to.write(result));
        Ok(())
    })
}

/// Counts the faults of a design's placement.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn placefield_design_legality(
    design: *const DesignHandle,
    legality: *mut LegalityCounts,
    error: *mut ErrorText,
) -> Status {
    on_design(design, error, |read| {
        let to = output(legality, "legality", &[])?;
        let found = read.legality(&read.design, &read.unplaced)?;
        to.write(found.into());
        Ok(())
    })
}

/// Places the movable cells of a design, stage by stage, and gives them the result's positions.
/// `result` may be NULL. Warnings about the placement are added to those of the design
/// (placefield_design_warnings). A placement that stops before its goal or is not legal is no error:
/// `result` says so. Calls of other threads that change the design meanwhile are lost. After an
/// error the design is unchanged.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn placefield_place(
    design: *mut DesignHandle,
    place_options: *const PlaceOptions,
    result: *mut PlaceResult,
    error: *mut ErrorText,
) -> Status {
    call(error, || {
        // Callbacks may use the design, so it is not locked while they are called.
        let mut placed =
            handles::with(design, "design", |read: &mut Read| Ok(read.design.clone()))?;
        let (asked, to) = asked(place_options, result)?;
        let (result, warnings) = asked.on_threads(|| whole(&mut placed, &asked))?;
        handles::with(design, "design", |read: &mut Read| {
            read.take(placed, &[]);
            read.warn(warnings);
            Ok(())
        })?;
        to.into_iter().for_each(|to| to.write(result));
        Ok(())
    })
}

/// Places `design`; returns the result and warnings.
fn whole(design: &mut Design, asked: &Asked) -> Result<(PlaceResult, Vec<String>), Failure> {
    let die = design.die().ok_or(FlowError::NoDie)?;
    let kept = asked.target_density.filter(|target| *target < 1.0);
    let kept = kept.map(|_| asked.bare(design)).transpose()?;
    let target_density = asked.target_density.unwrap_or(flow::TARGET_DENSITY);
    let mut options = FlowOptions::default();
    let chosen = || placement_bins(design, die, asked.target_density.unwrap_or(1.0));
    options.bodies.bins = Some(asked.bins.unwrap_or_else(chosen));
    options.bodies.charge = options
        .bodies
        .charge
        .target_density(target_density)
        .seed(asked.seed)
        .padding(asked.padding);
    options.bodies.large_net = asked.large_net;
    options.bodies.precision = asked.engine.precision;
    let (charge, netlist) = options.bodies.of(design)?;
    // Cells beside legal macros have separate bins unless bins are given.
    options.bodies.bins = asked.bins;
    (options.until, options.place, options.noise) = (Some(asked.until), asked.place, asked.noise);
    options.seed = asked.seed;
    options.end_at(asked.deadline, charge.movable());
    (options.legalize, options.refine) = (asked.legalize(), asked.refine());
    options.refine.density = kept.as_ref();
    let device = open_refiner(asked.engine.device)?.engine;
    options.refine.device = device.as_deref();
    let warnings = flow::warnings(&charge, &netlist, asked.place.stop_overflow);
    let mut warnings: Vec<String> = warnings.iter().map(ToString::to_string).collect();
    let mut host = Calling {
        engine: &asked.engine,
        calls: asked.calls,
        weights: design.nets.as_ref().map_or_else(Vec::new, |nets| nets.weight.clone()),
        begun: false,
    };
    let placed = flow::place(design, &charge, &netlist, &options, &mut host)?;
    warnings.extend(placed.left_out.map(str::to_owned));
    warnings.extend(placed.limit);
    let (stage, report) = placed.stages.last();
    let mut result = result_of(stage, report, placed.global.outcome);
    (result.legal, result.failed) = (placed.stages.is_legal().into(), placed.stages.failed.len());
    result.iterations = placed.global.records.last().map_or(0, |record| record.iteration);
    result.target_density = charge.target_density();
    Ok((result, warnings))
}

/// A placement's host, which calls the functions of the options.
struct Calling<'a> {
    engine: &'a Checked,
    calls: Calls,
    /// The present net weights.
    weights: Vec<f64>,
    /// Whether a descent has begun, and no iteration of it was done.
    begun: bool,
}

impl Host for Calling<'_> {
    type Error = Failure;

    fn backend(
        &mut self,
        charge: &Arc<Charge>,
        netlist: &Netlist,
    ) -> Result<Box<dyn Backend>, Failure> {
        let Checked { precision, device, engine } = self.engine;
        let charge = charge.clone();
        Ok(match precision {
            Precision::F32 => open_backend(charge, netlist, *device, engine, no_terms::<f32>()),
            Precision::F64 => open_backend(charge, netlist, *device, engine, no_terms::<f64>()),
        }?
        .engine)
    }

    fn begin(&mut self, _: flow::Part) {
        self.begun = true;
    }

    fn follow(&mut self, placer: &mut Placer<'_>, _: &[Record]) -> Result<(), Failure> {
        let is_start = std::mem::replace(&mut self.begun, false);
        let PlaceOptions { progress, data, .. } = self.calls.0;
        if let (false, Some(progress)) = (is_start, progress) {
            let iteration = Iteration::from(placer.last());
            // SAFETY: the caller's function, called as its type and the header say.
            if unsafe { progress(data, &iteration) } != 0 {
                placer.stop(Outcome::Stopped);
            }
        }
        Ok(())
    }

    fn between(&mut self, between: &mut Between<'_, '_>) -> Result<Option<Vec<f64>>, Failure> {
        let PlaceOptions { net_weights, data, .. } = self.calls.0;
        let Some(net_weights) = net_weights else { return Ok(None) };
        let iteration = Iteration::from(between.last());
        if iteration.iteration == 0 {
            return Ok(None);
        }
        let design = between.design()?;
        let at = &design.placement;
        let (x, y): (Vec<f64>, Vec<f64>) = design.movable().map(|i| (at.x[i], at.y[i])).unzip();
        let mut weights = self.weights.clone();
        // SAFETY: the caller's function, called as its type and the header say, with memory of the
        // lengths given, which nothing else uses meanwhile.
        let replaced = unsafe {
            net_weights(
                data,
                &iteration,
                x.as_ptr(),
                y.as_ptr(),
                x.len(),
                weights.as_mut_ptr(),
                weights.len(),
            )
        };
        if replaced == 0 {
            return Ok(None);
        }
        self.weights.clone_from(&weights);
        Ok(Some(weights))
    }
}
