//! The row-column method: transforms along one axis after the other, with one pass per axis.
//!
//! A forward transform begins with the last axis and an inverse with the first. So coefficients are
//! changed when the last axes are adjacent in memory.

use super::coefficients::{Modify, Unchanged};
use super::pass::Pass;
use super::scratch::{ScratchLen, Threads};
use crate::real::Real;
use crate::transform::fft::Ways;
use crate::transform::line::Wave;

/// The passes of arrays of one shape, by axis.
pub(crate) struct RowColumn<T: Real>(Vec<Pass<T>>);

impl<T: Real> RowColumn<T> {
    /// Plans transforms of `arrays` arrays of `shape` at once.
    pub(crate) fn new(shape: &[usize], arrays: usize, ways: Ways) -> Self {
        let passes = (0..shape.len()).map(|axis| Pass::new(shape, axis, arrays, ways));
        RowColumn(passes.collect())
    }

    pub(crate) fn scratch_len(&self) -> ScratchLen {
        self.0.iter().map(Pass::scratch_len).fold(ScratchLen::default(), ScratchLen::max)
    }

    /// `to` = DCT of `from`, or of `to`, along every axis.
    pub(crate) fn forward(
        &self,
        mut from: Option<&[T]>,
        to: &mut [T],
        by: &impl Modify<T>,
        threads: &Threads<T>,
    ) {
        let (first, others) = self.0.split_first().expect("an array has an axis");
        for pass in others.iter().rev() {
            pass.forward(from.take(), to, &Unchanged, threads);
        }
        first.forward(from, to, by, threads);
    }

    /// `to` = IDXST of `from`, or of `to`, along the axis `sine` and IDCT along the others.
    pub(crate) fn inverse(
        &self,
        sine: Option<usize>,
        from: Option<&[T]>,
        to: &mut [T],
        by: &impl Modify<T>,
        threads: &Threads<T>,
    ) {
        let (first, others) = self.0.split_first().expect("an array has an axis");
        first.inverse(Wave::along(0, sine), from, to, by, threads);
        for (axis, pass) in (1..).zip(others) {
            pass.inverse(Wave::along(axis, sine), None, to, &Unchanged, threads);
        }
    }
}
