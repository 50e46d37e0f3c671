//! Parts of pictures of a design and of a charge beside the maps of an engine: outlines of macros,
//! the cells alone, density above the target, and maps of fence regions as one.

use super::color::ROUNDING;
use crate::Real;
use crate::charge::{Charge, ChargeError, ChargeOptions};
use crate::cpu::density::CpuDensity;
use crate::design::{Design, NodeKind};
use crate::engine::MapKind;
use crate::grid::{BinGrid, Map, Rect};
use crate::parallel;

/// Most macros outlined; beyond that the outlines hide the map.
const MOST_OUTLINES: usize = 5_000;

/// Returns the fixed nodes that block area inside the die, and movable macros, largest first; then
/// blockages and fences.
pub(crate) fn outlines(design: &Design, die: Rect) -> Vec<Rect> {
    with_floorplan(design, fixed(design).chain(design.movable_macros()), die)
}

/// Returns the fixed nodes that block area inside the die, largest first; then blockages and
/// fences.
#[cfg(feature = "cli")]
pub(crate) fn fixed_outlines(design: &Design, die: Rect) -> Vec<Rect> {
    with_floorplan(design, fixed(design), die)
}

fn fixed(design: &Design) -> impl Iterator<Item = usize> {
    (0..design.nodes.len()).filter(|&i| design.nodes.kind[i] == NodeKind::Fixed)
}

/// Returns the outlines of `nodes`, and of what keeps cells off, or in, that no node is: blockages
/// and fences.
fn with_floorplan(design: &Design, nodes: impl Iterator<Item = usize>, die: Rect) -> Vec<Rect> {
    let fences = design.fences.iter().flat_map(|fence| fence.rects.iter().copied());
    let others = design.blockages.iter().map(|of| of.rect).chain(fences);
    [largest(nodes.map(|i| design.rect(i)), die), largest(others, die)].concat()
}

/// Returns the largest of the rectangles that lie on the die, as many as can be outlined.
fn largest(rects: impl Iterator<Item = Rect>, die: Rect) -> Vec<Rect> {
    let mut rects: Vec<Rect> = rects.filter(|r| r.overlap(&die) > 0.0).collect();
    rects.sort_by(|a, b| b.area().total_cmp(&a.area()));
    rects.truncate(MOST_OUTLINES);
    rects
}

/// Returns the density of fixed and movable cells at their exact sizes where the charge's bodies
/// begin, without fillers, and by how much each bin is above the target density: shares of the
/// bin's area. Less than [`ROUNDING`] of it is zero: areas are sums, which are rounded.
pub(crate) fn cells_and_overflow(charge: &Charge) -> [Map<f64>; 2] {
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
pub(crate) fn over_die<T: Real>(charge: &Charge, kind: MapKind, stacked: &mut Map<T>) {
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
        let of = |region: usize| stacked.as_slice()[region * grid.bins() + bin].wide();
        if kind != MapKind::Density {
            return T::of(of(home));
        }
        let others = (0..regions).filter(|&region| region != home);
        let added = others.map(|r| (of(r) - fixed(r, bin) / grid.bin_area()).max(0.0));
        T::of(of(home) + added.sum::<f64>())
    };
    *stacked = Map::from_vec(grid.nx(), grid.ny(), parallel::map(grid.bins(), value));
}

/// Returns the charge of a design's cells as if there were no fences: one density of all of them.
pub(crate) fn charge_of_cells(
    design: &Design,
    grid: BinGrid,
    options: &ChargeOptions,
) -> Result<Charge, ChargeError> {
    let mut charge = Charge::from_design(design, grid, options)?;
    if charge.regions() > 1 {
        charge.set_fences(&[], &vec![0; charge.movable()])?;
    }
    Ok(charge)
}
