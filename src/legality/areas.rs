//! Checks of fences, blockages and halos.

use super::{BLOCK, Fault, Found, Violation};
use crate::design::{BlockageKind, Design, Halo, NodeKind};
use crate::grid::Rect;
use crate::parallel;
use crate::rows::RectIndex;

/// The areas of a design that bind single cells.
pub(super) struct Areas<'a> {
    design: &'a Design,
    near: f64,
    /// Exclusive ones.
    fences: RectIndex<u32>,
    blockages: RectIndex<()>,
    halos: RectIndex<u32>,
    /// Halos of movable nodes, by node.
    of_movable: Vec<Halo>,
    /// Fixed nodes, where some movable node has a halo.
    fixed: RectIndex<u32>,
}

impl<'a> Areas<'a> {
    /// Lengths up to `near` count as zero. Nodes of `unplaced` have no halos.
    pub(super) fn new(design: &'a Design, near: f64, unplaced: &[u32]) -> Self {
        let fences = (0u32..).zip(&design.fences).filter(|(_, fence)| !fence.admits_others);
        let fences = fences.flat_map(|(k, fence)| fence.rects.iter().map(move |rect| (*rect, k)));
        let hard = design.blockages.iter().filter(|b| b.kind == BlockageKind::Hard);
        let kind = |halo: &Halo| design.nodes.kind[halo.node as usize];
        let is_placed = |halo: &&Halo| unplaced.binary_search(&halo.node).is_err();
        let kept = || design.halos.iter().filter(|halo| !halo.soft).filter(is_placed);
        let solid = kept().filter(|halo| kind(halo) != NodeKind::FixedOverlappable);
        let around = |halo: &Halo| {
            let node = halo.node as usize;
            halo.around(&design.rect(node), design.placement.orientation[node])
        };
        let movable = kept().filter(|halo| kind(halo) == NodeKind::Movable);
        let mut of_movable: Vec<Halo> = movable.copied().collect();
        of_movable.sort_by_key(|halo| halo.node);
        let nodes = if of_movable.is_empty() { 0 } else { design.nodes.len() };
        let fixed = (0..nodes).filter(|&i| design.nodes.kind[i] == NodeKind::Fixed);
        Areas {
            design,
            near,
            fences: RectIndex::new(fences),
            blockages: RectIndex::new(hard.map(|b| (b.rect, ()))),
            halos: RectIndex::new(solid.map(|halo| (around(halo), halo.node))),
            of_movable,
            fixed: RectIndex::new(
                fixed.flat_map(|i| design.solid_rects(i).map(move |rect| (rect, i as u32))),
            ),
        }
    }

    /// Records the faults of a movable node with area.
    pub(super) fn judge(&self, i: usize, rect: &Rect, found: &mut Found) {
        let mut add = |fault, other, amount| {
            found.add(Violation { fault, node: i as u32, other, amount, place: *rect });
        };
        let own = self.design.nodes.fence_of(i);
        let out = own.map_or(0.0, |fence| self.outside(rect, &self.design.fences[fence].rects));
        let others = self.fences.meeting(rect, self.near);
        let into: f64 =
            others.filter(|(of, _)| Some(*of as usize) != own).map(|(_, area)| area).sum();
        if out + into > 0.0 {
            add(Fault::Fence, None, out + into);
        }
        let blocked: f64 = self.blockages.meeting(rect, self.near).map(|(_, area)| area).sum();
        if blocked > 0.0 {
            add(Fault::Blocked, None, blocked);
        }
        for (node, area) in self.halos.meeting(rect, self.near) {
            if node != i as u32 {
                add(Fault::Halo, Some(node), area);
            }
        }
        if let Ok(at) = self.of_movable.binary_search_by_key(&(i as u32), |halo| halo.node) {
            let around = self.of_movable[at].around(rect, self.design.placement.orientation[i]);
            for (node, area) in self.fixed.meeting(&around, self.near) {
                add(Fault::Halo, Some(node), area);
            }
        }
    }

    /// Returns the area of `rect` that none of `rects` covers.
    fn outside(&self, rect: &Rect, rects: &[Rect]) -> f64 {
        let mut left = vec![*rect];
        for r in rects {
            left = left.iter().flat_map(|piece| pieces_outside(piece, r)).collect();
        }
        let solid = |r: &&Rect| r.width() > self.near && r.height() > self.near;
        left.iter().filter(solid).map(Rect::area).sum()
    }
}

/// Area of cells in a partial blockage.
#[derive(Clone, Copy, Default)]
struct Filled {
    area: f64,
    /// The largest area of a movable cell, and the cell; none if there is no movable one.
    largest: Option<(f64, u32)>,
}

impl Filled {
    fn add(&mut self, other: Filled) {
        self.area += other.area;
        let more = |(area, _): (f64, u32)| self.largest.is_none_or(|(largest, _)| area > largest);
        if other.largest.is_some_and(more) {
            self.largest = other.largest;
        }
    }
}

/// Returns the partial blockages that cells fill beyond what these allow of their area in `die`.
/// Nodes that `counts` refuses are ignored.
pub(super) fn overfilled(
    design: &Design,
    die: &Rect,
    counts: &(dyn Fn(usize) -> bool + Sync),
) -> Found {
    /// Share of a blockage's area that counts as none: sums are rounded.
    const NEAR: f64 = 1e-9;
    let share = |kind| if let BlockageKind::Partial(share) = kind { Some(share) } else { None };
    let partial: Vec<(f64, Rect)> =
        design.blockages.iter().filter_map(|of| Some((share(of.kind)?, of.rect))).collect();
    let mut found = Found::default();
    if partial.is_empty() {
        return found;
    }
    let index = RectIndex::new((0..).zip(&partial).map(|(k, (_, rect))| (*rect, k)));
    let blocks = parallel::map_blocks(design.nodes.len(), BLOCK, |range| {
        let mut filled = vec![Filled::default(); partial.len()];
        for i in range.filter(|&i| counts(i)) {
            let movable = design.nodes.kind[i] == NodeKind::Movable;
            for rect in design.solid_rects(i) {
                for (of, area) in index.meeting(&rect, 0.0) {
                    let largest = movable.then_some((area, i as u32));
                    filled[of as usize].add(Filled { area, largest });
                }
            }
        }
        filled
    });
    for (k, (share, rect)) in partial.iter().enumerate() {
        let mut filled = Filled::default();
        blocks.iter().for_each(|block| filled.add(block[k]));
        let amount = filled.area - share * rect.overlap(die);
        if let (Some((_, node)), true) = (filled.largest, amount > NEAR * rect.area()) {
            let fault = Fault::Overfilled;
            found.add(Violation { fault, node, other: None, amount, place: *rect });
        }
    }
    found
}

/// Returns the parts of `of` outside `hole`: four rectangles at most.
fn pieces_outside(of: &Rect, hole: &Rect) -> Vec<Rect> {
    if of.overlap(hole) <= 0.0 {
        return vec![*of];
    }
    let (yl, yh) = (of.yl.max(hole.yl), of.yh.min(hole.yh));
    let pieces = [
        Rect { yh: yl, ..*of },
        Rect { yl: yh, ..*of },
        Rect { yl, yh, xh: hole.xl, ..*of },
        Rect { yl, yh, xl: hole.xh, ..*of },
    ];
    pieces.into_iter().filter(|r| r.width() > 0.0 && r.height() > 0.0).collect()
}
