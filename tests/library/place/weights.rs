//! Net weights that change between iterations, and terms of the objective that a caller adds.

use placefield::charge::{Charge, ChargeOptions};
use placefield::cpu::engine::CpuEngine;
use placefield::cpu::wirelength::CpuWirelength;
use placefield::design::{Design, DesignError, NodeKind};
use placefield::engine::{EngineError, EngineOptions};
use placefield::generate::{Spec, generate};
use placefield::grid::BinGrid;
use placefield::place::{Backend, HostBackend, PlaceOptions, Placer, PointVector, Weights, start};
use placefield::wirelength::Netlist;

#[allow(dead_code, unreachable_pub)]
#[path = "../../../benchmarks/examples/timing.rs"]
mod timing;

#[allow(dead_code, unreachable_pub)]
#[path = "../../../benchmarks/examples/adam.rs"]
mod adam;

#[test]
fn the_example_of_adam_ends_legal_and_refined() {
    let (overflow, stages) = adam::place(20).unwrap();
    assert!(overflow <= 0.08, "overflow {overflow}");
    let hpwl = |report: Option<f64>| report.unwrap();
    let [_, legal, refined] = stages.all().map(|(_, of)| hpwl(of.hpwl)).collect::<Vec<f64>>()[..]
    else {
        panic!("three stages")
    };
    assert!(stages.is_legal() && refined < legal, "{refined} {legal}");
    // Side by side, each cell is about 6 x 10 from its neighbours.
    let ideal = (19.0 * 20.0) * (6.0 + 10.0);
    assert!(refined < 1.6 * ideal, "HPWL {refined}, side by side {ideal}");
}

#[test]
fn the_example_shortens_the_longest_path() {
    let [(own, own_hpwl), (driven, driven_hpwl)] = [false, true].map(|d| timing::place(d).unwrap());
    assert!(driven < 0.95 * own, "{driven} after {own}");
    assert!(driven_hpwl < 1.3 * own_hpwl, "{driven_hpwl} after {own_hpwl}");
}

/// 800 cells, a tenth of them fixed, so that some nets cannot change.
fn design() -> Design {
    let mut design = generate(&Spec::with_cells(800)).unwrap();
    let movable: Vec<usize> = design.movable().collect();
    movable.iter().step_by(10).for_each(|&node| design.nodes.kind[node] = NodeKind::Fixed);
    for node in design.movable().collect::<Vec<usize>>() {
        design.placement.x[node] = 7.0 * (node % 31) as f64;
        design.placement.y[node] = 5.0 * (node % 17) as f64;
    }
    design
}

fn charge_of(design: &Design) -> Charge {
    let grid = BinGrid::new(design.die().unwrap(), 32, 32).unwrap();
    Charge::from_design(design, grid, &ChargeOptions::default().fillers(true)).unwrap()
}

fn backend(charge: &Charge, netlist: &Netlist) -> HostBackend<f64> {
    let options = EngineOptions::default().threads(1);
    HostBackend::new(CpuEngine::new(charge.clone(), &options).unwrap(), netlist).unwrap()
}

/// Weights unlike each other, some of them 0.
fn other_weights(design: &Design) -> Vec<f64> {
    (0..design.nets.as_ref().unwrap().len()).map(|e| (e % 7) as f64 / 2.0).collect()
}

fn with_weights(design: &Design, weights: &[f64]) -> Design {
    let mut other = design.clone();
    other.nets.as_mut().unwrap().weight = weights.to_vec();
    other
}

#[test]
fn new_weights_make_the_netlist_of_a_design_with_them() {
    let mut design = design();
    // A net that cannot change.
    let nets = design.nets.as_mut().unwrap();
    let pins = nets.pins_of(3);
    nets.pin_node[pins].fill(0);
    design.nodes.kind[0] = NodeKind::Fixed;
    let nets = design.nets.as_mut().unwrap();
    nets.pin_dx[nets.net_start[3] as usize] += 5.0;
    let weights = other_weights(&design);
    for large in [4, Netlist::ALL] {
        let mut netlist = Netlist::from_design(&design, large).unwrap();
        let want = Netlist::from_design(&with_weights(&design, &weights), large).unwrap();
        assert!(netlist != want && want.fixed_hpwl() > 0.0);
        netlist.set_weights(&weights).unwrap();
        assert!(netlist == want);
        let mut wrong = weights.clone();
        for bad in [f64::NAN, f64::INFINITY, -1.0] {
            wrong[5] = bad;
            let error = netlist.set_weights(&wrong).unwrap_err();
            assert!(matches!(&error, DesignError::NetWeight { net, .. } if net == "5"), "{error}");
        }
        let error = netlist.set_weights(&weights[1..]).unwrap_err();
        assert!(matches!(error, DesignError::Length { what: "net weights", .. }));
        assert!(netlist == want, "an error changes nothing");
    }
}

#[test]
fn operators_take_new_weights_in_place() {
    let design = design();
    let charge = charge_of(&design);
    let weights = other_weights(&design);
    let want = Netlist::from_design(&with_weights(&design, &weights), 20).unwrap();
    let mut netlist = Netlist::from_design(&design, 20).unwrap();
    let (x, y) = (charge.initial_x(), charge.initial_y());

    let mut operator = CpuWirelength::<f64>::new(&netlist, [0.0; 2]);
    let evaluate = |operator: &mut CpuWirelength<f64>| {
        let mut gradient = [vec![0.0; x.len()], vec![0.0; x.len()]];
        let [gx, gy] = &mut gradient;
        (operator.evaluate(x, y, 20.0, gx, gy).unwrap(), gradient)
    };
    let before = evaluate(&mut operator);
    let mut replaced = backend(&charge, &netlist);
    netlist.set_weights(&weights).unwrap();
    operator.set_weights(&netlist).unwrap();
    let after = evaluate(&mut operator);
    assert!(after != before && after == evaluate(&mut CpuWirelength::new(&want, [0.0; 2])));
    let fewer = Netlist::from_design(&generate(&Spec::with_cells(100)).unwrap(), 20).unwrap();
    assert!(matches!(operator.set_weights(&fewer), Err(EngineError::Length { .. })));

    let mut anew = backend(&charge, &want);
    let parameters = Weights { gamma: 20.0, lambda: 1e-3, pin_factor: 0.7, area_factor: 0.3 };
    replaced.start(x, y).unwrap();
    anew.start(x, y).unwrap();
    replaced.evaluate(&parameters).unwrap();
    replaced.set_net_weights(&weights).unwrap();
    // The gradient of the old weights is gone.
    assert!(matches!(replaced.propose(0.1, 0.0, &parameters), Err(EngineError::OutOfOrder { .. })));
    assert_eq!(replaced.evaluate(&parameters).unwrap(), anew.evaluate(&parameters).unwrap());
    let step = (0.1, 0.5);
    assert_eq!(
        replaced.propose(step.0, step.1, &parameters).unwrap(),
        anew.propose(step.0, step.1, &parameters).unwrap()
    );
    assert_eq!(replaced.netlist().pull(), anew.netlist().pull());
}

#[test]
fn nets_that_weigh_more_get_shorter() {
    let design = design();
    let charge = charge_of(&design);
    let netlist = Netlist::from_design(&design, Netlist::ALL).unwrap();
    let (x, y) = start::centred(&charge, 5);
    // Every twentieth net weighs ten times as much from iteration 100 on.
    let critical = |e: usize| e.is_multiple_of(20);
    let weights: Vec<f64> = (0..design.nets.as_ref().unwrap().len())
        .map(|e| if critical(e) { 10.0 } else { 1.0 })
        .collect();
    let placed = |reweighs: bool| {
        let mut backend = backend(&charge, &netlist);
        let mut placer = Placer::new(&mut backend, &x, &y, &PlaceOptions::default()).unwrap();
        while placer.step().unwrap().is_some() {
            if reweighs && placer.last().iteration == 100 {
                placer.set_net_weights(&weights).unwrap();
            }
        }
        let (x, y) = placer.positions().unwrap();
        let overflow = placer.last().sample.density.overflow;
        let mut placed = design.clone();
        charge.set_movable_positions(&mut placed, &x, &y);
        let lengths = placed.net_lengths().unwrap();
        let of = |wanted: bool| -> f64 {
            lengths.iter().enumerate().filter(|(e, _)| critical(*e) == wanted).map(|(_, l)| l).sum()
        };
        (placer.outcome().unwrap(), overflow, of(true), of(true) + of(false))
    };
    let (before, after) = (placed(false), placed(true));
    assert_eq!(after.0, before.0);
    assert!(after.1 <= 0.07, "overflow {}", after.1);
    assert!(after.2 < 0.7 * before.2, "critical nets: {} after {}", after.2, before.2);
    assert!(after.3 < 1.2 * before.3, "all nets: {} after {}", after.3, before.3);
}

#[test]
fn a_term_is_a_part_of_the_gradient() {
    let design = design();
    let charge = charge_of(&design);
    let netlist = Netlist::from_design(&design, Netlist::ALL).unwrap();
    let (x, y) = (charge.initial_x(), charge.initial_y());
    let parameters = Weights { gamma: 20.0, lambda: 1e-3, pin_factor: 1e-9, area_factor: 1e-9 };
    let mut plain = backend(&charge, &netlist);
    let mut pulled = backend(&charge, &netlist);
    let cells = charge.movable();
    pulled.add_term(move |x: &[f64], y: &[f64], [gx, gy]: [&mut [f64]; 2]| {
        assert_eq!([x.len(), y.len(), gx.len(), gy.len()], [cells; 4]);
        gx.iter_mut().for_each(|g| *g += 0.25);
        gy[3] -= 2.0;
        0.25 * x.iter().sum::<f64>() - 2.0 * y[3]
    });
    let bodies = charge.bodies();
    let gradient = |backend: &mut HostBackend<f64>| {
        backend.start(x, y).unwrap();
        let sample = backend.evaluate(&parameters).unwrap();
        let (mut gx, mut gy) = (vec![0.0; bodies], vec![0.0; bodies]);
        backend.read(PointVector::Gradient, &mut gx, &mut gy).unwrap();
        (sample, gx, gy)
    };
    let (own, own_x, own_y) = gradient(&mut plain);
    let (with, with_x, with_y) = gradient(&mut pulled);
    let close = |a: f64, b: f64| (a - b).abs() < 1e-9 * a.abs().max(1.0);
    for i in 0..bodies {
        let (dx, dy) = (if i < cells { 0.25 } else { 0.0 }, if i == 3 { -2.0 } else { 0.0 });
        assert!(close(with_x[i], own_x[i] + dx) && close(with_y[i], own_y[i] + dy), "{i}");
    }
    // The start is clamped into the die.
    let (mut at_x, mut at_y) = (vec![0.0; bodies], vec![0.0; bodies]);
    pulled.read(PointVector::Reference, &mut at_x, &mut at_y).unwrap();
    let value = 0.25 * at_x[..cells].iter().sum::<f64>() - 2.0 * at_y[3];
    assert!(own.terms == 0.0 && close(with.terms, value));
    assert_eq!((with.hpwl, with.wirelength), (own.hpwl, own.wirelength));
}
