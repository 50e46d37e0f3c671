//! Single transforms on a device, beside cuFFT's transform alone of the same
//! shape: the four 1-D algorithms, 2-D by every method, 3-D.
//!
//! `cargo bench --bench cuda_transforms -- [FILE.json]`
//!
//! Everything stays in device memory. A graph holds 20 runs (5 of large arrays)
//! and is replayed 15 times; a number is the median over replays of the mean run,
//! in microseconds.

use placefield::cuda::transforms::{Plan1d, Plan2d, Plan3d, Stage};
use placefield::cuda::{CudaError, CudaReal, CudaSlice, Gpu, Graph, Spread, measure};
use placefield::transform::{
    Algorithm1d, Method, Orientation, Plan2dOptions, Transform, Transform1d, TransformNd,
};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use serde::Serialize;
use std::process::ExitCode;

const REPLAYS: usize = 15;
/// The paper's table of 2-D transforms.
const MAPS: [(usize, usize); 7] = [
    (512, 512),
    (1024, 1024),
    (2048, 2048),
    (4096, 4096),
    (8192, 8192),
    (100, 10000),
    (10000, 100),
];

/// Long maps, short side first.
const SHAPES: [(usize, usize); 10] = [
    (16, 65536),
    (20, 50000),
    (32, 32768),
    (50, 20000),
    (64, 16384),
    (100, 3000),
    (200, 5000),
    (256, 4096),
    (500, 2000),
    (1000, 10000),
];

#[derive(Serialize)]
struct Row {
    shape: Vec<usize>,
    precision: &'static str,
    transform: String,
    how: String,
    microseconds: Spread,
}

#[derive(Serialize)]
struct Report {
    device: placefield::cuda::DeviceInfo,
    rows: Vec<Row>,
}

fn main() -> ExitCode {
    let file = std::env::args().skip(1).find(|a| a != "--bench");
    match run(file) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("cuda_transforms: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(file: Option<String>) -> Result<(), Box<dyn std::error::Error>> {
    let gpu = Gpu::open(0)?;
    println!("{}", gpu.info().name);
    let mut bench = Bench { gpu: &gpu, rows: Vec::new() };
    bench.lines::<f64>()?;
    bench.lines::<f32>()?;
    for (nx, ny) in MAPS {
        bench.map::<f64>(nx, ny)?;
    }
    for (nx, ny) in MAPS {
        bench.map::<f32>(nx, ny)?;
    }
    bench.shapes::<f64>()?;
    bench.shapes::<f32>()?;
    bench.volume::<f64>([256; 3])?;
    bench.volume::<f32>([256; 3])?;
    if let Some(file) = file {
        let report = Report { device: gpu.info().clone(), rows: bench.rows };
        std::fs::write(file, serde_json::to_string_pretty(&report)?)?;
    }
    Ok(())
}

struct Bench<'a> {
    gpu: &'a Gpu,
    rows: Vec<Row>,
}

impl Bench<'_> {
    /// Times `body`, which works on arrays of this shape.
    fn time<T: CudaReal>(
        &mut self,
        shape: &[usize],
        transform: String,
        how: &str,
        mut body: impl FnMut() -> Result<(), CudaError>,
    ) -> Result<f64, CudaError> {
        let runs = if shape.iter().product::<usize>() > 1 << 22 { 5 } else { 20 };
        body()?;
        self.gpu.synchronize()?;
        // SAFETY: the graph is dropped here, before any buffer `body` borrows.
        let mut graph = unsafe { Graph::capture(self.gpu, || (0..runs).try_for_each(|_| body())) }?;
        let mut time = measure(self.gpu, REPLAYS, 1, || graph.launch())?;
        for value in [&mut time.median, &mut time.min, &mut time.max] {
            *value /= runs as f64;
        }
        let Spread { median, min, max, .. } = time;
        let precision = T::PRECISION.name();
        println!("{precision} {shape:?} {transform} {how}: {median:.2} ({min:.2} to {max:.2})");
        let (shape, how) = (shape.to_vec(), how.to_owned());
        self.rows.push(Row { shape, precision, transform, how, microseconds: time });
        Ok(median)
    }

    /// Random input and a place for the output.
    fn arrays<T: CudaReal>(&self, count: usize) -> Result<[CudaSlice<T>; 2], CudaError> {
        let mut random = Pcg64Mcg::seed_from_u64(1);
        let values: Vec<T> = (0..count).map(|_| T::of(random.random())).collect();
        Ok([self.gpu.upload(&values)?, self.gpu.zeros(count)?])
    }

    fn lines<T: CudaReal>(&mut self) -> Result<(), CudaError> {
        for n in (14..=18).map(|power| 1 << power) {
            let [x, mut y] = self.arrays::<T>(n)?;
            for kind in [Transform1d::Dct, Transform1d::Idct] {
                for algorithm in Algorithm1d::ALL {
                    let mut plan = Plan1d::<T, T>::new(self.gpu, kind, n, 1, algorithm)?;
                    let what = format!("{kind:?}");
                    self.time::<T>(&[n], what, algorithm.name(), || plan.run(&x, &mut y))?;
                }
            }
        }
        Ok(())
    }

    fn map<T: CudaReal>(&mut self, nx: usize, ny: usize) -> Result<(), CudaError> {
        let [x, mut y] = self.arrays::<T>(nx * ny)?;
        let shape = [nx, ny];
        for kind in [Transform::Dct, Transform::Idct] {
            let what = || format!("{kind:?}");
            let with = |method, orientation| Plan2dOptions {
                method,
                orientation,
                ..Plan2dOptions::default()
            };
            let plan = |options| Plan2d::<T, T>::new(self.gpu, kind, nx, ny, options);
            let mut row_column = plan(with(Method::RowColumn, Orientation::Auto))?;
            let mut straight = plan(with(Method::Fused, Orientation::Straight))?;
            let mut transposed = plan(with(Method::Fused, Orientation::Transposed))?;
            let mut auto = plan(Plan2dOptions::default())?;
            let path = format!("auto: {:?}", auto.path());
            let base =
                self.time::<T>(&shape, what(), "row-column", || row_column.run(&x, &mut y))?;
            let fused = self.time::<T>(&shape, what(), "straight", || straight.run(&x, &mut y))?;
            for stage in Stage::ALL {
                let name = format!("straight, {}", stage.name());
                self.time::<T>(&shape, what(), &name, || straight.run_stage(stage, &x, &mut y))?;
            }
            self.time::<T>(&shape, what(), "transposed", || transposed.run(&x, &mut y))?;
            for stage in Stage::ALL {
                let name = format!("transposed, {}", stage.name());
                self.time::<T>(&shape, what(), &name, || transposed.run_stage(stage, &x, &mut y))?;
            }
            let best = self.time::<T>(&shape, what(), &path, || auto.run(&x, &mut y))?;
            println!("  row-column / straight {:.2}, / auto {:.2}", base / fused, base / best);
        }
        Ok(())
    }

    /// Both orientations of long maps, for the rule that chooses between them.
    fn shapes<T: CudaReal>(&mut self) -> Result<(), CudaError> {
        for (short, long) in SHAPES {
            for (nx, ny) in [(short, long), (long, short)] {
                let [x, mut y] = self.arrays::<T>(nx * ny)?;
                let mut times = [0.0; 2];
                let both = [Orientation::Straight, Orientation::Transposed];
                for (time, orientation) in times.iter_mut().zip(both) {
                    let options = Plan2dOptions { orientation, ..Plan2dOptions::default() };
                    let mut plan = Plan2d::<T, T>::new(self.gpu, Transform::Dct, nx, ny, options)?;
                    let how = format!("{orientation:?}");
                    *time =
                        self.time::<T>(&[nx, ny], "Dct".into(), &how, || plan.run(&x, &mut y))?;
                }
                println!("  straight / transposed {:.2}", times[0] / times[1]);
            }
        }
        Ok(())
    }

    fn volume<T: CudaReal>(&mut self, shape: [usize; 3]) -> Result<(), CudaError> {
        let [x, mut y] = self.arrays::<T>(shape.iter().product())?;
        for kind in TransformNd::ALL {
            let what = || format!("{kind:?}");
            let mut row_column = Plan3d::<T, T>::new(self.gpu, kind, shape, Method::RowColumn)?;
            let mut fused = Plan3d::<T, T>::new(self.gpu, kind, shape, Method::Fused)?;
            let base =
                self.time::<T>(&shape, what(), "row-column", || row_column.run(&x, &mut y))?;
            let best = self.time::<T>(&shape, what(), "fused", || fused.run(&x, &mut y))?;
            for stage in Stage::ALL {
                let name = format!("fused, {}", stage.name());
                self.time::<T>(&shape, what(), &name, || fused.run_stage(stage, &x, &mut y))?;
            }
            println!("  row-column / fused {:.2}", base / best);
        }
        Ok(())
    }
}
