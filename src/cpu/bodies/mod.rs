//! Bodies in an order by bin, and the footprint of each on the bins. Density and
//! force share them, because their overlaps must be bit-identical.
//!
//! # Order
//! The map is divided into tiles of [`TILE`]² bins. Bodies are sorted by the tile of their
//! lower-left corner, and within a tile by quarters of its edge; a body's index in that
//! order is its *slot*. Consecutive slots of one tile, up to a limit, are a *chunk*. A task
//! processes a chunk. It adds to or reads from a *patch*, the bins of the tile and some
//! around it, which is in a core's cache. An order is used for several steps,
//! because bodies move little. It is made again when too many bodies have left their patch.
//!
//! Bodies of several fence regions ([`Charge::set_fences`]) are sorted by region first. Each region
//! has separate tiles over the same bins, and all bodies of a chunk are in one region.
//!
//! Only the time depends on the order, not the results: sums
//! of areas are integers, and a body's force is a sum over its own bins.

mod footprints;
mod order;

pub(super) use footprints::{BLOCK, Footprints, Inputs, NOT_IN_PATCH, low_bits};
pub(super) use order::{Chunk, MOVED, Order, blocks};

use crate::charge::Charge;
use crate::charge::overlap::{Axis, Span};
use crate::charge::smoothing::LEAST_EXTENT;
use crate::parallel;

/// Bins along each edge of a tile.
pub(super) const TILE: usize = 64;
/// Columns and rows of a patch before its tile: how far a body may move out to that side.
pub(super) const BEFORE: usize = 4;
/// Columns and rows of a patch: those before the tile, the tile, and eight after it.
pub(super) const PATCH: usize = BEFORE + TILE + 8;

/// The data of one body, in `f64` in either precision: the rounding of a size or weight would be
/// that of all fillers, or of all cells of one kind. Where ρ is flat that is an error of long
/// wavelength, and φ is most sensitive to those.
#[derive(Clone, Copy, Debug)]
struct Body {
    /// Bin units.
    width: f64,
    height: f64,
    /// Weight of its stretched area.
    ratio: f64,
    /// Weight of the body's area: T for a macro, 1 for other bodies.
    own: f64,
}

/// Which of a body's two rectangles is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    /// Stretched to √2 bins, weighing `ratio`.
    Smoothed,
    /// Its exact size.
    Exact,
}

impl Extent {
    /// Returns the bins along an axis that a body is stretched to at least.
    pub(super) fn least(self) -> f64 {
        match self {
            Extent::Smoothed => LEAST_EXTENT,
            Extent::Exact => 0.0,
        }
    }
}

/// The bins a body covers: the product of two spans, times a weight.
#[derive(Clone, Copy, Debug)]
pub(super) struct Footprint {
    pub(super) x: Span,
    pub(super) y: Span,
    pub(super) weight: f64,
}

/// The bins of a region's map.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bins {
    pub(super) nx: usize,
    pub(super) ny: usize,
    /// Area of one, layout units squared.
    pub(super) area: f64,
    pub(super) x: Axis,
    pub(super) y: Axis,
    /// [`Charge::rounding_at_edges`] of numbers with a relative step of 1.
    rounding: [f64; 2],
}

/// All bodies; movable cells and fillers have separate orders.
#[derive(Debug)]
pub(super) struct Bodies {
    pub(super) bins: Bins,
    pub(super) movable: Order,
    pub(super) fillers: Order,
}

impl Bodies {
    pub(super) fn new(charge: &Charge) -> Self {
        let grid = charge.grid();
        let (x, y) = Axis::of(&charge.grid_from_origin());
        let (nx, ny, area) = (grid.nx(), grid.ny(), grid.bin_area());
        let bins = Bins { nx, ny, area, x, y, rounding: charge.rounding_at_edges(1.0) };
        let body = |i: usize| {
            // The area of a body that does not move is part of the fixed area.
            let ratio = charge.ratio()[i];
            let size = |size: f64| if ratio == 0.0 { 0.0 } else { size };
            let (width, height) = (size(charge.width()[i]), size(charge.height()[i]));
            Body { width: x.length(width), height: y.length(height), ratio, own: 1.0 }
        };
        let movable = charge.movable();
        let mut cells = parallel::map(movable, body);
        for &i in charge.macros() {
            cells[i as usize].own = charge.region_target_density(charge.region(i as usize));
        }
        let fillers = parallel::map(charge.bodies() - movable, |filler| body(movable + filler));
        let region = charge.region_of_bodies();
        let (of_movable, of_fillers) = region.split_at(movable.min(region.len()));
        let order = |bodies, of: &[u32]| Order::new(bodies, of, charge.regions(), bins);
        Bodies { bins, movable: order(cells, of_movable), fillers: order(fillers, of_fillers) }
    }

    pub(super) fn len(&self) -> usize {
        self.movable.len() + self.fillers.len()
    }

    /// Returns the most that bodies can add up to in one bin, in bin areas: each adds no more than
    /// its own area and no more than the bin's.
    pub(super) fn most_in_a_bin(&self) -> f64 {
        let area = |b: &Body| (b.width * b.height).min(1.0);
        let of = |order: &Order| parallel::sum(order.len(), |i| area(&order.bodies()[i]));
        of(&self.movable) + of(&self.fillers)
    }
}
