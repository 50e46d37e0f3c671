//! FFTs of one line for all algorithms here: unnormalised, with
//! the caller's working memory. Only this module uses the FFT library.

use super::Transform1d;
use crate::real::Real;
use num_complex::Complex;
use realfft::{ComplexToReal, RealFftPlanner, RealToComplex};
use rustfft::{Fft, FftPlanner};
use std::sync::Arc;

/// Which of an FFT and its inverse are planned: the tables of either take as long as the other's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ways {
    Forward,
    Inverse,
    Both,
}

impl From<Transform1d> for Ways {
    fn from(kind: Transform1d) -> Self {
        match kind {
            Transform1d::Dct => Ways::Forward,
            Transform1d::Idct | Transform1d::Idxst => Ways::Inverse,
        }
    }
}

/// The real FFT of a line of `n` values and its inverse; the spectrum is its first `n/2 + 1`
/// numbers.
pub(crate) struct RealFft<T: Real> {
    n: usize,
    forward: Option<Arc<dyn RealToComplex<T>>>,
    inverse: Option<Arc<dyn ComplexToReal<T>>>,
}

impl<T: Real> RealFft<T> {
    /// Plans both for lines of `n` values, `n ≥ 1`.
    pub(crate) fn new(n: usize) -> Self {
        RealFft::of(n, Ways::Both)
    }

    /// Plans one of them, or both.
    pub(crate) fn of(n: usize, ways: Ways) -> Self {
        let mut planner = RealFftPlanner::new();
        let forward = (ways != Ways::Inverse).then(|| planner.plan_fft_forward(n));
        let inverse = (ways != Ways::Forward).then(|| planner.plan_fft_inverse(n));
        RealFft { n, forward, inverse }
    }

    /// Returns the number of values of a line.
    pub(crate) fn len(&self) -> usize {
        self.n
    }

    /// Returns the number of complex numbers of working memory for the planned ways.
    pub(crate) fn scratch_len(&self) -> usize {
        let forward = self.forward.as_ref().map_or(0, |fft| fft.get_scratch_len());
        self.inverse.as_ref().map_or(forward, |fft| forward.max(fft.get_scratch_len()))
    }

    /// `spectrum` = FFT of `line`, which is destroyed.
    ///
    /// # Panics
    /// When a slice is not of the planned length, `scratch` is too short, or it is not planned.
    #[inline(always)]
    pub(crate) fn forward(
        &self,
        line: &mut [T],
        spectrum: &mut [Complex<T>],
        scratch: &mut [Complex<T>],
    ) {
        let fft = self.forward.as_ref().expect("the FFT is planned");
        let done = fft.process_with_scratch(line, spectrum, scratch);
        done.expect("buffers are made for this length");
    }

    /// `line` = inverse FFT of `spectrum`, which is destroyed.
    ///
    /// The imaginary parts of the first number, and for even `n` of the last, count as zero:
    /// they are in exact arithmetic.
    ///
    /// # Panics
    /// When a slice is not of the planned length, `scratch` is too short, or it is not planned.
    #[inline(always)]
    pub(crate) fn inverse(
        &self,
        spectrum: &mut [Complex<T>],
        line: &mut [T],
        scratch: &mut [Complex<T>],
    ) {
        spectrum[0].im = T::zero();
        if self.n.is_multiple_of(2) {
            spectrum[self.n / 2].im = T::zero();
        }
        let fft = self.inverse.as_ref().expect("the inverse is planned");
        let done = fft.process_with_scratch(spectrum, line, scratch);
        done.expect("buffers are made for this length");
    }
}

/// The complex FFT of a line, or its inverse, in place.
pub(crate) struct ComplexFft<T: Real>(Arc<dyn Fft<T>>);

impl<T: Real> ComplexFft<T> {
    /// Plans the FFT and the inverse FFT of lines of `n` numbers.
    pub(crate) fn both(n: usize) -> [Self; 2] {
        let mut planner = FftPlanner::new();
        [ComplexFft(planner.plan_fft_forward(n)), ComplexFft(planner.plan_fft_inverse(n))]
    }

    /// Returns the number of complex numbers of working memory.
    pub(crate) fn scratch_len(&self) -> usize {
        self.0.get_inplace_scratch_len()
    }

    /// Transforms every line of `lines`, one after the other in memory.
    ///
    /// # Panics
    /// When `lines` are not whole lines, or `scratch` is too short.
    #[inline(always)]
    pub(crate) fn run(&self, lines: &mut [Complex<T>], scratch: &mut [Complex<T>]) {
        self.0.process_with_scratch(lines, scratch);
    }
}
