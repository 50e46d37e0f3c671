//! One solve on several devices beside one device, and a batch of independent ones.
//!
//! `cargo bench --bench cuda_slabs -- [FILE.json] [N…]`
//!
//! Every device of the machine is a rank. A solve by slabs is a graph for each rank; all are
//! launched together, and a sample is the time from there until every rank is done, by the host's
//! clock, over as many solves in a row as take a few milliseconds. One device solves likewise. Times
//! are medians of 15 samples after 3, in microseconds per solve. Everything stays in device memory.

use placefield::cuda::{
    BatchSolver, CudaError, CudaReal, DeviceInfo, FieldSolver, Fields, Graph, Peers, SlabSolver,
    SolverOptions, Spread, ThreePass, probe,
};
use placefield::engine::Pipeline;
use placefield::grid::{BinGrid, Rect};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use serde::Serialize;
use std::process::ExitCode;
use std::time::Instant;

const SAMPLES: usize = 15;
const WARM_UP: usize = 3;
/// Bins along an axis, and the precisions that are timed there (some take more memory than one of
/// two devices may have).
const SIZES: [usize; 6] = [512, 1024, 2048, 4096, 8192, 16384];
/// Solves of a batch, and their bins along an axis.
const BATCH: (usize, usize) = (64, 1024);

#[derive(Serialize)]
struct Row {
    bins: usize,
    precision: &'static str,
    what: &'static str,
    devices: usize,
    microseconds: Spread,
}

#[derive(Serialize)]
struct Report {
    devices: Vec<DeviceInfo>,
    rows: Vec<Row>,
}

fn main() -> ExitCode {
    let mut file = None;
    let mut sizes = Vec::new();
    for argument in std::env::args().skip(1).filter(|a| a != "--bench") {
        match argument.parse() {
            Ok(size) => sizes.push(size),
            Err(_) => file = Some(argument),
        }
    }
    if sizes.is_empty() {
        sizes = SIZES.to_vec();
    }
    match run(&sizes, file) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("cuda_slabs: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(sizes: &[usize], file: Option<String>) -> Result<(), Box<dyn std::error::Error>> {
    let devices = probe().devices;
    println!("{} devices: {}", devices.len(), devices.first().map_or("none", |d| &d.name));
    let mut rows = Vec::new();
    for &bins in sizes {
        slabs::<f32>(devices.len(), bins, &mut rows)?;
        slabs::<f64>(devices.len(), bins, &mut rows)?;
    }
    batch(devices.len(), &mut rows)?;
    if let Some(file) = file {
        std::fs::write(file, serde_json::to_string_pretty(&Report { devices, rows })?)?;
    }
    Ok(())
}

fn square(bins: usize) -> Result<BinGrid, Box<dyn std::error::Error>> {
    Ok(BinGrid::new(Rect::at(0.0, 0.0, bins as f64, bins as f64), bins, bins)?)
}

fn noise<T: CudaReal>(count: usize) -> Vec<T> {
    let mut random = Pcg64Mcg::seed_from_u64(count as u64);
    (0..count).map(|_| T::of(random.random::<f64>())).collect()
}

/// Microseconds of a run, of which `in_a_row` are enqueued before all ranks are waited for.
fn time(
    peers: &Peers,
    in_a_row: usize,
    mut run: impl FnMut() -> Result<(), CudaError>,
) -> Result<Spread, CudaError> {
    let mut samples = Vec::new();
    for _ in 0..WARM_UP + SAMPLES {
        let start = Instant::now();
        for _ in 0..in_a_row {
            run()?;
        }
        peers.synchronize()?;
        samples.push(start.elapsed().as_secs_f64() * 1e6 / in_a_row as f64);
    }
    Ok(Spread::of(samples.split_off(WARM_UP)))
}

fn slabs<T: CudaReal>(
    devices: usize,
    bins: usize,
    rows: &mut Vec<Row>,
) -> Result<(), Box<dyn std::error::Error>> {
    let grid = square(bins)?;
    // Some 4 ms and at least 3.
    let in_a_row = ((1 << 26) / (bins * bins)).clamp(3, 100);
    let mut add = |devices, what, microseconds: Spread| {
        println!("{bins:6} {} {devices} {what}: {:.1} us", T::PRECISION, microseconds.median);
        rows.push(Row { bins, precision: T::PRECISION.name(), what, devices, microseconds });
    };
    let rho = noise::<T>(bins * bins);
    for ranks in 1..=devices {
        let peers = Peers::open(&(0..ranks).collect::<Vec<_>>())?;
        if ranks == 1 {
            let gpu = peers.gpu(0);
            let mut solver = match ThreePass::<T>::new(gpu, &grid) {
                Ok(solver) => solver,
                Err(error @ CudaError::NoThreePass { .. }) => {
                    println!("{error}");
                    return Ok(());
                }
                Err(error) => return Err(error.into()),
            };
            let (rho, mut fields) = (gpu.upload(&rho)?, Fields::new(gpu, bins * bins)?);
            // SAFETY: solver, ρ and fields outlive the graph.
            let mut graph = unsafe { Graph::capture(gpu, || solver.solve(&rho, &mut fields)) }?;
            add(1, "solve", time(&peers, in_a_row, || graph.launch())?);
        }
        let mut solver = SlabSolver::<T>::new(&peers, &grid)?;
        let slabs = solver.upload(&rho)?;
        let mut fields = solver.fields()?;
        // SAFETY: solver, ρ and fields outlive the graphs.
        let mut graphs = unsafe { solver.graphs(&slabs, &mut fields) }?;
        let all = || graphs.iter_mut().try_for_each(Graph::launch);
        add(ranks, "slabs", time(&peers, in_a_row, all)?);
    }
    Ok(())
}

fn batch(devices: usize, rows: &mut Vec<Row>) -> Result<(), Box<dyn std::error::Error>> {
    let (count, bins) = BATCH;
    let rho = noise::<f32>(bins * bins);
    for ranks in 1..=devices {
        let peers = Peers::open(&(0..ranks).collect::<Vec<_>>())?;
        let options = SolverOptions::default();
        let mut solver =
            BatchSolver::<f32>::new(&peers, &square(bins)?, Pipeline::ThreePass, options)?;
        let maps: Vec<_> =
            (0..count).map(|k| solver.gpu(k).upload(&rho)).collect::<Result<_, _>>()?;
        let mut fields: Vec<_> = (0..count)
            .map(|k| Fields::new(solver.gpu(k), bins * bins))
            .collect::<Result<_, _>>()?;
        let microseconds = time(&peers, 4, || solver.solve(&maps, &mut fields))?;
        println!("{count} solves of {bins}^2 on {ranks}: {:.1} us", microseconds.median);
        rows.push(Row {
            bins,
            precision: "f32",
            what: "batch of 64",
            devices: ranks,
            microseconds,
        });
    }
    Ok(())
}
