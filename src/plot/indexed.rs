//! Images of at most 256 colours, which are small and quickly encoded.

use super::color::Rgb;
use super::drawing::Pixels;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::iter::repeat_n;
#[cfg(feature = "cli")]
use {
    super::{color::Palette, error::PlotError, file::save, raster::png},
    crate::grid::Map,
    std::path::Path,
};

/// The colour of values that are not finite, which replaces the last shade.
#[cfg(feature = "cli")]
const LAST: u8 = u8::MAX;

/// An image by the indices of its colours.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Indexed {
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) colors: Vec<Rgb>,
    /// Row by row from the top.
    pub(super) pixels: Vec<u8>,
}

impl Indexed {
    /// Returns a map, one pixel per bin: x to the right, y upward.
    #[cfg(feature = "cli")]
    pub(crate) fn of_map(map: &Map<f64>, palette: &Palette) -> Indexed {
        let (width, height) = (map.nx(), map.ny());
        let color = |value: f64| palette.shade(value).map_or(LAST, |shade| shade.min(LAST - 1));
        let row = |j: usize| (0..width).map(move |i| (i, j));
        let bins = (0..height).rev().flat_map(row);
        let mut colors = palette.shades().to_vec();
        colors[usize::from(LAST)] = palette.odd;
        Indexed { width, height, colors, pixels: bins.map(|bin| color(map[bin])).collect() }
    }

    /// Returns an image in its own colours if there are at most 256. Otherwise colours become the
    /// nearest more frequent one, until 256 are enough. Rare colours change over larger distances,
    /// so that smooth areas have no bands.
    pub(super) fn of(image: &Pixels) -> Indexed {
        let mut counts: HashMap<Rgb, u64> = HashMap::new();
        // Neighbours are often equal.
        let runs = || image.colors.chunk_by(|a, b| a == b);
        runs().for_each(|run| *counts.entry(run[0]).or_default() += run.len() as u64);
        let mut found: Vec<Rgb> = counts.keys().copied().collect();
        found.sort_by_key(|color| (Reverse(counts[color]), *color));
        let far = |a: Rgb, b: Rgb| -> u32 {
            [0, 1, 2].map(|k| u32::from(a[k].abs_diff(b[k])).pow(2)).into_iter().sum()
        };
        let (mut colors, mut apart) = (found.clone(), 0);
        while colors.len() > 256 {
            apart = 2 * apart + 64;
            colors.clear();
            for &color in &found {
                let error = |&other: &Rgb| u64::from(far(color, other)) * counts[&color];
                if colors.len() <= 256 && colors.iter().all(|other| error(other) > apart) {
                    colors.push(color);
                }
            }
        }
        let nearest = |color: Rgb| (0..colors.len()).min_by_key(|&k| far(color, colors[k]));
        let number = |&color: &Rgb| (color, nearest(color).unwrap_or(0) as u8);
        let numbers: HashMap<Rgb, u8> = found.iter().map(number).collect();
        let pixels = runs().flat_map(|run| repeat_n(numbers[&run[0]], run.len())).collect();
        Indexed { width: image.width, height: image.height, colors, pixels }
    }

    /// Returns the bytes of a PNG file.
    #[cfg(feature = "cli")]
    pub(crate) fn png(&self) -> Result<Vec<u8>, PlotError> {
        // Filters do not help if similar shades have distant indices.
        png([self.width, self.height], &self.pixels, png::Filter::NoFilter, |encoder| {
            encoder.set_color(png::ColorType::Indexed);
            encoder.set_palette(self.colors.concat());
        })
    }

    /// Writes a PNG file, whole or not at all.
    #[cfg(feature = "cli")]
    pub(crate) fn write(&self, path: &Path) -> Result<(), PlotError> {
        save(path, &self.png()?)
    }

    /// Returns the width and height in pixels.
    #[cfg(feature = "cli")]
    pub(crate) fn size(&self) -> (usize, usize) {
        (self.width, self.height)
    }

    /// Returns the bytes of a JPEG file of this quality, 1 to 100.
    ///
    /// # Panics
    /// With more than 65535 pixels along a side.
    #[cfg(feature = "cli")]
    pub(crate) fn jpeg(&self, quality: u8) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut encoder = jpeg_encoder::Encoder::new(&mut bytes, quality);
        encoder.set_optimized_huffman_tables(true);
        let [width, height] =
            [self.width, self.height].map(|n| u16::try_from(n).expect("a small image"));
        let colors: Vec<Rgb> = self.pixels.iter().map(|&k| self.colors[usize::from(k)]).collect();
        let rgb = jpeg_encoder::ColorType::Rgb;
        let encoded = encoder.encode(colors.as_flattened(), width, height, rgb);
        encoded.expect("a colour for every pixel");
        bytes
    }
}

#[cfg(test)]
mod tests;
