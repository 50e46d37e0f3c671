//! Files as bytes.

use super::error::BookshelfError;
use memmap2::Mmap;
use std::fs::{self, File};
use std::io;
use std::ops::Deref;
use std::path::Path;

/// A file's bytes, mapped into memory; empty files are not mapped.
pub(super) struct Text(Option<Mmap>);

impl Text {
    /// Maps the file at `path`.
    pub(super) fn open(path: &Path) -> Result<Text, BookshelfError> {
        Self::map(path).map_err(|e| BookshelfError::io(path, e))
    }

    /// As [`Text::open`], but `None` when there is no such file.
    pub(super) fn open_if_there(path: &Path) -> Result<Option<Text>, BookshelfError> {
        match Self::map(path) {
            Ok(text) => Ok(Some(text)),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(BookshelfError::io(path, e)),
        }
    }

    fn map(path: &Path) -> io::Result<Text> {
        // Asked before opening: opening a pipe would wait for a writer.
        let meta = fs::metadata(path)?;
        if meta.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        if !meta.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
        }
        let file = File::open(path)?;
        if file.metadata()?.len() == 0 {
            return Ok(Text(None));
        }
        // SAFETY: the map is private, read-only and only seen as bytes, in which every value is
        // valid. A file that somebody rewrites while it is read gives unspecified bytes, which
        // the parsers take as they take any bytes; one that is cut short meanwhile ends the
        // process with SIGBUS, the known price of mapping.
        let map = unsafe { Mmap::map(&file)? };
        Ok(Text(Some(map)))
    }
}

impl Deref for Text {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.0.as_deref().unwrap_or_default()
    }
}
