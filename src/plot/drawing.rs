//! A picture as a list of strokes, texts and images, before any back end.
//!
//! Coordinates are picture units from the top left corner, y downward.

use super::color::Rgb;
use super::error::PlotError;
use super::font;
use super::geometry::{Area, Point};
use super::size::Size;
use tiny_skia::{Path, PathBuilder, Transform};

/// Letters of a text beyond this number are never drawn: no picture has room for them.
const MOST_LETTERS: usize = 400;
/// The smallest size to which a text is reduced, over its own size.
pub(super) const SMALLEST: f64 = 0.6;

/// Pixels, row by row from the top.
#[derive(Clone, Debug)]
pub(super) struct Pixels {
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) colors: Vec<Rgb>,
}

impl Pixels {
    /// Returns pixels whose colours `color` computes from column and row.
    pub(super) fn from_fn(
        width: usize,
        height: usize,
        color: impl Fn(usize, usize) -> Rgb,
    ) -> Pixels {
        let places = (0..height).flat_map(|y| (0..width).map(move |x| (x, y)));
        Pixels { width, height, colors: places.map(|(x, y)| color(x, y)).collect() }
    }

    /// Returns the colour in column `x` of row `y`.
    pub(super) fn at(&self, x: usize, y: usize) -> Rgb {
        self.colors[y * self.width + x]
    }
}

/// The end of a text that is at its point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Align {
    Start,
    Middle,
    End,
}

/// One line of text.
#[derive(Clone, Debug)]
pub(super) struct Text {
    pub(super) text: String,
    /// The position of the aligned end of the base line.
    pub(super) at: Point,
    /// Font size in picture units.
    pub(super) em: f64,
    pub(super) bold: bool,
    pub(super) align: Align,
    /// Quarter turns clockwise about that point: three read from the bottom up.
    pub(super) turns: u8,
    pub(super) color: Rgb,
}

#[derive(Clone, Debug)]
pub(super) enum Item {
    /// A stroke of the given width, closed if it ends at its start, or a filled outline.
    Path {
        points: Vec<Point>,
        width: Option<f64>,
        color: Rgb,
        opacity: f64,
    },
    Text(Text),
    /// An image stretched over the area, each of its pixels a crisp rectangle.
    Image {
        area: Area,
        pixels: Pixels,
    },
}

impl Item {
    /// Returns the item moved to the right by this distance.
    pub(super) fn moved(&self, by: f64) -> Item {
        let mut item = self.clone();
        match &mut item {
            Item::Path { points, .. } => points.iter_mut().for_each(|point| point.0 += by),
            Item::Text(text) => text.at.0 += by,
            Item::Image { area, .. } => {
                area.left += by;
                area.right += by;
            }
        }
        item
    }
}

/// A laid-out picture.
#[derive(Clone, Debug)]
pub(super) struct Drawing {
    pub(super) width: f64,
    pub(super) height: f64,
    pub(super) size: Size,
    pub(super) items: Vec<Item>,
    /// The plotting area of a chart, and the values at its left and right ends if x is linear.
    pub(super) plot: Option<(Area, [f64; 2])>,
}

impl Drawing {
    /// Returns an empty picture, white.
    pub(super) fn new(width: f64, height: f64, size: Size) -> Drawing {
        // On paper the width is exact.
        let width = if size.width.is_some() { width } else { width.ceil() };
        Drawing { width, height: height.ceil(), size, items: Vec::new(), plot: None }
    }

    /// Returns the width and height of the PNG.
    pub(super) fn pixels(&self) -> (u32, u32) {
        let pixels = |units: f64| ((units * self.size.scale).round() as u32).max(1);
        (pixels(self.width), pixels(self.height))
    }

    pub(super) fn line(&mut self, points: Vec<Point>, width: f64, color: Rgb) {
        self.path(points, Some(width), color, 1.0);
    }

    pub(super) fn polygon(&mut self, points: Vec<Point>, color: Rgb, opacity: f64) {
        self.path(points, None, color, opacity);
    }

    pub(super) fn path(
        &mut self,
        points: Vec<Point>,
        width: Option<f64>,
        color: Rgb,
        opacity: f64,
    ) {
        self.items.push(Item::Path { points, width, color, opacity });
    }

    pub(super) fn image(&mut self, area: Area, pixels: Pixels) {
        self.items.push(Item::Image { area, pixels });
    }

    pub(super) fn text(&mut self, text: Text) {
        if !text.text.is_empty() {
            self.items.push(Item::Text(text));
        }
    }
}

impl Text {
    /// Makes plain text that starts at `at`.
    pub(super) fn new(text: impl Into<String>, at: Point, em: f64, color: Rgb) -> Text {
        let legible = |c: char| if c.is_control() { ' ' } else { c };
        let text = text.into().chars().take(MOST_LETTERS).map(legible).collect();
        Text { text, at, em, bold: false, align: Align::Start, turns: 0, color }
    }

    pub(super) fn align(self, align: Align) -> Text {
        Text { align, ..self }
    }

    pub(super) fn bold(self) -> Text {
        Text { bold: true, ..self }
    }

    pub(super) fn upright(self) -> Text {
        Text { turns: 3, ..self }
    }

    /// Makes it smaller if it is wider than `width`. A text that would need less than [`SMALLEST`] of its
    /// size keeps its size and is cut.
    pub(super) fn within(mut self, width: f64) -> Text {
        let share = width / self.width();
        if share < 1.0 && share > SMALLEST - 1e-9 {
            self.em *= share;
        }
        self.cut(width)
    }

    /// Shortens it with an ellipsis if it is wider than `width`.
    pub(super) fn cut(mut self, width: f64) -> Text {
        let width = width + 0.01; // letters have f32 positions
        if self.width() <= width {
            return self;
        }
        while !self.text.is_empty() && self.width() > width {
            self.text.pop(); // the ellipsis of the last round, or the last letter
            self.text.pop();
            self.text.push('…');
        }
        self
    }

    pub(super) fn width(&self) -> f64 {
        font::width(&self.text, self.em, self.bold)
    }

    /// Returns the outlines of its letters, in the picture's coordinates.
    pub(super) fn outlines(&self) -> Option<Path> {
        let shift = match self.align {
            Align::Start => 0.0,
            Align::Middle => -self.width() / 2.0,
            Align::End => -self.width(),
        };
        let placed = Transform::from_translate(shift as f32, 0.0)
            .post_rotate(90.0 * f32::from(self.turns))
            .post_translate(self.at.0 as f32, self.at.1 as f32);
        font::outlines(&self.text, self.em, self.bold)?.transform(placed)
    }
}

/// Returns a path through `points`; `None` if there is nothing to draw. The path is closed if it is
/// filled or if its last point is its first.
pub(super) fn outline(points: &[Point], filled: bool) -> Option<Path> {
    let mut path = PathBuilder::new();
    let (first, rest) = points.split_first()?;
    path.move_to(first.0 as f32, first.1 as f32);
    rest.iter().for_each(|p| path.line_to(p.0 as f32, p.1 as f32));
    if filled || points.len() > 2 && points.first() == points.last() {
        path.close();
    }
    path.finish()
}

/// Wraps a back end's failure.
pub(super) fn failed(error: impl std::fmt::Display) -> PlotError {
    PlotError::Draw(error.to_string())
}
