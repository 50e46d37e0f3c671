//! The transforms of the library against the definitions: every kind,
//! algorithm, dimension, precision and choice, on odd, prime, unit and
//! rectangular sizes.
//!
//! Accuracy is relative RMS: at most 2e-6 in f32 and 1e-13 in f64.

use crate::common::{limit, relative_rms};
use placefield::Real;
use placefield::cpu::transforms::{Plan1d, Plan2d, Plan3d, PlanNd, Sample, Scratch};
use placefield::grid::Map;
use placefield::transform::{
    Algorithm1d, LengthError, Method, Orientation, Plan2dOptions, PostProcessing, Reorder,
    Transform, Transform1d, TransformNd, oracle,
};

const LENGTHS: [usize; 18] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 16, 17, 31, 64, 97, 100, 128, 255];

const MAPS: [(usize, usize); 20] = [
    (1, 1),
    (1, 2),
    (2, 1),
    (2, 2),
    (1, 7),
    (7, 1),
    (2, 3),
    (3, 2),
    (3, 3),
    (5, 7),
    (4, 16),
    (16, 4),
    (13, 31),
    (31, 12),
    (1, 64),
    (64, 1),
    (33, 34),
    (64, 64),
    (128, 36),
    (37, 71),
];

const VOLUMES: [[usize; 3]; 16] = [
    [1, 1, 1],
    [2, 1, 1],
    [1, 2, 1],
    [1, 1, 2],
    [2, 2, 2],
    [3, 2, 1],
    [2, 3, 4],
    [3, 3, 3],
    [4, 3, 2],
    [5, 7, 3],
    [1, 8, 33],
    [8, 1, 34],
    [7, 6, 1],
    [4, 8, 16],
    [16, 8, 37],
    [11, 13, 66],
];

/// Noise on a slope: no symmetry to hide behind.
fn values<T: Real>(count: usize) -> Vec<T> {
    let mut state = 12345_u64 + count as u64;
    let value = |i: usize| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        T::of((state >> 40) as f64 / (1u64 << 24) as f64 - 0.3 + i as f64 / count as f64)
    };
    (0..count).map(value).collect()
}

fn widen<S: Sample>(values: &[S]) -> Vec<f64> {
    values.iter().map(|v| v.to_f64()).collect()
}

/// Room for `count` results, none of them there yet.
fn room<T: Real>(count: usize) -> Vec<T> {
    vec![T::of(f64::NAN); count]
}

fn assert_close<T: Real>(got: &[T], want: &[f64], what: &dyn std::fmt::Debug) {
    let error = relative_rms(&widen(got), want);
    assert!(error <= limit::<T>(), "{what:?} in {}: {error:e}", T::PRECISION);
}

/// Runs a check in pools of one and of three threads, for both precisions.
macro_rules! in_both_precisions {
    ($($name:ident => $check:ident;)*) => {
        $(#[test]
        fn $name() {
            for threads in [1, 3] {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                pool.install(|| {
                    $check::<f32>();
                    $check::<f64>();
                });
            }
        })*
    };
}

in_both_precisions! {
    lines => check_lines;
    maps => check_maps;
    maps_in_groups => check_batch_of_maps;
    volumes => check_volumes;
    arrays => check_arrays;
    thresholds => check_thresholds;
}

fn check_lines<T: Real>() {
    for n in LENGTHS {
        for batch in [1, 3] {
            let x = values::<T>(n * batch);
            for kind in Transform1d::ALL {
                let want: Vec<f64> =
                    widen(&x).chunks(n).flat_map(|x| oracle::transform1(kind, x)).collect();
                for algorithm in Algorithm1d::ALL {
                    let plan = Plan1d::<T>::new(kind, n, batch, algorithm).unwrap();
                    let mut out = room(n * batch);
                    plan.process(&x, &mut out, &mut plan.make_scratch()).unwrap();
                    assert_close(&out, &want, &(kind, algorithm, n, batch));
                }
            }
        }
    }
}

/// Every way a 2-D plan can compute.
fn ways() -> Vec<Plan2dOptions> {
    let mut all = Vec::new();
    for reorder in Reorder::ALL {
        for post in PostProcessing::ALL {
            for orientation in Orientation::ALL {
                all.push(Plan2dOptions { method: Method::Fused, orientation, reorder, post });
            }
            let orientation = Orientation::Auto;
            all.push(Plan2dOptions { method: Method::RowColumn, orientation, reorder, post });
        }
    }
    all
}

fn check_maps<T: Real>() {
    for (nx, ny) in MAPS {
        let x = values::<T>(nx * ny);
        let map = Map::from_vec(nx, ny, widen(&x));
        for kind in Transform::ALL {
            let want = oracle::transform2(kind, &map);
            for options in ways() {
                let plan = Plan2d::<T>::new(kind, nx, ny, options, 1).unwrap();
                let mut out = room(nx * ny);
                plan.process(&x, &mut out, &mut plan.make_scratch()).unwrap();
                assert_close(&out, want.as_slice(), &(kind, nx, ny, options));
            }
        }
    }
}

/// Batches that fit one group and batches of several.
fn check_batch_of_maps<T: Real>() {
    for (nx, ny, batch) in [(6, 5, 7), (3, 4, 90_000), (33, 18, 2)] {
        let x = values::<T>(batch * nx * ny);
        let last = (batch - 1) * nx * ny;
        for kind in [Transform::Dct, Transform::IdxstIdct] {
            for method in Method::ALL {
                for orientation in [Orientation::Straight, Orientation::Transposed] {
                    let options = Plan2dOptions { method, orientation, ..Default::default() };
                    let plan = Plan2d::<T>::new(kind, nx, ny, options, batch).unwrap();
                    let mut out = room(x.len());
                    plan.process(&x, &mut out, &mut plan.make_scratch()).unwrap();
                    // The first, the last and one in the middle.
                    for start in [0, batch / 2 * nx * ny, last] {
                        let map = Map::from_vec(nx, ny, widen(&x[start..][..nx * ny]));
                        let want = oracle::transform2(kind, &map);
                        let got = &out[start..][..nx * ny];
                        assert_close(got, want.as_slice(), &(kind, nx, ny, start, options));
                    }
                    assert!(out.iter().all(|v| v.is_finite()));
                }
            }
        }
    }
}

fn check_volumes<T: Real>() {
    for shape in VOLUMES {
        let size = shape.iter().product::<usize>();
        let batch = 2;
        let x = values::<T>(batch * size);
        for kind in TransformNd::ALL {
            let want: Vec<f64> = widen(&x)
                .chunks(size)
                .flat_map(|x| oracle::transform_nd(kind, &shape, x))
                .collect();
            for method in Method::ALL {
                let plan = Plan3d::<T>::new(kind, shape, method, batch).unwrap();
                let mut out = room(x.len());
                plan.process(&x, &mut out, &mut plan.make_scratch()).unwrap();
                assert_close(&out, &want, &(kind, shape, method));
            }
        }
    }
}

fn check_arrays<T: Real>() {
    let shapes: [(&[usize], &[usize]); 9] = [
        (&[9], &[1]),
        (&[5, 6], &[2]),
        (&[3, 4, 5], &[3]),
        (&[4, 3, 5, 2], &[2, 2]),
        (&[1, 2, 3, 4], &[2, 2]),
        (&[6, 1, 7, 8], &[2, 2]),
        (&[2, 3, 4, 5, 3], &[2, 3]),
        (&[2, 3, 2, 5, 3, 2], &[2, 2, 2]),
        (&[2, 3, 1, 2, 3, 2, 3], &[2, 2, 3]),
    ];
    for (shape, rounds) in shapes {
        let size = shape.iter().product::<usize>();
        let batch = 3;
        let x = values::<T>(batch * size);
        for kind in TransformNd::ALL {
            let want: Vec<f64> =
                widen(&x).chunks(size).flat_map(|x| oracle::transform_nd(kind, shape, x)).collect();
            for method in Method::ALL {
                let plan = PlanNd::<T>::new(kind, shape, method, batch).unwrap();
                if method == Method::Fused {
                    assert_eq!(plan.rounds(), rounds);
                }
                let mut out = room(x.len());
                plan.process(&x, &mut out, &mut plan.make_scratch()).unwrap();
                assert_close(&out, &want, &(kind, shape, method));
            }
        }
    }
}

fn check_thresholds<T: Real>() {
    for (nx, ny) in [(7, 12), (20, 9), (32, 32)] {
        let x = values::<T>(nx * ny);
        for options in ways() {
            let run = |kind, x: &[T], threshold: Option<T>| {
                let plan = Plan2d::<T>::new(kind, nx, ny, options, 1).unwrap();
                let (mut out, mut scratch) = (room(nx * ny), plan.make_scratch());
                match threshold {
                    Some(t) => plan.process_threshold(x, t, &mut out, &mut scratch).unwrap(),
                    None => plan.process(x, &mut out, &mut scratch).unwrap(),
                }
                out
            };
            let all = run(Transform::Dct, &x, None);
            let mut magnitudes: Vec<T> = all.iter().map(|v| v.abs()).collect();
            magnitudes.sort_by(|a, b| a.partial_cmp(b).unwrap());
            // At a coefficient's own magnitude: it stays, what is smaller goes.
            let threshold = magnitudes[nx * ny / 2];
            let kept: Vec<T> =
                all.iter().map(|&v| if v.abs() < threshold { T::zero() } else { v }).collect();
            assert_eq!(run(Transform::Dct, &x, Some(threshold)), kept, "{options:?}");
            for inverse in [Transform::Idct, Transform::IdctIdxst, Transform::IdxstIdct] {
                let want = run(inverse, &kept, None);
                assert_eq!(run(inverse, &all, Some(threshold)), want, "{inverse:?} {options:?}");
            }
            assert_eq!(run(Transform::Dct, &x, Some(T::zero())), all);
        }
    }
}

/// Integers give to the bit what the same numbers do in floating point.
#[test]
fn integers_are_taken() {
    fn check<S: Sample>(of: impl Fn(i64) -> S) {
        let x: Vec<S> = (0..60).map(|i| of(i * i * 31 % 113)).collect();
        let same = widen(&x);
        let equal = |a: Vec<f64>, b: Vec<f64>| assert_eq!(a, b);
        for kind in Transform1d::ALL {
            for algorithm in Algorithm1d::ALL {
                let plan = Plan1d::new(kind, 20, 3, algorithm).unwrap();
                let (mut a, mut b, mut s) = (room(60), room(60), plan.make_scratch());
                plan.process(&x, &mut a, &mut s).unwrap();
                plan.process(&same, &mut b, &mut s).unwrap();
                equal(a, b);
            }
        }
        for kind in Transform::ALL {
            for options in ways() {
                let plan = Plan2d::new(kind, 12, 5, options, 1).unwrap();
                let (mut a, mut b, mut s) = (room(60), room(60), plan.make_scratch());
                plan.process(&x, &mut a, &mut s).unwrap();
                plan.process(&same, &mut b, &mut s).unwrap();
                equal(a, b);
            }
        }
        for kind in TransformNd::ALL {
            for method in Method::ALL {
                let plan = PlanNd::new(kind, &[3, 4, 5], method, 1).unwrap();
                let (mut a, mut b, mut s) = (room(60), room(60), plan.make_scratch());
                plan.process(&x, &mut a, &mut s).unwrap();
                plan.process(&same, &mut b, &mut s).unwrap();
                equal(a, b);
            }
        }
    }
    check(|v| v as i8 - 50);
    check(|v| v as u16 * 500);
    check(|v| v as i32 * -10_000_000);
}

#[test]
fn wrong_lengths_are_errors() {
    let plan = Plan2d::<f32>::new(Transform::Dct, 4, 4, Plan2dOptions::default(), 2).unwrap();
    let mut scratch = plan.make_scratch();
    let mut out = [0.0; 32];
    let error = plan.process(&[0.0_f32; 31], &mut out, &mut scratch).unwrap_err();
    assert_eq!(error, LengthError { what: "input", expected: 32, found: 31 });
    let error = plan.process(&[0_u8; 32], &mut out[1..], &mut scratch).unwrap_err();
    assert_eq!(error.to_string(), "output has 31 values, the plan is for 32");

    let line = Plan1d::<f32>::new(Transform1d::Dct, 5, 1, Algorithm1d::FourN).unwrap();
    assert!(line.process(&[0.0_f32; 6], &mut out[..5], &mut line.make_scratch()).is_err());
    let volume = Plan3d::<f32>::new(TransformNd::Dct, [2, 2, 2], Method::Fused, 1).unwrap();
    assert!(volume.process(&[0.0_f32; 8], &mut out[..7], &mut volume.make_scratch()).is_err());
    let array = PlanNd::<f32>::new(TransformNd::Dct, &[2, 2, 2, 2], Method::Fused, 1).unwrap();
    assert!(array.process(&[0.0_f32; 8], &mut out[..16], &mut array.make_scratch()).is_err());
}

#[test]
fn scratch_serves_every_plan_that_asks_for_less() {
    let plan = |n| Plan2d::<f64>::new(Transform::Dct, n, n, Plan2dOptions::default(), 1).unwrap();
    let (small, large) = (plan(8), plan(32));
    let x = values::<f64>(32 * 32);
    let mut out = room(32 * 32);
    let error = large.process(&x, &mut out, &mut small.make_scratch()).unwrap_err();
    assert!(error.to_string().starts_with("scratch"), "{error}");
    // What another plan left in it does not matter.
    let mut scratch = Scratch::new(large.scratch_len(), 1);
    large.process(&x, &mut out, &mut scratch).unwrap();
    let (mut used, mut fresh) = (room(64), room(64));
    small.process(&x[..64], &mut used, &mut scratch).unwrap();
    small.process(&x[..64], &mut fresh, &mut small.make_scratch()).unwrap();
    assert_eq!(used, fresh);
}

#[test]
fn shapes_without_values_are_errors() {
    let options = Plan2dOptions::default();
    assert!(Plan1d::<f32>::new(Transform1d::Dct, 0, 1, Algorithm1d::NPoint).is_err());
    assert!(Plan2d::<f32>::new(Transform::Dct, 3, 4, options, 0).is_err());
    assert!(Plan2d::<f32>::new(Transform::Dct, usize::MAX, 2, options, 1).is_err());
    assert!(Plan3d::<f32>::new(TransformNd::Dct, [1, 0, 1], Method::Fused, 1).is_err());
    let error = PlanNd::<f32>::new(TransformNd::Dct, &[], Method::Fused, 1).err().unwrap();
    assert_eq!((error.shape, error.batch), (vec![], 1));
}

/// One plan, many threads, each with its own scratch.
#[test]
fn plans_are_shared_by_threads() {
    let plan = Plan3d::<f64>::new(TransformNd::Dct, [6, 7, 8], Method::Fused, 1).unwrap();
    let x = values::<f64>(6 * 7 * 8);
    let run = || {
        let mut out = room(x.len());
        plan.process(&x, &mut out, &mut plan.make_scratch()).unwrap();
        out
    };
    let alone = run();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(run)).collect();
        for thread in threads {
            assert_eq!(thread.join().unwrap(), alone);
        }
    });
}

/// Long columns go through in tiles, whose number follows that of the threads.
#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let (nx, ny) = (300, 45);
    let x = values::<f64>(nx * ny);
    for kind in [Transform::Dct, Transform::Idct, Transform::IdctIdxst, Transform::IdxstIdct] {
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let plan = Plan2d::<f64>::new(kind, nx, ny, Plan2dOptions::default(), 1).unwrap();
                let mut out = room(x.len());
                plan.process(&x, &mut out, &mut plan.make_scratch()).unwrap();
                out
            })
        };
        let one = run(1);
        for threads in [2, 3, 8] {
            assert!(run(threads) == one, "{kind:?} on {threads} threads");
        }
    }
}
