//! Shifts the cells of a row, in their order, to where their nets are shortest.
//!
//! With all other cells fixed, the length of a cell's nets is convex over its x. The sum of convex
//! functions of x₁, x₂ … is to be minimised, where each is at least its predecessor plus a width.
//! The minimum comes from joining cells that push each other (Best and Chakravarti, "Active set
//! algorithms for isotonic regression", 1990; in placement: Kahng, Tucker and Zelikovsky,
//! "Optimization of linear placements for wirelength minimization with free sites", ASP-DAC 1999).
//! The method is also exact on whole sites, if every function is replaced by the linear
//! interpolation of its values at whole sites. Nets with several cells of the row make it an
//! approximation.

use super::state::{Change, Spot, State};
use crate::parallel;
use crate::rows::{Access, Span};

/// Most cells that are shifted together.
pub(super) const RUN: usize = 48;

/// Neighbours on one segment of a row: cells `first..end` of the band at its bottom.
#[derive(Clone, Copy)]
pub(super) struct Stretch {
    row: u32,
    first: u32,
    end: u32,
    /// There is nothing else between these sites.
    bounds: Span,
}

/// Returns stretches that hold all cells of one band. The first stretch of every row is `offset`
/// cells shorter than [`RUN`].
pub(super) fn stretches(state: &State, offset: usize) -> Vec<Stretch> {
    let first = state.searched.start;
    let of_rows = parallel::map(state.searched.len(), |k| of_row(state, first + k, offset));
    parallel::concat(&of_rows)
}

/// Returns the stretches of one row.
fn of_row(state: &State, row: usize, offset: usize) -> Vec<Stretch> {
    let (mut found, mut most) = (Vec::new(), RUN - offset);
    let band = &state.bands[state.rows[row].band as usize];
    let here = |cell: u32, access: Access| {
        let of = &state.cells[cell as usize];
        of.access == access && of.spot.row as usize == row && state.is_single(cell)
    };
    let mut first = 0;
    while let Some(standing) = band.cells.get(first) {
        let access = state.cells[standing.cell as usize].access;
        let segments = state.sites.segments(access, row);
        let after = segments.partition_point(|run| run.start <= standing.span.left);
        let Some(run) = after.checked_sub(1).map(|k| segments[k]) else { break };
        let cells = band.cells[first..].iter().take(most);
        let count = cells.take_while(|s| s.span.left < run.end && here(s.cell, access)).count();
        if count == 0 {
            first += 1;
            continue;
        }
        let end = first + count;
        let around = band.around(first, end);
        let bounds = Span { left: around.left.max(run.start), right: around.right.min(run.end) };
        found.push(Stretch { row: row as u32, first: first as u32, end: end as u32, bounds });
        (first, most) = (end, RUN);
    }
    found
}

/// Working memory.
#[derive(Default)]
pub(super) struct Shifts {
    clumps: Vec<Clump>,
    spare: Vec<Bends>,
}

/// A convex function of the left edge of cells, given by its breakpoints. Its slope begins at minus
/// half of the sum of all increases. The increases are integers in units of
/// [`Wires::units_of`](super::wires::Wires::units_of), so that sums do not depend on their order.
#[derive(Debug, Default)]
struct Bends {
    /// Position and slope increase of each breakpoint, ascending.
    all: Vec<(i32, i64)>,
    /// The sum of all slope increases.
    rises: i64,
    /// Breakpoints before the flat part, and the sum of their slope increases.
    before: usize,
    sum: i64,
}

/// Cells without gaps between them.
struct Clump {
    /// Index of its first cell in the stretch.
    first: usize,
    sites: i32,
    bends: Bends,
    at: i32,
}

/// Adds to `changes` the shifts of the cells of a stretch.
pub(super) fn propose(
    state: &State,
    stretch: Stretch,
    shifts: &mut Shifts,
    changes: &mut Vec<Change>,
) {
    let (row, bounds) = (&state.rows[stretch.row as usize], stretch.bounds);
    let cells = &state.bands[row.band as usize].cells;
    let cells = &cells[stretch.first as usize..stretch.end as usize];
    let mut clumps = std::mem::take(&mut shifts.clumps);
    for (k, standing) in cells.iter().enumerate() {
        let of = &state.cells[standing.cell as usize];
        let mut bends = shifts.spare.pop().unwrap_or_default();
        bends.all.clear();
        let limit = (bounds.left - 1, bounds.right + 1);
        let (least, most) = (f64::from(limit.0), f64::from(limit.1));
        // Breakpoints beyond the walls count at the walls.
        let (mut below, mut above, mut rises) = (0, 0, 0);
        for net in state.wires.along_x(standing.cell) {
            let weight = state.wires.units_of(net.weight());
            rises += 2 * weight;
            for end in net.ends() {
                let site = (end - of.centre - row.x) / row.pitch;
                if site <= least {
                    below += weight;
                } else if site >= most {
                    above += weight;
                } else {
                    let towards_0 = site as i32;
                    let whole = towards_0 - i32::from(f64::from(towards_0) > site);
                    let part = ((site - f64::from(whole)) * weight as f64) as i64;
                    let both = [(whole, weight - part), (whole + 1, part)];
                    bends.all.extend(both.into_iter().filter(|bend| bend.1 > 0));
                }
            }
        }
        let walls = [(limit.0, below), (limit.1, above)].into_iter();
        bends.all.extend(walls.filter(|bend| bend.1 > 0));
        bends.all.sort_unstable_by_key(|bend| bend.0);
        (bends.rises, bends.before, bends.sum) = (rises, 0, 0);
        let best = bends.flat_part(of.spot.site);
        let at = of.spot.site.max(best.0).min(best.1);
        let mut clump = Clump { first: k, sites: of.sites, bends, at };
        while let Some(before) = clumps.pop_if(|before| before.at + before.sites > clump.at) {
            clump = before.joined(clump, &mut shifts.spare);
        }
        clumps.push(clump);
    }
    // Cells beyond the walls move back to them and push their neighbours.
    let mut least = bounds.left;
    for clump in &mut clumps {
        clump.at = clump.at.max(least);
        least = clump.at + clump.sites;
    }
    let mut most = bounds.right;
    for clump in clumps.iter_mut().rev() {
        clump.at = clump.at.min(most - clump.sites);
        most = clump.at;
    }
    let ends: Vec<usize> = clumps.iter().skip(1).map(|clump| clump.first).collect();
    for (clump, end) in clumps.drain(..).zip(ends.into_iter().chain([cells.len()])) {
        let mut site = clump.at;
        for standing in &cells[clump.first..end] {
            if standing.span.left != site {
                let spot = state.cells[standing.cell as usize].spot;
                changes.push(Change { cell: standing.cell, spot: Spot { site, ..spot } });
            }
            site += standing.span.width();
        }
        shifts.spare.push(clump.bends);
    }
    shifts.clumps = clumps;
}

impl Clump {
    /// Joins this clump with its right neighbour `after`.
    fn joined(mut self, after: Clump, spare: &mut Vec<Bends>) -> Clump {
        self.bends.add(&after.bends, -self.sites);
        let near = i32::midpoint(self.at, after.at - self.sites);
        let best = self.bends.flat_part(near);
        self.at = near.max(best.0).min(best.1);
        self.sites += after.sites;
        spare.push(after.bends);
        self
    }
}

impl Bends {
    /// Adds another function, shifted by a number of sites.
    fn add(&mut self, other: &Bends, sites: i32) {
        // Backwards from the last one, so that the breakpoints after each inserted one move only
        // once.
        let (mut end, before) = (self.all.len(), self.before);
        self.all.resize(end + other.all.len(), (0, 0));
        for (j, &(site, rise)) in other.all.iter().enumerate().rev() {
            let site = site + sites;
            let k = self.all[..end].partition_point(|bend| bend.0 <= site);
            self.all.copy_within(k..end, k + j + 1);
            self.all[k + j] = (site, rise);
            end = k;
            if k <= before {
                (self.before, self.sum) = (self.before + 1, self.sum + rise);
            }
        }
        self.rises += other.rises;
    }

    /// Returns the interval of sites on which the function is least; `else_at` if it has no
    /// breakpoints.
    fn flat_part(&mut self, else_at: i32) -> (i32, i32) {
        while self.before > 0 && 2 * self.sum >= self.rises {
            self.before -= 1;
            self.sum -= self.all[self.before].1;
        }
        while let Some(&(site, rise)) = self.all.get(self.before) {
            let sum = self.sum + rise;
            if 2 * sum > self.rises {
                return (site, site);
            }
            if 2 * sum == self.rises {
                return (site, self.all.get(self.before + 1).map_or(site, |next| next.0));
            }
            (self.before, self.sum) = (self.before + 1, sum);
        }
        (else_at, else_at)
    }
}

#[cfg(test)]
mod tests;
