//! Global swap: cells move near to where their nets are shortest, into a gap, between two cells
//! that give way, or in exchange with another cell.
//!
//! A cell's nets are shortest at the median of the boxes of its nets without it, along x and along
//! y (Goto, "An efficient algorithm for the two-dimensional placement problem in electrical circuit
//! layout", IEEE TCAS 1981). The moves are the global swap of Pan, Viswanathan and Chu ("An
//! efficient and effective detailed placement algorithm", ICCAD 2005). Neighbours give way here,
//! instead of a penalty for overlap.

use super::state::{Change, Row, Spot, State};
use super::wires::{CellNets, Moved, Scratch};
use crate::rows::{Run, Span};
use std::ops::Range;

/// Rows searched on each side of the best row.
const ROWS: usize = 2;
/// Rows searched as long as no better position is found.
const MOST_ROWS: usize = 8;
/// Cells searched on each side of the best position in a row …
const CELLS: usize = 4;
/// … and those between which neighbours may give way.
const NEAR: usize = 2;
/// Most neighbours that give way.
pub(super) const MOST_PUSHED: usize = 8;

/// Working memory of a search.
#[derive(Default)]
pub(super) struct Search {
    nets: CellNets,
    scratch: Scratch,
    trial: Vec<Change>,
    best: Vec<Change>,
}

/// Adds to `changes` a move that brings `cell` nearer to its nets, if there is one.
pub(super) fn propose(state: &State, cell: u32, search: &mut Search, changes: &mut Vec<Change>) {
    let Some(aim) = Aim::of(state, cell, &mut search.nets) else { return };
    let of = &state.cells[cell as usize];
    let index = state.index(cell);
    let mut seeker = Seeker {
        state,
        cell,
        spot: of.spot,
        aim,
        most_gain: 0.0,
        segments: &[],
        home: room(state, cell, index),
        single: state.is_single(cell),
        gain: state.least_gain,
        search,
    };
    seeker.search.best.clear();
    // The best row comes first: other rows seldom improve on its best move.
    for away in 0..=MOST_ROWS {
        if away > ROWS && !seeker.search.best.is_empty() {
            break;
        }
        for row in seeker.aim.rows(state, away) {
            seeker.look(row);
        }
    }
    changes.append(&mut seeker.search.best);
}

/// The position at which the nets of a cell are shortest.
pub(super) struct Aim {
    /// Weighted length of its nets at its present pose.
    pub(super) now: f64,
    /// The x of its centre at which they are shortest, and their length along x there.
    pub(super) x: f64,
    pub(super) least: f64,
    /// The row at which they are shortest, among the searched rows.
    middle: usize,
}

impl Aim {
    /// Returns the aim of a cell, unless its nets are shortest at its present position. `nets` are
    /// then its nets.
    pub(super) fn of(state: &State, cell: u32, nets: &mut CellNets) -> Option<Aim> {
        if !state.wires.is_pulled(cell) {
            return None;
        }
        let pose = state.wires.pose(cell);
        state.wires.leave_out(cell, nets);
        let [x, y] = nets.best_region(&pose);
        let (x, y) = (pose.x.max(x.0).min(x.1), pose.y.max(y.0).min(y.1));
        let bottom = y - state.cells[cell as usize].half_height;
        ((x, y) != (pose.x, pose.y)).then(|| Aim {
            now: nets.length_at(&pose),
            x,
            least: nets.length_along(0, x, pose.mirrored),
            middle: nearest_row(&state.rows[state.searched.clone()], bottom),
        })
    }

    /// Returns the rows at this distance from the best one, the lower one first.
    pub(super) fn rows(&self, state: &State, away: usize) -> impl Iterator<Item = usize> + use<> {
        let Range { start, end } = state.searched;
        let both = [self.middle.checked_sub(away), Some(self.middle + away).filter(|_| away > 0)];
        both.into_iter().flatten().map(move |row| start + row).filter(move |row| *row < end)
    }
}

/// A cell that looks for a better place.
struct Seeker<'a> {
    state: &'a State,
    cell: u32,
    spot: Spot,
    aim: Aim,
    /// The gain of its nets in the current row, if they have no length along x there.
    most_gain: f64,
    /// The free runs of that row.
    segments: &'a [Run],
    /// The sites of the cell and the gaps beside it.
    home: Span,
    single: bool,
    /// Gain of the best changes so far, which are in `search`.
    gain: f64,
    search: &'a mut Search,
}

impl Seeker<'_> {
    /// Tries the gaps and cells of `row` that are nearest to the best x. It stops once the cell's
    /// own nets cannot gain more there than by the best changes so far.
    fn look(&mut self, row: usize) {
        let state = self.state;
        if state.bands(self.cell, row as u32).is_none() {
            return;
        }
        let pose = state.pose(self.cell, self.at(row, 0));
        self.most_gain = self.aim.now - self.search.nets.length_along(1, pose.y, pose.flipped);
        if self.most_gain - self.aim.least <= self.gain {
            return;
        }
        let want = state.site_at(self.cell, row, self.aim.x);
        let of = &state.cells[self.cell as usize];
        let sites = of.sites;
        self.segments = state.sites.segments(of.access, row);
        if !self.can_gain(row, want) {
            return;
        }
        let cells = &state.bands[state.rows[row].band as usize].cells;
        let k = state.bands[state.rows[row].band as usize].from(want);
        // Nets are longer farther from the best x.
        for j in k..=(k + CELLS).min(cells.len()) {
            let nearest = j.checked_sub(1).map_or(want, |left| cells[left].span.right - sites);
            if !self.can_gain(row, want.max(nearest)) {
                break;
            }
            self.look_at(row, want, j, j - k);
        }
        for j in (k.saturating_sub(CELLS)..k).rev() {
            if !self.can_gain(row, want.min(cells[j].span.right)) {
                break;
            }
            self.look_at(row, want, j, k - j);
        }
    }

    /// Whether the cell's nets would gain more at this site than by the best changes so far.
    fn can_gain(&self, row: usize, site: i32) -> bool {
        self.own_gain(row, site) > self.gain
    }

    /// Tries cell `j` of the band at the bottom of `row` and the gap before it, at this number of
    /// cells from the best x.
    fn look_at(&mut self, row: usize, want: i32, j: usize, cells_away: usize) {
        let state = self.state;
        let (of, band) = (&state.cells[self.cell as usize], &state.rows[row].band);
        let (band, segments) = (&state.bands[*band as usize], self.segments);
        let between = band.between(j);
        let gap = between.nearest_part(segments, want, of.access);
        if let Some(gap) = gap.filter(|gap| gap.width() >= of.sites) {
            self.fill_gap(row, want, gap);
        } else {
            if let Some(gap) = gap.filter(|_| self.single && cells_away <= NEAR) {
                self.between(row, j, gap);
            }
            // Among fixed cells the nearest gap is often too narrow.
            if let Some(room) = between.nearest_room(segments, want, of.access, of.sites) {
                self.fill_gap(row, want, room);
            }
        }
        if let Some(standing) = band.cells.get(j) {
            self.in_place_of(standing.cell, row, want, j);
        }
    }

    fn at(&self, row: usize, site: i32) -> Spot {
        Spot { row: row as u32, site, mirrored: self.spot.mirrored }
    }

    /// Returns the gain of the cell's nets by its own move to a site of the current row.
    fn own_gain(&self, row: usize, site: i32) -> f64 {
        let of = &self.state.cells[self.cell as usize];
        let x = self.state.rows[row].left(site) + of.centre;
        self.most_gain - self.search.nets.length_along(0, x, self.spot.mirrored)
    }

    fn offer(&mut self, gain: f64, changes: &[Change]) {
        if gain > self.gain {
            self.gain = gain;
            self.search.best.clear();
            self.search.best.extend_from_slice(changes);
        }
    }

    fn fill_gap(&mut self, row: usize, want: i32, gap: Span) {
        let sites = self.state.cells[self.cell as usize].sites;
        let spot = self.at(row, want.max(gap.left).min(gap.right - sites));
        let gain = self.own_gain(row, spot.site);
        let fits = || self.state.fits(self.cell, spot, |other| other == self.cell);
        if gain > self.gain && (self.single || fits()) {
            self.offer(gain, &[Change { cell: self.cell, spot }]);
        }
    }

    /// Tries a gap that is too narrow, before cell `j` of the band at the bottom of `row`.
    fn between(&mut self, row: usize, j: usize, gap: Span) {
        let sites = self.state.cells[self.cell as usize].sites;
        let last = gap.right - sites;
        for site in [gap.left, last, i32::midpoint(gap.left, last)] {
            let spot = self.at(row, site);
            let own = self.own_gain(row, site);
            // Otherwise neighbours can seldom give way and shorten wires.
            if own <= self.gain {
                continue;
            }
            let mut trial = std::mem::take(&mut self.search.trial);
            trial.clear();
            trial.push(Change { cell: self.cell, spot });
            if let Some(gain) = self.push(row, j, site, own, &mut trial) {
                self.offer(gain, &trial);
            }
            self.search.trial = trial;
        }
    }

    /// Moves cells `j`, `j + 1` … of a band to the right and the cells before to the left, until
    /// there is room for the cell at `site`. Returns the wirelength saved if it exceeds the best
    /// gain so far. The cell's own nets save `own`.
    fn push(
        &self,
        row: usize,
        j: usize,
        site: i32,
        own: f64,
        trial: &mut Vec<Change>,
    ) -> Option<f64> {
        let cells = &self.state.bands[self.state.rows[row].band as usize].cells;
        let (before, after) = cells.split_at(j);
        // An upper bound first, which visits no nets.
        let mut most = own;
        let mut edge = site + self.state.cells[self.cell as usize].sites;
        for next in after.iter().filter(|next| next.cell != self.cell) {
            if next.span.left >= edge {
                break;
            }
            most += self.pushed(row, next.cell, edge, trial)?;
            edge += next.span.width();
        }
        edge = site;
        for next in before.iter().rev().filter(|next| next.cell != self.cell) {
            if next.span.right <= edge {
                break;
            }
            edge -= next.span.width();
            most += self.pushed(row, next.cell, edge, trial)?;
        }
        let (state, wires) = (self.state, &self.state.wires);
        let holds = |change: &Change| {
            let (cell, site) = (change.cell, change.spot.site);
            state.holds(row, state.span(cell, site), state.cells[cell as usize].access)
        };
        let pushed = &trial[1..];
        if most <= self.gain || !pushed.iter().all(holds) {
            return None;
        }
        let gain = |change: &Change| {
            wires.gain_along_x(change.cell, state.pose(change.cell, change.spot).x)
        };
        Some(pushed.iter().fold(own, |sum, change| sum + gain(change)))
    }

    /// Adds to `trial` the move of a neighbour to `site` of the row, if allowed. Returns an upper
    /// bound of the gain of the neighbour's nets.
    fn pushed(&self, row: usize, cell: u32, site: i32, trial: &mut Vec<Change>) -> Option<f64> {
        let (state, of) = (self.state, &self.state.cells[cell as usize]);
        let may =
            trial.len() <= MOST_PUSHED && of.spot.row as usize == row && state.is_single(cell);
        may.then(|| {
            let spot = Spot { site, ..of.spot };
            trial.push(Change { cell, spot });
            state.wires.most_gain(cell, &state.pose(cell, spot))
        })
    }

    /// Exchanges the cell with `other`, cell `index` of the band at the bottom of `row`.
    fn in_place_of(&mut self, other: u32, row: usize, want: i32, index: usize) {
        let state = self.state;
        let (of, theirs) = (&state.cells[self.cell as usize], &state.cells[other as usize]);
        if other == self.cell || theirs.access != of.access || theirs.spot.row as usize != row {
            return;
        }
        let (site, back) = if theirs.sites == of.sites && theirs.kind == of.kind {
            (theirs.spot.site, of.spot.site)
        } else {
            let both = self.single && state.is_single(other);
            if !both || state.bands(other, of.spot.row).is_none() {
                return;
            }
            let there = room(state, other, index);
            if there.width() < of.sites || self.home.width() < theirs.sites {
                return;
            }
            // `reorder` exchanges neighbours.
            let same_row = theirs.spot.row == of.spot.row;
            if same_row && there.right > self.home.left && self.home.right > there.left {
                return;
            }
            let back = of.spot.site + (of.sites - theirs.sites) / 2;
            (
                want.max(there.left).min(there.right - of.sites),
                back.max(self.home.left).min(self.home.right - theirs.sites),
            )
        };
        let spot = self.at(row, site);
        let back = Spot { site: back, mirrored: theirs.spot.mirrored, ..of.spot };
        let own = self.own_gain(row, site);
        if own <= self.gain {
            return;
        }
        let (wires, from) = (&state.wires, state.pose(other, back));
        let gain = if wires.share_a_net(self.cell, other) {
            let to = state.pose(self.cell, spot);
            let moves = [Moved { cell: self.cell, pose: to }, Moved { cell: other, pose: from }];
            let units = wires.gain(&moves, &mut self.search.scratch);
            wires.length_of_units(i128::from(units))
        } else if own + wires.most_gain(other, &from) <= self.gain {
            return;
        } else {
            own + wires.gain_of(other, &from)
        };
        self.offer(gain, &[Change { cell: self.cell, spot }, Change { cell: other, spot: back }]);
    }
}

/// Returns the row whose bottom edge is nearest to `y`.
fn nearest_row(rows: &[Row], y: f64) -> usize {
    match rows.partition_point(|row| row.y < y) {
        0 => 0,
        k if k == rows.len() || rows[k].y - y > y - rows[k - 1].y => k - 1,
        k => k,
    }
}

/// Returns the sites occupied by `cell`, the `index`-th of the band at its bottom, and by the gaps
/// beside it in its row.
fn room(state: &State, cell: u32, index: usize) -> Span {
    let of = &state.cells[cell as usize];
    let row = &state.rows[of.spot.row as usize];
    let around = state.bands[row.band as usize].around(index, index + 1);
    let segments = state.sites.segments(of.access, of.spot.row as usize);
    let room = around.nearest_part(segments, of.spot.site, of.access);
    room.unwrap_or(state.span(cell, of.spot.site))
}
