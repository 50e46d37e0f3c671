//! Why a picture could not be made.

use std::path::PathBuf;

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
