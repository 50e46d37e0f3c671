//! Errors and states that end a run early.

use clap::error::ErrorKind;
use std::io;
use std::path::Path;

/// Any failure, as one line; a [`clap::Error`] is wrong usage.
pub(crate) type Failure = Box<dyn std::error::Error>;

/// The user interrupted the run; results so far are written. Ends with exit code 130.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Interrupted(pub(crate) String);

/// The run stopped before its goal; results so far are written. Ends with exit code 3.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Stopped(pub(crate) String);

/// Returns the error of wrong usage that only shows once all arguments are known.
pub(crate) fn usage(kind: ErrorKind, message: &str) -> Failure {
    clap::Error::raw(kind, message).into()
}

/// Returns the error with the file it is about.
pub(crate) fn named(path: &Path, error: io::Error) -> Failure {
    if error.kind() == io::ErrorKind::BrokenPipe {
        return error.into();
    }
    format!("{}: {error}", path.display()).into()
}
