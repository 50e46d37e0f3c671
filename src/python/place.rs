//! Placements: global, legal, detailed, by the options of `placefield place`, `legalize` and
//! `refine`.

use super::design::{Design, moved, name_of};
use super::errors::{Failure, detached, plain};
use super::options::{Charging, Options};
use crate::border::{Device, EngineReal, open_backend};
use crate::charge::{Charge, ChargeOptions, origin_for};
use crate::congestion::Capacity;
use crate::cpu::density::CpuDensity;
use crate::cpu::engine::thread_pool;
use crate::design::{Design as Core, Placement};
use crate::engine::EngineOptions;
use crate::grid::Map;
use crate::legalize::{LegalizeOptions, legalize as make_legal};
use crate::place::routability::{Round, Routability, RoutabilityOptions};
use crate::place::{Outcome, PlaceOptions, Placer, Record, Schedule, limits, start};
use crate::real::Precision;
use crate::refine::{RefineOptions, refine as shorten};
use crate::wirelength::Netlist;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{Map as Object, Value, json};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How often Ctrl-C is asked for while other threads work.
const SIGNALS_EVERY: Duration = Duration::from_millis(50);

/// The last stage.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Until {
    Global,
    Legal,
    Detailed,
}

/// The options of `place`.
struct Asked {
    charging: Charging,
    device: Device,
    precision: Precision,
    engine: EngineOptions,
    place: PlaceOptions,
    noise: f64,
    large_net: usize,
    raise_density: bool,
    seeds: u64,
    routability: Option<RoutabilityOptions>,
    until: Option<Until>,
    after: After,
    progress: Option<Py<PyAny>>,
}

/// The options of the stages after the global one.
#[derive(Clone, Copy)]
struct After {
    padding: u32,
    rounds: usize,
    mirror: bool,
    threads: usize,
    deadline: Option<Instant>,
}

impl After {
    fn of(options: &Options<'_, '_>) -> PyResult<Self> {
        let limit = options.number("time_limit", "a number of seconds from 0 to 1e9", |v| {
            (0.0..=1e9).contains(&v)
        })?;
        let rounds = options.count("rounds", 1..=u64::from(u32::MAX))?;
        Ok(After {
            padding: options.count("padding", 0..=1_000_000)?.unwrap_or(0) as u32,
            rounds: rounds.map_or(RefineOptions::default().rounds, |rounds| rounds as usize),
            mirror: !options.flag("no_mirror")?,
            threads: options.threads()?,
            deadline: limit
                .and_then(|limit| Instant::now().checked_add(Duration::from_secs_f64(limit))),
        })
    }

    fn is_late(&self) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }
}

impl Asked {
    fn of(options: &Options<'_, '_>) -> PyResult<Self> {
        let factor = |name| {
            options.number(name, "a number from 1e-12 to 1e6", |v| (1e-12..=1e6).contains(&v))
        };
        let share =
            |name| options.number(name, "a number from 0 to 1", |v| (0.0..=1.0).contains(&v));
        let growth =
            |name| options.number(name, "a number above 1 and at most 2", |v| v > 1.0 && v <= 2.0);
        let default = Schedule::default();
        let schedule = Schedule {
            gamma: factor("gamma")?.unwrap_or(default.gamma),
            density_share: factor("density_weight")?.unwrap_or(default.density_share),
            growth: growth("growth")?.unwrap_or(default.growth),
            late_growth: growth("late_growth")?.unwrap_or(default.late_growth),
            reference_share: factor("reference_rise")?.unwrap_or(default.reference_share),
            momentum: share("momentum")?.unwrap_or(default.momentum),
            pressure: factor("pressure")?.unwrap_or(default.pressure),
        };
        let most_iterations = options.count("iterations", 0..=u64::from(u32::MAX))?;
        let place = PlaceOptions::default();
        let place = place
            .stop_overflow(share("stop_overflow")?.unwrap_or(place.stop_overflow))
            .iterations(most_iterations.map_or(place.iterations, |most| most as usize))
            .warm(options.word("init", &[("center", false), ("file", true)])?.unwrap_or(false))
            .precondition(!options.flag("no_precondition")?)
            .schedule(schedule);
        let noise =
            options.number("noise", "a number from 0 to 1e6", |v| (0.0..=1e6).contains(&v))?;
        let large = options.count("ignore_net_degree", 2..=u64::from(u32::MAX))?;
        let seeds = options.count("seeds", 1..=u64::from(u32::MAX))?.unwrap_or(1);
        let default = RoutabilityOptions::default();
        let rounds = options.count("routability_rounds", 0..=u64::from(u32::MAX))?;
        let routability = RoutabilityOptions {
            rounds: rounds.map_or(default.rounds, |rounds| rounds as usize),
            capacity: capacity(options)?,
            ..default
        };
        let routability = options.flag("routability")?.then_some(routability);
        for name in ["capacity", "routability_rounds"] {
            if routability.is_none() && options.get(name)?.is_some() {
                return Err(Failure::Value(format!("{name} needs routability=True")).into());
            }
        }
        let noise = noise.unwrap_or(0.0);
        if seeds > 1 && place.warm && noise == 0.0 {
            let text = "seeds needs starts that differ: init=\"file\" has one, without noise";
            return Err(Failure::Value(text.to_owned()).into());
        }
        let mut charging = Charging::of(options, "bins")?;
        charging.options = charging.options.fillers(!options.flag("no_fillers")?);
        let until =
            [("global", Until::Global), ("legal", Until::Legal), ("detailed", Until::Detailed)];
        Ok(Asked {
            charging,
            device: options.device()?,
            precision: options.precision()?,
            engine: options.engine()?,
            place,
            noise,
            large_net: large.map_or(Netlist::ALL, |most| most as usize + 1),
            raise_density: options.flag("raise_density")?,
            seeds,
            routability,
            until: options.word("until", &until)?,
            after: After::of(options)?,
            progress: options.get("progress")?.map(Bound::unbind),
        })
    }
}

/// Routing tracks per layout unit, horizontal and vertical.
pub(super) fn capacity(options: &Options<'_, '_>) -> PyResult<Option<Capacity>> {
    let expected = "two numbers above zero, horizontal and vertical tracks per layout unit";
    let pair = options.pair("capacity", expected, |h, v| h > 0.0 && v > 0.0)?;
    Ok(pair.map(|(horizontal, vertical)| Capacity { horizontal, vertical }))
}

/// One global placement, ended.
struct Placed {
    seed: u64,
    outcome: Outcome,
    /// The one whose placement is the result.
    iteration: usize,
    x: Vec<f64>,
    y: Vec<f64>,
    /// Smoothed overflow, that with every cell at its exact size, and that of standard cells beside
    /// macros.
    overflow: [f64; 2],
    standard_cells: Option<f64>,
    records: Vec<Record>,
}

impl Placed {
    /// Steps until the placement ends, or the time has.
    fn of(placer: &mut Placer<'_>, asked: &Asked, seed: u64) -> Result<Self, Failure> {
        let mut records = vec![*placer.last()];
        while let Some(record) = placer.step()?.copied() {
            records.push(record);
            // Ctrl-C, and whoever wants to know how it goes.
            Python::attach(|py| -> PyResult<()> {
                py.check_signals()?;
                if let Some(progress) = &asked.progress {
                    let (hpwl, overflow) = (record.sample.hpwl, record.sample.density.overflow);
                    progress.call1(py, (record.iteration, hpwl, overflow))?;
                }
                Ok(())
            })?;
            if asked.after.is_late() {
                placer.stop(Outcome::OutOfTime);
            }
        }
        let (x, y) = placer.positions()?;
        let iteration = placer.result_iteration();
        let exact = placer.result_exact_density()?.overflow;
        Ok(Placed {
            seed,
            outcome: placer.outcome().unwrap_or(Outcome::Interrupted),
            iteration,
            x,
            y,
            overflow: [records[iteration].sample.density.overflow, exact],
            standard_cells: placer.result_standard_cells()?,
            records,
        })
    }

    fn hpwl(&self) -> f64 {
        self.records[self.iteration].sample.hpwl
    }

    /// Converged before not, then by wirelength; of those that are not by overflow.
    fn is_better_than(&self, other: &Placed) -> bool {
        match [self, other].map(|placed| placed.outcome == Outcome::Converged) {
            [true, true] => self.hpwl() < other.hpwl(),
            [false, false] => (self.overflow[0], self.hpwl()) < (other.overflow[0], other.hpwl()),
            [converged, _] => converged,
        }
    }

    /// With the iterations of `next` after its own, and the result of the better one.
    fn followed_by(mut self, next: Placed, next_is_better: bool) -> Placed {
        let own = self.records.len();
        let later = next.records.iter();
        self.records
            .extend(later.map(|record| Record { iteration: own + record.iteration, ..*record }));
        match next_is_better {
            true => Placed { records: self.records, iteration: own + next.iteration, ..next },
            false => self,
        }
    }
}

/// What a global placement is made of.
struct Parts<'a> {
    asked: &'a Asked,
    charge: &'a Charge,
    netlist: &'a Netlist,
}

impl Parts<'_> {
    /// Every seed once; the best, and what is to be said of each.
    fn descend<T: EngineReal>(&self) -> Result<(Placed, Vec<Value>), Failure> {
        let Parts { asked, charge, netlist } = *self;
        let mut backend = open_backend::<T>(charge.clone(), netlist, asked.device, &asked.engine)?;
        let (mut seeds, mut best) = (Vec::new(), None::<Placed>);
        for seed in (0..asked.seeds).map(|k| asked.charging.options.seed.wrapping_add(k)) {
            let (mut x, mut y) = match asked.place.warm {
                true => (charge.initial_x().to_vec(), charge.initial_y().to_vec()),
                false => start::centred(charge, seed),
            };
            if asked.noise > 0.0 {
                start::shake(charge, &mut x, &mut y, asked.noise, seed);
            }
            let mut placer = Placer::new(&mut *backend, &x, &y, &asked.place)?;
            let placed = Placed::of(&mut placer, asked, seed)?;
            seeds.push(json!({
                "seed": seed,
                "status": status(placed.outcome),
                "iterations": placed.records.last().map_or(0, |record| record.iteration),
                "hpwl_weighted": placed.hpwl(),
                "overflow_smoothed": placed.overflow[0],
            }));
            let is_late = placed.outcome == Outcome::OutOfTime;
            if best.as_ref().is_none_or(|best| placed.is_better_than(best)) {
                best = Some(placed);
            }
            if is_late {
                break;
            }
        }
        Ok((best.expect("one seed at least"), seeds))
    }

    /// Goes on from `best` in rounds in which cells grow; the cells of `design` are then where some
    /// round has them.
    fn grow<T: EngineReal>(
        &self,
        mut best: Placed,
        design: &mut Core,
        options: &RoutabilityOptions,
    ) -> Result<(Placed, Vec<Round>), Failure> {
        let Parts { asked, charge, netlist } = *self;
        let again = asked.place.warm(true);
        let mut state = Routability::new(charge, netlist, options);
        design.settle(&best.x, &best.y);
        let mut rounds = vec![state.measure(design)?];
        let (mut x, mut y) = (best.x.clone(), best.y.clone());
        while let (Some(grown), false) = (state.grow(&x, &y)?, asked.after.is_late()) {
            let mut backend =
                open_backend::<T>(grown.charge, &grown.netlist, asked.device, &asked.engine)?;
            let mut placer = Placer::new(&mut *backend, &grown.x, &grown.y, &again)?;
            let mut next = Placed::of(&mut placer, asked, best.seed)?;
            (x, y) = (next.x.clone(), next.y.clone());
            // The result is of the cells at their own sizes.
            (next.x, next.y) = state.at_own_size(&x, &y);
            next.overflow = overflow(charge, &next.x, &next.y);
            design.settle(&next.x, &next.y);
            let round = state.measure(design)?;
            let least = rounds.iter().map(|of| of.worst_utilization).fold(f64::INFINITY, f64::min);
            best = best.followed_by(next, round.worst_utilization < least);
            rounds.push(round);
        }
        Ok((best, rounds))
    }

    fn run<T: EngineReal>(
        &self,
        design: &mut Core,
        layers: Option<Capacity>,
    ) -> Result<(Placed, Vec<Value>, Vec<Round>), Failure> {
        let (placed, seeds) = self.descend::<T>()?;
        match self.asked.routability {
            Some(options) if placed.outcome != Outcome::OutOfTime => {
                let options =
                    RoutabilityOptions { capacity: options.capacity.or(layers), ..options };
                let (placed, rounds) = self.grow::<T>(placed, design, &options)?;
                Ok((placed, seeds, rounds))
            }
            _ => Ok((placed, seeds, Vec::new())),
        }
    }
}

/// Smoothed and exact overflow of bodies of `charge`.
fn overflow(charge: &Charge, x: &[f64], y: &[f64]) -> [f64; 2] {
    let [from_x, from_y] = charge.origin();
    let less = |at: &[f64], from: f64| at.iter().map(|at| at - from).collect::<Vec<f64>>();
    let (x, y) = (less(x, from_x), less(y, from_y));
    let [nx, ny] = charge.stacked_bins();
    let mut density = CpuDensity::new(charge, 0.0);
    let smoothed = density.smoothed(&x, &y, &mut Map::filled(nx, ny, 0.0)).overflow;
    [smoothed, density.exact(&x, &y).overflow]
}

/// The program's word for how a placement ended.
fn status(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Converged => "converged",
        Outcome::Plateau => "plateau",
        Outcome::Interrupted => "interrupted",
        Outcome::Diverged | Outcome::NotFinite => "diverged",
        _ => "stopped",
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
                raised = Python::attach(|py| py.check_signals());
                stop.store(raised.is_err(), Ordering::Relaxed);
            }
        }
        worker.join()
    });
    raised?;
    done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// A design on its way through the stages after the global one, and what each came to.
struct Stages<'a> {
    of: &'a Design,
    design: Core,
    /// Where the stages began.
    before: Placement,
    stages: Object<String, Value>,
    report: Object<String, Value>,
}

impl<'a> Stages<'a> {
    /// From the placement that `design` has, which is called `name`.
    fn new(of: &'a Design, design: Core, name: &str, seconds: Option<f64>) -> Self {
        let before = design.placement.clone();
        let mut stages =
            Stages { of, design, before, stages: Object::new(), report: Object::new() };
        stages.note(name, seconds, json!({}));
        stages
    }

    /// What a stage came to.
    fn note(&mut self, name: &str, seconds: Option<f64>, mut more: Value) {
        let hpwl = self.design.hpwl();
        more["hpwl"] = json!(hpwl.map(|hpwl| hpwl.unweighted));
        more["hpwl_weighted"] = json!(hpwl.map(|hpwl| hpwl.weighted));
        if let Some(seconds) = seconds {
            more["seconds"] = json!(seconds);
        }
        self.stages.insert(name.to_owned(), more);
    }

    /// How legal the cells stand now, and how far from where they were.
    fn judge(&mut self) -> Result<(), Failure> {
        let legality = self.of.judged(&self.design, None)?;
        let displacement = moved(&self.design, &self.before, &self.design.placement)?;
        self.report.insert("legality".to_owned(), legality);
        self.report.insert("displacement".to_owned(), displacement);
        Ok(())
    }

    fn is_legal(&self) -> bool {
        let legal = self.report.get("legality").map(|legality| legality["legal"] == json!(true));
        legal == Some(true) && self.report.get("failed").is_none_or(|failed| *failed == json!([]))
    }

    fn legalize(&mut self, after: &After) -> Result<(), Failure> {
        let begun = Instant::now();
        let (design, options) = (&self.design, LegalizeOptions::default().padding(after.padding));
        let legalized = on_threads(after.threads, |_| Ok(make_legal(design, &options)?))?;
        let failed = legalized.failed.iter().map(|failed| {
            json!({"cell": name_of(design, failed.node), "reason": failed.reason.to_string()})
        });
        self.report.insert("failed".to_owned(), failed.collect());
        self.design.placement = legalized.placement;
        self.note("legal", Some(begun.elapsed().as_secs_f64()), json!({}));
        self.judge()
    }

    /// Shortens wires; no bin of `charge`, which has no fillers, is filled beyond its target.
    fn refine(&mut self, after: &After, charge: &Charge) -> Result<&'static str, Failure> {
        let begun = Instant::now();
        let mut options = RefineOptions::default()
            .rounds(after.rounds)
            .mirror(after.mirror)
            .padding(after.padding);
        if charge.target_density() < 1.0 || charge.target_densities().is_some() {
            options = options.density(charge);
        }
        let design = &self.design;
        let refined = on_threads(after.threads, |stop| {
            Ok(shorten(design, &options, &mut |_| match stop.load(Ordering::Relaxed)
                || after.is_late()
            {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            })?)
        })?;
        let status = if refined.interrupted { "stopped" } else { "converged" };
        let [swap, reorder, shift, mirror] = refined.shortened;
        self.design.placement = refined.placement;
        let more = json!({
            "status": status,
            "rounds": refined.rounds,
            "moved": refined.moved,
            "stayed": refined.stayed,
            "shortened": {"swap": swap, "reorder": reorder, "shift": shift, "mirror": mirror},
        });
        self.note("detailed", Some(begun.elapsed().as_secs_f64()), more);
        self.judge()?;
        Ok(status)
    }

    /// The design as it is placed now, and the report.
    fn ended<'py>(mut self, py: Python<'py>) -> PyResult<(Design, Bound<'py, PyAny>)> {
        let hpwl = self.design.hpwl();
        self.report.insert("hpwl".to_owned(), json!(hpwl.map(|hpwl| hpwl.unweighted)));
        self.report.insert("hpwl_weighted".to_owned(), json!(hpwl.map(|hpwl| hpwl.weighted)));
        self.report.insert("stages".to_owned(), self.stages.into());
        let report = plain(py, &self.report)?;
        Ok((self.of.placed(self.design), report))
    }
}

/// A charge without fillers on the bins of `charging`.
fn bare(charging: &Charging, design: &Core) -> Result<Charge, Failure> {
    let options = ChargeOptions::default().target_density(charging.options.target_density);
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
    let stages = detached(py, || placed(of, &asked))?;
    stages.ended(py)
}

fn placed<'a>(of: &'a Design, asked: &Asked) -> Result<Stages<'a>, Failure> {
    let mut design = (*of.design).clone();
    let mut charge = asked.charging.charge(&design)?;
    let grid = charge.grid();
    charge.set_origin(origin_for(&grid.die(), design.row_height(), asked.precision)?)?;
    if let Some(cell) = limits::too_large(&charge) {
        let node = design.movable().nth(cell).expect("a movable cell is a node");
        let (name, (width, height)) = (name_of(&design, node as u32), design.size(node));
        let die = grid.die();
        return Err(Failure::Value(format!(
            "node `{name}`: {width} x {height}: expected a movable node no larger than the die, {} x {}",
            die.width(),
            die.height()
        )));
    }
    let obstacles = limits::obstacles(&charge, asked.place.stop_overflow);
    let warnings = charge.warnings().iter().chain(&obstacles);
    let mut warnings: Vec<String> = warnings.map(ToString::to_string).collect();
    let netlist = Netlist::from_design(&design, asked.large_net)?;
    let layers =
        design.units_per_micron.and_then(|units| Capacity::of_lef(&of.source.layers, units));
    let begun = Instant::now();
    let parts = Parts { asked, charge: &charge, netlist: &netlist };
    let (placed, seeds, rounds) = match asked.precision {
        Precision::F32 => parts.run::<f32>(&mut design, layers)?,
        Precision::F64 => parts.run::<f64>(&mut design, layers)?,
    };
    let seconds = begun.elapsed().as_secs_f64();
    design.settle(&placed.x, &placed.y);
    let limit = (placed.outcome == Outcome::Plateau)
        .then(|| limits::limit(&charge, &placed.x, &placed.y))
        .transpose()?;
    let has_rows = !design.rows.is_empty();
    let mut stages = Stages::new(of, design, "global", Some(seconds));
    let spread = !matches!(placed.outcome, Outcome::Diverged | Outcome::NotFinite);
    if asked.until.is_none() && !has_rows {
        let text = "the design has no rows: the placement is left as the global stage ends";
        warnings.push(text.to_owned());
    } else if asked.until != Some(Until::Global) && spread {
        stages.legalize(&asked.after)?;
        if asked.until.is_none_or(|until| until >= Until::Detailed) && stages.is_legal() {
            let bins = Some((grid.nx(), grid.ny()));
            let bins = bare(&Charging { bins, ..asked.charging }, &stages.design)?;
            stages.refine(&asked.after, &bins)?;
        }
    }
    let asked_for = asked.charging.options.target_density;
    let is_missed = charge.target_density() > asked_for && !asked.raise_density;
    let status = match status(placed.outcome) {
        "converged" if is_missed => "stopped",
        other => other,
    };
    let column =
        |value: &dyn Fn(&Record) -> f64| -> Vec<f64> { placed.records.iter().map(value).collect() };
    let history = json!({
        "iteration": column(&|r| r.iteration as f64),
        "hpwl_weighted": column(&|r| r.sample.hpwl),
        "wirelength": column(&|r| r.sample.wirelength),
        "overflow_smoothed": column(&|r| r.sample.density.overflow),
        "max_smoothed": column(&|r| r.sample.density.max),
        "energy": column(&|r| r.sample.energy),
        "gamma": column(&|r| r.gamma),
        "lambda": column(&|r| r.lambda),
        "step": column(&|r| r.step),
    });
    let report = json!({
        "status": status,
        "iterations": placed.records.last().map_or(0, |record| record.iteration),
        "iteration": placed.iteration,
        "seed": placed.seed,
        "bins": [grid.nx(), grid.ny()],
        "target_density": charge.target_density(),
        "fillers": charge.fillers(),
        "overflow_smoothed": placed.overflow[0],
        "overflow_exact": placed.overflow[1],
        "overflow_standard_cells": placed.standard_cells,
        "limit": limit,
        "seeds": seeds,
        "routability": rounds,
        "warnings": warnings,
        "history": history,
    });
    if let Value::Object(report) = report {
        stages.report.extend(report);
    }
    Ok(stages)
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
    let stages = detached(py, || {
        let mut stages = Stages::new(of, (*of.design).clone(), "global", None);
        stages.legalize(&after)?;
        let status = if stages.is_legal() { "converged" } else { "stopped" };
        stages.report.insert("status".to_owned(), json!(status));
        Ok(stages)
    })?;
    stages.ended(py)
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
    let of = design.get();
    let stages = detached(py, || {
        let mut stages = Stages::new(of, (*of.design).clone(), "legal", None);
        let charge = bare(&charging, &stages.design)?;
        let status = stages.refine(&after, &charge)?;
        stages.report.insert("status".to_owned(), json!(status));
        Ok(stages)
    })?;
    stages.ended(py)
}
