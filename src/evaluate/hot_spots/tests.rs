use super::*;
use crate::charge::Charge;
use crate::design::{Names, Nodes, Placement, Row};
use crate::evaluate::{cells_and_overflow, coarse_grid};

/// Returns the cells of 2 × 2 on a die of 64 × 32 with rows of height 2.
fn design(at: &[(f64, f64)]) -> Design {
    let mut names = Names::default();
    (0..at.len()).for_each(|i| names.push(&format!("c{i}")));
    let n = at.len();
    let row = |k| Row {
        x: 0.0,
        y: 2.0 * f64::from(k),
        height: 2.0,
        site_width: 1.0,
        pitch: 1.0,
        sites: 64,
        ..Row::default()
    };
    Design {
        nodes: Nodes {
            names,
            width: vec![2.0; n],
            height: vec![2.0; n],
            kind: vec![NodeKind::Movable; n],
            ..Nodes::default()
        },
        placement: Placement {
            x: at.iter().map(|p| p.0).collect(),
            y: at.iter().map(|p| p.1).collect(),
            orientation: vec![Default::default(); n],
        },
        rows: (0..16).map(row).collect(),
        ..Design::default()
    }
}

#[test]
fn hot_spots_are_where_cells_lie_on_one_another() {
    // Three on one place, two on another, one alone; x is the longer axis.
    let at = [(40.0, 4.0), (40.0, 4.0), (40.0, 4.0), (10.0, 20.0), (10.0, 20.0), (30.0, 30.0)];
    let mut design = design(&at);
    design.nodes.width[4] = 1.0;
    let grid = BinGrid::new(design.die().unwrap(), 32, 16).unwrap();
    let charge = Charge::from_design(&design, grid, &Default::default()).unwrap();
    let maps = cells_and_overflow(&charge);
    assert_eq!((maps[0][(20, 2)], maps[1][(20, 2)]), (3.0, 2.0));
    let spots = hot_spots(&design, &grid, &maps, 5);
    assert_eq!(spots.len(), 2);
    assert_eq!((spots[0].area, spots[0].densest, spots[0].nodes), (8.0, 3.0, 3));
    assert_eq!(spots[0].names, ["c0", "c1", "c2"]);
    assert_eq!((spots[1].area, spots[1].share), (2.0, 0.2));
    assert_eq!(spots[1].names, ["c3", "c4"], "the largest first");
    assert_eq!(spots[1].rect, Rect::at(10.0, 20.0, 2.0, 2.0));
    assert_eq!(hot_spots(&design, &grid, &maps, 1).len(), 1);
}

#[test]
fn rounding_is_no_overflow() {
    // Three cells that fill a bin, whose areas do not sum up to one exactly.
    let third = 2.0 / 3.0;
    let mut design = design(&[(40.0, 4.0), (40.0 + third, 4.0), (40.0 + 2.0 * third, 4.0)]);
    design.nodes.width.fill(third * (1.0 + 1e-11));
    let grid = BinGrid::new(design.die().unwrap(), 32, 16).unwrap();
    let charge = Charge::from_design(&design, grid, &Default::default()).unwrap();
    let [cells, overflow] = cells_and_overflow(&charge);
    assert!((cells[(20, 2)] - 1.0).abs() < 1e-9);
    assert!(overflow.as_slice().iter().all(|v| *v == 0.0));
    design.nodes.width.fill(third * 1.001);
    let charge = Charge::from_design(&design, grid, &Default::default()).unwrap();
    assert!(cells_and_overflow(&charge)[1][(20, 2)] > 1e-4);
}

#[test]
fn coarse_bins_are_not_lower_than_rows() {
    let design = design(&[(0.0, 0.0)]);
    let grid = coarse_grid(&design, design.die().unwrap()).unwrap();
    assert_eq!((grid.nx(), grid.ny()), (64, 16));
}

#[test]
fn a_macro_is_tall_or_a_block() {
    let mut design = design(&[(0.0, 0.0); 40]);
    design.nodes.height[3] = 8.0; // four rows
    design.nodes.height[5] = 10.0;
    (design.nodes.width[7], design.nodes.height[7]) = (62.0, 2.0); // large, but of one row
    assert_eq!(design.movable_macros(), [5]);
}

#[cfg(feature = "cli")]
#[test]
fn macros_and_fixed_nodes_are_outlined() {
    use crate::maps::{fixed, movable};

    let mut design = design(&[(0.0, 0.0); 40]);
    design.nodes.height[5] = 10.0;
    design.nodes.kind[9] = NodeKind::Fixed;
    let die = design.die().unwrap();
    assert_eq!(movable(&design, die), [design.rect(5)]);
    assert_eq!(fixed(&design, die), [design.rect(9)]);
}
