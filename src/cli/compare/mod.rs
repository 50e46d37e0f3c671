//! `placefield compare`: pipelines side by side, iteration by iteration.

mod page;
mod trajectory;

use crate::Precision;
use crate::cli::document::{Content, write_document};
use crate::cli::failure::{Failure, Interrupted, usage};
use crate::cli::input::{Opened, charge_of, open_design};
use crate::cli::log;
use crate::cli::options::{EvaluationArgs, SolveArgs, at_least_one};
use crate::cli::outputs::{Outputs, PICTURES};
use crate::cli::pictures;
use crate::cli::results::{list, tell, write_output};
use crate::cli::stop;
use crate::cli::terminal::stdout;
use crate::compare::{Comparison, Difference, Iteration, Side};
use crate::engine::{Pipeline, StepTimes, Timed};
use crate::engines::{self, EngineChoice, EngineReal};
use crate::evaluate::{DesignReport, GridReport};
use crate::real::with_precision;
use crate::warning::Warning;
use clap::error::ErrorKind;
use clap::{Args, ValueEnum};
use page::Watcher;
use schemars::JsonSchema;
use serde::Serialize;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use trajectory::{Placement, Runs};

/// Options of `placefield compare`.
#[derive(Args)]
#[command(mut_arg("pipeline", |arg| arg.hide(true)))]
pub(crate) struct CompareArgs {
    #[command(flatten)]
    evaluation: EvaluationArgs,
    /// Compare the engine with the CPU, whose pipelines come first
    #[arg(long)]
    with_cpu: bool,
    /// Source of the positions: cells that only the density's force spreads, or a placement as by
    /// `place`, from the die's centre and with fillers
    #[arg(long, value_enum, default_value_t = Trajectory::Density, value_name = "NAME")]
    trajectory: Trajectory,
    /// Iterations [default: 50, or at most 1000 of a placement]
    #[arg(long, value_name = "K", value_parser = at_least_one)]
    iterations: Option<usize>,
    /// Write the table as CSV; - for standard output
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Fail if potential or field of a pipeline differ from the first pipeline's by more than this
    /// relative RMS in any iteration
    #[arg(long, value_name = "RMS", value_parser = tolerance, allow_hyphen_values = true)]
    tolerance: Option<f64>,
    /// Write the table as JSON; - for standard output
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Draw times, their ratio and overflow over the iterations
    #[arg(long, value_name = "DIR")]
    plots: Option<PathBuf>,
    /// Write an HTML page with the iterations, frames of the cells and the maps of the last
    /// iteration
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,
}

/// `--trajectory`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Trajectory {
    Density,
    Place,
}

/// Parses `--tolerance`. NaN would allow anything.
fn tolerance(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|v: &f64| *v >= 0.0);
    number.ok_or_else(|| "expected a number of at least 0".to_owned())
}

/// A whole comparison, as JSON.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Table {
    /// The numbers of the design.
    design: DesignReport,
    /// The bins.
    grid: GridReport,
    /// The options of the comparison.
    options: CompareOptions,
    /// Median solve of every side, and the first side's divided by it.
    summary: Vec<Summary>,
    /// Every iteration.
    pub(crate) iterations: Vec<Iteration>,
    /// The shares of solves in a whole placement, with `--trajectory place`.
    #[serde(skip_serializing_if = "Option::is_none")]
    placement: Option<Placement>,
    /// Warnings for readers of the numbers.
    warnings: Vec<Warning>,
    /// Which engine `auto` took.
    #[serde(skip)]
    note: Option<String>,
}

impl Content for Table {
    const COMMAND: &'static str = "compare";
}

#[derive(Serialize, JsonSchema)]
struct CompareOptions {
    /// The devices' names.
    device: String,
    /// Working precision.
    precision: Precision,
    /// The target density in use, which may be above the given one.
    target_density: f64,
    /// The given target density.
    target_density_asked: f64,
    /// Whether there are fillers.
    fillers: bool,
    /// Number of fillers.
    filler_count: usize,
}

#[derive(Serialize, JsonSchema)]
struct Summary {
    /// `"cpu"` or `"cuda"`.
    engine: &'static str,
    /// The given pipeline.
    pipeline: Pipeline,
    /// The pipeline that ran.
    path: &'static str,
    /// Median time of a solve, ms.
    solve_ms: f64,
    /// Median time of density, solve and force, ms.
    step_ms: f64,
    /// On a device: as one graph, and as plain launches.
    solve_graph_ms: Option<f64>,
    /// A solve as plain launches.
    solve_plain_ms: Option<f64>,
    /// A step as one graph.
    step_graph_ms: Option<f64>,
    /// A step as plain launches.
    step_plain_ms: Option<f64>,
    /// The first side's solve divided by this side's.
    ratio: f64,
    /// Largest difference of φ, Ex and Ey from the first side's, relative to their largest values.
    largest_difference: f64,
    /// Root mean square of these differences.
    largest_rms: f64,
}

/// Reads, compares, prints.
pub(crate) fn run(args: &CompareArgs) -> Result<(), Failure> {
    if args.evaluation.options.pipeline.is_some() {
        let message = "compare runs every pipeline: '--pipeline' chooses nothing";
        return Err(usage(ErrorKind::ArgumentConflict, message));
    }
    args.evaluation.design.check()?;
    Outputs::default()
        .file("--csv", args.csv.as_ref())
        .file("--json", args.json.as_ref())
        .file("--report", args.report.as_ref())
        .folder("--plots", args.plots.as_ref(), PICTURES)
        .check(&args.evaluation.design.files())?;
    let opened = open_design(&args.evaluation)?;
    let options = &args.evaluation.options;
    let (options, iterations) = match args.trajectory {
        Trajectory::Density => (options.clone(), args.iterations.unwrap_or(50)),
        Trajectory::Place => {
            (options.with_fillers(&opened.design), args.iterations.unwrap_or(1000))
        }
    };
    let other = engines::resolve(options.engine)?.engine;
    if args.with_cpu && other == EngineChoice::Cpu {
        let message = "'--with-cpu' needs a CUDA engine to compare with";
        return Err(usage(ErrorKind::ArgumentConflict, message));
    }
    let both = [EngineChoice::Cpu, options.engine];
    let engines = if args.with_cpu { &both[..] } else { &both[1..] };
    stop::listen()?;
    let watcher = args.report.as_ref().map(|_| Watcher::new(&opened, &options, iterations));
    let mut watcher = watcher.transpose()?;
    let table = match args.trajectory {
        Trajectory::Density => compare(&opened, &options, engines, iterations, watcher.as_mut())?,
        Trajectory::Place => {
            along_placement(&opened, &options, engines, iterations, watcher.as_mut())?
        }
    };
    let mut files = Vec::new();
    if let Some(path) = &args.csv {
        write_csv(path, &table.iterations)?;
        files.push(path.clone());
    }
    if let Some(folder) = &args.plots {
        let name = &opened.design.name;
        files.extend(pictures::draw_comparison(name, &table.iterations, folder)?);
        if let Some(placement) = &table.placement {
            files.extend(placement.draw(name, &table.iterations, folder)?);
        }
    }
    if let (Some(path), Some(watcher)) = (&args.report, watcher) {
        let mut page = with_precision!(options.precision, T => {
            page::page::<T>(&opened, &args.evaluation, &options, &table.iterations, watcher)?
        });
        page.write(Some(&opened.design), path)?;
        files.push(path.clone());
    }
    write_document(args.json.as_ref(), &opened.files, &files, &table)?;
    files.extend(args.json.clone());
    tell(table.note.as_slice(), &table.warnings);
    if !files.iter().any(|path| path == Path::new("-")) {
        print(&table)?;
        list(&files)?;
    }
    if stop::is_asked() {
        let message = format!("interrupted after {} iterations", table.iterations.len());
        return Err(Interrupted(message).into());
    }
    check_agreement(&table, args.tolerance)
}

/// Fails when a side is further from the first than allowed.
fn check_agreement(table: &Table, tolerance: Option<f64>) -> Result<(), Failure> {
    let Some(tolerance) = tolerance else { return Ok(()) };
    let apart = |s: &&Summary| s.largest_rms > tolerance || s.largest_rms.is_nan();
    match table.summary.iter().find(apart) {
        Some(s) => Err(format!(
            "{} {} is {:.2e} (relative RMS) from {} {}: expected at most {tolerance:e}",
            s.engine, s.pipeline, s.largest_rms, table.summary[0].engine, table.summary[0].pipeline
        )
        .into()),
        None => Ok(()),
    }
}

/// Runs the comparison with every pipeline; a bar advances on a terminal.
pub(crate) fn compare(
    opened: &Opened,
    options: &SolveArgs,
    engines: &[EngineChoice],
    iterations: usize,
    watcher: Option<&mut Watcher>,
) -> Result<Table, Failure> {
    with_precision!(options.precision, T => {
        fill::<T>(opened, options, engines, iterations, watcher, |c| Ok(Some(c.advance()?)))
    })
}

/// Compares as [`compare`] does, at the positions of a placement with at most so many iterations.
fn along_placement(
    opened: &Opened,
    options: &SolveArgs,
    engines: &[EngineChoice],
    iterations: usize,
    watcher: Option<&mut Watcher>,
) -> Result<Table, Failure> {
    with_precision!(options.precision, T => {
        let mut backends = trajectory::open_backends::<T>(opened, options)?;
        let mut runs = Runs::new::<T>(&mut backends, options.seed, iterations)?;
        // The start is a separate row.
        let rows = iterations.saturating_add(1);
        let mut table = fill::<T>(opened, options, engines, rows, watcher, |c| runs.advance(c))?;
        table.placement = Some(runs.finish(&table.iterations));
        Ok(table)
    })
}

/// Opens the engines and fills a table, row by row, until `advance` returns none or the user stops
/// it.
fn fill<T: EngineReal>(
    opened: &Opened,
    options: &SolveArgs,
    choices: &[EngineChoice],
    iterations: usize,
    mut watcher: Option<&mut Watcher>,
    mut advance: impl FnMut(&mut Comparison<'_, T>) -> Result<Option<Iteration>, Failure>,
) -> Result<Table, Failure> {
    let charge = Arc::new(charge_of(&opened.design, options)?);
    let warnings = opened.warnings.iter().chain(charge.warnings()).cloned().collect();
    let (grid, areas) = (charge.grid(), charge.areas());
    let (target_density, filler_count) = (charge.target_density(), charge.fillers());
    let open = |choice: &EngineChoice| {
        engines::open::<T>(charge.clone(), *choice, &options.engine_options())
    };
    let mut opened_engines = choices.iter().map(open).collect::<Result<Vec<_>, _>>()?;
    let note = opened_engines.iter_mut().find_map(|opened| opened.note.take());
    let devices: Vec<String> =
        opened_engines.iter().map(|opened| opened.engine.descriptor().device).collect();
    let sides: Vec<&mut dyn Timed<T>> =
        opened_engines.iter_mut().map(|opened| &mut *opened.engine as _).collect();
    let mut comparison = Comparison::new(sides, &Pipeline::ALL)?;
    let bar = log::bar(iterations as u64);
    log::begin("comparing");
    let mut rows = Vec::with_capacity(iterations.min(1 << 16));
    while rows.len() < iterations && !stop::is_asked() {
        let Some(row) = advance(&mut comparison)? else { break };
        if let Some(watcher) = &mut watcher {
            watcher.see(&row, comparison.measured());
        }
        rows.push(row);
        bar.inc(1);
        log::progress(|| format!("iteration {} of {iterations}", rows.len()));
    }
    bar.finish_and_clear();
    Ok(Table {
        design: DesignReport::of(&opened.design, opened.summaries(), areas),
        grid: GridReport::of(&grid),
        options: CompareOptions {
            device: devices.join(" and "),
            precision: T::PRECISION,
            target_density,
            target_density_asked: options.target_density(),
            fillers: options.fillers,
            filler_count,
        },
        summary: summarise(&rows),
        iterations: rows,
        placement: None,
        warnings,
        note,
    })
}

fn summarise(rows: &[Iteration]) -> Vec<Summary> {
    let sides = rows.first().map_or(0, |r| r.sides.len());
    let median = |value: &dyn Fn(&Iteration) -> f64| {
        let mut values: Vec<f64> = rows.iter().map(value).collect();
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    let summary = |s: usize| {
        let side = &rows[0].sides[s];
        let worst = |value: &dyn Fn(&Difference) -> f64| {
            let values = rows.iter().map(|r| value(&r.sides[s].difference));
            values.fold(0.0, |worst: f64, v| if worst.is_nan() || v <= worst { worst } else { v })
        };
        let steps = |value: &dyn Fn(&StepTimes) -> f64| {
            side.steps.map(|_| median(&|r| r.sides[s].steps.as_ref().map_or(0.0, value)))
        };
        Summary {
            engine: side.engine,
            pipeline: side.pipeline,
            path: side.path,
            solve_ms: median(&|r| r.sides[s].solve),
            step_ms: median(&|r| {
                let side = &r.sides[s];
                side.density + side.solve + side.force
            }),
            solve_graph_ms: steps(&|t| t.solve_graph),
            solve_plain_ms: steps(&|t| t.solve_plain),
            step_graph_ms: steps(&|t| t.step_graph),
            step_plain_ms: steps(&|t| t.step_plain),
            ratio: median(&|r| r.sides[s].ratio),
            largest_difference: worst(&Difference::largest),
            largest_rms: worst(&Difference::largest_rms),
        }
    };
    (0..sides).map(summary).collect()
}

/// One line per iteration and side.
fn write_csv(path: &Path, rows: &[Iteration]) -> Result<(), Failure> {
    write_output(path, |out| {
        writeln!(
            out,
            "iteration,overflow,max_density,energy,step,engine,pipeline,density_ms,forward_ms,\
             scaling_ms,inverse_ms,solve_ms,force_ms,ratio,difference_potential,\
             difference_field_x,difference_field_y,\
             potential_rms,field_x_rms,field_y_rms,step_graph_ms,step_plain_ms,solve_graph_ms,\
             solve_plain_ms,path"
        )?;
        for row in rows {
            for s in &row.sides {
                writeln!(
                    out,
                    "{},{},{},{},{},{},{},{},{},{},{},{},{},{},{:e},{:e},{:e},{:e},{:e},{:e},{}",
                    row.iteration,
                    row.density.overflow,
                    row.density.max,
                    row.energy,
                    row.step,
                    s.engine,
                    s.pipeline,
                    s.density,
                    s.forward,
                    s.scaling,
                    s.inverse,
                    s.solve,
                    s.force,
                    s.ratio,
                    s.difference.potential,
                    s.difference.field_x,
                    s.difference.field_y,
                    s.difference.potential_rms,
                    s.difference.field_x_rms,
                    s.difference.field_y_rms,
                    step_columns(s)
                )?;
            }
        }
        Ok(())
    })
}

/// Returns the last columns: times on a device, empty on the CPU, and what ran.
fn step_columns(side: &Side) -> String {
    match side.steps {
        Some(t) => format!(
            "{},{},{},{},{}",
            t.step_graph, t.step_plain, t.solve_graph, t.solve_plain, side.path
        ),
        None => format!(",,,,{}", side.path),
    }
}

/// The table as a person reads it: at most 20 rows, evenly spaced, and the summary.
pub(crate) fn print(table: &Table) -> Result<(), Failure> {
    let mut out = stdout()?;
    writeln!(
        out,
        "{}: {} x {} bins, {}, {}",
        table.design.name,
        table.grid.bins[0],
        table.grid.bins[1],
        table.options.precision,
        table.options.device
    )?;
    let Some(first) = table.iterations.first() else { return Ok(()) };
    write!(
        out,
        "{:>5} {:>9} {:>9} {:>11} {:>8} {:>7}",
        "iter", "overflow", "max", "energy", "density", "force"
    )?;
    for side in &first.sides {
        write!(out, "  {:>15}", format!("{} {}", side.engine, side.pipeline))?;
    }
    writeln!(out, "  {:>6} {:>10}", "ratio", "difference")?;
    let last = table.iterations.len() - 1;
    let every = table.iterations.len().div_ceil(20);
    for row in table.iterations.iter().filter(|r| r.iteration % every == 0 || r.iteration == last) {
        let (a, z) = (&row.sides[0], &row.sides[row.sides.len() - 1]);
        write!(
            out,
            "{:>5} {:>9.5} {:>9.4} {:>11.4e} {:>8.2} {:>7.2}",
            row.iteration, row.density.overflow, row.density.max, row.energy, a.density, a.force
        )?;
        for side in &row.sides {
            write!(out, "  {:>12.3} ms", side.solve)?;
        }
        let worst = z.difference.largest();
        writeln!(out, "  {:>6.2} {worst:>10.1e}", z.ratio)?;
    }
    writeln!(out, "median solve and whole step (density, solve, force):")?;
    for s in &table.summary {
        writeln!(
            out,
            "  {:<4} {:<10} {:>9.3} ms  {:>9.3} ms  {:>5.2}x  largest difference {:.1e}, \
             RMS {:.1e}",
            s.engine,
            s.pipeline.name(),
            s.solve_ms,
            s.step_ms,
            s.ratio,
            s.largest_difference,
            s.largest_rms
        )?;
        if s.path != s.pipeline.name() {
            writeln!(out, "       ({} ran {})", s.pipeline, s.path)?;
        }
        if let (Some(solve), Some(step)) = (s.solve_graph_ms, s.step_graph_ms) {
            let (plain, whole) = (s.solve_plain_ms.unwrap_or(0.0), s.step_plain_ms.unwrap_or(0.0));
            writeln!(out, "    as one graph  {solve:>9.3} ms  {step:>9.3} ms")?;
            writeln!(out, "    back to back  {plain:>9.3} ms  {whole:>9.3} ms")?;
        }
    }
    table.placement.as_ref().map_or(Ok(()), |placement| placement.print(&mut out))
}
