//! The transforms of [`crate::paper`] on a CUDA device.

use super::{Algorithm1d, PostProcessing, Reorder};
use crate::cuda::transforms::{Longer, Plan};
use crate::cuda::{CudaError, CudaReal, DeviceVec, Gpu};
use crate::transform::{Method, Transform1d};

/// The DCT of one line on a device by one of four algorithms, all of them through cuFFT.
pub struct Dct1d<T: CudaReal>(Line<T>);

enum Line<T: CudaReal> {
    NPoint(Box<Plan<T>>),
    Longer(Box<Longer<T>>),
}

impl<T: CudaReal> Dct1d<T> {
    /// Plans the DCT of a line of `n` values.
    ///
    /// # Errors
    /// See [`Plan::of_maps`].
    pub fn new(gpu: &Gpu, n: usize, algorithm: Algorithm1d) -> Result<Self, CudaError> {
        Ok(Dct1d(match algorithm {
            Algorithm1d::NPoint => {
                let plan = Plan::of_lines(gpu, Transform1d::Dct, n, Method::Fused, 1)?;
                Line::NPoint(Box::new(plan))
            }
            longer => Line::Longer(Box::new(Longer::new(gpu, n, longer)?)),
        }))
    }

    /// Enqueues `output = DCT(input)`, both `n` values.
    ///
    /// # Errors
    /// When a buffer has the wrong length or a launch fails.
    pub fn run(
        &mut self,
        input: &DeviceVec<T>,
        output: &mut DeviceVec<T>,
    ) -> Result<(), CudaError> {
        match &mut self.0 {
            Line::NPoint(plan) => plan.run(input, output),
            Line::Longer(line) => line.run(input, output),
        }
    }
}

/// Returns a plan for the DCT of one `nx × ny` map on a device by the fused method, its stages
/// chosen.
///
/// # Errors
/// See [`Plan::of_maps`].
pub fn dct_2d<T: CudaReal>(
    gpu: &Gpu,
    shape: [usize; 2],
    reorder: Reorder,
    post: PostProcessing,
) -> Result<Plan<T>, CudaError> {
    Plan::fused_dct(gpu, shape, reorder, post)
}
