//! Many short lists in one vector.

/// Lists of `T`, one after the other.
#[derive(Clone, Debug)]
pub(crate) struct Lists<T> {
    /// Where each list begins, and the open one, to which values are added.
    start: Vec<u32>,
    /// The values of all lists; what is added here belongs to the open one.
    pub(crate) values: Vec<T>,
}

impl<T> Lists<T> {
    /// Makes no lists, and an open one.
    pub(crate) fn new() -> Self {
        Lists { start: vec![0], values: Vec::new() }
    }

    /// Ends the open list and begins another one.
    pub(crate) fn end(&mut self) {
        self.start.push(self.values.len() as u32);
    }

    /// Returns where a list begins in `values`.
    pub(crate) fn start(&self, index: usize) -> usize {
        self.start[index] as usize
    }

    /// Returns a list that has been ended.
    pub(crate) fn get(&self, index: usize) -> &[T] {
        &self.values[self.start(index)..self.start(index + 1)]
    }

    /// Returns the lists that have been ended, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &[T]> {
        (1..self.start.len()).map(|next| self.get(next - 1))
    }
}
