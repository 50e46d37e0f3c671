//! Device memory and streams shared with other libraries, through
//! [cudarc](https://docs.rs/cudarc)'s types: the one place where they appear.
//!
//! cudarc orders work between streams by events of its own, and those are off in
//! this library's context: everything here runs on the one stream of a [`Gpu`],
//! whose order is all the synchronisation there is. So what leaves this module is
//! `unsafe` to take: whoever uses another stream waits for this one, and lets
//! this one wait, by events or by the host.
//!
//! cudarc is to be used by way of this module (`interop::cudarc`), not as a
//! dependency beside it: types of another version are other types. Its features
//! `driver`, `nvrtc` and `cufft` are on.
//!
//! A spreading loop that moves bodies by a kernel of its own
//! (`benchmarks/examples/spread_gpu.rs`):
//!
//! ```no_run
#![doc = include_str!("../../benchmarks/examples/spread_gpu.rs")]
//! ```

use super::device::{DeviceSlice, DeviceSliceMut, DeviceValue, DeviceVec, Gpu};
pub use cudarc;
use cudarc::driver::{CudaContext, CudaSlice, CudaStream};
use std::sync::Arc;

/// The context of a [`Gpu`]: the device's primary context.
///
/// # Safety
/// Memory made through it is freed on the stream it was made on, and nothing of
/// cudarc waits for work of other streams that uses it: the caller sees to that.
/// Event tracking stays off.
pub unsafe fn context(gpu: &Gpu) -> Arc<CudaContext> {
    gpu.context().clone()
}

/// The stream that all work of a [`Gpu`] goes to.
///
/// # Safety
/// While any thread captures a [`Graph`](super::Graph) on this `Gpu` (the first
/// step of an engine by a pipeline is captured), nothing is enqueued to the stream
/// from other threads and nobody waits for it. Memory that work on it uses lives
/// until the work has run. The stream is not captured but by
/// [`Graph::capture`](super::Graph::capture).
pub unsafe fn stream(gpu: &Gpu) -> Arc<CudaStream> {
    gpu.stream().clone()
}

/// The address of device memory that is to be read, for as long as the view lives.
pub fn address<'a, E: DeviceValue>(memory: impl Into<DeviceSlice<'a, E>>) -> u64 {
    *memory.into().address()
}

/// The address of device memory that is to be written, for as long as the view lives.
pub fn address_mut<'a, E: DeviceValue>(memory: impl Into<DeviceSliceMut<'a, E>>) -> u64 {
    *memory.into().address()
}

/// Takes over `slice`, without a copy.
///
/// # Safety
/// `slice` was made on [`stream`]`(gpu)`; where it was made on another, all work on
/// it has run, and from here on [`stream`]`(gpu)` alone uses it.
pub unsafe fn from_slice<E: DeviceValue>(gpu: &Gpu, slice: CudaSlice<E>) -> DeviceVec<E> {
    let length = slice.len();
    // SAFETY: the caller's promise; `leak` gives up the memory, which was
    // allocated as this device allocates, asynchronously or not.
    unsafe { DeviceVec::from_raw(gpu, slice.leak(), length) }
}

/// Gives device memory up to cudarc, without a copy.
///
/// # Safety
/// As for [`stream`]: the slice is bound to it.
pub unsafe fn into_slice<E: DeviceValue>(memory: DeviceVec<E>) -> CudaSlice<E> {
    let (gpu, address, length) = memory.into_raw();
    // SAFETY: the memory holds `length` values and nobody else frees it.
    unsafe { gpu.stream().upgrade_device_ptr(address, length) }
}
