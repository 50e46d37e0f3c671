//! Charts of a page: the positions of all parts, for `page.html` to write as SVG.

use crate::plot::Axis;
use serde::Serialize;

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 260.0;
/// Left, top, right and bottom of the plotting area.
const AREA: [f64; 4] = [70.0, 30.0, 626.0, 214.0];
/// Lines are thinned out to about this many points.
const MOST_POINTS: usize = 600;

/// A chart, laid out.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Chart {
    title: String,
    /// A description for readers who do not see it.
    description: String,
    width: f64,
    height: f64,
    area: [f64; 4],
    /// Values of x at the left and right end.
    x: [f64; 2],
    /// Whether x is the iteration, which the page's slider marks.
    follows: bool,
    x_label: String,
    y_label: String,
    x_ticks: Vec<Tick>,
    y_ticks: Vec<Tick>,
    lines: Vec<Line>,
    bars: String,
    marks: Vec<Tick>,
}

#[derive(Clone, Debug, Serialize)]
struct Tick {
    at: f64,
    text: String,
}

#[derive(Clone, Debug, Serialize)]
struct Line {
    name: String,
    path: String,
}

/// A line before it is laid out.
pub(crate) struct Values<'a> {
    pub(crate) name: String,
    /// One for every x; one that is not finite leaves a gap.
    pub(crate) values: &'a [f64],
}

/// Rounds to one decimal, a tenth of a unit of the drawing.
fn round(at: f64) -> f64 {
    (at * 10.0).round() / 10.0
}

impl Chart {
    fn over(title: &str, [x_label, y_label]: [&str; 2], x: &Axis, y: &Axis) -> Chart {
        let ticks = |axis: &Axis, place: &dyn Fn(f64) -> f64| -> Vec<Tick> {
            let named = axis.ticks.iter().filter(|(_, text)| !text.is_empty());
            named
                .map(|(v, text)| Tick { at: round(place(axis.share(*v))), text: text.clone() })
                .collect()
        };
        Chart {
            title: title.to_owned(),
            description: String::new(),
            width: WIDTH,
            height: HEIGHT,
            area: AREA,
            x: [0.0, 0.0],
            follows: false,
            x_label: x.label(x_label),
            y_label: y.label(y_label),
            x_ticks: ticks(x, &|share| AREA[0] + share * (AREA[2] - AREA[0])),
            y_ticks: ticks(y, &|share| AREA[3] - share * (AREA[3] - AREA[1])),
            lines: Vec::new(),
            bars: String::new(),
            marks: Vec::new(),
        }
    }

    /// Returns the lines over the iterations `x`, ascending; none without two points and a finite
    /// value.
    pub(crate) fn lines(
        title: &str,
        y_label: &str,
        x: &[f64],
        lines: &[Values<'_>],
        log: bool,
    ) -> Option<Chart> {
        let (&first, &last) = (x.first()?, x.last()?);
        let drawn = |v: &f64| v.is_finite() && (!log || *v > 0.0);
        let all = || lines.iter().flat_map(|l| l.values).copied().filter(|v| drawn(v));
        let (lo, hi) = (all().reduce(f64::min)?, all().reduce(f64::max)?);
        if first >= last {
            return None;
        }
        let x_axis = Axis::linear(first, last, 8.min((last - first) as usize + 1));
        let y_axis = match log {
            true => Axis::logarithmic(lo, hi, 5),
            false => Axis::rounded(if lo > 0.0 && lo < hi / 2.0 { 0.0 } else { lo }, hi, 5),
        };
        let mut chart = Chart::over(title, ["iteration", y_label], &x_axis, &y_axis);
        (chart.x, chart.follows) = ([first, last], true);
        let every = x.len().div_ceil(MOST_POINTS);
        for line in lines {
            let mut path = String::new();
            let mut pen_down = false;
            for (k, (x, y)) in x.iter().zip(line.values).enumerate() {
                if !k.is_multiple_of(every) && k + 1 != line.values.len() {
                    continue;
                }
                if !drawn(y) {
                    pen_down = false;
                    continue;
                }
                let at_x = round(AREA[0] + x_axis.share(*x) * (AREA[2] - AREA[0]));
                let at_y = round(AREA[3] - y_axis.share(*y) * (AREA[3] - AREA[1]));
                path += &format!("{}{at_x} {at_y}", if pen_down { "L" } else { "M" });
                pen_down = true;
            }
            chart.lines.push(Line { name: line.name.clone(), path });
        }
        let ends = |l: &Values<'_>| {
            let ends = [l.values.first(), l.values.last()].map(|v| v.copied().unwrap_or(f64::NAN));
            format!("{} from {:.4} to {:.4}", l.name, ends[0], ends[1])
        };
        chart.description = lines.iter().map(ends).collect::<Vec<_>>().join("; ");
        Some(chart)
    }

    /// Returns how many bins have which value: `counts` of equal parts from `lo` to `hi`, on a
    /// logarithmic axis, with a line at `mark`.
    pub(crate) fn histogram(
        title: &str,
        x_label: &str,
        (lo, hi): (f64, f64),
        counts: &[usize],
        mark: (f64, &str),
    ) -> Chart {
        let most = counts.iter().copied().max().unwrap_or(0).max(1) as f64;
        let x = Axis::linear(lo, hi, 9);
        let y = Axis::logarithmic_between(0.5, 1.5 * most, 6);
        let mut chart = Chart::over(title, [x_label, "bins"], &x, &y);
        let width = (AREA[2] - AREA[0]) / counts.len() as f64;
        for (k, &count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            let left = round(AREA[0] + k as f64 * width);
            let top = round(AREA[3] - y.share(count as f64) * (AREA[3] - AREA[1]));
            let right = round(AREA[0] + (k + 1) as f64 * width - 0.6);
            chart.bars += &format!("M{left} {}V{top}H{right}V{}Z", AREA[3], AREA[3]);
        }
        let share = x.share(mark.0);
        if (0.0..=1.0).contains(&share) {
            let at = round(AREA[0] + share * (AREA[2] - AREA[0]));
            chart.marks.push(Tick { at, text: mark.1.to_owned() });
        }
        let total: usize = counts.iter().sum();
        chart.description = format!("{total} bins from {lo:.3} to {hi:.3}");
        chart
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_rise_upward_and_break_at_gaps() {
        let x = [0.0, 1.0, 2.0, 3.0];
        let values = [0.0, 1.0, f64::NAN, 2.0];
        let line = Values { name: "a".to_owned(), values: &values };
        let chart = Chart::lines("t", "y", &x, &[line], false).unwrap();
        let [left, top, right, bottom] = AREA;
        let third = round(left + (right - left) / 3.0);
        let middle = (top + bottom) / 2.0;
        let want = format!("M{left} {bottom}L{third} {middle}M{right} {top}");
        assert_eq!(chart.lines[0].path, want);
        assert!(Chart::lines("t", "y", &[0.0], &[], false).is_none());
    }

    #[test]
    fn a_bar_stands_over_its_part_of_the_axis() {
        let chart = Chart::histogram("t", "x", (0.0, 2.0), &[1000, 0, 10, 0], (1.0, "T"));
        let bars: Vec<&str> = chart.bars.split_terminator('Z').collect();
        assert_eq!(bars.len(), 2);
        let middle = (AREA[0] + AREA[2]) / 2.0;
        assert!(bars[1].starts_with(&format!("M{middle} ")), "{}", chart.bars);
        assert_eq!(chart.marks[0].at, middle);
        assert_eq!(chart.description, "1010 bins from 0.000 to 2.000");
    }
}
