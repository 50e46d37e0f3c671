//! The N-point algorithm for few long lines: `reorder_split` and the other
//! `_split` kernels of `kernels/transforms_1d.cu`, typed.
//!
//! A line's FFT is 16 of n/16 values, by cuFFT, and a radix-16 step, which is
//! part of a forward transform's last and of an inverse's first kernel.

use super::real_fft::RealFft;
use crate::cuda::device::Gpu;
use crate::cuda::error::CudaError;
use crate::cuda::input::Input;
use crate::cuda::launch::{BLOCK, Kernel, MOST_BLOCKS, enqueue};
use crate::cuda::real::CudaReal;
use crate::cuda::solver::twiddles;
use crate::transform::Transform1d;
use cudarc::driver::{CudaModule, CudaSlice, LaunchConfig, PushKernelArg};
use std::sync::Arc;

/// `PARTS` in kernels/transforms_1d.cu.
const PARTS: usize = 16;
/// Threads of a block that takes the radix-16 step.
const THREADS: u32 = 64;
/// The shortest line, and the most bytes of all lines, to split. (An H200, one
/// line in f64, split and not: 5.6 and 14.3 µs for 2^14 values, 10.8 and 12.1 for
/// 2^17, 17.2 and 15.9 for 2^18.)
const SHORTEST: usize = 1 << 13;
const MOST: usize = 1 << 20;

/// The kernels, their table and the FFT, for a batch of lines.
pub(super) struct Split<T: CudaReal> {
    gpu: Gpu,
    rows: u32,
    n: u32,
    /// e^{-jπk/2n}.
    twiddles: CudaSlice<T::Complex>,
    pub(super) fft: RealFft<T>,
    reorder: Kernel,
    restore: Kernel,
    pre: Kernel,
    post: Kernel,
    input: &'static str,
}

impl<T: CudaReal> Split<T> {
    /// Whether to split lines of this length, this many.
    pub(super) fn takes(n: usize, rows: usize) -> bool {
        n.is_multiple_of(BLOCK as usize) && n >= SHORTEST && n * rows * size_of::<T>() <= MOST
    }

    /// For lines that it [`Split::takes`]; `module` is `transforms_1d`.
    pub(super) fn new(
        gpu: &Gpu,
        module: &Arc<CudaModule>,
        kind: Transform1d,
        (rows, n): (usize, usize),
        input: &'static str,
    ) -> Result<Self, CudaError> {
        let down = (rows as u32).min(MOST_BLOCKS);
        let config = |across: usize, threads: u32| LaunchConfig {
            grid_dim: ((across as u32).div_ceil(threads), down, 1),
            block_dim: (threads, 1, 1),
            shared_mem_bytes: 0,
        };
        let (slots, turns) = (config(n, BLOCK), config(n / PARTS / 2 + 1, THREADS));
        Ok(Split {
            gpu: gpu.clone(),
            rows: rows as u32,
            n: n as u32,
            twiddles: twiddles::<T>(gpu, n)?,
            fft: RealFft::new(gpu, kind == Transform1d::Dct, &[n / PARTS], rows * PARTS)?,
            reorder: Kernel::new(module, format!("reorder_split{input}"), slots)?,
            restore: Kernel::new(module, "restore_split", slots)?,
            pre: Kernel::new(module, format!("idct_pre_split{input}"), turns)?,
            post: Kernel::new(module, "dct_post_split", turns)?,
            input,
        })
    }

    fn elements(&self) -> usize {
        self.rows as usize * self.n as usize
    }

    /// Complex numbers in the spectra of all parts.
    pub(super) fn half_spectra(&self) -> usize {
        self.rows as usize * PARTS * (self.n as usize / PARTS / 2 + 1)
    }

    /// The kernels before and after the FFT.
    pub(super) fn kernels(&self, forward: bool) -> [&Kernel; 2] {
        if forward { [&self.reorder, &self.post] } else { [&self.pre, &self.restore] }
    }

    /// Enqueues the reordering before a forward transform.
    pub(super) fn reorder<I: Input<T>>(
        &self,
        input: &CudaSlice<I>,
        values: &mut CudaSlice<T>,
    ) -> Result<(), CudaError> {
        assert!(input.len() == self.elements() && values.len() >= self.elements());
        assert_eq!(I::SUFFIX, self.input);
        // SAFETY: the types are those of reorder_split in
        // kernels/transforms_1d.cu, `input` of the type it was chosen for;
        // lengths are asserted, and n is divisible by BLOCK.
        unsafe { enqueue!(self.gpu, self.reorder, input, values, &self.rows, &self.n) }
    }

    /// Enqueues the last step of the FFT and the post-processing.
    pub(super) fn post(
        &self,
        spectra: &CudaSlice<T::Complex>,
        output: &mut CudaSlice<T>,
    ) -> Result<(), CudaError> {
        assert!(spectra.len() >= self.half_spectra() && output.len() == self.elements());
        // SAFETY: the types are those of dct_post_split in
        // kernels/transforms_1d.cu; lengths are asserted, the table holds n + 1
        // elements.
        unsafe {
            enqueue!(self.gpu, self.post, spectra, output, &self.rows, &self.n, &self.twiddles)
        }
    }

    /// Enqueues the pre-processing and the first step of an inverse FFT.
    pub(super) fn pre<I: Input<T>>(
        &self,
        input: &CudaSlice<I>,
        spectra: &mut CudaSlice<T::Complex>,
        sine: bool,
    ) -> Result<(), CudaError> {
        assert!(input.len() == self.elements() && spectra.len() >= self.half_spectra());
        assert_eq!(I::SUFFIX, self.input);
        let sine = i32::from(sine);
        // SAFETY: the types are those of idct_pre_split in
        // kernels/transforms_1d.cu, `input` of the type it was chosen for;
        // lengths are asserted, the table holds n + 1 elements.
        unsafe {
            enqueue!(self.gpu, self.pre, input, spectra, &self.rows, &self.n, &self.twiddles, &sine)
        }
    }

    /// Enqueues the reordering after an inverse transform.
    pub(super) fn restore(
        &self,
        values: &CudaSlice<T>,
        output: &mut CudaSlice<T>,
        sine: bool,
    ) -> Result<(), CudaError> {
        assert!(values.len() >= self.elements() && output.len() == self.elements());
        let sine = i32::from(sine);
        // SAFETY: the types are those of restore_split in
        // kernels/transforms_1d.cu; lengths are asserted, and n is divisible by
        // BLOCK.
        unsafe { enqueue!(self.gpu, self.restore, values, output, &self.rows, &self.n, &sine) }
    }
}
