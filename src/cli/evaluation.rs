//! Every stage once on a design's own placement.

use super::congestion::{Congestion, CongestionArgs};
use super::engines::{self, Chosen, EngineReal};
use super::failure::Failure;
use super::input::{Opened, charge_of};
use super::log;
use super::maps::{Element, write_column, write_map};
use super::options::SolveArgs;
use super::outputs::MapsFormat;
use super::report::{
    DensityReport, DesignReport, FieldReport, GridReport, OptionsReport, RegionReport, Report,
    Timings,
};
use crate::Real;
use crate::charge::{Charge, Clipped};
use crate::congestion::RoutingGrid;
use crate::engine::{MapKind, Timed};
use crate::grid::Map;
use crate::maps::{Kind, over_die};
use crate::warning::{Warning, WarningCode};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::Instant;

/// An evaluation: its report, its maps over the die in the order of [`MapKind::ALL`], and the
/// forces of the movable cells; `notes` are the choices of each `auto`.
pub(crate) struct Evaluated<T: Real> {
    pub(crate) report: Report,
    pub(crate) engine: Box<dyn Timed<T>>,
    pub(crate) notes: Vec<String>,
    pub(crate) maps: [Map<T>; 4],
    pub(crate) force: [Vec<T>; 2],
    /// The part of the movable cells off the die.
    pub(crate) off_die: Clipped,
    /// Where it is enabled.
    pub(crate) congestion: Option<Congestion>,
}

/// The forces of the movable cells, as files.
const FORCES: [&str; 2] = ["force_x", "force_y"];

/// Returns the names of the files that `--maps` writes, without their endings.
pub(super) fn map_names() -> &'static [&'static str] {
    static NAMES: LazyLock<Vec<&str>> = LazyLock::new(|| {
        let written = |kind: &Kind| kind.is_congestion() || matches!(kind, Kind::Engine(_));
        Kind::ALL.into_iter().filter(written).map(Kind::name).chain(FORCES).collect()
    });
    &NAMES
}

/// Runs every stage once on the design's own placement.
pub(crate) fn evaluate<T: EngineReal>(
    opened: &Opened,
    options: &SolveArgs,
) -> Result<Evaluated<T>, Failure> {
    log::begin("making bins and charge");
    let start = Instant::now();
    let charge = charge_of(&opened.design, &options.allowing_overfull())?;
    let making = start.elapsed().as_secs_f64() * 1e3;
    let mut evaluated = evaluate_charge(opened, options, charge)?;
    evaluated.report.timings_ms.setup += making;
    Ok(evaluated)
}

/// Returns each fence region's cells, where the bodies of `charge` begin; none without fences.
pub(crate) fn regions<T: EngineReal>(
    charge: Charge,
    options: &SolveArgs,
) -> Result<Vec<RegionReport>, Failure> {
    if charge.regions() == 1 {
        return Ok(Vec::new());
    }
    let mut engines = engines::open::<T>(charge, &options.engine_options(), options.engine)?.engine;
    let engine = &mut *engines[0];
    let (x, y) = engine.charge().initial_positions::<T>();
    engine.set_positions(&x, &y)?;
    engine.compute_density()?;
    engine.solve(engine.choice().pipeline)?;
    Ok(RegionReport::of(engine)?)
}

/// Evaluates as [`evaluate`] does, with a charge made from the design before. The design's cells
/// are at the start of the charge's bodies.
pub(crate) fn evaluate_charge<T: EngineReal>(
    opened: &Opened,
    options: &SolveArgs,
    charge: Charge,
) -> Result<Evaluated<T>, Failure> {
    let design = &opened.design;
    log::begin("evaluating");
    let start = Instant::now();
    let Chosen { engine: mut engines, note } =
        engines::open::<T>(charge, &options.engine_options(), options.engine)?;
    let mut engine = engines.remove(0);
    let mut notes = Vec::from_iter(note);
    notes.extend(engines::pipeline_note(options, engine.choice()));
    let pipeline = engine.choice().pipeline;
    let setup = start.elapsed().as_secs_f64() * 1e3;

    let (x, y) = engine.charge().initial_positions::<T>();
    engine.set_positions(&x, &y)?;
    let smoothed = engine.compute_density()?;
    let energy = engine.solve(pipeline)?;
    engine.compute_force()?;
    let times = engine.times();
    let start = Instant::now();
    let exact = engine.exact_density()?;
    let exact_ms = start.elapsed().as_secs_f64() * 1e3;

    let grid = engine.charge().grid();
    let [nx, ny] = engine.charge().stacked_bins();
    let mut maps = MapKind::ALL.map(|_| Map::filled(nx, ny, T::zero()));
    for (kind, map) in MapKind::ALL.into_iter().zip(&mut maps) {
        engine.read_map(kind, map)?;
        over_die(engine.charge(), kind, map);
    }
    let regions = RegionReport::of(&mut *engine)?;
    let bodies = engine.charge().bodies();
    let mut force = [vec![T::zero(); bodies], vec![T::zero(); bodies]];
    let [fx, fy] = &mut force;
    engine.read_force(fx, fy)?;
    force.iter_mut().for_each(|f| f.truncate(engine.charge().movable()));

    let charge = engine.charge();
    let clipped = charge.clipped_area(&x, &y);
    let mut warnings = opened.warnings.clone();
    // These warnings may have been given when the charge was made.
    warnings.extend(charge.warnings().iter().filter(|w| !opened.warnings.contains(w)).cloned());
    if clipped.wholly + clipped.partly > 0 {
        let message = format!(
            "movable cells reach beyond the die: {} of {} wholly, {} partly; their area outside, \
             {}, counts as overflow",
            clipped.wholly,
            charge.movable(),
            clipped.partly,
            clipped.area
        );
        warnings.push(Warning::new(WarningCode::MovableOffDie, message));
    }
    // No bin may hold it, so it is above any target.
    let overflow_off_die = match clipped.area > 0.0 {
        true => clipped.area / charge.movable_area(),
        false => 0.0,
    };
    let largest =
        |map: &Map<T>| map.as_slice().iter().fold(0.0, |m: f64, v| m.max(v.widen().abs()));
    let (potential_min, potential_max) = maps[1].range();
    let total: f64 = maps[0].as_slice().iter().map(|v| v.widen()).sum();
    let hpwl = design.hpwl();
    let descriptor = engine.descriptor();
    let report = Report {
        design: DesignReport::of(design, opened.summaries(), charge.areas()),
        grid: GridReport::of(&grid),
        options: OptionsReport {
            engine: descriptor.engine,
            device: descriptor.device,
            pipeline,
            path: engine.path(pipeline),
            precision: T::PRECISION,
            target_density: charge.target_density(),
            target_density_asked: options.target_density(),
            fillers: options.fillers,
            filler_count: charge.fillers(),
            row_blockage: charge.row_blockage(),
            deterministic: options.deterministic,
        },
        density: DensityReport {
            overflow_smoothed: smoothed.overflow,
            overflow_exact: exact.overflow,
            overflow_off_die,
            max_smoothed: smoothed.max,
            max_exact: exact.max,
            total_area: total * grid.bin_area(),
            clipped_area: clipped.area + charge.fixed_clipped().area,
            blocked_area: charge.blockage_area(),
            edge_loss_area: charge.edge_loss(&x, &y),
        },
        field: FieldReport {
            energy,
            potential_min: potential_min.widen(),
            potential_max: potential_max.widen(),
            field_x_max: largest(&maps[2]),
            field_y_max: largest(&maps[3]),
        },
        hpwl: hpwl.map(|h| h.unweighted),
        hpwl_weighted: hpwl.map(|h| h.weighted),
        regions,
        windows: Vec::new(),
        scaled_hpwl: None,
        legality: None,
        congestion: None,
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
    let (off_die, congestion) = (clipped, None);
    Ok(Evaluated { report, engine, notes, maps, force, off_die, congestion })
}

impl<T: Real> Evaluated<T> {
    /// Returns a map of the engine.
    pub(crate) fn map(&self, kind: MapKind) -> &Map<T> {
        let at = MapKind::ALL.iter().position(|of| *of == kind);
        &self.maps[at.expect("there is every map")]
    }

    /// Adds the congestion of the design that was evaluated, if it is enabled: over the bins of
    /// `grid`, or else of the evaluation.
    pub(crate) fn add_congestion(
        &mut self,
        opened: &Opened,
        args: &CongestionArgs,
        grid: Option<RoutingGrid>,
    ) -> Result<(), Failure> {
        let grid = grid.unwrap_or_else(|| RoutingGrid::from(&self.engine.charge().grid()));
        self.congestion = args.maps(opened, grid)?;
        self.report.congestion = self.congestion.as_ref().map(|congestion| congestion.report);
        Ok(())
    }
}

impl<T: Element> Evaluated<T> {
    /// `density.npy potential.npy field_x.npy field_y.npy` as `[nx][ny]`, and
    /// `force_x.npy force_y.npy`, one value per movable node in `.nodes` order.
    pub(super) fn write_maps(
        &self,
        folder: &Path,
        format: MapsFormat,
    ) -> Result<Vec<PathBuf>, Failure> {
        let grid = RoutingGrid::from(&self.engine.charge().grid());
        let mut files = Vec::new();
        for (kind, map) in MapKind::ALL.into_iter().zip(&self.maps) {
            files.push(write_map(folder, kind.name(), map, &grid, format)?);
        }
        for (name, force) in FORCES.iter().zip(&self.force) {
            files.push(write_column(folder, name, force, format)?);
        }
        if let Some(congestion) = &self.congestion {
            files.extend(congestion.write_maps(folder, format)?);
        }
        Ok(files)
    }
}
