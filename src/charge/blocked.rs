//! Blocked area under no fixed cell: outside every row, in blockages, and around fixed nodes with a
//! halo.
//!
//! Parts that fixed cells cover are left out, so that no area is taken twice. A partial blockage of
//! density d (LEF/DEF 5.8 Language Reference, "Blockages") takes the share 1 − d. For global
//! placement soft blockages and halos are as good as hard ones.

use super::Rectangles;
use super::fences::populated;
use super::fixed::{self, gaps};
use crate::design::{Blockage, BlockageKind, Design, Halo, NodeKind};
use crate::grid::{BinGrid, Map, Rect};
use crate::warning::{Warning, WarningCode};
use std::borrow::Cow;

/// Returns the blockages of a design, and those that the halos of its fixed nodes make, and fences
/// that no movable node may lie in.
pub(super) fn of_design(design: &Design) -> Vec<Blockage> {
    let hard = |rect: Rect| Blockage { rect, kind: BlockageKind::Hard };
    let fixed = |node: u32| design.nodes.kind[node as usize] == NodeKind::Fixed;
    let halos = design.halos.iter().filter(|halo| fixed(halo.node));
    let without_members = populated(design).into_iter().zip(&design.fences);
    let closed = without_members.filter(|(populated, _)| !populated);
    let closed = closed.flat_map(|(_, fence)| fence.rects.iter().copied());
    let around = |halo: &Halo| {
        let node = halo.node as usize;
        halo.around(&design.rect(node), design.placement.orientation[node])
    };
    let around = halos.map(around).chain(closed);
    design.blockages.iter().copied().chain(around.map(hard)).collect()
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
pub(super) fn closed(cells: &Rectangles<'_>, row_blockage: bool, die: &Rect) -> Vec<Rect> {
    let whole = |of: &&Blockage| !matches!(of.kind, BlockageKind::Partial(d) if d > 0.0);
    let mut closed: Vec<Rect> = cells.blockages.iter().filter(whole).map(|of| of.rect).collect();
    let open = match (closed.is_empty(), row_blockage) {
        (true, false) => return Vec::new(),
        (true, true) => Cow::Borrowed(cells.rows),
        (false, _) => {
            if row_blockage {
                closed.extend(gaps(cells.rows, die));
            }
            Cow::Owned(gaps(&closed, die))
        }
    };
    gaps(&[&open, cells.fixed].concat(), die)
}

/// Returns the area of every bin that partial blockages take of what is neither under fixed cells
/// nor `closed`, layout units squared; `None` without any. Where they overlap, the one that takes
/// most counts.
pub(super) fn partial(cells: &Rectangles<'_>, closed: &[Rect], grid: &BinGrid) -> Option<Map<f64>> {
    let share = |of: &Blockage| match of.kind {
        BlockageKind::Partial(d) if d > 0.0 && d < 1.0 => Some((d, of.rect)),
        _ => None,
    };
    let mut parts: Vec<(f64, Rect)> = cells.blockages.iter().filter_map(share).collect();
    parts.sort_by(|a, b| a.0.total_cmp(&b.0));
    let die = grid.die();
    let mut before = [cells.fixed, closed].concat();
    let mut taken: Option<Map<f64>> = None;
    for alike in parts.chunk_by(|a, b| a.0 == b.0) {
        let rects: Vec<Rect> = alike.iter().map(|(_, rect)| *rect).collect();
        let left = gaps(&[&gaps(&rects, &die)[..], &before].concat(), &die);
        let more = fixed::map(left.iter(), None, grid, |_| 1.0 - alike[0].0);
        before.extend(rects);
        match &mut taken {
            None => taken = Some(more),
            Some(sum) => {
                let bins = sum.as_mut_slice().iter_mut().zip(more.as_slice());
                bins.for_each(|(sum, more)| *sum += more);
            }
        }
    }
    taken
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::charge::{Charge, ChargeOptions};
    use crate::design::{Fence, Names, Nodes, Orientation, Placement, Row};

    const DIE: Rect = Rect { xl: 0.0, yl: 0.0, xh: 80.0, yh: 40.0 };

    /// Returns two movable cells of 4 × 2, and a block of 10 × 20 that is rotated, on 20 × 10, at
    /// (20, 10).
    fn design() -> Design {
        let mut names = Names::default();
        ["a", "b", "block"].iter().for_each(|name| names.push(name));
        let nodes = Nodes {
            names,
            width: vec![4.0, 4.0, 10.0],
            height: vec![2.0, 2.0, 20.0],
            kind: vec![NodeKind::Movable, NodeKind::Movable, NodeKind::Fixed],
            ..Nodes::default()
        };
        let orientation = vec![Orientation::N, Orientation::N, Orientation::W];
        let placement =
            Placement { x: vec![50.0, 4.0, 20.0], y: vec![30.0, 4.0, 10.0], orientation };
        Design { nodes, placement, outline: Some(DIE), ..Design::default() }
    }

    fn blockage(rect: Rect, kind: BlockageKind) -> Blockage {
        Blockage { rect, kind }
    }

    fn charge(design: &Design) -> Charge {
        let grid = BinGrid::new(DIE, 8, 4).unwrap();
        Charge::from_design(design, grid, &ChargeOptions::default()).unwrap()
    }

    #[test]
    fn halos_turn_with_the_node() {
        let halo = Halo { node: 2, left: 1.0, bottom: 2.0, right: 3.0, top: 4.0, soft: true };
        // A quarter turn counter-clockwise: the left halo is at the bottom, the top one at the
        // left.
        let design = Design { halos: vec![halo], ..design() };
        let want = Rect { xl: 16.0, yl: 9.0, xh: 42.0, yh: 23.0 };
        assert_eq!(halo.around(&design.rect(2), Orientation::W), want);
        let charge = charge(&design);
        assert_eq!(charge.fixed_area(), 200.0);
        assert_eq!(charge.blockage_area(), want.area() - 200.0);
        let taken: f64 = charge.fixed().as_slice().iter().sum();
        assert!((taken - want.area()).abs() < 1e-9);
        assert!(charge.warnings().is_empty());
        let movable = Design { halos: vec![Halo { node: 0, ..halo }], ..design };
        let charge = super::tests::charge(&movable);
        assert_eq!((charge.blockage_area(), charge.warnings().len()), (0.0, 1));
    }

    #[test]
    fn blockages_take_area_once() {
        let mut design = design();
        design.blockages = vec![
            blockage(Rect::at(15.0, 10.0, 10.0, 10.0), BlockageKind::Hard),
            blockage(Rect::at(15.0, 10.0, 5.0, 20.0), BlockageKind::Soft),
            // 20 × 10, of which the block and what is closed cover 15 × 10.
            blockage(Rect::at(10.0, 10.0, 20.0, 10.0), BlockageKind::Partial(0.6)),
            // Over the same: 5 × 10 more.
            blockage(Rect::at(5.0, 10.0, 20.0, 10.0), BlockageKind::Partial(0.9)),
            blockage(Rect::at(0.0, 30.0, 30.0, 10.0), BlockageKind::Partial(1.0)),
        ];
        let charge = charge(&design);
        let closed = 5.0 * 20.0;
        let want = closed + 50.0 * 0.4 + 50.0 * 0.1;
        assert!((charge.blockage_area() - want).abs() < 1e-9, "{}", charge.blockage_area());
        let map = charge.fixed();
        assert!((map.as_slice().iter().sum::<f64>() - want - 200.0).abs() < 1e-9);
        assert!((map[(0, 1)] - 5.0).abs() < 1e-9 && map[(0, 3)] == 0.0, "{map:?}");
        assert!((map[(1, 1)] - 70.0).abs() < 1e-9, "{map:?}");
    }

    #[test]
    fn shares_beyond_one_are_refused() {
        let mut design = design();
        for share in [-0.1, 1.5, f64::NAN] {
            design.blockages = vec![blockage(DIE, BlockageKind::Partial(share))];
            let grid = BinGrid::new(DIE, 8, 4).unwrap();
            let error = Charge::from_design(&design, grid, &ChargeOptions::default()).unwrap_err();
            assert!(error.to_string().starts_with("partial blockage 0: "), "{error}");
        }
    }

    #[test]
    fn row_blockage_of_a_design_blocks_area() {
        let row = |y: f64, sites: u64| Row {
            y,
            height: 2.0,
            site_width: 1.0,
            pitch: 1.0,
            sites,
            ..Row::default()
        };
        let mut design = design();
        design.row_blockage = true;
        assert_eq!(charge(&design).blockage_area(), 0.0);
        design.rows =
            (0..20).map(|k| row(2.0 * f64::from(k), if k < 10 { 60 } else { 80 })).collect();
        assert!(charge(&design).row_blockage());
        assert_eq!(charge(&design).blockage_area(), 20.0 * 20.0);
        design.blockages = vec![blockage(Rect::at(50.0, 0.0, 20.0, 10.0), BlockageKind::Hard)];
        assert_eq!(charge(&design).blockage_area(), 20.0 * 20.0 + 10.0 * 10.0);
    }

    #[test]
    fn fences_of_a_design_are_regions() {
        let mut design = design();
        let fence = |name: &str, rects: Vec<Rect>| Fence { name: name.to_owned(), rects };
        let off_die = Rect::at(100.0, 0.0, 5.0, 5.0);
        design.fences = vec![
            fence("empty", vec![Rect::at(0.0, 20.0, 10.0, 10.0)]),
            fence("f", vec![Rect::at(40.0, 20.0, 20.0, 20.0), off_die]),
        ];
        design.nodes.fence = vec![Some(1), None, None];
        let charge = charge(&design);
        assert_eq!((charge.regions(), charge.region(0), charge.region(1)), (2, 0, 1));
        assert_eq!((charge.region_name(0), charge.region_name(1)), (Some("f"), None));
        assert_eq!(charge.blockage_area(), 100.0);
        let taken = |region| charge.region_fixed(region).as_slice().iter().sum::<f64>();
        assert!((taken(0) - (3200.0 - 400.0)).abs() < 1e-9);
        assert!((taken(1) - (400.0 + 100.0 + 200.0)).abs() < 1e-9);
        let error = |design: &Design| {
            let grid = BinGrid::new(DIE, 8, 4).unwrap();
            let made = Charge::from_design(design, grid, &ChargeOptions::default());
            made.unwrap_err().to_string()
        };
        design.fences[1].rects = vec![off_die];
        assert!(error(&design).starts_with("fence 1, rectangle 0: "), "{}", error(&design));
        design.fences[1].rects = vec![Rect::at(0.0, 0.0, 2.0, 1.0)];
        assert!(error(&design).starts_with("region 1: "), "{}", error(&design));
    }
}
