//! Errors in LEF and DEF files, and their position.

use crate::design::DesignError;
use crate::text::words::{found, position};
use std::borrow::Cow;
use std::fmt;
use std::path::{Path, PathBuf};

/// A LEF or DEF file that cannot be read, written or understood.
///
/// Shows as one line: `file:line:column: expected ..., found ...`.
#[derive(Debug)]
#[non_exhaustive]
pub struct LefDefError {
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
    /// Something is named that is in none of the files, or that is there already.
    #[error("{0}")]
    Name(String),
    /// The design to be written has columns that do not fit together.
    #[error("the design cannot be written: {0}")]
    Design(#[source] DesignError),
    /// The design cannot be written into this file.
    #[error("expected {expected}, found {found}")]
    Unwritable {
        /// The values that can be written.
        expected: &'static str,
        /// The design's value.
        found: String,
    },
}

impl fmt::Display for LefDefError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.path.display())?;
        if self.line > 0 {
            write!(f, "{}:{}:", self.line, self.column)?;
        }
        write!(f, " {}", self.kind)
    }
}

impl std::error::Error for LefDefError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        std::error::Error::source(&self.kind)
    }
}

impl LefDefError {
    /// Makes an error about the file as a whole.
    pub(super) fn whole(path: &Path, kind: ErrorKind) -> Self {
        LefDefError { path: path.to_owned(), line: 0, column: 0, kind }
    }

    /// Wraps an error of the operating system.
    pub(super) fn io(path: &Path, error: std::io::Error) -> Self {
        Self::whole(path, ErrorKind::Io(error))
    }
}

/// An error of a parser, before lines are counted: the text from its position, and the reason.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Miss<'a> {
    /// A tail of the file (or of a part of it) that starts at the place.
    pub(super) at: &'a [u8],
    reason: Reason,
}

#[derive(Clone, Debug, PartialEq)]
enum Reason {
    Expected(Cow<'static, str>),
    Name(String),
}

impl<'a> Miss<'a> {
    /// Something else is expected here.
    #[cold]
    pub(super) fn expected(at: &'a [u8], what: impl Into<Cow<'static, str>>) -> Self {
        Miss { at, reason: Reason::Expected(what.into()) }
    }

    /// Makes the error of a name that does not fit the rest.
    #[cold]
    pub(super) fn name(at: &'a [u8], message: String) -> Self {
        Miss { at, reason: Reason::Name(message) }
    }

    /// Returns the same without the place, for a text that is not held; reading it whole gives the
    /// place.
    pub(super) fn without_place<'b>(self) -> Miss<'b> {
        Miss { at: &[], reason: self.reason }
    }

    /// Names the place in `text`, of which `self.at` is a part.
    #[cold]
    pub(super) fn locate(self, path: &Path, text: &[u8]) -> LefDefError {
        let (line, column) = position(text, self.at);
        let kind = match self.reason {
            Reason::Expected(expected) => {
                ErrorKind::Syntax { expected: expected.into(), found: found(text, self.at) }
            }
            Reason::Name(message) => ErrorKind::Name(message),
        };
        LefDefError { path: path.to_owned(), line, column, kind }
    }
}
