//! The canvas of plotters: a back end that records strokes, polygons, texts and images.

use super::color::{Rgb, WHITE};
use super::drawing::{Align, Drawing, Pixels, Text};
use super::font::{self, CAPITALS};
use super::geometry::{Area, Point};
use plotters::style::text_anchor::{HPos, VPos};
use plotters::style::{IntoFont, RGBAColor, RGBColor, ShapeStyle, TextStyle};
use plotters_backend::{
    BackendColor, BackendCoord, BackendStyle, BackendTextStyle, DrawingBackend, DrawingErrorKind,
    FontStyle, FontTransform,
};
use std::convert::Infallible;

/// A [`Picture`](super::Picture) as a back end of plotters.
///
/// A coordinate of plotters is 1/64 of a picture unit, so that curves are smooth. Sizes of strokes,
/// fonts and margins are in the same unit: multiply picture units by [`Canvas::UNIT`]. Text always
/// has the built-in font, for any font family.
#[derive(Debug)]
pub struct Canvas<'a>(pub(super) &'a mut Drawing);

impl Canvas<'_> {
    /// Coordinates of plotters per picture unit.
    pub const UNIT: i32 = 64;
}

type Done = Result<(), DrawingErrorKind<Infallible>>;

/// Returns picture units as coordinates of plotters.
pub(super) fn px(units: f64) -> i32 {
    (units * f64::from(Canvas::UNIT)).round() as i32
}

/// Returns coordinates of plotters as picture units.
fn units(at: BackendCoord) -> Point {
    (f64::from(at.0) / f64::from(Canvas::UNIT), f64::from(at.1) / f64::from(Canvas::UNIT))
}

fn rgb(color: BackendColor) -> Rgb {
    [color.rgb.0, color.rgb.1, color.rgb.2]
}

/// Returns the style of a stroke with this width in picture units.
pub(super) fn stroke([r, g, b]: Rgb, width: f64) -> ShapeStyle {
    ShapeStyle { color: RGBAColor(r, g, b, 1.0), filled: false, stroke_width: px(width) as u32 }
}

/// Returns the style of a filled shape.
pub(super) fn filled([r, g, b]: Rgb, opacity: f64) -> ShapeStyle {
    ShapeStyle { color: RGBAColor(r, g, b, opacity), filled: true, stroke_width: 0 }
}

/// Returns the style of a text whose em has this many picture units.
pub(super) fn letters(em: f64, [r, g, b]: Rgb) -> TextStyle<'static> {
    ("sans-serif", f64::from(px(em))).into_font().color(&RGBColor(r, g, b))
}

impl DrawingBackend for Canvas<'_> {
    type ErrorType = Infallible;

    fn get_size(&self) -> (u32, u32) {
        (px(self.0.width) as u32, px(self.0.height) as u32)
    }

    fn ensure_prepared(&mut self) -> Done {
        Ok(())
    }

    fn present(&mut self) -> Done {
        Ok(())
    }

    fn draw_pixel(&mut self, at: BackendCoord, color: BackendColor) -> Done {
        self.draw_rect(at, (at.0 + 1, at.1 + 1), &color, true)
    }

    fn draw_line<S: BackendStyle>(&mut self, a: BackendCoord, b: BackendCoord, style: &S) -> Done {
        self.draw_path([a, b], style)
    }

    fn draw_rect<S: BackendStyle>(
        &mut self,
        a: BackendCoord,
        b: BackendCoord,
        style: &S,
        fill: bool,
    ) -> Done {
        let corners = [a, (b.0, a.1), b, (a.0, b.1), a];
        if fill { self.fill_polygon(corners, style) } else { self.draw_path(corners, style) }
    }

    fn draw_path<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(
        &mut self,
        path: I,
        style: &S,
    ) -> Done {
        let width = f64::from(style.stroke_width()) / f64::from(Canvas::UNIT);
        self.record(path, Some(width), style.color());
        Ok(())
    }

    fn draw_circle<S: BackendStyle>(
        &mut self,
        (x, y): BackendCoord,
        radius: u32,
        style: &S,
        fill: bool,
    ) -> Done {
        let at = |k: u32| {
            let angle = f64::from(k) / 24.0 * std::f64::consts::TAU;
            let along = |part: f64| (f64::from(radius) * part).round() as i32;
            (x + along(angle.cos()), y + along(angle.sin()))
        };
        let circle = (0..=24).map(at);
        if fill { self.fill_polygon(circle, style) } else { self.draw_path(circle, style) }
    }

    fn fill_polygon<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(
        &mut self,
        points: I,
        style: &S,
    ) -> Done {
        self.record(points, None, style.color());
        Ok(())
    }

    fn draw_text<S: BackendTextStyle>(&mut self, text: &str, style: &S, at: BackendCoord) -> Done {
        let em = style.size() / f64::from(Canvas::UNIT);
        let BackendColor { alpha, .. } = style.color();
        if alpha == 0.0 {
            return Ok(());
        }
        let below = match style.anchor().v_pos {
            VPos::Top => CAPITALS * em,
            VPos::Center => CAPITALS * em / 2.0,
            VPos::Bottom => 0.0,
        };
        let (x, y) = units(at);
        let (turns, at) = match style.transform() {
            FontTransform::None => (0, (x, y + below)),
            FontTransform::Rotate90 => (1, (x - below, y)),
            FontTransform::Rotate180 => (2, (x, y - below)),
            FontTransform::Rotate270 => (3, (x + below, y)),
        };
        let align = match style.anchor().h_pos {
            HPos::Left => Align::Start,
            HPos::Center => Align::Middle,
            HPos::Right => Align::End,
        };
        let bold = matches!(style.style(), FontStyle::Bold);
        let over_white = |k: usize| {
            f64::from(rgb(style.color())[k]) * alpha + f64::from(WHITE[k]) * (1.0 - alpha)
        };
        let color = [0, 1, 2].map(|k| over_white(k).round() as u8);
        self.0.text(Text { align, bold, turns, ..Text::new(text, at, em, color) });
        Ok(())
    }

    fn estimate_text_size<S: BackendTextStyle>(
        &self,
        text: &str,
        style: &S,
    ) -> Result<(u32, u32), DrawingErrorKind<Infallible>> {
        let bold = matches!(style.style(), FontStyle::Bold);
        Ok((font::width(text, style.size(), bold).ceil() as u32, style.size().ceil() as u32))
    }

    fn blit_bitmap(&mut self, at: BackendCoord, (w, h): (u32, u32), rgb: &[u8]) -> Done {
        let (left, top) = units(at);
        let (right, bottom) = units((at.0 + w as i32, at.1 + h as i32));
        let colors = rgb.as_chunks().0.to_vec();
        let pixels = Pixels { width: w as usize, height: h as usize, colors };
        self.0.image(Area { left, top, right, bottom }, pixels);
        Ok(())
    }
}

impl Canvas<'_> {
    fn record(
        &mut self,
        points: impl IntoIterator<Item = BackendCoord>,
        width: Option<f64>,
        color: BackendColor,
    ) {
        let points: Vec<Point> = points.into_iter().map(units).collect();
        if !points.is_empty() && color.alpha > 0.0 {
            self.0.path(points, width, rgb(color), color.alpha.min(1.0));
        }
    }
}
