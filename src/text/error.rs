//! Errors in the files of a design, and their position.

use crate::design::DesignError;
use crate::text::words::{first_word, found, position, show};
use std::borrow::Cow;
use std::fmt;
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

/// An error of a parser, before lines are counted: the text from its position, and the reason.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Miss<'a> {
    /// A tail of the file (or of a part of it) that starts at the place.
    pub(crate) at: &'a [u8],
    pub(crate) reason: Reason<'a>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Reason<'a> {
    Expected(Cow<'static, str>),
    Name(String),
    Count { what: &'static str, header: u64, found: u64 },
    Duplicate { first: &'a [u8] },
}

impl<'a> Miss<'a> {
    #[cold]
    pub(crate) fn expected(at: &'a [u8], what: impl Into<Cow<'static, str>>) -> Self {
        Miss { at, reason: Reason::Expected(what.into()) }
    }

    /// Makes the error of a name that does not fit the rest.
    #[cold]
    pub(crate) fn name(at: &'a [u8], message: String) -> Self {
        Miss { at, reason: Reason::Name(message) }
    }

    /// Returns an error about a file that is not held, whatever it is: reading it whole gives that.
    #[cold]
    pub(crate) fn not_held() -> Self {
        Miss::expected(&[], "a file that is read whole")
    }

    /// Names the place in `text`, of which `self.at` is a part.
    #[cold]
    pub(crate) fn locate(self, path: &Path, text: &[u8]) -> FileError {
        let (line, column) = position(text, self.at);
        let kind = match self.reason {
            Reason::Expected(expected) => {
                ErrorKind::Syntax { expected: expected.into(), found: found(text, self.at) }
            }
            Reason::Name(message) => ErrorKind::Name(message),
            Reason::Count { what, header, found } => ErrorKind::Count { what, header, found },
            Reason::Duplicate { first } => ErrorKind::Duplicate {
                name: show(first_word(self.at)),
                first_line: position(text, first).0,
            },
        };
        FileError { path: path.to_owned(), line, column, kind }
    }
}

impl<'a> nom::error::ParseError<&'a [u8]> for Miss<'a> {
    /// Every parser of ours describes what it expects, so that nobody reads this.
    fn from_error_kind(at: &'a [u8], _: nom::error::ErrorKind) -> Self {
        Miss::expected(at, "something else")
    }

    fn append(_: &'a [u8], _: nom::error::ErrorKind, other: Self) -> Self {
        other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &[u8], at: usize) -> String {
        Miss::expected(&text[at..], "a width").locate(Path::new("d.nodes"), text).to_string()
    }

    #[test]
    fn errors_are_one_line_with_file_and_column() {
        let text = b"UCLA\n\to1 x\x07y 4\n\to2\n";
        assert_eq!(message(text, 9), "d.nodes:2:5: expected a width, found `x\\u{7}y`");
        assert_eq!(message(text, 18), "d.nodes:3:4: expected a width, found end of line");
        assert_eq!(message(text, 19), "d.nodes:4:1: expected a width, found end of file");
    }

    #[test]
    fn long_words_are_cut_short_in_messages() {
        let long = message(&[b'z'; 5000], 0);
        assert!(long.len() < 120, "{long}");
    }

    #[test]
    fn errors_of_whole_files_name_no_line() {
        let e = FileError::io(Path::new("x.pl"), std::io::ErrorKind::PermissionDenied.into());
        assert_eq!(e.to_string(), "x.pl: permission denied");
    }
}
