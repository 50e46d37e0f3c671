//! Legality of a placement: the requirements on the result of a detailed placer, and their
//! violations.
//!
//! Movable cells must not overlap each other or fixed cells. The bottom edge of a cell must be on
//! a row and its left edge on a site. Its whole width must be on sites of every row that it covers,
//! and its orientation must suit the row. Fixed cells must have the design's positions.
//!
//! If the design has these constraints, cells must be inside their fence and outside other fences,
//! off hard blockages and halos, and on rows and in orientations that their library cells allow.
//! Neighbours must have the spacing of their edge types, partial blockages must not be overfilled,
//! and with an option no gap may be one site wide.
//!
//! These are the rules of the ISPD 2005 and 2006 contests' `check_legality` (fixed
//! cells, rows, sites, overlaps; <http://archive.sigda.org/ispd2006/contest.html>), with
//! orientations as in LEF/DEF if the rows have them. Lengths are layout units, areas their squares.
//!
//! Not checked: cells without area, `FixedOverlappable` nodes (cells may lie over them), and
//! overlaps between fixed cells, which belong to the design.
//!
//! ```
//! use placefield::design::{Design, NodeKind, Nodes, Orientation, Placement, Row};
//! use placefield::legality::{self, Fault, LegalityOptions};
//!
//! // Two cells of 4 × 10 in one row; the second begins within the first.
//! let design = Design {
//!     nodes: Nodes {
//!         width: vec![4.0; 2],
//!         height: vec![10.0; 2],
//!         kind: vec![NodeKind::Movable; 2],
//!         ..Nodes::default()
//!     },
//!     placement: Placement {
//!         x: vec![0.0, 3.0],
//!         y: vec![0.0; 2],
//!         orientation: vec![Orientation::N; 2],
//!     },
//!     rows: vec![Row { height: 10.0, site_width: 1.0, pitch: 1.0, sites: 50, ..Row::default() }],
//!     ..Design::default()
//! };
//! let legality = legality::check(&design, &LegalityOptions::default())?;
//! assert!(!legality.is_legal());
//! assert_eq!((legality.count(Fault::Overlap), legality.overlap_area), (1, 10.0));
//! assert_eq!((legality.worst[0].fault, legality.worst[0].node), (Fault::Overlap, 0));
//! # Ok::<(), legality::LegalityError>(())
//! ```

mod areas;
mod heap;
mod neighbours;
mod overlap;
mod report;
mod rows;

use crate::design::{Design, DesignError, NodeKind, Orientation, Placement};
use crate::grid::Rect;
use crate::parallel;
use crate::setters::setters;
use areas::Areas;
pub use report::{LegalityReport, ViolationReport};
use rows::{RowCheck, RowIndex, may_lie};
use std::cmp::Ordering;
use std::fmt;

/// Most entries of one fault in [`Legality::worst`].
pub const WORST: usize = 10;

/// Nodes that one task checks.
const BLOCK: usize = 1 << 14;

/// A kind of illegality of a placement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Fault {
    /// Two cells share area, one of them movable; the amount is the area they share.
    Overlap,
    /// A movable cell extends beyond the die area, or beyond all rows if there is no die area; the
    /// amount is its area outside.
    OutsideDie,
    /// A movable cell stands on a row but reaches beyond the sites of one it covers; the amount
    /// is the area without sites below.
    OutsideRow,
    /// The bottom edge of a movable cell is on no row; the amount is the distance to the nearest.
    OffRow,
    /// The left edge of a movable cell is on no site; the amount is the distance to the nearest.
    OffSite,
    /// A movable cell of an odd number of rows does not lie as its row asks, or one of any height
    /// as its library cell may not; the amount is its area.
    Orientation,
    /// A fixed cell has another position or orientation than in the design; the amount is its
    /// displacement along x plus y.
    FixedMoved,
    /// A movable cell extends beyond its fence or into another one; the amount is its area there.
    Fence,
    /// A movable cell overlaps hard blockages; the amount is its area there.
    Blocked,
    /// A movable cell overlaps the halo of another node, or a fixed node overlaps the cell's halo;
    /// the amount is the area there.
    Halo,
    /// A movable cell is on a row on which its library cell may not be: its supply rails are
    /// flipped, or the row has another kind of sites although rows of the cell's kind exist. The
    /// amount is the cell's area.
    WrongRow,
    /// A movable cell has no position ([`LegalityOptions::unplaced`]); the amount is its area. It
    /// has no other fault.
    Unplaced,
    /// Two neighbours in a row, one of them movable, are nearer than their edge types allow; the
    /// amount is the length that is missing.
    EdgeSpacing,
    /// Beside a movable cell there is a gap of exactly one free site, up to another cell, a fixed
    /// obstacle or the end of the row; the amount is the length of the gap. Only found if
    /// [`LegalityOptions::no_one_site_gaps`] is set.
    OneSiteGap,
    /// Cells fill more of a partial blockage than it allows, and one of them is movable; the amount
    /// is the area too much. The node is the movable cell with the largest area inside.
    Overfilled,
}

impl Fault {
    /// All of them, in the order of reports.
    pub const ALL: [Fault; 15] = {
        use Fault::*;
        [
            Overlap,
            OutsideDie,
            OutsideRow,
            OffRow,
            OffSite,
            Orientation,
            FixedMoved,
            Fence,
            Blocked,
            Halo,
            WrongRow,
            Unplaced,
            EdgeSpacing,
            OneSiteGap,
            Overfilled,
        ]
    };
}

/// One fault of one cell, or of two.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Violation {
    /// The kind of fault.
    pub fault: Fault,
    /// The node, by its index in the design.
    pub node: u32,
    /// The other node of an overlap or a gap.
    pub other: Option<u32>,
    /// The amount, as defined by [`Fault`].
    pub amount: f64,
    /// Where: the area that two cells share, the gap, the blockage, and else the cell.
    pub place: Rect,
}

impl Violation {
    /// Orders by the largest amount first, then by node.
    fn order(&self, other: &Violation) -> Ordering {
        let nodes = |v: &Violation| (v.node, v.other);
        other.amount.total_cmp(&self.amount).then_with(|| nodes(self).cmp(&nodes(other)))
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Violation { fault, node, amount, .. } = self;
        match (fault, self.other) {
            (Fault::Overlap, Some(other)) => {
                write!(f, "nodes {node} and {other} share an area of {amount:e}")
            }
            (Fault::Overlap, None) => write!(f, "node {node} overlaps by an area of {amount:e}"),
            (Fault::OutsideDie, _) => {
                write!(f, "node {node} reaches beyond the die by an area of {amount:e}")
            }
            (Fault::OutsideRow, _) => {
                write!(f, "node {node} has no sites below an area of {amount:e}")
            }
            (Fault::OffRow, _) => write!(f, "node {node} is {amount:e} from the nearest row"),
            (Fault::OffSite, _) => write!(f, "node {node} is {amount:e} from the nearest site"),
            (Fault::Orientation, _) => write!(f, "node {node} does not lie as its row asks"),
            (Fault::FixedMoved, _) => write!(f, "fixed node {node} was moved by {amount:e}"),
            (Fault::Fence, _) => {
                write!(f, "node {node} is out of its fence or in another by an area of {amount:e}")
            }
            (Fault::Blocked, _) => {
                write!(f, "node {node} reaches into blockages by an area of {amount:e}")
            }
            (Fault::Halo, _) => write!(f, "node {node} reaches into a halo by {amount:e}"),
            (Fault::WrongRow, _) => write!(f, "node {node} stands on a row not made for it"),
            (Fault::Unplaced, _) => write!(f, "node {node} has no position"),
            (Fault::EdgeSpacing, _) => write!(
                f,
                "node {node} is nearer to its neighbour than their edge types allow, by {amount:e}"
            ),
            (Fault::OneSiteGap, _) => write!(f, "node {node} is beside a gap of one site"),
            (Fault::Overfilled, _) => write!(
                f,
                "node {node} is in a partial blockage that is overfilled by an area of {amount:e}"
            ),
        }
    }
}

/// Options of [`check`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct LegalityOptions<'a> {
    /// Lengths that count as none (of overlaps, distances to rows and sites, lengths outside), as a
    /// share of the smallest site width, site pitch or row height: files hold decimal numbers.
    /// 1/1000 by default.
    pub tolerance: f64,
    /// The placement that fixed cells belong to; `None` by default, and then none can have moved.
    pub reference: Option<&'a Placement>,
    /// Movable nodes without a position, ascending; none by default.
    pub unplaced: &'a [u32],
    /// Whether gaps of exactly one site are faults; no by default.
    pub no_one_site_gaps: bool,
}

impl Default for LegalityOptions<'_> {
    fn default() -> Self {
        LegalityOptions {
            tolerance: crate::rows::TOLERANCE,
            reference: None,
            unplaced: &[],
            no_one_site_gaps: false,
        }
    }
}

impl<'a> LegalityOptions<'a> {
    setters! {
        /// Sets the tolerance, as a share of the smallest length of a row.
        tolerance: f64,
        /// Sets the movable nodes without a position, ascending.
        unplaced: &'a [u32],
        /// Sets whether gaps of exactly one site are faults.
        no_one_site_gaps: bool,
    }

    /// Whether node `i` has no position.
    fn is_unplaced(&self, i: usize) -> bool {
        self.unplaced.binary_search(&(i as u32)).is_ok()
    }

    /// Sets the placement that fixed cells belong to.
    #[must_use]
    pub fn reference(self, reference: &'a Placement) -> Self {
        LegalityOptions { reference: Some(reference), ..self }
    }
}

/// Error of a design whose legality cannot be checked.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LegalityError {
    /// The columns of the design or of the reference do not fit together.
    #[error(transparent)]
    Design(#[from] DesignError),
    /// Without rows cells have no legal positions.
    #[error("the design has no rows, so nothing says where cells may stand")]
    NoRows,
    /// A size or position that is not finite, or a negative size.
    #[error("{what} {index}: {value}: expected a finite number, of sizes at least 0")]
    BadNumber {
        /// The owner of the number.
        what: &'static str,
        /// Its index in the design.
        index: usize,
        /// The number.
        value: f64,
    },
}

/// How legal a placement is.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Legality {
    counts: [u64; Fault::ALL.len()],
    /// Σ over the pairs that overlap of the area they share.
    pub overlap_area: f64,
    /// False if the design has no library and most cells on flipped rows are unflipped: then
    /// orientations have not been assigned yet, and unflipped cells are not counted as wrong.
    pub orientations_assigned: bool,
    /// The worst of every fault, [`WORST`] of each at most, in the order of [`Fault::ALL`]. Where
    /// cells lie in heaps of more than 64 to a cell, overlaps are counted but not all of them
    /// listed: then these are the worst of the largest cells.
    pub worst: Vec<Violation>,
}

impl Legality {
    /// Returns whether there is no fault.
    pub fn is_legal(&self) -> bool {
        Fault::ALL.into_iter().all(|fault| self.count(fault) == 0)
    }

    /// Returns how often a fault was found.
    pub fn count(&self, fault: Fault) -> u64 {
        self.counts[fault as usize]
    }

    /// Returns the movable cells that reach beyond the die or the sites of a row.
    pub fn outside(&self) -> u64 {
        self.count(Fault::OutsideDie) + self.count(Fault::OutsideRow)
    }
}

/// Checks the whole placement of `design`, on all threads of the current rayon pool. The result
/// does not depend on the number of threads.
///
/// # Errors
/// When the design's columns do not fit together, it has no rows, a number is not finite or a size
/// negative, or the reference has another number of nodes.
pub fn check(design: &Design, options: &LegalityOptions<'_>) -> Result<Legality, LegalityError> {
    design.check()?;
    let nodes = design.nodes.len();
    options.reference.map_or(Ok(()), |home| home.check(nodes))?;
    check_numbers(design)?;
    let die = design.die().ok_or(LegalityError::NoRows)?;
    let rows = RowIndex::new(&design.rows, options.tolerance);

    let areas = Areas::new(design, rows.tolerance(), options.unplaced);
    let assigned = orientations_assigned(design, &rows);
    let blocks = parallel::map_blocks(nodes, BLOCK, |range| {
        let mut found = Found::default();
        for i in range {
            judge(design, i, &die, (&rows, &areas), assigned, options, &mut found);
        }
        found
    });
    let counts = |i: usize| {
        design.nodes.kind[i] != NodeKind::FixedOverlappable
            && design.nodes.width[i] > 0.0
            && design.nodes.height[i] > 0.0
            && !options.is_unplaced(i)
    };
    let (overlaps, overlap_area, pairs) =
        overlap::overlaps(design, &die, rows.tolerance(), &counts);
    let neighbours = neighbours::check(design, &rows, options.no_one_site_gaps, &counts);
    let overfilled = areas::overfilled(design, &die, &counts);
    let others = [neighbours, overfilled].into_iter().chain(blocks);
    let mut found = others.fold(pairs, Found::merged);
    found.counts[Fault::Overlap as usize] = overlaps;
    Ok(Legality {
        counts: found.counts,
        overlap_area,
        orientations_assigned: assigned,
        worst: found.worst.into_iter().flat_map(|worst| worst.0).collect(),
    })
}

fn check_numbers(design: &Design) -> Result<(), LegalityError> {
    let bad = |what, index, value| Err(LegalityError::BadNumber { what, index, value });
    if let Some((what, index, value)) = design.bad_number_of_node() {
        return bad(what, index, value);
    }
    for (index, row) in design.rows.iter().enumerate() {
        let sizes = [row.height, row.site_width, row.pitch];
        let wrong = sizes.into_iter().find(|v| !(v.is_finite() && *v >= 0.0));
        let wrong = wrong.or([row.x, row.y].into_iter().find(|v| !v.is_finite()));
        if let Some(value) = wrong {
            return bad("row", index, value);
        }
    }
    Ok(())
}

/// Whether orientations have been assigned as the rows require: always with a library, and else if
/// at least half of the cells that must turn with rows upside down are upside down.
fn orientations_assigned(design: &Design, rows: &RowIndex) -> bool {
    let flipped = |i: usize| -> Option<bool> {
        let row = rows.deciding_row(design, i)?;
        let upside_down = row.orientation.is_upside_down();
        upside_down.then(|| design.placement.orientation[i].is_upside_down())
    };
    if rows.upright() || !design.masters.is_empty() {
        return true;
    }
    // Those that are upside down less those that are not.
    let majorities = parallel::map_blocks(design.nodes.len(), BLOCK, |range| {
        let movable = range.filter(|&i| design.nodes.kind[i] == NodeKind::Movable);
        movable.filter_map(flipped).map(|flipped| if flipped { 1 } else { -1 }).sum::<i64>()
    });
    majorities.iter().sum::<i64>() >= 0
}

/// Records the faults of node `i` alone.
fn judge(
    design: &Design,
    i: usize,
    die: &Rect,
    (rows, areas): (&RowIndex, &Areas<'_>),
    assigned: bool,
    options: &LegalityOptions<'_>,
    found: &mut Found,
) {
    let rect = design.rect(i);
    let mut add = |fault, amount| {
        found.add(Violation { fault, node: i as u32, other: None, amount, place: rect });
    };
    if design.nodes.kind[i] != NodeKind::Movable {
        let Some(home) = options.reference.filter(|_| !design.is_left_out_filler(i)) else {
            return;
        };
        let at = &design.placement;
        let moved = (at.x[i] - home.x[i]).abs() + (at.y[i] - home.y[i]).abs();
        if moved > rows.tolerance() || at.orientation[i] != home.orientation[i] {
            add(Fault::FixedMoved, moved);
        }
        return;
    }
    if rect.width() <= 0.0 || rect.height() <= 0.0 {
        return;
    }
    if options.is_unplaced(i) {
        return add(Fault::Unplaced, rect.area());
    }
    let outside = |rect: &Rect| match design.die_area.is_empty() {
        true => rect.area() - rect.overlap(die),
        false => design.area_outside_die(rect),
    };
    // Beyond the tolerance at each side. Sums of areas are rounded.
    let [x, y] = [rect.width(), rect.height()].map(|side| rows.tolerance().min(0.25 * side));
    let inner = Rect { xl: rect.xl + x, yl: rect.yl + y, xh: rect.xh - x, yh: rect.yh - y };
    if outside(&inner) > 1e-9 * inner.area() {
        return add(Fault::OutsideDie, outside(&rect));
    }
    areas.judge(i, &rect, found);
    let mut add = |fault, amount| {
        found.add(Violation { fault, node: i as u32, other: None, amount, place: rect });
    };
    match rows.check(&rect) {
        RowCheck::Fine => {}
        RowCheck::OffRow(distance) => return add(Fault::OffRow, distance),
        RowCheck::OutsideRow(area) => add(Fault::OutsideRow, area),
        RowCheck::OffSite(distance) => add(Fault::OffSite, distance),
    }
    let orientation = design.placement.orientation[i];
    let master = design.master_of(i);
    if master.is_some_and(|master| !rows.may_stand(master, &rect)) {
        add(Fault::WrongRow, rect.area());
    }
    if master.is_some_and(|master| !master.symmetry.admits(orientation)) {
        return add(Fault::Orientation, rect.area());
    }
    if rows.upright() && orientation == Orientation::N {
        return;
    }
    if let Some(row) = rows.deciding_row(design, i)
        && !may_lie(orientation, row, assigned)
    {
        add(Fault::Orientation, rect.area());
    }
}

/// Counts and the worst, by fault.
#[derive(Clone, Debug, Default)]
struct Found {
    counts: [u64; Fault::ALL.len()],
    worst: [Worst; Fault::ALL.len()],
}

impl Found {
    fn add(&mut self, violation: Violation) {
        self.counts[violation.fault as usize] += 1;
        self.worst[violation.fault as usize].add(violation);
    }

    fn merged(mut self, other: Found) -> Found {
        for (count, more) in self.counts.iter_mut().zip(other.counts) {
            *count += more;
        }
        for (worst, more) in self.worst.iter_mut().zip(other.worst) {
            more.0.into_iter().for_each(|v| worst.add(v));
        }
        self
    }
}

/// The [`WORST`] violations of one fault that were added, the worst first.
#[derive(Clone, Debug, Default)]
struct Worst(Vec<Violation>);

impl Worst {
    fn add(&mut self, violation: Violation) {
        if self.0.len() == WORST
            && self.0.last().is_some_and(|last| violation.order(last) != Ordering::Less)
        {
            return;
        }
        let place = self.0.partition_point(|v| v.order(&violation) == Ordering::Less);
        self.0.insert(place, violation);
        self.0.truncate(WORST);
    }

    /// Returns an amount that a violation must reach to be among the worst.
    fn least(&self) -> f64 {
        if self.0.len() < WORST { 0.0 } else { self.0[WORST - 1].amount }
    }
}

#[cfg(test)]
mod tests;
