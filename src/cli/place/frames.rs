//! `--frames`: pictures of cells and potential while they move, and all of them
//! as an animated GIF.

use crate::charge::{Charge, ChargeOptions};
use crate::cli::failure::Failure;
use crate::cpu::density::CpuDensity;
use crate::design::Design;
use crate::engine::MapKind;
use crate::grid::{BinGrid, Map};
use crate::place::{Placer, Record};
use crate::plot::{Animation, HeatMap, Picture, Scale, Strip};
use std::path::{Path, PathBuf};

/// Bins along the longer side of the picture of the cells: about its pixels.
const PIXELS: f64 = 640.0;
/// How long each picture stands in the animation.
const MILLISECONDS: u32 = 120;
/// Densities drawn alike from here on: at the start all cells are in one place.
const FULL: f64 = 1.5;

/// Pictures every so many iterations.
pub(super) struct Frames {
    folder: PathBuf,
    every: usize,
    name: String,
    /// The cells without fillers on bins of a pixel.
    density: CpuDensity,
    cells: Map<f32>,
    fine: BinGrid,
    movable: usize,
    potential: Map<f64>,
    grid: BinGrid,
    animation: Animation,
    last: Option<usize>,
}

impl Frames {
    pub(super) fn new(
        folder: &Path,
        every: usize,
        design: &Design,
        charge: &Charge,
    ) -> Result<Self, Failure> {
        let grid = charge.grid();
        let die = grid.die();
        let longer = die.width().max(die.height());
        let bins = |length: f64| ((PIXELS * length / longer).round() as usize).max(1);
        let fine = BinGrid::new(die, bins(die.width()), bins(die.height()))?;
        let options = ChargeOptions::default().target_density(charge.target_density());
        let without_fillers = Charge::from_design(design, fine, &options)?;
        Ok(Frames {
            folder: folder.to_owned(),
            every,
            name: design.name.clone(),
            density: CpuDensity::new(&without_fillers, 0.0),
            cells: Map::filled(fine.nx(), fine.ny(), 0.0),
            fine,
            movable: charge.movable(),
            potential: Map::filled(grid.nx(), grid.ny(), 0.0),
            grid,
            animation: Animation::new(MILLISECONDS)?,
            last: None,
        })
    }

    /// Draws the placement at hand when it is its turn.
    pub(super) fn show(&mut self, placer: &mut Placer<'_>) -> Result<(), Failure> {
        let record = *placer.last();
        let due = record.iteration.is_multiple_of(self.every) || placer.outcome().is_some();
        if !due || self.last == Some(record.iteration) {
            return Ok(());
        }
        self.last = Some(record.iteration);
        let (x, y) = placer.positions()?;
        placer.backend().read_map(MapKind::Potential, &mut self.potential)?;
        let round = |values: &[f64]| -> Vec<f32> {
            values[..self.movable].iter().map(|&v| v as f32).collect()
        };
        self.density.smoothed(&round(&x), &round(&y), &mut self.cells);
        let strip = Strip::of(&self.pictures(&record)?)?;
        strip.write(&self.folder.join(format!("frame_{:05}.png", record.iteration)))?;
        Ok(self.animation.push(&strip)?)
    }

    fn pictures(&self, record: &Record) -> Result<[Picture; 2], Failure> {
        let sample = &record.sample;
        let cells = HeatMap {
            title: format!("{}: cells, iteration {}", self.name, record.iteration),
            subtitle: format!("HPWL {:.4e}, overflow {:.4}", sample.hpwl, sample.density.overflow),
            label: "density (area / bin area)".to_owned(),
            range: Some((0.0, FULL)),
            ..HeatMap::new(&self.cells, self.fine, Scale::Sequential)
        };
        let potential = HeatMap {
            title: "potential".to_owned(),
            subtitle: "of cells and fillers".to_owned(),
            label: "φ (bin widths²)".to_owned(),
            ..HeatMap::new(&self.potential, self.grid, Scale::Diverging)
        };
        Ok([cells.draw()?, potential.draw()?])
    }

    /// Writes the animation.
    pub(super) fn finish(self) -> Result<(), Failure> {
        Ok(self.animation.write(&self.folder.join("placement.gif"))?)
    }
}
