//! Shares device memory and streams with other libraries, by address or through the types of
//! [cudarc](https://docs.rs/cudarc). No other module exposes them.
//!
//! # Memory and streams of the caller
//!
//! A [`Gpu`] uses the device's primary context, as PyTorch and the CUDA runtime do, so their memory
//! works here directly. [`view`] and [`view_mut`] make slices of it, which every method here that
//! takes a slice accepts. Work enqueued in [`on_stream`] runs on a caller's stream. For a placer
//! that keeps its positions and its gradient in device memory, an iteration is
//!
//! ```no_run
//! # use placefield::cuda::{CudaEngine, interop::{self, cudarc::driver::sys::CUstream}};
//! # use placefield::engine::{EngineError, GradientOptions, Layout};
//! # unsafe fn iteration(
//! #     engine: &mut CudaEngine<f32>, stream: CUstream, positions: u64, gradient: u64,
//! # ) -> Result<(), EngineError> {
//! let (gpu, values) = (engine.gpu().clone(), 2 * engine.bodies().len());
//! let options = GradientOptions::default().layout(Layout::Halves).weight(-1.0).accumulate(true);
//! // SAFETY: both addresses hold `values` values in memory of this device. The memory lives, and
//! // only work on this stream uses it, until the step has run.
//! unsafe {
//!     let positions = interop::view(&gpu, positions, values)?; // x of all bodies, then y
//!     let gradient = interop::view_mut(&gpu, gradient, values)?;
//!     interop::on_stream(&gpu, stream, || {
//!         engine.enqueue_energy(options.layout, positions)?;
//!         engine.enqueue_gradient(&options, None, gradient)
//!     })?
//! }
//! # }
//! ```
//!
//! The iteration neither allocates nor waits. If the stream is being captured, the iteration
//! becomes a part of the caller's graph.
//!
//! # Through cudarc
//!
//! cudarc orders work between streams with events, which this library's context disables:
//! everything here runs on the one stream of a [`Gpu`], whose order is the only synchronisation.
//! These functions are therefore `unsafe`: a user of another stream makes the streams wait for each
//! other, by events or by the host.
//!
//! Use cudarc through this module (`interop::cudarc`), not as a separate dependency, because types
//! of another version are other types. Its features `driver`, `nvrtc` and `cufft` are on.
//!
//! A spreading loop that moves bodies by a custom kernel (`benchmarks/examples/spread_gpu.rs`):
//!
//! ```no_run
#![doc = include_str!("../../benchmarks/examples/spread_gpu.rs")]
//! ```

#[cfg(feature = "python")]
pub(crate) use super::device::CallersCapture;
use super::device::{CudaError, DeviceSlice, DeviceSliceMut, DeviceValue, DeviceVec, Gpu};
pub use super::place::{DeviceCells, DeviceTerm};
pub use cudarc;
#[cfg(feature = "python")]
use cudarc::driver::result;
use cudarc::driver::sys::{self, CUpointer_attribute as Attribute};
use cudarc::driver::{CudaContext, CudaSlice, CudaStream};
use std::ffi::c_void;
use std::sync::Arc;

/// Returns the context of a [`Gpu`]: the device's primary context.
///
/// # Safety
/// Memory made through the context is freed on the stream it was made on. cudarc does not wait for
/// other streams' work that uses the memory: the caller must wait. Event tracking stays off.
pub unsafe fn context(gpu: &Gpu) -> Arc<CudaContext> {
    gpu.context().clone()
}

/// Returns the stream that all work of a [`Gpu`] goes to.
///
/// # Safety
/// While any thread captures a [`Graph`](super::Graph) on this `Gpu`, other threads enqueue nothing
/// to the stream and no thread waits for it. (The second step of an engine by a pipeline is
/// captured.) Memory that work on the stream uses lives until the work has run. Only
/// [`Graph::capture`](super::Graph::capture) captures the stream. Work of `gpu` in [`on_stream`]
/// goes to another stream.
pub unsafe fn stream(gpu: &Gpu) -> Arc<CudaStream> {
    gpu.stream().clone()
}

/// Enqueues all work of `body` on this device, by any engine or plan on `gpu`, to `stream`, a
/// caller's stream (null: the legacy default stream). The work runs after all work enqueued to
/// `gpu` before it, and before all work enqueued later, on any stream. The streams wait for one
/// another on the device, by events. Reading results in `body` waits only for `stream`. Other
/// threads that use `gpu` wait meanwhile, as for a capture. `body` must not enqueue work of several
/// devices together ([`Peers`](super::Peers)): another thread that enqueues such work may wait for
/// this one, and this one for it.
///
/// While `stream` is being captured (`cuStreamBeginCapture`, PyTorch's `torch.cuda.graph`),
/// enqueued work becomes a part of the caller's graph. Calls that load kernels, allocate, copy from
/// or to the host or wait are then refused ([`CudaError::Capturing`]): a step of the engine has to
/// run before one is captured. The first capture after other work waits for that work on the host.
///
/// # Errors
/// [`CudaError::OtherContext`] for a stream of another context than the device's primary one;
/// [`CudaError::Capturing`] inside another `on_stream` or a capture by
/// [`Graph::capture`](super::Graph::capture), and when the driver refuses. Work is enqueued even if
/// the driver refuses to mark its end, which happens only after the device has failed.
///
/// # Safety
/// `stream` lives until the work has been enqueued. If a graph is captured with such work, the
/// caller ensures:
/// - The graph runs only while the engines and plans whose work it contains, and their memory, live
///   at the same addresses. (An engine frees its memory when it is dropped and in
///   [`Engine::set_charge`](crate::engine::Engine::set_charge).)
/// - The graph's runs and other work of this `gpu` are ordered: if a run is enqueued to a stream,
///   the next work of this `gpu` is requested by `on_stream` with that stream.
pub unsafe fn on_stream<R>(
    gpu: &Gpu,
    stream: sys::CUstream,
    body: impl FnOnce() -> R,
) -> Result<R, CudaError> {
    // SAFETY: the caller's promise.
    unsafe { gpu.on_stream(stream, body) }
}

/// Returns a read-only view of `length` values at `address`, device memory owned elsewhere.
///
/// # Errors
/// [`CudaError::BadAddress`] if the address is not aligned to its values, is not in memory of
/// `gpu`'s device, or the values are known to exceed that memory. The end is known for memory from
/// `cudaMalloc`; a caching allocator hands out parts of its memory.
///
/// # Safety
/// At `address` there are this many values, which have been written. They live, and nothing writes
/// them, until the work that the slice is given to has run. Work on the same stream may write them
/// before and after that work.
pub unsafe fn view<'a, E: DeviceValue>(
    gpu: &'a Gpu,
    address: u64,
    length: usize,
) -> Result<DeviceSlice<'a, E>, CudaError> {
    check_address::<E>(gpu, address, length)?;
    // SAFETY: the caller's promise.
    Ok(unsafe { DeviceSlice::from_raw(gpu, address, length) })
}

/// Returns a mutable view as [`view`] does.
///
/// # Errors
/// See [`view`].
///
/// # Safety
/// See [`view`], with two differences. The values need not have been written unless they are read,
/// and nothing else reads them either until the work has run.
pub unsafe fn view_mut<'a, E: DeviceValue>(
    gpu: &'a Gpu,
    address: u64,
    length: usize,
) -> Result<DeviceSliceMut<'a, E>, CudaError> {
    check_address::<E>(gpu, address, length)?;
    // SAFETY: the caller's promise.
    Ok(unsafe { DeviceSliceMut::from_raw(gpu, address, length) })
}

/// The driver's data about an address.
#[derive(Default)]
struct Known {
    memory_type: u32,
    ordinal: i32,
    start: u64,
    size: usize,
    /// Whether the memory comes from `cuMemAlloc`, and not from a pool or mapped in pieces.
    one_piece: u32,
}

impl Known {
    fn of(address: u64) -> Result<Self, CudaError> {
        let mut known = Known::default();
        let mut attributes = [
            Attribute::CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
            Attribute::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
            Attribute::CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
            Attribute::CU_POINTER_ATTRIBUTE_RANGE_SIZE,
            Attribute::CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE,
        ];
        let mut values: [*mut c_void; 5] = [
            (&raw mut known.memory_type).cast(),
            (&raw mut known.ordinal).cast(),
            (&raw mut known.start).cast(),
            (&raw mut known.size).cast(),
            (&raw mut known.one_piece).cast(),
        ];
        let (count, to) = (attributes.len() as u32, values.as_mut_ptr());
        // SAFETY: the call writes each attribute to a value of its type (the last, a byte, to a
        // larger one); for an address that the driver does not know, it leaves zeros.
        unsafe { sys::cuPointerGetAttributes(count, attributes.as_mut_ptr(), to, address) }
            .result()?;
        Ok(known)
    }

    fn is_on(&self, ordinal: usize) -> bool {
        let device = sys::CUmemorytype::CU_MEMORYTYPE_DEVICE as u32;
        self.memory_type == device && usize::try_from(self.ordinal) == Ok(ordinal)
    }
}

/// Refuses an address that cannot hold this many values. Zero values may be at any address.
fn check_address<E: DeviceValue>(gpu: &Gpu, address: u64, length: usize) -> Result<(), CudaError> {
    let size = size_of::<E>();
    let bad = |reason| Err(CudaError::BadAddress { address, length, size, reason });
    let bytes = length.checked_mul(size).and_then(|bytes| u64::try_from(bytes).ok());
    let Some(end) = bytes.and_then(|bytes| address.checked_add(bytes)) else {
        return bad("they would not end");
    };
    if length == 0 {
        return Ok(());
    }
    if !address.is_multiple_of(align_of::<E>() as u64) {
        return bad("an address that is not aligned to them");
    }
    gpu.bind()?;
    let (ordinal, first) = (gpu.info().ordinal, Known::of(address)?);
    if !first.is_on(ordinal) {
        return bad("no memory of this device");
    }
    let memory_end = first.start + first.size as u64;
    if end > memory_end && (first.one_piece != 0 || !Known::of(end - 1)?.is_on(ordinal)) {
        return bad("the memory there ends before them");
    }
    Ok(())
}

/// Returns the ordinal of the device that owns the memory at an address; `None` if no device does.
///
/// # Errors
/// If there is no device, or the driver does not report it.
#[cfg(feature = "python")]
pub(crate) fn device_of(address: u64) -> Result<Option<usize>, CudaError> {
    static OBSTACLE: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
    // The driver is initialised once the probe has run.
    if *OBSTACLE.get_or_init(|| super::probe().obstacle(0).is_some()) {
        return Err(super::probe().obstacle(0).unwrap_or(CudaError::NoDevice));
    }
    let known = Known::of(address)?;
    let on = usize::try_from(known.ordinal).ok().filter(|&ordinal| known.is_on(ordinal));
    Ok(on)
}

/// Makes `consumer` wait, on the device, for the work enqueued to `producer`; both are streams of
/// this device.
///
/// # Errors
/// When the driver refuses, as for a consumer that is being captured.
///
/// # Safety
/// Both streams live.
#[cfg(feature = "python")]
pub(crate) unsafe fn wait_for_stream(
    gpu: &Gpu,
    producer: sys::CUstream,
    consumer: sys::CUstream,
) -> Result<(), CudaError> {
    gpu.bind()?;
    let event = gpu.context().new_event(None)?;
    let plain = sys::CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT;
    // SAFETY: the context is current, and the caller promises the rest. An event may be destroyed
    // while a stream waits for it.
    unsafe {
        result::event::record(event.cu_event(), producer)?;
        result::stream::wait_event(consumer, event.cu_event(), plain)?;
    }
    Ok(())
}

/// Returns the address of device memory for reading, valid as long as the view lives.
pub fn address<'a, E: DeviceValue>(memory: impl Into<DeviceSlice<'a, E>>) -> u64 {
    *memory.into().address()
}

/// Returns the address of device memory for writing, valid as long as the view lives.
pub fn address_mut<'a, E: DeviceValue>(memory: impl Into<DeviceSliceMut<'a, E>>) -> u64 {
    *memory.into().address()
}

/// Takes ownership of `slice`, without a copy.
///
/// # Safety
/// `slice` was made on [`stream`]`(gpu)`. If it was made on another stream, all work on it has run.
/// From here on only [`stream`]`(gpu)` uses it.
pub unsafe fn from_slice<E: DeviceValue>(gpu: &Gpu, slice: CudaSlice<E>) -> DeviceVec<E> {
    let length = slice.len();
    // SAFETY: the caller's promise; `leak` releases the memory, which was allocated as this device
    // allocates, asynchronously or not.
    unsafe { DeviceVec::from_raw(gpu, slice.leak(), length) }
}

/// Transfers ownership of device memory to cudarc, without a copy.
///
/// # Safety
/// See [`stream`]: the slice is bound to it.
pub unsafe fn into_slice<E: DeviceValue>(memory: DeviceVec<E>) -> CudaSlice<E> {
    let (gpu, address, length) = memory.into_raw();
    // SAFETY: the memory holds `length` values and nothing else frees it.
    unsafe { gpu.stream().upgrade_device_ptr(address, length) }
}
