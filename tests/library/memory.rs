//! Memory that the system refuses: an error each, in a process with little of it.

use crate::common::started_for;
use placefield::charge::{Charge, ChargeError, ChargeOptions, Rectangles};
use placefield::cpu::engine::CpuEngine;
use placefield::cpu::transforms::Plan;
use placefield::engine::{EngineError, EngineOptions};
use placefield::grid::{BinGrid, Rect};
use placefield::transform::{Method, ShapeError, Transform, Transform1d, TransformNd};
use std::process::Command;

/// Set in the process that is limited.
const LIMITED: &str = "PLACEFIELD_TEST_LIMITED";

/// Runs the test called `name` again, in a process that may have 1.5 GB of address space.
fn again_limited(name: &str) {
    let output = Command::new("sh")
        .args(["-c", "ulimit -v 1500000; exec \"$0\" --exact \"$1\" --nocapture"])
        .arg(std::env::current_exe().unwrap())
        .arg(name)
        .env(LIMITED, "")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

fn charge(die: f64, bins: usize, options: &ChargeOptions) -> Result<Charge, ChargeError> {
    let grid = BinGrid::new(Rect::at(0.0, 0.0, die, die), bins, bins).unwrap();
    let one = [1.0];
    Charge::from_rectangles(grid, &Rectangles::movable(&one, &one, &one, &one), options)
}

#[cfg(target_os = "linux")]
#[test]
fn refused_memory_is_an_error() {
    match started_for(LIMITED) {
        None => again_limited("memory::refused_memory_is_an_error"),
        Some(_) => refused_memory(),
    }
}

fn refused_memory() {
    let no_memory = |result: Result<(), ShapeError>| {
        let error = result.unwrap_err();
        assert!(matches!(error, ShapeError::Memory(_)), "{error}");
        assert!(error.to_string().contains(" of memory, and "), "{error}");
    };
    for n in [1 << 28, 1 << 47] {
        no_memory(Plan::<f64>::new(Transform1d::Dct, &[n]).map(drop));
        no_memory(Plan::<f32>::new(TransformNd::Dct, &[2, n]).map(drop));
    }
    // Between its passes the fused method has a spectrum; others work in the output.
    let plan = |shape: &[usize], method| Plan::<f64>::batched(TransformNd::Idct, shape, method, 1);
    no_memory(plan(&[1 << 14, 1 << 14], Method::Fused).map(drop));
    no_memory(plan(&[900, 900, 900], Method::Fused).map(drop));
    assert!(plan(&[900, 900, 900], Method::RowColumn).is_ok());

    let plain = ChargeOptions::default();
    let error = charge(100.0, 16_384, &plain).unwrap_err();
    assert!(matches!(error, ChargeError::Memory(_)), "{error}");
    // 32 million fillers.
    let error = charge(5_657.0, 64, &plain.fillers(true)).unwrap_err();
    assert!(matches!(error, ChargeError::Memory(_)), "{error}");
    // There is memory for the charge, not for the engine.
    let large = charge(100.0, 4_500, &plain).unwrap();
    let error = CpuEngine::<f64>::new(large, &EngineOptions::default()).unwrap_err();
    assert!(matches!(error, EngineError::HostMemory(_)), "{error}");

    // What fits works.
    let small = charge(100.0, 64, &plain.fillers(true)).unwrap();
    CpuEngine::<f64>::new(small, &EngineOptions::default().threads(1)).unwrap();
    Plan::<f64>::new(Transform::Dct, &[512, 512]).unwrap();
}
