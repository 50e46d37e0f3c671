//! The CPU engine's stages at the statistics of the ISPD 2005 designs.
//!
//! `cargo bench --bench cpu -- [--json FILE] [--threads N[,N…]] [--repetitions N] [DESIGN…]`
//!
//! Designs are generated ([`placefield::generate`]) with fillers and DREAMPlace's
//! bins, movable cells uniform over the die. Before every step all bodies move by
//! half a bin or so, to and fro. Timed, in milliseconds:
//!
//! * density: positions in (as the engine takes them), ρ and overflow out;
//! * exact: overflow of the cells at their exact sizes;
//! * solve: φ, Ex and Ey by the three-pass pipeline;
//! * force: on every body, in the caller's order;
//! * step: density, solve and force;
//! * wirelength: weighted average and gradient of every net;
//! * hpwl: HPWL of the design, in `f64` whatever the precision
//!   ([`Design::hpwl`](placefield::design::Design::hpwl)).
//!
//! A number is the median of the repetitions; the least of them stands beside it,
//! which other work on the machine disturbs less.

mod harness;

use placefield::Real;
use placefield::charge::{Charge, ChargeOptions};
use placefield::cpu::engine::{CpuEngine, thread_pool};
use placefield::cpu::wirelength::CpuWirelength;
use placefield::engine::{Engine, EngineOptions, Pipeline};
use placefield::generate::{Spec, generate};
use placefield::grid::BinGrid;
use placefield::paper::bench::{DESIGNS, Design};
use placefield::wirelength::{LARGE_NET, Netlist};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use serde::Serialize;
use std::time::Instant;

const STAGES: [&str; 7] = ["density", "exact", "solve", "force", "step", "wirelength", "hpwl"];

#[derive(Serialize)]
struct Row {
    design: &'static str,
    bodies: usize,
    pins: usize,
    /// Pins of the design; `pins` leaves out nets that no movement changes.
    all_pins: usize,
    bins: usize,
    precision: &'static str,
    threads: usize,
    /// By stage: median and least milliseconds.
    stages: Vec<(&'static str, f64, f64)>,
}

#[derive(Serialize)]
struct Results {
    machine: String,
    timed: &'static str,
    repetitions: usize,
    rows: Vec<Row>,
}

fn main() {
    let mut arguments = std::env::args().skip(1).filter(|a| a != "--bench");
    let (mut threads, mut repetitions, mut names) = (vec![1, 2], 9, Vec::new());
    if let Some(list) = harness::option("--threads") {
        threads = list.split(',').map(|n| n.parse().expect("a number of threads")).collect();
    }
    if let Some(count) = harness::option("--repetitions") {
        repetitions = count.parse().expect("a number of repetitions");
    }
    while let Some(argument) = arguments.next() {
        if argument.starts_with("--") {
            arguments.next();
        } else {
            names.push(argument);
        }
    }
    let mut rows = Vec::new();
    for &Design { name: design, bins, .. } in &DESIGNS {
        if !names.is_empty() && !names.iter().any(|n| n == design) {
            continue;
        }
        let made = generate(&Spec::preset(design).expect("a preset")).expect("a design");
        let (charge, netlist) = (charge_of(&made, bins), netlist_of(&made));
        for &threads in &threads {
            rows.push(measure::<f32>(design, &made, &charge, &netlist, threads, repetitions));
            rows.push(measure::<f64>(design, &made, &charge, &netlist, threads, repetitions));
        }
    }
    harness::save(&Results {
        machine: harness::machine(),
        timed: "positions in caller's order to maps and forces; median and least of repetitions",
        repetitions,
        rows,
    });
}

fn charge_of(design: &placefield::design::Design, bins: usize) -> Charge {
    let grid = BinGrid::new(design.die().expect("rows"), bins, bins).expect("bins");
    Charge::from_design(design, grid, &ChargeOptions::default().fillers(true)).expect("a charge")
}

fn netlist_of(design: &placefield::design::Design) -> Netlist {
    Netlist::from_design(design, LARGE_NET).expect("a netlist")
}

fn measure<T: Real>(
    design: &'static str,
    made: &placefield::design::Design,
    charge: &Charge,
    netlist: &Netlist,
    threads: usize,
    repetitions: usize,
) -> Row {
    let grid = charge.grid();
    let die = grid.die();
    let mut random = Pcg64Mcg::seed_from_u64(7);
    let mut uniform = |low: f64, high: f64, size: &[f64]| -> Vec<T> {
        size.iter()
            .map(|s| T::cast(low + (high - low - s).max(0.0) * random.random::<f64>()))
            .collect()
    };
    let mut x = uniform(die.xl, die.xh, charge.width());
    let mut y = uniform(die.yl, die.yh, charge.height());
    let options = EngineOptions::default().threads(threads);
    let mut engine = CpuEngine::<T>::new(charge.clone(), &options).expect("an engine");
    let pool = thread_pool(threads).expect("threads");
    let mut wirelength = CpuWirelength::<T>::new(netlist, charge.origin());
    let (mut gx, mut gy) = (vec![T::zero(); x.len()], vec![T::zero(); x.len()]);
    let gamma = 4.0 * grid.bin_x();
    let mut times = [const { Vec::new() }; STAGES.len()];
    for repetition in 0..repetitions + 2 {
        let shift = if repetition % 2 == 0 { 0.6 } else { -0.5 };
        let (dx, dy) = (T::cast(shift * grid.bin_x()), T::cast(-shift * grid.bin_y()));
        x.iter_mut().for_each(|v| *v += dx);
        y.iter_mut().for_each(|v| *v += dy);
        let density = time(|| {
            engine.set_positions(&x, &y).expect("finite positions");
            engine.compute_density().expect("positions are set");
        });
        let exact = time(|| _ = engine.exact_density().expect("positions are set"));
        let solve = time(|| _ = engine.solve(Pipeline::ThreePass).expect("a density"));
        let force = time(|| engine.compute_force().expect("fields"));
        let wire = time(|| {
            pool.install(|| wirelength.evaluate(&x, &y, gamma, &mut gx, &mut gy))
                .expect("finite positions");
        });
        let hpwl = time(|| _ = pool.install(|| std::hint::black_box(made.hpwl())));
        let run = [density, exact, solve, force, density + solve + force, wire, hpwl];
        if repetition >= 2 {
            times.iter_mut().zip(run).for_each(|(all, one)| all.push(one));
        }
    }
    let stages: Vec<_> = STAGES
        .into_iter()
        .zip(times)
        .map(|(stage, mut times)| {
            times.sort_by(f64::total_cmp);
            (stage, times[times.len() / 2], times[0])
        })
        .collect();
    let row = Row {
        design,
        bodies: charge.bodies(),
        pins: netlist.pins(),
        all_pins: made.nets.as_ref().map_or(0, |nets| nets.pins()),
        bins: grid.nx(),
        precision: T::PRECISION.name(),
        threads,
        stages,
    };
    print!("{design} {} {}² {} {threads} threads:", row.bodies, row.bins, row.precision);
    for (stage, median, least) in &row.stages {
        print!(" {stage} {median:.2} ({least:.2})");
    }
    println!();
    row
}

fn time(work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_secs_f64() * 1e3
}
