//! The field solve on a device: every pipeline, as a graph and as plain
//! launches, beside what bounds them (a copy of one map, cuFFT alone).
//!
//! `cargo bench --bench cuda_solve -- [FILE.json] [NX[xNY]…]`
//!
//! Everything stays in device memory. A graph holds 20 runs (4 above 4096²) and
//! is replayed 15 times; a number is the median over replays of the mean run, in
//! microseconds. Single transforms and cuFFT alone are timed on square maps up to
//! 4096². The three-pass solve moves 10 values per bin, five copies of one map; the
//! last line of a size and precision says how many times that lower bound it takes.

use placefield::cuda::internals::{Spectral, Spread, ThreePass, measure};
use placefield::cuda::{CudaError, CudaReal, DeviceVec, FieldSolver, Fields, Gpu, Graph, RealFft};
use placefield::engine::Pipeline;
use placefield::grid::{BinGrid, Rect};
use placefield::paper::cuda::dct_2d;
use placefield::paper::{PostProcessing, Reorder};
use placefield::transform::Transform;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use serde::Serialize;
use std::process::ExitCode;

/// Runs in a graph of maps up to 4096², and of larger ones.
const RUNS: [usize; 2] = [20, 4];
const REPLAYS: usize = 15;
/// Words per bin that the three-pass solve moves, over a copy's.
const COPIES: f64 = 5.0;
const SHAPES: [(usize, usize); 9] = [
    (512, 512),
    (1000, 1000),
    (1024, 1024),
    (1536, 1536),
    (2048, 2048),
    (3000, 3000),
    (4096, 4096),
    (8192, 8192),
    (512, 2048),
];

#[derive(Serialize)]
struct Row {
    nx: usize,
    ny: usize,
    precision: &'static str,
    what: &'static str,
    launch: &'static str,
    microseconds: Spread,
}

#[derive(Serialize)]
struct Report {
    device: placefield::cuda::DeviceInfo,
    driver: Option<(i32, i32)>,
    /// Up to 4096², and above.
    runs_per_graph: [usize; 2],
    replays: usize,
    rows: Vec<Row>,
}

fn main() -> ExitCode {
    let mut file = None;
    let mut shapes = Vec::new();
    for argument in std::env::args().skip(1).filter(|a| a != "--bench") {
        let (nx, ny) = argument.split_once('x').unwrap_or((&argument, &argument));
        match (nx.parse(), ny.parse()) {
            (Ok(nx), Ok(ny)) => shapes.push((nx, ny)),
            _ => file = Some(argument),
        }
    }
    if shapes.is_empty() {
        shapes = SHAPES.to_vec();
    }
    match run(&shapes, file) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("cuda_solve: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(shapes: &[(usize, usize)], file: Option<String>) -> Result<(), Box<dyn std::error::Error>> {
    let gpu = Gpu::open(0)?;
    println!("{}", gpu.info().name);
    let mut rows = Vec::new();
    for &shape in shapes {
        bench::<f32>(&gpu, shape, &mut rows)?;
        bench::<f64>(&gpu, shape, &mut rows)?;
    }
    if let Some(file) = file {
        let device = gpu.info().clone();
        let driver = placefield::cuda::probe().driver_version;
        let report = Report { device, driver, runs_per_graph: RUNS, replays: REPLAYS, rows };
        std::fs::write(file, serde_json::to_string_pretty(&report)?)?;
    }
    Ok(())
}

/// Collects and prints the rows of one size and precision.
struct Bench<'a> {
    gpu: &'a Gpu,
    nx: usize,
    ny: usize,
    precision: &'static str,
    rows: &'a mut Vec<Row>,
}

impl Bench<'_> {
    fn runs(&self) -> usize {
        RUNS[usize::from(self.nx * self.ny > 4096 * 4096)]
    }

    /// The median of a graph timed before, of this size and precision.
    fn median(&self, what: &str) -> Option<f64> {
        let ours = |r: &&Row| (r.nx, r.ny, r.precision) == (self.nx, self.ny, self.precision);
        let row = self.rows.iter().filter(ours).find(|r| r.what == what && r.launch == "graph")?;
        Some(row.microseconds.median)
    }

    fn row(&mut self, what: &'static str, launch: &'static str, microseconds: Spread) {
        let Spread { median, min, max, .. } = microseconds;
        let Bench { nx, ny, precision, .. } = *self;
        println!(
            "{precision} {nx:>5} x {ny:<5} {what:<36} {launch:<5} {median:>9.2}  ({min:.2} to \
             {max:.2})"
        );
        self.rows.push(Row { nx, ny, precision, what, launch, microseconds });
    }

    fn replay(
        &mut self,
        what: &'static str,
        mut body: impl FnMut() -> Result<(), CudaError>,
    ) -> Result<(), CudaError> {
        let runs = self.runs();
        body()?;
        self.gpu.synchronize()?;
        // SAFETY: the graph is dropped here, before any buffer `body` borrows.
        let mut graph = unsafe { Graph::capture(self.gpu, || (0..runs).try_for_each(|_| body())) }?;
        let mut time = measure(self.gpu, REPLAYS, 1, || graph.launch())?;
        for value in [&mut time.median, &mut time.min, &mut time.max] {
            *value /= runs as f64;
        }
        self.row(what, "graph", time);
        Ok(())
    }

    fn plain(
        &mut self,
        what: &'static str,
        body: impl FnMut() -> Result<(), CudaError>,
    ) -> Result<(), CudaError> {
        let time = measure(self.gpu, REPLAYS, self.runs(), body)?;
        self.row(what, "plain", time);
        Ok(())
    }
}

fn bench<T: CudaReal>(
    gpu: &Gpu,
    (nx, ny): (usize, usize),
    rows: &mut Vec<Row>,
) -> Result<(), Box<dyn std::error::Error>> {
    let grid = BinGrid::new(Rect::at(0.0, 0.0, nx as f64, ny as f64), nx, ny)?;
    let mut random = Pcg64Mcg::seed_from_u64(1);
    let rho: Vec<T> = (0..grid.bins()).map(|_| T::cast(random.random())).collect();
    let rho = gpu.upload(&rho)?;
    let mut bench = Bench { gpu, nx, ny, precision: T::PRECISION.name(), rows };
    let mut map = gpu.zeros::<T>(grid.bins())?;
    bench.replay(COPY, || gpu.copy(&rho, &mut map))?;
    if nx == ny && nx <= 4096 {
        ffts::<T>(&mut bench, nx)?;
        transforms::<T>(&mut bench, &grid, &rho, &mut map)?;
    }
    drop(map);
    Ok(solves::<T>(&mut bench, &grid, &rho)?)
}

const COPY: &str = "copy of one map";

/// Single transforms, fused in every variant and row-column.
fn transforms<T: CudaReal>(
    bench: &mut Bench,
    grid: &BinGrid,
    rho: &DeviceVec<T>,
    map: &mut DeviceVec<T>,
) -> Result<(), CudaError> {
    let gpu = bench.gpu;
    let mut fused = Spectral::<T>::new(gpu, grid, Pipeline::Fused)?;
    bench.replay("DCT fused", || {
        fused.transform(Transform::Dct, rho.as_view(), map.as_view_mut())
    })?;
    bench.replay("IDCT fused", || {
        fused.transform(Transform::Idct, rho.as_view(), map.as_view_mut())
    })?;
    bench.replay("IDCT_IDXST fused", || {
        fused.transform(Transform::IdctIdxst, rho.as_view(), map.as_view_mut())
    })?;
    for (what, reorder, post) in [
        ("DCT fused, scatter", Reorder::Scatter, PostProcessing::Efficient),
        ("DCT fused, gather", Reorder::Gather, PostProcessing::Efficient),
        ("DCT fused, naive post-processing", Reorder::Wide, PostProcessing::Naive),
    ] {
        let mut plan = dct_2d::<T>(gpu, [grid.nx(), grid.ny()], reorder, post)?;
        bench.replay(what, || plan.run(rho, &mut *map))?;
    }
    let mut row_column = Spectral::<T>::new(gpu, grid, Pipeline::RowColumn)?;
    for (what, transform) in [
        ("DCT row-column", Transform::Dct),
        ("IDCT row-column", Transform::Idct),
        ("IDCT_IDXST row-column", Transform::IdctIdxst),
    ] {
        bench.replay(what, || row_column.transform(transform, rho.as_view(), map.as_view_mut()))?;
    }
    Ok(())
}

/// Every pipeline's solve; one solver is dropped before the next is made.
fn solves<T: CudaReal>(
    bench: &mut Bench,
    grid: &BinGrid,
    rho: &DeviceVec<T>,
) -> Result<(), CudaError> {
    let gpu = bench.gpu;
    let mut fields = Fields::new(gpu, grid.bins())?;

    let mut row_column = Spectral::<T>::new(gpu, grid, Pipeline::RowColumn)?;
    bench.replay("solve row-column", || row_column.solve(rho, &mut fields))?;
    bench.plain("solve row-column", || row_column.solve(rho, &mut fields))?;
    drop(row_column);

    let mut apart = Spectral::<T>::per_transform(gpu, grid)?;
    bench.replay("solve fused, per transform", || apart.solve(rho, &mut fields))?;
    bench.plain("solve fused, per transform", || apart.solve(rho, &mut fields))?;
    drop(apart);

    let mut fused = Spectral::<T>::new(gpu, grid, Pipeline::Fused)?;
    bench.replay("solve fused", || fused.solve(rho, &mut fields))?;
    bench.plain("solve fused", || fused.solve(rho, &mut fields))?;
    bench.replay("solve fused: forward", || fused.forward(rho.as_view()))?;
    bench.replay("solve fused: inverse", || fused.inverse(fields.as_mut()))?;
    drop(fused);

    let mut three_pass = match ThreePass::<T>::new(gpu, grid) {
        Err(CudaError::NoThreePass { reason, .. }) => {
            println!("no three-pass: {reason}");
            return Ok(());
        }
        made => made?,
    };
    let (solve, field) = ("solve three-pass", "solve three-pass, without potential");
    bench.replay(solve, || three_pass.solve(rho, &mut fields))?;
    bench.plain(solve, || three_pass.solve(rho, &mut fields))?;
    bench.replay(field, || {
        three_pass.forward(rho.as_view()).and_then(|()| three_pass.inverse_field(fields.as_mut()))
    })?;
    bench.replay("solve three-pass: forward", || three_pass.forward(rho.as_view()))?;
    bench.replay("solve three-pass: inverse", || three_pass.inverse(fields.as_mut()))?;
    let over = |what| Some(bench.median(solve)? / bench.median(what)?);
    if let (Some(copy), Some(fused)) = (over(COPY), over("solve fused")) {
        println!("three-pass: {:.2} x five copies, fused / {:.2}", copy / COPIES, 1.0 / fused);
    }
    Ok(())
}

/// cuFFT alone.
fn ffts<T: CudaReal>(bench: &mut Bench, size: usize) -> Result<(), CudaError> {
    let gpu = bench.gpu;
    let shape = [size, size];
    let mut spectra = gpu.zeros::<T::Complex>(3 * size * (size / 2 + 1))?;
    let mut maps = gpu.zeros::<T>(3 * size * size)?;
    let mut forward = RealFft::forward(gpu, &shape, 1)?;
    bench.replay("cuFFT R2C", || forward.run_forward(&maps, &mut spectra))?;
    let mut inverse = RealFft::inverse(gpu, &shape, 1)?;
    bench.replay("cuFFT C2R", || inverse.run_inverse(&mut spectra, &mut maps))?;
    let mut batch = RealFft::inverse(gpu, &shape, 3)?;
    bench.replay("cuFFT C2R, batch of 3", || batch.run_inverse(&mut spectra, &mut maps))?;
    let mut lines = RealFft::forward(gpu, &shape[..1], size)?;
    bench.replay("cuFFT R2C of every row", || lines.run_forward(&maps, &mut spectra))
}
