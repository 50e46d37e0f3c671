//! The PDF back end: one page of the picture's size.
//!
//! Letters are written as their outlines, so that the file needs no font and looks the same
//! everywhere; images are compressed without loss.

use super::color::Rgb;
use super::drawing::{Drawing, Item, failed, outline};
use super::error::PlotError;
use super::raster;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use pdf_writer::types::LineJoinStyle;
use pdf_writer::{Content, Filter, Finish, Name, Pdf, Rect, Ref};
use std::io::Write;
use tiny_skia::{Path, PathSegment, Point};

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
                let Some(path) = outline(points, width.is_none()) else { continue };
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
                trace(&mut content, &path);
                match width {
                    Some(_) => content.stroke(),
                    None => content.fill_nonzero(),
                };
                content.restore_state();
            }
            Item::Text(text) => {
                let Some(path) = text.outlines() else { continue };
                let [r, g, b] = share(text.color);
                content.set_fill_rgb(r, g, b);
                trace(&mut content, &path);
                content.fill_nonzero();
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

fn trace(content: &mut Content, path: &Path) {
    let mut pen = Point::zero();
    for segment in path.segments() {
        match segment {
            PathSegment::MoveTo(to) => content.move_to(to.x, to.y),
            PathSegment::LineTo(to) => content.line_to(to.x, to.y),
            PathSegment::QuadTo(c, to) => {
                // The equivalent cubic curve.
                let between = |from: f32, control: f32| from + (control - from) * 2.0 / 3.0;
                let [a, b] = [pen, to].map(|p| (between(p.x, c.x), between(p.y, c.y)));
                content.cubic_to(a.0, a.1, b.0, b.1, to.x, to.y)
            }
            PathSegment::CubicTo(c, d, to) => content.cubic_to(c.x, c.y, d.x, d.y, to.x, to.y),
            PathSegment::Close => content.close_path(),
        };
        pen = match segment {
            PathSegment::MoveTo(to) | PathSegment::LineTo(to) => to,
            PathSegment::QuadTo(_, to) | PathSegment::CubicTo(_, _, to) => to,
            PathSegment::Close => pen,
        };
    }
}

fn compressed(bytes: &[u8]) -> Result<Vec<u8>, PlotError> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).and_then(|()| encoder.finish()).map_err(failed)
}

#[cfg(test)]
mod tests;
