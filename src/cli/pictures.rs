//! The pictures of an evaluation and of a comparison.

use super::evaluation::Evaluated;
use super::failure::Failure;
use super::picture_args::{DrawOptions, FieldArgs, common_ends, name_of};
use crate::Real;
use crate::charge::ChargeOptions;
use crate::compare::Iteration;
use crate::congestion::Convention;
use crate::design::{Design, LengthUnit};
use crate::engine::MapKind;
use crate::evaluate::{ROUNDING, cells_and_overflow, force_maps, grid_over};
use crate::flow::Overflow;
use crate::grid::{BinGrid, Map, Rect};
use crate::maps::{
    Kind, charge_of_cells, fixed, floorplan, layers, magnitude, movable, of_congestion,
};
use crate::place::Record;
use crate::plot::{Arrows, Curves, HeatMap, Histogram, Layer, Look, Picture, Scale, Series};
use clap::ValueEnum;
use clap::builder::PossibleValue;
use std::path::{Path, PathBuf};

/// A time above this multiple of the slowest side's median is an outlier.
const MOST_OVER_MEDIAN: f64 = 5.0;

/// A picture of an evaluation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PictureName {
    Map(Kind),
    Histogram,
}

/// All pictures: that of every map, and the histogram.
const PICTURES: [PictureName; Kind::ALL.len() + 1] = {
    let mut all = [PictureName::Histogram; Kind::ALL.len() + 1];
    let mut k = 0;
    while k < Kind::ALL.len() {
        all[k] = PictureName::Map(Kind::ALL[k]);
        k += 1;
    }
    all
};

impl ValueEnum for PictureName {
    fn value_variants<'a>() -> &'a [Self] {
        &PICTURES
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(match self {
            PictureName::Map(kind) => kind.name(),
            PictureName::Histogram => "histogram",
        }))
    }
}

impl PictureName {
    /// Whether it shows congestion.
    pub(crate) fn is_congestion(self) -> bool {
        matches!(self, PictureName::Map(kind) if kind.is_congestion())
    }
}

/// Pixels along the longer side of the picture of the cells.
const CELL_PIXELS: f64 = 1280.0;
/// Largest number of cells that are drawn with outlines.
const MOST_OUTLINED: usize = 2_000;
/// Bars of the histogram.
const BARS: usize = 80;

/// A placement whose pictures go into a folder.
pub(crate) struct Subject<'a, T: Real> {
    pub(crate) design: &'a Design,
    pub(crate) evaluated: &'a Evaluated<T>,
    pub(crate) folder: &'a Path,
}

/// Draws evaluations, each into its folder; returns the files. Where there are several, the colours
/// of a picture end at the same values for all of them.
pub(crate) fn draw<T: Real>(
    subjects: &[Subject<'_, T>],
    options: &DrawOptions<PictureName>,
) -> Result<Vec<PathBuf>, Failure> {
    let drawers: Vec<Drawer<'_, T>> = subjects.iter().map(|s| Drawer::new(s, options)).collect();
    let sketches = |name: PictureName, range: Option<(f64, f64)>| {
        let sketches = drawers.iter().map(|drawer| drawer.picture(name, range));
        sketches.collect::<Result<Vec<Sketch>, Failure>>()
    };
    let mut pictures: Vec<Vec<(String, Picture)>> = vec![Vec::new(); subjects.len()];
    let is_there = |name: &&PictureName| {
        let of = |subject: &Subject<'_, T>| match (name, &subject.evaluated.congestion) {
            (PictureName::Map(Kind::Utilization { .. }), Some(congestion)) => {
                congestion.maps.capacity.is_some()
            }
            (_, congestion) => congestion.is_some(),
        };
        !name.is_congestion() || subjects.iter().all(of)
    };
    for &name in options.pictures.iter().filter(is_there) {
        let asked = options.range(&name);
        let mut drawn = sketches(name, asked)?;
        let common = common_ends(drawn.iter().map(|sketch| sketch.ends));
        if asked.is_none() && drawn.iter().any(|sketch| Some(sketch.ends) != common) {
            drawn = sketches(name, common)?;
        }
        for (pictures, sketch) in pictures.iter_mut().zip(drawn) {
            pictures.push((name_of(&name), sketch.picture));
        }
    }
    for (pictures, drawer) in pictures.iter_mut().zip(&drawers) {
        pictures.extend(drawer.cuts()?);
    }
    let written =
        subjects.iter().zip(&pictures).map(|(subject, own)| options.write(own, subject.folder));
    Ok(written.collect::<Result<Vec<_>, Failure>>()?.concat())
}

/// A picture, and the values at the ends of its colours.
struct Sketch {
    picture: Picture,
    ends: (f64, f64),
}

/// Data that the pictures of an evaluation share.
struct Drawer<'a, T: Real> {
    design: &'a Design,
    evaluated: &'a Evaluated<T>,
    options: &'a DrawOptions<PictureName>,
    /// Density of the cells at their exact sizes, and their overflow.
    shown: [Map<f64>; 2],
    outlines: Vec<Rect>,
    /// Blockages and fences.
    floorplan: [Layer; 2],
}

impl<'a, T: Real> Drawer<'a, T> {
    fn new(of: &Subject<'a, T>, options: &'a DrawOptions<PictureName>) -> Self {
        let charge = of.evaluated.engine.charge();
        let die = charge.grid().die();
        Drawer {
            design: of.design,
            evaluated: of.evaluated,
            options,
            shown: cells_and_overflow(charge),
            outlines: [fixed(of.design, die), movable(of.design, die)].concat(),
            floorplan: floorplan(of.design, die),
        }
    }

    fn picture(&self, name: PictureName, range: Option<(f64, f64)>) -> Result<Sketch, Failure> {
        let kind = match name {
            PictureName::Map(kind) => kind,
            PictureName::Histogram => return Ok(self.histogram(range)),
        };
        let charge = self.evaluated.engine.charge();
        let grid = charge.grid();
        let target = (charge.target_density(), "T");
        match kind {
            Kind::Engine(of) => {
                let map = self.map(kind, self.evaluated.map(of), grid);
                if of != MapKind::Density {
                    return self.finish(map, range);
                }
                let overflow = &self.evaluated.report.result.overflow;
                let subtitle = self.subtitle() + explanation(overflow);
                self.finish(HeatMap { subtitle, mark: Some(target), ..map }, range)
            }
            Kind::Cells => self.cells(range),
            Kind::Overflow => {
                let mut subtitle = self.subtitle();
                if self.shown[1].as_slice().iter().all(|v| *v == 0.0) {
                    subtitle += "; no bin is above the target";
                }
                let map = self.map(kind, &self.shown[1], grid);
                self.finish(HeatMap { subtitle, ..map }, range)
            }
            Kind::Field => {
                let [x, y] = [MapKind::FieldX, MapKind::FieldY].map(|of| self.evaluated.map(of));
                let strength = magnitude(x, y);
                let map = self.map(kind, &strength, grid);
                self.finish(HeatMap { arrows: Some(Arrows { x, y }), ..map }, range)
            }
            Kind::Force => {
                let force = [&self.evaluated.force[0][..], &self.evaluated.force[1]];
                let (coarse, [x, y]) = force_maps(self.design, charge, force)?;
                let strength = magnitude(&x, &y);
                let (nx, ny) = (coarse.nx(), coarse.ny());
                let map = HeatMap {
                    subtitle: format!("of the cells in each of {nx} × {ny} areas"),
                    absent: Some("no cells"),
                    arrows: Some(Arrows { x: &x, y: &y }),
                    ..self.map(kind, &strength, coarse)
                };
                self.finish(map, range)
            }
            Kind::Congestion(_) | Kind::Demand { .. } | Kind::Utilization { .. } => {
                self.congestion(kind, range)
            }
        }
    }

    /// Returns density and potential along the line of `--cut`.
    fn cuts(&self) -> Result<Vec<(String, Picture)>, Failure> {
        let (die, unit) = (self.evaluated.engine.charge().grid().die(), self.design.length_unit());
        let mut pictures = Vec::new();
        for of in [MapKind::Density, MapKind::Potential] {
            let (kind, map) = (Kind::Engine(of), self.evaluated.map(of));
            let curve = self.options.field.cut_of(&self.design.name, kind, map, &die, unit)?;
            pictures.extend(curve.map(|curve| {
                let (title, size) = (self.options.title(curve.title), self.options.size);
                (format!("cut_{}", of.name()), Curves { title, size, ..curve }.draw())
            }));
        }
        Ok(pictures)
    }

    /// Returns a map of congestion.
    fn congestion(&self, kind: Kind, range: Option<(f64, f64)>) -> Result<Sketch, Failure> {
        let none = || format!("no picture {} without congestion", kind.name());
        let congestion = self.evaluated.congestion.as_ref().ok_or_else(none)?;
        let demand = congestion.maps.demand.total();
        let values = of_congestion(kind, &congestion.maps, &demand).ok_or_else(none)?;
        let map = HeatMap {
            subtitle: congestion.report.to_string(),
            mark: matches!(kind, Kind::Utilization { .. }).then_some((1.0, "capacity")),
            ..self.map(kind, &values, self.evaluated.engine.charge().grid())
        };
        self.finish(map, range)
    }

    /// Returns a map as the catalogue describes it.
    fn map<'m, V: Real>(&self, kind: Kind, values: &'m Map<V>, grid: BinGrid) -> HeatMap<'m, V> {
        let of = &self.evaluated.congestion;
        let convention = of.as_ref().map_or_else(Default::default, |of| of.report.convention);
        let entry = kind.entry(convention);
        HeatMap {
            title: format!("{}: {}", self.design.name, entry.title),
            label: entry.label(),
            unit: self.design.length_unit(),
            contours: self.options.field.contours_of(kind),
            streamlines: self.options.field.streamlines,
            ..HeatMap::new(values, grid, entry.scale)
        }
    }

    fn subtitle(&self) -> String {
        let grid = self.evaluated.engine.charge().grid();
        let overflow = self.evaluated.report.overflow(4);
        format!("{} × {} bins, overflow {overflow}", grid.nx(), grid.ny())
    }

    /// Gives a map what all maps have.
    fn finish<V: Real>(
        &self,
        map: HeatMap<'_, V>,
        range: Option<(f64, f64)>,
    ) -> Result<Sketch, Failure> {
        let given = !map.subtitle.is_empty();
        let subtitle = if given { map.subtitle.clone() } else { self.subtitle() };
        let shown = match map.layers.is_empty() {
            true => HeatMap { outlines: &self.outlines, layers: &self.floorplan, ..map },
            false => map,
        };
        let map = self.options.dress(HeatMap { subtitle, range, ..shown });
        Ok(Sketch { picture: map.draw()?, ends: map.colors_end() })
    }

    /// Returns the share of each pixel that cells cover, whatever the bins.
    fn cells(&self, range: Option<(f64, f64)>) -> Result<Sketch, Failure> {
        let charge = self.evaluated.engine.charge();
        let fine = grid_over(charge.grid().die(), CELL_PIXELS)?;
        let charge = charge_of_cells(self.design, fine, &ChargeOptions::default())?;
        let [cells, _] = cells_and_overflow(&charge);
        let macros = self.design.movable_macros();
        let small = self.design.movable().filter(|node| macros.binary_search(node).is_err());
        let mut small: Vec<Rect> = small.map(|node| self.design.rect(node)).collect();
        if small.len() > MOST_OUTLINED {
            small.clear(); // they are in the map
        }
        let map = HeatMap {
            subtitle: format!("{} movable and fixed cells as they lie", self.design.nodes.len()),
            mark: Some((1.0, "full")),
            layers: &layers(self.design, fine.die()),
            cells: &small,
            ..self.map(Kind::Cells, &cells, fine)
        };
        self.finish(map, range)
    }

    /// Over the same values as the colours of a map of the cells' density have.
    fn histogram(&self, range: Option<(f64, f64)>) -> Sketch {
        let target = self.evaluated.engine.charge().target_density();
        let shading = self.options.shading;
        let look =
            Look { scale: Scale::Target, shading, mark: Some(target), range, ..Look::default() };
        let palette = look.palette(self.shown[0].as_slice());
        let hi = if range.is_some() { palette.hi } else { palette.hi.max(1.2 * target) };
        let (ends, log) = ((palette.lo, hi), palette.is_log());
        let values = self.shown[0].as_slice().iter().copied();
        let subtitle = format!("{}; cells at their exact sizes, without fillers", self.subtitle());
        let histogram = Histogram {
            title: self.options.title(format!("{}: bins by density", self.design.name)),
            subtitle: self.options.title(subtitle),
            x_label: "density (area / bin area)".to_owned(),
            y_label: "bins".to_owned(),
            mark: Some((target, "target density".to_owned())),
            size: self.options.size,
            ..Histogram::of(values, ends, log, BARS)
        };
        Sketch { picture: histogram.draw(), ends }
    }
}

/// Returns why smoothed density is above the target where no cells overlap, to follow a subtitle.
pub(crate) fn explanation(overflow: &Overflow) -> &'static str {
    match overflow.exact < ROUNDING && overflow.smoothed > ROUNDING {
        true => {
            "; red bins are smoothing: narrow cells count as √2 bins wide, no bin is above the \
                 target at the cells' exact sizes"
        }
        false => "",
    }
}

/// Draws the time per iteration of every side, the ratio, and overflow, as curves.
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
            ..Series::default()
        };
        side_names.iter().enumerate().map(curve).collect::<Vec<_>>()
    };
    let curves = |title: &str, y_label: &str, series| over_iterations(name, title, y_label, series);
    let overflow = Series {
        name: "smoothed overflow".to_owned(),
        points: iterations.iter().map(|i| (i.iteration as f64, i.density.overflow)).collect(),
        ..Series::default()
    };
    let mut files = Vec::new();
    let (times, left_out) = without_outliers(series(&|i, s| i.sides[s].solve));
    let solve = curves("solve per iteration", "time (ms)", times);
    Curves { subtitle: left_out, ..solve }.draw().save(folder, "compare_time", &mut files)?;
    let (ratios, left_out) = without_outliers(series(&|i, s| i.sides[s].ratio));
    let ratio = curves(
        &format!("solve time of {} over each side's", side_names[0]),
        "ratio of solve times",
        ratios,
    );
    Curves { subtitle: left_out, ..ratio }.draw().save(folder, "compare_ratio", &mut files)?;
    let overflow = curves("overflow while the cells spread", "overflow", vec![overflow]);
    overflow.draw().save(folder, "compare_overflow", &mut files)?;
    Ok(files)
}

/// Drops the few points of curves of times far above all others, when the machine was disturbed,
/// and returns a note of them: one of them would leave no height for the rest.
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

/// Draws HPWL and overflow, and the weights γ and λ, over the iterations of a placement.
pub(crate) fn draw_placement(
    design: &Design,
    records: &[Record],
    folder: &Path,
) -> Result<Vec<PathBuf>, Failure> {
    let unit = design.length_unit();
    let series = |name: &str, value: &dyn Fn(&Record) -> f64| Series {
        name: name.to_owned(),
        points: records.iter().map(|r| (r.iteration as f64, value(r))).collect(),
        ..Series::default()
    };
    let curves = |title: &str, y_label: &str, log_y, series| Curves {
        log_y,
        ..over_iterations(&design.name, title, y_label, series)
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
    let hpwl = vec![
        series("HPWL", &|r| unit.of(r.sample.hpwl)),
        series("weighted average", &|r| unit.of(r.sample.wirelength)),
    ];
    let length = format!("length ({})", unit.name);
    let mut files = Vec::new();
    for (file, picture) in [
        ("place", curves("wirelength and overflow", "share", false, both)),
        ("place_wirelength", curves("wirelength", &length, false, hpwl)),
        ("place_weights", curves("smoothing and density weight", "share", true, weights)),
    ] {
        picture.draw().save(folder, file, &mut files)?;
    }
    Ok(files)
}

/// Returns a chart of the design called `name` over iterations.
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

/// Draws a density that was given as an array, its potential and its field; returns the files.
pub(crate) fn draw_solve<T: Real>(
    name: &str,
    density: &Map<f64>,
    [potential, x, y]: &[Map<T>; 3],
    grid: &BinGrid,
    lines: &FieldArgs,
    folder: &Path,
) -> Result<Vec<PathBuf>, Failure> {
    fn dressed<'m, V: Real>(
        of: MapKind,
        name: &str,
        map: &'m Map<V>,
        grid: &BinGrid,
        lines: &FieldArgs,
    ) -> HeatMap<'m, V> {
        let entry = Kind::Engine(of).entry(Convention::default());
        HeatMap {
            title: format!("{name}: {}", entry.title),
            label: entry.label(),
            contours: lines.contours_of(Kind::Engine(of)),
            streamlines: lines.streamlines,
            ..HeatMap::new(map, *grid, entry.scale)
        }
    }
    let strength = magnitude(x, y);
    let entry = Kind::Field.entry(Convention::default());
    let field = HeatMap {
        title: format!("{name}: {}", entry.title),
        label: entry.label(),
        scale: entry.scale,
        arrows: Some(Arrows { x, y }),
        ..dressed(MapKind::FieldX, name, &strength, grid, lines)
    };
    let mut pictures = vec![
        ("density", dressed(MapKind::Density, name, density, grid, lines).draw()?),
        ("potential", dressed(MapKind::Potential, name, potential, grid, lines).draw()?),
        ("field", field.draw()?),
    ];
    let (die, unit) = (grid.die(), LengthUnit::default());
    let along = lines.cut_of(name, Kind::Engine(MapKind::Density), density, &die, unit)?;
    pictures.extend(along.map(|curve| ("cut_density", curve.draw())));
    let along = lines.cut_of(name, Kind::Engine(MapKind::Potential), potential, &die, unit)?;
    pictures.extend(along.map(|curve| ("cut_potential", curve.draw())));
    let mut files = Vec::new();
    pictures.iter().try_for_each(|(name, picture)| picture.save(folder, name, &mut files))?;
    Ok(files)
}

#[cfg(test)]
mod tests;
