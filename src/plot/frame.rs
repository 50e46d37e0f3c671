//! Axes and titles around a plotting area, the same for every kind of picture.

use super::axis::Axis;
use super::color::{GREY, GRID, INK};
use super::drawing::{Align, Drawing, Text};
use super::font::{self, CAPITALS};
use super::geometry::Area;
use super::size::LABELS;

/// Free border of a picture.
pub(super) const MARGIN: f64 = 30.0;
/// Length of a tick.
pub(super) const TICK: f64 = 9.0;
/// Font size of numbers at ticks.
pub(super) const NUMBERS: f64 = 23.0;
/// Room below a plotting area for ticks, numbers and label.
pub(super) const BOTTOM: f64 = 100.0;

/// Font size of the names in a legend.
pub(super) const LEGEND_TEXT: f64 = 24.0;
/// Most width of such a name.
const WIDEST_NAME: f64 = 420.0;
const TITLE: f64 = 34.0;
const SUBTITLE: f64 = 25.0;

/// Returns the room beside a plotting area for the ticks, numbers and label of `axis`.
pub(super) fn depth(axis: &Axis) -> f64 {
    let widths = axis.ticks.iter().map(|(_, text)| font::width(text, NUMBERS, false));
    let widest = widths.fold(0.0, f64::max);
    (2.0 * TICK + widest + 20.0 + LABELS + MARGIN).ceil()
}

/// Ticks, numbers and label on the left.
pub(super) fn left(drawing: &mut Drawing, area: &Area, axis: &Axis, label: &str) {
    for (value, text) in &axis.ticks {
        let y = area.bottom - axis.share(*value) * area.height();
        let length = if text.is_empty() { TICK / 2.0 } else { TICK };
        drawing.line(vec![(area.left - length, y), (area.left, y)], 2.0, INK);
        let at = (area.left - 2.0 * TICK, y + NUMBERS * CAPITALS / 2.0);
        drawing.text(Text::new(text.as_str(), at, NUMBERS, INK).align(Align::End));
    }
    let x = area.left - depth(axis) + MARGIN + LABELS * CAPITALS;
    let at = (x, (area.top + area.bottom) / 2.0);
    let label = Text::new(axis.label(label), at, LABELS, INK).align(Align::Middle).upright();
    drawing.text(label.within(area.height() + 120.0));
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

/// Light lines across at the numbers of `axis`, which is on the left.
pub(super) fn lines_across(drawing: &mut Drawing, area: &Area, axis: &Axis) {
    for (value, _) in axis.ticks.iter().filter(|(_, text)| !text.is_empty()) {
        let at = area.bottom - axis.share(*value) * area.height();
        drawing.line(vec![(area.left, at), (area.right, at)], 1.5, GRID);
    }
}

/// Returns a name of a legend whose sample has its middle at `y`.
pub(super) fn legend_name(name: &str, (left, y): (f64, f64)) -> Text {
    let at = (left, y + LEGEND_TEXT * CAPITALS / 2.0);
    Text::new(name, at, LEGEND_TEXT, INK).within(WIDEST_NAME)
}

/// Returns the width that the longest of a legend's names takes.
pub(super) fn names_width<'a>(names: impl Iterator<Item = &'a str>) -> f64 {
    let width = |name| font::width(name, LEGEND_TEXT, false).min(WIDEST_NAME);
    names.map(width).fold(0.0, f64::max)
}

/// Ticks, numbers and label below.
pub(super) fn bottom(drawing: &mut Drawing, area: &Area, axis: &Axis, label: &str) {
    for (value, text) in &axis.ticks {
        let x = area.left + axis.share(*value) * area.width();
        drawing.line(vec![(x, area.bottom), (x, area.bottom + TICK)], 2.0, INK);
        let at = (x, area.bottom + 2.0 * TICK + NUMBERS * CAPITALS);
        drawing.text(Text::new(text.as_str(), at, NUMBERS, INK).align(Align::Middle));
    }
    let at = ((area.left + area.right) / 2.0, area.bottom + BOTTOM - 26.0);
    let label = Text::new(axis.label(label), at, LABELS, INK).align(Align::Middle);
    drawing.text(label.within(area.width() + 240.0));
}

/// Title and subtitle at the top, beginning at `left`.
pub(super) fn titles(drawing: &mut Drawing, left: f64, title: &str, subtitle: &str) {
    let room = drawing.width - left - MARGIN;
    let mut base = MARGIN - 4.0;
    if !title.is_empty() {
        base += TITLE;
        drawing.text(Text::new(title, (left, base), TITLE, INK).bold().within(room));
    }
    if !subtitle.is_empty() {
        base += SUBTITLE + 14.0;
        drawing.text(Text::new(subtitle, (left, base), SUBTITLE, GREY).within(room));
    }
}

/// Returns the room that [`titles`] takes above the plotting area.
pub(super) fn titles_height(title: &str, subtitle: &str) -> f64 {
    let title = if title.is_empty() { 0.0 } else { TITLE };
    let subtitle = if subtitle.is_empty() { 0.0 } else { SUBTITLE + 14.0 };
    MARGIN + title + subtitle + if title + subtitle > 0.0 { 18.0 } else { 0.0 }
}

/// Returns the width of the longer of both lines.
pub(super) fn titles_width(title: &str, subtitle: &str) -> f64 {
    font::width(title, TITLE, true).max(font::width(subtitle, SUBTITLE, false))
}
