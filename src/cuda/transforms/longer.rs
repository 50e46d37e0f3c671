//! 1-D transforms by a real FFT of 4N or 2N values: `kernels/fft/longer.cuh`.
//!
//! Jiang et al., algorithm "Four algorithms of 1D DCT via 1D FFT", without the 2 that its outputs
//! have over the definitions. The inverses take the same steps backwards. In values of a line, a
//! transform moves 2N + 2L with its own kernels, L the FFT's length, and its FFT at least 2L; that
//! is why the N-point one is fastest.

use super::Stage;
use crate::cuda::device::{CudaError, CudaReal, DeviceVec, Gpu, Input, Kernel, cover_lines};
use crate::cuda::fft::{RealFft, twiddles};
use crate::cuda::lines::spectral;
use crate::transform::{Algorithm1d, Transform1d};

/// The 4N- and 2N-point algorithms.
pub(super) struct Longer<T: CudaReal> {
    gpu: Gpu,
    kind: Transform1d,
    algorithm: Algorithm1d,
    rows: u32,
    n: u32,
    /// Length of the FFT.
    length: u32,
    twiddles: DeviceVec<T::Complex>,
    fft: RealFft<T>,
    pub(super) pre: Kernel,
    pub(super) post: Kernel,
    /// The FFT's real side and its complex one.
    values: DeviceVec<T>,
    spectra: DeviceVec<T::Complex>,
    input: &'static str,
}

impl<T: CudaReal> Longer<T> {
    pub(super) fn new(
        gpu: &Gpu,
        kind: Transform1d,
        (rows, n): (usize, usize),
        algorithm: Algorithm1d,
        input: &'static str,
    ) -> Result<Self, CudaError> {
        let module = gpu.instance::<T>("transforms", &spectral(1, input))?;
        let length = if algorithm == Algorithm1d::FourN { 4 * n } else { 2 * n };
        let forward = kind == Transform1d::Dct;
        let (pre, width, post) = match (forward, algorithm) {
            (true, Algorithm1d::FourN) => ("dct_pre_4n", 2 * n, "dct_post_long"),
            (true, Algorithm1d::PaddedTwoN) => ("dct_pre_padded", 2 * n, "dct_post_long"),
            (true, _) => ("dct_pre_mirrored", 2 * n, "dct_post_long"),
            (false, Algorithm1d::FourN) => ("idct_pre_4n", 2 * n + 1, "idct_post_long"),
            (false, _) => ("idct_pre_2n", n + 1, "idct_post_long"),
        };
        let fft = if forward { RealFft::forward } else { RealFft::inverse };
        Ok(Longer {
            gpu: gpu.clone(),
            kind,
            algorithm,
            rows: rows as u32,
            n: n as u32,
            length: length as u32,
            twiddles: twiddles::<T>(gpu, n)?,
            fft: fft(gpu, &[length], rows)?,
            pre: Kernel::new(&module, pre, cover_lines(128, (width, rows)))?,
            post: Kernel::new(&module, post, cover_lines(128, (n, rows)))?,
            values: gpu.zeros(rows * length)?,
            spectra: gpu.zeros(rows * (length / 2 + 1))?,
            input,
        })
    }

    /// Returns the bytes that the kernels before and after the FFT move, of input values of so many
    /// bytes. (The last one takes only what it needs.)
    pub(super) fn bytes(&self, input: usize) -> [usize; 2] {
        let (lines, real) = (self.rows as usize * self.n as usize, size_of::<T>());
        let complex = size_of::<T::Complex>();
        match self.kind {
            Transform1d::Dct => {
                [lines * input + self.values.len() * real, lines * (complex + real)]
            }
            _ => [lines * input + self.spectra.len() * complex, lines * 2 * real],
        }
    }

    pub(super) fn run<I: Input<T>>(
        &mut self,
        stage: Stage,
        input: &DeviceVec<I>,
        output: &mut DeviceVec<T>,
    ) -> Result<(), CudaError> {
        let Longer { gpu, rows, n, length, twiddles, pre, post, values, spectra, .. } = self;
        let lines = *rows as usize * *n as usize;
        assert!(input.len() == lines && output.len() == lines && I::TYPE == self.input);
        let four = self.algorithm == Algorithm1d::FourN;
        let sine = i32::from(self.kind == Transform1d::Idxst);
        // SAFETY: the types are those of the kernels in kernels/fft/longer.cuh, `input` of the type
        // they were compiled for; lengths are asserted, the FFT's sides were made for them, the
        // table holds n + 1 elements, and the last element that idct_post_long reads of a row,
        // step·(n-1) + first, is one of `length`.
        unsafe {
            match (stage, self.kind) {
                (Stage::Fft, Transform1d::Dct) => self.fft.run_forward(&*values, spectra),
                (Stage::Fft, _) => self.fft.run_inverse(spectra, values),
                (Stage::Pre, Transform1d::Dct) => pre.launch(gpu, &[input, values, rows, n]),
                (Stage::Pre, _) => pre.launch(gpu, &[input, spectra, rows, n, twiddles, &sine]),
                (Stage::Post, Transform1d::Dct) => {
                    // The sum has every term twice in a mirrored line, and the 4N-point line
                    // is placed so that nothing is left to turn.
                    let padded = self.algorithm == Algorithm1d::PaddedTwoN;
                    let scale = T::of(if padded { 1.0 } else { 0.5 });
                    let (half, turned) = (*length / 2 + 1, i32::from(!four));
                    let with: &[&dyn crate::cuda::device::KernelArgument] =
                        &[spectra, output, rows, n, &half, twiddles, &scale, &turned];
                    post.launch(gpu, with)
                }
                (Stage::Post, _) => {
                    let (step, first) = if four { (2u32, 1u32) } else { (1, 0) };
                    post.launch(gpu, &[values, output, rows, n, length, &step, &first, &sine])
                }
            }
        }
    }
}
