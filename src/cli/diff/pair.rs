//! Two placements of a design: pictures, a page and a text.

use super::moves::{distances, draw_moves, range_name};
use super::{Change, DiffReport, Run};
use crate::Real;
use crate::cli::failure::Failure;
use crate::cli::picture_args::{DrawOptions, common_ends, name_of};
use crate::cli::pictures::explanation;
use crate::cli::report::difference::Difference;
use crate::cli::report::page::Page;
use crate::cli::results::{position, thousandths, write_farthest};
use crate::cli::terminal::stdout;
use crate::congestion::Convention;
use crate::design::{Design, Placement};
use crate::engine::MapKind;
use crate::evaluate::{Report, mean_moves};
use crate::flow::FarthestReport;
use crate::grid::{BinGrid, Map};
use crate::maps::{Kind, fixed, floorplan};
use crate::plot::{Bars, HeatMap, Picture, Scale};
use clap::ValueEnum;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A picture of two placements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(super) enum DiffPicture {
    DensityFrom,
    DensityTo,
    DensityDifference,
    Displacement,
    DisplacementHistogram,
}

/// Inputs of the pictures.
pub(super) struct Drawer<'a, T> {
    pub(super) report: &'a DiffReport,
    /// The reports of both placements.
    pub(super) reports: [&'a Report; 2],
    pub(super) design: &'a Design,
    pub(super) first: &'a Placement,
    pub(super) densities: [&'a Map<T>; 2],
    pub(super) difference: &'a Map<T>,
    pub(super) grid: BinGrid,
    pub(super) target: f64,
    pub(super) options: &'a DrawOptions<DiffPicture>,
}

impl<T: Real> Drawer<'_, T> {
    /// Draws the chosen pictures; returns their files.
    pub(super) fn draw(&self, folder: &Path) -> Result<Vec<PathBuf>, Failure> {
        let names = &self.options.pictures;
        let drawn = names.iter().map(|name| Ok((name_of(name), self.picture(*name)?)));
        self.options.write(&drawn.collect::<Result<Vec<_>, Failure>>()?, folder)
    }

    /// Returns the names of both placements' files.
    fn files(&self) -> [String; 2] {
        [0, 1].map(|side| {
            let name =
                Path::new(&self.report.placements[side].file).file_name().unwrap_or_default();
            name.to_string_lossy().into_owned()
        })
    }

    /// Returns the page; `overflow` has the maps of both placements.
    pub(super) fn page(&self, overflow: [&Map<f64>; 2]) -> Result<Page, Failure> {
        let moves = mean_moves(self.design, self.first, self.grid.die())?;
        let [x, y] = &moves.mean;
        let unit = self.design.length_unit();
        let change = self.report.change();
        let row = |moved: &FarthestReport| {
            let distance = thousandths(moved.distance, unit).to_string();
            let [from, to] = [moved.from, moved.to].map(|at| position(at, unit));
            vec![moved.cell.clone(), distance, from, to]
        };
        let page = Difference {
            design: self.design,
            grid: self.grid,
            target: self.target,
            reports: self.reports,
            names: self.files(),
            densities: self.densities,
            overflow,
            moves: [x, y],
            moves_title: match moves.by_end {
                true => "mean displacement of the cells now there",
                false => "mean displacement of the cells once there",
            },
            distances: distances(self.design, "", &change.displacement).draw(),
            farthest: change.farthest.iter().map(row).collect(),
            warnings: &self.report.warnings,
        };
        page.page()
    }

    fn picture(&self, name: DiffPicture) -> Result<Picture, Failure> {
        let die = self.grid.die();
        let (outlines, layers) = (&fixed(self.design, die), &floorplan(self.design, die));
        let files = self.files();
        let between = format!("{} less {}", files[1], files[0]);
        let design = &self.report.design.name;
        let range = self.options.range(&name);
        match name {
            DiffPicture::DensityFrom | DiffPicture::DensityTo => {
                let side = usize::from(name == DiffPicture::DensityTo);
                let maps = self.densities.map(|map| {
                    self.options.dress(HeatMap {
                        title: format!("{design}: density"),
                        subtitle: format!(
                            "{}{}",
                            files[side],
                            explanation(&self.reports[side].result.overflow)
                        ),
                        label: Kind::Engine(MapKind::Density).entry(Convention::default()).label(),
                        unit: self.design.length_unit(),
                        mark: Some((self.target, "T")),
                        outlines,
                        layers,
                        ..HeatMap::new(map, self.grid, Scale::Target)
                    })
                });
                // Both end at the same values, or they could not be compared.
                let common = common_ends(maps.iter().map(HeatMap::colors_end));
                Ok(HeatMap { range: range.or(common), ..maps[side].clone() }.draw()?)
            }
            DiffPicture::DensityDifference => {
                let map = self.options.dress(HeatMap {
                    title: format!("{design}: difference of the densities"),
                    subtitle: between,
                    label: "Δρ (area / bin area)".to_owned(),
                    unit: self.design.length_unit(),
                    outlines,
                    layers,
                    range,
                    ..HeatMap::new(self.difference, self.grid, Scale::Diverging)
                });
                Ok(map.draw()?)
            }
            DiffPicture::Displacement => {
                let dress = |map: HeatMap<'_, f64>| {
                    HeatMap { range, ..self.options.dress(map) }.draw().map_err(Failure::from)
                };
                draw_moves(self.design, self.first, die, dress)
            }
            DiffPicture::DisplacementHistogram => {
                let bars = distances(self.design, &between, &self.report.change().displacement);
                let bars = Bars {
                    title: self.options.title(bars.title),
                    subtitle: self.options.title(bars.subtitle),
                    size: self.options.size,
                    ..bars
                };
                Ok(bars.draw())
            }
        }
    }
}

impl DiffReport {
    /// Returns the difference of two placements.
    fn change(&self) -> &Change {
        self.placements[1].change.as_ref().expect("the second placement of a design has one")
    }
}

/// Prints both placements and their difference.
pub(super) fn print(report: &DiffReport) -> io::Result<()> {
    let mut out = stdout()?;
    let (unit, d, c) = (report.unit(), &report.design, report.change());
    let [a, b] = &report.placements[..] else { unreachable!("there are two placements") };
    write!(out, "{}: {} movable cells, {} nets", d.name, d.movable, d.nets)?;
    if let (Some(g), Some(o)) = (&report.grid, &report.options) {
        let [nx, ny] = g.bins;
        write!(
            out,
            ", {nx} x {ny} bins, {} ({}), {}, {}",
            o.engine, o.device, o.pipeline, o.precision
        )?;
    }
    writeln!(out)?;
    writeln!(out, "from       {}", a.file)?;
    writeln!(out, "to         {}", b.file)?;
    match a.result.hpwl.zip(b.result.hpwl) {
        Some((from, to)) => {
            let relative = b.hpwl_relative.map(|v| format!(", {:+.3} %", 100.0 * v));
            let (from, to, name) = (unit.of(from), unit.of(to), unit.name);
            let relative = relative.unwrap_or_default();
            writeln!(out, "HPWL       {from:.6e} -> {to:.6e} {name}{relative}")?;
        }
        None => writeln!(out, "HPWL       none: the design has no nets")?,
    }
    let largest = |run: &Run| run.density.map(|density| density.max_smoothed);
    let rows = [
        ("overflow  ", a.result.overflow_smoothed, b.result.overflow_smoothed),
        ("  exact   ", a.result.overflow_exact, b.result.overflow_exact),
        ("maximum   ", largest(a), largest(b)),
    ];
    for (what, from, to) in rows {
        if let (Some(a), Some(b)) = (from, to) {
            writeln!(out, "{what} {a:.6} -> {b:.6}")?;
        }
    }
    if let (Some(a), Some(b)) = (a.field, b.field) {
        writeln!(out, "energy     {:.6e} -> {:.6e} bin widths²", a.energy, b.energy)?;
    }
    writeln!(
        out,
        "density    differs by {:.6} at most, {:.6} on average (area / bin area)",
        c.density_largest, c.density_mean
    )?;
    let m = &c.displacement;
    writeln!(
        out,
        "moved      {} of {} cells, {} turned; |dx| + |dy| {:.6} on average, median {:.6}, \
         at most {:.6} {}",
        m.moved,
        m.cells,
        m.turned,
        unit.of(m.mean),
        unit.of(m.median),
        unit.of(m.largest),
        unit.name
    )?;
    for range in &m.histogram {
        writeln!(out, "  {:>10} {}", range_name(range, unit), range.cells)?;
    }
    write_farthest(&mut out, &c.farthest, unit)
}
