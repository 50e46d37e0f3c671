//! Picture formats, and files that appear whole or not at all.

use super::error::PlotError;
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
    /// As file names end.
    pub fn extension(self) -> &'static str {
        match self {
            Format::Png => "png",
            Format::Svg => "svg",
        }
    }

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

/// Writes `bytes` to `path`, whole or not at all.
pub(super) fn save(path: &Path, bytes: &[u8]) -> Result<(), PlotError> {
    crate::output::write_whole(path, |file| file.write_all(bytes))
        .map_err(|source| PlotError::Write { path: path.to_owned(), source })
}
