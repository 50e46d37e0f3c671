//! Picture formats, and files that appear whole or not at all.

use super::PlotError;
use std::io::Write;
use std::path::Path;

/// A file format for pictures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// Pixels.
    Png,
    /// Vector strokes and text; heat maps as one embedded image.
    Svg,
}

impl Format {
    /// The format that `path`'s extension names, in either case.
    ///
    /// # Errors
    /// When it is neither `.png` nor `.svg`.
    pub fn of(path: &Path) -> Result<Format, PlotError> {
        let extension = path.extension().unwrap_or_default();
        if extension.eq_ignore_ascii_case("png") {
            Ok(Format::Png)
        } else if extension.eq_ignore_ascii_case("svg") {
            Ok(Format::Svg)
        } else {
            Err(PlotError::Extension(path.to_owned()))
        }
    }
}

/// Writes beside `path` and renames, so that no reader ever sees half a file.
pub(super) fn save(path: &Path, bytes: &[u8]) -> Result<(), PlotError> {
    let write = || -> std::io::Result<()> {
        let folder = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let mut builder = tempfile::Builder::new();
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            // Temporary files are private by default; this one becomes an ordinary file.
            builder.permissions(std::fs::Permissions::from_mode(0o666));
        }
        let mut file = builder.tempfile_in(folder)?;
        file.write_all(bytes)?;
        file.persist(path)?;
        Ok(())
    };
    write().map_err(|source| PlotError::Write { path: path.to_owned(), source })
}
