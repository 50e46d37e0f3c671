use super::*;
use crate::design::{
    Blockage, BlockageKind, EdgeSpacing, Fence, Halo, Master, MasterClass, StandsOn,
};
use crate::design::{Nodes, Orientation, Row, Symmetry};

/// Returns the rows of height 10 with sites 2 apart from x = 100 on, every other one flipped; 20
/// rows of 200 sites: the die is [100, 500] × [0, 200].
fn rows() -> Vec<Row> {
    let row = |k: u32| Row {
        x: 100.0,
        y: f64::from(10 * k),
        height: 10.0,
        site_width: 2.0,
        pitch: 2.0,
        sites: 200,
        orientation: if k.is_multiple_of(2) { Orientation::N } else { Orientation::FS },
        ..Row::default()
    };
    (0..20).map(row).collect()
}

/// Returns a legal placement: 40 cells of 6 × 10 in each of the first ten rows, lying as their rows
/// ask, a movable macro of 40 × 30 on the rows 12 to 14 and a fixed one of 37 × 33 off every row.
fn legal() -> Design {
    let mut design = Design { rows: rows(), ..Design::default() };
    let mut add = |x: f64, y: f64, w: f64, h: f64, orientation, kind| {
        let Nodes { width, height, kind: kinds, names, .. } = &mut design.nodes;
        names.push(&format!("o{}", kinds.len()));
        width.push(w);
        height.push(h);
        kinds.push(kind);
        let at = &mut design.placement;
        at.x.push(x);
        at.y.push(y);
        at.orientation.push(orientation);
    };
    for k in 0..10 {
        let orientation = rows()[k].orientation;
        for c in 0..40 {
            let (x, y) = (100.0 + 8.0 * f64::from(c), 10.0 * k as f64);
            add(x, y, 6.0, 10.0, orientation, NodeKind::Movable);
        }
    }
    add(200.0, 120.0, 40.0, 30.0, Orientation::N, NodeKind::Movable);
    add(300.5, 121.5, 37.0, 33.0, Orientation::N, NodeKind::Fixed);
    // It overlaps the other one, which fixed nodes may.
    add(310.0, 125.0, 37.0, 33.0, Orientation::N, NodeKind::Fixed);
    add(0.0, 0.0, 1e3, 1e3, Orientation::N, NodeKind::FixedOverlappable);
    design
}

const MACRO: usize = 400;
const FIXED: usize = 401;

fn found(design: &Design) -> Legality {
    check(design, &LegalityOptions::default()).unwrap()
}

#[test]
fn a_legal_placement_has_no_fault() {
    let design = legal();
    let legality =
        check(&design, &LegalityOptions::default().reference(&design.placement)).unwrap();
    assert!(legality.is_legal() && legality.worst.is_empty(), "{legality:?}");
    assert!(legality.orientations_assigned);
}

/// Every fault planted alone is found alone, on the right cell and of the right amount.
#[test]
fn planted_faults_are_found() {
    type Plant = fn(&mut Design);
    type Planted = (&'static str, Plant, Fault, u32, Option<u32>, f64);
    // Cell 45 is the sixth of the second row: at (140, 10), FS.
    let faults: [Planted; 14] = [
        ("two cells", |d| d.placement.x[45] = 136.0, Fault::Overlap, 44, Some(45), 20.0),
        ("over a row of cells", |d| d.placement.y[MACRO] = 90.0, Fault::Overlap, 0, None, 0.0),
        (
            "cell and fixed macro",
            |d| (d.placement.x[45], d.placement.y[45]) = (298.0, 130.0),
            Fault::Overlap,
            45,
            Some(401),
            35.0,
        ),
        (
            "two macros",
            |d| d.placement.x[MACRO] = 262.0,
            Fault::Overlap,
            400,
            Some(401),
            1.5 * 28.5,
        ),
        ("off the row", |d| d.placement.y[MACRO] = 123.0, Fault::OffRow, 400, None, 3.0),
        ("off the site", |d| d.placement.x[45] = 140.5, Fault::OffSite, 45, None, 0.5),
        ("left of the die", |d| d.placement.x[40] = 96.0, Fault::OutsideDie, 40, None, 40.0),
        ("right of the die", |d| d.placement.x[45] = 498.0, Fault::OutsideDie, 45, None, 40.0),
        ("above the die", |d| d.placement.y[MACRO] = 180.0, Fault::OutsideDie, 400, None, 400.0),
        ("beyond the row's end", |d| d.rows[1].sites = 157, Fault::OutsideRow, 79, None, 40.0),
        (
            "upside down",
            |d| d.placement.orientation[45] = Orientation::N,
            Fault::Orientation,
            45,
            None,
            60.0,
        ),
        (
            "upside down by half a turn",
            |d| d.placement.orientation[3] = Orientation::S,
            Fault::Orientation,
            3,
            None,
            60.0,
        ),
        (
            "fixed cell moved",
            |d| (d.placement.x[FIXED], d.placement.y[FIXED]) = (301.0, 121.0),
            Fault::FixedMoved,
            401,
            None,
            1.0,
        ),
        (
            "fixed cell turned",
            |d| d.placement.orientation[FIXED] = Orientation::S,
            Fault::FixedMoved,
            401,
            None,
            0.0,
        ),
    ];
    let home = legal().placement;
    for (what, plant, fault, node, other, amount) in faults {
        let mut design = legal();
        plant(&mut design);
        let legality = check(&design, &LegalityOptions::default().reference(&home)).unwrap();
        if what == "over a row of cells" {
            // The macro comes to lie over row 9: six cells reach into [200, 240], the outer ones by
            // 2 and 4.
            assert_eq!((legality.count(Fault::Overlap), legality.overlap_area), (6, 300.0));
            let amounts: Vec<_> =
                legality.worst.iter().map(|v| (v.node, v.other, v.amount)).collect();
            assert_eq!(amounts[0], (373, Some(400), 60.0));
            assert_eq!(amounts[4..], [(377, Some(400), 40.0), (372, Some(400), 20.0)]);
            continue;
        }
        assert_eq!(legality.count(fault), 1, "{what}: {legality:?}");
        let [v] = legality.worst[..] else { panic!("{what}: {:?}", legality.worst) };
        assert_eq!((v.fault, v.node, v.other, v.amount), (fault, node, other, amount), "{what}");
        assert!(!legality.is_legal(), "{what}");
    }
}

#[test]
fn orientations_follow_the_site_symmetry() {
    let mut design = legal();
    design.nodes.width[39] = 10.0;
    design.placement.orientation[39] = Orientation::E;
    assert_eq!(found(&design).count(Fault::Orientation), 1);
    design.rows.iter_mut().for_each(|r| r.symmetry = Symmetry { r90: true, ..r.symmetry });
    assert!(found(&design).is_legal());
    let mut design = legal();
    design.placement.orientation[0] = Orientation::FN;
    assert!(found(&design).is_legal());
    design.rows.iter_mut().for_each(|r| r.symmetry = Symmetry { y: false, ..r.symmetry });
    assert_eq!(found(&design).worst[0].node, 0);
}

#[test]
fn unassigned_orientations_are_legal() {
    let mut design = legal();
    design.placement.orientation.fill(Orientation::N);
    assert!(found(&design).is_legal() && !found(&design).orientations_assigned);
    // One that lies otherwise is wrong all the same.
    design.placement.orientation[3] = Orientation::FS;
    assert_eq!(found(&design).worst[0].node, 3);
}

#[test]
fn touching_row_parts_hold_cells_across_them() {
    let mut design = legal();
    // Row 13 in two parts that touch at 220, below the macro at [200, 240].
    let whole = design.rows[13];
    design.rows[13].sites = 60;
    design.rows.push(Row { x: 220.0, sites: 140, ..whole });
    assert!(found(&design).is_legal());
    design.rows[13].sites = 58;
    let legality = found(&design);
    assert_eq!((legality.count(Fault::OutsideRow), legality.worst[0].amount), (1, 40.0));
    // Without row 13 a third of the macro has no row below it.
    design.rows.remove(13);
    design.rows.pop();
    assert_eq!(found(&design).worst[0].amount, 400.0);
    // Sites of the part that a cell stands on count.
    let mut design = legal();
    design.rows[12].sites = 40;
    design.rows.push(Row { x: 181.0, sites: 150, ..design.rows[12] });
    assert_eq!(found(&design).worst[0].fault, Fault::OffSite);
}

#[test]
fn a_thousandth_of_a_site_is_no_fault() {
    let mut design = legal();
    design.placement.x.iter_mut().step_by(2).for_each(|x| *x += 0.0015);
    design.placement.y.iter_mut().step_by(3).for_each(|y| *y -= 0.0015);
    design.placement.y[0] = 0.0;
    assert!(found(&design).is_legal(), "{:?}", found(&design).worst);
    let strict = check(&design, &LegalityOptions::default().tolerance(1e-4)).unwrap();
    assert!(strict.count(Fault::OffSite) > 100 && strict.count(Fault::OffRow) > 10);
}

/// Random rectangles, some fixed, in rows of 10: every pair by every other.
fn heap(count: usize, spread: f64) -> Design {
    let mut design = Design { rows: rows(), ..Design::default() };
    let mut state = 7u64;
    let mut next = |most: f64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 53) as f64 * most
    };
    for k in 0..count {
        design.nodes.width.push(1.0 + next(12.0));
        design.nodes.height.push(1.0 + next(35.0));
        let kind = if k % 7 == 0 { NodeKind::Fixed } else { NodeKind::Movable };
        design.nodes.kind.push(kind);
        design.placement.x.push(90.0 + next(spread));
        design.placement.y.push(-20.0 + next(spread));
        design.placement.orientation.push(Orientation::ALL[k % 8]);
    }
    design
}

fn by_every_pair(design: &Design) -> (u64, f64, f64) {
    let (mut pairs, mut area, mut worst) = (0, 0.0, 0.0);
    for a in 0..design.nodes.len() {
        for b in 0..a {
            let kinds = [a, b].map(|i| design.nodes.kind[i]);
            let shared = design.rect(a).overlap(&design.rect(b));
            if shared > 0.0 && kinds.contains(&NodeKind::Movable) {
                (pairs, area, worst) = (pairs + 1, area + shared, f64::max(worst, shared));
            }
        }
    }
    (pairs, area, worst)
}

/// Spread cells, whose overlapping pairs are listed, and heaps of hundreds, whose pairs count.
#[test]
fn overlaps_are_those_of_every_pair() {
    for (count, spread) in [(60, 400.0), (700, 250.0), (1500, 60.0), (2500, 30.0)] {
        let design = heap(count, spread);
        let (pairs, area, worst) = by_every_pair(&design);
        let legality = check(&design, &LegalityOptions::default().tolerance(0.0)).unwrap();
        assert_eq!(legality.count(Fault::Overlap), pairs, "{count} in {spread}");
        let error = (legality.overlap_area - area).abs();
        assert!(error <= 1e-9 * area, "{count}: {} for {area}", legality.overlap_area);
        let of = |v: &&Violation| v.fault == Fault::Overlap;
        let overlaps: Vec<_> = legality.worst.iter().filter(of).collect();
        assert_eq!(overlaps.len(), WORST.min(pairs as usize));
        assert!(overlaps.is_sorted_by(|a, b| a.amount >= b.amount));
        assert!(overlaps[0].amount <= worst && overlaps[0].amount > 0.8 * worst);
        let threads = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        let again = threads.install(|| check(&design, &LegalityOptions::default().tolerance(0.0)));
        assert_eq!(again.unwrap(), legality);
    }
}

/// Cells that all lie in one place, as before placement: none is listed twice, and it ends soon.
#[test]
fn a_stack_of_cells_is_counted() {
    let mut design = heap(50_000, 1.0);
    design.nodes.width.fill(6.0);
    design.nodes.height.fill(10.0);
    design.nodes.kind.fill(NodeKind::Movable);
    design.placement.x.fill(100.0);
    design.placement.y.fill(0.0);
    design.placement.orientation.fill(Orientation::N);
    let legality = found(&design);
    let pairs = 50_000 * 49_999 / 2;
    assert_eq!(legality.count(Fault::Overlap), pairs);
    let area = 60.0 * pairs as f64;
    assert!((legality.overlap_area - area).abs() < 1e-9 * area);
    assert!(legality.worst.iter().all(|v| v.amount == 60.0));
}

#[test]
fn designs_without_rows_or_finite_numbers_fail() {
    let message =
        |design: &Design| check(design, &LegalityOptions::default()).unwrap_err().to_string();
    let mut design = legal();
    design.rows.clear();
    assert!(message(&design).starts_with("the design has no rows"));
    let mut design = legal();
    design.placement.x[3] = f64::NAN;
    assert!(message(&design).starts_with("x of node 3: NaN"));
    let mut design = legal();
    design.nodes.width[3] = -1.0;
    assert!(message(&design).starts_with("width of node 3: -1"));
    design.nodes.width.pop();
    assert!(message(&design).starts_with("widths of nodes"));
    let design = legal();
    let error = check(&design, &LegalityOptions::default().reference(&Placement::default()));
    assert_eq!(error.unwrap_err().to_string(), "x of nodes: 0 values, expected 404");
}

/// Returns two rows of ten sites, and a cell of 2 × 10 on the lower, another on the upper one.
fn two_rows() -> Design {
    let row = Row { height: 10.0, site_width: 1.0, pitch: 1.0, sites: 10, ..Row::default() };
    Design {
        nodes: Nodes {
            width: vec![2.0; 2],
            height: vec![10.0; 2],
            kind: vec![NodeKind::Movable; 2],
            ..Nodes::default()
        },
        placement: Placement {
            x: vec![0.0, 4.0],
            y: vec![0.0, 10.0],
            orientation: vec![Orientation::N; 2],
        },
        rows: vec![row, Row { y: 10.0, ..row }],
        ..Design::default()
    }
}

#[test]
fn fences_hold_members_in_and_others_out() {
    let mut design = two_rows();
    let fence = |rects| Fence { name: String::new(), rects, ..Fence::default() };
    // In two parts that touch below the cell.
    design.fences = vec![fence(vec![Rect::at(0.0, 0.0, 1.0, 10.0), Rect::at(1.0, 0.0, 1.0, 10.0)])];
    design.nodes.fence = vec![Some(0), None];
    assert!(found(&design).is_legal());
    design.placement.x[0] = 1.0;
    let out = found(&design);
    assert_eq!(
        (out.count(Fault::Fence), out.worst[0].fault, out.worst[0].amount),
        (1, Fault::Fence, 10.0)
    );
    design.nodes.fence[0] = None;
    assert_eq!(found(&design).worst[0].amount, 10.0);
    design.placement.x[0] = 2.0;
    assert!(found(&design).is_legal());
}

#[test]
fn blockages_and_halos_are_kept_free() {
    let mut design = two_rows();
    let rect = Rect::at(1.0, 5.0, 4.0, 20.0);
    design.blockages = vec![Blockage { rect, kind: BlockageKind::Soft }];
    assert!(found(&design).is_legal());
    design.blockages[0].kind = BlockageKind::Hard;
    let blocked = found(&design);
    assert_eq!(
        (blocked.count(Fault::Blocked), blocked.worst[0].node, blocked.worst[0].amount),
        (2, 1, 10.0)
    );
    design.blockages.clear();
    // A halo at the left of a node that is mirrored is at its right.
    design.placement.orientation[0] = Orientation::FN;
    (design.placement.x[1], design.placement.y[1]) = (3.0, 0.0);
    design.halos = vec![Halo { node: 0, left: 2.0, ..Halo::default() }];
    for kind in [NodeKind::Movable, NodeKind::Fixed] {
        design.nodes.kind[0] = kind;
        let halo = found(&design);
        assert_eq!(
            (halo.count(Fault::Halo), halo.worst[0].node, halo.worst[0].amount),
            (1, 1, 10.0)
        );
        design.halos[0].soft = true;
        assert!(found(&design).is_legal(), "a soft halo is free");
        design.halos[0].soft = false;
    }
    // The halo of a movable node keeps off fixed ones.
    design.nodes.kind = vec![NodeKind::Movable, NodeKind::Fixed];
    assert_eq!(found(&design).worst[0].other, Some(1));
    design.placement.x[1] = 4.0;
    assert!(found(&design).is_legal());
}

#[test]
fn library_cells_say_rows_and_orientations() {
    let mut design = two_rows();
    design.rows[1].orientation = Orientation::FS;
    design.placement.orientation[1] = Orientation::FS;
    let all = Symmetry { x: true, y: true, r90: false };
    let master =
        |stands_on, site, symmetry| Master { stands_on, site, symmetry, ..Master::default() };
    design.masters = vec![master(StandsOn::Any, Some(5), all)];
    design.nodes.master = vec![None, Some(0)];
    // No row has sites of its kind.
    assert!(found(&design).is_legal());
    design.rows[0].site = Some(5);
    assert_eq!(found(&design).worst[0].fault, Fault::WrongRow);
    design.rows[1].site = Some(5);
    assert!(found(&design).is_legal());
    design.masters[0].stands_on = StandsOn::Upright;
    assert_eq!(found(&design).count(Fault::WrongRow), 1);
    design.masters[0].stands_on = StandsOn::UpsideDown;
    assert!(found(&design).is_legal());
    design.masters[0].symmetry.x = false;
    assert_eq!((found(&design).count(Fault::Orientation), found(&design).worst.len()), (1, 1));
}

/// Cells with these edges: both of [`two_rows`] are its instances.
fn with_edges(edge: [Option<u32>; 2], spacing: f64, may_abut: bool) -> Design {
    let mut design = two_rows();
    let symmetry = Symmetry { x: true, y: true, r90: false };
    design.masters = vec![Master { symmetry, edge, ..Master::default() }];
    design.nodes.master = vec![Some(0); 2];
    design.edge_spacing = EdgeSpacing::new(2);
    design.edge_spacing.set(0, 1, spacing, may_abut);
    (design.placement.x, design.placement.y) = (vec![0.0, 4.0], vec![0.0; 2]);
    design
}

#[test]
fn neighbours_keep_the_spacing_of_their_edge_types() {
    // A right edge of type 0 faces a left edge of type 1, 2 apart.
    let mut design = with_edges([Some(1), Some(0)], 3.0, false);
    let near = found(&design);
    assert_eq!(near.count(Fault::EdgeSpacing), 1);
    let worst = near.worst[0];
    assert_eq!((worst.node, worst.other, worst.amount), (0, Some(1), 1.0));
    assert_eq!(worst.place, Rect { xl: 2.0, yl: 0.0, xh: 4.0, yh: 10.0 });
    // Mirrored, each has its sides swapped: equal types face each other.
    design.placement.orientation[1] = Orientation::FN;
    assert!(found(&design).is_legal());
    design.placement.orientation = vec![Orientation::FN; 2];
    assert_eq!(found(&design).count(Fault::EdgeSpacing), 1);
    // One of a pair may be fixed, but not both.
    design.nodes.kind[0] = NodeKind::Fixed;
    assert_eq!((found(&design).worst[0].node, found(&design).worst[0].other), (1, Some(0)));
    design.nodes.kind[1] = NodeKind::Fixed;
    assert!(found(&design).is_legal());
    design.nodes.kind = vec![NodeKind::Movable; 2];
    design.placement.x[1] = 5.0;
    assert!(found(&design).is_legal());
    design.placement.x[1] = 2.0;
    assert_eq!(found(&design).worst[0].amount, 3.0);
    design.edge_spacing.set(0, 1, 3.0, true);
    assert!(found(&design).is_legal());
}

/// Two cells of two rows are one pair of neighbours.
#[test]
fn cells_of_several_rows_keep_one_spacing() {
    let mut design = with_edges([Some(1), Some(0)], 3.0, false);
    design.nodes.height = vec![20.0; 2];
    assert_eq!(found(&design).count(Fault::EdgeSpacing), 1);
    // One more above another row's end.
    design.nodes.height[1] = 10.0;
    design.placement.y[1] = 10.0;
    assert_eq!(found(&design).count(Fault::EdgeSpacing), 1);
}

#[test]
fn gaps_of_one_site_are_found_beside_cells_obstacles_and_row_ends() {
    let mut design = two_rows();
    let check = |design: &Design| {
        check(design, &LegalityOptions::default().no_one_site_gaps(true)).unwrap()
    };
    // Cells at 0 and 4 of different rows; rows end at 10.
    assert!(check(&design).is_legal());
    design.placement.y[1] = 0.0;
    design.placement.x = vec![1.0, 4.0];
    let gaps = check(&design);
    assert_eq!(gaps.count(Fault::OneSiteGap), 2);
    let of = |v: &Violation| (v.node, v.other, v.amount, v.place.xl);
    assert_eq!(
        gaps.worst.iter().map(of).collect::<Vec<_>>(),
        [(0, None, 1.0, 0.0), (0, Some(1), 1.0, 3.0)]
    );
    assert!(found(&design).is_legal());
    // Fixed cells are obstacles, blockages too, and gaps between obstacles are no fault.
    design.nodes.kind[1] = NodeKind::Fixed;
    assert_eq!(check(&design).count(Fault::OneSiteGap), 2);
    let rect = Rect::at(7.0, 0.0, 3.0, 5.0);
    design.blockages = vec![Blockage { rect, kind: BlockageKind::Hard }];
    assert_eq!(check(&design).count(Fault::OneSiteGap), 2);
    design.nodes.kind[1] = NodeKind::Movable;
    assert_eq!(check(&design).count(Fault::OneSiteGap), 3);
    // A cell with an end between sites leaves the next one to nobody.
    design.blockages.clear();
    design.placement.x = vec![0.0, 4.0];
    design.nodes.width[0] = 2.5;
    assert_eq!(check(&design).count(Fault::OneSiteGap), 1);
    design.nodes.width[0] = 3.5;
    assert!(check(&design).is_legal());
}

#[test]
fn partial_blockages_are_not_overfilled() {
    let mut design = two_rows();
    let rect = Rect::at(0.0, 0.0, 10.0, 10.0);
    let blockage = |share| vec![Blockage { rect, kind: BlockageKind::Partial(share) }];
    design.blockages = blockage(0.2);
    assert!(found(&design).is_legal());
    (design.placement.y[1], design.nodes.kind[1]) = (0.0, NodeKind::Fixed);
    let overfilled = found(&design);
    let worst = overfilled.worst[0];
    assert_eq!((overfilled.count(Fault::Overfilled), worst.fault), (1, Fault::Overfilled));
    assert_eq!((worst.node, worst.amount, worst.place), (0, 20.0, rect));
    design.nodes.kind[0] = NodeKind::Fixed;
    assert!(found(&design).is_legal(), "fixed cells are the design's own");
    (design.nodes.kind[0], design.blockages) = (NodeKind::Movable, blockage(0.4));
    assert!(found(&design).is_legal());
}

#[test]
fn cells_without_a_position_have_no_other_fault() {
    let mut design = two_rows();
    (design.placement.x, design.placement.y) = (vec![0.5; 2], vec![3.0; 2]);
    let check =
        |unplaced: &[u32]| check(&design, &LegalityOptions::default().unplaced(unplaced)).unwrap();
    assert_eq!((check(&[]).count(Fault::Overlap), check(&[]).count(Fault::OffRow)), (1, 2));
    let one = check(&[1]);
    let counts = [Fault::Overlap, Fault::OffRow, Fault::Unplaced].map(|fault| one.count(fault));
    assert_eq!((counts, one.is_legal()), ([0, 1, 1], false));
    assert_eq!(one.worst[1].amount, 20.0);
    // Nor has it a halo.
    design.halos = vec![Halo { node: 1, left: 5.0, ..Halo::default() }];
    let halos = |unplaced: &[u32]| {
        let options = LegalityOptions::default().unplaced(unplaced);
        super::check(&design, &options).unwrap().count(Fault::Halo)
    };
    assert_eq!((halos(&[]), halos(&[1])), (1, 0));
}

#[test]
fn a_region_that_admits_others_binds_its_members_alone() {
    let mut design = two_rows();
    let rects = vec![Rect::at(0.0, 0.0, 3.0, 10.0), Rect::at(2.0, 0.0, 4.0, 20.0)];
    design.fences = vec![Fence { rects, admits_others: true, ..Fence::default() }];
    design.nodes.fence = vec![Some(0), None];
    assert!(found(&design).is_legal());
    design.fences[0].admits_others = false;
    assert_eq!(found(&design).worst[0].node, 1);
    design.fences[0].admits_others = true;
    design.placement.x[0] = 7.0;
    assert_eq!((found(&design).count(Fault::Fence), found(&design).worst[0].node), (1, 0));
}

#[test]
fn the_die_area_and_not_the_rows_say_what_is_outside_the_die() {
    let mut design = two_rows();
    design.placement.x[1] = 9.0;
    assert_eq!(found(&design).worst[0].fault, Fault::OutsideDie);
    design.die_area = vec![Rect::at(0.0, 0.0, 20.0, 20.0)];
    assert_eq!(found(&design).worst[0].fault, Fault::OutsideRow);
    // A notch that the second cell reaches into.
    design.die_area = vec![Rect::at(0.0, 0.0, 20.0, 10.0), Rect::at(0.0, 10.0, 5.0, 10.0)];
    design.placement.x[1] = 4.0;
    let outside = found(&design);
    assert_eq!((outside.count(Fault::OutsideDie), outside.worst[0].amount), (1, 10.0));
    // However long the cell is, it may not reach farther out of the die than the tolerance.
    let mut design = two_rows();
    design.rows.iter_mut().for_each(|row| row.sites = 1000);
    (design.nodes.width[0], design.nodes.height[0]) = (1000.0, 20.0);
    design.placement.x[0] = 0.01;
    assert_eq!(found(&design).count(Fault::OutsideDie), 1);
    design.placement.x[0] = 0.0005;
    assert_eq!(found(&design).count(Fault::OutsideDie), 0);
}

/// A block of 6 × 20 whose upper right half is free: a cell may lie there, and nowhere else in it.
#[test]
fn cells_may_lie_in_the_notch_of_a_block() {
    let mut design = two_rows();
    let l = vec![Rect::at(0.0, 0.0, 6.0, 10.0), Rect::at(0.0, 10.0, 3.0, 10.0)];
    design.masters = vec![Master { outline: l, class: MasterClass::Other, ..Master::default() }];
    design.nodes.master = vec![Some(0), None];
    (design.nodes.width[0], design.nodes.height[0]) = (6.0, 20.0);
    design.nodes.kind[0] = NodeKind::Fixed;
    design.placement.x[1] = 3.0;
    assert!(found(&design).is_legal());
    // Mirrored, the notch is at the left.
    design.placement.orientation[0] = Orientation::FN;
    let shared = found(&design);
    assert_eq!((shared.count(Fault::Overlap), shared.overlap_area), (1, 20.0));
    design.placement.x[1] = 1.0;
    assert!(found(&design).is_legal());
    design.placement.orientation[0] = Orientation::S;
    design.placement.y[1] = 0.0;
    assert!(found(&design).is_legal());
}

/// So many cells in a notch that pairs are counted and not listed.
#[test]
fn a_heap_in_a_notch_overlaps_itself_alone() {
    let mut design = two_rows();
    let l = vec![Rect::at(0.0, 0.0, 6.0, 10.0), Rect::at(0.0, 10.0, 3.0, 10.0)];
    design.masters = vec![Master { outline: l, class: MasterClass::Other, ..Master::default() }];
    let cells = 300;
    let nodes = &mut design.nodes;
    nodes.master = [vec![Some(0)], vec![None; cells]].concat();
    nodes.width = [vec![6.0], vec![2.0; cells]].concat();
    nodes.height = [vec![20.0], vec![10.0; cells]].concat();
    nodes.kind = [vec![NodeKind::Fixed], vec![NodeKind::Movable; cells]].concat();
    design.placement.x = [vec![0.0], vec![3.0; cells]].concat();
    design.placement.y = [vec![0.0], vec![10.0; cells]].concat();
    design.placement.orientation = vec![Orientation::N; cells + 1];
    let pairs = (cells * (cells - 1) / 2) as u64;
    let heap = found(&design);
    assert_eq!((heap.count(Fault::Overlap), heap.overlap_area), (pairs, 20.0 * pairs as f64));
    // One site to the left all reach into the block.
    design.placement.x[1..].fill(2.0);
    let heap = found(&design);
    let area = 20.0 * pairs as f64 + 10.0 * cells as f64;
    assert_eq!((heap.count(Fault::Overlap), heap.overlap_area), (pairs + cells as u64, area));
}

#[test]
fn cells_of_three_rows_turn_with_their_row() {
    let mut design = two_rows();
    let row = design.rows[0];
    let orientation = |k: u32| if k == 1 { Orientation::FS } else { Orientation::N };
    design.rows = (0..5)
        .map(|k| Row { y: 10.0 * f64::from(k), orientation: orientation(k), ..row })
        .collect();
    let symmetry = Symmetry { x: true, y: true, r90: false };
    design.masters = vec![Master { symmetry, ..Master::default() }];
    design.nodes.master = vec![Some(0); 2];
    design.nodes.height[1] = 30.0;
    assert_eq!((found(&design).count(Fault::Orientation), found(&design).worst[0].node), (1, 1));
    design.placement.orientation[1] = Orientation::FS;
    assert!(found(&design).is_legal());
    // Of an even number of rows, and of blocks, both are right.
    design.placement.orientation[1] = Orientation::N;
    design.nodes.height[1] = 20.0;
    assert!(found(&design).is_legal());
    design.nodes.height[1] = 30.0;
    design.masters[0].class = MasterClass::Other;
    design.nodes.master[0] = None;
    assert!(found(&design).is_legal());
}

#[test]
fn a_long_step_between_sites_does_not_make_rows_one() {
    let mut design = two_rows();
    design.rows.iter_mut().for_each(|row| (row.pitch, row.site_width) = (1e6, 5.0));
    design.placement.x = vec![0.0, 1e6];
    assert!(found(&design).is_legal());
    design.placement.y[1] = 7.0;
    assert_eq!((found(&design).count(Fault::OffRow), found(&design).worst[0].amount), (1, 3.0));
    // The step of a row with one site does not matter.
    let mut design = two_rows();
    design.placement.x[0] += 1e-4;
    let single = Row { x: 50.0, sites: 1, pitch: 1e-9, ..design.rows[0] };
    design.rows.push(single);
    assert!(found(&design).is_legal());
}
