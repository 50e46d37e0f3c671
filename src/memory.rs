//! Buffers: large ones on large pages, complex ones as real ones.

use crate::real::Real;
use num_complex::Complex;
use num_traits::Zero;

/// Buffers from this size on ask for large pages.
#[cfg(all(target_os = "linux", not(miri)))]
const LARGE: usize = 4 << 20;

/// `n` times `value`, in memory that is touched and, where it is large and the
/// system has them to give, on 2 MiB pages.
///
/// The passes along x step through a map a row at a time; with 4 KiB pages
/// every step of theirs is another page, and a 2048 × 2048 map has more pages
/// than the processor's translation cache has entries.
pub(crate) fn filled<T: Copy>(n: usize, value: T) -> Vec<T> {
    let mut buffer = Vec::with_capacity(n);
    advise_large_pages(buffer.spare_capacity_mut());
    buffer.resize(n, value);
    buffer
}

/// `n` zeros, on large pages as [`filled`]'s, that come from the system as they are first touched.
pub(crate) fn zeroed<T: Zero + Copy>(n: usize) -> Vec<T> {
    let mut buffer = vec![T::zero(); n];
    advise_large_pages(&mut buffer);
    buffer
}

/// Asks for large pages, where a buffer is large.
fn advise_large_pages<T>(buffer: &mut [T]) {
    #[cfg(all(target_os = "linux", not(miri)))]
    if size_of_val(buffer) >= LARGE {
        let page = 2 << 20;
        let start = buffer.as_mut_ptr() as usize;
        let (first, last) =
            (start.next_multiple_of(page), (start + size_of_val(buffer)) / page * page);
        if first < last {
            // SAFETY: whole pages inside memory that is borrowed exclusively; the advice changes
            // how they are backed, not what they hold. A refusal is no error.
            unsafe {
                libc::madvise(first as *mut libc::c_void, last - first, libc::MADV_HUGEPAGE);
            }
        }
    }
    #[cfg(not(all(target_os = "linux", not(miri))))]
    let _ = buffer;
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
            assert_eq!(zeroed::<u8>(n), filled(n, 0));
        }
    }

    #[test]
    fn complex_numbers_are_pairs_of_real_ones() {
        let mut z = [Complex::new(1.0_f32, 2.0), Complex::new(3.0, 4.0)];
        reals_mut(&mut z)[3] = 5.0;
        assert_eq!(reals(&z), [1.0, 2.0, 3.0, 5.0]);
        assert!(reals::<f64>(&[]).is_empty());
    }
}
