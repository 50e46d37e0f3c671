use super::*;
use crate::charge::{ChargeOptions, Rectangles};

const SIDE: f64 = 160.0;

/// 64 cells of 4 × 4 in the lower left quarter, all connected to their neighbours, with fillers
/// elsewhere; and one isolated cell far away.
fn crowded() -> (Design, Charge) {
    use crate::design::{Nets, NodeKind, Nodes, Orientation, Placement, Row};
    let count = 65;
    let at =
        |i: usize, k: usize| if i == 64 { 150.0 } else { 2.0 + 5.0 * [i % 8, i / 8][k] as f64 };
    let column = |k: usize| (0..count).map(|i| at(i, k)).collect::<Vec<f64>>();
    let mut nets = Nets { net_start: vec![0], ..Nets::default() };
    for i in 0..56_u32 {
        for other in [i + 1, i + 8] {
            nets.pin_node.extend([i, other]);
            nets.pin_dx.extend([0.5, -0.25]);
            nets.pin_dy.extend([-1.0, 1.0]);
            nets.weight.push(1.0);
            nets.net_start.push(nets.pin_node.len() as u32);
        }
    }
    let design = Design {
        nodes: Nodes {
            width: vec![4.0; count],
            height: vec![4.0; count],
            kind: vec![NodeKind::Movable; count],
            ..Nodes::default()
        },
        placement: Placement {
            x: column(0),
            y: column(1),
            orientation: vec![Orientation::N; count],
        },
        nets: Some(nets),
        rows: vec![Row { height: SIDE, site_width: SIDE, sites: 1, ..Row::default() }],
        ..Design::default()
    };
    let grid = BinGrid::new(Rect::at(0.0, 0.0, SIDE, SIDE), 16, 16).unwrap();
    let (width, height) = (vec![4.0; count], vec![4.0; count]);
    let (x, y) = (column(0), column(1));
    let cells = Rectangles::movable(&width, &height, &x, &y);
    let options = ChargeOptions::default().fillers(true);
    (design, Charge::from_rectangles(grid, &cells, &options).unwrap())
}

#[test]
fn cells_in_crowded_bins_grow_in_place() {
    let (design, charge) = crowded();
    let netlist = Netlist::from_design(&design, Netlist::ALL).unwrap();
    let options = RoutabilityOptions {
        rounds: 1,
        crowded: 0.7,
        bins: 1,
        most_added: 1.0,
        ..RoutabilityOptions::default()
    };
    let mut state = Routability::new(&charge, &netlist, &options).unwrap();
    let before = state.measure(&design).unwrap();
    assert!(before.worst_utilization > 1.0 && before.added_area == 0.0, "{before}");
    let (x, y) = (charge.initial_x(), charge.initial_y());
    let grown = state.grow(x, y).unwrap().unwrap();
    let after = state.measure(&design).unwrap();
    // Only crowded cells grow, and fillers make room for them.
    let area = |charge: &Charge, i: usize| charge.width()[i] * charge.height()[i];
    assert!(area(&grown.charge, 9) > 1.05 * 16.0 && area(&grown.charge, 9) <= 2.0 * 16.0 + 1e-9);
    assert_eq!(area(&grown.charge, 64), 16.0);
    let total = |charge: &Charge| charge.movable_area() + charge.filler_area();
    assert!((total(&grown.charge) - total(&charge)).abs() < 1e-6 * total(&charge));
    let added = grown.charge.movable_area() / charge.movable_area() - 1.0;
    assert!((after.added_area - added).abs() < 1e-9 && added > 0.0);
    // Centres and pins stay.
    let pin = |netlist: &Netlist, x: &[f64], p: usize| {
        x[netlist.pin_body()[p] as usize] + netlist.pin_x()[p]
    };
    for p in 0..netlist.pin_body().len() {
        let (was, is) = (pin(&netlist, x, p), pin(&grown.netlist, &grown.x, p));
        assert!((was - is).abs() < 1e-9, "pin {p}: {was} {is}");
    }
    let (own_x, own_y) = state.at_own_size(&grown.x, &grown.y);
    assert!(own_x.iter().zip(x).chain(own_y.iter().zip(y)).all(|(a, b)| (a - b).abs() < 1e-9));
    assert!(state.grow(&grown.x, &grown.y).unwrap().is_none(), "the rounds are spent");
}

/// Returns the area added in all rounds, over the cells' own, and the fillers' over theirs.
fn grown_by(most_added: f64, bins: usize, filler_area: f64) -> (f64, f64) {
    let (design, charge) = crowded();
    let mut charge = charge;
    let (mut width, height) = (charge.width().to_vec(), charge.height().to_vec());
    let movable = charge.movable();
    width[movable..].iter_mut().for_each(|side| *side *= filler_area / charge.filler_area());
    charge.set_sizes(&width, &height).unwrap();
    let netlist = Netlist::from_design(&design, Netlist::ALL).unwrap();
    let capacity = Some(Capacity { horizontal: 1e-3, vertical: 1e-3 });
    let default = RoutabilityOptions::default();
    let options =
        RoutabilityOptions { rounds: 9, least_added: 0.0, capacity, most_added, bins, ..default };
    let mut state = Routability::new(&charge, &netlist, &options).unwrap();
    let (mut x, mut y) = (charge.initial_x().to_vec(), charge.initial_y().to_vec());
    let mut fillers = 1.0;
    state.measure(&design).unwrap();
    while let Some(grown) = state.grow(&x, &y).unwrap() {
        (x, y) = (grown.x, grown.y);
        fillers = grown.charge.filler_area() / charge.filler_area();
        state.measure(&design).unwrap();
    }
    (state.measure(&design).unwrap().added_area, fillers)
}

#[test]
fn cells_gain_no_more_area_than_allowed() {
    let cells = 65.0 * 16.0;
    // All rounds together gain the allowed area, in fine bins and in coarse ones.
    for (bins, most) in [(1, 0.1), (4, 0.1), (1, 0.4)] {
        let (added, fillers) = grown_by(most, bins, 10.0 * cells);
        assert!((added - most).abs() < 1e-9, "{bins} {most}: {added}");
        assert!((fillers - (1.0 - 0.1 * most)).abs() < 1e-9, "{fillers}");
    }
    // Fillers keep half of their area, and a cell grows to at most 2.5 times its own area.
    let (added, fillers) = grown_by(10.0, 1, 0.2 * cells);
    assert!((added - 0.1).abs() < 1e-9 && (fillers - 0.5).abs() < 1e-9, "{added} {fillers}");
    let (added, _) = grown_by(10.0, 1, 10.0 * cells);
    assert!((added - 1.5 * 64.0 / 65.0).abs() < 1e-9, "{added}");
    assert_eq!(grown_by(0.0, 1, 10.0 * cells), (0.0, 1.0));
}

#[test]
fn nothing_grows_where_demand_fits() {
    let (design, charge) = crowded();
    let netlist = Netlist::from_design(&design, Netlist::ALL).unwrap();
    let capacity = Some(Capacity { horizontal: 1e3, vertical: 1e3 });
    let options = RoutabilityOptions { capacity, ..RoutabilityOptions::default() };
    let mut state = Routability::new(&charge, &netlist, &options).unwrap();
    let round = state.measure(&design).unwrap();
    assert_eq!((round.overflow, round.round), (0.0, 0));
    assert!(state.grow(charge.initial_x(), charge.initial_y()).unwrap().is_none());
}

/// Returns the crowded cells without fillers, beside fixed rectangles.
fn without_fillers(fixed: &[Rect]) -> (Design, Charge) {
    let (design, charge) = crowded();
    let column = |values: &[f64]| values[..charge.movable()].to_vec();
    let (width, height) = (column(charge.width()), column(charge.height()));
    let (x, y) = (column(charge.initial_x()), column(charge.initial_y()));
    let cells = Rectangles::movable(&width, &height, &x, &y).fixed(fixed);
    let options = ChargeOptions::default();
    (design, Charge::from_rectangles(charge.grid(), &cells, &options).unwrap())
}

#[test]
fn without_fillers_cells_take_free_space() {
    let options = RoutabilityOptions {
        least_added: 0.0,
        capacity: Some(Capacity { horizontal: 1e-3, vertical: 1e-3 }),
        ..RoutabilityOptions::default()
    };
    let cells = 65.0 * 16.0;
    // The free area is all of the die, a tenth of the cells' area, or nothing.
    for (free, most) in [(SIDE * SIDE - cells, 0.1), (0.1 * cells, 0.05), (0.0, 0.0)] {
        let width = SIDE - (free + cells) / SIDE;
        let width = if free > 0.0 { width } else { SIDE };
        let (design, charge) = without_fillers(&[Rect::at(SIDE - width, 0.0, width, SIDE)]);
        let netlist = Netlist::from_design(&design, Netlist::ALL).unwrap();
        let mut state = Routability::new(&charge, &netlist, &options).unwrap();
        state.measure(&design).unwrap();
        let grown = state.grow(charge.initial_x(), charge.initial_y()).unwrap();
        assert_eq!(grown.is_some(), most > 0.0, "{free}");
        let added = state.measure(&design).unwrap().added_area;
        assert!((added - most).abs() < 1e-9, "{free}: {added}");
        assert!(grown.is_none_or(|grown| grown.charge.fillers() == 0));
    }
}

#[test]
fn options_outside_their_range_are_refused() {
    let (design, charge) = crowded();
    let netlist = Netlist::from_design(&design, Netlist::ALL).unwrap();
    type Change = fn(&mut RoutabilityOptions);
    let changes: [(Change, &str); 5] = [
        (|o| o.least_added = -0.1, "least_added: -0.1: expected a finite number, at least 0"),
        (|o| o.most_added = f64::NAN, "most_added: NaN: expected a finite number, at least 0"),
        (|o| o.most_growth = 0.5, "most_growth: 0.5: expected a finite number, at least 1"),
        (|o| o.crowded = 2.0, "crowded: 2: expected a number from 0 to 1"),
        (
            |o| o.capacity = Some(Capacity { horizontal: 1.0, vertical: 0.0 }),
            "vertical capacity: 0: expected a finite number above 0",
        ),
    ];
    for (change, want) in changes {
        let mut options = RoutabilityOptions::default();
        change(&mut options);
        let error = Routability::new(&charge, &netlist, &options).unwrap_err();
        assert_eq!(error.to_string(), want);
    }
}
