//! `placefield place`: a placement of a design, stage by stage.

mod checkpoint;
mod descend;
mod experts;
pub(crate) mod frames;
mod history;
mod page;
mod progress;
mod routability;
mod summary;

use super::diff::write_moves;
use super::document::write_document;
use super::engines::{self, EngineReal};
use super::evaluation;
use super::failure::{Failure, Interrupted, Stopped, usage};
use super::input::{Opened, charge_of, open_design, with_precision};
use super::log;
use super::options::{EngineChoice, EvaluationArgs};
use super::outputs::{Outputs, PICTURES, check_placement_output, identity};
use super::pictures;
use super::results::tell;
use super::stages::{LegalArgs, Overflow, StageReport, Stages, Until};
use super::stop;
use crate::charge::Charge;
use crate::cpu::engine::milliseconds;
use crate::formats::write_placement;
use crate::place::{Outcome, PlaceOptions, Placer, Record, limits, placement_bins, start};
use crate::warning::{Warning, WarningCode};
use crate::wirelength::Netlist;
use checkpoint::Subject;
use clap::error::ErrorKind;
use clap::{Args, ValueEnum};
use descend::{Beside, Checkpoints, Descent, descend};
use experts::{ExpertArgs, number, share};
use frames::{Frames, FramesWanted};
pub(crate) use history::HistoryReport;
use history::{HistoryFile, Live};
use page::Ended;
use routability::{Placing, RoutabilityArgs};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
pub(crate) use summary::PlaceReport;
use summary::{Seed, Summary, Times};

/// Options of `placefield place`. Fillers always take part but with `--no-fillers`.
#[derive(Args)]
#[command(
    mut_arg("fillers", |arg| arg.hide(true)),
    mut_arg("bins", |arg| arg.help("Bins along x and y; unless given with about one mean cell in each at most, or \
        DREAMPlace's choice where macros move and for ISPD2005 designs")),
    mut_arg("target_density", |arg| arg.help("Target density, above 0 and at most 1; unless given 0.95, or as little \
        more as the cells need"))
)]
pub(crate) struct PlaceArgs {
    #[command(flatten)]
    evaluation: EvaluationArgs,
    /// The placement: a .pl file, or a copy of the .def file (.gz) with its movable cells placed
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,
    /// The last stage; the default is the last there is
    #[arg(long, value_enum, value_name = "STAGE")]
    until: Option<Until>,
    #[command(flatten)]
    legal: LegalArgs,
    /// Where cells start: where the .pl file has them, or at the die's centre
    #[arg(long, value_enum, default_value_t = InitArg::Center, value_name = "START")]
    init: InitArg,
    /// Smoothed overflow at which the placement is done; where macros move, the other cells' own must be as low
    #[arg(long, value_name = "OVERFLOW", default_value_t = 0.07, value_parser = share)]
    stop_overflow: f64,
    /// Be content with a higher target density than --target-density where the cells do not fit at
    /// that one; without it such a placement ends with exit code 3, though it is written
    #[arg(long)]
    raise_density: bool,
    /// Most iterations
    #[arg(long, value_name = "K", default_value_t = PlaceOptions::default().iterations)]
    iterations: usize,
    /// Stop so many seconds after the command began; the best placement so far is written
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    time_limit: Option<f64>,
    /// Place with so many seeds, from --seed on, one after the other, and write the best placement
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    seeds: u32,
    /// Write the summary as JSON (-: to standard output, in place of the text)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write every iteration's numbers, as .csv or .json
    #[arg(long, value_name = "FILE")]
    history: Option<HistoryFile>,
    /// Draw wirelength, overflow and weights over the iterations
    #[arg(long, value_name = "DIR")]
    plots: Option<PathBuf>,
    /// Draw cells and potential while they move, and an animation of it
    #[arg(long, value_name = "DIR", conflicts_with = "seeds")]
    frames: Option<PathBuf>,
    /// Iterations from one frame to the next
    #[arg(long, value_name = "K", default_value_t = 10, requires = "frames",
          value_parser = clap::value_parser!(u32).range(1..))]
    frame_every: u32,
    /// Write a page with the iterations, frames of the cells and the maps of the result
    #[arg(long, value_name = "FILE.html", conflicts_with = "seeds")]
    report: Option<PathBuf>,
    /// Write the placement in progress now and then and when it ends, to go on from with --resume
    #[arg(long, value_name = "FILE", conflicts_with = "seeds")]
    checkpoint: Option<PathBuf>,
    /// Iterations from one checkpoint to the next
    #[arg(long, value_name = "K", default_value_t = 100, requires = "checkpoint",
          value_parser = clap::value_parser!(u32).range(1..))]
    checkpoint_every: u32,
    /// Go on from a checkpoint of the same design, engine and options, bit for bit
    #[arg(long, value_name = "FILE", conflicts_with_all = ["seeds", "init"])]
    resume: Option<PathBuf>,
    #[command(flatten)]
    routability: RoutabilityArgs,
    #[command(flatten)]
    experts: ExpertArgs,
}

impl PlaceArgs {
    /// As `demo` places: with a page and every default.
    pub(crate) fn for_demo(aux: &Path, output: &Path, page: &Path, engine: EngineChoice) -> Self {
        #[derive(clap::Parser)]
        struct Defaults {
            #[command(flatten)]
            place: PlaceArgs,
        }
        let [option, report] = ["-o", "--report"].map(OsStr::new);
        let words =
            [OsStr::new("demo"), aux.as_ref(), option, output.as_ref(), report, page.as_ref()];
        let mut args = <Defaults as clap::Parser>::parse_from(words).place;
        args.evaluation.options.engine = engine;
        args
    }
}

/// `--init`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum InitArg {
    File,
    Center,
}

/// `--time-limit`.
pub(crate) fn seconds(text: &str) -> Result<f64, String> {
    number(text, |v| (0.0..=1e9).contains(&v), "a number of seconds from 0 to 1e9")
}

/// Target density of a placement unless one is given: what is left free lets cells stand on rows and sites
/// near where they are. `benchmarks/experiments.md` has the measurements.
const TARGET_DENSITY: f64 = 0.95;

/// Reads, places, writes, and says how it went.
pub(crate) fn run(args: &PlaceArgs) -> Result<(), Failure> {
    let begun = Instant::now();
    args.evaluation.options.engine.only_one()?;
    if args.output == Path::new("-") {
        let message = "a placement goes to a file, for standard output takes the summary";
        return Err(usage(ErrorKind::InvalidValue, message));
    }
    if args.seeds > 1 && args.init == InitArg::File && args.experts.noise() == 0.0 {
        let message =
            "'--seeds' needs starts that differ: '--init file' has one, without '--noise'";
        return Err(usage(ErrorKind::ArgumentConflict, message));
    }
    args.evaluation.design.check()?;
    let mut inputs = args.evaluation.design.files();
    // The checkpoint that is gone on from is for the next one alone to write over: it is read before.
    let next = args.checkpoint.as_deref().and_then(identity);
    inputs.extend(args.resume.clone().filter(|path| next.is_none() || identity(path) != next));
    Outputs::default()
        .file("--output", Some(&args.output))
        .file("--json", args.json.as_ref())
        .file("--history", args.history.as_ref().map(HistoryFile::path))
        .file("--report", args.report.as_ref())
        .file("--checkpoint", args.checkpoint.as_ref())
        .folder("--plots", args.plots.as_ref(), PICTURES)
        .folder("--frames", args.frames.as_ref(), PICTURES)
        .check(&inputs)?;
    check_placement_output(&args.output, &args.evaluation.design)?;
    engines::prefetch_device(&args.evaluation.options, true);
    let opened = open_design(&args.evaluation)?;
    with_precision!(args.evaluation.options.precision(), T => place::<T>(args, opened, begun))
}

fn place<T: EngineReal>(
    args: &PlaceArgs,
    mut opened: Opened,
    begun: Instant,
) -> Result<(), Failure> {
    log::begin("making bins, charge and engine");
    let setup = Instant::now();
    let given = &args.evaluation.options;
    let target_density = given.given_target_density().unwrap_or(TARGET_DENSITY);
    let die = opened
        .design
        .die()
        .ok_or("the design has neither rows nor an outline, so it has no die")?;
    let bins = placement_bins(&opened.design, die, given.target_density());
    let options = match args.experts.fillers() {
        true => given.or(bins, target_density).with_fillers(),
        false => given.or(bins, target_density),
    };
    let (charge, netlist) = beside(
        || Netlist::from_design(&opened.design, args.experts.large_net()),
        || charge_of(&opened.design, &options),
    );
    let charge = Arc::new(charge?);
    if let Some(cell) = limits::too_large(&charge) {
        let node = opened.design.movable().nth(cell).expect("a movable cell is a node");
        let (name, die) = (opened.design.nodes.names.get(node), charge.grid().die());
        let [(width, height), (most_x, most_y)] =
            [opened.design.size(node), (die.width(), die.height())];
        return Err(format!(
            "node `{name}`: {width} x {height}: expected a movable node no larger than the die, {most_x} x {most_y}"
        )
        .into());
    }
    opened.warnings.extend(charge.warnings().iter().cloned());
    opened.warnings.extend(limits::obstacles(&charge, args.stop_overflow));
    let netlist = netlist.map_err(|e| format!("{e}, so there is nothing to place by"))?;
    let place_options = args.experts.apply(
        PlaceOptions::default()
            .stop_overflow(args.stop_overflow)
            .iterations(args.iterations)
            .warm(args.init == InitArg::File),
    );
    // The first start is made while the engine is.
    let (chosen, mut first) = beside(
        || args.resume.is_none().then(|| first_positions(args, &charge, options.seed())),
        || engines::open_backend::<T>(charge.clone(), &netlist, &options),
    );
    let engines::ChosenBackend { mut backend, note } = chosen?;
    let descriptor = backend.descriptor();
    let wanted = FramesWanted { folder: args.frames.clone(), page: args.report.is_some() };
    let mut frames = Frames::start(&wanted, args.frame_every as usize, &opened.design, &charge)?;
    let choice = backend.choice();
    let mut notes = Vec::from_iter(note);
    notes.extend(engines::pipeline_note(&options, &choice));

    stop::listen()?;
    let deadline =
        args.time_limit.and_then(|limit| begun.checked_add(Duration::from_secs_f64(limit)));
    let subject = (args.checkpoint.is_some() || args.resume.is_some()).then(|| {
        let (name, engine) = (&opened.design.name, descriptor.engine);
        // Where it stops may be another one.
        let mut steps = place_options;
        (steps.stop_overflow, steps.iterations) = (0.0, 0);
        let (pipeline, noise) = (choice.pipeline, args.experts.noise());
        let how = format!("{pipeline}, noise {noise}, {steps:?}");
        Subject::of::<T>(name, &charge, &netlist, (engine, options.seed()), how)
    });
    let mut times = Times { read: opened.parse_ms, setup: milliseconds(setup), ..Times::default() };
    let mut history = args.history.as_ref().and_then(HistoryFile::live);
    let mut seeds = Vec::new();
    let mut best: Option<Placed> = None;
    for seed in (0..u64::from(args.seeds)).map(|k| options.seed().wrapping_add(k)) {
        log::begin(&format!("spreading cells, seed {seed}"));
        let descent_begun = Instant::now();
        let (mut placer, records) = match &args.resume {
            Some(path) => {
                let subject = subject.as_ref().expect("made where there is a checkpoint");
                let (checkpoint, records) = checkpoint::read::<T>(path, subject)?;
                (Placer::resume(&mut *backend, &checkpoint, &place_options)?, records)
            }
            None => {
                let (x, y) = first.take().unwrap_or_else(|| first_positions(args, &charge, seed));
                let placer = Placer::new(&mut *backend, &x, &y, &place_options)?;
                let first = *placer.last();
                (placer, vec![first])
            }
        };
        // Before the run, but once it is known that there will be one.
        if best.is_none() {
            tell(&notes, &opened.warnings);
        }
        let beside = Beside {
            deadline,
            checkpoints: args.checkpoint.as_deref().zip(subject.as_ref()).map(|(path, subject)| {
                Checkpoints { path, every: args.checkpoint_every as usize, subject }
            }),
            frames: frames.as_mut(),
            history: history.as_mut(),
        };
        let descent = descend::<T>(&mut placer, &place_options, records, beside)?;
        times.frames += descent.frames;
        times.checkpoints += descent.checkpoints;
        let placed = Placed::of(&mut placer, descent, seed)?;
        times.descent += milliseconds(descent_begun);
        seeds.push(placed.summary());
        let ended = matches!(placed.outcome, Outcome::Interrupted | Outcome::OutOfTime);
        if best.as_ref().is_none_or(|best| placed.is_better_than(best)) {
            best = Some(placed);
        }
        if ended {
            break;
        }
    }
    let mut placed = best.expect("one seed at least");
    let mut rounds = Vec::new();
    let ended_early = matches!(placed.outcome, Outcome::Interrupted | Outcome::OutOfTime);
    if let (Some(wanted), false) = (args.routability.options(&opened), ended_early) {
        drop(backend);
        let (options, place_options) = (&options, &place_options);
        let placing =
            Placing { charge: &charge, netlist: &netlist, options, place_options, deadline };
        let rounds_begun = Instant::now();
        (placed, rounds) = routability::improve::<T>(placed, &mut opened, &wanted, &placing)?;
        times.descent += milliseconds(rounds_begun);
    }

    opened.design.settle(&placed.x, &placed.y);
    let overflow = Overflow {
        smoothed: placed.smoothed,
        exact: placed.exact,
        standard_cells: placed.standard_cells,
    };
    let global = StageReport::new(opened.design.hpwl(), Some(overflow), Some(times.descent / 1e3));
    let mut stages = Stages::of_global(global);
    let mut before = None;
    if let Some(left_out) = legal_left_out(args, &opened, placed.outcome) {
        opened.warnings.extend(left_out.map(|why| Warning::new(WarningCode::StageLeftOut, why)));
    } else {
        let global = opened.design.placement.clone();
        stages.legalize(&mut opened.design, &args.legal, Some(&charge))?;
        if args.until.is_none_or(|until| until >= Until::Detailed) && stages.is_legal() {
            // Only who asks for room wants it kept; bins hold some cells each then, not a part of one.
            let kept = given
                .given_target_density()
                .filter(|target| *target < 1.0)
                .map(|_| charge_of(&opened.design, given))
                .transpose()?;
            let kept = kept.as_ref();
            stages.refine(&mut opened, &args.legal, &charge, kept, &global, deadline)?;
        }
        before = Some(global);
    }
    let design = &opened.design;
    write_placement(&args.output, &args.evaluation.design.path, design)?;
    let Placed { seed, outcome, iteration, .. } = placed;
    let limit = (outcome == Outcome::Plateau)
        .then(|| limits::limit(&charge, &placed.x, &placed.y))
        .transpose()?;
    let regions = match charge.regions() {
        1 => Vec::new(),
        _ => {
            let mut charge = Charge::clone(&charge);
            charge.set_initial(&placed.x, &placed.y)?;
            evaluation::regions::<T>(charge, &options)?
        }
    };
    let summary = Summary {
        design,
        def: opened.def.as_ref(),
        charge: &charge,
        experts: &args.experts,
        deterministic: options.deterministic(),
        place_options: &place_options,
        descriptor: &descriptor,
        pipeline: choice.pipeline,
        precision: T::PRECISION,
        seed,
        outcome,
        target_asked: options.target_density(),
        raise_density: args.raise_density || given.given_target_density().is_none(),
        limit: limit.as_deref(),
        iteration,
        regions: &regions,
        times,
        records: &placed.descent.records,
        seeds: if args.seeds > 1 { &seeds } else { &[] },
        rounds: &rounds,
        warnings: &opened.warnings,
        stages: &stages,
    };
    // What could not be written is said once all else is.
    let Descent { drawn, saved, .. } = &placed.descent;
    let (film, filmed) = match frames.map_or(Ok(None), Frames::finish) {
        Ok(film) => (film, Ok(())),
        Err(error) => (None, Err(error)),
    };
    if let Some(path) = &args.report {
        let ended = Ended {
            opened: &opened,
            args: &args.evaluation,
            options: &options,
            pipeline: choice.pipeline,
            how: summary.how(),
            seconds: summary.seconds(),
            stages: &stages,
            before: before.as_ref(),
            records: summary.records,
            film,
        };
        // The cells where the last stage left them, the fillers where the first did.
        for (cell, node) in design.movable().enumerate() {
            placed.x[cell] = design.placement.x[node];
            placed.y[cell] = design.placement.y[node];
        }
        page::page::<T>(ended, Charge::clone(&charge), &placed.x, &placed.y)?
            .write(Some(design), path)?;
    }
    let mut pictures = match &args.plots {
        Some(folder) => pictures::draw_placement(&summary.design.name, summary.records, folder)?,
        None => Vec::new(),
    };
    if let (Some(folder), Some(before), Some(moved)) = (&args.plots, &before, &stages.moved) {
        write_moves("from the global placement on", design, before, moved, folder, &mut pictures)?;
    }
    let files = [
        Some(&*args.output),
        args.json.as_deref(),
        args.report.as_deref(),
        args.history.as_ref().map(HistoryFile::path),
        args.checkpoint.as_deref(),
        args.frames.as_deref(), // the folder: of frames there are many
    ];
    let files: Vec<&Path> =
        files.into_iter().flatten().chain(pictures.iter().map(PathBuf::as_path)).collect();
    let recorded = history.map_or(Ok(()), Live::finish);
    // A CSV file of one placement has all its lines already.
    if let Some(file) = &args.history
        && (file.live().is_none() || seeds.len() > 1 || !rounds.is_empty())
    {
        file.write(&summary, &opened.files, &files)?;
    }
    let write = |file: &PathBuf| write_document(file, &opened.files, &files, &summary.json());
    args.json.as_ref().map_or(Ok(()), write)?;
    if args.json.as_deref() != Some(Path::new("-")) {
        summary.print(files.iter().copied())?;
    }
    drawn.as_ref().and(saved.as_ref()).map_err(|e| e.to_string())?;
    filmed?;
    recorded?;
    ended(&summary, &args.output)?;
    stages.ended()
}

/// Whether the placement stays as the global stage left it, and what is to be said of that.
fn legal_left_out(
    args: &PlaceArgs,
    opened: &Opened,
    outcome: Outcome,
) -> Option<Option<&'static str>> {
    if args.until == Some(Until::Global) {
        return Some(None);
    }
    if args.until.is_none() && opened.design.rows.is_empty() {
        return Some(Some(
            "the design has no rows: the placement is left as the global stage ends",
        ));
    }
    // What was broken off is written as it is.
    let spread = !matches!(outcome, Outcome::Interrupted | Outcome::Diverged | Outcome::NotFinite);
    (!spread).then_some(None)
}

/// Runs `there` on a thread of the pool and `here` on this one, at the same time. Gives both results, that of
/// `here` first.
fn beside<A, B: Send>(there: impl FnOnce() -> B + Send, here: impl FnOnce() -> A) -> (A, B) {
    let mut given = None;
    let a = rayon::in_place_scope(|scope| {
        scope.spawn(|_| given = Some(there()));
        here()
    });
    (a, given.expect("the scope waits for what it has started"))
}

/// One of the placements, ended.
struct Placed {
    seed: u64,
    outcome: Outcome,
    /// The one whose placement is the result.
    iteration: usize,
    x: Vec<f64>,
    y: Vec<f64>,
    /// Smoothed overflow, and that with every cell at its exact size.
    smoothed: f64,
    exact: f64,
    standard_cells: Option<f64>,
    descent: Descent,
}

impl Placed {
    fn of(placer: &mut Placer<'_>, descent: Descent, seed: u64) -> Result<Self, Failure> {
        let (x, y) = placer.positions()?;
        let iteration = placer.result_iteration();
        Ok(Placed {
            seed,
            outcome: placer.outcome().unwrap_or(Outcome::Interrupted),
            iteration,
            x,
            y,
            smoothed: descent.records[iteration].sample.density.overflow,
            exact: placer.result_exact_density()?.overflow,
            standard_cells: placer.result_standard_cells()?,
            descent,
        })
    }

    /// With the iterations of `next` after its own, and the result of the better one.
    fn followed_by(mut self, next: Placed, next_is_better: bool) -> Placed {
        let own = self.descent.records.len();
        let later = next.descent.records.iter();
        self.descent
            .records
            .extend(later.map(|record| Record { iteration: own + record.iteration, ..*record }));
        match next_is_better {
            true => Placed { descent: self.descent, iteration: own + next.iteration, ..next },
            false => self,
        }
    }

    fn sample(&self) -> &crate::place::Sample {
        &self.descent.records[self.iteration].sample
    }

    /// Converged before not, then by wirelength; of those that are not by overflow.
    fn is_better_than(&self, other: &Placed) -> bool {
        let (a, b) = (self.sample(), other.sample());
        match (self.outcome, other.outcome) {
            (Outcome::Converged, Outcome::Converged) => a.hpwl < b.hpwl,
            (Outcome::Converged, _) => true,
            (_, Outcome::Converged) => false,
            _ => (a.density.overflow, a.hpwl) < (b.density.overflow, b.hpwl),
        }
    }

    fn summary(&self) -> Seed {
        Seed {
            seed: self.seed,
            status: self.outcome,
            iterations: self.descent.records.last().map_or(0, |r: &Record| r.iteration),
            hpwl: self.sample().hpwl,
            overflow_smoothed: self.sample().density.overflow,
        }
    }
}

/// Lower-left corners of every body at the start.
fn first_positions(args: &PlaceArgs, charge: &Charge, seed: u64) -> (Vec<f64>, Vec<f64>) {
    let (mut x, mut y) = match args.init {
        InitArg::File => (charge.initial_x().to_vec(), charge.initial_y().to_vec()),
        InitArg::Center => start::centred(charge, seed),
    };
    if args.experts.noise() > 0.0 {
        start::shake(charge, &mut x, &mut y, args.experts.noise(), seed);
    }
    (x, y)
}

/// A placement that did not reach its goal ends with another exit code, though it is written.
fn ended(summary: &Summary<'_>, output: &Path) -> Result<(), Failure> {
    let said = || summary.shortfall(output);
    match summary.outcome {
        Outcome::Converged if summary.target_is_missed() => Err(Stopped(said()).into()),
        Outcome::Converged => Ok(()),
        Outcome::Diverged | Outcome::NotFinite => Err(said().into()),
        Outcome::Interrupted => Err(Interrupted(said()).into()),
        Outcome::OutOfIterations | Outcome::OutOfTime | Outcome::Plateau => {
            Err(Stopped(said()).into())
        }
    }
}
