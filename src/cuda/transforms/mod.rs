//! Single transforms in device memory, as a library: DCT, IDCT and IDXST of
//! lines, maps, volumes and arrays of more dimensions (definitions:
//! [`crate::transform`]), batched, in `f32` and `f64`, of any lengths from 1 on.
//!
//! | plan | transforms | how |
//! |---|---|---|
//! | [`Plan1d`] | DCT, IDCT, IDXST | by a real FFT of 4N, 2N (mirrored or padded) or N values |
//! | [`Plan2d`] | DCT, IDCT, IDCT_IDXST, IDXST_IDCT | row-column, or fused: one 2-D real FFT |
//! | [`Plan3d`] | DCT, IDCT | row-column, or fused: one 3-D real FFT |
//! | [`PlanNd`] | DCT, IDCT | rounds of 2-D and 3-D transforms |
//!
//! ```no_run
//! use placefield::cuda::Gpu;
//! use placefield::cuda::transforms::Plan2d;
//! use placefield::transform::Transform;
//!
//! let gpu = Gpu::open(0)?;
//! let picture = gpu.upload(&vec![128u8; 480 * 640])?;
//! let mut spectrum = gpu.zeros::<f32>(480 * 640)?;
//! let mut dct = Plan2d::new(&gpu, Transform::Dct, 480, 640)?;
//! dct.run(&picture, &mut spectrum)?;
//! # Ok::<(), placefield::cuda::CudaError>(())
//! ```
//!
//! A plan owns its tables, its FFTs and every buffer between its kernels.
//! Running one only enqueues on the [`Gpu`](crate::cuda::Gpu)'s stream: nothing is allocated,
//! nothing waits, so it can be captured in a [`Graph`](super::Graph). Input and
//! output come from the same [`Gpu`](crate::cuda::Gpu), are never the same, and lie one array
//! after the other, last axis contiguous. The input may hold integers
//! ([`Input`]): the first kernel converts as it reads.
//!
//! Every plan has three [`Stage`]s where it is made of one FFT, and can enqueue
//! one at a time, to be timed; [`KernelUse`] says what its own kernels take of
//! the device.

use crate::cuda::device::{CudaError, MOST_BLOCKS};
mod plan1d;
mod plan2d;
mod plan3d;
mod plan_nd;
mod transposed;

pub use crate::cuda::device::{Input, KernelUse};
pub use plan_nd::PlanNd;
pub use plan1d::Plan1d;
pub use plan2d::{Path2d, Plan2d};
pub use plan3d::Plan3d;

/// The stages of a transform through one FFT.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stage {
    /// Reordering of a forward transform; twiddling of an inverse one.
    Pre,
    /// The real FFT, by cuFFT. An inverse one destroys what it reads: run it
    /// after [`Stage::Pre`] where values matter.
    Fft,
    /// Twiddling of a forward transform; reordering of an inverse one.
    Post,
}

impl Stage {
    /// All three, in order.
    pub const ALL: [Stage; 3] = [Stage::Pre, Stage::Fft, Stage::Post];

    /// `pre`, `fft` or `post`.
    pub fn name(self) -> &'static str {
        match self {
            Stage::Pre => "pre",
            Stage::Fft => "fft",
            Stage::Post => "post",
        }
    }
}

/// Lengths and batches that cuFFT and a launch can take.
fn check_shape(shape: &[usize], batch: usize) -> Result<(), CudaError> {
    let values = crate::transform::check_shape(shape, batch)?;
    // cuFFT counts lengths and batches in 31 bits; some algorithms take four
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

/// `maps` launches in one, each of `rows` rows of blocks.
fn check_grid(shape: &[usize], batch: usize, maps: usize, rows: usize) -> Result<(), CudaError> {
    if maps > MOST_BLOCKS as usize || rows > MOST_BLOCKS as usize {
        return Err(CudaError::NoTransform {
            shape: shape.to_vec(),
            batch,
            reason: "more maps or rows than one launch takes (65535 blocks along an axis)",
        });
    }
    Ok(())
}
