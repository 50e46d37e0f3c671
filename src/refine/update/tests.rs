use super::*;

#[test]
fn every_item_has_its_updates() {
    // Several updates of item 3, more than one thread makes, and scattered others.
    let mut updates: Vec<(usize, u64)> = (0..5000).map(|k| (k * k % 997, k as u64)).collect();
    updates.extend((0..2000).map(|k| (3, k)));
    updates.sort_unstable();
    let (mut items, mut expected) = (vec![0; 1000], vec![0; 1000]);
    updates.iter().for_each(|&(item, value)| expected[item] += value);
    update(&mut items, &updates, &|update| update.0, &|item: &mut u64, of| {
        *item += of.iter().map(|update| update.1).sum::<u64>();
    });
    assert_eq!(items, expected);
    update(&mut items, &updates[..0], &|update| update.0, &|item, _| *item = 0);
    assert_eq!(items, expected);
}
