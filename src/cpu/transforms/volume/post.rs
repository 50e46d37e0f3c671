//! Post-processing: real coefficients from the FFT's complex ones.

use super::{Block, Run, VolumePanel, VolumeTransform, W};
use crate::real::Real;
use num_complex::Complex;

/// Returns `(w·p + w̄·q, j(w·p − w̄·q))`.
#[inline(always)]
fn butterfly<T: Real>(w: Complex<T>, p: Complex<T>, q: Complex<T>) -> [Complex<T>; 2] {
    let (s, t) = (w * p, w.conj() * q);
    let d = s - t;
    [s + t, Complex::new(-d.im, d.re)]
}

impl<T: Real> VolumeTransform<T> {
    /// Eight real coefficients from four complex numbers. `out` is the panel's part of the
    /// volume and its mirror along axis 2, at v and at n1 − v.
    #[inline(always)]
    pub(super) fn post_process(
        &self,
        panel: VolumePanel,
        columns: &[Complex<T>],
        out: &mut [[Block<'_, T>; 2]; 2],
    ) {
        let n0 = self.shape[0];
        let (v, mirror) = (panel.v, self.mirror(panel.v));
        let b = self.half_w[1][v];
        for u in 0..=n0 / 2 {
            let (a, back) = (self.half_w[0][u], (n0 - u) % n0);
            let at_v = self.along_0(a, [u, back], 0, panel.width, columns);
            // Where v is its own mirror so is V: v = 0, or n1/2, which is in the half spectrum.
            let at_mirror = match mirror {
                Some(_) => self.along_0(a, [u, back], 1, panel.width, columns),
                None => at_v,
            };
            for (low_or_high, u) in [u, back].into_iter().enumerate() {
                if low_or_high == 1 && u <= n0 - u {
                    continue;
                }
                let (p, q) = (&at_v[low_or_high], &at_mirror[low_or_high]);
                let mut pair = [[Complex::default(); W]; 2];
                for w in 0..panel.width {
                    [pair[0][w], pair[1][w]] = butterfly(b, p[w], q[w]);
                }
                self.store(u, panel, &pair[0], &mut out[0]);
                if mirror.is_some() {
                    self.store(u, panel, &pair[1], &mut out[1]);
                }
            }
        }
    }

    /// Returns the DCT along axis 0 at `u` and at its mirror `back`, of one side's columns.
    #[inline(always)]
    fn along_0(
        &self,
        a: Complex<T>,
        [u, back]: [usize; 2],
        side: usize,
        width: usize,
        columns: &[Complex<T>],
    ) -> [Run<T>; 2] {
        let stride = self.stride[0];
        let columns = &columns[side * W * stride..][..W * stride];
        let mut both = [[Complex::default(); W]; 2];
        for w in 0..width {
            let (p, q) = (columns[w * stride + u], columns[w * stride + back]);
            [both[0][w], both[1][w]] = butterfly(a, p, q);
        }
        both
    }

    /// Writes the real coefficients of one row of axis 2 at a panel and at its mirror.
    #[inline(always)]
    fn store(&self, u: usize, panel: VolumePanel, y: &Run<T>, [near, far]: &mut [Block<'_, T>; 2]) {
        let VolumePanel { first, width, .. } = panel;
        let c = &self.c[first..][..width];
        let near = &mut near.row(u)[..width];
        for w in 0..width {
            near[w] = c[w].re * y[w].re - c[w].im * y[w].im;
        }
        // w = 0 has no mirror.
        let skipped = usize::from(first == 0);
        for (far, w) in far.row(u).iter_mut().rev().zip(skipped..) {
            *far = -(c[w].re * y[w].im + c[w].im * y[w].re);
        }
    }
}
