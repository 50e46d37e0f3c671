//! Post-processing: real coefficients from the FFT's complex ones.

use super::{Fused, Panel, W};
use crate::cpu::modify::Modify;
use crate::cpu::shared::{AHEAD, ColumnPanels};
use crate::real::Real;
use crate::transform::PostProcessing;
use num_complex::Complex;

impl<T: Real> Fused<T> {
    /// Four real coefficients from two complex ones, for every pair of rows of a panel.
    #[inline(always)]
    pub(super) fn post_process<M: Modify<T>>(
        &self,
        panel: Panel,
        columns: &[Complex<T>],
        by: &M,
        out: &ColumnPanels<'_, T>,
    ) {
        if self.post == PostProcessing::Naive {
            self.post_process_naive(panel, columns, by, out);
        } else if !panel.mirrored {
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
        out: &ColumnPanels<'_, T>,
    ) {
        let (nx, ny, stride) = (self.nx, self.ny, self.stride);
        assert!(columns.len() >= width * stride && width <= W);
        // Mirror columns run backwards: v = first + w stands at last − w.
        let last = ny - first;
        let mut b = [Complex::default(); W];
        b[..width].copy_from_slice(&self.b[first..][..width]);
        for u in 0..=nx / 2 {
            let mirror = if u == 0 { 0 } else { nx - u };
            let a = self.half_a[u];
            let ahead = u + AHEAD;
            for row in [ahead, nx - ahead.min(nx)] {
                out.prefetch(row, first, width);
                out.prefetch(row, last + 1 - width, width);
            }
            let mut s = [Complex::default(); W];
            let mut t = [Complex::default(); W];
            for w in 0..width {
                // SAFETY: w < width and u, mirror < nx, within the length asserted above.
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
            // SAFETY: panels share neither columns nor mirror columns, and each is one task.
            let near = unsafe { out.segment(u, first, width) };
            for w in 0..width {
                near[w] = by.apply(u, first + w, s[w].re);
            }
            // SAFETY: as above.
            let near = unsafe { out.segment(u, last + 1 - width, width) };
            for w in 0..width {
                near[width - 1 - w] = by.apply(u, last - w, -s[w].im);
            }
            if mirror <= u {
                continue;
            }
            // SAFETY: as above; another row than u.
            let far = unsafe { out.segment(mirror, first, width) };
            for w in 0..width {
                far[w] = by.apply(mirror, first + w, -t[w].im);
            }
            // SAFETY: as above.
            let far = unsafe { out.segment(mirror, last + 1 - width, width) };
            for w in 0..width {
                far[width - 1 - w] = by.apply(mirror, last - w, -t[w].re);
            }
        }
    }

    /// The column v = 0 or v = ny/2, which is its own mirror.
    fn post_process_edge<M: Modify<T>>(
        &self,
        v: usize,
        column: &[Complex<T>],
        by: &M,
        out: &ColumnPanels<'_, T>,
    ) {
        for u in 0..=self.nx / 2 {
            let mirror = (self.nx - u) % self.nx;
            let (p, q) = (self.half_a[u] * column[u], self.half_a[u].conj() * column[mirror]);
            // SAFETY: column v belongs to this task alone.
            let set =
                |u: usize, value: T| unsafe { out.segment(u, v, 1)[0] = by.apply(u, v, value) };
            set(u, (self.b[v] * (p + q)).re);
            if mirror > u {
                set(mirror, -(self.b[v] * (p - q)).im);
            }
        }
    }

    /// One coefficient at a time, two complex numbers read for each (Jiang et
    /// al., Table "Comparison of the naive method and our efficient method").
    #[inline(always)]
    fn post_process_naive<M: Modify<T>>(
        &self,
        panel: Panel,
        columns: &[Complex<T>],
        by: &M,
        out: &ColumnPanels<'_, T>,
    ) {
        let (nx, ny) = (self.nx, self.ny);
        let Panel { first, width, mirrored } = panel;
        let last = ny - first;
        for u in 0..nx {
            let (a, mirror) = (self.half_a[u], (nx - u) % nx);
            // SAFETY: panels share neither columns nor mirror columns, and each is one task.
            let near = unsafe { out.segment(u, first, width) };
            for (w, near) in near.iter_mut().enumerate() {
                let column = &columns[w * self.stride..][..nx];
                let (p, q) = (column[u], column[mirror]);
                let value = (self.b[first + w] * (a * p + a.conj() * q)).re;
                *near = by.apply(u, first + w, value);
            }
            if !mirrored {
                continue;
            }
            // SAFETY: as above.
            let far = unsafe { out.segment(u, last + 1 - width, width) };
            for (w, far) in far.iter_mut().rev().enumerate() {
                // V[u][ny − v] is the conjugate of V[nx − u][v].
                let column = &columns[w * self.stride..][..nx];
                let (p, q) = (column[mirror].conj(), column[u].conj());
                let value = (self.b[last - w] * (a * p + a.conj() * q)).re;
                *far = by.apply(u, last - w, value);
            }
        }
    }
}
