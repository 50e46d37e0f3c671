//! Picture formats, and files that are written whole or not at all.

use super::error::PlotError;
use std::path::Path;

/// A file format for pictures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// Pixels.
    Png,
    /// Vector strokes and text; heat maps as one embedded image.
    Svg,
    /// A page of the picture's size, with letters as outlines: no font is needed.
    Pdf,
}

impl Format {
    /// Returns the ending of file names.
    pub fn extension(self) -> &'static str {
        match self {
            Format::Png => "png",
            Format::Svg => "svg",
            Format::Pdf => "pdf",
        }
    }

    /// Returns the format that `path`'s extension names, in either case.
    ///
    /// # Errors
    /// If it is none of `.png`, `.svg` and `.pdf`.
    pub fn of(path: &Path) -> Result<Format, PlotError> {
        let extension = path.extension().unwrap_or_default();
        let named = |format: &Format| extension.eq_ignore_ascii_case(format.extension());
        let format = [Format::Png, Format::Svg, Format::Pdf].into_iter().find(named);
        format.ok_or_else(|| PlotError::Extension(path.to_owned()))
    }
}

/// Writes `bytes` to `path`, whole or not at all.
pub(super) fn save(path: &Path, bytes: &[u8]) -> Result<(), PlotError> {
    crate::output::write_whole(path, |file| file.write_all(bytes))
        .map_err(|source| PlotError::Write { path: path.to_owned(), source })
}
