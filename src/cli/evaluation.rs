//! Every stage once on a design's own placement.

use super::engines::{self, Chosen, EngineReal};
use super::failure::Failure;
use super::input::{Opened, charge_of};
use super::options::SolveArgs;
use super::report::{
    DensityReport, DesignReport, FieldReport, GridReport, OptionsReport, Report, Timings,
};
use super::results::write_output;
use crate::Real;
use crate::charge::Charge;
use crate::engine::{MapKind, Timed};
use crate::grid::Map;
use std::path::{Path, PathBuf};
use std::time::Instant;

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
    let start = Instant::now();
    let charge = charge_of(&opened.design, options)?;
    let making = start.elapsed().as_secs_f64() * 1e3;
    let mut evaluated = evaluate_charge(opened, options, charge)?;
    evaluated.report.timings_ms.setup += making;
    Ok(evaluated)
}

/// As [`evaluate`], of a charge that was made of the design before; the design's cells are where
/// the charge's bodies begin.
pub(crate) fn evaluate_charge<T: EngineReal>(
    opened: &Opened,
    options: &SolveArgs,
    charge: Charge,
) -> Result<Evaluated<T>, Failure> {
    let design = &opened.design;
    let start = Instant::now();
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
    // Who made the charge may have said these already.
    warnings.extend(charge.warnings().iter().filter(|w| !opened.warnings.contains(w)).cloned());
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
        version: env!("CARGO_PKG_VERSION"),
        inputs: opened.files.iter().map(|path| path.display().to_string()).collect(),
        design: DesignReport::of(design, charge.movable_area(), charge.fixed_area()),
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
            edge_loss_area: charge.edge_loss(&x, &y),
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
        scaled_hpwl: None,
        legality: None,
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

impl<T: Real + npyz::Serialize + npyz::AutoSerialize> Evaluated<T> {
    /// `density.npy potential.npy field_x.npy field_y.npy` as `[nx][ny]`, and
    /// `force_x.npy force_y.npy`, one value per movable node in `.nodes` order.
    pub(super) fn write_maps(&self, folder: &Path) -> Result<Vec<PathBuf>, Failure> {
        let mut files = Vec::new();
        for (kind, map) in MapKind::ALL.into_iter().zip(&self.maps) {
            let path = folder.join(format!("{}.npy", kind.name()));
            write_npy(&path, &[map.nx(), map.ny()], map.as_slice())?;
            files.push(path);
        }
        for (name, force) in ["force_x", "force_y"].iter().zip(&self.force) {
            let path = folder.join(format!("{name}.npy"));
            write_npy(&path, &[force.len()], force)?;
            files.push(path);
        }
        Ok(files)
    }
}

/// Writes `values` as a NumPy file of `shape`, the last axis contiguous.
pub(super) fn write_npy<T>(path: &Path, shape: &[usize], values: &[T]) -> Result<(), Failure>
where
    T: Copy + npyz::Serialize + npyz::AutoSerialize,
{
    use npyz::WriterBuilder;
    let shape: Vec<u64> = shape.iter().map(|&n| n as u64).collect();
    write_output(path, |out| {
        let options = npyz::WriteOptions::new().default_dtype().shape(&shape);
        let mut file = options.writer(out).begin_nd()?;
        file.extend(values.iter().copied())?;
        file.finish()
    })
}
