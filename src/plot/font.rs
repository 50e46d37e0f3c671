//! DejaVu Sans: widths of texts and shapes of their letters.

use ab_glyph::{Font, FontRef, Glyph, OutlineCurve, PxScale, ScaleFont, point};
use std::borrow::Cow;
use std::sync::OnceLock;
use tiny_skia::{Path, PathBuilder};

/// The font family in style sheets, for viewers that draw the text themselves.
pub(super) const FAMILY: &str = "DejaVu Sans, Verdana, sans-serif";

/// Height of capitals over the font size (OS/2 table, sCapHeight 1493 of 2048).
pub(super) const CAPITALS: f64 = 0.729;

fn font(bold: bool) -> &'static FontRef<'static> {
    static FONTS: OnceLock<[FontRef<'static>; 2]> = OnceLock::new();
    &FONTS.get_or_init(|| {
        [dejavu::sans::regular(), dejavu::sans::bold()]
            .map(|bytes| FontRef::try_from_slice(bytes).expect("the built-in font is well formed"))
    })[usize::from(bold)]
}

/// Returns the scale of a font whose em is `em` units.
fn scale(font: &FontRef<'static>, em: f64) -> PxScale {
    let per_em = f64::from(font.units_per_em().expect("the built-in font states its em"));
    PxScale::from((em * f64::from(font.height_unscaled()) / per_em) as f32)
}

/// Returns the letters of `text` along a base line that starts at the origin, and its width.
fn letters(text: &str, em: f64, bold: bool) -> (Vec<Glyph>, f64) {
    let font = font(bold);
    let scaled = font.as_scaled(scale(font, em));
    let mut x = 0.0;
    let mut last = None;
    let mut glyphs = Vec::new();
    for c in text.chars() {
        let id = font.glyph_id(c);
        if let Some(last) = last {
            x += scaled.kern(last, id);
        }
        glyphs.push(id.with_scale_and_position(scaled.scale(), point(x, 0.0)));
        x += scaled.h_advance(id);
        last = Some(id);
    }
    (glyphs, f64::from(x))
}

/// Returns the width of one line of text, in the unit of `em`. It is the width in the PNG, or in a
/// viewer's font if that is larger.
pub(super) fn width(text: &str, em: f64, bold: bool) -> f64 {
    let unknown = text.chars().filter(|&c| !has(c)).count();
    let shown = letters(&legible(text), em, bold).1;
    // Viewers use other fonts for unknown letters, which are about one em wide.
    if unknown == 0 {
        shown
    } else {
        shown.max(letters(text, em, bold).1 + 0.4 * em * unknown as f64)
    }
}

/// Whether the font has a letter.
fn has(c: char) -> bool {
    font(false).glyph_id(c).0 != 0
}

/// Returns the text with unknown letters, such as Chinese ones, replaced by their Unicode numbers,
/// because a box would be unreadable.
pub(super) fn legible(text: &str) -> Cow<'_, str> {
    if text.chars().all(has) {
        return text.into();
    }
    let one = |c: char| match has(c) {
        true => c.to_string(),
        false => format!("‹{:X}›", u32::from(c)),
    };
    text.chars().map(one).collect()
}

/// Returns the outlines of a text's letters, to be filled by the nonzero rule. The base line starts
/// at the origin, x to the right and y downward. `None` if no letter has an outline.
pub(super) fn outlines(text: &str, em: f64, bold: bool) -> Option<Path> {
    let font = font(bold);
    let per_em = font.units_per_em().expect("the built-in font states its em");
    let unit = em as f32 / per_em;
    let mut path = PathBuilder::new();
    for glyph in letters(&legible(text), em, bold).0 {
        let Some(shape) = font.outline(glyph.id) else { continue };
        let at = |p: ab_glyph::Point| (glyph.position.x + p.x * unit, -p.y * unit);
        let mut pen = None;
        for curve in shape.curves {
            use OutlineCurve::{Cubic, Line, Quad};
            let (Line(from, to) | Quad(from, _, to) | Cubic(from, _, _, to)) = curve;
            let ((x, y), start) = (at(to), at(from));
            if pen != Some(from) {
                path.close();
                path.move_to(start.0, start.1);
            }
            match curve {
                Line(..) => path.line_to(x, y),
                Quad(_, c, _) => path.quad_to(at(c).0, at(c).1, x, y),
                Cubic(_, c, d, _) => path.cubic_to(at(c).0, at(c).1, at(d).0, at(d).1, x, y),
            }
            pen = Some(to);
        }
        path.close();
    }
    path.finish()
}

#[cfg(test)]
mod tests;
