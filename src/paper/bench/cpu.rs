//! The CPU as something to measure.

use super::work::{BenchError, Direction, Machine, Target, Work, random, seconds_from_now};
use crate::charge::Charge;
use crate::cpu::engine::CpuEngine;
use crate::cpu::transforms::Plan;
use crate::engine::{Engine, EngineOptions, Pipeline};
use crate::paper::{Dct1d, Dct2d, Fft2d, Reorder};
use crate::parallel::{self, chunks, chunks_mut};
use crate::real::Real;
use crate::real::with_precision;
use crate::transform::{Method, ShapeError, Transform, TransformNd, permutation};
use num_complex::Complex;
use std::sync::Arc;
use std::time::Instant;

/// Returns the CPU with a thread pool of `threads` threads; 0 takes all there are.
///
/// # Errors
/// When they cannot be started.
pub fn cpu_target(threads: usize) -> Result<Target, BenchError> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = pool.map_err(|e| BenchError::failed(format!("starting {threads} threads"), e))?;
    let pool = Arc::new(pool);
    Ok(Target {
        machine: Machine {
            engine: "cpu".to_owned(),
            device: processor(),
            threads: Some(pool.current_num_threads()),
            software: None,
            timing: "wall-clock time of one run".to_owned(),
        },
        free_memory: Box::new(|| crate::memory::available().map(|bytes| bytes as f64)),
        clock: seconds_from_now(),
        peak_bandwidth: None,
        prepare: Box::new(move |work, precision| {
            // Plans take their working memory for the pool they are made in.
            let mut planned = pool.install(|| with_precision!(precision, T => plan::<T>(work)))?;
            let pool = pool.clone();
            let mut timed = move || {
                let start = Instant::now();
                planned()?;
                Ok((start.elapsed().as_secs_f64() * 1e3, None))
            };
            Ok(Box::new(move || pool.install(&mut timed)))
        }),
        occupancy: Box::new(|_, _| {
            Err(BenchError::Unavailable("only kernels have one".to_owned()))
        }),
    })
}

/// Plans a piece of work for the pool this is called in.
fn plan<T: Real>(work: &Work) -> Result<Planned, BenchError> {
    let what = |e| BenchError::failed("planning", e);
    Ok(match work {
        Work::Copy([a, b]) => {
            let (x, mut out) = maps::<T>(a * b);
            Box::new(move || {
                let chunk = x.len().div_ceil(rayon::current_num_threads());
                let parts = (chunks_mut(&mut out, chunk), chunks(&x, chunk));
                parallel::for_each(parts, |_, (to, from)| to.copy_from_slice(from));
                Ok(())
            })
        }
        &Work::Reorder(shape, how) => reorder::<T>(shape, how),
        &Work::Fft(shape, direction) => fft::<T>(shape, direction).map_err(what)?,
        Work::PostProcess(..) => {
            let why = "on the CPU it is part of the FFT's pass along x";
            return Err(BenchError::Unavailable(why.to_owned()));
        }
        &Work::Variant([nx, ny], reorder, post) => {
            let mut plan = Dct2d::<T>::new([nx, ny], reorder, post).map_err(what)?;
            let (x, mut out) = maps::<T>(nx * ny);
            Box::new(move || done(plan.run(&x, &mut out)))
        }
        &Work::Line(n, algorithm) => {
            let mut plan = Dct1d::<T>::new(n, algorithm).map_err(what)?;
            let (x, mut out) = maps::<T>(n);
            Box::new(move || done(plan.run(&x, &mut out)))
        }
        &Work::Map([nx, ny], transform, pipeline) => {
            let plan = Plan::<T>::batched(transform, &[nx, ny], method(pipeline)?, 1);
            let (mut plan, (x, mut out)) = (plan.map_err(what)?, maps::<T>(nx * ny));
            Box::new(move || done(plan.run(&x, &mut out)))
        }
        &Work::Volume([a, b, c], direction, pipeline) => {
            let kind = match direction {
                Direction::Forward => TransformNd::Dct,
                Direction::Inverse => TransformNd::Idct,
            };
            let plan = Plan::<T>::batched(kind, &[a, b, c], method(pipeline)?, 1);
            let (mut plan, (x, mut out)) = (plan.map_err(what)?, maps::<T>(a * b * c));
            Box::new(move || done(plan.run(&x, &mut out)))
        }
        &Work::Compress(shape, pipeline, threshold) => {
            compress::<T>(shape, method(pipeline)?, threshold).map_err(what)?
        }
        Work::Step(charge, pipeline) => engine::<T>(charge, *pipeline, true)?,
        Work::Solve(charge, pipeline) => engine::<T>(charge, *pipeline, false)?,
    })
}

/// Returns a whole step of an engine, or its solve alone.
fn engine<T: Real>(
    charge: &Charge,
    pipeline: Pipeline,
    whole: bool,
) -> Result<Planned, BenchError> {
    let failed = |e| BenchError::failed("a step", e);
    let threads = rayon::current_num_threads();
    let options = EngineOptions::default().pipeline(pipeline).threads(threads);
    let mut engine = CpuEngine::<T>::new(charge.clone(), &options).map_err(failed)?;
    let start = |values: &[f64]| values.iter().map(|&v| T::cast(v)).collect::<Vec<_>>();
    let (x, y) = (start(charge.initial_x()), start(charge.initial_y()));
    engine.set_positions(&x, &y).map_err(failed)?;
    engine.compute_density().map_err(failed)?;
    Ok(Box::new(move || {
        if whole {
            engine.compute_density().map_err(failed)?;
        }
        engine.solve(pipeline).map_err(failed)?;
        if whole {
            engine.compute_force().map_err(failed)?;
        }
        Ok(())
    }))
}

/// Returns the processor's own name.
pub fn processor() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = info.lines().find_map(|l| l.strip_prefix("model name")?.split_once(": "));
    name.map_or("unknown processor", |(_, name)| name).to_owned()
}

/// Planned work: a call runs it once.
type Planned = Box<dyn FnMut() -> Result<(), BenchError> + Send>;

/// Returns random input, and memory for the output.
fn maps<T: Real>(n: usize) -> (Vec<T>, Vec<T>) {
    (random(n), vec![T::zero(); n])
}

fn done<E: std::error::Error + Send + Sync + 'static>(
    result: Result<(), E>,
) -> Result<(), BenchError> {
    result.map_err(|e| BenchError::failed("a transform", e))
}

/// Returns a pipeline's method of single transforms.
fn method(pipeline: Pipeline) -> Result<Method, BenchError> {
    match pipeline {
        Pipeline::RowColumn => Ok(Method::RowColumn),
        Pipeline::Fused => Ok(Method::Fused),
        Pipeline::ThreePass => {
            let why = "the three-pass pipeline has no single transforms";
            Err(BenchError::Unavailable(why.to_owned()))
        }
    }
}

fn compress<T: Real>(
    [nx, ny]: [usize; 2],
    method: Method,
    threshold: f64,
) -> Result<Planned, ShapeError> {
    let plan = |kind| Plan::<T>::batched(kind, &[nx, ny], method, 1);
    let (mut dct, mut idct) = (plan(Transform::Dct)?, plan(Transform::Idct)?);
    let (x, mut spectrum) = maps::<T>(nx * ny);
    let mut out = spectrum.clone();
    Ok(Box::new(move || {
        done(dct.run_thresholded(&x, T::cast(threshold), &mut spectrum))?;
        done(idct.run(&spectrum, &mut out))
    }))
}

/// Returns a map reordered along both axes, rows in parallel.
fn reorder<T: Real>([nx, ny]: [usize; 2], how: Reorder) -> Planned {
    let (x, mut out) = maps::<T>(nx * ny);
    Box::new(move || {
        parallel::for_each(chunks_mut(&mut out, ny), |p, row| {
            let from = &x[permutation::sample(p, nx) * ny..][..ny];
            match how {
                Reorder::Gather => permutation::gather(from, row),
                _ => permutation::reorder(from, row),
            }
        });
        Ok(())
    })
}

fn fft<T: Real>([nx, ny]: [usize; 2], direction: Direction) -> Result<Planned, ShapeError> {
    let mut fft = Fft2d::<T>::new(nx, ny)?;
    let (x, mut out) = maps::<T>(nx * ny);
    let mut spectrum = vec![Complex::new(T::zero(), T::zero()); nx * (ny / 2 + 1)];
    fft.forward(&x, &mut spectrum);
    Ok(Box::new(move || {
        match direction {
            Direction::Forward => fft.forward(&x, &mut spectrum),
            Direction::Inverse => fft.inverse(&spectrum, &mut out),
        }
        Ok(())
    }))
}
