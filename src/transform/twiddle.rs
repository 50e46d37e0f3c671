//! Twiddle factors, computed in `f64` and rounded once.

use crate::memory::filled;
use crate::real::Real;
use num_complex::Complex;

/// Waves longer than this are made of blocks.
const LONG: usize = 4096;

/// Returns `e^{−jπk/2n}` for k = 0 … n, to within half an ulp or so of `f64`, or within 2^−52 if
/// `n` is above 4096.
///
/// Angles stay in the first octant, so that neither sine nor cosine is ever
/// taken of a large rounded angle and `k = n/2` and `k = n` come out exact.
pub fn quarter_wave(n: usize) -> Vec<Complex<f64>> {
    table(n, |w| w)
}

/// Returns what `of` makes of every number of [`quarter_wave`].
///
/// A long wave has a sine and a cosine for each of its √n blocks, and for each place in a block.
/// With `d = e^{jb} − 1`, `e^{j(a+b)}` is `e^{ja} + d·e^{ja}`: `d` is so small that rounding the
/// product adds next to nothing.
fn table<C: Copy + Send + Sync>(n: usize, of: impl Fn(Complex<f64>) -> C) -> Vec<C> {
    let angle = |k: usize| std::f64::consts::PI * k as f64 / (2 * n) as f64;
    let size = if n > LONG { n.isqrt() } else { 1 };
    let turn = |k: usize| {
        let half = (angle(k) / 2.0).sin();
        (-2.0 * half * half, angle(k).sin())
    };
    let turns: Vec<(f64, f64)> = (0..size).map(turn).collect();
    let mut waves = filled(n + 1, of(Complex::new(1.0, 0.0)));
    for first in (0..=n / 2).step_by(size) {
        let (sin, cos) = angle(first).sin_cos();
        for (k, (re, im)) in (first..=n / 2).zip(&turns) {
            let (c, s) = (cos + (re * cos - im * sin), sin + (re * sin + im * cos));
            waves[n - k] = of(Complex::new(s, 0.0 - c));
            waves[k] = of(Complex::new(c, 0.0 - s));
        }
    }
    waves
}

/// Returns [`quarter_wave`] times `scale`, rounded to `T`.
pub(crate) fn scaled_quarter_wave<T: Real>(n: usize, scale: f64) -> Vec<Complex<T>> {
    table(n, |w| Complex::new(T::cast(scale * w.re), T::cast(scale * w.im)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_waves_are_right_to_two_to_the_minus_52() {
        for n in if cfg!(miri) { vec![] } else { vec![LONG + 1, 65_536, 510_511] } {
            let angle = |k: usize| std::f64::consts::PI * k as f64 / (2 * n) as f64;
            let waves = quarter_wave(n);
            assert_eq!((waves[0].re, waves[n].im), (1.0, -1.0));
            for (k, w) in waves.iter().enumerate() {
                let octant = k.min(n - k);
                let (sin, cos) = angle(octant).sin_cos();
                let want = if octant == k { [cos, -sin] } else { [sin, -cos] };
                let off = (w.re - want[0]).abs().max((w.im - want[1]).abs());
                assert!(off <= f64::EPSILON, "{k} of {n}: {off:e}");
            }
        }
    }

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
