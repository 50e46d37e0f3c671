//! Pre- and post-processing of 2-D transforms through one 2-D real FFT:
//! `kernels/fft/quad.cuh`, and the transposed forms in
//! `kernels/transforms/transforms_2d.cu`.

use super::reorder::Sines;
use super::threshold::Threshold;
use super::twiddles::twiddles;
use crate::cuda::device::{
    BLOCK, CudaError, CudaReal, DeviceVec, Gpu, Input, Kernel, check_length, cover, fit, stacked,
};
use crate::transform::PostProcessing;
use cudarc::driver::{CudaModule, LaunchConfig};
use std::sync::Arc;

/// The kernels and their tables, for a batch of `[nx][ny]` maps.
pub(in crate::cuda) struct Quads<T: CudaReal> {
    gpu: Gpu,
    pub(in crate::cuda) nx: u32,
    pub(in crate::cuda) ny: u32,
    maps: usize,
    /// Complex numbers in all spectra.
    half_spectra: usize,
    /// e^{-jπu/2nx} and e^{-jπv/2ny}.
    pub(in crate::cuda) a: DeviceVec<T::Complex>,
    pub(in crate::cuda) b: DeviceVec<T::Complex>,
    /// Whether the spectra fit in the device's cache.
    cached: i32,
    pub(in crate::cuda) dct2_post: Kernel,
    pub(in crate::cuda) idct2_pre: Kernel,
    /// dct2_post with a threshold.
    dct2_post_threshold: Option<Kernel>,
    /// [`Input::TYPE`] of what an inverse reads.
    input: &'static str,
}

impl<T: CudaReal> Quads<T> {
    /// `module` is any that includes `quad.cuh`, for kernels that read `input`.
    pub(in crate::cuda) fn new(
        gpu: &Gpu,
        module: &Arc<CudaModule>,
        (nx, ny): (usize, usize),
        maps: usize,
        post: PostProcessing,
        input: &'static str,
    ) -> Result<Self, CudaError> {
        // One thread for four elements.
        let quarter = (ny / 2 + 1, nx / 2 + 1);
        let full = stacked(cover(128, quarter), maps);
        let (post, post_config) = match post {
            PostProcessing::Efficient => ("dct2_post", stacked(fit(128, quarter), maps)),
            PostProcessing::Naive => ("dct2_post_naive", stacked(cover(128, (ny, nx)), maps)),
        };
        let half_spectra = maps * nx * (ny / 2 + 1);
        let cached = half_spectra * size_of::<T::Complex>() <= gpu.info().l2_cache;
        Ok(Quads {
            gpu: gpu.clone(),
            nx: nx as u32,
            ny: ny as u32,
            maps,
            half_spectra,
            a: twiddles::<T>(gpu, nx)?,
            b: twiddles::<T>(gpu, ny)?,
            cached: i32::from(cached),
            dct2_post: Kernel::new(module, post, post_config)?,
            idct2_pre: Kernel::new(module, "idct2_pre", full)?,
            dct2_post_threshold: None,
            input,
        })
    }

    /// The same with a threshold; `module` is `transforms_2d`.
    pub(in crate::cuda) fn with_threshold(
        mut self,
        module: &Arc<CudaModule>,
    ) -> Result<Self, CudaError> {
        let config = self.idct2_pre.config;
        self.dct2_post_threshold = Some(Kernel::new(module, "dct2_post_threshold", config)?);
        Ok(self)
    }

    /// For spectra of the transposed maps, `[ny][nx/2 + 1]`; `module` is
    /// `transforms_2d`.
    pub(in crate::cuda) fn transposed(
        gpu: &Gpu,
        module: &Arc<CudaModule>,
        (nx, ny): (usize, usize),
        maps: usize,
        input: &'static str,
    ) -> Result<Self, CudaError> {
        // Quads of a tile: `TILE_U` and `TILE_V` in kernels/transforms/transforms_2d.cu.
        let along_u = (128 / size_of::<T::Complex>()) as u32;
        let across = |n: usize, side: u32| (n as u32 / 2 + 1).div_ceil(side);
        let tiles = LaunchConfig {
            grid_dim: (across(nx, along_u), across(ny, BLOCK / along_u), maps as u32),
            block_dim: (BLOCK, 1, 1),
            shared_mem_bytes: 0,
        };
        let kernel = |name: &str| Kernel::new(module, name, tiles);
        Ok(Quads {
            half_spectra: maps * ny * (nx / 2 + 1),
            dct2_post: kernel("dct2_post_transposed")?,
            idct2_pre: kernel("idct2_pre_transposed")?,
            dct2_post_threshold: Some(kernel("dct2_post_transposed_threshold")?),
            ..Quads::new(gpu, module, (nx, ny), maps, PostProcessing::default(), input)?
        })
    }

    /// Values in all maps.
    pub(in crate::cuda) fn elements(&self) -> usize {
        self.maps * self.nx as usize * self.ny as usize
    }

    /// Complex numbers in all spectra.
    pub(in crate::cuda) fn half_spectra(&self) -> usize {
        self.half_spectra
    }

    /// Enqueues the DCT's post-processing.
    pub(in crate::cuda) fn post(
        &self,
        spectra: &DeviceVec<T::Complex>,
        output: &mut DeviceVec<T>,
        threshold: Option<Threshold<T>>,
    ) -> Result<(), CudaError> {
        check_length("transformed map", output.len(), self.elements())?;
        assert!(spectra.len() >= self.half_spectra);
        let Quads { gpu, nx, ny, a, b, cached, .. } = self;
        // SAFETY: the types are those of dct2_post and its other forms in
        // kernels/fft/quad.cuh and kernels/transforms/transforms_2d.cu; the buffers hold the
        // spectra's and nx × ny elements a map (checked above), the tables at least
        // nx and ny.
        unsafe {
            match (threshold, &self.dct2_post_threshold) {
                (None, _) => self.dct2_post.launch(gpu, &[spectra, output, nx, ny, a, b, cached]),
                (Some(Threshold { epsilon: e, kept, parts }), Some(kernel)) => {
                    kernel.launch(gpu, &[spectra, output, nx, ny, a, b, cached, &e, kept, parts])
                }
                (Some(_), None) => panic!("made without a threshold"),
            }
        }
    }

    /// Enqueues the pre-processing of an inverse transform.
    pub(in crate::cuda) fn pre<I: Input<T>>(
        &self,
        input: &DeviceVec<I>,
        spectra: &mut DeviceVec<T::Complex>,
        sines: Sines,
    ) -> Result<(), CudaError> {
        check_length("map to transform", input.len(), self.elements())?;
        assert!(spectra.len() >= self.half_spectra && I::TYPE == self.input);
        let (sine_x, sine_y) = (i32::from(sines.x), i32::from(sines.y));
        let Quads { gpu, nx, ny, a, b, .. } = self;
        // SAFETY: the types are those of idct2_pre in kernels/fft/quad.cuh and of
        // idct2_pre_transposed in kernels/transforms/transforms_2d.cu, `input` of the type it
        // was chosen for; lengths as above.
        unsafe { self.idct2_pre.launch(gpu, &[input, spectra, nx, ny, a, b, &sine_x, &sine_y]) }
    }
}
