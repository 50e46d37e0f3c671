//! Cells where they stand, by band, and how one more is put between them.
//!
//! A cell is put where it wants to be and those in its way are pushed aside, to the left or to the
//! right as their centres lie, each as far as it must and those behind it in turn, over all bands
//! that they share (W.-K. Chow, C.-W. Pui, E. F. Y. Young, "Legalization Algorithm for Multiple-Row
//! Height Standard Cell Design", DAC 2016, whose local problem this is, with chains followed to
//! their ends in place of a window). Lengths are in sites.

use super::sites::{Cell, Cells, Run, Sites, Stand, shared};
use std::collections::BinaryHeap;
use std::ops::Range;
use std::sync::OnceLock;

/// Where a cell wants to be, in sites: left edge of the sites it takes, and bottom edge over the
/// pitch.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Wish {
    pub(super) x: f64,
    pub(super) y: f64,
}

/// A run of a row, as one of the places that a cell may stand on.
#[derive(Clone, Copy, PartialEq)]
pub(super) struct Target {
    /// The row.
    pub(super) row: u32,
    /// A site of the run.
    pub(super) site: i32,
    pub(super) distance: f64,
}

/// A place for a cell that was found: what it costs, and what has to move.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) cost: f64,
    stand: Stand,
    x: i32,
    moves: Vec<(u32, i32)>,
}

/// Cells by band.
pub(super) struct Shelf<'a> {
    pub(super) sites: &'a Sites,
    pub(super) cells: &'a Cells,
    pub(super) wishes: &'a [Wish],
    /// Bottom edges of rows over the pitch.
    pub(super) row_y: Vec<f64>,
    /// The first site of each cell, where it stands.
    x: Vec<i32>,
    stand: Vec<Option<Stand>>,
    /// By band, the cells on it, ascending.
    lists: Vec<Vec<u32>>,
    /// Of each free run, how many sites are taken. Runs are counted over all bands.
    used: Vec<i32>,
    first_run: Vec<u32>,
    /// Of each list of stands, the runs that are free in all bands of a stand.
    spans: Vec<OnceLock<Vec<Run>>>,
    pushed: Pushed,
    /// The changes, in order.
    journal: Vec<Change>,
}

/// A change of a [`Shelf`], as what takes it back needs it.
enum Change {
    /// A cell was moved from here.
    Moved(u32, i32),
    Put(u32),
    Removed(u32, Stand, i32),
}

/// Working memory that a search uses again and again.
#[derive(Default)]
struct Pushed {
    /// Where each cell would go; `i32::MIN` where it stays.
    to: Vec<i32>,
    touched: Vec<u32>,
    heap: BinaryHeap<(i32, u32)>,
}

/// Which way cells are pushed.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    Left,
    Right,
}

impl<'a> Shelf<'a> {
    pub(super) fn new(sites: &'a Sites, cells: &'a Cells, wishes: &'a [Wish]) -> Self {
        let mut first_run = Vec::with_capacity(sites.bands().len());
        let mut runs = 0;
        for band in 0..sites.bands().len() {
            first_run.push(runs as u32);
            runs += sites.free(band).len();
        }
        let count = cells.cells().len();
        let pitch = |row: u32| sites.lattices()[row as usize].pitch;
        Shelf {
            sites,
            cells,
            wishes,
            row_y: sites.rows().iter().map(|row| row.y / pitch(row.lattice)).collect(),
            x: vec![0; count],
            stand: vec![None; count],
            lists: vec![Vec::new(); sites.bands().len()],
            used: vec![0; runs],
            first_run,
            spans: vec![OnceLock::new(); cells.all_stands()],
            pushed: Pushed { to: vec![i32::MIN; count], ..Pushed::default() },
            journal: Vec::new(),
        }
    }

    fn cell(&self, k: u32) -> &'a Cell {
        &self.cells.cells()[k as usize]
    }

    fn width(&self, k: u32) -> i32 {
        self.cell(k).width
    }

    /// Where a cell stands and its first site, if it does.
    pub(super) fn place_of(&self, k: u32) -> Option<(Stand, i32)> {
        self.stand[k as usize].map(|stand| (stand, self.x[k as usize]))
    }

    /// How far a cell is from where it wants to be at `x` on a row.
    pub(super) fn distance(&self, k: u32, row: u32, x: i32) -> f64 {
        let wish = self.wishes[k as usize];
        (f64::from(x) - wish.x).abs() + (self.row_y[row as usize] - wish.y).abs()
    }

    /// The run of a band that holds site `x`, counted over all bands.
    fn run_at(&self, band: usize, x: i32) -> (usize, Run) {
        let runs = self.sites.free(band);
        let k = runs.partition_point(|run| run.start <= x) - 1;
        (self.first_run[band] as usize + k, runs[k])
    }

    pub(super) fn width_of(&self, k: u32) -> i32 {
        self.cell(k).width
    }

    /// The runs that a cell of one band may stand in and that are wide enough, nearest first, at
    /// most so many.
    pub(super) fn targets(&self, k: u32, most: usize) -> Vec<Target> {
        let cell = self.cell(k);
        let wish = self.wishes[k as usize];
        let stands = self.cells.stands(cell);
        let mut targets = Vec::new();
        for (nth, stand) in stands.iter().enumerate() {
            let dy = (self.row_y[stand.row as usize] - wish.y).abs();
            for run in self.spans_of(k, nth) {
                if run.fence == cell.fence && run.end - run.start >= cell.width {
                    let x = wish.x.max(f64::from(run.start)).min(f64::from(run.end - cell.width));
                    let distance = dy + (x - wish.x).abs();
                    targets.push(Target { row: stand.row, site: run.start, distance });
                }
            }
        }
        targets.sort_by(|a, b| a.distance.total_cmp(&b.distance));
        targets.truncate(most);
        targets
    }

    /// The only band of a row that is a target.
    fn band_of(&self, target: &Target) -> usize {
        self.sites.rows()[target.row as usize].bands().start
    }

    /// Sites of a target's run that no cell takes.
    pub(super) fn free_in(&self, target: &Target) -> i32 {
        self.slack(self.band_of(target), target.site)
    }

    /// Cells of one band in a target's run.
    pub(super) fn movable_in(&self, target: &Target) -> Vec<u32> {
        let band = self.band_of(target);
        let (_, run) = self.run_at(band, target.site);
        let list = &self.lists[band][self.position(band, run.start)..self.position(band, run.end)];
        list.iter().copied().filter(|&k| self.bands_of(k).len() == 1).collect()
    }

    /// The best place for a cell in a target's run, if it may stand there and has room.
    pub(super) fn find_in(&mut self, k: u32, target: Target) -> Option<Place> {
        let cell = self.cell(k);
        let stands = self.cells.stands(cell);
        let nth = stands.binary_search_by_key(&target.row, |stand| stand.row).ok()?;
        let (_, run) = self.run_at(self.band_of(&target), target.site);
        if run.fence != cell.fence || run.end - run.start < cell.width {
            return None;
        }
        let (low, high) = (f64::from(run.start), f64::from(run.end - cell.width));
        let x = self.wishes[k as usize].x.round().max(low).min(high) as i32;
        self.place_at(k, stands[nth], x, f64::INFINITY, usize::MAX)
    }

    /// A state to go back to by [`Shelf::undo`].
    pub(super) fn mark(&self) -> usize {
        self.journal.len()
    }

    /// Takes back what was changed since a mark.
    pub(super) fn undo(&mut self, mark: usize) {
        while self.journal.len() > mark
            && let Some(change) = self.journal.pop()
        {
            match change {
                Change::Moved(k, from) => self.x[k as usize] = from,
                Change::Put(k) => self.take(k),
                Change::Removed(k, stand, x) => self.insert(k, stand, x),
            }
        }
    }

    /// Sites of a run that no cell takes.
    fn slack(&self, band: usize, x: i32) -> i32 {
        let (index, run) = self.run_at(band, x);
        run.end - run.start - self.used[index]
    }

    /// The runs that are free in all bands of the nth stand of a cell, of any fence.
    fn spans_of(&self, k: u32, nth: usize) -> &[Run] {
        let stand = self.cells.stands(self.cell(k))[nth];
        self.spans[self.cells.first_stand(self.cell(k)) + nth].get_or_init(|| {
            let mut runs = self.sites.segments(stand.row as usize).to_vec();
            for band in stand.bands() {
                runs = shared(&runs, self.sites.free(band), false);
            }
            runs
        })
    }

    /// Puts cells of one row where nothing is in their way: row and first site of each.
    pub(super) fn lay(&mut self, laid: &[(u32, u32, i32)]) {
        let mut touched: Vec<usize> = Vec::new();
        for &(k, row, x) in laid {
            let stands = self.cells.stands(self.cell(k));
            let Ok(nth) = stands.binary_search_by_key(&row, |stand| stand.row) else { continue };
            self.occupy(k, stands[nth], x);
            for band in stands[nth].bands() {
                self.lists[band].push(k);
                touched.push(band);
            }
        }
        touched.sort_unstable();
        touched.dedup();
        let x = &self.x;
        touched.into_iter().for_each(|band| {
            let list = &mut self.lists[band];
            if !list.is_sorted_by_key(|&k| x[k as usize]) {
                list.sort_unstable_by_key(|&k| x[k as usize]);
            }
        });
    }

    fn occupy(&mut self, k: u32, stand: Stand, x: i32) {
        (self.x[k as usize], self.stand[k as usize]) = (x, Some(stand));
        for band in stand.bands() {
            let (run, _) = self.run_at(band, x);
            self.used[run] += self.width(k);
        }
    }

    /// Takes a cell away.
    pub(super) fn remove(&mut self, k: u32) {
        if let Some((stand, x)) = self.place_of(k) {
            self.journal.push(Change::Removed(k, stand, x));
            self.take(k);
        }
    }

    fn take(&mut self, k: u32) {
        let Some(stand) = self.stand[k as usize].take() else { return };
        let x = self.x[k as usize];
        for band in stand.bands() {
            let (run, _) = self.run_at(band, x);
            self.used[run] -= self.width(k);
            let at = self.position(band, x);
            self.lists[band].remove(at);
        }
    }

    /// The number of cells of a band that are left of `x`.
    fn position(&self, band: usize, x: i32) -> usize {
        self.lists[band].partition_point(|&k| self.x[k as usize] < x)
    }

    /// Puts a cell where a place was found.
    pub(super) fn put(&mut self, k: u32, place: &Place) {
        for &(moved, to) in &place.moves {
            self.journal.push(Change::Moved(moved, self.x[moved as usize]));
            self.x[moved as usize] = to;
        }
        self.journal.push(Change::Put(k));
        self.insert(k, place.stand, place.x);
    }

    fn insert(&mut self, k: u32, stand: Stand, x: i32) {
        for band in stand.bands() {
            let at = self.position(band, x);
            self.lists[band].insert(at, k);
        }
        self.occupy(k, stand, x);
    }

    /// The best place for a cell among those that cost less than `most`, pushing at most `reach`
    /// cells either way, in a few runs of each row; in all of them without a `reach`.
    pub(super) fn find(&mut self, k: u32, most: f64, reach: usize) -> Option<Place> {
        let stands = self.cells.stands(self.cell(k));
        let wish = self.wishes[k as usize];
        let height = |stand: &Stand| self.row_y[stand.row as usize];
        let above = stands.partition_point(|stand| height(stand) < wish.y);
        let (mut low, mut high) = (above, above);
        let (mut best, mut bound): (Option<Place>, f64) = (None, most);
        loop {
            let below = low.checked_sub(1).map(|n| wish.y - self.row_y[stands[n].row as usize]);
            let over = stands.get(high).map(|s| self.row_y[s.row as usize] - wish.y);
            let nth = match (below, over) {
                (None, None) => break,
                (Some(a), Some(b)) if a <= b => low - 1,
                (Some(_), None) => low - 1,
                _ => high,
            };
            if nth == high {
                high += 1
            } else {
                low -= 1
            }
            let dy = (self.row_y[stands[nth].row as usize] - wish.y).abs();
            if dy >= bound {
                break;
            }
            if let Some(place) = self.find_on(k, nth, bound, reach) {
                bound = place.cost;
                best = Some(place);
            }
        }
        best
    }

    /// The best place on one stand.
    fn find_on(&mut self, k: u32, nth: usize, most: f64, reach: usize) -> Option<Place> {
        let (cell, wish) = (self.cell(k), self.wishes[k as usize]);
        let stand = self.cells.stands(cell)[nth];
        let dy = (self.row_y[stand.row as usize] - wish.y).abs();
        let spans = self.spans_of(k, nth);
        let fits = |run: &Run| run.fence == cell.fence && run.end - run.start >= cell.width;
        let clamped = |run: &Run| {
            let (low, high) = (f64::from(run.start), f64::from(run.end - cell.width));
            wish.x.round().max(low).min(high) as i32
        };
        let after = spans.partition_point(|run| f64::from(run.start) <= wish.x);
        let mut wanted: Vec<(i32, Run)> = Vec::with_capacity(6);
        let runs = if reach == usize::MAX { usize::MAX } else { 3 };
        let near = |run: &Run| (f64::from(clamped(run)) - wish.x).abs() + dy < most;
        let pick = |run: &Run| near(run).then(|| (clamped(run), *run));
        wanted
            .extend(spans[..after].iter().rev().filter(|run| fits(run)).map_while(pick).take(runs));
        wanted.extend(spans[after..].iter().filter(|run| fits(run)).map_while(pick).take(runs));
        let (mut best, mut bound): (Option<Place>, f64) = (None, most);
        for (x, run) in wanted {
            if let Some(place) = self.place_at(k, stand, x, bound, reach) {
                bound = place.cost;
                best = Some(place);
                continue;
            }
            // Where pushing does not help there may be a gap all the same.
            for x in [self.gap_left(k, stand, x, run), self.gap_right(k, stand, x, run)] {
                let Some(x) = x else { continue };
                let cost = self.distance(k, stand.row, x);
                if cost < bound {
                    bound = cost;
                    best = Some(Place { cost, stand, x, moves: Vec::new() });
                }
            }
        }
        best
    }

    /// The nearest free place of a run at or left of `x`.
    fn gap_left(&self, k: u32, stand: Stand, mut x: i32, run: Run) -> Option<i32> {
        let width = self.width(k);
        while x >= run.start {
            let in_the_way = stand.bands().filter_map(|band| {
                let last = *self.lists[band].get(self.position(band, x + width).checked_sub(1)?)?;
                let start = self.x[last as usize];
                (start + self.width(last) > x).then_some(start)
            });
            match in_the_way.min() {
                Some(start) => x = start - width,
                None => return Some(x),
            }
        }
        None
    }

    /// The nearest free place of a run at or right of `x`.
    fn gap_right(&self, k: u32, stand: Stand, mut x: i32, run: Run) -> Option<i32> {
        let width = self.width(k);
        while x + width <= run.end {
            let in_the_way = stand.bands().filter_map(|band| {
                let last = *self.lists[band].get(self.position(band, x + width).checked_sub(1)?)?;
                let end = self.x[last as usize] + self.width(last);
                (end > x).then_some(end)
            });
            match in_the_way.max() {
                Some(end) => x = end,
                None => return Some(x),
            }
        }
        None
    }

    /// A place at `x`, or near where others have to be pushed aside.
    fn place_at(&mut self, k: u32, stand: Stand, x: i32, most: f64, reach: usize) -> Option<Place> {
        if self.is_free(k, stand, x) {
            let cost = self.distance(k, stand.row, x);
            return (cost < most).then(|| Place { cost, stand, x, moves: Vec::new() });
        }
        self.squeeze(k, stand, x, most, reach)
    }

    /// Whether no cell has any of the sites from `x` on that this one takes.
    fn is_free(&self, k: u32, stand: Stand, x: i32) -> bool {
        let end = x + self.width(k);
        stand.bands().all(|band| {
            let at = self.position(band, end);
            at == 0 || {
                let before = self.lists[band][at - 1];
                self.x[before as usize] + self.width(before) <= x
            }
        })
    }

    /// A place at `x` or near, those in the way pushed aside.
    fn squeeze(&mut self, k: u32, stand: Stand, x: i32, most: f64, reach: usize) -> Option<Place> {
        let width = self.width(k);
        if stand.bands().any(|band| self.slack(band, x) < width) {
            return None;
        }
        let walls = stand.bands().fold((i32::MIN, i32::MAX), |(low, high), band| {
            let (_, run) = self.run_at(band, x);
            (low.max(run.start), high.min(run.end))
        });
        // Those with their centres left of this one's go left.
        let middle = 2 * x + width;
        let mut bounds: Vec<(usize, usize)> = Vec::with_capacity(stand.bands().len());
        for band in stand.bands() {
            let list = &self.lists[band];
            let split = list.partition_point(|&c| 2 * self.x[c as usize] + self.width(c) < middle);
            bounds.push((band, split));
        }
        // Along a band centres are ascending as left edges are, so that every cell is on one side.
        let mut x = x;
        let mut short = self.push(Way::Left, &bounds, x, reach)?;
        if short > 0 {
            x += short;
            self.forget();
            short = self.push(Way::Left, &bounds, x, reach)?;
            if short > 0 {
                self.forget();
                return None;
            }
        }
        let short = match self.push(Way::Right, &bounds, x + width, reach) {
            Some(short) => short,
            None => {
                self.forget();
                return None;
            }
        };
        if short > 0 {
            x -= short;
            self.forget();
            let left = self.push(Way::Left, &bounds, x, reach)?;
            let right = self.push(Way::Right, &bounds, x + width, reach);
            if left > 0 || right != Some(0) {
                self.forget();
                return None;
            }
        }
        let inside = walls.0 <= x && x + width <= walls.1;
        let mut cost = self.distance(k, stand.row, x);
        let mut moves = Vec::with_capacity(self.pushed.touched.len());
        for &c in &self.pushed.touched {
            let to = self.pushed.to[c as usize];
            let row = self.stand[c as usize].map_or(0, |stand| stand.row);
            cost += self.distance(c, row, to) - self.distance(c, row, self.x[c as usize]);
            moves.push((c, to));
        }
        self.forget();
        (inside && cost < most).then_some(Place { cost, stand, x, moves })
    }

    fn forget(&mut self) {
        for k in self.pushed.touched.drain(..) {
            self.pushed.to[k as usize] = i32::MIN;
        }
        self.pushed.heap.clear();
    }

    /// Pushes what is left (or right) of `edge` out of its way: by how much it does not fit.
    /// `None`, with all forgotten, when more than `reach` would have to move.
    fn push(&mut self, way: Way, from: &[(usize, usize)], edge: i32, reach: usize) -> Option<i32> {
        // Seen in a mirror, right is left: a cell at [x, x + w) is at [-x - w, -x).
        let mirrored = |x: i32, w: i32| if way == Way::Left { x } else { -x - w };
        let edge = if way == Way::Left { edge } else { -edge };
        let (mut short, mut count) = (0, 0);
        let neighbour = |list: &[u32], split: usize| match way {
            Way::Left => split.checked_sub(1).map(|at| list[at]),
            Way::Right => list.get(split).copied(),
        };
        let Pushed { to, touched, heap } = &mut self.pushed;
        let ask = |heap: &mut BinaryHeap<(i32, u32)>,
                   to: &mut Vec<i32>,
                   touched: &mut Vec<u32>,
                   c: u32,
                   edge: i32| {
            let w = self.cells.cells()[c as usize].width;
            let at = mirrored(self.x[c as usize], w);
            if at + w <= edge {
                return;
            }
            let asked = mirrored(edge - w, w);
            let known = to[c as usize];
            if known == i32::MIN {
                to[c as usize] = asked;
                touched.push(c);
                heap.push((at, c));
            } else if (way == Way::Left && asked < known) || (way == Way::Right && asked > known) {
                to[c as usize] = asked;
            }
        };
        for &(band, split) in from {
            if let Some(c) = neighbour(&self.lists[band], split) {
                ask(heap, to, touched, c, edge);
            }
        }
        // The walls of the sites around `edge` itself are looked at by who asks.
        while let Some((_, c)) = heap.pop() {
            count += 1;
            if count > reach {
                for k in touched.drain(..) {
                    to[k as usize] = i32::MIN;
                }
                heap.clear();
                return None;
            }
            let w = self.cells.cells()[c as usize].width;
            let x = self.x[c as usize];
            let new = mirrored(to[c as usize], w);
            let Some(stand) = self.stand[c as usize] else { continue };
            for band in stand.bands() {
                let runs = self.sites.free(band);
                let run = runs[runs.partition_point(|run| run.start <= x) - 1];
                let wall = if way == Way::Left { run.start } else { -run.end };
                short = short.max(wall - new);
                let list = &self.lists[band];
                let at = list.partition_point(|&c| self.x[c as usize] < x);
                let split = if way == Way::Left { at } else { at + 1 };
                if let Some(next) = neighbour(list, split) {
                    // One beyond the wall is in nobody's way.
                    let beyond = {
                        let (nx, nw) =
                            (self.x[next as usize], self.cells.cells()[next as usize].width);
                        mirrored(nx, nw) < wall
                    };
                    if !beyond {
                        ask(heap, to, touched, next, new);
                    }
                }
            }
        }
        Some(short)
    }

    /// The bands of the run's neighbours that a failed search would have needed: the widest free
    /// run that a cell may stand in.
    pub(super) fn widest(&self, k: u32) -> i32 {
        let cell = self.cell(k);
        let stands = self.cells.stands(cell).len();
        let runs = (0..stands).flat_map(|nth| self.spans_of(k, nth));
        runs.filter(|run| run.fence == cell.fence).map(|run| run.end - run.start).max().unwrap_or(0)
    }

    /// Bands that a cell stands on.
    pub(super) fn bands_of(&self, k: u32) -> Range<usize> {
        self.stand[k as usize].map_or(0..0, |stand| stand.bands())
    }
}
