//! Room for a cell that fits nowhere: other cells change places until one run has enough free
//! sites.
//!
//! A run that lacks `d` sites gets them from the free sites of others: a cell of it changes places
//! with a narrower one of another run, or just goes there, as long as the other run has as many
//! free sites as the two differ in width. That is repeated until the cell fits or nothing can be
//! had any more. Runs near the cell are tried first.

use super::shelf::{Shelf, Target};

/// Runs that are tried for one cell.
const MOST_RUNS: usize = 64;
/// Runs that free sites are taken from, for each of those.
const MOST_DONORS: usize = 512;

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
    /// as many as it lacks or little more. Whether any.
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
}
