//! `placefield diff`: compares placements of one design, or the results of runs.

mod moves;
mod pair;
mod runs;

use super::document::{Content, write_document};
use super::evaluation::{Evaluated, evaluate};
use super::failure::{Failure, usage};
use super::input::{Opened, open_design};
use super::maps::{Element, write_column, write_map};
use super::options::{EvaluationArgs, number, parsed};
use super::outputs::{Names, ResultArgs, one_standard_input, to_stdout};
use super::picture_args::{DrawOptions, PICTURE_ARGS, PictureArgs};
use super::results::{list, tell};
use crate::congestion::RoutingGrid;
use crate::design::{Design, LengthUnit, Placement};
use crate::displacement::{self, Displacement};
use crate::engine::Timed;
use crate::evaluate::{
    DensityReport, DesignReport, FieldReport, GridReport, OptionsReport, Report, cells_and_overflow,
};
use crate::flow::FarthestReport;
use crate::formats::read_placement;
use crate::grid::{BinGrid, Map};
use crate::real::with_precision;
use crate::warning::Warning;
use clap::Args;
use clap::error::ErrorKind;
pub(super) use moves::{moves_drawn, write_moves};
use pair::{DiffPicture, Drawer};
use runs::{HistoryPart, ResultPart};
use schemars::JsonSchema;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Options of `placefield diff`.
#[derive(Args)]
#[command(mut_arg("path", |arg| arg.index(1).help("The design, an .aux or .def \
                                          file, before its placements; or the first .json file")))]
#[command(mut_arg("pl", |arg| arg.hide(true)))]
#[command(mut_arg("maps", |arg| arg.help("Write both densities, their difference and the \
                                          displacement of every cell as NumPy files")))]
#[command(mut_arg("plots", |arg| arg.help("Draw two placements: both densities, their \
                                           difference and the displacement of cells. Draw \
                                           several or runs: overflow against wirelength, and \
                                           both over the iterations")))]
#[command(mut_args(with_plots))]
pub(crate) struct DiffArgs {
    #[command(flatten)]
    evaluation: EvaluationArgs,
    /// Placements of the design, .pl or .def files; each is compared with the first. Or JSON of
    /// `eval`, `place`, `legalize`, `refine` or `place --history`
    #[arg(value_name = "FILE", index = 2)]
    files: Vec<PathBuf>,
    #[command(flatten)]
    results: ResultArgs,
    /// Fail with exit code 1 if a placement's HPWL is above the first one's by more than this share,
    /// as 1% or 0.01
    #[arg(long, value_name = "SHARE", value_parser = rise)]
    max_hpwl_rise: Option<f64>,
    /// Write an HTML page with the maps of two placements under one cursor, or with a table of
    /// several
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,
    /// Pictures of two placements, joined by commas [default: all]
    #[arg(long, value_enum, value_delimiter = ',', value_name = "NAMES", requires = "plots")]
    pictures: Vec<DiffPicture>,
    #[command(flatten)]
    drawing: PictureArgs,
}

/// Parses `--max-hpwl-rise`.
fn rise(text: &str) -> Result<f64, String> {
    let (share, unit) = match text.strip_suffix('%') {
        Some(share) => (share, 0.01),
        None => (text, 1.0),
    };
    let expected = "a share from 0 on, as 1% or 0.01";
    number(share.trim_end(), |v| (0.0..=1e6).contains(&v), expected).map(|v| unit * v)
}

impl DiffArgs {
    /// Whether the files are results of runs.
    fn compares_runs(&self) -> bool {
        let first = &self.evaluation.design.path;
        first == Path::new("-") || first.extension().is_some_and(|ending| ending == "json")
    }

    /// Refuses options that have no effect on a table of several placements or runs.
    fn check_for_table(&self) -> Result<(), Failure> {
        let wrong = |message| Err(usage(ErrorKind::ArgumentConflict, message));
        let no_drawing: PictureArgs = parsed(&[]);
        let draws = format!("{:?}", self.drawing) != format!("{no_drawing:?}");
        if self.results.maps.is_some() || draws || !self.pictures.is_empty() {
            return wrong(
                "'--maps' and the options of pictures are for two placements of a design",
            );
        }
        let mut given = self.evaluation.clone();
        given.design = given.design.with_path(Path::new("design"));
        let no_options: EvaluationArgs = parsed(&["design".as_ref()]);
        if self.compares_runs() && format!("{given:?}") != format!("{no_options:?}") {
            return wrong(
                "options of an evaluation are for a design: JSON has the results already",
            );
        }
        Ok(())
    }

    /// Fails if wires are longer than `--max-hpwl-rise` allows.
    fn check_rise(&self, report: &DiffReport) -> Result<(), Failure> {
        let Some(most) = self.max_hpwl_rise else { return Ok(()) };
        for run in &report.placements[1..] {
            match run.hpwl_relative {
                Some(rise) if rise <= most => {}
                Some(rise) => {
                    return Err(format!(
                        "{}: HPWL rises by {:.4} %, and --max-hpwl-rise allows {:.4} %",
                        run.name,
                        100.0 * rise,
                        100.0 * most
                    )
                    .into());
                }
                None => {
                    let message = "there is no HPWL to compare, and --max-hpwl-rise asks for it";
                    return Err(message.into());
                }
            }
        }
        Ok(())
    }
}

/// Options of pictures require `--plots`.
fn with_plots(arg: clap::Arg) -> clap::Arg {
    match PICTURE_ARGS.contains(&arg.get_id().as_str()) {
        true => arg.requires("plots"),
        false => arg,
    }
}

/// The files that `--maps` writes.
const MAPS: Names = Names::Maps(&[
    "density_from",
    "density_to",
    "density_difference",
    "displacement_x",
    "displacement_y",
]);

/// The JSON document of a comparison; its keys are stable.
#[derive(Serialize, JsonSchema)]
pub(crate) struct DiffReport {
    /// The numbers of the design.
    design: DesignReport,
    /// The bins; not for runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    grid: Option<GridReport>,
    /// The options of every evaluation; not for runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    options: Option<OptionsReport>,
    /// The placements or runs in the given order; each is compared with the first.
    placements: Vec<Run>,
    /// Warnings for readers of the numbers.
    warnings: Vec<Warning>,
}

impl Content for DiffReport {
    const COMMAND: &'static str = "diff";
}

/// One placement or run.
#[derive(Default, Serialize, JsonSchema)]
struct Run {
    /// The file's name without the ending.
    name: String,
    /// The file.
    file: String,
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
    /// Wirelength and overflow.
    result: ResultPart,
    /// HPWL divided by the first placement's, minus one.
    hpwl_relative: Option<f64>,
    /// Whether the placement is legal, if that was checked.
    legal: Option<bool>,
    /// Whether no other placement is better in smoothed overflow or wirelength and at least as good
    /// in the other.
    pareto: bool,
    /// Maximum and areas; not for runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    density: Option<DensityReport>,
    /// Energy and extremes of φ and E; not for runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    field: Option<FieldReport>,
    /// The values of this placement minus those of the first; not for runs and the first placement.
    #[serde(skip_serializing_if = "Option::is_none")]
    change: Option<Change>,
    #[serde(skip)]
    history: Vec<HistoryPart>,
}

/// A placement minus the first one.
#[derive(Serialize, JsonSchema)]
struct Change {
    /// Half-perimeter wirelength, layout units.
    hpwl: Option<f64>,
    /// Smoothed overflow.
    overflow_smoothed: f64,
    /// Exact overflow.
    overflow_exact: f64,
    /// Σ φ·ρ over bins, bin widths squared.
    energy: f64,
    /// Largest |Δρ| of a bin.
    density_largest: f64,
    /// Mean |Δρ| over bins.
    density_mean: f64,
    /// The displacement of the cells.
    displacement: Displacement,
    /// The cells that moved farthest, the farthest first.
    farthest: Vec<FarthestReport>,
}

impl DiffReport {
    /// Returns the unit to show lengths in.
    fn unit(&self) -> LengthUnit {
        self.design.units_per_micron.map(LengthUnit::microns).unwrap_or_default()
    }
}

impl Run {
    fn of(file: &Path, report: &Report) -> Run {
        Run {
            name: runs::placement_name(file).unwrap_or_else(|| file.display().to_string()),
            file: file.display().to_string(),
            bins: Some(report.grid.bins),
            target_density: Some(report.options.target_density),
            result: ResultPart::from(&report.result),
            density: Some(report.density),
            field: Some(report.field),
            ..Run::default()
        }
    }
}

/// Reads, compares, writes, draws, prints.
pub(crate) fn run(args: &DiffArgs) -> Result<(), Failure> {
    if args.compares_runs() {
        args.check_for_table()?;
        let mut files = vec![args.evaluation.design.path.clone()];
        files.extend_from_slice(&args.files);
        one_standard_input(files.iter().map(PathBuf::as_path))?;
        args.check_outputs(&files)?;
        let mut report = runs::read(&files)?;
        report.relate();
        return args.finish_table(&report, &files, &[]);
    }
    if !args.evaluation.design.pl.is_empty() {
        let message = "the placements come after the design: '--pl' chooses nothing";
        return Err(usage(ErrorKind::ArgumentConflict, message));
    }
    let (first, others) = match &args.files[..] {
        [first, others @ ..] if !others.is_empty() => (first, others),
        _ => {
            let message = "expected the design (.aux or .def) and at least two placements, or two \
                           .json files";
            return Err(usage(ErrorKind::TooFewValues, message));
        }
    };
    if others.len() > 1 {
        args.check_for_table()?;
    }
    let drawn = args.drawing.resolve(&args.pictures)?;
    let mut evaluation = args.evaluation.clone();
    evaluation.design = evaluation.design.with_placement(first);
    evaluation.design.check()?;
    let design = [&*evaluation.design.path].into_iter();
    one_standard_input(design.chain(args.files.iter().map(PathBuf::as_path)))?;
    let mut inputs = evaluation.design.files();
    inputs.extend_from_slice(others);
    args.check_outputs(&inputs)?;
    let mut opened = open_design(&evaluation)?;
    let position = evaluation.design.pin_position();
    let mut placements = Vec::new();
    for other in others {
        let read = read_placement(other, &opened.design.nodes, position)?;
        opened.files.push(read.file);
        opened.warnings.extend(read.warnings);
        placements.push(read.placement);
    }
    with_precision!(evaluation.options.precision, T => args.compare::<T>(&drawn, opened, placements))
}

impl DiffArgs {
    fn check_outputs(&self, inputs: &[PathBuf]) -> Result<(), Failure> {
        self.results.outputs(MAPS).file("--report", self.report.as_ref()).check(inputs)
    }

    /// Compares `others` with the placement of the design that is `opened`.
    fn compare<T: Element>(
        &self,
        drawn: &DrawOptions<DiffPicture>,
        mut opened: Opened,
        others: Vec<Placement>,
    ) -> Result<(), Failure> {
        let options = &self.evaluation.options;
        let first = opened.design.placement.clone();
        // A map that the page of two placements shows beside the smoothed density.
        let with_page = others.len() == 1 && self.report.is_some();
        let overflow = |engine: &dyn Timed<T>| {
            with_page.then(|| {
                let [_, overflow] = cells_and_overflow(engine.charge());
                overflow
            })
        };
        let Evaluated { report: a, maps: [from, ..], notes, engine, .. } =
            evaluate::<T>(&opened, options)?;
        let (grid, target) = (engine.charge().grid(), engine.charge().target_density());
        let mut overflows = Vec::from_iter(overflow(&*engine));
        drop(engine);
        let mut report = DiffReport {
            design: a.design.clone(),
            grid: Some(a.grid),
            options: Some(a.options.clone()),
            placements: vec![Run::of(&self.files[0], &a)],
            warnings: a.warnings.clone(),
        };
        let mut last = None;
        for (file, placement) in self.files[1..].iter().zip(others) {
            opened.design.placement = placement;
            let Evaluated { report: b, maps: [to, ..], engine, .. } =
                evaluate::<T>(&opened, options)?;
            overflows.extend(overflow(&*engine));
            drop(engine);
            let difference = to.zip(&from, |&to, &from| to - from);
            let change = change(&opened.design, &first, [&a, &b], &difference)?;
            report.placements.push(Run { change: Some(change), ..Run::of(file, &b) });
            for warning in &b.warnings {
                if !report.warnings.contains(warning) {
                    report.warnings.push(warning.clone());
                }
            }
            last = Some((b, to, difference));
        }
        report.relate();
        let (b, to, difference) = last.expect("there are two placements or more");
        if report.placements.len() > 2 {
            return self.finish_table(&report, &opened.files, &notes);
        }
        let maps =
            [("density_from", &from), ("density_to", &to), ("density_difference", &difference)];
        let mut files = self.write_maps(&opened.design, &first, maps, &grid)?;
        let drawer = Drawer {
            report: &report,
            reports: [&a, &b],
            design: &opened.design,
            first: &first,
            densities: [&from, &to],
            difference: &difference,
            grid,
            target,
            options: drawn,
        };
        if let Some(folder) = &self.results.plots {
            files.extend(drawer.draw(folder)?);
        }
        if let (Some(path), [before, after]) = (&self.report, &overflows[..]) {
            drawer.page([before, after])?.write(Some(&opened.design), path)?;
            files.push(path.clone());
        }
        self.finish(&report, &opened.files, files, &notes, || pair::print(&report))
    }

    fn write_maps<T: Element>(
        &self,
        design: &Design,
        first: &Placement,
        maps: [(&str, &Map<T>); 3],
        grid: &BinGrid,
    ) -> Result<Vec<PathBuf>, Failure> {
        let Some(folder) = &self.results.maps else { return Ok(Vec::new()) };
        let (format, grid) = (self.results.maps_as, RoutingGrid::from(grid));
        let mut files = Vec::new();
        for (name, map) in maps {
            files.push(write_map(folder, name, map, &grid, format)?);
        }
        for (name, column) in ["displacement_x", "displacement_y"].iter().zip(moves(design, first))
        {
            files.push(write_column(folder, name, &column, format)?);
        }
        Ok(files)
    }

    /// Writes, draws and prints a table.
    fn finish_table(
        &self,
        report: &DiffReport,
        inputs: &[PathBuf],
        notes: &[String],
    ) -> Result<(), Failure> {
        let charts = runs::charts(report);
        let mut files = Vec::new();
        if let Some(folder) = &self.results.plots {
            runs::draw(report, &charts, folder, &mut files)?;
        }
        if let Some(path) = &self.report {
            runs::page(report, charts)?.write(None, path)?;
            files.push(path.clone());
        }
        self.finish(report, inputs, files, notes, || runs::print(report))
    }

    /// Writes the document and prints.
    fn finish(
        &self,
        report: &DiffReport,
        inputs: &[PathBuf],
        mut files: Vec<PathBuf>,
        notes: &[String],
        print: impl FnOnce() -> std::io::Result<()>,
    ) -> Result<(), Failure> {
        files.retain(|path| path != Path::new("-"));
        write_document(self.results.json.as_ref(), inputs, &files, report)?;
        files.extend(self.results.json.clone());
        if to_stdout(&self.results.json) || to_stdout(&self.report) {
            tell(notes, &[]);
            return self.check_rise(report);
        }
        tell(notes, &report.warnings);
        print()?;
        list(&files)?;
        self.check_rise(report)
    }
}

/// Returns the second report minus the first. `first` is the first placement, and `design` has the
/// second one.
fn change<T: Element>(
    design: &Design,
    first: &Placement,
    [a, b]: [&Report; 2],
    difference: &Map<T>,
) -> Result<Change, Failure> {
    let size = |v: &T| v.widen().abs();
    let bins = difference.as_slice();
    let moved = displacement::between(design, first, &design.placement)?;
    Ok(Change {
        hpwl: a.result.hpwl.zip(b.result.hpwl).map(|(a, b)| b - a),
        overflow_smoothed: b.result.overflow.smoothed - a.result.overflow.smoothed,
        overflow_exact: b.result.overflow.exact - a.result.overflow.exact,
        energy: b.field.energy - a.field.energy,
        density_largest: bins.iter().map(size).fold(0.0, f64::max),
        density_mean: bins.iter().map(size).sum::<f64>() / bins.len() as f64,
        farthest: FarthestReport::of(design, &moved),
        displacement: moved,
    })
}

/// Returns along x and along y, how far the lower-left corner of every movable node moved, in node
/// order.
fn moves(design: &Design, first: &Placement) -> [Vec<f64>; 2] {
    let at = &design.placement;
    let along =
        |now: &[f64], before: &[f64]| design.movable().map(|i| now[i] - before[i]).collect();
    [along(&at.x, &first.x), along(&at.y, &first.y)]
}
