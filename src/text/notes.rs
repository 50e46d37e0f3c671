//! Warnings that are counted, not listed.

use super::error::{Fault, FileError, show};
use super::file::Source;
use super::scan::first_word;
use crate::warning::{Warning, WarningCode};
use std::borrow::Cow;
use std::path::Path;

/// How often something odd occurred, and the offset in the file where first.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    count: u64,
    first: usize,
}

impl Tally {
    /// Counts an occurrence at this offset.
    pub(crate) fn add(&mut self, at: usize) {
        self.merge(Tally { count: 1, first: at });
    }

    /// Adds the occurrences in a later part of the file.
    pub(crate) fn merge(&mut self, later: Tally) {
        if self.count == 0 {
            self.first = later.first;
        }
        self.count += later.count;
    }
}

/// The warnings of one file, before they are put in words.
#[derive(Clone, Debug, Default)]
pub(crate) struct Notes(Vec<Note>);

/// The code, the message, and the offset of one occurrence with its description.
type Note = (WarningCode, Cow<'static, str>, Option<(&'static str, usize)>);

impl Notes {
    /// Warns of what the whole file has or has not.
    pub(crate) fn say(&mut self, code: WarningCode, message: impl Into<Cow<'static, str>>) {
        self.0.push((code, message.into(), None));
    }

    /// Warns that `count` things are so, if there are any.
    pub(crate) fn count(&mut self, code: WarningCode, count: u64, are: &str) {
        if count > 0 {
            self.say(code, format!("{count} {are}"));
        }
    }

    /// Warns of what `tally` counted, if anything.
    pub(crate) fn tally(&mut self, code: WarningCode, tally: Tally, are: &str) {
        if tally.count > 0 {
            let message = format!("{} {are}", tally.count);
            self.0.push((code, message.into(), Some(("first on", tally.first))));
        }
    }

    /// Warns of so many more of `what` than the count at the offset `at`.
    pub(crate) fn more_than_counted(&mut self, more: u64, what: &'static str, at: usize) {
        let message = format!("{more} {what} more than the header counts");
        self.0.push((WarningCode::HeaderCount, message.into(), Some(("counted on", at))));
    }

    /// Returns the warnings, one line each, `source` being the file's text.
    pub(crate) fn warnings(&self, path: &Path, source: Source<'_>) -> Vec<Warning> {
        let line = |(code, message, place): &Note| {
            let mut message = format!("{}: {message}", path.display());
            if let Some((how, at)) = place {
                let (line, _, rest) = source.position(*at);
                message += &format!(" ({how} line {line}: `{}`)", show(first_word(&rest)));
            }
            Warning::new(*code, message)
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
    /// Returns the content that was parsed from `source`, the file at `path`, and its warnings.
    pub(crate) fn of(
        source: Source<'_>,
        path: &Path,
        parsed: Result<(T, Notes), Fault>,
    ) -> Result<Self, FileError> {
        let (content, notes) = parsed.map_err(|fault| source.error(path, fault))?;
        Ok(Contents { content, warnings: notes.warnings(path, source) })
    }
}
