//! The program's way out when memory is refused: a line and exit code 1, as for every failure.
//! The standard library aborts there. (Where the system promises more than it has, it may end the
//! program without asking; what needs much is therefore looked at before.)
//!
//! Dependencies that would take a refusal as an error (`try_reserve` in decoders of pictures) end
//! the program here as well: the allocator cannot know which caller could go on, and without it
//! every other refusal would be an abort. The library leaves its callers their own allocator.
//!
//! Large blocks get large pages: the columns of a large design are filled once, and allocating a
//! page of 4 KiB takes about as long as filling it.

use std::alloc::{GlobalAlloc, Layout, System};

/// The system's allocator, which ends the program when it is refused memory.
#[derive(Debug)]
pub struct Allocator;

// SAFETY: every call goes to the system's allocator unchanged, and so do its results.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller fulfils the conditions of `System`, which are the same.
        given(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        given(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as above.
        given(unsafe { System.realloc(at, layout, size) }, size)
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(at, layout) }
    }
}

#[inline]
fn given(memory: *mut u8, size: usize) -> *mut u8 {
    if memory.is_null() {
        refused(size);
    }
    if size >= LARGE {
        crate::memory::on_large_pages(memory, size);
    }
    memory
}

/// Blocks from this size on get large pages.
const LARGE: usize = 8 << 20;

/// Ends the program. Nothing here allocates.
#[cold]
#[cfg(target_os = "linux")]
fn refused(size: usize) -> ! {
    let (mut digits, mut first, mut rest) = ([b'0'; 20], 20, size);
    while rest > 0 {
        first -= 1;
        digits[first] = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    for part in
        [&b"placefield: out of memory: "[..], &digits[first..], b" bytes more were refused\n"]
    {
        // SAFETY: the bytes of a slice that lives.
        unsafe { libc::write(2, part.as_ptr().cast(), part.len()) };
    }
    // SAFETY: it runs nothing of this program's.
    unsafe { libc::_exit(1) }
}

/// Elsewhere than on Linux it ends as the standard library has it.
#[cold]
#[cfg(not(target_os = "linux"))]
fn refused(size: usize) -> ! {
    let layout = Layout::from_size_align(size, 1).unwrap_or(Layout::new::<u8>());
    std::alloc::handle_alloc_error(layout)
}
