//! Blocked area outside fixed cells: between rows, in blockages, and in halos.
//!
//! Parts that fixed cells cover are left out, so that no area counts twice. A partial blockage of
//! density d (LEF/DEF 5.8 Language Reference, "Blockages") blocks the share 1 − d. In global
//! placement soft blockages and halos count like hard ones.

use super::Rectangles;
use super::fences::populated;
use super::fixed::{self, gaps};
use crate::design::{Blockage, BlockageKind, Design, Halo, NodeKind};
use crate::grid::{BinGrid, Map, Rect};
use crate::warning::{Warning, WarningCode};
use std::borrow::Cow;

/// Returns the blockages of a design, and what else is blocked in `die`: halos of fixed nodes,
/// fences that no movable node may lie in, and everything outside the die area.
pub(super) fn of_design(design: &Design, die: &Rect) -> Vec<Blockage> {
    let hard = |rect: Rect| Blockage { rect, kind: BlockageKind::Hard };
    let fixed = |node: u32| design.nodes.kind[node as usize] == NodeKind::Fixed;
    let halos = design.halos.iter().filter(|halo| fixed(halo.node));
    let without_members = populated(design).into_iter().zip(&design.fences);
    let closed = without_members.filter(|(populated, fence)| !populated && !fence.admits_others);
    let closed = closed.flat_map(|(_, fence)| fence.rects.iter().copied());
    let around = |halo: &Halo| {
        let node = halo.node as usize;
        halo.around(&design.rect(node), design.placement.orientation[node])
    };
    // The edges of the die limit cells without it.
    let outside = match &design.die_area[..] {
        [] => Vec::new(),
        area => gaps(area, die),
    };
    let around = halos.map(around).chain(closed).chain(outside);
    design.blockages.iter().copied().chain(around.map(hard)).collect()
}

/// Adds this share of the halos of the `movable` nodes of a design to the margins of their bodies,
/// left, below, right and above. A body does not become larger than the die because of its halo.
pub(super) fn add_halos(
    design: &Design,
    movable: &[usize],
    die: [f64; 2],
    share: f64,
    margins: &mut Vec<[f64; 4]>,
) {
    for halo in &design.halos {
        let node = halo.node as usize;
        let Ok(i) = movable.binary_search(&node) else { continue };
        margins.resize(movable.len(), [0.0; 4]);
        let halo = halo.sides(design.placement.orientation[node]);
        let (width, height) = design.size(node);
        for (axis, size) in [width, height].into_iter().enumerate() {
            // A little less, because the sum is rounded.
            let room = ((1.0 - 1e-9) * die[axis] - size).max(0.0);
            let fits = (room / (halo[axis] + halo[axis + 2])).min(1.0);
            for side in [axis, axis + 2] {
                margins[i][side] = margins[i][side].max(share * fits * halo[side]);
            }
        }
    }
}

/// Returns a warning about movable nodes with a halo.
pub(super) fn unread_halos(design: &Design) -> Option<Warning> {
    let movable = |node: u32| design.nodes.kind[node as usize] == NodeKind::Movable;
    let count = design.halos.iter().filter(|halo| movable(halo.node)).count();
    let message = || format!("the halos of {count} movable nodes take no area in the density");
    (count > 0).then(|| Warning::new(WarningCode::HalosNotHeeded, message()))
}

/// Returns the area that no cell may lie in and no fixed cell covers, as rectangles that do not
/// overlap.
pub(super) fn rects(cells: &Rectangles<'_>, row_blockage: bool, die: &Rect) -> Vec<Rect> {
    let whole = |of: &&Blockage| !matches!(of.kind, BlockageKind::Partial(d) if d > 0.0);
    let mut rects: Vec<Rect> = cells.blockages.iter().filter(whole).map(|of| of.rect).collect();
    let open = match (rects.is_empty(), row_blockage) {
        (true, false) => return Vec::new(),
        (true, true) => Cow::Borrowed(cells.rows),
        (false, _) => {
            if row_blockage {
                rects.extend(gaps(cells.rows, die));
            }
            Cow::Owned(gaps(&rects, die))
        }
    };
    gaps(&[&open, cells.fixed].concat(), die)
}

/// Returns the area of every bin, in layout units squared, that partial blockages block outside
/// fixed cells and `blocked_rects`; `None` without partial blockages. If several overlap, the one
/// that blocks most counts.
pub(super) fn partial(
    cells: &Rectangles<'_>,
    blocked_rects: &[Rect],
    grid: &BinGrid,
) -> Option<Map<f64>> {
    let share = |of: &Blockage| match of.kind {
        BlockageKind::Partial(d) if d > 0.0 && d < 1.0 => Some((d, of.rect)),
        _ => None,
    };
    let mut parts: Vec<(f64, Rect)> = cells.blockages.iter().filter_map(share).collect();
    parts.sort_by(|a, b| a.0.total_cmp(&b.0));
    let die = grid.die();
    let mut before = [cells.fixed, blocked_rects].concat();
    let mut blocked: Option<Map<f64>> = None;
    for alike in parts.chunk_by(|a, b| a.0 == b.0) {
        let rects: Vec<Rect> = alike.iter().map(|(_, rect)| *rect).collect();
        let left = gaps(&[&gaps(&rects, &die)[..], &before].concat(), &die);
        let more = fixed::map(left.iter(), None, grid, |_| 1.0 - alike[0].0);
        before.extend(rects);
        match &mut blocked {
            None => blocked = Some(more),
            Some(sum) => {
                let bins = sum.as_mut_slice().iter_mut().zip(more.as_slice());
                bins.for_each(|(sum, more)| *sum += more);
            }
        }
    }
    blocked
}
