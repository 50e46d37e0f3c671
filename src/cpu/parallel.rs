//! What the passes over a map share: working memory per thread, and loops
//! compiled for the processor at hand.

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
}

/// Runs a loop compiled for the widest vectors this processor has.
///
/// The library is built for the oldest processor of its family; the passes'
/// inner loops are a third faster with the vectors of the one at hand.
#[inline(always)]
pub(crate) fn vectorised<R>(work: impl FnOnce() -> R) -> R {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::is_x86_feature_detected as has;

        #[target_feature(enable = "avx2,bmi1,bmi2,fma,lzcnt,popcnt")]
        fn with_avx2<R>(work: impl FnOnce() -> R) -> R {
            work()
        }
        if has!("avx2")
            && has!("bmi1")
            && has!("bmi2")
            && has!("fma")
            && has!("lzcnt")
            && has!("popcnt")
        {
            // SAFETY: the processor has every feature that the function is compiled with.
            return unsafe { with_avx2(work) };
        }
    }
    work()
}

/// Σ a·b in `f64`. Eight running sums, so that the additions overlap.
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
