//! `placefield place`: a global placement of a design.

pub(crate) mod frames;
mod history;
mod page;
mod progress;
pub(super) mod stop;

use super::engines::{self, EngineReal};
use super::failure::Failure;
use super::input::{Opened, charge_of, open_design, with_precision};
use super::options::{EngineChoice, EvaluationArgs};
use super::outputs::{Outputs, PICTURES, design_files, one_standard_input};
use super::pictures;
use super::report::run::Film;
use super::results::tell;
use crate::bookshelf::write_pl;
use crate::design::Design;
use crate::place::{Outcome, PlaceOptions, Placer, Record, schedule, start};
use crate::wirelength::{LARGE_NET, Netlist};
use clap::error::ErrorKind;
use clap::{Args, ValueEnum};
use frames::{Frames, FramesWanted};
use history::{History, HistoryFile, Quality};
use page::Ended;
use progress::Progress;
use std::ffi::OsStr;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Options of `placefield place`. Fillers always take part.
#[derive(Args)]
#[command(mut_arg("fillers", |arg| arg.hide(true)))]
pub(crate) struct PlaceArgs {
    /// The design's .aux file
    #[arg(value_name = "DESIGN.aux")]
    aux: PathBuf,
    #[command(flatten)]
    evaluation: EvaluationArgs,
    /// The placement, as a .pl file
    #[arg(short, long, value_name = "OUT.pl")]
    output: PathBuf,
    /// Where cells start: where the .pl file has them, or at the die's centre
    #[arg(long, value_enum, default_value_t = InitArg::Center, value_name = "START")]
    init: InitArg,
    /// Smoothed overflow at which the placement is done
    #[arg(long, value_name = "OVERFLOW", default_value_t = 0.07, value_parser = overflow)]
    stop_overflow: f64,
    /// Most iterations
    #[arg(long, value_name = "K", default_value_t = 1000)]
    iterations: usize,
    /// Write every iteration's numbers, as .csv or .json
    #[arg(long, value_name = "FILE")]
    history: Option<HistoryFile>,
    /// Draw wirelength, overflow and weights over the iterations
    #[arg(long, value_name = "DIR")]
    plots: Option<PathBuf>,
    /// Draw cells and potential while they move, and an animation of it
    #[arg(long, value_name = "DIR")]
    frames: Option<PathBuf>,
    /// Iterations from one frame to the next
    #[arg(long, value_name = "K", default_value_t = 10, requires = "frames",
          value_parser = clap::value_parser!(u32).range(1..))]
    frame_every: u32,
    /// Write a page with the iterations, frames of the cells and the maps of the result
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,
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

/// `--stop-overflow`.
fn overflow(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|v| (0.0..=1.0).contains(v));
    number.ok_or_else(|| "expected a number from 0 to 1".to_owned())
}

/// Reads, places, writes, and says how it went.
pub(crate) fn run(args: &PlaceArgs) -> Result<(), Failure> {
    args.evaluation.options.engine.only_one()?;
    if args.output == Path::new("-") {
        let message = "a placement goes to a file, for standard output takes the summary";
        return Err(super::failure::usage(ErrorKind::InvalidValue, message));
    }
    let pl = args.evaluation.pl.as_deref();
    one_standard_input([Some(&*args.aux), pl].into_iter().flatten())?;
    Outputs::default()
        .file("--output", Some(&args.output))
        .file("--history", args.history.as_ref().map(HistoryFile::path))
        .file("--report", args.report.as_ref())
        .folder("--plots", args.plots.as_ref(), PICTURES)
        .folder("--frames", args.frames.as_ref(), PICTURES)
        .check(&design_files(&args.aux, pl))?;
    let opened = open_design(&args.aux, &args.evaluation)?;
    with_precision!(args.evaluation.options.precision(), T => place::<T>(args, opened))
}

fn place<T: EngineReal>(args: &PlaceArgs, opened: Opened) -> Result<(), Failure> {
    let Opened { mut design, mut warnings, parse_ms, files, own_pl } = opened;
    let options = args.evaluation.options.with_fillers();
    let charge = charge_of(&design, &options)?;
    warnings.extend(charge.warnings().iter().cloned());
    let netlist = Netlist::from_design(&design, LARGE_NET)
        .map_err(|e| format!("{e}, so there is nothing to place by"))?;
    let (x, y) = match args.init {
        InitArg::File => (charge.initial_x().to_vec(), charge.initial_y().to_vec()),
        InitArg::Center => start::centred(&charge, options.seed()),
    };
    let place_options = PlaceOptions::default()
        .stop_overflow(args.stop_overflow)
        .iterations(args.iterations)
        .least_hpwl(schedule::least_hpwl(&netlist, &charge))
        .warm(args.init == InitArg::File);
    let engines::ChosenBackend { mut backend, note } =
        engines::open_backend::<T>(charge.clone(), &netlist, &options)?;
    let descriptor = backend.descriptor();
    let wanted = FramesWanted { folder: args.frames.clone(), page: args.report.is_some() };
    let frames = Frames::start(&wanted, args.frame_every as usize, &design, &charge)?;
    let choice = backend.choice();
    let mut notes = Vec::from_iter(note);
    notes.extend(engines::pipeline_note(&options, &choice));

    let begun = Instant::now();
    let mut placer = Placer::new(&mut *backend, &x, &y, &place_options)?;
    let Descent { records, drawn } = descend(&mut placer, &place_options, frames)?;
    let seconds = begun.elapsed().as_secs_f64();
    let (x, y) = placer.positions()?;
    let outcome = placer.outcome().unwrap_or(Outcome::Interrupted);
    let iteration = placer.result_iteration();

    settle(&mut design, &x, &y);
    write_pl(&args.output, &design)?;
    let result = Quality::of::<T>(&design, &charge, &x, &y, &records[iteration]);
    let history = History {
        design: &design,
        charge: &charge,
        options: &options,
        place_options: &place_options,
        descriptor: &descriptor,
        pipeline: choice.pipeline,
        precision: T::PRECISION,
        outcome,
        iteration,
        result,
        seconds,
        records: &records,
        warnings: &warnings,
    };
    let film = drawn?;
    if let Some(path) = &args.report {
        let placed =
            Opened { design: design.clone(), warnings: warnings.clone(), parse_ms, files, own_pl };
        let ended = Ended {
            opened: &placed,
            args: &args.evaluation,
            options: &options,
            pipeline: choice.pipeline,
            how: in_words(outcome),
            seconds,
            records: &records,
            film,
        };
        page::page::<T>(ended, charge.clone(), &x, &y)?.write(Some(&design), path)?;
    }
    args.history.as_ref().map_or(Ok(()), |file| history.write(file))?;
    if let Some(folder) = &args.plots {
        pictures::draw_placement(&design.name, &records, folder)?;
    }
    tell(&notes, &warnings);
    print(args, &history)?;
    failure(args, &history)
}

/// Every iteration's record, and how drawing its frames went: a picture that
/// cannot be written must not cost the placement.
struct Descent {
    records: Vec<Record>,
    drawn: Result<Option<Film>, Failure>,
}

/// Steps until the placement ends or the user ends it.
fn descend(
    placer: &mut Placer<'_>,
    options: &PlaceOptions,
    mut frames: Option<Frames>,
) -> Result<Descent, Failure> {
    let stop = stop::listen()?;
    let mut progress = Progress::new(options);
    let mut records = vec![*placer.last()];
    let mut show = |placer: &mut Placer<'_>| match &mut frames {
        Some(frames) => frames.show(placer),
        None => Ok(()),
    };
    let mut drawn = show(placer);
    while let Some(record) = placer.step()? {
        records.push(*record);
        progress.show(record);
        if stop.is_asked() {
            placer.interrupt();
        }
        drawn = drawn.and_then(|()| show(placer));
    }
    progress.finish();
    let drawn = drawn.and_then(|()| frames.map_or(Ok(None), Frames::finish));
    Ok(Descent { records, drawn })
}

/// Puts the movable nodes where the placer's bodies lie.
pub(crate) fn settle(design: &mut Design, x: &[f64], y: &[f64]) {
    let movable: Vec<usize> = design.movable().collect();
    for ((node, &x), &y) in movable.into_iter().zip(x).zip(y) {
        (design.placement.x[node], design.placement.y[node]) = (x, y);
    }
}

/// How a placement ended.
fn in_words(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Converged => "done",
        Outcome::OutOfIterations => "stopped before the overflow asked for",
        Outcome::Diverged => "diverged",
        Outcome::NotFinite => "broken off",
        Outcome::Interrupted => "interrupted",
    }
}

/// The placement as a person reads it.
fn print(args: &PlaceArgs, history: &History<'_>) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    let (charge, records) = (history.charge, history.records);
    let grid = &charge.grid();
    writeln!(
        out,
        "{}: {} movable cells, {} fillers, {} x {} bins, {} ({}), {}, {}",
        history.design.name,
        charge.movable(),
        charge.fillers(),
        grid.nx(),
        grid.ny(),
        history.descriptor.engine,
        history.descriptor.device,
        history.pipeline,
        history.precision
    )?;
    let how = in_words(history.outcome);
    let last = records.len() - 1;
    let evaluations: u32 = records.iter().map(|r| r.tries).sum();
    writeln!(
        out,
        "{how} after {last} iterations, {evaluations} evaluations, {:.2} s",
        history.seconds
    )?;
    if history.iteration != last {
        writeln!(out, "the placement is the best before, of iteration {}", history.iteration)?;
    }
    let total = history.times();
    let share = |part: f64| 100.0 * part / total.total().max(f64::MIN_POSITIVE);
    writeln!(
        out,
        "time       {:.2} ms per iteration: wirelength {:.0} %, density {:.0} %, solve {:.0} %, force {:.0} %, other {:.0} %",
        total.total() / last.max(1) as f64,
        share(total.wirelength),
        share(total.density),
        share(total.solve),
        share(total.force),
        share(total.other)
    )?;
    let Quality { hpwl, smoothed, exact } = history.result;
    writeln!(out, "overflow   {smoothed:.6} smoothed, {exact:.6} exact")?;
    writeln!(
        out,
        "wirelength HPWL {:.6e}, weighted {:.6e} (start {:.6e})",
        hpwl.unweighted, hpwl.weighted, records[0].sample.hpwl
    )?;
    writeln!(out, "{}", args.output.display())?;
    args.report.iter().try_for_each(|page| writeln!(out, "{}", page.display()))?;
    Ok(())
}

/// A descent that failed is a failure, though its best placement is written.
fn failure(args: &PlaceArgs, history: &History<'_>) -> Result<(), Failure> {
    let what = match history.outcome {
        Outcome::Diverged => "the placement diverged",
        Outcome::NotFinite => "a number of the placement was not finite",
        _ => return Ok(()),
    };
    Err(format!(
        "{what} at iteration {}: {} holds the best before, of iteration {}, overflow {:.4}",
        history.records.len() - 1,
        args.output.display(),
        history.iteration,
        history.result.smoothed
    )
    .into())
}
