//! The PNG back end.
//!
//! Everything is drawn on a bitmap of [`SUBUNITS`] pixels to the unit and then
//! averaged down, which smooths every edge alike.

use super::color::WHITE;
use super::drawing::{
    Align, Area, Drawing, Item, Point, SUBUNITS, Text, failed, fill, style, subunits,
};
use super::error::PlotError;
use super::font;
use image::codecs::png::{CompressionType, FilterType, PngEncoder};
use image::{ExtendedColorType, ImageEncoder, RgbImage};
use plotters::prelude::{BitMapBackend, DrawingBackend};
use plotters::style::{Color, RGBColor, ShapeStyle};

/// The picture as a PNG file.
pub(super) fn encode(drawing: &Drawing) -> Result<Vec<u8>, PlotError> {
    png(&render(drawing)?, FilterType::Adaptive)
}

/// An image as a PNG file. Rows of few distinct colours compress best unfiltered.
pub(super) fn png(pixels: &RgbImage, filter: FilterType) -> Result<Vec<u8>, PlotError> {
    let mut bytes = Vec::new();
    PngEncoder::new_with_quality(&mut bytes, CompressionType::Default, filter)
        .write_image(pixels.as_raw(), pixels.width(), pixels.height(), ExtendedColorType::Rgb8)
        .map_err(failed)?;
    Ok(bytes)
}

/// The picture's pixels.
pub(super) fn render(drawing: &Drawing) -> Result<RgbImage, PlotError> {
    let (width, height) = (drawing.width * SUBUNITS, drawing.height * SUBUNITS);
    let mut canvas = RgbImage::from_pixel(width, height, image::Rgb(WHITE));
    for item in &drawing.items {
        if let Item::Image { area, pixels } = item {
            blit(&mut canvas, area, pixels);
            continue;
        }
        let mut backend = BitMapBackend::with_buffer(&mut canvas, (width, height));
        match item {
            Item::Line { points, width, color } => {
                stroke(&mut backend, points, &style(*color, 1.0, *width))?;
            }
            Item::Polygon { points, color, opacity } => {
                fill(&mut backend, points, *color, *opacity)?;
            }
            Item::Text(text) => write(&mut backend, text)?,
            Item::Image { .. } => {}
        }
    }
    Ok(image::imageops::thumbnail(&canvas, drawing.width, drawing.height))
}

/// Draws a line segment by segment with round joints: one outline around a
/// whole noisy curve would cross itself and leave holes.
fn stroke<B: DrawingBackend>(
    backend: &mut B,
    points: &[Point],
    style: &ShapeStyle,
) -> Result<(), PlotError> {
    for ends in points.windows(2) {
        backend.draw_path(ends.iter().map(|&p| subunits(p)), style).map_err(failed)?;
    }
    let joints = points.len().saturating_sub(1);
    for &joint in points.iter().take(joints).skip(1) {
        let radius = style.stroke_width / 2;
        backend.draw_circle(subunits(joint), radius, &style.color, true).map_err(failed)?;
    }
    Ok(())
}

fn write<B: DrawingBackend>(backend: &mut B, text: &Text) -> Result<(), PlotError> {
    let em = text.em * f64::from(SUBUNITS);
    let shift = match text.align {
        Align::Start => 0.0,
        Align::Middle => -text.width() / 2.0,
        Align::End => -text.width(),
    };
    let shift = (shift * f64::from(SUBUNITS)).round() as i32;
    let (left, base) = subunits(text.at);
    let [r, g, b] = text.color;
    let mut result = Ok(());
    font::rasterize(&text.text, em, text.bold, |x, y, coverage| {
        let (x, y) = (x + shift, y);
        let (x, y) = if text.upright { (left + y, base - x) } else { (left + x, base + y) };
        let color = RGBColor(r, g, b).mix(coverage.min(1.0)).to_backend_color();
        if let Err(error) = backend.draw_pixel((x, y), color) {
            result = Err(failed(error));
        }
    });
    result
}

/// Stretches `pixels` over `area`: every bitmap pixel takes the image pixel under its centre.
fn blit(canvas: &mut RgbImage, area: &Area, pixels: &RgbImage) {
    let (left, top) = subunits((area.left, area.top));
    let (right, bottom) = subunits((area.right, area.bottom));
    let nearest = |at: i32, from: i32, to: i32, count: u32| {
        let share = (f64::from(at - from) + 0.5) / f64::from(to - from);
        ((share * f64::from(count)) as u32).min(count - 1)
    };
    let columns: Vec<u32> =
        (left..right).map(|x| nearest(x, left, right, pixels.width())).collect();
    for y in top..bottom {
        let row = nearest(y, top, bottom, pixels.height());
        for (x, &column) in (left..right).zip(&columns) {
            canvas.put_pixel(x as u32, y as u32, *pixels.get_pixel(column, row));
        }
    }
}
