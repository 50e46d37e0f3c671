//! The PDF back end: one page of the picture's size.
//!
//! Letters are written as their outlines, so that the file needs no font and looks the same
//! everywhere; images are compressed without loss.

use super::color::Rgb;
use super::drawing::{Drawing, Item, failed, is_closed};
use super::error::PlotError;
use super::font::Segment;
use super::geometry::Point;
use super::raster;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use pdf_writer::types::LineJoinStyle;
use pdf_writer::{Content, Filter, Finish, Name, Pdf, Rect, Ref};
use std::io::Write;

/// Returns the picture as a PDF file.
pub(super) fn encode(drawing: &Drawing) -> Result<Vec<u8>, PlotError> {
    let mut content = Content::new();
    // Picture units from the top left corner, y downward.
    let unit = drawing.size.unit as f32;
    let (width, height) = (drawing.width as f32 * unit, drawing.height as f32 * unit);
    content.transform([unit, 0.0, 0.0, -unit, 0.0, height]);
    content.set_line_join(LineJoinStyle::RoundJoin);
    let mut images = Vec::new();
    let mut opacities: Vec<f64> = Vec::new();
    for item in &drawing.items {
        match item {
            Item::Path { points, width, color, opacity } => {
                let [r, g, b] = share(*color);
                content.save_state();
                if *opacity < 1.0 {
                    let known = opacities.iter().position(|known| known == opacity);
                    let number = known.unwrap_or_else(|| {
                        opacities.push(*opacity);
                        opacities.len() - 1
                    });
                    content.set_parameters(Name(format!("G{number}").as_bytes()));
                }
                match width {
                    Some(width) => content.set_stroke_rgb(r, g, b).set_line_width(*width as f32),
                    None => content.set_fill_rgb(r, g, b),
                };
                if trace(&mut content, points) {
                    match width {
                        Some(_) if is_closed(points) => content.close_and_stroke(),
                        Some(_) => content.stroke(),
                        None => content.fill_nonzero(),
                    };
                }
                content.restore_state();
            }
            Item::Text(text) => {
                let [r, g, b] = share(text.color);
                content.set_fill_rgb(r, g, b);
                if write(&mut content, raster::placed(text)) {
                    content.fill_nonzero();
                }
            }
            Item::Image { area, pixels } => {
                let [w, h] = [area.width(), area.height()].map(|v| v as f32);
                let (x, y) = (area.left as f32, area.bottom as f32);
                let name = format!("I{}", images.len());
                content.save_state().transform([w, 0.0, 0.0, -h, x, y]);
                content.x_object(Name(name.as_bytes())).restore_state();
                images.push((name, raster::on_paper(area, pixels, drawing.size.scale)?));
            }
        }
    }

    let mut numbers = 1..;
    let mut next = || Ref::new(numbers.next().expect("few objects"));
    let [catalog, pages, page_number, stream] = [next(), next(), next(), next()];
    let objects: Vec<Ref> = images.iter().map(|_| next()).collect();
    let mut pdf = Pdf::new();
    pdf.catalog(catalog).pages(pages);
    pdf.pages(pages).kids([page_number]).count(1);
    let mut page = pdf.page(page_number);
    page.media_box(Rect::new(0.0, 0.0, width, height)).parent(pages).contents(stream);
    let mut resources = page.resources();
    let mut named = resources.x_objects();
    for ((name, _), object) in images.iter().zip(&objects) {
        named.pair(Name(name.as_bytes()), object);
    }
    named.finish();
    let mut states = resources.ext_g_states();
    for (number, opacity) in opacities.iter().enumerate() {
        let name = format!("G{number}");
        let state = states.insert(Name(name.as_bytes()));
        state
            .start::<pdf_writer::writers::ExtGraphicsState<'_>>()
            .stroking_alpha(*opacity as f32)
            .non_stroking_alpha(*opacity as f32);
    }
    states.finish();
    resources.finish();
    page.finish();
    pdf.stream(stream, &compressed(&content.finish())?).filter(Filter::FlateDecode);
    for ((_, pixels), object) in images.iter().zip(objects) {
        let bytes = compressed(pixels.colors.as_flattened())?;
        let mut image = pdf.image_xobject(object, &bytes);
        image.filter(Filter::FlateDecode);
        image.width(pixels.width as i32).height(pixels.height as i32);
        image.color_space().device_rgb();
        image.bits_per_component(8);
    }
    Ok(pdf.finish())
}

fn share(color: Rgb) -> [f32; 3] {
    color.map(|v| f32::from(v) / 255.0)
}

/// Whether there is a line to draw.
fn trace(content: &mut Content, points: &[Point]) -> bool {
    let Some((first, rest)) = points.split_first() else { return false };
    content.move_to(first.0 as f32, first.1 as f32);
    rest.iter().for_each(|p| {
        content.line_to(p.0 as f32, p.1 as f32);
    });
    true
}

/// Whether there is a letter to fill.
fn write(content: &mut Content, segments: impl Iterator<Item = Segment>) -> bool {
    let mut pen = (0.0, 0.0);
    let mut any = false;
    let single = |(x, y): Point| (x as f32, y as f32);
    for segment in segments {
        any = true;
        match segment {
            Segment::Move(to) => {
                content.move_to(single(to).0, single(to).1);
                pen = to;
            }
            Segment::Line(to) => {
                content.line_to(single(to).0, single(to).1);
                pen = to;
            }
            Segment::Quadratic(c, to) => {
                // The cubic curve that is the same.
                let between = |from: Point| {
                    single((
                        from.0 + (c.0 - from.0) * 2.0 / 3.0,
                        from.1 + (c.1 - from.1) * 2.0 / 3.0,
                    ))
                };
                let [a, b, end] = [between(pen), between(to), single(to)];
                content.cubic_to(a.0, a.1, b.0, b.1, end.0, end.1);
                pen = to;
            }
            Segment::Cubic(c, d, to) => {
                let [a, b, end] = [c, d, to].map(single);
                content.cubic_to(a.0, a.1, b.0, b.1, end.0, end.1);
                pen = to;
            }
            Segment::Close => {
                content.close_path();
            }
        }
    }
    any
}

fn compressed(bytes: &[u8]) -> Result<Vec<u8>, PlotError> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).and_then(|()| encoder.finish()).map_err(failed)
}

#[cfg(test)]
mod tests;
