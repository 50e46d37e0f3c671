//! Groups items by key: a counting sort in two passes, each of which fits into the caches.

use super::{chunks_mut, concat, cut, each_mut, for_each, map, map_blocks};
use std::collections::HashMap;
use std::hash::Hash;
use std::iter::repeat_n;

/// Items that a task of the first pass takes; it sorts 8 bytes for each.
const BLOCK: usize = 1 << 15;
/// Most buckets of keys, one for each task of the second pass.
const BUCKETS: usize = 256;

/// Items grouped by key.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Groups {
    /// Place in `items` of the first item of each key, and the number of items.
    pub(crate) start: Vec<u32>,
    /// The items of key 0, then those of key 1, …; ascending within a key.
    pub(crate) items: Vec<u32>,
}

/// The items of a block by bucket.
struct Block {
    /// Place in `sorted` of the first item of each bucket, and the number of items.
    start: [u32; BUCKETS + 1],
    /// Key and item.
    sorted: Vec<[u32; 2]>,
}

/// Groups the items `0..count` by their keys, `0..keys`. Leaves out items with other keys.
pub(crate) fn group(keys: usize, count: usize, key: impl Fn(usize) -> u32 + Sync) -> Groups {
    let shift = keys.div_ceil(BUCKETS).next_power_of_two().ilog2();
    let blocks = map_blocks(count, BLOCK, |items| {
        let entries = || {
            let entries = items.clone().map(|item| [key(item), item as u32]);
            entries.filter(|[key, _]| (*key as usize) < keys)
        };
        let mut start = [0; BUCKETS + 1];
        entries().for_each(|[key, _]| start[(key >> shift) as usize] += 1);
        let sum = counts_to_places(&mut start, 0);
        let (mut next, mut sorted) = (start, vec![[0; 2]; sum as usize]);
        for entry in entries() {
            let next = &mut next[(entry[0] >> shift) as usize];
            sorted[*next as usize] = entry;
            *next += 1;
        }
        Block { start, sorted }
    });
    let first_of = |bucket| blocks.iter().map(|block| block.start[bucket]).sum();
    let first: Vec<u32> = (0..=BUCKETS).map(first_of).collect();
    let (mut start, mut items) = (vec![0; keys + 1], vec![0; first[BUCKETS] as usize]);
    start[keys] = first[BUCKETS];
    let starts = chunks_mut(&mut start[..keys], 1 << shift);
    let mut items_of = cut(&mut items, first[1..].iter().map(|&end| end as usize));
    for_each((starts, each_mut(&mut items_of)), |bucket, (start, items)| {
        let entries = || {
            blocks.iter().flat_map(|Block { start, sorted }| {
                &sorted[start[bucket] as usize..start[bucket + 1] as usize]
            })
        };
        let first_key = (bucket << shift) as u32;
        entries().for_each(|[key, _]| start[(key - first_key) as usize] += 1);
        counts_to_places(start, first[bucket]);
        let mut next = start.to_vec();
        for [key, item] in entries() {
            let next = &mut next[(key - first_key) as usize];
            items[(*next - first[bucket]) as usize] = *item;
            *next += 1;
        }
    });
    Groups { start, items }
}

/// Returns the group of each item, from the place of the first item of each group, and their number.
pub(crate) fn group_of_items(start: &[u32]) -> Vec<u32> {
    let of_group = |group| repeat_n(group as u32, (start[group + 1] - start[group]) as usize);
    concat(&map_blocks(start.len() - 1, BLOCK, |groups| groups.flat_map(of_group).collect()))
}

/// Numbers the keys of the items `0..count` in the order in which they first appear. Returns each
/// key with its first item, and the number of each item's key.
pub(crate) fn number<K: Copy + Eq + Hash + Send + Sync>(
    count: usize,
    key: impl Fn(usize) -> K + Sync,
) -> (Vec<(K, usize)>, Vec<u32>) {
    let blocks = map_blocks(count, BLOCK, |items| {
        let (mut found, mut of_items) = (Keys::default(), Vec::with_capacity(items.len()));
        // Items of one key often follow one another.
        let mut last: Option<u32> = None;
        for item in items {
            let key = key(item);
            let same = last.filter(|&number| found.all[number as usize].0 == key);
            let number = same.unwrap_or_else(|| found.number(key, item));
            last = Some(number);
            of_items.push(number);
        }
        (found.all, of_items)
    });
    let mut all = Keys::default();
    let numbers = |keys: &Vec<(K, usize)>| -> Vec<u32> {
        keys.iter().map(|&(key, item)| all.number(key, item)).collect()
    };
    let numbers: Vec<Vec<u32>> = blocks.iter().map(|(keys, _)| keys).map(numbers).collect();
    let of_items = map(count, |item| {
        let block = item / BLOCK;
        numbers[block][blocks[block].1[item % BLOCK] as usize]
    });
    (all.all, of_items)
}

/// Keys in the order in which they appear.
struct Keys<K> {
    numbers: HashMap<K, u32>,
    all: Vec<(K, usize)>,
}

impl<K> Default for Keys<K> {
    fn default() -> Self {
        Keys { numbers: HashMap::new(), all: Vec::new() }
    }
}

impl<K: Copy + Eq + Hash> Keys<K> {
    /// Returns the number of a key, of which `item` is the first if it is new.
    fn number(&mut self, key: K, item: usize) -> u32 {
        *self.numbers.entry(key).or_insert_with(|| {
            self.all.push((key, item));
            self.all.len() as u32 - 1
        })
    }
}

/// Turns the number of items of each group into the place of its first one, from `first` on.
/// Returns the place after the last item.
fn counts_to_places(counts: &mut [u32], first: u32) -> u32 {
    counts.iter_mut().fold(first, |place, count| place + std::mem::replace(count, place))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn each_item_is_in_the_group_of_its_key(
            keys in prop_oneof![0usize..4, 250usize..260, 500usize..70_000],
            count in prop_oneof![0usize..300, (2 * BLOCK - 5)..(2 * BLOCK + 5)],
            factor in 1u32..1_000_000,
        ) {
            let key = |item: usize| (item as u32).wrapping_mul(factor) % (keys as u32 + 7);
            let Groups { start, items } = group(keys, count, key);
            let mut expected: Vec<u32> = (0..count as u32).collect();
            expected.retain(|&item| (key(item as usize) as usize) < keys);
            expected.sort_by_key(|&item| key(item as usize));
            prop_assert_eq!(&items, &expected);
            prop_assert_eq!(start.len(), keys + 1);
            prop_assert_eq!(start[keys] as usize, items.len());
            let (numbered, numbers) = number(count, |item| key(item) / 3);
            let mut first: Vec<(u32, usize)> = Vec::new();
            for (item, &number) in numbers.iter().enumerate() {
                if number as usize == first.len() {
                    first.push((key(item) / 3, item));
                }
                prop_assert_eq!(first[number as usize].0, key(item) / 3);
            }
            prop_assert_eq!(numbered, first);
            let of_items = group_of_items(&start);
            prop_assert!(items.iter().map(|&item| key(item as usize)).eq(of_items));
        }
    }
}
