//! Reordering of neighbours in a row.

use super::state::{Change, Spot, State};
use super::wires::WindowNets;
use crate::parallel;
use crate::rows::Span;

/// Neighbours that are tried in every order.
pub(super) const WINDOW: usize = 4;
/// Largest relative rounding error of a bound.
const ROUNDING: f64 = 1e-12;
/// Number of sets of such neighbours.
const SETS: usize = 1 << WINDOW;

/// Neighbours: at most [`WINDOW`] cells from `first` on, in the band at the bottom of a row.
#[derive(Clone, Copy)]
pub(super) struct Window {
    row: u32,
    first: u32,
}

/// Returns windows that together hold all neighbours of all rows, from the cell at index `offset`
/// of each row on.
pub(super) fn windows(state: &State, offset: usize) -> Vec<Window> {
    let of_row = |k: usize| {
        let row = state.searched.start + k;
        let cells = state.bands[state.rows[row].band as usize].cells.len();
        let first = (offset..cells).step_by(WINDOW);
        first.map(|first| Window { row: row as u32, first: first as u32 }).collect::<Vec<_>>()
    };
    parallel::concat(&parallel::map(state.searched.len(), of_row))
}

/// Adds to `changes` the best order of the cells of a window, if it differs from the present one.
/// The gaps between the cells stay in order.
pub(super) fn propose(
    state: &State,
    window: Window,
    nets: &mut WindowNets,
    changes: &mut Vec<Change>,
) {
    let row = &state.rows[window.row as usize];
    let standing = &state.bands[row.band as usize].cells[window.first as usize..];
    let standing = &standing[..standing.len().min(WINDOW)];
    let count = standing.len();
    let here =
        |cell: u32| state.cells[cell as usize].spot.row == window.row && state.is_single(cell);
    let (Some(first), Some(last)) = (standing.first(), standing.last()) else { return };
    let all = Span { left: first.span.left, right: last.span.right };
    let of_first = &state.cells[first.cell as usize];
    // All cells stand on one segment, and so in one fence.
    if !standing.iter().all(|s| here(s.cell))
        || !state.holds(window.row as usize, all, of_first.access)
    {
        return;
    }
    let mut cells = [0; WINDOW];
    for (cell, standing) in cells.iter_mut().zip(standing) {
        *cell = standing.cell;
    }
    let cells = &cells[..count];
    state.wires.leave_out_together(cells, nets);
    // By the set of the cells to the left of the next cell, the site of that next cell.
    let mut sites = [all.left; SETS];
    for set in 1..1usize << count {
        let (last, gap) = (set.trailing_zeros() as usize, set.count_ones() as usize);
        let gap = standing.get(gap).map_or(0, |next| next.span.left - standing[gap - 1].span.right);
        sites[set] = sites[set & (set - 1)] + standing[last].span.width() + gap;
    }
    let everything = (1 << count) - 1;
    let mut orders = Orders {
        count,
        nets,
        x: [[0.0; SETS]; WINDOW],
        lengths: [[0.0; SETS]; WINDOW],
        least: [0.0; SETS],
        order: [0; WINDOW],
        centres: [0.0; WINDOW],
        best: f64::INFINITY,
        found: None,
    };
    let edges = sites.map(|site| row.left(site));
    let centre = |k: usize| state.cells[cells.get(k).map_or(0, |cell| *cell as usize)].centre;
    orders.measure(&edges, std::array::from_fn(centre));
    let now: f64 = (0..count).map(|k| orders.lengths[k][(1 << k) - 1]).sum();
    let centres: [f64; WINDOW] = std::array::from_fn(|k| orders.x[k][(1 << k) - 1]);
    orders.best = now + orders.nets.shared_length(&centres) - state.least_gain;
    orders.search(0, 0, 0.0);
    let mut set = 0;
    for &k in orders.found.iter().flat_map(|order| &order[..count]) {
        let spot = state.cells[cells[k] as usize].spot;
        if sites[set] != spot.site {
            changes.push(Change { cell: cells[k], spot: Spot { site: sites[set], ..spot } });
        }
        set |= 1 << k;
    }
    debug_assert!(set == 0 || set == everything);
}

/// The orders of the cells of a window. The set of cells to the left of a cell, one bit for each,
/// determines its site.
struct Orders<'a> {
    count: usize,
    nets: &'a WindowNets,
    /// By cell and set, the cell's centre and the length of the nets that only this cell has.
    x: [[f64; SETS]; WINDOW],
    lengths: [[f64; SETS]; WINDOW],
    /// By set, a lower bound of the length of the other cells' nets and the shared nets, reduced by
    /// the largest rounding error.
    least: [f64; SETS],
    /// The cells so far, and their centres.
    order: [usize; WINDOW],
    centres: [f64; WINDOW],
    /// The length that an order must undercut, and the last order that did.
    best: f64,
    found: Option<[usize; WINDOW]>,
}

impl Orders<'_> {
    /// Measures all positions of the cells: `edges` gives the left edge by set, and `centres` the
    /// distance of each cell's centre from it.
    fn measure(&mut self, edges: &[f64; SETS], centres: [f64; WINDOW]) {
        let (count, everything) = (self.count, (1 << self.count) - 1);
        // The entries for sets with the cell itself are not used.
        self.x = centres.map(|centre| edges.map(|edge| edge + centre));
        for &(k, net) in &self.nets.of_one {
            let (x, lengths) = (&self.x[k], &mut self.lengths[k]);
            if !net.is_flat(x[0], x[everything & !(1 << k)]) {
                for (length, x) in lengths.iter_mut().zip(x) {
                    *length += net.length(*x, false);
                }
            }
        }
        let sets = |k: usize| (0..1 << count).filter(move |set| set >> k & 1 == 0);
        let shortest = |(k, lengths): (usize, &[f64; SETS])| {
            sets(k).map(|set| lengths[set]).fold(f64::INFINITY, f64::min)
        };
        let mut of_cells = self.lengths.iter().enumerate().map(shortest);
        let shortest: [f64; WINDOW] = std::array::from_fn(|_| of_cells.next().unwrap_or(0.0));
        let widest = |lengths: &[f64; SETS]| lengths.iter().fold(0.0, |a: f64, b| a.max(b.abs()));
        let lengths: f64 = self.lengths.iter().map(widest).sum();
        let shared = self.nets.least_shared_length();
        self.least[everything] = shared - ROUNDING * (lengths + shared);
        for set in (0..everything).rev() {
            let next = (!set).trailing_zeros() as usize;
            self.least[set] = self.least[set | 1 << next] + shortest[next];
        }
    }

    /// Finds the first of the shortest orders, in lexicographic order, that begin with the cells of
    /// `set`. The own nets of these cells have this length.
    fn search(&mut self, place: usize, set: usize, length: f64) {
        if length + self.least[set] >= self.best {
            return;
        }
        if place == self.count {
            let length = length + self.nets.shared_length(&self.centres);
            if length < self.best {
                (self.best, self.found) = (length, Some(self.order));
            }
            return;
        }
        for k in (0..self.count).filter(|k| set >> k & 1 == 0) {
            (self.order[place], self.centres[k]) = (k, self.x[k][set]);
            self.search(place + 1, set | 1 << k, length + self.lengths[k][set]);
        }
    }
}

#[cfg(test)]
mod tests;
