use super::*;
use crate::charge::{ChargeOptions, Rectangles};
use proptest::prelude::*;

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

/// Grows the cells of a design at its positions once; `None` if they do not grow.
fn grow(state: &mut Routability, design: &Design, x: &[f64], y: &[f64]) -> Result<Grown, End> {
    let round = state.measure(design).unwrap();
    match state.grow(&round, x, y).unwrap() {
        ControlFlow::Continue(grown) => Ok(grown),
        ControlFlow::Break(end) => Err(end),
    }
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
    assert!(before.overflow > 0.0 && before.added_area == 0.0, "{before}");
    let (x, y) = (charge.initial_x(), charge.initial_y());
    let grown = grow(&mut state, &design, x, y).unwrap();
    let after = state.measure(&design).unwrap();
    // Only crowded cells grow, and fillers make room for them.
    let area = |i: usize| grown.charge.width()[i] * grown.charge.height()[i] / 16.0;
    assert!(area(10) > 1.05 && area(10) <= options.most_growth.powi(2) + 1e-9, "{}", area(10));
    assert_eq!(area(64), 1.0);
    let total = |charge: &Charge| charge.movable_area() + charge.filler_area();
    assert!((total(&grown.charge) - total(&charge)).abs() < 1e-6 * total(&charge));
    let added = grown.charge.movable_area() / charge.movable_area() - 1.0;
    assert!((after.added_area - added).abs() < 1e-9 && added > 0.0);
    assert_pins_stay((&netlist, x, y), &grown);
    let (own_x, own_y) = state.at_own_size(&grown.x, &grown.y);
    assert!(own_x.iter().zip(x).chain(own_y.iter().zip(y)).all(|(a, b)| (a - b).abs() < 1e-9));
    assert_eq!(grow(&mut state, &design, &grown.x, &grown.y).unwrap_err(), End::Rounds);
}

/// Asserts that no pin moved when bodies at lower-left corners `x`, `y` grew.
fn assert_pins_stay((netlist, x, y): (&Netlist, &[f64], &[f64]), grown: &Grown) {
    let pin = |netlist: &Netlist, (x, y): (&[f64], &[f64]), p: usize| {
        let body = netlist.pin_body()[p] as usize;
        [x[body] + netlist.pin_x()[p], y[body] + netlist.pin_y()[p]]
    };
    for p in 0..netlist.pin_body().len() {
        let was = pin(netlist, (x, y), p);
        let is = pin(&grown.netlist, (&grown.x, &grown.y), p);
        assert!((0..2).all(|k| (was[k] - is[k]).abs() < 1e-9), "pin {p}: {was:?} {is:?}");
    }
}

#[test]
fn only_the_side_across_crowded_wires_grows() {
    let (design, charge) = crowded();
    let netlist = Netlist::from_design(&design, Netlist::ALL).unwrap();
    let (few, many) = (1e-3, 1e3);
    for (horizontal, vertical) in [(few, many), (many, few)] {
        let capacity = Some(Capacity { horizontal, vertical });
        let options = RoutabilityOptions { capacity, ..RoutabilityOptions::default() };
        let mut state = Routability::new(&charge, &netlist, &options).unwrap();
        let grown = grow(&mut state, &design, charge.initial_x(), charge.initial_y()).unwrap();
        let [width, height] = [grown.charge.width()[9], grown.charge.height()[9]];
        match horizontal == few {
            true => assert!(width == 4.0 && height > 4.2, "{width} x {height}"),
            false => assert!(width > 4.2 && height == 4.0, "{width} x {height}"),
        }
    }
}

#[test]
fn cells_shrink_again_where_demand_has_fallen() {
    let (mut design, charge) = crowded();
    let netlist = Netlist::from_design(&design, Netlist::ALL).unwrap();
    let (mut x, mut y) = (charge.initial_x().to_vec(), charge.initial_y().to_vec());
    let options = RoutabilityOptions {
        rounds: 20,
        crowded: 0.7,
        bins: 1,
        most_growth: 2.0,
        ..RoutabilityOptions::default()
    };
    let mut state = Routability::new(&charge, &netlist, &options).unwrap();
    Grown { x, y, .. } = grow(&mut state, &design, &x, &y).unwrap();
    let most = state.measure(&design).unwrap().added_area;
    assert!(most > 0.01, "{most}");
    // Then the cells are 3.8 times as far apart.
    let (own_x, own_y) = state.at_own_size(&x, &y);
    for (at, own) in x[..64].iter_mut().zip(own_x).chain(y[..64].iter_mut().zip(own_y)) {
        *at += 2.8 * own;
    }
    let (own_x, own_y) = state.at_own_size(&x, &y);
    charge.set_movable_positions(&mut design, &own_x, &own_y);
    // Somewhere else wires still have too few tracks.
    let round = Round { overflow: 0.1, ..state.measure(&design).unwrap() };
    assert!(state.grow(&round, &x, &y).unwrap().is_continue());
    let left = state.measure(&design).unwrap().added_area;
    assert!(left < 0.5 * most, "{most} {left}");
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
    let options = RoutabilityOptions {
        rounds: 9,
        most_growth: 2.0,
        least_added: 0.0,
        capacity,
        most_added,
        bins,
        ..RoutabilityOptions::default()
    };
    let mut state = Routability::new(&charge, &netlist, &options).unwrap();
    let (mut x, mut y) = (charge.initial_x().to_vec(), charge.initial_y().to_vec());
    let mut fillers = 1.0;
    while let Ok(grown) = grow(&mut state, &design, &x, &y) {
        (x, y) = (grown.x, grown.y);
        fillers = grown.charge.filler_area() / charge.filler_area();
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
    let none = grow(&mut state, &design, charge.initial_x(), charge.initial_y());
    assert_eq!(none.unwrap_err(), End::NoOverflow);
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
        let grown = grow(&mut state, &design, charge.initial_x(), charge.initial_y());
        assert_eq!(grown.as_ref().err(), (most == 0.0).then_some(&End::NoArea), "{free}");
        let added = state.measure(&design).unwrap().added_area;
        assert!((added - most).abs() < 1e-9, "{free}: {added}");
        assert!(grown.is_ok_and(|grown| grown.charge.fillers() == 0) || most == 0.0);
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

#[test]
fn the_result_has_the_least_wire_overflow() {
    // As ibex: overflow falls although the worst bins get fuller and wires longer.
    let worst = |mean: f64| Worst {
        half_percent: 1.2 * mean,
        one_percent: 1.1 * mean,
        two_percent: mean,
        five_percent: mean,
        mean,
    };
    let round = |round, hpwl, overflow, mean| Round {
        round,
        hpwl,
        overflow,
        worst_utilization: worst(mean),
        added_area: 0.1,
    };
    let (first, second) = (round(0, 1.0, 0.032, 1.20), round(1, 1.01, 0.019, 1.21));
    assert!(second.is_better_than(&first) && !first.is_better_than(&second));
    assert!(!first.is_better_than(&first));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn sizes_stay_within_their_limits(
        horizontal in 0.01..3.0_f64,
        vertical in 0.01..3.0_f64,
        most_added in 0.0..1.0_f64,
        exponent in 0.0..4.0_f64,
        bins in 1..5_usize,
        moves in prop::collection::vec(0.0..150.0_f64, 130),
    ) {
        let (mut design, charge) = crowded();
        let netlist = Netlist::from_design(&design, Netlist::ALL).unwrap();
        let capacity = Some(Capacity { horizontal, vertical });
        let options = RoutabilityOptions {
            rounds: 5,
            least_added: 0.0,
            capacity,
            most_added,
            exponent,
            bins,
            ..RoutabilityOptions::default()
        };
        let mut state = Routability::new(&charge, &netlist, &options).unwrap();
        let (mut x, mut y) = (charge.initial_x().to_vec(), charge.initial_y().to_vec());
        let total = charge.movable_area() + charge.filler_area();
        for round in 0..6 {
            let (own_x, own_y) = state.at_own_size(&x, &y);
            charge.set_movable_positions(&mut design, &own_x, &own_y);
            let Ok(grown) = grow(&mut state, &design, &x, &y) else { break };
            prop_assert!(round < 5);
            let new = &grown.charge;
            let added = new.movable_area() / charge.movable_area() - 1.0;
            prop_assert!((-1e-9..=most_added + 1e-9).contains(&added), "{added}");
            prop_assert!((new.movable_area() + new.filler_area() - total).abs() < 1e-6 * total);
            prop_assert!(new.filler_area() > 0.499 * charge.filler_area());
            for i in 0..charge.movable() {
                let (w, h) = (new.width()[i], new.height()[i]);
                prop_assert!(w >= 4.0 - 1e-9 && h >= 4.0 - 1e-9 && w * h <= 2.5 * 16.0 + 1e-9);
            }
            let own = state.at_own_size(&grown.x, &grown.y);
            prop_assert!(own.0.iter().zip(&own_x).chain(own.1.iter().zip(&own_y))
                .all(|(a, b)| (a - b).abs() < 1e-9));
            // Half of the cells move before the next round.
            (x, y) = (grown.x, grown.y);
            for i in (round % 2..65).step_by(2) {
                (x[i], y[i]) = (moves[i], moves[65 + i]);
            }
        }
    }
}
