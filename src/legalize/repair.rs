//! Makes space for a cell that fits nowhere.
//!
//! For a cell of one row, other cells move until one run has enough free sites. A run that
//! lacks `d` sites gets them from the free sites of other runs. One of its cells exchanges places
//! with a narrower cell of another run, or moves there. The other run needs as many
//! free sites as the difference of the widths. This is repeated until the cell fits or no exchange
//! helps. Runs near the cell are tried first.

use super::shelf::{Shelf, Target};
use super::stage::REACH;
use crate::rows::{AllowedRow, Span};
use std::cmp::Reverse;

/// Runs that are tried for one cell.
const MOST_RUNS: usize = 64;
/// Runs that give free sites, for each of these.
const MOST_DONORS: usize = 512;

/// Number of searches for places that all cells together may cause by displacing others.
pub(super) const BUDGET: usize = 1 << 16;
/// Searches that one cell may cause.
const BUDGET_OF_ONE: usize = 1 << 11;
/// Number of rows that are searched for occupied places.
const MOST_ROWS: usize = 48;
/// Number of cells of a row, to either side of the best site, whose places are tried.
const MOST_NEIGHBOURS: usize = 12;
/// Places that are tried for one cell.
const MOST_PLACES: usize = 12;
/// A cell displaces others, these displace others, and so on, up to this depth.
const DEPTH: usize = 3;
/// In the choice of places, the additional cost of a site of a removed cell, in sites of
/// displacement.
const REMOVED_SITE: f64 = 4.0;

impl Shelf<'_> {
    /// Makes room for a cell of one band and puts it there. Whether that could be done; if not,
    /// all is as it was.
    pub(super) fn make_room(&mut self, k: u32) -> bool {
        let targets = self.targets(k, MOST_RUNS + MOST_DONORS);
        let before = self.mark();
        (0..targets.len().min(MOST_RUNS)).any(|nth| {
            let done = self.make_room_in(k, targets[nth], &targets);
            if !done {
                self.undo(before);
            }
            done
        })
    }

    fn make_room_in(&mut self, k: u32, target: Target, all: &[Target]) -> bool {
        let width = self.width(k);
        let total: i32 = all.iter().map(|t| self.free_in(t)).sum();
        if total < width {
            return false;
        }
        let mut from = all.iter().filter(|t| **t != target);
        loop {
            if let Some(place) = self.find_in(k, target) {
                self.put(k, &place);
                return true;
            }
            let lacking = width - self.free_in(&target);
            if lacking <= 0 {
                return false; // There is room, but cells of several rows divide it.
            }
            let given = from.by_ref().any(|donor| self.give(target, *donor, lacking));
            if !given {
                return false;
            }
        }
    }

    /// Gives the target as many of the donor's free sites as one exchange of cells can, at most
    /// a little more than it lacks. Returns whether it got any.
    fn give(&mut self, target: Target, donor: Target, lacking: i32) -> bool {
        let free = self.free_in(&donor);
        if free <= 0 {
            return false;
        }
        let mut here = self.movable_in(&target);
        let mut there = self.movable_in(&donor);
        let width = |shelf: &Self, k: &u32| (shelf.width(*k), *k);
        here.sort_by_key(|k| width(self, k));
        there.sort_by_key(|k| width(self, k));
        // One of each width is enough to choose from.
        here.dedup_by_key(|k| self.width(*k));
        there.dedup_by_key(|k| self.width(*k));
        let mut pairs: Vec<(bool, i32, u32, Option<u32>)> = Vec::new();
        for &a in &here {
            let partners = there.iter().map(|b| Some(*b)).chain([None]);
            for b in partners {
                let gain = self.width(a) - b.map_or(0, |b| self.width(b));
                if (1..=free).contains(&gain) {
                    let enough = gain >= lacking;
                    pairs.push((!enough, if enough { gain } else { -gain }, a, b));
                }
            }
        }
        pairs.sort_unstable();
        pairs.into_iter().take(8).any(|(.., a, b)| self.exchange(a, b, target, donor))
    }

    /// Puts `a`, of the target, into the donor's run and `b` into the target's. Whether that went;
    /// if not, all is as it was.
    fn exchange(&mut self, a: u32, b: Option<u32>, target: Target, donor: Target) -> bool {
        let before = self.mark();
        self.remove(a);
        b.into_iter().for_each(|b| self.remove(b));
        let done = self.find_in(a, donor).is_some_and(|place| {
            self.put(a, &place);
            true
        }) && b.is_none_or(|b| {
            self.find_in(b, target).is_some_and(|place| {
                self.put(b, &place);
                true
            })
        });
        if !done {
            self.undo(before);
        }
        done
    }

    /// Puts a cell of any height where others are, and these elsewhere. Whether that could be done;
    /// if not, all is as it was. Every search for a place is taken off the `budget`.
    pub(super) fn make_way(&mut self, k: u32, budget: &mut usize) -> bool {
        let mut own = BUDGET_OF_ONE.min(*budget);
        let before = own;
        let done = self.make_way_to(DEPTH, k, &mut vec![k], &mut own);
        *budget -= before - own;
        done
    }

    /// Places a cell that is far from where it wants to be, and all cells around its wish, anew: the
    /// highest and widest first. Whether all cells together are nearer to their wishes then; if
    /// not, all is as it was. `rows` and `sites` are the distances from the wish to the edges of
    /// the window. Every search for a place is taken off the `budget`.
    pub(super) fn place_anew(
        &mut self,
        k: u32,
        (rows, sites): (f64, f64),
        budget: &mut usize,
    ) -> bool {
        let wish = self.wishes[k as usize];
        let span = Span { left: (wish.x - sites) as i32, right: (wish.x + sites) as i32 };
        let near = |row: u32| (self.row_y[row as usize] - wish.y).abs() <= rows;
        let mut cells = vec![k];
        for row in self.cells.rows(self.cell(k)).iter().filter(|row| near(row.row)) {
            let here = self.cells_of(row.bands().start, span);
            cells.extend(here.iter().map(|occupant| occupant.cell));
        }
        let inside = |&c: &u32| {
            let (Some((row, x)), width) = (self.place_of(c), self.width(c)) else { return false };
            c == k || near(row.row) && x >= span.left && x + width <= span.right
        };
        cells.retain(inside);
        cells.sort_unstable();
        cells.dedup();
        if cells.len() > *budget {
            return false;
        }
        *budget -= cells.len();
        let mark = self.mark();
        let mut gain: f64 = cells.iter().filter_map(|&c| self.displacement(c)).sum();
        cells.iter().for_each(|&c| self.remove(c));
        cells.sort_by_key(|&c| (Reverse((self.bands_high(c), self.width(c))), c));
        let better = cells.iter().all(|&c| {
            let Some(place) = self.find(c, gain.min(rows + sites), REACH) else { return false };
            gain -= place.cost;
            self.put(c, &place);
            true
        });
        if !better {
            self.undo(mark);
        }
        better
    }

    /// [`Shelf::make_way`] without the cells of `fixed`, which stay.
    fn make_way_to(
        &mut self,
        depth: usize,
        k: u32,
        fixed: &mut Vec<u32>,
        budget: &mut usize,
    ) -> bool {
        for (row, x, mut removed) in self.occupied_places(k, fixed) {
            let before = self.mark();
            removed.iter().for_each(|&other| self.remove(other));
            self.put_at(k, row, x);
            removed.sort_by_key(|&c| (Reverse((self.bands_high(c), self.width(c))), c));
            let count = fixed.len();
            let done = removed.iter().all(|&other| {
                if *budget == 0 {
                    return false;
                }
                *budget -= 1;
                // Others may not push away what has just been placed, only move it aside.
                if let Some(place) = self.find(other, f64::INFINITY, usize::MAX) {
                    self.put(other, &place);
                    return true;
                }
                fixed.push(other);
                depth > 1 && self.make_way_to(depth - 1, other, fixed, budget)
            });
            fixed.truncate(count);
            if done {
                return true;
            }
            self.undo(before);
            if *budget == 0 {
                break;
            }
        }
        false
    }

    /// Returns places for a cell with the cells there, those first that cost least. None of `fixed`
    /// is there.
    fn occupied_places(&self, k: u32, fixed: &[u32]) -> Vec<(AllowedRow, i32, Vec<u32>)> {
        let rows = self.cells.rows(self.cell(k));
        let mut places: Vec<(f64, AllowedRow, i32, Vec<u32>)> = Vec::new();
        let mut sites = Vec::new();
        for (nth, _) in self.rows_around(k, rows).take(MOST_ROWS) {
            sites.clear();
            self.sites_near(k, nth, MOST_NEIGHBOURS, &mut sites);
            for &x in &sites {
                let mut others = Vec::new();
                self.occupants(k, rows[nth], x, &mut others);
                if others.iter().any(|other| fixed.contains(other)) {
                    continue;
                }
                let area =
                    |&c: &u32| f64::from(self.width(c)) * (self.bands_high(c) as f64).powi(2);
                let removed: f64 = others.iter().map(area).sum();
                let cost = self.distance(k, rows[nth].row, x) + REMOVED_SITE * removed;
                places.push((cost, rows[nth], x, others));
            }
        }
        places.sort_by(|a, b| a.0.total_cmp(&b.0).then((a.1.row, a.2).cmp(&(b.1.row, b.2))));
        places.truncate(MOST_PLACES);
        places.into_iter().map(|(_, row, x, others)| (row, x, others)).collect()
    }
}
