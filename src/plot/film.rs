//! Animations: sequences of pictures.

use super::drawing::failed;
use super::error::PlotError;
use super::file::save;
use super::indexed::Indexed;
use super::picture::Picture;
use std::path::Path;

/// A sequence of pictures of one size, as an animated GIF that repeats.
pub struct Animation {
    /// With the size; `None` before the first picture.
    encoder: Option<([u16; 2], gif::Encoder<Vec<u8>>)>,
    /// Hundredths of a second.
    delay: u16,
}

impl Animation {
    /// Returns an empty animation that shows each picture for this time.
    pub fn new(milliseconds: u16) -> Animation {
        Animation { encoder: None, delay: milliseconds / 10 }
    }

    /// Appends a picture, in at most 256 of its colours.
    ///
    /// # Errors
    /// If its size differs from the first one's or is too large for the format, or drawing fails.
    pub fn push(&mut self, picture: &Picture) -> Result<(), PlotError> {
        self.add(picture.indexed()?)
    }

    /// Appends an image.
    pub(crate) fn add(&mut self, image: Indexed) -> Result<(), PlotError> {
        let width = u16::try_from(image.width).map_err(failed)?;
        let height = u16::try_from(image.height).map_err(failed)?;
        let (size, encoder) = match &mut self.encoder {
            Some(begun) => begun,
            empty => {
                let mut encoder =
                    gif::Encoder::new(Vec::new(), width, height, &[]).map_err(failed)?;
                encoder.set_repeat(gif::Repeat::Infinite).map_err(failed)?;
                empty.insert(([width, height], encoder))
            }
        };
        if *size != [width, height] {
            return Err(failed("a picture of another size than the first of the animation"));
        }
        let frame = gif::Frame {
            width,
            height,
            delay: self.delay,
            palette: Some(image.colors.concat()),
            buffer: image.pixels.into(),
            ..gif::Frame::default()
        };
        encoder.write_frame(&frame).map_err(failed)
    }

    /// Writes the GIF file, whole or not at all.
    ///
    /// # Errors
    /// If there is no picture or the file cannot be written.
    pub fn write(self, path: &Path) -> Result<(), PlotError> {
        let (_, encoder) = self.encoder.ok_or_else(|| failed("an animation of no pictures"))?;
        save(path, &encoder.into_inner().map_err(failed)?)
    }
}
