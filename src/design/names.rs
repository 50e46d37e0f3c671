//! Names of nodes and nets.

use serde::{Deserialize, Serialize};

/// Many short names in one allocation, named by index.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Parts")]
pub struct Names {
    text: String,
    ends: Vec<u32>,
}

/// [`Names`] that were not checked yet.
#[derive(Deserialize)]
struct Parts {
    text: String,
    ends: Vec<u32>,
}

impl TryFrom<Parts> for Names {
    type Error = &'static str;

    fn try_from(Parts { text, ends }: Parts) -> Result<Self, Self::Error> {
        let last = ends.last().map_or(0, |&end| end as usize);
        let is_end = |&end: &u32| text.is_char_boundary(end as usize);
        match last == text.len() && ends.is_sorted() && ends.iter().all(is_end) {
            true => Ok(Names { text, ends }),
            false => Err("names whose ends are not those of their text"),
        }
    }
}

impl Names {
    /// Makes an empty list with capacity for `names` names of `bytes` bytes in all.
    pub fn with_capacity(names: usize, bytes: usize) -> Self {
        Names { text: String::with_capacity(bytes), ends: Vec::with_capacity(names) }
    }

    /// Removes all names, and keeps the memory that they took.
    pub(crate) fn clear(&mut self) {
        self.text.clear();
        self.ends.clear();
    }

    /// Appends a name.
    ///
    /// # Panics
    /// When the names together pass 4 GiB.
    pub fn push(&mut self, name: &str) {
        self.text.push_str(name);
        self.ends.push(u32::try_from(self.text.len()).expect("names stay under 4 GiB"));
    }

    /// Appends all of `other`'s names.
    ///
    /// # Errors
    /// When the names together would pass 4 GiB; nothing is appended then.
    pub fn append(&mut self, other: &Names) -> Result<(), NamesTooLong> {
        let start = u32::try_from(self.text.len()).map_err(|_| NamesTooLong)?;
        u32::try_from(self.text.len() + other.text.len()).map_err(|_| NamesTooLong)?;
        self.text.push_str(&other.text);
        self.ends.extend(other.ends.iter().map(|end| start + end));
        Ok(())
    }

    /// Names whose text is `text`, the `i`-th of which ends at `ends[i]`.
    ///
    /// # Panics
    /// When they are not such names.
    pub(crate) fn from_parts(text: Vec<u8>, ends: Vec<u32>) -> Self {
        let text = String::from_utf8(text).expect("names are UTF-8");
        Names::try_from(Parts { text, ends }).expect("ends of names")
    }

    /// Returns the number of names.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// True when there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Returns the `i`-th name.
    ///
    /// # Panics
    /// When `i` is not below [`Names::len`].
    #[inline]
    pub fn get(&self, i: usize) -> &str {
        let (start, end) = self.span(i);
        &self.text[start..end]
    }

    /// Returns where the `i`-th name starts and ends in [`Names::text`].
    #[inline]
    pub(crate) fn span(&self, i: usize) -> (usize, usize) {
        let start = if i == 0 { 0 } else { self.ends[i - 1] as usize };
        (start, self.ends[i] as usize)
    }

    /// Returns all names, one directly after the other.
    #[inline]
    pub(crate) fn text(&self) -> &[u8] {
        self.text.as_bytes()
    }

    /// Returns where each name ends in [`Names::text`].
    pub(crate) fn ends(&self) -> &[u32] {
        &self.ends
    }

    /// Returns all names in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> {
        (0..self.len()).map(|i| self.get(i))
    }
}

/// More than 4 GiB of names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("names of more than 4 GiB in all")]
pub struct NamesTooLong;
