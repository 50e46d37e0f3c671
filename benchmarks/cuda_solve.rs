//! The field solve on a device: every pipeline, as a graph and as plain
//! launches, beside what bounds them (a copy of one map, cuFFT alone).
//!
//! `cargo bench --bench cuda_solve -- [FILE.json] [SIZE…]`
//!
//! Everything stays in device memory. A graph holds 20 runs and is replayed 15
//! times; a number is the median over replays of the mean run, in microseconds.

use placefield::cuda::{
    CudaError, CudaReal, FieldSolver, Fields, Folding, ForwardFft, Fused, Gpu, Graph, InverseFft,
    RowColumn, SolverOptions, Spread, ThreePass, measure,
};
use placefield::grid::{BinGrid, Rect};
use placefield::transform::{PostProcessing, Reorder, Transform};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use serde::Serialize;
use std::process::ExitCode;

const RUNS: usize = 20;
const REPLAYS: usize = 15;

#[derive(Serialize)]
struct Row {
    size: usize,
    precision: &'static str,
    what: &'static str,
    launch: &'static str,
    microseconds: Spread,
}

#[derive(Serialize)]
struct Report {
    device: placefield::cuda::DeviceInfo,
    driver: Option<(i32, i32)>,
    runs_per_graph: usize,
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
        sizes = vec![512, 1024, 2048, 4096];
    }
    match run(&sizes, file) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("cuda_solve: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(sizes: &[usize], file: Option<String>) -> Result<(), Box<dyn std::error::Error>> {
    let gpu = Gpu::open(0)?;
    println!("{}", gpu.info().name);
    let mut rows = Vec::new();
    for &size in sizes {
        bench::<f32>(&gpu, size, &mut rows)?;
        bench::<f64>(&gpu, size, &mut rows)?;
    }
    if let Some(file) = file {
        let device = gpu.info().clone();
        let driver = placefield::cuda::probe().driver_version;
        let report = Report { device, driver, runs_per_graph: RUNS, rows };
        std::fs::write(file, serde_json::to_string_pretty(&report)?)?;
    }
    Ok(())
}

/// Collects and prints the rows of one size and precision.
struct Bench<'a> {
    gpu: &'a Gpu,
    size: usize,
    precision: &'static str,
    rows: &'a mut Vec<Row>,
}

impl Bench<'_> {
    fn row(&mut self, what: &'static str, launch: &'static str, microseconds: Spread) {
        let Spread { median, min, max, .. } = microseconds;
        let Bench { size, precision, .. } = *self;
        println!(
            "{precision} {size:>5}²  {what:<36} {launch:<5} {median:>9.2}  ({min:.2} to {max:.2})"
        );
        self.rows.push(Row { size, precision, what, launch, microseconds });
    }

    fn replay(
        &mut self,
        what: &'static str,
        mut body: impl FnMut() -> Result<(), CudaError>,
    ) -> Result<(), CudaError> {
        body()?;
        self.gpu.synchronize()?;
        // SAFETY: the graph is dropped here, before any buffer `body` borrows.
        let mut graph = unsafe { Graph::capture(self.gpu, || (0..RUNS).try_for_each(|_| body())) }?;
        let mut time = measure(self.gpu, REPLAYS, 1, || graph.launch())?;
        for value in [&mut time.median, &mut time.min, &mut time.max] {
            *value /= RUNS as f64;
        }
        self.row(what, "graph", time);
        Ok(())
    }

    fn plain(
        &mut self,
        what: &'static str,
        body: impl FnMut() -> Result<(), CudaError>,
    ) -> Result<(), CudaError> {
        let time = measure(self.gpu, REPLAYS, RUNS, body)?;
        self.row(what, "plain", time);
        Ok(())
    }
}

fn bench<T: CudaReal>(gpu: &Gpu, size: usize, rows: &mut Vec<Row>) -> Result<(), CudaError> {
    let die = Rect::at(0.0, 0.0, size as f64, size as f64);
    let grid = BinGrid::new(die, size, size).expect("a size between 1 and 32768");
    let mut random = Pcg64Mcg::seed_from_u64(1);
    let rho: Vec<T> = (0..grid.bins()).map(|_| T::of(random.random())).collect();
    let rho = gpu.upload(&rho)?;
    let mut fields = Fields::new(gpu, grid.bins())?;
    let mut map = gpu.zeros::<T>(grid.bins())?;
    let mut bench = Bench { gpu, size, precision: T::PRECISION.name(), rows };

    bench.replay("copy of one map", || Ok(gpu.stream().memcpy_dtod(&rho, &mut map)?))?;
    ffts::<T>(&mut bench, size)?;

    let with = |reorder, post, folding| SolverOptions { reorder, post, folding };
    use {Folding::*, PostProcessing::*, Reorder::*};
    for (what, options) in [
        ("DCT fused", SolverOptions::default()),
        ("DCT fused, scatter", with(Scatter, Efficient, PerTransform)),
        ("DCT fused, gather", with(Gather, Efficient, PerTransform)),
        ("DCT fused, naive post-processing", with(Wide, Naive, PerTransform)),
    ] {
        let mut solver = Fused::<T>::new(gpu, &grid, options)?;
        bench.replay(what, || solver.transform(Transform::Dct, &rho, &mut map))?;
        if options == SolverOptions::default() {
            bench.replay("IDCT fused", || solver.transform(Transform::Idct, &rho, &mut map))?;
            bench.replay("IDCT_IDXST fused", || {
                solver.transform(Transform::IdctIdxst, &rho, &mut map)
            })?;
        }
    }

    let mut row_column = RowColumn::<T>::new(gpu, &grid, SolverOptions::default())?;
    bench.replay("DCT row-column", || row_column.transform(Transform::Dct, &rho, &mut map))?;
    bench.replay("IDCT row-column", || row_column.transform(Transform::Idct, &rho, &mut map))?;
    bench.replay("IDCT_IDXST row-column", || {
        row_column.transform(Transform::IdctIdxst, &rho, &mut map)
    })?;
    bench.replay("solve row-column", || row_column.solve(&rho, &mut fields))?;
    bench.plain("solve row-column", || row_column.solve(&rho, &mut fields))?;
    drop(row_column);

    let mut apart = Fused::<T>::new(gpu, &grid, with(Wide, Efficient, PerTransform))?;
    bench.replay("solve fused, per transform", || apart.solve(&rho, &mut fields))?;
    bench.plain("solve fused, per transform", || apart.solve(&rho, &mut fields))?;
    drop(apart);

    let mut fused = Fused::<T>::new(gpu, &grid, SolverOptions::default())?;
    bench.replay("solve fused", || fused.solve(&rho, &mut fields))?;
    bench.plain("solve fused", || fused.solve(&rho, &mut fields))?;
    bench.replay("solve fused: forward", || fused.forward(&rho))?;
    bench.replay("solve fused: inverse", || fused.inverse(&mut fields))?;
    drop(fused);

    let mut three_pass = match ThreePass::<T>::new(gpu, &grid) {
        Err(CudaError::NoThreePass { reason, .. }) => {
            println!("no three-pass: {reason}");
            return Ok(());
        }
        made => made?,
    };
    bench.replay("solve three-pass", || three_pass.solve(&rho, &mut fields))?;
    bench.plain("solve three-pass", || three_pass.solve(&rho, &mut fields))?;
    bench.replay("solve three-pass, without potential", || {
        three_pass.solve_field(&rho, &mut fields)
    })?;
    bench.replay("solve three-pass: forward", || three_pass.forward(&rho))?;
    bench.replay("solve three-pass: inverse", || three_pass.inverse(&mut fields))
}

/// cuFFT alone.
fn ffts<T: CudaReal>(bench: &mut Bench, size: usize) -> Result<(), CudaError> {
    let gpu = bench.gpu;
    let shape = [size, size];
    let mut spectra = gpu.zeros::<T::Complex>(3 * size * (size / 2 + 1))?;
    let mut maps = gpu.zeros::<T>(3 * size * size)?;
    let mut forward = ForwardFft::alone(gpu, &shape, 1)?;
    bench.replay("cuFFT R2C", || forward.run(&maps, &mut spectra))?;
    let mut inverse = InverseFft::alone(gpu, &shape, 1)?;
    bench.replay("cuFFT C2R", || inverse.run(&mut spectra, &mut maps))?;
    let mut batch = InverseFft::alone(gpu, &shape, 3)?;
    bench.replay("cuFFT C2R, batch of 3", || batch.run(&mut spectra, &mut maps))?;
    let mut lines = ForwardFft::alone(gpu, &shape[..1], size)?;
    bench.replay("cuFFT R2C of every row", || lines.run(&maps, &mut spectra))
}
