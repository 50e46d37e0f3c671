//! The size of a picture, on a screen or on paper.

use super::error::PlotError;

/// Font size of axis labels, in picture units.
pub(super) const LABELS: f64 = 25.0;
/// Points per picture unit on a screen: half a CSS pixel.
const SCREEN_UNIT: f64 = 0.375;
/// Fewest picture units across a picture, so that there is room for numbers beside it.
const NARROWEST: f64 = 560.0;
/// Points per millimetre.
const POINTS: f64 = 72.0 / 25.4;

/// The size of a picture and its text.
///
/// Everything in a picture is in proportion to its text. A larger font makes thicker lines and
/// longer ticks, and leaves less of the width to the content.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Size {
    /// Points per picture unit.
    pub(super) unit: f64,
    /// Width in picture units; `None` for the width that the content needs.
    pub(super) width: Option<f64>,
    /// Pixels of a PNG per picture unit.
    pub(super) scale: f64,
}

impl Default for Size {
    /// Returns the width that the content needs; the PNG has 192 pixels per inch.
    fn default() -> Size {
        Size { unit: SCREEN_UNIT, width: None, scale: 1.0 }
    }
}

impl Size {
    /// Returns a picture `width` millimetres wide whose axes are labelled in a font of `font`
    /// points.
    ///
    /// # Errors
    /// If the width is not within 10 and 2000 mm or the font not within 2 and 200 pt, or the font
    /// is too large for the width.
    pub fn print(width: f64, font: f64) -> Result<Size, PlotError> {
        let unit = font / LABELS;
        let units = width * POINTS / unit;
        if !(10.0..=2000.0).contains(&width) || !(2.0..=200.0).contains(&font) {
            return Err(PlotError::Size { width, font });
        }
        if units < NARROWEST {
            return Err(PlotError::Font { width, font, most: units / NARROWEST * font });
        }
        Ok(Size { unit, width: Some(units), scale: 1.0 }.dpi(300.0))
    }

    /// Returns a picture of this width in pixels, from 280 to 4000, with two picture units per
    /// pixel: small, for frames.
    pub fn pixels(width: u32) -> Size {
        let units = 2.0 * f64::from(width.clamp(280, 4000));
        Size { unit: SCREEN_UNIT, width: Some(units), scale: 0.5 }
    }

    /// Returns the same size with `dpi` pixels per inch in a PNG, or in an image in another file.
    /// Values outside 10 to 2400 become the nearest of these.
    #[must_use]
    pub fn dpi(self, dpi: f64) -> Size {
        Size { scale: self.unit / 72.0 * dpi.clamp(10.0, 2400.0), ..self }
    }

    /// Returns the picture's width for an area of `natural` units with `beside` units beside it,
    /// and the area's width.
    pub(super) fn widths(&self, natural: f64, beside: f64) -> (f64, f64) {
        match self.width {
            Some(width) => (width, width - beside),
            None => (natural + beside, natural),
        }
    }
}

#[cfg(test)]
mod tests;
