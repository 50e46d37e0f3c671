//! Pre-processing: complex numbers for the inverse FFT from real coefficients.

use super::{Run, VolumePanel, VolumeTransform, W};
use crate::real::Real;
use crate::transform::InputElement;
use num_complex::Complex;

/// Returns `(w̄(p − jq), w(p + jq))`.
#[inline(always)]
fn inverse_butterfly<T: Real>(w: Complex<T>, p: Complex<T>, q: Complex<T>) -> [Complex<T>; 2] {
    let jq = Complex::new(-q.im, q.re);
    [w.conj() * (p - jq), w * (p + jq)]
}

impl<T: Real> VolumeTransform<T> {
    /// Four complex numbers from eight real coefficients.
    #[inline(always)]
    pub(super) fn pre_process<S: InputElement>(
        &self,
        panel: VolumePanel,
        x: &[S],
        columns: &mut [Complex<T>],
    ) {
        let (n0, stride) = (self.shape[0], self.stride[0]);
        let (v, mirror) = (panel.v, self.mirror(panel.v));
        let zeros = [Complex::default(); W];
        // Along axis 1 of row u: what belongs to v and to n1 − v.
        let along_1 = |u: usize| {
            let here = self.load(u, v, panel, x);
            // v = 0 has no mirror, v = n1/2 is its own.
            let there = match mirror {
                Some(mirror) => self.load(u, mirror, panel, x),
                None if v == 0 => zeros,
                None => here,
            };
            let mut both = [zeros; 2];
            for w in 0..panel.width {
                [both[0][w], both[1][w]] = inverse_butterfly(self.half_w[1][v], here[w], there[w]);
            }
            both
        };
        for u in 0..=n0 / 2 {
            let near = along_1(u);
            let back = n0 - u;
            let far = match () {
                () if u == 0 => [zeros; 2],
                () if back == u => near,
                () => along_1(back),
            };
            let sides = if mirror.is_some() { 2 } else { 1 };
            for (side, columns) in columns.chunks_exact_mut(W * stride).take(sides).enumerate() {
                for w in 0..panel.width {
                    let [low, high] =
                        inverse_butterfly(self.half_w[0][u], near[side][w], far[side][w]);
                    columns[w * stride + u] = low;
                    if u > 0 && back > u {
                        columns[w * stride + back] = high;
                    }
                }
            }
        }
    }

    /// Returns `½c̄(X[w] − jX[n2−w])` of one row `(u, v)` at a panel.
    #[inline(always)]
    fn load<S: InputElement>(&self, u: usize, v: usize, panel: VolumePanel, x: &[S]) -> Run<T> {
        let [_, n1, n2] = self.shape;
        let VolumePanel { first, width, .. } = panel;
        let row = &x[(u * n1 + v) * n2..][..n2];
        let half = T::of(0.5);
        let mut run = [Complex::default(); W];
        for (w, value) in run[..width].iter_mut().enumerate() {
            let w = first + w;
            let near = T::of(row[w].to_f64());
            let far = if w == 0 { T::zero() } else { T::of(row[n2 - w].to_f64()) };
            *value = self.c[w].conj() * Complex::new(half * near, -half * far);
        }
        run
    }
}
