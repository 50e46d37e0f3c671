//! RUDY: the demand of the nets' boxes in every bin, along x and along y, and pins weighted by
//! their nets.

use super::grid::{Counting, Cover};
use super::{Capacity, Convention, RoutingGrid};
use crate::cpu::boxes::{BoxSums, Sums, scale};
use crate::design::{Design, DesignError, Nets, Orientation};
use crate::grid::{Map, Rect};
use crate::parallel;

/// A side of a box counts as this share of a mean bin at least where pin RUDY divides by it
/// (`circuitnet`, `openroad`): their boxes are those of pin rectangles, ours of points.
const LEAST_SIDE: f64 = 1.0 / 32.0;
/// Nets of one task where something is added up in `f64`.
const BLOCK: usize = 4096;

/// A map of each direction.
#[derive(Clone, Debug, PartialEq)]
pub struct Directions {
    /// Demand of horizontal wires, one value per bin.
    pub horizontal: Map<f64>,
    /// Demand of vertical wires, one value per bin.
    pub vertical: Map<f64>,
}

/// The length of wire that nets need in every bin over the bin's area: wires per layout unit across
/// them, as [`Capacity`] counts tracks.
#[derive(Clone, Debug, PartialEq)]
pub struct Demand {
    /// Demand of nets whose box covers several bins.
    pub long: Directions,
    /// Demand of nets whose box is within one bin.
    pub short: Directions,
}

impl Demand {
    /// Returns the demand of the nets of `design` in its placement.
    ///
    /// # Errors
    /// When the design has no nets or its columns do not fit together.
    pub fn of(
        design: &Design,
        grid: &RoutingGrid,
        convention: Convention,
    ) -> Result<Self, DesignError> {
        let nets = PlacedNets::of(design)?;
        Ok(nets.turned.map_or_else(
            || demand::<false>(&nets, grid, convention),
            |_| demand::<true>(&nets, grid, convention),
        ))
    }

    /// Returns the demand of long and short nets together.
    pub fn total(&self) -> Directions {
        let add = |a: &Map<f64>, b: &Map<f64>| {
            let (nx, ny) = (a.nx(), a.ny());
            let (a, b) = (a.as_slice(), b.as_slice());
            Map::from_vec(nx, ny, parallel::map(a.len(), |bin| a[bin] + b[bin]))
        };
        Directions {
            horizontal: add(&self.long.horizontal, &self.short.horizontal),
            vertical: add(&self.long.vertical, &self.short.vertical),
        }
    }
}

/// Nets of a design, with the positions of their pins.
pub(super) struct PlacedNets<'a> {
    pub(super) nets: &'a Nets,
    /// Centre of every node.
    centre: Vec<[f64; 2]>,
    /// Orientations, unless every node has that of the library.
    turned: Option<&'a [Orientation]>,
}

impl<'a> PlacedNets<'a> {
    pub(super) fn of(design: &'a Design) -> Result<Self, DesignError> {
        design.check()?;
        let nets = design.nets.as_ref().ok_or(DesignError::NoNets)?;
        let nodes = design.nodes.len();
        let centre = parallel::map(nodes, |i| design.centre(i).into());
        let orientation = &design.placement.orientation;
        let is_turned = |i: usize| (orientation[i] != Orientation::N).then_some(());
        let turned = parallel::first(nodes, is_turned).map(|()| &orientation[..]);
        Ok(PlacedNets { nets, centre, turned })
    }

    /// Returns where pin `p` lies.
    #[inline(always)]
    fn pin<const TURNED: bool>(&self, p: usize) -> [f64; 2] {
        let node = self.nets.pin_node[p] as usize;
        let (mut offset, [x, y]) = ((self.nets.pin_dx[p], self.nets.pin_dy[p]), self.centre[node]);
        if let (true, Some(orientation)) = (TURNED, self.turned) {
            offset = orientation[node].turn(offset);
        }
        [x + offset.0, y + offset.1]
    }

    /// Returns the bounding box of a net's pins.
    #[inline(always)]
    fn bounds<const TURNED: bool>(&self, net: usize) -> Rect {
        let start = Rect {
            xl: f64::INFINITY,
            yl: f64::INFINITY,
            xh: f64::NEG_INFINITY,
            yh: f64::NEG_INFINITY,
        };
        self.nets.pins_of(net).fold(start, |bounds, p| {
            let [x, y] = self.pin::<TURNED>(p);
            bounds.union(&Rect { xl: x, yl: y, xh: x, yh: y })
        })
    }

    /// Returns the weight of a net's wires; 0 if the net is left out.
    #[inline(always)]
    pub(super) fn weight(&self, net: usize, convention: Convention) -> f64 {
        let pins = self.nets.pins_of(net).len();
        match convention {
            Convention::CircuitNet | Convention::OpenRoad => {
                if pins > 1 {
                    1.0
                } else {
                    0.0
                }
            }
            Convention::DreamPlace => {
                let weight = self.nets.weight[net];
                if weight > 0.0 && weight.is_finite() { weight * risa(pins) } else { 0.0 }
            }
        }
    }

    /// Returns the integers per unit that the demand of wires is counted in.
    pub(super) fn wires_scale(&self, grid: &RoutingGrid, convention: Convention) -> f64 {
        let (x, y) = grid.axes();
        // Demand of one net is the most in a box within a bin: that over one side of the bin.
        let most = 1.0 / x.least_width().min(y.least_width());
        let [sum, largest] = self.weights(convention, |_| 1.0);
        scale(sum * most, largest * most)
    }

    /// Returns the same of pins weighed by their nets, and of their number.
    pub(super) fn pins_scale(&self, grid: &RoutingGrid, convention: Convention) -> f64 {
        // Of a pin whose net weighs 1.
        let most = match convention {
            Convention::DreamPlace => 2.0,
            Convention::CircuitNet | Convention::OpenRoad => {
                least_sides(grid).map(|side| 1.0 / side).iter().sum()
            }
        };
        let [sum, largest] = self.weights(convention, |net| self.nets.pins_of(net).len() as f64);
        scale((sum * most).max(self.nets.pins() as f64), (largest * most).max(1.0))
    }

    /// Σ of the nets' weights, counted as often as `times` says, and the largest.
    fn weights(&self, convention: Convention, times: impl Fn(usize) -> f64 + Sync) -> [f64; 2] {
        let blocks = parallel::map_blocks(self.nets.len(), BLOCK, |range| {
            range.fold([0.0, 0.0_f64], |[sum, most], net| {
                let weight = self.weight(net, convention);
                [sum + weight * times(net), most.max(weight)]
            })
        });
        // In order: the same bits for any number of threads.
        blocks.iter().fold([0.0, 0.0], |[sum, most], of| [sum + of[0], of[1].max(most)])
    }
}

/// Returns the wire that a net of so many pins needs over half the perimeter of its box (Cheng,
/// "RISA", ICCAD 1994, table 1), from 46 pins on as for 46 to 50.
pub(crate) fn risa(pins: usize) -> f64 {
    const UP_TO_10: [f64; 7] = [1.0828, 1.1536, 1.2206, 1.2823, 1.3385, 1.3991, 1.4493];
    const BY_5: [f64; 8] = [1.6899, 1.8924, 2.0743, 2.2334, 2.3892, 2.5356, 2.6625, 2.7933];
    match pins {
        0..=3 => 1.0,
        4..=10 => UP_TO_10[pins - 4],
        _ => BY_5[((pins - 11) / 5).min(BY_5.len() - 1)],
    }
}

/// Returns the sides of a box that pin RUDY divides by at least.
pub(super) fn least_sides(grid: &RoutingGrid) -> [f64; 2] {
    let (x, y) = grid.axes();
    [x, y].map(|axis| LEAST_SIDE * axis.mean_width())
}

/// Returns the bins a box covers along both axes, and its sides; `None` for one without demand.
#[inline(always)]
fn covers(
    grid: &RoutingGrid,
    bounds: &Rect,
    convention: Convention,
    counting: Counting,
) -> Option<([Cover; 2], [f64; 2])> {
    let (width, height) = (bounds.width(), bounds.height());
    let flat = width == 0.0 || height == 0.0;
    let (x, y) = grid.axes();
    if !(width.is_finite() && height.is_finite()) || (flat && convention != Convention::CircuitNet)
    {
        return None;
    }
    let across = x.cover(bounds.xl, bounds.xh, counting)?;
    let up = y.cover(bounds.yl, bounds.yh, counting)?;
    Some(([across, up], [width, height]))
}

fn demand<const TURNED: bool>(
    nets: &PlacedNets<'_>,
    grid: &RoutingGrid,
    convention: Convention,
) -> Demand {
    let (x, y) = grid.axes();
    let (nx, ny) = (grid.nx(), grid.ny());
    let mut sums = BoxSums::<2>::new(nx, ny, nets.wires_scale(grid, convention));
    let counting = convention.counting();
    sums.add(nets.nets.len(), |net, adder| {
        let weight = nets.weight(net, convention);
        if weight == 0.0 {
            return;
        }
        let bounds = nets.bounds::<TURNED>(net);
        let Some(([across, up], [width, height])) = covers(grid, &bounds, convention, counting)
        else {
            return;
        };
        let [x_shares, y_shares] = [across.shares(), up.shares()];
        let x_wires = across.shares_per_length(x, width).map(|v| v * weight);
        let y_wires = up.shares_per_length(y, height).map(|v| v * weight);
        if (across.bins(), up.bins()) == (1, 1) {
            let demand = [x_shares[0] * y_wires[0], x_wires[0] * y_shares[0]];
            adder.add_bin((across.first, up.first), demand);
        } else {
            adder.add_box(&across.part([x_shares, x_wires]), &up.part([y_wires, y_shares]));
        }
    });
    let Sums { boxes, bins } = sums.finish();
    let [long, short] = [boxes, bins].map(|maps| {
        let [horizontal, vertical] = maps.map(|map| Map::from_vec(nx, ny, map));
        Directions { horizontal, vertical }
    });
    Demand { long, short }
}

/// Pin RUDY, and the number of pins in every bin.
pub(super) fn pins(
    design: &Design,
    grid: &RoutingGrid,
    convention: Convention,
    capacity: Option<Capacity>,
) -> Result<(Map<f64>, Map<f64>), DesignError> {
    let nets = PlacedNets::of(design)?;
    let [mut rudy, count] = match nets.turned {
        Some(_) => pins_of::<true>(&nets, grid, convention),
        None => pins_of::<false>(&nets, grid, convention),
    };
    if let (Convention::OpenRoad, Some(capacity)) = (convention, capacity) {
        let factor = 100.0 * capacity.wire_width();
        rudy.iter_mut().for_each(|v| *v *= factor);
    }
    let map = |values| Map::from_vec(grid.nx(), grid.ny(), values);
    Ok((map(rudy), map(count)))
}

fn pins_of<const TURNED: bool>(
    nets: &PlacedNets<'_>,
    grid: &RoutingGrid,
    convention: Convention,
) -> [Vec<f64>; 2] {
    let (x, y) = grid.axes();
    let counting = convention.counting();
    let least = least_sides(grid);
    let mut sums = BoxSums::<2>::new(grid.nx(), grid.ny(), nets.pins_scale(grid, convention));
    sums.add(nets.nets.len(), |net, adder| {
        let weight = nets.weight(net, convention);
        let bounds = nets.bounds::<TURNED>(net);
        let (width, height) = (bounds.width(), bounds.height());
        let flat = width == 0.0 || height == 0.0;
        let of_net = match convention {
            Convention::OpenRoad if flat => 0.0,
            Convention::CircuitNet | Convention::OpenRoad => {
                weight / width.max(least[0]) + weight / height.max(least[1])
            }
            Convention::DreamPlace => {
                let bins = |cover: Option<Cover>| cover.map_or(1, |cover| cover.bins()) as f64;
                let across = bins(x.cover(bounds.xl, bounds.xh, counting));
                let up = bins(y.cover(bounds.yl, bounds.yh, counting));
                weight / across + weight / up
            }
        };
        for p in nets.nets.pins_of(net) {
            let [px, py] = nets.pin::<TURNED>(p);
            if x.holds(px) && y.holds(py) {
                adder.add_bin((x.bin(px, counting), y.bin(py, counting)), [of_net, 1.0]);
            }
        }
    });
    sums.finish().bins
}

#[cfg(test)]
mod tests {
    use super::risa;

    #[test]
    fn nets_of_many_pins_need_more_wire() {
        let pins = [1, 3, 4, 10, 11, 15, 16, 45, 46, 1000];
        let weights = [1.0, 1.0, 1.0828, 1.4493, 1.6899, 1.6899, 1.8924, 2.6625, 2.7933, 2.7933];
        assert_eq!(pins.map(risa), weights);
    }
}
