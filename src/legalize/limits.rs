//! Cells whose place is not within the options: too far from where they were, or beside a gap of
//! one site.

use super::{Failed, Reason};
use crate::design::{Design, NodeKind, Placement};
use crate::displacement;
use crate::grid::Rect;

/// Of a length, what counts as none: files hold decimal numbers.
const NEAR: f64 = 1e-3;

/// Returns the movable cells of `design` that are farther from their places in it, in `placement`,
/// than so many heights of the most frequent rows, and those beside a gap of one site where
/// `gaps` are forbidden; by node.
pub(crate) fn exceeded(
    design: &Design,
    placement: &Placement,
    max_displacement: Option<f64>,
    gaps: bool,
) -> Vec<Failed> {
    let mut found = Vec::new();
    if let (Some(most), Some(row)) = (max_displacement, design.row_height()) {
        found.extend(design.movable().filter_map(|node| {
            let rows = displacement::of(design, node, &design.placement, placement) / row;
            let node = node as u32;
            (rows > most + NEAR).then_some(Failed { node, reason: Reason::TooFar { rows } })
        }));
    }
    if gaps {
        found.extend(one_site_gaps(design, placement));
    }
    found.sort_by_key(|failed| failed.node);
    found
}

/// Returns the movable cells beside a gap of one site, of two the left one.
fn one_site_gaps(design: &Design, placement: &Placement) -> Vec<Failed> {
    let rect = |i: usize| {
        let (w, h) = design.nodes.size(i, placement.orientation[i]);
        Rect::at(placement.x[i], placement.y[i], w, h)
    };
    let solid =
        |&i: &usize| design.nodes.kind[i] != NodeKind::FixedNoImage && rect(i).width() > 0.0;
    // By row, nodes from left to right.
    let mut rows = design.rows.clone();
    rows.sort_by(|a, b| a.y.total_cmp(&b.y));
    rows.dedup_by(|b, a| b.y - a.y <= NEAR * a.height);
    let mut in_row: Vec<Vec<(f64, f64, usize)>> = vec![Vec::new(); rows.len()];
    for i in (0..design.nodes.len()).filter(solid) {
        let rect = rect(i);
        let first = rows.partition_point(|row| row.y + row.height <= rect.yl + NEAR * row.height);
        let end = rows.partition_point(|row| row.y < rect.yh - NEAR * row.height);
        for nodes in in_row.get_mut(first..end).into_iter().flatten() {
            nodes.push((rect.xl, rect.xh, i));
        }
    }
    let movable = |i: usize| design.nodes.kind[i] == NodeKind::Movable;
    let mut found = Vec::new();
    for (row, nodes) in rows.iter().zip(&mut in_row) {
        nodes.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.2.cmp(&b.2)));
        let beside = nodes.iter().zip(nodes.iter().skip(1));
        found.extend(beside.filter_map(|(a, b)| {
            // A cell takes whole sites.
            let first = ((a.1 - row.x) / row.pitch - NEAR).ceil();
            let next = ((b.0 - row.x) / row.pitch + NEAR).floor();
            let is_gap = next - first == 1.0 && (movable(a.2) || movable(b.2));
            let node = if movable(a.2) { a.2 } else { b.2 };
            is_gap.then_some(Failed { node: node as u32, reason: Reason::OneSiteGap })
        }));
    }
    found.sort_by_key(|failed| failed.node);
    found.dedup();
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::design::{Nodes, Orientation, Row};

    /// Cells of three sites in two rows of 10, of which the last is fixed.
    fn design(x: &[f64], y: &[f64]) -> Design {
        let row = Row { height: 10.0, site_width: 1.0, pitch: 1.0, sites: 50, ..Row::default() };
        let mut kind = vec![NodeKind::Movable; x.len()];
        kind[x.len() - 1] = NodeKind::Fixed;
        let (width, height) = (vec![3.0; x.len()], vec![10.0; x.len()]);
        Design {
            nodes: Nodes { width, height, kind, ..Nodes::default() },
            placement: Placement {
                x: x.to_vec(),
                y: y.to_vec(),
                orientation: vec![Orientation::N; x.len()],
            },
            rows: vec![row, Row { y: 10.0, ..row }],
            ..Design::default()
        }
    }

    #[test]
    fn cells_are_too_far_by_their_centres() {
        let design = design(&[0.0, 10.0, 20.0], &[0.0; 3]);
        let mut placement = design.placement.clone();
        (placement.x[1], placement.y[1]) = (5.0, 10.0);
        let too_far = Failed { node: 1, reason: Reason::TooFar { rows: 1.5 } };
        assert_eq!(exceeded(&design, &placement, Some(1.4), false), [too_far]);
        assert_eq!(exceeded(&design, &placement, Some(1.5), false), []);
        assert_eq!(exceeded(&design, &placement, None, false), []);
        // A cell turned about its centre has not moved.
        let (mut design, mut turned) = (design.clone(), design.placement);
        (design.nodes.width[0], turned.orientation[0]) = (30.0, Orientation::E);
        (turned.x[0], turned.y[0]) = (10.0, -10.0);
        assert_eq!(exceeded(&design, &turned, Some(0.0), false), []);
    }

    #[test]
    fn gaps_of_one_site_are_found_beside_movable_cells() {
        let nodes = |design: &Design| -> Vec<u32> {
            let found = exceeded(design, &design.placement, None, true);
            assert!(found.iter().all(|failed| failed.reason == Reason::OneSiteGap));
            found.iter().map(|failed| failed.node).collect()
        };
        // 0..3 and 4..7, a gap of two, and in the other row 9..12 before the fixed 13..16.
        let of = |x: &[f64]| design(x, &[0.0, 0.0, 0.0, 10.0, 10.0]);
        assert_eq!(nodes(&of(&[0.0, 4.0, 9.0, 9.0, 13.0])), [0, 3]);
        assert_eq!(nodes(&of(&[0.0, 3.0, 8.0, 10.0, 13.0])), [0; 0]);
        // The fixed one is at the left; a cell that is less than three sites wide takes three.
        let mut design = of(&[0.0, 4.0, 9.0, 17.0, 13.0]);
        design.nodes.width[0] = 2.4;
        assert_eq!(nodes(&design), [0, 3]);
    }
}
