//! Transforms of long lines in `f64`, each by one complex FFT of four times the length: no trick
//! of the crate's own algorithms is in them.

use rustfft::FftPlanner;
use rustfft::num_complex::Complex;

/// A one-dimensional transform, as `placefield::transform` defines it.
#[derive(Clone, Copy, PartialEq)]
pub enum Line {
    Dct,
    Idct,
    Idxst,
}

/// Returns the transform of `x`: cos(πk(2n+1)/2N) and the sine are the parts of a root of unity of
/// order 4N, to the power k(2n+1).
pub fn line(kind: Line, x: &[f64]) -> Vec<f64> {
    let n = x.len();
    let mut z = vec![Complex::default(); 4 * n];
    let place = |k: usize| if kind == Line::Dct { 2 * k + 1 } else { k };
    x.iter().enumerate().for_each(|(k, &value)| z[place(k)].re = value);
    FftPlanner::new().plan_fft_forward(4 * n).process(&mut z);
    let value = |k: usize| match kind {
        Line::Dct => z[k].re,
        Line::Idct => z[2 * k + 1].re - 0.5 * x[0],
        Line::Idxst => -z[2 * k + 1].im,
    };
    (0..n).map(value).collect()
}
