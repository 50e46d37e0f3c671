//! DCT, IDCT and IDXST of one line over a real FFT of 2N or 4N values: the
//! three algorithms the N-point one is measured against (Jiang, Gu and Pan,
//! Algorithm "Four algorithms of 1D DCT via 1D FFT").
//!
//! With `w_k = e^{−jπk/2N}` and `V` the FFT of the line extended,
//!
//! ```text
//! 4N           zeros at even places, the line and its mirror image at odd ones   X_k = ½ Re V_k
//! mirrored 2N  the line and its mirror image                                     X_k = ½ Re(w_k V_k)
//! padded 2N    the line and N zeros                                              X_k =   Re(w_k V_k)
//! ```
//!
//! which is half of what the paper's algorithms give: theirs are twice its definition. Backwards,
//! `V_k = ½X_k` (4N) or `½w̄_k X_k` (2N) for k < N and zero from there on, an inverse FFT without
//! normalisation, and of its values those at odd places (4N) or the first N. With one more factor
//! −j the cosines become sines. The two 2N algorithms are one backwards: the second half of the
//! inverse FFT is the mirror image that neither keeps.

use super::fft::RealFft;
use super::line::Wave;
use super::{Algorithm1d, InputElement, twiddle};
use crate::memory::reals_mut;
use crate::real::Real;
use num_complex::Complex;

/// A plan for lines of one length.
pub(crate) struct Longer<T: Real> {
    n: usize,
    algorithm: Algorithm1d,
    fft: RealFft<T>,
    /// Factors of V_k, k = 0 … N−1.
    factor: Vec<Complex<T>>,
}

impl<T: Real> Longer<T> {
    /// Returns a plan for lines of `n` values, `n ≥ 1`.
    pub(crate) fn new(n: usize, algorithm: Algorithm1d) -> Self {
        let (points, half) = match algorithm {
            Algorithm1d::FourN => (4 * n, 0.5),
            Algorithm1d::MirroredTwoN => (2 * n, 0.5),
            Algorithm1d::PaddedTwoN => (2 * n, 1.0),
            Algorithm1d::NPoint | Algorithm1d::Fastest => {
                unreachable!("an N-point line is not extended")
            }
        };
        let factor = match algorithm {
            Algorithm1d::FourN => vec![Complex::new(T::of(half), T::zero()); n],
            _ => twiddle::scaled_quarter_wave(n, half),
        };
        Longer { n, algorithm, fft: RealFft::new(points), factor }
    }

    /// Returns the number of values in a line.
    pub(crate) fn n(&self) -> usize {
        self.n
    }

    /// Returns the number of values the FFT takes.
    fn points(&self) -> usize {
        self.fft.len()
    }

    /// Returns the number of complex numbers of working memory: the line extended, its spectrum,
    /// the FFT's own.
    pub(crate) fn scratch_len(&self) -> usize {
        self.points() + 1 + self.fft.scratch_len()
    }

    /// Returns the parts of working memory.
    fn parts<'a>(&self, s: &'a mut [Complex<T>]) -> (&'a mut [T], [&'a mut [Complex<T>]; 2]) {
        let half = self.points() / 2;
        let (real, rest) = s.split_at_mut(half);
        let (spectrum, fft) = rest.split_at_mut(half + 1);
        (reals_mut(real), [spectrum, fft])
    }

    /// `out = DCT(x)`.
    #[inline(always)]
    pub(crate) fn forward<S: InputElement>(&self, x: &[S], out: &mut [T], s: &mut [Complex<T>]) {
        let (real, [v, fft]) = self.parts(s);
        self.extend(x, real);
        self.fft.forward(real, v, fft);
        if self.algorithm == Algorithm1d::FourN {
            let half = T::of(0.5);
            out.iter_mut().zip(v).for_each(|(out, v)| *out = half * v.re);
        } else {
            let terms = out.iter_mut().zip(&self.factor).zip(v);
            terms.for_each(|((out, w), v)| *out = w.re * v.re - w.im * v.im);
        }
    }

    /// The line extended to the FFT's length.
    #[inline(always)]
    fn extend<S: InputElement>(&self, x: &[S], real: &mut [T]) {
        let of = |value: &S| T::of(value.to_f64());
        match self.algorithm {
            Algorithm1d::FourN => {
                let (first, second) = real.split_at_mut(2 * self.n);
                let pairs = first.chunks_exact_mut(2).zip(second.chunks_exact_mut(2).rev());
                for ((first, second), x) in pairs.zip(x) {
                    first.copy_from_slice(&[T::zero(), of(x)]);
                    second.copy_from_slice(&[T::zero(), of(x)]);
                }
            }
            Algorithm1d::MirroredTwoN => {
                let (first, second) = real.split_at_mut(self.n);
                for ((first, second), x) in first.iter_mut().zip(second.iter_mut().rev()).zip(x) {
                    (*first, *second) = (of(x), of(x));
                }
            }
            _ => {
                let (first, second) = real.split_at_mut(self.n);
                first.iter_mut().zip(x).for_each(|(first, x)| *first = of(x));
                second.fill(T::zero());
            }
        }
    }

    /// `out = IDCT(x)` or `IDXST(x)`.
    #[inline(always)]
    pub(crate) fn inverse<S: InputElement>(
        &self,
        wave: Wave,
        x: &[S],
        out: &mut [T],
        s: &mut [Complex<T>],
    ) {
        let (real, [v, fft]) = self.parts(s);
        // The padded algorithm's factors are twice the mirrored one's.
        let half = T::of(if self.algorithm == Algorithm1d::PaddedTwoN { 0.5 } else { 1.0 });
        for ((v, w), x) in v.iter_mut().zip(&self.factor).zip(x) {
            let z = w.conj().scale(half * T::of(x.to_f64()));
            *v = if wave == Wave::Sine { Complex::new(z.im, -z.re) } else { z };
        }
        v[self.n..].fill(Complex::default());
        // The FFT counts the mean as real: no sine has one.
        self.fft.inverse(v, real, fft);
        if self.algorithm == Algorithm1d::FourN {
            out.iter_mut().zip(real.chunks_exact(2)).for_each(|(out, pair)| *out = pair[1]);
        } else {
            out.copy_from_slice(&real[..self.n]);
        }
    }
}
