//! The pictures of an evaluation and of a comparison.

use super::compare::Iteration;
use super::evaluation::Evaluated;
use super::failure::Failure;
use crate::Real;
use crate::design::{Design, NodeKind};
use crate::grid::{BinGrid, Map, Rect};
use crate::place::Record;
use crate::plot::{Arrows, Curves, HeatMap, Picture, Scale, Series};
use std::path::{Path, PathBuf};

/// Most macros outlined; beyond that the outlines hide the map.
const MOST_OUTLINES: usize = 5_000;
/// A time this many times the slowest side's median is not the side's doing.
const MOST_OVER_MEDIAN: f64 = 5.0;
/// Bins along the longer side of the force picture: coarse enough that every
/// bin averages over many cells.
const FORCE_BINS: usize = 64;

/// Draws density, potential, field components, field and force as PNG and SVG
/// into `folder`; returns the files.
pub(crate) fn draw<T: Real>(
    design: &Design,
    evaluated: &Evaluated<T>,
    folder: &Path,
) -> Result<Vec<PathBuf>, Failure> {
    let grid = evaluated.engine.charge().grid();
    let [density, potential, field_x, field_y] = &evaluated.maps;
    let outlines = outlines(design, grid.die());
    let name = &evaluated.report.design.name;
    let values = &evaluated.report.density;
    let subtitle = format!(
        "{} × {} bins, overflow {:.4} smoothed, {:.4} exact",
        grid.nx(),
        grid.ny(),
        values.overflow_smoothed,
        values.overflow_exact
    );
    let mut files = Vec::new();
    let mut map = |file: &str, what: &str, label: &str, values: &Map<T>, scale: Scale| {
        let heat_map = HeatMap {
            title: format!("{name}: {what}"),
            subtitle: subtitle.clone(),
            label: label.to_owned(),
            outlines: &outlines,
            ..HeatMap::new(values, grid, scale)
        };
        save(&heat_map.draw()?, folder, file, &mut files)
    };
    map("density", "density", "density ρ (area / bin area)", density, Scale::Sequential)?;
    map("potential", "potential", "φ (bin widths²)", potential, Scale::Diverging)?;
    map("field_x", "field along x", "Ex (bin widths)", field_x, Scale::Diverging)?;
    map("field_y", "field along y", "Ey (bin widths)", field_y, Scale::Diverging)?;

    let magnitude = magnitude(field_x, field_y);
    let field = HeatMap {
        title: format!("{name}: field"),
        subtitle: subtitle.clone(),
        label: "|E| (bin widths)".to_owned(),
        outlines: &outlines,
        arrows: Some(Arrows { x: field_x, y: field_y }),
        ..HeatMap::new(&magnitude, grid, Scale::Magnitude)
    };
    save(&field.draw()?, folder, "field", &mut files)?;

    let (coarse, [fx, fy]) = force_maps(evaluated)?;
    let magnitude = self::magnitude(&fx, &fy);
    let force = HeatMap {
        title: format!("{name}: force on movable cells"),
        subtitle: format!(
            "of the cells with their centre in each of {} × {} squares; black: none",
            coarse.nx(),
            coarse.ny()
        ),
        label: "|Σ force| / Σ cell area (bin widths)".to_owned(),
        outlines: &outlines,
        arrows: Some(Arrows { x: &fx, y: &fy }),
        ..HeatMap::new(&magnitude, coarse, Scale::Magnitude)
    };
    save(&force.draw()?, folder, "force", &mut files)?;
    Ok(files)
}

/// Time per iteration of every side, the ratio, and overflow, as curves.
pub(crate) fn draw_comparison(
    name: &str,
    iterations: &[Iteration],
    folder: &Path,
) -> Result<Vec<PathBuf>, Failure> {
    let Some(first) = iterations.first() else { return Ok(Vec::new()) };
    let side_names: Vec<String> =
        first.sides.iter().map(|s| format!("{} {}", s.engine, s.pipeline)).collect();
    let series = |value: &dyn Fn(&Iteration, usize) -> f64| {
        let curve = |(s, side): (usize, &String)| Series {
            name: side.clone(),
            points: iterations.iter().map(|i| (i.iteration as f64, value(i, s))).collect(),
        };
        side_names.iter().enumerate().map(curve).collect::<Vec<_>>()
    };
    let curves = |title: &str, y_label: &str, series| over_iterations(name, title, y_label, series);
    let overflow = Series {
        name: "smoothed overflow".to_owned(),
        points: iterations.iter().map(|i| (i.iteration as f64, i.density.overflow)).collect(),
    };
    let mut files = Vec::new();
    let (times, left_out) = without_outliers(series(&|i, s| i.sides[s].solve));
    let solve = curves("solve per iteration", "time (ms)", times);
    save(&Curves { subtitle: left_out, ..solve }.draw(), folder, "compare_time", &mut files)?;
    let (ratios, left_out) = without_outliers(series(&|i, s| i.sides[s].ratio));
    let ratio = curves(
        &format!("solve time of {} over each side's", side_names[0]),
        "ratio of solve times",
        ratios,
    );
    save(&Curves { subtitle: left_out, ..ratio }.draw(), folder, "compare_ratio", &mut files)?;
    let overflow = curves("overflow while the cells spread", "overflow", vec![overflow]);
    save(&overflow.draw(), folder, "compare_overflow", &mut files)?;
    Ok(files)
}

/// Curves of times without the few points far above all others, when the machine
/// did something else, and a line that says so: one of them leaves no height for the rest.
fn without_outliers(mut series: Vec<Series>) -> (Vec<Series>, String) {
    let median = |series: &Series| {
        let mut values: Vec<f64> = series.points.iter().map(|p| p.1).collect();
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied().unwrap_or(0.0)
    };
    let limit = MOST_OVER_MEDIAN * series.iter().map(median).fold(0.0, f64::max);
    let all: usize = series.iter().map(|s| s.points.len()).sum();
    let above = series.iter_mut().flat_map(|s| &mut s.points).filter(|p| p.1 > limit);
    let (mut count, mut highest) = (0, 0.0);
    for point in above {
        (count, highest) = (count + 1, f64::max(highest, point.1));
        point.1 = f64::NAN;
    }
    let left_out = match count {
        0 => String::new(),
        _ => format!("not drawn: {count} of {all} points, above {limit:.3} and up to {highest:.3}"),
    };
    (series, left_out)
}

/// HPWL and overflow, and the weights γ and λ, over the iterations of a placement.
pub(crate) fn draw_placement(
    name: &str,
    records: &[Record],
    folder: &Path,
) -> Result<Vec<PathBuf>, Failure> {
    let series = |name: &str, value: &dyn Fn(&Record) -> f64| Series {
        name: name.to_owned(),
        points: records.iter().map(|r| (r.iteration as f64, value(r))).collect(),
    };
    let curves = |title: &str, y_label: &str, log_y, series| Curves {
        log_y,
        ..over_iterations(name, title, y_label, series)
    };
    let largest = |value: &dyn Fn(&Record) -> f64| records.iter().map(value).fold(0.0, f64::max);
    let (hpwl, overflow) = (|r: &Record| r.sample.hpwl, |r: &Record| r.sample.density.overflow);
    let (most, widest) = (largest(&hpwl), largest(&|r| r.gamma));
    let heaviest = largest(&|r| r.lambda);
    let both = vec![
        series("HPWL / largest HPWL", &|r| r.sample.hpwl / most),
        series("smoothed overflow", &overflow),
    ];
    let weights = vec![
        series("γ / largest γ", &|r| r.gamma / widest),
        series("λ / largest λ", &|r| r.lambda / heaviest),
    ];
    let hpwl = vec![series("HPWL", &hpwl), series("weighted average", &|r| r.sample.wirelength)];
    let mut files = Vec::new();
    for (file, picture) in [
        ("place", curves("wirelength and overflow", "share", false, both)),
        ("place_wirelength", curves("wirelength", "length (layout units)", false, hpwl)),
        ("place_weights", curves("smoothing and density weight", "share", true, weights)),
    ] {
        save(&picture.draw(), folder, file, &mut files)?;
    }
    Ok(files)
}

/// A chart of the design called `name` over iterations.
pub(crate) fn over_iterations(
    name: &str,
    title: &str,
    y_label: &str,
    series: Vec<Series>,
) -> Curves {
    Curves {
        title: format!("{name}: {title}"),
        x_label: "iteration".to_owned(),
        y_label: y_label.to_owned(),
        series,
        ..Curves::default()
    }
}

pub(crate) fn save(
    picture: &Picture,
    folder: &Path,
    file: &str,
    files: &mut Vec<PathBuf>,
) -> Result<(), Failure> {
    files.extend(picture.write_both(folder, file)?);
    Ok(())
}

/// Fixed nodes that block area inside the die, and movable macros, largest first.
fn outlines(design: &Design, die: Rect) -> Vec<Rect> {
    let two_rows = 2.0 * design.row_height().unwrap_or(0.0);
    let is_macro = |i: &usize| match design.nodes.kind[*i] {
        NodeKind::Fixed => true,
        NodeKind::Movable => design.size(*i).1 > two_rows,
        NodeKind::FixedNoImage => false,
    };
    let all = (0..design.nodes.len()).filter(is_macro).map(|i| design.rect(i));
    let mut inside: Vec<Rect> = all.filter(|r| r.overlap(&die) > 0.0).collect();
    inside.sort_by(|a, b| b.area().total_cmp(&a.area()));
    inside.truncate(MOST_OUTLINES);
    inside
}

fn magnitude<T: Real>(x: &Map<T>, y: &Map<T>) -> Map<T> {
    let pairs = x.as_slice().iter().zip(y.as_slice());
    Map::from_vec(x.nx(), x.ny(), pairs.map(|(&x, &y)| (x * x + y * y).sqrt()).collect())
}

/// Force per cell area on a coarse grid: Σ force over Σ area of the movable
/// cells whose centre lies in the bin.
fn force_maps<T: Real>(evaluated: &Evaluated<T>) -> Result<(BinGrid, [Map<f64>; 2]), Failure> {
    let charge = evaluated.engine.charge();
    let die = charge.grid().die();
    let longer = die.width().max(die.height());
    let bins = |length: f64| ((FORCE_BINS as f64 * length / longer).round() as usize).max(1);
    let grid = BinGrid::new(die, bins(die.width()), bins(die.height()))?;
    let zero = Map::filled(grid.nx(), grid.ny(), 0.0);
    let (mut fx, mut fy, mut area) = (zero.clone(), zero.clone(), zero);
    for i in 0..charge.movable() {
        let (w, h) = (charge.width()[i], charge.height()[i]);
        let column = (charge.initial_x()[i] + w / 2.0 - die.xl) / grid.bin_x();
        let row = (charge.initial_y()[i] + h / 2.0 - die.yl) / grid.bin_y();
        if column < 0.0 || row < 0.0 || column >= grid.nx() as f64 || row >= grid.ny() as f64 {
            continue;
        }
        let bin = (column as usize, row as usize);
        fx[bin] += evaluated.force[0][i].wide();
        fy[bin] += evaluated.force[1][i].wide();
        area[bin] += w * h;
    }
    for map in [&mut fx, &mut fy] {
        for (f, &a) in map.as_mut_slice().iter_mut().zip(area.as_slice()) {
            *f = if a > 0.0 { *f / a } else { 0.0 };
        }
    }
    Ok((grid, [fx, fy]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_far_above_all_medians_are_left_out_and_counted() {
        let series = |values: [f64; 5]| Series {
            name: "side".to_owned(),
            points: (0..5).map(f64::from).zip(values).collect(),
        };
        let even = vec![series([1.0, 1.0, 2.0, 1.0, 1.0]), series([9.0, 7.0, 8.0, 8.0, 40.0])];
        assert_eq!(without_outliers(even.clone()), (even, String::new()));
        let odd = vec![series([1.0, 1.0, 90.0, 1.0, 1.0]), series([2.0, 2.0, 2.0, 11.0, 9.0])];
        let (drawn, left_out) = without_outliers(odd);
        assert_eq!(left_out, "not drawn: 2 of 10 points, above 10.000 and up to 90.000");
        let heights = |s: usize| drawn[s].points.iter().map(|p| p.1).collect::<Vec<_>>();
        assert!(heights(0)[2].is_nan() && heights(1)[3].is_nan());
        assert_eq!(heights(1)[4], 9.0);
    }
}
