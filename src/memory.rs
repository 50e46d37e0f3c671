//! Buffers: large ones on large pages, complex ones as real ones.

use crate::real::Real;
use num_complex::Complex;

/// Bytes from which on a buffer asks for large pages, and a map begins with a cache line.
const LARGE: usize = 4 << 20;
/// Bytes of a cache line.
const LINE: usize = 64;

/// `n` times `value` in a buffer that may be longer, and where they begin in it: where there are
/// many, with a cache line, so that whole lines can be written.
pub(crate) fn filled_from_line<T: Copy>(n: usize, value: T) -> (Vec<T>, usize) {
    let each = size_of::<T>().max(1);
    if n.saturating_mul(each) < LARGE || !LINE.is_multiple_of(each) {
        return (filled(n, value), 0);
    }
    let buffer = filled(n + LINE / each - 1, value);
    // Numbers are aligned to their size, so that one of them begins a line.
    let first = buffer.as_ptr().addr().wrapping_neg() % LINE / each;
    (buffer, first)
}

/// `n` times `value`, in memory that is touched and, where it is large and the
/// system has them to give, on 2 MiB pages.
///
/// The passes along x step through a map a row at a time; with 4 KiB pages
/// every step of theirs is another page, and a 2048 × 2048 map has more pages
/// than the processor's translation cache has entries.
pub(crate) fn filled<T: Copy>(n: usize, value: T) -> Vec<T> {
    let mut buffer = with_room(n);
    buffer.resize(n, value);
    buffer
}

/// Empty, with room for `n` values, on large pages as [`filled`].
pub(crate) fn with_room<T>(n: usize) -> Vec<T> {
    let mut buffer = Vec::with_capacity(n);
    if n * size_of::<T>() >= LARGE {
        let spare = buffer.spare_capacity_mut();
        on_large_pages(spare.as_mut_ptr().cast(), size_of_val(spare));
    }
    buffer
}

/// Advises the system to back so many bytes by pages of 2 MiB, where whole ones lie in them. Only
/// how they are backed changes, not their contents, so that any address will do.
#[cold]
pub(crate) fn on_large_pages(start: *mut u8, bytes: usize) {
    #[cfg(all(target_os = "linux", not(miri)))]
    {
        const PAGE: usize = 2 << 20;
        let start = start.addr();
        let (first, last) = (start.next_multiple_of(PAGE), (start + bytes) / PAGE * PAGE);
        if first < last {
            // SAFETY: advice that changes no contents; a refusal is no error.
            unsafe { libc::madvise(first as *mut libc::c_void, last - first, libc::MADV_HUGEPAGE) };
        }
    }
    #[cfg(not(all(target_os = "linux", not(miri))))]
    let _ = (start, bytes);
}

/// Complex numbers as the real ones they consist of.
pub(crate) fn reals<T: Real>(z: &[Complex<T>]) -> &[T] {
    bytemuck::cast_slice(z)
}

/// Complex numbers as the real ones they consist of.
pub(crate) fn reals_mut<T: Real>(z: &mut [Complex<T>]) -> &mut [T] {
    bytemuck::cast_slice_mut(z)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_and_large_buffers_are_filled() {
        let large = if cfg!(miri) { 1 << 12 } else { 9 << 20 };
        for n in [0, 1, 1000, large + 3] {
            let buffer = filled(n, 7u8);
            assert!(buffer.len() == n && buffer.iter().all(|&v| v == 7));
        }
    }

    #[test]
    fn many_values_begin_with_a_cache_line() {
        for n in if cfg!(miri) { [0, 1, 100] } else { [5, 1 << 20, (2 << 20) + 3] } {
            let (buffer, first) = filled_from_line(n, 7.5_f32);
            let values = &buffer[first..][..n];
            let large = n * size_of::<f32>() >= LARGE;
            assert!(!large || values.as_ptr().addr().is_multiple_of(LINE));
            assert!(values.iter().all(|&v| v == 7.5));
        }
        let (buffer, first) = filled_from_line(LARGE, [1_u8; 3]);
        assert_eq!((buffer.len(), first), (LARGE, 0), "lines have no whole number of these");
    }

    #[test]
    fn complex_numbers_are_pairs_of_real_ones() {
        let mut z = [Complex::new(1.0_f32, 2.0), Complex::new(3.0, 4.0)];
        reals_mut(&mut z)[3] = 5.0;
        assert_eq!(reals(&z), [1.0, 2.0, 3.0, 5.0]);
        assert!(reals::<f64>(&[]).is_empty());
    }
}
