//! Pre- and post-processing of 2-D transforms through one 2-D real FFT:
//! `kernels/quad.cuh`, typed.

use super::device::Gpu;
use super::error::CudaError;
use super::input::Input;
use super::launch::{Kernel, check_length, cover, fit, stacked};
use super::real::CudaReal;
use super::reorder::Sines;
use super::solver::twiddles;
use crate::transform::PostProcessing;
use cudarc::driver::{CudaFunction, CudaModule, CudaSlice, PushKernelArg};
use std::sync::Arc;

/// The kernels and their tables, for a batch of `[nx][ny]` maps.
pub(super) struct Quads<T: CudaReal> {
    gpu: Gpu,
    pub(super) nx: u32,
    pub(super) ny: u32,
    maps: usize,
    /// e^{-jπu/2nx} and e^{-jπv/2ny}.
    pub(super) a: CudaSlice<T::Complex>,
    pub(super) b: CudaSlice<T::Complex>,
    /// Whether the spectra fit in the device's cache.
    cached: i32,
    pub(super) dct2_post: Kernel,
    pub(super) idct2_pre: Kernel,
    /// [`Input::SUFFIX`] of what an inverse reads.
    input: &'static str,
}

impl<T: CudaReal> Quads<T> {
    /// `module` is any that includes `quad.cuh` and instantiates it for `input`.
    pub(super) fn new(
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
        let spectra = maps * nx * (ny / 2 + 1) * size_of::<T::Complex>();
        Ok(Quads {
            gpu: gpu.clone(),
            nx: nx as u32,
            ny: ny as u32,
            maps,
            a: twiddles::<T>(gpu, nx)?,
            b: twiddles::<T>(gpu, ny)?,
            cached: i32::from(spectra <= gpu.info().l2_cache),
            dct2_post: Kernel::new(module, post, post_config)?,
            idct2_pre: Kernel::new(module, format!("idct2_pre{input}"), full)?,
            input,
        })
    }

    /// Values in all maps.
    pub(super) fn elements(&self) -> usize {
        self.maps * self.nx as usize * self.ny as usize
    }

    /// Complex numbers in all spectra.
    pub(super) fn half_spectra(&self) -> usize {
        self.maps * self.nx as usize * (self.ny as usize / 2 + 1)
    }

    /// Enqueues the DCT's post-processing.
    pub(super) fn post(
        &self,
        spectra: &CudaSlice<T::Complex>,
        output: &mut CudaSlice<T>,
    ) -> Result<(), CudaError> {
        check_length("transformed map", output.len(), self.elements())?;
        assert!(spectra.len() >= self.half_spectra());
        // SAFETY: the types are those of dct2_post and dct2_post_naive in
        // kernels/quad.cuh; the buffers hold nx × (ny/2 + 1) and nx × ny
        // elements a map (checked above), the tables at least nx and ny.
        unsafe {
            self.gpu
                .stream()
                .launch_builder(&self.dct2_post.function)
                .arg(spectra)
                .arg(output)
                .arg(&self.nx)
                .arg(&self.ny)
                .arg(&self.a)
                .arg(&self.b)
                .arg(&self.cached)
                .launch(self.dct2_post.config)
        }?;
        Ok(())
    }

    /// As [`Quads::post`] by `kernel`, the dct2_post_threshold of a module that
    /// has one: coefficients smaller than `epsilon` become zero, the number of
    /// the others is added to `kept`.
    pub(super) fn post_threshold(
        &self,
        kernel: &CudaFunction,
        spectra: &CudaSlice<T::Complex>,
        output: &mut CudaSlice<T>,
        epsilon: T,
        kept: &mut CudaSlice<u64>,
    ) -> Result<(), CudaError> {
        check_length("transformed map", output.len(), self.elements())?;
        check_length("count of kept coefficients", kept.len(), 1)?;
        assert!(spectra.len() >= self.half_spectra());
        // SAFETY: the types are those of dct2_post_threshold in
        // kernels/transforms_2d.cu; lengths are as for `post`.
        unsafe {
            self.gpu
                .stream()
                .launch_builder(kernel)
                .arg(spectra)
                .arg(output)
                .arg(&self.nx)
                .arg(&self.ny)
                .arg(&self.a)
                .arg(&self.b)
                .arg(&self.cached)
                .arg(&epsilon)
                .arg(kept)
                .launch(self.idct2_pre.config)
        }?;
        Ok(())
    }

    /// Enqueues the pre-processing of an inverse transform.
    pub(super) fn pre<I: Input<T>>(
        &self,
        input: &CudaSlice<I>,
        spectra: &mut CudaSlice<T::Complex>,
        sines: Sines,
    ) -> Result<(), CudaError> {
        check_length("map to transform", input.len(), self.elements())?;
        assert!(spectra.len() >= self.half_spectra() && I::SUFFIX == self.input);
        let (sine_x, sine_y) = (i32::from(sines.x), i32::from(sines.y));
        // SAFETY: the types are those of idct2_pre in kernels/quad.cuh, `input`
        // of the type it was chosen for; lengths as above.
        unsafe {
            self.gpu
                .stream()
                .launch_builder(&self.idct2_pre.function)
                .arg(input)
                .arg(spectra)
                .arg(&self.nx)
                .arg(&self.ny)
                .arg(&self.a)
                .arg(&self.b)
                .arg(&sine_x)
                .arg(&sine_y)
                .launch(self.idct2_pre.config)
        }?;
        Ok(())
    }
}
