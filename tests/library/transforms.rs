//! The transforms of the library against the definitions: every kind,
//! method, dimension and precision, on odd, prime, unit and
//! rectangular sizes.
//!
//! Accuracy is relative RMS: at most 2e-6 in f32 and 1e-13 in f64.

use crate::common::{limit, relative_rms};
use placefield::Real;
use placefield::cpu::transforms::{InputElement, Plan};
use placefield::grid::Map;
use placefield::transform::{
    LengthError, Method, ShapeError, Transform, Transform1d, TransformNd, oracle,
};
use proptest::prelude::*;

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
        T::cast((state >> 40) as f64 / (1u64 << 24) as f64 - 0.3 + i as f64 / count as f64)
    };
    (0..count).map(value).collect()
}

fn widen<S: InputElement>(values: &[S]) -> Vec<f64> {
    values.iter().map(|v| v.to_f64()).collect()
}

/// `count` results that are not there yet: NaN.
fn unwritten<T: Real>(count: usize) -> Vec<T> {
    vec![T::cast(f64::NAN); count]
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
                let mut plan = Plan::<T>::batched(kind, &[n], Method::default(), batch).unwrap();
                let mut out = unwritten(n * batch);
                plan.run(&x, &mut out).unwrap();
                assert_close(&out, &want, &(kind, n, batch));
            }
        }
    }
}

fn check_maps<T: Real>() {
    for (nx, ny) in MAPS {
        let x = values::<T>(nx * ny);
        let map = Map::from_vec(nx, ny, widen(&x));
        for kind in Transform::ALL {
            let want = oracle::transform2(kind, &map);
            for method in Method::ALL {
                let mut plan = Plan::<T>::batched(kind, &[nx, ny], method, 1).unwrap();
                let mut out = unwritten(nx * ny);
                plan.run(&x, &mut out).unwrap();
                assert_close(&out, want.as_slice(), &(kind, nx, ny, method));
            }
        }
    }
}

/// Batches that fit one group and batches of several.
fn check_batch_of_maps<T: Real>() {
    for (nx, ny, batch) in [(6, 5, 7), (3, 4, 90_000), (4, 3, 90_000), (18, 33, 2), (33, 18, 2)] {
        let x = values::<T>(batch * nx * ny);
        let last = (batch - 1) * nx * ny;
        for kind in [Transform::Dct, Transform::IdxstIdct] {
            for method in Method::ALL {
                let mut plan = Plan::<T>::batched(kind, &[nx, ny], method, batch).unwrap();
                let mut out = unwritten(x.len());
                plan.run(&x, &mut out).unwrap();
                // The first, the last and one in the middle.
                for start in [0, batch / 2 * nx * ny, last] {
                    let map = Map::from_vec(nx, ny, widen(&x[start..][..nx * ny]));
                    let want = oracle::transform2(kind, &map);
                    let got = &out[start..][..nx * ny];
                    assert_close(got, want.as_slice(), &(kind, nx, ny, start, method));
                }
                assert!(out.iter().all(|v| v.is_finite()));
            }
        }
    }
}

/// All transforms of an array: an IDXST along any of its axes.
fn kinds(shape: &[usize]) -> impl Iterator<Item = TransformNd> {
    TransformNd::ALL.into_iter().chain((0..shape.len()).map(TransformNd::Idxst))
}

fn check_volumes<T: Real>() {
    for shape in VOLUMES {
        let size = shape.iter().product::<usize>();
        let batch = 2;
        let x = values::<T>(batch * size);
        for kind in kinds(&shape) {
            let want: Vec<f64> = widen(&x)
                .chunks(size)
                .flat_map(|x| oracle::transform_nd(kind, &shape, x))
                .collect();
            for method in Method::ALL {
                let mut plan = Plan::<T>::batched(kind, &shape, method, batch).unwrap();
                let mut out = unwritten(x.len());
                plan.run(&x, &mut out).unwrap();
                assert_close(&out, &want, &(kind, shape, method));
            }
        }
    }
}

fn check_arrays<T: Real>() {
    let shapes: [&[usize]; 10] = [
        &[9],
        &[5, 6],
        &[3, 4, 5],
        &[4, 3, 5, 2],
        &[1, 2, 3, 4],
        &[6, 1, 7, 8],
        &[2, 3, 2, 35],
        &[2, 3, 4, 5, 3],
        &[2, 3, 2, 5, 3, 2],
        &[2, 3, 1, 2, 3, 2, 3],
    ];
    for shape in shapes {
        let size = shape.iter().product::<usize>();
        let batch = 3;
        let x = values::<T>(batch * size);
        for kind in kinds(shape) {
            let want: Vec<f64> =
                widen(&x).chunks(size).flat_map(|x| oracle::transform_nd(kind, shape, x)).collect();
            for method in Method::ALL {
                let mut plan = Plan::<T>::batched(kind, shape, method, batch).unwrap();
                let mut out = unwritten(x.len());
                plan.run(&x, &mut out).unwrap();
                assert_close(&out, &want, &(kind, shape, method));
            }
        }
    }
}

fn check_thresholds<T: Real>() {
    for (nx, ny) in [(7, 12), (20, 9), (32, 32)] {
        let x = values::<T>(nx * ny);
        for method in Method::ALL {
            let run = |kind, x: &[T], threshold: Option<T>| {
                let mut plan = Plan::<T>::batched(kind, &[nx, ny], method, 1).unwrap();
                let mut out = unwritten(nx * ny);
                match threshold {
                    Some(t) => plan.run_thresholded(x, t, &mut out).unwrap(),
                    None => plan.run(x, &mut out).unwrap(),
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
            assert_eq!(run(Transform::Dct, &x, Some(threshold)), kept, "{method:?}");
            for inverse in [Transform::Idct, Transform::IdctIdxst, Transform::IdxstIdct] {
                let want = run(inverse, &kept, None);
                assert_eq!(run(inverse, &all, Some(threshold)), want, "{inverse:?} {method:?}");
            }
            assert_eq!(run(Transform::Dct, &x, Some(T::zero())), all);
        }
    }
}

/// Runs every transform of `batch` arrays and compares each with the definition.
fn check_shape<T: Real>(shape: &[usize], batch: usize) {
    let size = shape.iter().product::<usize>();
    let x = values::<T>(batch * size);
    for kind in kinds(shape) {
        let each = x.chunks(size).map(|x| oracle::transform_nd(kind, shape, &widen(x)));
        let want: Vec<f64> = each.flatten().collect();
        for method in Method::ALL {
            let mut plan = Plan::<T>::batched(kind, shape, method, batch).unwrap();
            let mut out = unwritten(x.len());
            plan.run(&x, &mut out).unwrap();
            assert_close(&out, &want, &(kind, shape, batch, method));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    /// Sizes around those of tiles and panels, and lengths of all kinds of FFTs.
    #[test]
    fn any_shape_is_transformed(
        shape in prop_oneof![
            prop::collection::vec(1..300_usize, 1),
            prop::collection::vec(1..70_usize, 2),
            prop::collection::vec(1..20_usize, 3),
            prop::collection::vec(1..9_usize, 4),
            (prop::collection::vec(1..5_usize, 1..=3), 16..90_usize)
                .prop_map(|(first, last)| [first, vec![last]].concat()),
        ],
        batch in 1..4_usize,
    ) {
        check_shape::<f32>(&shape, batch);
        check_shape::<f64>(&shape, batch);
    }
}

/// Lines of more values than a tile of them has room for, and of prime lengths.
#[test]
fn long_lines() {
    for shape in [[9, 16_411], [16_411, 9], [10, 1_021], [1_021, 10]] {
        let (size, kind) = (shape[0] * shape[1], TransformNd::Idxst(1));
        let x = values::<f64>(size);
        let want = oracle::transform_nd(kind, &shape, &x);
        for method in Method::ALL {
            let mut out = unwritten(size);
            Plan::<f64>::batched(kind, &shape, method, 1).unwrap().run(&x, &mut out).unwrap();
            assert_close(&out, &want, &(shape, method));
        }
    }
}

/// The arrays of a batch share nothing: one of them with values that are not finite, or with huge
/// ones, leaves all others as they are.
#[test]
fn arrays_of_a_batch_are_independent() {
    for shape in [&[8][..], &[100], &[3, 5], &[7, 40], &[2, 3, 33]] {
        let (size, batch) = (shape.iter().product::<usize>(), 20);
        let x = values::<f32>(batch * size);
        for kind in kinds(shape) {
            for method in Method::ALL {
                let mut plan = Plan::<f32>::batched(kind, shape, method, batch).unwrap();
                let mut run = |x: &[f32]| {
                    let mut out = unwritten(x.len());
                    plan.run(x, &mut out).unwrap();
                    out
                };
                let alone = run(&x);
                for value in [f32::NAN, f32::INFINITY, 1e30] {
                    let mut other = x.clone();
                    other[2 * size..3 * size].fill(value);
                    let beside = run(&other);
                    for array in (0..batch).filter(|&array| array != 2) {
                        let of = array * size..(array + 1) * size;
                        assert!(alone[of.clone()] == beside[of], "{kind:?} {shape:?} {method:?}");
                    }
                }
            }
        }
    }
}

/// Integers give to the bit what the same numbers do in floating point.
#[test]
fn integers_are_taken() {
    fn check<S: InputElement>(of: impl Fn(i64) -> S) {
        let x: Vec<S> = (0..60).map(|i| of(i * i * 31 % 113)).collect();
        let same = widen(&x);
        let equal = |a: Vec<f64>, b: Vec<f64>| assert_eq!(a, b);
        for kind in Transform1d::ALL {
            let mut plan = Plan::batched(kind, &[20], Method::default(), 3).unwrap();
            let (mut a, mut b) = (unwritten(60), unwritten(60));
            plan.run(&x, &mut a).unwrap();
            plan.run(&same, &mut b).unwrap();
            equal(a, b);
        }
        for kind in Transform::ALL {
            for method in Method::ALL {
                let mut plan = Plan::batched(kind, &[12, 5], method, 1).unwrap();
                let (mut a, mut b) = (unwritten(60), unwritten(60));
                plan.run(&x, &mut a).unwrap();
                plan.run(&same, &mut b).unwrap();
                equal(a, b);
            }
        }
        for kind in TransformNd::ALL {
            for method in Method::ALL {
                let mut plan = Plan::batched(kind, &[3, 4, 5], method, 1).unwrap();
                let (mut a, mut b) = (unwritten(60), unwritten(60));
                plan.run(&x, &mut a).unwrap();
                plan.run(&same, &mut b).unwrap();
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
    let mut plan = Plan::<f32>::batched(Transform::Dct, &[4, 4], Method::Fused, 2).unwrap();
    let mut out = [0.0; 32];
    let error = plan.run(&[0.0_f32; 31], &mut out).unwrap_err();
    assert_eq!(error, LengthError { what: "input", expected: 32, found: 31 });
    let error = plan.run(&[0_u8; 32], &mut out[1..]).unwrap_err();
    assert_eq!(error.to_string(), "output has 31 values, the plan is for 32");
    assert!(plan.run_thresholded(&[0_u8; 33], 1.0, &mut out).is_err());

    let mut line = Plan::<f32>::new(Transform1d::Dct, &[5]).unwrap();
    assert!(line.run(&[0.0_f32; 6], &mut out[..5]).is_err());
    let mut volume = Plan::<f32>::new(TransformNd::Dct, &[2, 2, 2]).unwrap();
    assert!(volume.run(&[0.0_f32; 8], &mut out[..7]).is_err());
    let mut array = Plan::<f32>::new(TransformNd::Dct, &[2, 2, 2, 2]).unwrap();
    assert!(array.run(&[0.0_f32; 8], &mut out[..16]).is_err());
}

/// `new` is one transform with default choices, and a plan says what it is.
#[test]
fn plans_say_what_they_are() {
    let map = Plan::<f32>::new(Transform::IdctIdxst, &[6, 5]).unwrap();
    assert_eq!((map.kind(), map.shape(), map.batch()), (TransformNd::Idxst(1), &[6, 5][..], 1));
    assert_eq!((map.method(), map.computed_by()), (Method::Fastest, Method::RowColumn));
    let volume = Plan::<f32>::batched(TransformNd::Idct, &[2, 3, 40], Method::Fused, 7).unwrap();
    assert_eq!((volume.kind(), volume.batch()), (TransformNd::Idct, 7));
    assert_eq!((volume.method(), volume.computed_by()), (Method::Fused, Method::Fused));
    // The fused method takes no single lines, nor last axes that fill no vector.
    for shape in [&[40][..], &[40, 3]] {
        let array = Plan::<f32>::batched(TransformNd::Dct, shape, Method::Fused, 1).unwrap();
        assert_eq!((array.method(), array.computed_by()), (Method::Fused, Method::RowColumn));
    }
}

/// Values that a run leaves in a plan's working memory do not change the next run.
#[test]
fn runs_do_not_depend_on_one_another() {
    let (x, other) = (values::<f64>(32 * 24), vec![1e30; 32 * 24]);
    for kind in Transform::ALL {
        let plan = || Plan::<f64>::new(kind, &[32, 24]).unwrap();
        let (mut used, mut fresh) = (unwritten(x.len()), unwritten(x.len()));
        let mut plan_used = plan();
        plan_used.run(&other, &mut used).unwrap();
        plan_used.run(&x, &mut used).unwrap();
        plan().run(&x, &mut fresh).unwrap();
        assert_eq!(used, fresh);
    }
}

#[test]
fn shapes_without_values_are_errors() {
    let refused = |shape: &[usize], batch: usize| {
        Plan::<f32>::batched(TransformNd::Dct, shape, Method::Fused, batch).is_err()
    };
    assert!(refused(&[0], 1) && refused(&[3, 4], 0) && refused(&[1, 0, 1], 1));
    assert!(refused(&[usize::MAX, 2], 1) && refused(&[2, 3], usize::MAX));
    let error = Plan::<f32>::new(TransformNd::Dct, &[]).err().unwrap();
    assert_eq!(error, ShapeError::Size { shape: vec![], batch: 1 });
    let error = Plan::<f32>::new(Transform::IdctIdxst, &[5]).err().unwrap();
    assert_eq!(error, ShapeError::Axis { axis: 1, axes: 1 });
    assert!(Plan::<f32>::new(TransformNd::Idxst(usize::MAX), &[5]).is_err());
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
                let mut plan = Plan::<f64>::new(kind, &[nx, ny]).unwrap();
                let mut out = unwritten(x.len());
                plan.run(&x, &mut out).unwrap();
                out
            })
        };
        let one = run(1);
        for threads in [2, 3, 8] {
            assert!(run(threads) == one, "{kind:?} on {threads} threads");
        }
    }
}
