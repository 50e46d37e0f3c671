//! Cells on rows, and the insertion of one more cell.
//!
//! A cell is placed at its desired position. It pushes overlapping cells aside, to the left or to
//! the right by the order of their centres. Each moves only as far as necessary and pushes the next
//! cells, over all bands that they share (W.-K. Chow, C.-W. Pui, E. F. Y. Young, "Legalization
//! Algorithm for Multiple-Row Height Standard Cell Design", DAC 2016: its local problem, but with
//! whole chains instead of a window). Lengths are in sites. Every change can be undone.

use super::outwards;
use crate::memory::filled;
use crate::parallel::{self, chunks, chunks_mut, cut, each_mut};
use crate::rows::{
    Access, AllowedRow, Cell, Cells, Occupant, RowCells, Run, Sites, Span, shared, without,
};
use std::collections::BinaryHeap;
use std::ops::Range;
use std::sync::OnceLock;

/// The desired position of a cell, in sites: left edge of its sites, and bottom edge divided by the
/// pitch.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Wish {
    pub(super) x: f64,
    pub(super) y: f64,
}

/// A run of a row, as one of the places for a cell.
#[derive(Clone, Copy, PartialEq)]
pub(super) struct Target {
    /// The row.
    pub(super) row: u32,
    /// A site of the run.
    pub(super) site: i32,
    pub(super) distance: f64,
}

/// A place for a cell that was found: its cost, and the cells that have to move.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) cost: f64,
    row: AllowedRow,
    x: i32,
    moves: Vec<(u32, i32)>,
}

/// The cells of one lattice on its rows.
pub(super) struct Shelf<'a> {
    pub(super) sites: &'a Sites,
    pub(super) cells: &'a Cells,
    pub(super) wishes: &'a [Wish],
    /// Bottom edges of rows over the pitch.
    pub(super) row_y: &'a [f64],
    /// The row and the first site of each cell that is placed.
    at: Vec<Option<(AllowedRow, i32)>>,
    /// Cells that may use soft blockages because they found no other room.
    soft: Vec<bool>,
    bands: Vec<RowCells>,
    /// Of each free run, how many sites are occupied. Runs are counted over all bands.
    used: Vec<i32>,
    /// Of each free run, a width that is known to fit into no gap between its cells.
    too_wide: Vec<i32>,
    /// The first run of each band, and the number of runs.
    first_run: Vec<u32>,
    /// By view and list of allowed rows, the runs that are free in all bands of a row.
    spans: Vec<OnceLock<Vec<Run>>>,
    /// Whether every cell has one band, and all use the same runs.
    has_one_band_cells: bool,
    pushed: Pushed,
    /// The changes, in order.
    journal: Vec<Change>,
}

/// A change of a [`Shelf`], with the data that undoes it.
enum Change {
    /// Cells were moved from these sites.
    Moved(Vec<(u32, i32)>),
    Put(u32),
    Removed(u32, AllowedRow, i32),
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
        let mut first_run = Vec::with_capacity(sites.bands().len() + 1);
        let mut runs = 0;
        for band in 0..sites.bands().len() {
            first_run.push(runs as u32);
            runs += sites.free(band).len();
        }
        first_run.push(runs as u32);
        let (count, mut all_rows) = (cells.cells().len(), cells.row_lists().flatten());
        Shelf {
            sites,
            cells,
            wishes,
            row_y,
            at: filled(count, None),
            soft: vec![false; count],
            bands: vec![RowCells::default(); sites.bands().len()],
            used: vec![0; runs],
            too_wide: vec![i32::MAX; runs],
            first_run,
            spans: vec![OnceLock::new(); sites.views() * cells.all_rows()],
            has_one_band_cells: sites.views() == 1 && all_rows.all(|row| row.bands().len() == 1),
            pushed: Pushed { to: filled(count, i32::MIN), ..Pushed::default() },
            journal: Vec::new(),
        }
    }

    pub(super) fn cell(&self, k: u32) -> &'a Cell {
        &self.cells.cells()[k as usize]
    }

    /// Returns the sites that a cell takes.
    pub(super) fn width(&self, k: u32) -> i32 {
        self.cell(k).width
    }

    /// Returns the row and the first site of a cell, if it is placed.
    pub(super) fn place_of(&self, k: u32) -> Option<(AllowedRow, i32)> {
        self.at[k as usize]
    }

    /// Returns the bands that a cell would cover on the first of its allowed rows.
    pub(super) fn bands_high(&self, k: u32) -> usize {
        self.cells.rows(self.cell(k))[0].bands().len()
    }

    fn x(&self, k: u32) -> i32 {
        self.at[k as usize].map_or(0, |(_, x)| x)
    }

    /// Returns how far a cell is from where it wants to be at `x` on a row.
    pub(super) fn distance(&self, k: u32, row: u32, x: i32) -> f64 {
        let wish = self.wishes[k as usize];
        (f64::from(x) - wish.x).abs() + (self.row_y[row as usize] - wish.y).abs()
    }

    /// Returns how far a cell is from where it wants to be, if it is placed.
    pub(super) fn displacement(&self, k: u32) -> Option<f64> {
        self.place_of(k).map(|(row, x)| self.distance(k, row.row, x))
    }

    /// Lets a cell use soft blockages.
    pub(super) fn allow_soft(&mut self, k: u32) {
        self.soft[k as usize] = true;
    }

    /// Returns the areas that a cell may use.
    fn access(&self, k: u32) -> Access {
        match self.soft[k as usize] {
            true => self.sites.access(self.cell(k).access.fence, true),
            false => self.cell(k).access,
        }
    }

    /// Returns the run of a band that holds site `x`, of those that a cell may use; an empty one if
    /// there is none.
    fn wall(&self, k: u32, band: usize, x: i32) -> Run {
        let runs = self.sites.free_for(self.access(k), band);
        let before = &runs[..runs.partition_point(|run| run.start <= x)];
        let here = before.last().filter(|run| run.end > x);
        here.copied().unwrap_or(Run { start: x, end: x, fence: None })
    }

    /// Returns the run of a band that holds site `x`, counted over all bands.
    fn run_at(&self, band: usize, x: i32) -> (usize, Run) {
        let runs = self.sites.free(band);
        let k = runs.partition_point(|run| run.start <= x) - 1;
        (self.first_run[band] as usize + k, runs[k])
    }

    /// Returns whether a cell may lie in a run and is not wider.
    fn fits(&self, k: u32, run: &Run) -> bool {
        run.fits(self.access(k), self.width(k))
    }

    /// Returns the site of a run, wide enough for the cell, that is nearest to where it wants to
    /// be.
    fn nearest_site(&self, k: u32, run: &Run) -> i32 {
        let (low, high) = (f64::from(run.start), f64::from(run.end - self.width(k)));
        self.wishes[k as usize].x.round().max(low).min(high) as i32
    }

    /// Returns the runs that a cell of one band may lie in and that are wide enough, nearest
    /// first, at most so many.
    pub(super) fn targets(&self, k: u32, most: usize) -> Vec<Target> {
        let wish = self.wishes[k as usize];
        let rows = self.cells.rows(self.cell(k));
        let mut targets = Vec::new();
        for (nth, row) in rows.iter().enumerate() {
            let dy = (self.row_y[row.row as usize] - wish.y).abs();
            for run in self.spans_of(k, nth).iter().filter(|run| self.fits(k, run)) {
                let x = f64::from(self.nearest_site(k, run));
                let distance = dy + (x - wish.x).abs();
                targets.push(Target { row: row.row, site: run.start, distance });
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
        let here = self.bands[band].within(Span { left: run.start, right: run.end });
        here.iter().map(|o| o.cell).filter(|&k| self.bands_of(k).len() == 1).collect()
    }

    /// Returns the best place for a cell in a target's run, if it may lie there and has room.
    pub(super) fn find_in(&mut self, k: u32, target: Target) -> Option<Place> {
        let rows = self.cells.rows(self.cell(k));
        let nth = rows.binary_search_by_key(&target.row, |row| row.row).ok()?;
        let run = self.wall(k, self.band_of(&target), target.site);
        if !self.fits(k, &run) {
            return None;
        }
        self.place_at(k, rows[nth], self.nearest_site(k, &run), f64::INFINITY, usize::MAX)
    }

    /// Returns a state to go back to by [`Shelf::undo`].
    pub(super) fn mark(&self) -> usize {
        self.journal.len()
    }

    /// Undoes the changes since a mark.
    pub(super) fn undo(&mut self, mark: usize) {
        while self.journal.len() > mark
            && let Some(change) = self.journal.pop()
        {
            match change {
                Change::Moved(from) => {
                    self.shift(&from);
                }
                Change::Put(k) => self.take(k),
                Change::Removed(k, row, x) => self.insert(k, row, x),
            }
        }
    }

    /// Forgets how to undo the changes so far.
    pub(super) fn settle(&mut self) {
        self.journal.clear();
    }

    /// Returns the sites of a run that no cell takes.
    fn slack(&self, band: usize, x: i32) -> i32 {
        let (index, run) = self.run_at(band, x);
        run.sites() - self.used[index]
    }

    /// Returns the runs, of any fence, that are free in all bands of the nth row of a cell.
    fn spans_of(&self, k: u32, nth: usize) -> &[Run] {
        let (row, access) = (self.cells.rows(self.cell(k))[nth], self.access(k));
        let all = self.cells.all_rows();
        let index = access.view() * all + self.cells.first_row(self.cell(k)) + nth;
        self.spans[index].get_or_init(|| {
            let mut runs = self.sites.segments(access, row.row as usize).to_vec();
            for band in row.bands() {
                runs = shared(&runs, self.sites.free_for(access, band), false);
            }
            runs
        })
    }

    /// Returns the runs of a row, for cells with this access, that no cell occupies.
    pub(super) fn free_runs(&self, access: Access, row: usize) -> Vec<Run> {
        let mut runs = self.sites.segments(access, row).to_vec();
        for band in self.sites.rows()[row].bands() {
            let cells = &self.bands[band].cells;
            if !cells.is_empty() {
                let taken: Vec<_> = cells.iter().map(|o| (o.span.left, o.span.right)).collect();
                runs = without(&runs, &taken);
            }
        }
        runs
    }

    /// Puts cells on sites that are free: row and first site of each. Each list is for a range of
    /// rows. The ranges ascend without gaps, and share no band.
    pub(super) fn lay(&mut self, ranges: &[Range<usize>], lists: &[Vec<(u32, u32, i32)>]) {
        let Shelf { sites, cells, at, bands, used, first_run, .. } = self;
        let row_of = |k: u32, row: u32| {
            let rows = cells.rows(&cells.cells()[k as usize]);
            rows.binary_search_by_key(&row, |row| row.row).ok().map(|nth| rows[nth])
        };
        // Every thread looks for its cells in all lists.
        let size = at.len().div_ceil(parallel::threads());
        parallel::for_each(chunks_mut(at, size), |block, at| {
            for &(k, row, x) in lists.iter().flatten() {
                if let Some(at) = at.get_mut((k as usize).wrapping_sub(block * size)) {
                    *at = row_of(k, row).map(|row| (row, x));
                }
            }
        });
        let first_band = |range: &Range<usize>| sites.rows()[range.start].bands().start;
        let end_band = |range: &Range<usize>| sites.rows()[range.end - 1].bands().end;
        let run = |band: usize| first_run[band] as usize;
        let first = first_band(&ranges[0]);
        let ends = || ranges.iter().map(end_band);
        let mut bands = cut(&mut bands[first..], ends().map(|end| end - first));
        let mut used = cut(&mut used[run(first)..], ends().map(|end| run(end) - run(first)));
        let parts =
            (each_mut(&mut bands), each_mut(&mut used), chunks(ranges, 1), chunks(lists, 1));
        parallel::for_each(parts, |_, (bands, used, range, list)| {
            let first = first_band(&range[0]);
            for &(k, row, x) in &list[0] {
                let Some(row) = row_of(k, row) else { continue };
                let span = Span { left: x, right: x + cells.cells()[k as usize].width };
                for band in row.bands() {
                    let nth = sites.free(band).partition_point(|run| run.start <= x) - 1;
                    used[run(band) - run(first) + nth] += span.width();
                    bands[band - first].cells.push(Occupant { span, cell: k });
                }
            }
            for RowCells { cells } in bands.iter_mut() {
                if !cells.is_sorted_by_key(|o| o.span.left) {
                    cells.sort_unstable_by_key(|o| o.span.left);
                }
            }
        });
    }

    fn occupy(&mut self, k: u32, row: AllowedRow, x: i32) -> Occupant {
        self.at[k as usize] = Some((row, x));
        for band in row.bands() {
            let (run, _) = self.run_at(band, x);
            self.used[run] += self.width(k);
        }
        Occupant { span: Span { left: x, right: x + self.width(k) }, cell: k }
    }

    /// Takes a cell away.
    pub(super) fn remove(&mut self, k: u32) {
        if let Some((row, x)) = self.place_of(k) {
            self.journal.push(Change::Removed(k, row, x));
            self.take(k);
        }
    }

    fn take(&mut self, k: u32) {
        let Some((row, x)) = self.at[k as usize].take() else { return };
        for band in row.bands() {
            let (run, _) = self.run_at(band, x);
            self.used[run] -= self.width(k);
            self.too_wide[run] = i32::MAX;
            self.bands[band].remove(x);
        }
    }

    /// Moves cells to these sites of their rows, which keeps their order. Returns where they were.
    fn shift(&mut self, moves: &[(u32, i32)]) -> Vec<(u32, i32)> {
        let mut from = Vec::with_capacity(moves.len());
        let mut indices = Vec::with_capacity(moves.len());
        for &(k, _) in moves {
            let x = self.x(k);
            from.push((k, x));
            for band in self.bands_of(k) {
                indices.push(self.bands[band].from(x));
            }
        }
        let mut indices = indices.into_iter();
        for &(k, to) in moves {
            let span = Span { left: to, right: to + self.width(k) };
            for (band, index) in self.bands_of(k).zip(&mut indices) {
                self.bands[band].cells[index].span = span;
                let (run, _) = self.run_at(band, to);
                self.too_wide[run] = i32::MAX;
            }
            if let Some((_, x)) = &mut self.at[k as usize] {
                *x = to;
            }
        }
        from
    }

    /// Moves placed cells to these sites of their rows, which keeps their order.
    pub(super) fn move_in_rows(&mut self, moves: &[(u32, i32)]) {
        let from = self.shift(moves);
        self.journal.push(Change::Moved(from));
    }

    /// Returns whether a cell may lie at `x` on a row, whatever other cells are there.
    pub(super) fn may_lie(&self, k: u32, row: AllowedRow, x: i32) -> bool {
        let span = Span { left: x, right: x + self.width(k) };
        let access = self.access(k);
        span.lies_in(self.sites.segments(access, row.row as usize), access)
            && row.bands().all(|band| span.lies_in(self.sites.free_for(access, band), access))
    }

    /// Returns whether a cell may lie at `x` on a row, and no other cell is there.
    pub(super) fn is_free(&self, k: u32, row: AllowedRow, x: i32) -> bool {
        self.may_lie(k, row, x) && self.in_the_way(k, row, x).next().is_none()
    }

    /// Returns the cells of a band on sites of `span`.
    pub(super) fn cells_of(&self, band: usize, span: Span) -> &[Occupant] {
        self.bands[band].within(span)
    }

    /// Returns the edges of the neighbours of a placed cell in a band, with their padding: at its
    /// left and at its right. `None` for a neighbour of one row.
    pub(super) fn beside(&self, k: u32, band: usize) -> [Option<(i32, i32)>; 2] {
        let x = self.x(k);
        let (cells, (_, run)) = (&self.bands[band].cells, self.run_at(band, x));
        let at = self.bands[band].from(x);
        let left = at.checked_sub(1).map(|at| cells[at]).filter(|o| o.span.left >= run.start);
        let right = cells.get(at + 1).copied().filter(|o| o.span.left < run.end);
        let edge = |of: Option<Occupant>, edge: fn(Span) -> i32, wall: i32| match of {
            Some(o) if self.bands_of(o.cell).len() == 1 => None,
            Some(o) => Some((edge(o.span), self.cell(o.cell).padding)),
            None => Some((wall, 0)),
        };
        [edge(left, |span| span.right, run.start), edge(right, |span| span.left, run.end)]
    }

    /// Puts a cell where a place was found.
    pub(super) fn put(&mut self, k: u32, place: &Place) {
        if !place.moves.is_empty() {
            let from = self.shift(&place.moves);
            self.journal.push(Change::Moved(from));
        }
        self.put_at(k, place.row, place.x);
    }

    /// Puts a cell on sites that are free.
    pub(super) fn put_at(&mut self, k: u32, row: AllowedRow, x: i32) {
        self.journal.push(Change::Put(k));
        self.insert(k, row, x);
    }

    fn insert(&mut self, k: u32, row: AllowedRow, x: i32) {
        let occupant = self.occupy(k, row, x);
        for band in row.bands() {
            self.bands[band].insert(occupant);
        }
    }

    /// Returns the best place for a cell among those that cost less than `most`, pushing at most
    /// `reach` cells either way, in a few runs of each row; in all of them without a limit to
    /// `reach`. With a `reach` of 0 it is the nearest place that is free.
    pub(super) fn find(&mut self, k: u32, most: f64, reach: usize) -> Option<Place> {
        let rows = self.cells.rows(self.cell(k));
        let (mut best, mut bound): (Option<Place>, f64) = (None, most);
        for (nth, dy) in self.rows_around(k, rows) {
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

    /// Returns the allowed rows of a cell from where it wants to be outwards, by their number, each
    /// with its distance.
    pub(super) fn rows_around(
        &self,
        k: u32,
        rows: &'a [AllowedRow],
    ) -> impl Iterator<Item = (usize, f64)> + use<'a> {
        let (y, row_y) = (self.wishes[k as usize].y, self.row_y);
        let above = rows.partition_point(|row| row_y[row.row as usize] < y);
        outwards(above, rows.len(), move |nth| (row_y[rows[nth].row as usize] - y).abs())
    }

    /// Returns the best place on one row.
    fn find_on(&mut self, k: u32, nth: usize, most: f64, reach: usize) -> Option<Place> {
        let wish = self.wishes[k as usize];
        let row = self.cells.rows(self.cell(k))[nth];
        let dy = (self.row_y[row.row as usize] - wish.y).abs();
        let spans = self.spans_of(k, nth);
        let (access, width) = (self.access(k), self.width(k));
        let fits = |run: &&Run| run.fits(access, width);
        let after = spans.partition_point(|run| f64::from(run.start) <= wish.x);
        let mut wanted: Vec<(i32, Run)> = Vec::with_capacity(6);
        let runs = if reach == usize::MAX || reach == 0 { usize::MAX } else { 3 };
        let near = |run: &Run| (f64::from(self.nearest_site(k, run)) - wish.x).abs() + dy < most;
        let pick = |run: &Run| near(run).then(|| (self.nearest_site(k, run), *run));
        wanted.extend(spans[..after].iter().rev().filter(fits).map_while(pick).take(runs));
        wanted.extend(spans[after..].iter().filter(fits).map_while(pick).take(runs));
        let (mut best, mut bound): (Option<Place>, f64) = (None, most);
        for (x, run) in wanted {
            if row.bands().any(|band| self.slack(band, x) < width) {
                continue;
            }
            if reach > 0
                && let Some(place) = self.place_at(k, row, x, bound, reach)
            {
                bound = place.cost;
                best = Some(place);
                continue;
            }
            // Where pushing does not help there may be a gap all the same.
            for x in self.gaps(k, row, x, run, bound - dy).into_iter().flatten() {
                let cost = self.distance(k, row.row, x);
                if cost < bound {
                    bound = cost;
                    best = Some(Place { cost, row, x, moves: Vec::new() });
                }
            }
        }
        best
    }

    /// Returns the nearest free places of a run at `x` or to the left, and at `x` or to the right,
    /// nearer than `most` to where the cell wants to be.
    fn gaps(&mut self, k: u32, row: AllowedRow, x: i32, run: Run, most: f64) -> [Option<i32>; 2] {
        let width = self.width(k);
        let known = |band| self.too_wide[self.run_at(band, x).0] <= width;
        if row.bands().any(known) {
            return [None, None];
        }
        let found = [Way::Left, Way::Right].map(|way| self.gap(way, k, row, x, run, most));
        // A search that came to both ends of the run knows that nothing as wide fits there.
        if let [Err(true), Err(true)] = found
            && row.bands().len() == 1
        {
            let (index, whole) = self.run_at(row.bands().start, x);
            if (whole.start, whole.end) == (run.start, run.end) {
                self.too_wide[index] = width;
            }
        }
        found.map(Result::ok)
    }

    /// Returns the nearest free place of a run at `x` or to one side of it. If there is none that
    /// is nearer than `most`, whether the search came to the end of the run.
    fn gap(
        &self,
        way: Way,
        k: u32,
        row: AllowedRow,
        mut x: i32,
        run: Run,
        most: f64,
    ) -> Result<i32, bool> {
        let (width, wish) = (self.width(k), self.wishes[k as usize].x);
        while x >= run.start && x + width <= run.end {
            if (f64::from(x) - wish).abs() >= most {
                return Err(false);
            }
            let in_the_way = self.in_the_way(k, row, x);
            let next = match way {
                Way::Left => in_the_way.map(|span| span.left - width).min(),
                Way::Right => in_the_way.map(|span| span.right).max(),
            };
            let Some(next) = next else { return Ok(x) };
            x = next;
        }
        Err(true)
    }

    /// Returns the spans of cells on sites from `x` on that this one takes: of each band the last.
    fn in_the_way(&self, k: u32, row: AllowedRow, x: i32) -> impl Iterator<Item = Span> + '_ {
        let end = x + self.width(k);
        row.bands().filter_map(move |band| {
            let cells = &self.bands[band];
            let last = cells.cells.get(cells.from(end).checked_sub(1)?)?;
            Some(last.span).filter(|span| span.right > x)
        })
    }

    /// Adds to `found` the cells that occupy sites from `x` on that this one would take, each once.
    pub(super) fn occupants(&self, k: u32, row: AllowedRow, x: i32, found: &mut Vec<u32>) {
        let span = Span { left: x, right: x + self.width(k) };
        for band in row.bands() {
            for occupant in self.bands[band].within(span) {
                if !found.contains(&occupant.cell) {
                    found.push(occupant.cell);
                }
            }
        }
    }

    /// Adds to `found` sites of the nth allowed row of a cell where it would lie beside other
    /// cells or at the end of a run, from its wish outwards: at most `most` to either side.
    pub(super) fn sites_near(&self, k: u32, nth: usize, most: usize, found: &mut Vec<i32>) {
        let (wish, width) = (self.wishes[k as usize], self.width(k));
        let row = self.cells.rows(self.cell(k))[nth];
        for run in self.spans_of(k, nth).iter().filter(|run| self.fits(k, run)) {
            let nearest = self.nearest_site(k, run);
            found.extend([nearest, run.start, run.end - width]);
            let inside = |x: &i32| *x >= run.start && x + width <= run.end;
            for band in row.bands() {
                let cells = &self.bands[band];
                let at = cells.from(nearest);
                let around = at.saturating_sub(most)..(at + most).min(cells.cells.len());
                for Occupant { span, .. } in &cells.cells[around] {
                    let beside = [span.left, span.right - width, span.right, span.left - width];
                    found.extend(beside.into_iter().filter(inside));
                }
            }
        }
        found.sort_by(|a, b| {
            let far = |x: i32| (f64::from(x) - wish.x).abs();
            far(*a).total_cmp(&far(*b)).then(a.cmp(b))
        });
        found.dedup();
    }

    /// Returns a place at `x`, or near where others have to be pushed aside.
    fn place_at(
        &mut self,
        k: u32,
        row: AllowedRow,
        x: i32,
        most: f64,
        reach: usize,
    ) -> Option<Place> {
        if self.in_the_way(k, row, x).next().is_none() {
            let cost = self.distance(k, row.row, x);
            return (cost < most).then(|| Place { cost, row, x, moves: Vec::new() });
        }
        let place = self.squeeze(k, row, x, most, reach);
        self.forget();
        place
    }

    /// Returns a place at `x` or near, those in the way pushed aside.
    fn squeeze(
        &mut self,
        k: u32,
        row: AllowedRow,
        x: i32,
        most: f64,
        reach: usize,
    ) -> Option<Place> {
        let width = self.width(k);
        if row.bands().any(|band| self.slack(band, x) < width) {
            return None;
        }
        let walls = row.bands().fold((i32::MIN, i32::MAX), |(low, high), band| {
            let run = self.wall(k, band, x);
            (low.max(run.start), high.min(run.end))
        });
        // Those with their centres left of this one's go left.
        let middle = 2 * x + width;
        let mut bounds: Vec<(usize, usize)> = Vec::with_capacity(row.bands().len());
        for band in row.bands() {
            let cells = &self.bands[band].cells;
            let split = cells.partition_point(|o| o.span.left + o.span.right < middle);
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
        let mut cost = self.distance(k, row.row, x);
        let mut moves = Vec::with_capacity(self.pushed.touched.len());
        for &c in &self.pushed.touched {
            let to = self.pushed.to[c as usize];
            let Some((row, from)) = self.place_of(c) else { continue };
            cost += self.distance(c, row.row, to) - self.distance(c, row.row, from);
            moves.push((c, to));
        }
        (inside && cost < most).then_some(Place { cost, row, x, moves })
    }

    fn forget(&mut self) {
        for k in self.pushed.touched.drain(..) {
            self.pushed.to[k as usize] = i32::MIN;
        }
        self.pushed.heap.clear();
    }

    /// Pushes the cells left (or right) of `edge` aside. Returns the length that does not
    /// fit; `None` if more than `reach` cells would have to move. The caller checks the walls of
    /// the sites around `edge` itself.
    fn push(&mut self, way: Way, from: &[(usize, usize)], edge: i32, reach: usize) -> Option<i32> {
        let edge = if way == Way::Left { edge } else { -edge };
        if let (true, &[(band, split)]) = (self.has_one_band_cells, from) {
            return self.push_in_band(way, band, split, edge, reach);
        }
        for &(band, split) in from {
            if let Some(next) = self.neighbour(way, band, split) {
                self.ask(way, next, edge);
            }
        }
        let (mut short, mut count) = (0, 0);
        while let Some((_, c)) = self.pushed.heap.pop() {
            count += 1;
            if count > reach {
                return None;
            }
            let x = self.x(c);
            let new = way.mirrored(self.pushed.to[c as usize], self.width(c));
            for band in self.bands_of(c) {
                let run = self.wall(c, band, x);
                let wall = if way == Way::Left { run.start } else { -run.end };
                short = short.max(wall - new);
                let at = self.bands[band].from(x);
                let split = if way == Way::Left { at } else { at + 1 };
                // One beyond the wall is in nobody's way.
                if let Some(next) = self.neighbour(way, band, split)
                    && way.mirrored(next.span.left, next.span.width()) + next.span.width() > wall
                {
                    self.ask(way, next, new);
                }
            }
        }
        Some(short)
    }

    /// Does as [`Shelf::push`] where all cells are in one band each; `edge` is mirrored already.
    fn push_in_band(
        &mut self,
        way: Way,
        band: usize,
        split: usize,
        mut edge: i32,
        reach: usize,
    ) -> Option<i32> {
        let cells = &self.bands[band].cells;
        let (mut short, mut wall) = (0, i32::MIN);
        for count in 1.. {
            let next = match way {
                Way::Left => split.checked_sub(count),
                Way::Right => Some(split + count - 1),
            };
            let Some(&Occupant { span, cell }) = next.and_then(|next| cells.get(next)) else {
                break;
            };
            let width = span.width();
            // Cells beyond the wall need not move.
            if way.mirrored(span.left, width) + width <= edge.max(wall) {
                break;
            }
            if count > reach {
                return None;
            }
            if count == 1 {
                let (_, run) = self.run_at(band, span.left);
                wall = if way == Way::Left { run.start } else { -run.end };
            }
            edge -= width;
            short = short.max(wall - edge);
            self.pushed.to[cell as usize] = way.mirrored(edge, width);
            self.pushed.touched.push(cell);
        }
        Some(short)
    }

    /// Returns the cell of a band next to those before `split`, or from it on, that is pushed
    /// first.
    fn neighbour(&self, way: Way, band: usize, split: usize) -> Option<Occupant> {
        let at = if way == Way::Left { split.checked_sub(1)? } else { split };
        self.bands[band].cells.get(at).copied()
    }

    /// Asks a cell to keep off `edge`, a place in the mirror of its way.
    fn ask(&mut self, way: Way, of: Occupant, edge: i32) {
        let (c, w) = (of.cell, of.span.width());
        let at = way.mirrored(of.span.left, w);
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

    /// Returns the sites of the widest free run, without regard to other cells, that a cell may lie
    /// in.
    pub(super) fn widest(&self, k: u32) -> i32 {
        let rows = self.cells.rows(self.cell(k)).len();
        let runs = (0..rows).flat_map(|nth| self.spans_of(k, nth));
        let fence = self.cell(k).access.fence;
        runs.filter(|run| run.fence == fence).map(Run::sites).max().unwrap_or(0)
    }

    /// Returns the bands that a cell covers.
    pub(super) fn bands_of(&self, k: u32) -> Range<usize> {
        self.place_of(k).map_or(0..0, |(row, _)| row.bands())
    }
}
