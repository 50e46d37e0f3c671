//! Single transforms in device memory, as a library: DCT, IDCT and IDXST of
//! lines, maps, volumes and arrays of more dimensions (definitions:
//! [`crate::transform`]), batched, in `f32` and `f64`, of any lengths from 1 on.
//!
//! [`Plan`] is for lines ([`Plan::of_lines`]: DCT, IDCT, IDXST), maps ([`Plan::of_maps`]: DCT,
//! IDCT, IDCT_IDXST, IDXST_IDCT) and arrays of any number of axes ([`Plan::of_arrays`]: DCT, IDCT).
//! [`Path`] says how it computes: by line kernels of our own where there are such for all lengths,
//! otherwise through cuFFT.
//!
//! ```no_run
//! use placefield::cuda::Gpu;
//! use placefield::cuda::transforms::Plan;
//! use placefield::transform::Transform;
//!
//! let gpu = Gpu::open(0)?;
//! let picture = gpu.upload(&vec![128u8; 480 * 640])?;
//! let mut spectrum = gpu.zeros::<f32>(480 * 640)?;
//! let mut dct = Plan::of_map(&gpu, Transform::Dct, 480, 640)?;
//! dct.run(&picture, &mut spectrum)?;
//! # Ok::<(), placefield::cuda::CudaError>(())
//! ```
//!
//! A plan owns its tables, its FFTs and every buffer between its kernels. Running one only enqueues
//! on the [`Gpu`](crate::cuda::Gpu)'s stream: nothing is allocated, nothing waits, so it can be
//! captured in a [`Graph`](super::Graph). Input and output come from the same
//! [`Gpu`](crate::cuda::Gpu), are never the same, and lie one array after the other, last axis
//! contiguous. The input may hold integers ([`Input`]): the first kernel converts as it reads.
//!
//! A plan has three [`Stage`]s where it is made of one FFT, and can enqueue one at a time, to be
//! timed; [`KernelUse`] says what its own kernels take of the device.

mod longer;
mod plan;

use crate::cuda::device::CudaError;
pub use crate::cuda::device::{Input, KernelUse};
pub use crate::cuda::fft::Stage;
pub(crate) use longer::Longer;
pub use plan::{Path, Plan};

/// Lengths and batches that cuFFT and a launch can take.
fn check_shape(shape: &[usize], batch: usize) -> Result<(), CudaError> {
    let values = crate::transform::check_shape(shape, batch)?;
    // cuFFT counts lengths and batches in 31 bits; the longest FFT of a line takes four
    // times the length, and row-column transforms as many lines as there are.
    let lines = values / shape.iter().min().unwrap_or(&1);
    if shape.iter().all(|&n| n <= 1 << 28) && lines < 1 << 31 {
        return Ok(());
    }
    Err(CudaError::NoTransform {
        shape: shape.to_vec(),
        batch,
        reason: "expected lengths of at most 2^28 and fewer than 2^31 lines",
    })
}
