//! Bars side by side: a few numbers for each of a few categories.

use super::axis::Axis;
use super::canvas::{filled, stroke};
use super::color::{self, CURVES, INK, Rgb};
use super::drawing::Text;
use super::font;
use super::frame;
use super::geometry::Area;
use super::picture::Picture;
use super::size::Size;
use plotters::element::Rectangle;
use plotters::series::LineSeries;

/// One number per category.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BarSeries {
    /// Its name in the legend.
    pub name: String,
    /// One for each category. A missing, negative or not finite value leaves a gap.
    pub values: Vec<Option<f64>>,
    /// The index of the series that this one belongs to: it has the same colour, but lighter.
    pub paired_with: Option<usize>,
}

/// A chart of upright bars from zero, those of a category side by side, with a legend.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bars {
    /// The first line.
    pub title: String,
    /// The second line.
    pub subtitle: String,
    /// The quantity of the categories, with its unit.
    pub x_label: String,
    /// The quantity of the values, with its unit.
    pub y_label: String,
    /// Names below the bars.
    pub categories: Vec<String>,
    /// Whether bars stand on a logarithmic axis, from a power of ten below all of them.
    pub log_y: bool,
    /// A height to mark with a horizontal line, such as 1 for ratios.
    pub mark: Option<f64>,
    /// The bars of each category, in the order of the legend.
    pub series: Vec<BarSeries>,
    /// The size of the picture.
    pub size: Size,
}

const WIDTH: f64 = 1240.0;
const HEIGHT: f64 = 760.0;
/// Share of a category's room that its bars take.
const FILLED: f64 = 0.76;
const SWATCH: f64 = 26.0;
/// Largest length of an upright name.
const HIGHEST_NAME: f64 = 220.0;

impl Bars {
    /// Lays out the picture.
    pub fn draw(&self) -> Picture {
        let least = if self.log_y { 1e-300 } else { 0.0 };
        let drawn = |v: &Option<f64>| v.filter(|v| (least..=1e300).contains(v));
        let values = || self.series.iter().flat_map(|s| &s.values).filter_map(drawn);
        let highest = Some(values().fold(0.0, f64::max)).filter(|h| *h > 0.0).unwrap_or(1.0);
        let ticks = (HEIGHT / 90.0) as usize;
        // Counts have no fractions.
        let is_whole = values().all(|value| value.fract() == 0.0);
        let ticks = if is_whole { ticks.min(highest.min(1e3) as usize + 1) } else { ticks };
        let y = match self.log_y {
            // A power of ten is above the axis, too.
            true => Axis::logarithmic(
                0.99 * values().filter(|v| *v > 0.0).fold(highest, f64::min),
                highest,
                ticks,
            ),
            false => Axis::rounded(0.0, highest, ticks),
        };
        let left = frame::depth(&y);
        let legend = frame::legend_width(self.series.iter().map(|s| s.name.as_str()), &self.size);
        let titles = [&*self.title, &*self.subtitle];
        let (mut drawing, area) =
            frame::sheet(titles, &self.size, [WIDTH, HEIGHT], [left, legend], 0.0);
        let room = area.width() / self.categories.len().max(1) as f64;
        // Names wider than their room are upright.
        let names = || self.categories.iter().map(String::as_str);
        let widest = names().map(|name| font::width(name, frame::NUMBERS, false));
        let widest = widest.fold(0.0, f64::max);
        let upright = (widest > room - 8.0).then(|| widest.min(HIGHEST_NAME));
        let extra = upright.map_or(0.0, |height| height - frame::NUMBERS);
        let most = if upright.is_some() { HIGHEST_NAME } else { room - 8.0 };
        let fitted =
            |name: &String| Text::new(name, (0.0, 0.0), frame::NUMBERS, INK).cut(most).text;
        let x = Axis::of_names(self.categories.iter().map(fitted)).upright(extra);
        drawing.height += extra.ceil();
        let [base, end] = [0.0, 1.0].map(|share| y.value(share));
        let width = FILLED / self.series.len().max(1) as f64;
        let axes = [(&x, self.x_label.as_str()), (&y, self.y_label.as_str())];
        frame::chart(&mut drawing, &area, axes, [false, true], |chart| {
            for (j, (series, color)) in self.series.iter().zip(self.colors()).enumerate() {
                let start = (1.0 - FILLED) / 2.0 + width * j as f64;
                let bar = |(k, value): (usize, &Option<f64>)| {
                    let left = k as f64 + start;
                    let corners = [(left, base), (left + width, drawn(value)?)];
                    Some(Rectangle::new(corners, filled(color, 1.0)))
                };
                let values = series.values.iter().take(self.categories.len()).enumerate();
                chart.draw_series(values.filter_map(bar))?;
            }
            if let Some(mark) = self.mark.filter(|mark| (base..=end).contains(mark)) {
                let ends = [0.0, self.categories.len() as f64].map(|x| (x, mark));
                chart.draw_series(LineSeries::new(ends, stroke(INK, 2.5)))?;
            }
            Ok(())
        });
        let entries = self.series.iter().map(|series| series.name.as_str()).zip(self.colors());
        frame::legend(&mut drawing, &area, entries, |drawing, (left, y), color| {
            let (top, bottom) = (y - SWATCH / 2.0, y + SWATCH / 2.0);
            let swatch = Area { left, top, right: left + frame::SAMPLE, bottom };
            drawing.polygon(swatch.outline(), color, 1.0);
        });
        Picture(drawing)
    }

    /// Returns the colour of every series.
    fn colors(&self) -> Vec<Rgb> {
        let pairs = self.series.iter().map(|s| s.paired_with);
        let colors = color::paired(pairs, CURVES.into_iter().cycle());
        let lighter = |(color, series): (Rgb, &BarSeries)| match series.paired_with {
            Some(_) => color.map(|v| v / 2 + 0x78),
            None => color,
        };
        colors.into_iter().zip(&self.series).map(lighter).collect()
    }
}
