//! Tiles: columns of the map, and of V, to and from a thread's lines.

use super::Transposed;
use crate::cpu::maps::Inverse;
use crate::cpu::shared::{AHEAD, ColumnPanels, prefetch};
use crate::real::Real;
use crate::transform::{Reorder, Sample, permutation};
use num_complex::Complex;

impl<T: Real> Transposed<T> {
    /// Columns of the map as lines, reordered along x.
    #[inline(always)]
    pub(super) fn load_columns<S: Sample>(
        &self,
        x: &[S],
        first: usize,
        width: usize,
        lines: &mut [T],
    ) {
        let (nx, stride) = (self.nx, self.line_stride);
        let mut load = |i: usize, p: usize| {
            let row = &x[i * self.ny + first..][..width];
            prefetch(row.as_ptr().wrapping_add(AHEAD * self.ny), width);
            for (w, value) in row.iter().enumerate() {
                lines[w * stride + p] = T::of(value.to_f64());
            }
        };
        match self.reorder {
            Reorder::Gather => (0..nx).for_each(|p| load(permutation::sample(p, nx), p)),
            _ => (0..nx).for_each(|i| load(i, permutation::position(i, nx))),
        }
    }

    /// Lines as columns of the map, the reordering along x undone and a sine's odd samples negated.
    #[inline(always)]
    pub(super) fn store_columns(
        &self,
        kind: Inverse,
        lines: &[T],
        first: usize,
        width: usize,
        out: &ColumnPanels<'_, T>,
    ) {
        let (nx, stride) = (self.nx, self.line_stride);
        let (sine_x, sine_y) = kind.sines();
        let sign = |odd: bool| if odd { -T::one() } else { T::one() };
        let store = |i: usize, p: usize| {
            out.prefetch(i + AHEAD, first, width);
            // SAFETY: tiles share no column, and each is one task.
            let row = unsafe { out.segment(i, first, width) };
            let [even, odd] =
                [false, true].map(|odd| sign(sine_x && i % 2 == 1) * sign(sine_y && odd));
            for (w, value) in row.iter_mut().enumerate() {
                *value = lines[w * stride + p] * if w % 2 == 0 { even } else { odd };
            }
        };
        match self.reorder {
            Reorder::Scatter => (0..nx).for_each(|p| store(permutation::sample(p, nx), p)),
            _ => (0..nx).for_each(|i| store(i, permutation::position(i, nx))),
        }
    }

    /// The two runs of V's columns that a tile's columns are: where they begin
    /// and how long they are, even columns first. The odd ones run backwards.
    fn runs(&self, first: usize, width: usize) -> [(usize, usize); 2] {
        let (evens, odds) = (width.div_ceil(2), width / 2);
        [(first / 2, evens), (self.ny - first / 2 - odds, odds)]
    }

    /// A tile's spectra as columns of V, reordered along y.
    #[inline(always)]
    pub(super) fn store_spectra(
        &self,
        spectra: &[Complex<T>],
        first: usize,
        width: usize,
        to: &ColumnPanels<'_, Complex<T>>,
    ) {
        let stride = self.spectrum_stride;
        let [(even, evens), (odd, odds)] = self.runs(first, width);
        for u in 0..=self.nx / 2 {
            to.prefetch(u + AHEAD, even, evens);
            to.prefetch(u + AHEAD, odd, odds);
            // SAFETY: the reordering is a permutation, so tiles share no column of V.
            let run = unsafe { to.segment(u, even, evens) };
            for (w, value) in run.iter_mut().enumerate() {
                *value = spectra[2 * w * stride + u];
            }
            // SAFETY: as above; even and odd columns lie apart.
            let run = unsafe { to.segment(u, odd, odds) };
            for (w, value) in run.iter_mut().rev().enumerate() {
                *value = spectra[(2 * w + 1) * stride + u];
            }
        }
    }

    /// Columns of V as a tile's spectra, the reordering along y undone.
    #[inline(always)]
    pub(super) fn load_spectra(
        &self,
        from: &[Complex<T>],
        first: usize,
        width: usize,
        spectra: &mut [Complex<T>],
    ) {
        let stride = self.spectrum_stride;
        let [(even, evens), (odd, odds)] = self.runs(first, width);
        for (u, row) in from.chunks_exact(self.ny).enumerate() {
            let ahead = row.as_ptr().wrapping_add(AHEAD * self.ny);
            prefetch(ahead.wrapping_add(even), evens);
            prefetch(ahead.wrapping_add(odd), odds);
            for (w, &value) in row[even..][..evens].iter().enumerate() {
                spectra[2 * w * stride + u] = value;
            }
            for (w, &value) in row[odd..][..odds].iter().rev().enumerate() {
                spectra[(2 * w + 1) * stride + u] = value;
            }
        }
    }
}
