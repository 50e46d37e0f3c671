//! Weighted half-perimeter wirelength that is updated with every move.
//!
//! A box is stored by its four *sides* `[max x, max −x, max y, max −y]`. Its half perimeter is
//! their sum, and it grows by the larger of each. For every net the outermost two cells on each
//! side are known. So the box without any one cell is available without a visit to the net's pins,
//! for any number of pins.

use super::update::{AT_ONCE, update};
use crate::congestion::risa;
use crate::design::{Design, Nets};
use crate::grid::Rect;
use crate::parallel::{self, chunks_mut, each_mut, group, group_of_items};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The cell number of fixed pins.
const FIXED: u32 = u32::MAX;

/// `[max x, max −x, max y, max −y]`, layout units.
pub(crate) type Sides = [f64; 4];

pub(crate) const NOTHING: Sides = [f64::NEG_INFINITY; 4];

/// The centre of a cell, and whether it is mirrored against its first orientation.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Pose {
    pub(crate) x: f64,
    pub(crate) y: f64,
    /// Mirrored left and right.
    pub(crate) mirrored: bool,
    /// Turned upside down.
    pub(crate) flipped: bool,
}

/// A cell and its new pose.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Moved {
    pub(crate) cell: u32,
    pub(crate) pose: Pose,
}

/// A cell's part of a net: the box of its pins, from its centre, in its first orientation.
#[derive(Clone, Copy, Debug)]
struct Pin {
    net: u32,
    /// Its index in [`Wires::members`].
    member: u32,
    sides: Sides,
}

/// A net whose box moves change.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChangedBox {
    /// Its weight in the design.
    pub(crate) weight: f64,
    /// Its wire over the half perimeter of its box.
    pub(crate) wires: f64,
    pub(crate) before: Sides,
    pub(crate) after: Sides,
}

/// A net's part of a cell: the box of its pins on the die.
#[derive(Clone, Copy, Debug)]
struct Member {
    cell: u32,
    sides: Sides,
}

/// The outermost two cells of a net on its high and its low side along one axis: one cache line.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(align(64))]
struct Outermost {
    first: [f64; 2],
    second: [f64; 2],
    first_of: [u32; 2],
    second_of: [u32; 2],
    /// Weight of the net.
    weight: f64,
}

/// The outermost two cells of a net along x, and along y.
type Extremes = [Outermost; 2];

/// Nets with at least two ends, at least one of which moves, and the positions of their pins.
#[derive(Debug, Default)]
pub(crate) struct Wires {
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
    /// By net, all its pins.
    pins_of_net: Vec<u32>,
    /// The weights of the design, if those in use are others ([`Wires::reweigh`]).
    own_weight: Vec<f64>,
    poses: Vec<Pose>,
    /// By cell.
    slopes: Vec<StoredSlopes>,
    /// Weighted HPWL of the nets that are left out, which cannot change.
    constant: f64,
    units: Units,
}

/// The number of units in 1, for sums of integers, which do not depend on their order. Both are
/// powers of two.
#[derive(Clone, Copy, Debug, Default)]
struct Units {
    /// For weighted lengths, in [`Wires::gain`].
    length: f64,
    /// For weights, in [`Wires::units_of`].
    weight: f64,
}

/// Least slopes of the length of a cell's nets at its position. The length is convex over x and
/// over y, so a move gains at most minus slope times distance.
#[derive(Clone, Copy, Debug, Default)]
struct Slopes {
    /// For moves to the right, to the left, upwards and downwards, weight.
    towards: [f64; 4],
    /// The largest gain of the cell if it is also turned upside down, layout units times weight.
    turned: f64,
}

/// The [`Slopes`] of a cell, if they are up to date. They depend only on the placement, so all
/// threads that compute them store the same values.
#[derive(Debug, Default)]
#[repr(align(64))]
struct StoredSlopes {
    /// A bit for each net of the cell; several nets may have one bit.
    nets: u64,
    is_current: AtomicBool,
    values: [AtomicU64; 5],
}

/// Returns one of 64 bits. Nets of neighbours have consecutive numbers.
fn bit_of(net: u32) -> u64 {
    1 << (net % 64)
}

impl StoredSlopes {
    fn load(&self) -> Option<Slopes> {
        let value = |k: usize| f64::from_bits(self.values[k].load(Ordering::Relaxed));
        let is_current = self.is_current.load(Ordering::Acquire);
        is_current.then(|| Slopes { towards: std::array::from_fn(value), turned: value(4) })
    }

    fn store(&self, Slopes { towards, turned }: Slopes) {
        for (stored, value) in self.values.iter().zip(towards.into_iter().chain([turned])) {
            stored.store(value.to_bits(), Ordering::Relaxed);
        }
        self.is_current.store(true, Ordering::Release);
    }
}

/// A net of a cell along one axis, without the cell.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reach {
    /// The high side, and the negative low side, of the rest of the net.
    others: [f64; 2],
    /// The distance of the cell's pins from its centre to the high and to the low side.
    pins: [f64; 2],
    weight: f64,
}

impl Reach {
    /// Weighted length of the net with the cell's centre at `at`, and its pins reversed or not.
    #[inline(always)]
    pub(crate) fn length(&self, at: f64, reversed: bool) -> f64 {
        let [a, b] = self.pins;
        let (high, low) = if reversed { (b + at, a - at) } else { (a + at, b - at) };
        let high = if high > self.others[0] { high } else { self.others[0] };
        let low = if low > self.others[1] { low } else { self.others[1] };
        self.weight * (high + low)
    }

    /// The same with the cell's pins reversed, or not.
    #[inline(always)]
    fn turned(self, reversed: bool) -> Self {
        let [a, b] = self.pins;
        Reach { pins: if reversed { [b, a] } else { [a, b] }, ..self }
    }

    /// Returns the interval of the cell's centre in which the net does not get longer.
    #[inline(always)]
    pub(crate) fn ends(&self) -> [f64; 2] {
        [self.pins[1] - self.others[1], self.others[0] - self.pins[0]]
    }

    #[inline(always)]
    pub(crate) fn weight(&self) -> f64 {
        self.weight
    }

    /// Whether the net is equally long for all centres of the cell between `low` and `high`.
    #[inline(always)]
    pub(crate) fn is_flat(&self, low: f64, high: f64) -> bool {
        let [from, to] = self.ends();
        from <= low && high <= to
    }
}

/// A cell's nets without the cell: all data that a search for a better position reads.
#[derive(Clone, Debug, Default)]
pub(crate) struct CellNets {
    /// Along x, and along y, with the pins in the cell's first orientation.
    axes: [Vec<Reach>; 2],
    ends: Vec<(f64, f64)>,
}

/// Working memory of [`Wires::gain`].
#[derive(Clone, Debug, Default)]
pub(crate) struct Scratch {
    touched: Touched,
    /// The nets of the moves passed to [`Wires::gain`]. A net's flag says whether the moves would
    /// change which cells are outermost, or how far out they are.
    pub(crate) nets: Vec<(u32, bool)>,
}

/// The nets of several cells: pins by net, and within a net in order of the cells.
#[derive(Clone, Debug, Default)]
struct Touched {
    /// By pin its net and its index in `pins`, in one number that is the sort key.
    order: Vec<u64>,
    /// By pin the cell it belongs to, and its index in [`Wires::pins`].
    pins: Vec<(u32, u32)>,
}

impl Touched {
    /// Returns each net with its cells and pins.
    fn nets(&self) -> impl Iterator<Item = (usize, impl Iterator<Item = (usize, usize)> + Clone)> {
        self.order.chunk_by(|a, b| a >> 32 == b >> 32).map(|of_net| {
            let pin = |of: &u64| {
                let (k, p) = self.pins[*of as u32 as usize];
                (k as usize, p as usize)
            };
            ((of_net[0] >> 32) as usize, of_net.iter().map(pin))
        })
    }
}

/// Nets of the design that one thread processes.
const NETS_AT_ONCE: usize = 1 << 12;
/// Cells whose pins one thread sorts.
const CELLS_AT_ONCE: usize = 1 << 12;
/// Members of nets that one thread moves to the die.
const MEMBERS_AT_ONCE: usize = 1 << 12;

/// Some nets, in the format of [`Wires`].
#[derive(Default)]
struct Part {
    /// With the sides of their pins from the centres of their cells.
    members: Vec<Member>,
    /// By net, the end of its members.
    ends: Vec<u32>,
    fixed: Vec<Sides>,
    weight: Vec<f64>,
    pins: Vec<u32>,
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
        // Pins of one cell become one.
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
        self.pins.push(nets.pins_of(net).len() as u32);
    }
}

/// Returns the nets in the order of their first cells, so that nets that are near each other on the
/// die are near in memory.
fn by_place(nets: &Nets, cell_of: &[Option<u32>], cells: usize) -> Vec<u32> {
    let first = |net: usize| {
        let cells_of = nets.pins_of(net).filter_map(|p| cell_of[nets.pin_node[p] as usize]);
        cells_of.min().unwrap_or(cells as u32)
    };
    group(cells + 1, nets.len(), first).items
}

#[inline(always)]
pub(crate) fn larger(a: Sides, b: Sides) -> Sides {
    std::array::from_fn(|k| if a[k] > b[k] { a[k] } else { b[k] })
}

/// Returns half the perimeter of the box.
#[inline(always)]
pub(crate) fn length(sides: Sides) -> f64 {
    (sides[0] + sides[1]) + (sides[2] + sides[3])
}

impl Pin {
    /// Returns the sides of the pin's box, from the centre of its cell, if the cell is mirrored and
    /// flipped like this.
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

impl Outermost {
    /// Returns the outermost cells of a net without cells, with fixed pins that span these sides.
    fn of_fixed(fixed: [f64; 2], weight: f64) -> Self {
        let none = ([NOTHING[0]; 2], [FIXED; 2]);
        Outermost { first: fixed, second: none.0, first_of: none.1, second_of: none.1, weight }
    }

    /// Adds one more cell, which is not among the outermost.
    #[inline]
    fn add(&mut self, cell: u32, sides: [f64; 2]) {
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
    fn reaches(&self, sides: [f64; 2]) -> bool {
        sides[0] > self.second[0] || sides[1] > self.second[1]
    }

    fn names(&self, cell: u32) -> bool {
        self.first_of.contains(&cell) || self.second_of.contains(&cell)
    }

    /// Returns the sides of all other cells of the net.
    #[inline(always)]
    fn without(&self, cell: u32) -> [f64; 2] {
        let side = |k: usize| if self.first_of[k] == cell { self.second[k] } else { self.first[k] };
        [side(0), side(1)]
    }
}

/// Returns the sides along x, and those along y.
#[inline(always)]
fn by_axis([a, b, c, d]: Sides) -> [[f64; 2]; 2] {
    [[a, b], [c, d]]
}

/// Returns the box of the cells of a net.
#[inline(always)]
fn whole([x, y]: &Extremes) -> Sides {
    [x.first[0], x.first[1], y.first[0], y.first[1]]
}

/// Returns the box of all cells of a net but one.
#[inline(always)]
fn without([x, y]: &Extremes, cell: u32) -> Sides {
    let ([a, b], [c, d]) = (x.without(cell), y.without(cell));
    [a, b, c, d]
}

impl Wires {
    /// The nets with a moving node. A node of `design` moves if `cell_of` has a number below
    /// `cells` for it; all other pins are fixed. Both arguments have been checked.
    pub(crate) fn new(design: &Design, nets: &Nets, cell_of: &[Option<u32>], cells: usize) -> Self {
        let nodes = group(cells, cell_of.len(), |node| cell_of[node].unwrap_or(u32::MAX)).items;
        let pose = |cell: usize| {
            let rect = design.rect(nodes[cell] as usize);
            let (x, y) = ((rect.xl + rect.xh) / 2.0, (rect.yl + rect.yh) / 2.0);
            Pose { x, y, ..Pose::default() }
        };
        let poses = parallel::map(cells, pose);
        let mut wires = Wires { member_start: vec![0], poses, ..Wires::default() };
        let order = by_place(nets, cell_of, cells);
        let parts = parallel::map_blocks(order.len(), NETS_AT_ONCE, |range| {
            let mut part = Part::default();
            let nets_of = order[range].iter();
            nets_of.for_each(|&net| part.add(design, nets, net as usize, cell_of));
            part
        });
        let mut first = 0;
        for part in &parts {
            wires.member_start.extend(part.ends.iter().map(|end| first + end));
            first += part.members.len() as u32;
            wires.constant += part.constant;
        }
        let (mut members, mut fixed) = (Vec::new(), Vec::new());
        let (mut weight, mut pins) = (Vec::new(), Vec::new());
        for part in parts {
            members.push(part.members);
            fixed.push(part.fixed);
            weight.push(part.weight);
            pins.push(part.pins);
        }
        wires.members = parallel::concat(&members);
        (wires.fixed, wires.weight) = (parallel::concat(&fixed), parallel::concat(&weight));
        wires.pins_of_net = parallel::concat(&pins);
        drop(members);
        wires.index();
        wires
    }

    /// Makes the pins by cell, and the boxes. Before this members have the sides of their pins from
    /// the centres of their cells, and afterwards on the die.
    fn index(&mut self) {
        let members = &self.members;
        let pins = group(self.poses.len(), members.len(), |member| members[member].cell);
        let net_of = group_of_items(&self.member_start);
        self.pins = parallel::map(pins.items.len(), |p| {
            let member = pins.items[p];
            let (net, sides) = (net_of[member as usize], members[member as usize].sides);
            Pin { net, member, sides }
        });
        self.pin_start = pins.start;
        let Wires { members, poses, .. } = self;
        parallel::for_each(chunks_mut(members, MEMBERS_AT_ONCE), |_, members| {
            for member in members {
                let pose = &poses[member.cell as usize];
                member.sides = moved(member.sides, pose.x, pose.y);
            }
        });
        self.extremes = parallel::map(self.weight.len(), |net| self.look(net));
        self.slopes = parallel::map(self.poses.len(), |cell| StoredSlopes {
            nets: self.pins_of(cell as u32).iter().fold(0, |all, pin| all | bit_of(pin.net)),
            ..StoredSlopes::default()
        });
    }

    /// Returns the number of nets.
    pub(crate) fn len(&self) -> usize {
        self.weight.len()
    }

    /// Returns the first pin of each cell and the first member of each net, each list with its
    /// total at the end.
    #[cfg(feature = "cuda")]
    pub(crate) fn starts(&self) -> [&[u32]; 2] {
        [&self.pin_start, &self.member_start]
    }

    /// Returns the net of a pin, its member, and the box from the cell's centre.
    #[cfg(feature = "cuda")]
    pub(crate) fn pin(&self, pin: usize) -> (u32, u32, Sides) {
        let Pin { net, member, sides } = self.pins[pin];
        (net, member, sides)
    }

    /// Returns the box of the fixed pins of a net, and its weight.
    #[cfg(feature = "cuda")]
    pub(crate) fn net(&self, net: usize) -> (Sides, f64) {
        (self.fixed[net], self.weight[net])
    }

    /// Returns how many units make a weighted length, and a weight, of 1.
    #[cfg(feature = "cuda")]
    pub(crate) fn units(&self) -> [f64; 2] {
        [self.units.length, self.units.weight]
    }

    /// Returns a bit for each net of a cell; several nets may have one bit.
    #[cfg(feature = "cuda")]
    pub(crate) fn bits_of_nets(&self, cell: u32) -> u64 {
        self.slopes[cell as usize].nets
    }

    fn members_of(&self, net: usize) -> Range<usize> {
        self.member_start[net] as usize..self.member_start[net + 1] as usize
    }

    fn pins_of(&self, cell: u32) -> &[Pin] {
        let cell = cell as usize;
        &self.pins[self.pin_start[cell] as usize..self.pin_start[cell + 1] as usize]
    }

    pub(crate) fn pose(&self, cell: u32) -> Pose {
        self.poses[cell as usize]
    }

    /// Returns the outermost cells of `net`, found among all.
    fn look(&self, net: usize) -> Extremes {
        let weight = self.weight[net];
        let mut found = by_axis(self.fixed[net]).map(|fixed| Outermost::of_fixed(fixed, weight));
        for member in &self.members[self.members_of(net)] {
            for (axis, sides) in found.iter_mut().zip(by_axis(member.sides)) {
                axis.add(member.cell, sides);
            }
        }
        found
    }

    /// Weighted HPWL of all nets, layout units.
    pub(crate) fn hpwl(&self) -> f64 {
        let of_net = |net: usize| self.weight[net] * length(whole(&self.extremes[net]));
        self.constant + parallel::sum(self.len(), of_net)
    }

    /// Median of the weighted HPWL of the nets that can change their length; 0 without such nets.
    pub(crate) fn median_length(&self) -> f64 {
        let of = |net: usize| self.weight[net] * length(whole(&self.extremes[net]));
        let mut lengths = parallel::map(self.len(), of);
        let middle = self.len() / 2;
        let is_any = middle < lengths.len();
        if is_any { *lengths.select_nth_unstable_by(middle, f64::total_cmp).1 } else { 0.0 }
    }

    /// Weighted HPWL of the nets of `cell`.
    pub(crate) fn length_of(&self, cell: u32) -> f64 {
        let of = |pin: &Pin| {
            let net = &self.extremes[pin.net as usize];
            net[0].weight * length(whole(net))
        };
        self.pins_of(cell).iter().map(of).sum()
    }

    /// Weighted HPWL of the nets of `cell` if only this cell had the given pose.
    #[inline]
    pub(crate) fn length_at(&self, cell: u32, pose: &Pose) -> f64 {
        let mut sum = 0.0;
        for pin in self.pins_of(cell) {
            let net = &self.extremes[pin.net as usize];
            sum += net[0].weight * length(larger(without(net, cell), pin.on_die(pose)));
        }
        sum
    }

    /// Returns by how much the nets of `cell` get shorter if only this cell moves there.
    pub(crate) fn gain_of(&self, cell: u32, to: &Pose) -> f64 {
        let gain = |pin: &Pin| {
            let net = &self.extremes[pin.net as usize];
            let then = larger(without(net, cell), pin.on_die(to));
            net[0].weight * (length(whole(net)) - length(then))
        };
        self.pins_of(cell).iter().map(gain).sum()
    }

    /// Returns by how much the nets of `cell` get shorter if only its centre moves to `x`.
    pub(crate) fn gain_along_x(&self, cell: u32, x: f64) -> f64 {
        let now = self.poses[cell as usize].x;
        let gain = |net: Reach| net.length(now, false) - net.length(x, false);
        self.along_x(cell).map(gain).sum()
    }

    /// Whether a net has both cells.
    #[inline]
    pub(crate) fn share_a_net(&self, a: u32, b: u32) -> bool {
        if self.slopes[a as usize].nets & self.slopes[b as usize].nets == 0 {
            return false;
        }
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

    /// Sets the units of sums, for at most this many cells that are moved together and stay on
    /// `die`. Weights may grow by `factor`.
    pub(crate) fn count_in_units(&mut self, die: Rect, cells: usize, factor: f64) {
        let of_cells = parallel::map_blocks(self.poses.len(), CELLS_AT_ONCE, |range| {
            range.fold((0.0, 0.0), |(reach, heaviest): (f64, f64), cell| {
                let pins = self.pins_of(cell as u32);
                let weight: f64 = pins.iter().map(|pin| self.weight[pin.net as usize]).sum();
                let sides = pins.iter().flat_map(|pin| pin.sides);
                (sides.fold(reach, |reach, side| reach.max(side.abs())), heaviest.max(weight))
            })
        });
        let (reach, heaviest) =
            of_cells.into_iter().fold((0.0, 0.0), |a, b| (f64::max(a.0, b.0), f64::max(a.1, b.1)));
        let die = [die.xh, -die.xl, die.yh, -die.yl].map(|side| side + reach);
        let of_nets = parallel::map_blocks(self.len(), NETS_AT_ONCE, |nets| {
            self.fixed[nets].iter().fold(die, |all, fixed| larger(all, *fixed))
        });
        let longest = length(of_nets.into_iter().fold(die, larger));
        let weight = factor * heaviest * cells as f64;
        let units = |bits: f64, most: f64| match most > 0.0 {
            true => (bits - most.log2().ceil()).clamp(-960.0, 960.0).exp2(),
            false => 1.0,
        };
        self.units = Units { length: units(61.0, longest * weight), weight: units(52.0, weight) };
    }

    /// Returns the weight of a net as a whole number.
    pub(crate) fn units_of(&self, weight: f64) -> i64 {
        (weight * self.units.weight) as i64
    }

    /// Returns the units by which these moves together shorten the nets; negative if they lengthen
    /// them. No cell is moved twice.
    pub(crate) fn gain(&self, moves: &[Moved], scratch: &mut Scratch) -> i64 {
        let Scratch { touched, nets } = scratch;
        nets.clear();
        let mut gain = 0;
        self.each_net(moves, touched, |net, sides, changes| {
            nets.push((net as u32, changes));
            let extremes = &self.extremes[net];
            let shorter = extremes[0].weight * (length(whole(extremes)) - length(sides));
            gain += (shorter * self.units.length) as i64;
        });
        gain
    }

    /// Calls `visit` for every net whose box these moves change. No cell is moved twice.
    pub(crate) fn changed_boxes(
        &self,
        moves: &[Moved],
        scratch: &mut Scratch,
        mut visit: impl FnMut(ChangedBox),
    ) {
        self.each_net(moves, &mut scratch.touched, |net, after, changes| {
            let before = whole(&self.extremes[net]);
            if changes && before != after {
                let (weight, wires) = (self.own_weight(net), self.wires_of(net));
                visit(ChangedBox { weight, wires, before, after });
            }
        });
    }

    /// Calls `visit` for every net of the moved cells with its number, its box after these moves,
    /// and whether they would change which cells are outermost, or how far out they are.
    #[inline(always)]
    fn each_net(
        &self,
        moves: &[Moved],
        touched: &mut Touched,
        mut visit: impl FnMut(usize, Sides, bool),
    ) {
        self.touch(moves.iter().map(|step| step.cell), touched);
        for (net, pins) in touched.nets() {
            let extremes = &self.extremes[net];
            let mut rest = pins.clone();
            let mut sides = match (rest.next(), rest.next()) {
                (Some((k, _)), None) => without(extremes, moves[k].cell),
                _ => {
                    let is_moved = |cell| pins.clone().any(|(k, _)| moves[k].cell == cell);
                    let along = |axis| self.without_these(net, axis, is_moved);
                    let [[a, b], [c, d]] = [0, 1].map(along);
                    [a, b, c, d]
                }
            };
            let mut changes = false;
            for (k, p) in pins {
                let step = &moves[k];
                let of_cell = self.pins[p].on_die(&step.pose);
                let mut axes = extremes.iter().zip(by_axis(of_cell));
                changes |= axes.any(|(axis, sides)| axis.names(step.cell) || axis.reaches(sides));
                sides = larger(sides, of_cell);
            }
            visit(net, sides, changes);
        }
    }

    /// Returns the weight of a net in the design.
    fn own_weight(&self, net: usize) -> f64 {
        *self.own_weight.get(net).unwrap_or(&self.weight[net])
    }

    /// Returns the wire of a net over the half perimeter of its box.
    fn wires_of(&self, net: usize) -> f64 {
        risa(self.pins_of_net[net] as usize)
    }

    /// Multiplies the weights of the design by `factor`, a function of the wire of a net over the
    /// half perimeter of its box, and of the box.
    pub(crate) fn reweigh(&mut self, factor: impl Fn(f64, Sides) -> f64 + Sync) {
        if self.own_weight.is_empty() {
            self.own_weight.clone_from(&self.weight);
        }
        self.weight = parallel::map(self.weight.len(), |net| {
            let sides = whole(&self.extremes[net]);
            self.own_weight[net] * factor(self.wires_of(net), sides)
        });
        let Wires { weight, extremes, slopes, .. } = self;
        parallel::for_each(each_mut(extremes), |net, axes| {
            axes.iter_mut().for_each(|axis| axis.weight = weight[net]);
        });
        parallel::for_each(each_mut(slopes), |_, slopes| *slopes.is_current.get_mut() = false);
    }

    /// Returns the units of a weighted length.
    pub(crate) fn units_of_length(&self, length: f64) -> i64 {
        (length * self.units.length) as i64
    }

    /// Returns the weighted length of this many units.
    pub(crate) fn length_of_units(&self, units: i128) -> f64 {
        units as f64 / self.units.length
    }

    /// Fills `touched` with the nets of cells.
    fn touch(&self, cells: impl Iterator<Item = u32>, touched: &mut Touched) {
        let Touched { order, pins } = touched;
        order.clear();
        pins.clear();
        for (k, cell) in (0..).zip(cells) {
            for p in self.pin_start[cell as usize]..self.pin_start[cell as usize + 1] {
                order.push(u64::from(self.pins[p as usize].net) << 32 | pins.len() as u64);
                pins.push((k, p));
            }
        }
        order.sort_unstable();
    }

    /// The sides along an axis of the cells of `net` that are not `left_out`, and of its fixed
    /// pins.
    fn without_these(&self, net: usize, axis: usize, left_out: impl Fn(u32) -> bool) -> [f64; 2] {
        let outermost = &self.extremes[net][axis];
        let mut sides = [0.0; 2];
        for (k, side) in sides.iter_mut().enumerate() {
            if !left_out(outermost.first_of[k]) {
                *side = outermost.first[k];
            } else if !left_out(outermost.second_of[k]) {
                *side = outermost.second[k];
            } else {
                let members = &self.members[self.members_of(net)];
                let others = members.iter().filter(|member| !left_out(member.cell));
                let all = others.fold(self.fixed[net], |sides, m| larger(sides, m.sides));
                return by_axis(all)[axis];
            }
        }
        sides
    }

    /// Moves a cell.
    pub(crate) fn apply(&mut self, step: &Moved) {
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
    pub(crate) fn apply_all(&mut self, steps: &[Moved]) {
        let Wires { poses, pins, pin_start, members, .. } = self;
        update(poses, steps, &|step| step.cell as usize, &|pose, of| *pose = of[0].pose);
        // Members and their pins, by net.
        let of_cell = |step: &Moved| {
            let (cell, pins) = (step.cell as usize, &*pins);
            (pin_start[cell]..pin_start[cell + 1]).map(move |p| (pins[p as usize].member, p))
        };
        let moved = parallel::map_blocks(steps.len(), AT_ONCE, |range| {
            steps[range].iter().flat_map(of_cell).collect::<Vec<_>>()
        });
        let mut moved = parallel::concat(&moved);
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

    /// Updates the outermost cells of a net after these members have moved.
    fn follow(
        &self,
        net: usize,
        extremes: &mut Extremes,
        moved: impl Iterator<Item = u32> + Clone,
    ) {
        let moved = moved.map(|m| &self.members[m as usize]);
        let before = *extremes;
        let is_named = |cell: u32| before.iter().any(|axis| axis.names(cell));
        if moved.clone().any(|member| is_named(member.cell)) {
            *extremes = self.look(net);
        } else {
            for member in moved {
                for (axis, sides) in extremes.iter_mut().zip(by_axis(member.sides)) {
                    axis.add(member.cell, sides);
                }
            }
        }
        for (before, after) in before.iter().zip(&*extremes).filter(|(a, b)| a != b) {
            for cell in before.first_of.into_iter().chain(after.first_of) {
                if let Some(slopes) = self.slopes.get(cell as usize) {
                    slopes.is_current.store(false, Ordering::Relaxed);
                }
            }
        }
    }

    /// Returns the [`Slopes`] of a cell. Only nets count in which it is the outermost cell on a
    /// side: no move of the cell shortens the others.
    fn slopes(&self, cell: u32) -> Slopes {
        let stored = &self.slopes[cell as usize];
        if let Some(slopes) = stored.load() {
            return slopes;
        }
        let mut slopes = Slopes::default();
        for pin in self.pins_of(cell) {
            for (axis, outermost) in self.extremes[pin.net as usize].iter().enumerate() {
                let Outermost { first, second, first_of, weight, .. } = outermost;
                for k in (0..2).filter(|k| first_of[*k] == cell) {
                    slopes.towards[2 * axis + k] += weight;
                    if first[k] > second[k] {
                        slopes.towards[2 * axis + 1 - k] -= weight;
                    }
                }
                if axis == 1 && first_of.contains(&cell) {
                    slopes.turned += weight * (pin.sides[2] - pin.sides[3]).abs();
                }
            }
        }
        stored.store(slopes);
        slopes
    }

    /// Whether the nets of `cell` might be shorter elsewhere in its present orientation.
    pub(crate) fn is_pulled(&self, cell: u32) -> bool {
        self.slopes(cell).towards.iter().any(|slope| *slope < 0.0)
    }

    /// Returns an upper bound of [`Wires::length_of`] less [`Wires::length_at`], without a visit to
    /// the nets. The cell is not mirrored.
    pub(crate) fn most_gain(&self, cell: u32, to: &Pose) -> f64 {
        let (from, slopes) = (&self.poses[cell as usize], self.slopes(cell));
        let along = |way: f64, high: f64, low: f64| way * if way > 0.0 { -high } else { low };
        let [right, left, up, down] = slopes.towards;
        let turned = if from.flipped == to.flipped { 0.0 } else { slopes.turned };
        along(to.x - from.x, right, left) + along(to.y - from.y, up, down) + turned
    }

    /// Returns the same bound, if only the centre of `cell` moves to `x`.
    pub(crate) fn most_gain_along_x(&self, cell: u32, x: f64) -> f64 {
        let (way, [right, left, ..]) = (x - self.poses[cell as usize].x, self.slopes(cell).towards);
        way * if way > 0.0 { -right } else { left }
    }

    /// Returns the nets of `cell` along x (axis 0) or y (axis 1), with the pins in its first
    /// orientation.
    fn along(&self, cell: u32, axis: usize) -> impl Iterator<Item = Reach> {
        self.pins_of(cell).iter().map(move |pin| self.reach(cell, pin, axis))
    }

    #[inline(always)]
    fn reach(&self, cell: u32, pin: &Pin, axis: usize) -> Reach {
        let outermost = &self.extremes[pin.net as usize][axis];
        Reach {
            others: outermost.without(cell),
            pins: by_axis(pin.sides)[axis],
            weight: outermost.weight,
        }
    }

    /// Returns the nets of `cell` along x in its present orientation.
    pub(crate) fn along_x(&self, cell: u32) -> impl Iterator<Item = Reach> {
        let mirrored = self.poses[cell as usize].mirrored;
        self.along(cell, 0).map(move |net| net.turned(mirrored))
    }

    /// Fills `nets` with the nets of `cell`.
    pub(crate) fn leave_out(&self, cell: u32, nets: &mut CellNets) {
        nets.axes.iter_mut().for_each(Vec::clear);
        for pin in self.pins_of(cell) {
            for (axis, nets) in nets.axes.iter_mut().enumerate() {
                nets.push(self.reach(cell, pin, axis));
            }
        }
    }
}

impl CellNets {
    /// Weighted length of the cell's nets along x (axis 0) or y (axis 1) with its centre at `at`.
    /// Its pins are reversed against its first orientation, or not.
    #[inline]
    pub(crate) fn length_along(&self, axis: usize, at: f64, reversed: bool) -> f64 {
        self.axes[axis].iter().map(|net| net.length(at, reversed)).sum()
    }

    /// Weighted HPWL of the cell's nets at this pose.
    pub(crate) fn length_at(&self, pose: &Pose) -> f64 {
        self.length_along(0, pose.x, pose.mirrored) + self.length_along(1, pose.y, pose.flipped)
    }

    /// Returns the intervals of x and y of the cell's centre in which its nets are shortest.
    pub(crate) fn best_region(&mut self, pose: &Pose) -> [(f64, f64); 2] {
        [(0, pose.mirrored), (1, pose.flipped)].map(|(axis, reversed)| {
            self.ends.clear();
            for net in &self.axes[axis] {
                self.ends.extend(net.turned(reversed).ends().map(|end| (end, net.weight)));
            }
            flat_part(&mut self.ends)
        })
    }
}

/// Returns the minimising interval of a piecewise-linear convex function, given its breakpoints
/// (position, slope increase). Its first slope is minus half of the sum of all increases.
pub(crate) fn flat_part(ends: &mut [(f64, f64)]) -> (f64, f64) {
    ends.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
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

/// The nets of several cells of one row without these cells: gives the nets' length along x for any
/// positions of the cells along the row.
#[derive(Clone, Debug, Default)]
pub(crate) struct WindowNets {
    touched: Touched,
    /// The nets of one of the cells, with that cell in its present orientation.
    pub(crate) of_one: Vec<(usize, Reach)>,
    /// For every other net, its right and its negative left side without the cells, its weight, and
    /// the end of its pins.
    shared: Vec<([f64; 2], f64, usize)>,
    /// For every pin of these nets, its cell and its distances to the right and left from the
    /// cell's centre.
    pins: Vec<(usize, [f64; 2])>,
}

impl Wires {
    /// Fills `nets` with the nets of `cells`.
    pub(crate) fn leave_out_together(&self, cells: &[u32], nets: &mut WindowNets) {
        let WindowNets { touched, of_one, shared, pins } = nets;
        of_one.clear();
        shared.clear();
        pins.clear();
        self.touch(cells.iter().copied(), touched);
        for (net, of_net) in touched.nets() {
            let mut rest = of_net.clone();
            if let (Some((k, p)), None) = (rest.next(), rest.next()) {
                let mirrored = self.poses[cells[k] as usize].mirrored;
                of_one.push((k, self.reach(cells[k], &self.pins[p], 0).turned(mirrored)));
                continue;
            }
            for (k, p) in of_net.clone() {
                let pose = &self.poses[cells[k] as usize];
                let sides = self.pins[p].turned(pose.mirrored, pose.flipped);
                pins.push((k, [sides[0], sides[1]]));
            }
            let is_one = |cell| of_net.clone().any(|(k, _)| cells[k] == cell);
            let others = self.without_these(net, 0, is_one);
            shared.push((others, self.extremes[net][0].weight, pins.len()));
        }
    }
}

impl WindowNets {
    /// Weighted length along x of the nets that several of the cells share, with the cells' centres
    /// at the given positions.
    #[inline]
    pub(crate) fn shared_length(&self, x: &[f64]) -> f64 {
        let (mut sum, mut from) = (0.0, 0);
        for &([mut right, mut left], weight, end) in &self.shared {
            for &(k, reach) in &self.pins[from..end] {
                let x = x[k];
                right = if reach[0] + x > right { reach[0] + x } else { right };
                left = if reach[1] - x > left { reach[1] - x } else { left };
            }
            from = end;
            sum += weight * (right + left);
        }
        sum
    }

    /// Returns a lower bound of [`WindowNets::shared_length`].
    pub(crate) fn least_shared_length(&self) -> f64 {
        let least = |&([right, left], weight, _): &([f64; 2], f64, usize)| weight * (right + left);
        self.shared.iter().map(least).map(|length| length.max(0.0)).sum()
    }
}

#[cfg(test)]
mod tests;
