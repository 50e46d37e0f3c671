//! Free sites, by hand.

use super::{Access, Cells, RectIndex, Run, Sites, orientation_on};
use crate::design::*;
use crate::grid::Rect;
use crate::legality::{self, LegalityOptions};
use crate::legalize::{Failed, LegalizeOptions, Progress, Reason, legalize};
use std::ops::ControlFlow;
use std::time::Instant;

/// Returns rows of 10 with 50 sites of 1, every second upside down, and a cell of 3 × 10 for each
/// of `rows`.
fn design(rows: usize) -> Design {
    let row = |k: usize| Row {
        y: 10.0 * k as f64,
        height: 10.0,
        site_width: 1.0,
        pitch: 1.0,
        sites: 50,
        orientation: if k % 2 == 1 { Orientation::FS } else { Orientation::N },
        ..Row::default()
    };
    Design {
        nodes: Nodes {
            width: vec![3.0; rows],
            height: vec![10.0; rows],
            kind: vec![NodeKind::Movable; rows],
            ..Nodes::default()
        },
        placement: Placement {
            x: vec![0.0; rows],
            y: vec![0.0; rows],
            orientation: vec![Orientation::N; rows],
        },
        rows: (0..rows).map(row).collect(),
        ..Design::default()
    }
}

/// The access of a cell that uses all free sites.
const ANY: Access = Access::ALL;

fn runs(runs: &[Run]) -> Vec<(i32, i32)> {
    runs.iter().map(|run| (run.start, run.end)).collect()
}

#[test]
fn fixed_nodes_with_their_halos_are_taken() {
    let mut design = design(4);
    design.nodes.kind[0] = NodeKind::Fixed;
    (design.placement.x[0], design.placement.y[0]) = (20.0, 10.0);
    design.placement.orientation[0] = Orientation::FN;
    design.halos.push(Halo { node: 0, left: 2.5, top: 1.0, ..Halo::default() });
    let sites = Sites::new(&design).unwrap();
    assert_eq!(runs(sites.segments(ANY, 0)), [(0, 50)]);
    // Mirrored, the halo is at the right.
    assert_eq!(runs(sites.segments(ANY, 1)), [(0, 20), (26, 50)]);
    assert_eq!(runs(sites.segments(ANY, 2)), [(0, 20), (26, 50)]);
    assert_eq!(runs(sites.segments(ANY, 3)), [(0, 50)]);
    design.halos[0].soft = true;
    let sites = Sites::new(&design).unwrap();
    assert_eq!(runs(sites.segments(ANY, 1)), [(0, 20), (23, 50)]);
    assert_eq!(runs(sites.segments(ANY, 2)), [(0, 50)]);
}

#[test]
fn a_cell_stands_across_fragments_that_meet() {
    // A cell of 7 sites, and a row in two fragments of 5.
    let with_second_at = |x: f64| {
        let mut design = design(1);
        design.nodes.width[0] = 7.0;
        design.placement.x[0] = 2.2;
        design.rows[0].sites = 5;
        design.rows.push(Row { x, ..design.rows[0] });
        let mut watch = |_: &_| ControlFlow::Continue(());
        let legalized = legalize(&design, &LegalizeOptions::default(), &mut watch).unwrap();
        design.placement = legalized.placement;
        let legality = legality::check(&design, &LegalityOptions::default()).unwrap();
        (design.placement.x[0], legalized.failed, legality.is_legal())
    };
    assert_eq!(with_second_at(5.0), (2.0, vec![], true));
    assert_eq!(with_second_at(4.0), (2.0, vec![], true));
    // As in OpenROAD's fragmented_row03, whose own result is not on sites either.
    let reason = Reason::TooWide { sites: 7, widest: 5 };
    assert_eq!(with_second_at(17.0), (2.2, vec![Failed { node: 0, reason }], false));
}

#[test]
fn fences_divide_rows_and_cut_sites_are_nobodys() {
    let mut design = design(3);
    let rects = vec![Rect::at(5.5, 10.0, 10.0, 15.0), Rect::at(15.5, 10.0, 4.5, 10.0)];
    design.fences.push(Fence { name: "f".to_owned(), rects, ..Fence::default() });
    let sites = Sites::new(&design).unwrap();
    let all: Vec<_> = sites.segments(ANY, 1).iter().map(|r| (r.start, r.end, r.fence)).collect();
    // The rectangles meet within site 15.
    assert_eq!(all, [(0, 5, None), (6, 20, Some(0)), (20, 50, None)]);
    assert_eq!(runs(sites.segments(ANY, 2)), [(0, 5), (16, 50)]);
}

#[test]
fn hybrid_rows_share_bands() {
    let mut design = design(4);
    for row in 0..4 {
        design.rows[row].site = Some(0);
    }
    let tall = |k: usize| Row { y: 20.0 * k as f64, height: 20.0, site: Some(1), ..design.rows[0] };
    design.rows = [design.rows.clone(), vec![tall(0), tall(1)]].concat();
    design.masters = vec![
        Master { site: Some(0), ..Master::default() },
        Master { site: Some(1), ..Master::default() },
    ];
    design.nodes.master = vec![Some(0), Some(1), None, None];
    design.nodes.height[1] = 20.0;
    let sites = Sites::new(&design).unwrap();
    assert!(sites.rows_overlap());
    assert_eq!((sites.bands().len(), sites.rows().len()), (4, 6));
    let cells = Cells::new(&design, &sites, 0, 0).unwrap();
    let of = |k: usize| {
        let of = |at: &super::AllowedRow| (sites.rows()[at.row as usize].y, at.bands());
        cells.rows(&cells.cells()[k]).iter().map(of).collect::<Vec<_>>()
    };
    // The first may lie as the library has it alone, and so not on a row upside down.
    assert_eq!(of(0), [(0.0, 0..1), (20.0, 2..3)]);
    assert_eq!(of(1), [(0.0, 0..2), (20.0, 2..4)]);
    assert_eq!(of(2).len(), 4);
}

#[test]
fn lattices_differ_in_pitch_or_phase() {
    let mut design = design(4);
    design.rows[1].x = 7.0;
    design.rows[2].x = 0.5;
    (design.rows[3].pitch, design.rows[3].site_width) = (2.0, 2.0);
    let sites = Sites::new(&design).unwrap();
    assert_eq!(sites.lattices().len(), 3);
    assert_eq!(runs(sites.segments(ANY, 1)), [(7, 57)]);
    let widths: Vec<i32> = (0..3)
        .map(|lattice| Cells::new(&design, &sites, lattice, 1).unwrap().cells()[0].width)
        .collect();
    assert_eq!(widths, [5, 5, 4]);
}

#[test]
fn cells_lie_as_rows_ask_and_rails_allow() {
    use Orientation::{FN, FS, N, S};
    let mut design = design(4);
    design.placement.orientation[2] = FN;
    design.nodes.height[3] = 20.0;
    design.masters = vec![Master {
        symmetry: Symmetry { x: true, y: true, r90: false },
        stands_on: StandsOn::UpsideDown,
        ..Master::default()
    }];
    design.nodes.master = vec![None, None, None, Some(0)];
    let sites = Sites::new(&design).unwrap();
    let lies = |node, row| orientation_on(&design, &sites, node, row).unwrap();
    assert_eq!([lies(0, 0), lies(0, 1), lies(2, 0), lies(2, 1)], [N, FS, FN, S]);
    assert_eq!(lies(3, 1), N);
    let cells = Cells::new(&design, &sites, 0, 0).unwrap();
    let rows = cells.rows(&cells.cells()[3]);
    assert_eq!(rows.iter().map(|at| at.row).collect::<Vec<_>>(), [1]);
}

#[test]
fn the_rectangles_of_a_fence_are_one_area() {
    // One covers the lower half of row 1, the other the upper half, further to the right.
    let mut design = design(3);
    let rects = vec![Rect::at(5.0, 5.0, 20.0, 10.0), Rect::at(10.0, 15.0, 20.0, 15.0)];
    design.fences.push(Fence { rects, ..Fence::default() });
    let sites = Sites::new(&design).unwrap();
    let fenced = |row: usize| {
        let inside = sites.segments(ANY, row).iter().filter(|run| run.fence == Some(0));
        inside.map(|run| (run.start, run.end)).collect::<Vec<_>>()
    };
    assert_eq!(fenced(0), []);
    assert_eq!(fenced(1), [(10, 25)]);
    assert_eq!(fenced(2), [(10, 30)]);
}

#[test]
fn areas_admit_some_cells_alone() {
    let mut design = design(2);
    let rects = vec![Rect::at(10.0, 0.0, 10.0, 10.0)];
    design.fences.push(Fence { rects, admits_others: true, ..Fence::default() });
    let rect = Rect::at(30.0, 0.0, 5.0, 10.0);
    design.blockages.push(Blockage { rect, kind: BlockageKind::Soft });
    design.nodes.fence = vec![Some(0), None];
    design.placement.x[1] = 31.0;
    let sites = Sites::new(&design).unwrap();
    let cells = Cells::new(&design, &sites, 0, 0).unwrap();
    let open = |cell: usize| {
        let access = cells.cells()[cell].access;
        let runs = sites.segments(access, 0).iter();
        let admitted = runs.filter(|run| run.fence == access.fence);
        admitted.map(|run| (run.start, run.end)).collect::<Vec<_>>()
    };
    // The member stays in its region. The other cell lies in the soft blockage already.
    assert_eq!(open(0), [(10, 20)]);
    assert_eq!(open(1), [(0, 50)]);
    design.placement.x[1] = 0.0;
    let cells = Cells::new(&design, &sites, 0, 0).unwrap();
    assert_eq!(cells.cells()[1].access, sites.access(None, false));
    assert_eq!(runs(sites.segments(sites.access(None, false), 0)), [(0, 30), (35, 50)]);
}

#[test]
fn a_partial_blockage_keeps_its_share_free() {
    let mut design = design(8);
    // Only its part on the die counts.
    let all = [(50.0, 0.0), (50.0, 0.4), (50.0, 0.75), (50.0, 1.0), (200.0, 0.4), (80.0, 0.75)];
    for (width, share) in all {
        let rect = Rect::at(0.0, 10.0, width, 30.0);
        design.blockages = vec![Blockage { rect, kind: BlockageKind::Partial(share) }];
        let sites = Sites::new(&design).unwrap();
        let free = |row: usize| sites.segments(ANY, row).iter().map(Run::sites).sum::<i32>();
        assert_eq!((free(0), free(4)), (50, 50));
        for row in 1..4 {
            let free = f64::from(free(row));
            assert!(free <= 50.0 * share && free >= 50.0 * share - 4.0, "{share}: {free}");
        }
    }
}

#[test]
fn the_step_of_a_row_with_one_site_does_not_matter() {
    let mut design = design(3);
    design.rows[1] = Row { sites: 1, pitch: 1e9, ..design.rows[1] };
    let sites = Sites::new(&design).unwrap();
    assert_eq!((sites.lattices().len(), sites.bands().len()), (1, 3));
    assert_eq!(runs(sites.segments(ANY, 1)), [(0, 1)]);
    // A long step between many sites does not make rows one.
    design.rows.iter_mut().for_each(|row| row.pitch = 1e6);
    let sites = Sites::new(&design).unwrap();
    assert_eq!(sites.bands().len(), 3);
}

#[test]
fn numbers_far_beyond_the_rows_do_no_harm() {
    for far in [1e9, 5e9, 1e16, 1e300, f64::MAX] {
        for (x, y) in [(far, 0.0), (-far, 10.0), (0.0, far), (0.0, -far)] {
            let mut design = design(4);
            // Whole sites away, so that they are on the lattice of the rows.
            (design.placement.x[1], design.placement.y[1]) = (x, y);
            let go_on = &mut |_: &Progress| ControlFlow::Continue(());
            let legal = legalize(&design, &LegalizeOptions::default(), go_on).unwrap();
            assert!(legal.failed.is_empty(), "{x:e} {y:e}");
            (design.rows[3].x, design.rows[3].y, design.placement.x[1]) = (x, y, 0.0);
            let sites = Sites::new(&design);
            let is_lost = far * f64::EPSILON > 1e-3;
            assert_eq!(sites.is_err(), is_lost || x != 0.0, "{x:e} {y:e}: {:?}", sites.err());
        }
    }
}

#[test]
fn cells_on_a_coarse_row_are_beyond_the_sites_of_the_others() {
    let mut design = design(4);
    (design.rows[3].pitch, design.rows[3].sites) = (1e9, 6);
    (design.placement.x[1], design.placement.y[1]) = (5e9, 30.0);
    design.nodes.width[1] = 1.0;
    design.placement.x[2] = 6.0;
    design.placement.x[3] = 12.0;
    design.nets = Some(Nets {
        net_start: vec![0, 2],
        weight: vec![1.0],
        pin_node: vec![0, 1],
        pin_dx: vec![0.0; 2],
        pin_dy: vec![0.0; 2],
        ..Nets::default()
    });
    let go_on = &mut |_: &crate::refine::Progress| ControlFlow::Continue(());
    let refined = crate::refine::refine(&design, &Default::default(), go_on).unwrap();
    design.placement = refined.placement;
    assert!(design.hpwl().unwrap().unweighted < 5e9);
    assert!(legality::check(&design, &LegalityOptions::default()).unwrap().is_legal());
}

/// Rectangles of any size, far longer along one axis than along the other, by every pair.
#[test]
fn an_index_finds_the_rectangles_of_every_pair() {
    let mut state = 5u64;
    let mut next = |most: f64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 11) as f64 / (1u64 << 53) as f64 * most
    };
    for count in [0, 1, 2, 3, 50, 333] {
        let mut rects = Vec::new();
        for k in 0..count {
            let (long, short) = (next(200.0), next(6.0));
            let (w, h) = if k % 2 == 0 { (long, short) } else { (short, long) };
            rects.push(Rect::at(next(300.0), next(300.0), w, h));
        }
        let index = RectIndex::new((0..count).map(|k| (rects[k], k)));
        for near in [0.0, 1.5] {
            for rect in rects.iter().chain([&Rect::at(100.0, 100.0, 60.0, 40.0)]) {
                let mut found: Vec<(usize, f64)> = index.meeting(rect, near).collect();
                found.sort_by_key(|(k, _)| *k);
                let meets = |other: &Rect| {
                    other.xh.min(rect.xh) - other.xl.max(rect.xl) > near
                        && other.yh.min(rect.yh) - other.yl.max(rect.yl) > near
                };
                let all = (0..count).filter(|&k| meets(&rects[k]));
                let all: Vec<_> = all.map(|k| (k, rects[k].overlap(rect))).collect();
                assert_eq!(found, all, "{count} {rect:?}");
            }
        }
    }
}

/// If every cell were compared with every blockage, this would take far longer than the limit.
#[test]
fn many_cells_and_soft_blockages_take_little_time() {
    let mut design = design(100);
    design.rows.iter_mut().for_each(|row| row.sites = 10_000);
    let cells = 100_000;
    design.nodes.width = vec![3.0; cells];
    design.nodes.height = vec![10.0; cells];
    design.nodes.kind = vec![NodeKind::Movable; cells];
    design.placement.orientation = vec![Orientation::N; cells];
    design.placement.x = (0..cells).map(|k| 10.0 * (k / 100) as f64).collect();
    design.placement.y = (0..cells).map(|k| 10.0 * (k % 100) as f64).collect();
    // One of a hundred cells is in a blockage, at its right end.
    let blockage = |k: usize| Blockage {
        rect: Rect::at(1000.0 * (k % 10) as f64 + 2.0, 0.01 * (k - k % 10) as f64, 5.0, 0.05),
        kind: BlockageKind::Soft,
    };
    design.blockages = (0..100_000).map(blockage).collect();
    let sites = Sites::new(&design).unwrap();
    let begun = Instant::now();
    let cells = Cells::new(&design, &sites, 0, 0).unwrap();
    let seconds = begun.elapsed().as_secs_f64();
    let may_use_soft = sites.access(None, true);
    let inside = cells.cells().iter().filter(|cell| cell.access == may_use_soft).count();
    assert_eq!(inside, 1000);
    assert!(seconds < 3.0, "{seconds} s");
}
