//! A matrix that several threads write concurrently, each in its own block.

use std::marker::PhantomData;
use std::ops::Range;

/// A row-major matrix, borrowed so that threads can write disjoint blocks of it.
pub(crate) struct SharedMatrix<'a, T> {
    start: *mut T,
    rows: usize,
    columns: usize,
    _borrow: PhantomData<&'a mut [T]>,
}

// SAFETY: the matrix is borrowed exclusively for 'a, and its elements are reached only through
// blocks, which their makers promise to be disjoint. Sharing the handle between threads is then no
// more than handing out disjoint `&mut [T]`, which may be sent where `T` may.
unsafe impl<T: Send> Send for SharedMatrix<'_, T> {}
// SAFETY: as for `Send`.
unsafe impl<T: Send> Sync for SharedMatrix<'_, T> {}

/// Some columns of some rows of a [`SharedMatrix`]: exclusive access to them.
pub(crate) struct Block<'a, T> {
    start: *mut T,
    rows: usize,
    columns: usize,
    /// Distance between the beginnings of two rows.
    stride: usize,
    _borrow: PhantomData<&'a mut [T]>,
}

impl<'a, T> SharedMatrix<'a, T> {
    /// Returns a matrix of rows of `columns` elements.
    ///
    /// # Panics
    /// When `columns` is zero or does not divide the number of elements.
    pub(crate) fn new(matrix: &'a mut [T], columns: usize) -> Self {
        assert!(matrix.len().is_multiple_of(columns), "whole rows of {columns} elements");
        SharedMatrix {
            start: matrix.as_mut_ptr(),
            rows: matrix.len() / columns,
            columns,
            _borrow: PhantomData,
        }
    }

    /// Returns the given columns of the given rows.
    ///
    /// # Panics
    /// When they are not within the matrix.
    ///
    /// # Safety
    /// While the block lives no other block of this matrix may share an element with it.
    #[inline(always)]
    pub(crate) unsafe fn block(&self, rows: Range<usize>, columns: Range<usize>) -> Block<'_, T> {
        assert!(rows.start <= rows.end && rows.end <= self.rows, "rows of the matrix");
        assert!(columns.start <= columns.end && columns.end <= self.columns, "its columns");
        Block {
            // May be the end of the matrix, where the block is empty.
            start: self.start.wrapping_add(rows.start * self.columns + columns.start),
            rows: rows.len(),
            columns: columns.len(),
            stride: self.columns,
            _borrow: PhantomData,
        }
    }
}

impl<T> Block<'_, T> {
    /// Returns the block's part of its row `row`.
    ///
    /// # Panics
    /// When the block has no such row.
    #[inline(always)]
    pub(crate) fn row(&mut self, row: usize) -> &mut [T] {
        assert!(row < self.rows, "a row of the block");
        // SAFETY: `block` has made sure that these rows and columns lie within the matrix, whose
        // borrow outlives this block; no other block shares them, and this one is borrowed
        // exclusively as long as the slice is.
        unsafe { std::slice::from_raw_parts_mut(self.start.add(row * self.stride), self.columns) }
    }

    /// Whether its parts of all rows begin at multiples of so many bytes.
    #[inline(always)]
    pub(crate) fn begins_at_multiples_of(&self, bytes: usize) -> bool {
        let stride = self.stride * size_of::<T>();
        self.start.addr().is_multiple_of(bytes) && stride.is_multiple_of(bytes)
    }

    /// Prefetches the block's part of row `row`, if there is such a row.
    #[inline(always)]
    pub(crate) fn prefetch(&self, row: usize) {
        prefetch(self.start.wrapping_add(row.wrapping_mul(self.stride)), self.columns);
    }
}

/// A slice that several threads read and write at the same time, each its own elements.
pub(crate) struct SharedSlice<'a, T> {
    start: *mut T,
    len: usize,
    _borrow: PhantomData<&'a mut [T]>,
}

// SAFETY: as for the matrix: elements are reached only through parts, which are promised to be
// disjoint.
unsafe impl<T: Send> Send for SharedSlice<'_, T> {}
// SAFETY: a part may also be read by several threads.
unsafe impl<T: Send + Sync> Sync for SharedSlice<'_, T> {}

impl<'a, T> SharedSlice<'a, T> {
    pub(crate) fn new(slice: &'a mut [T]) -> Self {
        SharedSlice { start: slice.as_mut_ptr(), len: slice.len(), _borrow: PhantomData }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Returns where the slice begins.
    #[inline(always)]
    pub(crate) fn start(&self) -> *mut T {
        self.start
    }

    /// Returns `len` elements from `at` on.
    ///
    /// # Panics
    /// When they are not within the slice.
    ///
    /// # Safety
    /// While they are borrowed no other part of this slice may share an element with them.
    #[inline(always)]
    #[allow(clippy::mut_from_ref)] // disjointness is the caller's promise
    pub(crate) unsafe fn part(&self, at: usize, len: usize) -> &mut [T] {
        assert!(at <= self.len && len <= self.len - at, "elements of the slice");
        // SAFETY: the elements lie within the borrowed slice by the assertion; nothing else refers
        // to them by the caller's promise.
        unsafe { std::slice::from_raw_parts_mut(self.start.add(at), len) }
    }
}

/// Rows that a pass over a panel fetches ahead: each row of a panel is on
/// another page, where no hardware prefetcher follows. A fused solve of
/// 2048 × 2048 bins went from 185 to 136 ms in f64 and from 112 to 86 in f32.
pub(crate) const AHEAD: usize = 8;

/// Prefetches the cache lines of `length` values from `first` on, wherever they may be: a hint that
/// never faults.
#[inline(always)]
pub(crate) fn prefetch<T>(first: *const T, length: usize) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    for line in 0..=(length * size_of::<T>()).div_ceil(64) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch reads nothing and never faults; any address will do.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(first.cast::<i8>().wrapping_add(64 * line)) };
    }
    #[cfg(any(not(target_arch = "x86_64"), miri))]
    let _ = (first, length);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_parts_of_the_matrix() {
        let mut values: Vec<usize> = (0..12).collect();
        let matrix = SharedMatrix::new(&mut values, 4);
        // SAFETY: three rectangles apart from one another.
        let (mut left, mut right, mut last) = unsafe {
            (matrix.block(0..2, 0..1), matrix.block(0..2, 1..4), matrix.block(2..3, 0..4))
        };
        left.row(1)[0] = 40;
        assert_eq!(
            (left.row(0), right.row(1), &last.row(0)[..1]),
            (&mut [0][..], &mut [5, 6, 7][..], &[8][..])
        );
        right.prefetch(1000);
        last.row(0)[3] = 110;
        // SAFETY: an empty block shares nothing.
        assert!(unsafe { matrix.block(0..3, 4..4) }.row(2).is_empty());
        assert_eq!((values[4], values[11]), (40, 110));
    }

    #[test]
    fn parts_are_elements_of_the_slice() {
        let mut values = [1, 2, 3, 4];
        let slice = SharedSlice::new(&mut values);
        // SAFETY: two parts apart from one another, and an empty one.
        let (left, right, none) = unsafe { (slice.part(0, 2), slice.part(2, 2), slice.part(4, 0)) };
        (left[1], right[0]) = (20, 30);
        assert!(none.is_empty());
        for (at, len) in [(3, 2), (5, 0), (1, usize::MAX)] {
            // SAFETY: the others are no longer in use.
            let part = std::panic::AssertUnwindSafe(|| unsafe { slice.part(at, len) }.len());
            assert!(std::panic::catch_unwind(part).is_err());
        }
        assert_eq!(values, [1, 20, 30, 4]);
    }

    #[test]
    fn blocks_outside_the_matrix_are_refused() {
        let refused = |rows: Range<usize>, columns: Range<usize>, row: usize| {
            std::panic::catch_unwind(move || {
                let mut values = [0_u8; 12];
                let matrix = SharedMatrix::new(&mut values, 4);
                // SAFETY: the only block there is.
                unsafe { matrix.block(rows, columns) }.row(row)[0]
            })
            .is_err()
        };
        assert!(!refused(0..3, 0..4, 2));
        assert!(refused(0..4, 0..4, 0) && refused(0..3, 0..5, 0) && refused(0..3, 0..4, 3));
        assert!(refused(2..3, 0..4, 1) && refused(3..usize::MAX, 0..4, 0));
        assert!(std::panic::catch_unwind(|| SharedMatrix::new(&mut [0_u8; 12], 5).rows).is_err());
    }
}
