//! Code that tests of a device share: opening it, outputs that show what was not written, and how
//! far off a result may be.

use crate::common::{limit, relative_rms, wide};
use crate::reference::Line;
use placefield::Real;
use placefield::cuda::{CudaError, CudaReal, DeviceVec, Fields, Gpu};
use placefield::transform::Transform;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::fs::File;
use std::ops::Deref;
use std::{env, io};

/// The first device, for as long as a test has its turn.
pub(crate) struct Turn {
    gpu: Gpu,
    /// Locked until it is closed, by threads and processes alike.
    _turn: File,
}

impl Deref for Turn {
    type Target = Gpu;

    fn deref(&self) -> &Gpu {
        &self.gpu
    }
}

/// The first device after `lock`; there must be one.
fn after(lock: impl FnOnce(&File) -> io::Result<()>) -> Turn {
    let path = env::temp_dir().join("placefield-tests-of-a-device");
    let turn = File::create(&path).and_then(|file| lock(&file).map(|()| file));
    let turn = turn.unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    Turn { gpu: Gpu::open(0).unwrap_or_else(|e| panic!("{e}")), _turn: turn }
}

/// The first device while other tests use it too. Once a test: a second turn would wait for one
/// who waits for the first.
pub(crate) fn gpu() -> Turn {
    after(File::lock_shared)
}

/// The first device while no other test uses it, of this process or another.
pub(crate) fn gpu_alone() -> Turn {
    after(File::lock)
}

/// Takes the device's free memory, but for less than 1 MiB at a time.
pub(crate) fn fill(gpu: &Gpu) -> Vec<DeviceVec<u8>> {
    let mut kept = Vec::new();
    let mut size = gpu.memory().unwrap().free;
    while size > 1 << 20 {
        match gpu.zeros::<u8>(size) {
            Ok(memory) => kept.push(memory),
            Err(_) => size /= 2,
        }
    }
    kept
}

/// Whether the device must have lines of n elements, where there are such stages: long ones need
/// the shared memory of a data centre's GPU.
pub(crate) fn must_have_lines<T>(gpu: &Gpu, n: usize) -> bool {
    gpu.info().shared_memory >= 163 << 10 || n <= 16384 / size_of::<T>()
}

/// Fields of NaN: what a solve does not write shows.
pub(crate) fn poisoned<T: CudaReal>(gpu: &Gpu, bins: usize) -> Fields<T> {
    let map = || gpu.upload(&vec![T::nan(); bins]).unwrap();
    Fields {
        potential: map(),
        field_x: map(),
        field_y: map(),
        energy: gpu.upload(&[f64::NAN]).unwrap(),
    }
}

/// Values with no symmetry, all different from zero.
pub(crate) fn values<T: Real>(count: usize) -> Vec<T> {
    let mut random = Pcg64Mcg::seed_from_u64(count as u64);
    (0..count).map(|k| T::cast(0.1 + random.random::<f64>() * (1.0 + (k % 7) as f64))).collect()
}

/// Returns the values that `run` writes to a buffer of NaN.
pub(crate) fn output<T: CudaReal>(
    gpu: &Gpu,
    count: usize,
    run: impl FnOnce(&mut DeviceVec<T>) -> Result<(), CudaError>,
) -> Vec<T> {
    let mut output = gpu.upload(&vec![T::nan(); count]).unwrap();
    run(&mut output).unwrap();
    gpu.download(&output).unwrap()
}

pub(crate) fn check<T: Real>(got: &[T], want: &[f64], what: &str) {
    let error = relative_rms(&wide(got), want);
    assert!(error <= limit::<T>(), "{what} {} is off by {error:e}", T::PRECISION);
}

/// Within `bound` of `want`, relative to it; a `want` near zero counts as 1e-9.
pub(crate) fn close(what: &str, got: f64, want: f64, bound: f64) {
    assert!((got - want).abs() <= bound * want.abs().max(1e-9), "{what}: {got}, expected {want}");
}

/// The 2-D transforms, each with what it is along x and along y.
pub(crate) const MAPS: [(Transform, Line, Line); 4] = [
    (Transform::Dct, Line::Dct, Line::Dct),
    (Transform::Idct, Line::Idct, Line::Idct),
    (Transform::IdctIdxst, Line::Idct, Line::Idxst),
    (Transform::IdxstIdct, Line::Idxst, Line::Idct),
];
