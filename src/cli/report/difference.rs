//! The page of two placements: their maps under one cursor, and their differences.

use super::assemble::{command, floorplan, machine};
use super::maps::{MOST_BINS, Maps, Panel, PanelOf};
use super::page::Page;
use super::part::{Image, Part, Table};
use crate::Real;
use crate::cli::failure::Failure;
use crate::cli::picture_args::common_ends;
use crate::cli::pictures::explanation;
use crate::congestion::Convention;
use crate::design::Design;
use crate::engine::MapKind;
use crate::evaluate::Report;
use crate::grid::sample::shrink;
use crate::grid::{BinGrid, Map};
use crate::maps::Kind;
use crate::plot::{Look, Picture, Scale, Shading};
use crate::warning::Warning;

/// Values below this are rounding errors of sums of areas; none of the quantities is so small.
const LEAST_VALUE: f64 = 1e-9;

/// The inputs of the page.
pub(crate) struct Difference<'a, T> {
    /// The design, with its cells at the positions of the second placement.
    pub(crate) design: &'a Design,
    pub(crate) grid: BinGrid,
    pub(crate) target: f64,
    /// The reports of the first placement and the second.
    pub(crate) reports: [&'a Report; 2],
    pub(crate) names: [String; 2],
    pub(crate) densities: [&'a Map<T>; 2],
    /// Area above the target, cells at their exact sizes.
    pub(crate) overflow: [&'a Map<f64>; 2],
    /// Mean displacement by square along x and y, NaN where there are no cells.
    pub(crate) moves: [&'a Map<f64>; 2],
    pub(crate) moves_title: &'static str,
    /// How far cells moved, in bars.
    pub(crate) distances: Picture,
    /// Every cell that moved far: name, distance, from and to.
    pub(crate) farthest: Vec<Vec<String>>,
    pub(crate) warnings: &'a [Warning],
}

impl<T: Real> Difference<'_, T> {
    /// Returns the page.
    pub(crate) fn page(&self) -> Result<Page, Failure> {
        let [before, after] = &self.names;
        let [a, _] = self.reports;
        Ok(Page {
            title: self.design.name.clone(),
            subtitle: format!("{after} beside {before}"),
            warnings: self.warnings.to_vec(),
            maps: Some(self.maps()?),
            parts: vec![Part {
                title: "What is between them".to_owned(),
                tables: vec![self.numbers(), self.cells()],
                pictures: vec![Image::of("How far cells moved".to_owned(), &self.distances)?],
            }],
            floorplan: floorplan(self.design, &[]),
            made: vec![command(), machine(a.options.engine, &a.options.device)],
            ..Page::default()
        })
    }

    fn maps(&self) -> Result<Maps, Failure> {
        let densities = self.densities.map(|map| map.map(|v| v.widen()));
        let of = |kind: Kind| PanelOf::from(kind.entry(Convention::default()));
        let density = of(Kind::Engine(MapKind::Density));
        let target = PanelOf { mark: Some(self.target), ..density };
        let above = of(Kind::Overflow);
        // Both maps of a pair have the same range of values; otherwise they could not be compared.
        let common = |of: PanelOf, maps: [&Map<f64>; 2]| {
            let ends = maps.map(|map| {
                let shown = shrink(map, MOST_BINS, MOST_BINS);
                let (scale, mark) = (of.scale, of.mark);
                let look = Look { scale, mark, shading: Shading::Clipped, ..Look::default() };
                let palette = look.palette(shown.as_slice());
                (palette.lo, palette.hi)
            });
            PanelOf { range: common_ends(ends.into_iter()), ..of }
        };
        let target = common(target, densities.each_ref());
        let above = common(above, self.overflow);
        let [from, to] = &densities;
        let unit = self.design.length_unit();
        let moves = self.moves.map(|map| map.map(|v| unit.of(*v)));
        let between = to.zip(from, |to, from| to - from);
        let die = self.grid.die();
        let panels = vec![
            Panel::new(
                PanelOf { id: "density_from", title: "density before", ..target },
                &[from],
                &die,
            )?,
            Panel::new(
                PanelOf { id: "density_to", title: "density after", ..target },
                &[to],
                &die,
            )?,
            Panel::new(
                PanelOf {
                    id: "density_difference",
                    title: "difference of the densities",
                    scale: Scale::Diverging,
                    ..density
                },
                &[&between],
                &die,
            )?,
            Panel::new(
                PanelOf { id: "overflow_from", title: "overflow before", ..above },
                &[self.overflow[0]],
                &die,
            )?,
            Panel::new(
                PanelOf { id: "overflow_to", title: "overflow after", ..above },
                &[self.overflow[1]],
                &die,
            )?,
            Panel::new(
                PanelOf {
                    id: "displacement",
                    title: self.moves_title,
                    unit: self.design.length_unit().name,
                    scale: Scale::Magnitude,
                    absent: Some("no cells"),
                    ..density
                },
                &moves.each_ref(),
                &die,
            )?,
        ];
        let mut maps = Maps::over(self.design, self.grid, panels);
        maps.note += " Nodes are where the second placement has them.";
        for (side, report) in ["before", "after"].into_iter().zip(self.reports) {
            let explained = explanation(&report.result.overflow);
            if !explained.is_empty() {
                maps.note += &format!(" The density {side} is smoothed{explained}.");
            }
        }
        Ok(maps)
    }

    fn numbers(&self) -> Table {
        let [a, b] = self.reports;
        let unit = self.design.length_unit();
        let row = |what: &str, of: &dyn Fn(&Report) -> Option<f64>| {
            // Rounding errors do not count as values.
            let is_value = |v: &f64| v.abs() > LEAST_VALUE;
            let written = |value: Option<f64>| match value {
                Some(value) if (1e-4..1e5).contains(&value.abs()) => format!("{value:.6}"),
                Some(value) if !is_value(&value) => "0".to_owned(),
                Some(value) => format!("{value:.6e}"),
                None => "none".to_owned(),
            };
            let change = match of(a).zip(of(b)) {
                Some((a, b)) if !is_value(&(b - a)) => "no change".to_owned(),
                Some((a, b)) if is_value(&a) => format!("{:+.3} %", 100.0 * (b - a) / a),
                _ => "none".to_owned(),
            };
            vec![what.to_owned(), written(of(a)), written(of(b)), change]
        };
        Table {
            caption: "Both placements in numbers".to_owned(),
            header: ["", &self.names[0], &self.names[1], "change"].map(str::to_owned).to_vec(),
            words: 1,
            rows: vec![
                row(&format!("HPWL, {}", unit.name), &|r| Some(unit.of(r.result.hpwl?))),
                row("Overflow, smoothed", &|r| Some(r.result.overflow.smoothed)),
                row("Overflow, exact", &|r| Some(r.result.overflow.exact)),
                row("Largest density, smoothed, area / bin area", &|r| {
                    Some(r.density.max_smoothed)
                }),
                row("Largest density, exact, area / bin area", &|r| Some(r.density.max_exact)),
                row("Energy, bin widths²", &|r| Some(r.field.energy)),
                row("Largest |Ex|, bin widths", &|r| Some(r.field.field_x_max)),
                row("Largest |Ey|, bin widths", &|r| Some(r.field.field_y_max)),
            ],
            notes: Vec::new(),
        }
    }

    fn cells(&self) -> Table {
        Table {
            caption: format!("Cells that moved farthest, {}", self.design.length_unit().name),
            header: ["Cell", "|Δx| + |Δy|", "From", "To"].map(str::to_owned).to_vec(),
            words: 1,
            rows: self.farthest.clone(),
            notes: Vec::new(),
        }
    }
}
