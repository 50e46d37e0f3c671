//! Weighted half-perimeter wirelength that follows every move.
//!
//! A box is held by its four *sides* `[max x, max −x, max y, max −y]`, so that its half perimeter
//! is their sum and growing it takes the larger of each. Of every net the outermost two cells on
//! each side are known: the box without any one cell is there without looking at the net's pins,
//! whatever their number.

use super::update::{AT_ONCE, update};
use crate::design::{Design, Nets};
use crate::parallel::{self, chunks_mut};
use rayon::prelude::*;
use std::ops::Range;

/// Stands for fixed pins where a cell is named.
const FIXED: u32 = u32::MAX;

/// `[max x, max −x, max y, max −y]`, layout units.
pub(super) type Sides = [f64; 4];

pub(super) const NOTHING: Sides = [f64::NEG_INFINITY; 4];

/// Where the centre of a cell is, and whether it is mirrored against how it lay at first.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Pose {
    pub(super) x: f64,
    pub(super) y: f64,
    /// Left and right.
    pub(super) mirrored: bool,
    /// Upside down.
    pub(super) flipped: bool,
}

/// A cell and where it is to go.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Moved {
    pub(super) cell: u32,
    pub(super) pose: Pose,
}

/// A cell's part of a net: the box that its pins span, from its centre, as it lay at first.
#[derive(Clone, Copy, Debug)]
struct Pin {
    net: u32,
    /// Its index in [`Wires::members`].
    member: u32,
    sides: Sides,
}

/// A net's part of a cell: the box that its pins span on the die.
#[derive(Clone, Copy, Debug)]
struct Member {
    cell: u32,
    sides: Sides,
}

/// The outermost two cells of a net on each side.
#[derive(Clone, Copy, Debug)]
struct Extremes {
    first: Sides,
    second: Sides,
    first_of: [u32; 4],
    second_of: [u32; 4],
}

/// Nets with at least two ends of which one moves, and where their pins are.
#[derive(Clone, Debug, Default)]
pub(super) struct Wires {
    /// By cell: its first pin in `pins`, and the number of pins at the end.
    pin_start: Vec<u32>,
    pins: Vec<Pin>,
    /// By net: its first cell in `members`, and their number at the end.
    member_start: Vec<u32>,
    members: Vec<Member>,
    /// By net: the box of its fixed pins.
    fixed: Vec<Sides>,
    extremes: Vec<Extremes>,
    weight: Vec<f64>,
    poses: Vec<Pose>,
    /// Weighted HPWL of the nets that are left out, which cannot change.
    constant: f64,
}

/// A cell's nets as they are without it: all that a search for a better place has to look at.
#[derive(Clone, Debug, Default)]
pub(super) struct Without {
    nets: Vec<(Sides, Sides, f64)>,
    ends: Vec<(f64, f64)>,
}

/// Working memory of [`Wires::gain`].
#[derive(Clone, Debug, Default)]
pub(super) struct Scratch {
    touched: Vec<(u32, u32, u32)>,
    /// The nets of the cells that [`Wires::gain`] was asked about, and whether moving these would
    /// change which cells are outermost or how far out they are.
    pub(super) nets: Vec<(u32, bool)>,
}

/// Nets that one thread makes of the design's.
const NETS_AT_ONCE: usize = 1 << 12;
/// Members of nets that one thread moves to the die.
const MEMBERS_AT_ONCE: usize = 1 << 12;

/// Some nets, as [`Wires`] has them.
#[derive(Default)]
struct Part {
    /// With the sides of their pins from the centres of their cells.
    members: Vec<Member>,
    /// By net, the end of its members.
    ends: Vec<u32>,
    fixed: Vec<Sides>,
    weight: Vec<f64>,
    constant: f64,
}

impl Part {
    /// Adds a net, if it can change its length.
    fn add(&mut self, design: &Design, nets: &Nets, net: usize, cell_of: &[Option<u32>]) {
        let (first, mut fixed, weight) = (self.members.len(), NOTHING, nets.weight[net]);
        for p in nets.pins_of(net) {
            let node = nets.pin_node[p] as usize;
            if let Some(cell) = cell_of[node] {
                let turn = design.placement.orientation[node];
                let (dx, dy) = turn.turn((nets.pin_dx[p], nets.pin_dy[p]));
                self.members.push(Member { cell, sides: [dx, -dx, dy, -dy] });
            } else {
                let (x, y) = design.pin_position(nets, p);
                fixed = larger(fixed, [x, -x, y, -y]);
            }
        }
        // Pins of one cell are one.
        self.members[first..].sort_unstable_by_key(|member| member.cell);
        let mut kept = first;
        for k in first + 1..self.members.len() {
            if self.members[k].cell == self.members[kept].cell {
                self.members[kept].sides = larger(self.members[kept].sides, self.members[k].sides);
            } else {
                kept += 1;
                self.members[kept] = self.members[k];
            }
        }
        self.members.truncate(kept + 1);
        let moving = self.members.len() - first;
        if moving == 0 || moving + usize::from(fixed != NOTHING) < 2 || weight == 0.0 {
            self.members.truncate(first);
            self.constant += weight * design.net_hpwl(nets, net);
            return;
        }
        self.ends.push(self.members.len() as u32);
        self.fixed.push(fixed);
        self.weight.push(weight);
    }
}

/// Returns the nets in the order of the first of their cells, so that those that are near one
/// another on the die are near in memory.
fn by_place(nets: &Nets, cell_of: &[Option<u32>]) -> Vec<usize> {
    let first = |net: usize| {
        let cells = nets.pins_of(net).filter_map(|p| cell_of[nets.pin_node[p] as usize]);
        (cells.min().unwrap_or(u32::MAX), net)
    };
    let mut order = parallel::map(nets.len(), first);
    order.par_sort_unstable();
    order.into_iter().map(|(_, net)| net).collect()
}

#[inline(always)]
pub(super) fn larger(a: Sides, b: Sides) -> Sides {
    std::array::from_fn(|k| if a[k] > b[k] { a[k] } else { b[k] })
}

/// Half the perimeter of the box.
#[inline(always)]
fn length(sides: Sides) -> f64 {
    (sides[0] + sides[1]) + (sides[2] + sides[3])
}

impl Pin {
    /// Returns the sides of the pin's box of a cell that is mirrored and flipped so, from its
    /// centre.
    #[inline(always)]
    fn turned(&self, mirrored: bool, flipped: bool) -> Sides {
        let [a, b, c, d] = self.sides;
        let (a, b) = if mirrored { (b, a) } else { (a, b) };
        let (c, d) = if flipped { (d, c) } else { (c, d) };
        [a, b, c, d]
    }

    #[inline(always)]
    fn on_die(&self, pose: &Pose) -> Sides {
        moved(self.turned(pose.mirrored, pose.flipped), pose.x, pose.y)
    }
}

#[inline(always)]
fn moved(sides: Sides, x: f64, y: f64) -> Sides {
    [sides[0] + x, sides[1] - x, sides[2] + y, sides[3] - y]
}

impl Extremes {
    fn of_fixed(fixed: Sides) -> Self {
        Extremes { first: fixed, second: NOTHING, first_of: [FIXED; 4], second_of: [FIXED; 4] }
    }

    /// With one more cell, which is not among the outermost.
    #[inline]
    fn add(&mut self, cell: u32, sides: Sides) {
        for (k, side) in sides.into_iter().enumerate() {
            if side > self.first[k] {
                (self.second[k], self.second_of[k]) = (self.first[k], self.first_of[k]);
                (self.first[k], self.first_of[k]) = (side, cell);
            } else if side > self.second[k] {
                (self.second[k], self.second_of[k]) = (side, cell);
            }
        }
    }

    /// Whether a cell that spans these sides would be among the outermost.
    fn reaches(&self, sides: Sides) -> bool {
        sides.iter().zip(&self.second).any(|(side, second)| side > second)
    }

    fn names(&self, cell: u32) -> bool {
        self.first_of.contains(&cell) || self.second_of.contains(&cell)
    }

    /// Returns the box of all other cells of the net.
    #[inline(always)]
    fn without(&self, cell: u32) -> Sides {
        std::array::from_fn(
            |k| if self.first_of[k] == cell { self.second[k] } else { self.first[k] },
        )
    }
}

impl Wires {
    /// The nets where a node of `design` moves that `cell_of` gives a number below `cells`; all
    /// other pins stay. Both have been checked.
    pub(super) fn new(design: &Design, nets: &Nets, cell_of: &[Option<u32>], cells: usize) -> Self {
        let mut wires = Wires {
            pin_start: vec![0; cells + 1],
            member_start: vec![0],
            poses: vec![Pose::default(); cells],
            ..Wires::default()
        };
        for (node, cell) in cell_of.iter().enumerate() {
            if let Some(cell) = cell {
                let rect = design.rect(node);
                let pose = &mut wires.poses[*cell as usize];
                (pose.x, pose.y) = ((rect.xl + rect.xh) / 2.0, (rect.yl + rect.yh) / 2.0);
            }
        }
        let order = by_place(nets, cell_of);
        let parts = parallel::map_blocks(order.len(), NETS_AT_ONCE, |range| {
            let mut part = Part::default();
            order[range].iter().for_each(|&net| part.add(design, nets, net, cell_of));
            part
        });
        for part in &parts {
            let first = wires.members.len() as u32;
            wires.member_start.extend(part.ends.iter().map(|end| first + end));
            wires.members.extend_from_slice(&part.members);
            wires.fixed.extend_from_slice(&part.fixed);
            wires.weight.extend_from_slice(&part.weight);
            wires.constant += part.constant;
        }
        drop(parts);
        wires.index();
        wires
    }

    /// Makes the pins by cell, and the boxes. Members have the sides of their pins from the centres
    /// of their cells before, and on the die afterwards.
    fn index(&mut self) {
        for member in &self.members {
            self.pin_start[member.cell as usize + 1] += 1;
        }
        for cell in 1..self.pin_start.len() {
            self.pin_start[cell] += self.pin_start[cell - 1];
        }
        let mut next = self.pin_start.clone();
        self.pins = vec![Pin { net: 0, member: 0, sides: NOTHING }; self.members.len()];
        for net in 0..self.weight.len() {
            for m in self.members_of(net) {
                let Member { cell, sides } = self.members[m];
                let at = &mut next[cell as usize];
                self.pins[*at as usize] = Pin { net: net as u32, member: m as u32, sides };
                *at += 1;
            }
        }
        let Wires { members, poses, .. } = self;
        parallel::for_each(chunks_mut(members, MEMBERS_AT_ONCE), |_, members| {
            for member in members {
                let pose = &poses[member.cell as usize];
                member.sides = moved(member.sides, pose.x, pose.y);
            }
        });
        self.extremes = parallel::map(self.weight.len(), |net| self.look(net));
    }

    /// Returns the number of nets.
    pub(super) fn len(&self) -> usize {
        self.weight.len()
    }

    fn members_of(&self, net: usize) -> Range<usize> {
        self.member_start[net] as usize..self.member_start[net + 1] as usize
    }

    fn pins_of(&self, cell: u32) -> &[Pin] {
        let cell = cell as usize;
        &self.pins[self.pin_start[cell] as usize..self.pin_start[cell + 1] as usize]
    }

    pub(super) fn pose(&self, cell: u32) -> Pose {
        self.poses[cell as usize]
    }

    /// Returns the outermost cells of `net`, looked for among all.
    fn look(&self, net: usize) -> Extremes {
        let mut found = Extremes::of_fixed(self.fixed[net]);
        for member in &self.members[self.members_of(net)] {
            found.add(member.cell, member.sides);
        }
        found
    }

    /// Weighted HPWL of all nets, layout units.
    pub(super) fn hpwl(&self) -> f64 {
        let moving = self.extremes.iter().zip(&self.weight);
        self.constant + moving.map(|(net, weight)| weight * length(net.first)).sum::<f64>()
    }

    /// Weighted HPWL of the nets of `cell`.
    pub(super) fn length_of(&self, cell: u32) -> f64 {
        let of = |pin: &Pin| {
            let net = pin.net as usize;
            self.weight[net] * length(self.extremes[net].first)
        };
        self.pins_of(cell).iter().map(of).sum()
    }

    /// Weighted HPWL of the nets of `cell` if it alone lay so.
    #[inline]
    pub(super) fn length_at(&self, cell: u32, pose: &Pose) -> f64 {
        let mut sum = 0.0;
        for pin in self.pins_of(cell) {
            let net = pin.net as usize;
            let others = self.extremes[net].without(cell);
            sum += self.weight[net] * length(larger(others, pin.on_die(pose)));
        }
        sum
    }

    /// Whether a net has both cells.
    #[inline]
    pub(super) fn share_a_net(&self, a: u32, b: u32) -> bool {
        let (a, b) = (self.pins_of(a), self.pins_of(b));
        let (mut i, mut j) = (0, 0);
        while i < a.len() && j < b.len() {
            match a[i].net.cmp(&b[j].net) {
                std::cmp::Ordering::Less => i += 1,
                std::cmp::Ordering::Greater => j += 1,
                std::cmp::Ordering::Equal => return true,
            }
        }
        false
    }

    /// Returns by how much these moves together shorten the nets, exactly; negative where they
    /// lengthen them. No cell is moved twice.
    pub(super) fn gain(&self, moves: &[Moved], scratch: &mut Scratch) -> f64 {
        let Scratch { touched, nets } = scratch;
        touched.clear();
        nets.clear();
        for (k, step) in moves.iter().enumerate() {
            let pins = self.pin_start[step.cell as usize]..self.pin_start[step.cell as usize + 1];
            touched.extend(pins.map(|p| (self.pins[p as usize].net, k as u32, p)));
        }
        touched.sort_unstable();
        let mut gain = 0.0;
        for of_net in touched.chunk_by(|a, b| a.0 == b.0) {
            let net = of_net[0].0 as usize;
            let extremes = &self.extremes[net];
            let mut sides = match of_net {
                [(_, k, _)] => extremes.without(moves[*k as usize].cell),
                _ => self.without_these(net, |cell| {
                    of_net.iter().any(|&(_, k, _)| moves[k as usize].cell == cell)
                }),
            };
            let mut changes = false;
            for &(_, k, p) in of_net {
                let step = &moves[k as usize];
                let of_cell = self.pins[p as usize].on_die(&step.pose);
                changes |= extremes.names(step.cell) || extremes.reaches(of_cell);
                sides = larger(sides, of_cell);
            }
            nets.push((net as u32, changes));
            gain += self.weight[net] * (length(extremes.first) - length(sides));
        }
        gain
    }

    /// The box of the cells of `net` that are not `left_out`, and of its fixed pins.
    fn without_these(&self, net: usize, left_out: impl Fn(u32) -> bool) -> Sides {
        let extremes = &self.extremes[net];
        let mut sides = NOTHING;
        for (k, side) in sides.iter_mut().enumerate() {
            if !left_out(extremes.first_of[k]) {
                *side = extremes.first[k];
            } else if !left_out(extremes.second_of[k]) {
                *side = extremes.second[k];
            } else {
                let members = &self.members[self.members_of(net)];
                let others = members.iter().filter(|member| !left_out(member.cell));
                return others.fold(self.fixed[net], |sides, m| larger(sides, m.sides));
            }
        }
        sides
    }

    /// Moves a cell.
    pub(super) fn apply(&mut self, step: &Moved) {
        self.poses[step.cell as usize] = step.pose;
        let pins = self.pin_start[step.cell as usize]..self.pin_start[step.cell as usize + 1];
        for p in pins {
            let Pin { net, member, .. } = self.pins[p as usize];
            self.members[member as usize].sides = self.pins[p as usize].on_die(&step.pose);
            let mut extremes = self.extremes[net as usize];
            self.follow(net as usize, &mut extremes, [member].into_iter());
            self.extremes[net as usize] = extremes;
        }
    }

    /// Moves cells, none twice, on all threads.
    pub(super) fn apply_all(&mut self, steps: &[Moved]) {
        let Wires { poses, pins, pin_start, members, .. } = self;
        update(poses, steps, &|step| step.cell as usize, &|pose, of| *pose = of[0].pose);
        // Members and the pins of theirs, by net.
        let of_cell = |step: &Moved| {
            let (cell, pins) = (step.cell as usize, &*pins);
            (pin_start[cell]..pin_start[cell + 1]).map(move |p| (pins[p as usize].member, p))
        };
        let mut moved = parallel::map_blocks(steps.len(), AT_ONCE, |range| {
            steps[range].iter().flat_map(of_cell).collect::<Vec<_>>()
        })
        .concat();
        moved.par_sort_unstable();
        update(members, &moved, &|of| of.0 as usize, &|member, of| {
            member.sides = pins[of[0].1 as usize].on_die(&poses[member.cell as usize]);
        });
        let mut extremes = std::mem::take(&mut self.extremes);
        let net = |of: &(u32, u32)| self.pins[of.1 as usize].net as usize;
        update(&mut extremes, &moved, &net, &|extremes, of| {
            self.follow(net(&of[0]), extremes, of.iter().map(|of| of.0));
        });
        self.extremes = extremes;
    }

    /// Brings the outermost cells of a net up to date, of which these members have moved.
    fn follow(
        &self,
        net: usize,
        extremes: &mut Extremes,
        moved: impl Iterator<Item = u32> + Clone,
    ) {
        let moved = moved.map(|m| &self.members[m as usize]);
        if moved.clone().any(|member| extremes.names(member.cell)) {
            *extremes = self.look(net);
        } else {
            moved.for_each(|member| extremes.add(member.cell, member.sides));
        }
    }

    /// Fills `without` with the nets of `cell`.
    pub(super) fn leave_out(&self, cell: u32, without: &mut Without) {
        without.nets.clear();
        let pins = self.pins_of(cell).iter();
        without.nets.extend(pins.map(|pin| {
            let net = pin.net as usize;
            (self.extremes[net].without(cell), pin.sides, self.weight[net])
        }));
    }
}

impl Without {
    /// Weighted HPWL of the cell's nets where it lies so.
    #[inline]
    pub(super) fn length_at(&self, pose: &Pose) -> f64 {
        let mut sum = 0.0;
        for &(others, sides, weight) in &self.nets {
            let pin = Pin { net: 0, member: 0, sides };
            sum += weight * length(larger(others, pin.on_die(pose)));
        }
        sum
    }

    /// Returns the x, and the y, of the cell's centre between which its nets are shortest.
    pub(super) fn best_region(&mut self, pose: &Pose) -> [(f64, f64); 2] {
        [0, 2].map(|axis| {
            self.ends.clear();
            for &(others, sides, weight) in &self.nets {
                let sides = Pin { net: 0, member: 0, sides }.turned(pose.mirrored, pose.flipped);
                self.ends.push((sides[axis + 1] - others[axis + 1], weight));
                self.ends.push((others[axis] - sides[axis], weight));
            }
            flat_part(&mut self.ends)
        })
    }

    /// Fills `ends` with where the slope of the length over the x of the cell's centre rises, and
    /// by how much. The slope begins at minus half of their sum.
    pub(super) fn bends(&self, pose: &Pose, ends: &mut Vec<(f64, f64)>) {
        ends.clear();
        for &(others, sides, weight) in &self.nets {
            let sides = Pin { net: 0, member: 0, sides }.turned(pose.mirrored, pose.flipped);
            ends.push((sides[1] - others[1], weight));
            ends.push((others[0] - sides[0], weight));
        }
    }
}

/// Between which values a convex function is least whose slope rises by the second number at the
/// first one, from minus half of their sum.
pub(super) fn flat_part(ends: &mut [(f64, f64)]) -> (f64, f64) {
    ends.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let half: f64 = ends.iter().map(|end| end.1).sum::<f64>() / 2.0;
    let mut sum = 0.0;
    for (k, end) in ends.iter().enumerate() {
        sum += end.1;
        if sum > half * (1.0 + 1e-12) {
            return (end.0, end.0);
        }
        if sum >= half * (1.0 - 1e-12) {
            return (end.0, ends.get(k + 1).map_or(end.0, |next| next.0));
        }
    }
    (f64::NEG_INFINITY, f64::INFINITY)
}

/// The nets of several cells of one row, as they are without these: their length along x wherever
/// the cells are moved along it.
#[derive(Clone, Debug, Default)]
pub(super) struct Together {
    touched: Vec<(u32, u32, u32)>,
    /// Of every net its right and its negative left side without the cells, its weight, and where
    /// its pins end.
    nets: Vec<([f64; 2], f64, u32)>,
    /// Of every pin its cell and how far it reaches right and left of that one's centre.
    pins: Vec<(u32, [f64; 2])>,
}

impl Wires {
    /// Fills `together` with the nets of `cells`.
    pub(super) fn leave_out_together(&self, cells: &[u32], together: &mut Together) {
        let Together { touched, nets, pins } = together;
        touched.clear();
        nets.clear();
        pins.clear();
        for (k, &cell) in cells.iter().enumerate() {
            let range = self.pin_start[cell as usize]..self.pin_start[cell as usize + 1];
            touched.extend(range.map(|p| (self.pins[p as usize].net, k as u32, p)));
        }
        touched.sort_unstable();
        for of_net in touched.chunk_by(|a, b| a.0 == b.0) {
            let net = of_net[0].0 as usize;
            for &(_, k, p) in of_net {
                let pose = &self.poses[cells[k as usize] as usize];
                let sides = self.pins[p as usize].turned(pose.mirrored, pose.flipped);
                pins.push((k, [sides[0], sides[1]]));
            }
            let others = match of_net {
                [(_, k, _)] => self.extremes[net].without(cells[*k as usize]),
                _ => self.without_these(net, |cell| {
                    of_net.iter().any(|&(_, k, _)| cells[k as usize] == cell)
                }),
            };
            nets.push(([others[0], others[1]], self.weight[net], pins.len() as u32));
        }
    }
}

impl Together {
    /// Weighted length along x of the cells' nets with their centres there.
    #[inline]
    pub(super) fn length(&self, x: &[f64]) -> f64 {
        let (mut sum, mut from) = (0.0, 0);
        for &([mut right, mut left], weight, end) in &self.nets {
            for &(k, reach) in &self.pins[from..end as usize] {
                let x = x[k as usize];
                right = if reach[0] + x > right { reach[0] + x } else { right };
                left = if reach[1] - x > left { reach[1] - x } else { left };
            }
            from = end as usize;
            sum += weight * (right + left);
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::design::{NodeKind, Nodes, Orientation, Placement};
    use rand::{Rng, RngExt, SeedableRng};
    use rand_pcg::Pcg64Mcg;

    const CELLS: usize = 12;

    /// Twelve cells and four fixed nodes with random nets, among them one of many pins.
    fn design(rng: &mut Pcg64Mcg) -> Design {
        let nodes = CELLS + 4;
        let kind = |k| if k < CELLS { NodeKind::Movable } else { NodeKind::Fixed };
        let mut nets = Nets { net_start: vec![0], ..Nets::default() };
        for net in 0..20 {
            for _ in 0..if net == 7 { 40 } else { rng.random_range(1..6usize) } {
                nets.pin_node.push(rng.random_range(0..nodes as u32));
                nets.pin_dx.push(f64::from(rng.random_range(-8..8i32)) / 4.0);
                nets.pin_dy.push(f64::from(rng.random_range(-8..8i32)) / 4.0);
            }
            nets.net_start.push(nets.pin_node.len() as u32);
            nets.weight.push(f64::from(rng.random_range(0..4u32)));
        }
        let mut place = || (0..nodes).map(|_| f64::from(rng.random_range(0..100u32))).collect();
        Design {
            nodes: Nodes {
                width: vec![4.0; nodes],
                height: vec![6.0; nodes],
                kind: (0..nodes).map(kind).collect(),
                ..Nodes::default()
            },
            placement: Placement {
                x: place(),
                y: place(),
                orientation: vec![Orientation::FS; nodes],
            },
            nets: Some(nets),
            ..Design::default()
        }
    }

    fn any_pose(rng: &mut impl Rng) -> Pose {
        Pose {
            x: f64::from(rng.random_range(0..100u32)),
            y: f64::from(rng.random_range(0..100u32)),
            mirrored: rng.random(),
            flipped: rng.random(),
        }
    }

    fn place(design: &mut Design, step: &Moved) {
        let (cell, at) = (step.cell as usize, &mut design.placement);
        (at.x[cell], at.y[cell]) = (step.pose.x - 2.0, step.pose.y - 3.0);
        let mut orientation = Orientation::FS;
        if step.pose.mirrored {
            orientation = orientation.mirrored();
        }
        if step.pose.flipped {
            orientation = orientation.flipped();
        }
        at.orientation[cell] = orientation;
    }

    #[test]
    fn gains_are_what_the_whole_length_says() {
        for seed in 0..20 {
            let mut rng = Pcg64Mcg::seed_from_u64(seed);
            let mut design = design(&mut rng);
            let cell_of: Vec<Option<u32>> =
                (0..CELLS + 4).map(|k| (k < CELLS).then_some(k as u32)).collect();
            let nets = design.nets.clone().unwrap();
            let mut wires = Wires::new(&design, &nets, &cell_of, CELLS);
            let (mut scratch, mut without) = (Scratch::default(), Without::default());
            for _ in 0..50 {
                let before = design.hpwl().unwrap().weighted;
                assert!((wires.hpwl() - before).abs() < 1e-9 * before);
                let first = rng.random_range(0..CELLS as u32);
                let moves: Vec<Moved> = (0..rng.random_range(1..5u32))
                    .map(|k| Moved { cell: (first + k) % 12, pose: any_pose(&mut rng) })
                    .collect();
                let gain = wires.gain(&moves, &mut scratch);
                if let [step] = &moves[..] {
                    wires.leave_out(step.cell, &mut without);
                    let (now, then) =
                        (wires.length_of(step.cell), wires.length_at(step.cell, &step.pose));
                    assert!((now - then - gain).abs() < 1e-9 * before);
                    assert_eq!(without.length_at(&step.pose), then);
                }
                for step in &moves {
                    wires.apply(step);
                    place(&mut design, step);
                }
                let after = design.hpwl().unwrap().weighted;
                assert!((before - after - gain).abs() < 1e-9 * before);
            }
        }
    }

    #[test]
    fn nothing_is_shorter_than_in_the_best_region() {
        let mut rng = Pcg64Mcg::seed_from_u64(5);
        let design = design(&mut rng);
        let cell_of: Vec<Option<u32>> =
            (0..CELLS + 4).map(|k| (k < CELLS).then_some(k as u32)).collect();
        let wires = Wires::new(&design, design.nets.as_ref().unwrap(), &cell_of, CELLS);
        let mut without = Without::default();
        for cell in 0..CELLS as u32 {
            let pose = wires.pose(cell);
            wires.leave_out(cell, &mut without);
            let [x, y] = without.best_region(&pose);
            let best = Pose { x: pose.x.max(x.0).min(x.1), y: pose.y.max(y.0).min(y.1), ..pose };
            let least = without.length_at(&best);
            for _ in 0..100 {
                let (x, y) = (rng.random_range(-10.0..110.0), rng.random_range(-10.0..110.0));
                assert!(without.length_at(&Pose { x, y, ..pose }) >= least - 1e-9);
            }
            let outside = Pose { x: x.0 - 1.0, ..best };
            assert!(!x.0.is_finite() || without.length_at(&outside) > least);
        }
    }
}
