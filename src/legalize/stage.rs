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
use crate::parallel;
use crate::rows::{Access, Cell, Cells, RowsError, Run, Sites, orientation_on};
use std::cmp::{Ordering, Reverse};
use std::collections::HashMap;
use std::ops::Range;

/// Cells of a stripe of rows: one thread deals with it. Fewer make the stripes' borders felt: cells
/// do not cross them.
const CELLS_OF_STRIPE: usize = 1 << 16;
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

/// Rows by what decides about them: where the allowed rows of a cell begin, and its access.
type RowsFor = HashMap<(usize, Access), Vec<RowAt>>;

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
        has_high_cells: cells.cells().iter().any(|cell| cells.rows(cell)[0].bands().len() > 1),
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
    cells.cells().iter().for_each(|cell| standing[cell.node as usize] = true);
    write(design, &shelf, &mut done.placement);
}

/// Writes the places of the cells of a shelf.
fn write(design: &Design, shelf: &Shelf<'_>, at: &mut Placement) {
    let sites = shelf.sites;
    let cells = shelf.cells.cells();
    let places = parallel::map(cells.len(), |k| {
        let (row, x) = shelf.place_of(k as u32)?;
        let (node, row) = (cells[k].node as usize, row.row as usize);
        let corner = (sites.x(row, x + cells[k].padding), sites.rows()[row].y);
        Some((corner, orientation_on(design, sites, node, row)))
    });
    for (cell, place) in cells.iter().zip(places) {
        let (node, Some((corner, orientation))) = (cell.node as usize, place) else { continue };
        (at.x[node], at.y[node]) = corner;
        orientation.iter().for_each(|turned| at.orientation[node] = *turned);
    }
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
        let mut shelf = Shelf::new(self.sites, self.cells, self.wishes, self.row_y);
        let all = 0..self.cells.cells().len() as u32;
        // Abacus needs one band to a row.
        let sweeps = |k: &u32| match order {
            Order::Sweep => !self.sites.rows_overlap(),
            Order::HighFirst => !self.sites.rows_overlap() && shelf.bands_high(*k) == 1,
            Order::Greedy => false,
        };
        let (swept, mut others): (Vec<u32>, Vec<u32>) = all.partition(sweeps);
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
            let here = |k: &u32| self.cells.cells()[*k as usize].access.view() == view;
            let swept = swept.iter().copied().filter(here).collect();
            left.extend(self.abacus(&mut shelf, swept));
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
        let mut all: Vec<(f64, u32)> = (0..count as u32)
            .filter_map(|k| Some((shelf.displacement(k)?, k)))
            .filter(|(distance, _)| *distance > OUTLIER_ROWS.min(self.limit) * self.row)
            .collect();
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
    fn abacus(&mut self, shelf: &mut Shelf<'a>, swept: Vec<u32>) -> Vec<u32> {
        let Some(access) = swept.first().map(|&k| self.cells.cells()[k as usize].access) else {
            return swept;
        };
        let (sites, cells, wishes, row_height) = (self.sites, self.cells, self.wishes, self.row);
        let cell = |k: u32| &cells.cells()[k as usize];
        let mut rows_for: RowsFor = HashMap::new();
        let key = |k: u32| (cells.first_row(cell(k)), cell(k).access);
        let mut last = None;
        for &k in &swept {
            if last == Some(key(k)) {
                continue;
            }
            last = Some(key(k));
            rows_for.entry(key(k)).or_insert_with(|| {
                let access = cell(k).access;
                let here = |row: u32| sites.segments(access, row as usize);
                let rows = cells.rows(cell(k)).iter().map(|row| row.row);
                rows.filter(|&row| here(row).iter().any(|run| run.fence == access.fence))
                    .map(|row| RowAt { y: self.row_y[row as usize], row })
                    .collect()
            });
        }
        let nearest_row = |k: u32| {
            let (rows, y) = (&rows_for[&key(k)], wishes[k as usize].y);
            let above = rows.partition_point(|at| at.y < y);
            let both = [above.checked_sub(1), Some(above)].into_iter().flatten();
            let near = both.filter_map(|n| rows.get(n));
            near.min_by(|a, b| (a.y - y).abs().total_cmp(&(b.y - y).abs())).map(|at| at.row)
        };
        let home = parallel::map(swept.len(), |k| (swept[k], nearest_row(swept[k])));
        let stripes = stripes(sites, access, cells, &home);
        let mut of_stripe: Vec<Vec<u32>> = vec![Vec::new(); stripes.len()];
        let mut left = Vec::new();
        for (k, row) in home {
            match row {
                Some(row) => {
                    let at = stripes.partition_point(|rows| rows.end <= row as usize);
                    of_stripe[at].push(k);
                }
                None => left.push(k),
            }
        }
        // As many stripes at a time as there are threads, so that the work can be stopped.
        let at_once = rayon::current_num_threads().max(1);
        for some in (0..stripes.len()).step_by(at_once) {
            let count = at_once.min(stripes.len() - some);
            let cells_here: usize = of_stripe[some..some + count].iter().map(Vec::len).sum();
            if self.watch.step(cells_here) {
                left.extend(of_stripe[some..].iter().flatten());
                break;
            }
            let done = parallel::map(count, |nth| {
                let at = some + nth;
                let rows = stripes[at].clone();
                let segments =
                    |row| shelf.free_runs(access, row).into_iter().map(Segment::new).collect();
                let segments = rows.clone().map(segments).collect();
                let mut stripe =
                    Stripe { first: rows.start, rows: segments, row_height, high: Vec::new() };
                let mut order: Vec<(f64, u32)> =
                    of_stripe[at].iter().map(|&k| (wishes[k as usize].x, k)).collect();
                order.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
                let (mut laid, mut left) = (Vec::with_capacity(order.len()), Vec::new());
                for (_, k) in order {
                    let Cell { width, access, .. } = *cell(k);
                    let rows = shelf.bands_high(k) as u32;
                    let ask = Ask { cell: k, width, rows, access, wish: wishes[k as usize] };
                    if !stripe.put(&ask, &rows_for[&key(k)]) {
                        left.push(k);
                    }
                }
                for (row, segments) in rows.zip(&stripe.rows) {
                    for segment in segments {
                        segment.placed(|k| cell(k).width, |k, x| laid.push((k, row as u32, x)));
                    }
                }
                laid.extend(stripe.high);
                (laid, left)
            });
            for (laid, more) in done {
                shelf.lay(&laid);
                left.extend(more);
            }
        }
        left
    }
}

/// Divides the rows, so that about as many cells are of each stripe and fit there.
fn stripes(
    sites: &Sites,
    access: Access,
    cells: &Cells,
    home: &[(u32, Option<u32>)],
) -> Vec<Range<usize>> {
    let rows = sites.rows().len();
    let wanted = (home.len() / CELLS_OF_STRIPE).min(rows / ROWS_OF_STRIPE);
    if wanted < 2 {
        return std::iter::once(0..rows).collect();
    }
    let (mut asked, mut count) = (vec![0i64; rows], vec![0usize; rows]);
    for &(k, row) in home {
        let Some(row) = row else { continue };
        asked[row as usize] += i64::from(cells.cells()[k as usize].width);
        count[row as usize] += 1;
    }
    let of_stripe = home.len().div_ceil(wanted);
    let mut stripes: Vec<Range<usize>> = Vec::new();
    let (mut start, mut held, mut asks, mut has) = (0, 0, 0.0, 0.0);
    for row in 0..rows {
        let free: i32 = sites.segments(access, row).iter().map(Run::sites).sum();
        has += f64::from(free);
        asks += asked[row] as f64;
        held += count[row];
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
