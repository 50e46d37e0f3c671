//! DCTs of lines by a real FFT of 4N or 2N values, for the paper's tables:
//! `kernels/fft/longer.cuh`.
//!
//! Source: Jiang et al., algorithm "Four algorithms of 1D DCT via 1D FFT", without the factor 2 of
//! its outputs relative to the definitions. For a line, a transform's own kernels move 2N + 2L
//! values, where L is the FFT's length, and its FFT moves at least 2L. The N-point algorithm is
//! therefore the fastest.

use super::check_shape;
use crate::cuda::device::bindings::fft::{DctPostLong, DctPre4n};
use crate::cuda::device::{
    Array, CudaError, CudaReal, DeviceVec, Gpu, Kernel, check_length, cover_lines,
};
use crate::cuda::fft::{RealFft, twiddles};
use crate::cuda::lines::spectral;
use crate::transform::variants::Algorithm1d;

/// The number of lines of a plan.
const ROWS: usize = 1;

/// The DCT of one line by the 4N- and 2N-point algorithms.
pub(crate) struct Longer<T: CudaReal> {
    gpu: Gpu,
    algorithm: Algorithm1d,
    n: u32,
    /// Complex numbers of the FFT's spectrum.
    half: u32,
    twiddles: DeviceVec<T::Complex>,
    fft: RealFft<T>,
    pre: Kernel<DctPre4n<T>>,
    post: Kernel<DctPostLong<T>>,
    /// The FFT's real side and its complex side.
    values: DeviceVec<T>,
    spectra: DeviceVec<T::Complex>,
}

impl<T: CudaReal> Longer<T> {
    pub(crate) fn new(gpu: &Gpu, n: usize, algorithm: Algorithm1d) -> Result<Self, CudaError> {
        check_shape(&[n], ROWS)?;
        let module = gpu.instance::<T>("transforms", &spectral(1, T::TYPE))?;
        let (length, pre) = match algorithm {
            Algorithm1d::FourN => (4 * n, "dct_pre_4n"),
            Algorithm1d::PaddedTwoN => (2 * n, "dct_pre_padded"),
            Algorithm1d::MirroredTwoN => (2 * n, "dct_pre_mirrored"),
            Algorithm1d::NPoint => unreachable!("an N-point line is not extended"),
        };
        let half = length / 2 + 1;
        Ok(Longer {
            gpu: gpu.clone(),
            algorithm,
            n: n as u32,
            half: half as u32,
            twiddles: twiddles::<T>(gpu, n)?,
            fft: RealFft::forward(gpu, &[length], ROWS)?,
            pre: Kernel::named(&module, pre)?.with(cover_lines(128, (2 * n, ROWS))),
            post: Kernel::new(&module)?.with(cover_lines(128, (n, ROWS))),
            values: gpu.zeros(length)?,
            spectra: gpu.zeros(half)?,
        })
    }

    pub(crate) fn run(
        &mut self,
        input: &DeviceVec<T>,
        output: &mut DeviceVec<T>,
    ) -> Result<(), CudaError> {
        let Longer { gpu, algorithm, n, half, twiddles, fft, pre, post, values, spectra } = self;
        let (n, rows) = (*n, ROWS as u32);
        check_length("array to transform", input.len(), n as usize)?;
        check_length("transformed array", output.len(), n as usize)?;
        let r#in = Array::from(input).cast();
        let arguments = DctPre4n { r#in, out: (&*values).into(), rows, n };
        // SAFETY: compiled for input of type T; the input holds a line (checked above), and
        // `values` the FFT's length.
        unsafe { pre.launch(gpu, &arguments) }?;
        fft.run_forward(&*values, &mut *spectra)?;
        // The sum has every term twice in a mirrored line, and the 4N-point line is positioned so
        // that it needs no rotation.
        let scale = T::cast(if *algorithm == Algorithm1d::PaddedTwoN { 1.0 } else { 0.5 });
        let rotated = i32::from(*algorithm != Algorithm1d::FourN);
        let (r#in, out, w, half) =
            ((&*spectra).into(), (&*output).into(), (&*twiddles).into(), *half);
        let arguments = DctPostLong { r#in, out, rows, n, half, w, scale, rotated };
        // SAFETY: the spectrum has `half` numbers, the table n + 1, and the output a line: checked
        // above.
        unsafe { post.launch(gpu, &arguments) }
    }
}
