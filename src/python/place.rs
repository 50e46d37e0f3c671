//! Placements: global, legal, detailed, by the options of `placefield place`, `legalize` and
//! `refine`.

use super::arrays::Array;
use super::design::{Design, described};
use super::dlpack::ImportedArray;
use super::errors::{Failure, detached, plain};
use super::options::{Charging, Options};
use crate::charge::{Charge, ChargeOptions, origin_for};
use crate::congestion::{Capacity, Tracks};
use crate::cpu::engine::thread_pool;
use crate::design::{Design as Core, Nets, Placement};
use crate::displacement;
use crate::engine::EngineOptions;
use crate::engines::{Device, EngineReal, open_backend, open_refiner};
use crate::flow::checkpoint::{Checkpoints, PlacementIdentity};
use crate::flow::{
    self, Between, Effort, FlowOptions, Host, Kept, Part, Placed, Resumed, Stage, StageReport,
    Stages, TARGET_DENSITY,
};
use crate::legalize::LegalizeOptions;
use crate::place::routability::RoutabilityOptions;
use crate::place::{Backend, Number, Outcome, PlaceOptions, Placer, Record, Term, placement_bins};
use crate::real::{Precision, Real};
use crate::refine::{RefineOptions, to_medians};
use crate::wirelength::Netlist;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{Map as Object, Value, json};
use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Interval of checks for Ctrl-C while other threads work.
const SIGNALS_EVERY: Duration = Duration::from_millis(50);

/// The options of `place`.
struct Asked {
    charging: Charging,
    /// Unless given the default is taken, and a higher one serves as well.
    target_density: Option<f64>,
    device: Device,
    precision: Precision,
    engine: EngineOptions,
    place: PlaceOptions,
    noise: f64,
    large_net: usize,
    raise_density: bool,
    keep_density: Option<f64>,
    effort: Effort,
    seeds: u32,
    routability: Option<RoutabilityOptions>,
    tracks: Option<Tracks>,
    until: Option<Stage>,
    after: After,
    /// Written to, iterations apart, gone on from.
    checkpoints: (Option<PathBuf>, usize, Option<PathBuf>),
    progress: Option<Py<PyAny>>,
    /// Called with the positions every so many iterations.
    on_iteration: Option<Py<PyAny>>,
    on_iteration_every: usize,
    terms: Vec<Py<PyAny>>,
}

/// The options of the stages after the global one.
#[derive(Clone, Copy)]
struct After {
    padding: u32,
    rounds: usize,
    mirror: bool,
    effort: Option<Effort>,
    threads: usize,
    deadline: Option<Instant>,
    keep_placed: bool,
}

impl After {
    fn of(options: &Options<'_, '_>) -> PyResult<Self> {
        let limit = options.number("time_limit", "a number of seconds from 0 to 1e9", |v| {
            (0.0..=1e9).contains(&v)
        })?;
        let rounds = options.count("rounds", 1..=u64::from(u32::MAX))?;
        let efforts = [("low", Effort::Low), ("medium", Effort::Medium), ("high", Effort::High)];
        Ok(After {
            padding: options.count("padding", 0..=1_000_000)?.unwrap_or(0) as u32,
            rounds: rounds.map_or(RefineOptions::default().rounds, |rounds| rounds as usize),
            mirror: !options.flag("no_mirror")?,
            effort: options.word("effort", &efforts)?,
            threads: options.threads()?,
            deadline: limit
                .and_then(|limit| Instant::now().checked_add(Duration::from_secs_f64(limit))),
            keep_placed: options.flag("keep_placed")?,
        })
    }

    /// Fixes the movable nodes of `design` that are not among `unplaced`, if that was requested.
    fn kept(&self, design: &mut Core, unplaced: &[u32]) -> Option<Kept> {
        self.keep_placed.then(|| Kept::new(design, unplaced))
    }

    fn refine(&self, default: Effort) -> RefineOptions<'static> {
        let insert_up_to = self.effort.unwrap_or(default).insert_up_to();
        let options = RefineOptions::default().rounds(self.rounds).mirror(self.mirror);
        options.padding(self.padding).insert_up_to(insert_up_to)
    }

    fn is_late(&self) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }
}

impl Asked {
    fn of(options: &Options<'_, '_>) -> PyResult<Self> {
        let most_iterations = options.count("iterations", 0..=u64::from(u32::MAX))?;
        let mut place = PlaceOptions::default()
            .warm(options.word("init", &[("center", false), ("file", true)])?.unwrap_or(false))
            .precondition(!options.flag("no_precondition")?);
        let after = After::of(options)?;
        place.warm |= after.keep_placed;
        place.iterations = most_iterations.map_or(place.iterations, |most| most as usize);
        for Number { name, expected, holds, of } in PlaceOptions::NUMBERS {
            let number = of(&mut place);
            *number = options.number(name, expected, holds)?.unwrap_or(*number);
        }
        let noise =
            options.number("noise", "a number from 0 to 1e6", |v| (0.0..=1e6).contains(&v))?;
        let large = options.count("ignore_net_degree", 2..=u64::from(u32::MAX))?;
        let seeds = options.count("seeds", 1..=u64::from(u32::MAX))?.unwrap_or(1) as u32;
        let default = RoutabilityOptions::default();
        let rounds = options.count("routability_rounds", 0..=u64::from(u32::MAX))?;
        let area = options
            .number("routability_area", "a number from 0 to 10", |v| (0.0..=10.0).contains(&v))?;
        let routability = RoutabilityOptions {
            rounds: rounds.map_or(default.rounds, |rounds| rounds as usize),
            most_added: area.unwrap_or(default.most_added),
            ..default
        };
        let routability = options.flag("routability")?.then_some(routability);
        for name in ["capacity", "routability_rounds", "routability_area"] {
            if routability.is_none() && options.get(name)?.is_some() {
                return Err(Failure::Value(format!("{name} needs routability=True")).into());
            }
        }
        let noise = noise.unwrap_or(0.0);
        if seeds > 1 && place.warm && noise == 0.0 {
            let text = "seeds needs starts that differ: init=\"file\" and keep_placed have one, \
                        without noise";
            return Err(Failure::Value(text.to_owned()).into());
        }
        let mut charging = Charging::of(options, "bins")?;
        let target_density =
            options.get("target_density")?.is_some().then_some(charging.options.target_density);
        charging.options =
            charging.options.target_density(target_density.unwrap_or(TARGET_DENSITY));
        charging.options = charging.options.fillers(!options.flag("no_fillers")?);
        let until = Stage::ALL.map(|stage| (stage.name(), stage));
        let path = |name| Ok::<_, PyErr>(options.paths(name)?.pop());
        let (checkpoint, resume) = (path("checkpoint")?, path("resume")?);
        let on_iteration = options.get("on_iteration")?;
        let terms = options.taken("terms", "a list of callables", |value| value.extract().ok())?;
        let terms: Vec<Py<PyAny>> = terms.unwrap_or_default();
        if !terms.is_empty() && options.device()? != Device::Cpu {
            return Err(Failure::Value("terms need device=\"cpu\"".to_owned()).into());
        }
        let kept = checkpoint.is_some() || resume.is_some();
        let conflict = if seeds > 1 && kept {
            Some("checkpoint and resume are for one seed")
        } else if place.warm && resume.is_some() {
            Some("resume says where cells start, so that init and keep_placed say nothing")
        } else if on_iteration.is_some() && (seeds > 1 || kept) {
            Some("on_iteration is for one seed, without checkpoint and resume")
        } else {
            None
        };
        if let Some(text) = conflict {
            return Err(Failure::Value(text.to_owned()).into());
        }
        let effort = after.effort.unwrap_or(Effort::Low);
        // Checkpoints do not have variants, and callbacks follow one placement.
        let is_one = kept || on_iteration.is_some() || !terms.is_empty();
        let share = |v: f64| v > 0.0 && v <= 1.0;
        let every = |name: &str| options.count(name, 1..=u64::from(u32::MAX));
        let checkpoint_every = every("checkpoint_every")?.unwrap_or(100) as usize;
        Ok(Asked {
            charging,
            target_density,
            device: options.device()?,
            precision: options.precision()?,
            engine: options.engine()?,
            place,
            noise,
            large_net: large.map_or(Netlist::ALL, |most| most as usize + 1),
            raise_density: options.flag("raise_density")?,
            keep_density: options.number(
                "keep_density",
                "a number above 0 and at most 1",
                share,
            )?,
            effort: if is_one { Effort::Low } else { effort },
            seeds,
            routability,
            tracks: tracks(options)?,
            until: options.word("until", &until)?,
            after,
            checkpoints: (checkpoint, checkpoint_every, resume),
            progress: options.get("progress")?.map(Bound::unbind),
            on_iteration: on_iteration.map(Bound::unbind),
            on_iteration_every: every("on_iteration_every")?.unwrap_or(1) as usize,
            terms,
        })
    }
}

/// Returns the option `capacity`.
pub(super) fn tracks(options: &Options<'_, '_>) -> PyResult<Option<Tracks>> {
    let expected = "two numbers above zero, horizontal and vertical tracks per layout unit, or LEF \
                    layers as in \"metal2-metal6\"";
    let good = |v: &f64| v.is_finite() && *v > 0.0;
    options.taken("capacity", expected, |value| match value.extract() {
        Ok((horizontal, vertical)) => [horizontal, vertical]
            .iter()
            .all(good)
            .then_some(Tracks::Capacity(Capacity { horizontal, vertical })),
        Err(_) => Some(Tracks::Layers(value.extract().ok()?)),
    })
}

/// A placement's host, on a thread beside the interpreter's.
struct Beside<'a> {
    asked: &'a Asked,
    name: &'a str,
    charge: &'a Charge,
    netlist: &'a Netlist,
    stop: &'a AtomicBool,
    checkpoints: Checkpoints,
    /// Nets of the design, and its movable nodes, each with whether it is a macro.
    nets: usize,
    nodes: Vec<(usize, bool)>,
    /// The first exception of a term.
    failed: Arc<Mutex<Option<PyErr>>>,
    /// Whether a descent has begun, and no iteration of it was done.
    begun: bool,
}

/// Name of the result of `on_iteration` in messages.
const WEIGHTS: &str = "net weights that on_iteration returned";

/// Whether the answer of a callback is `False`.
fn is_false(answer: &Bound<'_, PyAny>) -> bool {
    answer.extract::<bool>().is_ok_and(|goes_on| !goes_on)
}

/// A callable as a term of the objective. An exception makes its value NaN, which ends the
/// placement, and is raised then.
struct AddedTerm {
    term: Py<PyAny>,
    charge: Arc<Charge>,
    nodes: Arc<[i64]>,
    failed: Arc<Mutex<Option<PyErr>>>,
}

impl AddedTerm {
    fn call<T: Real>(&self, x: &[T], y: &[T], gradient: [&mut [T]; 2]) -> PyResult<f64> {
        let [from_x, from_y] = self.charge.origin();
        let margin = |i: usize, axis: usize| self.charge.margin(i)[axis];
        let left = |(i, v): (usize, &T)| v.widen() + margin(i, 0) + from_x;
        let bottom = |(i, v): (usize, &T)| v.widen() + margin(i, 1) + from_y;
        let x: Vec<f64> = x.iter().enumerate().map(left).collect();
        let y: Vec<f64> = y.iter().enumerate().map(bottom).collect();
        Python::attach(|py| {
            let nodes = Array::column(self.nodes.to_vec()).numpy(py)?;
            let at = (Array::column(x).numpy(py)?, Array::column(y).numpy(py)?, nodes);
            let answer = self.term.bind(py).call1(at)?;
            let (value, by_x, by_y): (f64, Bound<'_, PyAny>, Bound<'_, PyAny>) =
                answer.extract()?;
            for (sum, by) in gradient.into_iter().zip([by_x, by_y]) {
                let by = ImportedArray::take(&by, "gradient of a term", 1)?;
                by.check_shape(&[&[sum.len()]])?;
                sum.iter_mut().zip(by.values::<f64>()?).for_each(|(sum, by)| *sum += T::cast(*by));
            }
            Ok(value)
        })
    }
}

impl<T: Real> Term<T> for AddedTerm {
    fn add(&mut self, x: &[T], y: &[T], gradient: [&mut [T]; 2]) -> f64 {
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        if failed.is_some() {
            return f64::NAN;
        }
        self.call(x, y, gradient).unwrap_or_else(|error| {
            *failed = Some(error);
            f64::NAN
        })
    }
}

impl Beside<'_> {
    /// Calls the interpreter, unless Ctrl-C has ended the placement: its exception is raised then,
    /// and none comes after it.
    fn call<R>(&self, work: impl FnOnce(Python<'_>) -> PyResult<R>) -> PyResult<Option<R>> {
        Python::attach(|py| match self.stop.load(Ordering::Relaxed) {
            true => Ok(None),
            false => work(py).map(Some),
        })
    }

    fn resume<T: EngineReal>(&mut self, backend: &dyn Backend) -> Result<Option<Resumed>, Failure> {
        let Asked { charging, noise, place, .. } = self.asked;
        let start = (charging.options.seed, *noise);
        Ok(self.checkpoints.resume::<T>(|| {
            PlacementIdentity::of::<T>(self.name, self.charge, self.netlist, backend, start, place)
        })?)
    }
}

impl Host for Beside<'_> {
    type Error = Failure;

    fn backend(
        &mut self,
        charge: &Arc<Charge>,
        netlist: &Netlist,
    ) -> Result<Box<dyn Backend>, Failure> {
        let Asked { device, engine, precision, terms, .. } = self.asked;
        // Beside legal macros these do not move.
        let movable = self.nodes.len() == charge.movable();
        let nodes = self.nodes.iter().filter(|(_, is_macro)| movable || !is_macro);
        let nodes: Arc<[i64]> = nodes.map(|(node, _)| *node as i64).collect();
        let terms = terms.iter().map(|term| AddedTerm {
            term: Python::attach(|py| term.clone_ref(py)),
            charge: charge.clone(),
            nodes: nodes.clone(),
            failed: self.failed.clone(),
        });
        let charge = charge.clone();
        Ok(match precision {
            Precision::F32 => open_backend::<f32>(charge, netlist, *device, engine, terms)?.engine,
            Precision::F64 => open_backend::<f64>(charge, netlist, *device, engine, terms)?.engine,
        })
    }

    fn resume(&mut self, backend: &mut dyn Backend) -> Result<Option<Resumed>, Failure> {
        match self.asked.precision {
            Precision::F32 => self.resume::<f32>(backend),
            Precision::F64 => self.resume::<f64>(backend),
        }
    }

    fn begin(&mut self, part: Part) {
        self.begun = true;
        // A checkpoint is of the first descent.
        if !matches!(part, Part::Seed(_)) {
            self.checkpoints.to = None;
        }
    }

    fn follow(&mut self, placer: &mut Placer<'_>, records: &[Record]) -> Result<(), Failure> {
        match self.asked.precision {
            Precision::F32 => self.checkpoints.follow::<f32>(placer, records)?,
            Precision::F64 => self.checkpoints.follow::<f64>(placer, records)?,
        }
        if let (false, Some(progress)) =
            (std::mem::replace(&mut self.begun, false), &self.asked.progress)
        {
            let Record { iteration, sample, .. } = *placer.last();
            let of = (iteration, sample.hpwl, sample.density.overflow);
            let goes_on = self.call(|py| Ok(!is_false(&progress.bind(py).call1(of)?)))?;
            if goes_on == Some(false) {
                placer.stop(Outcome::Stopped);
            }
        }
        Ok(())
    }

    fn between(&mut self, between: &mut Between<'_, '_>) -> Result<Option<Vec<f64>>, Failure> {
        let Some(on_iteration) = &self.asked.on_iteration else { return Ok(None) };
        let iteration = between.last().iteration;
        if !iteration.is_multiple_of(self.asked.on_iteration_every) {
            return Ok(None);
        }
        let Placement { x, y, .. } = between.design()?.placement.clone();
        let answer = self.call(|py| {
            let [x, y] = [x, y].map(|values| Array::column(values).numpy(py));
            let answer = on_iteration.bind(py).call1((iteration, x?, y?))?;
            if is_false(&answer) {
                return Ok(Err(()));
            }
            let weights = (!answer.is_none()).then(|| ImportedArray::take(&answer, WEIGHTS, 1));
            Ok(Ok(weights.transpose()?))
        })?;
        match answer {
            None | Some(Ok(None)) => Ok(None),
            Some(Ok(Some(weights))) => {
                weights.check_shape(&[&[self.nets]])?;
                Ok(Some(weights.values::<f64>()?.to_vec()))
            }
            Some(Err(())) => {
                between.stop();
                Ok(None)
            }
        }
    }

    fn is_asked_to_stop(&mut self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// Runs `work` on so many threads. Ctrl-C sets what `work` is given, and is raised once it has
/// ended.
pub(super) fn on_threads<R: Send>(
    threads: usize,
    work: impl FnOnce(&AtomicBool) -> Result<R, Failure> + Send,
) -> Result<R, Failure> {
    let pool = thread_pool(threads)?;
    let (stop, waiting) = (AtomicBool::new(false), std::thread::current());
    let mut raised = Ok(());
    let done = std::thread::scope(|scope| {
        let worker = scope.spawn(|| {
            let done = pool.install(|| work(&stop));
            waiting.unpark();
            done
        });
        while !worker.is_finished() {
            std::thread::park_timeout(SIGNALS_EVERY);
            if raised.is_ok() {
                raised = Python::attach(|py| {
                    let raised = py.check_signals();
                    stop.store(raised.is_err(), Ordering::Relaxed);
                    raised
                });
            }
        }
        worker.join()
    });
    raised?;
    done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Result of the functions of this file: a placement and the report on it.
struct Made<'a> {
    of: &'a Design,
    design: Core,
    report: Object<String, Value>,
}

impl<'a> Made<'a> {
    /// Fixed cells belong where the design's own placement has them.
    fn of_stages(of: &'a Design, design: Core, stages: &Stages) -> Result<Self, Failure> {
        let mut made = Made { of, design, report: Object::new() };
        made.say("stages", json!(stages.stages));
        if let Some(moved) = &stages.moved {
            made.say("legality", json!(of.judged(&made.design, None, &[])?));
            made.say("displacement", described(&made.design, moved));
            made.say("failed", json!(stages.failed));
        }
        Ok(made)
    }

    fn say(&mut self, name: &str, value: Value) {
        self.report.insert(name.to_owned(), value);
    }

    /// Returns the design with its present positions, and the report.
    fn ended<'py>(mut self, py: Python<'py>) -> PyResult<(Design, Bound<'py, PyAny>)> {
        let hpwl = self.design.hpwl();
        self.say("hpwl", json!(hpwl.map(|hpwl| hpwl.unweighted)));
        self.say("hpwl_weighted", json!(hpwl.map(|hpwl| hpwl.weighted)));
        let report = plain(py, &self.report)?;
        Ok((self.of.placed(self.design), report))
    }
}

/// Returns the report on cells that did not move, if that was requested. They are movable in
/// `design` again.
fn report_of(kept: &mut Option<Kept>, design: &mut Core) -> Result<Object<String, Value>, Failure> {
    let Some(kept) = kept else { return Ok(Object::new()) };
    let report = json!(kept.report(design)?);
    kept.swap(design);
    Ok(Object::from_iter([("kept".to_owned(), report)]))
}

/// A charge without fillers on the bins of `charging`.
fn bare(charging: &Charging, design: &Core) -> Result<Charge, Failure> {
    let options = ChargeOptions::default()
        .target_density(charging.options.target_density)
        .allow_overfull(true);
    Charging { options, ..*charging }.charge(design)
}

/// Places `design`; the report is the package's to wrap.
#[pyfunction]
pub(super) fn place<'py>(
    py: Python<'py>,
    design: &Bound<'py, Design>,
    options: &Bound<'py, PyDict>,
) -> PyResult<(Design, Bound<'py, PyAny>)> {
    let asked = Asked::of(&Options(options))?;
    let of = design.get();
    let made = detached(py, || on_threads(asked.after.threads, |stop| placed(of, &asked, stop)))?;
    made.ended(py)
}

fn placed<'a>(of: &'a Design, asked: &Asked, stop: &AtomicBool) -> Result<Made<'a>, Failure> {
    let mut design = (*of.design).clone();
    if asked.place.warm {
        to_medians(&mut design, of.unplaced());
    }
    let mut kept = asked.after.kept(&mut design, of.unplaced());
    let mut charging = asked.charging;
    let mut options = FlowOptions { compare_start: kept.is_some(), ..FlowOptions::default() };
    options.bodies.bins = charging.bins.map(|(nx, ny)| [nx, ny]);
    charging.options = charging.options.padding(asked.after.padding).halos(true);
    options.bodies.charge = charging.options;
    options.bodies.large_net = asked.large_net;
    options.bodies.precision = asked.precision;
    if let (None, Some(die)) = (charging.bins, design.die()) {
        let [nx, ny] = match &kept {
            Some(kept) => kept.bins(&design, die, asked.target_density.unwrap_or(TARGET_DENSITY)),
            None => placement_bins(&design, die, asked.target_density.unwrap_or(1.0)),
        };
        charging.bins = Some((nx, ny));
    }
    charging.options = charging.options.many_fillers(flow::many_fillers(&design));
    let mut charge = charging.charge(&design)?;
    let grid = charge.grid();
    charge.set_origin(origin_for(&grid.die(), design.row_height(), asked.precision)?)?;
    let charge = Arc::new(charge);
    let netlist = Netlist::from_design(&design, asked.large_net)?;
    let warnings = flow::warnings(&charge, &netlist, asked.place.stop_overflow);
    let mut warnings: Vec<String> = warnings.iter().map(ToString::to_string).collect();
    let layers = &of.source.layers;
    let capacity = Tracks::capacity(asked.tracks.as_ref(), layers, design.units_per_micron)?;
    let room = |density| {
        let mut charging = asked.charging;
        charging.options = charging.options.target_density(density);
        bare(&charging, &design)
    };
    let room = asked.keep_density.map(room).transpose()?;
    (options.until, options.place, options.noise) = (asked.until, asked.place, asked.noise);
    (options.seed, options.seeds) = (charging.options.seed, asked.seeds);
    (options.effort, options.keeps_density) = (asked.effort, asked.target_density.is_some());
    options.end_at(asked.after.deadline, charge.movable());
    options.routability = asked.routability.map(|asked| RoutabilityOptions { capacity, ..asked });
    options.legalize = LegalizeOptions::default().padding(asked.after.padding);
    options.refine = asked.after.refine(Effort::Low);
    options.refine.density = room.as_ref();
    let device = open_refiner(asked.device)?.engine;
    options.refine.device = device.as_deref();
    let (to, every, from) = asked.checkpoints.clone();
    let macros: HashSet<usize> = design.movable_macros().into_iter().collect();
    let mut host = Beside {
        asked,
        name: &of.design.name,
        charge: &charge,
        netlist: &netlist,
        stop,
        checkpoints: Checkpoints::new(to, every, from),
        nets: design.nets.as_ref().map_or(0, Nets::len),
        nodes: design.movable().map(|node| (node, macros.contains(&node))).collect(),
        failed: Arc::default(),
        begun: false,
    };
    let placed = flow::place(&mut design, &charge, &netlist, &options, &mut host);
    if let Some(error) = host.failed.lock().unwrap_or_else(PoisonError::into_inner).take() {
        return Err(error.into());
    }
    let placed = placed?;
    warnings.extend(host.checkpoints.saved.err().map(|error| error.to_string()));
    warnings.extend(placed.left_out.map(str::to_owned));
    let Placed { global, stages, seed, candidates, rounds, limit, .. } = &placed;
    let kept = report_of(&mut kept, &mut design)?;
    let mut made = Made::of_stages(of, design, stages)?;
    made.report.extend(kept);
    let asked_for = asked.target_density.filter(|_| !asked.raise_density);
    let is_missed = asked_for.is_some_and(|asked_for| charge.target_density() > asked_for);
    let status = match global.outcome {
        Outcome::Converged if is_missed => Outcome::OutOfIterations,
        outcome => outcome,
    };
    let column = |value: fn(&Record) -> f64| global.records.iter().map(value).collect::<Vec<f64>>();
    let columns = Record::COLUMNS.map(|(name, value)| (name.to_owned(), json!(column(value))));
    let history = Value::Object(Object::from_iter(columns));
    let report = json!({
        "status": status.status(),
        "iterations": global.records.last().map_or(0, |record| record.iteration),
        "iteration": global.iteration,
        "seed": seed,
        "bins": [grid.nx(), grid.ny()],
        "target_density": charge.target_density(),
        "fillers": charge.fillers(),
        "overflow_smoothed": global.overflow.smoothed,
        "overflow_exact": global.overflow.exact,
        "overflow_standard_cells": global.overflow.standard_cells,
        "limit": limit,
        "candidates": candidates,
        "routability": rounds.rounds,
        "routability_end": rounds.end,
        "warnings": warnings,
        "history": history,
    });
    if let Value::Object(report) = report {
        made.report.extend(report);
    }
    Ok(made)
}

/// Gives every cell of `design` a legal place.
#[pyfunction]
pub(super) fn legalize<'py>(
    py: Python<'py>,
    design: &Bound<'py, Design>,
    options: &Bound<'py, PyDict>,
) -> PyResult<(Design, Bound<'py, PyAny>)> {
    let after = After::of(&Options(options))?;
    let of = design.get();
    let made = detached(py, || {
        on_threads(after.threads, |stop| {
            let mut design = (*of.design).clone();
            to_medians(&mut design, of.unplaced());
            let mut kept = after.kept(&mut design, of.unplaced());
            let mut stages = Stages::of_global(StageReport::of(&design, None, None));
            let options = LegalizeOptions::default().padding(after.padding);
            stages.legalize(&mut design, &options, None, &mut |_| {
                let ended = stop.load(Ordering::Relaxed) || after.is_late();
                ended.then_some(Outcome::OutOfTime)
            })?;
            let kept = report_of(&mut kept, &mut design)?;
            let is_done = stages.is_legal() && stages.failed.is_empty();
            let status = if is_done { "converged" } else { "stopped" };
            let mut made = Made::of_stages(of, design, &stages)?;
            made.say("status", json!(status));
            made.report.extend(kept);
            Ok(made)
        })
    })?;
    made.ended(py)
}

/// Shortens the wires of `design`, which is placed legally.
#[pyfunction]
pub(super) fn refine<'py>(
    py: Python<'py>,
    design: &Bound<'py, Design>,
    options: &Bound<'py, PyDict>,
) -> PyResult<(Design, Bound<'py, PyAny>)> {
    let options = Options(options);
    let (after, charging) = (After::of(&options)?, Charging::of(&options, "bins")?);
    let (of, device) = (design.get(), options.device()?);
    let work = |stop: &AtomicBool| refined(of, &after, &charging, device, stop);
    let made = detached(py, || on_threads(after.threads, work))?;
    made.ended(py)
}

fn refined<'a>(
    of: &'a Design,
    after: &After,
    charging: &Charging,
    device: Device,
    stop: &AtomicBool,
) -> Result<Made<'a>, Failure> {
    let mut design = (*of.design).clone();
    let mut kept = after.kept(&mut design, of.source.unplaced());
    let charge = bare(charging, &design)?;
    let device = open_refiner(device)?.engine;
    let mut options = RefineOptions { device: device.as_deref(), ..after.refine(Effort::Medium) };
    if charge.target_density() < 1.0 || charge.target_densities().is_some() {
        options = options.density(&charge);
    }
    let legal = StageReport::of(&design, Some(&charge), None);
    let (detailed, found) = flow::shorten(&mut design, &options, &charge, &mut |_| {
        let ended = stop.load(Ordering::Relaxed) || after.is_late();
        ended.then_some(Outcome::OutOfTime)
    })?;
    let kept = report_of(&mut kept, &mut design)?;
    let moved = displacement::between(&design, &found.placement, &design.placement)?;
    let mut made = Made { of, design, report: kept };
    made.say("status", json!(detailed.status.status()));
    made.say("stages", json!({"legal": legal, "detailed": detailed}));
    made.say("legality", json!(of.judged(&made.design, None, &[])?));
    made.say("displacement", described(&made.design, &moved));
    Ok(made)
}
