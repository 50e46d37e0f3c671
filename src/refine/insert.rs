//! Insertion: cells move near to where their nets are shortest, and the cells beside them give way,
//! if necessary on several rows.
//!
//! A cell is put near to where its nets are shortest ([`Aim`]), even on other cells. Cells to its
//! left move to the left and cells to its right to the right, each as little as possible. The cells
//! that they meet on any of their rows give way in turn. These are the moves of local legalization
//! (Chow, Pui and Young, "Legalization algorithm for multiple-row height standard cell design", DAC
//! 2016), with wirelength instead of displacement as the cost.

use super::state::{Change, Spot, State, Trial};
use super::swap::Aim;
use super::wires::CellNets;
use crate::rows::{Occupant, Span};

/// Rows searched on each side of the best row.
const ROWS: usize = 2;
/// Cells on each side of the best position in a row whose edges are tried.
const CELLS: usize = 2;
/// Sites tried in a row.
const SITES: usize = 12;
/// Most cells that move together. With 32 and 64 ibm05 got 0.49 and 0.62 % shorter. ct_ariane got
/// 0.51 and 0.60 % shorter, in 1.4 times the time.
pub(super) const MOST_MOVED: usize = 64;

/// Working memory of a search.
#[derive(Default)]
pub(super) struct Search {
    nets: CellNets,
    trial: Trial,
    sites: Vec<i32>,
    room: Room,
    best: Vec<Change>,
}

/// The changes that make room for a cell.
#[derive(Default)]
struct Room {
    /// The cell's own change first.
    changes: Vec<Change>,
    /// The most that the changes can shorten the wires by.
    most: f64,
    /// Cells that must give way, by the edge that is reached first; each with a band that has it
    /// and its index there.
    waiting: Vec<(i32, u32, u32, u32)>,
    /// How far each band is occupied.
    taken: Vec<(usize, i32)>,
}

/// Adds to `changes` a move that brings `cell` nearer to its nets, if there is one.
pub(super) fn propose(state: &State, cell: u32, search: &mut Search, changes: &mut Vec<Change>) {
    let Search { nets, trial, sites, room, best } = search;
    let Some(aim) = Aim::of(state, cell, nets) else { return };
    let of = &state.cells[cell as usize];
    let mut gain = state.least_gain;
    best.clear();
    for row in (0..=ROWS).flat_map(|away| aim.rows(state, away)) {
        let Some(bands) = state.bands(cell, row as u32) else { continue };
        let at = |site| Spot { row: row as u32, site, mirrored: of.spot.mirrored };
        let there = state.pose(cell, at(0));
        let most = aim.now - nets.length_along(1, there.y, there.flipped);
        if most - aim.least <= gain {
            continue;
        }
        let want = state.site_at(cell, row, aim.x);
        sites.clear();
        sites.push(want);
        for band in &state.bands[bands] {
            let k = band.from(want);
            let near = &band.cells[k.saturating_sub(CELLS)..(k + CELLS).min(band.cells.len())];
            for Occupant { span, .. } in near {
                let Span { left, right } = *span;
                sites.extend([left, right, left - of.sites, right - of.sites]);
            }
        }
        sites.sort_unstable_by_key(|site| ((site - want).abs(), *site));
        sites.dedup();
        for &site in sites.iter().take(SITES) {
            let x = state.rows[row].left(site) + of.centre;
            room.most = most - nets.length_along(0, x, of.spot.mirrored);
            let own = Change { cell, spot: at(site) };
            if room.most > gain
                && state.holds(row, state.span(cell, site), of.access)
                && room.make(state, own, gain)
            {
                let found = state.shortened_by(&room.changes, trial);
                if found > gain && state.is_legal(&room.changes) {
                    gain = found;
                    best.clone_from(&room.changes);
                }
            }
        }
    }
    changes.append(best);
}

impl Room {
    /// Moves cells away from the new position of a cell whose own nets get shorter by `self.most`.
    /// Returns whether the cells may move there and wires may get shorter by more than `least`.
    fn make(&mut self, state: &State, own: Change, least: f64) -> bool {
        self.changes.clear();
        self.changes.push(own);
        self.give_way::<false>(state, least) && self.give_way::<true>(state, least)
    }

    /// Does the same for the cells on the right side (or on the left side), from the nearest one
    /// on. A cell moves only after all cells that it gives way to.
    fn give_way<const RIGHT: bool>(&mut self, state: &State, least: f64) -> bool {
        let own = self.changes[0];
        let span = state.span(own.cell, own.spot.site);
        let edge = edges::<RIGHT>(span).1;
        self.waiting.clear();
        self.taken.clear();
        for band in state.bands(own.cell, own.spot.row).into_iter().flatten() {
            let cells = &state.bands[band].cells;
            let is_left = |of: &Occupant| of.span.left + of.span.right < span.left + span.right;
            let k = cells.partition_point(is_left);
            if self.changes.len() + met::<RIGHT>(cells, k, edge, own.cell) > MOST_MOVED {
                return false;
            }
            self.taken.push((band, edge));
            self.wait::<RIGHT>(state, (band, k), edge);
        }
        while let Some((near, cell, found, index)) = self.waiting.pop() {
            let of = &state.cells[cell as usize];
            let Some(bands) = state.bands(cell, of.spot.row) else { return false };
            // A cell of several bands may wait in each of them.
            if bands.len() > 1 && self.changes.iter().any(|change| change.cell == cell) {
                continue;
            }
            let edge_of = |band: usize| self.taken.iter().rfind(|taken| taken.0 == band);
            let edge = bands.clone().filter_map(edge_of).map(|taken| taken.1).max().unwrap_or(near);
            let site = if RIGHT { edge } else { -edge - of.sites };
            let row = of.spot.row as usize;
            let x = state.rows[row].left(site) + of.centre;
            self.most += state.wires.most_gain_along_x(cell, x);
            if self.most <= least
                || self.changes.len() == MOST_MOVED
                || !state.holds(row, state.span(cell, site), of.access)
            {
                return false;
            }
            self.changes.push(Change { cell, spot: Spot { site, ..of.spot } });
            for band in bands {
                self.taken.push((band, edge + of.sites));
                let k = match band == found as usize {
                    true => index as usize,
                    false => state.bands[band].from(of.spot.site),
                };
                self.wait::<RIGHT>(state, (band, k + usize::from(RIGHT)), edge + of.sites);
            }
        }
        true
    }

    /// Notes that the first cell from `k` on (or before `k`) in a band must give way, if `edge`
    /// reaches it.
    #[inline(always)]
    fn wait<const RIGHT: bool>(&mut self, state: &State, (band, k): (usize, usize), edge: i32) {
        let own = self.changes[0].cell;
        let next = onwards::<RIGHT>(&state.bands[band].cells, k).find(|(_, of)| of.cell != own);
        if let Some((k, of)) = next
            && edges::<RIGHT>(of.span).0 < edge
        {
            let waits = (edges::<RIGHT>(of.span).0, of.cell, band as u32, k as u32);
            let later = self.waiting.partition_point(|other| *other > waits);
            self.waiting.insert(later, waits);
        }
    }
}

/// Returns the nearer and the farther edge of a cell that is moved to the right (or to the left).
fn edges<const RIGHT: bool>(span: Span) -> (i32, i32) {
    if RIGHT { (span.left, span.right) } else { (-span.right, -span.left) }
}

/// Returns the cells of a band from `k` on (or before `k`, the last one first).
fn onwards<const RIGHT: bool>(
    cells: &[Occupant],
    k: usize,
) -> impl Iterator<Item = (usize, &Occupant)> {
    let at = move |n: usize| if RIGHT { Some(k + n) } else { k.checked_sub(n + 1) };
    (0..).map_while(move |n| at(n).and_then(|k| Some((k, cells.get(k)?))))
}

/// Returns how many cells of a band must give way at least; more than [`MOST_MOVED`] are not
/// counted. Half of the cells that searches visit would be those of rooms that move too many.
fn met<const RIGHT: bool>(cells: &[Occupant], k: usize, mut edge: i32, own: u32) -> usize {
    let others = onwards::<RIGHT>(cells, k).map(|(_, of)| of).filter(|of| of.cell != own);
    let gives_way = |of: &&Occupant| {
        let is_met = edges::<RIGHT>(of.span).0 < edge;
        edge += of.span.width();
        is_met
    };
    others.take(MOST_MOVED).take_while(gives_way).count()
}
