//! Reference data kept beside the checkout: golden values and real designs.
//!
//! It lies in `../shared` (or `$PLACEFIELD_SHARED`). Tests that need it run
//! when it is there and say so on stderr when it is not.
#![allow(dead_code, unreachable_pub)] // each test binary uses its own part

pub mod bodies;
#[cfg(feature = "cuda")]
pub mod device;
pub mod maps;
pub mod reference;

use placefield::{Precision, Real};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder of reference data, if there is one.
pub fn shared() -> Option<PathBuf> {
    let dir = std::env::var_os("PLACEFIELD_SHARED")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared"), PathBuf::from);
    if dir.is_dir() {
        return Some(dir);
    }
    eprintln!("NOT RUN: reference data is not at {}", dir.display());
    None
}

/// A golden file, parsed.
pub fn golden(name: &str) -> Option<serde_json::Value> {
    let path = shared()?.join("golden").join(name);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    Some(serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display())))
}

/// The unpacked folder of a real design, e.g. `"ibm01"`; unpacked once and kept.
pub fn design_dir(name: &str) -> Option<PathBuf> {
    let archive = shared()?.join("data").join(format!("{name}.tar.xz"));
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("designs");
    let done = root.join(name);
    if !done.is_dir() {
        // Unpack beside and rename, so that test binaries running at once never see half a design.
        std::fs::create_dir_all(&root).unwrap();
        let part = tempfile::tempdir_in(&root).unwrap();
        let ok = Command::new("tar").arg("-xJf").arg(&archive).arg("-C").arg(part.path()).status();
        assert!(ok.is_ok_and(|s| s.success()), "cannot unpack {}", archive.display());
        if std::fs::rename(part.path().join(name), &done).is_err() {
            assert!(done.is_dir(), "cannot move {name} into place");
        }
    }
    Some(done)
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
    values.iter().map(|&v| T::of(v)).collect()
}

/// `values` in `f64`.
pub fn wide<T: Real>(values: &[T]) -> Vec<f64> {
    values.iter().map(|v| v.wide()).collect()
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
