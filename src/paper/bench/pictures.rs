//! Tables as pictures: times and ratios as curves over sizes, or as bars of each
//! design or of one size; the paper's beside this machine's, in the same colours.

use super::table::{Group, Line, Table};
use super::work::Machine;
use crate::plot::{BarSeries, Bars, Curves, Picture, PlotError, Series};
use std::path::{Path, PathBuf};

/// Ratios that differ by more than this factor are drawn on a logarithmic axis.
const WIDE: f64 = 8.0;

/// Draws the numbers of a table as PNG and SVG in `folder`: `NAME_time`, `NAME_ratio` and, for
/// numbers without a unit, `NAME_values`. Returns the written files.
///
/// # Errors
/// When a picture cannot be drawn or written.
pub fn draw(table: &Table, machine: &Machine, folder: &Path) -> Result<Vec<PathBuf>, PlotError> {
    let mut files = Vec::new();
    for (what, picture) in pictures(table, machine) {
        picture.save(folder, &format!("{}_{what}", table.name), &mut files)?;
    }
    Ok(files)
}

/// Returns the pictures of a table, each with its name.
fn pictures(table: &Table, machine: &Machine) -> Vec<(&'static str, Picture)> {
    let mut groups: Vec<&Group> = table.groups.iter().filter(|g| g.elements.is_some()).collect();
    groups.sort_by_key(|g| g.elements);
    let subtitle = format!("{}, {}; paper: {}", machine.device, table.precision, table.paper);
    let titles = [table.title.clone(), subtitle];
    let mut pictures = Vec::new();
    if let [only] = groups[..] {
        pictures.extend(ratio_bars(only, titles).map(|bars| ("ratio", bars.draw())));
        return pictures;
    }
    if groups.is_empty() {
        return pictures;
    }
    let timed = groups.iter().flat_map(|g| &g.lines).find(|l| l.sample.is_some());
    let unit = timed.map_or("ms", |l| l.unit.as_str());
    let time = |line: &Line| {
        let here = line.sample.map(|_| line.here).unwrap_or_default();
        [here, line.paper].map(|v| v.filter(|_| line.unit == unit))
    };
    let compared = |line: &Line| {
        let over_another = line.over.as_deref().is_some_and(|over| over != line.what);
        [line.here_ratio, line.paper_ratio].map(|v| v.filter(|_| over_another))
    };
    let bare = |line: &Line| [line.here, line.paper].map(|v| v.filter(|_| line.unit.is_empty()));
    let chart = Chart { groups: &groups, titles: &titles };
    let over = format!("time over {}'s", over(&groups));
    let charts: [(_, _, &Values<'_>); 3] = [
        ("time", format!("time ({unit})"), &time),
        ("ratio", over, &compared),
        ("values", "values without unit".to_owned(), &bare),
    ];
    for (what, label, values) in charts {
        pictures.extend(chart.draw(label, what == "time", values).map(|picture| (what, picture)));
    }
    pictures
}

/// Numbers drawn of a line: here, and in the paper.
type Values<'a> = dyn Fn(&Line) -> [Option<f64>; 2] + 'a;

/// Data that the charts of a table share.
struct Chart<'a> {
    groups: &'a [&'a Group],
    titles: &'a [String; 2],
}

impl Chart<'_> {
    /// Draws `values` of every line, here and in the paper: bars if the cases have names, curves if
    /// they are sizes.
    fn draw(&self, y_label: String, log: bool, values: &Values<'_>) -> Option<Picture> {
        let of = |group: &Group, name: &str, k: usize| values(group.line(name)?)[k];
        let has = |name: &&str, k| self.groups.iter().any(|g| of(g, name, k).is_some());
        let names = names(self.groups);
        // By line: here's series, then the paper's, which is paired with it.
        let mut series: Vec<(&str, usize, Option<usize>)> = Vec::new();
        for name in names {
            let here = has(&name, 0).then_some(series.len());
            series.extend(here.map(|_| (name, 0, None)));
            series.extend(has(&name, 1).then_some((name, 1, here)));
        }
        let all = self.groups.iter().flat_map(|g| &g.lines).flat_map(values);
        let (least, most) = all
            .flatten()
            .filter(|v| *v > 0.0)
            .fold((f64::INFINITY, 0.0), |(lo, hi), v| (v.min(lo), v.max(hi)));
        if series.is_empty() {
            return None;
        }
        let log_y = log || most > WIDE * least;
        let legend = |name: &str, k: usize| format!("{name}{}", ["", " (paper)"][k]);
        let [title, subtitle] = self.titles.clone();
        if self.groups.iter().all(|g| g.case.starts_with(char::is_alphabetic)) {
            let bars = |(name, k, paired_with): (&str, usize, _)| BarSeries {
                name: legend(name, k),
                values: self.groups.iter().map(|g| of(g, name, k)).collect(),
                paired_with,
            };
            let bars = Bars {
                title,
                subtitle,
                y_label,
                categories: self.groups.iter().map(|g| g.case.clone()).collect(),
                log_y,
                mark: (!log).then_some(1.0),
                series: series.into_iter().map(bars).collect(),
                ..Bars::default()
            };
            return Some(bars.draw());
        }
        let curve = |(name, k, paired_with): (&str, usize, _)| {
            let point = |g: &&Group| Some((g.elements? as f64, of(g, name, k)?));
            let points = self.groups.iter().filter_map(point).collect();
            Series { name: legend(name, k), points, paired_with, ..Series::default() }
        };
        let curves = Curves {
            title,
            subtitle,
            x_label: "elements".to_owned(),
            y_label,
            log_x: true,
            log_y,
            series: series.into_iter().map(curve).collect(),
            ..Curves::default()
        };
        Some(curves.draw())
    }
}

/// Returns every line that has a ratio, the paper's beside this machine's.
fn ratio_bars(group: &Group, [title, subtitle]: [String; 2]) -> Option<Bars> {
    let compared = |l: &&Line| l.here_ratio.is_some() || l.paper_ratio.is_some();
    let lines: Vec<&Line> = group.lines.iter().filter(compared).collect();
    let bars = |name: &str, value: fn(&Line) -> Option<f64>| BarSeries {
        name: name.to_owned(),
        values: lines.iter().map(|l| value(l)).collect(),
        ..BarSeries::default()
    };
    (!lines.is_empty()).then(|| Bars {
        title: format!("{title}, {}", group.case),
        subtitle,
        y_label: format!("time over {}'s", over(&[group])),
        categories: lines.iter().map(|l| l.what.clone()).collect(),
        mark: Some(1.0),
        series: vec![bars("paper", |l| l.paper_ratio), bars("here", |l| l.here_ratio)],
        ..Bars::default()
    })
}

/// Returns the names of lines that have a number, in their order.
fn names<'g>(groups: &[&'g Group]) -> Vec<&'g str> {
    let mut names: Vec<&str> = Vec::new();
    for line in groups.iter().flat_map(|g| &g.lines) {
        let known = line.here.is_some() || line.paper.is_some();
        if known && !names.contains(&line.what.as_str()) {
            names.push(&line.what);
        }
    }
    names
}

/// Returns the common base of the ratios, if there is one.
fn over(groups: &[&Group]) -> String {
    let mut all: Vec<&str> =
        groups.iter().flat_map(|g| &g.lines).filter_map(|l| l.over.as_deref()).collect();
    all.sort_unstable();
    all.dedup();
    if let [one] = all[..] { one.to_owned() } else { "the reference".to_owned() }
}
