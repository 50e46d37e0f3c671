//! `placefield diff`: two placements of one design, and what is between them.

use super::engines::EngineReal;
use super::evaluation::{Evaluated, evaluate, write_npy};
use super::failure::{Failure, usage};
use super::input::{Opened, open_design, with_precision};
use super::options::EvaluationArgs;
use super::outputs::{Names, ResultArgs, design_files, one_standard_input};
use super::pictures::save;
use super::report::{DensityReport, DesignReport, FieldReport, GridReport, OptionsReport, Report};
use super::results::{list, tell, write_json};
use super::views::{ARROW_BINS, grid_over, node_name};
use crate::bookshelf::read_placement;
use crate::design::{Design, Placement};
use crate::displacement::{self, Displacement, Range};
use crate::grid::{BinGrid, Map};
use crate::plot::{Arrows, BarSeries, Bars, HeatMap, Scale};
use clap::Args;
use clap::error::ErrorKind;
use serde::Serialize;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Options of `placefield diff`.
#[derive(Args)]
#[command(mut_arg("pl", |arg| arg.hide(true)))]
#[command(mut_arg("maps", |arg| arg.help("Write both densities, their difference and every cell's displacement as NumPy files")))]
#[command(mut_arg("plots", |arg| arg.help("Draw the difference of the densities, where cells moved, and how far")))]
pub(crate) struct DiffArgs {
    /// The design's .aux file
    #[arg(value_name = "DESIGN.aux")]
    aux: PathBuf,
    /// The placement before
    #[arg(long, value_name = "A.pl")]
    from: PathBuf,
    /// The placement after
    #[arg(long, value_name = "B.pl")]
    to: PathBuf,
    #[command(flatten)]
    evaluation: EvaluationArgs,
    #[command(flatten)]
    results: ResultArgs,
}

/// What `--maps` writes.
const MAPS: Names = Names::These(&[
    "density_from.npy",
    "density_to.npy",
    "density_difference.npy",
    "displacement_x.npy",
    "displacement_y.npy",
]);

/// Everything a comparison of two placements says; its JSON keys are stable.
#[derive(Serialize)]
struct DiffReport {
    version: &'static str,
    inputs: Vec<String>,
    design: DesignReport,
    grid: GridReport,
    options: OptionsReport,
    from: Side,
    to: Side,
    change: Change,
    displacement: Displacement,
    /// Names of `displacement.farthest`, in its order.
    farthest: Vec<String>,
    warnings: Vec<String>,
}

/// One of the two placements.
#[derive(Serialize)]
struct Side {
    placement: String,
    hpwl: Option<f64>,
    hpwl_weighted: Option<f64>,
    density: DensityReport,
    field: FieldReport,
}

/// The second placement less the first.
#[derive(Serialize)]
struct Change {
    hpwl: Option<f64>,
    /// Over the first placement's HPWL.
    hpwl_relative: Option<f64>,
    overflow_smoothed: f64,
    overflow_exact: f64,
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
            hpwl: report.hpwl,
            hpwl_weighted: report.hpwl_weighted,
            density: report.density,
            field: report.field,
        }
    }
}

/// Reads both, evaluates both, writes, draws, prints.
pub(crate) fn run(args: &DiffArgs) -> Result<(), Failure> {
    args.evaluation.options.engine.only_one()?;
    if args.evaluation.pl.is_some() {
        let message = "the placements are those of --from and --to: '--pl' chooses nothing";
        return Err(usage(ErrorKind::ArgumentConflict, message));
    }
    one_standard_input([&*args.aux, &*args.from, &*args.to])?;
    let mut inputs = design_files(&args.aux, Some(&args.from));
    inputs.push(args.to.clone());
    args.results.check(MAPS, &inputs)?;
    let mut evaluation = args.evaluation.clone();
    evaluation.pl = Some(args.from.clone());
    let mut opened = open_design(&args.aux, &evaluation)?;
    let second = read_placement(&args.to, &opened.design.nodes)?;
    opened.files.push(second.file);
    opened.warnings.extend(second.warnings);
    with_precision!(evaluation.options.precision(), T => diff::<T>(args, opened, second.placement))
}

fn diff<T: EngineReal + npyz::Serialize + npyz::AutoSerialize>(
    args: &DiffArgs,
    mut opened: Opened,
    second: Placement,
) -> Result<(), Failure> {
    let options = &args.evaluation.options;
    let first = opened.design.placement.clone();
    let Evaluated { report: a, maps: [from, ..], notes, .. } = evaluate::<T>(&opened, options)?;
    opened.design.placement = second;
    let Evaluated { report: b, maps: [to, ..], engine, .. } = evaluate::<T>(&opened, options)?;
    let grid = engine.charge().grid();
    drop(engine);
    let design = &opened.design;
    let moved = displacement::between(design, &first, &design.placement)?;
    let difference = difference(&from, &to);
    let size = |v: &T| v.wide().abs();
    let change = Change {
        hpwl: a.hpwl.zip(b.hpwl).map(|(a, b)| b - a),
        hpwl_relative: a.hpwl.zip(b.hpwl).filter(|(a, _)| *a > 0.0).map(|(a, b)| (b - a) / a),
        overflow_smoothed: b.density.overflow_smoothed - a.density.overflow_smoothed,
        overflow_exact: b.density.overflow_exact - a.density.overflow_exact,
        energy: b.field.energy - a.field.energy,
        density_largest: difference.as_slice().iter().map(size).fold(0.0, f64::max),
        density_mean: difference.as_slice().iter().map(size).sum::<f64>() / grid.bins() as f64,
    };
    let mut warnings = a.warnings.clone();
    warnings.extend(b.warnings.iter().filter(|w| !a.warnings.contains(w)).cloned());
    let names = moved.farthest.iter().map(|m| node_name(design, m.node as usize));
    let farthest = names.collect();
    let report = DiffReport {
        version: a.version,
        inputs: opened.files.iter().map(|path| path.display().to_string()).collect(),
        from: Side::of(&args.from, &a),
        to: Side::of(&args.to, &b),
        design: a.design,
        grid: a.grid,
        options: a.options,
        change,
        displacement: moved,
        farthest,
        warnings,
    };

    let mut files = Vec::new();
    if let Some(folder) = &args.results.maps {
        let shape = [grid.nx(), grid.ny()];
        for (name, map) in
            [("density_from", &from), ("density_to", &to), ("density_difference", &difference)]
        {
            let path = folder.join(format!("{name}.npy"));
            write_npy(&path, &shape, map.as_slice())?;
            files.push(path);
        }
        for (name, column) in ["displacement_x", "displacement_y"].iter().zip(moves(design, &first))
        {
            let path = folder.join(format!("{name}.npy"));
            write_npy(&path, &[column.len()], &column)?;
            files.push(path);
        }
    }
    if let Some(folder) = &args.results.plots {
        draw(&report, design, &first, &difference, grid, folder, &mut files)?;
    }
    if let Some(path) = &args.results.json {
        write_json(path, &report)?;
        files.push(path.clone());
    }
    if args.results.json_alone() {
        tell(&notes, &[]);
        return Ok(());
    }
    tell(&notes, &report.warnings);
    print(&report)?;
    Ok(list(&files)?)
}

fn difference<T: crate::Real>(from: &Map<T>, to: &Map<T>) -> Map<T> {
    let pairs = from.as_slice().iter().zip(to.as_slice());
    Map::from_vec(from.nx(), from.ny(), pairs.map(|(&a, &b)| b - a).collect())
}

/// Along x and along y, how far the lower-left corner of every movable node moved, in node order.
fn moves(design: &Design, first: &Placement) -> [Vec<f64>; 2] {
    let at = &design.placement;
    let along =
        |now: &[f64], before: &[f64]| design.movable().map(|i| now[i] - before[i]).collect();
    [along(&at.x, &first.x), along(&at.y, &first.y)]
}

fn draw<T: crate::Real>(
    report: &DiffReport,
    design: &Design,
    first: &Placement,
    difference: &Map<T>,
    grid: BinGrid,
    folder: &Path,
    files: &mut Vec<PathBuf>,
) -> Result<(), Failure> {
    let name = &report.design.name;
    let file = |side: &Side| {
        let name = Path::new(&side.placement).file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    };
    let subtitle = format!("{} less {}", file(&report.to), file(&report.from));
    let density = HeatMap {
        title: format!("{name}: difference of the densities"),
        subtitle: subtitle.clone(),
        label: "Δρ (area / bin area)".to_owned(),
        ..HeatMap::new(difference, grid, Scale::Diverging)
    };
    save(&density.draw()?, folder, "density_difference", files)?;

    let (coarse, [x, y]) = mean_moves(design, first, grid)?;
    let pairs = x.as_slice().iter().zip(y.as_slice());
    let far = Map::from_vec(x.nx(), x.ny(), pairs.map(|(x, y)| x.hypot(*y)).collect());
    let picture = HeatMap {
        title: format!("{name}: mean displacement"),
        subtitle: format!(
            "of the cells that were in each of {} × {} squares",
            coarse.nx(),
            coarse.ny()
        ),
        label: "|mean displacement| (layout units)".to_owned(),
        arrows: Some(Arrows { x: &x, y: &y }),
        ..HeatMap::new(&far, coarse, Scale::Magnitude)
    };
    save(&picture.draw()?, folder, "displacement", files)?;

    let ranges = &report.displacement.histogram;
    let bars = Bars {
        title: format!("{name}: how far cells moved"),
        subtitle: format!("{subtitle}: |Δx| + |Δy| of the centre, layout units"),
        y_label: "cells".to_owned(),
        categories: ranges.iter().map(range_name).collect(),
        series: vec![BarSeries {
            name: "cells".to_owned(),
            values: ranges.iter().map(|r| Some(r.cells as f64)).collect(),
            ..BarSeries::default()
        }],
        ..Bars::default()
    };
    save(&bars.draw(), folder, "displacement_histogram", files)
}

fn range_name(range: &Range) -> String {
    match range {
        Range { to: 0.0, .. } => "0".to_owned(),
        Range { from, to, .. } if to.is_infinite() => format!("≥ {}", short(*from)),
        Range { to, .. } => format!("< {}", short(*to)),
    }
}

/// A number in few digits.
fn short(value: f64) -> String {
    if (0.01..1e5).contains(&value) {
        format!("{}", (value * 1e3).round() / 1e3)
    } else {
        format!("{value:.1e}")
    }
}

/// The mean displacement of the movable cells that had their centre in each bin of a coarse grid.
fn mean_moves(
    design: &Design,
    first: &Placement,
    grid: BinGrid,
) -> Result<(BinGrid, [Map<f64>; 2]), Failure> {
    let die = grid.die();
    let coarse = grid_over(die, ARROW_BINS)?;
    let zero = Map::filled(coarse.nx(), coarse.ny(), 0.0);
    let (mut x, mut y, mut count) = (zero.clone(), zero.clone(), zero);
    for i in design.movable() {
        let (w, h) = design.size(i);
        let column = (first.x[i] + w / 2.0 - die.xl) / coarse.bin_x();
        let row = (first.y[i] + h / 2.0 - die.yl) / coarse.bin_y();
        if column < 0.0 || row < 0.0 || column >= coarse.nx() as f64 || row >= coarse.ny() as f64 {
            continue;
        }
        let bin = (column as usize, row as usize);
        x[bin] += design.placement.x[i] - first.x[i];
        y[bin] += design.placement.y[i] - first.y[i];
        count[bin] += 1.0;
    }
    for map in [&mut x, &mut y] {
        for (sum, &n) in map.as_mut_slice().iter_mut().zip(count.as_slice()) {
            *sum /= f64::max(n, 1.0);
        }
    }
    Ok((coarse, [x, y]))
}

fn print(report: &DiffReport) -> io::Result<()> {
    let mut out = io::stdout().lock();
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
    match (report.from.hpwl, report.to.hpwl, c.hpwl_relative) {
        (Some(a), Some(b), Some(relative)) => {
            writeln!(out, "HPWL       {a:.6e} -> {b:.6e}, {:+.3} %", 100.0 * relative)?;
        }
        (Some(a), Some(b), None) => writeln!(out, "HPWL       {a:.6e} -> {b:.6e}")?,
        _ => writeln!(out, "HPWL       none: the design has no nets")?,
    }
    let (a, b) = (&report.from, &report.to);
    for (what, a, b) in [
        ("overflow  ", a.density.overflow_smoothed, b.density.overflow_smoothed),
        ("  exact   ", a.density.overflow_exact, b.density.overflow_exact),
        ("maximum   ", a.density.max_smoothed, b.density.max_smoothed),
    ] {
        writeln!(out, "{what} {a:.6} -> {b:.6}")?;
    }
    writeln!(out, "energy     {:.6e} -> {:.6e}", a.field.energy, b.field.energy)?;
    writeln!(
        out,
        "density    differs by {:.6} at most, {:.6} on average",
        c.density_largest, c.density_mean
    )?;
    let m = &report.displacement;
    writeln!(
        out,
        "moved      {} of {} cells, {} turned; |dx| + |dy| {:.6} on average, median {:.6}, at most {:.6}",
        m.moved, m.cells, m.turned, m.mean, m.median, m.largest
    )?;
    for range in &m.histogram {
        writeln!(out, "  {:>10} {}", range_name(range), range.cells)?;
    }
    for (moved, name) in m.farthest.iter().zip(&report.farthest) {
        let ((x0, y0), (x1, y1)) = (moved.from, moved.to);
        writeln!(out, "  {name} by {:.6}: ({x0}, {y0}) -> ({x1}, {y1})", moved.distance)?;
    }
    Ok(())
}
