//! What tests on a device share.
#![allow(dead_code, unreachable_pub)] // each test binary uses its own part

use placefield::cuda::{CudaReal, Fields, Gpu};

/// The first device; there must be one.
pub fn gpu() -> Gpu {
    Gpu::open(0).unwrap_or_else(|e| panic!("{e}"))
}

/// Fields of NaN: what a solve does not write shows.
pub fn poisoned<T: CudaReal>(gpu: &Gpu, bins: usize) -> Fields<T> {
    let map = || gpu.upload(&vec![T::nan(); bins]).unwrap();
    Fields {
        potential: map(),
        field_x: map(),
        field_y: map(),
        energy: gpu.upload(&[f64::NAN]).unwrap(),
    }
}
