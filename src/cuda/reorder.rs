//! The reordering before a forward transform and after an inverse one:
//! `kernels/reorder.cuh`, typed.

use super::device::Gpu;
use super::error::CudaError;
use super::launch::{address, address_mut, check_length, cover};
use super::real::CudaReal;
use crate::transform::Reorder;
use cudarc::driver::sys::CUdeviceptr;
use cudarc::driver::{
    CudaFunction, CudaModule, CudaSlice, DevicePtrMut, LaunchConfig, PushKernelArg,
};
use std::marker::PhantomData;
use std::sync::Arc;

/// Which sine transforms a restored map comes from: the odd rows (x) or
/// columns (y) of those are negated.
#[derive(Clone, Copy, Default)]
pub(super) struct Sines {
    pub(super) x: bool,
    pub(super) y: bool,
}

/// Reorders `[rows][cols]` maps along one axis (cols) or along both.
pub(super) struct Reordering<T> {
    gpu: Gpu,
    reorder: CudaFunction,
    restore: CudaFunction,
    config: LaunchConfig,
    rows: u32,
    cols: u32,
    both_axes: i32,
    of: PhantomData<fn(T)>,
}

impl<T: CudaReal> Reordering<T> {
    /// `module` is any that includes `reorder.cuh`.
    pub(super) fn new(
        gpu: &Gpu,
        module: &Arc<CudaModule>,
        how: Reorder,
        (rows, cols): (usize, usize),
        both_axes: bool,
    ) -> Result<Self, CudaError> {
        // Twice LANES in `kernels/common.cuh`: 32 bytes a thread.
        let chunk = 32 / size_of::<T>();
        let (suffix, width) = match how {
            Reorder::Wide if cols.is_multiple_of(chunk) => ("wide", cols / chunk),
            Reorder::Wide | Reorder::Scatter => ("scatter", cols),
            Reorder::Gather => ("gather", cols),
        };
        Ok(Reordering {
            gpu: gpu.clone(),
            reorder: module.load_function(&format!("reorder_{suffix}"))?,
            restore: module.load_function(&format!("restore_{suffix}"))?,
            config: cover(32, (width, rows)),
            rows: rows as u32,
            cols: cols as u32,
            both_axes: i32::from(both_axes),
            of: PhantomData,
        })
    }

    fn elements(&self) -> usize {
        self.rows as usize * self.cols as usize
    }

    /// Enqueues the reordering before a forward transform. `output` may be
    /// longer than the map.
    pub(super) fn reorder(
        &self,
        input: &CudaSlice<T>,
        output: &mut impl DevicePtrMut<T>,
    ) -> Result<(), CudaError> {
        check_length("map to transform", input.len(), self.elements())?;
        assert!(output.len() >= self.elements());
        let target = address_mut(&self.gpu, output);
        assert!(target.is_multiple_of(16), "the wide form needs 16-byte boundaries");
        // SAFETY: the types are those of reorder_* in kernels/reorder.cuh (an
        // address stands for a pointer); both buffers hold rows × cols elements
        // (checked above) and are distinct borrows; the map, an allocation of
        // its own, and the output begin at 16-byte boundaries.
        unsafe {
            self.gpu
                .stream()
                .launch_builder(&self.reorder)
                .arg(input)
                .arg(&target)
                .arg(&self.rows)
                .arg(&self.cols)
                .arg(&self.both_axes)
                .launch(self.config)
        }?;
        Ok(())
    }

    /// Enqueues the reordering after an inverse transform: map k of `input`
    /// goes to `outputs[k]`, with the signs `sines[k]` asks for.
    pub(super) fn restore<const MAPS: usize>(
        &self,
        input: &CudaSlice<T>,
        outputs: [&mut CudaSlice<T>; MAPS],
        sines: [Sines; MAPS],
    ) -> Result<(), CudaError> {
        const { assert!(MAPS >= 1 && MAPS <= 3, "the kernel takes one to three maps") };
        assert!(input.len() >= MAPS * self.elements());
        let mut targets: [CUdeviceptr; 3] = [0; 3];
        for (target, output) in targets.iter_mut().zip(outputs) {
            check_length("transformed map", output.len(), self.elements())?;
            *target = address_mut(&self.gpu, output);
        }
        let mask = |of: fn(&Sines) -> bool| {
            sines.iter().enumerate().map(|(k, s)| u32::from(of(s)) << k).sum::<u32>()
        };
        let (alternate_x, alternate_y) = (mask(|s| s.x), mask(|s| s.y));
        let mut config = self.config;
        config.grid_dim.2 = MAPS as u32;
        let source = address(&self.gpu, input);
        // SAFETY: the types are those of restore_* in kernels/reorder.cuh
        // (addresses stand for pointers); `input` holds MAPS maps and each
        // output one (checked above), all distinct borrows; a map begins at a
        // 16-byte boundary wherever the wide form is chosen, for its rows then
        // are multiples of 32 bytes. Addresses of absent maps are not used.
        unsafe {
            self.gpu
                .stream()
                .launch_builder(&self.restore)
                .arg(&source)
                .arg(&targets[0])
                .arg(&targets[1])
                .arg(&targets[2])
                .arg(&self.rows)
                .arg(&self.cols)
                .arg(&self.both_axes)
                .arg(&alternate_x)
                .arg(&alternate_y)
                .launch(config)
        }?;
        Ok(())
    }
}
