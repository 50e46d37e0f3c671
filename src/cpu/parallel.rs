//! Common parts of the passes over a map: working memory per thread, and sums.

use crate::real::Real;
use std::sync::{Mutex, PoisonError};

/// One value for each thread of the pool that will use it.
pub(crate) struct PerThread<S> {
    slots: Vec<Mutex<S>>,
}

impl<S> PerThread<S> {
    /// `threads` values; a thread of a larger pool shares one.
    pub(crate) fn new(threads: usize, make: impl Fn() -> S) -> Self {
        PerThread { slots: (0..threads.max(1)).map(|_| Mutex::new(make())).collect() }
    }

    /// Runs `work` with this thread's value. `work` must not start parallel
    /// work of its own: a stolen task could wait for the same value for ever.
    #[inline]
    pub(crate) fn with<R>(&self, work: impl FnOnce(&mut S) -> R) -> R {
        let index = rayon::current_thread_index().unwrap_or(0) % self.slots.len();
        work(&mut self.slots[index].lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Runs `work` with every value in turn.
    pub(crate) fn each(&mut self, work: impl FnMut(&mut S)) {
        let slots = self.slots.iter_mut();
        slots.map(|slot| slot.get_mut().unwrap_or_else(PoisonError::into_inner)).for_each(work);
    }
}

/// Returns Σ a·b in `f64`. Eight running sums, so that the additions overlap.
#[inline(always)]
pub(crate) fn dot<T: Real>(a: &[T], b: &[T]) -> f64 {
    let (a, b) = (a.chunks_exact(8), b.chunks_exact(8));
    let rest = a.remainder().iter().zip(b.remainder());
    let rest: f64 = rest.map(|(a, b)| a.wide() * b.wide()).sum();
    let mut sums = [0.0; 8];
    for (a, b) in a.zip(b) {
        for i in 0..8 {
            sums[i] += a[i].wide() * b[i].wide();
        }
    }
    sums.iter().sum::<f64>() + rest
}
