//! Reports of legality with the names of cells, for documents and text.

use super::{Fault, Legality, LegalityError, LegalityOptions, check};
use crate::design::{Design, NodeKind, Placement};
use serde::Serialize;
use std::fmt;

/// The legality of a placement; the JSON keys are stable.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct LegalityReport {
    /// Whether there are no faults.
    pub legal: bool,
    /// Pairs of cells that share area, one of them movable.
    pub overlaps: u64,
    /// The shared area, layout units squared.
    pub overlap_area: f64,
    /// Movable cells whose bottom edge is on no row.
    pub off_row: usize,
    /// Movable cells whose left edge is on no site.
    pub off_site: usize,
    /// Beyond the die or a row.
    pub outside: usize,
    /// Movable cells outside the die.
    pub outside_die: usize,
    /// Movable cells beyond the sites of a row they cover.
    pub outside_row: usize,
    /// Cells with a wrong orientation.
    pub orientation: usize,
    /// Whether any cells have the orientations of flipped rows.
    pub orientations_assigned: bool,
    /// Fixed cells with other positions or orientations.
    pub fixed_moved: usize,
    /// Cells on the wrong side of a fence.
    pub fence: usize,
    /// Cells in hard blockages.
    pub blocked: usize,
    /// Cells in halos.
    pub halo: usize,
    /// Cells on rows with wrong rails or sites.
    pub wrong_row: usize,
    /// Cells without a position.
    pub unplaced: usize,
    /// Pairs of neighbours closer than their edge types allow.
    pub edge_spacing: usize,
    /// Gaps of exactly one site, if these are forbidden.
    pub one_site_gap: usize,
    /// Partial blockages with more cell area than they allow.
    pub overfilled: usize,
    /// The ten worst faults of every kind.
    pub worst: Vec<ViolationReport>,
}

/// One fault, with the names of its cells.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
pub struct ViolationReport {
    /// The kind of fault.
    pub fault: Fault,
    /// One cell, or two of an overlap or a gap.
    pub cells: Vec<String>,
    /// The amount, as defined by [`Fault`].
    pub amount: f64,
    /// `[xl, yl, xh, yh]` of the shared area of two cells, the gap, the blockage, or else the cell.
    pub place: [f64; 4],
}

impl LegalityReport {
    /// Checks another placement of a design. `home` is the design's own placement, where fixed
    /// cells belong, and the kinds of the nodes there: nodes that only the other placement has
    /// freed count as fixed.
    ///
    /// # Errors
    /// See [`check`].
    ///
    /// # Panics
    /// If `home` has another number of kinds than the design has nodes.
    pub fn of_other_placement(
        design: &Design,
        (home, kinds): (&Placement, &[NodeKind]),
        options: &LegalityOptions<'_>,
    ) -> Result<Self, LegalityError> {
        let options = options.reference(home);
        let found = match design.nodes.kind == kinds {
            true => check(design, &options)?,
            false => {
                let mut design = design.clone();
                design.nodes.kind.copy_from_slice(kinds);
                check(&design, &options)?
            }
        };
        Ok(LegalityReport::of(design, &found))
    }

    /// Makes the report of the faults `found` in the placement of `design`.
    ///
    /// # Panics
    /// When it was found of a design with other nodes.
    pub fn of(design: &Design, found: &Legality) -> Self {
        let name = |node: u32| design.node_name(node as usize);
        let worst = found.worst.iter().map(|v| ViolationReport {
            fault: v.fault,
            cells: [Some(v.node), v.other].into_iter().flatten().map(name).collect(),
            amount: v.amount,
            place: [v.place.xl, v.place.yl, v.place.xh, v.place.yh],
        });
        let count = |fault| found.count(fault) as usize;
        LegalityReport {
            legal: found.is_legal(),
            overlaps: found.count(Fault::Overlap),
            overlap_area: found.overlap_area,
            off_row: count(Fault::OffRow),
            off_site: count(Fault::OffSite),
            outside: found.outside() as usize,
            outside_die: count(Fault::OutsideDie),
            outside_row: count(Fault::OutsideRow),
            orientation: count(Fault::Orientation),
            orientations_assigned: found.orientations_assigned,
            fixed_moved: count(Fault::FixedMoved),
            fence: count(Fault::Fence),
            blocked: count(Fault::Blocked),
            halo: count(Fault::Halo),
            wrong_row: count(Fault::WrongRow),
            unplaced: count(Fault::Unplaced),
            edge_spacing: count(Fault::EdgeSpacing),
            one_site_gap: count(Fault::OneSiteGap),
            overfilled: count(Fault::Overfilled),
            worst: worst.collect(),
        }
    }
}

impl fmt::Display for LegalityReport {
    /// One line: every fault with its count and its worst cells.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.legal {
            let open = if self.orientations_assigned {
                ""
            } else {
                "; no cell is turned as flipped rows ask"
            };
            return write!(f, "legal{open}");
        }
        let counts = [
            (Fault::Overlap, self.overlaps, "overlaps"),
            (Fault::OutsideDie, self.outside_die as u64, "outside the die"),
            (Fault::OutsideRow, self.outside_row as u64, "outside their row"),
            (Fault::OffRow, self.off_row as u64, "off rows"),
            (Fault::OffSite, self.off_site as u64, "off sites"),
            (Fault::Orientation, self.orientation as u64, "wrongly turned"),
            (Fault::FixedMoved, self.fixed_moved as u64, "fixed cells moved"),
            (Fault::Fence, self.fence as u64, "on the wrong side of a fence"),
            (Fault::Blocked, self.blocked as u64, "in blockages"),
            (Fault::Halo, self.halo as u64, "in halos"),
            (Fault::WrongRow, self.wrong_row as u64, "on rows of other rails or sites"),
            (Fault::Unplaced, self.unplaced as u64, "unplaced"),
            (Fault::EdgeSpacing, self.edge_spacing as u64, "neighbours too near by edge types"),
            (Fault::OneSiteGap, self.one_site_gap as u64, "gaps of one site"),
            (Fault::Overfilled, self.overfilled as u64, "overfilled partial blockages"),
        ];
        let mut between = "not legal: ";
        for (fault, count, what) in counts.into_iter().filter(|c| c.1 > 0) {
            write!(f, "{between}{count} {what}")?;
            between = ", ";
            let worst = self.worst.iter().find(|v| v.fault == fault);
            match (worst, fault) {
                (Some(v), Fault::Overlap) => {
                    write!(
                        f,
                        " of area {:.6e} ({} by {:.6e})",
                        self.overlap_area,
                        v.cells.join(" and "),
                        v.amount
                    )?;
                }
                (Some(v), _) => write!(f, " ({})", v.cells.join(" "))?,
                (None, _) => {}
            }
        }
        Ok(())
    }
}
