//! Maps names to indices.

use crate::design::Names;
use crate::memory;
use crate::parallel;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Names that are looked up side by side.
const GROUP: usize = 64;
/// Longest name that a slot holds itself.
const SHORT: usize = 11;
/// Bytes of a text that are compared at once.
pub(crate) const WIDE: usize = 16;

/// A name with its lookup key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Key<'a> {
    pub(crate) name: &'a [u8],
    /// The first eight bytes of a name of up to [`SHORT`], the hash of a longer one.
    head: u64,
    /// The other bytes of a short name and its length, or [`LONG`] and the length.
    tail: u32,
    hash: u64,
}

/// Marks the tail of a long name.
const LONG: u32 = 0xff00_0000;

impl<'a> Key<'a> {
    /// Returns the key of a name.
    #[inline]
    pub(crate) fn new(name: &'a [u8]) -> Self {
        match name.len() {
            0..=SHORT => Key::short(name, short(name)),
            length => {
                let (hash, tail) = (hash_long(name), LONG | length as u32);
                Key { name, head: hash, tail, hash }
            }
        }
    }

    /// Returns the key of the first `length` bytes of `text`, at most [`WIDE`]; `bytes` holds the
    /// first bytes of `text`.
    ///
    /// No branch depends on the length of a short name, so that none is mispredicted for it.
    #[inline(always)]
    pub(crate) fn at(text: &'a [u8], length: usize, bytes: &[u8; WIDE]) -> Self {
        let name = &text[..length];
        if length > SHORT {
            return Key::new(name);
        }
        Key::short(name, u128::from_le_bytes(*bytes) & FIRST[length])
    }

    /// Returns the key of a name of up to [`SHORT`] bytes.
    #[inline(always)]
    fn short(name: &'a [u8], bytes: u128) -> Self {
        let (head, tail) = (bytes as u64, (bytes >> 64) as u32 | (name.len() as u32) << 24);
        Key { name, head, tail, hash: multiply(head ^ MASK, u64::from(tail) ^ GOLDEN) }
    }
}

/// All bits of the first so many bytes.
pub(crate) const FIRST: [u128; WIDE + 1] = {
    let mut masks = [u128::MAX; WIDE + 1];
    let mut length = 0;
    while length < WIDE {
        masks[length] = (1 << (8 * length)) - 1;
        length += 1;
    }
    masks
};

/// Finds the index of a name in a [`Names`]; of equal names the first is found.
///
/// An open-addressed table with linear probing, at most half full. A slot of 16 bytes holds a name
/// of up to 11 bytes and its index, so that a look-up misses the cache once. Of a longer name it
/// holds the hash: the bounds and the text of the name are two more misses.
///
/// Many names therefore go through each step in groups, so that the processor waits for many misses
/// at once. This took the processor time to read 8.9 M pins of 2.2 M nodes, in random order, from
/// 6.9 s to 2.7 s when slots held no names.
#[derive(Debug)]
pub struct NameIndex<'a> {
    names: &'a Names,
    /// The scope of each name; empty if all have the same.
    scopes: Vec<u32>,
    slots: Box<[Slot]>,
    repeats: bool,
}

/// A place for a name in the table.
#[derive(Debug)]
struct Slot {
    /// The name's [`Key::head`]. While names are entered it may be zero instead.
    head: AtomicU64,
    /// The name's [`Key::tail`], and above it the index plus one; zero if the slot is free.
    entry: AtomicU64,
}

impl<'a> NameIndex<'a> {
    /// Indexes `names`, on all threads. Empty names are left out.
    pub fn new(names: &'a Names) -> Self {
        NameIndex::scoped(names, Vec::new())
    }

    /// Indexes `names`, each of which is known in its scope only.
    pub(crate) fn scoped(names: &'a Names, scopes: Vec<u32>) -> Self {
        // With 3/4 of the slots full, look-ups took about 1.6 times as long.
        let size = 2 * names.len() + 2;
        let mut slots = memory::with_room(size);
        let free = |_| Slot { head: AtomicU64::new(0), entry: AtomicU64::new(0) };
        slots.par_extend((0..size).into_par_iter().map(free));
        let index = NameIndex { names, scopes, slots: slots.into(), repeats: false };
        let repeats = parallel::map_blocks(names.len(), GROUP, |group| index.insert_group(group));
        NameIndex { repeats: repeats.contains(&true), ..index }
    }

    /// True when a name occurs more than once.
    pub fn has_repeats(&self) -> bool {
        self.repeats
    }

    /// Returns the names that are indexed.
    pub fn names(&self) -> &'a Names {
        self.names
    }

    /// Returns the index of `name`, if it is one of the names.
    pub fn find(&self, name: &[u8]) -> Option<u32> {
        self.find_in(0, &Key::new(name))
    }

    /// Returns the index of the name in this scope.
    #[inline(always)]
    pub(crate) fn find_in(&self, scope: u32, key: &Key) -> Option<u32> {
        let mut at = self.place(scope, key.hash);
        loop {
            let (stop, number) = self.probe(at, key);
            let i = number.checked_sub(1)?;
            if self.agrees(i, scope, key) {
                return Some(i);
            }
            at = self.behind(stop);
        }
    }

    /// Appends the index of each of `keys` to `found`.
    ///
    /// # Errors
    /// The number of the first of them that is not known.
    pub(crate) fn find_all(&self, keys: &[Key], found: &mut Vec<u32>) -> Result<(), usize> {
        for (group, keys) in keys.chunks(GROUP).enumerate() {
            self.touch(keys.iter().map(|key| self.place(0, key.hash)));
            let (mut numbers, mut any_long) = ([0; GROUP], false);
            for (number, key) in numbers.iter_mut().zip(keys) {
                *number = self.probe(self.place(0, key.hash), key).1;
                any_long |= key.tail >= LONG;
            }
            if any_long {
                let spans = numbers.map(|number| {
                    number.checked_sub(1).map_or((0, 0), |i| self.names.span(i as usize))
                });
                // One byte of each brings all into the cache.
                let first = |start: usize| self.names.text().get(start).copied().unwrap_or(0);
                std::hint::black_box(spans.iter().fold(0, |all, span| all | first(span.0)));
            }
            for (k, (key, number)) in keys.iter().zip(numbers).enumerate() {
                let index = number.checked_sub(1).filter(|&i| self.agrees(i, 0, key));
                let index = index.or_else(|| self.find(key.name));
                found.push(index.ok_or(group * GROUP + k)?);
            }
        }
        Ok(())
    }

    /// Returns the first slot of a name with this hash.
    #[inline(always)]
    fn place(&self, scope: u32, hash: u64) -> usize {
        let mixed = hash ^ u64::from(scope).wrapping_mul(GOLDEN);
        ((u128::from(mixed) * self.slots.len() as u128) >> 64) as usize
    }

    /// Returns the slot behind `at`, which is the first one behind the last.
    #[inline(always)]
    fn behind(&self, at: usize) -> usize {
        if at + 1 == self.slots.len() { 0 } else { at + 1 }
    }

    /// Whether the `i`-th name, whose slot agrees with `key`, is that of the key in this scope.
    #[inline(always)]
    fn agrees(&self, i: u32, scope: u32, key: &Key) -> bool {
        let same = key.tail < LONG || self.names.get(i as usize).as_bytes() == key.name;
        same && (self.scopes.is_empty() || self.scopes[i as usize] == scope)
    }

    /// Brings these slots into the cache, before anything depends on one of them.
    #[inline(always)]
    fn touch(&self, places: impl Iterator<Item = usize>) {
        let entries = places.map(|at| self.slots[at].entry.load(Relaxed));
        std::hint::black_box(entries.fold(0, |all, entry| all | entry));
    }

    /// Returns, from `at` on, the first slot that is free or agrees with `key`, and the index plus
    /// one that it holds.
    #[inline(always)]
    fn probe(&self, mut at: usize, key: &Key) -> (usize, u32) {
        loop {
            let slot = &self.slots[at];
            let entry = slot.entry.load(Relaxed);
            if entry == 0 || entry as u32 == key.tail && slot.head.load(Relaxed) == key.head {
                return (at, (entry >> 32) as u32);
            }
            at = self.behind(at);
        }
    }

    /// Enters the names in `range`, a group at most; true when one was there already.
    fn insert_group(&self, range: Range<usize>) -> bool {
        let mut keys = [Key::new(&[]); GROUP];
        for (key, i) in keys.iter_mut().zip(range.clone()) {
            *key = Key::new(self.names.get(i).as_bytes());
        }
        let scope = |i: usize| self.scopes.get(i).copied().unwrap_or(0);
        self.touch(keys.iter().zip(range.clone()).map(|(key, i)| self.place(scope(i), key.hash)));
        range.zip(&keys).fold(false, |met, (i, key)| met | self.insert(i, scope(i), key))
    }

    /// Enters the `i`-th name, unless it is empty, at the first free slot; true when it was there
    /// already.
    fn insert(&self, i: usize, scope: u32, key: &Key) -> bool {
        if key.name.is_empty() {
            return false;
        }
        let entry = u64::from(key.tail) | (i as u64 + 1) << 32;
        let mut at = self.place(scope, key.hash);
        loop {
            let slot = &self.slots[at];
            let held = match slot.entry.compare_exchange(0, entry, Relaxed, Relaxed) {
                Ok(_) => {
                    slot.head.store(key.head, Relaxed);
                    return false;
                }
                Err(held) => held,
            };
            // Another thread may not have stored the head yet.
            let head = slot.head.load(Relaxed);
            let other = (held >> 32) as u32 - 1;
            if held as u32 == key.tail
                && (head == key.head || head == 0)
                && self.names.get(other as usize).as_bytes() == key.name
                && self.agrees(other, scope, key)
            {
                // The same tail, so the smaller entry is the smaller index.
                slot.entry.fetch_min(entry, Relaxed);
                return true;
            }
            at = self.behind(at);
        }
    }
}

/// 2^64 over the golden ratio.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// Any bits, so that zeros are not multiplied.
const MASK: u64 = 0x51_7c_c1_b7_27_22_0a_95;

/// Returns the two halves of a product, combined.
#[inline(always)]
fn multiply(a: u64, b: u64) -> u64 {
    let wide = u128::from(a) * u128::from(b);
    wide as u64 ^ (wide >> 64) as u64
}

/// Adds a word to a hash.
#[inline(always)]
fn fold(state: u64, word: u64) -> u64 {
    multiply(state ^ word ^ MASK, GOLDEN)
}

/// Returns a hash of more than [`SHORT`] bytes, eight bytes at a time.
fn hash_long(bytes: &[u8]) -> u64 {
    let words = bytes.as_chunks::<8>().0;
    let state = words.iter().fold(bytes.len() as u64, |s, w| fold(s, u64::from_le_bytes(*w)));
    // The last eight bytes, some of which may have been taken already.
    let last = bytes.last_chunk().map_or(0, |last| u64::from_le_bytes(*last));
    fold(fold(state, last), 0)
}

/// Up to [`WIDE`] bytes as one number, and zeros behind them.
#[inline(always)]
pub(crate) fn short(bytes: &[u8]) -> u128 {
    let length = bytes.len();
    // The first and the last bytes, some of which may be the same.
    if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        let last = u128::from(u64::from_le_bytes(*last));
        return u128::from(u64::from_le_bytes(*first)) | last << (8 * (length - 8));
    }
    if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        let last = u128::from(u32::from_le_bytes(*last));
        return u128::from(u32::from_le_bytes(*first)) | last << (8 * (length - 4));
    }
    bytes.iter().rev().fold(0, |number, &byte| number << 8 | u128::from(byte))
}

#[cfg(test)]
mod tests;
