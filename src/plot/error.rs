//! Why a picture could not be made.

use std::path::PathBuf;

/// Why a picture could not be drawn or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlotError {
    /// A file name that ends neither in `.png` nor in `.svg` nor in `.pdf`.
    #[error("{}: expected a file name that ends in .png, .svg or .pdf", .0.display())]
    Extension(PathBuf),
    /// A width or a font that no picture has.
    #[error("{width} mm with a font of {font} pt: expected 10 to 2000 mm and 2 to 200 pt")]
    Size {
        /// Millimetres.
        width: f64,
        /// Points.
        font: f64,
    },
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
