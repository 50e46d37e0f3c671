//! `solve` and `dct`: NumPy arrays in and out, against direct sums.

use crate::{PIPELINES, Words, failure, names_in, npy, placefield, run, run_json};
use placefield::grid::{BinGrid, Map, Rect};
use placefield::transform::oracle;
use predicates::prelude::*;
use std::path::Path;

/// Numbers without symmetry.
pub(crate) fn values(count: usize) -> Vec<f64> {
    (0..count).map(|i| ((i * i * 31 + 7 * i) % 17) as f64 / 4.0 - 1.0).collect()
}

pub(crate) fn write<T: npyz::AutoSerialize + npyz::Serialize>(
    path: &Path,
    shape: &[u64],
    values: &[T],
) {
    use npyz::WriterBuilder;
    let file = std::fs::File::create(path).unwrap();
    let options = npyz::WriteOptions::new().default_dtype().shape(shape);
    let mut out = options.writer(file).begin_nd().unwrap();
    out.extend(values).unwrap();
    out.finish().unwrap();
}

fn near(what: &str, got: &[f64], want: &[f64], tolerance: f64) {
    assert_eq!(got.len(), want.len(), "{what}");
    let largest = want.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
    for (k, (got, want)) in got.iter().zip(want).enumerate() {
        assert!((got - want).abs() <= tolerance * largest, "{what} [{k}]: {got} for {want}");
    }
}

#[test]
fn fields_of_a_density_agree_with_direct_sums() {
    let folder = tempfile::tempdir().unwrap();
    let (rho, out) = (folder.path().join("rho.npy"), folder.path().join("out"));
    let (nx, ny) = (12, 10);
    write(&rho, &[nx as u64, ny as u64], &values(nx * ny));
    // Bins twice as wide as high: x and y cannot be exchanged unnoticed.
    let die = Rect::at(0.0, 0.0, 6.0 * nx as f64, 3.0 * ny as f64);
    let grid = BinGrid::new(die, nx, ny).unwrap();
    let map = Map::from_vec(nx, ny, values(nx * ny));
    let want = oracle::solve(&grid, &map);
    let energy: f64 = map.as_slice().iter().zip(want[0].as_slice()).map(|(r, p)| r * p).sum();
    for pipeline in PIPELINES {
        for (precision, tolerance) in [("f64", 1e-12), ("f32", 2e-6)] {
            let how = format!("--pipeline {pipeline} --precision {precision} --engine cpu");
            let report =
                run_json(&[&"solve", &rho, &"--out", &out, &"--bin-size 6x3 --json -", &how]);
            assert_eq!(names_in(&out), ["field_x.npy", "field_y.npy", "potential.npy"]);
            for (name, want) in ["potential", "field_x", "field_y"].iter().zip(&want) {
                let path = out.join(name).with_extension("npy");
                let (shape, got) = match precision {
                    "f64" => npy::<f64>(&path),
                    _ => {
                        let (shape, got) = npy::<f32>(&path);
                        (shape, got.into_iter().map(f64::from).collect())
                    }
                };
                assert_eq!(shape, [nx as u64, ny as u64]);
                near(&format!("{pipeline} {precision} {name}"), &got, want.as_slice(), tolerance);
            }
            let got = report["field"]["energy"].as_f64().unwrap();
            assert!((got - energy).abs() <= tolerance * 10.0 * energy, "{got} for {energy}");
            assert_eq!(
                (&report["options"]["pipeline"], &report["options"]["precision"]),
                (&pipeline.into(), &precision.into())
            );
        }
    }
}

#[test]
fn fields_of_a_volume_agree_with_direct_sums() {
    let folder = tempfile::tempdir().unwrap();
    let (rho, out) = (folder.path().join("rho.npy"), folder.path().join("out"));
    // Axes and bins of three lengths: no two axes can be exchanged unnoticed.
    let (shape, bin) = ([6, 5, 35], [6.0, 3.0, 15.0]);
    let (sizes, count) = (shape.map(|n| n as u64), shape.iter().product());
    write(&rho, &sizes, &values(count));
    let want = oracle::solve_volume(shape, bin, &values(count));
    let energy: f64 = values(count).iter().zip(&want[0]).map(|(r, p)| r * p).sum();
    for pipeline in ["row-column", "fused", "auto"] {
        let how = format!("--bin-size 6x3x15 --pipeline {pipeline} --engine cpu --json -");
        let report = run_json(&[&"solve", &rho, &"--out", &out, &how]);
        let names = ["potential", "field_x", "field_y", "field_z"];
        assert_eq!(names_in(&out).len(), names.len());
        for (name, want) in names.iter().zip(&want) {
            let (shape, got) = npy::<f64>(&out.join(name).with_extension("npy"));
            assert_eq!(shape, sizes);
            near(&format!("{pipeline} {name}"), &got, want, 1e-12);
        }
        let got = report["field"]["energy"].as_f64().unwrap();
        assert!((got - energy).abs() <= 1e-11 * energy, "{got} for {energy}");
        let largest = want[3].iter().fold(0.0, |m: f64, v| m.max(v.abs()));
        let got = report["field"]["field_z_max"].as_f64().unwrap();
        assert!((got - largest).abs() <= 1e-11 * largest, "{got} for {largest}");
        assert_eq!(report["grid"]["bins"], serde_json::json!(shape));
        assert_eq!(report["grid"]["bin_size"], serde_json::json!(bin));
    }
    let new = folder.path().join("new");
    let solve: [&dyn Words; 4] = [&"solve", &rho, &"--out", &new];
    for wrong in ["--bin-size 1x2", "--pipeline three-pass", "--engine cuda:0,1"] {
        placefield(&[solve[0], solve[1], solve[2], solve[3], &wrong]).assert().code(2).stdout("");
    }
    let plots = folder.path().join("plots");
    placefield(&[&solve, &"--plots", &plots]).assert().code(2).stdout("");
    assert!(!new.exists() && !plots.exists(), "a refused solve made a file or folder");
}

#[test]
fn precision_defaults_to_that_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let single: Vec<f32> = values(6).into_iter().map(|v| v as f32).collect();
    write(&at("a.npy"), &[2, 3], &single);
    write(&at("b.npy"), &[2, 3], &[1u8, 2, 3, 255, 5, 6]);
    let out = at("out.npy");
    run(&[&"dct", &at("a.npy"), &"-o", &out, &"--engine cpu"]);
    assert_eq!(npy::<f32>(&out).0, [2, 3]);
    run(&[&"dct", &at("b.npy"), &"-o", &out, &"--engine cpu"]);
    let sum = npy::<f64>(&out).1[0];
    assert!((sum - 272.0).abs() < 1e-12, "{sum}");
    run(&[&"dct", &at("a.npy"), &"-o", &out, &"--precision f64 --engine cpu"]);
    assert_eq!(npy::<f64>(&out).0, [2, 3]);
}

/// One line transform along one axis of an array, by direct sums.
fn along(kind: fn(&[f64]) -> Vec<f64>, shape: &[usize], axis: usize, x: &[f64]) -> Vec<f64> {
    let stride: usize = shape[axis + 1..].iter().product();
    let mut out = vec![0.0; x.len()];
    for start in (0..x.len()).filter(|at| (at / stride).is_multiple_of(shape[axis])) {
        let line: Vec<f64> = (0..shape[axis]).map(|k| x[start + k * stride]).collect();
        for (k, v) in kind(&line).into_iter().enumerate() {
            out[start + k * stride] = v;
        }
    }
    out
}

#[test]
fn transforms_along_axes_agree_with_direct_sums() {
    use oracle::{dct, idct, idxst};
    type Lines = &'static [(fn(&[f64]) -> Vec<f64>, usize)];
    let cases: [(&str, Option<&str>, Lines); 12] = [
        ("dct", None, &[(dct, 0), (dct, 1), (dct, 2)]),
        ("dct", Some("1"), &[(dct, 1)]),
        ("dct", Some("0,-1"), &[(dct, 0), (dct, 2)]),
        ("idct", Some("-1"), &[(idct, 2)]),
        ("idct", Some("2,0"), &[(idct, 0), (idct, 2)]),
        ("idct", None, &[(idct, 0), (idct, 1), (idct, 2)]),
        ("idxst", Some("0"), &[(idxst, 0)]),
        ("idxst", Some("1,2"), &[(idxst, 1), (idxst, 2)]),
        ("idct-idxst", None, &[(idct, 1), (idxst, 2)]),
        ("idct-idxst", Some("2,0"), &[(idct, 2), (idxst, 0)]),
        ("idxst-idct", None, &[(idxst, 1), (idct, 2)]),
        ("idxst-idct", Some("0,1"), &[(idxst, 0), (idct, 1)]),
    ];
    let folder = tempfile::tempdir().unwrap();
    let (input, out) = (folder.path().join("in.npy"), folder.path().join("out.npy"));
    let shape = [3, 5, 4];
    write(&input, &[3, 5, 4], &values(60));
    for (kind, axes, lines) in cases {
        let along_axes = axes.map(|axes| format!("--axes={axes}")).unwrap_or_default();
        let how = format!("--engine cpu --kind {kind} {along_axes}");
        let listed = run(&[&"dct", &input, &"-o", &out, &how]);
        assert!(listed.ends_with(&format!("\n{}\n", out.display())), "{listed}");
        let want = lines.iter().fold(values(60), |x, &(line, axis)| along(line, &shape, axis, &x));
        let (got_shape, got) = npy::<f64>(&out);
        assert_eq!(got_shape, [3, 5, 4]);
        near(&format!("{kind} {axes:?}"), &got, &want, 1e-13);
    }
}

#[test]
fn arrays_come_and_go_through_pipes() {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("in.npy");
    write(&input, &[7], &values(7));
    let mut piped = placefield(&[&"dct - -o - --engine cpu"]);
    let bytes = std::fs::read(&input).unwrap();
    let output = piped.write_stdin(bytes).assert().success().get_output().clone();
    let there = folder.path().join("there.npy");
    std::fs::write(&there, output.stdout).unwrap();
    near("a pipe", &npy::<f64>(&there).1, &oracle::dct(&values(7)), 1e-13);
}

#[test]
fn arrays_that_do_not_fit_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    write(&at("cube.npy"), &[2, 2, 2], &values(8));
    write(&at("nan.npy"), &[2, 2], &[1.0, f64::NAN, 2.0, 3.0]);
    write(&at("huge.npy"), &[2, 2], &[1.0, 0.0, 1e300, 3.0]);
    std::fs::write(at("text.npy"), "1 2 3").unwrap();
    let before = names_in(folder.path());
    let refused = |args: &[&dyn Words], want: &str| {
        let line = failure(args);
        assert!(line.ends_with(want), "{line}");
    };
    let out = at("out");
    write(&at("line.npy"), &[8], &values(8));
    refused(
        &[&"solve", &at("line.npy"), &"--out", &out],
        "8 values: expected two axes, x and y, or three",
    );
    std::fs::remove_file(at("line.npy")).unwrap();
    refused(
        &[&"solve", &at("nan.npy"), &"--out", &out],
        "value [0, 1] is NaN: expected a finite number of f64",
    );
    let single = &"--precision=f32";
    refused(
        &[&"dct", &at("huge.npy"), &"-o", &at("o"), single],
        "value [1, 0] is 1e300: expected a finite number of f32",
    );
    refused(
        &[&"dct", &at("text.npy"), &"-o", &at("o")],
        "not a NumPy file: expected \\x93NUMPY at its beginning",
    );
    assert_eq!(names_in(folder.path()), before);

    let cube = at("cube.npy");
    // 2 for what no array would make right, 1 for what this one does not have.
    for (code, wrong) in [
        (1, "--axes=3"),
        (1, "--axes=-4"),
        (1, "--axes=0,-3"),
        (2, "--axes=0,0"),
        (2, "--kind=idct-idxst --axes=1"),
        (2, "--kind=dst"),
    ] {
        placefield(&[&"dct", &cube, &"-o", &at("o"), &wrong]).assert().code(code).stdout("");
    }
    let large = at("large.npy");
    write(&large, &[2, 2], &[1e308; 4]);
    for (command, out) in [("dct", at("o")), ("solve", at("maps"))] {
        let beyond = predicate::str::contains("is beyond what f64 holds");
        placefield(&[&command, &large, &"--out", &out]).assert().code(1).stderr(beyond);
    }
    write(&large, &[2, 2], &[1e200, 0.0, 0.0, 0.0]);
    let beyond = predicate::str::contains("the energy of these values is beyond what f64 holds");
    placefield(&[&"solve", &large, &"--out", &at("maps")]).assert().code(1).stderr(beyond);
    let over = predicate::str::contains("is an input of the run");
    placefield(&[&"dct", &cube, &"-o", &cube]).assert().code(2).stderr(over);
}
