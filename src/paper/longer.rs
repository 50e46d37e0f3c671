//! The DCT of one line by a real FFT of 2N or 4N values: three algorithms to compare with the
//! N-point algorithm (Jiang, Gu and Pan, Algorithm "Four algorithms of 1D DCT via 1D FFT").
//!
//! With `w_k = e^{−jπk/2N}` and `V` the FFT of the line extended,
//!
//! ```text
//! 4N           zeros at even places, the line and its mirror image at odd ones   X_k = ½ Re V_k
//! mirrored 2N  the line and its mirror image                             X_k = ½ Re(w_k V_k)
//! padded 2N    the line and N zeros                                      X_k =   Re(w_k V_k)
//! ```
//!
//! which is half of the paper's algorithms, because those give twice the paper's definition.

use super::Algorithm1d;
use crate::cpu::simd::vectorised;
use crate::memory::reals_mut;
use crate::real::Real;
use crate::transform::fft::RealFft;
use crate::transform::{LengthError, check_length, twiddle};
use num_complex::Complex;

/// A plan for a line of one length.
pub(super) struct Longer<T: Real> {
    n: usize,
    algorithm: Algorithm1d,
    fft: RealFft<T>,
    /// Factors of V_k, k = 0 … N−1 at least.
    factor: Vec<Complex<T>>,
    /// The line extended, its spectrum, the FFT's own.
    scratch: Vec<Complex<T>>,
}

impl<T: Real> Longer<T> {
    /// Returns a plan for a line of `n` values, `n ≥ 1`, by an FFT of more.
    pub(super) fn new(n: usize, algorithm: Algorithm1d) -> Self {
        let (points, factor) = match algorithm {
            Algorithm1d::FourN => (4 * n, vec![Complex::new(T::cast(0.5), T::zero()); n]),
            Algorithm1d::MirroredTwoN => (2 * n, twiddle::scaled_quarter_wave(n, 0.5)),
            Algorithm1d::PaddedTwoN => (2 * n, twiddle::scaled_quarter_wave(n, 1.0)),
            Algorithm1d::NPoint => unreachable!("an N-point line is not extended"),
        };
        let fft = RealFft::new(points);
        let scratch = vec![Complex::default(); points + 1 + fft.scratch_len()];
        Longer { n, algorithm, fft, factor, scratch }
    }

    /// Computes `output = DCT(input)`.
    pub(super) fn run(&mut self, input: &[T], output: &mut [T]) -> Result<(), LengthError> {
        let Longer { n, algorithm, fft, factor, scratch } = self;
        check_length("input", *n, input.len())?;
        check_length("output", *n, output.len())?;
        let half = fft.len() / 2;
        let (real, rest) = scratch.split_at_mut(half);
        let (real, (spectrum, work)) = (reals_mut(real), rest.split_at_mut(half + 1));
        vectorised(
            #[inline(always)]
            || {
                extend(*algorithm, input, real);
                fft.forward(real, spectrum, work);
                let terms = output.iter_mut().zip(factor.iter()).zip(spectrum.iter());
                match algorithm {
                    Algorithm1d::FourN => terms.for_each(|((out, half), v)| *out = half.re * v.re),
                    _ => terms.for_each(|((out, w), v)| *out = w.re * v.re - w.im * v.im),
                }
            },
        );
        Ok(())
    }
}

/// Writes the line extended to the FFT's length.
#[inline(always)]
fn extend<T: Real>(algorithm: Algorithm1d, x: &[T], real: &mut [T]) {
    let (first, second) = real.split_at_mut(real.len() / 2);
    match algorithm {
        Algorithm1d::FourN => {
            let pairs = first.chunks_exact_mut(2).zip(second.chunks_exact_mut(2).rev());
            for ((first, second), &x) in pairs.zip(x) {
                first.copy_from_slice(&[T::zero(), x]);
                second.copy_from_slice(&[T::zero(), x]);
            }
        }
        Algorithm1d::MirroredTwoN => {
            first.copy_from_slice(x);
            second.iter_mut().rev().zip(x).for_each(|(second, &x)| *second = x);
        }
        _ => {
            first.copy_from_slice(x);
            second.fill(T::zero());
        }
    }
}
