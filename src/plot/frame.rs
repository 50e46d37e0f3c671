//! Charts of plotters with axes and titles, in one style for all kinds of pictures.

use super::axis::Axis;
use super::canvas::{Canvas, letters, px, stroke};
use super::color::{FINE_GRID, GREY, GRID, INK};
use super::drawing::{Align, Drawing, Text};
use super::font::{self, CAPITALS};
use super::geometry::Area;
use super::size::{LABELS, Size};
use plotters::chart::{ChartBuilder, ChartContext};
use plotters::coord::cartesian::Cartesian2d;
use plotters::drawing::{DrawingAreaErrorKind, IntoDrawingArea};
use plotters::element::Rectangle;
use plotters::style::TRANSPARENT;
use std::convert::Infallible;

/// Free border of a picture.
pub(super) const MARGIN: f64 = 30.0;
/// Length of a tick.
const TICK: f64 = 9.0;
/// Font size of numbers at ticks.
pub(super) const NUMBERS: f64 = 23.0;
/// Room below a plotting area for ticks, numbers and label.
pub(super) const BOTTOM: f64 = 100.0;
/// Free room below the label.
const BELOW: f64 = 26.0;

/// Font size of the names in a legend.
const LEGEND_TEXT: f64 = 24.0;
/// Distance between these names.
const LEGEND_STEP: f64 = 38.0;
/// Width of the sample before each name.
pub(super) const SAMPLE: f64 = 46.0;
/// Largest width of a name.
const WIDEST_NAME: f64 = 420.0;
const TITLE: f64 = 34.0;
const SUBTITLE: f64 = 25.0;

/// A chart of plotters in picture units.
pub(super) type Chart<'a, 'b> = ChartContext<'a, Canvas<'b>, Cartesian2d<Axis, Axis>>;
/// The outcome of drawing on a canvas, which records everything.
pub(super) type Drawn = Result<(), DrawingAreaErrorKind<Infallible>>;

/// Returns the room beside a plotting area for the ticks, numbers and label of `axis`.
pub(super) fn depth(axis: &Axis) -> f64 {
    let widths = axis.ticks.iter().map(|(_, text)| font::width(text, NUMBERS, false));
    let widest = widths.fold(0.0, f64::max);
    (2.0 * TICK + widest + 20.0 + LABELS + MARGIN).ceil()
}

/// Draws a chart with its axes and their labels around `area`, and a grid along the axes in `mesh`;
/// `series` draws its content.
pub(super) fn chart(
    drawing: &mut Drawing,
    area: &Area,
    [(x, x_label), (y, y_label)]: [(&Axis, &str); 2],
    [mesh_x, mesh_y]: [bool; 2],
    series: impl FnOnce(&mut Chart<'_, '_>) -> Drawn,
) {
    let label = |axis: &Axis, label: &str, room: f64| {
        Text::new(axis.label(label), (0.0, 0.0), LABELS, INK).within(room)
    };
    // A label is in the middle of its axis, and ends inside the picture.
    let room =
        |lo: f64, hi: f64, end: f64| 2.0 * ((lo + hi) / 2.0).min(end - (lo + hi) / 2.0) - 16.0;
    let across = room(area.left, area.right, drawing.width).min(area.width() + 200.0);
    let up = room(area.top, area.bottom, drawing.height).min(area.height() + 120.0);
    let (x_label, y_label) = (label(x, x_label, across), label(y, y_label, up));
    let beside = area.left - depth(y) + MARGIN;
    let [right, below] = [drawing.width - area.right, drawing.height - area.bottom];
    let extra = x.upright.unwrap_or(0.0);
    let names = match x.upright {
        // Plotters centres turned labels on the axis: they are drawn below.
        Some(_) => letters(NUMBERS, INK).color(&TRANSPARENT),
        None => letters(NUMBERS, INK),
    };
    drawing.plot = x.ends().map(|ends| (*area, ends));
    let root = Canvas(drawing).into_drawing_area();
    let ends = [x, y].map(|axis| [0.0, 1.0].map(|share| axis.value(share)));
    let draw = || -> Drawn {
        // Plotters leaves out the last coordinate of an area.
        let mut chart = ChartBuilder::on(&root)
            .margin_left(px(beside))
            .margin_top(px(area.top))
            .margin_right(px(right) - 1)
            .margin_bottom(px(below - BOTTOM - extra + BELOW) - 1)
            .y_label_area_size(px(area.left) - px(beside))
            .x_label_area_size(px(BOTTOM - BELOW + extra))
            .build_cartesian_2d(x.clone(), y.clone())?;
        let mut mesh = chart.configure_mesh();
        if !mesh_x {
            mesh.disable_x_mesh();
        }
        if !mesh_y {
            mesh.disable_y_mesh();
        }
        mesh.bold_line_style(stroke(GRID, 1.5))
            .light_line_style(stroke(FINE_GRID, 1.0))
            .axis_style(stroke(INK, 2.0))
            .y_label_style(letters(NUMBERS, INK))
            .x_label_style(names)
            .axis_desc_style(letters(x_label.em.min(y_label.em), INK))
            .set_all_tick_mark_size(px(TICK))
            .x_desc(x_label.text)
            .y_desc(y_label.text)
            .draw()?;
        series(&mut chart)?;
        let [[left, right], [bottom, top]] = ends;
        let corners = [(left, bottom), (right, top)];
        chart.plotting_area().draw(&Rectangle::new(corners, stroke(INK, 2.0)))
    };
    draw().expect("a canvas records everything");
    drop(root);
    for (value, name) in x.ticks.iter().filter(|_| x.upright.is_some()) {
        let left = area.left + x.share(*value) * area.width() + NUMBERS * CAPITALS / 2.0;
        let text = Text::new(name.as_str(), (left, area.bottom + 2.0 * TICK), NUMBERS, INK);
        drawing.text(text.align(Align::End).upright());
    }
}

/// Ticks, numbers and label of a colour bar on its right.
pub(super) fn right(drawing: &mut Drawing, bar: &Area, axis: &Axis, label: &str) {
    for (value, text) in &axis.ticks {
        let y = bar.bottom - axis.share(*value) * bar.height();
        drawing.line(vec![(bar.right, y), (bar.right + TICK, y)], 2.0, INK);
        let at = (bar.right + 2.0 * TICK, y + NUMBERS * CAPITALS / 2.0);
        drawing.text(Text::new(text.as_str(), at, NUMBERS, INK));
    }
    let at = (bar.right + depth(axis) - MARGIN, (bar.top + bar.bottom) / 2.0);
    let label = Text::new(axis.label(label), at, LABELS, INK).align(Align::Middle).upright();
    drawing.text(label.within(bar.height() + 60.0));
}

/// Draws a legend on the right of `area`. Each entry has a name, and `sample` draws a sample at its
/// left end.
pub(super) fn legend<'a, T>(
    drawing: &mut Drawing,
    area: &Area,
    entries: impl Iterator<Item = (&'a str, T)>,
    sample: impl Fn(&mut Drawing, (f64, f64), T),
) {
    let left = area.right + 24.0;
    for (k, (name, entry)) in entries.filter(|(name, _)| !name.is_empty()).enumerate() {
        let y = area.top + 20.0 + LEGEND_STEP * k as f64;
        let base = y + LEGEND_TEXT * CAPITALS / 2.0;
        if y > area.bottom - 20.0 {
            drawing.text(Text::new("…", (left, y), LEGEND_TEXT, INK));
            break;
        }
        sample(drawing, (left, y), entry);
        let name = Text::new(name, (left + SAMPLE + 14.0, base), LEGEND_TEXT, INK);
        let room = drawing.width - MARGIN - name.at.0;
        drawing.text(name.within(room + 0.5)); // sums are rounded
    }
}

/// Returns the width of a legend of these names beside a chart; on paper it is at most a third of
/// the picture.
pub(super) fn legend_width<'a>(names: impl Iterator<Item = &'a str>, size: &Size) -> f64 {
    let most = size.width.map_or(f64::INFINITY, |across| across / 3.0);
    let width = |name| font::width(name, LEGEND_TEXT, false).min(WIDEST_NAME);
    match names.map(width).fold(0.0, f64::max) {
        0.0 => 0.0,
        widest => (24.0 + SAMPLE + 14.0 + widest).min(most),
    }
}

/// Returns a picture with its titles, and the area of a chart with this natural width and height.
/// There are `left` and `right` beside the area, and `above` between titles and chart.
pub(super) fn sheet(
    [title, subtitle]: [&str; 2],
    size: &Size,
    [width, height]: [f64; 2],
    [left, right]: [f64; 2],
    above: f64,
) -> (Drawing, Area) {
    let (across, wide) = size.widths(width, left + right + MARGIN);
    let titles = Titles::new(title, subtitle, across - left - MARGIN);
    let top = titles.height() + above;
    let area = Area { left, top, right: left + wide, bottom: top + wide * height / width };
    let mut drawing = Drawing::new(across, area.bottom + BOTTOM, *size);
    titles.draw(&mut drawing, left);
    (drawing, area)
}

/// A title and a subtitle, broken into lines at the width of the picture.
pub(super) struct Titles {
    lines: Vec<Text>,
}

impl Titles {
    /// Returns the lines within `room`, the first base line at the top margin.
    pub(super) fn new(title: &str, subtitle: &str, room: f64) -> Titles {
        let mut lines = Vec::new();
        let mut base = MARGIN - 4.0;
        let both = [(title, TITLE, INK, 0.0, 3), (subtitle, SUBTITLE, GREY, 14.0, 8)];
        for (text, em, color, gap, most) in both {
            let style = |part: &str| {
                let line = Text::new(part, (0.0, 0.0), em, color);
                Text { bold: color == INK, ..line }
            };
            let parts = broken(text, most, |part| style(part).width() <= room);
            for (k, part) in parts.iter().enumerate() {
                base += em + if k == 0 { gap } else { 8.0 };
                lines.push(Text { at: (0.0, base), ..style(part).within(room) });
            }
        }
        Titles { lines }
    }

    /// Returns the height that they take above the plotting area.
    pub(super) fn height(&self) -> f64 {
        self.lines.last().map_or(MARGIN, |last| last.at.1 + 22.0)
    }

    /// Draws them from `left` on.
    pub(super) fn draw(&self, drawing: &mut Drawing, left: f64) {
        for line in &self.lines {
            drawing.text(Text { at: (left, line.at.1), ..line.clone() });
        }
    }
}

/// Breaks a text into lines that `fits` accepts, at spaces and in words longer than a line. There
/// are at most `most` lines, and the last takes the rest.
fn broken(text: &str, most: usize, fits: impl Fn(&str) -> bool) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for mut word in text.split_whitespace() {
        while lines.len() + 1 < most && !fits(word) {
            let ends = word.char_indices().map(|(k, _)| k).skip(1);
            let Some(end) = ends.take_while(|&k| fits(&word[..k])).last() else { break };
            lines.push(word[..end].to_owned());
            word = &word[end..];
        }
        let is_last = lines.len() == most;
        match lines.last_mut() {
            Some(line) if is_last || fits(&format!("{line} {word}")) => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Returns the width of the longer line.
pub(super) fn titles_width(title: &str, subtitle: &str) -> f64 {
    font::width(title, TITLE, true).max(font::width(subtitle, SUBTITLE, false))
}

#[cfg(test)]
mod tests;
