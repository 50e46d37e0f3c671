//! From names to indices.

use crate::design::Names;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// Names that are looked up side by side.
const GROUP: usize = 64;

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
        let slots = (0..size).into_par_iter().map(|_| AtomicU64::new(0)).collect::<Vec<_>>();
        let index = NameIndex { names, slots: slots.into(), repeats: false };
        let repeats = AtomicBool::new(false);
        (0..names.len().div_ceil(GROUP)).into_par_iter().with_min_len(64).for_each(|group| {
            if index.insert_group(group * GROUP..names.len().min((group + 1) * GROUP)) {
                repeats.store(true, Relaxed);
            }
        });
        NameIndex { repeats: repeats.into_inner(), ..index }
    }

    /// True when a name occurs more than once.
    pub fn has_repeats(&self) -> bool {
        self.repeats
    }

    /// The names that are indexed.
    pub fn names(&self) -> &'a Names {
        self.names
    }

    /// The index of `name`.
    pub fn find(&self, name: &[u8]) -> Option<u32> {
        let hash = hash(name);
        let mut at = hash as usize;
        loop {
            let (stop, slot) = self.probe(at, hash);
            let i = (slot as u32).checked_sub(1)?;
            if self.names.get(i as usize).as_bytes() == name {
                return Some(i);
            }
            at = stop.wrapping_add(1);
        }
    }

    /// Appends the index of each of `names` to `found`.
    ///
    /// # Errors
    /// The number of the first of them that is not known.
    pub(crate) fn find_all(&self, names: &[&[u8]], found: &mut Vec<u32>) -> Result<(), usize> {
        for (group, names) in names.chunks(GROUP).enumerate() {
            let (mut slots, mut bounds) = ([0; GROUP], [(0, 0); GROUP]);
            for (slot, name) in slots.iter_mut().zip(names) {
                *slot = hash(name);
            }
            for slot in &mut slots[..names.len()] {
                *slot = self.probe(*slot as usize, *slot).1;
            }
            for (bounds, slot) in bounds.iter_mut().zip(slots) {
                *bounds =
                    (slot as u32).checked_sub(1).map_or((0, 0), |i| self.names.span(i as usize));
            }
            // One byte of each brings all into the cache.
            let mut first = 0;
            for (start, _) in &bounds[..names.len()] {
                first |= self.names.text().get(*start).copied().unwrap_or(0);
            }
            std::hint::black_box(first);
            for (k, (name, (start, end))) in names.iter().zip(bounds).enumerate() {
                let same = !name.is_empty() && equal(&self.names.text()[start..end], name);
                let index = if same { Some(slots[k] as u32 - 1) } else { self.find(name) };
                found.push(index.ok_or(group * GROUP + k)?);
            }
        }
        Ok(())
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

/// A hash of `bytes`: multiply and fold, eight bytes at a time.
#[inline]
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    const KEY: u64 = 0x9e37_79b9_7f4a_7c15; // 2^64 / golden ratio
    let fold = |state: u64, word: u64| {
        let wide = u128::from(state ^ word ^ 0x51_7c_c1_b7_27_22_0a_95) * u128::from(KEY);
        wide as u64 ^ (wide >> 64) as u64
    };
    let length = bytes.len() as u64;
    let (words, last) = (bytes.as_chunks::<8>().0, bytes.last_chunk::<8>());
    let state = words.iter().fold(length, |s, w| fold(s, u64::from_le_bytes(*w)));
    // The last eight bytes, some of which may have been taken already.
    let last = last.map_or_else(|| short(bytes), |w| u64::from_le_bytes(*w));
    fold(fold(state, last), 0)
}

/// The bytes of up to eight, which with their number tell them apart: without a loop, whose end the
/// processor would have to guess.
#[inline(always)]
fn short(bytes: &[u8]) -> u64 {
    match (bytes.first_chunk::<4>(), bytes.last_chunk::<4>(), bytes) {
        (Some(first), Some(last), _) => {
            u64::from(u32::from_le_bytes(*first)) | u64::from(u32::from_le_bytes(*last)) << 32
        }
        (_, _, [first, .., last]) => {
            let middle = bytes[bytes.len() / 2];
            u64::from(*first) | u64::from(middle) << 8 | u64::from(*last) << 16
        }
        (_, _, [only]) => u64::from(*only),
        _ => 0,
    }
}

/// Whether two names are the same: for short ones without the call and the loop of `==`.
#[inline(always)]
pub(crate) fn equal(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    let ends =
        |bytes: &[u8]| bytes.first_chunk::<8>().copied().zip(bytes.last_chunk::<8>().copied());
    match (ends(a), ends(b)) {
        (Some(a_ends), Some(b_ends)) if a.len() <= 16 => a_ends == b_ends,
        (None, None) => short(a) == short(b),
        _ => a == b,
    }
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
        let mut all: Vec<&[u8]> = (0..100_000).rev().map(|i| names.get(i).as_bytes()).collect();
        let mut found = Vec::new();
        assert_eq!(index.find_all(&all, &mut found), Ok(()));
        assert!(found.into_iter().rev().eq(0..100_000));
        for (other, at) in [("o1", 777), ("", 130), ("o70000o", 1)] {
            all[at] = other.as_bytes();
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
        for length in 0..40 {
            let name: Vec<u8> = (0..length).map(|i| b'a' + i).collect();
            assert!(equal(&name, &name.clone()));
            assert!(!equal(&name, &[&name[..], b"a"].concat()));
            for at in 0..name.len() {
                let mut other = name.clone();
                other[at] ^= 1;
                assert!(!equal(&name, &other), "{length} {at}");
                assert_ne!(hash(&name), hash(&other), "{length} {at}");
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
