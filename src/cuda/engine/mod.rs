//! The CUDA engine: density, solve and force on one device.
//!
//! A step is density → solve → force. The first one by a pipeline runs as plain
//! launches and is then captured in a graph; from then on a step is one launch
//! that allocates nothing and waits for nothing. Positions and forces cross to
//! the host when they are given and asked for, and never otherwise.
//!
//! Fence regions ([`Charge::set_fences`]) are computed together, each with maps of its own, one
//! region's after the other's.
//!
//! Bodies are worked on in an order made from positions (the kernels' *slots*). It is made anew, on
//! the device and outside the graph, when bodies outside their halos (they have left the tile that
//! they were ordered into, and the 4 bins around it) have cost about what an order costs (their
//! number, added up over the steps since, is a twelfth of all bodies), and after
//! [`MOST_STEPS_PER_ORDER`](crate::cuda::MOST_STEPS_PER_ORDER) steps in any case. The device counts
//! them in every step and the host reads the sum before the next without waiting, so that cells
//! that jump slow down one step, or as many as the host is ahead by. The order changes how long a
//! density takes, never a bit of what it is.

mod arrays;
mod resident;
mod stages;

use crate::charge::Charge;
use crate::cuda::bodies::{Arrangement, Bodies};
use crate::cuda::device::{CudaError, CudaReal, Gpu, Graph, Stopwatch, measure};
use crate::engine::{
    Choice, DensityStats, Descriptor, Done, Engine, EngineError, EngineOptions, Evaluation,
    GradientOptions, Layout, MapKind, Pipeline, StageTimes, StepTimes, Timed, add_background,
    check_bins, check_lengths, check_positions, check_positions_in, check_range, check_same_grid,
    check_weight,
};
use crate::grid::Map;
use arrays::Replays;
use stages::{Planned, Stages};
use std::sync::Arc;

/// Runs in a row that one sample of [`Timed::step_times`] averages over.
const RUNS_PER_SAMPLE: usize = 10;

/// [`Engine`] on an NVIDIA GPU.
///
/// Besides the trait it has an interface for a placer that lives on the device: it
/// writes positions with its own kernels, enqueues a step, and its next kernel
/// reads the forces, all without the host waiting once. How a kernel of another
/// library gets at the memory and the stream is in [`interop`](crate::cuda::interop).
///
/// ```no_run
/// # use placefield::{charge::Charge, cuda::{CudaEngine, DeviceSlice, DeviceSliceMut}, engine::{EngineError, EngineOptions}};
/// # fn place(
/// #     charge: Charge, x: &[f32], y: &[f32],
/// #     mut move_along: impl FnMut(DeviceSlice<'_, f32>, DeviceSliceMut<'_, f32>),
/// # ) -> Result<(), EngineError> {
/// use placefield::engine::Engine;
/// let mut engine = CudaEngine::<f32>::new(charge, &EngineOptions::default(), 0)?;
/// engine.evaluate(x, y)?;
/// for iteration in 1..=1000 {
///     // Kernels of the placer read forces and move bodies, x and y of each side by side.
///     let (forces, corners) = engine.force_and_positions_device()?;
///     move_along(forces, corners);
///     engine.enqueue_step()?;
///     if iteration % 50 == 0 {
///         let overflow = engine.read_evaluation()?.density.overflow; // waits
///     }
/// }
/// let corners: Vec<f32> = engine.gpu().download(engine.positions_device())?; // waits
/// # Ok(()) }
/// ```
pub struct CudaEngine<T: CudaReal> {
    // Graphs hold addresses of what `stages` owns, so they are dropped first.
    /// Steps, and solves alone, by [`Pipeline::ALL`].
    steps: [Option<Graph>; Pipeline::ALL.len()],
    solves: [Option<Graph>; Pipeline::ALL.len()],
    replays: Replays,
    stages: Stages<T>,
    watches: [Stopwatch; 2],
    gpu: Gpu,
    choice: Choice,
    done: Done,
    /// Of the density at hand, once it has been read.
    density: Option<DensityStats>,
    /// As last read.
    outside_halo: u64,
    /// By [`Layout`], whether the kernels for arrays of the caller's have run, so that nothing is
    /// left to be loaded during a capture: density and solve, force, force by region, and the
    /// energy's copy.
    ran: [[bool; 2]; 4],
    /// Whether a step is part of a graph of the caller's, whose runs nobody tells of.
    captured: bool,
    times: StageTimes,
}

impl<T: CudaReal> CudaEngine<T> {
    /// An engine for `charge` on device `ordinal`. Everything it will need is
    /// allocated here, but for pipelines other than [`Engine::choice`]'s, which
    /// are planned on first use. `options.threads` has no meaning here.
    ///
    /// # Errors
    /// [`EngineError::Device`] with a [`CudaError`] inside, which names what of CUDA is missing, or
    /// says that there is no such device; [`EngineError::OutOfMemory`] when device memory does not
    /// suffice; [`EngineError::Regions`] for a charge of more than 65535 fence regions; and when a
    /// size or starting position is beyond what `T` can hold. ([What to do
    /// then](crate::cuda#without-a-usable-gpu).)
    pub fn new(
        charge: impl Into<Arc<Charge>>,
        options: &EngineOptions,
        ordinal: usize,
    ) -> Result<Self, EngineError> {
        Self::on(&Gpu::open(ordinal)?, charge, options)
    }

    /// As [`CudaEngine::new`], on a device that is open already and whose stream
    /// it then shares.
    ///
    /// # Errors
    /// As [`CudaEngine::new`].
    pub fn on(
        gpu: &Gpu,
        charge: impl Into<Arc<Charge>>,
        options: &EngineOptions,
    ) -> Result<Self, EngineError> {
        let charge = charge.into();
        check_range::<T>(&charge)?;
        let (grid, regions) = (charge.grid(), charge.regions());
        let (stages, planned) = Gpu::side_by_side(
            &[gpu],
            || Stages::new(gpu, charge),
            || Planned::new(gpu, &grid, regions, options.pipeline),
        );
        let mut stages = stages?;
        let choice = stages.take(planned?);
        Ok(CudaEngine {
            steps: [const { None }; Pipeline::ALL.len()],
            solves: [const { None }; Pipeline::ALL.len()],
            replays: Replays::default(),
            stages,
            watches: [Stopwatch::new(gpu)?, Stopwatch::new(gpu)?],
            gpu: gpu.clone(),
            choice,
            done: Done::Nothing,
            density: None,
            outside_halo: 0,
            ran: [[false; 2]; 4],
            captured: false,
            times: StageTimes::default(),
        })
    }

    /// Loads what an engine runs on `gpu` but the solve, compiled at the same time where that was
    /// not done before: the first engine made there then finds it loaded.
    ///
    /// # Errors
    /// When kernels cannot be compiled or loaded.
    pub fn load_kernels(gpu: &Gpu) -> Result<(), CudaError> {
        gpu.prepare::<T>(&["order", "density", "force"].map(|unit| (unit, &[][..]))).map(drop)
    }

    /// Waits for the device where a graph of the caller's holds steps of this engine: nobody tells
    /// of its runs, which other work, and memory that is given back, must not meet.
    pub(crate) fn wait_for_graphs(&self) -> Result<(), CudaError> {
        if self.captured { self.gpu.wait_for_device() } else { Ok(()) }
    }

    /// The device that all work goes to.
    pub fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    /// The bodies on the device: [`Bodies::slot_of`] and [`Bodies::id_of`] tell
    /// slot order and caller order apart, [`Bodies::rearrange`] goes between them.
    pub fn bodies(&self) -> &Bodies<T> {
        &self.stages.bodies
    }

    /// Makes a new order of the bodies from the positions on the device, if one is
    /// due and they are in the caller's order, or none was made yet. Every step
    /// begins with this by itself; before the capture of one
    /// ([`CudaEngine::enqueue_stages`]) it is called so that no ordering is
    /// captured, and between the runs of a graph of the caller's that holds
    /// [`CudaEngine::enqueue_energy`], so that the runs stay fast.
    ///
    /// # Errors
    /// When a launch fails.
    pub fn order_if_due(&mut self) -> Result<(), CudaError> {
        if self.gpu.is_capturing() {
            return Ok(()); // every run of the graph would order
        }
        let bodies = &mut self.stages.bodies;
        if self.captured {
            bodies.age.stepped(); // there may have been a run
        }
        let ours = self.stages.arrangement == Arrangement::Caller || !bodies.is_ordered();
        if bodies.age.decide(bodies.len()) && ours {
            self.stages.order()?;
            self.outside_halo = 0;
            if !self.stages.elsewhere {
                // Forces are gathered where a density has seen the bodies, in its order.
                self.done = self.done.min(Done::Positions);
            }
        }
        Ok(())
    }

    /// What followed from the positions before is stale; those at hand are the engine's own.
    fn moved(&mut self) {
        self.done = Done::Positions;
        self.stages.elsewhere = false;
        self.density = None;
    }

    /// An error unless there are positions, and in the engine's own memory.
    fn require_own_positions(&self, stage: &'static str) -> Result<(), EngineError> {
        self.done.require(stage, Done::Positions)?;
        if self.stages.elsewhere {
            let needs = "positions were given to the engine itself";
            return Err(EngineError::OutOfOrder { stage, needs });
        }
        Ok(())
    }

    /// A step has been enqueued.
    fn stepped(&mut self) {
        self.stages.bodies.age.stepped();
        self.density = None;
        self.done = Done::Force;
    }

    /// Captures a step that has run before.
    fn capture_step(&mut self, pipeline: Pipeline) -> Result<(), CudaError> {
        let stages = &mut self.stages;
        // SAFETY: the graph is kept beside `stages`, whose buffers and plans
        // stay where they are until it is dropped, and is dropped before them;
        // all work of this engine goes to the one stream. A step begins with
        // everything on the device, so launches need nothing of the host.
        let graph = unsafe { Graph::capture(&self.gpu, || stages.step(pipeline)) }?;
        self.steps[pipeline as usize] = Some(graph);
        Ok(())
    }

    /// Captures a solve that has run before.
    fn capture_solve(&mut self, pipeline: Pipeline) -> Result<(), CudaError> {
        let stages = &mut self.stages;
        // SAFETY: as in `capture_step`.
        let graph = unsafe { Graph::capture(&self.gpu, || stages.solve(pipeline)) }?;
        self.solves[pipeline as usize] = Some(graph);
        Ok(())
    }

    fn read_density(&mut self) -> Result<DensityStats, CudaError> {
        if let Some(stats) = self.density.filter(|_| !self.captured) {
            return Ok(stats);
        }
        let report = self.stages.density.report()?;
        self.outside_halo = report.outside_halo;
        self.density = Some(report.stats);
        Ok(report.stats)
    }

    /// Enqueues `body` between the marks of a stopwatch.
    fn timed(
        &mut self,
        watch: usize,
        body: impl FnOnce(&mut Self) -> Result<(), CudaError>,
    ) -> Result<(), CudaError> {
        self.watches[watch].start()?;
        body(self)?;
        self.watches[watch].stop()
    }
}

impl<T: CudaReal> Engine<T> for CudaEngine<T> {
    fn charge(&self) -> &Charge {
        self.stages.bodies.charge()
    }

    /// Allocates device memory, and gives back what it had: graphs captured with steps of this
    /// engine are not to be run afterwards. Bodies are then in [`Arrangement::Caller`].
    fn set_charge(&mut self, charge: Arc<Charge>) -> Result<(), EngineError> {
        check_same_grid(self.charge(), &charge)?;
        check_range::<T>(&charge)?;
        // Not in a capture, where it would fail with a part of it done.
        self.gpu.enter()?.check_not_capturing()?;
        self.stages.set_charge(charge, self.choice.pipeline)?;
        // They hold addresses of what was before.
        self.steps = [const { None }; Pipeline::ALL.len()];
        self.solves = [const { None }; Pipeline::ALL.len()];
        self.replays = Replays::default();
        self.done = Done::Nothing;
        self.density = None;
        self.outside_halo = 0;
        // The kernel of the overflow may be another one.
        self.ran = [[false; 2]; 4];
        self.captured = false;
        Ok(())
    }

    fn descriptor(&self) -> Descriptor {
        Descriptor { engine: "cuda", device: self.gpu.info().name.clone() }
    }

    fn choice(&self) -> &Choice {
        &self.choice
    }

    fn path(&self, pipeline: Pipeline) -> &'static str {
        self.stages.path(pipeline).name()
    }

    fn set_positions(&mut self, x: &[T], y: &[T]) -> Result<(), EngineError> {
        check_lengths(
            self.stages.bodies.len(),
            &[("x positions", x.len()), ("y positions", y.len())],
        )?;
        check_positions(x, y)?;
        self.stages.receive(x, y)?;
        self.moved();
        Ok(())
    }

    fn set_positions_in(&mut self, layout: Layout, positions: &[T]) -> Result<(), EngineError> {
        let bodies = self.stages.bodies.len();
        check_positions_in(bodies, layout, positions)?;
        match layout {
            Layout::Halves => {
                let (x, y) = positions.split_at(bodies);
                self.stages.receive(x, y)?;
            }
            Layout::Pairs => self.stages.receive_pairs(positions)?,
        }
        self.moved();
        Ok(())
    }

    fn compute_density(&mut self) -> Result<DensityStats, EngineError> {
        self.done.require("the density", Done::Positions)?;
        // What fails half way leaves nothing of before.
        self.done = Done::Positions;
        self.density = None;
        self.timed(0, |engine| {
            engine.order_if_due()?;
            engine.stages.density()
        })?;
        let stats = self.read_density()?;
        self.times.density = self.watches[0].elapsed_ms()?;
        self.stages.bodies.age.stepped();
        self.done = Done::Density;
        Ok(stats)
    }

    fn exact_density(&mut self) -> Result<DensityStats, EngineError> {
        self.done.require("the exact density", Done::Positions)?;
        if self.done >= Done::Density {
            // The device keeps the statistics of one density, and these will
            // take their place. No new order here: forces are to be gathered
            // in the one that the density saw.
            self.read_density()?;
        } else {
            self.order_if_due()?;
        }
        self.stages.exact_density()?;
        let stats = self.stages.density.report()?.stats;
        if (self.captured || self.stages.regions() > 1) && self.done >= Done::Density {
            self.stages.density()?; // whose statistics are read from the device each time
        }
        Ok(stats)
    }

    fn solve(&mut self, pipeline: Pipeline) -> Result<f64, EngineError> {
        self.done.require("the field", Done::Density)?;
        self.stages.plan(pipeline)?;
        self.timed(0, |engine| engine.stages.forward(pipeline))?;
        self.timed(1, |engine| engine.stages.inverse(pipeline))?;
        let energy = self.stages.read_energy()?;
        self.times.forward = self.watches[0].elapsed_ms()?;
        self.times.inverse = self.watches[1].elapsed_ms()?;
        self.done = Done::Solve;
        Ok(energy)
    }

    fn compute_force(&mut self) -> Result<(), EngineError> {
        self.done.require("the force", Done::Solve)?;
        self.timed(0, |engine| engine.stages.force())?;
        self.times.force = self.watches[0].elapsed_ms()?;
        self.done = Done::Force;
        Ok(())
    }

    fn evaluate(&mut self, x: &[T], y: &[T]) -> Result<Evaluation, EngineError> {
        self.set_positions(x, y)?;
        self.evaluate_on_device()
    }

    fn read_regions(&mut self, out: &mut [Evaluation]) -> Result<(), EngineError> {
        self.done.require("the regions' evaluations", Done::Solve)?;
        check_lengths(self.stages.regions(), &[("evaluations of regions", out.len())])?;
        if let [only] = out {
            *only =
                Evaluation { density: self.read_density()?, energy: self.stages.read_energy()? };
            return Ok(());
        }
        self.stages.density.report_regions(|region, density| out[region].density = density)?;
        let energies = self.stages.read_energies()?;
        out.iter_mut().zip(energies).for_each(|(out, &energy)| out.energy = energy);
        Ok(())
    }

    fn read_map(&mut self, kind: MapKind, out: &mut Map<T>) -> Result<(), EngineError> {
        let map = self.stages.map(kind, self.done)?;
        check_bins(self.charge().stacked_bins(), out)?;
        self.gpu.read(map, out.as_mut_slice())?;
        let maps = out.as_mut_slice().chunks_mut(self.charge().grid().bins());
        let backgrounds = self.stages.density.backgrounds();
        maps.zip(backgrounds).for_each(|(map, &b)| add_background(kind, b, map));
        Ok(())
    }

    fn read_force(&mut self, fx: &mut [T], fy: &mut [T]) -> Result<(), EngineError> {
        self.done.require("the forces' read-back", Done::Force)?;
        check_lengths(self.stages.bodies.len(), &[("x forces", fx.len()), ("y forces", fy.len())])?;
        Ok(self.stages.send(fx, fy)?)
    }

    fn write_gradient(
        &mut self,
        gradient: &mut [T],
        options: &GradientOptions,
    ) -> Result<(), EngineError> {
        self.done.require("the gradient", Done::Force)?;
        check_lengths(2 * self.stages.bodies.len(), &[("gradient", gradient.len())])?;
        check_weight::<T>(options, self.stages.regions())?;
        Ok(self.stages.send_gradient(options, gradient)?)
    }
}

impl<T: CudaReal> Timed<T> for CudaEngine<T> {
    fn times(&self) -> StageTimes {
        self.times
    }

    fn step_times(
        &mut self,
        pipeline: Pipeline,
        repetitions: usize,
    ) -> Result<Option<StepTimes>, EngineError> {
        self.require_own_positions("a step")?;
        // In the order at hand: repeated at one place, bodies outside their halos would call for
        // another.
        if !self.stages.bodies.is_ordered() {
            self.order_if_due()?;
        }
        self.stages.plan(pipeline)?;
        let p = pipeline as usize;
        let gpu = self.gpu.clone();
        let median = |run: &mut dyn FnMut() -> Result<(), CudaError>| {
            measure(&gpu, repetitions.max(1), RUNS_PER_SAMPLE, run).map(|time| time.median / 1e3)
        };
        let step_plain = median(&mut || self.stages.step(pipeline))?;
        let solve_plain = median(&mut || self.stages.solve(pipeline))?;
        if self.steps[p].is_none() {
            self.capture_step(pipeline)?;
        }
        if self.solves[p].is_none() {
            self.capture_solve(pipeline)?;
        }
        let replay = |graph: &mut Option<Graph>| {
            median(&mut || graph.as_mut().map_or(Ok(()), Graph::launch))
        };
        let step_graph = replay(&mut self.steps[p])?;
        let solve_graph = replay(&mut self.solves[p])?;
        self.density = None;
        self.done = Done::Force;
        Ok(Some(StepTimes { step_graph, step_plain, solve_graph, solve_plain }))
    }
}

impl<T: CudaReal> Drop for CudaEngine<T> {
    fn drop(&mut self) {
        let _ = self.wait_for_graphs();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_engine_can_be_sent_to_another_thread() {
        fn sent<T: Send>() {}
        sent::<CudaEngine<f32>>();
        sent::<CudaEngine<f64>>();
    }
}
