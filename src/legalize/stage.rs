//! Legalization of the cells of one lattice.
//!
//! The first attempt places all cells by Abacus. More attempts follow only if cells are unplaced
//! or far from their desired positions. The second places higher cells first and the others by
//! Abacus. The third places every cell at the nearest free place, the highest and widest first. The
//! result is the attempt with the fewest unplaced cells, then with the shortest wires, or without
//! nets with the least total displacement.

use super::abacus::{Ask, RowAt, Segment, Stripe};
use super::gaps::remove_one_site_gaps;
use super::shelf::{Shelf, Wish};
use super::spread::spread;
use super::watch::Watch;
use super::{Failed, LegalizeOptions, Legalized, Reason};
use crate::design::{Design, Placement};
use crate::parallel::{self, Groups, chunks_mut, group};
use crate::rows::{Access, Cell, Cells, RowsError, Run, Sites, orientation_on};
use std::cmp::{Ordering, Reverse};
use std::ops::Range;

/// Cells of a stripe of rows: one thread deals with it. Fewer make the stripes' borders felt: cells
/// do not cross them.
const CELLS_OF_STRIPE: usize = 1 << 16;
/// Nodes that a task writes.
const NODES: usize = 1 << 13;
/// Stripes of a thread between two calls of the watch.
const STRIPES_OF_THREAD: usize = 4;
/// Least rows of a stripe.
const ROWS_OF_STRIPE: usize = 32;
/// Of the sites of a stripe, the share that its cells may ask for; with more it is joined to the
/// next.
const FULL: f64 = 0.97;
/// Number of cells that an inserted cell may push to either side, if other places exist.
pub(super) const REACH: usize = 64;
/// Cells farther from their desired position than this number of rows look for a nearer place.
const OUTLIER_ROWS: f64 = 4.0;
/// Largest number of such cells in a small design; in a large one it is one in 64.
const MOST_OUTLIERS: usize = 1024;
/// Cells farther away than this number of rows are placed again, with all cells in a window around.
const VERY_FAR_ROWS: f64 = 8.0;
/// Distances from a desired position to the edges of these windows, in rows.
const WINDOWS: [f64; 3] = [6.0, 14.0, 24.0];
/// In designs of more cells, all of one row, far cells are not placed again. With 2.2 million cells
/// this took as long as all other work and did not change the wires.
const MOST_CELLS_OF_FEW: usize = 1 << 14;
/// Number of searches for places that cells placed again may cause.
const PLACED_ANEW: usize = 1 << 14;
/// If a cell is farther from its desired position than this number of rows, other orders are tried.
const FAR_ROWS: f64 = 24.0;
/// In designs of more cells, a few far cells do not cause other orders to be tried.
const MOST_CELLS_OF_OTHER_ORDERS: usize = 1 << 18;

/// Returns the lattice of every movable node, if there are several: the lattice with the nearest
/// row on which the node may lie. `u32::MAX` if no lattice has such a row.
pub(super) fn homes(design: &Design, sites: &Sites) -> Result<Vec<u32>, RowsError> {
    let mut homes = vec![u32::MAX; design.nodes.len()];
    let mut least = vec![f64::INFINITY; design.nodes.len()];
    for (index, lattice) in sites.lattices().iter().enumerate() {
        let cells = Cells::new(design, sites, index, 0)?;
        for cell in cells.cells() {
            let node = cell.node as usize;
            let (x, y) = (design.placement.x[node], design.placement.y[node]);
            for row in cells.rows(cell) {
                let row = row.row as usize;
                let dy = (sites.rows()[row].y - y).abs();
                let runs = sites.segments(cell.access, row).iter();
                for run in runs.filter(|run| run.fence == cell.access.fence) {
                    let (low, high) = (lattice.x(run.start), lattice.x(run.end - cell.width));
                    let distance = dy + (low - x).max(x - high).max(0.0);
                    if high >= low && distance < least[node] {
                        (least[node], homes[node]) = (distance, index as u32);
                    }
                }
            }
            if homes[node] == u32::MAX {
                homes[node] = index as u32;
            }
        }
    }
    Ok(homes)
}

/// An order in which cells are placed.
#[derive(Clone, Copy, PartialEq)]
enum Order {
    /// All by Abacus, from left to right.
    Sweep,
    /// Cells of several rows first, the highest and widest first; the others by Abacus.
    HighFirst,
    /// The highest and widest first, each at the nearest free place.
    Greedy,
}

/// Places `cells`, of one lattice, none of them a macro.
pub(super) fn place(
    design: &Design,
    sites: &Sites,
    cells: &Cells,
    options: &LegalizeOptions,
    done: &mut Legalized,
    standing: &mut [bool],
    watch: &mut Watch<'_>,
) {
    let Some(first) = cells.cells().first() else { return };
    let first_row = cells.rows(first)[0].row as usize;
    let lattice = sites.lattices()[sites.rows()[first_row].lattice as usize];
    let mut wishes = parallel::map(cells.cells().len(), |k| {
        let cell = &cells.cells()[k];
        let node = cell.node as usize;
        let (x, y) = (design.placement.x[node], design.placement.y[node]);
        // Turned, a cell wants to have its centre where it has it now.
        let now = design.size(node);
        let (w, h) = (design.nodes.width[node], design.nodes.height[node]);
        Wish {
            x: lattice.site(x + (now.0 - w) / 2.0) - f64::from(cell.padding),
            y: (y + (now.1 - h) / 2.0) / lattice.pitch,
        }
    });
    let row_y: Vec<f64> = sites.rows().iter().map(|row| row.y / lattice.pitch).collect();
    spread(sites, cells, lattice.pitch, &mut wishes);
    let mut stage = Stage {
        design,
        placement: &done.placement,
        sites,
        cells,
        wishes: &wishes,
        row_y: &row_y,
        has_high_cells: cells.row_lists().filter_map(<[_]>::first).any(|row| row.bands().len() > 1),
        row: sites.usual_height() / lattice.pitch,
        limit: options.max_displacement.unwrap_or(f64::INFINITY),
        watch,
    };
    let (mut shelf, left) = stage.best();
    if options.no_one_site_gaps && !stage.watch.stopped() {
        remove_one_site_gaps(&mut shelf);
    }
    let stopped = stage.watch.stopped();
    for k in left {
        let Cell { node, width, .. } = cells.cells()[k as usize];
        let widest = shelf.widest(k);
        let reason = match stopped {
            true => Reason::Interrupted,
            false if width > widest => Reason::TooWide { sites: width, widest },
            false => Reason::Full,
        };
        done.failed.push(Failed { node, reason });
    }
    shelf.settle();
    parallel::for_each(chunks_mut(standing, NODES), |block, standing| {
        let first = block * NODES;
        for k in cells.of_range(first..first + standing.len()) {
            standing[cells.cells()[k].node as usize - first] = true;
        }
    });
    write(design, &shelf, &mut done.placement);
}

/// Writes the places of the cells of a shelf.
fn write(design: &Design, shelf: &Shelf<'_>, at: &mut Placement) {
    let (sites, cells) = (shelf.sites, shelf.cells.cells());
    let Placement { x, y, orientation } = at;
    let nodes = (chunks_mut(x, NODES), chunks_mut(y, NODES), chunks_mut(orientation, NODES));
    parallel::for_each(nodes, |block, (x, y, orientation)| {
        let first = block * NODES;
        for k in shelf.cells.of_range(first..first + x.len()) {
            let Some((row, site)) = shelf.place_of(k as u32) else { continue };
            let (node, row) = (cells[k].node as usize, row.row as usize);
            let corner = (sites.x(row, site + cells[k].padding), sites.rows()[row].y);
            (x[node - first], y[node - first]) = corner;
            let turned = orientation_on(design, sites, node, row);
            turned.iter().for_each(|turned| orientation[node - first] = *turned);
        }
    });
}

/// The cells of one lattice and the rows for them.
struct Stage<'a, 'w, 'c> {
    design: &'a Design,
    /// Where other nodes lie.
    placement: &'w Placement,
    sites: &'a Sites,
    cells: &'a Cells,
    wishes: &'a [Wish],
    row_y: &'a [f64],
    /// Whether there are cells of several rows.
    has_high_cells: bool,
    /// Height of a row, in sites.
    row: f64,
    /// How far cells may move, in rows.
    limit: f64,
    watch: &'w mut Watch<'c>,
}

impl<'a> Stage<'a, '_, '_> {
    /// Returns the best of the attempts, and the cells that are left over.
    fn best(&mut self) -> (Shelf<'a>, Vec<u32>) {
        let mut best = self.attempt(Order::Sweep);
        for order in [Order::HighFirst, Order::Greedy] {
            let (shelf, left) = &best;
            if order == Order::HighFirst && !self.has_high_cells {
                continue;
            }
            let few = self.cells.cells().len() <= MOST_CELLS_OF_OTHER_ORDERS;
            let is_far = few && order == Order::HighFirst && self.beyond(shelf, FAR_ROWS) > 0;
            let wanted = !left.is_empty() || self.beyond(shelf, self.limit) > 0 || is_far;
            if self.watch.stopped() || !wanted {
                break;
            }
            let other = self.attempt(order);
            let score = |(shelf, left): &(Shelf<'_>, Vec<u32>)| {
                (left.len(), self.beyond(shelf, self.limit), self.length(shelf))
            };
            if score(&other) < score(&best) {
                best = other;
            }
        }
        best
    }

    /// Returns the number of cells farther from where they want to be than so many rows.
    fn beyond(&self, shelf: &Shelf<'_>, rows: f64) -> usize {
        if rows == f64::INFINITY {
            return 0;
        }
        let far = |&k: &u32| shelf.displacement(k).is_some_and(|d| d > rows * self.row);
        (0..self.cells.cells().len() as u32).filter(far).count()
    }

    /// Returns the length of the wires with the cells of a shelf; without nets their displacement.
    fn length(&self, shelf: &Shelf<'_>) -> f64 {
        if self.design.nets.as_ref().is_some_and(|nets| !nets.is_empty()) {
            let mut placement = self.placement.clone();
            write(self.design, shelf, &mut placement);
            return self.design.hpwl_at(&placement).map_or(0.0, |hpwl| hpwl.weighted);
        }
        (0..self.cells.cells().len() as u32).filter_map(|k| shelf.displacement(k)).sum()
    }

    /// Places the cells in this order. Returns those that are left over.
    fn attempt(&mut self, order: Order) -> (Shelf<'a>, Vec<u32>) {
        let cells = self.cells.cells();
        let mut shelf = Shelf::new(self.sites, self.cells, self.wishes, self.row_y);
        // Abacus needs one band to a row.
        let sweeps = |k: usize| match order {
            Order::Sweep => !self.sites.rows_overlap(),
            Order::HighFirst => {
                !self.sites.rows_overlap() && self.cells.rows(&cells[k])[0].bands().len() == 1
            }
            Order::Greedy => false,
        };
        let others = parallel::filter(cells.len(), |k| !sweeps(k));
        let mut others: Vec<u32> = others.into_iter().map(|k| k as u32).collect();
        others.sort_by(|&a, &b| {
            let x = |k: u32| self.wishes[k as usize].x;
            let wider = match order {
                Order::Sweep => Ordering::Equal,
                _ => shelf.width(b).cmp(&shelf.width(a)),
            };
            let higher = shelf.bands_high(b).cmp(&shelf.bands_high(a));
            higher.then(wider).then(x(a).total_cmp(&x(b))).then(a.cmp(&b))
        });
        let reach = if order == Order::Greedy { 0 } else { REACH };
        let mut left = self.put_all(&mut shelf, others, reach);
        for view in 0..self.sites.views() {
            let here = |k: usize| cells[k].access.view() == view && sweeps(k);
            let swept = parallel::filter(cells.len(), here);
            left.extend(self.abacus(&mut shelf, &swept));
        }
        left = self.put_all(&mut shelf, left, REACH);
        left = self.put_all(&mut shelf, left, usize::MAX);
        left.iter().for_each(|&k| shelf.allow_soft(k));
        left = self.put_all(&mut shelf, left, usize::MAX);
        left = self.make_room(&mut shelf, left);
        self.pull_back_outliers(&mut shelf);
        // The rows that the others left in the end may do.
        left = self.put_all(&mut shelf, left, usize::MAX);
        (shelf, left)
    }

    /// Puts cells where they cost least, if that can be done by pushing at most `reach` others
    /// either way. Returns those for which it cannot.
    fn put_all(&mut self, shelf: &mut Shelf<'a>, cells: Vec<u32>, reach: usize) -> Vec<u32> {
        let mut left = Vec::new();
        for k in cells {
            let place = match self.watch.step(1) {
                true => None,
                false => shelf.find(k, f64::INFINITY, reach),
            };
            match place {
                Some(place) => shelf.put(k, &place),
                None => left.push(k),
            }
            shelf.settle();
        }
        left
    }

    /// Makes room for cells by moving others to other rows. Returns those for which there is none.
    fn make_room(&mut self, shelf: &mut Shelf<'a>, mut cells: Vec<u32>) -> Vec<u32> {
        cells.sort_by_key(|&k| (Reverse((shelf.bands_high(k), shelf.width(k))), k));
        let mut budget = super::repair::BUDGET;
        cells.retain(|&k| {
            let made = !self.watch.step(1)
                && (shelf.bands_high(k) == 1 && shelf.make_room(k)
                    || shelf.make_way(k, &mut budget));
            shelf.settle();
            !made
        });
        cells
    }

    /// Cells that are far from where they want to be look for a nearer place, including the cost
    /// of those that they push. Those that are very far are placed anew with all cells around
    /// their wishes: a sweep leaves gaps that cells of several rows cannot use, and so the last
    /// cells, at the right end, find no room nearby.
    fn pull_back_outliers(&mut self, shelf: &mut Shelf<'a>) {
        let count = self.cells.cells().len();
        let least = OUTLIER_ROWS.min(self.limit) * self.row;
        let distance = |k: usize| shelf.displacement(k as u32).unwrap_or(0.0);
        let far = parallel::filter(count, |k| distance(k) > least);
        let mut all: Vec<(f64, u32)> = far.iter().map(|&k| (distance(k), k as u32)).collect();
        all.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        all.truncate(MOST_OUTLIERS.max(count / 64));
        let mut budget = PLACED_ANEW;
        for (_, k) in all {
            if self.watch.step(1) {
                return;
            }
            for rows in WINDOWS {
                let rows = rows * self.row;
                let far = VERY_FAR_ROWS.min(self.limit) * self.row;
                let is_far = shelf.displacement(k).is_some_and(|distance| distance > far);
                if is_far && (self.has_high_cells || count <= MOST_CELLS_OF_FEW) {
                    shelf.place_anew(k, (rows, rows), &mut budget);
                    shelf.settle();
                }
            }
            let Some(distance) = shelf.displacement(k) else { continue };
            let before = shelf.mark();
            shelf.remove(k);
            match shelf.find(k, distance - 0.5, REACH) {
                Some(place) => shelf.put(k, &place),
                None => shelf.undo(before),
            }
            shelf.settle();
        }
    }

    /// Puts cells, of one view, by Abacus on the sites that are free. Returns those that found no
    /// room.
    fn abacus(&mut self, shelf: &mut Shelf<'a>, swept: &[usize]) -> Vec<u32> {
        let (sites, cells, wishes, row_height) = (self.sites, self.cells, self.wishes, self.row);
        let cell = |n: usize| &cells.cells()[swept[n]];
        let key = |n: usize| (cells.first_row(cell(n)), cell(n).access);
        // Rows by what decides about them: where the allowed rows of a cell begin, and its access.
        let (keys, of_cells) = parallel::number(swept.len(), key);
        let rows_for = |&((_, access), n): &((usize, Access), usize)| -> Vec<RowAt> {
            let is_own = |run: &Run| run.fence == access.fence;
            let rows = cells.rows(cell(n)).iter().map(|row| row.row);
            rows.filter(|&row| sites.segments(access, row as usize).iter().any(is_own))
                .map(|row| RowAt { y: self.row_y[row as usize], row })
                .collect()
        };
        let rows_for: Vec<Vec<RowAt>> = keys.iter().map(rows_for).collect();
        let rows_for = |n: usize| &rows_for[of_cells[n] as usize];
        let Some(&((_, access), _)) = keys.first() else { return Vec::new() };
        let count = sites.rows().len();
        // Cells without a row come last.
        let nearest_row = parallel::map(swept.len(), |n| {
            let (rows, y) = (rows_for(n), wishes[swept[n]].y);
            let above = rows.partition_point(|at| at.y < y);
            let both = [above.checked_sub(1), Some(above)].into_iter().flatten();
            let near = both.filter_map(|n| rows.get(n));
            let nearest = near.min_by(|a, b| (a.y - y).abs().total_cmp(&(b.y - y).abs()));
            nearest.map_or(count as u32, |at| at.row)
        });
        let Groups { start, items } = group(count + 1, swept.len(), |n| nearest_row[n]);
        let of_rows = |rows: Range<usize>| {
            let items = &items[start[rows.start] as usize..start[rows.end] as usize];
            items.iter().map(|&n| n as usize)
        };
        let asked = parallel::map(count, |row| {
            of_rows(row..row + 1).map(|n| i64::from(cell(n).width)).sum::<i64>()
        });
        let stripes = stripes(sites, access, &asked, &start);
        let mut left: Vec<u32> = of_rows(count..count + 1).map(|n| swept[n] as u32).collect();
        // A few stripes for each thread at a time, so that the work can be stopped.
        let at_once = STRIPES_OF_THREAD * parallel::threads();
        for some in stripes.chunks(at_once) {
            let rows = some[0].start..some[some.len() - 1].end;
            if self.watch.step(of_rows(rows.clone()).len()) {
                left.extend(of_rows(rows.start..count).map(|n| swept[n] as u32));
                break;
            }
            let done = parallel::map(some.len(), |nth| {
                let rows = some[nth].clone();
                let segments =
                    |row| shelf.free_runs(access, row).into_iter().map(Segment::new).collect();
                let segments = rows.clone().map(segments).collect();
                let mut stripe =
                    Stripe { first: rows.start, rows: segments, row_height, high: Vec::new() };
                let mut order: Vec<(f64, usize)> =
                    of_rows(rows.clone()).map(|n| (wishes[swept[n]].x, n)).collect();
                order.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
                let (mut laid, mut left) = (Vec::with_capacity(order.len()), Vec::new());
                for (_, n) in order {
                    let (k, Cell { width, access, .. }) = (swept[n] as u32, *cell(n));
                    let rows = shelf.bands_high(k) as u32;
                    let ask = Ask { cell: k, width, rows, access, wish: wishes[k as usize] };
                    if !stripe.put(&ask, rows_for(n)) {
                        left.push(k);
                    }
                }
                for (row, segments) in rows.zip(&stripe.rows) {
                    for segment in segments {
                        let width = |k: u32| cells.cells()[k as usize].width;
                        segment.placed(width, |k, x| laid.push((k, row as u32, x)));
                    }
                }
                laid.extend(stripe.high);
                (laid, left)
            });
            let (laid, more): (Vec<_>, Vec<_>) = done.into_iter().unzip();
            shelf.lay(some, &laid);
            left.extend(more.concat());
        }
        left
    }
}

/// Divides the rows into stripes with about equal numbers of cells, which fit there. `asked` has the
/// sites that the cells of each row need, and `first` the number of its first cell.
fn stripes(sites: &Sites, access: Access, asked: &[i64], first: &[u32]) -> Vec<Range<usize>> {
    let rows = asked.len();
    let cells = first[rows + 1] as usize;
    let wanted = (cells / CELLS_OF_STRIPE).min(rows / ROWS_OF_STRIPE);
    if wanted < 2 {
        return std::iter::once(0..rows).collect();
    }
    let of_stripe = cells.div_ceil(wanted);
    let mut stripes: Vec<Range<usize>> = Vec::new();
    let (mut start, mut held, mut asks, mut has) = (0, 0, 0.0, 0.0);
    for row in 0..rows {
        let free: i32 = sites.segments(access, row).iter().map(Run::sites).sum();
        has += f64::from(free);
        asks += asked[row] as f64;
        held += (first[row + 1] - first[row]) as usize;
        if held >= of_stripe && row + 1 - start >= ROWS_OF_STRIPE && asks <= FULL * has {
            stripes.push(start..row + 1);
            (start, held, asks, has) = (row + 1, 0, 0.0, 0.0);
        }
    }
    match stripes.last_mut() {
        // The rows that are left over may be few, or full.
        Some(last) if start < rows => last.end = rows,
        None => stripes.push(0..rows),
        _ => {}
    }
    stripes
}
