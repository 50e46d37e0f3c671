//! Tables as curves over sizes: times, and ratios beside the paper's.

use super::table::{Group, Line, Machine, Table};
use crate::plot::{Curves, PlotError, Series};
use std::path::{Path, PathBuf};

/// Draws what of a table is a curve over sizes, as PNG and SVG in `folder`:
/// `NAME_time` and `NAME_ratio`. A table of one size gives none. Returns the
/// files written.
///
/// # Errors
/// When a picture cannot be drawn or written.
pub fn draw(table: &Table, machine: &Machine, folder: &Path) -> Result<Vec<PathBuf>, PlotError> {
    let mut groups: Vec<&Group> = table.groups.iter().filter(|g| g.elements.is_some()).collect();
    groups.sort_by_key(|g| g.elements);
    let mut files = Vec::new();
    if groups.len() < 2 {
        return Ok(files);
    }
    let names = names(&groups);
    let unit = groups.iter().flat_map(|g| &g.lines).find(|l| l.sample.is_some());
    let time = |line: &Line| line.sample.map(|_| line.here).unwrap_or_default();
    let mut times = series(&groups, &names, "", time);
    times.extend(series(&groups, &names, " (paper)", |line| line.paper));
    let mut curves = Curves {
        title: table.title.clone(),
        subtitle: format!("{}, {}; paper: {}", machine.device, table.precision, table.paper),
        x_label: if table.name == "designs" { "rectangles" } else { "elements" }.to_owned(),
        y_label: format!("time ({})", unit.map_or("ms", |l| l.unit.as_str())),
        log_x: true,
        log_y: true,
        series: times,
    };
    files.extend(curves.draw().write_both(folder, &format!("{}_time", table.name))?);
    let compared: Vec<&str> = names.into_iter().filter(|n| is_compared(&groups, n)).collect();
    let mut ratios = series(&groups, &compared, "", |line| line.here_ratio);
    ratios.extend(series(&groups, &compared, " (paper)", |line| line.paper_ratio));
    curves.y_label = format!("time over {}'s", over(&groups));
    curves.log_y = false;
    curves.series = ratios;
    files.extend(curves.draw().write_both(folder, &format!("{}_ratio", table.name))?);
    Ok(files)
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
