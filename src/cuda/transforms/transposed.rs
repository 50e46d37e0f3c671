//! The reordering of the transposed variant of the fused 2-D transform: the
//! transpose rides on the kernels before and after an FFT of the transposed map, so
//! that the FFT's contiguous axis is x (Jiang et al., "Results on 2D DCTs").

use crate::cuda::device::Gpu;
use crate::cuda::error::CudaError;
use crate::cuda::input::Input;
use crate::cuda::launch::{Kernel, check_length, enqueue};
use crate::cuda::lines::tiles;
use crate::cuda::real::CudaReal;
use crate::cuda::reorder::Sines;
use cudarc::driver::{CudaModule, CudaSlice, PushKernelArg};
use std::marker::PhantomData;
use std::sync::Arc;

/// Between `[nx][ny]` maps and reordered ones of `[ny][nx]`.
pub(super) struct TransposedReordering<T: CudaReal> {
    gpu: Gpu,
    nx: u32,
    ny: u32,
    elements: usize,
    pub(super) reorder: Kernel,
    pub(super) restore: Kernel,
    input: &'static str,
    of: PhantomData<fn(T)>,
}

impl<T: CudaReal> TransposedReordering<T> {
    /// `module` is `transforms_2d`.
    pub(super) fn new(
        gpu: &Gpu,
        module: &Arc<CudaModule>,
        (nx, ny): (usize, usize),
        maps: usize,
        input: &'static str,
    ) -> Result<Self, CudaError> {
        let config = tiles(maps, nx, ny);
        Ok(TransposedReordering {
            gpu: gpu.clone(),
            nx: nx as u32,
            ny: ny as u32,
            elements: maps * nx * ny,
            reorder: Kernel::new(module, format!("reorder_transposed{input}"), config)?,
            restore: Kernel::new(module, "restore_transposed", config)?,
            input,
            of: PhantomData,
        })
    }

    /// Enqueues the reordering before a forward transform.
    pub(super) fn reorder<I: Input<T>>(
        &self,
        input: &CudaSlice<I>,
        output: &mut CudaSlice<T>,
    ) -> Result<(), CudaError> {
        check_length("map to transform", input.len(), self.elements)?;
        check_length("transformed map", output.len(), self.elements)?;
        assert_eq!(I::SUFFIX, self.input);
        // SAFETY: the types are those of reorder_transposed in
        // kernels/transforms_2d.cu, `input` of the type it was chosen for;
        // lengths are checked above.
        unsafe { enqueue!(self.gpu, self.reorder, input, output, &self.nx, &self.ny) }
    }

    /// Enqueues the reordering after an inverse transform.
    pub(super) fn restore(
        &self,
        input: &CudaSlice<T>,
        output: &mut CudaSlice<T>,
        sines: Sines,
    ) -> Result<(), CudaError> {
        check_length("transformed map", output.len(), self.elements)?;
        assert!(input.len() >= self.elements);
        let (odd_x, odd_y) = (i32::from(sines.x), i32::from(sines.y));
        // SAFETY: the types are those of restore_transposed in
        // kernels/transforms_2d.cu; lengths are checked above.
        unsafe {
            enqueue!(self.gpu, self.restore, input, output, &self.nx, &self.ny, &odd_x, &odd_y)
        }
    }
}
