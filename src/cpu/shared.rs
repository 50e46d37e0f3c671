//! What the passes over a map share: working memory per thread, and writing
//! disjoint column panels from several threads.

use crate::real::Real;
use num_complex::Complex;
use std::marker::PhantomData;
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
    /// work of its own: a stolen task could come back for the same value.
    #[inline]
    pub(crate) fn with<R>(&self, work: impl FnOnce(&mut S) -> R) -> R {
        let index = rayon::current_thread_index().unwrap_or(0) % self.slots.len();
        work(&mut self.slots[index].lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A row-major matrix that several threads write, each its own columns.
pub(crate) struct ColumnPanels<'a, T> {
    start: *mut T,
    rows: usize,
    columns: usize,
    _borrow: PhantomData<&'a mut [T]>,
}

// SAFETY: the matrix is borrowed exclusively for 'a, and `segment` obliges
// callers to keep what they write disjoint, so sharing the pointer between
// threads is no more than handing out disjoint `&mut [T]`.
unsafe impl<T: Send> Send for ColumnPanels<'_, T> {}
// SAFETY: as for `Send`.
unsafe impl<T: Send> Sync for ColumnPanels<'_, T> {}

impl<'a, T> ColumnPanels<'a, T> {
    /// Borrows a matrix of `columns` columns.
    pub(crate) fn new(matrix: &'a mut [T], columns: usize) -> Self {
        assert_eq!(matrix.len() % columns, 0);
        ColumnPanels {
            start: matrix.as_mut_ptr(),
            rows: matrix.len() / columns,
            columns,
            _borrow: PhantomData,
        }
    }

    /// The rows `first..first + rows` alone; what holds for segments holds for
    /// those of every such part together.
    #[inline(always)]
    pub(crate) fn rows(&self, first: usize, rows: usize) -> ColumnPanels<'_, T> {
        assert!(first + rows <= self.rows);
        ColumnPanels {
            start: self.start.wrapping_add(first * self.columns),
            rows,
            columns: self.columns,
            _borrow: PhantomData,
        }
    }

    /// Prefetches the columns `first..first + length` of `row`, if there is such a row.
    #[inline(always)]
    pub(crate) fn prefetch(&self, row: usize, first: usize, length: usize) {
        prefetch(self.start.wrapping_add(row * self.columns + first), length);
    }

    /// The columns `first..first + length` of `row`.
    ///
    /// # Safety
    /// No two segments that live at the same time may overlap.
    #[inline(always)]
    #[allow(clippy::mut_from_ref)] // disjointness is the caller's promise
    pub(crate) unsafe fn segment(&self, row: usize, first: usize, length: usize) -> &mut [T] {
        debug_assert!(row < self.rows && first + length <= self.columns);
        // SAFETY: within the borrowed matrix by the line above; not aliased by
        // the caller's promise.
        unsafe {
            std::slice::from_raw_parts_mut(self.start.add(row * self.columns + first), length)
        }
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

/// Makes the first number, and for even `n` the last, of a half spectrum of `n`
/// real numbers real: they are in exact arithmetic, and the real FFT wants it to
/// the bit.
#[inline(always)]
pub(crate) fn make_ends_real<T: Real>(spectrum: &mut [Complex<T>], n: usize) {
    spectrum[0].im = T::zero();
    if n.is_multiple_of(2) {
        spectrum[n / 2].im = T::zero();
    }
}

/// Rows that a pass over a panel fetches ahead: each row of a panel is on
/// another page, where no hardware prefetcher follows. A fused solve of
/// 2048 × 2048 bins went from 185 to 136 ms in f64 and from 112 to 86 in f32.
pub(crate) const AHEAD: usize = 8;

/// Asks for the cache lines of `length` values from `first` on, wherever they
/// may be: a hint that never faults.
#[inline(always)]
pub(crate) fn prefetch<T>(first: *const T, length: usize) {
    #[cfg(target_arch = "x86_64")]
    for line in 0..=(length * size_of::<T>()).div_ceil(64) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch reads nothing; any address will do.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(first.cast::<i8>().wrapping_add(64 * line)) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (first, length);
}
