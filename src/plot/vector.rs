//! The SVG back end.
//!
//! Coordinates are picture units. An image is one element, as PNG in a data URI.

use super::color::Rgb;
use super::drawing::{Align, Drawing, Item, Pixels, Text};
use super::error::PlotError;
use super::font::FAMILY;
use super::geometry::{Area, Point};
use super::raster;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// Returns the picture as an SVG file.
pub(super) fn encode(drawing: &Drawing) -> Result<Vec<u8>, PlotError> {
    let Drawing { width, height, size, .. } = drawing;
    // On paper lengths are in points, elsewhere in CSS pixels; a point has 4/3 pixels.
    let (unit, pixel) = if size.width.is_some() { ("pt", 1.0) } else { ("", 4.0 / 3.0) };
    let [w, h] = [width, height].map(|v| number(v * size.unit * pixel));
    // The cursor of a page reads these.
    let data = match &drawing.plot {
        Some((Area { left, top, right, bottom }, [low, high])) => {
            let area = [left, top, right, bottom].map(|v| number(*v)).join(",");
            format!(" data-area=\"[{area}]\" data-x=\"[{low},{high}]\"")
        }
        None => String::new(),
    };
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{w}{unit}\" height=\"{h}{unit}\" \
         viewBox=\"0 0 {} {}\" stroke-linejoin=\"round\"{data}>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#FFFFFF\"/>\n",
        number(*width),
        number(*height)
    );
    for item in &drawing.items {
        svg += &match item {
            Item::Path { points, width, color, opacity } => {
                let (points, color) = (listed(points), hex(*color));
                let (name, style) = match width {
                    Some(width) => {
                        let width = number(*width);
                        let style = format!("none\" stroke=\"{color}\" stroke-width=\"{width}");
                        ("polyline", style)
                    }
                    None => ("polygon", color),
                };
                let opacity = match *opacity {
                    1.0 => String::new(),
                    opacity => format!(" opacity=\"{}\"", number(opacity)),
                };
                format!("<{name} points=\"{points}\" fill=\"{style}\"{opacity}/>\n")
            }
            Item::Text(text) => letters(text),
            Item::Image { area, pixels } => image(area, pixels, size.scale)?,
        };
    }
    svg.push_str("</svg>\n");
    Ok(svg.into_bytes())
}

/// Writes a number to two decimals, without trailing zeros.
fn number(value: f64) -> String {
    let text = format!("{value:.2}");
    let short = text.trim_end_matches('0').trim_end_matches('.');
    if short == "-0" { "0".to_owned() } else { short.to_owned() }
}

fn listed(points: &[Point]) -> String {
    let one = |&(x, y): &Point| format!("{},{}", number(x), number(y));
    points.iter().map(one).collect::<Vec<_>>().join(" ")
}

fn hex([r, g, b]: Rgb) -> String {
    format!("#{r:02X}{g:02X}{b:02X}")
}

/// Returns a text element.
fn letters(text: &Text) -> String {
    let (x, y) = (number(text.at.0), number(text.at.1));
    let anchor = match text.align {
        Align::Start => "start",
        Align::Middle => "middle",
        Align::End => "end",
    };
    let weight = if text.bold { " font-weight=\"bold\"" } else { "" };
    let turned = match text.turns {
        0 => String::new(),
        turns => {
            format!(" transform=\"rotate({} {x} {y})\"", [0, 90, 180, -90][usize::from(turns)])
        }
    };
    let (em, color, letters) = (number(text.em), hex(text.color), escaped(&text.text));
    format!(
        "<text x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\" font-family=\"{FAMILY}\" \
         font-size=\"{em}\"{weight} fill=\"{color}\"{turned}>{letters}</text>\n"
    )
}

fn escaped(text: &str) -> String {
    let names = [('&', "&amp;"), ('<', "&lt;"), ('>', "&gt;"), ('"', "&quot;"), ('\'', "&apos;")];
    names.into_iter().fold(text.to_owned(), |text, (letter, name)| text.replace(letter, name))
}

/// Returns an image element of `pixels`, enlarged to the number of pixels in the PNG.
///
/// Viewers enlarge images differently, and many blur them. Since the image is enlarged here, bins
/// are crisp in all viewers. Repeated rows take almost no space: the difference of a row from the
/// one above is then zero.
fn image(area: &Area, pixels: &Pixels, scale: f64) -> Result<String, PlotError> {
    let enlarged = raster::on_paper(area, pixels, scale)?;
    let repeated = pixels.height * 2 <= enlarged.height;
    let filter = if repeated { png::Filter::Up } else { png::Filter::NoFilter };
    let data = STANDARD.encode(raster::rgb(&enlarged, filter, |_| {})?);
    let [x, y, w, h] = [area.left, area.top, area.width(), area.height()].map(number);
    Ok(format!(
        "<image x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\" preserveAspectRatio=\"none\" \
         style=\"image-rendering:pixelated\" href=\"data:image/png;base64,{data}\"/>\n"
    ))
}

#[cfg(test)]
mod tests;
