//! Pictures of a placement: heat maps with outlines and field arrows, curves over iterations or
//! sizes, and bars, as PNG, SVG and PDF, and animations as GIF.
//!
//! Charts are [`plotters`]' charts on a [`Canvas`] of this module. The canvas also accepts a user's
//! charts ([`Picture::new`]). A picture is laid out once, as a list of strokes, texts and images in
//! picture units. Every back end gets this list: the PNG, the SVG and the PDF of one picture look
//! the same. On a screen one unit is one pixel of the PNG and half a CSS pixel of the SVG; on paper
//! the given [`Size`] decides. Fonts are built in (DejaVu Sans); no system fonts are used.
//!
//! Bin `(i, j)` of a map is drawn `i`-th from the left and `j`-th from the bottom, in die
//! coordinates (layout units) with the same scale on both axes. A heat map is one image in the SVG,
//! too, so that its size depends on the area drawn and not on the number of bins.

mod arrows;
mod axis;
mod bars;
mod canvas;
mod color;
mod curves;
mod drawing;
mod error;
mod file;
mod film;
mod font;
mod frame;
mod geometry;
mod heat_map;
mod histogram;
mod indexed;
mod pdf;
mod picture;
mod raster;
mod size;
mod vector;

pub use crate::grid::field_lines::profile;
pub use arrows::Arrows;
pub use bars::{BarSeries, Bars};
pub use canvas::Canvas;
#[cfg(any(feature = "cli", feature = "python"))]
pub(crate) use color::{COLORS, SHADINGS};
pub use color::{Colors, Scale, Shading};
pub use curves::{Curves, Series};
pub use error::{MAX_PIXELS, PlotError};
pub use file::Format;
pub use film::Animation;
pub use heat_map::{HeatMap, Layer};
pub use histogram::Histogram;
pub use picture::Picture;
pub use plotters;
pub use size::Size;
#[cfg(feature = "cli")]
pub(crate) use {color::Look, indexed::Indexed};
