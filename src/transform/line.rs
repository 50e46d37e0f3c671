//! N-point DCT, IDCT and IDXST of one line by a real FFT of N values.

use super::fft::{RealFft, Ways};
use super::{InputElement, permutation, twiddle};
use crate::memory::reals_mut;
use crate::real::Real;
use num_complex::Complex;

/// A plan for lines of one length; immutable, shared by threads.
pub(crate) struct Line<T: Real> {
    n: usize,
    fft: RealFft<T>,
    /// `e^{−jπk/2n}`, k = 0 … n.
    twiddle: Vec<Complex<T>>,
}

/// Which inverse a line takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wave {
    Cosine,
    Sine,
}

impl Wave {
    /// Returns the wave along `axis` of an inverse with a sine along `sine`, if anywhere.
    pub(crate) fn along(axis: usize, sine: Option<usize>) -> Self {
        if sine == Some(axis) { Wave::Sine } else { Wave::Cosine }
    }
}

impl<T: Real> Line<T> {
    /// Returns a plan for lines of `n` values, `n ≥ 1`.
    pub(crate) fn new(n: usize, ways: Ways) -> Self {
        Line { n, fft: RealFft::of(n, ways), twiddle: twiddle::scaled_quarter_wave(n, 1.0) }
    }

    /// Returns the number of complex numbers of working memory: the line reordered, its spectrum,
    /// the FFT's own.
    pub(crate) fn scratch_len(&self) -> usize {
        self.n.div_ceil(2) + self.n / 2 + 1 + self.fft.scratch_len()
    }

    /// Returns the parts of working memory.
    #[inline(always)]
    fn parts<'a>(&self, s: &'a mut [Complex<T>]) -> [&'a mut [Complex<T>]; 3] {
        let (real, rest) = s.split_at_mut(self.n.div_ceil(2));
        let (spectrum, fft) = rest.split_at_mut(self.n / 2 + 1);
        [real, spectrum, fft]
    }

    /// DCT with every coefficient passed through `finish(k, X_k)`.
    #[inline(always)]
    pub(crate) fn forward<S: InputElement>(
        &self,
        x: &[S],
        out: &mut [T],
        s: &mut [Complex<T>],
        finish: impl Fn(usize, T) -> T,
    ) {
        let n = self.n;
        let [real, v, fft] = self.parts(s);
        let real = &mut reals_mut(real)[..n];
        permutation::reorder(x, real);
        self.fft.forward(real, v, fft);
        out[0] = finish(0, v[0].re);
        for (k, &v) in v.iter().enumerate().take(n.div_ceil(2)).skip(1) {
            let z = self.twiddle[k] * v;
            out[k] = finish(k, z.re);
            out[n - k] = finish(n - k, -z.im);
        }
        if n.is_multiple_of(2) {
            let h = n / 2;
            out[h] = finish(h, self.twiddle[h].re * v[h].re);
        }
    }

    /// IDCT or IDXST of the coefficients `load(k)`.
    #[inline(always)]
    pub(crate) fn inverse(
        &self,
        wave: Wave,
        load: impl Fn(usize) -> T,
        out: &mut [T],
        s: &mut [Complex<T>],
    ) {
        let n = self.n;
        let [real, v, fft] = self.parts(s);
        let real = &mut reals_mut(real)[..n];
        let half = T::cast(0.5);
        v[0] = Complex::new(
            match wave {
                Wave::Cosine => half * load(0),
                Wave::Sine => T::zero(),
            },
            T::zero(),
        );
        for (k, v) in v.iter_mut().enumerate().take(n.div_ceil(2)).skip(1) {
            let (a, b) = match wave {
                Wave::Cosine => (load(k), load(n - k)),
                Wave::Sine => (load(n - k), load(k)),
            };
            *v = self.twiddle[k].conj() * Complex::new(half * a, -half * b);
        }
        if n.is_multiple_of(2) {
            // k = n/2 is its own mirror: ½·w̄·(1 − j)·X is real and √½·X.
            let h = n / 2;
            v[h] = Complex::new(self.twiddle[h].re * load(h), T::zero());
        }
        self.fft.inverse(v, real, fft);
        permutation::restore(real, out, wave == Wave::Sine);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transform::oracle;

    #[test]
    fn small_lengths_agree_with_the_definitions() {
        for n in 1..=if cfg!(miri) { 9 } else { 64 } {
            let x: Vec<f64> = (0..n).map(|i| ((i * i * 31 + 7 * i) % 17) as f64 - 6.5).collect();
            let line = Line::new(n, Ways::Both);
            let mut s = vec![Complex::default(); line.scratch_len()];
            let mut out = vec![0.0; n];
            let close = |got: &[f64], want: &[f64], name: &str| {
                for (a, b) in got.iter().zip(want) {
                    assert!((a - b).abs() < 1e-12, "{name} of {n}: {a} and {b}");
                }
            };
            line.forward(&x, &mut out, &mut s, |_, value| value);
            close(&out, &oracle::dct(&x), "DCT");
            line.inverse(Wave::Cosine, |k| x[k], &mut out, &mut s);
            close(&out, &oracle::idct(&x), "IDCT");
            line.inverse(Wave::Sine, |k| x[k], &mut out, &mut s);
            close(&out, &oracle::idxst(&x), "IDXST");
        }
    }
}
