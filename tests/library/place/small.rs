//! Small designs of all kinds: every placement ends where it should, with a result to rely on.

use placefield::charge::{Charge, ChargeOptions};
use placefield::cpu::engine::CpuEngine;
use placefield::design::Design;
use placefield::engine::EngineOptions;
use placefield::generate::{Spec, generate};
use placefield::grid::BinGrid;
use placefield::place::{
    HostBackend, Outcome, PlaceOptions, Placer, Record, default_bins, limits, start,
};
use placefield::wirelength::Netlist;
use proptest::prelude::*;

struct Placed {
    charge: Charge,
    outcome: Outcome,
    records: Vec<Record>,
    result: Record,
    at: [Vec<f64>; 2],
}

fn place(design: &Design, target: f64, stop: f64, warm: bool) -> Placed {
    let [nx, ny] = default_bins(design, design.die().unwrap(), target);
    let grid = BinGrid::new(design.die().unwrap(), nx, ny).unwrap();
    let options = ChargeOptions::default().fillers(true).target_density(target);
    let charge = Charge::from_design(design, grid, &options).unwrap();
    let netlist = Netlist::from_design(design, Netlist::ALL).unwrap();
    let engine =
        CpuEngine::<f32>::new(charge.clone(), &EngineOptions::default().threads(1)).unwrap();
    let mut backend = HostBackend::new(engine, &netlist).unwrap();
    let (x, y) = match warm {
        true => (charge.initial_x().to_vec(), charge.initial_y().to_vec()),
        false => start::centred(&charge, 5),
    };
    let options = PlaceOptions::default().warm(warm).stop_overflow(stop);
    let mut placer = Placer::new(&mut backend, &x, &y, &options).unwrap();
    let mut records = vec![*placer.last()];
    while let Some(record) = placer.step().unwrap() {
        records.push(*record);
    }
    let (x, y) = placer.positions().unwrap();
    let result = records[placer.result_iteration()];
    Placed { outcome: placer.outcome().unwrap(), records, result, at: [x, y], charge }
}

/// Properties of every placement, however it ended.
fn check(placed: &Placed, stop: f64) {
    let Placed { charge, outcome, records, result, at: [x, y] } = placed;
    let (overflow, hpwl) = (result.sample.density.overflow, result.sample.hpwl);
    assert_eq!(charge.clipped_area(x, y).area, 0.0, "cells are inside the die");
    assert_eq!(*outcome == Outcome::Converged, overflow <= stop, "{outcome:?} at {overflow}");
    for record in records {
        let sample = record.sample;
        let better = sample.density.overflow <= overflow && 1.03 * sample.hpwl < hpwl;
        assert!(!better, "iteration {} was better than the result", record.iteration);
    }
}

proptest! {
    #![proptest_config(
        ProptestConfig { cases: 16, failure_persistence: None, ..Default::default() }
    )]

    #[test]
    fn small_designs_converge(
        cells in 2u64..300,
        utilisation in 0.3f64..0.9,
        macros in 0u64..4,
        pads in any::<bool>(),
        warm in any::<bool>(),
        seed in 0u64..1000,
    ) {
        let mut spec = Spec::with_cells(cells).seeded(seed);
        spec.utilisation = utilisation;
        spec.macros = macros;
        let macro_share = if macros > 0 { 0.4 } else { 0.0 };
        spec.density = utilisation + macro_share * (1.0 - utilisation);
        if !pads {
            spec.pads = 0;
        }
        spec.nets = spec.nets.max(spec.nodes());
        spec.pins = spec.pins.max(spec.nets).min(spec.nets * spec.nodes());
        // There are pins that no netlist of so many nodes can have.
        let design = generate(&spec);
        prop_assume!(design.is_ok());
        let design = design.unwrap();
        let placed = place(&design, 1.0, 0.07, warm);
        check(&placed, 0.07);
        // A placement that does not converge stopped for a reason that holds for it, never by
        // diverging.
        let last = placed.records.last().unwrap().sample.density.overflow;
        prop_assert!(
            matches!(placed.outcome, Outcome::Converged | Outcome::Plateau),
            "{:?} at {last}, {spec:?}", placed.outcome
        );
    }
}

/// Twelve cells in sixteen bins oscillate about the centre as long as the density pulls at none of
/// them: that is not to hold its weight back.
#[test]
fn oscillating_wires_do_not_hold_lambda_back() {
    let mut spec = Spec::with_cells(12).seeded(46);
    (spec.utilisation, spec.macros, spec.density) = (0.5194646291810278, 3, 0.7116787775086166);
    spec.nets = spec.nets.max(spec.nodes());
    spec.pins = spec.pins.max(spec.nets).min(spec.nets * spec.nodes());
    let placed = place(&generate(&spec).unwrap(), 1.0, 0.07, false);
    check(&placed, 0.07);
    assert_eq!(placed.outcome, Outcome::Converged);
}

#[test]
fn overfull_designs_end_on_a_plateau() {
    let mut spec = Spec::with_cells(200).seeded(4);
    (spec.utilisation, spec.density, spec.macros) = (0.9, 0.9, 0);
    let mut design = generate(&spec).unwrap();
    // A third more area than there is room.
    for i in design.movable().collect::<Vec<_>>() {
        design.nodes.width[i] *= 1.5;
    }
    let placed = place(&design, 1.0, 0.07, false);
    check(&placed, 0.07);
    assert_eq!(placed.outcome, Outcome::Plateau);
    let least = limits::least_overflow(&placed.charge);
    let reached = placed.result.sample.density.overflow;
    assert!(least > 0.2 && reached > 0.9 * least, "{reached}, {least} at least");
    let [x, y] = &placed.at;
    let limit = limits::limit(&placed.charge, x, y).unwrap();
    assert!(limit.contains("more than the space"), "{limit}");
}

#[test]
fn little_overflow_does_not_ruin_the_wires() {
    let design = generate(&Spec::with_cells(400).seeded(2)).unwrap();
    let rough = place(&design, 1.0, 0.07, false);
    let fine = place(&design, 1.0, 0.001, false);
    check(&fine, 0.001);
    let (rough, fine) = (rough.result.sample, fine.result.sample);
    assert!(fine.density.overflow < 0.5 * rough.density.overflow, "{}", fine.density.overflow);
    assert!(fine.hpwl < 1.2 * rough.hpwl, "{:e} for {:e}", fine.hpwl, rough.hpwl);
}
