//! The maps of a placement that pictures, pages, files and Python show: one catalogue of their names,
//! units and colours; and how those are made that no engine has: the cells alone, density above the
//! target, forces over the die, and maps of fence regions as one.

use crate::Real;
use crate::charge::{Charge, ChargeError, ChargeOptions};
use crate::congestion::{CongestionKind, CongestionMaps, Convention, Directions};
use crate::cpu::density::CpuDensity;
#[cfg(feature = "cli")]
use crate::design::Fence;
use crate::design::{Design, NodeKind};
use crate::engine::MapKind;
use crate::grid::{BinGrid, GridError, Map, Rect};
use crate::parallel;
#[cfg(feature = "cli")]
use crate::plot::Layer;
use crate::plot::{ROUNDING, Scale};
use std::borrow::Cow;
use std::ops::Range;

/// A map of a placement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A map of an engine.
    Engine(MapKind),
    /// Cells alone at their exact sizes.
    Cells,
    /// Density of the cells above the target.
    Overflow,
    /// |E|, with E as arrows.
    Field,
    /// Force over cell area, with arrows.
    Force,
    Congestion(CongestionKind),
    /// Routing demand of horizontal, or else vertical wires.
    Demand {
        horizontal: bool,
    },
    /// That demand over the capacity.
    Utilization {
        horizontal: bool,
    },
}

/// How a map is called and drawn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    /// The name of files and options.
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    /// The symbol or the name of the quantity at a colour bar; may be empty.
    pub(crate) symbol: &'static str,
    pub(crate) unit: &'static str,
    pub(crate) scale: Scale,
}

impl Kind {
    /// All maps, in the order of lists.
    pub(crate) const ALL: [Kind; 19] = {
        use CongestionKind::*;
        [
            Kind::Engine(MapKind::Density),
            Kind::Cells,
            Kind::Overflow,
            Kind::Engine(MapKind::Potential),
            Kind::Engine(MapKind::FieldX),
            Kind::Engine(MapKind::FieldY),
            Kind::Field,
            Kind::Force,
            Kind::Congestion(Rudy),
            Kind::Congestion(PinRudy),
            Kind::Congestion(RudyLong),
            Kind::Congestion(RudyShort),
            Kind::Congestion(MacroRegion),
            Kind::Congestion(CellDensity),
            Kind::Congestion(PinDensity),
            Kind::Demand { horizontal: true },
            Kind::Demand { horizontal: false },
            Kind::Utilization { horizontal: true },
            Kind::Utilization { horizontal: false },
        ]
    };

    /// Whether it is made from the nets and pins alone, without an engine.
    pub(crate) fn is_congestion(self) -> bool {
        matches!(self, Kind::Congestion(_) | Kind::Demand { .. } | Kind::Utilization { .. })
    }

    /// Returns its name.
    pub(crate) fn name(self) -> &'static str {
        self.entry(Convention::default()).name
    }

    /// Returns how it is called and drawn; of congestion by a convention.
    pub(crate) fn entry(self, convention: Convention) -> Entry {
        use Scale::{Diverging, Magnitude, Overflow, Target};
        let entry = |name, title, symbol, unit, scale| Entry { name, title, symbol, unit, scale };
        match self {
            Kind::Engine(MapKind::Density) => {
                entry("density", "density", "density ρ", "area / bin area", Target)
            }
            Kind::Cells => entry("cells", "cells", "", "area of cells / area", Target),
            Kind::Overflow => {
                let unit = "area above the target / bin area";
                entry("overflow", "overflow", "cells'", unit, Overflow)
            }
            Kind::Engine(MapKind::Potential) => {
                entry("potential", "potential", "φ", "bin widths²", Diverging)
            }
            Kind::Engine(MapKind::FieldX) => {
                entry("field_x", "field along x", "Ex", "bin widths", Diverging)
            }
            Kind::Engine(MapKind::FieldY) => {
                entry("field_y", "field along y", "Ey", "bin widths", Diverging)
            }
            Kind::Field => entry("field", "field", "|E|", "bin widths", Magnitude),
            Kind::Force => {
                entry("force", "force per cell area", "|Σ force| / Σ area", "bin widths", Magnitude)
            }
            Kind::Congestion(kind) => {
                entry(kind.name(), kind.title(), "", kind.unit(convention), Magnitude)
            }
            Kind::Demand { horizontal: true } => {
                let unit = "wires / layout unit";
                entry("demand_horizontal", "horizontal demand", "", unit, Magnitude)
            }
            Kind::Demand { horizontal: false } => {
                let unit = "wires / layout unit";
                entry("demand_vertical", "vertical demand", "", unit, Magnitude)
            }
            Kind::Utilization { horizontal: true } => {
                let title = "horizontal demand over capacity";
                entry("utilization_horizontal", title, "", "demand / capacity", Target)
            }
            Kind::Utilization { horizontal: false } => {
                let title = "vertical demand over capacity";
                entry("utilization_vertical", title, "", "demand / capacity", Target)
            }
        }
    }
}

impl Entry {
    /// Returns the label of its colours.
    pub(crate) fn label(&self) -> String {
        match (self.symbol, self.unit) {
            ("", unit) => unit.to_owned(),
            ("cells'", unit) => format!("cells' {unit}"),
            (symbol, unit) => format!("{symbol} ({unit})"),
        }
    }
}

/// Returns a map of congestion; `None` for another, and for one over a capacity that is not known.
/// `demand` is the total of the maps' demand.
pub(crate) fn of_congestion<'a>(
    kind: Kind,
    maps: &'a CongestionMaps,
    demand: &'a Directions,
) -> Option<Cow<'a, Map<f64>>> {
    let along = |horizontal| if horizontal { &demand.horizontal } else { &demand.vertical };
    Some(match kind {
        Kind::Congestion(kind) => Cow::Borrowed(maps.map(kind)),
        Kind::Demand { horizontal } => Cow::Borrowed(along(horizontal)),
        Kind::Utilization { horizontal } => {
            let capacity = maps.capacity?;
            let tracks = if horizontal { capacity.horizontal } else { capacity.vertical };
            Cow::Owned(along(horizontal).map(|demand| demand / tracks))
        }
        _ => return None,
    })
}

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

/// Returns the fences with their names.
#[cfg(feature = "cli")]
pub(crate) fn fences(design: &Design) -> Layer {
    let named = |fence: &Fence| {
        let name = fence.name.clone();
        fence.rects.iter().map(|rect| (*rect, name.clone())).collect::<Vec<_>>()
    };
    let (rects, names) = design.fences.iter().take(MOST_OUTLINES).flat_map(named).unzip();
    Layer { name: "fences".to_owned(), rects, names, color: [0xcc, 0x79, 0xa7], opacity: 0.0 }
}

/// Returns what lies among the cells, by kind.
#[cfg(feature = "cli")]
pub(crate) fn layers(design: &Design) -> [Layer; 4] {
    let layer = |name: &str, rects: Vec<Rect>, color, opacity| Layer {
        name: name.to_owned(),
        rects,
        color,
        opacity,
        ..Layer::default()
    };
    let die = design.die().unwrap_or(Rect::at(0.0, 0.0, 0.0, 0.0));
    let of = |nodes: &mut dyn Iterator<Item = usize>| largest(nodes.map(|i| design.rect(i)), die);
    let blockages = largest(design.blockages.iter().map(|of| of.rect), die);
    let macros = of(&mut design.movable_macros().into_iter());
    [
        layer("blockages", blockages, [0x8c, 0x8c, 0x8c], 0.35),
        layer("fixed", of(&mut fixed(design)), [0x44, 0x55, 0x66], 0.7),
        layer("movable macros", macros, [0xd5, 0x5e, 0x00], 0.7),
        fences(design),
    ]
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

/// Bins along the longer side of maps of what cells do, as forces: coarse enough that every
/// bin averages over many cells, and for arrows.
const ARROW_BINS: f64 = 64.0;

/// Returns √(x² + y²) bin by bin.
#[cfg(feature = "cli")]
pub(crate) fn magnitude<T: Real>(x: &Map<T>, y: &Map<T>) -> Map<T> {
    x.zip(y, |&x, &y| (x * x + y * y).sqrt())
}

/// Returns a grid over the die with about `bins` bins along its longer side.
pub(crate) fn grid_over(die: Rect, bins: f64) -> Result<BinGrid, GridError> {
    let longer = die.width().max(die.height());
    let along = |length: f64| ((bins * length / longer).round() as usize).max(1);
    BinGrid::new(die, along(die.width()), along(die.height()))
}

/// Returns a coarse grid for maps of what cells do. Its bins are at least as high as a row, for of
/// lower ones some would hold no cell's centre.
pub(crate) fn coarse_grid(design: &Design, die: Rect) -> Result<BinGrid, GridError> {
    let grid = grid_over(die, ARROW_BINS)?;
    let rows = design.row_height().map_or(f64::INFINITY, |height| die.height() / height);
    let along_y = (grid.ny() as f64).min(rows.floor()).max(1.0) as usize;
    BinGrid::new(die, grid.nx(), along_y)
}

/// Returns force per cell area on a coarse grid: Σ force over Σ area of the movable cells that lie
/// in the bin, bin widths, each cell counted by its area there; NaN where there are none.
pub(crate) fn force_maps<T: Real>(
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

/// Returns the columns and rows of the bins that a rectangle reaches into.
pub(crate) fn bins_under(grid: &BinGrid, rect: &Rect) -> [Range<usize>; 2] {
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

#[cfg(test)]
mod tests;
