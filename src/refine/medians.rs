//! First positions of cells that have none: the weighted medians of their nets' pins.
//!
//! Cells are located breadth first from the pins that have a position. Sweeps over all of them
//! follow, in which each cell goes to where its nets are shortest.

use super::wires::{Moved, NOTHING, Sides, Wires, flat_part, larger};
use crate::design::{Design, Nets};
use crate::grid::Rect;
use std::collections::VecDeque;

/// Most sweeps over all cells.
const SWEEPS: usize = 16;
/// Nets with more cells to locate take no part in the sweeps: the position of one of these cells
/// says little about the others, and all of them would be searched for the outermost cells.
const MOST_CELLS_OF_NET: usize = 256;
/// A sweep that shortens the wires by less than this share is the last one.
const LEAST_GAIN: f64 = 1e-4;

/// Moves `nodes` of `design`, which have no position, to the weighted medians of their nets' pins.
/// Nodes that no net connects with a located pin go to the centre of the die. All others stay.
///
/// # Panics
/// If the columns of the design do not fit together ([`Design::check`]).
pub fn to_medians(design: &mut Design, nodes: &[u32]) {
    let die = design.die();
    if let Some(die) = die {
        let centre = ((die.xl + die.xh) / 2.0, (die.yl + die.yh) / 2.0);
        nodes.iter().for_each(|&node| put(design, node, centre));
    }
    let Some(mut nets) = design.nets.take() else { return };
    let mut cell_of = vec![None; design.nodes.len()];
    (0..).zip(nodes).for_each(|(cell, &node)| cell_of[node as usize] = Some(cell));
    locate(design, &nets, nodes, &cell_of);
    let weight = nets.weight.clone();
    for net in 0..nets.len() {
        let moves = |pin: &usize| cell_of[nets.pin_node[*pin] as usize].is_some();
        if nets.pins_of(net).filter(moves).count() > MOST_CELLS_OF_NET {
            nets.weight[net] = 0.0;
        }
    }
    let mut wires = Wires::new(design, &nets, &cell_of, nodes.len());
    sweep(&mut wires, nodes.len());
    for (cell, &node) in (0..).zip(nodes) {
        let pose = wires.pose(cell);
        put(design, node, (pose.x, pose.y));
        die.iter().for_each(|die| clamp(design, node as usize, die));
    }
    nets.weight = weight;
    design.nets = Some(nets);
}

/// Puts the centre of a node at a position.
fn put(design: &mut Design, node: u32, (x, y): (f64, f64)) {
    let node = node as usize;
    let (width, height) = design.size(node);
    design.placement.x[node] = x - width / 2.0;
    design.placement.y[node] = y - height / 2.0;
}

/// Moves a node into the die.
fn clamp(design: &mut Design, node: usize, die: &Rect) {
    let (width, height) = design.size(node);
    let at = &mut design.placement;
    at.x[node] = at.x[node].min(die.xh - width).max(die.xl);
    at.y[node] = at.y[node].min(die.yh - height).max(die.yl);
}

/// Locates the cells breadth first: a net with a located pin queues its other cells.
fn locate(design: &mut Design, nets: &Nets, nodes: &[u32], cell_of: &[Option<u32>]) {
    let mut pins: Vec<(u32, u32, u32)> = Vec::new();
    let mut boxes = vec![NOTHING; nets.len()];
    for net in (0..nets.len()).filter(|&net| nets.weight[net] > 0.0) {
        for pin in nets.pins_of(net) {
            match cell_of[nets.pin_node[pin] as usize] {
                Some(cell) => pins.push((cell, net as u32, pin as u32)),
                None => boxes[net] = larger(boxes[net], sides(design, nets, pin)),
            }
        }
    }
    pins.sort_unstable();
    let of_cell = |cell: u32| {
        let first = pins.partition_point(|pin| pin.0 < cell);
        pins[first..].iter().take_while(move |pin| pin.0 == cell)
    };
    let is_reached = |pin: &&(u32, u32, u32)| boxes[pin.1 as usize] != NOTHING;
    let mut queue: VecDeque<u32> = pins.iter().filter(is_reached).map(|pin| pin.0).collect();
    let mut is_located = vec![false; nodes.len()];
    let (mut along_x, mut along_y) = (Vec::new(), Vec::new());
    while let Some(cell) = queue.pop_front() {
        if std::mem::replace(&mut is_located[cell as usize], true) {
            continue;
        }
        let node = nodes[cell as usize];
        let orientation = design.placement.orientation[node as usize];
        along_x.clear();
        along_y.clear();
        for &(_, net, pin) in of_cell(cell) {
            let (others, weight) = (boxes[net as usize], nets.weight[net as usize]);
            if others != NOTHING {
                let offset = (nets.pin_dx[pin as usize], nets.pin_dy[pin as usize]);
                let (dx, dy) = orientation.turn(offset);
                along_x.extend([(others[0] - dx, weight), (-others[1] - dx, weight)]);
                along_y.extend([(others[2] - dy, weight), (-others[3] - dy, weight)]);
            }
        }
        let [x, y] = [&mut along_x, &mut along_y].map(|ends| flat_part(ends));
        put(design, node, ((x.0 + x.1) / 2.0, (y.0 + y.1) / 2.0));
        for &(_, net, pin) in of_cell(cell) {
            let of_net = &mut boxes[net as usize];
            if *of_net == NOTHING {
                let pins = nets.pins_of(net as usize);
                queue.extend(pins.filter_map(|pin| cell_of[nets.pin_node[pin] as usize]));
            }
            *of_net = larger(*of_net, sides(design, nets, pin as usize));
        }
    }
}

/// Returns the box of a single pin.
fn sides(design: &Design, nets: &Nets, pin: usize) -> Sides {
    let (x, y) = design.pin_position(nets, pin);
    [x, -x, y, -y]
}

/// Moves every cell in turn to where its nets are shortest, in repeated sweeps.
fn sweep(wires: &mut Wires, cells: usize) {
    let mut nets = Default::default();
    for _ in 0..SWEEPS {
        let before = wires.hpwl();
        for cell in 0..cells as u32 {
            let mut pose = wires.pose(cell);
            wires.leave_out(cell, &mut nets);
            let [x, y] = nets.best_region(&pose);
            (pose.x, pose.y) = (pose.x.max(x.0).min(x.1), pose.y.max(y.0).min(y.1));
            wires.apply(&Moved { cell, pose });
        }
        if before - wires.hpwl() <= LEAST_GAIN * before {
            return;
        }
    }
}

#[cfg(test)]
mod tests;
