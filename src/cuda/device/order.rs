//! The state of a device's streams, and what waits to be freed.

use cudarc::driver::sys;
use cudarc::driver::{CudaContext, CudaEvent, CudaGraph, DriverError};
use parking_lot::RwLock;
use std::ffi::c_void;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

/// The streams that work has gone to.
pub(super) struct StreamOrder {
    /// Held to be read while something is enqueued to the own stream or waited for, to be
    /// written during a capture and while work goes to another stream.
    pub(super) capture_lock: RwLock<()>,
    /// Dropped during a capture, to be freed after it.
    pub(super) to_free: Mutex<Vec<Resource>>,
    /// Whether work has gone to the own stream that no other stream has waited for.
    pub(super) own: AtomicBool,
    /// Whether work has gone to another stream that the own one has not waited for.
    pub(super) other: AtomicBool,
    /// Behind the work that went to the own stream, and to the other one, when last recorded.
    pub(super) after_own: CudaEvent,
    pub(super) after_other: CudaEvent,
}

impl StreamOrder {
    pub(super) fn new(context: &Arc<CudaContext>) -> Result<Self, DriverError> {
        Ok(StreamOrder {
            capture_lock: RwLock::default(),
            to_free: Mutex::default(),
            own: AtomicBool::new(true),
            other: AtomicBool::new(false),
            after_own: context.new_event(None)?,
            after_other: context.new_event(None)?,
        })
    }
}

/// Resources of the driver, to be returned to it.
pub(in crate::cuda) enum Resource {
    /// Memory of the device.
    Device(sys::CUdeviceptr),
    /// Page-locked memory of the host.
    Host(*mut c_void),
    /// A graph that may be under way.
    Graph(CudaGraph),
    /// The call that destroys a library's object.
    Other(Box<dyn FnOnce() + Send>),
}

// SAFETY: addresses that nothing uses any more, and a graph that is only destroyed; the driver
// takes both from any thread.
unsafe impl Send for Resource {}
