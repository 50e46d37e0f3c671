//! Post-processing: real coefficients from the FFT's complex ones.

use super::{AHEAD, Block, FusedMaps, Modify, Panel, W};
use crate::real::Real;
use num_complex::Complex;

impl<T: Real> FusedMaps<T> {
    /// Four real coefficients from two complex ones, for every pair of rows of a panel; `out` is
    /// its columns of the map and their mirrors.
    #[inline(always)]
    pub(super) fn post_process<M: Modify<T>>(
        &self,
        panel: Panel,
        columns: &[Complex<T>],
        by: &M,
        out: &mut [Block<'_, T>; 2],
    ) {
        if !panel.mirrored {
            self.post_process_edge(panel.first, columns, by, out);
        } else if panel.width == W {
            // The width of a full panel is known to the compiler: whole vectors, no remainder.
            self.post_process_mirrored(panel.first, W, columns, by, out);
        } else {
            self.post_process_mirrored(panel.first, panel.width, columns, by, out);
        }
    }

    /// The columns `first..first + width` and their mirrors.
    #[inline(always)]
    fn post_process_mirrored<M: Modify<T>>(
        &self,
        first: usize,
        width: usize,
        columns: &[Complex<T>],
        by: &M,
        [near, far]: &mut [Block<'_, T>; 2],
    ) {
        let (nx, ny, stride) = (self.nx, self.ny, self.stride);
        assert!(columns.len() >= width * stride && width <= W && nx <= stride);
        // Mirror columns run backwards: v = first + w stands at last − w.
        let last = ny - first;
        let mut b = [Complex::default(); W];
        b[..width].copy_from_slice(&self.b[first..][..width]);
        for u in 0..=nx / 2 {
            let mirror = if u == 0 { 0 } else { nx - u };
            let a = self.half_a[u];
            let ahead = u + AHEAD;
            for row in [ahead, nx - ahead.min(nx)] {
                near.prefetch(row);
                far.prefetch(row);
            }
            let mut s = [Complex::default(); W];
            let mut t = [Complex::default(); W];
            for w in 0..width {
                // SAFETY: w < width and u, mirror < nx ≤ stride, so that both are below
                // width · stride, the length asserted above.
                let (p, q) = unsafe {
                    (
                        *columns.get_unchecked(w * stride + u),
                        *columns.get_unchecked(w * stride + mirror),
                    )
                };
                let (p, q) = (a * p, a.conj() * q);
                s[w] = b[w] * (p + q);
                t[w] = b[w] * (p - q);
            }
            let near_row = &mut near.row(u)[..width];
            for w in 0..width {
                near_row[w] = by.apply(u, first + w, s[w].re);
            }
            let far_row = &mut far.row(u)[..width];
            for w in 0..width {
                far_row[width - 1 - w] = by.apply(u, last - w, -s[w].im);
            }
            if mirror <= u {
                continue;
            }
            let near_row = &mut near.row(mirror)[..width];
            for w in 0..width {
                near_row[w] = by.apply(mirror, first + w, -t[w].im);
            }
            let far_row = &mut far.row(mirror)[..width];
            for w in 0..width {
                far_row[width - 1 - w] = by.apply(mirror, last - w, -t[w].re);
            }
        }
    }

    /// The column v = 0 or v = ny/2, which is its own mirror.
    fn post_process_edge<M: Modify<T>>(
        &self,
        v: usize,
        column: &[Complex<T>],
        by: &M,
        [near, _]: &mut [Block<'_, T>; 2],
    ) {
        for u in 0..=self.nx / 2 {
            let mirror = (self.nx - u) % self.nx;
            let (p, q) = (self.half_a[u] * column[u], self.half_a[u].conj() * column[mirror]);
            let mut set = |u: usize, value: T| near.row(u)[0] = by.apply(u, v, value);
            set(u, (self.b[v] * (p + q)).re);
            if mirror > u {
                set(mirror, -(self.b[v] * (p - q)).im);
            }
        }
    }

    /// One coefficient at a time, two complex numbers read for each (Jiang et
    /// al., Table "Comparison of the naive method and our efficient method").
    #[inline(always)]
    pub(super) fn post_process_naive<M: Modify<T>>(
        &self,
        panel: Panel,
        columns: &[Complex<T>],
        by: &M,
        [near, far]: &mut [Block<'_, T>; 2],
    ) {
        let (nx, ny) = (self.nx, self.ny);
        let Panel { first, mirrored, .. } = panel;
        let last = ny - first;
        for u in 0..nx {
            let (a, mirror) = (self.half_a[u], (nx - u) % nx);
            for (w, near) in near.row(u).iter_mut().enumerate() {
                let column = &columns[w * self.stride..][..nx];
                let (p, q) = (column[u], column[mirror]);
                let value = (self.b[first + w] * (a * p + a.conj() * q)).re;
                *near = by.apply(u, first + w, value);
            }
            if !mirrored {
                continue;
            }
            for (w, far) in far.row(u).iter_mut().rev().enumerate() {
                // V[u][ny − v] is the conjugate of V[nx − u][v].
                let column = &columns[w * self.stride..][..nx];
                let (p, q) = (column[mirror].conj(), column[u].conj());
                let value = (self.b[last - w] * (a * p + a.conj() * q)).re;
                *far = by.apply(u, last - w, value);
            }
        }
    }
}
