//! CUDA devices that arrays are on, and the work that is done there.

use super::errors::Failure;
#[cfg(feature = "cuda")]
use crate::cuda::{CudaError, Gpu, interop::wait_for_stream};
use crate::engine::Pipeline;
#[cfg(feature = "cuda")]
use crate::ffi::stream_of;
use crate::grid::BinGrid;
use crate::transform::{Transform, Transform1d};
#[cfg(feature = "cuda")]
use std::collections::BTreeMap;
#[cfg(feature = "cuda")]
use std::sync::{Mutex, PoisonError};

/// A computation on a device, by which its plan is found again.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(not(feature = "cuda"), allow(dead_code))] // refused then
pub(super) enum PlanKey {
    Lines { kind: Transform1d, n: usize, batch: usize },
    Maps { kind: Transform, shape: [usize; 2], batch: usize },
    Solve { grid: BinGrid, pipeline: Option<Pipeline> },
}

/// The devices that arrays have been on, opened once.
#[cfg(feature = "cuda")]
static DEVICES: Mutex<BTreeMap<usize, Gpu>> = Mutex::new(BTreeMap::new());

#[cfg(feature = "cuda")]
pub(super) fn gpu_of(ordinal: usize) -> Result<Gpu, CudaError> {
    let mut devices = DEVICES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(gpu) = devices.get(&ordinal) {
        return Ok(gpu.clone());
    }
    let gpu = Gpu::open(ordinal)?;
    devices.insert(ordinal, gpu.clone());
    Ok(gpu)
}

/// Makes stream `consumer` wait for the work in stream `producer`; numbers of streams are those of
/// `__cuda_array_interface__`.
#[cfg(feature = "cuda")]
pub(super) fn order(ordinal: usize, producer: usize, consumer: usize) -> Result<(), Failure> {
    if producer.max(1) == consumer.max(1) {
        return Ok(());
    }
    // SAFETY: live streams, as the array's library and the caller say.
    let ordered =
        unsafe { wait_for_stream(&gpu_of(ordinal)?, stream_of(producer), stream_of(consumer)) };
    Ok(ordered?)
}

#[cfg(not(feature = "cuda"))]
pub(super) fn order(_: usize, _: usize, _: usize) -> Result<(), Failure> {
    Ok(())
}
