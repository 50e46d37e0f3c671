//! Images of at most 256 colours, which are small and quickly encoded.

use super::color::{Palette, Rgb};
use super::drawing::failed;
use super::error::PlotError;
use crate::grid::Map;

/// The colour of values that are not finite, which takes the place of the last shade.
#[cfg_attr(not(feature = "cli"), allow(dead_code))] // frames are the command line's
const LAST: u8 = u8::MAX;

/// An image by the numbers of its colours.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Indexed {
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) colors: Vec<Rgb>,
    /// Row by row from the top.
    pub(super) pixels: Vec<u8>,
}

impl Indexed {
    /// Returns a map, one pixel a bin: x to the right, y upward.
    #[cfg_attr(not(feature = "cli"), allow(dead_code))]
    pub(crate) fn of_map(map: &Map<f64>, palette: &Palette) -> Indexed {
        let (width, height) = (map.nx(), map.ny());
        let color = |value: f64| palette.shade(value).map_or(LAST, |shade| shade.min(LAST - 1));
        let row = |j: usize| (0..width).map(move |i| (i, j));
        let bins = (0..height).rev().flat_map(row);
        let mut colors = palette.shades().to_vec();
        colors[usize::from(LAST)] = palette.odd;
        Indexed { width, height, colors, pixels: bins.map(|bin| color(map[bin])).collect() }
    }

    /// Returns the bytes of a PNG file.
    pub(crate) fn png(&self) -> Result<Vec<u8>, PlotError> {
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, self.width as u32, self.height as u32);
        encoder.set_color(png::ColorType::Indexed);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.set_palette(self.colors.concat());
        encoder.set_compression(png::Compression::Balanced);
        // Filters do not help where the numbers of similar shades lie far apart.
        encoder.set_filter(png::Filter::NoFilter);
        let mut writer = encoder.write_header().map_err(failed)?;
        writer.write_image_data(&self.pixels).map_err(failed)?;
        writer.finish().map_err(failed)?;
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests;
