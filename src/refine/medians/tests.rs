use super::*;
use crate::design::{NodeKind, Nodes, Orientation, Placement, Row};

/// Returns cells of 2 x 2 at these centres and nets of two of them each.
fn design(at: &[(f64, f64)], nets: &[(u32, u32, f64)]) -> Design {
    let count = at.len();
    let row = Row { height: 2.0, site_width: 1.0, pitch: 1.0, sites: 100, ..Row::default() };
    Design {
        nodes: Nodes {
            width: vec![2.0; count],
            height: vec![2.0; count],
            kind: vec![NodeKind::Movable; count],
            ..Nodes::default()
        },
        placement: Placement {
            x: at.iter().map(|at| at.0 - 1.0).collect(),
            y: at.iter().map(|at| at.1 - 1.0).collect(),
            orientation: vec![Orientation::N; count],
        },
        nets: Some(Nets {
            net_start: (0..=nets.len() as u32).map(|net| 2 * net).collect(),
            weight: nets.iter().map(|net| net.2).collect(),
            pin_node: nets.iter().flat_map(|net| [net.0, net.1]).collect(),
            pin_dx: vec![0.0; 2 * nets.len()],
            pin_dy: vec![0.0; 2 * nets.len()],
            ..Nets::default()
        }),
        rows: (0..20).map(|k| Row { y: 2.0 * f64::from(k), ..row }).collect(),
        ..Design::default()
    }
}

#[test]
fn weights_decide_the_median() {
    let at = [(10.0, 3.0), (50.0, 9.0), (90.0, 31.0), (0.0, 0.0)];
    let mut even = design(&at, &[(0, 3, 1.0), (1, 3, 1.0), (2, 3, 1.0)]);
    to_medians(&mut even, &[3]);
    assert_eq!(even.centre(3), (50.0, 9.0));
    let mut heavy = design(&at, &[(0, 3, 1.0), (1, 3, 1.0), (2, 3, 3.0)]);
    to_medians(&mut heavy, &[3]);
    assert_eq!(heavy.centre(3), (90.0, 31.0));
    assert_eq!((even.placement.x[0], even.placement.y[2]), (9.0, 30.0), "others stay");
}

#[test]
fn chains_of_unplaced_cells_are_located_from_their_placed_end() {
    let at = [(30.0, 11.0), (0.0, 0.0), (0.0, 0.0), (0.0, 0.0), (0.0, 0.0)];
    // Cell 4 has a net without any other cell.
    let mut chain = design(&at, &[(3, 2, 1.0), (2, 1, 1.0), (1, 0, 1.0)]);
    to_medians(&mut chain, &[1, 2, 3, 4]);
    for node in 1..4 {
        assert_eq!(chain.centre(node), (30.0, 11.0), "{node}");
    }
    assert_eq!(chain.centre(4), (50.0, 20.0), "the centre of the die");
}

#[test]
fn cells_stay_on_the_die() {
    let at = [(-40.0, 300.0), (0.0, 0.0)];
    let mut outside = design(&at, &[(0, 1, 1.0)]);
    to_medians(&mut outside, &[1]);
    assert_eq!(outside.centre(1), (1.0, 39.0));
}
