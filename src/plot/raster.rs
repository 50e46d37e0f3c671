//! The PNG back end.

use super::color::Rgb;
use super::drawing::{Drawing, Item, Pixels, failed, outline};
use super::error::{PlotError, check_pixels};
use super::geometry::Area;
use tiny_skia::{FillRule, LineJoin, Paint, Pixmap, PremultipliedColorU8, Stroke, Transform};

/// Returns the picture as a PNG file.
pub(super) fn encode(drawing: &Drawing) -> Result<Vec<u8>, PlotError> {
    let per_metre = drawing.size.scale / drawing.size.unit * 72.0 / 0.0254;
    let dots = per_metre.round() as u32;
    rgb(&render(drawing, drawing.size.scale)?, png::Filter::Adaptive, |encoder| {
        let unit = png::Unit::Meter;
        encoder.set_pixel_dims(Some(png::PixelDimensions { xppu: dots, yppu: dots, unit }));
    })
}

/// Returns an image as a PNG file. Rows of few distinct colours compress best unfiltered.
pub(super) fn rgb(
    pixels: &Pixels,
    filter: png::Filter,
    set: impl FnOnce(&mut Encoder<'_>),
) -> Result<Vec<u8>, PlotError> {
    png([pixels.width, pixels.height], pixels.colors.as_flattened(), filter, |encoder| {
        encoder.set_color(png::ColorType::Rgb);
        set(encoder);
    })
}

type Encoder<'a> = png::Encoder<'a, &'a mut Vec<u8>>;

/// Returns a PNG file with one byte per channel. `set` sets the encoder's channels and their
/// meaning.
pub(super) fn png(
    [width, height]: [usize; 2],
    data: &[u8],
    filter: png::Filter,
    set: impl FnOnce(&mut Encoder<'_>),
) -> Result<Vec<u8>, PlotError> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width as u32, height as u32);
    // A compression level also sets a filter.
    encoder.set_compression(png::Compression::Balanced);
    encoder.set_filter(filter);
    set(&mut encoder);
    let mut writer = encoder.write_header().map_err(failed)?;
    writer.write_image_data(data).map_err(failed)?;
    writer.finish().map_err(failed)?;
    Ok(bytes)
}

/// Returns the picture's pixels, with `scale` pixels per unit.
pub(super) fn render(drawing: &Drawing, scale: f64) -> Result<Pixels, PlotError> {
    let pixels = |units: f64| ((units * scale).round() as u32).max(1);
    let (width, height) = (pixels(drawing.width), pixels(drawing.height));
    check_pixels(width as usize, height as usize)?;
    let too_large = || failed(format!("{width} x {height} pixels are too many"));
    let mut canvas = Pixmap::new(width, height).ok_or_else(too_large)?;
    canvas.fill(tiny_skia::Color::WHITE);
    let to_pixels = Transform::from_scale(scale as f32, scale as f32);
    for item in &drawing.items {
        match item {
            Item::Path { points, width, color, opacity } => {
                let Some(path) = outline(points, width.is_none()) else { continue };
                let paint = paint(*color, *opacity);
                match width {
                    Some(width) => {
                        let stroke = Stroke {
                            width: *width as f32,
                            line_join: LineJoin::Round,
                            ..Stroke::default()
                        };
                        canvas.stroke_path(&path, &paint, &stroke, to_pixels, None);
                    }
                    None => canvas.fill_path(&path, &paint, FillRule::Winding, to_pixels, None),
                }
            }
            Item::Text(text) => {
                let Some(path) = text.outlines() else { continue };
                let paint = paint(text.color, 1.0);
                canvas.fill_path(&path, &paint, FillRule::Winding, to_pixels, None);
            }
            Item::Image { area, pixels } => blit(&mut canvas, area, pixels, scale)?,
        }
    }
    let colors = canvas.pixels().iter().map(|p| [p.red(), p.green(), p.blue()]).collect();
    Ok(Pixels { width: width as usize, height: height as usize, colors })
}

fn paint([r, g, b]: Rgb, opacity: f64) -> Paint<'static> {
    let mut paint = Paint::default();
    paint.set_color_rgba8(r, g, b, (opacity * 255.0).round() as u8);
    paint
}

/// Returns the first pixel and the one after the last in an interval of picture units.
fn span(from: f64, to: f64, scale: f64) -> (usize, usize) {
    let [from, to] = [from, to].map(|v| (v * scale).round().max(0.0) as usize);
    (from, to.max(from + 1))
}

/// Returns an image with the pixels of `area`, `scale` pixels per unit. Each takes the pixel of
/// `pixels` under its centre.
///
/// # Errors
/// If there are too many pixels.
pub(super) fn on_paper(area: &Area, pixels: &Pixels, scale: f64) -> Result<Pixels, PlotError> {
    let along = |(from, to): (usize, usize), count: usize| -> Vec<usize> {
        let length = to - from;
        (0..length).map(|at| (2 * at + 1) * count / (2 * length)).collect()
    };
    let (x, y) = (span(area.left, area.right, scale), span(area.top, area.bottom, scale));
    check_pixels(x.1 - x.0, y.1 - y.0)?;
    let (columns, rows) = (along(x, pixels.width), along(y, pixels.height));
    Ok(Pixels::from_fn(columns.len(), rows.len(), |x, y| pixels.at(columns[x], rows[y])))
}

/// Stretches `pixels` over `area`.
fn blit(canvas: &mut Pixmap, area: &Area, pixels: &Pixels, scale: f64) -> Result<(), PlotError> {
    let image = on_paper(area, pixels, scale)?;
    let (left, top) = (span(area.left, area.right, scale).0, span(area.top, area.bottom, scale).0);
    let opaque = |&[r, g, b]: &Rgb| {
        PremultipliedColorU8::from_rgba(r, g, b, 255).expect("what is opaque is premultiplied")
    };
    let width = canvas.width() as usize;
    let lines = canvas.pixels_mut().chunks_exact_mut(width).skip(top);
    for (line, row) in lines.zip(image.colors.chunks_exact(image.width)) {
        let line = line.iter_mut().skip(left);
        line.zip(row).for_each(|(pixel, color)| *pixel = opaque(color));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
