//! Pre-processing: complex coefficients for the inverse FFT from real ones.

use super::{Modify, TransposedMaps};
use crate::real::Real;
use num_complex::Complex;

impl<T: Real> TransposedMaps<T> {
    /// Two complex coefficients from four real ones, along line `u`.
    #[inline(always)]
    pub(super) fn pre_process<const SINE_X: bool, const SINE_Y: bool>(
        &self,
        u: usize,
        x: &[T],
        by: &impl Modify<T>,
        z: &mut [Complex<T>],
    ) {
        let (nx, ny) = (self.nx, self.ny);
        if SINE_X && u == 0 {
            z.fill(Complex::default());
            return;
        }
        // Rows u and nx − u as the cosine transforms see them; u = 0 has no mirror: zeros.
        let (near, far) = if SINE_X { (nx - u, u) } else { (u, nx - u) };
        let near_row = &x[near * ny..][..ny];
        let far_row = if far < nx { &x[far * ny..][..ny] } else { &[] };
        let at = |row: &[T], u: usize, v: usize| by.apply(u, v, row[v]);
        // Z at (u, v) and at (u, ny − v), 0 < v < ny.
        let both = |v: usize| {
            let (v, back) = if SINE_Y { (ny - v, v) } else { (v, ny - v) };
            let (a, c) = (at(near_row, near, v), at(near_row, near, back));
            let (b, d) = match far_row.is_empty() {
                true => (T::zero(), T::zero()),
                false => (at(far_row, far, v), at(far_row, far, back)),
            };
            (Complex::new(a - d, -(b + c)), Complex::new(c - b, -(a + d)))
        };
        let half = T::of(0.5);
        let a = self.half_a[u].conj() * half;
        // v = 0 has no mirror.
        z[0] = if SINE_Y {
            Complex::default()
        } else {
            let b = if far_row.is_empty() { T::zero() } else { at(far_row, far, 0) };
            a * Complex::new(at(near_row, near, 0), -b)
        };
        for v in 1..ny.div_ceil(2) {
            let b = self.b[v];
            let (low, high) = both(v);
            z[v] = a * b.conj() * low;
            z[ny - v] = a * Complex::new(-b.im, b.re) * high;
        }
        if ny.is_multiple_of(2) {
            z[ny / 2] = a * self.b[ny / 2].conj() * both(ny / 2).0;
        }
    }
}
