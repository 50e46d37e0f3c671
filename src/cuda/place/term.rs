//! Terms of the objective besides wirelength and density, computed by kernels of the caller.

use crate::cuda::device::CudaError;
use cudarc::driver::sys::{CUdeviceptr, CUstream};

/// A [`Term`](crate::place::Term) in device memory.
pub trait DeviceTerm: Send {
    /// Enqueues work on the stream of `cells` that adds the term's gradient and value. The first
    /// proposal of a backend, and every evaluation, calls this for plain launches. Two more calls
    /// are captured into graphs, which later proposals replay: the work must be the same each time,
    /// allocate nothing, and wait for nothing. Other functions of this library must not be called.
    ///
    /// # Errors
    /// If the work cannot be enqueued.
    fn enqueue(&mut self, cells: &DeviceCells) -> Result<(), CudaError>;
}

/// Arrays that a [`DeviceTerm`] reads and writes, in memory of the backend's device. They keep
/// their addresses while the backend lives. `f32` or `f64` is the precision of the backend.
#[derive(Clone, Copy, Debug)]
pub struct DeviceCells {
    /// The stream of the work.
    pub stream: CUstream,
    /// Number of movable cells.
    pub cells: usize,
    /// Lower-left corners of the cells' bodies, x and y of each side by side, layout units from
    /// [`Charge::origin`](crate::charge::Charge::origin); to be read.
    pub corners: CUdeviceptr,
    /// ∂/∂x and ∂/∂y, one value per cell each, to which the gradient is added.
    pub gradient: [CUdeviceptr; 2],
    /// One `f64`, to which the term's value is added.
    pub value: CUdeviceptr,
}
