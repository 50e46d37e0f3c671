//! Histograms.

use super::axis::Axis;
use super::canvas::{filled, stroke};
use super::color::{CURVES, GREY, Rgb};
use super::drawing::{Align, Text};
use super::frame;
use super::picture::Picture;
use super::size::Size;
use plotters::element::Rectangle;
use plotters::series::LineSeries;

/// Counts of values in parts of a range, as bars on a logarithmic axis. Most bins of a density are
/// similar, and the few others are of interest.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Histogram {
    /// The first line.
    pub title: String,
    /// The second line.
    pub subtitle: String,
    /// The quantity of the values, with its unit.
    pub x_label: String,
    /// The counted objects.
    pub y_label: String,
    /// Ends of the range, the lower first.
    pub range: (f64, f64),
    /// Whether the parts are equal by the logarithm of the values.
    pub log_x: bool,
    /// Values in each part, from the low end on; the first part includes values below the range.
    pub counts: Vec<usize>,
    /// Values above the range, which have a separate bar.
    pub above: usize,
    /// A value to mark with a line, and its name.
    pub mark: Option<(f64, String)>,
    /// The size of the picture.
    pub size: Size,
}

const WIDTH: f64 = 1240.0;
const HEIGHT: f64 = 700.0;
/// Room above for the name of the mark.
const ABOVE: f64 = 30.0;
/// Room for the bar of values above the range, over the room for the range.
const BEYOND: f64 = 0.12;
/// Share of a bar's room that is free at each side.
const GAP: f64 = 0.05;

impl Histogram {
    /// Counts the finite `values` in `parts` equal parts of the range, by logarithm if `log_x`.
    ///
    /// # Panics
    /// With no parts, a range that is not from low to high, or a logarithmic range from zero or
    /// less.
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
        let titles = [&*self.title, &*self.subtitle];
        let (mut drawing, area) =
            frame::sheet(titles, &self.size, [WIDTH, HEIGHT], [left, 0.0], ABOVE);
        let ticks = ((area.width() / 115.0) as usize).max(3);
        let x = match self.log_x {
            true => Axis::logarithmic_between(self.range.0, self.range.1, ticks),
            false => Axis::linear(self.range.0, self.range.1, ticks),
        };
        let parts = self.counts.len().max(1) as f64;
        let edges: Vec<f64> = (0..=self.counts.len()).map(|k| x.value(k as f64 / parts)).collect();
        let mark = self.mark.as_ref().map(|(value, name)| (*value, name.as_str()));
        let mark = mark.filter(|(value, _)| (0.0..=1.0).contains(&x.share(*value)));
        let beyond = [0.3, 0.9].map(|share| x.value(1.0 + share * BEYOND));
        let x = if self.above > 0 { x.longer(BEYOND, "above") } else { x };
        let axes = [(&x, self.x_label.as_str()), (&y, self.y_label.as_str())];
        let [base, highest] = [0.0, 1.0].map(|share| y.value(share));
        frame::chart(&mut drawing, &area, axes, [false, true], |chart| {
            let bar = |left: f64, right: f64, count: usize, color: Rgb| {
                Rectangle::new([(left, base), (right, count as f64)], filled(color, 1.0))
            };
            let counted = edges.windows(2).zip(&self.counts).filter(|(_, count)| **count > 0);
            chart.draw_series(counted.map(|(ends, &count)| {
                let gap = GAP * (ends[1] - ends[0]);
                bar(ends[0] + gap, ends[1] - gap, count, CURVES[0])
            }))?;
            if self.above > 0 {
                let bar = bar(beyond[0], beyond[1], self.above, CURVES[1]);
                chart.draw_series([bar])?;
            }
            if let Some((value, _)) = mark {
                let ends = [(value, base), (value, highest)];
                chart.draw_series(LineSeries::new(ends, stroke(CURVES[1], 3.0)))?;
            }
            Ok(())
        });
        if let Some((value, name)) = mark {
            let text = Text::new(name, (0.0, 0.0), frame::NUMBERS, GREY).align(Align::Middle);
            // Within the axis, even if the line is at its end.
            let half = text.width() / 2.0;
            let at = area.left + x.share(value) * area.width();
            let middle = at.min(area.right - half).max(area.left + half);
            drawing.text(Text { at: (middle, area.top - 10.0), ..text });
        }
        Picture(drawing)
    }
}

#[cfg(test)]
mod tests;
