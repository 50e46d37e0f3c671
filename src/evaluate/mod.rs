//! Evaluates one placement: runs every stage of an engine once and returns numbers and maps.

mod hot_spots;
mod maps;
mod moves;
mod report;
mod windows;

use crate::Real;
use crate::charge::Clipped;
use crate::design::Design;
use crate::engine::{EngineError, MapKind, Timed};
use crate::flow::Overflow;
use crate::grid::Map;
use crate::warning::{Warning, WarningCode};
pub use hot_spots::{HotSpot, hot_spots};
pub use maps::{
    ROUNDING, bins_under, cells_and_overflow, coarse_grid, force_maps, grid_over, over_die,
};
pub use moves::{MeanMoves, mean_moves};
pub use report::*;
use std::time::Instant;
pub use windows::{WindowReport, window_reports};

/// The results of one evaluation.
#[derive(Clone, Debug)]
pub struct Evaluated<T> {
    /// The numbers.
    pub report: Report,
    /// The maps over the die, in the order of [`MapKind::ALL`].
    pub maps: [Map<T>; 4],
    /// The forces on the movable cells along x and y.
    pub force: [Vec<T>; 2],
    /// The part of the movable cells off the die.
    pub off_die: Clipped,
}

/// Runs every stage of `engine` once on the initial placement of its charge, which is that of
/// `design`.
///
/// # Errors
/// See [`Engine`](crate::engine::Engine).
pub fn evaluate<T: Real>(
    design: &Design,
    engine: &mut dyn Timed<T>,
) -> Result<Evaluated<T>, EngineError> {
    let (x, y) = engine.charge().initial_positions::<T>();
    engine.set_positions(&x, &y)?;
    let smoothed = engine.compute_density()?;
    let pipeline = engine.choice().pipeline;
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
    let mut warnings = charge.warnings().to_vec();
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
    let overflow =
        Overflow { smoothed: smoothed.overflow, exact: exact.overflow, standard_cells: None };
    let descriptor = engine.descriptor();
    let report = Report {
        design: DesignReport::of(design, (None, None), charge.areas()),
        grid: GridReport::of(&grid),
        options: OptionsReport {
            engine: descriptor.engine,
            device: descriptor.device,
            pipeline,
            path: engine.path(pipeline),
            precision: T::PRECISION,
            target_density: charge.target_density(),
            target_density_asked: charge.target_density(),
            fillers: charge.fillers() > 0,
            filler_count: charge.fillers(),
            row_blockage: charge.row_blockage(),
            deterministic: false,
        },
        density: DensityReport {
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
        result: ResultReport {
            hpwl: hpwl.map(|h| h.unweighted),
            hpwl_weighted: hpwl.map(|h| h.weighted),
            overflow,
        },
        longest_nets: Vec::new(),
        regions,
        windows: Vec::new(),
        scaled_hpwl: None,
        legality: None,
        congestion: None,
        timings_ms: Timings {
            parse: 0.0,
            setup: 0.0,
            density: times.density,
            solve: times.solve(),
            force: times.force,
            exact_density: exact_ms,
        },
        warnings,
    };
    Ok(Evaluated { report, maps, force, off_die: clipped })
}
