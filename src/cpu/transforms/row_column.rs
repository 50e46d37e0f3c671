//! The row-column method: every line along y, a transpose, every line along x, a transpose back.
//!
//! Four passes over the map per transform. Within a pass a line is reordered, transformed by an
//! N-point real FFT and post-processed while it is in the L1 cache; other changes of coefficients
//! are part of the second pass of a DCT and the first of an inverse.

use super::coefficients::{Inverse, Modify};
use super::lines::{Lines, transpose};
use super::scratch::{Parts, ScratchLen};
use crate::memory::reals_mut;
use crate::real::Real;
use crate::transform::InputElement;
use crate::transform::fft::Ways;

/// Plans for maps of one size.
pub(crate) struct RowColumnMaps<T: Real> {
    along_x: Lines<T>,
    along_y: Lines<T>,
}

impl<T: Real> RowColumnMaps<T> {
    pub(crate) fn new(nx: usize, ny: usize) -> Self {
        RowColumnMaps { along_x: Lines::new(nx, Ways::Both), along_y: Lines::new(ny, Ways::Both) }
    }

    /// Returns the working memory for `maps` maps at once: two of them all.
    pub(crate) fn scratch_len(&self, maps: usize) -> ScratchLen {
        ScratchLen {
            shared: maps * self.along_x.n() * self.along_y.n(),
            per_thread: self.along_x.scratch_len().max(self.along_y.scratch_len()),
        }
    }

    /// `out = DCT2(x)`, modified, of every map in `x`.
    pub(crate) fn forward<S: InputElement>(
        &self,
        x: &[S],
        by: &impl Modify<T>,
        out: &mut [T],
        s: Parts<'_, T>,
    ) {
        let (nx, ny) = (self.along_x.n(), self.along_y.n());
        let (rows, columns) = reals_mut(s.shared)[..2 * x.len()].split_at_mut(x.len());
        self.along_y.forward(x, rows, nx, s.threads, |_, _, value| value);
        transpose(rows, nx, ny, columns);
        self.along_x.forward(columns, rows, ny, s.threads, |v, u, value| by.apply(u, v, value));
        transpose(rows, ny, nx, out);
    }

    /// The rows of an inverse: of `x`, modified, of every map in `x`.
    pub(crate) fn begin_inverse(
        &self,
        kind: Inverse,
        x: &[T],
        by: &impl Modify<T>,
        s: &mut Parts<'_, T>,
    ) {
        let (nx, ny) = (self.along_x.n(), self.along_y.n());
        let (rows, columns) = reals_mut(s.shared)[..2 * x.len()].split_at_mut(x.len());
        let [_, wave] = kind.waves();
        self.along_y.inverse(wave, x, rows, nx, s.threads, |u, v, value| by.apply(u, v, value));
        transpose(rows, nx, ny, columns);
    }

    /// The columns of an inverse, to `out`.
    pub(crate) fn end_inverse(&self, kind: Inverse, out: &mut [T], s: &mut Parts<'_, T>) {
        let (nx, ny) = (self.along_x.n(), self.along_y.n());
        let (rows, columns) = reals_mut(s.shared)[..2 * out.len()].split_at_mut(out.len());
        let [wave, _] = kind.waves();
        self.along_x.inverse(wave, columns, rows, ny, s.threads, |_, _, value| value);
        transpose(rows, ny, nx, out);
    }
}
