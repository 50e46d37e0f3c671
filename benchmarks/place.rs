//! Whole global placements on a device, at the statistics of the eight ISPD
//! 2005 designs with DREAMPlace's bins: how many iterations they take, how long
//! one is, and what its time goes into.
//!
//! `cargo bench --bench place -- [--f64] [--devices=N,M…] [FILE.json] [DESIGN[xK]…]`
//!
//! Designs are generated ([`placefield::generate`]) and start with every cell at
//! the die's centre; fillers take part, target density 1, stop at a smoothed
//! overflow of 0.07. Vectors stay on the device. Times are milliseconds of an
//! iteration, all its tries included, one after the other as they happen: the
//! stages by the device's own events, taken in one evaluation of sixteen (wirelength
//! runs beside the others, and they divide the time that passes), `other` the rest
//! of the host's clock from the call to the numbers read back. The solve is the three-pass one.
//!
//! `bigblue4x4` has four times that design's cells, nets and pins, on twice the bins along each
//! axis. With `--devices` every design is placed on the first of these devices, and then on all of
//! them at once.

use placefield::charge::{Charge, ChargeOptions};
use placefield::cuda::CudaBackend;
use placefield::cuda::internals::Spread;
use placefield::cuda::{CudaReal, DeviceInfo, Gpu, Peers, probe};
use placefield::engine::{EngineOptions, Pipeline};
use placefield::flow::MANY_FILLERS;
use placefield::generate::{Spec, generate};
use placefield::grid::BinGrid;
use placefield::paper::bench::{DESIGNS, Design};
use placefield::place::{Outcome, PlaceOptions, Placer, StageSplit, start};
use placefield::wirelength::{LARGE_NET, Netlist};
use serde::Serialize;
use std::error::Error;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

/// A design to place.
struct Task {
    design: String,
    charge: Arc<Charge>,
    netlist: Netlist,
}

#[derive(Serialize)]
struct Row {
    design: String,
    devices: usize,
    movable: usize,
    fillers: usize,
    nets: usize,
    pins: usize,
    bins: usize,
    precision: &'static str,
    outcome: Outcome,
    iterations: usize,
    evaluations: u32,
    /// Sortings of the bodies by tile, on the device.
    orders: u32,
    hpwl: f64,
    overflow: f64,
    seconds: f64,
    /// Times of an iteration, the first ones left out.
    iteration_ms: Quantiles,
    /// Means over iterations.
    stages_ms: StageSplit,
}

/// Median and extremes, milliseconds.
#[derive(Serialize)]
struct Quantiles {
    median: f64,
    min: f64,
    max: f64,
    mean: f64,
}

#[derive(Serialize)]
struct Report {
    device: DeviceInfo,
    driver: Option<(i32, i32)>,
    pipeline: Pipeline,
    target_density: f64,
    stop_overflow: f64,
    rows: Vec<Row>,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let (flags, arguments): (Vec<_>, Vec<_>) =
        arguments.into_iter().partition(|a| a.starts_with("--"));
    let (names, files): (Vec<_>, Vec<_>) = arguments.into_iter().partition(|a| named(a).is_some());
    let file = files.first().map(String::as_str);
    let listed = flags.iter().find_map(|f| f.strip_prefix("--devices="));
    let devices = listed.unwrap_or("0").split(',').map(str::parse).collect::<Result<Vec<_>, _>>();
    let Ok(devices) = devices else {
        eprintln!("place: --devices={}: expected numbers with commas", listed.unwrap_or_default());
        return ExitCode::FAILURE;
    };
    let outcome = match flags.iter().any(|f| f == "--f64") {
        true => run::<f64>(&names, &devices, file),
        false => run::<f32>(&names, &devices, file),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("place: {error}");
            ExitCode::FAILURE
        }
    }
}

/// A design by its name, and how many times it is asked for.
fn named(name: &str) -> Option<(Design, u64)> {
    let of = |name: &str| DESIGNS.into_iter().find(|design| design.name == name);
    match name.rsplit_once('x') {
        Some((preset, times)) if of(preset).is_some() => Some((of(preset)?, times.parse().ok()?)),
        _ => Some((of(name)?, 1)),
    }
}

fn run<T: CudaReal>(
    names: &[String],
    devices: &[usize],
    file: Option<&str>,
) -> Result<(), Box<dyn Error>> {
    let gpu = Gpu::open(devices[0])?;
    let peers = (devices.len() > 1).then(|| Peers::open(devices)).transpose()?;
    let options = PlaceOptions::default();
    println!("{}; {}, ms per iteration", gpu.info().name, T::PRECISION);
    println!(
        "{:<15} {:>9} {:>6} {:>6} {:>6} {:>10} {:>7} | {:>8} {:>8} {:>8} {:>8} {:>8} {:>8}",
        "design",
        "bodies",
        "iter.",
        "eval.",
        "orders",
        "HPWL",
        "s",
        "median",
        "wl",
        "density",
        "solve",
        "force",
        "other"
    );
    let mut rows = Vec::new();
    for task in tasks(names) {
        let task = task?;
        for peers in [None, peers.as_ref()].into_iter().take(devices.len().min(2)) {
            let row = place::<T>(&gpu, peers, &task, &options)?;
            print(&row);
            rows.push(row);
        }
    }
    if let Some(file) = file {
        let report = Report {
            device: gpu.info().clone(),
            driver: probe().driver_version,
            pipeline: Pipeline::ThreePass,
            target_density: 1.0,
            stop_overflow: options.stop_overflow,
            rows,
        };
        std::fs::write(file, serde_json::to_string_pretty(&report)? + "\n")?;
    }
    Ok(())
}

/// The designs asked for, all of them without names, each made while those
/// before it are placed.
fn tasks(names: &[String]) -> impl Iterator<Item = Result<Task, String>> {
    let all: Vec<String> = DESIGNS.iter().map(|design| design.name.to_owned()).collect();
    let made: Vec<_> = if names.is_empty() { &all[..] } else { names }
        .iter()
        .cloned()
        .map(|name| std::thread::spawn(move || prepare(&name).map_err(|e| format!("{name}: {e}"))))
        .collect();
    made.into_iter().map(|thread| thread.join().expect("making a design does not panic"))
}

fn prepare(name: &str) -> Result<Task, Box<dyn Error>> {
    let (printed, times) = named(name).ok_or("no such design")?;
    let one = Spec::preset(printed.name)?;
    // Pads grow with the die's perimeter.
    let side = (times as f64).sqrt();
    let spec = Spec {
        cells: one.cells * times,
        macros: one.macros * times,
        blocks: one.blocks * times,
        pads: (one.pads as f64 * side) as u64,
        nets: one.nets * times,
        pins: one.pins * times,
        ..one
    };
    let bins = (printed.bins as f64 * side) as usize;
    let design = generate(&spec)?;
    let die = design.die().ok_or("no rows")?;
    let options = ChargeOptions::default().fillers(true).many_fillers(MANY_FILLERS);
    let charge = Charge::from_design(&design, BinGrid::new(die, bins, bins)?, &options)?;
    let netlist = Netlist::from_design(&design, LARGE_NET)?;
    Ok(Task { design: name.to_owned(), charge: Arc::new(charge), netlist })
}

fn place<T: CudaReal>(
    gpu: &Gpu,
    peers: Option<&Peers>,
    Task { design, charge, netlist }: &Task,
    options: &PlaceOptions,
) -> Result<Row, Box<dyn Error>> {
    let engine_options = EngineOptions::default().pipeline(Pipeline::ThreePass);
    let (x, y) = start::centred(charge, 1000);
    let made = Instant::now();
    let mut backend = match peers {
        None => CudaBackend::<T>::on(gpu, charge.clone(), &engine_options, netlist)?,
        Some(peers) => CudaBackend::on_peers(peers, charge.clone(), &engine_options, netlist)?,
    };
    println!("{design}: made in {:.2} s", made.elapsed().as_secs_f64());
    let begun = Instant::now();
    let mut placer = Placer::new(&mut backend, &x, &y, options)?;
    let (mut times, mut sum, mut evaluations) = (Vec::new(), StageSplit::default(), 0);
    let mut clock = Instant::now();
    while let Some(record) = placer.step()? {
        times.push(clock.elapsed().as_secs_f64() * 1e3);
        clock = Instant::now();
        sum.add(&record.times);
        evaluations += record.tries;
    }
    let seconds = begun.elapsed().as_secs_f64();
    let last = *placer.last();
    let outcome = placer.outcome().ok_or("the placement did not end")?;
    let orders = backend.orders();
    let share = |stage: f64| stage / last.iteration.max(1) as f64;
    // Graphs are made in the first two.
    let steady = times.get(4..).unwrap_or(&times).to_vec();
    let mean = steady.iter().sum::<f64>() / steady.len().max(1) as f64;
    let Spread { median, min, max, .. } = Spread::of(steady);
    Ok(Row {
        design: design.clone(),
        devices: peers.map_or(1, Peers::count),
        movable: charge.movable(),
        fillers: charge.fillers(),
        nets: netlist.nets(),
        pins: netlist.pins(),
        bins: charge.grid().nx(),
        precision: T::PRECISION.name(),
        outcome,
        iterations: last.iteration,
        evaluations,
        orders,
        hpwl: last.sample.hpwl,
        overflow: last.sample.density.overflow,
        seconds,
        iteration_ms: Quantiles { median, min, max, mean },
        stages_ms: StageSplit {
            wirelength: share(sum.wirelength),
            density: share(sum.density),
            solve: share(sum.solve),
            force: share(sum.force),
            step: share(sum.step),
            gradient: share(sum.gradient),
            other: share(sum.other),
        },
    })
}

fn print(row: &Row) {
    println!(
        "{:<11} x {} {:>9} {:>6} {:>6} {:>6} {:>10.4e} {:>7.2} | {:>8.4} {:>8.4} {:>8.4} {:>8.4} \
         {:>8.4} {:>8.4} {:?} at {:.4}",
        row.design,
        row.devices,
        row.movable + row.fillers,
        row.iterations,
        row.evaluations,
        row.orders,
        row.hpwl,
        row.seconds,
        row.iteration_ms.median,
        row.stages_ms.wirelength,
        row.stages_ms.density,
        row.stages_ms.solve,
        row.stages_ms.force,
        row.stages_ms.other,
        row.outcome,
        row.overflow
    );
}
