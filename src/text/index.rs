//! From names to indices.

use crate::design::Names;
use crate::memory;
use crate::parallel;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Names that are looked up side by side.
const GROUP: usize = 64;

/// Longest name that is held as one number.
pub(crate) const SHORT: usize = 16;

/// A name, and what it is looked up by.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Key<'a> {
    pub(crate) name: &'a [u8],
    /// The bytes of a name of up to [`SHORT`] as a number.
    bytes: u128,
    hash: u64,
}

impl<'a> Key<'a> {
    /// Returns the key of a name.
    #[inline]
    pub(crate) fn new(name: &'a [u8]) -> Self {
        let bytes = if name.len() <= SHORT { short(name) } else { 0 };
        Key { name, bytes, hash: hash(name) }
    }

    /// Returns the key of the first `length` bytes of `text`, at most [`SHORT`]; `bytes` holds the
    /// first bytes of `text`.
    ///
    /// No branch depends on the length, so that none is mispredicted for it.
    #[inline(always)]
    pub(crate) fn at(text: &'a [u8], length: usize, bytes: &[u8; SHORT]) -> Self {
        let bytes = u128::from_le_bytes(*bytes) & FIRST[length];
        Key { name: &text[..length], bytes, hash: hash_short(bytes, length) }
    }

    /// Returns the hash of the name.
    #[inline(always)]
    pub(crate) fn hash(&self) -> u64 {
        self.hash
    }

    /// Whether the name stands at `start..end` in `text`.
    #[inline(always)]
    pub(crate) fn stands_at(&self, text: &[u8], start: usize, end: usize) -> bool {
        let length = self.name.len();
        if end - start != length {
            return false;
        }
        match text[start..].first_chunk() {
            Some(held) if length <= SHORT => {
                u128::from_le_bytes(*held) & FIRST[length] == self.bytes
            }
            _ => text[start..end] == *self.name,
        }
    }
}

/// All bits of the first so many bytes.
pub(crate) const FIRST: [u128; SHORT + 1] = {
    let mut masks = [u128::MAX; SHORT + 1];
    let mut length = 0;
    while length < SHORT {
        masks[length] = (1 << (8 * length)) - 1;
        length += 1;
    }
    masks
};

/// Finds the index of a name in a [`Names`]; of equal names the first is found.
///
/// An open-addressed table with linear probing over the names' own arena, at
/// most 3/4 full. A slot holds the upper half of the name's hash and the index
/// plus one, so that a name is compared only when 32 bits of hash agree.
///
/// A look-up misses the cache three times: slot, bounds of the name, its text.
/// Work on many names therefore goes through each step for a whole group of
/// names before the next step, so that the processor waits for many misses at
/// once: to read 8.9 M pins on random ones of 2.2 M nodes, all files included,
/// went from 6.9 s to 2.7 s of processor time with it.
#[derive(Debug)]
pub struct NameIndex<'a> {
    names: &'a Names,
    slots: Box<[AtomicU64]>,
    repeats: bool,
}

impl<'a> NameIndex<'a> {
    /// Indexes `names`, on all threads. Empty names are left out.
    pub fn new(names: &'a Names) -> Self {
        let size = (names.len() * 4 / 3 + 2).next_power_of_two();
        let mut slots = memory::with_room(size);
        slots.par_extend((0..size).into_par_iter().map(|_| AtomicU64::new(0)));
        let index = NameIndex { names, slots: slots.into(), repeats: false };
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
        let hash = hash(name);
        let mut at = hash as usize;
        loop {
            let (stop, slot) = self.probe(at, hash);
            let i = (slot as u32).checked_sub(1)?;
            let (start, end) = self.names.span(i as usize);
            if &self.names.text()[start..end] == name {
                return Some(i);
            }
            at = stop.wrapping_add(1);
        }
    }

    /// Appends the index of each of `keys` to `found`.
    ///
    /// # Errors
    /// The number of the first of them that is not known.
    pub(crate) fn find_all(&self, keys: &[Key], found: &mut Vec<u32>) -> Result<(), usize> {
        for (group, keys) in keys.chunks(GROUP).enumerate() {
            let (mut slots, mut bounds) = ([0; GROUP], [(0, 0); GROUP]);
            self.touch(keys.iter().map(|key| key.hash));
            for (slot, key) in slots.iter_mut().zip(keys) {
                *slot = self.probe(key.hash as usize, key.hash).1;
            }
            for (bounds, slot) in bounds.iter_mut().zip(slots) {
                *bounds =
                    (slot as u32).checked_sub(1).map_or((0, 0), |i| self.names.span(i as usize));
            }
            // One byte of each brings all into the cache.
            let mut first = 0;
            for (start, _) in &bounds[..keys.len()] {
                first |= self.names.text().get(*start).copied().unwrap_or(0);
            }
            std::hint::black_box(first);
            for (k, (key, (start, end))) in keys.iter().zip(bounds).enumerate() {
                let same = start < end && key.stands_at(self.names.text(), start, end);
                let index = if same { Some(slots[k] as u32 - 1) } else { self.find(key.name) };
                found.push(index.ok_or(group * GROUP + k)?);
            }
        }
        Ok(())
    }

    /// Brings the slots of these hashes into the cache, before anything depends on one of them.
    #[inline(always)]
    fn touch(&self, hashes: impl Iterator<Item = u64>) {
        let slots = hashes.map(|hash| &self.slots[hash as usize & (self.slots.len() - 1)]);
        std::hint::black_box(slots.fold(0, |all, slot| all | slot.load(Relaxed)));
    }

    /// From `at` on, the first slot that is free or agrees with the upper half of `hash`.
    #[inline]
    fn probe(&self, mut at: usize, hash: u64) -> (usize, u64) {
        loop {
            let slot = self.slots[at & (self.slots.len() - 1)].load(Relaxed);
            if slot == 0 || slot >> 32 == hash >> 32 {
                return (at, slot);
            }
            at = at.wrapping_add(1);
        }
    }

    /// Enters the names in `range`, a group at most; true when one was there already.
    fn insert_group(&self, range: Range<usize>) -> bool {
        let mut places = [(0, 0); GROUP];
        for (place, i) in places.iter_mut().zip(range.clone()) {
            place.1 = hash(self.names.get(i).as_bytes());
        }
        self.touch(places[..range.len()].iter().map(|place| place.1));
        for (at, hash) in &mut places[..range.len()] {
            *at = self.probe(*hash as usize, *hash).0;
        }
        range.zip(places).fold(false, |met, (i, (at, hash))| met | self.insert(i, at, hash))
    }

    /// Enters the `i`-th name, unless it is empty, at the first free slot from
    /// `at` on; true when it was there already.
    fn insert(&self, i: usize, mut at: usize, hash: u64) -> bool {
        let name = self.names.get(i);
        if name.is_empty() {
            return false;
        }
        let entry = hash >> 32 << 32 | (i as u64 + 1);
        loop {
            let slot = &self.slots[at & (self.slots.len() - 1)];
            let held = match slot.compare_exchange(0, entry, Relaxed, Relaxed) {
                Ok(_) => return false,
                Err(held) => held,
            };
            if held >> 32 == entry >> 32 && self.names.get(held as u32 as usize - 1) == name {
                // Same hash, so the smaller entry is the smaller index.
                slot.fetch_min(entry, Relaxed);
                return true;
            }
            at = at.wrapping_add(1);
        }
    }
}

/// Multiplies and folds.
#[inline(always)]
fn fold(state: u64, word: u64) -> u64 {
    const KEY: u64 = 0x9e37_79b9_7f4a_7c15; // 2^64 / golden ratio
    let wide = u128::from(state ^ word ^ 0x51_7c_c1_b7_27_22_0a_95) * u128::from(KEY);
    wide as u64 ^ (wide >> 64) as u64
}

/// Returns a hash of `bytes`, eight bytes at a time.
#[inline]
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    let length = bytes.len();
    let Some(last) = bytes.last_chunk().filter(|_| length > SHORT) else {
        return hash_short(short(bytes), length);
    };
    let words = bytes.as_chunks::<8>().0;
    let state = words.iter().fold(length as u64, |s, w| fold(s, u64::from_le_bytes(*w)));
    // The last eight bytes, some of which may have been taken already.
    fold(fold(state, u64::from_le_bytes(*last)), 0)
}

/// Returns the hash of a name of up to [`SHORT`] bytes.
#[inline(always)]
fn hash_short(bytes: u128, length: usize) -> u64 {
    fold(fold(length as u64, bytes as u64), (bytes >> 64) as u64)
}

/// Up to [`SHORT`] bytes as one number, and zeros behind them.
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
mod tests {
    use super::*;

    fn names(list: impl IntoIterator<Item = String>) -> Names {
        let mut names = Names::default();
        list.into_iter().for_each(|n| names.push(&n));
        names
    }

    #[test]
    fn every_name_is_found_and_no_other() {
        let names = names((0..100_000).map(|i| format!("o{}", i * 7)));
        let index = NameIndex::new(&names);
        assert!(!index.has_repeats());
        for i in 0..100_000 {
            assert_eq!(index.find(names.get(i).as_bytes()), Some(i as u32));
        }
        for other in ["", "o", "o1", "o700000", "O0", "o0 "] {
            assert_eq!(index.find(other.as_bytes()), None, "{other}");
        }
        let mut all: Vec<Key> =
            (0..100_000).rev().map(|i| Key::new(names.get(i).as_bytes())).collect();
        let mut found = Vec::new();
        assert_eq!(index.find_all(&all, &mut found), Ok(()));
        assert!(found.into_iter().rev().eq(0..100_000));
        for (other, at) in [("o1", 777), ("", 130), ("o70000o", 1)] {
            all[at] = Key::new(other.as_bytes());
            assert_eq!(index.find_all(&all, &mut Vec::new()), Err(at));
        }
    }

    #[test]
    fn of_equal_names_the_first_is_found() {
        let names = names((0..60_000).map(|i| format!("n{}", i % 20_000)));
        let index = NameIndex::new(&names);
        assert!(index.has_repeats());
        assert!((0..20_000).all(|i| index.find(format!("n{i}").as_bytes()) == Some(i)));
    }

    #[test]
    fn empty_names_are_left_out() {
        let names = names([String::new(), "a".into(), String::new()]);
        let index = NameIndex::new(&names);
        assert_eq!((index.find(b""), index.find(b"a")), (None, Some(1)));
        assert!(!index.has_repeats());
        assert_eq!(NameIndex::new(&Names::default()).find(b"a"), None);
    }

    #[test]
    fn names_of_any_length_differ_by_any_byte() {
        for length in 0..40_usize {
            let name: Vec<u8> = (0..length as u8).map(|i| b'a' + i).collect();
            let key = Key::new(&name);
            let text = [b"xyz", &name[..], b" and what follows it"].concat();
            assert!(key.stands_at(&text, 3, 3 + length));
            assert!(key.stands_at(&text[..3 + length], 3, 3 + length), "at the end");
            assert!(!key.stands_at(&text, 3, 4 + length));
            if length <= SHORT {
                let short = Key::at(&text[3..], length, text[3..].first_chunk().unwrap());
                assert_eq!((short.name, short.bytes), (&name[..], key.bytes));
                assert_eq!(short.hash, key.hash);
            }
            for at in 0..name.len() {
                let mut other = text.clone();
                other[3 + at] ^= 1;
                assert!(!key.stands_at(&other, 3, 3 + length), "{length} {at}");
                assert_ne!(hash(&name), hash(&other[3..3 + length]), "{length} {at}");
            }
        }
    }

    #[test]
    fn hashes_of_like_names_spread() {
        let mut low: Vec<u64> = (0..65_536).map(|i| hash(format!("o{i}").as_bytes())).collect();
        low.iter_mut().for_each(|h| *h &= 0xffff);
        low.sort_unstable();
        low.dedup();
        // A random function of 65536 keys into as many slots hits 1 - 1/e of them.
        assert!((40_000..43_000).contains(&low.len()), "{}", low.len());
    }
}
