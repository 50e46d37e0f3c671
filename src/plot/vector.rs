//! The SVG back end.
//!
//! plotters writes strokes and text; images are written here, as PNG in a data
//! URI, because plotters would turn each of their pixels into an element.

use super::drawing::{Align, Area, Drawing, Item, SUBUNITS, Text, failed, fill, style, subunits};
use super::error::PlotError;
use super::font::FAMILY;
use super::raster;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use image::RgbImage;
use image::codecs::png::FilterType;
use plotters::prelude::{DrawingBackend, SVGBackend};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{FontStyle, FontTransform, IntoFont, IntoTextStyle, RGBColor};

/// plotters writes a font size as this share of the size given.
const SIZE_OF_EM: f64 = 1.24;
/// plotters puts the base line of text anchored at its top this many em below the anchor.
const TOP_TO_BASE: f64 = 0.76;

/// The picture as an SVG file.
pub(super) fn encode(drawing: &Drawing) -> Result<Vec<u8>, PlotError> {
    let Drawing { width, height, .. } = *drawing;
    // Two picture units to the CSS pixel, SUBUNITS of the view box to the picture unit.
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{}\" viewBox=\"0 0 {} {}\" \
         stroke-linejoin=\"round\">\n<rect width=\"100%\" height=\"100%\" fill=\"#FFFFFF\"/>\n",
        f64::from(width) / 2.0,
        f64::from(height) / 2.0,
        width * SUBUNITS,
        height * SUBUNITS,
    );
    for run in drawing.items.chunk_by(|a, b| is_image(a) == is_image(b)) {
        match run {
            [Item::Image { .. }, ..] => {
                for item in run {
                    if let Item::Image { area, pixels } = item {
                        svg.push_str(&element(area, pixels)?);
                    }
                }
            }
            _ => svg.push_str(&strokes(drawing, run)?),
        }
    }
    svg.push_str("</svg>\n");
    Ok(svg.into_bytes())
}

fn is_image(item: &Item) -> bool {
    matches!(item, Item::Image { .. })
}

/// What plotters writes for `items`, without its own outer element.
fn strokes(drawing: &Drawing, items: &[Item]) -> Result<String, PlotError> {
    let mut text = String::new();
    let size = (drawing.width * SUBUNITS, drawing.height * SUBUNITS);
    let mut backend = SVGBackend::with_string(&mut text, size);
    for item in items {
        match item {
            Item::Line { points, width, color } => {
                let points: Vec<_> = points.iter().map(|&p| subunits(p)).collect();
                backend.draw_path(points, &style(*color, 1.0, *width)).map_err(failed)?;
            }
            Item::Polygon { points, color, opacity } => {
                fill(&mut backend, points, *color, *opacity)?;
            }
            Item::Text(text) => write(&mut backend, text)?,
            Item::Image { .. } => {}
        }
    }
    backend.present().map_err(failed)?;
    drop(backend);
    let body = text.split_once('\n').and_then(|(_, rest)| rest.strip_suffix("</svg>\n"));
    body.map(str::to_owned).ok_or_else(|| failed("the SVG writer closed its file early"))
}

fn write(backend: &mut SVGBackend<'_>, text: &Text) -> Result<(), PlotError> {
    let em = text.em * f64::from(SUBUNITS);
    let (mut x, mut y) = subunits(text.at);
    let below = (TOP_TO_BASE * em).round() as i32;
    let mut font = (FAMILY, em * SIZE_OF_EM).into_font();
    if text.bold {
        font = font.style(FontStyle::Bold);
    }
    if text.upright {
        font = font.transform(FontTransform::Rotate270);
        x -= below;
    } else {
        y -= below;
    }
    let side = match text.align {
        Align::Start => HPos::Left,
        Align::Middle => HPos::Center,
        Align::End => HPos::Right,
    };
    let [r, g, b] = text.color;
    let style = font.with_color(RGBColor(r, g, b)).into_text_style(&(1, 1));
    let style = style.pos(Pos::new(side, VPos::Top));
    backend.draw_text(&text.text, &style, (x, y)).map_err(failed)
}

/// An image element that holds `pixels`, brought to one pixel per picture unit.
///
/// Viewers differ in how they enlarge an image, and many blur it: enlarged here,
/// bins stay crisp in all of them. Repeated rows cost next to nothing, being
/// zero once each is written as its difference from the one above.
fn element(area: &Area, pixels: &RgbImage) -> Result<String, PlotError> {
    let (left, top) = subunits((area.left, area.top));
    let (width, height) = (area.width().round() as u32, area.height().round() as u32);
    let repeated = pixels.height() * 2 <= height;
    let filter = if repeated { FilterType::Up } else { FilterType::NoFilter };
    let enlarged = raster::stretched(pixels, width, height);
    let data = STANDARD.encode(raster::png(&enlarged, filter)?);
    Ok(format!(
        "<image x=\"{left}\" y=\"{top}\" width=\"{}\" height=\"{}\" preserveAspectRatio=\"none\" \
         style=\"image-rendering:pixelated\" href=\"data:image/png;base64,{data}\"/>\n",
        width * SUBUNITS,
        height * SUBUNITS,
    ))
}
