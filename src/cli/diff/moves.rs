//! Pictures of how far cells moved.

use crate::cli::failure::Failure;
use crate::cli::report::part::Chart;
use crate::design::{Design, LengthUnit, Placement};
use crate::displacement::{Displacement, Range};
use crate::evaluate::mean_moves;
use crate::grid::Rect;
use crate::maps::{fixed, floorplan};
use crate::plot::{Arrows, BarSeries, Bars, HeatMap, Picture, Scale, Size};
use std::path::{Path, PathBuf};

/// Returns a range of distances in words.
pub(super) fn range_name(range: &Range, unit: LengthUnit) -> String {
    match range {
        Range { to: 0.0, .. } => "0".to_owned(),
        Range { from, to, .. } if to.is_infinite() => format!("≥ {}", short(unit.of(*from))),
        Range { to, .. } => format!("< {}", short(unit.of(*to))),
    }
}

/// Returns a number in few digits.
fn short(value: f64) -> String {
    if (0.01..1e5).contains(&value) {
        format!("{}", (value * 1e3).round() / 1e3)
    } else {
        format!("{value:.1e}")
    }
}

/// Draws where cells moved from `first` on, as `draw` does it.
pub(super) fn draw_moves(
    design: &Design,
    first: &Placement,
    die: Rect,
    draw: impl FnOnce(HeatMap<'_, f64>) -> Result<Picture, Failure>,
) -> Result<Picture, Failure> {
    let moves = mean_moves(design, first, die)?;
    let [x, y] = &moves.mean;
    let unit = design.length_unit();
    let far = x.zip(y, |x, y| unit.of(x.hypot(*y)));
    draw(HeatMap {
        title: format!("{}: mean displacement", design.name),
        subtitle: format!(
            "of the cells {} in each of {} × {} areas",
            if moves.by_end { "that are now" } else { "that were" },
            moves.grid.nx(),
            moves.grid.ny()
        ),
        label: format!("|mean displacement| ({})", unit.name),
        unit,
        absent: Some("no cells"),
        arrows: Some(Arrows { x, y }),
        outlines: &fixed(design, die),
        layers: &floorplan(design, die),
        ..HeatMap::new(&far, moves.grid, Scale::Magnitude)
    })
}

/// Returns a histogram of displacements. With an empty `between` it is for a page: without titles, and
/// as large as the page's charts.
pub(super) fn distances(design: &Design, between: &str, displacement: &Displacement) -> Bars {
    let (ranges, unit) = (&displacement.histogram, design.length_unit());
    let (title, size) = match between.is_empty() {
        true => (String::new(), Chart::size()),
        false => (format!("{}: how far cells moved", design.name), Size::default()),
    };
    Bars {
        title,
        size,
        subtitle: between.to_owned(),
        x_label: format!("|Δx| + |Δy| of the centre ({})", unit.name),
        y_label: "cells".to_owned(),
        categories: ranges.iter().map(|range| range_name(range, unit)).collect(),
        // In a large design few cells move far, and readers look for these.
        log_y: displacement.cells > 100,
        series: vec![BarSeries {
            values: ranges.iter().map(|r| Some(r.cells as f64)).collect(),
            ..BarSeries::default()
        }],
        ..Bars::default()
    }
}

/// Returns two pictures: where and how far cells moved from `first` on. With an empty
/// `between` they are for a page.
pub(in crate::cli) fn moves_drawn(
    between: &str,
    design: &Design,
    first: &Placement,
    displacement: &Displacement,
) -> Result<[Picture; 2], Failure> {
    let die = design.die().ok_or("the design has no rows, so it has no die")?;
    let draw = |mut map: HeatMap<'_, f64>| {
        if between.is_empty() {
            map.title.clear();
            map.size = Chart::size();
        }
        map.draw().map_err(Failure::from)
    };
    let moves = draw_moves(design, first, die, draw)?;
    Ok([moves, distances(design, between, displacement).draw()])
}

/// Writes [`moves_drawn`].
pub(in crate::cli) fn write_moves(
    between: &str,
    design: &Design,
    first: &Placement,
    displacement: &Displacement,
    folder: &Path,
    files: &mut Vec<PathBuf>,
) -> Result<(), Failure> {
    let [moves, far] = moves_drawn(between, design, first, displacement)?;
    moves.save(folder, "displacement", files)?;
    Ok(far.save(folder, "displacement_histogram", files)?)
}
