//! Checks of the available memory before a stage begins, and buffers: on large pages if they are
//! large, and complex numbers as real ones.
//!
//! The standard library ends the process if an allocation fails. So a stage whose need depends on
//! the caller first calls [`require`] once for all its memory.

use crate::parallel;
use crate::real::Real;
use num_complex::Complex;

/// Below this size the system is not asked how much memory it has: 1 GiB.
const ALWAYS: u64 = 1 << 30;

/// More memory than the system has, or gives to this process.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{what} need about {} of memory, and {} available",
    gigabytes(*.needed),
    .available.map_or("less is".to_owned(), |there| format!("{} are", gigabytes(there)))
)]
pub struct OutOfMemory {
    what: String,
    needed: u64,
    available: Option<u64>,
}

fn gigabytes(bytes: u64) -> String {
    format!("{:.1} GB", bytes as f64 / 1e9)
}

/// Checks that `needed` more bytes, for `what` in the plural, can be allocated.
///
/// # Errors
/// If they are more than the system has available, or than it gives to this process.
pub(crate) fn require(what: &str, needed: u64) -> Result<(), OutOfMemory> {
    let missing = |available| Err(OutOfMemory { what: what.to_owned(), needed, available });
    if let Some(there) = (needed > ALWAYS).then(available).flatten().filter(|&there| needed > there)
    {
        return missing(Some(there));
    }
    let mut probe = Vec::<u8>::new();
    let bytes = usize::try_from(needed).unwrap_or(usize::MAX);
    let refused = bytes >= LARGE && probe.try_reserve_exact(bytes).is_err();
    // Else the compiler leaves the allocation out, for it is not used.
    std::hint::black_box(&probe);
    if refused { missing(None) } else { Ok(()) }
}

/// Returns the bytes that this process could still take, where the system says.
#[cfg(target_os = "linux")]
pub(crate) fn available() -> Option<u64> {
    let read = |path: &str| std::fs::read_to_string(path).ok();
    let number = |path: &str| read(path)?.trim().parse::<u64>().ok();
    let field = |text: &str, key: &str| -> Option<u64> {
        let line = text.lines().find_map(|line| line.strip_prefix(key))?;
        line.split_whitespace().next()?.parse().ok()
    };
    let memory = field(&read("/proc/meminfo")?, "MemAvailable:")? * 1024;
    // A control group may allow less (the second version's files), and so may `ulimit -v`.
    let group = || {
        let limit = number("/sys/fs/cgroup/memory.max")?;
        Some(limit.saturating_sub(number("/sys/fs/cgroup/memory.current")?))
    };
    let address_space = || {
        let limits = read("/proc/self/limits")?;
        let limit = field(&limits, "Max address space")?;
        let taken = field(&read("/proc/self/status")?, "VmSize:")? * 1024;
        Some(limit.saturating_sub(taken))
    };
    [Some(memory), group(), address_space()].into_iter().flatten().min()
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn available() -> Option<u64> {
    None
}

/// Bytes from which on a buffer asks for large pages, and a map begins with a cache line.
const LARGE: usize = 4 << 20;
/// Bytes of a cache line.
const LINE: usize = 64;

/// `n` times `value` in a buffer that may be longer, and where they begin in it: where there are
/// many, with a cache line, so that whole lines can be written.
pub(crate) fn filled_from_line<T: Copy + Send + Sync>(n: usize, value: T) -> (Vec<T>, usize) {
    let each = size_of::<T>().max(1);
    if n.saturating_mul(each) < LARGE || !LINE.is_multiple_of(each) {
        return (filled(n, value), 0);
    }
    let buffer = filled(n + LINE / each - 1, value);
    // Numbers are aligned to their size, so that one of them begins a line.
    let first = buffer.as_ptr().addr().wrapping_neg() % LINE / each;
    (buffer, first)
}

/// Returns `n` times `value`. All threads touch the memory. For large memory the system is asked
/// to use 2 MiB pages.
///
/// The passes along x step through a map a row at a time; with 4 KiB pages
/// every step of theirs is another page, and a 2048 × 2048 map has more pages
/// than the processor's translation cache has entries.
pub(crate) fn filled<T: Copy + Send + Sync>(n: usize, value: T) -> Vec<T> {
    match n.saturating_mul(size_of::<T>()) < LARGE {
        true => vec![value; n],
        false => parallel::map(n, |_| value),
    }
}

/// Returns a copy of `values`, in memory as of [`filled`].
pub(crate) fn copied<T: Copy + Send + Sync>(values: &[T]) -> Vec<T> {
    match size_of_val(values) < LARGE {
        true => values.to_vec(),
        false => parallel::map(values.len(), |i| values[i]),
    }
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
pub(crate) fn reals_mut<T: Real>(z: &mut [Complex<T>]) -> &mut [T] {
    bytemuck::cast_slice_mut(z)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_much_memory_is_refused_with_its_size() {
        assert!(require("nothing", 0).is_ok() && require("little", 1 << 20).is_ok());
        let error = require("all", 1 << 60).unwrap_err().to_string();
        assert!(error.starts_with("all need about 1152921504.6 GB of memory, and "), "{error}");
        assert!(require("all", u64::MAX).is_err());
    }

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
        assert_eq!(reals_mut(&mut z), [1.0, 2.0, 3.0, 5.0]);
        assert!(reals_mut::<f64>(&mut []).is_empty());
    }
}
