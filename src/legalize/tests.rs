//! Free sites, by hand.

use super::sites::{Cells, Run, Sites, orientation_on};
use super::{Failed, LegalizeOptions, Reason, legalize};
use crate::design::*;
use crate::grid::Rect;
use crate::legality::{self, LegalityOptions};
use std::ops::ControlFlow;

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
    assert_eq!(runs(sites.segments(0)), [(0, 50)]);
    // Mirrored, the halo is at the right.
    assert_eq!(runs(sites.segments(1)), [(0, 20), (26, 50)]);
    assert_eq!(runs(sites.segments(2)), [(0, 20), (26, 50)]);
    assert_eq!(runs(sites.segments(3)), [(0, 50)]);
    design.halos[0].soft = true;
    let sites = Sites::new(&design).unwrap();
    assert_eq!(runs(sites.segments(1)), [(0, 20), (23, 50)]);
    assert_eq!(runs(sites.segments(2)), [(0, 50)]);
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
        let legalized =
            legalize(&design, &LegalizeOptions::default(), &mut |_| ControlFlow::Continue(()))
                .unwrap();
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
    design.fences.push(Fence { name: "f".to_owned(), rects });
    let sites = Sites::new(&design).unwrap();
    let all: Vec<_> = sites.segments(1).iter().map(|r| (r.start, r.end, r.fence)).collect();
    assert_eq!(all, [(0, 5, None), (6, 15, Some(0)), (16, 20, Some(0)), (20, 50, None)]);
    assert_eq!(runs(sites.segments(2)), [(0, 5), (16, 50)]);
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
        let stands = cells.stands(&cells.cells()[k]);
        let of = |s: &super::sites::Stand| (sites.rows()[s.row as usize].y, s.bands());
        stands.iter().map(of).collect::<Vec<_>>()
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
    assert_eq!(runs(sites.segments(1)), [(7, 57)]);
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
    let stands = cells.stands(&cells.cells()[3]);
    assert_eq!(stands.iter().map(|s| s.row).collect::<Vec<_>>(), [1]);
}
