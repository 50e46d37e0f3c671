//! The order by bin: a counting sort, and the data of each body in it.

use super::{BEFORE, BLOCK, Bins, Body, Extent, Footprint, Inputs, PATCH, TILE};
use crate::cpu::matrix::SharedMatrix;
use crate::cpu::simd::vectorised;
use crate::parallel::{self, chunks, chunks_mut};
use crate::real::Real;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::Relaxed};

/// Slots of a chunk at most.
const CHUNK: usize = 8192;
/// Quarters of a tile's edge: cells of the sort, so that bodies that follow one
/// another lie near one another.
const QUARTERS: usize = 4;
/// Bodies that one task sorts, at least; and for each cell of the sort, so that the tasks' counts
/// take little time and memory.
const SORTED: usize = 1 << 13;
const SORTED_PER_CELL: usize = 4;
/// Bodies of a task that only moves numbers.
pub(crate) const MOVED: usize = 4096;
/// An order is due when one body in so many has left the surroundings of its tile.
const RESORT_SHARE: usize = 128;
/// How far from its tile a body's corner may lie: further than this its footprint
/// is likely not to fit the patch.
const NEAR: f64 = (BEFORE - 1) as f64;

/// Consecutive slots of one tile.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chunk {
    first: u32,
    count: u32,
    pub(crate) region: u32,
    /// The tile, along x and y.
    pub(crate) tile: [u32; 2],
}

impl Chunk {
    pub(crate) fn slots(&self) -> Range<usize> {
        self.first as usize..(self.first + self.count) as usize
    }

    /// Returns the first column and row of the patch, which may lie before the map.
    pub(crate) fn corner(&self) -> [i64; 2] {
        self.tile.map(|t| t as i64 * TILE as i64 - BEFORE as i64)
    }

    /// Returns the bins of a map of `n` that the patch has along axis `axis`.
    pub(crate) fn on_map(&self, axis: usize, n: usize) -> Range<usize> {
        let start = self.corner()[axis];
        start.max(0) as usize..n.min((start + PATCH as i64) as usize)
    }
}

/// Bodies of one kind in an order by bin. The place of a body among its kind is its index.
#[derive(Debug)]
pub(crate) struct Order {
    bins: Bins,
    /// By index.
    bodies: Vec<Body>,
    /// Fence regions, and the region of every body by index; empty where there is one.
    regions: usize,
    region: Vec<u32>,
    /// By slot: the body's index. Written by several tasks, each its own entries.
    body: Vec<AtomicU32>,
    /// By index: the slot.
    slot: Vec<u32>,
    /// By slot: lower-left corners, bin units, and sizes and weights as in [`Body`].
    x: Vec<f64>,
    y: Vec<f64>,
    width: Vec<f64>,
    height: Vec<f64>,
    ratio: Vec<f64>,
    own: Vec<f64>,
    /// How far beyond the die an edge may lie by rounding, bins along x and y.
    rounding: [f64; 2],
    /// By region, by tile, and within it by slot.
    chunks: Vec<Chunk>,
    /// The first chunk of every column of tiles of every region, and their number at the end.
    column_chunk: Vec<u32>,
    /// Bodies per cell of the sort, for every task, then where each task puts them.
    counts: Vec<u32>,
}

impl Order {
    /// Makes the order of bodies in this number of regions. `region` has the region of each body,
    /// or is empty if there is one region.
    pub(super) fn new(bodies: Vec<Body>, region: &[u32], regions: usize, bins: Bins) -> Self {
        let n = bodies.len();
        assert!(regions == 1 || region.len() == n, "a region for every body");
        let column = || vec![0.0; n];
        let mut order = Order {
            body: parallel::map(n, |_| AtomicU32::new(0)),
            slot: vec![0; n],
            x: column(),
            y: column(),
            width: column(),
            height: column(),
            ratio: column(),
            own: column(),
            rounding: [0.0; 2],
            chunks: Vec::new(),
            column_chunk: vec![0; regions * bins.nx.div_ceil(TILE) + 1],
            counts: Vec::new(),
            bodies,
            regions,
            region: if regions > 1 { region.to_vec() } else { Vec::new() },
            bins,
        };
        order.chunks.reserve_exact(order.most_chunks());
        order.counts = vec![0; n.div_ceil(order.sorted_at_once()) * order.cells()];
        order
    }

    pub(crate) fn len(&self) -> usize {
        self.bodies.len()
    }

    pub(super) fn bodies(&self) -> &[Body] {
        &self.bodies
    }

    /// Chunks there may ever be.
    pub(crate) fn most_chunks(&self) -> usize {
        let [tx, ty] = self.tiles();
        (self.regions * tx * ty).min(self.len()) + self.len() / CHUNK
    }

    /// Whether positions were ever given.
    pub(crate) fn has_positions(&self) -> bool {
        self.len() == 0 || !self.chunks.is_empty()
    }

    pub(crate) fn chunks(&self) -> &[Chunk] {
        &self.chunks
    }

    /// Slots that a chunk has at most.
    pub(crate) const MOST_SLOTS: usize = CHUNK;

    /// Returns the chunks of a region, by their place in [`Order::chunks`].
    pub(crate) fn chunks_of(&self, region: usize) -> Range<usize> {
        let [tiles_x, _] = self.tiles();
        let at = |region: usize| self.column_chunk[region * tiles_x] as usize;
        at(region)..at(region + 1)
    }

    /// Returns the chunks whose patches have a column among `columns`.
    pub(crate) fn chunks_over(&self, region: usize, columns: Range<usize>) -> Range<usize> {
        let [tiles_x, _] = self.tiles();
        let first = (columns.start + BEFORE + 1).saturating_sub(PATCH).div_ceil(TILE);
        let end = ((columns.end - 1 + BEFORE) / TILE + 1).min(tiles_x);
        let of_columns = &self.column_chunk[region * tiles_x..];
        of_columns[first.min(end)] as usize..of_columns[end] as usize
    }

    /// By index: the slot of every body.
    pub(crate) fn slots(&self) -> &[u32] {
        &self.slot
    }

    /// Returns the inputs that footprints of `slots` are computed from.
    pub(crate) fn inputs(&self, slots: Range<usize>, extent: Extent) -> Inputs<'_> {
        Inputs {
            x: &self.x[slots.clone()],
            y: &self.y[slots.clone()],
            width: &self.width[slots.clone()],
            height: &self.height[slots.clone()],
            weight: &self.weights(extent)[slots],
        }
    }

    /// Returns the bins that the body in `slot` covers: `None` outside the die.
    #[inline]
    pub(crate) fn footprint(&self, slot: usize, extent: Extent) -> Option<Footprint> {
        let least = extent.least();
        let x = self.bins.x.covered(self.x[slot], self.width[slot], least)?;
        let y = self.bins.y.covered(self.y[slot], self.height[slot], least)?;
        Some(Footprint { x, y, weight: self.weights(extent)[slot] })
    }

    /// Returns the area of the bodies of every region, at their exact sizes, in units of 1/`scale`
    /// bins.
    pub(crate) fn areas(&self, scale: f64) -> Vec<u128> {
        let region = |i: usize| self.region.get(i).map_or(0, |&region| region as usize);
        let blocks = parallel::map_blocks(self.len(), MOVED, |bodies| {
            let mut areas = vec![0; self.regions];
            for i in bodies {
                let body = self.bodies[i];
                areas[region(i)] += (body.width * body.height * scale) as u128;
            }
            areas
        });
        (0..self.regions).map(|region| blocks.iter().map(|areas| areas[region]).sum()).collect()
    }

    /// Returns the area of the bodies in `slots` that lies off the die, at their exact sizes, in
    /// units of 1/`scale` bins. A body counts as on the die where rounding alone may have moved its
    /// edge beyond it. One without a position is off the die.
    pub(crate) fn off_die(&self, slots: Range<usize>, scale: f64) -> u128 {
        let [slack_x, slack_y] = self.rounding;
        let [most_x, most_y] = [self.bins.nx as f64, self.bins.ny as f64];
        let within = |low: f64, size: f64, slack: f64, most: f64| {
            (low >= -slack) & (low + size <= most + slack)
        };
        let is_on = |i: usize| {
            within(self.x[i], self.width[i], slack_x, most_x)
                & within(self.y[i], self.height[i], slack_y, most_y)
        };
        // No exit within the slots, so that the usual case, all on the die, is vectorised.
        if slots.clone().fold(true, |all, i| all & is_on(i)) {
            return 0;
        }
        let inside = |low: f64, size: f64, most: f64| match low + size > 0.0 && low < most {
            true => ((low + size).min(most) - low.max(0.0)).min(size),
            false => 0.0,
        };
        let off = slots.filter(|&i| !is_on(i)).map(|i| {
            let (width, height) = (self.width[i], self.height[i]);
            let on = inside(self.x[i], width, most_x) * inside(self.y[i], height, most_y);
            ((width * height - on) * scale) as u128
        });
        off.sum()
    }

    fn weights(&self, extent: Extent) -> &[f64] {
        match extent {
            Extent::Smoothed => &self.ratio,
            Extent::Exact => &self.own,
        }
    }

    /// Sets the positions of all bodies, `at` their lower-left corners in layout units,
    /// and makes a new order when too many have left the surroundings of their tiles.
    pub(crate) fn set_positions<T: Real>(&mut self, at: impl Fn(usize) -> [T; 2] + Copy + Sync) {
        if self.len() == 0 {
            return;
        }
        self.rounding = self.bins.rounding.map(|rounding| rounding * T::epsilon().widen());
        if self.chunks.is_empty() {
            self.sort(at);
        }
        if self.take(at) > self.len() / RESORT_SHARE {
            self.sort(at);
            self.take(at);
        }
    }

    /// Puts positions in slots; returns how many bodies are far from their tiles.
    fn take<T: Real>(&mut self, at: impl Fn(usize) -> [T; 2] + Sync) -> usize {
        let (bins, body, n) = (self.bins, &self.body, self.len());
        let to = [&mut self.x, &mut self.y].map(|to| SharedMatrix::new(to, n));
        let far = |chunk: &Chunk| {
            let [(xl, xh), (yl, yh)] = chunk.tile.map(|t| {
                let start = (t as usize * TILE) as f64;
                (start - NEAR, start + TILE as f64 + NEAR)
            });
            let (slots, [mx, my]) = (chunk.slots(), [bins.nx as f64, bins.ny as f64]);
            // SAFETY: every slot is in one chunk, which is one task.
            let [mut to_x, mut to_y] =
                to.each_ref().map(|to| unsafe { to.block(0..1, slots.clone()) });
            let (to_x, to_y, body) = (to_x.row(0), to_y.row(0), &body[slots]);
            vectorised(
                #[inline(always)]
                || {
                    for ((to_x, to_y), body) in to_x.iter_mut().zip(&mut *to_y).zip(body) {
                        let [x, y] = at(body.load(Relaxed) as usize);
                        *to_x = bins.x.position(x.widen());
                        *to_y = bins.y.position(y.widen());
                    }
                    // Bodies outside the die add nothing, or are in the outermost tiles.
                    let far = to_x.iter().zip(&*to_y).map(|(&x, &y)| {
                        let off = |v: f64, n: f64, low: f64, high: f64| {
                            (v < low && low > 0.0) | (v >= high && high < n)
                        };
                        u64::from(off(x, mx, xl, xh) | off(y, my, yl, yh))
                    });
                    far.sum::<u64>() as usize
                },
            )
        };
        let count = AtomicUsize::new(0);
        parallel::each(self.chunks.len(), &|chunk| {
            count.fetch_add(far(&self.chunks[chunk]), Relaxed);
        });
        count.into_inner()
    }

    /// Returns the tiles along x and y.
    fn tiles(&self) -> [usize; 2] {
        [self.bins.nx.div_ceil(TILE), self.bins.ny.div_ceil(TILE)]
    }

    /// Returns the number of cells of the sort.
    fn cells(&self) -> usize {
        let [tx, ty] = self.tiles();
        self.regions * tx * ty * QUARTERS * QUARTERS
    }

    /// Returns the number of bodies that one task sorts.
    fn sorted_at_once(&self) -> usize {
        SORTED.max(SORTED_PER_CELL * self.cells())
    }

    fn sort<T: Real>(&mut self, at: impl Fn(usize) -> [T; 2] + Sync) {
        let (bins, [tiles_x, tiles_y]) = (self.bins, self.tiles());
        let region = std::mem::take(&mut self.region);
        let (cells, at_once) = (self.cells(), self.sorted_at_once());
        let cell = |i: usize| {
            const QUARTER: usize = TILE / QUARTERS;
            // A NaN counts as zero.
            let quarter = |at: f64, n: usize| (at.max(0.0) as usize).min(n - 1) / QUARTER;
            let [x, y] = at(i);
            let u = quarter(bins.x.position(x.widen()), bins.nx);
            let v = quarter(bins.y.position(y.widen()), bins.ny);
            let column = match region.is_empty() {
                true => u / QUARTERS,
                false => region[i] as usize * tiles_x + u / QUARTERS,
            };
            let tile = column * tiles_y + v / QUARTERS;
            (tile * QUARTERS + u % QUARTERS) * QUARTERS + v % QUARTERS
        };
        let bodies = self.len();
        let range = |task: usize| task * at_once..bodies.min((task + 1) * at_once);
        parallel::for_each(chunks_mut(&mut self.counts, cells), |task, counts| {
            counts.fill(0);
            range(task).for_each(|i| counts[cell(i)] += 1);
        });
        self.lay_out();
        let body = &self.body;
        let tasks = (chunks_mut(&mut self.counts, cells), chunks_mut(&mut self.slot, at_once));
        parallel::for_each(tasks, |task, (next, slots)| {
            for (i, slot) in range(task).zip(slots) {
                let free = &mut next[cell(i)];
                body[*free as usize].store(i as u32, Relaxed);
                *slot = *free;
                *free += 1;
            }
        });
        self.region = region;
        self.describe();
    }

    /// Turns counts into slots, and cuts the slots of every tile into chunks.
    fn lay_out(&mut self) {
        const PER_TILE: usize = QUARTERS * QUARTERS;
        let (cells, [tiles_x, tiles_y]) = (self.cells(), self.tiles());
        let mut slot = 0;
        self.chunks.clear();
        let columns = self.regions * tiles_x;
        for tile in 0..columns * tiles_y {
            let tile_start = slot;
            for cell in tile * PER_TILE..(tile + 1) * PER_TILE {
                for count in self.counts[cell..].iter_mut().step_by(cells) {
                    slot += std::mem::replace(count, slot);
                }
            }
            if tile % tiles_y == 0 {
                self.column_chunk[tile / tiles_y] = self.chunks.len() as u32;
            }
            let of_tile = slot - tile_start;
            let parts = of_tile.div_ceil(CHUNK as u32);
            for part in 0..parts {
                let start =
                    |part: u32| (u64::from(of_tile) * u64::from(part) / u64::from(parts)) as u32;
                self.chunks.push(Chunk {
                    first: tile_start + start(part),
                    count: start(part + 1) - start(part),
                    region: (tile / tiles_y / tiles_x) as u32,
                    tile: [tile / tiles_y % tiles_x, tile % tiles_y].map(|t| t as u32),
                });
            }
        }
        self.column_chunk[columns] = self.chunks.len() as u32;
    }

    /// Puts sizes and weights in slots.
    fn describe(&mut self) {
        let (bodies, body) = (&self.bodies, &self.body);
        let columns = (
            chunks_mut(&mut self.width, MOVED),
            chunks_mut(&mut self.height, MOVED),
            chunks_mut(&mut self.ratio, MOVED),
            chunks_mut(&mut self.own, MOVED),
            chunks(body, MOVED),
        );
        parallel::for_each(columns, |_, (width, height, ratio, own, body)| {
            for (k, body) in body.iter().enumerate() {
                let body = bodies[body.load(Relaxed) as usize];
                (width[k], height[k]) = (body.width, body.height);
                (ratio[k], own[k]) = (body.ratio, body.own);
            }
        });
    }
}

/// Runs over `slots` in blocks of [`BLOCK`] or fewer.
pub(crate) fn blocks(slots: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let end = slots.end;
    slots.step_by(BLOCK).map(move |first| first..end.min(first + BLOCK))
}
