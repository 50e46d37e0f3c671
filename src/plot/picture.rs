//! A picture, and its files.

use super::canvas::Canvas;
use super::drawing::{Drawing, failed};
use super::error::{PlotError, check_pixels};
use super::file::{self, Format};
use super::indexed::Indexed;
use super::size::Size;
use super::{pdf, raster, vector};
use std::path::Path;
#[cfg(feature = "cli")]
use std::path::PathBuf;

/// A laid-out picture that can be written in any [`Format`].
#[derive(Clone, Debug)]
pub struct Picture(pub(super) Drawing);

impl Picture {
    /// Returns a white picture for a user's chart. Its width is from `size`, or otherwise 1600
    /// picture units, and its height is `aspect` times the width.
    ///
    /// # Errors
    /// If `aspect` is not within 1/64 and 64, or there are more pixels than
    /// [`MAX_PIXELS`](super::MAX_PIXELS) or than fit into memory.
    ///
    /// # Examples
    /// A curve with plotters, for print:
    /// ```
    /// use placefield::plot::plotters::prelude::*;
    /// use placefield::plot::{Canvas, Picture, Size};
    ///
    /// let mut picture = Picture::new(Size::print(88.0, 8.0)?, 0.6)?;
    /// let root = picture.canvas().into_drawing_area();
    /// let font = ("sans-serif", 25 * Canvas::UNIT);
    /// let mut chart = ChartBuilder::on(&root)
    ///     .margin(30 * Canvas::UNIT)
    ///     .set_left_and_bottom_label_area_size(80 * Canvas::UNIT)
    ///     .build_cartesian_2d(0.0..1.0, 0.0..1.0)?;
    /// chart.configure_mesh().label_style(font).draw()?;
    /// let width = 3 * Canvas::UNIT as u32;
    /// let points = (0..=100).map(|k| f64::from(k) / 100.0).map(|x| (x, x * x));
    /// chart.draw_series(LineSeries::new(points, RED.stroke_width(width)))?;
    /// drop((chart, root));
    /// # let folder = tempfile::tempdir()?;
    /// # std::env::set_current_dir(&folder)?;
    /// picture.write("square.pdf".as_ref())?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(size: Size, aspect: f64) -> Result<Picture, PlotError> {
        if !(1.0 / 64.0..=64.0).contains(&aspect) {
            return Err(failed(format!("{aspect} times as high as wide: expected 1/64 to 64")));
        }
        let width = size.width.unwrap_or(1600.0);
        let picture = Picture(Drawing::new(width, width * aspect, size));
        let (width, height) = picture.size();
        check_pixels(width as usize, height as usize)?;
        Ok(picture)
    }

    /// Returns pictures of one [`Size`] side by side. The PNG has an even number of pixels along
    /// both sides, as video encoders require.
    pub fn beside(pictures: &[Picture]) -> Picture {
        let size = pictures.first().map_or_else(Size::default, |picture| picture.0.size);
        let even = |units: f64| (units * size.scale / 2.0).ceil() * 2.0 / size.scale;
        let height = pictures.iter().map(|picture| picture.0.height).fold(1.0, f64::max);
        let width = pictures.iter().map(|picture| picture.0.width).sum::<f64>().max(1.0);
        let mut drawing = Drawing::new(even(width), even(height), size);
        let mut left = 0.0;
        for Picture(part) in pictures {
            drawing.items.extend(part.items.iter().map(|item| item.moved(left)));
            left += part.width;
        }
        Picture(drawing)
    }

    /// Returns the picture as a canvas for plotters.
    pub fn canvas(&mut self) -> Canvas<'_> {
        Canvas(&mut self.0)
    }

    /// Returns the width and height in pixels of the PNG.
    pub fn size(&self) -> (u32, u32) {
        self.0.pixels()
    }

    /// Returns the pixels in at most 256 colours.
    pub(crate) fn indexed(&self) -> Result<Indexed, PlotError> {
        Ok(Indexed::of(&raster::render(&self.0, self.0.size.scale)?))
    }

    /// Returns the bytes of a file in `format`.
    ///
    /// # Errors
    /// If a back end fails, or there are more pixels than [`MAX_PIXELS`](super::MAX_PIXELS) or than
    /// fit into memory.
    pub fn encode(&self, format: Format) -> Result<Vec<u8>, PlotError> {
        match format {
            Format::Png => raster::encode(&self.0),
            Format::Svg => vector::encode(&self.0),
            Format::Pdf => pdf::encode(&self.0),
        }
    }

    /// Writes `path` in the format of its extension, `.png`, `.svg` or `.pdf`. The file is written
    /// whole or not at all.
    ///
    /// # Errors
    /// If the extension is another, a back end fails, or the file cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), PlotError> {
        let bytes = self.encode(Format::of(path)?)?;
        file::save(path, &bytes)
    }

    /// Writes `NAME.png` and `NAME.svg` in `folder`, and adds both to `files`.
    #[cfg(feature = "cli")]
    pub(crate) fn save(
        &self,
        folder: &Path,
        name: &str,
        files: &mut Vec<PathBuf>,
    ) -> Result<(), PlotError> {
        for extension in ["png", "svg"] {
            let path = folder.join(format!("{name}.{extension}"));
            self.write(&path)?;
            files.push(path);
        }
        Ok(())
    }
}
