//! Allocations: none in an iteration of an engine, and never more than in proportion to a file when
//! that is read or a command works on it.

#[cfg(all(feature = "cli", target_os = "linux"))]
mod commands;
#[path = "../common/mod.rs"]
mod common;
mod engines;
mod mutated;
mod mutated_lefdef;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The system's allocator, and counts of what is asked of it.
struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// All bytes ever asked for, those held now, and the most that were held at once.
static ASKED: AtomicUsize = AtomicUsize::new(0);
static HELD: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is the system allocator's; the counters touch no memory of it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ASKED.fetch_add(layout.size(), Relaxed);
        let held = HELD.fetch_add(layout.size(), Relaxed) + layout.size();
        MOST.fetch_max(held, Relaxed);
        // SAFETY: the caller keeps `alloc`'s contract, which is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Relaxed);
        // SAFETY: `at` came from `System` through `alloc`, with this layout.
        unsafe { System.dealloc(at, layout) }
    }
}

/// The counts are of the whole process: a test holds this while it counts.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Bytes asked for while `run` runs, whichever thread asks.
fn asked(run: impl FnOnce()) -> usize {
    let before = ASKED.load(Relaxed);
    run();
    ASKED.load(Relaxed) - before
}

/// The most bytes held at once while `run` runs, less those held before.
fn most_held(run: impl FnOnce()) -> usize {
    let before = HELD.load(Relaxed);
    MOST.store(before, Relaxed);
    run();
    MOST.load(Relaxed).saturating_sub(before)
}

#[test]
fn allocations_are_counted() {
    let _alone = alone();
    let make = || drop(std::hint::black_box(vec![1u8; 3 << 20]));
    assert!(asked(make) >= 3 << 20);
    assert!((3 << 20..4 << 20).contains(&most_held(|| (0..5).for_each(|_| make()))));
    assert_eq!(asked(|| ()), 0);
}
