//! Why a picture could not be made.

use crate::memory::{OutOfMemory, require};
use std::path::PathBuf;

/// Most pixels of a picture in any format (2^28: 16384 x 16384).
pub const MAX_PIXELS: usize = 1 << 28;

/// Bytes per pixel while a picture is drawn: the value, and the colour as drawn, as stored and as
/// filtered.
const BYTES_PER_PIXEL: u64 = 24;

/// Why a picture could not be drawn or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlotError {
    /// A file name that ends in none of `.png`, `.svg` and `.pdf`.
    #[error("{}: expected a file name that ends in .png, .svg or .pdf", .0.display())]
    Extension(PathBuf),
    /// A width or a font size that no picture has.
    #[error("{width} mm with a font of {font} pt: expected 10 to 2000 mm and 2 to 200 pt")]
    Size {
        /// Millimetres.
        width: f64,
        /// Points.
        font: f64,
    },
    /// More pixels than a picture may have.
    #[error(
        "{width} x {height} pixels: expected at most {MAX_PIXELS} in all: choose fewer dots per \
         inch or a smaller width"
    )]
    Pixels {
        /// Pixels along x.
        width: usize,
        /// Pixels along y.
        height: usize,
    },
    /// There is not enough memory for the pixels.
    #[error(transparent)]
    Memory(#[from] OutOfMemory),
    /// A font that leaves no room for the picture.
    #[error("{width} mm have no room for a font of {font} pt: expected at most {most:.1} pt")]
    Font {
        /// Millimetres.
        width: f64,
        /// Points.
        font: f64,
        /// The largest for the width, points.
        most: f64,
    },
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
        /// The file to be written.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// A back end failed.
    #[error("cannot draw the picture: {0}")]
    Draw(String),
}

/// Checks that a picture of this many pixels may be drawn.
pub(super) fn check_pixels(width: usize, height: usize) -> Result<(), PlotError> {
    match width.checked_mul(height).filter(|&pixels| pixels <= MAX_PIXELS) {
        Some(pixels) => Ok(require("the pixels", BYTES_PER_PIXEL * pixels as u64)?),
        None => Err(PlotError::Pixels { width, height }),
    }
}
