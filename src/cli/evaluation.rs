//! Every stage once on a design's own placement.

use super::congestion::{Congestion, CongestionArgs};
use super::engines::pipeline_note;
use super::failure::Failure;
use super::input::{Opened, charge_of};
use super::log;
use super::maps::{Element, write_column, write_map};
use super::options::SolveArgs;
use super::outputs::MapsFormat;
use crate::Real;
use crate::charge::{Charge, Clipped};
use crate::congestion::RoutingGrid;
use crate::engine::{MapKind, Timed};
use crate::engines::{self, EngineReal};
use crate::evaluate::{self, DesignReport, RegionReport, Report};
use crate::grid::Map;
use crate::maps::Kind;
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
    let mut engine = options.open::<T>(charge)?.engine;
    let engine = &mut *engine;
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
    log::begin("evaluating");
    let start = Instant::now();
    let engines::Opened { mut engine, note } = options.open::<T>(charge)?;
    let mut notes = Vec::from_iter(note);
    notes.extend(pipeline_note(options, engine.choice()));
    let setup = start.elapsed().as_secs_f64() * 1e3;

    let design = &opened.design;
    let evaluate::Evaluated { mut report, maps, force, off_die } =
        evaluate::evaluate(design, &mut *engine)?;
    report.design = DesignReport::of(design, opened.summaries(), engine.charge().areas());
    let asked = &mut report.options;
    asked.target_density_asked = options.target_density();
    (asked.fillers, asked.deterministic) = (options.fillers, options.deterministic);
    (report.timings_ms.parse, report.timings_ms.setup) = (opened.parse_ms, setup);
    // These warnings may have been given when the charge was made.
    report.warnings.retain(|warning| !opened.warnings.contains(warning));
    report.warnings.splice(..0, opened.warnings.iter().cloned());
    Ok(Evaluated { report, engine, notes, maps, force, off_die, congestion: None })
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
