//! Post-processing: real coefficients from the FFT's complex ones.

use super::{Modify, TransposedMaps};
use crate::real::Real;
use num_complex::Complex;

impl<T: Real> TransposedMaps<T> {
    /// Four real coefficients from two complex ones, along line `u` of V: rows u and nx − u, the
    /// second empty where it is the first.
    #[inline(always)]
    pub(super) fn post_process(
        &self,
        u: usize,
        line: &[Complex<T>],
        by: &impl Modify<T>,
        [near, far]: [&mut [T]; 2],
    ) {
        let rows = [u, self.nx - u];
        if far.is_empty() {
            self.post_process_rows::<false>(rows, line, by, [near, far]);
        } else {
            self.post_process_rows::<true>(rows, line, by, [near, far]);
        }
    }

    /// Row `u` of coefficients, and row `mirror` when it is another.
    #[inline(always)]
    fn post_process_rows<const BOTH: bool>(
        &self,
        [u, mirror]: [usize; 2],
        line: &[Complex<T>],
        by: &impl Modify<T>,
        [near, far]: [&mut [T]; 2],
    ) {
        let (ny, a) = (self.ny, self.half_a[u]);
        // v = 0 and v = ny/2 are their own mirrors.
        for v in [Some(0), ny.is_multiple_of(2).then_some(ny / 2)].into_iter().flatten() {
            let s = a * (self.b[v] * line[v] + self.b[v].conj() * line[v]);
            near[v] = by.apply(u, v, s.re);
            if BOTH {
                far[v] = by.apply(mirror, v, -s.im);
            }
        }
        let count = (ny - 1) / 2;
        let b = &self.b[1..][..count];
        let (low, high) = (&line[1..][..count], &line[ny - count..]);
        // Slices of a length the loop's is: no checks in it.
        let (near_low, near_high) = near.split_at_mut(ny - count);
        let near_low = &mut near_low[1..][..count];
        let near_high = &mut near_high[..count];
        let (far_low, far_high) = far.split_at_mut(if BOTH { ny - count } else { 0 });
        let far_low = if BOTH { &mut far_low[1..][..count] } else { far_low };
        let far_high = if BOTH { &mut far_high[..count] } else { far_high };
        for k in 0..count {
            let (v, back) = (k + 1, count - 1 - k);
            let (p, q) = (b[k] * low[k], b[k].conj() * high[back]);
            let (s, t) = (a * (p + q), a * (p - q));
            near_low[k] = by.apply(u, v, s.re);
            near_high[back] = by.apply(u, ny - v, -t.im);
            if BOTH {
                far_low[k] = by.apply(mirror, v, -s.im);
                far_high[back] = by.apply(mirror, ny - v, -t.re);
            }
        }
    }
}
