//! Placements of ordinary designs: any scale of weights and lengths, few cells, given starts, cells
//! that are fixed, no nets.

use placefield::charge::{Charge, ChargeOptions};
use placefield::cpu::engine::CpuEngine;
use placefield::design::{Design, Nets, NodeKind, Nodes, Orientation, Placement};
use placefield::engine::EngineOptions;
use placefield::generate::{Spec, generate};
use placefield::grid::{BinGrid, Rect};
use placefield::place::{HostBackend, Outcome, PlaceOptions, Placer, placement_bins, start};
use placefield::wirelength::Netlist;

/// How a descent ended.
struct Placed {
    outcome: Outcome,
    iterations: usize,
    hpwl: f64,
    at: [Vec<f64>; 2],
}

fn charge_of(design: &Design) -> Charge {
    let die = design.die().unwrap();
    let [nx, ny] = placement_bins(design, die, 0.95);
    let options = ChargeOptions::default().fillers(true).target_density(0.95);
    Charge::from_design(design, BinGrid::new(die, nx, ny).unwrap(), &options).unwrap()
}

fn place_from(design: &Design, charge: &Charge, options: &PlaceOptions) -> Placed {
    let netlist = Netlist::from_design(design, Netlist::ALL).unwrap();
    let engine = EngineOptions::default().threads(1);
    let engine = CpuEngine::<f64>::new(charge.clone(), &engine).unwrap();
    let mut backend = HostBackend::new(engine, &netlist).unwrap();
    let (x, y) = match options.warm {
        true => start::given(charge, 1),
        false => start::centred(charge, 1),
    };
    let mut placer = Placer::new(&mut backend, &x, &y, options).unwrap();
    while placer.step().unwrap().is_some() {}
    let (x, y) = placer.positions().unwrap();
    Placed {
        outcome: placer.outcome().unwrap(),
        iterations: placer.last().iteration,
        hpwl: placer.last().sample.hpwl,
        at: [x, y],
    }
}

fn place(design: &Design) -> Placed {
    place_from(design, &charge_of(design), &PlaceOptions::default())
}

#[test]
fn the_scale_of_net_weights_does_not_matter() {
    let design = generate(&Spec::with_cells(600)).unwrap();
    let own = place(&design);
    assert_eq!(own.outcome, Outcome::Converged);
    for factor in [1e-3, 30.0, 1000.0, 1024.0, 1.0 / 4096.0] {
        let mut scaled = design.clone();
        let nets = scaled.nets.as_mut().unwrap();
        nets.weight.iter_mut().for_each(|weight| *weight *= factor);
        let placed = place(&scaled);
        assert_eq!(placed.outcome, Outcome::Converged, "weights x {factor}");
        let ratio = placed.hpwl / factor / own.hpwl;
        assert!((ratio - 1.0).abs() < 5e-3, "weights x {factor}: HPWL x {ratio}");
        // Powers of two are not rounded, so that positions are the same bits.
        if f64::log2(factor).fract() == 0.0 {
            assert!(placed.at == own.at, "weights x {factor}");
        }
    }
}

/// Returns the design with all lengths times `factor`, moved by `by` along x.
fn scaled(design: &Design, factor: f64, by: f64) -> Design {
    let mut scaled = design.clone();
    let all = |values: &mut Vec<f64>| values.iter_mut().for_each(|v| *v *= factor);
    all(&mut scaled.nodes.width);
    all(&mut scaled.nodes.height);
    all(&mut scaled.placement.x);
    all(&mut scaled.placement.y);
    let nets = scaled.nets.as_mut().unwrap();
    all(&mut nets.pin_dx);
    all(&mut nets.pin_dy);
    for row in &mut scaled.rows {
        for length in [&mut row.x, &mut row.y, &mut row.height, &mut row.site_width, &mut row.pitch]
        {
            *length *= factor;
        }
        row.x += by;
    }
    scaled.placement.x.iter_mut().for_each(|x| *x += by);
    scaled
}

#[test]
fn units_and_place_of_the_die_do_not_matter() {
    let design = generate(&Spec::with_cells(600)).unwrap();
    let own = place(&design);
    let width = design.die().unwrap().width();
    for (factor, by) in [(0.1, 0.0), (20.0, 0.0), (1.0, width / 2.0), (1.0, -3.0 * width)] {
        let placed = place(&scaled(&design, factor, by));
        assert_eq!(placed.outcome, Outcome::Converged, "x {factor} + {by}");
        let ratio = placed.hpwl / factor / own.hpwl;
        assert!((ratio - 1.0).abs() < 5e-3, "x {factor} + {by}: HPWL x {ratio}");
    }
}

/// Cells of 2 × 2 on a die of 400 × 100, and pads without area at the given places; each net joins
/// the nodes listed, cells first.
fn few(cells: usize, pads: &[[f64; 2]], nets: &[&[u32]]) -> Design {
    let count = cells + pads.len();
    let size = |of_cell: f64| (0..count).map(|i| if i < cells { of_cell } else { 0.0 }).collect();
    let at = |axis: usize| {
        let pads = pads.iter().map(|pad| pad[axis]);
        (0..cells).map(|_| [3.0, 5.0][axis]).chain(pads).collect::<Vec<f64>>()
    };
    let pins: Vec<u32> = nets.concat();
    Design {
        nodes: Nodes {
            width: size(2.0),
            height: size(2.0),
            kind: (0..count)
                .map(|i| if i < cells { NodeKind::Movable } else { NodeKind::Fixed })
                .collect(),
            ..Nodes::default()
        },
        placement: Placement { x: at(0), y: at(1), orientation: vec![Orientation::N; count] },
        nets: Some(Nets {
            net_start: std::iter::once(0)
                .chain(nets.iter().scan(0, |end, net| {
                    *end += net.len() as u32;
                    Some(*end)
                }))
                .collect(),
            weight: vec![1.0; nets.len()],
            pin_dx: vec![0.0; pins.len()],
            pin_dy: vec![0.0; pins.len()],
            pin_node: pins,
            ..Nets::default()
        }),
        die_area: vec![Rect::at(0.0, 0.0, 400.0, 100.0)],
        ..Design::default()
    }
}

#[test]
fn one_cell_goes_where_its_pads_are() {
    let design = few(1, &[[370.0, 80.0], [380.0, 80.0]], &[&[0, 1], &[0, 2]]);
    let placed = place(&design);
    assert_eq!(placed.outcome, Outcome::Converged);
    assert!(placed.hpwl < 16.0, "{} after {}", placed.hpwl, placed.iterations);
}

#[test]
fn cells_of_no_overflow_still_go_to_their_nets() {
    // Two pairs of cells, each at a pad of its own, and all of them spread from the start.
    let pads = [[390.0, 90.0], [10.0, 90.0]];
    let mut design = few(4, &pads, &[&[0, 1, 4], &[2, 3, 5]]);
    for (i, x) in [20.0, 120.0, 260.0, 330.0].into_iter().enumerate() {
        design.placement.x[i] = x;
    }
    let charge = charge_of(&design);
    for options in [PlaceOptions::default(), PlaceOptions::default().warm(true)] {
        let placed = place_from(&design, &charge, &options);
        assert!(matches!(placed.outcome, Outcome::Converged | Outcome::Plateau));
        assert!(placed.hpwl < 60.0, "{} after {}", placed.hpwl, placed.iterations);
    }
}

#[test]
fn a_warm_start_follows_changed_weights() {
    let mut design = few(1, &[[10.0, 50.0], [390.0, 50.0]], &[&[0, 1], &[0, 2]]);
    design.nets.as_mut().unwrap().weight = vec![1.0, 5.0];
    let charge = charge_of(&design);
    let placed = place_from(&design, &charge, &PlaceOptions::default().warm(true));
    assert!(placed.at[0][0] > 370.0, "{:?}", placed.at[0][0]);
}

#[test]
fn cells_at_one_point_and_without_nets_are_spread() {
    let mut design = generate(&Spec::with_cells(300)).unwrap();
    let movable: Vec<usize> = design.movable().collect();
    for &i in &movable {
        (design.placement.x[i], design.placement.y[i]) = (17.0, 23.0);
    }
    let weights = &mut design.nets.as_mut().unwrap().weight;
    weights.iter_mut().for_each(|weight| *weight = 0.0);
    let charge = charge_of(&design);
    let placed = place_from(&design, &charge, &PlaceOptions::default().warm(true));
    assert_eq!((placed.outcome, placed.hpwl), (Outcome::Converged, 0.0));
    let [x, y] = &placed.at;
    let cells = charge.movable();
    let mut points: Vec<[u64; 2]> = (0..cells).map(|i| [x[i].to_bits(), y[i].to_bits()]).collect();
    points.sort_unstable();
    points.dedup();
    assert_eq!(points.len(), cells, "every cell has a place of its own");
}

#[test]
fn fixed_cells_of_a_charge_do_not_move() {
    let design = generate(&Spec::with_cells(300)).unwrap();
    for precondition in [true, false] {
        let mut charge = charge_of(&design);
        let (x, y) = start::centred(&charge, 1);
        let fixed: Vec<bool> = (0..charge.movable()).map(|i| i % 3 == 0).collect();
        let cells = charge.movable();
        charge.set_fixed_cells(&fixed, &x[..cells], &y[..cells]).unwrap();
        let options = PlaceOptions::default().iterations(30).precondition(precondition);
        let placed = place_from(&design, &charge, &options);
        for i in 0..cells {
            let stays = (placed.at[0][i], placed.at[1][i]) == (x[i], y[i]);
            assert_eq!(stays, fixed[i], "cell {i}");
        }
    }
}

#[test]
fn fillers_of_a_warm_start_lie_where_cells_leave_room() {
    let mut design = generate(&Spec::with_cells(300)).unwrap();
    let die = design.die().unwrap();
    // All cells in the left half.
    for i in design.movable().collect::<Vec<_>>() {
        let x = &mut design.placement.x[i];
        *x = die.xl + (*x - die.xl).rem_euclid(0.5 * die.width());
    }
    let charge = charge_of(&design);
    let (x, _) = start::given(&charge, 1);
    let left = |x: &[f64]| {
        let fillers = &x[charge.movable()..];
        fillers.iter().filter(|x| **x < die.xl + 0.5 * die.width()).count() as f64
            / fillers.len() as f64
    };
    assert!(left(charge.initial_x()) > 0.4 && left(&x) < 0.35, "{}", left(&x));
}
