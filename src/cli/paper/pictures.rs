//! Tables as pictures: times and ratios as curves over sizes, or the ratios of
//! one size as bars, beside the paper's.

use super::table::{Group, Line, Table};
use super::target::Machine;
use crate::plot::{BarSeries, Bars, Curves, Picture, PlotError, Series};
use std::path::{Path, PathBuf};

/// Draws a table as PNG and SVG in `folder`: over several sizes `NAME_time` and
/// `NAME_ratio` as curves, of one size `NAME_ratio` as bars. Returns the files
/// written; none for a table without either.
///
/// # Errors
/// When a picture cannot be drawn or written.
pub fn draw(table: &Table, machine: &Machine, folder: &Path) -> Result<Vec<PathBuf>, PlotError> {
    let mut groups: Vec<&Group> = table.groups.iter().filter(|g| g.elements.is_some()).collect();
    groups.sort_by_key(|g| g.elements);
    let subtitle = format!("{}, {}; paper: {}", machine.device, table.precision, table.paper);
    let mut files = Vec::new();
    let mut save = |picture: Picture, what: &str| -> Result<(), PlotError> {
        files.extend(picture.write_both(folder, &format!("{}_{what}", table.name))?);
        Ok(())
    };
    match groups[..] {
        [] => {}
        [only] => {
            if let Some(bars) = ratio_bars(table, only, subtitle) {
                save(bars.draw(), "ratio")?;
            }
        }
        _ => {
            let mut curves = time_curves(table, &groups, subtitle);
            save(curves.draw(), "time")?;
            let names = names(&groups);
            let compared: Vec<&str> =
                names.into_iter().filter(|n| is_compared(&groups, n)).collect();
            let mut ratios = series(&groups, &compared, "", |line| line.here_ratio);
            ratios.extend(series(&groups, &compared, " (paper)", |line| line.paper_ratio));
            if !ratios.is_empty() {
                curves.y_label = format!("time over {}'s", over(&groups));
                curves.log_y = false;
                curves.series = ratios;
                save(curves.draw(), "ratio")?;
            }
        }
    }
    Ok(files)
}

fn time_curves(table: &Table, groups: &[&Group], subtitle: String) -> Curves {
    let names = names(groups);
    let time = |line: &Line| line.sample.map(|_| line.here).unwrap_or_default();
    let mut times = series(groups, &names, "", time);
    times.extend(series(groups, &names, " (paper)", |line| line.paper));
    let timed = groups.iter().flat_map(|g| &g.lines).find(|l| l.sample.is_some());
    Curves {
        title: table.title.clone(),
        subtitle,
        x_label: if table.name == "designs" { "rectangles" } else { "elements" }.to_owned(),
        y_label: format!("time ({})", timed.map_or("ms", |l| l.unit.as_str())),
        log_x: true,
        log_y: true,
        series: times,
    }
}

/// Every line that has a ratio, the paper's beside this machine's.
fn ratio_bars(table: &Table, group: &Group, subtitle: String) -> Option<Bars> {
    let compared = |l: &&Line| l.here_ratio.is_some() || l.paper_ratio.is_some();
    let lines: Vec<&Line> = group.lines.iter().filter(compared).collect();
    let bars = |name: &str, value: fn(&Line) -> Option<f64>| BarSeries {
        name: name.to_owned(),
        values: lines.iter().map(|l| value(l)).collect(),
    };
    (!lines.is_empty()).then(|| Bars {
        title: format!("{}, {}", table.title, group.case),
        subtitle,
        y_label: format!("time over {}'s", over(&[group])),
        categories: lines.iter().map(|l| l.what.clone()).collect(),
        series: vec![bars("paper", |l| l.paper_ratio), bars("here", |l| l.here_ratio)],
    })
}

/// What was timed, in the order of the lines.
fn names<'g>(groups: &[&'g Group]) -> Vec<&'g str> {
    let mut names: Vec<&str> = Vec::new();
    for line in groups.iter().flat_map(|g| &g.lines) {
        let timed = line.sample.is_some() || line.paper.is_some();
        if timed && !names.contains(&line.what.as_str()) {
            names.push(&line.what);
        }
    }
    names
}

/// Whether a line is compared with another one.
fn is_compared(groups: &[&Group], name: &str) -> bool {
    let lines = groups.iter().filter_map(|g| g.line(name));
    lines.into_iter().any(|l| l.over.as_deref().is_some_and(|over| over != name))
}

/// What ratios are over, where it is one thing.
fn over(groups: &[&Group]) -> String {
    let mut all: Vec<&str> =
        groups.iter().flat_map(|g| &g.lines).filter_map(|l| l.over.as_deref()).collect();
    all.sort_unstable();
    all.dedup();
    if let [one] = all[..] { one.to_owned() } else { "the reference".to_owned() }
}

/// A curve for each name that has a value anywhere.
fn series(
    groups: &[&Group],
    names: &[&str],
    suffix: &str,
    value: impl Fn(&Line) -> Option<f64>,
) -> Vec<Series> {
    let curve = |name: &&str| {
        let point = |g: &&Group| Some((g.elements? as f64, value(g.line(name)?)?));
        let points: Vec<(f64, f64)> = groups.iter().filter_map(point).collect();
        Series { name: format!("{name}{suffix}"), points }
    };
    names.iter().map(curve).filter(|s| !s.points.is_empty()).collect()
}
