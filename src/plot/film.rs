//! Maps side by side that change from frame to frame, and an animation of them.
//!
//! The unchanging parts (axes, colour bars, labels) are drawn once. A frame adds the maps' colours,
//! outlines and a line of text to it, all by number of colour, so that it takes milliseconds and
//! every frame has the same size and the same colours.

use super::axis::Axis;
use super::color::{INK, NOT_FINITE, Palette, Rgb, Scale, WHITE};
use super::drawing::{Drawing, Text, failed};
use super::error::PlotError;
use super::file::save;
use super::font;
use super::frame;
use super::geometry::Area;
use super::indexed::Indexed;
use super::raster::{nearest, render};
use super::size::Size;
use crate::design::LengthUnit;
use crate::grid::{Map, Rect};
use std::path::Path;

/// Colours of a frame: so many shades for each map …
const SHADES: usize = 100;
/// … at most two kinds of map …
const MOST_PANELS: usize = 2;
/// … and greys from white to ink for text, the first of which is white and the last ink.
const GREYS: usize = 40;
const FIRST_GREY: u8 = (MOST_PANELS * SHADES) as u8;
const LAST_GREY: u8 = FIRST_GREY + GREYS as u8 - 1;
const ODD: u8 = LAST_GREY + 1;

/// Longer side of a map in pixels.
pub(crate) const LONG: f64 = 512.0;
/// Picture units to the pixel: what stays is laid out as for a large picture.
const UNITS: f64 = 2.0;
/// Least length of a map's shorter side, pixels.
const LEAST: f64 = 24.0;
const TOP: f64 = 150.0;
const TITLE: f64 = 17.0;
const SUBTITLE: f64 = 13.0;
const BAR: f64 = 26.0;

/// One map of every frame.
#[derive(Clone, Debug)]
pub struct FilmPanel {
    /// Its title.
    pub title: String,
    /// The quantity of its values, with its unit.
    pub label: String,
    /// Its colours.
    pub scale: Scale,
    /// Values at their ends, the lower first.
    pub range: (f64, f64),
    /// The value above which a [`Scale::Target`] has another hue.
    pub mark: Option<f64>,
}

/// The parts that stay the same in all frames.
#[derive(Debug)]
pub struct Film {
    die: Rect,
    background: Indexed,
    /// Left and top of each map in pixels, and how its values become shades.
    panels: Vec<(usize, usize, Palette, Scale)>,
    /// Width and height of a map, pixels.
    size: (usize, usize),
}

/// One frame: an image that has the size and colours of all others.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame(Indexed);

impl Film {
    /// Lays out one or two maps of `die`, layout units, side by side, with axes in `unit`.
    ///
    /// # Errors
    /// When drawing fails.
    ///
    /// # Panics
    /// With no panel, more than two, or a range that is not one.
    pub fn new(die: Rect, unit: LengthUnit, panels: &[FilmPanel]) -> Result<Film, PlotError> {
        assert!((1..=MOST_PANELS).contains(&panels.len()), "one or two panels");
        assert!(panels.iter().all(|p| p.range.0 < p.range.1), "ranges from low to high");
        let longer = die.width().max(die.height());
        let pixels = |length: f64| (LONG * length / longer).round().max(LEAST);
        let (width, height) = (pixels(die.width()), pixels(die.height()));
        let most = [width, height].map(|length| (length * UNITS / 150.0) as usize);
        let ends = [(die.xl, die.xh), (die.yl, die.yh)];
        let [x, y] = ends.map(|(lo, hi)| (unit.of(lo), unit.of(hi)));
        let [x, y] = Axis::pair(x, y, most);
        let labels = ["x", "y"].map(|axis| format!("{axis} ({})", unit.name));

        // In picture units; maps begin at whole pixels.
        let whole = |at: f64| (at / UNITS).ceil() * UNITS;
        let mut areas = Vec::new();
        let mut right = 0.0;
        for panel in panels {
            let left = whole(right + frame::depth(&y));
            let map =
                Area { left, top: TOP, right: left + width * UNITS, bottom: TOP + height * UNITS };
            let bar = Area { left: map.right + 30.0, right: map.right + 30.0 + BAR, ..map };
            let values = Axis::linear(panel.range.0, panel.range.1, 6);
            right = bar.right + frame::depth(&values);
            areas.push((map, bar, values));
        }
        // An even number of pixels, as video encoders require.
        let even = |units: f64| (units / (2.0 * UNITS)).ceil() * 2.0 * UNITS;
        let bottom = TOP + height * UNITS + frame::BOTTOM;
        let mut drawing = Drawing::new(even(right), even(bottom), Size::default());
        for (panel, (map, bar, values)) in panels.iter().zip(&areas) {
            let at = (map.left, map.top - 16.0);
            drawing.text(Text::new(panel.title.as_str(), at, 26.0, INK).bold().within(map.width()));
            drawing.line(bar.outline(), 2.0, INK);
            let axes = [(&x, &*labels[0]), (&y, &*labels[1])];
            frame::chart(&mut drawing, map, axes, [false; 2], |_| Ok(()));
            frame::right(&mut drawing, bar, values, &panel.label);
        }
        let mut background = grey(&drawing)?;
        let mut placed = Vec::new();
        for (k, (panel, (map, bar, _))) in panels.iter().zip(&areas).enumerate() {
            let palette = Palette::between(panel.scale, panel.range.0, panel.range.1, panel.mark);
            let shades = palette.shades();
            for s in 0..SHADES {
                background.colors[k * SHADES + s] = shades[s * (shades.len() - 1) / (SHADES - 1)];
            }
            let pixel = |units: f64| (units / UNITS) as usize;
            let (top, bottom) = (pixel(bar.top) + 1, pixel(bar.bottom));
            for row in top..bottom {
                let share = (bottom - 1 - row) as f64 / (bottom - top) as f64;
                let color = k * SHADES + (share * SHADES as f64) as usize;
                let line = row * background.width;
                background.pixels[line + pixel(bar.left) + 1..line + pixel(bar.right)]
                    .fill(color as u8);
            }
            placed.push((pixel(map.left), pixel(map.top), palette, panel.scale));
        }
        Ok(Film { die, background, panels: placed, size: (width as usize, height as usize) })
    }

    /// Returns the width and height of every frame in pixels, both even.
    pub fn size(&self) -> (usize, usize) {
        (self.background.width, self.background.height)
    }

    /// Returns a frame with a title and a line below it, one map over the die per panel, of any
    /// number of bins, and `outlines` in layout units over all of them.
    ///
    /// # Panics
    /// When there are not as many maps as panels.
    pub fn frame(
        &self,
        title: &str,
        subtitle: &str,
        maps: &[&Map<f64>],
        outlines: &[Rect],
    ) -> Frame {
        assert_eq!(maps.len(), self.panels.len(), "a map for every panel");
        let mut image = self.background.clone();
        let left = self.panels[0].0;
        write(&mut image, title, (left, 24), TITLE, true);
        write(&mut image, subtitle, (left, 46), SUBTITLE, false);
        for (k, ((left, top, palette, scale), map)) in self.panels.iter().zip(maps).enumerate() {
            self.paint(&mut image, (*left, *top), palette, (k * SHADES) as u8, map);
            let mark = if scale.is_bright(None) { LAST_GREY } else { FIRST_GREY };
            for outline in outlines {
                self.outline(&mut image, (*left, *top), outline, mark);
            }
        }
        Frame(image)
    }

    /// Every pixel takes the bin under its centre.
    fn paint(
        &self,
        image: &mut Indexed,
        (left, top): (usize, usize),
        palette: &Palette,
        first: u8,
        map: &Map<f64>,
    ) {
        let (width, height) = self.size;
        let color = |&value: &f64| {
            palette.shade(value).map_or(ODD, |s| first + (usize::from(s) * SHADES / 256) as u8)
        };
        let colors: Vec<u8> = map.as_slice().iter().map(color).collect();
        let columns: Vec<usize> =
            (0..width).map(|x| nearest(x, width, map.nx()) * map.ny()).collect();
        let mut above = None;
        for y in 0..height {
            let j = nearest(height - 1 - y, height, map.ny());
            let start = (top + y) * image.width + left;
            if above.replace(j) == Some(j) {
                image.pixels.copy_within(start - image.width..start - image.width + width, start);
                continue;
            }
            for (pixel, &column) in image.pixels[start..].iter_mut().zip(&columns) {
                *pixel = colors[column + j];
            }
        }
    }

    /// The edges of a rectangle that is at least three pixels long, cut at the die.
    fn outline(&self, image: &mut Indexed, (left, top): (usize, usize), rect: &Rect, color: u8) {
        let (die, (width, height)) = (self.die, self.size);
        if rect.overlap(&die) <= 0.0 {
            return;
        }
        let at = |v: f64, low: f64, length: f64, pixels: usize| {
            ((v - low) / length * pixels as f64).clamp(0.0, pixels as f64 - 1.0) as usize
        };
        let x = [rect.xl, rect.xh].map(|v| left + at(v, die.xl, die.width(), width));
        let y = [rect.yh, rect.yl].map(|v| top + height - 1 - at(v, die.yl, die.height(), height));
        if (x[1] - x[0]).max(y[1] - y[0]) < 3 {
            return;
        }
        for row in y {
            image.pixels[row * image.width + x[0]..=row * image.width + x[1]].fill(color);
        }
        for column in x {
            (y[0]..=y[1]).for_each(|row| image.pixels[row * image.width + column] = color);
        }
    }
}

impl Frame {
    /// Returns the bytes of a PNG file.
    ///
    /// # Errors
    /// When encoding fails.
    pub fn png(&self) -> Result<Vec<u8>, PlotError> {
        self.0.png()
    }

    /// Writes a PNG file, whole or not at all, whatever it is called.
    ///
    /// # Errors
    /// When encoding fails or the file cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), PlotError> {
        save(path, &self.png()?)
    }
}

/// Returns the unchanging parts, in greys.
fn grey(drawing: &Drawing) -> Result<Indexed, PlotError> {
    let image = render(drawing, 1.0 / UNITS)?;
    let mix = |k: usize| {
        let share = k as f64 / (GREYS - 1) as f64;
        let channel = |c: usize| f64::from(WHITE[c]) * (1.0 - share) + f64::from(INK[c]) * share;
        [channel(0), channel(1), channel(2)].map(|v| v.round() as u8)
    };
    let mut colors: Vec<Rgb> = vec![[0; 3]; usize::from(FIRST_GREY)];
    colors.extend((0..GREYS).map(mix));
    colors.push(NOT_FINITE);
    let darkest = f64::from(WHITE[0]) - f64::from(INK[0]);
    let number = |value: u8| {
        let share = (f64::from(WHITE[0]) - f64::from(value)) / darkest;
        FIRST_GREY + (share * (GREYS - 1) as f64).round() as u8
    };
    Ok(Indexed {
        width: image.width,
        height: image.height,
        colors,
        pixels: image.colors.iter().map(|color| number(color[0])).collect(),
    })
}

/// Writes one line of text, cut at the image's edge.
fn write(image: &mut Indexed, text: &str, (left, base): (usize, usize), em: f64, bold: bool) {
    let room = (image.width - left) as f64 - 8.0;
    let text = Text { bold, ..Text::new(text, (0.0, 0.0), em, INK) }.within(room);
    font::rasterize(&text.text, em, bold, |x, y, coverage| {
        let (x, y) = (left as i32 + x, base as i32 + y);
        if (0..image.width as i32).contains(&x) && (0..image.height as i32).contains(&y) {
            let grey = (coverage.min(1.0) * (GREYS - 1) as f64).round() as u8;
            let pixel = &mut image.pixels[y as usize * image.width + x as usize];
            *pixel = (*pixel).max(FIRST_GREY + grey);
        }
    });
}

/// Frames one after another, as an animated GIF that repeats.
pub struct Animation {
    encoder: gif::Encoder<Vec<u8>>,
    /// Hundredths of a second.
    delay: u16,
}

impl Animation {
    /// Returns an empty animation of a film's frames that shows each for so long.
    ///
    /// # Errors
    /// When the frames are larger than the format allows.
    pub fn new(film: &Film, milliseconds: u16) -> Result<Animation, PlotError> {
        let (width, height) = film.size();
        let [width, height] = [width, height].map(|n| u16::try_from(n).map_err(failed));
        let colors = film.background.colors.concat();
        let mut encoder =
            gif::Encoder::new(Vec::new(), width?, height?, &colors).map_err(failed)?;
        encoder.set_repeat(gif::Repeat::Infinite).map_err(failed)?;
        Ok(Animation { encoder, delay: milliseconds / 10 })
    }

    /// Appends a frame.
    ///
    /// # Errors
    /// When encoding fails.
    pub fn push(&mut self, frame: &Frame) -> Result<(), PlotError> {
        let size = [frame.0.width, frame.0.height].map(|n| n as u16);
        let frame = gif::Frame {
            width: size[0],
            height: size[1],
            delay: self.delay,
            buffer: frame.0.pixels.as_slice().into(),
            ..gif::Frame::default()
        };
        self.encoder.write_frame(&frame).map_err(failed)
    }

    /// Writes the GIF file, whole or not at all.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(self, path: &Path) -> Result<(), PlotError> {
        save(path, &self.encoder.into_inner().map_err(failed)?)
    }
}
