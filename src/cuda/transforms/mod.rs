//! Single transforms in device memory, as a library: DCT, IDCT and IDXST of lines, maps, volumes
//! and arrays of more dimensions (definitions: [`crate::transform`]). They are batched, in `f32`
//! and `f64`, of any lengths from 1 on.
//!
//! [`Plan`] is for lines ([`Plan::of_lines`]: DCT, IDCT, IDXST), maps ([`Plan::of_maps`]: DCT,
//! IDCT, IDCT_IDXST, IDXST_IDCT) and arrays of any number of axes ([`Plan::of_arrays`]: DCT, IDCT).
//! [`Path`] is its method: line kernels of the crate if they support all lengths, else cuFFT.
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
//! A plan owns its tables, its FFTs and every buffer between its kernels. Running a plan only
//! enqueues on the [`Gpu`](crate::cuda::Gpu)'s stream. It neither allocates nor waits, so a
//! [`Graph`](super::Graph) can capture it. Input and output belong to the same
//! [`Gpu`](crate::cuda::Gpu), are never the same memory, and contain one array after the other,
//! last axis contiguous. The input may hold integers ([`Input`]): the first kernel converts as it
//! reads.
//!
//! A plan that consists of one FFT has three [`Stage`]s. It can enqueue one stage at a time, for
//! timing. [`KernelUse`] gives the device resources that its own kernels use.

mod longer;
mod plan;

use crate::cuda::device::CudaError;
pub use crate::cuda::device::{Input, KernelUse};
pub use crate::cuda::fft::Stage;
pub(crate) use longer::Longer;
pub use plan::{Path, Plan};

/// Checks that cuFFT and a launch can handle the lengths and the batch.
fn check_shape(shape: &[usize], batch: usize) -> Result<(), CudaError> {
    let values = crate::transform::check_shape(shape, batch)?;
    // cuFFT counts lengths and batches in 31 bits. The longest FFT of a line has four times the
    // line's length, and row-column transforms have as many lines as the array.
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
