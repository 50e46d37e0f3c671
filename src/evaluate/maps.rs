//! Maps that engines do not compute: cells at their exact sizes, density above the target, forces
//! over the die, and joined maps of fence regions.

use crate::charge::Charge;
use crate::cpu::density::CpuDensity;
use crate::design::Design;
use crate::engine::MapKind;
use crate::grid::{BinGrid, GridError, Map, Rect};
use crate::{Real, parallel};
use std::ops::Range;

/// A density above its target by less than this is not above it but rounded: areas are sums.
pub const ROUNDING: f64 = 1e-9;

/// Returns the density of fixed and movable cells at their exact sizes where the charge's bodies
/// begin, without fillers, and by how much each bin is above the target density: shares of the
/// bin's area. Less than [`ROUNDING`] of it is zero: areas are sums, which are rounded.
pub fn cells_and_overflow(charge: &Charge) -> [Map<f64>; 2] {
    let grid = charge.grid();
    let [nx, ny] = charge.stacked_bins();
    let mut cells = Map::filled(nx, ny, 0.0);
    let (x, y) = charge.initial_positions::<f64>();
    CpuDensity::new(charge, 0.0).exact_map(&x, &y, &mut cells);
    let mut overflow = Map::filled(grid.nx(), grid.ny(), 0.0);
    for (region, cells) in cells.as_slice().chunks_exact(grid.bins()).enumerate() {
        let target = charge.region_target_density(region);
        let bins = overflow.as_mut_slice().iter_mut().zip(cells);
        bins.for_each(|(over, rho)| {
            *over += Some(rho - target).filter(|v| *v > ROUNDING).unwrap_or(0.0)
        });
    }
    over_die(charge, MapKind::Density, &mut cells);
    [cells, overflow]
}

/// Makes one map over the die of the maps of all fence regions: in every bin that of the region
/// which has most of the bin, the last of several, and of densities what movable cells of the
/// others add.
pub fn over_die<T: Real>(charge: &Charge, kind: MapKind, stacked: &mut Map<T>) {
    let (grid, regions) = (charge.grid(), charge.regions());
    if regions == 1 {
        return;
    }
    let fixed = |region: usize, bin: usize| charge.region_fixed(region).as_slice()[bin];
    let share =
        |region: usize, bin: usize| fixed(region, bin) / charge.region_target_density(region);
    let value = |bin: usize| {
        let nearest = |&a: &usize, &b: &usize| share(a, bin).total_cmp(&share(b, bin));
        let home = (0..regions).rev().min_by(nearest).unwrap_or(0);
        let of = |region: usize| stacked.as_slice()[region * grid.bins() + bin].widen();
        if kind != MapKind::Density {
            return T::cast(of(home));
        }
        let others = (0..regions).filter(|&region| region != home);
        let added = others.map(|r| (of(r) - fixed(r, bin) / grid.bin_area()).max(0.0));
        T::cast(of(home) + added.sum::<f64>())
    };
    *stacked = Map::from_vec(grid.nx(), grid.ny(), parallel::map(grid.bins(), value));
}

/// Returns the columns and rows of the bins that a rectangle reaches into.
pub fn bins_under(grid: &BinGrid, rect: &Rect) -> [Range<usize>; 2] {
    let along = |low: f64, high: f64, size: f64, count: usize| {
        let at = |v: f64| (v / size).clamp(0.0, count as f64);
        at(low).floor() as usize..at(high).ceil() as usize
    };
    let die = grid.die();
    [
        along(rect.xl - die.xl, rect.xh - die.xl, grid.bin_x(), grid.nx()),
        along(rect.yl - die.yl, rect.yh - die.yl, grid.bin_y(), grid.ny()),
    ]
}

/// Bins along the longer side of maps of what cells do, as forces: coarse enough that every
/// bin averages over many cells, and for arrows.
const ARROW_BINS: f64 = 64.0;

/// Returns a grid over the die with about `bins` bins along its longer side.
pub fn grid_over(die: Rect, bins: f64) -> Result<BinGrid, GridError> {
    let longer = die.width().max(die.height());
    let along = |length: f64| ((bins * length / longer).round() as usize).max(1);
    BinGrid::new(die, along(die.width()), along(die.height()))
}

/// Returns a coarse grid for maps of what cells do. Its bins are at least as high as a row, for of
/// lower ones some would hold no cell's centre.
pub fn coarse_grid(design: &Design, die: Rect) -> Result<BinGrid, GridError> {
    let grid = grid_over(die, ARROW_BINS)?;
    let rows = design.row_height().map_or(f64::INFINITY, |height| die.height() / height);
    let along_y = (grid.ny() as f64).min(rows.floor()).max(1.0) as usize;
    BinGrid::new(die, grid.nx(), along_y)
}

/// Returns force per cell area on a coarse grid: Σ force over Σ area of the movable cells that lie
/// in the bin, bin widths, each cell counted by its area there; NaN where there are none.
pub fn force_maps<T: Real>(
    design: &Design,
    charge: &Charge,
    force: [&[T]; 2],
) -> Result<(BinGrid, [Map<f64>; 2]), GridError> {
    let die = charge.grid().die();
    let grid = coarse_grid(design, die)?;
    let zero = Map::filled(grid.nx(), grid.ny(), 0.0);
    let (mut fx, mut fy, mut area) = (zero.clone(), zero.clone(), zero);
    let forces = force[0].iter().zip(force[1]).take(charge.movable());
    for (i, (force_x, force_y)) in forces.enumerate() {
        let (w, h) = (charge.width()[i], charge.height()[i]);
        let cell = Rect::at(charge.initial_x()[i], charge.initial_y()[i], w, h);
        let [columns, rows] = bins_under(&grid, &cell);
        for (i_bin, j_bin) in columns.flat_map(|c| rows.clone().map(move |r| (c, r))) {
            let (x, y) = (i_bin as f64 * grid.bin_x(), j_bin as f64 * grid.bin_y());
            let square = Rect::at(die.xl + x, die.yl + y, grid.bin_x(), grid.bin_y());
            let (bin, part) = ((i_bin, j_bin), cell.overlap(&square));
            if part > 0.0 {
                fx[bin] += force_x.widen() * part / (w * h);
                fy[bin] += force_y.widen() * part / (w * h);
                area[bin] += part;
            }
        }
    }
    for map in [&mut fx, &mut fy] {
        for (f, &a) in map.as_mut_slice().iter_mut().zip(area.as_slice()) {
            *f = if a > 0.0 { *f / a } else { f64::NAN };
        }
    }
    Ok((grid, [fx, fy]))
}

#[cfg(test)]
mod tests;
