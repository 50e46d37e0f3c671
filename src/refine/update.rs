//! Changes many elements of a slice on all threads.

/// Updates per thread.
pub(super) const AT_ONCE: usize = 256;

/// Calls `each` with every item of `items` that has updates, and with these updates. The updates
/// ascend in `index`, which returns the item of each.
pub(super) fn update<T: Send, U: Sync>(
    items: &mut [T],
    updates: &[U],
    index: &(impl Fn(&U) -> usize + Sync),
    each: &(impl Fn(&mut T, &[U]) + Sync),
) {
    from(items, 0, updates, index, each);
}

/// [`update`], if `items` begin with number `first`.
fn from<T: Send, U: Sync>(
    items: &mut [T],
    first: usize,
    updates: &[U],
    index: &(impl Fn(&U) -> usize + Sync),
    each: &(impl Fn(&mut T, &[U]) + Sync),
) {
    if updates.len() > AT_ONCE {
        let middle = index(&updates[updates.len() / 2]);
        let before = updates.partition_point(|update| index(update) < middle);
        if before > 0 {
            let (updates, after) = updates.split_at(before);
            let (items, others) = items.split_at_mut(middle - first);
            rayon::join(
                || from(items, first, updates, index, each),
                || from(others, middle, after, index, each),
            );
            return;
        }
    }
    for of_item in updates.chunk_by(|a, b| index(a) == index(b)) {
        each(&mut items[index(&of_item[0]) - first], of_item);
    }
}

#[cfg(test)]
mod tests;
