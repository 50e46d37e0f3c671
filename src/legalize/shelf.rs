//! Cells where they stand, by band, and how one more is put between them.
//!
//! A cell is put where it wants to be and those in its way are pushed aside, to the left or to the
//! right as their centres lie, each as far as it must and those behind it in turn, over all bands
//! that they share (W.-K. Chow, C.-W. Pui, E. F. Y. Young, "Legalization Algorithm for Multiple-Row
//! Height Standard Cell Design", DAC 2016, whose local problem this is, with chains followed to
//! their ends in place of a window). Lengths are in sites.

use super::outwards;
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
    pub(super) row_y: &'a [f64],
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

impl Way {
    /// Returns where `w` sites from `x` on are, seen so that cells are pushed to the left: in a
    /// mirror, where right is left, a cell at [x, x + w) is at [-x - w, -x).
    fn mirrored(self, x: i32, w: i32) -> i32 {
        if self == Way::Left { x } else { -x - w }
    }
}

impl<'a> Shelf<'a> {
    pub(super) fn new(
        sites: &'a Sites,
        cells: &'a Cells,
        wishes: &'a [Wish],
        row_y: &'a [f64],
    ) -> Self {
        let mut first_run = Vec::with_capacity(sites.bands().len());
        let mut runs = 0;
        for band in 0..sites.bands().len() {
            first_run.push(runs as u32);
            runs += sites.free(band).len();
        }
        let count = cells.cells().len();
        Shelf {
            sites,
            cells,
            wishes,
            row_y,
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

    /// Returns the sites that a cell takes.
    pub(super) fn width(&self, k: u32) -> i32 {
        self.cell(k).width
    }

    /// Returns where a cell stands and its first site, if it does.
    pub(super) fn place_of(&self, k: u32) -> Option<(Stand, i32)> {
        self.stand[k as usize].map(|stand| (stand, self.x[k as usize]))
    }

    /// Returns how far a cell is from where it wants to be at `x` on a row.
    pub(super) fn distance(&self, k: u32, row: u32, x: i32) -> f64 {
        let wish = self.wishes[k as usize];
        (f64::from(x) - wish.x).abs() + (self.row_y[row as usize] - wish.y).abs()
    }

    /// Returns the run of a band that holds site `x`, counted over all bands.
    fn run_at(&self, band: usize, x: i32) -> (usize, Run) {
        let runs = self.sites.free(band);
        let k = runs.partition_point(|run| run.start <= x) - 1;
        (self.first_run[band] as usize + k, runs[k])
    }

    /// Whether a cell may stand in a run, as wide as it is.
    fn fits(cell: &Cell, run: &Run) -> bool {
        run.fence == cell.fence && run.end - run.start >= cell.width
    }

    /// Returns the site of a run, wide enough for the cell, that is nearest to where it wants to
    /// be.
    fn nearest_site(&self, k: u32, run: &Run) -> i32 {
        let (low, high) = (f64::from(run.start), f64::from(run.end - self.width(k)));
        self.wishes[k as usize].x.round().max(low).min(high) as i32
    }

    /// Returns the runs that a cell of one band may stand in and that are wide enough, nearest
    /// first, at most so many.
    pub(super) fn targets(&self, k: u32, most: usize) -> Vec<Target> {
        let cell = self.cell(k);
        let wish = self.wishes[k as usize];
        let stands = self.cells.stands(cell);
        let mut targets = Vec::new();
        for (nth, stand) in stands.iter().enumerate() {
            let dy = (self.row_y[stand.row as usize] - wish.y).abs();
            for run in self.spans_of(k, nth) {
                if Self::fits(cell, run) {
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

    /// Returns the only band of a row that is a target.
    fn band_of(&self, target: &Target) -> usize {
        self.sites.rows()[target.row as usize].bands().start
    }

    /// Returns the sites of a target's run that no cell takes.
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

    /// Returns the best place for a cell in a target's run, if it may stand there and has room.
    pub(super) fn find_in(&mut self, k: u32, target: Target) -> Option<Place> {
        let cell = self.cell(k);
        let stands = self.cells.stands(cell);
        let nth = stands.binary_search_by_key(&target.row, |stand| stand.row).ok()?;
        let (_, run) = self.run_at(self.band_of(&target), target.site);
        if !Self::fits(cell, &run) {
            return None;
        }
        self.place_at(k, stands[nth], self.nearest_site(k, &run), f64::INFINITY, usize::MAX)
    }

    /// Returns a state to go back to by [`Shelf::undo`].
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

    /// Returns the sites of a run that no cell takes.
    fn slack(&self, band: usize, x: i32) -> i32 {
        let (index, run) = self.run_at(band, x);
        run.end - run.start - self.used[index]
    }

    /// Returns the runs that are free in all bands of the nth stand of a cell, of any fence.
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

    /// Returns the number of cells of a band that are left of `x`.
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

    /// Returns the best place for a cell among those that cost less than `most`, pushing at most
    /// `reach` cells either way, in a few runs of each row; in all of them without a `reach`.
    pub(super) fn find(&mut self, k: u32, most: f64, reach: usize) -> Option<Place> {
        let stands = self.cells.stands(self.cell(k));
        let wish = self.wishes[k as usize];
        let row_y = self.row_y;
        let above = stands.partition_point(|stand| row_y[stand.row as usize] < wish.y);
        let dy = |nth: usize| (row_y[stands[nth].row as usize] - wish.y).abs();
        let (mut best, mut bound): (Option<Place>, f64) = (None, most);
        for (nth, dy) in outwards(above, stands.len(), dy) {
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

    /// Returns the best place on one stand.
    fn find_on(&mut self, k: u32, nth: usize, most: f64, reach: usize) -> Option<Place> {
        let (cell, wish) = (self.cell(k), self.wishes[k as usize]);
        let stand = self.cells.stands(cell)[nth];
        let dy = (self.row_y[stand.row as usize] - wish.y).abs();
        let spans = self.spans_of(k, nth);
        let fits = |run: &&Run| Self::fits(cell, run);
        let after = spans.partition_point(|run| f64::from(run.start) <= wish.x);
        let mut wanted: Vec<(i32, Run)> = Vec::with_capacity(6);
        let runs = if reach == usize::MAX { usize::MAX } else { 3 };
        let near = |run: &Run| (f64::from(self.nearest_site(k, run)) - wish.x).abs() + dy < most;
        let pick = |run: &Run| near(run).then(|| (self.nearest_site(k, run), *run));
        wanted.extend(spans[..after].iter().rev().filter(fits).map_while(pick).take(runs));
        wanted.extend(spans[after..].iter().filter(fits).map_while(pick).take(runs));
        let (mut best, mut bound): (Option<Place>, f64) = (None, most);
        for (x, run) in wanted {
            if let Some(place) = self.place_at(k, stand, x, bound, reach) {
                bound = place.cost;
                best = Some(place);
                continue;
            }
            // Where pushing does not help there may be a gap all the same.
            for x in [Way::Left, Way::Right].map(|way| self.gap(way, k, stand, x, run)) {
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

    /// Returns the nearest free place of a run at `x` or to one side of it.
    fn gap(&self, way: Way, k: u32, stand: Stand, mut x: i32, run: Run) -> Option<i32> {
        let width = self.width(k);
        while x >= run.start && x + width <= run.end {
            let in_the_way = self.in_the_way(k, stand, x);
            let next = match way {
                Way::Left => in_the_way.map(|(start, _)| start - width).min(),
                Way::Right => in_the_way.map(|(_, end)| end).max(),
            };
            let Some(next) = next else { return Some(x) };
            x = next;
        }
        None
    }

    /// Returns where cells begin and end that have sites from `x` on that this one takes: of each
    /// band the last of them.
    fn in_the_way(&self, k: u32, stand: Stand, x: i32) -> impl Iterator<Item = (i32, i32)> + '_ {
        let end = x + self.width(k);
        stand.bands().filter_map(move |band| {
            let last = *self.lists[band].get(self.position(band, end).checked_sub(1)?)?;
            let start = self.x[last as usize];
            Some((start, start + self.width(last))).filter(|(_, end)| *end > x)
        })
    }

    /// Returns a place at `x`, or near where others have to be pushed aside.
    fn place_at(&mut self, k: u32, stand: Stand, x: i32, most: f64, reach: usize) -> Option<Place> {
        if self.in_the_way(k, stand, x).next().is_none() {
            let cost = self.distance(k, stand.row, x);
            return (cost < most).then(|| Place { cost, stand, x, moves: Vec::new() });
        }
        let place = self.squeeze(k, stand, x, most, reach);
        self.forget();
        place
    }

    /// Returns a place at `x` or near, those in the way pushed aside.
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
        let short = self.push(Way::Left, &bounds, x, reach)?;
        if short > 0 {
            x += short;
            self.forget();
            if self.push(Way::Left, &bounds, x, reach)? > 0 {
                return None;
            }
        }
        let short = self.push(Way::Right, &bounds, x + width, reach)?;
        if short > 0 {
            x -= short;
            self.forget();
            let left = self.push(Way::Left, &bounds, x, reach)?;
            if left > 0 || self.push(Way::Right, &bounds, x + width, reach)? > 0 {
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
        (inside && cost < most).then_some(Place { cost, stand, x, moves })
    }

    fn forget(&mut self) {
        for k in self.pushed.touched.drain(..) {
            self.pushed.to[k as usize] = i32::MIN;
        }
        self.pushed.heap.clear();
    }

    /// Pushes what is left (or right) of `edge` out of its way: by how much it does not fit. `None`
    /// when more than `reach` would have to move. The walls of the sites around `edge` itself are
    /// looked at by who asks.
    fn push(&mut self, way: Way, from: &[(usize, usize)], edge: i32, reach: usize) -> Option<i32> {
        let edge = if way == Way::Left { edge } else { -edge };
        for &(band, split) in from {
            if let Some(c) = self.neighbour(way, band, split) {
                self.ask(way, c, edge);
            }
        }
        let (mut short, mut count) = (0, 0);
        while let Some((_, c)) = self.pushed.heap.pop() {
            count += 1;
            if count > reach {
                return None;
            }
            let x = self.x[c as usize];
            let new = way.mirrored(self.pushed.to[c as usize], self.width(c));
            for band in self.bands_of(c) {
                let (_, run) = self.run_at(band, x);
                let wall = if way == Way::Left { run.start } else { -run.end };
                short = short.max(wall - new);
                let at = self.position(band, x);
                let split = if way == Way::Left { at } else { at + 1 };
                // One beyond the wall is in nobody's way.
                if let Some(next) = self.neighbour(way, band, split)
                    && way.mirrored(self.x[next as usize], self.width(next)) >= wall
                {
                    self.ask(way, next, new);
                }
            }
        }
        Some(short)
    }

    /// Returns the cell of a band next to those before `split`, or from it on, that is pushed
    /// first.
    fn neighbour(&self, way: Way, band: usize, split: usize) -> Option<u32> {
        let at = if way == Way::Left { split.checked_sub(1)? } else { split };
        self.lists[band].get(at).copied()
    }

    /// Asks a cell to keep off `edge`, a place in the mirror of its way.
    fn ask(&mut self, way: Way, c: u32, edge: i32) {
        let w = self.width(c);
        let at = way.mirrored(self.x[c as usize], w);
        if at + w <= edge {
            return;
        }
        let asked = way.mirrored(edge - w, w);
        let known = &mut self.pushed.to[c as usize];
        if *known == i32::MIN {
            *known = asked;
            self.pushed.touched.push(c);
            self.pushed.heap.push((at, c));
        } else {
            *known = if way == Way::Left { asked.min(*known) } else { asked.max(*known) };
        }
    }

    /// The bands of the run's neighbours that a failed search would have needed: the widest free
    /// run that a cell may stand in.
    pub(super) fn widest(&self, k: u32) -> i32 {
        let cell = self.cell(k);
        let stands = self.cells.stands(cell).len();
        let runs = (0..stands).flat_map(|nth| self.spans_of(k, nth));
        runs.filter(|run| run.fence == cell.fence).map(|run| run.end - run.start).max().unwrap_or(0)
    }

    /// Returns the bands that a cell stands on.
    pub(super) fn bands_of(&self, k: u32) -> Range<usize> {
        self.stand[k as usize].map_or(0..0, |stand| stand.bands())
    }
}
