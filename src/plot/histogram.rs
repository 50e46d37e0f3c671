//! Histograms.

use super::axis::Axis;
use super::color::{CURVES, GREY, INK};
use super::drawing::{Align, Drawing, Text};
use super::frame;
use super::geometry::Area;
use super::picture::Picture;
use super::size::Size;

/// Counts of values in parts of a range, as bars on a logarithmic axis: most bins of a
/// density are alike, and the few that are not are the ones looked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Histogram {
    /// The first line.
    pub title: String,
    /// The second line.
    pub subtitle: String,
    /// The quantity of the values, with its unit.
    pub x_label: String,
    /// The things counted.
    pub y_label: String,
    /// Ends of the range, the lower first.
    pub range: (f64, f64),
    /// Whether the parts are equal by their values' logarithm.
    pub log_x: bool,
    /// Values in each part, from the low end on; those below the range are in the first.
    pub counts: Vec<usize>,
    /// Values above the range, which have a bar of their own.
    pub above: usize,
    /// A value to mark with a line, and what to call it.
    pub mark: Option<(f64, String)>,
    /// How large the picture is.
    pub size: Size,
}

const WIDTH: f64 = 1240.0;
const HEIGHT: f64 = 700.0;
/// Room above for the name of the mark.
const ABOVE: f64 = 30.0;
/// Room for the bar of values above the range.
const BEYOND: f64 = 130.0;

impl Histogram {
    /// Counts the finite `values` in `parts` equal parts of the range, by logarithm where `log_x`.
    ///
    /// # Panics
    /// With no parts, a range that is not from low to high, or one by logarithm from zero or less.
    pub fn of(
        values: impl Iterator<Item = f64>,
        (lo, hi): (f64, f64),
        log_x: bool,
        parts: usize,
    ) -> Self {
        assert!(parts > 0 && lo < hi && (!log_x || lo > 0.0), "parts of a range");
        let mut histogram =
            Histogram { range: (lo, hi), log_x, counts: vec![0; parts], ..Histogram::default() };
        for value in values.filter(|v| v.is_finite()) {
            let share = match log_x {
                true => (value.max(lo) / lo).ln() / (hi / lo).ln(),
                false => (value - lo) / (hi - lo),
            };
            match value > hi {
                true => histogram.above += 1,
                false => {
                    let part = (share * parts as f64).max(0.0) as usize;
                    histogram.counts[part.min(parts - 1)] += 1;
                }
            }
        }
        histogram
    }

    /// Lays out the picture.
    pub fn draw(&self) -> Picture {
        let counts = || self.counts.iter().copied().chain([self.above]);
        let most = counts().max().unwrap_or(0).max(1) as f64;
        let y = Axis::logarithmic_between(0.5, 1.3 * most.max(8.0), 8);
        let left = frame::depth(&y);
        let beyond = if self.above > 0 { BEYOND } else { 0.0 };
        let beside = left + beyond + frame::MARGIN;
        let (across, wide) = self.size.widths(WIDTH - beyond, beside);
        let ticks = ((wide / 115.0) as usize).max(3);
        let x = match self.log_x {
            true => Axis::logarithmic_between(self.range.0, self.range.1, ticks),
            false => Axis::linear(self.range.0, self.range.1, ticks),
        };
        let top = frame::titles_height(&self.title, &self.subtitle) + ABOVE;
        let bottom = top + (wide + beyond) * HEIGHT / WIDTH;
        let area = Area { left, top, right: left + wide, bottom };
        let mut drawing = Drawing::new(across, area.bottom + frame::BOTTOM, self.size);
        let right = area.right + beyond;
        frame::lines_across(&mut drawing, &Area { right, ..area }, &y);
        let bar = |left: f64, right: f64, count: usize| Area {
            left,
            top: area.bottom - y.share(count as f64) * area.height(),
            right,
            bottom: area.bottom,
        };
        let width = wide / self.counts.len().max(1) as f64;
        let gap = (0.1 * width).min(1.0);
        for (k, &count) in self.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            let start = area.left + width * k as f64;
            let bar = bar(start + gap, start + width - gap, count);
            drawing.polygon(bar.outline(), CURVES[0], 1.0);
        }
        if self.above > 0 {
            let bar = bar(area.right + 0.4 * beyond, right - 0.2 * beyond, self.above);
            drawing.polygon(bar.outline(), CURVES[1], 1.0);
            let at = ((bar.left + bar.right) / 2.0, area.bottom + 2.0 * frame::TICK + 17.0);
            drawing.text(Text::new("above", at, frame::NUMBERS, INK).align(Align::Middle));
        }
        if let Some((value, name)) = &self.mark
            && (0.0..=1.0).contains(&x.share(*value))
        {
            let at = area.left + x.share(*value) * area.width();
            drawing.line(vec![(at, area.top), (at, area.bottom)], 3.0, CURVES[1]);
            let text = Text::new(name.as_str(), (at, area.top - 10.0), frame::NUMBERS, GREY);
            // Within the axis, though the line may be at its end.
            let half = text.width() / 2.0;
            let middle = at.min(right - half).max(area.left + half);
            drawing.text(Text { at: (middle, area.top - 10.0), ..text }.align(Align::Middle));
        }
        drawing.line(Area { right, ..area }.outline(), 2.0, INK);
        if self.above > 0 {
            drawing.line(vec![(area.right, area.top), (area.right, area.bottom)], 2.0, INK);
        }
        frame::left(&mut drawing, &area, &y, &self.y_label);
        frame::bottom(&mut drawing, &area, &x, &self.x_label);
        frame::titles(&mut drawing, left, &self.title, &self.subtitle);
        Picture(drawing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_finite_value_is_counted_in_its_part() {
        let values = [0.0, 0.4, 0.5, 1.9, 2.0, f64::NAN, -1.0, 2.1, 900.0];
        let histogram = Histogram::of(values.into_iter(), (0.0, 2.0), false, 4);
        assert_eq!(histogram.counts, [3, 1, 0, 2], "below the range in the first part");
        assert_eq!(histogram.above, 2);
        let decades = Histogram::of([0.0, 0.02, 0.5, 5.0].into_iter(), (0.01, 100.0), true, 4);
        assert_eq!((decades.counts, decades.above), (vec![2, 1, 1, 0], 0));
    }
}
