//! Incremental placement: cells with a position do not move, and the others are placed beside them.

use crate::design::{Design, NodeKind};
use crate::grid::Rect;
use crate::legality::{self, LegalityError, LegalityOptions, LegalityReport};
use crate::place::default_bins;
use serde::Serialize;

/// Movable nodes that keep their positions and orientations while others are placed.
///
/// ```
/// use placefield::design::{Design, NodeKind, Nodes, Orientation, Placement, Row};
/// use placefield::flow::Kept;
/// use placefield::legalize::{LegalizeOptions, legalize};
/// use std::ops::ControlFlow;
///
/// // Node 0 is placed in the middle of a row of 12 sites; node 1 has no position.
/// let mut design = Design {
///     nodes: Nodes {
///         width: vec![4.0; 2],
///         height: vec![10.0; 2],
///         kind: vec![NodeKind::Movable; 2],
///         ..Nodes::default()
///     },
///     placement: Placement {
///         x: vec![4.0, 0.0],
///         y: vec![0.0; 2],
///         orientation: vec![Orientation::N; 2],
///     },
///     rows: vec![Row { height: 10.0, site_width: 1.0, pitch: 1.0, sites: 12, ..Row::default() }],
///     ..Design::default()
/// };
/// let mut kept = Kept::new(&mut design, &[1]);
/// let options = LegalizeOptions::default();
/// design.placement = legalize(&design, &options, &mut |_| ControlFlow::Continue(()))?.placement;
/// assert!(kept.report(&mut design)?.legality.legal);
/// kept.swap(&mut design);
/// assert_eq!(design.nodes.kind, [NodeKind::Movable; 2]);
/// assert_eq!((design.placement.x[0], design.placement.x[1] % 8.0), (4.0, 0.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Kept {
    /// The kinds that nodes do not have at present: those of the file at first.
    other_kinds: Vec<NodeKind>,
    cells: usize,
}

impl Kept {
    /// Fixes the movable nodes of `design` that are not among `unplaced`, which is ascending.
    pub fn new(design: &mut Design, unplaced: &[u32]) -> Kept {
        let has_position = |node: &usize| unplaced.binary_search(&(*node as u32)).is_err();
        let kept: Vec<usize> = design.movable().filter(has_position).collect();
        Kept { cells: kept.len(), other_kinds: design.fix(kept) }
    }

    /// Gives the nodes of `design` the kinds that they have in the file, or fixes the kept ones
    /// again.
    pub fn swap(&mut self, design: &mut Design) {
        std::mem::swap(&mut self.other_kinds, &mut design.nodes.kind);
    }

    /// Returns the bins to place on beside the kept nodes, which are fixed in `design`. Cells go
    /// into the gaps between others, so a bin holds several gaps: by the rule of [`default_bins`]
    /// for the part of the die that the kept nodes leave free.
    pub fn bins(&self, design: &Design, die: Rect, target_density: f64) -> [usize; 2] {
        let is_kept = |node: &usize| {
            self.other_kinds[*node] == NodeKind::Movable
                && design.nodes.kind[*node] != NodeKind::Movable
        };
        let kept = (0..design.nodes.len()).filter(is_kept);
        let area: f64 = kept.map(|node| design.rect(node).overlap(&die)).sum();
        let free = (1.0 - area / die.area()).clamp(0.0, 1.0);
        default_bins(design, die, target_density * free)
    }

    /// Returns how legal the kept nodes stand. They are fixed in `design`.
    ///
    /// # Errors
    /// See [`legality::check`].
    pub fn report(&self, design: &mut Design) -> Result<KeptReport, LegalityError> {
        let alone = |(file, now): (&NodeKind, &NodeKind)| match (file, now) {
            (NodeKind::Movable, NodeKind::Movable) => NodeKind::FixedOverlappable,
            (file, _) => *file,
        };
        let kinds = self.other_kinds.iter().zip(&design.nodes.kind).map(alone).collect();
        let before = std::mem::replace(&mut design.nodes.kind, kinds);
        let found = legality::check(design, &LegalityOptions::default());
        let report = found.map(|found| LegalityReport::of(design, &found));
        design.nodes.kind = before;
        Ok(KeptReport { cells: self.cells, legality: report? })
    }
}

/// Cells that did not move.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct KeptReport {
    /// Number of these cells.
    pub cells: usize,
    /// The legality of these cells, without the placed cells.
    pub legality: LegalityReport,
}
