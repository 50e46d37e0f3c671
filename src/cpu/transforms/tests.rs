//! Every pass over shared memory at the smallest sizes that reach all of its
//! branches: whole panels and parts of one, columns and rows that are their own
//! mirrors, several maps. Small enough for Miri (`scripts/miri`); the sizes that
//! are used, and precisions, are in `tests/library/transforms.rs`.

use super::*;
use crate::grid::Map;
use crate::transform::{
    Algorithm1d, PostProcessing, Reorder, Transform, Transform1d, TransformNd, oracle,
};

fn values(count: usize) -> Vec<f64> {
    (0..count).map(|i| ((i * i * 31 + 7 * i) % 17) as f64 - 6.5).collect()
}

#[track_caller]
fn assert_close(got: &[f64], want: &[f64], what: &dyn std::fmt::Debug) {
    assert_eq!(got.len(), want.len());
    for (a, b) in got.iter().zip(want) {
        assert!((a - b).abs() < 1e-9, "{what:?}: {a} and {b}");
    }
}

/// Runs `work` on two threads.
fn on_two_threads(work: impl FnOnce() + Send) {
    rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap().install(work);
}

#[test]
fn small_lines() {
    on_two_threads(|| {
        for kind in Transform1d::ALL {
            for algorithm in Algorithm1d::ALL {
                let x = values(2 * 7);
                let want: Vec<f64> =
                    x.chunks(7).flat_map(|x| oracle::transform1(kind, x)).collect();
                let mut out = vec![0.0; x.len()];
                let mut plan = Plan1d::<f64>::batched(kind, 7, algorithm, 2).unwrap();
                plan.run(&x, &mut out).unwrap();
                assert_close(&out, &want, &(kind, algorithm));
            }
        }
    });
}

#[test]
fn small_maps() {
    let fused =
        |layout, reorder, post| Plan2dOptions { method: Method::Fused, layout, reorder, post };
    let all = [
        Plan2dOptions { method: Method::RowColumn, ..Plan2dOptions::default() },
        fused(FftLayout::Transposed, Reorder::Gather, PostProcessing::Efficient),
        fused(FftLayout::Straight, Reorder::Wide, PostProcessing::Efficient),
        fused(FftLayout::Straight, Reorder::Gather, PostProcessing::Naive),
        fused(FftLayout::Transposed, Reorder::Wide, PostProcessing::Efficient),
        fused(FftLayout::Transposed, Reorder::Scatter, PostProcessing::Naive),
    ];
    on_two_threads(|| {
        let shapes = [(3, 36, 1), (18, 5, 2), (2, 35, 1), (1, 1, 1), (5, 37, 3)];
        // Miri takes seconds for a plan. The sine transforms and the first two options
        // reach no memory in another way than the rest.
        let (shapes, kinds, all) = match cfg!(miri) {
            true => (&shapes[..2], 2, &all[2..]),
            false => (&shapes[..], 4, &all[..]),
        };
        for &(nx, ny, batch) in shapes {
            let x = values(nx * ny * batch);
            for kind in Transform::ALL.into_iter().take(kinds) {
                let map = |x: &[f64]| Map::from_vec(nx, ny, x.to_vec());
                let each = x.chunks(nx * ny).map(|x| oracle::transform2(kind, &map(x)).into_vec());
                let want: Vec<f64> = each.flatten().collect();
                for &options in all {
                    let mut out = vec![0.0; x.len()];
                    let mut plan = Plan2d::<f64>::batched(kind, nx, ny, options, batch).unwrap();
                    plan.run(&x, &mut out).unwrap();
                    assert_close(&out, &want, &(kind, nx, ny, options));
                }
            }
        }
    });
}

#[test]
fn small_volumes_and_arrays() {
    on_two_threads(|| {
        let shapes = [&[2, 4, 35][..], &[3, 3, 4], &[2, 3, 2, 3], &[1, 1, 1], &[5, 6, 33]];
        let (shapes, methods) = match cfg!(miri) {
            true => (&shapes[..2], &[Method::Fused][..]),
            false => (&shapes[..], &Method::ALL[..]),
        };
        for &shape in shapes {
            let size = shape.iter().product();
            let x = values(2 * size);
            for kind in TransformNd::ALL {
                let each = x.chunks(size).map(|x| oracle::transform_nd(kind, shape, x));
                let want: Vec<f64> = each.flatten().collect();
                for &method in methods {
                    let mut out = vec![0.0; x.len()];
                    let mut plan = PlanNd::<f64>::batched(kind, shape, method, 2).unwrap();
                    plan.run(&x, &mut out).unwrap();
                    assert_close(&out, &want, &(kind, shape, method));
                }
            }
        }
    });
}
