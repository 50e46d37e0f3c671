//! Pushes rectangles apart by the least weighted squared moves after which none overlaps another.
//! Each remains on its side of the others.
//!
//! Two rectangles are separated along the axis along which they are farther apart, or
//! overlap less, in the order of their centres. These constraints make an acyclic graph along
//! each axis, with least distances of corners; a pair enters the graph once it overlaps. Hildreth's
//! method ("A quadratic programming procedure", Naval Research Logistics Quarterly 4, 1957) finds
//! the least squares under these constraints along each axis. It pushes each pair
//! apart by its remaining overlap, and back if it was pushed too far. If a chain
//! of rectangles is longer than the available space, the pair of the chain with the lowest cost of
//! the change is separated along the other axis.
//!
//! All lengths are whole numbers of units, so distances remain valid if corners are rounded.

use std::collections::HashSet;

/// A rectangle.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    /// Where its lower-left corner is wished to be.
    pub(super) wish: [f64; 2],
    /// Whole numbers.
    pub(super) size: [f64; 2],
    /// By how much more others keep off, below and above along each axis; what two ask for is not
    /// added up. Whole numbers.
    pub(super) halo: [[f64; 2]; 2],
    /// Along each axis: two keep at least the lesser of their channels. Whole numbers.
    pub(super) channel: [f64; 2],
    /// The weight of its moves, above 0; none of one that stays, whose wish is then whole.
    pub(super) weight: Option<f64>,
}

/// Rounds in which pairs that overlap come into the graph.
const ROUNDS: usize = 64;
/// Times that all pairs are pushed apart.
const SWEEPS: usize = 4000;
/// Overlap in units that is none.
const NEAR: f64 = 1e-3;

/// A pair of blocks: the first is to be below the second, by so much from corner to corner.
#[derive(Clone, Copy, Debug)]
struct Below {
    pair: [u32; 2],
    distance: f64,
    /// How hard it pushes.
    push: f64,
}

/// Returns integer corners of the blocks, without overlap, within `low` to `high`; `None` if no
/// solution was found.
pub(super) fn apart(blocks: &[Block], low: [f64; 2], high: [f64; 2]) -> Option<Vec<[f64; 2]>> {
    let mut graph = Graph { blocks, low, high, below: [Vec::new(), Vec::new()] };
    let (mut known, mut turned) = (HashSet::new(), HashSet::new());
    for _ in 0..ROUNDS {
        // A chain that is too long is broken, which may make one along the other axis.
        while let Some((axis, chain)) =
            [0, 1].into_iter().find_map(|axis| Some((axis, graph.latest(axis).err()?)))
        {
            let gap = |pair: &[u32; 2]| graph.gap(*pair, 1 - axis);
            let may = chain.into_iter().filter(|pair| !turned.contains(pair));
            let pair = may.max_by(|a, b| gap(a).total_cmp(&gap(b)).then(b.cmp(a)))?;
            turned.insert(pair);
            turned.insert([pair[1], pair[0]]);
            graph.below[axis].retain(|below| below.pair != pair);
            graph.add(pair, 1 - axis);
        }
        let mut at = vec![[0.0; 2]; blocks.len()];
        for axis in [0, 1] {
            graph.solve(axis, &mut at)?;
        }
        let found = graph.overlapping(&at, &known);
        if found.is_empty() {
            return Some(at);
        }
        for pair in found {
            known.insert(pair);
            let axis = if graph.gap(pair, 0) >= graph.gap(pair, 1) { 0 } else { 1 };
            graph.add(pair, axis);
        }
    }
    None
}

struct Graph<'a> {
    blocks: &'a [Block],
    low: [f64; 2],
    high: [f64; 2],
    below: [Vec<Below>; 2],
}

impl Graph<'_> {
    /// Returns the pair with the one first that has its centre below the other's.
    fn ordered(&self, [i, j]: [u32; 2], axis: usize) -> [u32; 2] {
        let centre = |i: u32| {
            let block = &self.blocks[i as usize];
            block.wish[axis] + 0.5 * block.size[axis]
        };
        if centre(i).total_cmp(&centre(j)).then(i.cmp(&j)).is_le() { [i, j] } else { [j, i] }
    }

    /// Least distance of the corners of two blocks of which the first is below.
    fn distance(&self, [i, j]: [u32; 2], axis: usize) -> f64 {
        let [a, b] = [i, j].map(|i| &self.blocks[i as usize]);
        let channel = a.channel[axis].min(b.channel[axis]);
        a.size[axis] + a.halo[axis][1].max(b.halo[axis][0]).max(channel)
    }

    /// Returns by how much the wishes of two are farther apart than they need to be; negative where
    /// they overlap.
    fn gap(&self, pair: [u32; 2], axis: usize) -> f64 {
        let [i, j] = self.ordered(pair, axis);
        let wish = |i: u32| self.blocks[i as usize].wish[axis];
        wish(j) - wish(i) - self.distance([i, j], axis)
    }

    fn add(&mut self, pair: [u32; 2], axis: usize) {
        let pair = self.ordered(pair, axis);
        let distance = self.distance(pair, axis);
        self.below[axis].push(Below { pair, distance, push: 0.0 });
    }

    /// Pairs that overlap, one of them moving, and are not known.
    fn overlapping(&self, at: &[[f64; 2]], known: &HashSet<[u32; 2]>) -> Vec<[u32; 2]> {
        let mut order: Vec<u32> = (0..at.len() as u32).collect();
        let left = |i: u32| at[i as usize][0];
        order.sort_by(|&a, &b| left(a).total_cmp(&left(b)).then(a.cmp(&b)));
        let widest = self
            .blocks
            .iter()
            .map(|b| b.size[0] + b.halo[0][0].max(0.0) + b.halo[0][1].max(0.0) + b.channel[0])
            .fold(0.0, f64::max);
        let mut found = Vec::new();
        for (k, &i) in order.iter().enumerate() {
            for &j in order[k + 1..].iter().take_while(|&&j| left(j) - left(i) < 2.0 * widest) {
                let still = [i, j].iter().all(|&i| self.blocks[i as usize].weight.is_none());
                let overlap = [0, 1].iter().all(|&axis| {
                    let gap = |a: u32, b: u32| {
                        at[b as usize][axis] - at[a as usize][axis] - self.distance([a, b], axis)
                    };
                    gap(i, j).max(gap(j, i)) < -NEAR
                });
                let pair = [i.min(j), i.max(j)];
                if overlap && !still && !known.contains(&pair) {
                    found.push(pair);
                }
            }
        }
        found
    }

    /// Puts all blocks where the constraints along an axis let them, if there is room.
    fn solve(&mut self, axis: usize, at: &mut [[f64; 2]]) -> Option<()> {
        let latest = self.latest(axis).ok()?;
        let (low, high) = (self.low[axis], self.high[axis]);
        let blocks = self.blocks;
        let ease = |i: usize| blocks[i].weight.map_or(0.0, |weight| 1.0 / weight);
        let mut v: Vec<f64> = blocks.iter().map(|block| block.wish[axis]).collect();
        for below in &self.below[axis] {
            let [i, j] = below.pair.map(|i| i as usize);
            v[i] -= ease(i) * below.push;
            v[j] += ease(j) * below.push;
        }
        let mut walls = vec![[0.0; 2]; blocks.len()];
        for _ in 0..SWEEPS {
            let mut worst = 0.0_f64;
            for below in &mut self.below[axis] {
                let [i, j] = below.pair.map(|i| i as usize);
                let over = below.distance - (v[j] - v[i]);
                let push = (below.push + over / (ease(i) + ease(j))).max(0.0);
                let more = push - below.push;
                below.push = push;
                v[i] -= ease(i) * more;
                v[j] += ease(j) * more;
                worst = worst.max(over);
            }
            for (i, block) in blocks.iter().enumerate().filter(|(_, b)| b.weight.is_some()) {
                for (side, sign) in [1.0, -1.0].into_iter().enumerate() {
                    let wall = if side == 0 { low } else { high - block.size[axis] };
                    let push = (walls[i][side] + sign * (wall - v[i])).max(0.0);
                    v[i] += sign * (push - walls[i][side]);
                    walls[i][side] = push;
                }
            }
            if worst < NEAR {
                break;
            }
        }
        // Round, then remove remaining overlaps from below upwards.
        let mut least = vec![low; blocks.len()];
        let above = self.above(axis);
        for i in self.order(axis) {
            let whole = v[i].round().max(least[i]).min(latest[i]);
            at[i][axis] = if blocks[i].weight.is_some() { whole } else { blocks[i].wish[axis] };
            for below in &above[i] {
                let j = below.pair[1] as usize;
                least[j] = least[j].max(at[i][axis] + below.distance);
            }
        }
        Some(())
    }

    /// Blocks by their centres.
    fn order(&self, axis: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.blocks.len()).collect();
        let centre = |i: usize| self.blocks[i].wish[axis] + 0.5 * self.blocks[i].size[axis];
        order.sort_by(|&a, &b| centre(a).total_cmp(&centre(b)).then(a.cmp(&b)));
        order
    }

    /// Returns the constraints in which each block is the first.
    fn above(&self, axis: usize) -> Vec<Vec<Below>> {
        let mut above = vec![Vec::new(); self.blocks.len()];
        self.below[axis].iter().for_each(|below| above[below.pair[0] as usize].push(*below));
        above
    }

    /// Returns where each block may be at most; the pairs of a chain for which there is no room
    /// where there is one.
    fn latest(&self, axis: usize) -> Result<Vec<f64>, Vec<[u32; 2]>> {
        let (order, above) = (self.order(axis), self.above(axis));
        let top = |i: usize| match self.blocks[i].weight {
            Some(_) => self.high[axis] - self.blocks[i].size[axis],
            None => self.blocks[i].wish[axis],
        };
        // The next of the chain that decides.
        let mut next: Vec<Option<[u32; 2]>> = vec![None; self.blocks.len()];
        let mut latest: Vec<f64> = (0..self.blocks.len()).map(top).collect();
        for &i in order.iter().rev() {
            for below in &above[i] {
                let most = latest[below.pair[1] as usize] - below.distance;
                if most < latest[i] {
                    (latest[i], next[i]) = (most, Some(below.pair));
                }
            }
            let least = match self.blocks[i].weight {
                Some(_) => self.low[axis],
                None => self.blocks[i].wish[axis],
            };
            if latest[i] < least {
                let mut chain = Vec::new();
                let mut at = next[i];
                while let Some(pair) = at {
                    chain.push(pair);
                    at = next[pair[1] as usize];
                }
                return Err(chain);
            }
        }
        Ok(latest)
    }
}

#[cfg(test)]
mod tests;
