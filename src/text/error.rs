//! Errors in the files of a design, and their position.

use crate::design::{DesignError, NamesTooLong};
use std::borrow::Cow;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// A file of a design or a placement that cannot be read, written or understood.
///
/// Shows as one line: `file:line:column: expected ..., found ...`.
#[derive(Debug)]
#[non_exhaustive]
pub struct FileError {
    /// The file.
    pub path: PathBuf,
    /// Line, counted from 1; 0 when the file as a whole is meant.
    pub line: u64,
    /// Column in bytes, counted from 1; 0 when the file as a whole is meant.
    pub column: u64,
    /// The error.
    pub kind: ErrorKind,
}

/// An error in a file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// It cannot be opened, read or written.
    #[error("{0}")]
    Io(#[source] std::io::Error),
    /// A file departs from the format.
    #[error("expected {expected}, found {found}")]
    Syntax {
        /// The format's requirement here.
        expected: String,
        /// The text found here.
        found: String,
    },
    /// The header's count is not the number of entries.
    #[error("expected {header} {what} as the header counts, found {found}")]
    Count {
        /// The kind of things counted, in the plural.
        what: &'static str,
        /// The header's count.
        header: u64,
        /// The number of entries.
        found: u64,
    },
    /// A node is described or placed twice.
    #[error("expected each node once, found `{name}` again (first on line {first_line})")]
    Duplicate {
        /// The node.
        name: String,
        /// The line of its first occurrence.
        first_line: u64,
    },
    /// Something is named that is in none of the files, or that is there already.
    #[error("{0}")]
    Name(String),
    /// The file does not go with the others.
    #[error("expected {0}")]
    Other(&'static str),
    /// The design to be written has columns that do not fit together.
    #[error("the design cannot be written: {0}")]
    Design(#[source] DesignError),
    /// The design cannot be written in this format.
    #[error("expected {expected}, found {found}")]
    Unwritable {
        /// The values the format can hold.
        expected: &'static str,
        /// The design's value.
        found: String,
    },
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.path.display())?;
        if self.line > 0 {
            write!(f, "{}:{}:", self.line, self.column)?;
        }
        write!(f, " {}", self.kind)
    }
}

impl std::error::Error for FileError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        std::error::Error::source(&self.kind)
    }
}

impl FileError {
    /// Makes an error about the file as a whole.
    pub(crate) fn whole(path: &Path, kind: ErrorKind) -> Self {
        FileError { path: path.to_owned(), line: 0, column: 0, kind }
    }

    /// Wraps an error of the operating system.
    pub(crate) fn io(path: &Path, error: std::io::Error) -> Self {
        Self::whole(path, ErrorKind::Io(error))
    }
}

/// Refuses to write a design with this value.
pub(crate) fn unwritable<T>(expected: &'static str, found: String) -> Result<T, ErrorKind> {
    Err(ErrorKind::Unwritable { expected, found })
}

/// Returns a name as messages of writers quote it.
pub(crate) fn quoted(name: &str) -> String {
    format!("`{}`", name.escape_debug())
}

/// An error of a parser, before lines are counted: the text from its position, and the reason.
#[derive(Debug)]
pub(crate) struct Miss<'a> {
    /// A tail of the text that is parsed.
    pub(crate) at: &'a [u8],
    pub(crate) reason: Reason,
}

/// An error in a file, before lines are counted.
#[derive(Debug)]
pub(crate) struct Fault {
    /// The offset in the file.
    pub(crate) at: usize,
    pub(crate) reason: Reason,
}

#[derive(Debug)]
pub(crate) enum Reason {
    Expected(Cow<'static, str>),
    /// An entry occurs a second time; the offset of the first one.
    Duplicate {
        first: usize,
    },
    /// An error that does not quote the text.
    Known(ErrorKind),
}

impl<'a> Miss<'a> {
    #[cold]
    pub(crate) fn expected(at: &'a [u8], what: impl Into<Cow<'static, str>>) -> Self {
        Miss { at, reason: Reason::Expected(what.into()) }
    }

    /// Makes the error of a name that does not fit the rest.
    #[cold]
    pub(crate) fn name(at: &'a [u8], message: String) -> Self {
        Miss { at, reason: Reason::Known(ErrorKind::Name(message)) }
    }

    /// Returns the error in a file that has `text` at `start`.
    pub(crate) fn within(self, text: &[u8], start: usize) -> Fault {
        Fault { at: start + offset(text, self.at), reason: self.reason }
    }
}

impl Fault {
    #[cold]
    pub(crate) fn expected(at: usize, what: impl Into<Cow<'static, str>>) -> Self {
        Fault { at, reason: Reason::Expected(what.into()) }
    }
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        Fault { at: 0, reason: Reason::Known(ErrorKind::Io(error)) }
    }
}

impl From<NamesTooLong> for Fault {
    fn from(_: NamesTooLong) -> Self {
        let message = "names of more than 4 GiB in all".to_owned();
        Fault { at: 0, reason: Reason::Known(ErrorKind::Name(message)) }
    }
}

/// Offset of `part` in `whole`.
pub(crate) fn offset(whole: &[u8], part: &[u8]) -> usize {
    let distance = (part.as_ptr() as usize).saturating_sub(whole.as_ptr() as usize);
    distance.min(whole.len())
}

/// Text from a file, fit for one line of a message.
pub(crate) fn show(text: &[u8]) -> String {
    const MOST: usize = 40;
    let cut = String::from_utf8_lossy(&text[..text.len().min(4 * MOST)]);
    let mut shown: String = cut.chars().take(MOST).collect::<String>().escape_debug().collect();
    if cut.chars().count() > MOST {
        shown.push_str("...");
    }
    shown
}

impl<'a> nom::error::ParseError<&'a [u8]> for Miss<'a> {
    /// Every parser describes the expected input, so this text is never printed.
    fn from_error_kind(at: &'a [u8], _: nom::error::ErrorKind) -> Self {
        Miss::expected(at, "something else")
    }

    fn append(_: &'a [u8], _: nom::error::ErrorKind, other: Self) -> Self {
        other
    }
}

impl<'a> From<nom::Err<Miss<'a>>> for Miss<'a> {
    fn from(error: nom::Err<Miss<'a>>) -> Self {
        match error {
            nom::Err::Error(miss) | nom::Err::Failure(miss) => miss,
            nom::Err::Incomplete(_) => Miss::expected(&[], "more text"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shown_text_fits_a_line() {
        assert_eq!(show(b"a\nb\xff"), "a\\nb\u{fffd}");
        assert_eq!(show(&[b'y'; 1000]).len(), 43);
    }

    #[test]
    fn errors_of_whole_files_name_no_line() {
        let e = FileError::io(Path::new("x.pl"), std::io::ErrorKind::PermissionDenied.into());
        assert_eq!(e.to_string(), "x.pl: permission denied");
    }
}
