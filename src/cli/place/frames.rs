//! `--frames` and the frames of a page: pictures of the moving cells. A separate thread
//! draws and encodes them from copies of the positions. The placement waits for it at
//! the end, and if it is behind by more than a few frames.

use crate::charge::{Charge, ChargeOptions};
use crate::cli::failure::Failure;
use crate::cli::report::run::Film as PageFilm;
use crate::cli::report::{MOST_BINS, WIDTH, path};
use crate::congestion::Convention;
use crate::cpu::density::CpuDensity;
use crate::design::{Design, LengthUnit};
use crate::engine::MapKind;
use crate::evaluate::{grid_over, over_die};
use crate::flow::Between;
use crate::grid::{BinGrid, Map, Rect};
use crate::maps::{Kind, charge_of_cells, fixed, floorplan};
use crate::place::Record;
use crate::plot::{Animation, HeatMap, Indexed, Layer, Picture, PlotError, Scale, Size};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

/// How long the animation shows each picture.
const MILLISECONDS: u16 = 120;
/// Densities from here on have the same colour: at the start all cells are in one place.
const FULL: f64 = 1.5;
/// Frames that may wait to be drawn.
const WAITING: usize = 4;
/// Width of the picture of a map, pixels.
const PIXELS: u32 = 680;
/// Most frames of a page.
const MOST_FRAMES: usize = 50;

/// Requested outputs of the frames.
#[derive(Clone, Debug, Default)]
pub(crate) struct FramesWanted {
    /// Pictures and an animation in this folder.
    pub(crate) folder: Option<PathBuf>,
    /// Frames for a page.
    pub(crate) page: bool,
}

/// Frames of a run. If dropped before its end, it leaves the frames so far and no animation.
pub(crate) struct Frames {
    shots: SyncSender<Shot>,
    worker: JoinHandle<Result<Option<PageFilm>, PlotError>>,
    /// Iterations from one frame to the next.
    every: usize,
    /// The movable nodes.
    movable: Vec<usize>,
    /// The origin of a shot's positions.
    origin: [f64; 2],
    /// φ of the last shot, if pictures are drawn.
    potential: Option<Map<f64>>,
    last: Option<usize>,
}

/// The data of a frame.
struct Shot {
    iteration: usize,
    /// A line of numbers.
    said: String,
    /// Lower-left corners of the movable cells from the origin, layout units.
    x: Vec<f32>,
    y: Vec<f32>,
    /// φ, if pictures are drawn.
    potential: Option<Map<f64>>,
}

impl Frames {
    /// Starts the thread, which gets every `every`-th iteration; `None` if nothing is requested.
    pub(crate) fn start(
        wanted: &FramesWanted,
        every: usize,
        design: &Design,
        charge: &Charge,
    ) -> Result<Option<Frames>, Failure> {
        if wanted.folder.is_none() && !wanted.page {
            return Ok(None);
        }
        let worker = Worker::new(wanted, design, charge)?;
        let (shots, taken) = sync_channel(WAITING);
        let builder = std::thread::Builder::new().name("frames".to_owned());
        let worker = builder
            .spawn(move || worker.run(&taken))
            .map_err(|e| format!("the thread that draws frames cannot be started: {e}"))?;
        let grid = charge.grid();
        let potential = wanted.folder.as_ref().map(|_| Map::filled(grid.nx(), grid.ny(), 0.0));
        let movable = design.movable_nodes();
        let origin = charge.origin();
        Ok(Some(Frames { shots, worker, every, movable, origin, potential, last: None }))
    }

    /// Makes a frame of the present placement if one is due. `before` iterations belong to earlier
    /// descents.
    pub(super) fn show(
        &mut self,
        between: &mut Between<'_, '_>,
        before: usize,
    ) -> Result<(), Failure> {
        let Record { iteration, sample, .. } = *between.last();
        let iteration = before + iteration;
        let due = self.is_due(iteration) || between.placer().outcome().is_some();
        if !due || self.last == Some(iteration) {
            return Ok(());
        }
        if let Some(potential) = &mut self.potential {
            let backend = between.placer().backend();
            let [nx, ny] = backend.charge().stacked_bins();
            let mut stacked = Map::filled(nx, ny, 0.0);
            backend.read_map(MapKind::Potential, &mut stacked)?;
            over_die(backend.charge(), MapKind::Potential, &mut stacked);
            *potential = stacked;
        }
        let said = format!("HPWL {:.4e}, overflow {:.4}", sample.hpwl, sample.density.overflow);
        let at = &between.design()?.placement;
        let of_cells = |column: &[f64]| self.movable.iter().map(|&node| column[node]).collect();
        let (x, y): (Vec<f64>, Vec<f64>) = (of_cells(&at.x), of_cells(&at.y));
        self.take(iteration, said, &x, &y);
        Ok(())
    }

    /// Makes a frame of these positions of the movable cells; more bodies may follow them.
    pub(crate) fn take(&mut self, iteration: usize, said: String, x: &[f64], y: &[f64]) {
        let round = |values: &[f64], origin: f64| {
            values[..self.movable.len()].iter().map(|&v| (v - origin) as f32).collect()
        };
        let potential = self.potential.clone();
        let (x, y) = (round(x, self.origin[0]), round(y, self.origin[1]));
        let shot = Shot { iteration, said, x, y, potential };
        self.last = Some(iteration);
        // The thread may have ended with an error, which `finish` returns.
        let _ = self.shots.send(shot);
    }

    /// Whether a frame is due in an iteration.
    pub(crate) fn is_due(&self, iteration: usize) -> bool {
        iteration.is_multiple_of(self.every)
    }

    /// Waits for the frames, writes the animation and returns the page's frames.
    pub(crate) fn finish(self) -> Result<Option<PageFilm>, Failure> {
        drop(self.shots);
        let done = self.worker.join().map_err(|_| "the thread that draws frames has panicked")?;
        Ok(done?)
    }
}

/// State of the thread that draws frames.
struct Worker {
    name: String,
    unit: LengthUnit,
    /// The cells without fillers on bins of one pixel.
    density: CpuDensity,
    cells: Map<f32>,
    /// Outlines of fixed nodes; movable macros, as bodies with their sizes.
    fixed: Vec<Rect>,
    floorplan: [Layer; 2],
    macros: Vec<(usize, f64, f64)>,
    grid: BinGrid,
    origin: [f64; 2],
    /// Density above which cells have another hue, and its name.
    mark: (f64, &'static str),
    /// The folder of the pictures.
    pictures: Option<(PathBuf, Animation)>,
    page: Option<PageFilm>,
    /// The page gets one of this many shots.
    every: usize,
    shots: usize,
}

impl Worker {
    fn new(wanted: &FramesWanted, design: &Design, charge: &Charge) -> Result<Worker, Failure> {
        let die = charge.grid().die();
        let fine = grid_over(die, MOST_BINS as f64)?;
        let options = ChargeOptions::default().target_density(charge.target_density());
        let mut without_fillers = charge_of_cells(design, fine, &options)?;
        without_fillers.set_origin(charge.origin())?;
        // A bin inside a cell is full without overlap.
        let is_inside = charge.movable_area() > fine.bin_area() * charge.movable() as f64;
        let mark = if is_inside { (1.0, "full") } else { (charge.target_density(), "T") };
        let nodes = design.movable_nodes();
        let movable = design.movable_macros();
        let body = |node: &usize| {
            let (w, h) = design.size(*node);
            (nodes.partition_point(|n| n < node), w, h)
        };
        Ok(Worker {
            name: design.name.clone(),
            unit: design.length_unit(),
            density: CpuDensity::new(&without_fillers, 0.0),
            cells: Map::filled(fine.nx(), fine.ny(), 0.0),
            macros: movable.iter().map(body).collect(),
            fixed: fixed(design, die),
            floorplan: floorplan(design, die),
            grid: fine,
            origin: charge.origin(),
            mark,
            pictures: wanted.folder.clone().map(|f| (f, Animation::new(MILLISECONDS))),
            page: wanted.page.then(|| PageFilm {
                full: FULL,
                mark: mark.0,
                drawing: [WIDTH, WIDTH * die.height() / die.width()],
                ..PageFilm::default()
            }),
            every: 1,
            shots: 0,
        })
    }

    fn run(mut self, shots: &Receiver<Shot>) -> Result<Option<PageFilm>, PlotError> {
        for shot in shots {
            self.make(shot)?;
        }
        if let Some((folder, animation)) = self.pictures {
            animation.write(&folder.join("placement.gif"))?;
        }
        Ok(self.page)
    }

    fn make(&mut self, shot: Shot) -> Result<(), PlotError> {
        self.density.smoothed(&shot.x, &shot.y, &mut self.cells);
        let [left, bottom] = self.origin;
        let macros = self.macros.iter().map(|&(body, w, h)| {
            Rect::at(left + f64::from(shot.x[body]), bottom + f64::from(shot.y[body]), w, h)
        });
        let outlines: Vec<Rect> = self.fixed.iter().copied().chain(macros).collect();
        let density = Kind::Engine(MapKind::Density).entry(Convention::default());
        let cells = HeatMap {
            title: format!("{}: cells", self.name),
            subtitle: format!("iteration {}, {}", shot.iteration, shot.said),
            label: density.label(),
            range: Some((0.0, FULL)),
            mark: Some(self.mark),
            outlines: &outlines,
            layers: &self.floorplan,
            note: false,
            unit: self.unit,
            size: Size::pixels(PIXELS),
            ..HeatMap::new(&self.cells, self.grid, density.scale)
        };
        if let (Some((folder, animation)), Some(potential)) = (&mut self.pictures, &shot.potential)
        {
            // φ changes by orders of magnitude over the iterations.
            let largest = potential.as_slice().iter().fold(0.0, |m: f64, v| m.max(v.abs()));
            let unit = if largest > 0.0 { largest } else { 1.0 };
            let share = potential.map(|v| v / unit);
            let grid = BinGrid::new(self.grid.die(), share.nx(), share.ny());
            let potential = HeatMap {
                title: "potential of cells and fillers".to_owned(),
                subtitle: format!("largest |φ| {largest:.3e} bin widths²"),
                label: "φ / largest |φ|".to_owned(),
                range: Some((-1.0, 1.0)),
                outlines: &outlines,
                layers: &self.floorplan,
                note: false,
                unit: self.unit,
                size: Size::pixels(PIXELS),
                ..HeatMap::new(&share, grid.expect("of the die"), Scale::Diverging)
            };
            let picture = Picture::beside(&[cells.draw()?, potential.draw()?]);
            let image = picture.indexed()?;
            image.write(&folder.join(format!("frame_{:05}.png", shot.iteration)))?;
            animation.add(image)?;
        }
        let image = self.page.is_some().then(|| cells.image());
        if let Some(image) = image {
            self.add_to_page(shot.iteration, image, &outlines);
        }
        Ok(())
    }

    /// Keeps one of `every` frames. If there are too many, doubles `every` and drops half of the
    /// frames.
    fn add_to_page(&mut self, iteration: usize, image: Indexed, outlines: &[Rect]) {
        let Some(page) = &mut self.page else { return };
        let number = self.shots;
        self.shots += 1;
        if !number.is_multiple_of(self.every) {
            return;
        }
        page.frames.push((iteration, image));
        if page.outlines.is_empty() || !self.macros.is_empty() {
            let floorplan = self.floorplan.iter().flat_map(|layer| &layer.rects).copied();
            let all: Vec<Rect> = outlines.iter().copied().chain(floorplan).collect();
            page.outlines.push(path(&all, &self.grid.die()));
        }
        if page.frames.len() > MOST_FRAMES {
            let mut kept = (0..).map(|k: usize| k.is_multiple_of(2));
            page.frames.retain(|_| kept.next().unwrap_or(true));
            if page.outlines.len() > 1 {
                let mut kept = (0..).map(|k: usize| k.is_multiple_of(2));
                page.outlines.retain(|_| kept.next().unwrap_or(true));
            }
            self.every *= 2;
        }
    }
}
