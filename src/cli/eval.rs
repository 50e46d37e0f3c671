//! `placefield eval`: one placement in numbers.

use super::Failure;
use super::common::{
    EvaluationArgs, Opened, SolveArgs, charge_of, check_output, make_folder, open_design, tell,
    with_precision, write_json, write_output,
};
use super::engines::{self, Chosen, EngineReal};
use super::pictures;
use crate::Real;
use crate::cli::report::{
    DensityReport, DesignReport, FieldReport, GridReport, OptionsReport, Report, Timings,
};
use crate::design::Design;
use crate::engine::{MapKind, Timed};
use crate::grid::Map;
use clap::Args;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Options of `placefield eval`.
#[derive(Args)]
pub(crate) struct EvalArgs {
    /// The design's .aux file
    #[arg(value_name = "DESIGN.aux")]
    aux: PathBuf,
    #[command(flatten)]
    evaluation: EvaluationArgs,
    /// Write the numbers as JSON; - for standard output
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write density, potential, field and forces as NumPy files
    #[arg(long, value_name = "DIR")]
    maps: Option<PathBuf>,
    /// Draw density, potential, field and force as PNG and SVG
    #[arg(long, value_name = "DIR")]
    plots: Option<PathBuf>,
}

/// Reads, evaluates, prints.
pub(crate) fn run(args: &EvalArgs) -> Result<(), Failure> {
    args.evaluation.options.engine.only_one()?;
    // Outputs first: a run of minutes must not end on one that cannot be written.
    args.json.as_deref().map_or(Ok(()), check_output)?;
    for folder in [&args.maps, &args.plots].into_iter().flatten() {
        make_folder(folder)?;
    }
    let opened = open_design(&args.aux, &args.evaluation)?;
    let options = &args.evaluation.options;
    with_precision!(options.precision(), T => {
        let evaluated = evaluate::<T>(&opened, options)?;
        if let Some(folder) = &args.maps {
            evaluated.write_maps(folder)?;
        }
        if let Some(folder) = &args.plots {
            pictures::draw(&opened.design, &evaluated, folder)?;
        }
        if let Some(path) = &args.json {
            write_json(path, &evaluated.report)?;
        }
        if args.json.as_deref() == Some(Path::new("-")) {
            tell(&evaluated.notes, &[]); // the warnings are in the JSON
            return Ok(());
        }
        tell(&evaluated.notes, &evaluated.report.warnings);
        print(&evaluated.report)
    })
}

/// An evaluation: its report, its maps in the order of [`MapKind::ALL`], and
/// the forces of the movable cells; `notes` say what each `auto` took.
pub(crate) struct Evaluated<T: Real> {
    pub(crate) report: Report,
    pub(crate) engine: Box<dyn Timed<T>>,
    pub(crate) notes: Vec<String>,
    pub(crate) maps: [Map<T>; 4],
    pub(crate) force: [Vec<T>; 2],
}

/// Runs every stage once on the design's own placement.
pub(crate) fn evaluate<T: EngineReal>(
    opened: &Opened,
    options: &SolveArgs,
) -> Result<Evaluated<T>, Failure> {
    let design = &opened.design;
    let start = Instant::now();
    let charge = charge_of(design, options)?;
    let Chosen { mut engines, note } =
        engines::open::<T>(charge, &options.engine_options(), options.engine)?;
    let mut engine = engines.remove(0);
    let mut notes = Vec::from_iter(note);
    notes.extend(engines::pipeline_note(options, engine.choice()));
    let pipeline = engine.choice().pipeline;
    let setup = start.elapsed().as_secs_f64() * 1e3;

    let round = |values: &[f64]| values.iter().map(|&v| T::of(v)).collect::<Vec<T>>();
    let (x, y) = (round(engine.charge().initial_x()), round(engine.charge().initial_y()));
    engine.set_positions(&x, &y)?;
    let smoothed = engine.compute_density()?;
    let energy = engine.solve(pipeline)?;
    engine.compute_force()?;
    let times = engine.times();
    let start = Instant::now();
    let exact = engine.exact_density()?;
    let exact_ms = start.elapsed().as_secs_f64() * 1e3;

    let grid = engine.charge().grid();
    let mut maps = MapKind::ALL.map(|_| Map::filled(grid.nx(), grid.ny(), T::zero()));
    for (kind, map) in MapKind::ALL.into_iter().zip(&mut maps) {
        engine.read_map(kind, map)?;
    }
    let bodies = engine.charge().bodies();
    let mut force = [vec![T::zero(); bodies], vec![T::zero(); bodies]];
    let [fx, fy] = &mut force;
    engine.read_force(fx, fy)?;
    force.iter_mut().for_each(|f| f.truncate(engine.charge().movable()));

    let charge = engine.charge();
    let clipped = charge.clipped_area(&x, &y);
    let mut warnings = opened.warnings.clone();
    warnings.extend(charge.warnings().iter().cloned());
    if clipped.wholly + clipped.partly > 0 {
        warnings.push(format!(
            "movable cells reach beyond the die: {} of {} wholly, {} partly; their area outside, {}, is left out",
            clipped.wholly, charge.movable(), clipped.partly, clipped.area
        ));
    }
    let largest = |map: &Map<T>| map.as_slice().iter().fold(0.0, |m: f64, v| m.max(v.wide().abs()));
    let (potential_min, potential_max) = maps[1].range();
    let total: f64 = maps[0].as_slice().iter().map(|v| v.wide()).sum();
    let hpwl = design.hpwl();
    let descriptor = engine.descriptor();
    let report = Report {
        design: describe(design, charge.movable_area(), charge.fixed_area()),
        grid: GridReport { bins: [grid.nx(), grid.ny()], bin_size: [grid.bin_x(), grid.bin_y()] },
        options: OptionsReport {
            engine: descriptor.engine,
            device: descriptor.device,
            pipeline,
            path: engine.path(pipeline),
            precision: T::PRECISION,
            target_density: charge.target_density(),
            fillers: options.fillers(),
            filler_count: charge.fillers(),
            row_blockage: options.row_blockage(),
            deterministic: true,
        },
        density: DensityReport {
            overflow_smoothed: smoothed.overflow,
            overflow_exact: exact.overflow,
            max_smoothed: smoothed.max,
            max_exact: exact.max,
            total_area: total * grid.bin_area(),
            clipped_area: clipped.area + charge.fixed_clipped_area(),
        },
        field: FieldReport {
            energy,
            potential_min: potential_min.wide(),
            potential_max: potential_max.wide(),
            field_x_max: largest(&maps[2]),
            field_y_max: largest(&maps[3]),
        },
        hpwl: hpwl.map(|h| h.unweighted),
        hpwl_weighted: hpwl.map(|h| h.weighted),
        timings_ms: Timings {
            parse: opened.parse_ms,
            setup,
            density: times.density,
            solve: times.solve(),
            force: times.force,
            exact_density: exact_ms,
        },
        warnings,
    };
    Ok(Evaluated { report, engine, notes, maps, force })
}

pub(crate) fn describe(design: &Design, movable_area: f64, fixed_area: f64) -> DesignReport {
    let movable = design.movable().count();
    let nets = design.nets.as_ref();
    DesignReport {
        name: design.name.clone(),
        nodes: design.nodes.len(),
        movable,
        fixed: design.nodes.len() - movable,
        nets: nets.map_or(0, |n| n.len()),
        pins: nets.map_or(0, |n| n.pins()),
        rows: design.rows.len(),
        die: design.die().map_or([0.0; 4], |d| [d.xl, d.yl, d.xh, d.yh]),
        movable_area,
        fixed_area,
    }
}

impl<T: Real + npyz::Serialize + npyz::AutoSerialize> Evaluated<T> {
    /// `density.npy potential.npy field_x.npy field_y.npy` as `[nx][ny]`, and
    /// `force_x.npy force_y.npy`, one value per movable node in `.nodes` order.
    fn write_maps(&self, folder: &Path) -> Result<(), Failure> {
        for (kind, map) in MapKind::ALL.into_iter().zip(&self.maps) {
            let path = folder.join(format!("{}.npy", kind.name()));
            write_npy(&path, &[map.nx() as u64, map.ny() as u64], map.as_slice())?;
        }
        for (name, force) in ["force_x", "force_y"].iter().zip(&self.force) {
            write_npy(&folder.join(format!("{name}.npy")), &[force.len() as u64], force)?;
        }
        Ok(())
    }
}

fn write_npy<T>(path: &Path, shape: &[u64], values: &[T]) -> Result<(), Failure>
where
    T: Copy + npyz::Serialize + npyz::AutoSerialize,
{
    use npyz::WriterBuilder;
    write_output(path, |out| {
        let options = npyz::WriteOptions::new().default_dtype().shape(shape);
        let mut file = options.writer(out).begin_nd()?;
        file.extend(values.iter().copied())?;
        file.finish()
    })
}

/// The report as a person reads it, without the warnings.
pub(crate) fn print(report: &Report) -> Result<(), Failure> {
    let (d, g, o) = (&report.design, &report.grid, &report.options);
    let mut out = io::stdout().lock();
    writeln!(
        out,
        "{}: {} nodes ({} movable, {} fixed), {} nets, {} pins, {} rows",
        d.name, d.nodes, d.movable, d.fixed, d.nets, d.pins, d.rows
    )?;
    let [xl, yl, xh, yh] = d.die;
    writeln!(
        out,
        "die        [{xl}, {xh}] x [{yl}, {yh}], {} x {} bins of {:.4} x {:.4}",
        g.bins[0], g.bins[1], g.bin_size[0], g.bin_size[1]
    )?;
    writeln!(
        out,
        "engine     {} ({}), {}{}, {}; target density {}, {} fillers{}",
        o.engine,
        o.device,
        o.pipeline,
        if o.path == o.pipeline.name() { String::new() } else { format!(" (ran {})", o.path) },
        o.precision,
        o.target_density,
        o.filler_count,
        if o.row_blockage { ", row blockage" } else { "" }
    )?;
    let v = &report.density;
    writeln!(out, "overflow   {:.6} smoothed, {:.6} exact", v.overflow_smoothed, v.overflow_exact)?;
    writeln!(out, "maximum    {:.6} smoothed, {:.6} exact", v.max_smoothed, v.max_exact)?;
    writeln!(out, "area       {:.6e} in the map, {:.6e} clipped", v.total_area, v.clipped_area)?;
    let f = &report.field;
    writeln!(
        out,
        "field      energy {:.6e}, potential {:.4} to {:.4}, |Ex| <= {:.4}, |Ey| <= {:.4}",
        f.energy, f.potential_min, f.potential_max, f.field_x_max, f.field_y_max
    )?;
    match (report.hpwl, report.hpwl_weighted) {
        (Some(plain), Some(weighted)) => {
            writeln!(out, "wirelength HPWL {plain:.6e}, weighted {weighted:.6e}")?;
        }
        _ => writeln!(out, "wirelength none: the design has no nets")?,
    }
    let t = &report.timings_ms;
    writeln!(
        out,
        "time, ms   parse {:.1}, setup {:.1}, density {:.2}, solve {:.2}, force {:.2}",
        t.parse, t.setup, t.density, t.solve, t.force
    )?;
    Ok(())
}
