//! Pictures of a placement: heat maps with outlines and field arrows, and
//! curves over iterations or sizes and bars, as PNG and SVG, and animations as GIF.
//!
//! A picture is laid out once, as a list of strokes, texts and images in
//! picture units, and that list is given to both back ends: the PNG and the
//! SVG of one picture look the same. One unit is one pixel of the PNG and half
//! a CSS pixel of the SVG. Fonts are built in (DejaVu Sans); nothing is asked
//! of the system.
//!
//! Bin `(i, j)` of a map is drawn `i`-th from the left and `j`-th from the
//! bottom, in die coordinates (layout units) with the same scale on both axes.
//! A heat map is one image in the SVG too, so that its size depends on the area
//! drawn and not on the number of bins.

mod animation;
mod arrows;
mod axis;
mod bars;
mod color;
mod curves;
mod drawing;
mod file;
mod font;
mod frame;
mod heat_map;
mod raster;
mod sample;
mod vector;

pub use animation::{Animation, Strip};
pub use bars::{BarSeries, Bars};
pub use color::Scale;
pub use curves::{Curves, Series};
pub use file::Format;
pub use heat_map::{Arrows, HeatMap};

use drawing::Drawing;
use std::path::{Path, PathBuf};

/// Why a picture could not be drawn or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlotError {
    /// A file name that ends neither in `.png` nor in `.svg`.
    #[error("{}: expected a file name that ends in .png or .svg", .0.display())]
    Extension(PathBuf),
    /// A map that does not have the grid's bins.
    #[error("{what}: {found_x} x {found_y} bins, expected the grid's {nx} x {ny}")]
    Shape {
        /// Which map.
        what: &'static str,
        /// Bins of the map along x.
        found_x: usize,
        /// Bins of the map along y.
        found_y: usize,
        /// Bins of the grid along x.
        nx: usize,
        /// Bins of the grid along y.
        ny: usize,
    },
    /// The file could not be written; nothing is left behind.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file asked for.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// A back end failed.
    #[error("cannot draw the picture: {0}")]
    Draw(String),
}

/// A picture that was laid out and can be written in any [`Format`].
#[derive(Clone, Debug)]
pub struct Picture(Drawing);

impl Picture {
    /// Width and height in pixels of the PNG.
    pub fn size(&self) -> (u32, u32) {
        (self.0.width, self.0.height)
    }

    /// The bytes of a file in `format`.
    ///
    /// # Errors
    /// When a back end fails.
    pub fn encode(&self, format: Format) -> Result<Vec<u8>, PlotError> {
        match format {
            Format::Png => raster::encode(&self.0),
            Format::Svg => vector::encode(&self.0),
        }
    }

    /// Writes `path` as its extension says, `.png` or `.svg`. The file appears
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
    /// As for [`Picture::write`].
    pub fn write_both(&self, folder: &Path, name: &str) -> Result<[PathBuf; 2], PlotError> {
        let paths = ["png", "svg"].map(|extension| folder.join(format!("{name}.{extension}")));
        paths.iter().try_for_each(|path| self.write(path))?;
        Ok(paths)
    }
}
