//! N-point DCT, IDCT and IDXST of one line over a real FFT of N values.

use super::fft::RealFft;
use super::{LengthError, PostProcessing, Reorder, Sample, check_length, permutation, twiddle};
use crate::memory::{filled, reals_mut};
use crate::real::Real;
use num_complex::Complex;

/// A plan for lines of one length; immutable, shared by threads.
pub struct Line<T: Real> {
    n: usize,
    fft: RealFft<T>,
    /// `e^{−jπk/2n}`, k = 0 … n.
    twiddle: Vec<Complex<T>>,
    reorder: Reorder,
    post: PostProcessing,
}

/// Working memory of one thread for a [`Line`].
pub struct LineScratch<T>(Vec<Complex<T>>);

/// Which inverse a line takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wave {
    Cosine,
    Sine,
}

impl<T: Real> Line<T> {
    /// A plan for lines of `n` values.
    ///
    /// # Panics
    /// When `n` is zero.
    pub fn new(n: usize) -> Self {
        Line::with(n, Reorder::default(), PostProcessing::default())
    }

    /// The same, with the choices the paper's tables compare.
    pub(crate) fn with(n: usize, reorder: Reorder, post: PostProcessing) -> Self {
        assert!(n > 0, "a line has at least one value");
        Line {
            n,
            fft: RealFft::new(n),
            twiddle: twiddle::scaled_quarter_wave(n, 1.0),
            reorder,
            post,
        }
    }

    /// Number of values in a line.
    #[allow(clippy::len_without_is_empty)] // never empty
    pub fn len(&self) -> usize {
        self.n
    }

    /// Working memory for one thread.
    pub fn make_scratch(&self) -> LineScratch<T> {
        LineScratch(filled(self.scratch_len(), Complex::default()))
    }

    /// Complex numbers of working memory: the line reordered, its spectrum, the FFT's own.
    pub(crate) fn scratch_len(&self) -> usize {
        self.n.div_ceil(2) + self.n / 2 + 1 + self.fft.scratch_len()
    }

    /// The parts of working memory.
    #[inline(always)]
    fn parts<'a>(&self, s: &'a mut [Complex<T>]) -> [&'a mut [Complex<T>]; 3] {
        let (real, rest) = s.split_at_mut(self.n.div_ceil(2));
        let (spectrum, fft) = rest.split_at_mut(self.n / 2 + 1);
        [real, spectrum, fft]
    }

    /// `out = DCT(x)`.
    ///
    /// # Errors
    /// When a slice is not [`Line::len`] long.
    pub fn dct(&self, x: &[T], out: &mut [T], s: &mut LineScratch<T>) -> Result<(), LengthError> {
        self.check(x, out)?;
        self.forward(x, out, &mut s.0, |_, value| value);
        Ok(())
    }

    /// `out = IDCT(x)`.
    ///
    /// # Errors
    /// When a slice is not [`Line::len`] long.
    pub fn idct(&self, x: &[T], out: &mut [T], s: &mut LineScratch<T>) -> Result<(), LengthError> {
        self.check(x, out)?;
        self.inverse(Wave::Cosine, |k| x[k], out, &mut s.0);
        Ok(())
    }

    /// `out = IDXST(x)`.
    ///
    /// # Errors
    /// When a slice is not [`Line::len`] long.
    pub fn idxst(&self, x: &[T], out: &mut [T], s: &mut LineScratch<T>) -> Result<(), LengthError> {
        self.check(x, out)?;
        self.inverse(Wave::Sine, |k| x[k], out, &mut s.0);
        Ok(())
    }

    fn check(&self, x: &[T], out: &[T]) -> Result<(), LengthError> {
        check_length("input", self.n, x.len())?;
        check_length("output", self.n, out.len())
    }

    /// DCT with every coefficient passed through `finish(k, X_k)`.
    #[inline(always)]
    pub(crate) fn forward<S: Sample>(
        &self,
        x: &[S],
        out: &mut [T],
        s: &mut [Complex<T>],
        finish: impl Fn(usize, T) -> T,
    ) {
        let n = self.n;
        let [real, v, fft] = self.parts(s);
        let real = &mut reals_mut(real)[..n];
        permutation::reorder(self.reorder, x, real);
        self.fft.forward(real, v, fft);
        if self.post == PostProcessing::Naive {
            // One coefficient at a time; beyond n/2 the FFT is the conjugate of what is below.
            for (k, out) in out[..n].iter_mut().enumerate() {
                let value = if 2 * k <= n { v[k] } else { v[n - k].conj() };
                *out = finish(k, (self.twiddle[k] * value).re);
            }
            return;
        }
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
    ///
    /// Two coefficients give one complex number and every number is needed
    /// once, so that there is no naive form of it.
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
        let half = T::of(0.5);
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
            // k = n/2 meets itself: ½·w̄·(1 − j)·X is real and √½·X.
            let h = n / 2;
            v[h] = Complex::new(self.twiddle[h].re * load(h), T::zero());
        }
        self.fft.inverse(v, real, fft);
        permutation::restore(self.reorder, real, out, wave == Wave::Sine);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transform::oracle;

    #[test]
    fn agrees_with_the_definitions_at_every_small_length() {
        for n in 1..=64 {
            let x: Vec<f64> = (0..n).map(|i| ((i * i * 31 + 7 * i) % 17) as f64 - 6.5).collect();
            let line = Line::new(n);
            let mut s = line.make_scratch();
            let mut out = vec![0.0; n];
            let close = |got: &[f64], want: &[f64], name: &str| {
                for (a, b) in got.iter().zip(want) {
                    assert!((a - b).abs() < 1e-12, "{name} of {n}: {a} and {b}");
                }
            };
            line.dct(&x, &mut out, &mut s).unwrap();
            close(&out, &oracle::dct(&x), "DCT");
            line.idct(&x, &mut out, &mut s).unwrap();
            close(&out, &oracle::idct(&x), "IDCT");
            line.idxst(&x, &mut out, &mut s).unwrap();
            close(&out, &oracle::idxst(&x), "IDXST");
        }
    }

    #[test]
    fn a_wrong_length_is_an_error() {
        let line = Line::<f32>::new(4);
        let mut s = line.make_scratch();
        let error = line.dct(&[0.0; 3], &mut [0.0; 4], &mut s).unwrap_err();
        assert_eq!(error, LengthError { what: "input", expected: 4, found: 3 });
    }
}
