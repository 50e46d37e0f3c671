//! Files as bytes.

use super::error::BookshelfError;
use std::fs::{self, File};
use std::io::{self, Read};
use std::ops::Deref;
use std::path::Path;

/// A file's bytes, read into memory at once. (A file mapped into memory could change
/// while it is parsed, when another process writes to it.)
pub(super) struct Text(Vec<u8>);

impl Text {
    /// Reads the file at `path`.
    pub(super) fn open(path: &Path) -> Result<Text, BookshelfError> {
        Self::read(path).map_err(|e| BookshelfError::io(path, e))
    }

    /// As [`Text::open`], but `None` when there is no such file.
    pub(super) fn open_if_there(path: &Path) -> Result<Option<Text>, BookshelfError> {
        match Self::read(path) {
            Ok(text) => Ok(Some(text)),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(BookshelfError::io(path, e)),
        }
    }

    fn read(path: &Path) -> io::Result<Text> {
        // Asked before opening: opening a pipe would wait for a writer.
        let meta = fs::metadata(path)?;
        if meta.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        if !meta.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
        }
        let mut text = Vec::new();
        File::open(path)?.read_to_end(&mut text)?;
        Ok(Text(text))
    }
}

impl Deref for Text {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}
