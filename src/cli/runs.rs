//! `placefield compare-runs`: compares several placements of one design by their JSON from `eval`
//! or `place`.

use super::document::{Content, write_document};
use super::failure::{Failure, usage};
use super::outputs::{Outputs, PICTURES, one_standard_input, read_input, to_stdout};
use super::report::assemble::command;
use super::report::page::Page;
use super::report::part::{Chart, Image, Part, Table};
use super::results::{list, tell, write_table};
use super::terminal::{escaped, stdout};
use crate::design::LengthUnit;
use crate::plot::{Curves, Series};
use crate::text::file::without_compression;
use crate::warning::{Warning, WarningCode};
use clap::Args;
use clap::error::ErrorKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Compare several placements of a design by their JSON: a table, curves and the best trade-offs
#[derive(Args)]
pub(crate) struct CompareRunsArgs {
    /// JSON of runs from `eval`, `place`, `legalize` or `refine`. Files from `place --history` add
    /// curves
    #[arg(value_name = "RUN.json", required = true, num_args = 1..)]
    runs: Vec<PathBuf>,
    /// Write the table as JSON; - for standard output
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Draw overflow against wirelength, and both over the iterations
    #[arg(long, value_name = "DIR")]
    plots: Option<PathBuf>,
    /// Write an HTML page with the table and the pictures
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,
}

/// The parts read of a file.
#[derive(Deserialize)]
struct Document {
    #[serde(default)]
    inputs: Vec<PathBuf>,
    design: DesignPart,
    grid: Option<GridPart>,
    #[serde(default)]
    options: OptionsPart,
    legality: Option<LegalityPart>,
    result: ResultPart,
    outcome: Option<Outcome>,
    seconds: Option<f64>,
    #[serde(default)]
    history: Vec<HistoryPart>,
}

#[derive(Deserialize)]
struct DesignPart {
    name: String,
    movable: usize,
    units_per_micron: Option<f64>,
}

#[derive(Deserialize)]
struct GridPart {
    bins: [usize; 2],
}

#[derive(Default, Deserialize)]
struct OptionsPart {
    target_density: Option<f64>,
}

#[derive(Deserialize)]
struct LegalityPart {
    legal: bool,
}

#[derive(Deserialize)]
struct ResultPart {
    stage: Option<String>,
    hpwl: Option<f64>,
    overflow_smoothed: Option<f64>,
    overflow_exact: Option<f64>,
}

/// A word in a history, an object in a summary.
#[derive(Deserialize)]
#[serde(untagged)]
enum Outcome {
    Word(String),
    Summary { status: String, iterations: usize, seconds: f64 },
}

#[derive(Deserialize)]
struct HistoryPart {
    iteration: usize,
    hpwl_weighted: f64,
    overflow_smoothed: f64,
}

/// The table, as JSON; its keys are stable.
#[derive(Serialize, JsonSchema)]
pub(crate) struct RunsReport {
    /// The design's name.
    design: String,
    /// Layout units in a micrometre, if this is known. Then each length also has a key in
    /// micrometres.
    #[serde(skip_serializing_if = "Option::is_none")]
    units_per_micron: Option<f64>,
    /// In the given order.
    runs: Vec<Run>,
    /// Warnings for readers of the numbers.
    warnings: Vec<Warning>,
}

impl Content for RunsReport {
    const COMMAND: &'static str = "compare-runs";
}

/// One placement.
#[derive(Default, Serialize, JsonSchema)]
struct Run {
    /// The file's name without the ending.
    name: String,
    /// The last stage, of a placement.
    stage: Option<String>,
    /// The end of a placement.
    status: Option<String>,
    /// Iterations, of a placement.
    iterations: Option<usize>,
    /// Seconds of all iterations, of a placement.
    seconds: Option<f64>,
    /// `[nx, ny]`; none for a placement that was only legalized.
    bins: Option<[usize; 2]>,
    /// The target density in use.
    target_density: Option<f64>,
    /// Layout units.
    hpwl: Option<f64>,
    /// Divided by the first run's value, minus one.
    hpwl_relative: Option<f64>,
    /// Smoothed overflow, if it was computed.
    overflow_smoothed: Option<f64>,
    /// Exact overflow.
    overflow_exact: Option<f64>,
    /// Whether the placement is legal, if that was checked.
    legal: Option<bool>,
    /// Whether no other run is better in smoothed overflow or wirelength and at least as good in
    /// the other.
    pareto: bool,
    #[serde(skip)]
    history: Vec<HistoryPart>,
    #[serde(skip)]
    movable: usize,
    #[serde(skip)]
    units_per_micron: Option<f64>,
}

impl RunsReport {
    /// Returns the unit to show lengths in.
    fn unit(&self) -> LengthUnit {
        self.units_per_micron.map(LengthUnit::microns).unwrap_or_default()
    }
}

impl Run {
    fn of(name: String, document: Document) -> (String, Run) {
        let Document { design, grid, options, result, .. } = document;
        let (status, iterations, seconds) = match document.outcome {
            Some(Outcome::Summary { status, iterations, seconds }) => {
                (Some(status), Some(iterations), Some(seconds))
            }
            Some(Outcome::Word(word)) => {
                let last = document.history.last().map(|h| h.iteration);
                (Some(word), last, document.seconds)
            }
            None => (None, None, None),
        };
        let run = Run {
            name,
            stage: result.stage,
            status,
            iterations,
            seconds,
            bins: grid.map(|grid| grid.bins),
            target_density: options.target_density,
            hpwl: result.hpwl,
            overflow_smoothed: result.overflow_smoothed,
            overflow_exact: result.overflow_exact,
            legal: document.legality.map(|legality| legality.legal),
            history: document.history,
            movable: design.movable,
            units_per_micron: design.units_per_micron,
            // Known once there are others to compare with.
            ..Run::default()
        };
        (design.name, run)
    }

    /// Whether it has no more of both than another and less of one.
    fn beats(&self, other: &Run) -> bool {
        let of = |run: &Run| run.hpwl.zip(run.overflow_smoothed);
        let (Some((a, over_a)), Some((b, over_b))) = (of(self), of(other)) else { return false };
        a <= b && over_a <= over_b && (a < b || over_a < over_b)
    }
}

/// Reads, compares, writes, draws, prints.
pub(crate) fn run(args: &CompareRunsArgs) -> Result<(), Failure> {
    one_standard_input(args.runs.iter().map(PathBuf::as_path))?;
    Outputs::default()
        .file("--json", args.json.as_ref())
        .file("--report", args.report.as_ref())
        .folder("--plots", args.plots.as_ref(), PICTURES)
        .check(&args.runs)?;
    let report = read(&args.runs)?;
    let charts = charts(&report);
    let mut files = Vec::new();
    if let Some(folder) = &args.plots {
        let mut write = |(name, chart): &(&str, Curves)| {
            let title = format!("{}: {}", report.design, chart.title);
            Curves { title, ..chart.clone() }.draw().save(folder, name, &mut files)
        };
        charts.iter().try_for_each(&mut write)?;
    }
    if let Some(path) = &args.report {
        page(&report, charts)?.write(None, path)?;
        files.push(path.clone());
    }
    write_document(args.json.as_ref(), &args.runs, &files, &report)?;
    files.extend(args.json.clone());
    files.retain(|path| path != Path::new("-"));
    if to_stdout(&args.json) || to_stdout(&args.report) {
        return Ok(());
    }
    tell(&[], &report.warnings);
    print(&report)?;
    Ok(list(&files)?)
}

/// Returns the path of a `.pl` or `.def` file, compressed or not, without the endings.
fn placement_name(file: &Path) -> Option<String> {
    let plain = Path::new(without_compression(file.to_str()?));
    let ending = plain.extension()?.to_str()?;
    ["pl", "def"].contains(&ending).then(|| plain.with_extension("").display().to_string())
}

/// Returns the documents of a file, each with the name of its run: the file's own, or where it has
/// a list of them that of the placement read last.
fn documents(path: &Path) -> Result<Vec<(String, Document)>, Failure> {
    let text = read_input(path)?;
    let is_list = text.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'[');
    let parsed = match is_list {
        true => serde_json::from_slice(&text),
        false => serde_json::from_slice(&text).map(|document| vec![document]),
    };
    let documents: Vec<Document> = parsed.map_err(|e| {
        format!("{}: expected what eval or place writes as JSON: {e}", path.display())
    })?;
    let named = |document: Document| {
        let placement = document.inputs.iter().rev().find_map(|file| placement_name(file));
        let own = path.with_extension("").display().to_string();
        (placement.filter(|_| is_list).unwrap_or(own), document)
    };
    Ok(documents.into_iter().map(named).collect())
}

/// Returns a target density with at most four decimals.
fn density(target: f64) -> String {
    ((1e4 * target).round() / 1e4).to_string()
}

/// Reads the files; all runs must be of one design.
fn read(paths: &[PathBuf]) -> Result<RunsReport, Failure> {
    let mut runs: Vec<Run> = Vec::new();
    let mut design: Option<String> = None;
    for path in paths {
        let wrong = |what: String| format!("{}: {what}", path.display());
        for (name, document) in documents(path)? {
            let (of, run) = Run::of(name, document);
            let first = design.get_or_insert_with(|| of.clone());
            let movable = runs.first().map_or(run.movable, |first| first.movable);
            if *first != of || run.movable != movable {
                return Err(wrong(format!(
                    "design {of} of {} movable cells, expected {first} of {movable} as in the \
                     first file",
                    run.movable
                ))
                .into());
            }
            runs.push(run);
        }
    }
    let twice = |k: &usize| runs[..*k].iter().any(|run| run.name == runs[*k].name);
    if let Some(k) = (1..runs.len()).find(twice) {
        let message = format!("{}: each run can be given once", runs[k].name);
        return Err(usage(ErrorKind::ValueValidation, &message));
    }
    if runs.len() < 2 {
        return Err(usage(ErrorKind::TooFewValues, "expected at least two runs"));
    }
    // Files of one name, as in a folder for each run, are distinguished by the whole path.
    let short = |run: &Run| {
        let name = Path::new(&run.name).file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    };
    let names: Vec<String> = runs.iter().map(short).collect();
    for (run, name) in runs.iter_mut().zip(&names) {
        if names.iter().filter(|other| *other == name).count() == 1 {
            run.name.clone_from(name);
        }
    }
    let on_front: Vec<bool> = runs
        .iter()
        .map(|run| {
            run.hpwl.zip(run.overflow_smoothed).is_some()
                && !runs.iter().any(|other| other.beats(run))
        })
        .collect();
    let first = runs.first().and_then(|run| run.hpwl).filter(|hpwl| *hpwl > 0.0);
    for (run, pareto) in runs.iter_mut().zip(on_front) {
        run.pareto = pareto;
        run.hpwl_relative = run.hpwl.zip(first).map(|(hpwl, first)| hpwl / first - 1.0);
    }
    let mut warnings = Vec::new();
    // Not every command reports every option: only the known values are compared.
    let values = |of: &dyn Fn(&Run) -> Option<String>| {
        let mut values: Vec<String> = runs.iter().filter_map(of).collect();
        values.sort();
        values.dedup();
        values
    };
    let bins = values(&|run| run.bins.map(|[nx, ny]| format!("{nx} × {ny}")));
    let targets = values(&|run| run.target_density.map(density));
    let stages = values(&|run| run.stage.clone());
    for (what, values, depends) in [
        ("bins", bins, "overflow depends"),
        ("target densities", targets, "overflow depends"),
        ("stages", stages, "wirelength and overflow depend"),
    ] {
        if values.len() > 1 {
            let listed = values.join(", ");
            let message = format!("the runs have different {what} ({listed}); {depends} on them");
            warnings.push(Warning::new(WarningCode::OptionsDiffer, message));
        }
    }
    let units_per_micron = runs[0].units_per_micron;
    Ok(RunsReport { design: design.unwrap_or_default(), units_per_micron, runs, warnings })
}

/// Returns the table, a row for every run.
fn table(report: &RunsReport) -> Table {
    let unit = report.unit();
    let hpwl = format!("HPWL ({})", unit.name);
    let header = [
        "run",
        "legal",
        "beaten by none",
        &hpwl,
        "against the first",
        "overflow, smoothed",
        "overflow, exact",
        "status",
        "iterations",
        "seconds",
        "bins",
        "target density",
    ];
    let row = |run: &Run| {
        let yes = |yes: bool| if yes { "yes" } else { "no" };
        let or_none = |value: Option<String>| value.unwrap_or_else(|| "-".to_owned());
        vec![
            run.name.clone(),
            or_none(run.legal.map(|legal| yes(legal).to_owned())),
            yes(run.pareto).to_owned(),
            or_none(run.hpwl.map(|v| format!("{:.6e}", unit.of(v)))),
            or_none(run.hpwl_relative.map(|v| format!("{:+.3} %", 100.0 * v))),
            or_none(run.overflow_smoothed.map(|v| format!("{v:.6}"))),
            or_none(run.overflow_exact.map(|v| format!("{v:.6}"))),
            or_none(run.status.clone()),
            or_none(run.iterations.map(|v| v.to_string())),
            or_none(run.seconds.map(|v| format!("{v:.2}"))),
            or_none(run.bins.map(|[nx, ny]| format!("{nx} × {ny}"))),
            or_none(run.target_density.map(density)),
        ]
    };
    let note = "Beaten by none: no other run has less of overflow and wirelength, or as much of \
                one and less of the other.";
    Table {
        caption: "Placements in the order given".to_owned(),
        header: header.map(str::to_owned).to_vec(),
        words: 1,
        rows: report.runs.iter().map(row).collect(),
        notes: vec![note.to_owned()],
    }
}

fn print(report: &RunsReport) -> io::Result<()> {
    let Table { header, rows, words, .. } = table(report);
    let mut out = stdout()?;
    writeln!(out, "{}", escaped(&report.design))?;
    write_table(&mut out, &header, &rows, words)
}

/// Returns the charts, with the names of their files.
fn charts(report: &RunsReport) -> Vec<(&'static str, Curves)> {
    let mut charts = Vec::new();
    let unit = report.unit();
    let point = |run: &Run| Some((run.overflow_smoothed?, unit.of(run.hpwl?)));
    let mut front: Vec<(f64, f64)> =
        report.runs.iter().filter(|run| run.pareto).filter_map(point).collect();
    front.sort_by(|a, b| a.0.total_cmp(&b.0));
    if !front.is_empty() {
        let dot = |run: &Run| Series {
            name: run.name.clone(),
            points: point(run).into_iter().collect(),
            dots: true,
            ..Series::default()
        };
        // Drawn first: its own markers would hide the dots.
        let name = "beaten by none".to_owned();
        let line = Series { name, points: front, ..Series::default() };
        let drawn = report.runs.iter().filter(|run| point(run).is_some()).map(dot);
        let series = std::iter::once(line).chain(drawn).collect();
        let chart = Curves {
            title: "overflow and wirelength".to_owned(),
            subtitle: "nearer to the lower left is better".to_owned(),
            x_label: "overflow, smoothed".to_owned(),
            y_label: format!("HPWL ({})", unit.name),
            series,
            ..Curves::default()
        };
        charts.push(("runs_pareto", chart));
    }
    let with_history = || report.runs.iter().filter(|run| !run.history.is_empty());
    let series = |value: &dyn Fn(&HistoryPart) -> f64| -> Vec<Series> {
        let curve = |run: &Run| Series {
            name: run.name.clone(),
            points: run.history.iter().map(|h| (h.iteration as f64, value(h))).collect(),
            ..Series::default()
        };
        with_history().map(curve).collect()
    };
    if with_history().next().is_some() {
        let hpwl = Curves {
            title: "wirelength".to_owned(),
            x_label: "iteration".to_owned(),
            y_label: format!("weighted HPWL ({})", unit.name),
            series: series(&|h| unit.of(h.hpwl_weighted)),
            ..Curves::default()
        };
        let overflow = Curves {
            title: "overflow".to_owned(),
            y_label: "overflow, smoothed".to_owned(),
            log_y: true,
            series: series(&|h| h.overflow_smoothed),
            ..hpwl.clone()
        };
        charts.extend([("runs_wirelength", hpwl), ("runs_overflow", overflow)]);
    }
    charts
}

fn page(report: &RunsReport, charts: Vec<(&str, Curves)>) -> Result<Page, Failure> {
    let image = |(_, mut chart): (&str, Curves)| {
        let title = std::mem::take(&mut chart.title);
        chart.size = Chart::size();
        Image::of(title, &chart.draw())
    };
    Ok(Page {
        title: report.design.clone(),
        subtitle: format!("{} placements side by side", report.runs.len()),
        warnings: report.warnings.clone(),
        parts: vec![Part {
            title: "Runs".to_owned(),
            tables: vec![table(report)],
            pictures: charts.into_iter().map(image).collect::<Result<_, _>>()?,
        }],
        made: vec![command()],
        ..Page::default()
    })
}

#[cfg(test)]
mod tests;
