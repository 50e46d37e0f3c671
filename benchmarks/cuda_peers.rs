//! A whole step (density, solve, force) on several devices beside one device.
//!
//! `cargo bench --bench cuda_peers -- [FILE.json] [DESIGN[xK]…]`
//!
//! Designs have the statistics of an ISPD 2005 design; `bigblue4x2` is that design four times, two
//! along each axis, with twice the bins along each. Movable cells start in clusters, fillers
//! everywhere. Bodies are ordered, then each moves by a Gaussian of 1.5 bins, as between two
//! orderings. Everything stays in device memory, bodies are not divided or ordered anew, and forces
//! come in each device's order of bodies. A step is a graph for each device; a number is the median
//! over samples of 10 steps in a row, milliseconds, one device and several in turn, three rounds.

use placefield::charge::{Charge, ChargeOptions, Rectangles};
use placefield::cuda::internals::Spread;
use placefield::cuda::{CudaEngine, CudaReal, DeviceInfo, Peers, probe};
use placefield::engine::{EngineOptions, Pipeline, Timed};
use placefield::generate::{Spec, generate};
use placefield::grid::{BinGrid, Rect};
use placefield::paper::bench::DESIGNS;
use rand::SeedableRng;
use rand_distr::{Distribution, Normal};
use rand_pcg::Pcg64Mcg;
use serde::Serialize;
use std::error::Error;
use std::process::ExitCode;

const ROUNDS: usize = 3;
const SAMPLES: usize = 5;
/// Standard deviation of what a body moves after it was ordered, in bins.
const DRIFT: f64 = 1.5;

#[derive(Serialize)]
struct Row {
    design: String,
    movable: usize,
    fillers: usize,
    bins: usize,
    precision: &'static str,
    /// The engine of one device, or that of several.
    engine: &'static str,
    devices: usize,
    step_ms: Spread,
    solve_ms: Spread,
    overflow: f64,
}

#[derive(Serialize)]
struct Report {
    devices: Vec<DeviceInfo>,
    drift_bins: f64,
    rows: Vec<Row>,
}

fn main() -> ExitCode {
    let mut arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let file = arguments.iter().position(|a| a.ends_with(".json")).map(|i| arguments.remove(i));
    if arguments.is_empty() {
        arguments = ["adaptec1", "bigblue2", "bigblue4", "bigblue4x2"].map(String::from).to_vec();
    }
    match run(&arguments, file) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("cuda_peers: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(names: &[String], file: Option<String>) -> Result<(), Box<dyn Error>> {
    let devices = probe().devices;
    println!("{} devices: {}", devices.len(), devices.first().map_or("none", |d| &d.name));
    let mut rows = Vec::new();
    for name in names {
        let charge = charge_of(name)?;
        measure::<f32>(devices.len(), name, &charge, &mut rows)?;
        measure::<f64>(devices.len(), name, &charge, &mut rows)?;
    }
    if let Some(file) = file {
        let report = Report { devices, drift_bins: DRIFT, rows };
        std::fs::write(file, serde_json::to_string_pretty(&report)?)?;
    }
    Ok(())
}

/// The generated design's charge, K times along each axis; nets play no part and are not made.
fn charge_of(name: &str) -> Result<Charge, Box<dyn Error>> {
    let (preset, copies) = match name.rsplit_once('x') {
        Some((preset, copies)) if copies.parse::<usize>().is_ok() => (preset, copies.parse()?),
        _ => (name, 1),
    };
    let printed = DESIGNS.iter().find(|d| d.name == preset).ok_or("no such design")?;
    let design = generate(&Spec { nets: 0, pins: 0, ..Spec::preset(preset)? })?;
    let die = design.die().ok_or("no rows")?;
    let bins = printed.bins * copies;
    let side = |low: f64, length: f64| low + length * copies as f64;
    let whole = Rect { xh: side(die.xl, die.width()), yh: side(die.yl, die.height()), ..die };
    let options = ChargeOptions::default().fillers(true);
    let grid = BinGrid::new(whole, bins, bins)?;
    if copies == 1 {
        return Ok(Charge::from_design(&design, grid, &options)?);
    }
    let one = Charge::from_design(&design, BinGrid::new(die, 1, 1)?, &ChargeOptions::default())?;
    let shifts: Vec<(f64, f64)> = (0..copies * copies)
        .map(|k| ((k / copies) as f64 * die.width(), (k % copies) as f64 * die.height()))
        .collect();
    let all = |of: &[f64], shift: fn(&(f64, f64)) -> f64| -> Vec<f64> {
        shifts.iter().flat_map(|by| of.iter().map(move |v| v + shift(by))).collect()
    };
    let (width, height) = (all(one.width(), |_| 0.0), all(one.height(), |_| 0.0));
    let (x, y) = (all(one.initial_x(), |by| by.0), all(one.initial_y(), |by| by.1));
    let mut moves = vec![false; design.nodes.len()];
    design.movable().for_each(|i| moves[i] = true);
    let fixed: Vec<Rect> = shifts
        .iter()
        .flat_map(|&(x, y)| {
            let shifted =
                move |r: Rect| Rect { xl: r.xl + x, yl: r.yl + y, xh: r.xh + x, yh: r.yh + y };
            let nodes = (0..design.nodes.len()).filter(|&i| !moves[i]);
            nodes.map(|i| design.rect(i)).map(shifted).collect::<Vec<_>>()
        })
        .collect();
    let row_height = design.row_height().ok_or("no rows")?;
    let cells = Rectangles::movable(&width, &height, &x, &y).fixed(&fixed).row_height(row_height);
    Ok(Charge::from_rectangles(grid, &cells, &options)?)
}

/// Where the bodies are ordered, and where they have moved to since.
fn positions<T: CudaReal>(charge: &Charge) -> [[Vec<T>; 2]; 2] {
    let die = charge.grid().die();
    let mut random = Pcg64Mcg::seed_from_u64(7);
    let mut along = |at: &[f64], size: &[f64], low: f64, high: f64, bin: f64| {
        let drift = Normal::new(0.0, DRIFT * bin).expect("a positive deviation");
        let inside = |i: usize, value: f64| T::cast(value.min(high - size[i]).max(low));
        let moved: Vec<T> =
            (0..at.len()).map(|i| inside(i, at[i] + drift.sample(&mut random))).collect();
        (at.iter().map(|&v| T::cast(v)).collect::<Vec<T>>(), moved)
    };
    let (x, moved_x) =
        along(charge.initial_x(), charge.width(), die.xl, die.xh, charge.grid().bin_x());
    let (y, moved_y) =
        along(charge.initial_y(), charge.height(), die.yl, die.yh, charge.grid().bin_y());
    [[x, y], [moved_x, moved_y]]
}

fn measure<T: CudaReal>(
    devices: usize,
    design: &str,
    charge: &Charge,
    rows: &mut Vec<Row>,
) -> Result<(), Box<dyn Error>> {
    let options = EngineOptions::default();
    let [[x, y], [moved_x, moved_y]] = positions::<T>(charge);
    let mut sides: Vec<(&'static str, usize, Box<dyn Timed<T>>)> =
        vec![("one", 1, Box::new(CudaEngine::<T>::new(charge.clone(), &options, 0)?))];
    for count in 2..=devices {
        let peers = Peers::open(&(0..count).collect::<Vec<_>>())?;
        let engine = CudaEngine::<T>::on_peers(&peers, charge.clone(), &options)?;
        sides.push(("several", count, Box::new(engine)));
    }
    let mut times = vec![(Vec::new(), Vec::new()); sides.len()];
    let mut overflow = Vec::new();
    for (_, _, engine) in &mut sides {
        engine.evaluate(&x, &y)?; // orders them here
        overflow.push(engine.evaluate(&moved_x, &moved_y)?.density.overflow);
    }
    for _ in 0..ROUNDS {
        for ((_, _, engine), (steps, solves)) in sides.iter_mut().zip(&mut times) {
            let found = engine.step_times(Pipeline::ThreePass, SAMPLES)?.ok_or("no times")?;
            steps.push(found.step_graph);
            solves.push(found.solve_graph);
        }
    }
    for (((engine, devices, _), (steps, solves)), overflow) in sides.iter().zip(times).zip(overflow)
    {
        let row = Row {
            design: design.to_owned(),
            movable: charge.movable(),
            fillers: charge.fillers(),
            bins: charge.grid().nx(),
            precision: T::PRECISION.name(),
            engine,
            devices: *devices,
            step_ms: Spread::of(steps),
            solve_ms: Spread::of(solves),
            overflow,
        };
        println!(
            "{design:<10} {:>8} bodies {:>5} bins {} {devices}: step {:.4} ms, solve {:.4}, \
             overflow {overflow}",
            charge.bodies(),
            row.bins,
            row.precision,
            row.step_ms.median,
            row.solve_ms.median
        );
        rows.push(row);
    }
    Ok(())
}
