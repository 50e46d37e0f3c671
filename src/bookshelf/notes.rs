//! Warnings: oddities that are counted rather than listed.

use super::error::position;
use super::words;
use std::path::Path;

/// How often something odd was met, and where first.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally<'a> {
    count: u64,
    first: &'a [u8],
}

impl<'a> Tally<'a> {
    /// Counts `found` unless it is empty.
    pub(super) fn add(&mut self, found: &'a [u8]) {
        if !found.is_empty() {
            self.merge(Tally { count: 1, first: found });
        }
    }

    /// True when nothing was met.
    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Adds what a later part of the file met.
    pub(super) fn merge(&mut self, later: Tally<'a>) {
        if self.count == 0 {
            self.first = later.first;
        }
        self.count += later.count;
    }
}

/// The warnings of one file, before they are put in words.
#[derive(Clone, Debug, Default)]
pub(super) struct Notes<'a>(Vec<(u64, &'static str, Option<&'a [u8]>)>);

impl<'a> Notes<'a> {
    /// Warns that `count` things are so, if there are any.
    pub(super) fn count(&mut self, count: usize, are: &'static str) {
        if count > 0 {
            self.0.push((count as u64, are, None));
        }
    }

    /// Warns of what `tally` counted, if anything.
    pub(super) fn tally(&mut self, tally: Tally<'a>, are: &'static str) {
        if tally.count > 0 {
            self.0.push((tally.count, are, Some(tally.first)));
        }
    }

    /// One line a warning, `text` being the file's.
    pub(super) fn warnings(&self, path: &Path, text: &[u8]) -> Vec<String> {
        let line = |&(count, are, first): &(u64, &str, Option<&[u8]>)| {
            let mut line = format!("{}: {count} {are}", path.display());
            if let Some(first) = first {
                let word = words::show(words::first_word(first));
                line += &format!(" (first on line {}: `{word}`)", position(text, first).0);
            }
            line
        };
        self.0.iter().map(line).collect()
    }
}
