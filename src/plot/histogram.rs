//! How many values lie where.

use super::axis::Axis;
use super::color::{CURVES, GREY, GRID, INK};
use super::drawing::{Align, Area, Drawing, Text};
use super::frame;
use super::picture::Picture;

/// Counts of values in equal parts of a range, as bars on a logarithmic axis: most bins of a
/// density are alike, and the few that are not are the ones looked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Histogram {
    /// The first line.
    pub title: String,
    /// The second line.
    pub subtitle: String,
    /// What the values are, with their unit.
    pub x_label: String,
    /// What is counted.
    pub y_label: String,
    /// Ends of the range, the lower first.
    pub range: (f64, f64),
    /// Values in each part, from the low end on.
    pub counts: Vec<usize>,
    /// A value to mark with a line, and what to call it.
    pub mark: Option<(f64, String)>,
}

const WIDTH: f64 = 1240.0;
const HEIGHT: f64 = 700.0;
/// Room above for the name of the mark.
const ABOVE: f64 = 30.0;

impl Histogram {
    /// Counts the finite `values` in `parts` equal parts from `lo` to the largest of them, or to `hi`
    /// where that is larger.
    ///
    /// # Panics
    /// With no parts, or `lo` not below `hi`.
    pub fn of(values: impl Iterator<Item = f64> + Clone, lo: f64, hi: f64, parts: usize) -> Self {
        assert!(parts > 0 && lo < hi, "parts of a range");
        let finite = values.filter(|v| v.is_finite());
        let hi = finite.clone().fold(hi, f64::max);
        let mut counts = vec![0; parts];
        for value in finite {
            let at = ((value - lo) / (hi - lo) * parts as f64).max(0.0) as usize;
            counts[at.min(parts - 1)] += 1;
        }
        Histogram { range: (lo, hi), counts, ..Histogram::default() }
    }

    /// Lays out the picture.
    pub fn draw(&self) -> Picture {
        let most = self.counts.iter().copied().max().unwrap_or(0).max(1) as f64;
        let y = Axis::logarithmic_between(0.5, 1.3 * most.max(8.0), 8);
        let x = Axis::linear(self.range.0, self.range.1, 11);
        let left = frame::depth(&y);
        let top = frame::titles_height(&self.title, &self.subtitle) + ABOVE;
        let area = Area { left, top, right: left + WIDTH, bottom: top + HEIGHT };
        let mut drawing = Drawing::new(area.right + frame::MARGIN, area.bottom + frame::BOTTOM);
        for (value, _) in y.ticks.iter().filter(|(_, text)| !text.is_empty()) {
            let at = area.bottom - y.share(*value) * area.height();
            drawing.line(vec![(area.left, at), (area.right, at)], 1.5, GRID);
        }
        let width = WIDTH / self.counts.len().max(1) as f64;
        for (k, &count) in self.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            let bar = Area {
                left: area.left + width * k as f64 + 1.0,
                top: area.bottom - y.share(count as f64) * area.height(),
                right: area.left + width * (k + 1) as f64 - 1.0,
                bottom: area.bottom,
            };
            drawing.polygon(bar.outline(), CURVES[0], 1.0);
        }
        if let Some((value, name)) = &self.mark
            && (0.0..=1.0).contains(&x.share(*value))
        {
            let at = area.left + x.share(*value) * area.width();
            drawing.line(vec![(at, area.top), (at, area.bottom)], 3.0, CURVES[1]);
            let text = Text::new(name.as_str(), (at, area.top - 10.0), frame::NUMBERS, GREY);
            drawing.text(text.align(Align::Middle));
        }
        drawing.line(area.outline(), 2.0, INK);
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
        let values = [0.0, 0.4, 0.5, 1.9, 2.0, f64::NAN, -1.0];
        let histogram = Histogram::of(values.into_iter(), 0.0, 1.0, 4);
        assert_eq!(histogram.range, (0.0, 2.0));
        assert_eq!(histogram.counts, [3, 1, 0, 2], "below the range in the first part");
        assert_eq!(Histogram::of([].into_iter(), 0.0, 3.0, 2).range, (0.0, 3.0));
    }
}
