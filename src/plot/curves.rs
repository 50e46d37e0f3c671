//! Curves over iterations or sizes.

use super::axis::Axis;
use super::canvas::{Canvas, filled, px, stroke};
use super::color::{self, CURVES, GREY, Rgb, WHITE};
use super::drawing::{Align, Drawing, Text};
use super::frame::{self, Chart, SAMPLE};
use super::geometry::Point;
use super::picture::Picture;
use super::size::Size;
use plotters::drawing::IntoDrawingArea;
use plotters::element::{Circle, EmptyElement};
use plotters::series::{DashedLineSeries, LineSeries, PointSeries};

/// One curve.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// Its name in the legend.
    pub name: String,
    /// Points `(x, y)` in drawing order. A point that is not finite (or beyond
    /// ±10³⁰⁰), or not above zero on a logarithmic axis, leaves a gap.
    pub points: Vec<(f64, f64)>,
    /// The index of the series that this one belongs to: it has the same colour and is dashed.
    pub paired_with: Option<usize>,
    /// Whether its points are drawn only as dots, without a line between them.
    pub dots: bool,
}

/// A chart of lines with a legend.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curves {
    /// The first line.
    pub title: String,
    /// The second line.
    pub subtitle: String,
    /// The quantity along x, with its unit.
    pub x_label: String,
    /// The quantity along y, with its unit.
    pub y_label: String,
    /// Whether x is drawn on a logarithmic axis.
    pub log_x: bool,
    /// Whether y is drawn on a logarithmic axis.
    pub log_y: bool,
    /// The curves, in the order of the legend.
    pub series: Vec<Series>,
    /// The size of the picture.
    pub size: Size,
}

const WIDTH: f64 = 1240.0;
const HEIGHT: f64 = 760.0;
/// Coordinates of plotters across a column of the bitmap, within which points look the same.
const COLUMN: f64 = Canvas::UNIT as f64 / 2.0;
const LINE: f64 = 3.5;
const DASH: f64 = 11.0;
/// Curves of at most this many points show each point as a dot.
const DOTS: usize = 40;
const DOT: f64 = 5.5;
/// Width of the white rim around a dot.
const RIM: f64 = 1.5;

impl Curves {
    /// Lays out the picture.
    pub fn draw(&self) -> Picture {
        let scale = self.size.width.unwrap_or(1600.0) / 1600.0;
        let (x, y) = self.axes(scale.min(1.0));
        let left = frame::depth(&y);
        let legend = frame::legend_width(self.series.iter().map(|s| s.name.as_str()), &self.size);
        let titles = [&*self.title, &*self.subtitle];
        let (mut drawing, area) =
            frame::sheet(titles, &self.size, [WIDTH, HEIGHT], [left, legend], 0.0);
        let axes = [(&x, self.x_label.as_str()), (&y, self.y_label.as_str())];
        frame::chart(&mut drawing, &area, axes, [true; 2], |chart| {
            // Points are drawn over the lines of all series, so that no line hides one.
            for lines in [true, false] {
                for (series, color) in self.series.iter().zip(self.colors()) {
                    self.runs(series).try_for_each(|run| match lines {
                        true => draw_line(chart, run, color, series),
                        false => draw_dots(chart, run, color, series),
                    })?;
                }
            }
            Ok(())
        });
        if self.series.iter().all(|series| self.runs(series).next().is_none()) {
            let at = ((area.left + area.right) / 2.0, (area.top + area.bottom) / 2.0);
            drawing.text(Text::new("no data", at, 30.0, GREY).align(Align::Middle));
        }
        let entries = self.series.iter().zip(self.colors());
        let entries = entries.map(|(series, color)| (series.name.as_str(), (series, color)));
        frame::legend(&mut drawing, &area, entries, sample);
        Picture(drawing)
    }

    /// Returns the colour of every series.
    fn colors(&self) -> Vec<Rgb> {
        color::paired(self.series.iter().map(|s| s.paired_with), colors())
    }

    fn drawable(&self, (x, y): (f64, f64)) -> bool {
        let fits = |v: f64, log: bool| v.abs() <= 1e300 && (!log || v >= 1e-300);
        fits(x, self.log_x) && fits(y, self.log_y)
    }

    /// Returns the parts of a curve between gaps.
    fn runs<'a>(&'a self, series: &'a Series) -> impl Iterator<Item = &'a [(f64, f64)]> {
        series.points.split(|&p| !self.drawable(p)).filter(|run| !run.is_empty())
    }

    /// Returns the axes of a chart that is smaller by this factor.
    fn axes(&self, scale: f64) -> (Axis, Axis) {
        let points = || self.series.iter().flat_map(|s| self.runs(s)).flatten();
        let (lo_x, hi_x) = range(points().map(|p| p.0));
        let (lo_y, hi_y) = range(points().map(|p| p.1));
        let ticks_x = (WIDTH * scale / 130.0) as usize;
        let x = if self.log_x {
            Axis::logarithmic(lo_x, hi_x, ticks_x)
        } else {
            // Iterations have no fractions.
            let whole = points().all(|p| p.0.fract() == 0.0);
            let most =
                if whole { ticks_x.min((hi_x - lo_x).min(1e3) as usize + 1) } else { ticks_x };
            // A dot at an end of the axis would be half outside.
            let dots = self.series.iter().any(|series| series.dots);
            if dots { Axis::rounded(lo_x, hi_x, most) } else { Axis::linear(lo_x, hi_x, most) }
        };
        let ticks_y = (HEIGHT * scale / 90.0) as usize;
        let y = if self.log_y {
            Axis::logarithmic(lo_y, hi_y, ticks_y)
        } else {
            // Zero is shown if that leaves the curves half of the height.
            let lo = if lo_y > 0.0 && lo_y < hi_y / 2.0 { 0.0 } else { lo_y };
            Axis::rounded(lo, hi_y, ticks_y)
        };
        (x, y)
    }
}

/// Returns seven colours, then lighter ones of the same hues, repeatedly.
fn colors() -> impl Iterator<Item = Rgb> {
    let lighter = CURVES.map(|c| c.map(|v| v / 2 + 0x70));
    CURVES.into_iter().chain(lighter).cycle()
}

fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (lo, hi) =
        values.fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), v| (lo.min(v), hi.max(v)));
    // Positive, so that it also suits a logarithmic axis.
    if lo <= hi { (lo, hi) } else { (1.0, 10.0) }
}

/// Draws the line through a part of the points, dashed if the series is paired.
fn draw_line(
    chart: &mut Chart<'_, '_>,
    run: &[(f64, f64)],
    color: Rgb,
    series: &Series,
) -> frame::Drawn {
    if run.len() < 2 || series.dots {
        return Ok(());
    }
    let points = thin_out(run, |point| f64::from(chart.backend_coord(point).0) / COLUMN);
    let style = stroke(color, LINE);
    match series.paired_with {
        Some(_) => {
            chart.draw_series(DashedLineSeries::new(points, px(DASH), px(DASH), style))?;
        }
        None => {
            chart.draw_series(LineSeries::new(points, style))?;
        }
    }
    Ok(())
}

/// Draws the points of a part as dots if they are few.
fn draw_dots(
    chart: &mut Chart<'_, '_>,
    run: &[(f64, f64)],
    color: Rgb,
    series: &Series,
) -> frame::Drawn {
    if run.len() > DOTS && !series.dots {
        return Ok(());
    }
    let dot = |at: (f64, f64), size: i32, style| {
        EmptyElement::at(at)
            + Circle::new((0, 0), size + px(RIM), filled(WHITE, 1.0))
            + Circle::new((0, 0), size, style)
    };
    let points = run.iter().copied();
    chart.draw_series(PointSeries::of_element(points, px(DOT), filled(color, 1.0), &dot))?;
    Ok(())
}

/// Draws a line or a dot of the series beside its name in the legend.
fn sample(drawing: &mut Drawing, (left, y): Point, (series, color): (&Series, Rgb)) {
    let dashes = match series.paired_with {
        _ if series.dots => vec![],
        Some(_) => vec![0.0, DASH, 2.0 * DASH, 3.0 * DASH],
        None => vec![0.0, SAMPLE],
    };
    for ends in dashes.chunks_exact(2) {
        drawing.line(ends.iter().map(|x| (left + x, y)).collect(), LINE, color);
    }
    if series.points.len() <= DOTS || series.dots {
        let root = Canvas(drawing).into_drawing_area();
        let dot = Circle::new((px(left + SAMPLE / 2.0), px(y)), px(DOT), filled(color, 1.0));
        root.draw(&dot).expect("a canvas records everything");
    }
}

/// Keeps the first, lowest, highest and last of the points in one column of the picture. The
/// drawing stays the same for any number of points.
fn thin_out(points: &[Point], column: impl Fn(&Point) -> f64) -> Vec<Point> {
    let mut kept = Vec::new();
    for group in points.chunk_by(|a, b| column(a).round() == column(b).round()) {
        if group.len() <= 4 {
            kept.extend_from_slice(group);
            continue;
        }
        let by_height = |a: &&Point, b: &&Point| a.1.total_cmp(&b.1);
        kept.push(group[0]);
        kept.extend(group.iter().min_by(by_height));
        kept.extend(group.iter().max_by(by_height));
        kept.extend(group.last());
    }
    kept
}

#[cfg(test)]
mod tests;
