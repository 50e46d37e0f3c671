//! Curves over iterations or sizes.

use super::axis::Axis;
use super::color::{self, CURVES, GREY, GRID, INK, Rgb, WHITE};
use super::drawing::{Align, Drawing, Text};
use super::error::PlotError;
use super::frame;
use super::geometry::{Area, Point};
use super::picture::Picture;
use super::size::Size;
use std::path::Path;

/// One curve.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// Its name in the legend.
    pub name: String,
    /// Points `(x, y)` in drawing order. A point that is not finite (or beyond
    /// ±10³⁰⁰), or not above zero on a logarithmic axis, leaves a gap.
    pub points: Vec<(f64, f64)>,
    /// The series, by number, that this one belongs to: it takes that one's colour and is dashed.
    pub paired_with: Option<usize>,
    /// Whether its points are drawn as dots alone, without a line between them.
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
    /// How large the picture is.
    pub size: Size,
}

const WIDTH: f64 = 1240.0;
const HEIGHT: f64 = 760.0;
/// Places of the bitmap to the picture unit, within which points cannot be distinguished.
const SUBUNITS: f64 = 2.0;
const LINE: f64 = 3.5;
const DASH: f64 = 11.0;
/// Curves of at most this many points show each of them as a dot.
const DOTS: usize = 40;
const LEGEND_LINE: f64 = 46.0;

impl Curves {
    /// Lays out and writes the picture as the extension of `path` says, `.png` or
    /// `.svg`. The file appears whole or not at all.
    ///
    /// # Errors
    /// See [`Picture::write`].
    pub fn write(&self, path: &Path) -> Result<(), PlotError> {
        self.draw().write(path)
    }

    /// Lays out the picture.
    pub fn draw(&self) -> Picture {
        let scale = self.size.width.unwrap_or(1600.0) / 1600.0;
        let (x, y) = self.axes(scale.min(1.0));
        let left = frame::depth(&y);
        let top = frame::titles_height(&self.title, &self.subtitle);
        let legend = match frame::names_width(self.series.iter().map(|s| s.name.as_str())) {
            0.0 => 0.0,
            widest => 24.0 + LEGEND_LINE + 14.0 + widest,
        };
        let beside = left + legend + frame::MARGIN;
        let (width, across) = self.size.widths(WIDTH, beside);
        let bottom = top + across * HEIGHT / WIDTH;
        let area = Area { left, top, right: left + across, bottom };
        let mut drawing = Drawing::new(width, area.bottom + frame::BOTTOM, self.size);

        mesh(&mut drawing, &area, &x, &y);
        drawing.line(area.outline(), 2.0, INK);
        let mut empty = true;
        for (series, color) in self.series.iter().zip(self.colors()) {
            for run in self.runs(series) {
                let points: Vec<Point> = run.iter().map(|&p| place(&area, &x, &y, p)).collect();
                draw_run(&mut drawing, points, color, series);
                empty = false;
            }
        }
        if empty {
            let at = ((area.left + area.right) / 2.0, (area.top + area.bottom) / 2.0);
            drawing.text(Text::new("no data", at, 30.0, GREY).align(Align::Middle));
        }
        frame::left(&mut drawing, &area, &y, &self.y_label);
        frame::bottom(&mut drawing, &area, &x, &self.x_label);
        frame::titles(&mut drawing, left, &self.title, &self.subtitle);
        self.draw_legend(&mut drawing, &area);
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

    /// Returns the stretches of a curve between gaps.
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
            // Iterations have no halves.
            let whole = points().all(|p| p.0.fract() == 0.0);
            let most =
                if whole { ticks_x.min((hi_x - lo_x).min(1e3) as usize + 1) } else { ticks_x };
            Axis::linear(lo_x, hi_x, most)
        };
        let ticks_y = (HEIGHT * scale / 90.0) as usize;
        let y = if self.log_y {
            Axis::logarithmic(lo_y, hi_y, ticks_y)
        } else {
            // Zero is shown where that leaves the curves half of the height.
            let lo = if lo_y > 0.0 && lo_y < hi_y / 2.0 { 0.0 } else { lo_y };
            Axis::rounded(lo, hi_y, ticks_y)
        };
        (x, y)
    }

    fn draw_legend(&self, drawing: &mut Drawing, area: &Area) {
        let left = area.right + 24.0;
        let named = self.series.iter().zip(self.colors()).filter(|(s, _)| !s.name.is_empty());
        for (k, (series, color)) in named.enumerate() {
            let y = area.top + 20.0 + 38.0 * k as f64;
            if y > area.bottom - 20.0 {
                drawing.text(Text::new("…", (left, y), frame::LEGEND_TEXT, INK));
                break;
            }
            let sample = vec![(left, y), (left + LEGEND_LINE, y)];
            match series.paired_with {
                _ if series.dots => {}
                Some(_) => dashes(drawing, &sample, color),
                None => drawing.line(sample, LINE, color),
            }
            if series.points.len() <= DOTS || series.dots {
                dot(drawing, (left + LEGEND_LINE / 2.0, y), color);
            }
            drawing.text(frame::legend_name(&series.name, (left + LEGEND_LINE + 14.0, y)));
        }
    }
}

/// Returns seven colours, then lighter ones of the same hues, again and again.
fn colors() -> impl Iterator<Item = Rgb> {
    let lighter = CURVES.map(|c| c.map(|v| v / 2 + 0x70));
    CURVES.into_iter().chain(lighter).cycle()
}

fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (lo, hi) =
        values.fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), v| (lo.min(v), hi.max(v)));
    // Positive, so that it serves a logarithmic axis too.
    if lo <= hi { (lo, hi) } else { (1.0, 10.0) }
}

fn place(area: &Area, x: &Axis, y: &Axis, point: (f64, f64)) -> Point {
    (area.left + x.share(point.0) * area.width(), area.bottom - y.share(point.1) * area.height())
}

/// Light lines at the numbers of both axes.
fn mesh(drawing: &mut Drawing, area: &Area, x: &Axis, y: &Axis) {
    for (value, _) in x.ticks.iter().filter(|(_, text)| !text.is_empty()) {
        let at = area.left + x.share(*value) * area.width();
        drawing.line(vec![(at, area.top), (at, area.bottom)], 1.5, GRID);
    }
    frame::lines_across(drawing, area, y);
}

fn draw_run(drawing: &mut Drawing, points: Vec<Point>, color: Rgb, series: &Series) {
    if points.len() <= DOTS || series.dots {
        for &point in &points {
            dot(drawing, point, color);
        }
    }
    if points.len() > 1 && !series.dots {
        let points = thin_out(points);
        match series.paired_with.is_some() {
            true => dashes(drawing, &points, color),
            false => drawing.line(points, LINE, color),
        }
    }
}

/// A line of dashes as long as the gaps between them.
fn dashes(drawing: &mut Drawing, points: &[Point], color: Rgb) {
    let mut at = 0.0; // along the line
    let mut dash: Vec<Point> = Vec::new();
    for ends in points.windows(2) {
        let ((x0, y0), (x1, y1)) = (ends[0], ends[1]);
        let length = (x1 - x0).hypot(y1 - y0);
        let point = |along: f64| {
            let share = if length > 0.0 { along / length } else { 0.0 };
            (x0 + (x1 - x0) * share, y0 + (y1 - y0) * share)
        };
        let mut done = 0.0;
        while done < length {
            let is_dash = ((at / DASH) as u64).is_multiple_of(2);
            let left = DASH - at % DASH;
            let next = length.min(done + left.max(1e-6));
            if is_dash {
                if dash.is_empty() {
                    dash.push(point(done));
                }
                dash.push(point(next));
            }
            if next - done >= left || !is_dash {
                if dash.len() > 1 {
                    drawing.line(std::mem::take(&mut dash), LINE, color);
                }
                dash.clear();
            }
            at += (next - done).max(1e-6);
            done = next;
        }
    }
    if dash.len() > 1 {
        drawing.line(dash, LINE, color);
    }
}

fn dot(drawing: &mut Drawing, (x, y): Point, color: Rgb) {
    let circle = |radius: f64| {
        let angle = |k: u32| f64::from(k) / 24.0 * std::f64::consts::TAU;
        (0..24).map(|k| (x + radius * angle(k).cos(), y + radius * angle(k).sin())).collect()
    };
    drawing.polygon(circle(7.0), WHITE, 1.0);
    drawing.polygon(circle(5.5), color, 1.0);
}

/// Keeps the first, lowest, highest and last of the points that fall on one column of the bitmap:
/// the drawing stays the same, however many there are.
fn thin_out(points: Vec<Point>) -> Vec<Point> {
    let column = |p: &Point| (p.0 * SUBUNITS).round();
    let mut kept = Vec::new();
    for group in points.chunk_by(|a, b| column(a) == column(b)) {
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
mod tests {
    use super::*;

    #[test]
    fn thinning_keeps_the_extremes_of_each_column() {
        let noisy: Vec<Point> =
            (0..10_000).map(|k| (f64::from(k) * 1e-3, f64::from(k * 7919 % 1009))).collect();
        let kept = thin_out(noisy.clone());
        assert!(kept.len() <= 4 * 21, "{}", kept.len());
        let extremes = |p: &[Point]| range(p.iter().map(|p| p.1));
        assert_eq!(extremes(&kept), extremes(&noisy));
        assert_eq!((kept[0], kept.last()), (noisy[0], noisy.last()));
    }
}
