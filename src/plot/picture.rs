//! A picture, and its files.

use super::drawing::Drawing;
use super::error::PlotError;
use super::file::{self, Format};
use super::{pdf, raster, vector};
use std::path::{Path, PathBuf};

/// A picture that was laid out and can be written in any [`Format`].
#[derive(Clone, Debug)]
pub struct Picture(pub(super) Drawing);

impl Picture {
    /// Returns the width and height in pixels of the PNG.
    pub fn size(&self) -> (u32, u32) {
        self.0.pixels()
    }

    /// Returns the bytes of a file in `format`.
    ///
    /// # Errors
    /// When a back end fails, or there are more pixels than [`MAX_PIXELS`](super::MAX_PIXELS) or
    /// than fit into memory.
    pub fn encode(&self, format: Format) -> Result<Vec<u8>, PlotError> {
        match format {
            Format::Png => raster::encode(&self.0),
            Format::Svg => vector::encode(&self.0),
            Format::Pdf => pdf::encode(&self.0),
        }
    }

    /// Writes `path` as its extension says, `.png`, `.svg` or `.pdf`. The file appears
    /// whole or not at all.
    ///
    /// # Errors
    /// When the extension is another, a back end fails, or the file cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), PlotError> {
        let bytes = self.encode(Format::of(path)?)?;
        file::save(path, &bytes)
    }

    /// Writes `NAME.png` and `NAME.svg` in `folder`, and returns their paths.
    ///
    /// # Errors
    /// See [`Picture::write`].
    pub fn write_both(&self, folder: &Path, name: &str) -> Result<[PathBuf; 2], PlotError> {
        let paths = ["png", "svg"].map(|extension| folder.join(format!("{name}.{extension}")));
        paths.iter().try_for_each(|path| self.write(path))?;
        Ok(paths)
    }
}
