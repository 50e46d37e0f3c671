//! The CUDA engine against values computed outside this project: golden files
//! and a real legal placement.

use crate::common::bodies::golden_case;
use crate::common::{design_dir, golden, numbers, pairs, rounded, wide};
use crate::device::gpu;
use placefield::Real;
use placefield::bookshelf::{ReadOptions, read_design};
use placefield::charge::{Charge, ChargeOptions};
use placefield::cuda::Bodies;
use placefield::cuda::internals::{Density, Force};
use placefield::cuda::{CudaEngine, CudaReal, Fields, Gpu, solver};
use placefield::engine::{Engine, EngineOptions, Layout, MapKind, Pipeline};
use placefield::grid::{BinGrid, Map, Rect};
use placefield::transform::Transform;
use serde_json::Value;

fn number(value: &Value, key: &str) -> f64 {
    value[key].as_f64().unwrap_or_else(|| panic!("{key}: {}", value[key]))
}

fn count(value: &Value, key: &str) -> usize {
    number(value, key) as usize
}

fn tolerance<T: Real>() -> f64 {
    if T::PRECISION == placefield::Precision::F32 { 1e-5 } else { 1e-11 }
}

/// Every value within the tolerance of the largest one (at least `floor`).
fn assert_close<T: Real>(got: &[f64], want: &[f64], floor: f64, what: &str) {
    assert_eq!(got.len(), want.len(), "{what}");
    let scale = want.iter().fold(floor, |m: f64, w| m.max(w.abs()));
    for (i, (got, want)) in got.iter().zip(want).enumerate() {
        assert!((got - want).abs() <= tolerance::<T>() * scale, "{what}[{i}]: {got}, not {want}");
    }
}

fn density_and_force<T: CudaReal>(gpu: &Gpu) {
    for case in golden("density_force.json")["cases"].as_array().unwrap() {
        let (name, expected) = (case["name"].as_str().unwrap(), &case["expected"]);
        let charge = golden_case(case);
        let (area, ny) = (charge.grid().bin_area(), charge.grid().ny());
        let options = EngineOptions::default();
        let mut engine = CudaEngine::<T>::on(gpu, charge.clone(), &options).unwrap();
        let (x, y) = (rounded::<T>(charge.initial_x()), rounded::<T>(charge.initial_y()));
        engine.set_positions(&x, &y).unwrap();
        let stats = engine.compute_density().unwrap();
        let mut map = Map::filled(charge.grid().nx(), ny, T::nan());
        engine.read_map(MapKind::Density, &mut map).unwrap();
        let rho: Vec<f64> = map.as_slice().iter().map(|d| d.widen() * area).collect();
        if name == "negative_area_pitfall" {
            // The cell is outside: truncation toward zero would fold it in as negative area.
            // No bin holds it, so all of the movable area overflows.
            assert!(rho.iter().all(|&v| v == 0.0) && stats.max == 0.0);
            assert_close::<T>(&[stats.overflow], &[1.0], 1.0, name);
            continue;
        }
        // The golden values leave area off the die out.
        let off_die = charge.clipped_area(charge.initial_x(), charge.initial_y()).area;
        let overflow = stats.overflow - off_die / charge.movable_area();
        let what = |part: &str| format!("{name} {}: {part}", T::PRECISION);
        let values = [("overflow_ratio", overflow), ("max_density", stats.max)];
        for (key, got) in values {
            assert_close::<T>(&[got], &[number(expected, key)], 1.0, &what(key));
        }
        if expected["density_map_total"].is_null() {
            let total = number(expected, "density_total_sum");
            assert_close::<T>(&[rho.iter().sum()], &[total], 1.0, &what("sum"));
            for sample in expected["samples"].as_array().unwrap() {
                let got = rho[count(sample, "i") * ny + count(sample, "j")] / area;
                assert_close::<T>(&[got], &[number(sample, "density")], 1.0, &what("sample"));
            }
            continue;
        }
        let map = |key: &str| numbers(&expected[key]);
        assert_close::<T>(&rho, &map("density_map_total"), 1.0, &what("density"));
        // The force of the golden field, by the stage itself.
        let upload = |values: &[f64]| gpu.upload(&rounded::<T>(values)).unwrap();
        let (ex, ey) = (upload(&map("field_x")), upload(&map("field_y")));
        let mut bodies = Bodies::<T>::new(gpu, charge.clone()).unwrap();
        let mut density = Density::new(&bodies, 0.0).unwrap();
        let mut force = Force::new(&bodies).unwrap();
        let corners = upload(&pairs(charge.initial_x(), charge.initial_y()));
        let mut rho = gpu.zeros(charge.grid().bins()).unwrap();
        bodies.order(&corners).unwrap();
        density.run(&bodies, false, (Layout::Pairs, &corners), &mut rho).unwrap();
        let mut forces = gpu.zeros(corners.len()).unwrap();
        force.run(&bodies, (&ex, &ey), &mut forces).unwrap();
        let forces = gpu.download(&forces).unwrap();
        let check = |got: Vec<T>, movable: &str, filler: &str| {
            let gradient = [map(movable), map(filler)].concat();
            let want: Vec<f64> = gradient.iter().map(|g| -g).collect();
            assert_close::<T>(&wide(&got), &want, 1.0, &what(movable));
        };
        let along = |axis: usize| forces.iter().skip(axis).step_by(2).copied().collect();
        check(along(0), "grad_x_movable", "grad_x_filler");
        check(along(1), "grad_y_movable", "grad_y_filler");
    }
}

#[test]
fn golden_density_and_force() {
    let gpu = gpu();
    density_and_force::<f32>(&gpu);
    density_and_force::<f64>(&gpu);
}

fn transforms<T: CudaReal>(gpu: &Gpu) {
    for case in golden("dct_transforms.json")["two_d"].as_array().unwrap() {
        let (nx, ny) = (count(case, "M"), count(case, "N"));
        let grid = BinGrid::new(Rect::at(0.0, 0.0, nx as f64, ny as f64), nx, ny).unwrap();
        let input = gpu.upload(&rounded::<T>(&numbers(&case["x"]))).unwrap();
        for pipeline in Pipeline::ALL {
            let mut solver = solver::<T>(gpu, &grid, pipeline).unwrap();
            // Factors from the paper's definitions to the file's.
            for (kind, name, factor) in [
                (Transform::Dct, "dct2", 4.0 / (nx * ny) as f64),
                (Transform::Idct, "idct2", 4.0),
                (Transform::IdctIdxst, "idct_idxst", 4.0),
                (Transform::IdxstIdct, "idxst_idct", 4.0),
            ] {
                let mut output = gpu.upload(&vec![T::nan(); nx * ny]).unwrap();
                solver.transform(kind, input.as_view(), output.as_view_mut()).unwrap();
                let got = wide(&gpu.download(&output).unwrap());
                let got: Vec<f64> = got.iter().map(|v| factor * v).collect();
                let what = format!("{name} {nx} x {ny} {pipeline} {}", T::PRECISION);
                assert_close::<T>(&got, &numbers(&case[name]), 1e-300, &what);
            }
        }
    }
}

fn fields<T: CudaReal>(gpu: &Gpu) {
    for case in golden("potential_field.json")["cases"].as_array().unwrap() {
        let (nx, ny) = (count(case, "M"), count(case, "N"));
        let width = nx as f64 * number(case, "bin_size_x");
        let height = ny as f64 * number(case, "bin_size_y");
        let grid = BinGrid::new(Rect::at(0.0, 0.0, width, height), nx, ny).unwrap();
        let rho = gpu.upload(&rounded::<T>(&numbers(&case["density"]))).unwrap();
        for pipeline in Pipeline::ALL {
            let mut solver = solver::<T>(gpu, &grid, pipeline).unwrap();
            let mut fields = Fields::new(gpu, grid.bins()).unwrap();
            solver.solve(&rho, &mut fields).unwrap();
            let what = |name: &str| format!("{name} of {} {pipeline}", case["source"]);
            for (map, name) in [
                (&fields.potential, "potential"),
                (&fields.field_x, "field_x"),
                (&fields.field_y, "field_y"),
            ] {
                let (got, want) = (wide(&gpu.download(map).unwrap()), numbers(&case[name]));
                // A map that is zero has no scale of its own: the density's is next.
                let zero = want.iter().all(|w| w.abs() < 1e-12);
                assert_close::<T>(&got, &want, if zero { 1.0 } else { 1e-300 }, &what(name));
            }
            let energy = gpu.download(&fields.energy).unwrap();
            assert_close::<T>(&energy, &[number(case, "energy")], 1.0, &what("energy"));
        }
    }
}

#[test]
fn golden_transforms_and_fields() {
    let gpu = gpu();
    transforms::<f32>(&gpu);
    transforms::<f64>(&gpu);
    fields::<f32>(&gpu);
    fields::<f64>(&gpu);
}

#[test]
fn adaptec1_matches_golden_values() {
    let gpu = gpu();
    let aux = design_dir("adaptec1").join("adaptec1.mms.aux");
    let design =
        read_design(&aux, &ReadOptions::default()).unwrap_or_else(|e| panic!("{e}")).design;
    for case in golden("adaptec1_legal.json")["cases"].as_array().unwrap() {
        legal::<f32>(&gpu, &design, case, 1e-5);
        legal::<f64>(&gpu, &design, case, 1e-9);
    }
}

fn legal<T: CudaReal>(
    gpu: &Gpu,
    design: &placefield::design::Design,
    case: &Value,
    tolerance: f64,
) {
    let [nx, ny] = [0, 1].map(|k| case["bins"][k].as_u64().unwrap() as usize);
    let grid = BinGrid::new(design.die().unwrap(), nx, ny).unwrap();
    let target_density = number(case, "target_density");
    let options = ChargeOptions::default().target_density(target_density);
    let charge = Charge::from_design(design, grid, &options).unwrap();
    let (x, y) = (rounded::<T>(charge.initial_x()), rounded::<T>(charge.initial_y()));
    let names: Vec<&str> = design.movable().map(|i| design.nodes.names.get(i)).collect();
    for pipeline in Pipeline::ALL {
        let options = EngineOptions::default().pipeline(pipeline);
        let mut engine = CudaEngine::<T>::on(gpu, charge.clone(), &options).unwrap();
        let what = format!("{nx} x {ny} {target_density} {pipeline} {}", T::PRECISION);
        let close = |part: &str, got: f64, want: f64, scale: f64| {
            assert!((got - want).abs() <= tolerance * scale, "{what}: {part}: {got}, not {want}");
        };
        // The second one is a replay.
        engine.evaluate(&x, &y).unwrap();
        let found = engine.evaluate(&x, &y).unwrap();
        let exact = engine.exact_density().unwrap();
        for (key, got) in [
            ("overflow_smoothed", found.density.overflow),
            ("max_smoothed", found.density.max),
            ("max_exact", exact.max),
            ("energy", found.energy),
        ] {
            close(key, got, number(case, key), number(case, key).abs());
        }
        close("overflow_exact", exact.overflow, number(case, "overflow_exact"), 1.0);
        for kind in MapKind::ALL {
            let mut map = Map::filled(nx, ny, T::nan());
            engine.read_map(kind, &mut map).unwrap();
            let values = wide(map.as_slice());
            let largest = values.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
            for sample in case["samples"].as_array().unwrap() {
                let got = values[count(sample, "ix") * ny + count(sample, "iy")];
                close(kind.name(), got, number(sample, kind.name()), largest);
            }
        }
        let mut force = [vec![T::nan(); x.len()], vec![T::nan(); x.len()]];
        let [fx, fy] = &mut force;
        engine.read_force(fx, fy).unwrap();
        for (force, axis) in force.iter().zip(["force_x", "force_y"]) {
            let largest = force.iter().fold(0.0, |m: f64, f| m.max(f.widen().abs()));
            for sample in case["forces"].as_array().unwrap() {
                let name = sample["node"].as_str().unwrap();
                let body = names.iter().position(|n| *n == name).unwrap();
                close(axis, force[body].widen(), number(sample, axis), largest);
            }
        }
    }
}
