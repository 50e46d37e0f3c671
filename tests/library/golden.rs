//! Transforms and fields against values computed outside this project.
//!
//! The golden files hold DREAMPlace's scaling; the factors to the paper's
//! definitions, which are ours, stand beside each name.

use crate::common::{golden, numbers, rounded};
use placefield::Real;
use placefield::cpu::solve::{Fields, Solver, VolumeFields, VolumeSolver};
use placefield::cpu::transforms::Plan;
use placefield::engine::Pipeline;
use placefield::grid::{BinGrid, Map, Rect};
use placefield::transform::{Method, Transform, Transform1d};
use serde_json::Value;

fn rows(value: &Value) -> Vec<&Value> {
    let items = value.as_array().expect("an array");
    if items[0].is_array() { items.iter().collect() } else { vec![value] }
}

fn tolerance<T: Real>() -> f64 {
    if T::PRECISION == placefield::Precision::F32 { 1e-5 } else { 1e-12 }
}

/// Every value within the tolerance of the largest one.
fn assert_close<T: Real>(got: &[T], factor: f64, want: &[f64], what: &str) {
    assert_eq!(got.len(), want.len(), "{what}");
    let scale = want.iter().fold(1e-300, |m: f64, w| m.max(w.abs()));
    for (i, (got, want)) in got.iter().zip(want).enumerate() {
        let got = factor * got.widen();
        assert!((got - want).abs() <= tolerance::<T>() * scale, "{what}[{i}]: {got}, not {want}");
    }
}

fn check_lines<T: Real>(cases: &Value) {
    for case in cases.as_array().unwrap() {
        let wanted = |name: &str| rows(&case[name]).into_iter().map(numbers).collect::<Vec<_>>();
        for (r, x) in rows(&case["x"]).into_iter().enumerate() {
            let x = rounded::<T>(&numbers(x));
            let n = x.len();
            let transformed = |kind| {
                let mut out = vec![T::zero(); n];
                Plan::new(kind, &[n]).unwrap().run(&x, &mut out).unwrap();
                out
            };
            let out = transformed(Transform1d::Dct);
            assert_close(&out, 2.0 / n as f64, &wanted("dct")[r], "dct");
            let mut out = transformed(Transform1d::Idct);
            assert_close(&out, 2.0, &wanted("idct")[r], "idct");
            // idxct gives its first coefficient full weight: IDCT plus half of it.
            let half = T::cast(0.5) * x[0];
            out.iter_mut().for_each(|v| *v += half);
            assert_close(&out, 1.0, &wanted("idxct")[r], "idxct");
            let out = transformed(Transform1d::Idxst);
            assert_close(&out, 1.0, &wanted("idxst")[r], "idxst");
        }
    }
}

fn check_maps<T: Real>(cases: &Value) {
    for case in cases.as_array().unwrap() {
        let nx = case["M"].as_u64().unwrap() as usize;
        let ny = case["N"].as_u64().unwrap() as usize;
        let x = rounded::<T>(&numbers(&case["x"]));
        for method in Method::ALL {
            let mut out = vec![T::zero(); nx * ny];
            for (kind, name, factor) in [
                (Transform::Dct, "dct2", 4.0 / (nx * ny) as f64),
                (Transform::Idct, "idct2", 4.0),
                (Transform::IdctIdxst, "idct_idxst", 4.0),
                (Transform::IdxstIdct, "idxst_idct", 4.0),
            ] {
                let mut plan = Plan::<T>::batched(kind, &[nx, ny], method, 1).unwrap();
                plan.run(&x, &mut out).unwrap();
                let what = format!("{name} {nx}x{ny} {}", method.name());
                assert_close(&out, factor, &numbers(&case[name]), &what);
            }
        }
    }
}

#[test]
fn dct_transforms() {
    let file = golden("dct_transforms.json");
    check_lines::<f64>(&file["one_d"]);
    check_lines::<f32>(&file["one_d"]);
    check_maps::<f64>(&file["two_d"]);
    check_maps::<f32>(&file["two_d"]);
}

fn check_fields<T: Real>(cases: &Value) {
    for case in cases.as_array().unwrap() {
        let number = |name: &str| case[name].as_f64().unwrap();
        let (nx, ny) = (number("M") as usize, number("N") as usize);
        let (width, height) = (nx as f64 * number("bin_size_x"), ny as f64 * number("bin_size_y"));
        let grid = BinGrid::new(Rect::at(0.0, 0.0, width, height), nx, ny).unwrap();
        let rho = Map::from_vec(nx, ny, rounded::<T>(&numbers(&case["density"])));
        for pipeline in Pipeline::ALL {
            let mut solver = Solver::<T>::new(&grid, pipeline, 1);
            let mut fields = Fields::new(nx, ny);
            let (energy, _) = solver.solve(&rho, &mut fields);
            let source = &case["source"];
            for (map, name) in [
                (&fields.potential, "potential"),
                (&fields.field_x, "field_x"),
                (&fields.field_y, "field_y"),
            ] {
                let want = numbers(&case[name]);
                if want.iter().all(|w| w.abs() < 1e-12) {
                    // A map that is zero has no scale of its own: the density's is next.
                    let worst = map.as_slice().iter().fold(0.0, |m: f64, v| m.max(v.widen().abs()));
                    assert!(worst <= tolerance::<T>(), "{name} of {source}: {worst}, not 0");
                } else {
                    assert_close(map.as_slice(), 1.0, &want, &format!("{name} of {source}"));
                }
            }
            let want = number("energy");
            assert!(
                (energy - want).abs() <= tolerance::<T>() * want.abs().max(1.0),
                "energy of {source}: {energy}, not {want}"
            );
        }
    }
}

#[test]
fn potential_field() {
    let file = golden("potential_field.json");
    check_fields::<f64>(&file["cases"]);
    check_fields::<f32>(&file["cases"]);
}

fn check_volumes<T: Real>(cases: &Value) {
    for case in cases.as_array().unwrap() {
        let three = |name: &str| <[f64; 3]>::try_from(numbers(&case[name])).unwrap();
        let (shape, bin) = (three("shape").map(|n| n as usize), three("bin_size"));
        let rho = rounded::<T>(&numbers(&case["density"]));
        for method in [Method::RowColumn, Method::Fused] {
            let mut solver = VolumeSolver::<T>::new(shape, bin, method, 1).unwrap();
            let mut maps = vec![vec![T::zero(); rho.len()]; 4];
            let [potential, x, y, z] = &mut maps[..] else { unreachable!() };
            let fields = VolumeFields { potential, field: [x, y, z] };
            let energy = solver.solve(&rho, fields).unwrap();
            let what = format!("{shape:?} {}", method.name());
            assert_close(&maps[0], 1.0, &numbers(&case["potential"]), &what);
            for (got, want) in maps[1..].iter().zip(case["field"].as_array().unwrap()) {
                let want = numbers(want);
                // Along an axis of one bin there is no field, and no scale for its rounding.
                match want.iter().all(|w| w.abs() < 1e-12) {
                    true => assert!(got.iter().all(|v| v.widen().abs() < tolerance::<T>())),
                    false => assert_close(got, 1.0, &want, &what),
                }
            }
            let want = case["energy"].as_f64().unwrap();
            assert!((energy - want).abs() <= tolerance::<T>() * want, "{what}: {energy}");
        }
    }
}

#[test]
fn potential_volume() {
    let file = golden("potential_volume.json");
    check_volumes::<f64>(&file["cases"]);
    check_volumes::<f32>(&file["cases"]);
}
