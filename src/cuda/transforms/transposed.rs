//! The transposed variant of the fused 2-D transform: the transpose rides on
//! the kernels before and after an FFT of the transposed map, so that the FFT's
//! contiguous axis is x (Jiang et al., "Results on 2D DCTs").

use crate::cuda::device::Gpu;
use crate::cuda::error::CudaError;
use crate::cuda::input::Input;
use crate::cuda::launch::{BLOCK, Kernel, check_length};
use crate::cuda::lines::tiles;
use crate::cuda::real::CudaReal;
use crate::cuda::reorder::Sines;
use crate::cuda::solver::twiddles;
use cudarc::driver::{CudaModule, CudaSlice, LaunchConfig, PushKernelArg};
use std::sync::Arc;

/// The kernels and their tables, for a batch of `[nx][ny]` maps whose FFTs are
/// `[ny][nx]`.
pub(super) struct Transposed<T: CudaReal> {
    gpu: Gpu,
    nx: u32,
    ny: u32,
    maps: usize,
    /// e^{-jπu/2nx} and e^{-jπv/2ny}.
    a: CudaSlice<T::Complex>,
    b: CudaSlice<T::Complex>,
    reorder: Kernel,
    post: Kernel,
    post_threshold: Kernel,
    pre: Kernel,
    restore: Kernel,
    input: &'static str,
}

impl<T: CudaReal> Transposed<T> {
    /// `module` is `transforms_2d`.
    pub(super) fn new(
        gpu: &Gpu,
        module: &Arc<CudaModule>,
        (nx, ny): (usize, usize),
        maps: usize,
        input: &'static str,
    ) -> Result<Self, CudaError> {
        // Quads of a tile: `TILE_U` and `TILE_V` in kernels/transforms_2d.cu.
        let along_u = (128 / size_of::<T::Complex>()) as u32;
        let across = |n: usize, side: u32| (n as u32 / 2 + 1).div_ceil(side);
        let quads = LaunchConfig {
            grid_dim: (across(nx, along_u), across(ny, BLOCK / along_u), maps as u32),
            block_dim: (BLOCK, 1, 1),
            shared_mem_bytes: 0,
        };
        let elements = tiles(maps, nx, ny);
        Ok(Transposed {
            gpu: gpu.clone(),
            nx: nx as u32,
            ny: ny as u32,
            maps,
            a: twiddles::<T>(gpu, nx)?,
            b: twiddles::<T>(gpu, ny)?,
            reorder: Kernel::new(module, format!("reorder_transposed{input}"), elements)?,
            post: Kernel::new(module, "dct2_post_transposed", quads)?,
            post_threshold: Kernel::new(module, "dct2_post_transposed_threshold", quads)?,
            pre: Kernel::new(module, format!("idct2_pre_transposed{input}"), quads)?,
            restore: Kernel::new(module, "restore_transposed", elements)?,
            input,
        })
    }

    fn elements(&self) -> usize {
        self.maps * self.nx as usize * self.ny as usize
    }

    fn half_spectra(&self) -> usize {
        self.maps * self.ny as usize * (self.nx as usize / 2 + 1)
    }

    /// The kernels before and after the FFT, for their launches.
    pub(super) fn kernels(&self, forward: bool) -> [&Kernel; 2] {
        if forward { [&self.reorder, &self.post] } else { [&self.pre, &self.restore] }
    }

    /// Enqueues the reordering before a forward transform.
    pub(super) fn reorder<I: Input<T>>(
        &self,
        input: &CudaSlice<I>,
        output: &mut CudaSlice<T>,
    ) -> Result<(), CudaError> {
        check_length("map to transform", input.len(), self.elements())?;
        check_length("transformed map", output.len(), self.elements())?;
        assert_eq!(I::SUFFIX, self.input);
        // SAFETY: the types are those of reorder_transposed in
        // kernels/transforms_2d.cu, `input` of the type it was chosen for;
        // lengths are checked above.
        unsafe {
            self.gpu
                .stream()
                .launch_builder(&self.reorder.function)
                .arg(input)
                .arg(output)
                .arg(&self.nx)
                .arg(&self.ny)
                .launch(self.reorder.config)
        }?;
        Ok(())
    }

    /// Enqueues the DCT's post-processing; with a threshold coefficients smaller
    /// than it become zero, and the number of the others is added to what it
    /// comes with.
    pub(super) fn post(
        &self,
        spectra: &CudaSlice<T::Complex>,
        output: &mut CudaSlice<T>,
        threshold: Option<(T, &mut CudaSlice<u64>)>,
    ) -> Result<(), CudaError> {
        check_length("transformed map", output.len(), self.elements())?;
        assert!(spectra.len() >= self.half_spectra());
        let kernel = if threshold.is_some() { &self.post_threshold } else { &self.post };
        let mut launch = self.gpu.stream().launch_builder(&kernel.function);
        launch.arg(spectra).arg(output).arg(&self.nx).arg(&self.ny).arg(&self.a).arg(&self.b);
        let epsilon;
        if let Some((least, kept)) = threshold {
            check_length("count of kept coefficients", kept.len(), 1)?;
            epsilon = least;
            launch.arg(&epsilon).arg(kept);
        }
        // SAFETY: the types are those of dct2_post_transposed or, with a
        // threshold, dct2_post_transposed_threshold in kernels/transforms_2d.cu;
        // lengths are checked above, the tables hold at least nx and ny elements.
        unsafe { launch.launch(kernel.config) }?;
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
        // SAFETY: the types are those of idct2_pre_transposed in
        // kernels/transforms_2d.cu, `input` of the type it was chosen for;
        // lengths as above.
        unsafe {
            self.gpu
                .stream()
                .launch_builder(&self.pre.function)
                .arg(input)
                .arg(spectra)
                .arg(&self.nx)
                .arg(&self.ny)
                .arg(&self.a)
                .arg(&self.b)
                .arg(&sine_x)
                .arg(&sine_y)
                .launch(self.pre.config)
        }?;
        Ok(())
    }

    /// Enqueues the reordering after an inverse transform.
    pub(super) fn restore(
        &self,
        input: &CudaSlice<T>,
        output: &mut CudaSlice<T>,
        sines: Sines,
    ) -> Result<(), CudaError> {
        check_length("transformed map", output.len(), self.elements())?;
        assert!(input.len() >= self.elements());
        let (alternate_x, alternate_y) = (i32::from(sines.x), i32::from(sines.y));
        // SAFETY: the types are those of restore_transposed in
        // kernels/transforms_2d.cu; lengths are checked above.
        unsafe {
            self.gpu
                .stream()
                .launch_builder(&self.restore.function)
                .arg(input)
                .arg(output)
                .arg(&self.nx)
                .arg(&self.ny)
                .arg(&alternate_x)
                .arg(&alternate_y)
                .launch(self.restore.config)
        }?;
        Ok(())
    }
}
