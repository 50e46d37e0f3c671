//! Devices that can do less, and what stands in there: the one at hand, limited as
//! `PLACEFIELD_DEVICE_LIMIT` would.

use crate::common::bodies::mixed;
use crate::common::wide;
use crate::device::{check, gpu};
use crate::engine::{agrees, positions};
use crate::maps::{grid, off_axis};
use placefield::cuda::internals::ThreePass;
use placefield::cuda::{
    CudaEngine, CudaError, CudaReal, DeviceLimit, Fields, Gpu, GpuOptions, solver,
};
use placefield::engine::{Engine, EngineOptions, Pipeline};

/// Shared memory of a block and architecture of smaller devices: the least that CUDA
/// has anywhere, T4 and RTX 20, RTX 30, A100.
const SMALLER: [&str; 4] =
    ["shared=48,arch=75", "shared=64,arch=75", "shared=99,arch=86", "shared=163,arch=80"];

fn limited(limit: DeviceLimit) -> Gpu {
    Gpu::open_with(0, GpuOptions::default().limit(limit)).unwrap()
}

/// The device with each of [`SMALLER`]'s limits.
fn smaller() -> impl Iterator<Item = (&'static str, Gpu)> {
    SMALLER.into_iter().map(|text| (text, limited(text.parse().unwrap())))
}

#[test]
fn limited_devices_report_their_limits() {
    let _turn = gpu();
    let whole = limited(DeviceLimit::none()).info().clone();
    assert!(whole.shared_memory >= 64 << 10 && whole.architecture() >= 75, "{whole:?}");
    let limits = [(48, 75), (64, 75), (99, 86), (163, 80)];
    for ((text, gpu), (kilobytes, architecture)) in smaller().zip(limits) {
        let (info, shared) = (gpu.info(), kilobytes << 10);
        assert_eq!(gpu.shared_memory_limit(), whole.shared_memory.min(shared), "{text}");
        assert_eq!(info.architecture(), whole.architecture().min(architecture), "{text}");
        assert_eq!((info.memory, info.l2_cache), (whole.memory, whole.l2_cache));
        let less = whole.shared_memory > shared || whole.architecture() > architecture;
        let says = info.name.starts_with(&format!("{} limited to ", whole.name));
        assert!(says == less && info.name.starts_with(&whole.name), "{text}: {}", info.name);
    }
}

/// All stages by every pipeline against the CPU; 64 × 128 has lines for three passes, 33 × 64
/// has none.
#[test]
fn engines_on_smaller_devices_match_the_cpu() {
    let _turn = gpu();
    for (_, gpu) in smaller() {
        for (nx, ny) in [(64, 128), (33, 64)] {
            let charge = mixed(nx, ny, 300, 0.9);
            agrees::<f32>(&gpu, &charge);
            agrees::<f64>(&gpu, &charge);
        }
    }
}

/// The three-pass solve of lines of `n` by `m`, or what stands in for it, is the solve of
/// the whole device. Gives whether there are three passes.
fn solves<T: CudaReal>(whole: &Gpu, gpu: &Gpu, text: &str, (n, m): (usize, usize)) -> bool {
    let what = format!("{n} x {m} in {} with {text}", T::PRECISION);
    let refused = ThreePass::<T>::new(gpu, &grid(n, m)).err();
    if let Some(error) = &refused {
        assert!(matches!(error, CudaError::NoThreePass { .. }), "{what}: {error}");
        assert!(error.to_string().contains("shared memory"), "{what}: {error}");
    }
    let ran = if refused.is_some() { Pipeline::Fused } else { Pipeline::ThreePass };
    let rho = off_axis::<T>(n, m);
    let [got, want] = [gpu, whole].map(|gpu| {
        let mut solver = solver::<T>(gpu, &grid(n, m), Pipeline::ThreePass).unwrap();
        if !gpu.is(whole) {
            assert_eq!(solver.pipeline(), ran, "{what}");
        }
        let mut fields = Fields::<T>::new(gpu, n * m).unwrap();
        solver.solve(&gpu.upload(&rho).unwrap(), &mut fields).unwrap();
        [&fields.potential, &fields.field_x, &fields.field_y].map(|map| gpu.download(map).unwrap())
    });
    for (got, want) in got.iter().zip(&want) {
        check(got, &wide(want), &what);
    }
    refused.is_none()
}

#[test]
fn fused_replaces_three_pass_on_small_devices() {
    let whole = gpu();
    for (text, gpu) in smaller() {
        assert!(solves::<f32>(&whole, &gpu, text, (64, 64)), "{text}: no three passes of 64 x 64");
        assert!(solves::<f64>(&whole, &gpu, text, (64, 64)), "{text}: no three passes of 64 x 64");
        for lengths in [(64, 2048), (2048, 64), (64, 8192), (8192, 64)] {
            solves::<f32>(&whole, &gpu, text, lengths);
            solves::<f64>(&whole, &gpu, text, lengths);
        }
    }
}

/// Code for an architecture that has no dependent launch, on a device that has: were it
/// launched before the kernel before it is done, it would not wait.
#[test]
fn older_code_waits_for_the_kernel_before_it() {
    let _turn = gpu();
    let gpu = limited(DeviceLimit::none().architecture(80));
    let charge = mixed(256, 256, 20_000, 0.9);
    let [x, y] = positions::<f32>(&charge, 0.0, 0);
    let mut engine = CudaEngine::<f32>::on(&gpu, charge, &EngineOptions::default()).unwrap();
    let mut first = None;
    for turn in 0..200 {
        let evaluation = engine.evaluate(&x, &y).unwrap();
        let mut force = [vec![f32::NAN; x.len()], vec![f32::NAN; x.len()]];
        let [fx, fy] = &mut force;
        engine.read_force(fx, fy).unwrap();
        let (density, energy, forces) =
            first.get_or_insert_with(|| (evaluation.density, evaluation.energy, force.clone()));
        assert_eq!(evaluation.density, *density, "turn {turn}");
        assert_eq!(evaluation.energy.to_bits(), energy.to_bits(), "turn {turn}");
        assert!(force == *forces, "turn {turn}: forces");
    }
}
