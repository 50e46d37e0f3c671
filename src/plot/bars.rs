//! Bars side by side: a few numbers for each of a few categories.

use super::axis::Axis;
use super::color::{self, CURVES, INK, Rgb};
use super::drawing::{Align, Drawing, Text};
use super::frame;
use super::geometry::Area;
use super::picture::Picture;
use super::size::Size;

/// One number per category.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BarSeries {
    /// Its name in the legend.
    pub name: String,
    /// One for each category; none, or one that is negative or not finite, leaves a gap.
    pub values: Vec<Option<f64>>,
    /// The series, by number, that this one belongs to: it takes that one's colour, lighter.
    pub paired_with: Option<usize>,
}

/// A chart of upright bars from zero, those of a category side by side, with a legend.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bars {
    /// The first line.
    pub title: String,
    /// The second line.
    pub subtitle: String,
    /// The quantity of the values, with its unit.
    pub y_label: String,
    /// Names below the bars.
    pub categories: Vec<String>,
    /// Whether bars stand on a logarithmic axis, from a power of ten below all of them.
    pub log_y: bool,
    /// A height to mark with a line across, as 1 for ratios.
    pub mark: Option<f64>,
    /// The bars of each category, in the order of the legend.
    pub series: Vec<BarSeries>,
    /// How large the picture is.
    pub size: Size,
}

const WIDTH: f64 = 1240.0;
const HEIGHT: f64 = 760.0;
/// Share of a category's room that its bars take.
const FILLED: f64 = 0.76;
const SWATCH: f64 = 26.0;

impl Bars {
    /// Lays out the picture.
    pub fn draw(&self) -> Picture {
        let least = if self.log_y { 1e-300 } else { 0.0 };
        let drawn = |v: &Option<f64>| v.filter(|v| (least..=1e300).contains(v));
        let values = || self.series.iter().flat_map(|s| &s.values).filter_map(drawn);
        let highest = Some(values().fold(0.0, f64::max)).filter(|h| *h > 0.0).unwrap_or(1.0);
        let ticks = (HEIGHT / 90.0) as usize;
        let y = match self.log_y {
            true => Axis::logarithmic(values().fold(highest, f64::min), highest, ticks),
            false => Axis::rounded(0.0, highest, ticks),
        };
        let left = frame::depth(&y);
        let top = frame::titles_height(&self.title, &self.subtitle);
        let names = self.series.iter().map(|s| s.name.as_str());
        let legend = 24.0 + SWATCH + 14.0 + frame::names_width(names);
        let beside = left + legend + frame::MARGIN;
        let (across, wide) = self.size.widths(WIDTH, beside);
        let bottom = top + wide * HEIGHT / WIDTH;
        let area = Area { left, top, right: left + wide, bottom };
        let mut drawing = Drawing::new(across, area.bottom + frame::BOTTOM, self.size);
        frame::lines_across(&mut drawing, &area, &y);
        let room = wide / self.categories.len().max(1) as f64;
        let width = FILLED * room / self.series.len().max(1) as f64;
        for (k, category) in self.categories.iter().enumerate() {
            let start = area.left + room * (k as f64 + (1.0 - FILLED) / 2.0);
            for (j, (series, color)) in self.series.iter().zip(self.colors()).enumerate() {
                let Some(value) = series.values.get(k).and_then(drawn) else { continue };
                let x = start + width * j as f64;
                let height = y.share(value) * area.height();
                let bar = Area {
                    left: x,
                    top: area.bottom - height,
                    right: x + width,
                    bottom: area.bottom,
                };
                drawing.polygon(bar.outline(), color, 1.0);
            }
            let at = (area.left + room * (k as f64 + 0.5), area.bottom + 40.0);
            let name = Text::new(category.as_str(), at, frame::NUMBERS, INK).align(Align::Middle);
            drawing.text(name.within(room - 8.0));
        }
        if let Some(mark) = self.mark.map(|v| y.share(v)).filter(|s| (0.0..=1.0).contains(s)) {
            let at = area.bottom - mark * area.height();
            drawing.line(vec![(area.left, at), (area.right, at)], 2.5, INK);
        }
        drawing.line(area.outline(), 2.0, INK);
        frame::left(&mut drawing, &area, &y, &self.y_label);
        frame::titles(&mut drawing, left, &self.title, &self.subtitle);
        self.draw_legend(&mut drawing, &area);
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

    fn draw_legend(&self, drawing: &mut Drawing, area: &Area) {
        let left = area.right + 24.0;
        for (k, (series, color)) in self.series.iter().zip(self.colors()).enumerate() {
            let y = area.top + 20.0 + 38.0 * k as f64;
            let swatch = Area {
                left,
                top: y - SWATCH / 2.0,
                right: left + SWATCH,
                bottom: y + SWATCH / 2.0,
            };
            drawing.polygon(swatch.outline(), color, 1.0);
            drawing.text(frame::legend_name(&series.name, (left + SWATCH + 14.0, y)));
        }
    }
}
