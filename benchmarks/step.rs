//! A placer's step on the density side, on a device: density, potential, field
//! and forces, at the statistics of the eight ISPD 2005 designs with fillers
//! and DREAMPlace's bins.
//!
//! `cargo bench --bench step -- [FILE.json] [DESIGN…]`
//!
//! Designs are generated ([`placefield::generate`]), movable cells uniform over
//! the die or in their clustered start. Bodies are ordered, then each moves by a
//! Gaussian of 1.5 bins, as between two orderings. Everything stays in device
//! memory. A sample is the mean of 10 steps in a row; a number is the median of
//! 25 samples in five rounds that take turns between the pipelines, and the
//! spread is that of the rounds' medians. Times are milliseconds. They hold
//! density, solve and force, with the strays that the drift makes, and no ordering:
//! what one takes in the caller's order stands apart, with how many steps at this
//! drift pass until the engine finds that one is due (it orders after 256 in any
//! case). Beside them stands what Jiang et al. print for
//! potential and force per step of the contest's designs (f64, NVIDIA Titan Xp).
//! The step of every pipeline is density, its own solve, and the same force.

use placefield::charge::{Charge, ChargeOptions};
use placefield::cuda::internals::Spread;
use placefield::cuda::{self, CudaEngine, CudaError, CudaReal, DeviceInfo, Gpu, Graph, probe};
use placefield::engine::{
    Engine, EngineError, EngineOptions, GradientOptions, Layout, Pipeline, StepTimes, Timed,
};
use placefield::generate::{Spec, generate};
use placefield::grid::BinGrid;
use placefield::paper::bench::{DESIGNS, Design};
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Normal};
use rand_pcg::Pcg64Mcg;
use serde::Serialize;
use std::error::Error;
use std::process::ExitCode;
use std::time::Instant;

const ROUNDS: usize = 5;
const SAMPLES: usize = 5;
/// Standard deviation of what a body moves after it was ordered, in bins.
const DRIFT: f64 = 1.5;

#[derive(Serialize)]
struct Row {
    design: &'static str,
    movable: usize,
    fillers: usize,
    bins: usize,
    start: &'static str,
    precision: &'static str,
    pipeline: Pipeline,
    path: &'static str,
    arrangement: &'static str,
    step_graph_ms: Spread,
    step_plain_ms: Spread,
    solve_graph_ms: Spread,
    solve_plain_ms: Spread,
    strays: u64,
    ordering_ms: f64,
    steps_per_order: u32,
    paper_ms: Option<f64>,
}

#[derive(Serialize)]
struct Report {
    device: DeviceInfo,
    driver: Option<(i32, i32)>,
    rounds: usize,
    samples_per_round: usize,
    steps_per_sample: usize,
    drift_bins: f64,
    rows: Vec<Row>,
}

fn main() -> ExitCode {
    let arguments = std::env::args().skip(1).filter(|a| a != "--bench");
    let (names, files): (Vec<_>, Vec<_>) =
        arguments.partition(|a| DESIGNS.iter().any(|design| design.name == a));
    match run(&names, files.first().map(String::as_str)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("step: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(names: &[String], file: Option<&str>) -> Result<(), Box<dyn Error>> {
    let gpu = Gpu::open(0)?;
    println!("{}; ms per step (density, solve, force) as a graph", gpu.info().name);
    println!(
        "{:<9} {:<9} {:<4} {:<7} {:>9} {:>9} {:>10} | {:>6} {:>6} | {:>9} {:>5} | paper {:>6} \
         {:>6}",
        "design",
        "start",
        "",
        "order",
        "row-col",
        "fused",
        "three-pass",
        "rc/f",
        "rc/3",
        "ordering",
        "every",
        "r-c",
        "fused"
    );
    let mut rows = Vec::new();
    for &Design { name: design, bins, .. } in &DESIGNS {
        if !names.is_empty() && !names.iter().any(|n| n == design) {
            continue;
        }
        let charge = charge_of(design, bins)?;
        for start in ["uniform", "clustered"] {
            measure::<f32>(&gpu, &charge, design, start, &mut rows)?;
            measure::<f64>(&gpu, &charge, design, start, &mut rows)?;
        }
    }
    if let Some(file) = file {
        let report = Report {
            device: gpu.info().clone(),
            driver: probe().driver_version,
            rounds: ROUNDS,
            samples_per_round: SAMPLES,
            steps_per_sample: 10,
            drift_bins: DRIFT,
            rows,
        };
        std::fs::write(file, serde_json::to_string_pretty(&report)?)?;
    }
    Ok(())
}

/// The generated design's charge; its nets play no part and are not made.
fn charge_of(design: &str, bins: usize) -> Result<Charge, Box<dyn Error>> {
    let design = generate(&Spec { nets: 0, pins: 0, ..Spec::preset(design)? })?;
    let die = design.die().ok_or("no rows")?;
    let options = ChargeOptions::default().fillers(true);
    Ok(Charge::from_design(&design, BinGrid::new(die, bins, bins)?, &options)?)
}

/// Where the bodies are ordered, and where they have moved to since.
fn positions<T: CudaReal>(charge: &Charge, start: &str) -> [[Vec<T>; 2]; 2] {
    let die = charge.grid().die();
    let mut random = Pcg64Mcg::seed_from_u64(7);
    let mut along = |initial: &[f64], size: &[f64], low: f64, high: f64, bin: f64| {
        let drift = Normal::new(0.0, DRIFT * bin).expect("a positive deviation");
        let mut at = initial.to_vec();
        if start == "uniform" {
            for i in 0..charge.movable() {
                at[i] = low + (high - low - size[i]) * random.random::<f64>();
            }
        }
        let inside = |i: usize, value: f64| T::cast(value.min(high - size[i]).max(low));
        let moved: Vec<T> =
            (0..at.len()).map(|i| inside(i, at[i] + drift.sample(&mut random))).collect();
        (at.into_iter().map(T::cast).collect::<Vec<T>>(), moved)
    };
    let (x, moved_x) =
        along(charge.initial_x(), charge.width(), die.xl, die.xh, charge.grid().bin_x());
    let (y, moved_y) =
        along(charge.initial_y(), charge.height(), die.yl, die.yh, charge.grid().bin_y());
    [[x, y], [moved_x, moved_y]]
}

fn measure<T: CudaReal>(
    gpu: &Gpu,
    charge: &Charge,
    design: &'static str,
    start: &'static str,
    rows: &mut Vec<Row>,
) -> Result<(), Box<dyn Error>> {
    let mut engine = CudaEngine::<T>::on(gpu, charge.clone(), &EngineOptions::default())?;
    let [[x, y], [moved_x, moved_y]] = positions::<T>(charge, start);
    engine.set_positions(&x, &y)?;
    let ordering_ms = engine.order_time(SAMPLES)?;
    let steps_per_order = steps_until_due(&mut engine, [&x, &y], [&moved_x, &moved_y])?;
    let first = rows.len();
    for (in_slots, name) in [(false, "caller"), (true, "slots")] {
        // Slots keep the order made here.
        engine.set_positions(&x, &y)?;
        engine.order_time(1)?;
        engine.use_slots(in_slots)?;
        engine.evaluate(&moved_x, &moved_y)?;
        let mut times = [const { Vec::<StepTimes>::new() }; Pipeline::ALL.len()];
        for _ in 0..ROUNDS {
            for (pipeline, times) in Pipeline::ALL.into_iter().zip(&mut times) {
                times.extend(engine.step_times(pipeline, SAMPLES)?);
            }
        }
        for (pipeline, times) in Pipeline::ALL.into_iter().zip(&times) {
            let spread =
                |value: fn(&StepTimes) -> f64| Spread::of(times.iter().map(value).collect());
            let paper = DESIGNS.iter().find(|printed| printed.name == design);
            rows.push(Row {
                design,
                movable: charge.movable(),
                fillers: charge.fillers(),
                bins: charge.grid().nx(),
                start,
                precision: T::PRECISION.name(),
                pipeline,
                path: engine.path(pipeline),
                arrangement: name,
                step_graph_ms: spread(|t| t.step_graph),
                step_plain_ms: spread(|t| t.step_plain),
                solve_graph_ms: spread(|t| t.solve_graph),
                solve_plain_ms: spread(|t| t.solve_plain),
                strays: engine.outside_halo(),
                ordering_ms,
                steps_per_order,
                paper_ms: match pipeline {
                    Pipeline::RowColumn => paper.map(|p| p.row_column),
                    Pipeline::Fused => paper.map(|p| p.fused),
                    _ => None,
                },
            });
        }
    }
    print(&rows[first..]);
    arrays::<T>(gpu, charge, [&x, &y], [&moved_x, &moved_y])
}

/// Prints what a step takes that reads and writes arrays of the caller's on the device, by the
/// pipeline that is fastest: launches, and one graph, microseconds; and the host's share of the
/// launches.
fn arrays<T: CudaReal>(
    gpu: &Gpu,
    charge: &Charge,
    start: [&[T]; 2],
    moved: [&[T]; 2],
) -> Result<(), Box<dyn Error>> {
    for layout in [Layout::Halves, Layout::Pairs] {
        let array = |[x, y]: [&[T]; 2]| -> Vec<T> {
            match layout {
                Layout::Halves => [x, y].concat(),
                Layout::Pairs => x.iter().zip(y).flat_map(|(&x, &y)| [x, y]).collect(),
            }
        };
        let mut engine = CudaEngine::<T>::on(gpu, charge.clone(), &EngineOptions::default())?;
        let (start, moved) = (gpu.upload(&array(start))?, gpu.upload(&array(moved))?);
        let mut gradient = gpu.zeros(moved.len())?;
        let options = GradientOptions::default().layout(layout).accumulate(true);
        engine.enqueue_energy(layout, &start)?;
        let mut step = |engine: &mut CudaEngine<T>| -> Result<(), EngineError> {
            engine.enqueue_energy(layout, &moved)?;
            engine.enqueue_gradient(&options, None, &mut gradient)
        };
        step(&mut engine)?;
        // SAFETY: what is captured lives until the last launch is over.
        let mut graph = unsafe { Graph::capture::<EngineError>(gpu, || step(&mut engine)) }?;
        let median = |run: &mut dyn FnMut() -> Result<(), CudaError>| {
            cuda::internals::measure(gpu, ROUNDS * SAMPLES, 10, run).map(|time| time.median)
        };
        let replayed = median(&mut || graph.launch())?;
        let launched = median(&mut || {
            step(&mut engine).map_err(|_| CudaError::NotOrdered) // as any other
        })?;
        let begin = Instant::now();
        (0..100).try_for_each(|_| step(&mut engine))?;
        let host = begin.elapsed().as_secs_f64() * 1e4;
        gpu.synchronize()?;
        println!(
            "  {layout:?} of the caller's, {}: {launched:.1} us, as a graph {replayed:.1}; \
             host {host:.1}",
            T::PRECISION.name()
        );
    }
    Ok(())
}

/// Steps at `moved` until bodies ordered at `start` are to be ordered anew.
fn steps_until_due<T: CudaReal>(
    engine: &mut CudaEngine<T>,
    start: [&[T]; 2],
    moved: [&[T]; 2],
) -> Result<u32, Box<dyn Error>> {
    engine.evaluate(start[0], start[1])?;
    // In slots it is the caller who orders.
    engine.use_slots(true)?;
    engine.set_positions(moved[0], moved[1])?;
    let mut steps = 0;
    while !engine.order_is_due() {
        engine.evaluate_on_device()?;
        steps += 1;
    }
    Ok(steps)
}

/// One line per arrangement of a design, start and precision.
fn print(rows: &[Row]) {
    for sides in rows.chunks_exact(Pipeline::ALL.len()) {
        let [row_column, fused, three_pass] = sides else { return };
        let time = |row: &Row| row.step_graph_ms.median;
        println!(
            "{:<9} {:<9} {:<4} {:<7} {:>9.4} {:>9.4} {:>10.4} | {:>6.2} {:>6.2} | {:>9.4} {:>5} | \
             paper {:>6.2} {:>6.2}",
            fused.design,
            fused.start,
            fused.precision,
            fused.arrangement,
            time(row_column),
            time(fused),
            time(three_pass),
            time(row_column) / time(fused),
            time(row_column) / time(three_pass),
            fused.ordering_ms,
            fused.steps_per_order,
            row_column.paper_ms.unwrap_or(f64::NAN),
            fused.paper_ms.unwrap_or(f64::NAN)
        );
    }
}
