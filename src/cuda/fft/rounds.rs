//! Transforms of any number of axes: the last few at a time, with transposes between.
//!
//! A round transforms the last axes through one FFT, and a tiled transpose makes the preceding axes
//! the last ones. After all rounds the array has its original order. With one axis per round this
//! is the row-column transform: four passes over the array along each axis, which read or write 8
//! values for each value (Jiang et al., "Examples and Summary"). With one round of all axes there
//! is no transpose: this is the fused transform.

use super::cufft::share_work_area;
use super::fused::{FusedTransform, Sines, Stage, Threshold, TransformSpec};
use crate::cuda::device::bindings::fft::{self as kernels, TransposeThreshold};
use crate::cuda::device::constants::TRANSPOSE_TILE;
use crate::cuda::device::{
    BLOCK, CudaError, CudaReal, DeviceSlice, DeviceSliceMut, DeviceVec, Function, Gpu, Input,
    Kernel, MOST_BLOCKS, check_length,
};
use cudarc::driver::{CudaModule, LaunchConfig};
use std::sync::Arc;

/// Side of a transpose's tile.
const TILE: u32 = TRANSPOSE_TILE as u32;

/// Transposes of `[rows][cols]` maps.
pub(crate) struct Transpose<T: CudaReal> {
    gpu: Gpu,
    rows: u32,
    cols: u32,
    elements: usize,
    kernel: Kernel<kernels::Transpose<T>>,
    threshold: Kernel<TransposeThreshold<T>>,
}

impl<T: CudaReal> Transpose<T> {
    /// Returns transposes of `maps` maps, one after the other. `module` must include
    /// `transpose.cuh`.
    pub(crate) fn new(
        gpu: &Gpu,
        module: &Arc<CudaModule>,
        maps: usize,
        (rows, cols): (usize, usize),
    ) -> Result<Self, CudaError> {
        if maps > MOST_BLOCKS as usize {
            let reason =
                "more maps to transpose than one launch takes (65535 blocks along an axis)";
            return Err(CudaError::NoTransform { shape: vec![rows, cols], batch: maps, reason });
        }
        let down = (rows as u32).div_ceil(TILE).min(MOST_BLOCKS);
        let config = LaunchConfig {
            grid_dim: ((cols as u32).div_ceil(TILE), down, maps as u32),
            block_dim: (TILE, BLOCK / TILE, 1),
            shared_mem_bytes: 0,
        };
        Ok(Transpose {
            gpu: gpu.clone(),
            rows: rows as u32,
            cols: cols as u32,
            elements: maps * rows * cols,
            kernel: Kernel::new(module)?.with(config),
            threshold: Kernel::new(module)?.with(config),
        })
    }

    /// Enqueues the transposes.
    pub(crate) fn run(
        &self,
        input: &DeviceVec<T>,
        output: DeviceSliceMut<'_, T>,
        threshold: Option<Threshold<T>>,
    ) -> Result<(), CudaError> {
        check_length("transformed map", output.len(), self.elements)?;
        assert!(input.len() == self.elements);
        let (r#in, out, rows, cols) = (input.into(), (&output).into(), self.rows, self.cols);
        // SAFETY: lengths are checked above, and blocks have TILE × BLOCK / TILE threads.
        unsafe {
            match threshold {
                None => {
                    self.kernel.launch(&self.gpu, &kernels::Transpose { r#in, out, rows, cols })
                }
                Some(Threshold { epsilon, kept, parts }) => {
                    let (kept, parts) = ((&*kept).into(), (&*parts).into());
                    let arguments =
                        TransposeThreshold { r#in, out, rows, cols, epsilon, kept, parts };
                    self.threshold.launch(&self.gpu, &arguments)
                }
            }
        }
    }
}

/// A transform along all axes of arrays, and the buffers between its kernels.
pub(crate) struct Rounds<T: CudaReal> {
    /// In the order in which they run: the last axes first.
    pub(crate) rounds: Vec<FusedTransform<T>>,
    /// One after every round; empty if there is one round.
    transposes: Vec<Transpose<T>>,
    pub(crate) spectra: DeviceVec<T::Complex>,
    /// The output of an inverse FFT, and values between rounds.
    pub(crate) reordered: DeviceVec<T>,
    /// The input of the next transpose.
    turned: DeviceVec<T>,
}

impl<T: CudaReal> Rounds<T> {
    /// Plans rounds of `taken` axes each, the last axes first, with memory for `copies` of the
    /// spectra.
    pub(crate) fn new(
        gpu: &Gpu,
        spec: &TransformSpec<'_>,
        taken: &[usize],
        copies: usize,
    ) -> Result<Self, CudaError> {
        let &TransformSpec { shape, batch, .. } = spec;
        assert_eq!(taken.iter().sum::<usize>(), shape.len());
        let each: usize = shape.iter().product();
        let (mut rounds, mut transposes) = (Vec::new(), Vec::new());
        let mut end = shape.len();
        for axes in taken {
            let last = &shape[end - axes..end];
            end -= axes;
            let n: usize = last.iter().product();
            let rest = each / n;
            // Rounds after the first read the previous round's output.
            let input = if rounds.is_empty() { spec.input } else { T::TYPE };
            let spec = TransformSpec { shape: last, batch: batch * rest, input, ..*spec };
            let round = FusedTransform::new(gpu, &spec)?;
            if taken.len() > 1 {
                transposes.push(Transpose::new(gpu, &round.module, batch, (rest, n))?);
            }
            rounds.push(round);
        }
        let mut ffts: Vec<_> = rounds.iter_mut().flat_map(FusedTransform::ffts).collect();
        share_work_area(gpu, &mut ffts)?;
        let half = rounds.iter().map(|round| round.half_spectra).max().unwrap_or(1);
        let several = !transposes.is_empty();
        let kept =
            if several || spec.directions.contains(&false) { copies * batch * each } else { 0 };
        Ok(Rounds {
            rounds,
            transposes,
            spectra: gpu.zeros(copies * half)?,
            reordered: gpu.zeros(kept)?,
            turned: gpu.zeros(if several { batch * each } else { 0 })?,
        })
    }

    /// Returns the kernels between the FFTs in the order in which they run.
    pub(crate) fn kernels(&self, forward: bool) -> Vec<&Function> {
        let transposes = self.transposes.iter().map(|t| Some(&*t.kernel)).chain([None]);
        let rounds = self.rounds.iter().zip(transposes);
        rounds.flat_map(|(round, last)| round.kernels(forward).into_iter().chain(last)).collect()
    }

    /// Enqueues a DCT along every axis. A threshold is part of the last kernel. For a single round,
    /// the output holds the reordered array in between. One buffer fewer passes through the cache
    /// (an H200, 2048²: 5 % faster in f32).
    pub(crate) fn dct<I: Input<T>>(
        &mut self,
        input: DeviceSlice<'_, I>,
        mut output: DeviceSliceMut<'_, T>,
        mut threshold: Option<Threshold<T>>,
    ) -> Result<(), CudaError> {
        let Rounds { rounds, transposes, spectra, reordered, turned } = self;
        if transposes.is_empty() {
            return rounds[0].dct(input, spectra, output, threshold);
        }
        let last = rounds.len() - 1;
        for (k, (round, transpose)) in rounds.iter_mut().zip(transposes).enumerate() {
            match k {
                0 => round.dct(input, spectra, turned.as_view_mut(), None)?,
                _ => round.dct(reordered.as_view(), spectra, turned.as_view_mut(), None)?,
            }
            let to = if k == last { output.reborrow() } else { reordered.as_view_mut() };
            transpose.run(turned, to, if k == last { threshold.take() } else { None })?;
        }
        Ok(())
    }

    /// Enqueues an inverse transform. `sines` has one entry per round. An axis that is transformed
    /// alone counts as the columns, whichever axis of the array it is.
    pub(crate) fn inverse<I: Input<T>>(
        &mut self,
        input: DeviceSlice<'_, I>,
        output: DeviceSliceMut<'_, T>,
        sines: &[Sines],
    ) -> Result<(), CudaError> {
        self.rounds[0].pre(input, &mut self.spectra, sines[0])?;
        self.rest_of_inverse(output, sines)
    }

    /// Enqueues one stage of a transform of one round on the output of the previous stage. The
    /// first stage of a DCT leaves its output in `output`.
    pub(crate) fn stage<I: Input<T>>(
        &mut self,
        (stage, forward): (Stage, bool),
        input: DeviceSlice<'_, I>,
        output: DeviceSliceMut<'_, T>,
        sines: Sines,
    ) -> Result<(), CudaError> {
        let Rounds { rounds, spectra, reordered, .. } = self;
        let [round] = &mut rounds[..] else { unreachable!("several rounds have no stages") };
        match (stage, forward) {
            (Stage::Pre, true) => round.reorder(input, output),
            (Stage::Fft, true) => round.forward_fft(output.as_view(), spectra),
            (Stage::Post, true) => round.post(spectra, output, None),
            (Stage::Pre, false) => round.pre(input, spectra, sines),
            (Stage::Fft, false) => round.inverse_fft(spectra, reordered),
            (Stage::Post, false) => round.restore(reordered, [output], [sines]),
        }
    }

    /// Runs the rest of an inverse, from spectra ready for the first round's inverse FFTs.
    pub(crate) fn rest_of_inverse(
        &mut self,
        mut output: DeviceSliceMut<'_, T>,
        sines: &[Sines],
    ) -> Result<(), CudaError> {
        let Rounds { rounds, transposes, spectra, reordered, turned } = self;
        assert_eq!(sines.len(), rounds.len());
        let last = rounds.len() - 1;
        for (k, (round, &sines)) in rounds.iter_mut().zip(sines).enumerate() {
            if k > 0 {
                round.pre(reordered.as_view(), spectra, sines)?;
            }
            round.inverse_fft(spectra, reordered)?;
            let Some(transpose) = transposes.get(k) else {
                round.restore(reordered, [output.reborrow()], [sines])?;
                continue;
            };
            round.restore(reordered, [&mut *turned], [sines])?;
            let to = if k == last { output.reborrow() } else { reordered.as_view_mut() };
            transpose.run(turned, to, None)?;
        }
        Ok(())
    }
}
