//! N-point DCT, IDCT and IDXST of one line over a real FFT of N values.

use super::{LengthError, check_length, permutation, twiddle};
use crate::real::Real;
use num_complex::Complex;
use realfft::{ComplexToReal, RealFftPlanner, RealToComplex};
use std::sync::Arc;

/// A plan for lines of one length; immutable, shared by threads.
pub struct Line<T: Real> {
    n: usize,
    r2c: Arc<dyn RealToComplex<T>>,
    c2r: Arc<dyn ComplexToReal<T>>,
    /// `e^{−jπk/2n}`, k = 0 … n.
    twiddle: Vec<Complex<T>>,
}

/// Working memory of one thread for a [`Line`].
pub struct LineScratch<T> {
    real: Vec<T>,
    spectrum: Vec<Complex<T>>,
    fft: Vec<Complex<T>>,
}

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
        assert!(n > 0, "a line has at least one value");
        let mut planner = RealFftPlanner::new();
        Line {
            n,
            r2c: planner.plan_fft_forward(n),
            c2r: planner.plan_fft_inverse(n),
            twiddle: twiddle::scaled_quarter_wave(n, 1.0),
        }
    }

    /// Number of values in a line.
    #[allow(clippy::len_without_is_empty)] // never empty
    pub fn len(&self) -> usize {
        self.n
    }

    /// Working memory for one thread.
    pub fn make_scratch(&self) -> LineScratch<T> {
        let fft = self.r2c.get_scratch_len().max(self.c2r.get_scratch_len());
        LineScratch {
            real: self.r2c.make_input_vec(),
            spectrum: self.r2c.make_output_vec(),
            fft: vec![Complex::default(); fft],
        }
    }

    /// `out = DCT(x)`.
    ///
    /// # Errors
    /// When a slice is not [`Line::len`] long.
    pub fn dct(&self, x: &[T], out: &mut [T], s: &mut LineScratch<T>) -> Result<(), LengthError> {
        self.check(x, out)?;
        self.forward(x, out, s, |_, value| value);
        Ok(())
    }

    /// `out = IDCT(x)`.
    ///
    /// # Errors
    /// When a slice is not [`Line::len`] long.
    pub fn idct(&self, x: &[T], out: &mut [T], s: &mut LineScratch<T>) -> Result<(), LengthError> {
        self.check(x, out)?;
        self.inverse(Wave::Cosine, |k| x[k], out, s);
        Ok(())
    }

    /// `out = IDXST(x)`.
    ///
    /// # Errors
    /// When a slice is not [`Line::len`] long.
    pub fn idxst(&self, x: &[T], out: &mut [T], s: &mut LineScratch<T>) -> Result<(), LengthError> {
        self.check(x, out)?;
        self.inverse(Wave::Sine, |k| x[k], out, s);
        Ok(())
    }

    fn check(&self, x: &[T], out: &[T]) -> Result<(), LengthError> {
        check_length("input", self.n, x.len())?;
        check_length("output", self.n, out.len())
    }

    /// DCT with every coefficient passed through `finish(k, X_k)`.
    #[inline(always)]
    pub(crate) fn forward(
        &self,
        x: &[T],
        out: &mut [T],
        s: &mut LineScratch<T>,
        finish: impl Fn(usize, T) -> T,
    ) {
        let n = self.n;
        permutation::reorder(x, &mut s.real);
        self.r2c
            .process_with_scratch(&mut s.real, &mut s.spectrum, &mut s.fft)
            .expect("buffers are made for this length");
        out[0] = finish(0, s.spectrum[0].re);
        for k in 1..n.div_ceil(2) {
            let z = self.twiddle[k] * s.spectrum[k];
            out[k] = finish(k, z.re);
            out[n - k] = finish(n - k, -z.im);
        }
        if n.is_multiple_of(2) {
            let h = n / 2;
            out[h] = finish(h, self.twiddle[h].re * s.spectrum[h].re);
        }
    }

    /// IDCT or IDXST of the coefficients `load(k)`.
    #[inline(always)]
    pub(crate) fn inverse(
        &self,
        wave: Wave,
        load: impl Fn(usize) -> T,
        out: &mut [T],
        s: &mut LineScratch<T>,
    ) {
        let n = self.n;
        let half = T::of(0.5);
        s.spectrum[0] = Complex::new(
            match wave {
                Wave::Cosine => half * load(0),
                Wave::Sine => T::zero(),
            },
            T::zero(),
        );
        for k in 1..n.div_ceil(2) {
            let (a, b) = match wave {
                Wave::Cosine => (load(k), load(n - k)),
                Wave::Sine => (load(n - k), load(k)),
            };
            s.spectrum[k] = self.twiddle[k].conj() * Complex::new(half * a, -half * b);
        }
        if n.is_multiple_of(2) {
            // k = n/2 meets itself: ½·w̄·(1 − j)·X is real and √½·X.
            let h = n / 2;
            s.spectrum[h] = Complex::new(self.twiddle[h].re * load(h), T::zero());
        }
        self.c2r
            .process_with_scratch(&mut s.spectrum, &mut s.real, &mut s.fft)
            .expect("buffers are made for this length");
        permutation::restore(&s.real, out, wave == Wave::Sine);
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
