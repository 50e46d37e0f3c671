//! The descent on a generated design, and its decisions on a scripted machine.

use placefield::charge::{Charge, ChargeOptions, Rectangles};
use placefield::cpu::engine::CpuEngine;
use placefield::design::{Design, Nets, NodeKind, Nodes, Orientation, Placement};
use placefield::engine::{
    Choice, DensityStats, Descriptor, EngineError, EngineOptions, MapKind, Pipeline,
};
use placefield::generate::{Spec, generate};
use placefield::grid::{BinGrid, Map, Rect};
use placefield::place::{
    Backend, Checkpoint, HostBackend, Outcome, PlaceError, PlaceOptions, Placer, PointVector,
    Sample, Schedule, StageSplit, Weights, schedule, start,
};
use placefield::wirelength::{LARGE_NET, Netlist};
use placefield::{Precision, Real};

/// A backend for a generated design of 1500 cells, and its centred start.
fn generated<T: Real>(threads: usize) -> (HostBackend<T>, [Vec<f64>; 2]) {
    let design = generate(&Spec::with_cells(1_500)).unwrap();
    let grid = BinGrid::new(design.die().unwrap(), 32, 32).unwrap();
    let options = ChargeOptions::default().fillers(true);
    let charge = Charge::from_design(&design, grid, &options).unwrap();
    let netlist = Netlist::from_design(&design, LARGE_NET).unwrap();
    let (x, y) = start::centred(&charge, 3);
    let engine_options = EngineOptions::default().threads(threads);
    let engine = CpuEngine::<T>::new(charge, &engine_options).unwrap();
    let backend = HostBackend::new(engine, &netlist).unwrap();
    (backend, [x, y])
}

fn place<T: Real>() -> (Outcome, Vec<f64>, [Vec<f64>; 2]) {
    let (mut backend, [x, y]) = generated::<T>(2);
    let options = PlaceOptions::default();
    let mut placer = Placer::new(&mut backend, &x, &y, &options).unwrap();
    let mut lengths = vec![placer.last().sample.hpwl];
    while let Some(record) = placer.step().unwrap() {
        lengths.push(record.sample.hpwl);
    }
    let (x, y) = placer.positions().unwrap();
    assert_eq!(placer.result_iteration(), lengths.len() - 1);
    (placer.outcome().unwrap(), lengths, [x, y])
}

#[test]
fn centred_starts_converge_alike_in_f32_and_f64() {
    let (outcome, single, [x, y]) = place::<f32>();
    assert_eq!(outcome, Outcome::Converged, "after {}", single.len());
    assert!(single.len() < 800, "{}", single.len());
    let (outcome, double, _) = place::<f64>();
    assert_eq!(outcome, Outcome::Converged);
    let (a, b) = (single[single.len() - 1], double[double.len() - 1]);
    assert!((a - b).abs() < 0.02 * b, "{} {a:e} and {b:e}", Precision::F32);
    let (backend, ..) = generated::<f32>(1);
    let charge = backend.charge();
    assert_eq!(charge.clipped_area(&x, &y).area, 0.0);
}

#[test]
fn a_nearly_spread_start_stays_near() {
    let (mut backend, [x, y]) = generated::<f32>(1);
    let options = PlaceOptions::default().stop_overflow(0.2);
    let mut placer = Placer::new(&mut backend, &x, &y, &options).unwrap();
    while placer.step().unwrap().is_some() {}
    let (x, y) = placer.positions().unwrap();
    let cold = *placer.last();
    let options = options.warm(true).stop_overflow(0.07);
    let mut placer = Placer::new(&mut backend, &x, &y, &options).unwrap();
    assert_eq!(placer.last().sample.hpwl, cold.sample.hpwl);
    while placer.step().unwrap().is_some() {}
    assert_eq!(placer.outcome(), Some(Outcome::Converged));
    assert!(placer.last().iteration < cold.iteration / 2, "{}", placer.last().iteration);
    // And what is spread enough hardly moves.
    let (x, y) = placer.positions().unwrap();
    let spread = placer.last().sample.hpwl;
    let mut placer = Placer::new(&mut backend, &x, &y, &options).unwrap();
    while placer.step().unwrap().is_some() {}
    assert_eq!(placer.outcome(), Some(Outcome::Converged));
    assert!(placer.last().iteration <= 60, "{}", placer.last().iteration);
    assert!(placer.last().sample.hpwl < 1.01 * spread);
}

#[test]
fn a_warm_start_is_as_free_as_asked() {
    let (mut backend, [x, y]) = generated::<f32>(1);
    let options = PlaceOptions::default().stop_overflow(0.2);
    let mut placer = Placer::new(&mut backend, &x, &y, &options).unwrap();
    while placer.step().unwrap().is_some() {}
    let (x, y) = placer.positions().unwrap();
    let mut first = |overflow: f64| {
        let options = options.warm(true).stop_overflow(0.07).warm_overflow(overflow);
        Placer::new(&mut backend, &x, &y, &options).unwrap().last().lambda
    };
    let [own, less, more, most] = [0.0, 0.1, 0.6, 1.0].map(&mut first);
    // An overflow below the start's own changes nothing.
    assert_eq!(own, less);
    let cold = options.schedule.density_weight;
    let ratio = most / more;
    assert!(more < own && (ratio / cold.powf(0.4) - 1.0).abs() < 1e-6, "{own} {more} {most}");
}

#[test]
fn a_checkpoint_goes_on_bit_for_bit() {
    let (mut backend, [x, y]) = generated::<f32>(2);
    let options = PlaceOptions::default();
    let mut placer = Placer::new(&mut backend, &x, &y, &options).unwrap();
    for _ in 0..60 {
        placer.step().unwrap();
    }
    let checkpoint = placer.checkpoint().unwrap();
    while placer.step().unwrap().is_some() {}
    let (whole, at) = (placer.last().sample, placer.positions().unwrap());
    let (mut backend, _) = generated::<f32>(1);
    let mut placer = Placer::resume(&mut backend, &checkpoint, &options).unwrap();
    assert_eq!(placer.last().iteration, 60);
    while placer.step().unwrap().is_some() {}
    assert_eq!((placer.last().sample, placer.outcome()), (whole, Some(Outcome::Converged)));
    assert!(placer.positions().unwrap() == at, "other positions");
}

#[test]
fn a_checkpoint_without_all_vectors_is_refused() {
    let (mut backend, [x, y]) = generated::<f32>(1);
    let options = PlaceOptions::default();
    let mut placer = Placer::new(&mut backend, &x, &y, &options).unwrap();
    let whole = placer.checkpoint().unwrap();
    let count = whole.vectors.len();
    let more = [&whole.vectors[..], &whole.vectors[..1]].concat();
    for vectors in [Vec::new(), whole.vectors[1..].to_vec(), more] {
        let want = format!("the checkpoint has {} vectors: expected {count}", vectors.len());
        let checkpoint = Checkpoint { vectors, ..whole.clone() };
        let error = Placer::resume(&mut backend, &checkpoint, &options).err().unwrap();
        assert_eq!(error.to_string(), want);
    }
    assert!(Placer::resume(&mut backend, &whole, &options).is_ok());
}

#[test]
fn options_outside_their_range_are_refused() {
    type Change = fn(&mut PlaceOptions, f64);
    let (finite, infinite) = ([f64::NAN, -1.0], f64::INFINITY);
    let changes: [(&str, Change, &str, &[f64]); 9] = [
        ("stop_overflow", |o, v| o.stop_overflow = v, "a number from 0 to 1", &finite),
        ("warm_overflow", |o, v| o.warm_overflow = v, "a number from 0 to 1", &[1.5, infinite]),
        (
            "density_weight",
            |o, v| o.schedule.density_weight = v,
            "a number from 1e-12 to 1e6",
            &[0.0],
        ),
        (
            "growth",
            |o, v| o.schedule.growth = v,
            "a number above 1 and at most 2",
            &[0.9, infinite],
        ),
        (
            "late_growth",
            |o, v| o.schedule.late_growth = v,
            "a number above 1 and at most 2",
            &finite,
        ),
        (
            "reference_rise",
            |o, v| o.schedule.reference_rise = v,
            "a number from 1e-12 to 1e6",
            &finite,
        ),
        ("momentum", |o, v| o.schedule.momentum = v, "a number from 0 to 1", &finite),
        ("pressure", |o, v| o.schedule.pressure = v, "a number from 1e-12 to 1e6", &[infinite]),
        ("gamma", |o, v| o.schedule.gamma = v, "a number from 1e-12 to 1e6", &[0.0, f64::NAN]),
    ];
    let (mut backend, [x, y]) = generated::<f32>(1);
    let options = PlaceOptions::default();
    let checkpoint = Placer::new(&mut backend, &x, &y, &options).unwrap().checkpoint().unwrap();
    for (name, change, expected, values) in changes {
        for &value in values {
            let mut options = PlaceOptions::default();
            change(&mut options, value);
            let want = format!("{name}: {value}: expected {expected}");
            let begun = Placer::new(&mut backend, &x, &y, &options).err().unwrap();
            assert_eq!(begun.to_string(), want);
            let resumed = Placer::resume(&mut backend, &checkpoint, &options).err().unwrap();
            assert_eq!(resumed.to_string(), want);
        }
    }
}

#[test]
fn without_a_preconditioner_cells_still_spread() {
    let (mut backend, [x, y]) = generated::<f64>(2);
    let options = PlaceOptions::default().precondition(false).stop_overflow(0.3);
    let mut placer = Placer::new(&mut backend, &x, &y, &options).unwrap();
    while placer.step().unwrap().is_some() {}
    assert_eq!(placer.outcome(), Some(Outcome::Converged), "{:?}", placer.last());
}

#[test]
fn nan_positions_show_in_the_sample() {
    let (mut backend, [x, y]) = generated::<f32>(1);
    let weights = Weights { gamma: 5.0, lambda: 1e-3, pin_factor: 1.0, area_factor: 1.0 };
    backend.start(&x, &y).unwrap();
    let good = backend.evaluate(&weights).unwrap();
    assert!(good.is_finite());
    for step in [f64::INFINITY, f64::NAN] {
        assert!(!backend.propose(step, 0.5, &weights).unwrap().is_finite());
    }
    // The point itself is as it was.
    assert_eq!(backend.evaluate(&weights).unwrap(), good);
    let bad: Vec<f64> = x.iter().map(|_| f64::NAN).collect();
    let error = Placer::new(&mut backend, &bad, &y, &PlaceOptions::default()).err().unwrap();
    assert!(error.to_string().contains("x of body 0: NaN"), "{error}");
}

#[test]
fn backend_calls_out_of_order_are_errors() {
    let (mut backend, [x, y]) = generated::<f64>(1);
    let weights = Weights { gamma: 5.0, lambda: 0.0, pin_factor: 1.0, area_factor: 1.0 };
    let text = |result: Result<(), EngineError>| result.unwrap_err().to_string();
    assert!(text(backend.evaluate(&weights).map(drop)).contains("before"));
    assert!(text(backend.keep()).contains("before"));
    assert!(text(backend.start(&x[1..], &y)).contains("x positions"));
    backend.start(&x, &y).unwrap();
    assert!(text(backend.propose(1.0, 0.0, &weights).map(drop)).contains("before"));
    backend.evaluate(&weights).unwrap();
    assert!(text(backend.accept()).contains("before a step was proposed"));
    let (mut to_x, mut to_y) = (x.clone(), y.clone());
    assert!(text(backend.read(PointVector::Best, &mut to_x, &mut to_y)).contains("kept"));
}

#[test]
fn kept_placement_outlasts_whatever_follows() {
    let (mut backend, [x, y]) = generated::<f64>(1);
    let weights = Weights { gamma: 5.0, lambda: 1e-3, pin_factor: 1.0, area_factor: 1.0 };
    let read = |backend: &mut HostBackend<f64>, held| {
        let (mut to_x, mut to_y) = (x.clone(), y.clone());
        backend.read(held, &mut to_x, &mut to_y).unwrap();
        [to_x, to_y]
    };
    let step = |backend: &mut HostBackend<f64>, accepted: bool| {
        backend.propose(0.1, 0.5, &weights).unwrap();
        if accepted {
            backend.accept().unwrap();
        }
    };
    backend.start(&x, &y).unwrap();
    backend.evaluate(&weights).unwrap();
    for _ in 0..2 {
        step(&mut backend, true);
        let want = read(&mut backend, PointVector::Reference);
        backend.keep().unwrap();
        for accepted in [false, true, false, true, true] {
            step(&mut backend, accepted);
            assert_eq!(read(&mut backend, PointVector::Best), want);
        }
        assert_ne!(read(&mut backend, PointVector::Reference), want);
    }
    // Also where v is overwritten from outside.
    backend.keep().unwrap();
    let want = read(&mut backend, PointVector::Reference);
    backend.write(PointVector::Reference, &y, &x).unwrap();
    assert_eq!(read(&mut backend, PointVector::Best), want);
    backend.keep().unwrap();
    let want = read(&mut backend, PointVector::Reference);
    backend.start(&x, &y).unwrap();
    assert_eq!(read(&mut backend, PointVector::Best), want);
    assert_ne!(read(&mut backend, PointVector::Reference), want);
    backend.write(PointVector::Best, &x, &y).unwrap();
    assert_eq!(read(&mut backend, PointVector::Best), [x.clone(), y.clone()]);
}

/// A machine that answers from a script and notes what it was asked.
struct Scripted {
    charge: Charge,
    netlist: Netlist,
    samples: Box<dyn Fn(usize) -> Sample>,
    /// Proposals that were accepted, and the number at which it kept its place.
    accepted: usize,
    kept: Vec<usize>,
    /// How often it was given a start.
    started: usize,
    /// Steps and λ of every proposal.
    asked: Vec<(f64, f64)>,
}

impl Scripted {
    /// `samples(k)` answers for the point after k accepted proposals.
    fn new(samples: impl Fn(usize) -> Sample + 'static) -> Self {
        let grid = BinGrid::new(Rect::at(0.0, 0.0, 8.0, 8.0), 8, 8).unwrap();
        let cells = Rectangles::movable(&[1.0], &[1.0], &[1.0], &[2.0]);
        let charge = Charge::from_rectangles(grid, &cells, &ChargeOptions::default()).unwrap();
        let samples = Box::new(samples);
        let (kept, asked) = (Vec::new(), Vec::new());
        Scripted { charge, netlist: a_net(), samples, accepted: 0, kept, started: 0, asked }
    }

    /// Steps until it ends.
    fn run(&mut self) -> (Outcome, usize, usize) {
        let mut placer = Placer::new(self, &[1.0], &[2.0], &PlaceOptions::default()).unwrap();
        while placer.step().unwrap().is_some() {}
        (placer.outcome().unwrap(), placer.last().iteration, placer.result_iteration())
    }
}

/// A net of weight 1 between a cell and a fixed node.
fn a_net() -> Netlist {
    let design = Design {
        nodes: Nodes {
            width: vec![1.0; 2],
            height: vec![1.0; 2],
            kind: vec![NodeKind::Movable, NodeKind::Fixed],
            ..Nodes::default()
        },
        placement: Placement {
            x: vec![1.0; 2],
            y: vec![2.0; 2],
            orientation: vec![Orientation::N; 2],
        },
        nets: Some(Nets {
            net_start: vec![0, 2],
            weight: vec![1.0],
            pin_node: vec![0, 1],
            pin_dx: vec![0.0; 2],
            pin_dy: vec![0.0; 2],
            ..Nets::default()
        }),
        ..Design::default()
    };
    Netlist::from_design(&design, Netlist::ALL).unwrap()
}

fn sample(hpwl: f64, overflow: f64) -> Sample {
    Sample {
        hpwl,
        wirelength: hpwl,
        terms: 0.0,
        density: DensityStats { overflow, max: 1.0 },
        energy: 1.0,
        wirelength_norm: 1.0,
        density_norm: 2.0,
        gradient_squared: 1.0,
        moved_squared: 1.0,
        changed_squared: 1.0,
    }
}

impl Backend for Scripted {
    fn charge(&self) -> &Charge {
        &self.charge
    }

    fn descriptor(&self) -> Descriptor {
        Descriptor { engine: "script", device: String::new() }
    }

    fn choice(&self) -> Choice {
        Choice { pipeline: Pipeline::Fused, reason: String::new() }
    }

    fn start(&mut self, _: &[f64], _: &[f64]) -> Result<(), EngineError> {
        self.started += 1;
        Ok(())
    }

    fn evaluate(&mut self, _: &Weights) -> Result<Sample, EngineError> {
        Ok((self.samples)(self.accepted))
    }

    fn propose(&mut self, step: f64, _: f64, w: &Weights) -> Result<Sample, EngineError> {
        self.asked.push((step, w.lambda));
        Ok((self.samples)(self.accepted + 1))
    }

    fn accept(&mut self) -> Result<(), EngineError> {
        self.accepted += 1;
        Ok(())
    }

    fn keep(&mut self) -> Result<(), EngineError> {
        self.kept.push(self.accepted);
        Ok(())
    }

    fn read(&mut self, _: PointVector, _: &mut [f64], _: &mut [f64]) -> Result<(), EngineError> {
        Ok(())
    }

    fn write(&mut self, _: PointVector, _: &[f64], _: &[f64]) -> Result<(), EngineError> {
        Ok(())
    }

    fn netlist(&self) -> &Netlist {
        &self.netlist
    }

    fn set_net_weights(&mut self, weights: &[f64]) -> Result<(), EngineError> {
        Ok(self.netlist.set_weights(weights)?)
    }

    fn read_map(&mut self, _: MapKind, _: &mut Map<f64>) -> Result<(), EngineError> {
        Ok(())
    }

    fn exact_density(&mut self, _: PointVector) -> Result<DensityStats, EngineError> {
        Ok(DensityStats::default())
    }

    fn times(&self) -> StageSplit {
        StageSplit::default()
    }
}

#[test]
fn nan_ends_the_descent_at_the_best_iterate() {
    let mut machine = Scripted::new(|k| match k {
        30 => Sample { gradient_squared: f64::NAN, ..sample(10.0, 0.5) },
        20.. => sample(10.0, 0.6),
        _ => sample(10.0, 0.9 - 0.01 * k as f64),
    });
    // Each time it is taken up again from the best, one step leads there again.
    assert_eq!(machine.run(), (Outcome::NotFinite, 33, 20));
    assert_eq!(machine.accepted, 29);
    assert_eq!(machine.kept.last(), Some(&20));
    assert_eq!(machine.started, 4, "the start, and three times the best");
}

/// `sample` where wires and density are in balance.
fn balanced(hpwl: f64, overflow: f64) -> Sample {
    let first = sample(hpwl, overflow);
    Sample { density_norm: 1e4 * first.density_norm, ..first }
}

/// `sample` where the density presses: λ is held from there on.
fn pressed(hpwl: f64, overflow: f64) -> Sample {
    Sample { density_norm: 1e7, ..sample(hpwl, overflow) }
}

#[test]
fn a_descent_that_leads_nowhere_has_diverged() {
    let mut machine = Scripted::new(|k| match k {
        0 => sample(10.0, 0.9),
        1..=40 => balanced(10.0, 0.9 - 0.01 * k as f64),
        _ => pressed(10.0 + k as f64, 0.8),
    });
    let (outcome, last, best) = machine.run();
    assert_eq!((outcome, best), (Outcome::Diverged, 40));
    assert!((120..300).contains(&last), "{last}");
    // Overflow that merely waits, while λ is in balance, is not.
    let mut machine = Scripted::new(|k| sample(10.0, if k < 400 { 0.9 } else { 0.05 }));
    assert_eq!(machine.run(), (Outcome::Converged, 400, 400));
    // Nor is one that rises at first, as from a given placement.
    let mut machine = Scripted::new(|k| match k {
        0 => sample(50.0, 0.2),
        1..=150 => balanced(50.0 - 0.2 * k as f64, 0.2 + 0.004 * k as f64),
        _ => balanced(20.0 + 0.2 * (k - 150) as f64, 0.8 - 0.005 * (k - 150) as f64),
    });
    let (outcome, last, _) = machine.run();
    assert!(outcome == Outcome::Converged && (295..=300).contains(&last), "{outcome:?} {last}");
}

#[test]
fn plateaus_keep_their_best_trade_off() {
    // Overflow creeps, at the price of wires that soon are worth more.
    let mut machine = Scripted::new(|k| match k {
        ..=60 => sample(10.0, 0.9 - 0.01 * k as f64),
        _ => pressed(10.0 * 1.01f64.powi(k as i32 - 60), 0.3 - 1e-5 * (k - 60) as f64),
    });
    let (outcome, last, best) = machine.run();
    assert_eq!(outcome, Outcome::Plateau);
    assert!((100..300).contains(&last), "{last}");
    assert!((60..=61).contains(&best), "{best}");
    // λ does not grow where the density presses: what was reached decides about it.
    let lambdas: Vec<f64> = machine.asked.iter().map(|a| a.1).collect();
    assert!(lambdas[lambdas.len() - 1] <= lambdas[62], "{lambdas:?}");
    // Where less overflow costs next to nothing it is the best.
    let mut machine = Scripted::new(|k| match k {
        ..=60 => sample(10.0, 0.9 - 0.01 * k as f64),
        61..=100 => pressed(10.0 + 1e-4 * k as f64, 0.3 - 0.005 * (k - 60) as f64),
        _ => pressed(11.0, 0.1),
    });
    let (outcome, _, best) = machine.run();
    assert_eq!((outcome, best), (Outcome::Plateau, 100));
}

#[test]
fn a_descent_at_rest_ends() {
    let mut machine = Scripted::new(|_| sample(10.0, 0.9));
    let (outcome, last, best) = machine.run();
    // Before wires and density are in balance no placement is better than another one.
    assert_eq!(outcome, Outcome::Plateau);
    assert!((150..300).contains(&best), "{best}");
    assert!((250..1000).contains(&last), "{last}");
}

#[test]
fn descents_end_after_the_given_iterations() {
    let mut machine = Scripted::new(|_| sample(10.0, 0.9));
    let options = PlaceOptions::default().iterations(50);
    let mut placer = Placer::new(&mut machine, &[1.0], &[2.0], &options).unwrap();
    while placer.step().unwrap().is_some() {}
    assert_eq!(placer.outcome(), Some(Outcome::OutOfIterations));
    assert_eq!((placer.last().iteration, placer.result_iteration()), (50, 0));
}

#[test]
fn lambda_grows_while_wirelength_stays() {
    let mut machine = Scripted::new(|k| sample(10.0, if k < 3 { 0.9 } else { 0.05 }));
    machine.run();
    // The trial, then three iterations; the weight first changes after the second.
    let lambdas: Vec<f64> = machine.asked.iter().map(|a| a.1).collect();
    let first = Schedule::default().density_weight / 2.0;
    let want = [first, first, first, 1.05 * first];
    assert!(lambdas.iter().zip(want).all(|(a, b)| (a - b).abs() < 1e-18), "{lambdas:?}");
}

#[test]
fn a_step_too_long_is_taken_back() {
    // The gradient always allows half of what is tried, so tries are spent.
    let mut machine = Scripted::new(|k| sample(10.0, if k < 1 { 0.9 } else { 0.05 }));
    let halving = std::cell::Cell::new(1.0_f64);
    machine.samples = Box::new(move |k| {
        halving.set(halving.get() / 2.0);
        let moved_squared = halving.get() * halving.get();
        Sample { moved_squared, ..sample(10.0, if k < 1 { 0.9 } else { 0.05 }) }
    });
    machine.run();
    let steps: Vec<f64> = machine.asked.iter().skip(1).take(10).map(|a| a.0).collect();
    assert_eq!(machine.asked[11].0, steps[9] / 2.0, "the next iteration begins there");
    assert!(steps.windows(2).all(|s| s[1] == s[0] / 2.0), "{steps:?}");
}

#[test]
fn the_densest_bin_limits_the_step() {
    // One cell of area 1 on bins of width 1; the gradient alone would allow steps of 1.
    let max = 1e5;
    let mut machine = Scripted::new(move |k| {
        let overflow = if k < 5 { 0.9 } else { 0.05 };
        Sample { density: DensityStats { overflow, max }, ..sample(10.0, overflow) }
    });
    machine.run();
    let after_the_first = &machine.asked[2..6];
    for (step, lambda) in after_the_first {
        let bound = 2.0 / ((max - 1.0) * lambda);
        assert!(bound < 0.6 && (step / bound - 1.0).abs() < 1e-12, "{step}, bound {bound}");
    }
}

#[test]
fn gamma_limits_the_step() {
    // The gradient alone would allow steps of 1e6.
    let mut machine = Scripted::new(|k| {
        let overflow = [0.9, 0.8, 0.5, 0.3, 0.05][k.min(4)];
        let of = if k == 0 { sample } else { balanced };
        Sample { moved_squared: 1e12, ..of(10.0, overflow) }
    });
    let base = schedule::base_gamma(
        &machine.charge.grid(),
        Schedule::default().gamma,
        schedule::pitch(&machine.charge),
    );
    machine.run();
    let after_the_first: Vec<f64> = machine.asked[2..5].iter().map(|a| a.0).collect();
    let want = [0.8, 0.5, 0.3].map(|overflow| 1.1 * base * schedule::gamma_factor(overflow));
    assert_eq!(after_the_first, want);
}

#[test]
fn nothing_to_place_is_an_error() {
    let mut machine = Scripted::new(|_| sample(0.0, 0.5));
    let grid = machine.charge.grid();
    machine.charge =
        Charge::from_rectangles(grid, &Rectangles::default(), &ChargeOptions::default()).unwrap();
    let error = Placer::new(&mut machine, &[1.0], &[2.0], &PlaceOptions::default()).err().unwrap();
    assert!(matches!(error, PlaceError::NothingMovable));
}
