//! Mirrors macros in place, which moves their pins to other sides.

use crate::design::{Design, Nets, Orientation, Symmetry};
use crate::grid::Rect;
use std::collections::{BTreeMap, HashMap};

/// Rounds over all macros: where one is mirrored, another may gain by it.
const ROUNDS: usize = 8;

/// Mirrors the movable macros of `design`, one after the other, as shortens their nets most, by
/// weighted HPWL. A library cell is mirrored as its symmetry allows, a node without one as all rows
/// allow. `benchmarks/experiments.md` has the measurements.
pub(super) fn mirror_macros(design: &mut Design) {
    let mut pins: BTreeMap<usize, Vec<(usize, usize)>> =
        design.movable_macros().into_iter().map(|node| (node, Vec::new())).collect();
    // Without macros nobody needs a list of all pins.
    let Some(nets) = design.nets.take_if(|_| !pins.is_empty()) else { return };
    for net in 0..nets.len() {
        for pin in nets.pins_of(net) {
            let pins = pins.get_mut(&(nets.pin_node[pin] as usize));
            pins.into_iter().for_each(|pins| pins.push((net, pin)));
        }
    }
    for _ in 0..ROUNDS {
        let mut changed = false;
        for (&node, pins) in &pins {
            changed |= mirror(design, &nets, node, pins);
        }
        if !changed {
            break;
        }
    }
    design.nets = Some(nets);
}

/// Mirrors a node as shortens its nets most; `pins` are its nets and pins. Returns whether it did.
fn mirror(design: &mut Design, nets: &Nets, node: usize, pins: &[(usize, usize)]) -> bool {
    let now = design.placement.orientation[node];
    let symmetry = design.master_of(node).map_or_else(|| of_rows(design), |of| of.symmetry);
    if now.swaps_axes() {
        return false;
    }
    // The pins of other nodes, by net.
    let mut others: HashMap<usize, Rect> = HashMap::new();
    for &(net, _) in pins {
        others.entry(net).or_insert_with(|| {
            let others = nets.pins_of(net).filter(|&pin| nets.pin_node[pin] as usize != node);
            others.fold(NOTHING, |all, pin| with_pin(all, design, nets, pin))
        });
    }
    let mut length = |orientation: Orientation| {
        design.placement.orientation[node] = orientation;
        let own = |(net, pins): (usize, &[(usize, usize)])| {
            let all =
                pins.iter().fold(others[&net], |all, &(_, pin)| with_pin(all, design, nets, pin));
            nets.weight[net] * (all.width() + all.height())
        };
        pins.chunk_by(|a, b| a.0 == b.0).map(|pins| own((pins[0].0, pins))).sum::<f64>()
    };
    let mut least = (length(now), now);
    for way in [now.mirrored(), now.flipped(), now.mirrored().flipped()] {
        if symmetry.admits(way) {
            let length = length(way);
            if length < least.0 {
                least = (length, way);
            }
        }
    }
    design.placement.orientation[node] = least.1;
    least.1 != now
}

/// How all rows of `design` allow a node to be mirrored.
fn of_rows(design: &Design) -> Symmetry {
    let [x, y] = [|of: &Symmetry| of.x, |of: &Symmetry| of.y]
        .map(|way| design.rows.iter().all(|row| way(&row.symmetry)));
    Symmetry { x, y, r90: false }
}

const NOTHING: Rect =
    Rect { xl: f64::INFINITY, yl: f64::INFINITY, xh: f64::NEG_INFINITY, yh: f64::NEG_INFINITY };

fn with_pin(all: Rect, design: &Design, nets: &Nets, pin: usize) -> Rect {
    let (x, y) = design.pin_position(nets, pin);
    all.union(&Rect { xl: x, yl: y, xh: x, yh: y })
}
