//! One solve on several devices beside one device, and a batch of independent ones.
//!
//! `cargo bench --bench cuda_slabs -- [FILE.json] [N…] [--no-nccl]`
//!
//! In three passes. Every device of the machine is a rank. A solve by slabs is a
//! graph for each rank; all are launched together, and a sample is the time from there until every
//! rank is done, by the host's clock, over as many solves in a row as take a few milliseconds. One
//! device solves likewise. So do ranks that send messages by NCCL, where it is installed, but
//! without graphs: in one process, and in one process each, of which rank 0's
//! time counts. Times are medians of 15 samples after 3, in microseconds per solve. Everything
//! stays in device memory.

use placefield::Precision;
use placefield::cuda::internals::Spread;
use placefield::cuda::{
    self, BatchSolver, CudaError, CudaReal, DeviceInfo, Fields, Graph, Peers, RankOptions,
    SlabSolver, probe,
};
use placefield::engine::Pipeline;
use placefield::grid::{BinGrid, Rect};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use serde::{Deserialize, Serialize};
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

const SAMPLES: usize = 15;
const WARM_UP: usize = 3;
/// Bins along an axis, and the precisions that are timed there (some take more memory than one of
/// two devices may have).
const SIZES: [usize; 6] = [512, 1024, 2048, 4096, 8192, 16384];
/// Says to a process of this program which rank it is.
const RANK: &str = "PLACEFIELD_BENCH_RANK";
/// Solves of a batch, and their bins along an axis.
const BATCH: (usize, usize) = (64, 1024);

#[derive(Serialize, Deserialize)]
struct Row {
    bins: usize,
    precision: Precision,
    pipeline: Pipeline,
    what: String,
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
    let (mut sizes, mut nccl) = (Vec::new(), true);
    for argument in std::env::args().skip(1).filter(|a| a != "--bench") {
        match argument.parse() {
            Ok(size) => sizes.push(size),
            _ if argument == "--no-nccl" => nccl = false,
            _ => file = Some(argument),
        }
    }
    if sizes.is_empty() {
        sizes = SIZES.to_vec();
    }
    let outcome = match std::env::var(RANK) {
        Ok(which) => as_rank(&which, &sizes),
        Err(_) => run(&sizes, nccl, file),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("cuda_slabs: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(
    sizes: &[usize],
    nccl: bool,
    file: Option<String>,
) -> Result<(), Box<dyn std::error::Error>> {
    let devices = probe().devices;
    println!("{} devices: {}", devices.len(), devices.first().map_or("none", |d| &d.name));
    let mut rows = Vec::new();
    for &bins in sizes {
        slabs::<f32>(devices.len(), bins, nccl, &mut rows)?;
        slabs::<f64>(devices.len(), bins, nccl, &mut rows)?;
    }
    batch(devices.len(), &mut rows)?;
    if devices.len() > 1 && nccl {
        processes(devices.len(), sizes, &mut rows)?;
    }
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
    (0..count).map(|_| T::cast(random.random::<f64>())).collect()
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
    nccl: bool,
    rows: &mut Vec<Row>,
) -> Result<(), Box<dyn std::error::Error>> {
    let (grid, pipeline) = (square(bins)?, Pipeline::ThreePass);
    let mut add = |devices, what: &str, microseconds: Spread| {
        println!("{bins:6} {} {devices} {what}: {:.1} us", T::PRECISION, microseconds.median);
        let (precision, what) = (T::PRECISION, what.to_owned());
        rows.push(Row { bins, precision, pipeline, what, devices, microseconds });
    };
    let rho = noise::<T>(bins * bins);
    for ranks in 1..=devices {
        let ordinals: Vec<usize> = (0..ranks).collect();
        let peers = Peers::open(&ordinals)?;
        let by_nccl = (nccl && ranks > 1).then(|| Peers::open_by_nccl(&ordinals));
        if let Some(Err(error)) = &by_nccl {
            println!("{error}");
        }
        if ranks == 1 {
            let gpu = peers.gpu(0);
            let mut solver = cuda::solver::<T>(gpu, &grid, pipeline)?;
            if solver.pipeline() != pipeline {
                println!("{bins}: no {pipeline}");
                return Ok(());
            }
            let (rho, mut fields) = (gpu.upload(&rho)?, Fields::new(gpu, bins * bins)?);
            // SAFETY: solver, ρ and fields outlive the graph.
            let mut graph = unsafe { Graph::capture(gpu, || solver.solve(&rho, &mut fields)) }?;
            add(1, "solve", time(&peers, in_a_row(bins), || graph.launch())?);
        }
        let mut solver = SlabSolver::<T>::new(&peers, &grid)?;
        let slabs = solver.upload(&rho)?;
        let mut fields = solver.fields()?;
        // SAFETY: solver, ρ and fields outlive the graphs.
        let mut graphs = unsafe { solver.graphs(&slabs, &mut fields) }?;
        let all = || graphs.iter_mut().try_for_each(Graph::launch);
        add(ranks, "slabs", time(&peers, in_a_row(bins), all)?);
        drop((graphs, solver));
        if let Some(Ok(peers)) = &by_nccl {
            add(ranks, "slabs by NCCL", by_messages(peers, bins, &rho)?);
        }
    }
    Ok(())
}

/// Solves that are enqueued before ranks are waited for: some 4 ms and at least 3.
fn in_a_row(bins: usize) -> usize {
    ((1 << 26) / (bins * bins)).clamp(3, 100)
}

fn by_messages<T: CudaReal>(peers: &Peers, bins: usize, rho: &[T]) -> Result<Spread, CudaError> {
    let grid = square(bins).expect("all sizes are grids");
    let mut solver = SlabSolver::<T>::new(peers, &grid)?;
    let slabs = solver.upload(rho)?;
    let mut fields = solver.fields()?;
    time(peers, in_a_row(bins), || solver.solve(&slabs, &mut fields))
}

/// Starts this program again, a rank each.
fn processes(
    ranks: usize,
    sizes: &[usize],
    rows: &mut Vec<Row>,
) -> Result<(), Box<dyn std::error::Error>> {
    let place = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?;
    let start = |rank: usize| {
        let sizes = sizes.iter().map(usize::to_string);
        let mut command = Command::new(std::env::current_exe()?);
        command.args(sizes).env(RANK, format!("{rank} {ranks}"));
        command.env("NCCL_COMM_ID", place.to_string());
        command.stdout(Stdio::piped()).spawn()
    };
    let started = (0..ranks).map(start).collect::<Result<Vec<_>, _>>()?;
    for child in started {
        let said = child.wait_with_output()?.stdout;
        for line in String::from_utf8(said)?.lines() {
            let row: Row = serde_json::from_str(line)?;
            println!(
                "{:6} {} {ranks} {}: {:.1} us",
                row.bins, row.precision, row.what, row.microseconds.median
            );
            rows.push(row);
        }
    }
    Ok(())
}

/// One of them: times all sizes with the others; rank 0 prints.
fn as_rank(which: &str, sizes: &[usize]) -> Result<(), Box<dyn std::error::Error>> {
    let [rank, ranks] = which.split(' ').collect::<Vec<_>>()[..] else {
        return Err(format!("{RANK}={which}: expected RANK RANKS").into());
    };
    let (rank, ranks) = (rank.parse()?, ranks.parse()?);
    let peers = Peers::join(&RankOptions::new(rank, ranks)?, rank)?;
    let pipeline = Pipeline::ThreePass;
    let add = |precision, bins, microseconds| -> Result<(), serde_json::Error> {
        let what = "slabs by NCCL, a process each".to_owned();
        let row = Row { bins, precision, pipeline, what, devices: ranks, microseconds };
        if rank == 0 {
            println!("{}", serde_json::to_string(&row)?);
        }
        Ok(())
    };
    for &bins in sizes {
        let f32_and_f64 = [
            (Precision::F32, by_messages(&peers, bins, &noise::<f32>(bins * bins))),
            (Precision::F64, by_messages(&peers, bins, &noise::<f64>(bins * bins))),
        ];
        for (precision, timed) in f32_and_f64 {
            match timed {
                // No lines of this length: all ranks find that.
                Err(CudaError::NoThreePass { .. }) => {}
                timed => add(precision, bins, timed?)?,
            }
        }
    }
    Ok(())
}

fn batch(devices: usize, rows: &mut Vec<Row>) -> Result<(), Box<dyn std::error::Error>> {
    let (count, bins) = BATCH;
    let rho = noise::<f32>(bins * bins);
    for ranks in 1..=devices {
        let peers = Peers::open(&(0..ranks).collect::<Vec<_>>())?;
        let mut solver = BatchSolver::<f32>::new(&peers, &square(bins)?, Pipeline::ThreePass)?;
        let maps: Vec<_> =
            (0..count).map(|k| solver.gpu(k).upload(&rho)).collect::<Result<_, _>>()?;
        let mut fields: Vec<_> = (0..count)
            .map(|k| Fields::new(solver.gpu(k), bins * bins))
            .collect::<Result<_, _>>()?;
        let microseconds = time(&peers, 4, || solver.solve(&maps, &mut fields))?;
        println!("{count} solves of {bins}^2 on {ranks}: {:.1} us", microseconds.median);
        rows.push(Row {
            bins,
            precision: Precision::F32,
            pipeline: Pipeline::ThreePass,
            what: "batch of 64".to_owned(),
            devices: ranks,
            microseconds,
        });
    }
    Ok(())
}
