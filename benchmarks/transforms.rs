//! Single transforms on the CPU: the four algorithms of a line's DCT, maps and volumes by both
//! methods, and a map's DCT with every choice of its stages.
//!
//! `cargo bench --bench transforms -- [--json FILE]`. Timed: one DCT or IDCT,
//! data resident, the plan made beforehand, in f64 (f32 too for maps).
//! All sides of a comparison take turns within one run.

mod harness;

use harness::Sample;
use placefield::Real;
use placefield::cpu::transforms::Plan;
use placefield::paper::{Algorithm1d, Dct1d, Dct2d, PostProcessing, Reorder};
use placefield::transform::{Method, Transform, Transform1d, TransformNd};
use serde::Serialize;

#[derive(Serialize)]
struct Row {
    what: String,
    shape: Vec<usize>,
    precision: &'static str,
    /// Median and spread by side.
    sides: Vec<(String, Sample)>,
}

fn values<T: Real>(count: usize) -> Vec<T> {
    (0..count).map(|i| T::cast(((i * 7919) % 1009) as f64 / 1009.0)).collect()
}

/// Times `sides`, each of them a name and what to run.
fn row<T: Real>(
    what: &str,
    shape: &[usize],
    mut sides: Vec<(String, Box<dyn FnMut() + '_>)>,
) -> Row {
    let size = shape.iter().product::<usize>();
    let repetitions = (20_000_000 / size).clamp(7, 100);
    let mut calls: Vec<&mut dyn FnMut()> = Vec::new();
    let mut names = Vec::new();
    for (name, call) in &mut sides {
        names.push(name.clone());
        calls.push(call);
    }
    let samples = harness::interleaved(repetitions, &mut calls);
    let first = samples[0].median_ms;
    print!("{what:24} {shape:?} {}", T::PRECISION);
    for (name, sample) in names.iter().zip(&samples) {
        print!(" | {name} {:.3} ms ({:.2}x)", sample.median_ms, first / sample.median_ms);
    }
    println!();
    Row {
        what: what.to_owned(),
        shape: shape.to_vec(),
        precision: T::PRECISION.name(),
        sides: names.into_iter().zip(samples).collect(),
    }
}

/// The DCT of a line by every algorithm, and its IDCT.
fn lines(n: usize) -> Row {
    let x = values::<f64>(n);
    let dct = |algorithm: Algorithm1d| {
        let mut plan = Dct1d::<f64>::new(n, algorithm).unwrap();
        let (mut out, x) = (vec![0.0; n], &x);
        let call = move || plan.run(x, &mut out).unwrap();
        (algorithm.name().to_owned(), Box::new(call) as Box<dyn FnMut()>)
    };
    let mut sides: Vec<_> = Algorithm1d::ALL.map(dct).into();
    let (mut idct, mut out) = (Plan::<f64>::new(Transform1d::Idct, &[n]).unwrap(), vec![0.0; n]);
    let x = &x;
    let call = move || idct.run(x, &mut out).unwrap();
    sides.push(("IDCT".to_owned(), Box::new(call)));
    row::<f64>("1-D DCT", &[n], sides)
}

fn maps<T: Real>(kind: Transform, nx: usize, ny: usize) -> Row {
    let x = values::<T>(nx * ny);
    let side = |method: Method| {
        let mut plan = Plan::<T>::batched(kind, &[nx, ny], method, 1).unwrap();
        let (mut out, x) = (vec![T::cast(0.0); nx * ny], &x);
        let call = move || plan.run(x, &mut out).unwrap();
        (method.name().to_owned(), Box::new(call) as Box<dyn FnMut()>)
    };
    let sides = [Method::RowColumn, Method::Fused].map(side);
    row::<T>(&format!("2-D {kind:?}"), &[nx, ny], sides.into())
}

/// The fused DCT of a square map with its stages chosen.
fn stages(n: usize) -> Row {
    let x = values::<f64>(n * n);
    let side = |(name, reorder, post): (&str, Reorder, PostProcessing)| {
        let mut plan = Dct2d::<f64>::new([n, n], reorder, post).unwrap();
        let (mut out, x) = (vec![0.0; n * n], &x);
        let call = move || plan.run(x, &mut out).unwrap();
        (name.to_owned(), Box::new(call) as Box<dyn FnMut()>)
    };
    let sides = [
        ("efficient, wide", Reorder::Wide, PostProcessing::Efficient),
        ("naive", Reorder::Wide, PostProcessing::Naive),
        ("gather", Reorder::Gather, PostProcessing::Efficient),
    ];
    row::<f64>("2-D Dct, stages", &[n, n], sides.map(side).into())
}

/// One shape and its transpose in turns, as a plan chooses to compute them.
fn both_ways<T: Real>(kind: Transform, n1: usize, n2: usize) -> Row {
    let x = values::<T>(n1 * n2);
    let side = |(nx, ny): (usize, usize)| {
        let mut plan = Plan::<T>::new(kind, &[nx, ny]).unwrap();
        let (mut out, x) = (vec![T::cast(0.0); nx * ny], &x);
        let call = move || plan.run(x, &mut out).unwrap();
        (format!("{nx}x{ny}"), Box::new(call) as Box<dyn FnMut()>)
    };
    row::<T>(&format!("2-D {kind:?}, as chosen"), &[n1, n2], [(n1, n2), (n2, n1)].map(side).into())
}

fn volumes(kind: TransformNd, shape: [usize; 3]) -> Row {
    let size = shape.iter().product();
    let x = values::<f64>(size);
    let side = |method: Method| {
        let mut plan = Plan::<f64>::batched(kind, &shape, method, 1).unwrap();
        let (mut out, x) = (vec![0.0; size], &x);
        let call = move || plan.run(x, &mut out).unwrap();
        (method.name().to_owned(), Box::new(call) as Box<dyn FnMut()>)
    };
    row::<f64>(
        &format!("3-D {kind:?}"),
        &shape,
        [Method::RowColumn, Method::Fused].map(side).into(),
    )
}

#[derive(Serialize)]
struct Results {
    machine: String,
    timed: &'static str,
    rows: Vec<Row>,
}

fn main() {
    let mut rows = Vec::new();
    for power in 14..=18 {
        rows.push(lines(1 << power));
    }
    for kind in [Transform::Dct, Transform::Idct] {
        for n in [512, 1024, 2048] {
            rows.push(maps::<f32>(kind, n, n));
            rows.push(maps::<f64>(kind, n, n));
        }
        for (nx, ny) in [(100, 10_000), (10_000, 100), (512, 2048), (2048, 512)] {
            rows.push(maps::<f32>(kind, nx, ny));
            rows.push(maps::<f64>(kind, nx, ny));
        }
        rows.push(both_ways::<f32>(kind, 100, 10_000));
        rows.push(both_ways::<f64>(kind, 100, 10_000));
    }
    rows.push(stages(1024));
    rows.push(maps::<f64>(Transform::IdctIdxst, 1024, 1024));
    for kind in TransformNd::ALL {
        rows.push(volumes(kind, [64; 3]));
        rows.push(volumes(kind, [128; 3]));
    }
    harness::save(&Results {
        machine: harness::machine(),
        timed: "one transform, data resident, the plan made beforehand; \
                median of repetitions in turn",
        rows,
    });
}
