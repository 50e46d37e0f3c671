//! One dimension.

use super::lines::Lines;
use super::scratch::{Scratch, ScratchLen};
use crate::real::Real;
use crate::transform::{
    InputElement, LengthError, ShapeError, Transform1d, check_length, check_shape,
};

/// A plan for transforms of `batch` lines of `n` values, one after the other in memory.
///
/// Lines are transformed in parallel, each by one thread.
pub struct Plan1d<T: Real> {
    kind: Transform1d,
    batch: usize,
    lines: Lines<T>,
    scratch: Scratch<T>,
}

impl<T: Real> Plan1d<T> {
    /// Plans `kind` of one line of `n` values.
    ///
    /// # Errors
    /// See [`Plan1d::batched`].
    pub fn new(kind: Transform1d, n: usize) -> Result<Self, ShapeError> {
        Plan1d::batched(kind, n, 1)
    }

    /// Plans `kind` of `batch` lines of `n` values, for the pool this is called in.
    ///
    /// # Errors
    /// When `n` or `batch` is zero, or there is not enough memory.
    pub fn batched(kind: Transform1d, n: usize, batch: usize) -> Result<Self, ShapeError> {
        check_shape(&[n], batch)?;
        let lines = Lines::new(n, kind.into());
        let scratch = ScratchLen { shared: 0, per_thread: lines.scratch_len() };
        Ok(Plan1d { kind, batch, lines, scratch: Scratch::for_this_pool(scratch)? })
    }

    /// Returns the transform.
    pub fn kind(&self) -> Transform1d {
        self.kind
    }

    /// Returns the number of values in a line.
    #[allow(clippy::len_without_is_empty)] // never empty
    pub fn len(&self) -> usize {
        self.lines.n()
    }

    /// Returns the number of lines.
    pub fn batch(&self) -> usize {
        self.batch
    }

    /// Computes `output = kind(input)`, both `batch × n` values.
    ///
    /// # Errors
    /// When a slice has another length.
    pub fn run<S: InputElement>(
        &mut self,
        input: &[S],
        output: &mut [T],
    ) -> Result<(), LengthError> {
        let values = self.batch * self.len();
        check_length("input", values, input.len())?;
        check_length("output", values, output.len())?;
        self.lines.run(self.kind, input, output, self.scratch.parts().threads);
        Ok(())
    }
}
