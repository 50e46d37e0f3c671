//! The price of wire beyond the tracks of its bin.
//!
//! The parent module has the objective.
//!
//! Searches for better positions know net weights alone. So they search with the weights
//!
//! ```text
//! weight · (1 + P · r · (W · crowded_h + H · crowded_v) / (W + H))
//! ```
//!
//! of the placement before a pass. P is the price, r the wire of a net over the half perimeter of
//! its box, W and H are the box's sides, and `crowded` are the shares of the box in bins with too few
//! tracks. The moves that they find are made one after the other, if each lowers the objective.

use super::wires::Sides;
use crate::charge::overlap::{Axis, Span};
use crate::congestion::{Capacity, Convention, Demand, RoutingGrid, risa};
use crate::design::{Design, DesignError};
use crate::grid::BinGrid;

/// Changes of nets whose boxes cover more bins are left out: they crowd no bin by themselves, and
/// would take the most time.
const MOST_BINS: usize = 1 << 12;

/// Tracks in bins, and what wire beyond them costs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WirePrice {
    /// The bins.
    pub grid: BinGrid,
    /// Their tracks.
    pub capacity: Capacity,
    /// A unit of wire beyond the tracks costs as much as this number of units of wirelength; from 0
    /// to 1e6.
    pub price: f64,
}

impl WirePrice {
    pub(super) fn is_valid(&self) -> bool {
        let Capacity { horizontal, vertical } = self.capacity;
        let is_capacity = |tracks: f64| tracks > 0.0 && tracks.is_finite();
        (0.0..=1e6).contains(&self.price) && is_capacity(horizontal) && is_capacity(vertical)
    }

    /// Returns the largest factor of the weight of a net.
    pub(super) fn most_factor(&self) -> f64 {
        1.0 + self.price * risa(usize::MAX)
    }
}

/// The wire of every bin, and the changes that a move would make.
#[derive(Clone, Debug)]
pub(super) struct Crowding {
    axes: (Axis, Axis),
    /// Bins along y, the number in one column.
    ny: usize,
    /// Width and height of a bin.
    bin: [f64; 2],
    price: f64,
    /// By bin, demand minus capacity of horizontal and of vertical wire.
    beyond: Vec<[f64; 2]>,
    /// By bin, how much the move changes the demand. It is zero in bins that are not in `changed`.
    change: Vec<[f64; 2]>,
    /// The bins whose demand the move changes, some several times.
    changed: Vec<usize>,
}

/// Whether the wires of a box that covers these bins are followed.
fn is_followed([x, y]: &[Span; 2]) -> bool {
    (x.last - x.first + 1) * (y.last - y.first + 1) <= MOST_BINS
}

/// Width and height of a box.
fn size([right, left, top, bottom]: Sides) -> [f64; 2] {
    [right + left, top + bottom]
}

impl Crowding {
    /// Returns the bins of `price` with the wires of `design` in its placement.
    pub(super) fn new(design: &Design, price: &WirePrice) -> Result<Self, DesignError> {
        let WirePrice { grid, capacity, price } = *price;
        let demand = Demand::of(design, &RoutingGrid::from(&grid), Convention::DreamPlace)?.total();
        let wires = demand.horizontal.as_slice().iter().zip(demand.vertical.as_slice());
        let beyond = wires.map(|(h, v)| [h - capacity.horizontal, v - capacity.vertical]);
        Ok(Crowding {
            axes: Axis::of(&grid),
            ny: grid.ny(),
            bin: [grid.bin_x(), grid.bin_y()],
            price,
            beyond: beyond.collect(),
            change: vec![[0.0; 2]; grid.bins()],
            changed: Vec::new(),
        })
    }

    /// Returns the bins that a box covers; `None` without width or height, as there is no demand.
    fn covered(&self, [right, left, top, bottom]: Sides) -> Option<[Span; 2]> {
        let x = self.axes.0.span(-left, right + left)?;
        let y = self.axes.1.span(-bottom, top + bottom)?;
        Some([x, y])
    }

    /// Returns the factor of the weight of a net for searches. `wires` is its wire over the half
    /// perimeter of its box.
    pub(super) fn factor(&self, wires: f64, sides: Sides) -> f64 {
        let Some([x, y]) = self.covered(sides).filter(is_followed) else { return 1.0 };
        let (mut crowded, mut all) = ([0.0; 2], 0.0);
        for i in x.first..=x.last {
            for j in y.first..=y.last {
                let area = x.of_bin(i) * y.of_bin(j);
                all += area;
                let beyond = self.beyond[i * self.ny + j];
                for (crowded, beyond) in crowded.iter_mut().zip(beyond) {
                    *crowded += if beyond > 0.0 { area } else { 0.0 };
                }
            }
        }
        let [width, height] = size(sides);
        let share = (width * crowded[0] + height * crowded[1]) / (all * (width + height));
        1.0 + self.price * wires * share.clamp(0.0, 1.0)
    }

    /// Adds the change of a net's box to those of a move. `wires` is the wire over the half
    /// perimeter of a box. Nothing is added if a box covers more than [`MOST_BINS`].
    pub(super) fn change(&mut self, wires: f64, before: Sides, after: Sides) {
        let boxes = [(-wires, before), (wires, after)];
        let covered = boxes.map(|(_, sides)| self.covered(sides));
        if !covered.iter().flatten().all(is_followed) {
            return;
        }
        for ((wires, sides), covered) in boxes.into_iter().zip(covered) {
            let Some([x, y]) = covered else { continue };
            let [width, height] = size(sides);
            for i in x.first..=x.last {
                for j in y.first..=y.last {
                    let (across, up) = (x.of_bin(i), y.of_bin(j));
                    let bin = i * self.ny + j;
                    // The bounds are for boxes whose sides are rounding errors.
                    self.change[bin][0] += wires * across * (up / height).min(1.0 / self.bin[1]);
                    self.change[bin][1] += wires * up * (across / width).min(1.0 / self.bin[0]);
                    self.changed.push(bin);
                }
            }
        }
    }

    /// Returns what the changes cost, layout units: the price of the wire that is then beyond the
    /// tracks minus the price of that now.
    pub(super) fn cost(&mut self) -> f64 {
        self.changed.sort_unstable();
        self.changed.dedup();
        let of_bin = |&bin: &usize| {
            let directions = self.beyond[bin].into_iter().zip(self.change[bin]);
            directions.map(|(beyond, by)| (beyond + by).max(0.0) - beyond.max(0.0)).sum::<f64>()
        };
        let more: f64 = self.changed.iter().map(of_bin).sum();
        self.price * more * self.bin[0] * self.bin[1]
    }

    /// Returns what all wire beyond the tracks costs, layout units.
    pub(super) fn cost_of_all(&self) -> f64 {
        let beyond: f64 = self.beyond.iter().flatten().map(|beyond| beyond.max(0.0)).sum();
        self.price * beyond * self.bin[0] * self.bin[1]
    }

    /// Ends a move, whose changes are made or not.
    pub(super) fn end(&mut self, is_made: bool) {
        for bin in self.changed.drain(..) {
            let change = std::mem::take(&mut self.change[bin]);
            for (beyond, by) in self.beyond[bin].iter_mut().zip(change).filter(|_| is_made) {
                *beyond += by;
            }
        }
    }

    /// Demand beyond capacity of horizontal and of vertical wire, by bin.
    #[cfg(test)]
    pub(super) fn beyond(&self) -> &[[f64; 2]] {
        &self.beyond
    }
}
