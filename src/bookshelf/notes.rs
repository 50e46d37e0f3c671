//! Warnings: oddities that are counted rather than listed.

use crate::text::error::{FileError, Miss};
use crate::text::words::{self, position};
use crate::warning::{Warning, WarningCode};
use std::borrow::Cow;
use std::path::Path;

/// How often something odd occurred, and where first.
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

    /// Whether nothing occurred.
    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Adds the occurrences in a later part of the file.
    pub(super) fn merge(&mut self, later: Tally<'a>) {
        if self.count == 0 {
            self.first = later.first;
        }
        self.count += later.count;
    }
}

/// The warnings of one file, before they are put in words.
#[derive(Clone, Debug, Default)]
pub(super) struct Notes<'a>(Vec<Note<'a>>);

/// The code, the number of occurrences, the message, and the text at one occurrence with its
/// description.
type Note<'a> = (WarningCode, u64, Cow<'static, str>, Option<(&'static str, &'a [u8])>);

impl<'a> Notes<'a> {
    /// Warns that `count` things are so, if there are any.
    pub(super) fn count(&mut self, code: WarningCode, count: usize, are: &'static str) {
        if count > 0 {
            self.0.push((code, count as u64, are.into(), None));
        }
    }

    /// Warns of what `tally` counted, if anything.
    pub(super) fn tally(&mut self, code: WarningCode, tally: Tally<'a>, are: &'static str) {
        if tally.count > 0 {
            self.0.push((code, tally.count, are.into(), Some(("first on", tally.first))));
        }
    }

    /// Warns of so many more of `what` than the count at `at`.
    pub(super) fn more_than_counted(&mut self, more: u64, what: &'static str, at: &'a [u8]) {
        let are = format!("{what} more than the header counts");
        self.0.push((WarningCode::HeaderCount, more, are.into(), Some(("counted on", at))));
    }

    /// Returns the warnings, one line each, `text` being the file's.
    pub(super) fn warnings(&self, path: &Path, text: &[u8]) -> Vec<Warning> {
        let line = |(code, count, are, place): &Note<'_>| {
            let mut line = format!("{}: {count} {are}", path.display());
            if let Some((how, at)) = place {
                let word = words::show(words::first_word(at));
                line += &format!(" ({how} line {}: `{word}`)", position(text, at).0);
            }
            Warning::new(*code, line)
        };
        self.0.iter().map(line).collect()
    }
}

/// The content of a file, and warnings of things passed over.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Contents<T> {
    /// What the file describes.
    pub content: T,
    /// Warnings, one line each.
    pub warnings: Vec<Warning>,
}

impl<T> Contents<T> {
    /// Returns what was parsed of `text`, the file at `path`, with lines counted.
    pub(super) fn of<'a>(
        text: &'a [u8],
        path: &Path,
        parsed: Result<(T, Notes<'a>), Miss<'a>>,
    ) -> Result<Self, FileError> {
        let (content, notes) = parsed.map_err(|miss| miss.locate(path, text))?;
        Ok(Contents { content, warnings: notes.warnings(path, text) })
    }
}
