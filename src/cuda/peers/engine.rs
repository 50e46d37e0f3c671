//! The CUDA engine on several devices.

use super::Peers;
use super::step::{Part, Stage, Step};
use crate::charge::Charge;
use crate::cuda::device::{CudaReal, DeviceSlice, DeviceSliceMut, Graph, measure};
use crate::engine::{
    Choice, DensityStats, Descriptor, Done, Engine, EngineError, EngineOptions, Evaluation,
    GradientOptions, Layout, MapKind, Pipeline, StageTimes, StepTimes, Timed, add_background,
    check_bins, check_lengths, check_positions, check_positions_in, check_range, check_same_grid,
    check_weight,
};
use crate::grid::Map;
use rayon::prelude::*;
use std::sync::Arc;
use std::time::Instant;

/// Runs in a row that one sample of [`Timed::step_times`] averages over.
const RUNS_PER_SAMPLE: usize = 10;

/// [`Engine`] on several NVIDIA GPUs of one machine: density, solve and force of one design, each
/// device with its share of the bodies and of the bins.
///
/// Density, overflow and maximum have the bits of one device
/// ([`CudaEngine`](crate::cuda::CudaEngine)); the potential, the field and what follows from them those of
/// the solve by slabs ([`SlabSolver`](crate::cuda::SlabSolver)) on as many ranks. The trait takes and
/// returns arrays of the host. Bodies are divided by where they stand along x, anew whenever positions
/// from the host show that many have strayed; a placer whose arrays live on the devices asks which are
/// whose ([`PeersEngine::bodies`]), writes positions on each and enqueues steps:
///
/// ```no_run
/// # use placefield::{charge::Charge, cuda::{DeviceSlice, DeviceSliceMut, Peers, PeersEngine}, engine::{Engine, EngineError, EngineOptions}};
/// # fn place(charge: Charge, x: &[f32], y: &[f32], mut move_along: impl FnMut(usize, DeviceSlice<'_, f32>, DeviceSliceMut<'_, f32>)) -> Result<(), EngineError> {
/// let peers = Peers::open(&[0, 1])?;
/// let mut engine = PeersEngine::<f32>::new(&peers, charge, &EngineOptions::default())?;
/// engine.evaluate(x, y)?;
/// for _ in 0..100 {
///     for rank in 0..peers.count() {
///         // Kernels of the placer on peers.gpu(rank): x and y of each of engine.bodies(rank).
///         let (forces, corners) = engine.force_and_positions_device(rank)?;
///         move_along(rank, forces, corners);
///     }
///     engine.enqueue_step()?;
/// }
/// let overflow = engine.read_evaluation()?.density.overflow; // waits
/// # Ok(()) }
/// ```
pub struct PeersEngine<T: CudaReal> {
    // Graphs hold addresses of what `step` owns, so they are dropped first.
    graphs: [Option<Vec<Graph>>; Pipeline::ALL.len()],
    step: Step<T>,
    peers: Peers,
    choice: Choice,
    done: Done,
    density: Option<DensityStats>,
    times: StageTimes,
    /// Pairs of a rank, on their way from or to the host.
    pairs: Vec<T>,
}

impl<T: CudaReal> PeersEngine<T> {
    /// An engine for `charge` on all ranks. `options.threads` has no meaning here. Where the grid has no
    /// solve by slabs on so many ranks, the first device solves alone, which [`Engine::choice`] says.
    ///
    /// # Errors
    /// As [`CudaEngine::new`](crate::cuda::CudaEngine::new); and when the devices cannot map each other's
    /// memory.
    pub fn new(
        peers: &Peers,
        charge: impl Into<Arc<Charge>>,
        options: &EngineOptions,
    ) -> Result<Self, EngineError> {
        let charge = charge.into();
        check_range::<T>(&charge)?;
        let (x, _) = charge.initial_positions::<T>();
        let (step, choice) = Step::new(peers, &charge, &x, options.pipeline)?;
        Ok(PeersEngine {
            graphs: [const { None }; Pipeline::ALL.len()],
            step,
            peers: peers.clone(),
            choice,
            done: Done::Nothing,
            density: None,
            times: StageTimes::default(),
            pairs: Vec::new(),
        })
    }

    /// The ranks.
    pub fn peers(&self) -> &Peers {
        &self.peers
    }

    /// The bodies of a rank by their index in the charge, ascending: what its arrays on the device hold.
    /// Positions given by the host may change them.
    ///
    /// # Panics
    /// When there is no such rank.
    pub fn bodies(&self, rank: usize) -> &[u32] {
        &self.step.split.ids[rank]
    }

    /// Forces of a rank's bodies to be read and their lower-left corners to be written, x and y of a body
    /// side by side, by work on the stream of `peers.gpu(rank)`. What followed from the positions before
    /// is stale then.
    ///
    /// # Errors
    /// When positions were never given.
    ///
    /// # Panics
    /// When there is no such rank.
    pub fn force_and_positions_device(
        &mut self,
        rank: usize,
    ) -> Result<(DeviceSlice<'_, T>, DeviceSliceMut<'_, T>), EngineError> {
        self.done.require("the positions", Done::Positions)?;
        self.done = Done::Positions;
        self.density = None;
        let Part { corners, forces, .. } = &mut self.step.parts[rank];
        Ok((forces.as_view(), corners.as_view_mut()))
    }

    /// Divides the bodies anew by positions that the host knows, and takes them.
    ///
    /// # Errors
    /// As [`Engine::set_positions`], and when memory runs out.
    pub fn divide(&mut self, x: &[T], y: &[T]) -> Result<(), EngineError> {
        self.check(x, y)?;
        self.divide_at(x)?;
        self.take(|i| [x[i], y[i]])
    }

    /// Enqueues density, solve and force for the positions on the devices, by the pipeline of
    /// [`Engine::choice`], and returns at once.
    ///
    /// # Errors
    /// When positions were never given, or a launch fails: ranks that were ahead of it miss the others
    /// then, and nothing of this engine is of use any more.
    pub fn enqueue_step(&mut self) -> Result<(), EngineError> {
        self.done.require("a step", Done::Positions)?;
        self.step.order_if_due()?;
        self.enqueue_by(self.choice.pipeline)
    }

    /// Overflow, maximum and energy of the last step; waits for it.
    ///
    /// # Errors
    /// When no step followed the last positions, or a device failed.
    pub fn read_evaluation(&mut self) -> Result<Evaluation, EngineError> {
        self.done.require("the evaluation's read-back", Done::Force)?;
        Ok(Evaluation { density: self.read_density()?, energy: self.step.energy()? })
    }

    /// A step in the order at hand.
    fn enqueue_by(&mut self, pipeline: Pipeline) -> Result<(), EngineError> {
        match &mut self.graphs[pipeline as usize] {
            Some(graphs) => graphs.iter_mut().try_for_each(Graph::launch)?,
            none => {
                // What a kernel's first launch loads is loaded by this one, so that nothing is left to
                // be loaded during capture.
                let stages = self.step.whole(pipeline);
                self.step.enqueue(stages.iter().copied())?;
                self.peers.synchronize()?;
                // SAFETY: `step` is dropped after the graphs, and they go when it changes.
                *none = Some(unsafe { self.step.graphs(&stages) }?);
            }
        }
        self.step.parts.iter_mut().for_each(|part| part.bodies.age.stepped());
        self.density = None;
        self.done = Done::Force;
        Ok(())
    }

    fn check(&self, x: &[T], y: &[T]) -> Result<(), EngineError> {
        let bodies = self.step.charge.bodies();
        check_lengths(bodies, &[("x positions", x.len()), ("y positions", y.len())])?;
        check_positions(x, y)
    }

    fn forget(&mut self) {
        self.graphs = [const { None }; Pipeline::ALL.len()];
        self.done = Done::Nothing;
        self.density = None;
    }

    fn divide_at(&mut self, x: &[T]) -> Result<(), EngineError> {
        self.forget();
        Ok(self.step.divide(x)?)
    }

    /// Takes the position of every body.
    fn take(&mut self, position: impl Fn(usize) -> [T; 2] + Sync) -> Result<(), EngineError> {
        for (rank, Part { corners, .. }) in self.step.parts.iter_mut().enumerate() {
            let ids = &self.step.split.ids[rank];
            self.pairs.resize(2 * ids.len(), T::of(0.0));
            let pairs = self.pairs.par_chunks_exact_mut(2).with_min_len(1 << 12);
            pairs.zip(ids).for_each(|(pair, &i)| pair.copy_from_slice(&position(i as usize)));
            self.peers.gpu(rank).write(&self.pairs, corners)?;
        }
        self.done = Done::Positions;
        self.density = None;
        Ok(())
    }

    /// Gives the force on every body.
    fn give(&mut self, mut to: impl FnMut(usize, [T; 2])) -> Result<(), EngineError> {
        self.peers.synchronize()?;
        for (rank, Part { forces, .. }) in self.step.parts.iter().enumerate() {
            let ids = &self.step.split.ids[rank];
            self.pairs.resize(2 * ids.len(), T::of(0.0));
            self.peers.gpu(rank).read(forces, &mut self.pairs)?;
            for (pair, &i) in self.pairs.chunks_exact(2).zip(ids) {
                to(i as usize, [pair[0], pair[1]]);
            }
        }
        Ok(())
    }

    fn read_density(&mut self) -> Result<DensityStats, EngineError> {
        if let Some(stats) = self.density {
            return Ok(stats);
        }
        let raw = self.step.statistics()?;
        let stats = self.step.parts[0].density.report_of(raw).stats;
        self.density = Some(stats);
        Ok(stats)
    }

    /// Enqueues stages, waits for them and returns the milliseconds that took.
    fn run(&mut self, stages: impl IntoIterator<Item = Stage>) -> Result<f64, EngineError> {
        let start = Instant::now();
        self.step.enqueue(stages)?;
        self.peers.synchronize()?;
        Ok(start.elapsed().as_secs_f64() * 1e3)
    }
}

impl<T: CudaReal> Engine<T> for PeersEngine<T> {
    fn charge(&self) -> &Charge {
        &self.step.charge
    }

    fn set_charge(&mut self, charge: Arc<Charge>) -> Result<(), EngineError> {
        check_same_grid(&self.step.charge, &charge)?;
        check_range::<T>(&charge)?;
        self.forget();
        let (x, _) = charge.initial_positions::<T>();
        Ok(self.step.set_charge(charge, &x)?)
    }

    fn descriptor(&self) -> Descriptor {
        let names: Vec<&str> =
            (0..self.peers.count()).map(|rank| self.peers.gpu(rank).info().name.as_str()).collect();
        let device = match names.iter().all(|name| name == &names[0]) {
            true => format!("{} x {}", names.len(), names[0]),
            false => names.join(", "),
        };
        Descriptor { engine: "cuda", device }
    }

    fn choice(&self) -> &Choice {
        &self.choice
    }

    fn path(&self, pipeline: Pipeline) -> &'static str {
        self.step.path(pipeline).name()
    }

    fn set_positions(&mut self, x: &[T], y: &[T]) -> Result<(), EngineError> {
        self.check(x, y)?;
        if self.step.split.is_stale(&self.step.charge, x) {
            self.divide_at(x)?;
        }
        self.take(|i| [x[i], y[i]])
    }

    fn set_positions_in(&mut self, layout: Layout, positions: &[T]) -> Result<(), EngineError> {
        let bodies = self.step.charge.bodies();
        check_positions_in(bodies, layout, positions)?;
        match layout {
            Layout::Halves => {
                let (x, y) = positions.split_at(bodies);
                self.set_positions(x, y)
            }
            Layout::Pairs => {
                let axis = |k| positions.iter().skip(k).step_by(2).copied().collect();
                let [x, y]: [Vec<T>; 2] = [axis(0), axis(1)];
                self.set_positions(&x, &y)
            }
        }
    }

    fn compute_density(&mut self) -> Result<DensityStats, EngineError> {
        self.done.require("the density", Done::Positions)?;
        self.step.order_if_due()?;
        self.times.density = self.run(Step::<T>::density(false))?;
        self.density = None;
        let stats = self.read_density()?;
        self.step.parts.iter_mut().for_each(|part| part.bodies.age.stepped());
        self.done = Done::Density;
        Ok(stats)
    }

    fn exact_density(&mut self) -> Result<DensityStats, EngineError> {
        self.done.require("the exact density", Done::Positions)?;
        if self.done >= Done::Density {
            self.read_density()?; // before what follows takes its place on the devices
        } else {
            self.step.order_if_due()?;
        }
        self.run(Step::<T>::density(true))?;
        let raw = self.step.statistics()?;
        Ok(self.step.parts[0].density.report_of(raw).stats)
    }

    fn solve(&mut self, pipeline: Pipeline) -> Result<f64, EngineError> {
        self.done.require("the field", Done::Density)?;
        self.step.plan(pipeline)?;
        let stages = self.step.solve(pipeline);
        self.times.forward = 0.0;
        self.times.inverse = self.run(stages)?;
        self.done = Done::Solve;
        Ok(self.step.energy()?)
    }

    fn compute_force(&mut self) -> Result<(), EngineError> {
        self.done.require("the force", Done::Solve)?;
        self.times.force = self.run(Step::<T>::force())?;
        self.done = Done::Force;
        Ok(())
    }

    fn evaluate(&mut self, x: &[T], y: &[T]) -> Result<Evaluation, EngineError> {
        self.set_positions(x, y)?;
        self.enqueue_step()?;
        self.read_evaluation()
    }

    fn read_regions(&mut self, out: &mut [Evaluation]) -> Result<(), EngineError> {
        self.done.require("the regions' evaluations", Done::Solve)?;
        check_lengths(1, &[("evaluations of regions", out.len())])?;
        out[0] = Evaluation { density: self.read_density()?, energy: self.step.energy()? };
        Ok(())
    }

    fn read_map(&mut self, kind: MapKind, out: &mut Map<T>) -> Result<(), EngineError> {
        let [potential, field_x, field_y] = &self.step.fields;
        let (map, needs) = match kind {
            MapKind::Density => (&self.step.centered, Done::Density),
            MapKind::Potential => (potential, Done::Solve),
            MapKind::FieldX => (field_x, Done::Solve),
            MapKind::FieldY => (field_y, Done::Solve),
        };
        self.done.require(kind.name(), needs)?;
        let grid = self.step.charge.grid();
        check_bins([grid.nx(), grid.ny()], out)?;
        self.peers.synchronize()?;
        self.peers.gpu(0).read(map.of(0), out.as_mut_slice())?;
        add_background(kind, self.step.parts[0].density.backgrounds()[0], out.as_mut_slice());
        Ok(())
    }

    fn read_force(&mut self, fx: &mut [T], fy: &mut [T]) -> Result<(), EngineError> {
        self.done.require("the forces' read-back", Done::Force)?;
        let bodies = self.step.charge.bodies();
        check_lengths(bodies, &[("x forces", fx.len()), ("y forces", fy.len())])?;
        self.give(|i, [x, y]| (fx[i], fy[i]) = (x, y))
    }

    fn write_gradient(
        &mut self,
        gradient: &mut [T],
        options: &GradientOptions,
    ) -> Result<(), EngineError> {
        self.done.require("the gradient", Done::Force)?;
        let bodies = self.step.charge.bodies();
        check_lengths(2 * bodies, &[("gradient", gradient.len())])?;
        check_weight::<T>(options, 1)?;
        let weight = T::of(options.first_weight());
        let add = options.accumulate;
        let of = |i| match options.layout {
            Layout::Halves => [i, bodies + i],
            Layout::Pairs => [2 * i, 2 * i + 1],
        };
        self.give(|i, force| {
            for (at, force) in of(i).into_iter().zip(force) {
                let before = if add { gradient[at].wide() } else { 0.0 };
                gradient[at] = T::of(before + weight.wide() * force.wide());
            }
        })
    }
}

impl<T: CudaReal> Timed<T> for PeersEngine<T> {
    fn times(&self) -> StageTimes {
        self.times
    }

    fn step_times(
        &mut self,
        pipeline: Pipeline,
        repetitions: usize,
    ) -> Result<Option<StepTimes>, EngineError> {
        self.done.require("a step", Done::Positions)?;
        // Repeated at one place, bodies outside their halos would call for another order.
        if !self.step.parts[0].bodies.is_ordered() {
            self.step.order_if_due()?;
        }
        self.step.plan(pipeline)?;
        self.enqueue_by(pipeline)?;
        self.peers.synchronize()?;
        let gpu = self.peers.gpu(0).clone();
        let repetitions = repetitions.max(1);
        let milliseconds = |run: &mut dyn FnMut() -> Result<(), _>| {
            measure(&gpu, repetitions, RUNS_PER_SAMPLE, run).map(|time| time.median / 1e3)
        };
        let (step, solve) = (self.step.whole(pipeline), self.step.solve(pipeline));
        let solve: Vec<Stage> = solve.collect();
        let step_plain = milliseconds(&mut || self.step.enqueue(step.iter().copied()))?;
        let solve_plain = milliseconds(&mut || self.step.enqueue(solve.iter().copied()))?;
        self.peers.synchronize()?;
        // SAFETY: they are launched here alone.
        let mut of_solve = unsafe { self.step.graphs(&solve) }?;
        let of_step = self.graphs[pipeline as usize].as_mut().expect("the step before made them");
        let step_graph = milliseconds(&mut || of_step.iter_mut().try_for_each(Graph::launch))?;
        let solve_graph = milliseconds(&mut || of_solve.iter_mut().try_for_each(Graph::launch))?;
        self.peers.synchronize()?;
        self.density = None;
        self.done = Done::Force;
        Ok(Some(StepTimes { step_graph, step_plain, solve_graph, solve_plain }))
    }
}
