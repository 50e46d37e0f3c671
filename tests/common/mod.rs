//! Code that the test crates share: golden values, real designs, and how far off a result may be.
//!
//! Real designs are not part of the repository. The tests that need them are
//! ignored by default; `PLACEFIELD_DATA=FOLDER cargo test -- --ignored` runs them,
//! where FOLDER holds each design as a folder or as `NAME.tar.xz`.
#![allow(dead_code, unreachable_pub)] // each test crate uses its own part

pub mod bodies;
pub mod fenced_placement;
pub mod fences;
pub mod legal;
pub mod lines;
#[cfg(feature = "plot")]
pub mod png;

use placefield::{Precision, Real};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The files of `tests/data`; its `README.md` says where each comes from. They are
/// part of the executable, which may then run where there is no checkout.
const GOLDEN: [(&str, &str); 9] = [
    ("adaptec1_legal.json", include_str!("../data/adaptec1_legal.json")),
    ("congestion_maps.json", include_str!("../data/congestion_maps.json")),
    ("dct_transforms.json", include_str!("../data/dct_transforms.json")),
    ("density_force.json", include_str!("../data/density_force.json")),
    ("density_overflow_exact_op.json", include_str!("../data/density_overflow_exact_op.json")),
    ("placer_pieces.json", include_str!("../data/placer_pieces.json")),
    ("potential_field.json", include_str!("../data/potential_field.json")),
    ("potential_volume.json", include_str!("../data/potential_volume.json")),
    ("scipy_transforms.json", include_str!("../data/scipy_transforms.json")),
];

/// A file of golden values, parsed.
pub fn golden(name: &str) -> serde_json::Value {
    let (_, text) = GOLDEN.iter().find(|(file, _)| *file == name).expect("a file of tests/data");
    serde_json::from_str(text).unwrap_or_else(|e| panic!("{name}: {e}"))
}

/// Environment variable with the task for which a test has started this process; not set if a
/// person has started it.
pub fn started_for(variable: &str) -> Option<String> {
    std::env::var(variable).ok()
}

/// The folder of a real design, e.g. `"ibm01"`. An archive is unpacked once and kept.
pub fn design_dir(name: &str) -> PathBuf {
    let set = std::env::var_os("PLACEFIELD_DATA");
    let data = PathBuf::from(set.expect("PLACEFIELD_DATA: expected the folder of real designs"));
    let unpacked = data.join(name);
    if unpacked.is_dir() {
        return unpacked;
    }
    let archive = data.join(format!("{name}.tar.xz"));
    assert!(archive.is_file(), "PLACEFIELD_DATA: neither {name} nor {}", archive.display());
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("designs");
    let done = root.join(name);
    if !done.is_dir() {
        // Unpack beside and rename, so that tests running at once never see half a design.
        std::fs::create_dir_all(&root).unwrap();
        let part = tempfile::tempdir_in(&root).unwrap();
        let ok = Command::new("tar").arg("-xJf").arg(&archive).arg("-C").arg(part.path()).status();
        assert!(ok.is_ok_and(|s| s.success()), "cannot unpack {}", archive.display());
        if std::fs::rename(part.path().join(name), &done).is_err() {
            assert!(done.is_dir(), "cannot move {name} into place");
        }
    }
    done
}

/// `‖got − want‖ / ‖want‖` (the plain norm of `got` when `want` is zero).
pub fn relative_rms(got: &[f64], want: &[f64]) -> f64 {
    assert_eq!(got.len(), want.len());
    let norm = |v: &mut dyn Iterator<Item = f64>| v.map(|a| a * a).sum::<f64>().sqrt();
    let difference = norm(&mut got.iter().zip(want).map(|(a, b)| a - b));
    let scale = norm(&mut want.iter().copied());
    if scale > 0.0 { difference / scale } else { difference }
}

/// The most that transforms and fields may be off by, as relative RMS.
pub fn limit<T: Real>() -> f64 {
    match T::PRECISION {
        Precision::F32 => 2e-6,
        Precision::F64 => 1e-13,
    }
}

/// `values` as `T` holds them.
pub fn rounded<T: Real>(values: &[f64]) -> Vec<T> {
    values.iter().map(|&v| T::cast(v)).collect()
}

/// `values` in `f64`.
pub fn wide<T: Real>(values: &[T]) -> Vec<f64> {
    values.iter().map(|v| v.widen()).collect()
}

/// Every number in a JSON array, nested or not, in order.
pub fn numbers(value: &serde_json::Value) -> Vec<f64> {
    match value {
        serde_json::Value::Array(items) => items.iter().flat_map(numbers).collect(),
        other => vec![other.as_f64().unwrap_or_else(|| panic!("not a number: {other}"))],
    }
}

/// x and y of every body side by side, as a device holds them.
pub fn pairs<T: Copy>(x: &[T], y: &[T]) -> Vec<T> {
    x.iter().zip(y).flat_map(|(&x, &y)| [x, y]).collect()
}
