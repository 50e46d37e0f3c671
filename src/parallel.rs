//! Divides work among the threads of the current pool.
//!
//! Rayon's iterators are compiled again for each closure, with about 3,400 lines of LLVM code each,
//! a quarter of this library. Here the loop over tasks is compiled once and calls the work
//! of a task through a pointer, which takes some nanoseconds. Tasks take at least microseconds:
//! [`map`] and [`first`] process many elements at once.

mod groups;

use crate::memory::with_room;
pub(crate) use groups::{Groups, group, group_of_items, number};
use rayon::prelude::*;
use std::cell::Cell;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ops::{ControlFlow, Range};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

thread_local! {
    /// Whether this thread works with a value of [`PerThread`]; known with debug assertions only.
    static HOLDS_VALUE: Cell<bool> = const { Cell::new(false) };
}

/// Returns the number of threads that work is divided among.
pub(crate) fn threads() -> usize {
    rayon::current_num_threads()
}

/// Calls `work(i)` for each `i` of `0..count`.
pub(crate) fn each(count: usize, work: &(dyn Fn(usize) + Sync)) {
    match count {
        0 => (),
        1 => work(0),
        _ => {
            debug_assert!(!HOLDS_VALUE.get(), "work is divided while a thread holds its own value");
            (0..count).into_par_iter().for_each(work);
        }
    }
}

/// Calls `work(i, item)` for each of `items`.
#[inline]
pub(crate) fn for_each<I: Items>(items: I, work: impl Fn(usize, I::Item) + Sync) {
    // SAFETY: `each` calls with each number below the count, once.
    each(items.count(), &|i| work(i, unsafe { items.item(i) }));
}

/// Returns `of(i)` for each `i` of `0..count`.
#[inline]
pub(crate) fn map<R: Send>(count: usize, of: impl Fn(usize) -> R + Sync) -> Vec<R> {
    map_some(count, at_once(count), of)
}

/// Returns `of(range)` for each block of `size` numbers of `0..count`, the last one shorter. Each
/// block is a task.
#[inline]
pub(crate) fn map_blocks<R: Send>(
    count: usize,
    size: usize,
    of: impl Fn(Range<usize>) -> R + Sync,
) -> Vec<R> {
    let block = |block| of(block * size..count.min((block + 1) * size));
    map_some(count.div_ceil(size), 1, block)
}

/// Returns `of(i)` for each `i` of `0..count`, of which a task takes `size`.
#[inline]
fn map_some<R: Send>(count: usize, size: usize, of: impl Fn(usize) -> R + Sync) -> Vec<R> {
    let mut results = with_room(count);
    extend_some(&mut results, count, size, of);
    results
}

/// Appends `of(i)` for each `i` of `0..count`.
#[inline]
pub(crate) fn extend<R: Send>(list: &mut Vec<R>, count: usize, of: impl Fn(usize) -> R + Sync) {
    list.reserve_exact(count);
    extend_some(list, count, at_once(count), of);
}

/// Appends `of(i)` for each `i` of `0..count`, of which a task takes `size`, to a list with room.
#[inline]
fn extend_some<R: Send>(
    list: &mut Vec<R>,
    count: usize,
    size: usize,
    of: impl Fn(usize) -> R + Sync,
) {
    let room: &mut [MaybeUninit<R>] = &mut list.spare_capacity_mut()[..count];
    for_each(chunks_mut(room, size), |block, room| {
        for (i, result) in (block * size..).zip(room) {
            result.write(of(i));
        }
    });
    // SAFETY: the chunks are all of the first `count` places behind the elements, and each was
    // written to. Where `of` panics this is not reached, and the results until then are not dropped.
    unsafe { list.set_len(list.len() + count) };
}

/// Returns `of(i, item)` for each of `items`.
#[inline]
pub(crate) fn map_items<I: Items, R: Send>(
    items: I,
    of: impl Fn(usize, I::Item) -> R + Sync,
) -> Vec<R> {
    // SAFETY: `map_some` calls with each number below the count, once.
    map_some(items.count(), 1, |i| of(i, unsafe { items.item(i) }))
}

/// Returns the first of `of(0)`, `of(1)`, … `of(count - 1)` that is something.
#[inline]
pub(crate) fn first<R: Send>(count: usize, of: impl Fn(usize) -> Option<R> + Sync) -> Option<R> {
    let size = at_once(count);
    let (end, found) = (AtomicUsize::new(count), Mutex::new(None));
    each(count.div_ceil(size), &|block| {
        let range = block * size..count.min((block + 1) * size);
        if range.start >= end.load(Ordering::Relaxed) {
            return;
        }
        let Some((i, result)) = range.into_iter().find_map(|i| Some((i, of(i)?))) else { return };
        let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
        if i < end.fetch_min(i, Ordering::Relaxed) {
            *found = Some(result);
        }
    });
    found.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// Numbers that a task of [`sum`] and [`filter`] takes.
const BLOCK: usize = 1 << 14;

/// Returns the sum of `of(i)` over `0..count`; the same for any number of threads.
#[inline]
pub(crate) fn sum(count: usize, of: impl Fn(usize) -> f64 + Sync) -> f64 {
    map_blocks(count, BLOCK, |block| block.map(&of).sum::<f64>()).iter().sum()
}

/// Returns the numbers of `0..count` that `keep` accepts, ascending.
#[inline]
pub(crate) fn filter(count: usize, keep: impl Fn(usize) -> bool + Sync) -> Vec<usize> {
    let kept = |block: usize| (block * BLOCK..count.min((block + 1) * BLOCK)).filter(|&i| keep(i));
    let counts = map_some(count.div_ceil(BLOCK), 1, |block| kept(block).count());
    let mut numbers = vec![0; counts.iter().sum()];
    let ends = counts.iter().scan(0, |end, count| {
        *end += count;
        Some(*end)
    });
    for_each(each_mut(&mut cut(&mut numbers, ends)), |block, part| {
        part.iter_mut().zip(kept(block)).for_each(|(number, i)| *number = i);
    });
    numbers
}

/// Returns the elements of all lists, one list after the other.
pub(crate) fn concat<T: Copy + Send + Sync>(lists: &[Vec<T>]) -> Vec<T> {
    let ends = lists.iter().scan(0, |end, list| {
        *end += list.len();
        Some(*end)
    });
    let count = lists.iter().map(Vec::len).sum();
    let mut all = Vec::with_capacity(count);
    let mut parts = cut(&mut all.spare_capacity_mut()[..count], ends);
    for_each((each_mut(&mut parts), chunks(lists, 1)), |_, (part, list)| {
        part.write_copy_of_slice(&list[0]);
    });
    // SAFETY: the parts are all of the first `count` places, and each was written to.
    unsafe { all.set_len(count) };
    all
}

/// From one call of the watch of [`watched`] to the next.
const WATCH_EVERY: Duration = Duration::from_millis(50);
/// Reports that reach it at once.
const FIRST_REPORTS: usize = 32;

fn flow(stops: &AtomicBool) -> ControlFlow<()> {
    match stops.load(Ordering::Relaxed) {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    }
}

/// Runs `work` on a thread of the pool, where its parallel parts begin without a hand-over from
/// this thread. `work` gets a function to report progress with, and a flag that says whether it is
/// to stop before the next report.
///
/// On this thread `watch` is called with the first reports, and then with one in 50 ms, because on a
/// busy machine it can take that long until a thread wakes. If there are no new reports it is called
/// with the last one, at first with `first`. Once it breaks, reports return `Break`. Within the pool
/// `work` runs on this thread, and `watch` is called with each report.
pub(crate) fn watched<P: Send, R: Send>(
    first: P,
    watch: &mut dyn FnMut(&P) -> ControlFlow<()>,
    work: impl FnOnce(&mut dyn FnMut(P) -> ControlFlow<()>, &AtomicBool) -> R + Send,
) -> R {
    let stops = &AtomicBool::new(false);
    if rayon::current_thread_index().is_some() {
        return work(&mut |progress| watch(&progress), stops);
    }
    let (report, reports) = mpsc::channel();
    let (answer, answers) = mpsc::channel();
    let (mut result, mut last) = (None, first);
    let of_work = &mut result;
    rayon::in_place_scope(move |scope| {
        scope.spawn(move |_| {
            let (mut count, mut before) = (0, Instant::now());
            let mut report = |progress| {
                count += 1;
                if count > FIRST_REPORTS && before.elapsed() < WATCH_EVERY {
                    return flow(stops);
                }
                before = Instant::now();
                // The other ends of the channels are gone if `watch` panics.
                match report.send(progress) {
                    Ok(()) => answers.recv().unwrap_or(ControlFlow::Break(())),
                    Err(_) => ControlFlow::Break(()),
                }
            };
            *of_work = Some(work(&mut report, stops));
        });
        loop {
            let is_new = match reports.recv_timeout(WATCH_EVERY) {
                Ok(progress) => {
                    last = progress;
                    true
                }
                Err(RecvTimeoutError::Timeout) => false,
                Err(RecvTimeoutError::Disconnected) => return,
            };
            if !stops.load(Ordering::Relaxed) && watch(&last).is_break() {
                stops.store(true, Ordering::Relaxed);
            }
            if is_new && answer.send(flow(stops)).is_err() {
                return;
            }
        }
    });
    result.expect("a panic of the work has reached the caller")
}

/// Runs `there` on a thread of the pool and `here` on this one, at the same time. Returns both
/// results, that of `here` first.
pub(crate) fn join<A, B: Send>(
    there: impl FnOnce() -> B + Send,
    here: impl FnOnce() -> A,
) -> (A, B) {
    let mut given = None;
    let a = rayon::in_place_scope(|scope| {
        scope.spawn(|_| given = Some(there()));
        here()
    });
    (a, given.expect("the scope waits for its tasks"))
}

/// Returns how many of `count` elements a task takes: eight tasks a thread, so that all end at
/// about the same time, and no more than a thousand elements.
pub(crate) fn at_once(count: usize) -> usize {
    (count / (8 * threads())).clamp(1, 1024)
}

/// A list of items that tasks work on, one each.
pub(crate) trait Items: Sync {
    /// The part of the list that a task gets.
    type Item;

    /// Returns the number of items.
    fn count(&self) -> usize;

    /// Returns item `i`.
    ///
    /// # Safety
    /// `i` is less than the count, and no item is taken twice.
    unsafe fn item(&self, i: usize) -> Self::Item;
}

/// Chunks of a slice that is read.
pub(crate) struct Chunks<'a, T> {
    slice: &'a [T],
    size: usize,
}

/// Returns the chunks of `size` elements of a slice, the last one shorter.
#[inline]
pub(crate) fn chunks<T: Sync>(slice: &[T], size: usize) -> Chunks<'_, T> {
    assert!(size > 0, "chunks of at least one element");
    Chunks { slice, size }
}

impl<'a, T: Sync> Items for Chunks<'a, T> {
    type Item = &'a [T];

    #[inline]
    fn count(&self) -> usize {
        self.slice.len().div_ceil(self.size)
    }

    #[inline]
    unsafe fn item(&self, i: usize) -> &'a [T] {
        let from = i * self.size;
        &self.slice[from..self.slice.len().min(from + self.size)]
    }
}

/// Chunks of a slice that is written to.
pub(crate) struct ChunksMut<'a, T> {
    start: *mut T,
    len: usize,
    size: usize,
    _borrow: PhantomData<&'a mut [T]>,
}

// SAFETY: the slice is borrowed exclusively for 'a, and its elements are reached only through
// items, which are taken once each. Sharing the list between threads is then no more than handing
// out disjoint `&mut [T]`, which may be sent where `T` may.
unsafe impl<T: Send> Sync for ChunksMut<'_, T> {}
// SAFETY: as for `Sync`.
unsafe impl<T: Send> Send for ChunksMut<'_, T> {}

/// Returns the chunks of `size` elements of a slice to write to, the last one shorter.
#[inline]
pub(crate) fn chunks_mut<T: Send>(slice: &mut [T], size: usize) -> ChunksMut<'_, T> {
    assert!(size > 0, "chunks of at least one element");
    ChunksMut { start: slice.as_mut_ptr(), len: slice.len(), size, _borrow: PhantomData }
}

impl<'a, T: Send> Items for ChunksMut<'a, T> {
    type Item = &'a mut [T];

    #[inline]
    fn count(&self) -> usize {
        self.len.div_ceil(self.size)
    }

    #[inline]
    unsafe fn item(&self, i: usize) -> &'a mut [T] {
        let from = i * self.size;
        // SAFETY: i is below the count, so that chunk i begins within the slice and ends
        // there at the latest; chunks are disjoint and the caller takes each once.
        unsafe {
            std::slice::from_raw_parts_mut(self.start.add(from), self.size.min(self.len - from))
        }
    }
}

/// Elements of a slice, one by one.
pub(crate) struct EachMut<'a, T>(ChunksMut<'a, T>);

/// Returns the elements of a slice to write to.
#[inline]
pub(crate) fn each_mut<T: Send>(slice: &mut [T]) -> EachMut<'_, T> {
    EachMut(chunks_mut(slice, 1))
}

impl<'a, T: Send> Items for EachMut<'a, T> {
    type Item = &'a mut T;

    #[inline]
    fn count(&self) -> usize {
        self.0.count()
    }

    #[inline]
    unsafe fn item(&self, i: usize) -> &'a mut T {
        // SAFETY: as for the chunks, of which each has one element.
        unsafe { &mut self.0.item(i)[0] }
    }
}

/// Items of several lists, as many as the shortest has.
macro_rules! tuple {
    ($($list:ident $at:tt),+) => {
        impl<$($list: Items),+> Items for ($($list,)+) {
            type Item = ($($list::Item,)+);

            #[inline]
            fn count(&self) -> usize {
                [$(self.$at.count()),+].into_iter().fold(usize::MAX, usize::min)
            }

            #[inline]
            unsafe fn item(&self, i: usize) -> Self::Item {
                // SAFETY: as the caller promises.
                unsafe { ($(self.$at.item(i),)+) }
            }
        }
    };
}
tuple!(A 0, B 1);
tuple!(A 0, B 1, C 2);
tuple!(A 0, B 1, C 2, D 3);
tuple!(A 0, B 1, C 2, D 3, E 4);

/// `values` cut at each of `ends`, which ascend to their number.
pub(crate) fn cut<T>(mut values: &mut [T], ends: impl Iterator<Item = usize>) -> Vec<&mut [T]> {
    let mut from = 0;
    ends.map(|end| {
        let (part, rest) = std::mem::take(&mut values).split_at_mut(end - from);
        (from, values) = (end, rest);
        part
    })
    .collect()
}

/// One value for each thread of the pool that will use it.
pub(crate) struct PerThread<S> {
    slots: Vec<Mutex<S>>,
}

impl<S> PerThread<S> {
    /// `threads` values; a thread of a larger pool shares one.
    pub(crate) fn new(threads: usize, make: impl Fn() -> S) -> Self {
        PerThread { slots: (0..threads.max(1)).map(|_| Mutex::new(make())).collect() }
    }

    /// Returns the number of values.
    pub(crate) fn count(&self) -> usize {
        self.slots.len()
    }

    /// Calls `work(i, value)` for each `i` of `0..count`, with the value of the thread that it runs
    /// on. If there is one value, all of it runs on this thread.
    pub(crate) fn for_each(&self, count: usize, work: impl Fn(usize, &mut S) + Sync)
    where
        S: Send,
    {
        let one = |i| self.with(|value| work(i, value));
        if self.count() == 1 { (0..count).for_each(one) } else { each(count, &one) }
    }

    /// Returns how many of `count` pieces of work a task takes, at most `most`, so that there are
    /// several tasks for each thread.
    pub(crate) fn at_once(&self, count: usize, most: usize) -> usize {
        if self.count() == 1 { most } else { most.min(count / (4 * self.count())).max(1) }
    }

    /// Calls `work(range, value)` as [`PerThread::for_each`] does, for ranges of `0..count` of at
    /// most `most` numbers.
    pub(crate) fn for_each_range(
        &self,
        count: usize,
        most: usize,
        work: impl Fn(Range<usize>, &mut S) + Sync,
    ) where
        S: Send,
    {
        let size = self.at_once(count, most);
        let range = |i| i * size..count.min((i + 1) * size);
        self.for_each(count.div_ceil(size), |i, value| work(range(i), value));
    }

    /// Runs `work` with this thread's value. `work` must not divide work of its own among threads,
    /// which a debug assertion checks: a stolen task could wait for the same value for ever.
    #[inline]
    pub(crate) fn with<R>(&self, work: impl FnOnce(&mut S) -> R) -> R {
        /// Restores the mark, also after a panic.
        struct Restore(bool);
        impl Drop for Restore {
            fn drop(&mut self) {
                HOLDS_VALUE.set(self.0);
            }
        }
        let _restore = cfg!(debug_assertions).then(|| Restore(HOLDS_VALUE.replace(true)));
        let index = rayon::current_thread_index().unwrap_or(0) % self.slots.len();
        work(&mut self.slots[index].lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Runs `work` with every value in turn.
    pub(crate) fn each(&mut self, work: impl FnMut(&mut S)) {
        let slots = self.slots.iter_mut();
        slots.map(|slot| slot.get_mut().unwrap_or_else(PoisonError::into_inner)).for_each(work);
    }
}

#[cfg(test)]
mod tests;
