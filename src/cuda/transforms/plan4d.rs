//! 4-D transforms by two rounds of 2-D ones (Jiang et al., on higher
//! dimensions): along the last two axes, a transpose of axis pairs, along the
//! first two, and the transpose back.

use super::check_shape;
use super::plan2d::Plan2d;
use crate::cuda::device::Gpu;
use crate::cuda::error::CudaError;
use crate::cuda::input::Input;
use crate::cuda::launch::check_length;
use crate::cuda::lines::Transpose;
use crate::cuda::real::CudaReal;
use crate::transform::{Plan2dOptions, Transform, TransformNd};
use cudarc::driver::CudaSlice;

/// A plan for one four-dimensional array in precision `T`, read as `I`.
pub struct Plan4d<T: CudaReal, I: Input<T> = T> {
    /// Along the last two axes, of as many maps as the first two have places.
    last: Plan2d<T, I>,
    /// Along the first two.
    first: Plan2d<T>,
    /// From `[a·b][c·d]` to `[c·d][a·b]`, and back.
    there: Transpose<T>,
    back: Transpose<T>,
    between: [CudaSlice<T>; 2],
}

impl<T: CudaReal, I: Input<T>> Plan4d<T, I> {
    /// A plan for an array of `shape`, slowest axis first; `options` are those of
    /// both rounds.
    ///
    /// # Errors
    /// As [`Plan2d::batched`], whose batches are the products of the first two
    /// and of the last two lengths.
    pub fn new(
        gpu: &Gpu,
        kind: TransformNd,
        shape: [usize; 4],
        options: Plan2dOptions,
    ) -> Result<Self, CudaError> {
        check_shape(&shape, 1)?;
        let kind = match kind {
            TransformNd::Dct => Transform::Dct,
            TransformNd::Idct => Transform::Idct,
        };
        let [a, b, c, d] = shape;
        let (outer, inner) = (a * b, c * d);
        let module = gpu.kernels::<T>("transforms_1d")?;
        Ok(Plan4d {
            last: Plan2d::batched(gpu, kind, c, d, outer, options)?,
            first: Plan2d::batched(gpu, kind, a, b, inner, options)?,
            there: Transpose::new(gpu, &module, 1, (outer, inner))?,
            back: Transpose::new(gpu, &module, 1, (inner, outer))?,
            between: [gpu.zeros(outer * inner)?, gpu.zeros(outer * inner)?],
        })
    }

    /// Enqueues the transform.
    ///
    /// # Errors
    /// When a buffer has the wrong length or a launch fails.
    pub fn run(
        &mut self,
        input: &CudaSlice<I>,
        output: &mut CudaSlice<T>,
    ) -> Result<(), CudaError> {
        let [one, other] = &mut self.between;
        check_length("array to transform", input.len(), one.len())?;
        check_length("transformed array", output.len(), one.len())?;
        self.last.run(input, one)?;
        self.there.run(one, other, None)?;
        self.first.run(other, one)?;
        self.back.run(one, output, None)
    }
}
