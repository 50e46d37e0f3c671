//! A CUDA device as something to measure.
//!
//! Everything stays in device memory. Work is captured in a graph that holds as many runs as take
//! about [`SAMPLE_MS`], so that the events' resolution does not matter; a time is one replay's over
//! its runs. Beside it the same runs are timed as plain launches in a row. Buffers are the same in
//! every run: what fits in the device's cache stays there, as between a placer's stages.

use super::work::{BenchError, Direction, Machine, Run, Target, Work, random, seconds_from_now};
use crate::charge::Charge;
use crate::cuda::transforms::{Plan, Stage};
use crate::cuda::{
    CudaEngine, CudaError, CudaReal, DeviceVec, Fields, Gpu, Graph, Marks, RealFft, probe, solver,
};
use crate::engine::{Engine, EngineError, EngineOptions, Pipeline};
use crate::paper::cuda::{Dct1d, dct_2d};
use crate::paper::{PostProcessing, Reorder};
use crate::real::with_precision;
use crate::transform::{Method, Transform, TransformNd};

/// Milliseconds that a sample holds at least.
const SAMPLE_MS: f64 = 0.2;

/// Runs that a sample holds at most.
const MOST_RUNS: usize = 20;

/// Enqueues one run.
type Enqueue = Box<dyn FnMut() -> Result<(), CudaError>>;

/// Opens device `ordinal` to be measured.
///
/// # Errors
/// When it cannot be used; the error names the part that is missing.
pub fn cuda_target(ordinal: usize) -> Result<Target, CudaError> {
    let gpu = Gpu::open(ordinal)?;
    let found = probe();
    let version = |v: Option<(i32, i32)>| v.map_or("?".into(), |(a, b)| format!("{a}.{b}"));
    let [cuda, cufft] = [found.driver_version, found.cufft_version].map(version);
    let [memory, kernels] = [gpu.clone(), gpu.clone()];
    Ok(Target {
        machine: Machine {
            engine: "cuda".to_owned(),
            device: gpu.info().name.clone(),
            threads: None,
            software: Some(format!("CUDA {cuda}, cuFFT {cufft}")),
            timing: format!(
                "events around a graph of as many runs as take {SAMPLE_MS} ms, at most {MOST_RUNS}"
            ),
        },
        free_memory: Box::new(move || memory.memory().ok().map(|memory| memory.free as f64)),
        clock: seconds_from_now(),
        peak_bandwidth: gpu.peak_bandwidth(),
        prepare: Box::new(
            move |work, precision| with_precision!(precision, T => prepare::<T>(&gpu, work)),
        ),
        occupancy: Box::new(move |work, precision| {
            let of = |shape| with_precision!(precision, T => occupancies::<T>(&kernels, shape));
            match *work {
                Work::Reorder(shape, _) => Ok(of(shape)?[0]),
                Work::PostProcess(shape, _) => Ok(of(shape)?[1]),
                _ => Err(BenchError::Unavailable("not one kernel".to_owned())),
            }
        }),
    })
}

fn prepare<T: CudaReal>(gpu: &Gpu, work: &Work) -> Result<Run, BenchError> {
    match work {
        Work::Step(charge, pipeline) => steps::<T>(gpu, charge, *pipeline),
        _ => captured(gpu, plan::<T>(gpu, work).map_err(refused)?).map_err(failed),
    }
}

/// Makes the plans that a graph captures.
fn plan<T: CudaReal>(gpu: &Gpu, work: &Work) -> Result<Enqueue, CudaError> {
    Ok(match work {
        Work::Copy([a, b]) => {
            let [x, mut out] = maps::<T>(gpu, a * b)?;
            let gpu = gpu.clone();
            Box::new(move || gpu.copy(&x, &mut out))
        }
        &Work::Reorder(shape, reorder) => {
            stage::<T>(gpu, shape, Stage::Pre, reorder, PostProcessing::default())?
        }
        &Work::Fft(shape, Direction::Forward) => {
            let mut fft = RealFft::<T>::forward(gpu, &shape, 1)?;
            let x = gpu.upload(&random::<T>(shape[0] * shape[1]))?;
            let mut spectrum = gpu.zeros(shape[0] * (shape[1] / 2 + 1))?;
            Box::new(move || fft.run_forward(&x, &mut spectrum))
        }
        &Work::Fft(shape, Direction::Inverse) => {
            let mut fft = RealFft::<T>::inverse(gpu, &shape, 1)?;
            let mut spectrum = gpu.zeros(shape[0] * (shape[1] / 2 + 1))?;
            let mut out = gpu.zeros::<T>(shape[0] * shape[1])?;
            Box::new(move || fft.run_inverse(&mut spectrum, &mut out))
        }
        &Work::PostProcess(shape, post) => {
            stage::<T>(gpu, shape, Stage::Post, Reorder::default(), post)?
        }
        &Work::Variant(shape, reorder, post) => {
            running(gpu, dct_2d::<T>(gpu, shape, reorder, post)?)?
        }
        &Work::Line(n, algorithm) => {
            let mut plan = Dct1d::<T>::new(gpu, n, algorithm)?;
            let [x, mut out] = maps(gpu, n)?;
            Box::new(move || plan.run(&x, &mut out))
        }
        &Work::Map([nx, ny], transform, pipeline) => {
            running(gpu, Plan::<T>::of_maps(gpu, transform, nx, ny, method(pipeline), 1)?)?
        }
        &Work::Volume(shape, direction, pipeline) => {
            let kind = match direction {
                Direction::Forward => TransformNd::Dct,
                Direction::Inverse => TransformNd::Idct,
            };
            running(gpu, Plan::<T>::of_arrays(gpu, kind, &shape, method(pipeline), 1)?)?
        }
        &Work::Compress(shape, pipeline, threshold) => {
            compress::<T>(gpu, shape, pipeline, threshold)?
        }
        Work::Solve(charge, pipeline) | Work::Step(charge, pipeline) => {
            let grid = &charge.grid();
            let mut solver = solver::<T>(gpu, grid, *pipeline)?;
            let rho = gpu.upload(&random::<T>(grid.bins()))?;
            let mut fields = Fields::new(gpu, grid.bins())?;
            Box::new(move || solver.solve(&rho, &mut fields))
        }
    })
}

/// Returns the occupancy of the fused DCT's kernels: pre-processing, post-processing.
fn occupancies<T: CudaReal>(gpu: &Gpu, [nx, ny]: [usize; 2]) -> Result<[f64; 2], BenchError> {
    let plan = Plan::<T>::of_maps(gpu, Transform::Dct, nx, ny, Method::Fused, 1).map_err(failed)?;
    let kernels = plan.kernels().map_err(failed)?;
    match &kernels[..] {
        [pre, .., post] => Ok([pre.occupancy, post.occupancy]),
        _ => Err(BenchError::Unavailable("the plan names no two kernels".to_owned())),
    }
}

fn failed(error: CudaError) -> BenchError {
    BenchError::failed("the device", error)
}

fn engine_failed(error: EngineError) -> BenchError {
    BenchError::failed("a step", error)
}

/// Operations that the device has no form of, or no memory for, are no failures.
fn refused(error: CudaError) -> BenchError {
    match error {
        CudaError::SolvesOnly(_)
        | CudaError::NotPlanned { .. }
        | CudaError::NoTransform { .. }
        | CudaError::OutOfMemory { .. } => BenchError::Unavailable(error.to_string()),
        _ => failed(error),
    }
}

/// Returns the runs captured in a graph, to be replayed, and beside it launched one by one.
fn captured(gpu: &Gpu, mut run: Enqueue) -> Result<Run, CudaError> {
    run()?;
    let runs = runs_for(time(gpu, 1, &mut *run)?);
    // SAFETY: the graph is dropped before `run`, which owns every buffer and plan it uses; a
    // box's content does not move, and all work goes to the one stream.
    let graph = unsafe { Graph::capture(gpu, || (0..runs).try_for_each(|_| run())) }?;
    let mut work = CapturedWork { graph, run, gpu: gpu.clone(), runs };
    Ok(Box::new(move || work.run().map_err(failed)))
}

/// Captured work.
struct CapturedWork {
    // Holds the addresses of what `run` owns, so it is dropped first.
    graph: Graph,
    run: Enqueue,
    gpu: Gpu,
    runs: usize,
}

impl CapturedWork {
    fn run(&mut self) -> Result<(f64, Option<f64>), CudaError> {
        let replay = time(&self.gpu, 1, &mut || self.graph.launch())?;
        let plain = time(&self.gpu, self.runs, &mut *self.run)?;
        Ok((replay / self.runs as f64, Some(plain)))
    }
}

/// Runs that make a sample when one takes `ms`.
fn runs_for(ms: f64) -> usize {
    ((SAMPLE_MS / ms.max(1e-6)).ceil() as usize).clamp(1, MOST_RUNS)
}

/// Returns the milliseconds per run of `runs` in a row.
fn time<E: From<CudaError>>(
    gpu: &Gpu,
    runs: usize,
    run: &mut dyn FnMut() -> Result<(), E>,
) -> Result<f64, E> {
    let marks = Marks::new(gpu, 2)?;
    marks.set(0)?;
    (0..runs).try_for_each(|_| run())?;
    marks.set(1)?;
    gpu.synchronize()?;
    Ok(marks.ms_between(0, 1)? / runs as f64)
}

/// Returns a placer's steps: the engine's own graphs, with the order of bodies made
/// anew as often as in a run.
fn steps<T: CudaReal>(gpu: &Gpu, charge: &Charge, pipeline: Pipeline) -> Result<Run, BenchError> {
    let options = EngineOptions::default().pipeline(pipeline);
    let engine = CudaEngine::<T>::on(gpu, charge.clone(), &options);
    let mut engine = engine.map_err(engine_failed)?;
    let start = |values: &[f64]| values.iter().map(|&v| T::cast(v)).collect::<Vec<_>>();
    let (x, y) = (start(charge.initial_x()), start(charge.initial_y()));
    engine.set_positions(&x, &y).map_err(engine_failed)?;
    // As launches, and captured; then as a graph.
    engine.enqueue_step().map_err(engine_failed)?;
    let gpu = gpu.clone();
    let mut steps =
        move |runs| time(&gpu, runs, &mut || engine.enqueue_step()).map_err(engine_failed);
    let runs = runs_for(steps(1)?);
    Ok(Box::new(move || Ok((steps(runs)?, None))))
}

/// Returns random input, and memory for the output.
fn maps<T: CudaReal>(gpu: &Gpu, n: usize) -> Result<[DeviceVec<T>; 2], CudaError> {
    Ok([gpu.upload(&random::<T>(n))?, gpu.zeros(n)?])
}

/// Returns a pipeline's method of single transforms; the three-pass solve's is by line kernels.
fn method(pipeline: Pipeline) -> Method {
    match pipeline {
        Pipeline::RowColumn => Method::RowColumn,
        Pipeline::Fused => Method::Fused,
        Pipeline::ThreePass => Method::Fastest,
    }
}

/// Returns the runs of a plan of one array.
fn running<T: CudaReal>(gpu: &Gpu, mut plan: Plan<T>) -> Result<Enqueue, CudaError> {
    let [x, mut out] = maps(gpu, plan.shape().iter().product())?;
    Ok(Box::new(move || plan.run(&x, &mut out)))
}

/// Returns one stage of the fused DCT, on what a whole one left.
fn stage<T: CudaReal>(
    gpu: &Gpu,
    shape: [usize; 2],
    stage: Stage,
    reorder: Reorder,
    post: PostProcessing,
) -> Result<Enqueue, CudaError> {
    let mut plan = dct_2d::<T>(gpu, shape, reorder, post)?;
    let [x, mut out] = maps(gpu, shape[0] * shape[1])?;
    plan.run(&x, &mut out)?;
    Ok(Box::new(move || plan.run_stage(stage, &x, &mut out)))
}

/// The threshold is part of either pipeline's last kernel.
fn compress<T: CudaReal>(
    gpu: &Gpu,
    [nx, ny]: [usize; 2],
    pipeline: Pipeline,
    threshold: f64,
) -> Result<Enqueue, CudaError> {
    let method = method(pipeline);
    let dct = Plan::<T>::of_maps(gpu, Transform::Dct, nx, ny, method, 1)?;
    let mut dct = dct.with_threshold()?;
    let mut idct = Plan::<T>::of_maps(gpu, Transform::Idct, nx, ny, method, 1)?;
    let [x, mut spectrum] = maps(gpu, nx * ny)?;
    let (mut out, mut kept) = (gpu.zeros(nx * ny)?, gpu.zeros(1)?);
    Ok(Box::new(move || {
        dct.run_thresholded(&x, T::cast(threshold), &mut spectrum, &mut kept)?;
        idct.run(&spectrum, &mut out)
    }))
}
