//! One dimension.

use crate::cpu::lines::{Lines, for_lines};
use crate::cpu::scratch::{Parts, Scratch, ScratchLen};
use crate::cpu::shared::vectorised;
use crate::real::Real;
use crate::transform::line::Wave;
use crate::transform::longer::Longer;
use crate::transform::{
    Algorithm1d, LengthError, PostProcessing, Reorder, Sample, ShapeError, Transform1d,
    check_length, check_shape,
};

/// A plan for transforms of `batch` lines of `n` values, one after the other in memory.
///
/// Lines are transformed in parallel, each by one thread.
pub struct Plan1d<T: Real> {
    kind: Transform1d,
    n: usize,
    batch: usize,
    algorithm: Algorithm1d,
    way: Way<T>,
}

/// The FFT's length decides.
enum Way<T: Real> {
    NPoint(Lines<T>),
    Longer(Longer<T>),
}

impl<T: Real> Plan1d<T> {
    /// Plans `kind` of `batch` lines of `n` values.
    ///
    /// # Errors
    /// When `n` or `batch` is zero or they are beyond any memory.
    pub fn new(
        kind: Transform1d,
        n: usize,
        batch: usize,
        algorithm: Algorithm1d,
    ) -> Result<Self, ShapeError> {
        check_shape(&[n], batch)?;
        let way = match algorithm {
            Algorithm1d::NPoint => {
                Way::NPoint(Lines::new(n, Reorder::default(), PostProcessing::default()))
            }
            longer => Way::Longer(Longer::new(n, longer)),
        };
        Ok(Plan1d { kind, n, batch, algorithm, way })
    }

    /// The transform.
    pub fn kind(&self) -> Transform1d {
        self.kind
    }

    /// Values in a line.
    pub fn n(&self) -> usize {
        self.n
    }

    /// Number of lines.
    pub fn batch(&self) -> usize {
        self.batch
    }

    /// How it computes.
    pub fn algorithm(&self) -> Algorithm1d {
        self.algorithm
    }

    /// Working memory of a call.
    pub fn scratch_len(&self) -> ScratchLen {
        let per_thread = match &self.way {
            Way::NPoint(lines) => lines.scratch_len(),
            Way::Longer(line) => line.scratch_len(),
        };
        ScratchLen { shared: 0, per_thread }
    }

    /// Working memory for the pool this is called in.
    pub fn make_scratch(&self) -> Scratch<T> {
        Scratch::new(self.scratch_len(), rayon::current_num_threads())
    }

    /// `output = kind(input)`, both `batch × n`.
    ///
    /// # Errors
    /// When a slice has another length, or `scratch` is smaller than [`Plan1d::scratch_len`].
    pub fn process<S: Sample>(
        &self,
        input: &[S],
        output: &mut [T],
        scratch: &mut Scratch<T>,
    ) -> Result<(), LengthError> {
        let values = self.batch * self.n;
        check_length("input", values, input.len())?;
        check_length("output", values, output.len())?;
        let s = scratch.parts(self.scratch_len())?;
        self.run(input, output, &s);
        Ok(())
    }

    /// [`Plan1d::process`] of slices whose lengths are known to be right.
    pub(super) fn run<S: Sample>(&self, input: &[S], output: &mut [T], s: &Parts<'_, T>) {
        match &self.way {
            Way::NPoint(lines) => match self.kind {
                Transform1d::Dct => lines.forward(input, output, 1, s.threads, |_, _, value| value),
                Transform1d::Idct => {
                    lines.inverse(Wave::Cosine, input, output, 1, s.threads, |_, _, value| value)
                }
                Transform1d::Idxst => {
                    lines.inverse(Wave::Sine, input, output, 1, s.threads, |_, _, value| value)
                }
            },
            Way::Longer(line) => for_lines(self.n, input, output, s.threads, |_, x, out, s| {
                vectorised(
                    #[inline(always)]
                    || match self.kind {
                        Transform1d::Dct => line.forward(x, out, s),
                        Transform1d::Idct => line.inverse(Wave::Cosine, x, out, s),
                        Transform1d::Idxst => line.inverse(Wave::Sine, x, out, s),
                    },
                );
            }),
        }
    }
}
