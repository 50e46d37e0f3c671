//! Pre-processing: complex coefficients for the inverse FFT from real ones.

use super::{AHEAD, FusedMaps, Modify, Panel, W, prefetch};
use crate::real::Real;
use num_complex::Complex;

impl<T: Real> FusedMaps<T> {
    /// Two complex coefficients from four real ones, for every pair of rows of a panel.
    ///
    /// A sine transform takes its coefficients reversed along its axis.
    #[inline(always)]
    pub(super) fn pre_process<const SINE_X: bool, const SINE_Y: bool>(
        &self,
        panel: Panel,
        x: &[T],
        by: &impl Modify<T>,
        columns: &mut [Complex<T>],
    ) {
        if !panel.mirrored {
            self.pre_process_column::<SINE_X, SINE_Y>(panel.first, x, by, columns);
        } else if panel.width == W {
            self.pre_process_mirrored::<SINE_X, SINE_Y>(panel.first, W, x, by, columns);
        } else {
            self.pre_process_mirrored::<SINE_X, SINE_Y>(panel.first, panel.width, x, by, columns);
        }
    }

    /// The columns `first..first + width`, from themselves and their mirrors.
    #[inline(always)]
    fn pre_process_mirrored<const SINE_X: bool, const SINE_Y: bool>(
        &self,
        first: usize,
        width: usize,
        x: &[T],
        by: &impl Modify<T>,
        columns: &mut [Complex<T>],
    ) {
        let (nx, stride) = (self.nx, self.stride);
        assert!(columns.len() >= width * stride && width <= W && nx <= stride);
        let mut b = [Complex::default(); W];
        b[..width].copy_from_slice(&self.half_b[first..][..width]);
        let none = ([T::zero(); W], [T::zero(); W]);
        for u in 0..=nx / 2 {
            // u = 0 has no mirror: zero there.
            let mirror = if u == 0 { 0 } else { nx - u };
            let ahead = u + AHEAD;
            for row in [ahead, nx - ahead.min(nx)] {
                let row = x.as_ptr().wrapping_add(row * self.ny);
                prefetch(row.wrapping_add(first), width);
                prefetch(row.wrapping_add(self.ny - first + 1 - width), width);
            }
            let ((a, c), (d_row_a, d)) = match (SINE_X, u) {
                (true, 0) => (none, none),
                (false, 0) => (self.load::<SINE_Y>(0, first, width, x, by), none),
                _ => {
                    let (u, mirror) = if SINE_X { (mirror, u) } else { (u, mirror) };
                    (
                        self.load::<SINE_Y>(u, first, width, x, by),
                        self.load::<SINE_Y>(mirror, first, width, x, by),
                    )
                }
            };
            let wa = self.half_a[u];
            let ja = Complex::new(-wa.im, wa.re);
            for w in 0..width {
                let z = (wa * b[w]).conj() * Complex::new(a[w] - d[w], -(d_row_a[w] + c[w]));
                // SAFETY: w < width and u < nx ≤ stride, so that this is below width · stride,
                // the length asserted above.
                unsafe { *columns.get_unchecked_mut(w * stride + u) = z };
            }
            if mirror > u {
                for w in 0..width {
                    let z = ja * b[w].conj() * Complex::new(d_row_a[w] - c[w], -(a[w] + d[w]));
                    // SAFETY: as above; mirror < nx.
                    unsafe { *columns.get_unchecked_mut(w * stride + mirror) = z };
                }
            }
        }
    }

    /// Coefficients of row `u` at a panel's columns and at their mirrors, reversed for a sine.
    #[inline(always)]
    fn load<const SINE_Y: bool>(
        &self,
        u: usize,
        first: usize,
        width: usize,
        x: &[T],
        by: &impl Modify<T>,
    ) -> ([T; W], [T; W]) {
        let last = self.ny - first;
        let row = &x[u * self.ny..][..self.ny];
        let (near, far) = (&row[first..][..width], &row[last + 1 - width..][..width]);
        let (mut there, mut back) = ([T::zero(); W], [T::zero(); W]);
        for w in 0..width {
            there[w] = by.apply(u, first + w, near[w]);
            back[w] = by.apply(u, last - w, far[width - 1 - w]);
        }
        if SINE_Y { (back, there) } else { (there, back) }
    }

    /// The column v = 0 or v = ny/2, which is its own mirror: one complex number at a time, four
    /// real ones read for each.
    fn pre_process_column<const SINE_X: bool, const SINE_Y: bool>(
        &self,
        v: usize,
        x: &[T],
        by: &impl Modify<T>,
        column: &mut [Complex<T>],
    ) {
        let (nx, ny) = (self.nx, self.ny);
        // Coefficient (u, v) as the cosine transforms see it: reversed for a
        // sine, zero where an index reaches nx or ny.
        let at = |u: usize, v: usize| {
            if u == nx || v == ny {
                return T::zero();
            }
            let u = if SINE_X { nx - u } else { u };
            let v = if SINE_Y { ny - v } else { v };
            if u == nx || v == ny {
                return T::zero();
            }
            by.apply(u, v, x[u * ny + v])
        };
        for (u, value) in column[..nx].iter_mut().enumerate() {
            let z = Complex::new(at(u, v) - at(nx - u, ny - v), -(at(nx - u, v) + at(u, ny - v)));
            *value = (self.half_a[u] * self.half_b[v]).conj() * z;
        }
    }
}
