//! Batched N-point transforms of lines, and of the axes of an array one after
//! the other: `kernels/fft/lines.cuh`, around batched 1-D cuFFT.
//!
//! A pass is one read and one write of the array. Along an axis there are four:
//! reordering (or pre-processing), FFT, post-processing (or reordering) and a
//! tiled transpose that makes the next axis the contiguous one (Jiang et al.,
//! "Examples and Summary"). After as many turns as there are axes the array lies
//! as it did.

use super::cufft::{ForwardFft, InverseFft, Planned, share_work_area};
use super::reorder::{Maps, Reordering, Sines};
use super::threshold::Threshold;
use super::twiddles::twiddles;
use crate::cuda::device::{
    BLOCK, CudaError, CudaReal, DeviceVec, Gpu, Input, Kernel, MOST_BLOCKS, check_length,
    cover_lines,
};
use crate::transform::Reorder;
use cudarc::driver::{CudaModule, LaunchConfig};
use std::marker::PhantomData;
use std::sync::Arc;

/// 1-D transforms of all rows of a `[rows][n]` array.
pub(in crate::cuda) struct CufftLines<T: CudaReal> {
    gpu: Gpu,
    pub(in crate::cuda) rows: u32,
    pub(in crate::cuda) n: u32,
    /// e^{-jπk/2n}.
    pub(in crate::cuda) twiddles: DeviceVec<T::Complex>,
    pub(in crate::cuda) reordering: Reordering<T>,
    pub(in crate::cuda) forward_fft: ForwardFft<T>,
    pub(in crate::cuda) inverse_fft: InverseFft<T>,
    pub(in crate::cuda) dct_post: Kernel,
    pub(in crate::cuda) idct_pre: Kernel,
    /// [`Input::TYPE`] of what is transformed.
    input: &'static str,
}

impl<T: CudaReal> CufftLines<T> {
    /// `module` is any that includes `lines.cuh`, for kernels that read `input`. The FFTs have no
    /// work area yet.
    pub(in crate::cuda) fn new(
        gpu: &Gpu,
        module: &Arc<CudaModule>,
        (rows, n): (usize, usize),
        how: Reorder,
        input: &'static str,
    ) -> Result<Self, CudaError> {
        let maps = Maps::one(rows, n);
        let half = cover_lines(128, (n / 2 + 1, rows));
        Ok(CufftLines {
            gpu: gpu.clone(),
            rows: rows as u32,
            n: n as u32,
            twiddles: twiddles::<T>(gpu, n)?,
            reordering: Reordering::new(gpu, module, how, maps, false, input)?,
            forward_fft: ForwardFft::new(gpu, &[n], rows)?,
            inverse_fft: InverseFft::new(gpu, &[n], rows)?,
            dct_post: Kernel::new(module, "dct_post", half)?,
            idct_pre: Kernel::new(module, "idct_pre", half)?,
            input,
        })
    }

    /// Both FFTs, for [`share_work_area`].
    pub(in crate::cuda) fn ffts(&mut self) -> [&mut dyn Planned; 2] {
        [&mut self.forward_fft, &mut self.inverse_fft]
    }

    pub(in crate::cuda) fn elements(&self) -> usize {
        self.rows as usize * self.n as usize
    }

    /// Complex numbers in the spectra.
    pub(in crate::cuda) fn half_spectra(&self) -> usize {
        self.rows as usize * (self.n as usize / 2 + 1)
    }

    /// Enqueues the DCT's post-processing of every row.
    pub(in crate::cuda) fn post(
        &self,
        half: &DeviceVec<T::Complex>,
        output: &mut DeviceVec<T>,
    ) -> Result<(), CudaError> {
        check_length("transformed lines", output.len(), self.elements())?;
        assert!(half.len() >= self.half_spectra());
        let CufftLines { gpu, rows, n, twiddles, .. } = self;
        // SAFETY: the types are those of dct_post in kernels/fft/lines.cuh; lengths
        // are checked above, the table holds n + 1 elements.
        unsafe { self.dct_post.launch(gpu, &[half, output, rows, n, twiddles]) }
    }

    /// Enqueues the inverse's pre-processing of every row.
    pub(in crate::cuda) fn pre<I: Input<T>>(
        &self,
        input: &DeviceVec<I>,
        half: &mut DeviceVec<T::Complex>,
        sine: bool,
    ) -> Result<(), CudaError> {
        check_length("map to transform", input.len(), self.elements())?;
        assert!(half.len() >= self.half_spectra() && I::TYPE == self.input);
        let CufftLines { gpu, rows, n, twiddles, .. } = self;
        let sine = i32::from(sine);
        // SAFETY: the types are those of idct_pre in kernels/fft/lines.cuh, `input`
        // of the type it was chosen for; lengths are checked above, the table
        // holds n + 1 elements.
        unsafe { self.idct_pre.launch(gpu, &[input, half, rows, n, twiddles, &sine]) }
    }
}

/// Side of a transpose's tile: `TRANSPOSE_TILE` in `kernels/fft/transpose.cuh`.
pub(in crate::cuda) const TILE: u32 = 32;

/// A tile of 32 × 32 elements for every block, covering `[rows][cols]` maps.
pub(in crate::cuda) fn tiles(maps: usize, rows: usize, cols: usize) -> LaunchConfig {
    LaunchConfig {
        grid_dim: ((cols as u32).div_ceil(TILE), (rows as u32).div_ceil(TILE), maps as u32),
        block_dim: (TILE, BLOCK / TILE, 1),
        shared_mem_bytes: 0,
    }
}

/// Transposes of `[rows][cols]` maps.
pub(in crate::cuda) struct Transpose<T> {
    gpu: Gpu,
    rows: u32,
    cols: u32,
    elements: usize,
    kernel: Kernel,
    threshold: Kernel,
    of: PhantomData<fn(T)>,
}

impl<T: CudaReal> Transpose<T> {
    /// Of `maps` maps, one after the other; `module` is any that includes `lines.cuh`.
    pub(in crate::cuda) fn new(
        gpu: &Gpu,
        module: &Arc<CudaModule>,
        maps: usize,
        (rows, cols): (usize, usize),
    ) -> Result<Self, CudaError> {
        let mut config = tiles(maps, rows, cols);
        config.grid_dim.1 = config.grid_dim.1.min(MOST_BLOCKS);
        Ok(Transpose {
            gpu: gpu.clone(),
            rows: rows as u32,
            cols: cols as u32,
            elements: maps * rows * cols,
            kernel: Kernel::new(module, "transpose", config)?,
            threshold: Kernel::new(module, "transpose_threshold", config)?,
            of: PhantomData,
        })
    }

    /// Enqueues it.
    pub(in crate::cuda) fn run(
        &self,
        input: &DeviceVec<T>,
        output: &mut DeviceVec<T>,
        threshold: Option<Threshold<T>>,
    ) -> Result<(), CudaError> {
        check_length("transformed map", output.len(), self.elements)?;
        assert!(input.len() == self.elements);
        let Transpose { gpu, rows, cols, .. } = self;
        // SAFETY: the types are those of transpose and transpose_threshold in
        // kernels/fft/lines.cuh, lengths are checked above, and blocks are
        // TILE × BLOCK / TILE threads.
        unsafe {
            match threshold {
                None => self.kernel.launch(gpu, &[input, output, rows, cols]),
                Some(Threshold { epsilon, kept, parts }) => {
                    self.threshold.launch(gpu, &[input, output, rows, cols, &epsilon, kept, parts])
                }
            }
        }
    }
}

/// One axis of an array: its lines, then the turn to the next.
pub(in crate::cuda) struct AxisPass<T: CudaReal> {
    pub(in crate::cuda) lines: CufftLines<T>,
    transpose: Transpose<T>,
}

/// The passes of a transform along all axes of an array, and the buffers
/// between them.
pub(in crate::cuda) struct Passes<T: CudaReal> {
    /// In the order in which they come: the contiguous one first.
    pub(in crate::cuda) axes: Vec<AxisPass<T>>,
    pub(in crate::cuda) half: DeviceVec<T::Complex>,
    first: DeviceVec<T>,
    second: DeviceVec<T>,
}

impl<T: CudaReal> Passes<T> {
    /// For `batch` arrays of this shape, slowest axis first, whose values are of type `input`.
    /// `unit` is any kernel file that includes `lines.cuh`.
    pub(in crate::cuda) fn new(
        gpu: &Gpu,
        unit: &str,
        shape: &[usize],
        batch: usize,
        how: Reorder,
        input: &'static str,
    ) -> Result<Self, CudaError> {
        let each: usize = shape.iter().product();
        let axis = |(k, &n): (usize, &usize)| {
            let rest = each / n;
            // The passes after the first read what it wrote.
            let input = if k == 0 { input } else { T::TYPE };
            let module = gpu.kernels_reading::<T>(input, unit)?;
            Ok(AxisPass {
                lines: CufftLines::new(gpu, &module, (batch * rest, n), how, input)?,
                transpose: Transpose::new(gpu, &module, batch, (rest, n))?,
            })
        };
        let mut axes =
            shape.iter().rev().enumerate().map(axis).collect::<Result<Vec<_>, CudaError>>()?;
        let half = axes.iter().map(|axis| axis.lines.half_spectra()).max().unwrap_or(1);
        let mut ffts: Vec<_> = axes.iter_mut().flat_map(|axis| axis.lines.ffts()).collect();
        share_work_area(gpu, &mut ffts)?;
        Ok(Passes {
            axes,
            half: gpu.zeros(half)?,
            first: gpu.zeros(batch * each)?,
            second: gpu.zeros(batch * each)?,
        })
    }

    /// The kernels between the FFTs in the order in which they run.
    pub(in crate::cuda) fn kernels(&self, forward: bool) -> Vec<&Kernel> {
        let mut kernels = Vec::new();
        for AxisPass { lines, transpose } in &self.axes {
            let CufftLines { reordering, dct_post, idct_pre, .. } = lines;
            kernels.extend(match forward {
                true => [reordering.reorder_kernel(), dct_post, &transpose.kernel],
                false => [idct_pre, reordering.restore_kernel(), &transpose.kernel],
            });
        }
        kernels
    }

    /// Enqueues a DCT along every axis. A threshold is part of the last transpose.
    pub(in crate::cuda) fn dct<I: Input<T>>(
        &mut self,
        input: &DeviceVec<I>,
        output: &mut DeviceVec<T>,
        mut threshold: Option<Threshold<T>>,
    ) -> Result<(), CudaError> {
        let Passes { axes, half, first, second } = self;
        let last = axes.len() - 1;
        for (k, AxisPass { lines, transpose }) in axes.iter_mut().enumerate() {
            match k {
                0 => lines.reordering.reorder(input, second.as_view_mut())?,
                _ => lines.reordering.reorder(&*first, second.as_view_mut())?,
            }
            lines.forward_fft.run(&*second, &mut *half)?;
            lines.post(half, second)?;
            if k == last {
                transpose.run(second, output, threshold.take())?;
            } else {
                transpose.run(second, first, None)?;
            }
        }
        Ok(())
    }

    /// Enqueues the pre-processing along the contiguous axis, with which an
    /// inverse begins.
    pub(in crate::cuda) fn pre<I: Input<T>>(
        &mut self,
        input: &DeviceVec<I>,
        sine: bool,
    ) -> Result<(), CudaError> {
        self.axes[0].lines.pre(input, &mut self.half, sine)
    }

    /// Enqueues the rest of an inverse transform; `sines` says of each axis,
    /// slowest first, whether it is a sine transform.
    pub(in crate::cuda) fn inverse(
        &mut self,
        sines: &[bool],
        output: &mut DeviceVec<T>,
    ) -> Result<(), CudaError> {
        let Passes { axes, half, first, second } = self;
        assert_eq!(sines.len(), axes.len());
        let last = axes.len() - 1;
        for (k, AxisPass { lines, transpose }) in axes.iter_mut().enumerate() {
            let sine = sines[last - k];
            if k > 0 {
                lines.pre(first, half, sine)?;
            }
            lines.inverse_fft.run(&mut *half, &mut *first)?;
            // A line's own axis is the columns here, whichever axis of the map it is.
            lines.reordering.restore(first, [&mut *second], [Sines { x: false, y: sine }])?;
            transpose.run(second, if k == last { &mut *output } else { &mut *first }, None)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cuda::device::kernel_constant;

    #[test]
    fn a_tile_is_as_wide_as_in_the_kernels() {
        let side = kernel_constant("fft/transpose.cuh", "TRANSPOSE_TILE");
        assert_eq!(side, TILE.to_string());
    }
}
