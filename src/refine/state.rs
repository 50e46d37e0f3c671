//! A legal placement that stays legal: cells on rows, and the wires between them.

use super::claims::Claim;
use super::crowding::Crowding;
use super::density::Density;
use super::update::{AT_ONCE, update};
use super::wires::{Moved, Pose, Scratch, Wires, length};
use crate::parallel::{self, each_mut};
use crate::rows::{Access, Exchange, Occupant, RowCells, Sites, Span, limited};
use rayon::prelude::*;
use std::ops::Range;

/// A cell that may be moved.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cell {
    /// Its node in the design.
    pub(crate) node: u32,
    /// Sites that it occupies, padding included.
    pub(crate) sites: i32,
    /// Distance of its centre from the left edge of its first site, and from its bottom edge.
    pub(crate) centre: f64,
    pub(crate) half_height: f64,
    /// Sites of padding on each side, which are among the occupied sites.
    pub(crate) padding: i32,
    pub(crate) access: Access,
    /// Its [`Kind`].
    pub(crate) kind: u32,
    pub(crate) spot: Spot,
    /// Its first spot.
    pub(crate) home: Spot,
    /// The centre that its displacement counts from.
    pub(crate) origin: (f64, f64),
}

/// The spot of a cell: the row of its bottom edge, the site of its left edge, and whether it is
/// mirrored left and right against its first orientation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Spot {
    pub(crate) row: u32,
    pub(crate) site: i32,
    pub(crate) mirrored: bool,
}

/// Cells that may stand on the same rows in the same orientations.
#[derive(Clone, Debug)]
pub(crate) struct Kind {
    /// The first and the end of the bands that a cell occupies on each row; `None` if it may not
    /// stand there.
    pub(crate) bands: Vec<Option<(u32, u32)>>,
    /// Whether it may be mirrored left and right.
    pub(crate) mirrors: bool,
    /// Whether its orientation is upside down on rows that are.
    pub(crate) follows_rows: bool,
}

/// A cell and its new spot.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Change {
    pub(crate) cell: u32,
    pub(crate) spot: Spot,
}

/// Working memory of [`State::apply`].
#[derive(Clone, Debug, Default)]
pub(crate) struct Trial {
    moves: Vec<Moved>,
    scratch: Scratch,
}

/// A row for cells, with the data that searches need.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    /// Left edge of site 0, and the distance between sites.
    pub(crate) x: f64,
    pub(crate) pitch: f64,
    /// Bottom edge.
    pub(crate) y: f64,
    /// Whether its sites are upside down.
    pub(crate) flipped: bool,
    /// The band at its bottom.
    pub(crate) band: u32,
}

impl Row {
    /// Returns the left edge of a site.
    #[inline]
    pub(crate) fn left(&self, site: i32) -> f64 {
        self.x + f64::from(site) * self.pitch
    }
}

/// See the module.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) sites: Sites,
    pub(crate) wires: Wires,
    pub(crate) rows: Vec<Row>,
    /// The rows on which cells may stand, ascending in y.
    pub(crate) searched: Range<usize>,
    pub(crate) bands: Vec<RowCells>,
    pub(crate) cells: Vec<Cell>,
    /// By node of the design.
    pub(super) cell_of: Vec<Option<u32>>,
    pub(crate) kinds: Vec<Kind>,
    /// The bins that must not be filled too far, if there are any.
    pub(super) density: Option<Density>,
    /// The bins whose tracks wires must not exceed freely, if there are any.
    pub(super) crowding: Option<Crowding>,
    /// Largest distance of a cell from its origin, layout units.
    pub(crate) limit: f64,
    /// Whether new gaps of one site are forbidden.
    pub(crate) no_one_site_gaps: bool,
    /// A gain that does not exceed this counts as zero. It is negative if wires may get longer.
    pub(crate) least_gain: f64,
}

impl State {
    #[inline]
    pub(crate) fn pose(&self, cell: u32, spot: Spot) -> Pose {
        let of = &self.cells[cell as usize];
        let row = &self.rows[spot.row as usize];
        Pose {
            x: row.left(spot.site) + of.centre,
            y: row.y + of.half_height,
            mirrored: spot.mirrored,
            flipped: self.kinds[of.kind as usize].follows_rows
                && row.flipped != self.rows[of.home.row as usize].flipped,
        }
    }

    /// Returns the site on `row` on which a cell has its centre nearest to `x`.
    pub(crate) fn site_at(&self, cell: u32, row: usize, x: f64) -> i32 {
        let row = &self.rows[row];
        limited((x - self.cells[cell as usize].centre - row.x) / row.pitch).round() as i32
    }

    /// Returns the sites that a cell occupies at a site.
    pub(crate) fn span(&self, cell: u32, site: i32) -> Span {
        Span { left: site, right: site + self.cells[cell as usize].sites }
    }

    /// Returns the bands that a cell occupies on `row`; `None` if it may not stand there.
    #[inline]
    pub(crate) fn bands(&self, cell: u32, row: u32) -> Option<Range<usize>> {
        let kind = &self.kinds[self.cells[cell as usize].kind as usize];
        kind.bands[row as usize].map(|(first, end)| first as usize..end as usize)
    }

    /// Whether `cell` occupies one band.
    pub(crate) fn is_single(&self, cell: u32) -> bool {
        let row = self.cells[cell as usize].spot.row;
        self.bands(cell, row).is_some_and(|bands| bands.len() == 1)
    }

    /// Returns the index of `cell` among the cells of the band at its bottom.
    pub(crate) fn index(&self, cell: u32) -> usize {
        let spot = self.cells[cell as usize].spot;
        self.bands[self.rows[spot.row as usize].band as usize].from(spot.site)
    }

    /// Returns whether one free run of `row` holds the sites of `span`, regardless of cells there.
    pub(crate) fn holds(&self, row: usize, span: Span, access: Access) -> bool {
        span.lies_in(self.sites.segments(access, row), access)
    }

    /// Whether `cell` may stand at a spot. Only cells for which `passes` returns true may be there.
    pub(crate) fn fits(&self, cell: u32, spot: Spot, passes: impl Fn(u32) -> bool) -> bool {
        let (span, access) = (self.span(cell, spot.site), self.cells[cell as usize].access);
        self.is_near(cell, spot)
            && self.holds(spot.row as usize, span, access)
            && self.bands(cell, spot.row).is_some_and(|mut bands| {
                bands.all(|band| {
                    let free = self.sites.free_for(access, band);
                    self.bands[band].is_free(free, span, access, &passes)
                })
            })
    }

    /// Returns whether a spot is no farther from the origin of a cell than the limit.
    fn is_near(&self, cell: u32, spot: Spot) -> bool {
        if self.limit == f64::INFINITY {
            return true;
        }
        let (from, to) = (self.cells[cell as usize].origin, self.pose(cell, spot));
        (to.x - from.0).abs() + (to.y - from.1).abs() <= self.limit
    }

    /// Returns whether changes leave more gaps of one site than there are now. It counts gaps
    /// beside the moved cells and at their previous positions.
    fn adds_one_site_gap(&self, changes: &[Change]) -> bool {
        let mut touched: Vec<(usize, Span)> = Vec::new();
        for Change { cell, spot } in changes {
            for spot in [self.cells[*cell as usize].spot, *spot] {
                let span = self.span(*cell, spot.site);
                let bands = self.bands(*cell, spot.row).into_iter().flatten();
                touched.extend(bands.map(|band| (band, span)));
            }
        }
        touched.sort_unstable_by_key(|(band, span)| (*band, span.left));
        let gaps_of = |of_band: &[(usize, Span)]| {
            let band = of_band[0].0;
            let left = of_band[0].1.left;
            let right = of_band.iter().map(|(_, span)| span.right).max().unwrap_or(left);
            let cells = &self.bands[band];
            let (first, end) = (cells.from(left).saturating_sub(2), cells.from(right) + 2);
            let now = &cells.cells[first..end.min(cells.cells.len())];
            let moved = |cell: u32| changes.iter().find(|change| change.cell == cell);
            let put = changes.iter().filter(|change| {
                self.bands(change.cell, change.spot.row).is_some_and(|bands| bands.contains(&band))
            });
            let put = put.map(|c| (self.span(c.cell, c.spot.site), c.cell));
            let kept = now.iter().filter(|o| moved(o.cell).is_none()).map(|o| (o.span, o.cell));
            let mut after: Vec<(Span, u32)> = put.chain(kept).collect();
            after.sort_unstable_by_key(|(span, _)| span.left);
            let before: Vec<(Span, u32)> = now.iter().map(|o| (o.span, o.cell)).collect();
            [before, after].map(|cells| self.one_site_gaps(band, &cells))
        };
        let of_bands = touched.chunk_by(|a, b| a.0 == b.0).map(gaps_of);
        let sums = of_bands.fold([0, 0], |sums, gaps| [sums[0] + gaps[0], sums[1] + gaps[1]]);
        sums[1] > sums[0]
    }

    /// Returns the number of gaps of one site beside neighbours in a band.
    fn one_site_gaps(&self, band: usize, cells: &[(Span, u32)]) -> usize {
        let padding = |cell: u32| self.cells[cell as usize].padding;
        let free = self.sites.free(band);
        let of_cell = |k: usize| {
            let (span, cell) = cells[k];
            let run = free.partition_point(|run| run.start <= span.left).checked_sub(1);
            let Some(run) = run.map(|run| free[run]) else { return 0 };
            let before = k.checked_sub(1).map(|k| cells[k]).filter(|c| c.0.right >= run.start);
            let after = cells.get(k + 1).filter(|c| c.0.left <= run.end);
            let left = match before {
                Some((other, of)) => span.left - other.right + padding(of),
                None => span.left - run.start,
            };
            // A gap between two cells is counted at the left of the right one.
            let right = if after.is_some() { 0 } else { run.end - span.right + padding(cell) };
            usize::from(left + padding(cell) == 1) + usize::from(right == 1)
        };
        (0..cells.len()).map(of_cell).sum()
    }

    fn lift(&mut self, cell: u32) {
        let spot = self.cells[cell as usize].spot;
        for band in self.bands(cell, spot.row).into_iter().flatten() {
            self.bands[band].remove(spot.site);
        }
    }

    /// Puts a cell on a spot where it fits.
    pub(crate) fn set_down(&mut self, cell: u32, spot: Spot) {
        self.cells[cell as usize].spot = spot;
        let span = self.span(cell, spot.site);
        for band in self.bands(cell, spot.row).into_iter().flatten() {
            self.bands[band].insert(Occupant { span, cell });
        }
    }

    /// Returns the units by which these changes together would shorten the wires.
    fn gain(&self, changes: &[Change], trial: &mut Trial) -> i64 {
        trial.moves.clear();
        let moved = |c: &Change| Moved { cell: c.cell, pose: self.pose(c.cell, c.spot) };
        trial.moves.extend(changes.iter().map(moved));
        self.wires.gain(&trial.moves, &mut trial.scratch)
    }

    /// Returns the wirelength that these changes together would save, layout units times weight.
    pub(super) fn shortened_by(&self, changes: &[Change], trial: &mut Trial) -> f64 {
        self.wires.length_of_units(i128::from(self.gain(changes, trial)))
    }

    /// Whether a gain of this many units exceeds the least one.
    fn is_gain(&self, units: i64) -> bool {
        self.wires.length_of_units(i128::from(units)) > self.least_gain
    }

    /// Makes these changes if all of them together are legal and gain enough. If wire beyond
    /// the tracks has a price, they must also lower wirelength and cost together. Returns the gain
    /// in units, or 0 if nothing was changed.
    pub(crate) fn apply(&mut self, changes: &[Change], trial: &mut Trial) -> i64 {
        let mut gain = self.gain(changes, trial);
        if !self.is_gain(gain) || !self.is_legal(changes) {
            return 0;
        }
        let mut is_worth = true;
        if let Some(crowding) = &mut self.crowding {
            let mut shorter = 0.0;
            self.wires.changed_boxes(&trial.moves, &mut trial.scratch, |of| {
                shorter += of.weight * (length(of.before) - length(of.after));
                crowding.change(of.weight * of.wires, of.before, of.after);
            });
            is_worth = shorter - crowding.cost() > self.least_gain;
            gain = self.wires.units_of_length(shorter);
        }
        let is_made = is_worth && self.fills(trial);
        if let Some(crowding) = &mut self.crowding {
            crowding.end(is_made);
        }
        if !is_made {
            return 0;
        }
        for change in changes {
            self.lift(change.cell);
        }
        for change in changes {
            self.set_down(change.cell, change.spot);
        }
        for step in &trial.moves {
            self.wires.apply(step);
        }
        gain
    }

    /// Sets the weights of nets for searches by the present crowding, if that has a price.
    pub(super) fn reweigh(&mut self) {
        if let Some(crowding) = &self.crowding {
            self.wires.reweigh(|wires, sides| crowding.factor(wires, sides));
        }
    }

    /// Returns the units by which these changes shorten the wires, or 0 if they are not legal or gain
    /// too little. Adds to `claims` the resources that this depends on and those that the
    /// changes modify. Resources are nets, cells, and the gaps to the right of cells and of the
    /// left ends of bands.
    pub(super) fn judge(
        &self,
        changes: &[Change],
        trial: &mut Trial,
        claims: &mut Vec<Claim>,
    ) -> i64 {
        let gain = self.gain(changes, trial);
        if !self.is_gain(gain) || !self.is_legal(changes) {
            return 0;
        }
        let nets = trial.scratch.nets.iter();
        claims.extend(nets.map(|&(resource, changes)| Claim { resource, changes }));
        let first = claims.len();
        let (nets, cells) = (self.wires.len() as u32, self.cells.len() as u32);
        for change in changes {
            claims.push(Claim { resource: nets + change.cell, changes: true });
            let span = self.span(change.cell, change.spot.site);
            for band in self.bands(change.cell, change.spot.row).into_iter().flatten() {
                let of_band = &self.bands[band];
                let (from, end) = (of_band.from(span.left), of_band.from(span.right));
                claims.extend((from..=end).map(|k| {
                    let left = k.checked_sub(1).map(|k| of_band.cells[k].cell);
                    let gap = left.unwrap_or(cells + band as u32);
                    Claim { resource: nets + cells + gap, changes: true }
                }));
            }
        }
        claims[first..].sort_unstable_by_key(|claim| claim.resource);
        gain
    }

    /// Returns the number of resources that proposals may claim, as [`State::judge`] counts them.
    pub(crate) fn resources(&self) -> usize {
        self.wires.len() + 2 * self.cells.len() + self.bands.len()
    }

    /// Makes changes on all threads. [`State::judge`] found each of them legal, and no two of them
    /// claim the same resource.
    pub(crate) fn apply_all(&mut self, changes: &mut [Change]) {
        changes.par_sort_unstable_by_key(|change| change.cell);
        let bands = |cell, spot: Spot, is_put| {
            let occupant = Occupant { span: self.span(cell, spot.site), cell };
            let bands = self.bands(cell, spot.row).into_iter().flatten();
            bands.map(move |band| (band as u32, Exchange { occupant, is_put }))
        };
        let exchanges = |change: &Change| {
            let (cell, now) = (change.cell, self.cells[change.cell as usize].spot);
            let elsewhere = (now.row, now.site) != (change.spot.row, change.spot.site);
            let both = bands(cell, now, false).chain(bands(cell, change.spot, true));
            both.filter(move |_| elsewhere)
        };
        let exchanged = parallel::map_blocks(changes.len(), AT_ONCE, |range| {
            changes[range].iter().flat_map(exchanges).collect::<Vec<_>>()
        });
        let mut exchanged = parallel::concat(&exchanged);
        exchanged.par_sort_unstable_by_key(|(band, exchange)| {
            (*band, exchange.occupant.span.left, exchange.is_put)
        });
        let moves = parallel::map(changes.len(), |k| {
            let Change { cell, spot } = changes[k];
            Moved { cell, pose: self.pose(cell, spot) }
        });
        update(&mut self.bands, &exchanged, &|of| of.0 as usize, &|band, of| {
            band.exchange(of.iter().map(|(_, exchange)| exchange));
        });
        update(&mut self.cells, changes, &|change| change.cell as usize, &|cell, of| {
            cell.spot = of[0].spot;
        });
        self.wires.apply_all(&moves);
    }

    /// Moves every cell to its spot. The spots together are legal.
    pub(super) fn go_to(&mut self, spots: Vec<Spot>) {
        let all = (0..).zip(spots).map(|(cell, spot)| Change { cell, spot });
        let is_new = |change: &Change| self.cells[change.cell as usize].spot != change.spot;
        let mut changes: Vec<Change> = all.filter(is_new).collect();
        self.apply_all(&mut changes);
    }

    /// Does the same, if later code reads only the spots.
    pub(super) fn end_at(&mut self, spots: &[Spot]) {
        parallel::for_each(each_mut(&mut self.cells), |k, cell| cell.spot = spots[k]);
    }

    /// Whether the density allows the moves, which must then be made.
    fn fills(&mut self, trial: &Trial) -> bool {
        let Some(density) = &mut self.density else { return true };
        density.allows(trial.moves.iter().map(|step| {
            let node = self.cells[step.cell as usize].node;
            (node, self.wires.pose(step.cell), step.pose)
        }))
    }

    /// Whether the placement, which is legal now, is legal after these changes.
    pub(super) fn is_legal(&self, changes: &[Change]) -> bool {
        let moves = |cell: u32| changes.iter().any(|change| change.cell == cell);
        let fits = |change: &Change| self.fits(change.cell, change.spot, moves);
        changes.iter().all(fits)
            && !self.any_overlap(changes)
            && !(self.no_one_site_gaps && self.adds_one_site_gap(changes))
    }

    /// Whether two of these changes move cells to the same sites.
    fn any_overlap(&self, changes: &[Change]) -> bool {
        let is_next = |a: &Change, b: &Change| {
            a.spot.row == b.spot.row && self.span(a.cell, a.spot.site).right <= b.spot.site
        };
        if changes.is_sorted_by(is_next) {
            return false;
        }
        let before = |k: usize| changes[..k].iter();
        (1..changes.len()).any(|k| before(k).any(|other| self.overlap(&changes[k], other)))
    }

    fn overlap(&self, a: &Change, b: &Change) -> bool {
        let (of_a, of_b) = (self.span(a.cell, a.spot.site), self.span(b.cell, b.spot.site));
        of_a.left < of_b.right
            && of_b.left < of_a.right
            && match (self.bands(a.cell, a.spot.row), self.bands(b.cell, b.spot.row)) {
                (Some(of_a), Some(of_b)) => of_a.start < of_b.end && of_b.start < of_a.end,
                _ => true,
            }
    }
}
