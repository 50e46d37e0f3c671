//! Tables of several placements or runs.

use super::{DiffReport, Run};
use crate::cli::failure::{Failure, usage};
use crate::cli::outputs::read_input;
use crate::cli::report::assemble::command;
use crate::cli::report::page::Page;
use crate::cli::report::part::{Chart, Image, Part, Table};
use crate::cli::results::write_table;
use crate::cli::terminal::{escaped, stdout};
use crate::evaluate::{DesignReport, ResultReport};
use crate::plot::{Curves, PlotError, Series};
use crate::text::file::without_compression;
use crate::warning::{Warning, WarningCode};
use clap::error::ErrorKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The parts read of a file.
#[derive(Deserialize)]
struct Document {
    #[serde(default)]
    inputs: Vec<PathBuf>,
    design: DesignReport,
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

/// Wirelength and overflow of a placement or run.
#[derive(Default, Deserialize, Serialize, JsonSchema)]
pub(super) struct ResultPart {
    /// The last stage, of a run.
    #[serde(skip_serializing_if = "Option::is_none")]
    stage: Option<String>,
    /// Half-perimeter wirelength, every net weighing 1, layout units; none without nets.
    pub(super) hpwl: Option<f64>,
    /// Half-perimeter wirelength with the nets' weights, layout units.
    hpwl_weighted: Option<f64>,
    /// Smoothed overflow, if it was computed.
    pub(super) overflow_smoothed: Option<f64>,
    /// Exact overflow.
    pub(super) overflow_exact: Option<f64>,
}

impl From<&ResultReport> for ResultPart {
    fn from(result: &ResultReport) -> Self {
        ResultPart {
            stage: None,
            hpwl: result.hpwl,
            hpwl_weighted: result.hpwl_weighted,
            overflow_smoothed: Some(result.overflow.smoothed),
            overflow_exact: Some(result.overflow.exact),
        }
    }
}

/// A word in a history, an object in a summary.
#[derive(Deserialize)]
#[serde(untagged)]
enum Outcome {
    Word(String),
    Summary { status: String, iterations: usize, seconds: f64 },
}

#[derive(Deserialize)]
pub(super) struct HistoryPart {
    iteration: usize,
    hpwl_weighted: f64,
    overflow_smoothed: f64,
}

impl Run {
    fn of_document(name: String, file: &Path, document: Document) -> (DesignReport, Run) {
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
            file: file.display().to_string(),
            status,
            iterations,
            seconds,
            bins: grid.map(|grid| grid.bins),
            target_density: options.target_density,
            result,
            legal: document.legality.map(|legality| legality.legal),
            history: document.history,
            ..Run::default()
        };
        (design, run)
    }

    /// Whether it has no more of both than another and less of one.
    fn beats(&self, other: &Run) -> bool {
        let of = |run: &Run| run.result.hpwl.zip(run.result.overflow_smoothed);
        let (Some((a, over_a)), Some((b, over_b))) = (of(self), of(other)) else { return false };
        a <= b && over_a <= over_b && (a < b || over_a < over_b)
    }
}

/// Returns the path of a `.pl` or `.def` file, compressed or not, without the endings.
pub(super) fn placement_name(file: &Path) -> Option<String> {
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
pub(super) fn read(paths: &[PathBuf]) -> Result<DiffReport, Failure> {
    let mut runs: Vec<Run> = Vec::new();
    let mut designs: Vec<DesignReport> = Vec::new();
    for path in paths {
        for (name, document) in documents(path)? {
            let (design, run) = Run::of_document(name, path, document);
            let first = designs.first().unwrap_or(&design);
            if (&first.name, first.movable) != (&design.name, design.movable) {
                return Err(format!(
                    "{}: design {} of {} movable cells, expected {} of {} as in the first file",
                    path.display(),
                    design.name,
                    design.movable,
                    first.name,
                    first.movable
                )
                .into());
            }
            designs.push(design);
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
    let warnings = different_options(&runs);
    let design = designs.swap_remove(0);
    Ok(DiffReport { design, grid: None, options: None, placements: runs, warnings })
}

/// Returns a warning for every option in which runs differ. Not every command reports every option:
/// only the known values are compared.
fn different_options(runs: &[Run]) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let values = |of: &dyn Fn(&Run) -> Option<String>| {
        let mut values: Vec<String> = runs.iter().filter_map(of).collect();
        values.sort();
        values.dedup();
        values
    };
    let bins = values(&|run| run.bins.map(|[nx, ny]| format!("{nx} × {ny}")));
    let targets = values(&|run| run.target_density.map(density));
    let stages = values(&|run| run.result.stage.clone());
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
    warnings
}

impl DiffReport {
    /// Compares every placement with the first one and with all others, and shortens the names.
    pub(super) fn relate(&mut self) {
        let runs = &mut self.placements;
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
                run.result.hpwl.zip(run.result.overflow_smoothed).is_some()
                    && !runs.iter().any(|other| other.beats(run))
            })
            .collect();
        let first = runs.first().and_then(|run| run.result.hpwl).filter(|hpwl| *hpwl > 0.0);
        for (run, pareto) in runs.iter_mut().zip(on_front) {
            run.pareto = pareto;
            run.hpwl_relative = run.result.hpwl.zip(first).map(|(hpwl, first)| hpwl / first - 1.0);
        }
    }
}

/// Returns the table, a row for every run.
fn table(report: &DiffReport) -> Table {
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
            or_none(run.result.hpwl.map(|v| format!("{:.6e}", unit.of(v)))),
            or_none(run.hpwl_relative.map(|v| format!("{:+.3} %", 100.0 * v))),
            or_none(run.result.overflow_smoothed.map(|v| format!("{v:.6}"))),
            or_none(run.result.overflow_exact.map(|v| format!("{v:.6}"))),
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
        rows: report.placements.iter().map(row).collect(),
        notes: vec![note.to_owned()],
    }
}

/// Prints the table.
pub(super) fn print(report: &DiffReport) -> io::Result<()> {
    let Table { header, rows, words, .. } = table(report);
    let mut out = stdout()?;
    writeln!(out, "{}", escaped(&report.design.name))?;
    write_table(&mut out, &header, &rows, words)
}

/// Returns the charts, with the names of their files.
pub(super) fn charts(report: &DiffReport) -> Vec<(&'static str, Curves)> {
    let mut charts = Vec::new();
    let unit = report.unit();
    let point = |run: &Run| Some((run.result.overflow_smoothed?, unit.of(run.result.hpwl?)));
    let mut front: Vec<(f64, f64)> =
        report.placements.iter().filter(|run| run.pareto).filter_map(point).collect();
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
        let drawn = report.placements.iter().filter(|run| point(run).is_some()).map(dot);
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
    let with_history = || report.placements.iter().filter(|run| !run.history.is_empty());
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

/// Draws the charts as PNG and SVG.
pub(super) fn draw(
    report: &DiffReport,
    charts: &[(&str, Curves)],
    folder: &Path,
    files: &mut Vec<PathBuf>,
) -> Result<(), PlotError> {
    charts.iter().try_for_each(|(name, chart)| {
        let title = format!("{}: {}", report.design.name, chart.title);
        Curves { title, ..chart.clone() }.draw().save(folder, name, files)
    })
}

/// Returns the page of the table and the charts.
pub(super) fn page(report: &DiffReport, charts: Vec<(&str, Curves)>) -> Result<Page, Failure> {
    let image = |(_, mut chart): (&str, Curves)| {
        let title = std::mem::take(&mut chart.title);
        chart.size = Chart::size();
        Image::of(title, &chart.draw())
    };
    Ok(Page {
        title: report.design.name.clone(),
        subtitle: format!("{} placements side by side", report.placements.len()),
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
