//! Twiddle factors, computed in `f64` and rounded once.

use crate::real::Real;
use num_complex::Complex;

/// Returns `e^{−jπk/2n}` for k = 0 … n, to within half an ulp or so of `f64`.
///
/// Angles stay in the first octant, so that neither sine nor cosine is ever
/// taken of a large rounded angle and `k = n/2` and `k = n` come out exact.
pub fn quarter_wave(n: usize) -> Vec<Complex<f64>> {
    let angle = |k: usize| std::f64::consts::PI * k as f64 / (2 * n) as f64;
    (0..=n)
        .map(|k| {
            let (sin, cos) = if 2 * k <= n {
                angle(k).sin_cos()
            } else {
                let (sin, cos) = angle(n - k).sin_cos();
                (cos, sin)
            };
            Complex::new(cos, 0.0 - sin)
        })
        .collect()
}

/// Returns [`quarter_wave`] times `scale`, rounded to `T`.
pub(crate) fn scaled_quarter_wave<T: Real>(n: usize, scale: f64) -> Vec<Complex<T>> {
    quarter_wave(n)
        .into_iter()
        .map(|w| Complex::new(T::of(scale * w.re), T::of(scale * w.im)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_exact_and_all_lie_on_the_circle() {
        for n in [1, 2, 3, 8, 101, 4096] {
            let w = quarter_wave(n);
            assert_eq!((w[0].re, w[0].im), (1.0, 0.0));
            assert_eq!((w[n].re, w[n].im), (0.0, -1.0));
            assert!(w.iter().all(|z| (z.norm_sqr() - 1.0).abs() < 4e-16));
        }
    }
}
