//! The N-point algorithm for few long lines: `reorder_split` and the other
//! `_split` kernels of `kernels/transforms/transforms_1d.cu`.
//!
//! A line's FFT is 16 of n/16 values, by cuFFT, and a radix-16 step, which is
//! part of a forward transform's last and of an inverse's first kernel.

use crate::cuda::device::{BLOCK, CudaError, CudaReal, DeviceVec, Gpu, Input, Kernel, MOST_BLOCKS};
use crate::cuda::fft::{RealFft, twiddles};
use crate::transform::Transform1d;
use cudarc::driver::{CudaModule, LaunchConfig};
use std::sync::Arc;

/// `PARTS` in kernels/transforms/transforms_1d.cu.
const PARTS: usize = 16;
/// Threads of a block that takes the radix-16 step.
const THREADS: u32 = 64;
/// The shortest line, and the most bytes of all lines, to split. (An H200, one
/// line in f64, split and not: 5.6 and 14.3 µs for 2^14 values, 10.8 and 12.1 for
/// 2^17, 17.2 and 15.9 for 2^18.)
const SHORTEST: usize = 1 << 13;
const MOST: usize = 1 << 20;

/// The kernels, their table and the FFT, for a batch of lines.
pub(in crate::cuda) struct Split<T: CudaReal> {
    gpu: Gpu,
    rows: u32,
    n: u32,
    /// e^{-jπk/2n}.
    twiddles: DeviceVec<T::Complex>,
    pub(in crate::cuda) fft: RealFft<T>,
    reorder: Kernel,
    restore: Kernel,
    pre: Kernel,
    post: Kernel,
    input: &'static str,
}

impl<T: CudaReal> Split<T> {
    /// Whether to split lines of this length, this many.
    pub(in crate::cuda) fn takes(n: usize, rows: usize) -> bool {
        n.is_multiple_of(BLOCK as usize) && n >= SHORTEST && n * rows * size_of::<T>() <= MOST
    }

    /// For lines that it [`Split::takes`]; `module` is `transforms_1d`.
    pub(in crate::cuda) fn new(
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
    pub(in crate::cuda) fn half_spectra(&self) -> usize {
        self.rows as usize * PARTS * (self.n as usize / PARTS / 2 + 1)
    }

    /// The kernels before and after the FFT.
    pub(in crate::cuda) fn kernels(&self, forward: bool) -> [&Kernel; 2] {
        if forward { [&self.reorder, &self.post] } else { [&self.pre, &self.restore] }
    }

    /// Enqueues the reordering before a forward transform.
    pub(in crate::cuda) fn reorder<I: Input<T>>(
        &self,
        input: &DeviceVec<I>,
        values: &mut DeviceVec<T>,
    ) -> Result<(), CudaError> {
        assert!(input.len() == self.elements() && values.len() >= self.elements());
        assert_eq!(I::SUFFIX, self.input);
        // SAFETY: the types are those of reorder_split in
        // kernels/transforms/transforms_1d.cu, `input` of the type it was chosen for;
        // lengths are asserted, and n is divisible by BLOCK.
        unsafe {
            self.reorder
                .on(&self.gpu)
                .arg(input)
                .arg(values)
                .arg(&self.rows)
                .arg(&self.n)
                .launch(self.reorder.config)
        }
    }

    /// Enqueues the last step of the FFT and the post-processing.
    pub(in crate::cuda) fn post(
        &self,
        spectra: &DeviceVec<T::Complex>,
        output: &mut DeviceVec<T>,
    ) -> Result<(), CudaError> {
        assert!(spectra.len() >= self.half_spectra() && output.len() == self.elements());
        // SAFETY: the types are those of dct_post_split in
        // kernels/transforms/transforms_1d.cu; lengths are asserted, the table holds n + 1
        // elements.
        unsafe {
            self.post
                .on(&self.gpu)
                .arg(spectra)
                .arg(output)
                .arg(&self.rows)
                .arg(&self.n)
                .arg(&self.twiddles)
                .launch(self.post.config)
        }
    }

    /// Enqueues the pre-processing and the first step of an inverse FFT.
    pub(in crate::cuda) fn pre<I: Input<T>>(
        &self,
        input: &DeviceVec<I>,
        spectra: &mut DeviceVec<T::Complex>,
        sine: bool,
    ) -> Result<(), CudaError> {
        assert!(input.len() == self.elements() && spectra.len() >= self.half_spectra());
        assert_eq!(I::SUFFIX, self.input);
        let sine = i32::from(sine);
        // SAFETY: the types are those of idct_pre_split in
        // kernels/transforms/transforms_1d.cu, `input` of the type it was chosen for;
        // lengths are asserted, the table holds n + 1 elements.
        unsafe {
            self.pre
                .on(&self.gpu)
                .arg(input)
                .arg(spectra)
                .arg(&self.rows)
                .arg(&self.n)
                .arg(&self.twiddles)
                .arg(&sine)
                .launch(self.pre.config)
        }
    }

    /// Enqueues the reordering after an inverse transform.
    pub(in crate::cuda) fn restore(
        &self,
        values: &DeviceVec<T>,
        output: &mut DeviceVec<T>,
        sine: bool,
    ) -> Result<(), CudaError> {
        assert!(values.len() >= self.elements() && output.len() == self.elements());
        let sine = i32::from(sine);
        // SAFETY: the types are those of restore_split in
        // kernels/transforms/transforms_1d.cu; lengths are asserted, and n is divisible by
        // BLOCK.
        unsafe {
            self.restore
                .on(&self.gpu)
                .arg(values)
                .arg(output)
                .arg(&self.rows)
                .arg(&self.n)
                .arg(&sine)
                .launch(self.restore.config)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cuda::device::kernel_constant;

    #[test]
    fn lines_are_split_into_as_many_parts_as_in_the_kernels() {
        assert_eq!(kernel_constant("transforms_1d", "PARTS"), PARTS.to_string());
    }
}
