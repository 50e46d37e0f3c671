//! Places cells in rows, each in the row of least cost. The cells of a segment are as close as
//! possible to their desired positions (P. Spindler, U. Schlichtmann, F. M. Johannes, "Abacus: Fast
//! Legalization of Standard Cell Circuits with Minimal Movement", ISPD 2008). Lengths are in sites.
//!
//! Cells are placed in the order of their left edges and have this order in a segment. Neighbours
//! that would overlap form a cluster, whose position minimises Σ (x − wish)² over its cells. A
//! multi-row cell is placed in its turn, right of the cells in each of its rows. It ends their
//! segments, because it does not move any more (as C.-H. Wang et al., "An Effective Legalization
//! Algorithm for Mixed-Cell-Height Standard Cells", ASP-DAC 2017).

use super::outwards;
use super::shelf::Wish;
use crate::rows::{Access, Run};

/// Neighbours in a segment without space between them.
#[derive(Clone, Copy, Debug)]
struct Cluster {
    /// Left edge, not rounded.
    x: f64,
    /// Number of cells.
    count: f64,
    /// Σ of the left edges that its cells ask of the whole cluster.
    sum: f64,
    width: i32,
    /// The first of its cells, by its place in the segment.
    first: u32,
}

/// A run of free sites of a row, and the cells put there.
#[derive(Clone, Debug)]
pub(super) struct Segment {
    run: Run,
    used: i32,
    clusters: Vec<Cluster>,
    cells: Vec<u32>,
}

impl Segment {
    pub(super) fn new(run: Run) -> Self {
        Segment { run, used: 0, clusters: Vec::new(), cells: Vec::new() }
    }

    /// Whether a cell of this width fits.
    fn has_room(&self, width: i32) -> bool {
        self.run.end - self.run.start - self.used >= width
    }

    fn clamped(&self, x: f64, width: i32) -> f64 {
        x.min(f64::from(self.run.end - width)).max(f64::from(self.run.start))
    }

    /// Returns where a cell would lie that is put at the end, and how much farther the others would
    /// be from where they want to be, all together: those of a cluster are taken to want to be at
    /// its mean.
    #[inline]
    fn tried(&self, wish: f64, width: i32) -> (f64, f64) {
        let (mut sum, mut count, mut whole) = (wish, 1.0, width);
        let (mut x, mut farther) = (self.clamped(wish, width), 0.0);
        for before in self.clusters.iter().rev() {
            if before.x + f64::from(before.width) <= x {
                break;
            }
            sum = before.sum + sum - count * f64::from(before.width);
            count += before.count;
            whole += before.width;
            x = self.clamped(sum / count, whole);
            let mean = before.sum / before.count;
            farther += before.count * ((x - mean).abs() - (before.x - mean).abs());
        }
        (x + f64::from(whole - width), farther)
    }

    /// Puts a cell at the end.
    fn put(&mut self, cell: u32, wish: f64, width: i32) {
        let first = self.cells.len() as u32;
        self.push(Cluster { x: wish, count: 1.0, sum: wish, width, first });
        self.cells.push(cell);
        self.used += width;
    }

    /// Adds a cluster at the end, and joins it with those that it would overlap.
    fn push(&mut self, mut last: Cluster) {
        last.x = self.clamped(last.sum / last.count, last.width);
        while let Some(before) = self.clusters.last() {
            if before.x + f64::from(before.width) <= last.x {
                break;
            }
            let width = before.width + last.width;
            let sum = before.sum + last.sum - last.count * f64::from(before.width);
            let count = before.count + last.count;
            let x = self.clamped(sum / count, width);
            last = Cluster { x, count, sum, width, first: before.first };
            self.clusters.pop();
        }
        self.clusters.push(last);
    }

    /// Returns where a cell of several rows would lie at the end, if it may not lie left of
    /// `least`.
    fn tried_from(&self, least: f64, wish: f64, width: i32) -> f64 {
        self.tried(wish, width).0.max(least).ceil()
    }

    /// Ends the run at a cell of several rows that takes `width` sites from `x` on, and gives the
    /// rest behind it. Cells that stand farther right are pushed left: there is room for them.
    fn split(&mut self, x: i32, width: i32) -> Segment {
        let rest = Segment::new(Run { start: x + width, ..self.run });
        self.run.end = x;
        if let Some(last) = self.clusters.pop() {
            self.push(last);
        }
        rest
    }

    /// Gives `place` the first site of every cell, from left to right. Clusters are apart by whole
    /// cells, so that rounding each keeps them apart.
    pub(super) fn placed(&self, width: impl Fn(u32) -> i32, mut place: impl FnMut(u32, i32)) {
        for (k, cluster) in self.clusters.iter().enumerate() {
            let end = self.clusters.get(k + 1).map_or(self.cells.len(), |next| next.first as usize);
            let mut x = cluster.x.round() as i32;
            for &cell in &self.cells[cluster.first as usize..end] {
                place(cell, x);
                x += width(cell);
            }
        }
    }
}

/// Some rows of a lattice, with the cells placed in them.
pub(super) struct Stripe {
    /// The first of its rows.
    pub(super) first: usize,
    /// Segments by row.
    pub(super) rows: Vec<Vec<Segment>>,
    /// Height of a row, in sites.
    pub(super) row_height: f64,
    /// Cells of several rows: each with its lowest row and first site.
    pub(super) high: Vec<(u32, u32, i32)>,
}

/// A row that a cell may stand on, as a search for the best needs it.
#[derive(Clone, Copy)]
pub(super) struct RowAt {
    /// Bottom edge, in sites.
    pub(super) y: f64,
    pub(super) row: u32,
}

/// A cell and its wishes.
#[derive(Clone, Copy)]
pub(super) struct Ask {
    pub(super) cell: u32,
    pub(super) width: i32,
    /// Rows that it takes.
    pub(super) rows: u32,
    pub(super) access: Access,
    pub(super) wish: Wish,
}

/// The weight of the displacement of the cells that a cell pushes beside its own: without it wires
/// are some 0.5 % of HPWL longer, with 1 as much again.
const PUSHED: f64 = 0.2;

/// Returns the rows, ascending, from a height outwards, each with its distance.
fn nearest(rows: &[RowAt], y: f64) -> impl Iterator<Item = (RowAt, f64)> + '_ {
    let above = rows.partition_point(|at| at.y < y);
    let distances = outwards(above, rows.len(), move |n| (rows[n].y - y).abs());
    distances.map(|(n, dy)| (rows[n], dy))
}

impl Stripe {
    /// Places a cell at the least cost on one of those of `rows`, ascending, that are in this
    /// stripe. Returns whether it fits anywhere.
    pub(super) fn put(&mut self, ask: &Ask, rows: &[RowAt]) -> bool {
        let end = (self.first + self.rows.len() + 1).saturating_sub(ask.rows as usize);
        let of_stripe = rows.partition_point(|at| (at.row as usize) < self.first)
            ..rows.partition_point(|at| (at.row as usize) < end);
        let Some(rows) = rows.get(of_stripe) else { return false };
        if ask.rows == 1 {
            let Some((row, segment)) = self.best(ask, rows) else { return false };
            self.rows[row][segment].put(ask.cell, ask.wish.x, ask.width);
            return true;
        }
        let Some((row, x)) = self.best_of_several(ask, rows) else { return false };
        for segments in &mut self.rows[row..row + ask.rows as usize] {
            let at = segments.partition_point(|s| s.run.start <= x) - 1;
            let rest = segments[at].split(x, ask.width);
            segments.insert(at + 1, rest);
        }
        self.high.push((ask.cell, (self.first + row) as u32, x));
        true
    }

    /// Row and segment for a cell of one row.
    fn best(&self, ask: &Ask, rows: &[RowAt]) -> Option<(usize, usize)> {
        let Ask { width, access, wish, .. } = *ask;
        // A cost is at least the cell's own displacement. One that pushes fewer others may be a row
        // farther.
        let (mut best, mut least, mut nearest_own) = (None, f64::INFINITY, f64::INFINITY);
        for (at, dy) in nearest(rows, wish.y) {
            if dy >= least.min(nearest_own + self.row_height) {
                break;
            }
            let row = at.row as usize - self.first;
            let segments = &self.rows[row];
            let mut look = |k: usize| {
                let segment = &segments[k];
                let Run { start, end, fence } = segment.run;
                let x = wish.x.min(f64::from(end - width)).max(f64::from(start));
                if (x - wish.x).abs() + dy >= least.min(nearest_own + self.row_height) {
                    return false;
                }
                if fence == access.fence && segment.has_room(width) {
                    let (x, farther) = segment.tried(wish.x, width);
                    let own = (x - wish.x).abs() + dy;
                    nearest_own = nearest_own.min(own);
                    let cost = own + PUSHED * farther;
                    if cost < least {
                        (best, least) = (Some((row, k)), cost);
                    }
                }
                true
            };
            let after = segments.partition_point(|s| f64::from(s.run.start) <= wish.x);
            let _ = (0..after).rev().all(&mut look);
            let _ = (after..segments.len()).all(&mut look);
        }
        best
    }

    /// Returns the lowest row and the first site for a cell of several rows.
    fn best_of_several(&self, ask: &Ask, rows: &[RowAt]) -> Option<(usize, i32)> {
        let Ask { width, wish, .. } = *ask;
        let (mut best, mut least) = (None, f64::INFINITY);
        for (at, dy) in nearest(rows, wish.y) {
            if dy >= least {
                break;
            }
            let row = at.row as usize - self.first;
            let here = &self.rows[row..row + ask.rows as usize];
            let segments = &here[0];
            let mut look = |k: usize| {
                let Run { start, end, fence } = segments[k].run;
                let x = wish.x.min(f64::from(end - width)).max(f64::from(start));
                if (x - wish.x).abs() + dy >= least {
                    return false;
                }
                if fence == ask.access.fence
                    && let Some(x) = Self::first_site(here, k, ask)
                {
                    let cost = (f64::from(x) - wish.x).abs() + dy;
                    if cost < least {
                        (best, least) = (Some((row, x)), cost);
                    }
                }
                true
            };
            let after = segments.partition_point(|s| f64::from(s.run.start) <= wish.x);
            let _ = (0..after).rev().all(&mut look);
            let _ = (after..segments.len()).all(&mut look);
        }
        best
    }

    /// Returns the first site of a cell of several rows that begins in segment `k` of the lowest:
    /// at the end of the cells in each row, as far right as the one asks that has least room.
    fn first_site(rows: &[Vec<Segment>], k: usize, ask: &Ask) -> Option<i32> {
        let (low, high) = (rows[0][k].run.start, rows[0][k].run.end);
        let mut x = f64::from(low);
        // Every round goes right, by a site at least.
        for _ in 0..8 {
            let before = x;
            for segments in rows {
                let from = if before > f64::from(low) { x } else { ask.wish.x.max(x) };
                let at = segments
                    .partition_point(|s| f64::from(s.run.start) <= from.min(f64::from(high)));
                let segment = segments.get(at.checked_sub(1)?)?;
                if segment.run.fence != ask.access.fence || !segment.has_room(ask.width) {
                    return None;
                }
                x = segment.tried_from(x, ask.wish.x, ask.width);
                if x + f64::from(ask.width) > f64::from(segment.run.end) {
                    return None;
                }
            }
            if x == before {
                let x = x as i32;
                let fits = rows.iter().all(|segments| {
                    let at = segments.partition_point(|s| s.run.start <= x);
                    at > 0 && {
                        let Segment { run, used, .. } = &segments[at - 1];
                        run.fence == ask.access.fence
                            && run.start + used <= x
                            && x + ask.width <= run.end
                    }
                });
                return (fits && x >= low && x + ask.width <= high).then_some(x);
            }
        }
        None
    }
}
