//! Every transform against SciPy's, through the factors of the crate's table.
//!
//! `tests/data/scipy_transforms.json` is made by `scripts/golden-values`.

use crate::common::{golden, limit, numbers, relative_rms};
use placefield::Real;
use placefield::cpu::transforms::Plan;
use placefield::transform::{Method, Transform, Transform1d, TransformNd};
use serde_json::Value;

/// `got` is SciPy's `want` times `factor`.
fn assert_scaled<T: Real>(got: &[T], factor: f64, want: &[f64], what: &dyn std::fmt::Debug) {
    let got: Vec<f64> = got.iter().map(|v| v.widen()).collect();
    let want: Vec<f64> = want.iter().map(|w| factor * w).collect();
    let tolerance = limit::<T>();
    let error = relative_rms(&got, &want);
    assert!(error <= tolerance, "{what:?} in {}: {error:e}", T::PRECISION);
}

fn check<T: Real>(file: &Value) {
    let cases = |name: &str| file[name].as_array().unwrap().iter();
    for case in cases("one_d") {
        let x: Vec<T> = numbers(&case["x"]).into_iter().map(T::cast).collect();
        for (kind, name) in
            [(Transform1d::Dct, "dct"), (Transform1d::Idct, "idct"), (Transform1d::Idxst, "idxst")]
        {
            let mut plan = Plan::<T>::new(kind, &[x.len()]).unwrap();
            let mut out = vec![T::zero(); x.len()];
            plan.run(&x, &mut out).unwrap();
            assert_scaled(&out, 0.5, &numbers(&case[name]), &(name, x.len()));
        }
    }
    let shape = |case: &Value| -> Vec<usize> {
        numbers(&case["shape"]).into_iter().map(|n| n as usize).collect()
    };
    for case in cases("two_d") {
        let x: Vec<T> = numbers(&case["x"]).into_iter().map(T::cast).collect();
        let shape = shape(case);
        for (kind, name) in [
            (Transform::Dct, "dct"),
            (Transform::Idct, "idct"),
            (Transform::IdctIdxst, "idct_idxst"),
            (Transform::IdxstIdct, "idxst_idct"),
        ] {
            for method in Method::ALL {
                let mut plan = Plan::<T>::batched(kind, &shape[..2], method, 1).unwrap();
                let mut out = vec![T::zero(); x.len()];
                plan.run(&x, &mut out).unwrap();
                assert_scaled(&out, 0.25, &numbers(&case[name]), &(name, &shape, method));
            }
        }
    }
    for case in cases("three_d") {
        let x: Vec<T> = numbers(&case["x"]).into_iter().map(T::cast).collect();
        let shape: [usize; 3] = shape(case).try_into().unwrap();
        for (kind, name) in [(TransformNd::Dct, "dct"), (TransformNd::Idct, "idct")] {
            for method in Method::ALL {
                let mut out = vec![T::zero(); x.len()];
                let mut volume = Plan::<T>::batched(kind, &shape, method, 1).unwrap();
                volume.run(&x, &mut out).unwrap();
                assert_scaled(&out, 0.125, &numbers(&case[name]), &(name, shape, method));
                let mut array = Plan::<T>::batched(kind, &shape, method, 1).unwrap();
                array.run(&x, &mut out).unwrap();
                assert_scaled(&out, 0.125, &numbers(&case[name]), &(name, shape, method));
            }
        }
    }
}

#[test]
fn transforms_are_scipys_times_the_tables_factor() {
    let file = golden("scipy_transforms.json");
    check::<f64>(&file);
    check::<f32>(&file);
}
