//! Pictures side by side, and an animation of them.

use super::error::PlotError;
use super::file::save;
use super::picture::Picture;
use super::raster::{png, render};
use image::codecs::gif::{GifEncoder, Repeat};
use image::codecs::png::FilterType;
use image::imageops::{replace, thumbnail};
use image::{Delay, DynamicImage, Frame, RgbImage};
use std::cell::RefCell;
use std::io::{self, Write};
use std::path::Path;
use std::rc::Rc;

/// Width of an animation in pixels.
const WIDTH: u32 = 960;
/// How thoroughly colours are chosen, from 1, best, to 30, fastest.
const SPEED: i32 = 20;

/// Pictures next to one another, as pixels.
#[derive(Clone, Debug)]
pub struct Strip(RgbImage);

impl Strip {
    /// Draws `pictures` from left to right, their tops aligned.
    ///
    /// # Errors
    /// When drawing fails.
    pub fn of(pictures: &[Picture]) -> Result<Strip, PlotError> {
        let drawn: Vec<RgbImage> =
            pictures.iter().map(|p| render(&p.0)).collect::<Result<_, _>>()?;
        let width = drawn.iter().map(RgbImage::width).sum();
        let height = drawn.iter().map(RgbImage::height).max().unwrap_or(0);
        let mut strip = RgbImage::from_pixel(width, height, image::Rgb([0xff; 3]));
        let mut left = 0;
        for picture in &drawn {
            replace(&mut strip, picture, left, 0);
            left += i64::from(picture.width());
        }
        Ok(Strip(strip))
    }

    /// Writes a PNG file, whole or not at all, whatever it is called.
    ///
    /// # Errors
    /// When encoding fails or the file cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), PlotError> {
        save(path, &png(&self.0, FilterType::Adaptive)?)
    }
}

/// Strips one after another, as an animated GIF that repeats.
pub struct Animation {
    /// Writes into `bytes`; gone once the animation is written.
    encoder: GifEncoder<Shared>,
    bytes: Shared,
    delay: Delay,
}

/// Bytes that an encoder writes and somebody else reads afterwards.
#[derive(Clone, Default)]
struct Shared(Rc<RefCell<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Animation {
    /// An empty animation that shows every strip for so long.
    ///
    /// # Errors
    /// When the encoder fails.
    pub fn new(milliseconds: u32) -> Result<Animation, PlotError> {
        let bytes = Shared::default();
        let mut encoder = GifEncoder::new_with_speed(bytes.clone(), SPEED);
        encoder.set_repeat(Repeat::Infinite).map_err(failed)?;
        let delay = Delay::from_numer_denom_ms(milliseconds, 1);
        Ok(Animation { encoder, bytes, delay })
    }

    /// Appends a strip. All should be of one size.
    ///
    /// # Errors
    /// When encoding fails.
    pub fn push(&mut self, strip: &Strip) -> Result<(), PlotError> {
        let (width, height) = strip.0.dimensions();
        let scaled = (u64::from(height) * u64::from(WIDTH) / u64::from(width.max(1))).max(1);
        let small = thumbnail(&strip.0, WIDTH, scaled as u32);
        let pixels = DynamicImage::ImageRgb8(small).into_rgba8();
        self.encoder.encode_frame(Frame::from_parts(pixels, 0, 0, self.delay)).map_err(failed)
    }

    /// Writes the GIF file, whole or not at all.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(self, path: &Path) -> Result<(), PlotError> {
        let Animation { encoder, bytes, .. } = self;
        drop(encoder); // writes the end of the file
        let bytes = bytes.0.take();
        save(path, &bytes)
    }
}

fn failed(error: image::ImageError) -> PlotError {
    PlotError::Draw(error.to_string())
}
