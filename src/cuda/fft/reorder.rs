//! The reordering before a forward transform and after an inverse one:
//! `kernels/fft/reorder.cuh`.

use crate::cuda::device::{
    CudaError, CudaReal, DeviceSlice, DeviceSliceMut, DeviceVec, Gpu, Input, Kernel, check_aligned,
    check_length, cover_lines, stacked,
};
use crate::transform::{Reorder, Transform};
use cudarc::driver::CudaModule;
use std::marker::PhantomData;
use std::sync::Arc;

/// Which sine transforms a restored map comes from: the odd rows (x) or
/// columns (y) of those are negated.
#[derive(Clone, Copy, Default)]
pub(in crate::cuda) struct Sines {
    pub(in crate::cuda) x: bool,
    pub(in crate::cuda) y: bool,
}

impl Sines {
    /// Those of a 2-D transform.
    pub(in crate::cuda) fn of(transform: Transform) -> Sines {
        Sines { x: transform == Transform::IdxstIdct, y: transform == Transform::IdctIdxst }
    }
}

/// The maps of a reordering.
#[derive(Clone, Copy)]
pub(in crate::cuda) struct Maps {
    /// How many `[rows][cols]` maps lie one after the other.
    pub(in crate::cuda) count: usize,
    /// How many of them are a volume, reordered along its first axis too; 1 for
    /// maps on their own.
    pub(in crate::cuda) depth: usize,
    pub(in crate::cuda) rows: usize,
    pub(in crate::cuda) cols: usize,
}

impl Maps {
    /// One map.
    pub(in crate::cuda) fn one(rows: usize, cols: usize) -> Maps {
        Maps { count: 1, depth: 1, rows, cols }
    }

    fn elements(&self) -> usize {
        self.rows * self.cols
    }
}

/// Reorders `[rows][cols]` maps along one axis (cols) or along all.
pub(in crate::cuda) struct Reordering<T> {
    gpu: Gpu,
    reorder: Kernel,
    restore: Kernel,
    maps: Maps,
    rows: u32,
    cols: u32,
    depth: u32,
    all_axes: i32,
    /// [`Input::TYPE`] of what is reordered.
    input: &'static str,
    of: PhantomData<fn(T)>,
}

impl<T: CudaReal> Reordering<T> {
    /// `module` is any that includes `reorder.cuh`, for kernels that read `input`, the
    /// [`Input::TYPE`] of what is reordered.
    pub(in crate::cuda) fn new(
        gpu: &Gpu,
        module: &Arc<CudaModule>,
        how: Reorder,
        maps: Maps,
        all_axes: bool,
        input: &'static str,
    ) -> Result<Self, CudaError> {
        let Maps { count, depth, rows, cols } = maps;
        // Twice LANES in `kernels/device/common.cuh`: 32 bytes a thread.
        let chunk = 32 / size_of::<T>();
        let (name, width) = match how {
            Reorder::Wide if cols.is_multiple_of(chunk) => ("wide", cols / chunk),
            Reorder::Wide | Reorder::Scatter => ("scatter", cols),
            Reorder::Gather => ("gather", cols),
        };
        // Integers are read one at a time.
        let (from, from_width) = match name {
            "wide" if input != T::TYPE => ("scatter", cols),
            _ => (name, width),
        };
        Ok(Reordering {
            gpu: gpu.clone(),
            reorder: Kernel::new(
                module,
                format!("reorder_{from}"),
                stacked(cover_lines(32, (from_width, rows)), count),
            )?,
            restore: Kernel::new(
                module,
                format!("restore_{name}"),
                stacked(cover_lines(32, (width, rows)), count),
            )?,
            maps,
            rows: rows as u32,
            cols: cols as u32,
            depth: depth as u32,
            all_axes: i32::from(all_axes),
            input,
            of: PhantomData,
        })
    }

    /// The kernel before a forward transform.
    pub(in crate::cuda) fn reorder_kernel(&self) -> &Kernel {
        &self.reorder
    }

    /// The kernel after an inverse one.
    pub(in crate::cuda) fn restore_kernel(&self) -> &Kernel {
        &self.restore
    }

    /// What the kernels take a map to begin at a multiple of.
    fn boundary(&self) -> usize {
        if self.restore.name.ends_with("wide") { 16 } else { size_of::<T>() }
    }

    fn elements(&self) -> usize {
        self.maps.count * self.maps.elements()
    }

    /// Enqueues the reordering before a forward transform. `output` may be
    /// longer than the map.
    pub(in crate::cuda) fn reorder<'a, I: Input<T>>(
        &self,
        input: impl Into<DeviceSlice<'a, I>>,
        output: DeviceSliceMut<'_, T>,
    ) -> Result<(), CudaError> {
        let input = input.into();
        check_length("map to transform", input.len(), self.elements())?;
        assert!(output.len() >= self.elements() && I::TYPE == self.input);
        assert!(output.address().is_multiple_of(16), "the wide form needs 16-byte boundaries");
        check_aligned("map to transform", *input.address(), self.boundary())?;
        let Reordering { gpu, rows, cols, all_axes, depth, .. } = self;
        // SAFETY: the types are those of reorder_* in kernels/fft/reorder.cuh; both
        // buffers hold every map's
        // elements, the input of the type the kernel was chosen for (checked
        // above), and are distinct borrows, which begin where the kernel can read and
        // write as many bytes at once.
        unsafe { self.reorder.launch(gpu, &[&input, &output, rows, cols, all_axes, depth]) }
    }

    /// Enqueues the reordering after an inverse transform. One output takes all
    /// maps, with the signs that `sines[0]` asks for; of several, `outputs[k]`
    /// takes map k of `input` with those of `sines[k]`.
    pub(in crate::cuda) fn restore<'a, const MAPS: usize>(
        &self,
        input: &DeviceVec<T>,
        outputs: [impl Into<DeviceSliceMut<'a, T>>; MAPS],
        sines: [Sines; MAPS],
    ) -> Result<(), CudaError> {
        const { assert!(MAPS >= 1 && MAPS <= 3, "the kernel takes one to three maps") };
        let (maps, each) = match MAPS {
            1 => (self.maps.count, self.elements()),
            _ => (MAPS, self.maps.elements()),
        };
        assert!(input.len() >= maps * self.maps.elements());
        let mut targets = [0u64; 3];
        for (target, output) in targets.iter_mut().zip(outputs.map(Into::into)) {
            check_length("transformed map", output.len(), each)?;
            self.gpu.check_own(output.gpu())?;
            check_aligned("transformed map", *output.address(), self.boundary())?;
            *target = *output.address();
        }
        let mask = |of: fn(&Sines) -> bool| {
            sines.iter().enumerate().map(|(k, s)| u32::from(of(s)) << k).sum::<u32>()
        };
        let (alternate_x, alternate_y) = (mask(|s| s.x), mask(|s| s.y));
        let Reordering { gpu, rows, cols, all_axes, depth, .. } = self;
        let mut launch = self.restore.on(gpu);
        launch.arg(input).args(&targets.each_ref().map(|target| target as _));
        launch.args(&[rows, cols, all_axes, depth, &alternate_x, &alternate_y]);
        // SAFETY: the types are those of restore_* in kernels/fft/reorder.cuh
        // (addresses stand for pointers); `input` and the outputs hold the
        // maps launched for (checked above), all distinct borrows; every map begins
        // at a 16-byte boundary wherever the wide form is chosen, for its rows
        // then are multiples of 32 bytes. Without a second address, which is
        // zero then, the kernel takes the first for all maps.
        unsafe { launch.launch(stacked(self.restore.config, maps)) }
    }
}
