//! `placefield place`: places a design, stage by stage.

mod experts;
pub(crate) mod frames;
mod history;
mod host;
mod page;
mod progress;
mod routability;
mod summary;

use super::diff::write_moves;
use super::document::write_document;
use super::engines::prefetch_device;
use super::evaluation;
use super::failure::{Failure, Interrupted, Stopped, usage};
use super::input::{Opened, charge_of, open_design, rounded_for};
use super::log;
use super::options::{Bins, EvaluationArgs, parsed, seconds, target_density};
use super::outputs::{Outputs, PICTURES, check_names, check_placement_output, identity, to_stdout};
use super::pictures;
use super::refine::not_on_device;
use super::stages::{self, LegalArgs};
use super::stop;
use crate::charge::Charge;
use crate::cpu::engine::milliseconds;
use crate::engines::{self, EngineChoice, EngineReal};
use crate::flow::checkpoint::Checkpoints;
use crate::flow::{self, Effort, FlowOptions, Kept, Stage, TARGET_DENSITY};
use crate::formats::write_placement;
use crate::parallel::join;
use crate::place::{Outcome, PlaceOptions, StageSplit, placement_bins};
use crate::real::with_precision;
use crate::warning::{Warning, WarningCode};
use crate::wirelength::Netlist;
use clap::error::ErrorKind;
use clap::{Args, ValueEnum};
use experts::{ExpertArgs, placing};
use frames::{Frames, FramesWanted};
pub(crate) use history::HistoryReport;
use history::{HistoryFile, Live};
use host::{Command, Ran};
use page::Ended;
use routability::RoutabilityArgs;
use std::ffi::OsStr;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;
pub(crate) use summary::PlaceReport;
use summary::{PlaceTimings, Summary};

/// Options of `placefield place`. Fillers are always used, except with `--no-fillers`.
#[derive(Args)]
#[command(
    mut_arg("fillers", |arg| arg.hide(true)),
    mut_arg("bins", |arg| arg.help("Bins along x and y [default: about one average cell in a bin; \
        DREAMPlace's choice for ISPD2005 designs and if macros move]")),
    mut_arg("target_density", |arg| arg.help("Target density, above 0 and at most 1 [default: 0.95, \
        or the least at which the cells fit]"))
)]
pub(crate) struct PlaceArgs {
    #[command(flatten)]
    evaluation: EvaluationArgs,
    /// Write the placement: a .pl file, or a copy of the .def file (.gz) with its movable cells
    /// placed
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,
    /// Stop after this stage [default: detailed]
    #[arg(long, value_enum, value_name = "STAGE")]
    until: Option<Stage>,
    #[command(flatten)]
    legal: LegalArgs,
    /// Start of the cells: the positions in the file, or the die's centre. With `file` or
    /// --keep-placed, cells without a position start at the median of their nets
    #[arg(long, value_enum, default_value_t = InitArg::Center, value_name = "START")]
    init: InitArg,
    /// Stop the global stage at this smoothed overflow. If macros move, the overflow of the other
    /// cells must be as low
    #[arg(
        long,
        value_name = "OVERFLOW",
        default_value_t = PlaceOptions::default().stop_overflow,
        value_parser = placing("stop_overflow")
    )]
    stop_overflow: f64,
    /// Accept a higher target density if the cells do not fit at --target-density. Otherwise such
    /// a placement is written with exit code 3
    #[arg(long)]
    raise_density: bool,
    /// Largest number of iterations
    #[arg(long, value_name = "K", default_value_t = PlaceOptions::default().iterations)]
    iterations: usize,
    /// Stop after this time and write the best placement so far. At least a tenth of the time is
    /// reserved for the stages after the global one
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    time_limit: Option<f64>,
    /// Compare N seeds, from --seed on, and refine the shortest legal placement. The quarter with
    /// the shortest wires at a smoothed overflow of 0.4 continues; all continue if macros move,
    /// with --init file and with --routability
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(1..)
    )]
    seeds: u32,
    /// Variants that are placed and legalized, of which the one with the shortest wires is refined;
    /// and whether detailed placement inserts cells where many others give way. There are no
    /// variants if macros move, or with --init file, --keep-placed, --routability, --checkpoint and
    /// --resume
    #[arg(long, value_enum, default_value_t = Effort::default(), value_name = "EFFORT")]
    effort: Effort,
    /// Let detailed placement fill no bin above this density, and no denser bin any further
    /// [default: no limit]
    #[arg(long, value_name = "T", allow_hyphen_values = true, value_parser = target_density)]
    keep_density: Option<f64>,
    /// Write the numbers as JSON; - for standard output, instead of the text
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write the numbers of every iteration, as .csv or .json
    #[arg(long, value_name = "FILE")]
    history: Option<HistoryFile>,
    /// Draw wirelength, overflow and weights over the iterations
    #[arg(long, value_name = "DIR")]
    plots: Option<PathBuf>,
    /// Draw frames of the cells and the potential, and an animation
    #[arg(long, value_name = "DIR", conflicts_with = "seeds")]
    frames: Option<PathBuf>,
    /// Iterations from one frame to the next
    #[arg(long, value_name = "K", default_value_t = 10, requires = "frames",
          value_parser = clap::value_parser!(u32).range(1..))]
    frame_every: u32,
    /// Write an HTML page with the iterations, frames of the cells and the maps of the result
    #[arg(long, value_name = "FILE.html", conflicts_with = "seeds")]
    report: Option<PathBuf>,
    /// Save the state regularly and at the end, for --resume
    #[arg(long, value_name = "FILE", conflicts_with = "seeds")]
    checkpoint: Option<PathBuf>,
    /// Iterations from one checkpoint to the next
    #[arg(long, value_name = "K", default_value_t = 100, requires = "checkpoint",
          value_parser = clap::value_parser!(u32).range(1..))]
    checkpoint_every: u32,
    /// Continue from a checkpoint of the same design, engine and options, bit for bit
    #[arg(long, value_name = "FILE", conflicts_with_all = ["seeds", "init"])]
    resume: Option<PathBuf>,
    #[command(flatten)]
    routability: RoutabilityArgs,
    #[command(flatten)]
    experts: ExpertArgs,
}

impl PlaceArgs {
    /// Returns the arguments that `demo` places with: a page, and defaults for all else.
    pub(crate) fn for_demo(aux: &Path, output: &Path, page: &Path, engine: EngineChoice) -> Self {
        let [option, report] = ["-o", "--report"].map(OsStr::new);
        let mut args: PlaceArgs =
            parsed(&[aux.as_ref(), option, output.as_ref(), report, page.as_ref()]);
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

/// Reads, places, writes, and reports the outcome.
pub(crate) fn run(args: &PlaceArgs) -> Result<(), Failure> {
    let begun = Instant::now();
    let one_start = args.init == InitArg::File || args.legal.keep_placed;
    if args.seeds > 1 && one_start && args.experts.noise == 0.0 {
        let message = "'--seeds' needs starts that differ: \
                       '--init file' and '--keep-placed' have one, without '--noise'";
        return Err(usage(ErrorKind::ArgumentConflict, message));
    }
    args.evaluation.design.check()?;
    let mut inputs = args.evaluation.design.files();
    // Only the next checkpoint may overwrite the checkpoint that the run continues from. It is read
    // before.
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
    check_placement_output(&args.output, &args.evaluation.design.path)?;
    prefetch_device(&args.evaluation.options, true);
    let opened = open_design(&args.evaluation)?;
    check_names(&args.output, &opened.design)?;
    with_precision!(args.evaluation.options.precision, T => place::<T>(args, opened, begun))
}

fn place<T: EngineReal>(
    args: &PlaceArgs,
    mut opened: Opened,
    begun: Instant,
) -> Result<(), Failure> {
    log::begin("making bins, charge and engine");
    let setup = Instant::now();
    let given_hpwl = opened.given_hpwl();
    let keeps = args.legal.keep_placed;
    let warm = args.init == InitArg::File || keeps;
    if warm {
        opened.locate_unplaced();
    } else if args.resume.is_none() && args.evaluation.design.is_def() {
        opened.warnings.extend(not_used(&opened));
    }
    let mut kept = keeps.then(|| Kept::new(&mut opened.design, &opened.unplaced));
    let legalize = args.legal.apply(&mut opened.design);
    let given = &args.evaluation.options;
    let target_density = given.target_density.unwrap_or(TARGET_DENSITY);
    let die = opened
        .design
        .die()
        .ok_or("the design has neither rows nor a die area, so it has no die")?;
    let bins = match &kept {
        Some(kept) => kept.bins(&opened.design, die, target_density),
        None => placement_bins(&opened.design, die, given.target_density()),
    };
    let options = given.or(bins, target_density).with_room(args.legal.padding);
    let options = match args.experts.fillers() {
        true => options.with_fillers(&opened.design),
        false => options,
    };
    let (charge, netlist) = join(
        || Netlist::from_design(&opened.design, args.experts.large_net()),
        || charge_of(&opened.design, &options),
    );
    let charge = Arc::new(charge?);
    let netlist = netlist.map_err(|e| format!("{e}, so there is nothing to place by"))?;
    opened.warnings.extend(flow::warnings(&charge, &netlist, args.stop_overflow));
    let place_options = args.experts.apply(
        PlaceOptions::default()
            .stop_overflow(args.stop_overflow)
            .iterations(args.iterations)
            .warm(warm),
    );
    let mut flow = FlowOptions::default();
    flow.bodies.bins = given.bins.map(|Bins(nx, ny)| [nx, ny]);
    flow.bodies.charge = options.charge_options();
    flow.bodies.large_net = args.experts.large_net();
    flow.bodies.precision = T::PRECISION;
    (flow.until, flow.place) = (args.until, place_options);
    flow.compare_start = keeps;
    (flow.noise, flow.seed, flow.seeds) = (args.experts.noise, options.seed, args.seeds);
    flow.end_at(stages::deadline(begun, args.time_limit), charge.movable());
    flow.routability = args.routability.options(&opened)?;
    flow.keeps_density = given.target_density.is_some();
    // A checkpoint continues only the iterations.
    let is_kept = args.checkpoint.is_some() || args.resume.is_some();
    flow.effort = if is_kept { Effort::Low } else { args.effort };
    flow.legalize = legalize;
    let refine = flow.refine.padding(args.legal.padding);
    flow.refine = args.legal.limits.refine(refine.insert_up_to(args.effort.insert_up_to()));
    // Bins then hold several cells each, not a part of one.
    let mut kept_density = given.clone();
    kept_density.target_density = args.keep_density;
    let room = args.keep_density.map(|_| charge_of(&opened.design, &kept_density)).transpose()?;
    flow.refine.density = room.as_ref();
    let refines = !matches!(args.until, Some(Stage::Global | Stage::Legal));
    let refiner = if refines { engines::open_refiner(options.engine)?.engine } else { None };
    flow.refine.device = refiner.as_deref();
    let wanted = FramesWanted { folder: args.frames.clone(), page: args.report.is_some() };
    let every = args.checkpoint_every as usize;
    let mut host = Command::<T> {
        options: &options,
        place: &place_options,
        noise: flow.noise,
        places_again: args.until != Some(Stage::Global) && !charge.movable_macros().is_empty(),
        name: opened.design.name.clone(),
        warnings: &opened.warnings,
        charge: charge.clone(),
        netlist: &netlist,
        frames: Frames::start(&wanted, args.frame_every as usize, &opened.design, &charge)?,
        history: args.history.as_ref().and_then(HistoryFile::live),
        checkpoints: Checkpoints::new(args.checkpoint.clone(), every, args.resume.clone()),
        setup,
        ran: Ran::default(),
        precision: PhantomData,
    };
    let mut placed = flow::place(&mut opened.design, &charge, &netlist, &flow, &mut host)?;
    let Command { frames, history, checkpoints, ran, .. } = host;
    let detailed = placed.stages.stages.detailed.as_ref();
    detailed.and_then(not_on_device).iter().for_each(|why| log::note(why));
    let why = placed.left_out.map(|why| Warning::new(WarningCode::StageLeftOut, why));
    opened.warnings.extend(why);
    let (descriptor, choice) = ran.engine.expect("an engine was made");
    let mut stages = StageSplit::default();
    placed.global.records.iter().for_each(|record| stages.add(&record.times));
    let times = PlaceTimings {
        parse: opened.parse_ms,
        setup: ran.setup_ms.unwrap_or(0.0),
        stages,
        frames: ran.frames_ms,
        checkpoints: checkpoints.milliseconds,
        descent: 1e3 * placed.seconds,
        total: milliseconds(begun),
    };
    if let Some(kept) = &mut kept {
        placed.stages.kept = Some(kept.report(&mut opened.design)?);
        kept.swap(&mut opened.design);
    }
    if let Some(before) = &placed.before
        && (rounded_for(&args.output, &mut opened.design, &mut opened.warnings) || kept.is_some())
    {
        placed.stages.judge(&opened.design, before)?;
    }
    write_placement(&args.output, &args.evaluation.design.path, &opened.design)?;
    kept.iter_mut().for_each(|kept| kept.swap(&mut opened.design));
    let design = &opened.design;
    let written_anyway = placed.stages.is_legal() && !keeps;
    if written_anyway && spread_failed(placed.global.outcome) {
        let message = summary::shortfall(&placed, &args.output);
        opened.warnings.push(Warning::new(WarningCode::SpreadIncomplete, &*message));
        log::say(&format!("warning: {message}"));
    }
    let regions = match charge.regions() {
        1 => Vec::new(),
        _ => {
            let mut charge = Charge::clone(&charge);
            charge.set_initial(&placed.global.x, &placed.global.y)?;
            evaluation::regions::<T>(charge, &options)?
        }
    };
    let summary = Summary {
        design,
        summaries: opened.summaries(),
        charge: &charge,
        args,
        flow: &flow,
        descriptor: &descriptor,
        pipeline: choice.pipeline,
        precision: T::PRECISION,
        placed: &placed,
        compared: keeps || warm && args.legal.limits.max_displacement.is_some(),
        given: given_hpwl,
        target_asked: options.target_density(),
        raise_density: args.raise_density || given.target_density.is_none(),
        regions: &regions,
        times,
        warnings: &opened.warnings,
    };
    // Errors of writing are reported last.
    let (film, filmed) = match frames.map_or(Ok(None), Frames::finish) {
        Ok(film) => (film, Ok(())),
        Err(error) => (None, Err(error)),
    };
    if let Some(path) = &args.report {
        let (options, summary) = (&options, &summary);
        let ended = Ended { opened: &opened, args: &args.evaluation, options, summary, film };
        // The cells at the positions of the last stage, and the fillers at those of the first.
        let (mut x, mut y) = (placed.global.x.clone(), placed.global.y.clone());
        charge.corners(design, &mut x, &mut y);
        page::page::<T>(ended, Charge::clone(&charge), &x, &y)?.write(Some(design), path)?;
    }
    let mut pictures = match &args.plots {
        Some(folder) => pictures::draw_placement(design, &placed.global.records, folder)?,
        None => Vec::new(),
    };
    if let (Some(folder), Some(before), Some(moved)) =
        (&args.plots, &placed.before, &placed.stages.moved)
    {
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
    // A CSV file of one placement already has all its lines.
    if let Some(file) = &args.history
        && (file.live().is_none() || placed.candidates.len() > 1)
    {
        file.write(&summary, &opened.files, &files)?;
    }
    write_document(args.json.as_ref(), &opened.files, &files, &summary.json())?;
    if !to_stdout(&args.json) {
        summary.print(files.iter().copied())?;
    }
    ran.drawn.map_or(Ok(()), Err)?;
    checkpoints.saved?;
    filmed?;
    recorded?;
    let ended = ended(&summary, &args.output)
        .and_then(|()| placed.left_out.map_or(Ok(()), |why| Err(Stopped(why.to_owned()).into())))
        .and_then(|()| stages::ended(&placed.stages));
    // An interruption may have come in any stage, after a stage that ended in another way.
    match (stop::is_asked(), ended) {
        (true, Ok(())) => {
            let written = format!("interrupted: {} is the result so far", args.output.display());
            Err(Interrupted(written).into())
        }
        (true, Err(stopped)) if stopped.is::<Stopped>() => {
            Err(Interrupted(format!("interrupted: {stopped}")).into())
        }
        (_, ended) => ended,
    }
}

/// Whether the global stage ended by itself before it reached the requested overflow.
fn spread_failed(outcome: Outcome) -> bool {
    matches!(outcome, Outcome::Plateau | Outcome::Diverged | Outcome::NotFinite)
}

/// Warns that the positions of a DEF file are not used, and names the options that use them.
fn not_used(opened: &Opened) -> Option<Warning> {
    let movable = opened.design.movable().count();
    let placed = movable - opened.unplaced.len();
    let message = format!(
        "{placed} of {movable} movable cells have a position, which is not used: \
         --init file starts from it, --keep-placed keeps it"
    );
    (placed > 0).then(|| Warning::new(WarningCode::PlacementNotUsed, message))
}

/// A placement that did not reach its goal is written, but ends with another exit code.
fn ended(summary: &Summary<'_>, output: &Path) -> Result<(), Failure> {
    let said = || summary.shortfall(output);
    match summary.placed.global.outcome {
        Outcome::Converged if summary.target_is_missed() => Err(Stopped(said()).into()),
        Outcome::Converged => Ok(()),
        // The file has a legal placement, even if the global stage missed its goal.
        outcome if spread_failed(outcome) && summary.placed.stages.is_legal() => Ok(()),
        Outcome::Diverged | Outcome::NotFinite => Err(said().into()),
        Outcome::Interrupted => Err(Interrupted(said()).into()),
        Outcome::OutOfIterations | Outcome::OutOfTime | Outcome::Stopped | Outcome::Plateau => {
            Err(Stopped(said()).into())
        }
    }
}
