//! Working memory, which plans do not own: what one call at a time uses.

use super::shared::PerThread;
use crate::memory::filled;
use crate::real::Real;
use crate::transform::{LengthError, check_length};
use num_complex::Complex;

/// How much working memory a plan asks for, in complex numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScratchLen {
    /// That all threads share: maps between two passes.
    pub shared: usize,
    /// That every thread has for itself: lines, tiles, the FFTs' own.
    pub per_thread: usize,
}

impl ScratchLen {
    /// What serves either of two.
    pub(crate) fn max(self, other: ScratchLen) -> ScratchLen {
        ScratchLen {
            shared: self.shared.max(other.shared),
            per_thread: self.per_thread.max(other.per_thread),
        }
    }
}

/// Working memory for any plan that asks for as much or less.
///
/// It carries nothing from one call to the next.
pub struct Scratch<T: Real> {
    len: ScratchLen,
    shared: Vec<Complex<T>>,
    threads: PerThread<Vec<Complex<T>>>,
}

impl<T: Real> Scratch<T> {
    /// Working memory for a pool of `threads` threads. In a larger pool threads share it, and wait.
    pub fn new(len: ScratchLen, threads: usize) -> Self {
        let zeros = |n| filled(n, Complex::default());
        Scratch {
            len,
            shared: zeros(len.shared),
            threads: PerThread::new(threads, || zeros(len.per_thread)),
        }
    }

    /// Its size.
    pub fn len(&self) -> ScratchLen {
        self.len
    }

    /// Whether it holds nothing at all.
    pub fn is_empty(&self) -> bool {
        self.len == ScratchLen::default()
    }

    /// Its parts, if they are as large as `needed`.
    pub(crate) fn parts(&mut self, needed: ScratchLen) -> Result<Parts<'_, T>, LengthError> {
        let ScratchLen { shared, per_thread } = self.len;
        check_length("scratch", needed.shared, shared.min(needed.shared))?;
        check_length("scratch of a thread", needed.per_thread, per_thread.min(needed.per_thread))?;
        Ok(Parts { shared: &mut self.shared, threads: &self.threads })
    }
}

/// Borrowed working memory.
pub(crate) struct Parts<'a, T> {
    pub(crate) shared: &'a mut [Complex<T>],
    pub(crate) threads: &'a PerThread<Vec<Complex<T>>>,
}

impl<T> Parts<'_, T> {
    /// Takes `n` complex numbers of the shared part away, and leaves the rest for another.
    pub(crate) fn split(&mut self, n: usize) -> (&mut [Complex<T>], Parts<'_, T>) {
        let (taken, rest) = self.shared.split_at_mut(n);
        (taken, Parts { shared: rest, threads: self.threads })
    }

    /// The same, borrowed for less long.
    pub(crate) fn reborrow(&mut self) -> Parts<'_, T> {
        Parts { shared: self.shared, threads: self.threads }
    }
}
