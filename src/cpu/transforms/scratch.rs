//! Working memory of a plan: made with it, used by one run at a time.

use crate::memory::{OutOfMemory, filled, require};
use crate::parallel::{self, PerThread};
use crate::real::Real;
use num_complex::Complex;

/// Working memory of each thread.
pub(crate) type Threads<T> = PerThread<Vec<Complex<T>>>;

/// Working memory that a plan needs, in complex numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ScratchLen {
    /// That all threads share: maps between two passes.
    pub(crate) shared: usize,
    /// That every thread has for itself: lines, tiles, the FFTs' own.
    pub(crate) per_thread: usize,
}

impl ScratchLen {
    /// Returns memory that suffices for either.
    pub(crate) fn max(self, other: ScratchLen) -> ScratchLen {
        ScratchLen {
            shared: self.shared.max(other.shared),
            per_thread: self.per_thread.max(other.per_thread),
        }
    }
}

/// Working memory. It carries nothing from one run to the next.
pub(crate) struct Scratch<T: Real> {
    shared: Vec<Complex<T>>,
    threads: Threads<T>,
}

impl<T: Real> Scratch<T> {
    /// Returns the working memory for a pool of `threads` threads. In a larger pool threads share
    /// it, and wait.
    pub(crate) fn new(len: ScratchLen, threads: usize) -> Self {
        let zeros = |n| filled(n, Complex::default());
        Scratch {
            shared: zeros(len.shared),
            threads: PerThread::new(threads, || zeros(len.per_thread)),
        }
    }

    /// Returns the working memory for the pool this is called in.
    ///
    /// # Errors
    /// If there is not so much memory.
    pub(crate) fn for_this_pool(len: ScratchLen) -> Result<Self, OutOfMemory> {
        let threads = parallel::threads();
        let numbers = len.shared as u64 + len.per_thread as u64 * threads as u64;
        require("the arrays of the plan", numbers.saturating_mul(size_of::<Complex<T>>() as u64))?;
        Ok(Scratch::new(len, threads))
    }

    /// Returns its parts.
    pub(crate) fn parts(&mut self) -> Parts<'_, T> {
        Parts { shared: &mut self.shared, threads: &self.threads }
    }
}

/// Borrowed working memory.
pub(crate) struct Parts<'a, T> {
    pub(crate) shared: &'a mut [Complex<T>],
    pub(crate) threads: &'a Threads<T>,
}

impl<T> Parts<'_, T> {
    /// Takes `n` complex numbers of the shared part away, and leaves the rest for another.
    pub(crate) fn split(&mut self, n: usize) -> (&mut [Complex<T>], Parts<'_, T>) {
        let (taken, rest) = self.shared.split_at_mut(n);
        (taken, Parts { shared: rest, threads: self.threads })
    }

    /// Returns these parts for a shorter borrow.
    pub(crate) fn reborrow(&mut self) -> Parts<'_, T> {
        Parts { shared: self.shared, threads: self.threads }
    }
}
