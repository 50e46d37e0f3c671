//! The CUDA engine on several devices.

use super::Peers;
pub(in crate::cuda) use super::step::Stage;
use super::step::{Part, Step};
use crate::charge::Charge;
use crate::cuda::bodies::{Positions, RawStatistics};
use crate::cuda::device::{
    CudaError, CudaReal, DeviceSlice, DeviceSliceMut, DeviceVec, Graph, measure,
};
use crate::engine::{
    Choice, DensityStats, Descriptor, Done, Engine, EngineError, EngineOptions, Evaluation,
    GradientOptions, Layout, MapKind, Pipeline, StageTimes, StepTimes, Timed, add_background,
    check_bins, check_lengths, check_positions, check_positions_in, check_range, check_same_grid,
    check_weight,
};
use crate::grid::Map;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

/// Runs in a row that one sample of [`Timed::step_times`] averages over.
const RUNS_PER_SAMPLE: usize = 10;

/// [`Engine`] on several NVIDIA GPUs of one machine: density, solve and force of one design, each
/// device with its share of the bodies and of the bins.
///
/// Density, overflow and maximum have the bits of one device
/// ([`CudaEngine`](crate::cuda::CudaEngine)); the potential, the field and what follows from them
/// those of the solve by slabs ([`SlabSolver`](crate::cuda::SlabSolver)) on as many ranks, or with
/// [`EngineOptions::deterministic`] those of one device, too. The trait takes and returns arrays of
/// the host. Which device works on a body depends on where it stands along x, anew with every order
/// of the bodies; whose share it is in ([`PeersEngine::share`]), and where its force goes
/// therefore, stays. A placer whose arrays live on the devices moves the bodies of each share there
/// and enqueues steps:
///
/// ```no_run
/// # use placefield::{charge::Charge, cuda::{DeviceSlice, DeviceSliceMut, Peers, PeersEngine}, engine::{Engine, EngineError, EngineOptions}};
/// # use std::ops::Range;
/// # fn place(charge: Charge, x: &[f32], y: &[f32], mut move_along: impl FnMut([Range<usize>; 2], DeviceSlice<'_, f32>, DeviceSliceMut<'_, f32>)) -> Result<(), EngineError> {
/// let peers = Peers::open(&[0, 1])?;
/// let mut engine = PeersEngine::<f32>::new(&peers, charge, &EngineOptions::default())?;
/// engine.evaluate(x, y)?;
/// for _ in 0..100 {
///     for rank in 0..peers.count() {
///         // Kernels of the placer on peers.gpu(rank): x and y of each body of the share.
///         let share = engine.share(rank);
///         let (forces, corners) = engine.force_and_positions_device(rank)?;
///         move_along(share, forces, corners);
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
    /// Whether every rank has the positions of the bodies that it works on.
    spread: bool,
    /// Pairs of all bodies, on their way from or to the host.
    pairs: Vec<T>,
}

impl<T: CudaReal> PeersEngine<T> {
    /// An engine for `charge` on all ranks. `options.threads` has no meaning here. Where the grid
    /// has no solve by slabs on so many ranks, the first device solves alone, which
    /// [`Engine::choice`] says.
    ///
    /// # Errors
    /// As [`CudaEngine::new`](crate::cuda::CudaEngine::new); and when the devices cannot map each
    /// other's memory.
    pub fn new(
        peers: &Peers,
        charge: impl Into<Arc<Charge>>,
        options: &EngineOptions,
    ) -> Result<Self, EngineError> {
        let charge = charge.into();
        check_range::<T>(&charge)?;
        let turn = peers.in_turn();
        let (step, choice) = Step::new(peers, &charge, options)?;
        drop(turn);
        Ok(PeersEngine {
            graphs: [const { None }; Pipeline::ALL.len()],
            step,
            peers: peers.clone(),
            choice,
            done: Done::Nothing,
            density: None,
            times: StageTimes::default(),
            spread: false,
            pairs: Vec::new(),
        })
    }

    /// The ranks.
    pub fn peers(&self) -> &Peers {
        &self.peers
    }

    /// The bodies of a rank's share by their index in the charge: movable cells and fillers.
    ///
    /// # Panics
    /// When there is no such rank.
    pub fn share(&self, rank: usize) -> [Range<usize>; 2] {
        assert!(rank < self.peers.count(), "rank {rank} of {}", self.peers.count());
        self.step.blocks.share(rank, self.peers.count())
    }

    /// Forces on the bodies of a rank's share to be read and their lower-left corners to be
    /// written, x and y of a body side by side, in arrays of all bodies, by work on the stream of
    /// `peers.gpu(rank)`. What followed from the positions before is stale then. Corners of bodies
    /// in other shares are other ranks' to write, which do so without waiting for this one: work
    /// that writes them, too, leaves any mixture of both.
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
        self.moved();
        self.spread = false;
        let Part { corners, forces, .. } = &mut self.step.parts[rank];
        Ok((forces.as_view(), corners.as_view_mut()))
    }

    /// Enqueues density, solve and force for the positions on the devices, by the pipeline of
    /// [`Engine::choice`], and returns at once.
    ///
    /// # Errors
    /// When positions were never given, or a launch fails: ranks that were ahead of it miss the
    /// others then, and nothing of this engine is of use any more.
    pub fn enqueue_step(&mut self) -> Result<(), EngineError> {
        self.done.require("a step", Done::Positions)?;
        self.prepare()?;
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
            Some(graphs) => {
                self.peers.launch(graphs)?;
                self.stepped();
            }
            None => {
                // What a kernel's first launch loads is loaded by this one, so that nothing is left
                // to be loaded during capture.
                let stages = self.step.whole(pipeline);
                self.step.enqueue(stages.iter().copied())?;
                self.stepped();
                self.peers.synchronize()?;
                let _turn = self.peers.in_turn();
                // SAFETY: `step` is dropped after the graphs, and they go when it changes.
                self.graphs[pipeline as usize] = Some(unsafe { self.step.graphs(&stages) }?);
            }
        }
        Ok(())
    }

    /// Brings positions to the ranks that need them, and orders the bodies where that is due. Ranks
    /// have met then: one that was given more to do before does not keep others waiting in a graph.
    fn prepare(&mut self) -> Result<(), EngineError> {
        let spread = (!self.spread).then_some(Stage::Spread);
        self.step.enqueue(spread.into_iter().chain([Stage::Meet]))?;
        self.spread = true;
        Ok(self.step.order_if_due()?)
    }

    /// A step has been enqueued.
    fn stepped(&mut self) {
        self.step.parts.iter_mut().for_each(|part| part.bodies.age.stepped());
        self.density = None;
        self.done = Done::Force;
    }

    /// What followed from the positions before is stale.
    fn moved(&mut self) {
        self.done = Done::Positions;
        self.density = None;
    }

    /// How many orders of the bodies by tile have been made.
    pub(in crate::cuda) fn orders(&self) -> u32 {
        self.step.parts[0].bodies.orders()
    }

    /// Positions on all ranks, of which a placer of this crate writes those of the rank's share.
    pub(in crate::cuda) fn positions(&self, rank: usize) -> Positions {
        self.step.positions(rank)
    }

    /// A rank's positions, an array of all bodies, of which those hold that are in the share or
    /// needed.
    pub(in crate::cuda) fn positions_device(&self, rank: usize) -> &DeviceVec<T> {
        &self.step.parts[rank].corners
    }

    /// Forces on the bodies of a rank's share, in an array of all.
    pub(in crate::cuda) fn forces_device(&self, rank: usize) -> &DeviceVec<T> {
        &self.step.parts[rank].forces
    }

    /// A rank's part of the density's statistics, and the energy of the whole, which is rank 0's.
    pub(in crate::cuda) fn evaluation_device(
        &self,
        rank: usize,
    ) -> (&DeviceVec<u64>, &DeviceVec<f64>) {
        (self.step.parts[rank].density.statistics(), self.step.energy_device())
    }

    /// Density, solve and force, to be enqueued one after the other on all ranks; afterwards ranks
    /// are to meet.
    pub(in crate::cuda) fn stages(&self) -> [Vec<Stage>; 3] {
        let solve = self.step.solve(self.choice.pipeline).collect();
        [Step::<T>::density(false).collect(), solve, Step::<T>::force().collect()]
    }

    /// Enqueues one of [`PeersEngine::stages`] or a meeting on all ranks; not in a capture.
    pub(in crate::cuda) fn enqueue(&mut self, stage: Stage) -> Result<(), CudaError> {
        self.step.enqueue([stage])
    }

    /// The same on one of them; a meeting only in a capture.
    pub(in crate::cuda) fn enqueue_on(
        &mut self,
        rank: usize,
        stage: Stage,
    ) -> Result<(), CudaError> {
        self.step.enqueue_on(rank, stage)
    }

    /// Orders the bodies if that is due, where they stand by what is enqueued so far.
    pub(in crate::cuda) fn order_if_due(&mut self) -> Result<(), CudaError> {
        self.step.order_if_due()
    }

    /// Work of a placer of this crate has written positions to all ranks that need them.
    pub(in crate::cuda) fn positions_written(&mut self) {
        self.moved();
        self.spread = true;
    }

    /// The same, and a step for them has been enqueued.
    pub(in crate::cuda) fn stages_enqueued(&mut self) {
        self.spread = true;
        self.stepped();
    }

    /// What [`PeersEngine::read_evaluation`] reads, from numbers that have come to the host.
    pub(in crate::cuda) fn take_evaluation(
        &mut self,
        statistics: RawStatistics,
        energy: f64,
    ) -> Result<Evaluation, EngineError> {
        self.done.require("the evaluation's read-back", Done::Force)?;
        let density = self.step.parts[0].density.report_of(statistics).stats;
        self.density = Some(density);
        Ok(Evaluation { density, energy })
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

    /// Takes the position of every body, a pair each: every rank those of its share.
    fn take(&mut self, pairs: &[T]) -> Result<(), EngineError> {
        for rank in 0..self.peers.count() {
            for Range { start, end } in self.share(rank) {
                let to = self.step.parts[rank].corners.slice_mut(2 * start..2 * end);
                self.peers.gpu(rank).write(&pairs[2 * start..2 * end], to)?;
            }
        }
        self.moved();
        self.spread = false;
        Ok(())
    }

    /// Gives the force on every body, a pair each.
    fn give(&mut self, to: impl FnOnce(&[T])) -> Result<(), EngineError> {
        self.peers.synchronize()?;
        let mut pairs = std::mem::take(&mut self.pairs);
        pairs.resize(2 * self.step.charge.bodies(), T::of(0.0));
        for (rank, Part { forces, .. }) in self.step.parts.iter().enumerate() {
            for Range { start, end } in self.share(rank) {
                let to = &mut pairs[2 * start..2 * end];
                self.peers.gpu(rank).read(forces.slice(2 * start..2 * end), to)?;
            }
        }
        to(&pairs);
        self.pairs = pairs;
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
        let _turn = self.peers.in_turn();
        Ok(self.step.set_charge(charge)?)
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
        let mut pairs = std::mem::take(&mut self.pairs);
        pairs.resize(2 * x.len(), T::of(0.0));
        let all = pairs.par_chunks_exact_mut(2).with_min_len(1 << 12).zip(x.par_iter().zip(y));
        all.for_each(|(pair, (&x, &y))| pair.copy_from_slice(&[x, y]));
        let taken = self.take(&pairs);
        self.pairs = pairs;
        taken
    }

    fn set_positions_in(&mut self, layout: Layout, positions: &[T]) -> Result<(), EngineError> {
        let bodies = self.step.charge.bodies();
        check_positions_in(bodies, layout, positions)?;
        match layout {
            Layout::Halves => {
                let (x, y) = positions.split_at(bodies);
                self.set_positions(x, y)
            }
            Layout::Pairs => self.take(positions),
        }
    }

    fn compute_density(&mut self) -> Result<DensityStats, EngineError> {
        self.done.require("the density", Done::Positions)?;
        // What fails half way leaves nothing of before.
        self.moved();
        self.prepare()?;
        self.times.density = self.run(Step::<T>::density(false))?;
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
            self.prepare()?;
        }
        self.run(Step::<T>::density(true))?;
        let raw = self.step.statistics()?;
        Ok(self.step.parts[0].density.report_of(raw).stats)
    }

    fn solve(&mut self, pipeline: Pipeline) -> Result<f64, EngineError> {
        self.done.require("the field", Done::Density)?;
        self.step.plan(pipeline)?;
        let stages = self.step.solve(pipeline);
        self.done = Done::Density;
        self.times.forward = 0.0;
        self.times.inverse = self.run(stages)?;
        self.done = Done::Solve;
        Ok(self.step.energy()?)
    }

    fn compute_force(&mut self) -> Result<(), EngineError> {
        self.done.require("the force", Done::Solve)?;
        self.done = Done::Solve;
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
        self.give(|pairs| {
            let all = pairs.par_chunks_exact(2).with_min_len(1 << 12).zip(fx).zip(fy);
            all.for_each(|((pair, fx), fy)| (*fx, *fy) = (pair[0], pair[1]));
        })
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
        self.give(|pairs| {
            for (i, pair) in pairs.chunks_exact(2).enumerate() {
                for (at, force) in of(i).into_iter().zip(pair) {
                    let before = if add { gradient[at].wide() } else { 0.0 };
                    gradient[at] = T::of(before + weight.wide() * force.wide());
                }
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
        if !self.spread || !self.step.parts[0].bodies.is_ordered() {
            self.prepare()?;
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
        let step_graph = milliseconds(&mut || self.peers.launch(of_step))?;
        let solve_graph = milliseconds(&mut || self.peers.launch(&mut of_solve))?;
        self.peers.synchronize()?;
        self.density = None;
        self.done = Done::Force;
        Ok(Some(StepTimes { step_graph, step_plain, solve_graph, solve_plain }))
    }
}
