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
fn render(drawing: &Drawing) -> Result<RgbImage, PlotError> {
    Ok(averaged::<{ SUBUNITS as usize }>(&canvas(drawing)?))
}

/// Every pixel the mean of `N × N`, rounded.
pub(super) fn averaged<const N: usize>(canvas: &RgbImage) -> RgbImage {
    let parts = (N * N) as u16;
    let line = 3 * canvas.width() as usize;
    let mut sums = vec![0u16; line];
    let mut means = Vec::with_capacity(canvas.as_raw().len() / (N * N));
    for rows in canvas.as_raw().chunks_exact(line * N) {
        sums.fill(0);
        for row in rows.chunks_exact(line) {
            sums.iter_mut().zip(row).for_each(|(sum, &v)| *sum += u16::from(v));
        }
        for pixels in sums.chunks_exact(3 * N) {
            let sum = |c: usize| pixels.iter().skip(c).step_by(3).sum::<u16>();
            means.extend([0, 1, 2].map(|c| ((sum(c) + parts / 2) / parts) as u8));
        }
    }
    let [width, height] = [canvas.width(), canvas.height()].map(|n| n / N as u32);
    RgbImage::from_raw(width, height, means).expect("N divides width and height")
}

/// The bitmap of [`SUBUNITS`] pixels to the unit.
pub(super) fn canvas(drawing: &Drawing) -> Result<RgbImage, PlotError> {
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
    Ok(canvas)
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

/// Stretches `pixels` over `area`.
fn blit(canvas: &mut RgbImage, area: &Area, pixels: &RgbImage) {
    let (left, top) = subunits((area.left, area.top));
    let (right, bottom) = subunits((area.right, area.bottom));
    let pixels = stretched(pixels, (right - left) as u32, (bottom - top) as u32);
    image::imageops::replace(canvas, &pixels, left.into(), top.into());
}

/// Of `count` pixels or bins along `length` pixels, the one under the centre of pixel `at`.
pub(super) fn nearest(at: usize, length: usize, count: usize) -> usize {
    (2 * at + 1) * count / (2 * length)
}

/// An image of this size, every pixel of which takes the pixel of `pixels` under its centre.
pub(super) fn stretched(pixels: &RgbImage, width: u32, height: u32) -> RgbImage {
    let along = |length: u32, count: u32| -> Vec<u32> {
        let (length, count) = (length as usize, count as usize);
        (0..length).map(|at| nearest(at, length, count) as u32).collect()
    };
    let (columns, rows) = (along(width, pixels.width()), along(height, pixels.height()));
    RgbImage::from_fn(width, height, |x, y| {
        *pixels.get_pixel(columns[x as usize], rows[y as usize])
    })
}
