//! Buffers: large ones on large pages, complex ones as real ones.

use num_complex::Complex;

/// Buffers from this size on ask for large pages.
#[cfg(target_os = "linux")]
const LARGE: usize = 4 << 20;

/// `n` times `value`, in memory that is touched and, where it is large and the
/// system has them to give, on 2 MiB pages.
///
/// The passes along x step through a map a row at a time; with 4 KiB pages
/// every step of theirs is another page, and a 2048 × 2048 map has more pages
/// than the processor's translation cache has entries.
pub(crate) fn filled<T: Copy>(n: usize, value: T) -> Vec<T> {
    let mut buffer = Vec::with_capacity(n);
    #[cfg(target_os = "linux")]
    if n * size_of::<T>() >= LARGE {
        let spare = buffer.spare_capacity_mut();
        let page = 2 << 20;
        let start = spare.as_mut_ptr() as usize;
        let (first, last) =
            (start.next_multiple_of(page), (start + size_of_val(spare)) / page * page);
        if first < last {
            // SAFETY: whole pages inside memory this buffer owns; the advice
            // changes how they are backed, not what they hold. A refusal is no error.
            unsafe {
                libc::madvise(first as *mut libc::c_void, last - first, libc::MADV_HUGEPAGE);
            }
        }
    }
    buffer.resize(n, value);
    buffer
}

/// Complex numbers as the real ones they consist of.
pub(crate) fn reals<T>(z: &[Complex<T>]) -> &[T] {
    // SAFETY: `Complex` is two values in C order, with the alignment of one.
    unsafe { std::slice::from_raw_parts(z.as_ptr().cast(), 2 * z.len()) }
}

/// Complex numbers as the real ones they consist of.
pub(crate) fn reals_mut<T>(z: &mut [Complex<T>]) -> &mut [T] {
    // SAFETY: as in `reals`; the borrow is exclusive.
    unsafe { std::slice::from_raw_parts_mut(z.as_mut_ptr().cast(), 2 * z.len()) }
}

#[cfg(test)]
mod tests {
    #[test]
    fn small_and_large_buffers_are_filled() {
        for n in [0, 1, 1000, (9 << 20) + 3] {
            let buffer = super::filled(n, 7u8);
            assert!(buffer.len() == n && buffer.iter().all(|&v| v == 7));
        }
    }
}
