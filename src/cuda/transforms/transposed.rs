//! The reordering of the transposed variant of the fused 2-D transform: the
//! transpose is part of the kernels before and after an FFT of the transposed map, so
//! that the FFT's contiguous axis is x (Jiang et al., "Results on 2D DCTs").

use crate::cuda::device::{CudaError, CudaReal, DeviceVec, Gpu, Input, Kernel, check_length};
use crate::cuda::fft::{Sines, tiles};
use cudarc::driver::CudaModule;
use std::marker::PhantomData;
use std::sync::Arc;

/// Between `[nx][ny]` maps and reordered ones of `[ny][nx]`.
pub(in crate::cuda) struct TransposedReordering<T: CudaReal> {
    gpu: Gpu,
    nx: u32,
    ny: u32,
    elements: usize,
    pub(in crate::cuda) reorder: Kernel,
    pub(in crate::cuda) restore: Kernel,
    input: &'static str,
    of: PhantomData<fn(T)>,
}

impl<T: CudaReal> TransposedReordering<T> {
    /// `module` is `transforms_2d`.
    pub(in crate::cuda) fn new(
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
            reorder: Kernel::new(module, "reorder_transposed", config)?,
            restore: Kernel::new(module, "restore_transposed", config)?,
            input,
            of: PhantomData,
        })
    }

    /// Enqueues the reordering before a forward transform.
    pub(in crate::cuda) fn reorder<I: Input<T>>(
        &self,
        input: &DeviceVec<I>,
        output: &mut DeviceVec<T>,
    ) -> Result<(), CudaError> {
        check_length("map to transform", input.len(), self.elements)?;
        check_length("transformed map", output.len(), self.elements)?;
        assert_eq!(I::TYPE, self.input);
        let TransposedReordering { gpu, nx, ny, .. } = self;
        // SAFETY: the types are those of reorder_transposed in
        // kernels/transforms/transforms_2d.cu, `input` of the type it was chosen for;
        // lengths are checked above.
        unsafe { self.reorder.launch(gpu, &[input, output, nx, ny]) }
    }

    /// Enqueues the reordering after an inverse transform.
    pub(in crate::cuda) fn restore(
        &self,
        input: &DeviceVec<T>,
        output: &mut DeviceVec<T>,
        sines: Sines,
    ) -> Result<(), CudaError> {
        check_length("transformed map", output.len(), self.elements)?;
        assert!(input.len() >= self.elements);
        let TransposedReordering { gpu, nx, ny, .. } = self;
        let (odd_x, odd_y) = (i32::from(sines.x), i32::from(sines.y));
        // SAFETY: the types are those of restore_transposed in
        // kernels/transforms/transforms_2d.cu; lengths are checked above.
        unsafe { self.restore.launch(gpu, &[input, output, nx, ny, &odd_x, &odd_y]) }
    }
}
