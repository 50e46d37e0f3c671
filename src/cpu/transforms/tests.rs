//! Every pass over shared memory at the smallest sizes that reach all of its
//! branches: whole panels and parts of one, columns and rows that are their own
//! mirrors, several maps. Small enough for Miri (`scripts/miri`); the sizes that
//! are used, and precisions, are in `tests/library/transforms.rs`.

use super::*;
use crate::grid::Map;
use crate::transform::{Transform, Transform1d, TransformNd, oracle};

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
            let x = values(2 * 7);
            let want: Vec<f64> = x.chunks(7).flat_map(|x| oracle::transform1(kind, x)).collect();
            let mut out = vec![0.0; x.len()];
            Plan::<f64>::batched(kind, &[7], Method::default(), 2)
                .unwrap()
                .run(&x, &mut out)
                .unwrap();
            assert_close(&out, &want, &kind);
        }
    });
}

#[test]
fn small_maps() {
    on_two_threads(|| {
        let shapes = [(3, 36, 1), (18, 5, 2), (2, 35, 1), (1, 1, 1), (5, 37, 3), (36, 4, 1)];
        // Miri takes seconds for a plan. The sine transforms and the first method
        // reach no memory in another way than the rest.
        let (shapes, kinds, methods) = match cfg!(miri) {
            true => (&shapes[..2], 2, &[Method::Fused][..]),
            false => (&shapes[..], 4, &Method::ALL[..]),
        };
        for &(nx, ny, batch) in shapes {
            let x = values(nx * ny * batch);
            for kind in Transform::ALL.into_iter().take(kinds) {
                let map = |x: &[f64]| Map::from_vec(nx, ny, x.to_vec());
                let each = x.chunks(nx * ny).map(|x| oracle::transform2(kind, &map(x)).into_vec());
                let want: Vec<f64> = each.flatten().collect();
                for &method in methods {
                    let mut out = vec![0.0; x.len()];
                    let mut plan = Plan::<f64>::batched(kind, &[nx, ny], method, batch).unwrap();
                    plan.run(&x, &mut out).unwrap();
                    assert_close(&out, &want, &(kind, nx, ny, method));
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
                    let mut plan = Plan::<f64>::batched(kind, shape, method, 2).unwrap();
                    plan.run(&x, &mut out).unwrap();
                    assert_close(&out, &want, &(kind, shape, method));
                }
            }
        }
    });
}

/// A task of one thread takes neighbouring tiles together, one of many threads a tile.
#[test]
fn tiles_together_and_alone() {
    let shapes = [&[6, 200][..], &[3, 5, 70], &[4, 3, 150], &[40, 3], &[5, 20, 2], &[33, 11]];
    let shapes = if cfg!(miri) { &shapes[..1] } else { &shapes[..] };
    for &shape in shapes {
        let x = values(shape.iter().product());
        for kind in TransformNd::ALL {
            for method in Method::ALL {
                let run = |threads| {
                    let mut out = vec![0.0; x.len()];
                    let plan = Plan::<f64>::for_threads(kind, shape, method, 1, threads);
                    plan.unwrap().run(&x, &mut out).unwrap();
                    out
                };
                let out = run(1);
                assert_close(&out, &oracle::transform_nd(kind, shape, &x), &(kind, shape, method));
                assert_eq!(out, run(64), "{kind:?} {shape:?} {method:?}");
            }
        }
    }
}
