//! Every way to a 2-D and 3-D DCT and IDCT, single ones on a device: what a [`Plan`]
//! takes by itself was chosen by these times. (`placefield bench` has the paper's
//! shapes and pipelines.)
//!
//! `cargo bench --bench cuda_transforms -- [FILE.json]`
//!
//! Everything stays in device memory. A graph holds 20 runs (5 of large arrays)
//! and is replayed 15 times; a number is the median over replays of the mean run,
//! in microseconds.

use placefield::cuda::internals::{Spread, measure};
use placefield::cuda::transforms::Plan;
use placefield::cuda::{CudaError, CudaReal, Gpu, Graph};
use placefield::transform::{Method, Transform, TransformNd};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use serde::Serialize;
use std::process::ExitCode;

const REPLAYS: usize = 15;

/// Each is measured with its transpose.
const SHAPES: [(usize, usize); 22] = [
    (16, 65536),
    (32, 32768),
    (50, 20000),
    (64, 16384),
    (100, 3000),
    (100, 10000),
    (200, 5000),
    (256, 4096),
    (400, 2500),
    (500, 2000),
    (512, 1000),
    (1000, 1000),
    (1000, 10000),
    (2048, 5000),
    (512, 512),
    (1024, 1024),
    (1536, 1536),
    (2048, 2048),
    (3000, 3000),
    (4096, 4096),
    (8192, 8192),
    (720, 1280),
];
const VOLUMES: [[usize; 3]; 4] = [[64; 3], [128; 3], [256; 3], [96, 120, 100]];

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
    // Shapes as in 512x1024 or 64x64x64, those of the tables where there are none, and a file.
    let (mut file, mut shapes) = (None, Vec::new());
    for argument in std::env::args().skip(1).filter(|a| a != "--bench") {
        let lengths: Result<Vec<usize>, _> = argument.split('x').map(str::parse).collect();
        match lengths {
            Ok(shape) => shapes.push(shape),
            Err(_) => file = Some(argument),
        }
    }
    if shapes.is_empty() {
        for (short, long) in SHAPES {
            shapes.push(vec![short, long]);
            if short < long {
                shapes.push(vec![long, short]);
            }
        }
        shapes.extend(VOLUMES.map(Vec::from));
    }
    match run(&shapes, file) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("cuda_transforms: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(shapes: &[Vec<usize>], file: Option<String>) -> Result<(), Box<dyn std::error::Error>> {
    let gpu = Gpu::open(0)?;
    println!("{}", gpu.info().name);
    let mut rows = Vec::new();
    for shape in shapes {
        match shape[..] {
            [nx, ny] => {
                map::<f64>(&gpu, [nx, ny], &mut rows)?;
                map::<f32>(&gpu, [nx, ny], &mut rows)?;
            }
            [l, m, n] => {
                volume::<f64>(&gpu, [l, m, n], &mut rows)?;
                volume::<f32>(&gpu, [l, m, n], &mut rows)?;
            }
            _ => return Err("expected two or three lengths".into()),
        }
    }
    if let Some(file) = file {
        let report = Report { device: gpu.info().clone(), rows };
        std::fs::write(file, serde_json::to_string_pretty(&report)?)?;
    }
    Ok(())
}

fn map<T: CudaReal>(gpu: &Gpu, shape: [usize; 2], rows: &mut Vec<Row>) -> Result<(), CudaError> {
    let [nx, ny] = shape;
    let mut random = Pcg64Mcg::seed_from_u64(1);
    let values: Vec<T> = (0..nx * ny).map(|_| T::cast(random.random())).collect();
    let (x, mut y) = (gpu.upload(&values)?, gpu.zeros(nx * ny)?);
    for kind in [Transform::Dct, Transform::Idct] {
        let precision = T::PRECISION.name();
        print!("{precision} {nx:>5} x {ny:<5} {kind:?}");
        for method in Method::ALL {
            let mut plan = Plan::<T, T>::of_maps(gpu, kind, nx, ny, method, 1)?;
            let time = time(gpu, nx * ny, || plan.run(&x, &mut y))?;
            let how = match method == Method::Fastest {
                true => format!("default, {:?}", plan.path()),
                false => format!("{:?}", plan.path()),
            };
            print!("  {how} {:.2}", time.median);
            let transform = format!("{kind:?}");
            rows.push(Row { shape: shape.into(), precision, transform, how, microseconds: time });
        }
        println!();
    }
    Ok(())
}

fn volume<T: CudaReal>(gpu: &Gpu, shape: [usize; 3], rows: &mut Vec<Row>) -> Result<(), CudaError> {
    let count = shape.iter().product();
    let (x, mut y) = (gpu.upload(&vec![T::one(); count])?, gpu.zeros(count)?);
    for kind in TransformNd::ALL {
        let precision = T::PRECISION.name();
        print!("{precision} {shape:?} {kind:?}");
        for method in Method::ALL {
            let mut plan = Plan::<T>::of_arrays(gpu, kind, &shape, method, 1)?;
            let time = time(gpu, count, || plan.run(&x, &mut y))?;
            print!("  {} {:.2}", method.name(), time.median);
            let (transform, how) = (format!("{kind:?}"), method.name().to_owned());
            rows.push(Row { shape: shape.into(), precision, transform, how, microseconds: time });
        }
        println!();
    }
    Ok(())
}

/// Microseconds of `body`, which works on `values` values.
fn time(
    gpu: &Gpu,
    values: usize,
    mut body: impl FnMut() -> Result<(), CudaError>,
) -> Result<Spread, CudaError> {
    let runs = if values > 1 << 22 { 5 } else { 20 };
    body()?;
    gpu.synchronize()?;
    // SAFETY: the graph is dropped here, before any buffer `body` borrows.
    let mut graph = unsafe { Graph::capture(gpu, || (0..runs).try_for_each(|_| body())) }?;
    let mut time = measure(gpu, REPLAYS, 1, || graph.launch())?;
    for value in [&mut time.median, &mut time.min, &mut time.max] {
        *value /= runs as f64;
    }
    Ok(time)
}
