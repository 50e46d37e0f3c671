//! `placefield diff`: compares two placements of one design.

use super::document::{Content, write_document};
use super::evaluation::{Evaluated, evaluate};
use super::failure::{Failure, usage};
use super::input::{Opened, open_design};
use super::maps::{Element, write_column, write_map};
use super::options::{EvaluationArgs, number};
use super::outputs::{Names, ResultArgs, one_standard_input, to_stdout};
use super::picture_args::{DrawOptions, PICTURE_ARGS, PictureArgs, common_ends, name_of};
use super::pictures::explanation;
use super::report::difference::Difference;
use super::report::page::Page;
use super::report::part::Chart;
use super::results::{list, position, tell, thousandths, write_farthest};
use super::terminal::stdout;
use crate::congestion::{Convention, RoutingGrid};
use crate::design::{Design, LengthUnit, Placement};
use crate::displacement::{self, Displacement, Range};
use crate::engine::{MapKind, Timed};
use crate::evaluate::{
    DensityReport, DesignReport, FieldReport, GridReport, OptionsReport, Report, ResultReport,
};
use crate::evaluate::{cells_and_overflow, coarse_grid};
use crate::flow::FarthestReport;
use crate::formats::read_placement;
use crate::grid::{BinGrid, Map};
use crate::maps::{Kind, fixed, floorplan};
use crate::plot::{Arrows, BarSeries, Bars, HeatMap, Picture, Scale, Size};
use crate::real::with_precision;
use crate::warning::Warning;
use clap::error::ErrorKind;
use clap::{Args, ValueEnum};
use schemars::JsonSchema;
use serde::Serialize;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Options of `placefield diff`.
#[derive(Args)]
#[command(mut_arg("pl", |arg| arg.hide(true)))]
#[command(mut_arg("maps", |arg| arg.help("Write both densities, their difference and the \
                                          displacement of every cell as NumPy files")))]
#[command(mut_arg("plots", |arg| arg.help("Draw both densities, their difference and the \
                                           displacement of cells")))]
#[command(mut_args(with_plots))]
pub(crate) struct DiffArgs {
    /// First placement, a .pl or .def file
    #[arg(long, value_name = "A")]
    from: PathBuf,
    /// Second placement, a .pl or .def file
    #[arg(long, value_name = "B")]
    to: PathBuf,
    #[command(flatten)]
    evaluation: EvaluationArgs,
    #[command(flatten)]
    results: ResultArgs,
    /// Fail with exit code 1 if HPWL rises from the first to the second placement by more than this
    /// share, as 1% or 0.01
    #[arg(long, value_name = "SHARE", value_parser = rise)]
    max_hpwl_rise: Option<f64>,
    /// Write an HTML page with the maps of both placements under one cursor, and their differences
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,
    /// Pictures, joined by commas [default: all]
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
    /// Fails if wires are longer than `--max-hpwl-rise` allows.
    fn check_rise(&self, change: &Change) -> Result<(), Failure> {
        let Some(most) = self.max_hpwl_rise else { return Ok(()) };
        match change.hpwl_relative {
            Some(rise) if rise <= most => Ok(()),
            Some(rise) => Err(format!(
                "HPWL rises by {:.4} %, and --max-hpwl-rise allows {:.4} %",
                100.0 * rise,
                100.0 * most
            )
            .into()),
            None => Err("there is no HPWL to compare, and --max-hpwl-rise asks for it".into()),
        }
    }
}

/// Options of pictures require `--plots`.
fn with_plots(arg: clap::Arg) -> clap::Arg {
    match PICTURE_ARGS.contains(&arg.get_id().as_str()) {
        true => arg.requires("plots"),
        false => arg,
    }
}

/// A picture of a comparison of two placements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
enum DiffPicture {
    DensityFrom,
    DensityTo,
    DensityDifference,
    Displacement,
    DisplacementHistogram,
}

/// The files that `--maps` writes.
const MAPS: Names = Names::Maps(&[
    "density_from",
    "density_to",
    "density_difference",
    "displacement_x",
    "displacement_y",
]);

/// The JSON document of a comparison of two placements; its keys are stable.
#[derive(Serialize, JsonSchema)]
pub(crate) struct DiffReport {
    /// The numbers of the design.
    design: DesignReport,
    /// The bins.
    grid: GridReport,
    /// The options of both evaluations.
    options: OptionsReport,
    /// The placement before.
    from: Side,
    /// The placement after.
    to: Side,
    /// The second value minus the first.
    change: Change,
    /// The displacement of the cells.
    displacement: Displacement,
    /// The cells that moved farthest, the farthest first.
    farthest: Vec<FarthestReport>,
    /// Warnings for readers of the numbers.
    warnings: Vec<Warning>,
}

impl Content for DiffReport {
    const COMMAND: &'static str = "diff";
}

/// One of the two placements.
#[derive(Serialize, JsonSchema)]
struct Side {
    /// Its file.
    placement: String,
    /// Wirelength and overflow.
    result: ResultReport,
    /// Maximum and areas.
    density: DensityReport,
    /// Energy and extremes of φ and E.
    field: FieldReport,
}

/// The second placement minus the first.
#[derive(Serialize, JsonSchema)]
struct Change {
    /// Half-perimeter wirelength, layout units.
    hpwl: Option<f64>,
    /// Divided by the first placement's HPWL.
    hpwl_relative: Option<f64>,
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
}

impl Side {
    fn of(placement: &Path, report: &Report) -> Side {
        Side {
            placement: placement.display().to_string(),
            result: report.result,
            density: report.density,
            field: report.field,
        }
    }
}

/// Reads both, evaluates both, writes, draws, prints.
pub(crate) fn run(args: &DiffArgs) -> Result<(), Failure> {
    if !args.evaluation.design.pl.is_empty() {
        let message = "the placements are those of --from and --to: '--pl' chooses nothing";
        return Err(usage(ErrorKind::ArgumentConflict, message));
    }
    let drawn = args.drawing.resolve(&args.pictures)?;
    let mut evaluation = args.evaluation.clone();
    evaluation.design = evaluation.design.with_placement(&args.from);
    evaluation.design.check()?;
    one_standard_input([&*evaluation.design.path, &*args.from, &*args.to])?;
    let mut inputs = evaluation.design.files();
    inputs.push(args.to.clone());
    args.results.outputs(MAPS).file("--report", args.report.as_ref()).check(&inputs)?;
    let mut opened = open_design(&evaluation)?;
    let position = evaluation.design.pin_position();
    let second = read_placement(&args.to, &opened.design.nodes, position)?;
    opened.files.push(second.file);
    opened.warnings.extend(second.warnings);
    let placement = second.placement;
    with_precision!(evaluation.options.precision, T => diff::<T>(args, &drawn, opened, placement))
}

fn diff<T: Element>(
    args: &DiffArgs,
    drawn: &DrawOptions<DiffPicture>,
    mut opened: Opened,
    second: Placement,
) -> Result<(), Failure> {
    let options = &args.evaluation.options;
    let first = opened.design.placement.clone();
    // Maps that a page shows beside the smoothed densities.
    let exact = |engine: &dyn Timed<T>| {
        args.report.is_some().then(|| {
            let [_, overflow] = cells_and_overflow(engine.charge());
            overflow
        })
    };
    let Evaluated { report: a, maps: [from, ..], notes, engine, .. } =
        evaluate::<T>(&opened, options)?;
    let overflow_from = exact(&*engine);
    drop(engine);
    opened.design.placement = second;
    let Evaluated { report: b, maps: [to, ..], engine, .. } = evaluate::<T>(&opened, options)?;
    let overflow_to = exact(&*engine);
    let (grid, target) = (engine.charge().grid(), engine.charge().target_density());
    drop(engine);
    let design = &opened.design;
    let moved = displacement::between(design, &first, &design.placement)?;
    let difference = to.zip(&from, |&to, &from| to - from);
    let size = |v: &T| v.widen().abs();
    let hpwl = a.result.hpwl.zip(b.result.hpwl);
    let change = Change {
        hpwl: hpwl.map(|(a, b)| b - a),
        hpwl_relative: hpwl.filter(|(a, _)| *a > 0.0).map(|(a, b)| (b - a) / a),
        overflow_smoothed: b.result.overflow.smoothed - a.result.overflow.smoothed,
        overflow_exact: b.result.overflow.exact - a.result.overflow.exact,
        energy: b.field.energy - a.field.energy,
        density_largest: difference.as_slice().iter().map(size).fold(0.0, f64::max),
        density_mean: difference.as_slice().iter().map(size).sum::<f64>() / grid.bins() as f64,
    };
    let mut warnings = a.warnings.clone();
    warnings.extend(b.warnings.iter().filter(|w| !a.warnings.contains(w)).cloned());
    let report = DiffReport {
        from: Side::of(&args.from, &a),
        to: Side::of(&args.to, &b),
        design: a.design.clone(),
        grid: a.grid,
        options: a.options.clone(),
        change,
        farthest: FarthestReport::of(design, &moved),
        displacement: moved,
        warnings,
    };

    let mut files = Vec::new();
    if let Some(folder) = &args.results.maps {
        let format = args.results.maps_as;
        let grid = RoutingGrid::from(&grid);
        for (name, map) in
            [("density_from", &from), ("density_to", &to), ("density_difference", &difference)]
        {
            files.push(write_map(folder, name, map, &grid, format)?);
        }
        for (name, column) in ["displacement_x", "displacement_y"].iter().zip(moves(design, &first))
        {
            files.push(write_column(folder, name, &column, format)?);
        }
    }
    let drawer = Drawer {
        report: &report,
        design,
        first: &first,
        densities: [&from, &to],
        difference: &difference,
        grid,
        target,
        options: drawn,
    };
    if let Some(folder) = &args.results.plots {
        files.extend(drawer.draw(folder)?);
    }
    if let (Some(path), Some(before), Some(after)) = (&args.report, &overflow_from, &overflow_to) {
        drawer.page([&a, &b], [before, after])?.write(Some(design), path)?;
        files.push(path.clone());
    }
    files.retain(|path| path != Path::new("-"));
    write_document(args.results.json.as_ref(), &opened.files, &files, &report)?;
    files.extend(args.results.json.clone());
    if to_stdout(&args.results.json) || to_stdout(&args.report) {
        tell(&notes, &[]);
        return args.check_rise(&report.change);
    }
    tell(&notes, &report.warnings);
    print(&report, design.length_unit())?;
    list(&files)?;
    args.check_rise(&report.change)
}

/// Returns along x and along y, how far the lower-left corner of every movable node moved, in node
/// order.
fn moves(design: &Design, first: &Placement) -> [Vec<f64>; 2] {
    let at = &design.placement;
    let along =
        |now: &[f64], before: &[f64]| design.movable().map(|i| now[i] - before[i]).collect();
    [along(&at.x, &first.x), along(&at.y, &first.y)]
}

/// Inputs of the pictures.
struct Drawer<'a, T> {
    report: &'a DiffReport,
    design: &'a Design,
    first: &'a Placement,
    densities: [&'a Map<T>; 2],
    difference: &'a Map<T>,
    grid: BinGrid,
    target: f64,
    options: &'a DrawOptions<DiffPicture>,
}

impl<T: crate::Real> Drawer<'_, T> {
    fn draw(&self, folder: &Path) -> Result<Vec<PathBuf>, Failure> {
        let names = &self.options.pictures;
        let drawn = names.iter().map(|name| Ok((name_of(name), self.picture(*name)?)));
        self.options.write(&drawn.collect::<Result<Vec<_>, Failure>>()?, folder)
    }

    /// Returns the names of both placements' files.
    fn files(&self) -> [String; 2] {
        [&self.report.from, &self.report.to].map(|side| {
            let name = Path::new(&side.placement).file_name().unwrap_or_default();
            name.to_string_lossy().into_owned()
        })
    }

    /// Returns the page; `reports` and `overflow` are of both placements.
    fn page(&self, reports: [&Report; 2], overflow: [&Map<f64>; 2]) -> Result<Page, Failure> {
        let moves = mean_moves(self.design, self.first, self.grid)?;
        let [x, y] = &moves.mean;
        let unit = self.design.length_unit();
        let row = |moved: &FarthestReport| {
            let distance = thousandths(moved.distance, unit).to_string();
            let [from, to] = [moved.from, moved.to].map(|at| position(at, unit));
            vec![moved.cell.clone(), distance, from, to]
        };
        let page = Difference {
            design: self.design,
            grid: self.grid,
            target: self.target,
            reports,
            names: self.files(),
            densities: self.densities,
            overflow,
            moves: [x, y],
            moves_title: match moves.by_end {
                true => "mean displacement of the cells now there",
                false => "mean displacement of the cells once there",
            },
            distances: distances(self.design, "", &self.report.displacement).draw(),
            farthest: self.report.farthest.iter().map(row).collect(),
            warnings: &self.report.warnings,
        };
        page.page()
    }

    fn picture(&self, name: DiffPicture) -> Result<Picture, Failure> {
        let die = self.grid.die();
        let (outlines, layers) = (&fixed(self.design, die), &floorplan(self.design, die));
        let files = self.files();
        let between = format!("{} less {}", files[1], files[0]);
        let design = &self.report.design.name;
        let range = self.options.range(&name);
        match name {
            DiffPicture::DensityFrom | DiffPicture::DensityTo => {
                let side = usize::from(name == DiffPicture::DensityTo);
                let sides = [&self.report.from.result, &self.report.to.result];
                let maps = self.densities.map(|map| {
                    self.options.dress(HeatMap {
                        title: format!("{design}: density"),
                        subtitle: format!("{}{}", files[side], explanation(&sides[side].overflow)),
                        label: Kind::Engine(MapKind::Density).entry(Convention::default()).label(),
                        unit: self.design.length_unit(),
                        mark: Some((self.target, "T")),
                        outlines,
                        layers,
                        ..HeatMap::new(map, self.grid, Scale::Target)
                    })
                });
                // Both end at the same values, or they could not be compared.
                let common = common_ends(maps.iter().map(HeatMap::colors_end));
                Ok(HeatMap { range: range.or(common), ..maps[side].clone() }.draw()?)
            }
            DiffPicture::DensityDifference => {
                let map = self.options.dress(HeatMap {
                    title: format!("{design}: difference of the densities"),
                    subtitle: between,
                    label: "Δρ (area / bin area)".to_owned(),
                    unit: self.design.length_unit(),
                    outlines,
                    layers,
                    range,
                    ..HeatMap::new(self.difference, self.grid, Scale::Diverging)
                });
                Ok(map.draw()?)
            }
            DiffPicture::Displacement => {
                let (design, grid) = (self.design, self.grid);
                let dress = |map: HeatMap<'_, f64>| {
                    HeatMap { range, ..self.options.dress(map) }.draw().map_err(Failure::from)
                };
                draw_moves(design, self.first, grid, dress)
            }
            DiffPicture::DisplacementHistogram => {
                let bars = distances(self.design, &between, &self.report.displacement);
                let bars = Bars {
                    title: self.options.title(bars.title),
                    subtitle: self.options.title(bars.subtitle),
                    size: self.options.size,
                    ..bars
                };
                Ok(bars.draw())
            }
        }
    }
}

fn range_name(range: &Range, unit: LengthUnit) -> String {
    match range {
        Range { to: 0.0, .. } => "0".to_owned(),
        Range { from, to, .. } if to.is_infinite() => format!("≥ {}", short(unit.of(*from))),
        Range { to, .. } => format!("< {}", short(unit.of(*to))),
    }
}

/// Returns a number in few digits.
fn short(value: f64) -> String {
    if (0.01..1e5).contains(&value) {
        format!("{}", (value * 1e3).round() / 1e3)
    } else {
        format!("{value:.1e}")
    }
}

/// Mean displacements of the movable cells by the square that has their centre, layout units; NaN
/// of squares without cells.
struct MeanMoves {
    grid: BinGrid,
    /// Along x and along y.
    mean: [Map<f64>; 2],
    /// Whether the squares are those where cells are in the end, not those where they began.
    by_end: bool,
}

impl MeanMoves {
    fn squares(&self) -> usize {
        self.mean[0].as_slice().iter().filter(|v| v.is_finite()).count()
    }
}

/// Draws where cells moved from `first` on, as `draw` does it.
fn draw_moves(
    design: &Design,
    first: &Placement,
    grid: BinGrid,
    draw: impl FnOnce(HeatMap<'_, f64>) -> Result<Picture, Failure>,
) -> Result<Picture, Failure> {
    let moves = mean_moves(design, first, grid)?;
    let [x, y] = &moves.mean;
    let unit = design.length_unit();
    let far = x.zip(y, |x, y| unit.of(x.hypot(*y)));
    draw(HeatMap {
        title: format!("{}: mean displacement", design.name),
        subtitle: format!(
            "of the cells {} in each of {} × {} areas",
            if moves.by_end { "that are now" } else { "that were" },
            moves.grid.nx(),
            moves.grid.ny()
        ),
        label: format!("|mean displacement| ({})", unit.name),
        unit,
        absent: Some("no cells"),
        arrows: Some(Arrows { x, y }),
        outlines: &fixed(design, grid.die()),
        layers: &floorplan(design, grid.die()),
        ..HeatMap::new(&far, moves.grid, Scale::Magnitude)
    })
}

/// Returns a histogram of displacements. With an empty `between` it is for a page: without titles, and
/// as large as the page's charts.
fn distances(design: &Design, between: &str, displacement: &Displacement) -> Bars {
    let (ranges, unit) = (&displacement.histogram, design.length_unit());
    let (title, size) = match between.is_empty() {
        true => (String::new(), Chart::size()),
        false => (format!("{}: how far cells moved", design.name), Size::default()),
    };
    Bars {
        title,
        size,
        subtitle: between.to_owned(),
        x_label: format!("|Δx| + |Δy| of the centre ({})", unit.name),
        y_label: "cells".to_owned(),
        categories: ranges.iter().map(|range| range_name(range, unit)).collect(),
        // In a large design few cells move far, and readers look for these.
        log_y: displacement.cells > 100,
        series: vec![BarSeries {
            values: ranges.iter().map(|r| Some(r.cells as f64)).collect(),
            ..BarSeries::default()
        }],
        ..Bars::default()
    }
}

/// Returns two pictures: where and how far cells moved from `first` on. With an empty
/// `between` they are for a page.
pub(super) fn moves_drawn(
    between: &str,
    design: &Design,
    first: &Placement,
    displacement: &Displacement,
) -> Result<[Picture; 2], Failure> {
    let die = design.die().ok_or("the design has no rows, so it has no die")?;
    let draw = |mut map: HeatMap<'_, f64>| {
        if between.is_empty() {
            map.title.clear();
            map.size = Chart::size();
        }
        map.draw().map_err(Failure::from)
    };
    let moves = draw_moves(design, first, BinGrid::new(die, 1, 1)?, draw)?;
    Ok([moves, distances(design, between, displacement).draw()])
}

/// Writes [`moves_drawn`].
pub(super) fn write_moves(
    between: &str,
    design: &Design,
    first: &Placement,
    displacement: &Displacement,
    folder: &Path,
    files: &mut Vec<PathBuf>,
) -> Result<(), Failure> {
    let [moves, far] = moves_drawn(between, design, first, displacement)?;
    moves.save(folder, "displacement", files)?;
    Ok(far.save(folder, "displacement_histogram", files)?)
}

/// Uses the squares of the cells in the first placement, or in the second one if they are more: in
/// a heap all cells are in a few squares.
fn mean_moves(design: &Design, first: &Placement, grid: BinGrid) -> Result<MeanMoves, Failure> {
    let die = grid.die();
    let coarse = coarse_grid(design, die)?;
    let by = |at: &Placement, by_end: bool| {
        let zero = Map::filled(coarse.nx(), coarse.ny(), 0.0);
        let (mut x, mut y, mut count) = (zero.clone(), zero.clone(), zero);
        for i in design.movable() {
            let (w, h) = design.size(i);
            let column = (at.x[i] + w / 2.0 - die.xl) / coarse.bin_x();
            let row = (at.y[i] + h / 2.0 - die.yl) / coarse.bin_y();
            let within = |v: f64, bins: usize| v >= 0.0 && v < bins as f64;
            if !within(column, coarse.nx()) || !within(row, coarse.ny()) {
                continue;
            }
            let bin = (column as usize, row as usize);
            x[bin] += design.placement.x[i] - first.x[i];
            y[bin] += design.placement.y[i] - first.y[i];
            count[bin] += 1.0;
        }
        for map in [&mut x, &mut y] {
            for (sum, &n) in map.as_mut_slice().iter_mut().zip(count.as_slice()) {
                *sum /= n; // 0 / 0 where there are none
            }
        }
        MeanMoves { grid: coarse, mean: [x, y], by_end }
    };
    let (start, end) = (by(first, false), by(&design.placement, true));
    Ok(if end.squares() > start.squares() { end } else { start })
}

fn print(report: &DiffReport, unit: LengthUnit) -> io::Result<()> {
    let mut out = stdout()?;
    let (d, g, o, c) = (&report.design, &report.grid, &report.options, &report.change);
    writeln!(
        out,
        "{}: {} movable cells, {} nets, {} x {} bins, {} ({}), {}, {}",
        d.name,
        d.movable,
        d.nets,
        g.bins[0],
        g.bins[1],
        o.engine,
        o.device,
        o.pipeline,
        o.precision
    )?;
    writeln!(out, "from       {}", report.from.placement)?;
    writeln!(out, "to         {}", report.to.placement)?;
    match report.from.result.hpwl.zip(report.to.result.hpwl) {
        Some((a, b)) => {
            let relative = c.hpwl_relative.map(|v| format!(", {:+.3} %", 100.0 * v));
            let (a, b, name) = (unit.of(a), unit.of(b), unit.name);
            let relative = relative.unwrap_or_default();
            writeln!(out, "HPWL       {a:.6e} -> {b:.6e} {name}{relative}")?;
        }
        None => writeln!(out, "HPWL       none: the design has no nets")?,
    }
    let (a, b) = (&report.from, &report.to);
    for (what, a, b) in [
        ("overflow  ", a.result.overflow.smoothed, b.result.overflow.smoothed),
        ("  exact   ", a.result.overflow.exact, b.result.overflow.exact),
        ("maximum   ", a.density.max_smoothed, b.density.max_smoothed),
    ] {
        writeln!(out, "{what} {a:.6} -> {b:.6}")?;
    }
    writeln!(out, "energy     {:.6e} -> {:.6e} bin widths²", a.field.energy, b.field.energy)?;
    writeln!(
        out,
        "density    differs by {:.6} at most, {:.6} on average (area / bin area)",
        c.density_largest, c.density_mean
    )?;
    let m = &report.displacement;
    writeln!(
        out,
        "moved      {} of {} cells, {} turned; |dx| + |dy| {:.6} on average, median {:.6}, \
         at most {:.6} {}",
        m.moved,
        m.cells,
        m.turned,
        unit.of(m.mean),
        unit.of(m.median),
        unit.of(m.largest),
        unit.name
    )?;
    for range in &m.histogram {
        writeln!(out, "  {:>10} {}", range_name(range, unit), range.cells)?;
    }
    write_farthest(&mut out, &report.farthest, unit)
}
