//! The CUDA engine: density, solve and force on one device or several.
//!
//! A step is density → solve → force. The first step of a pipeline runs as plain launches, and the
//! second is captured in a graph. Every later step is one launch that neither allocates nor waits.
//! Positions cross from the host only when the caller sets them, and forces only when it reads
//! them.
//!
//! Fence regions ([`Charge::set_fences`]) are computed together. Each region has its own maps,
//! stored one region after the other.
//!
//! Bodies are processed in an order computed from positions (the kernels' *slots*). The order is
//! renewed on the device, outside the graph. A body is outside its halo if it has left the tile
//! that it was ordered into and the 4 bins around that tile. Such bodies slow a density down. Their
//! number is added up over the steps since the last order. At a twelfth of all bodies they have
//! cost about as much as an order costs, and the order is renewed. It is also renewed after
//! [`MOST_STEPS_PER_ORDER`](crate::cuda::MOST_STEPS_PER_ORDER) steps in any case. The device counts
//! these bodies in every step, and the host reads the sum before the next step without waiting. So
//! cells that jump slow down one step, or as many as the host has enqueued. The order changes the
//! time of a density and never a bit of its result.

mod arrays;
mod resident;
mod stages;

use crate::charge::Charge;
use crate::cuda::bodies::{Bodies, DensityReport, MOST_RANKS};
use crate::cuda::device::{Captured, CudaError, CudaReal, DeviceVec, Gpu, Graph, Marks, measure};
use crate::cuda::peers::Peers;
use crate::engine::{
    Choice, DensityStats, Descriptor, Done, Engine, EngineError, EngineOptions, Evaluation,
    GradientOptions, Layout, MapKind, Pipeline, Progress, StageTimes, StepTimes, Timed,
    add_background, check_bins, check_lengths, check_positions, check_positions_in, check_range,
    check_same_grid, check_weight,
};
use crate::grid::Map;
use arrays::{ArrayKernels, Replays};
pub(crate) use stages::{BEGIN, END, Placer, PlacerCommand};
use stages::{Command, FORCE, Planned, PositionsIn, RankStages, Stages};
use std::collections::HashSet;
use std::mem::ManuallyDrop;
use std::ops::Range;
use std::sync::Arc;

/// Consecutive runs that one sample of [`Timed::step_times`] averages over.
const RUNS_PER_SAMPLE: usize = 10;

/// [`Engine`] on an NVIDIA GPU, or on several GPUs of one machine ([`CudaEngine::on_peers`]).
///
/// Besides the trait it has an interface for a placer that lives on the device. Such a placer
/// writes positions with its own kernels, enqueues a step, and reads the forces in its next kernel.
/// The host never waits. [`interop`](crate::cuda::interop) describes how a kernel of another
/// library gets the memory and the stream.
///
/// ```no_run
/// # use placefield::charge::Charge;
/// # use placefield::cuda::{CudaEngine, DeviceSlice, DeviceSliceMut};
/// # use placefield::engine::{EngineError, EngineOptions};
/// # fn place(
/// #     charge: Charge, x: &[f32], y: &[f32],
/// #     mut move_along: impl FnMut(DeviceSlice<'_, f32>, DeviceSliceMut<'_, f32>),
/// # ) -> Result<(), EngineError> {
/// use placefield::engine::Engine;
/// let mut engine = CudaEngine::<f32>::new(charge, &EngineOptions::default(), 0)?;
/// engine.evaluate(x, y)?;
/// for iteration in 1..=1000 {
///     // Kernels of the placer read forces and move bodies, x and y of each side by side.
///     let (forces, corners) = engine.force_and_positions_device(0)?;
///     move_along(forces, corners);
///     engine.enqueue_step()?;
///     if iteration % 50 == 0 {
///         let overflow = engine.read_evaluation()?.density.overflow; // waits
///     }
/// }
/// let corners: Vec<f32> = engine.gpu().download(engine.positions_device(0))?; // waits
/// # Ok(()) }
/// ```
///
/// # Several devices
///
/// Each device (rank) has its share of the bodies ([`CudaEngine::share`]) and of the bins. Density,
/// overflow and maximum are bit-identical to one device. The potential, the field and results that
/// follow from them are bit-identical to the solve by slabs
/// ([`SlabSolver`](crate::cuda::SlabSolver)) on as many ranks. With
/// [`EngineOptions::deterministic`] they are bit-identical to one device, too. A body's position
/// along x decides which device processes it, and every new order of the bodies decides anew. The
/// body's share never changes, and so its force always goes to the same rank. A placer whose arrays
/// live on the devices moves the bodies of each share there. Fence regions, [slot
/// order](CudaEngine::use_slots) and the caller's own graphs need a single device.
///
/// ```no_run
/// # use placefield::charge::Charge;
/// # use placefield::cuda::{CudaEngine, DeviceSlice, DeviceSliceMut, Peers};
/// # use placefield::engine::{Engine, EngineError, EngineOptions};
/// # use std::ops::Range;
/// # fn place(
/// #     charge: Charge, x: &[f32], y: &[f32],
/// #     mut move_along: impl FnMut(
/// #         [Range<usize>; 2], DeviceSlice<'_, f32>, DeviceSliceMut<'_, f32>,
/// #     ),
/// # ) -> Result<(), EngineError> {
/// let peers = Peers::open(&[0, 1])?;
/// let mut engine = CudaEngine::<f32>::on_peers(&peers, charge, &EngineOptions::default())?;
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
pub struct CudaEngine<T: CudaReal> {
    // Graphs hold addresses of memory that `stages` owns, so they are dropped first.
    /// Steps, and separate solves, by [`Pipeline::ALL`]: a graph for each rank.
    steps: Captures,
    solves: Captures,
    replays: Replays,
    /// Dropped in the engine's own `drop`.
    stages: ManuallyDrop<Stages<T>>,
    /// On the first rank: before and after each of two stages.
    marks: Marks,
    peers: Peers,
    choice: Choice,
    done: Done,
    /// The pipeline of the last solve, if that solve may have left φ out.
    without_potential: Option<Pipeline>,
    sharing: Sharing,
    reports: Reports,
    /// The number that was last read.
    outside_halo: u64,
    /// The kernels for the caller's arrays that have run, so that a capture has nothing left to
    /// load.
    ran: HashSet<(ArrayKernels, Layout)>,
    times: StageTimes,
}

/// By [`Pipeline::ALL`].
type Captures = [Captured<Vec<Graph>>; Pipeline::ALL.len()];

/// Which ranks have the current positions, if the engine itself stores these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sharing {
    /// Every rank has the positions of the bodies that it processes.
    Sent,
    /// Every rank has the positions of its own share only. A bit marks each rank whose forces at
    /// the previous positions were returned together with the positions.
    Written { given: u16 },
}

const _: () = assert!(MOST_RANKS <= u16::BITS as usize); // `given`

/// Statistics of the current density.
#[derive(Clone, Copy, Debug)]
enum Reports {
    /// The statistics and the area off the die, once they have been read.
    OfSteps(Option<(DensityStats, f64)>),
    /// Read each time: a step is part of a caller's graph, whose runs are not reported here.
    OfGraphs,
}

impl<T: CudaReal> CudaEngine<T> {
    /// Returns an engine for `charge` on device `ordinal`. This allocates everything that the
    /// engine will need. Only pipelines other than [`Engine::choice`]'s are planned later, on first
    /// use. `options.threads` has no effect here.
    ///
    /// # Errors
    /// [`EngineError::Device`] with a [`CudaError`] inside, which names the missing part of CUDA or
    /// says that there is no such device; [`EngineError::OutOfMemory`] if device memory does not
    /// suffice; [`EngineError::Regions`] for a charge of more than 65535 fence regions; and if a
    /// size or starting position exceeds the range of `T`. ([What to do
    /// then](crate::cuda#without-a-usable-gpu).)
    pub fn new(
        charge: impl Into<Arc<Charge>>,
        options: &EngineOptions,
        ordinal: usize,
    ) -> Result<Self, EngineError> {
        Self::on(&Gpu::open(ordinal)?, charge, options)
    }

    /// Like [`CudaEngine::new`], on a device that is already open. The engine shares its stream.
    ///
    /// # Errors
    /// Those of [`CudaEngine::new`].
    pub fn on(
        gpu: &Gpu,
        charge: impl Into<Arc<Charge>>,
        options: &EngineOptions,
    ) -> Result<Self, EngineError> {
        Self::on_peers(&Peers::on(vec![gpu.clone()])?, charge, options)
    }

    /// Like [`CudaEngine::new`], on all ranks of `peers`. If the grid has no solve by slabs on this
    /// number of ranks, the first device solves alone, and [`Engine::choice`] says so.
    ///
    /// # Errors
    /// Those of [`CudaEngine::new`]. With several devices also if they do not reach or cannot map
    /// each other's memory, and for a charge of several fence regions.
    pub fn on_peers(
        peers: &Peers,
        charge: impl Into<Arc<Charge>>,
        options: &EngineOptions,
    ) -> Result<Self, EngineError> {
        let charge = charge.into();
        check_range::<T>(&charge)?;
        peers.check_reach()?;
        let gpus = peers.gpus();
        let (grid, regions) = (charge.grid(), charge.regions());
        let EngineOptions { pipeline, deterministic, .. } = *options;
        let launching = peers.launch_lock();
        let (stages, planned) = Gpu::in_parallel(
            || Stages::new(peers, &charge, deterministic),
            || Planned::new(peers, &grid, regions, pipeline, deterministic),
        );
        let mut stages = stages?;
        let choice = stages.take(planned?);
        drop(launching);
        Ok(CudaEngine {
            steps: Captures::default(),
            solves: Captures::default(),
            replays: Replays::default(),
            stages: ManuallyDrop::new(stages),
            marks: Marks::new(gpus[0], 4)?,
            peers: peers.clone(),
            choice,
            done: Done::Nothing,
            without_potential: None,
            sharing: Sharing::Sent,
            reports: Reports::OfSteps(None),
            outside_halo: 0,
            ran: HashSet::new(),
            times: StageTimes::default(),
        })
    }

    /// Loads all kernels that an engine runs on `gpu` except the solve. Kernels that are not
    /// compiled yet are compiled at the same time. The first engine on `gpu` then finds them
    /// loaded.
    ///
    /// # Errors
    /// When kernels cannot be compiled or loaded.
    pub fn load_kernels(gpu: &Gpu) -> Result<(), CudaError> {
        gpu.prepare::<T>(&["order", "density", "force"].map(|unit| (unit, &[][..]))).map(drop)
    }

    /// Waits for the device if a caller's graph holds steps of this engine. Runs of that graph are
    /// not reported here, and must not overlap with other work or with freeing memory.
    pub(crate) fn wait_for_graphs(&self) -> Result<(), CudaError> {
        match self.reports {
            Reports::OfGraphs => self.gpu().wait_for_device(),
            Reports::OfSteps(_) => Ok(()),
        }
    }

    /// Returns the device that all work goes to; with several devices the first.
    pub fn gpu(&self) -> &Gpu {
        self.peers.gpu(0)
    }

    /// Returns the devices.
    pub fn peers(&self) -> &Peers {
        &self.peers
    }

    /// Returns the bodies of a rank's share by their index in the charge: movable cells and
    /// fillers. On one device the share is all bodies.
    ///
    /// # Panics
    /// When there is no such rank.
    pub fn share(&self, rank: usize) -> [Range<usize>; 2] {
        assert!(rank < self.peers.count(), "rank {rank} of {}", self.peers.count());
        self.stages.share(rank)
    }

    /// Returns the bodies on the device. [`Bodies::slot_of`] and [`Bodies::id_of`] map between slot
    /// order and caller order, and [`Bodies::rearrange`] converts values. With several devices
    /// these are the first one's, and only its own slots are valid.
    pub fn bodies(&self) -> &Bodies<T> {
        self.stages.bodies()
    }

    /// Makes a new order of the bodies from the positions on the device. It does so if an order is
    /// due and positions are in the caller's order, or if no order was made yet. Every step begins
    /// with this by itself. Call it before the capture of a step, so that the first runs find the
    /// bodies in order. Call it between the runs of your own graph, so that they stay fast.
    ///
    /// # Errors
    /// When a launch fails.
    pub fn order_if_due(&mut self) -> Result<(), CudaError> {
        match self.sharing {
            _ if self.gpu().is_capturing() => Ok(()), // every run of the graph would order
            Sharing::Sent => self.order_where_due(),
            Sharing::Written { .. } => self.prepare(),
        }
    }

    /// Orders bodies whose positions every rank has.
    fn order_where_due(&mut self) -> Result<(), CudaError> {
        let stages = &mut self.stages;
        // An order costs each rank as much as it costs one device with as many bodies.
        let each = stages.bodies().len().div_ceil(stages.ranks.len());
        let ours = !stages.in_slots() || !stages.bodies().is_ordered();
        let mut due = false;
        for RankStages { bodies, .. } in &mut stages.ranks {
            if let Reports::OfGraphs = self.reports {
                bodies.staleness.stepped(); // there may have been a run
            }
            due |= bodies.staleness.decide(each);
        }
        if due && ours {
            stages.order()?;
            self.outside_halo = 0;
            if self.stages.positions_in != PositionsIn::Callers {
                // Forces are gathered in the order in which a density has seen the bodies.
                self.done = self.done.min(Done::Positions);
            }
        }
        Ok(())
    }

    /// Sends positions to the ranks that need them and orders the bodies if an order is due.
    /// Several ranks then meet by events, so that a slow rank does not make the others wait inside
    /// a graph.
    fn prepare(&mut self) -> Result<(), CudaError> {
        if self.sharing != Sharing::Sent {
            self.stages.enqueue(&[Command::SendPositions])?;
        }
        self.stages.enqueue(&[Command::Barrier])?;
        self.sharing = Sharing::Sent;
        if self.gpu().is_capturing() { Ok(()) } else { self.order_where_due() }
    }

    /// The previous positions' results are stale; the engine itself stores the current positions.
    fn positions_changed(&mut self, sharing: Sharing) {
        self.invalidate();
        self.done = Done::Positions;
        self.sharing = sharing;
        if self.stages.positions_in == PositionsIn::Callers {
            self.stages.positions_in = PositionsIn::Own;
        }
    }

    /// Discards computed results: the work that begins here may fail half way.
    fn invalidate(&mut self) {
        self.done = self.done.min(Done::Positions);
        if let Sharing::Written { given } = &mut self.sharing {
            *given = 0;
        }
        if let Reports::OfSteps(read) = &mut self.reports {
            *read = None;
        }
    }

    /// Fails unless there are positions, and the engine itself stores them.
    fn require_own_positions(&self, stage: &'static str) -> Result<(), EngineError> {
        self.done.require(stage, Done::Positions)?;
        if self.stages.positions_in == PositionsIn::Callers {
            let needs = "positions were given to the engine itself";
            return Err(EngineError::OutOfOrder { stage, needs });
        }
        Ok(())
    }

    /// Fails if there are several devices.
    fn require_one_device(&self, what: &str) -> Result<(), EngineError> {
        match self.peers.count() {
            1 => Ok(()),
            count => {
                Err(CudaError::Peers(format!("{what} on {count} devices: expected one")).into())
            }
        }
    }

    /// Records that a density has been enqueued.
    fn density_enqueued(&mut self) {
        self.stages.ranks.iter_mut().for_each(|rank| rank.bodies.staleness.stepped());
    }

    /// Records that a step has been enqueued.
    fn step_enqueued(&mut self, pipeline: Pipeline) -> Result<(), CudaError> {
        self.density_enqueued();
        self.invalidate();
        self.solve_enqueued(pipeline)?;
        self.done = Done::Force;
        Ok(())
    }

    /// Records that a solve has been enqueued, with φ in a capture and otherwise without. Runs of a
    /// caller's graph are not reported here, and they compute φ. If there are such graphs, other
    /// solves compute φ as well.
    fn solve_enqueued(&mut self, pipeline: Pipeline) -> Result<(), CudaError> {
        self.done = Done::Solve;
        self.without_potential = Some(pipeline).filter(|_| !self.gpu().is_capturing());
        match self.reports {
            Reports::OfGraphs => self.complete_potential(),
            Reports::OfSteps(_) => Ok(()),
        }
    }

    /// Enqueues φ if the last solve has left it out.
    fn complete_potential(&mut self) -> Result<(), CudaError> {
        if let Some(pipeline) = self.without_potential {
            self.stages.enqueue(&[Command::Potential(pipeline)])?;
            // A capture records φ but does not run it.
            if !self.gpu().is_capturing() {
                self.without_potential = None;
            }
        }
        Ok(())
    }

    /// Returns a map, of all regions, if it has been computed.
    fn map(&mut self, kind: MapKind) -> Result<&DeviceVec<T>, EngineError> {
        if kind == MapKind::Potential && self.done >= Done::Solve {
            self.complete_potential()?;
        }
        self.stages.map(kind, self.done)
    }

    /// Enqueues a step in the current order.
    fn enqueue_by(&mut self, pipeline: Pipeline) -> Result<(), CudaError> {
        self.invalidate();
        let CudaEngine { stages, steps, peers, .. } = self;
        steps[pipeline as usize].run(
            &mut **stages,
            |stages| stages.enqueue(&stages.step(pipeline, false)),
            |stages| Self::graphs(stages, &stages.step(pipeline, false)),
            |_, graphs| peers.launch(graphs),
        )?;
        self.step_enqueued(pipeline)
    }

    /// Returns the graphs of a step or a solve that has run before, for `steps` or `solves`.
    fn graphs(stages: &mut Stages<T>, commands: &[Command]) -> Result<Vec<Graph>, CudaError> {
        // SAFETY: the graphs are kept beside `stages`, whose buffers and plans neither move nor
        // change until they are dropped; the graphs are dropped before them. All work of this
        // engine goes to the one stream of each rank. A step begins with everything on the devices,
        // so launches need nothing of the host.
        unsafe {
            stages.graphs(|stages, rank| {
                commands.iter().try_for_each(|&command| stages.enqueue_on(rank, command))
            })
        }
    }

    fn read_density(&mut self) -> Result<(DensityStats, f64), CudaError> {
        if let Reports::OfSteps(Some(density)) = self.reports {
            return Ok(density);
        }
        let DensityReport { stats, area_off_die, outside_halo } = self.stages.report()?;
        self.outside_halo = outside_halo;
        if let Reports::OfSteps(read) = &mut self.reports {
            *read = Some((stats, area_off_die));
        }
        Ok((stats, area_off_die))
    }

    /// Enqueues commands and then a barrier, between the marks of the first or the second stage.
    fn timed(&mut self, stage: usize, commands: &[Command]) -> Result<(), CudaError> {
        self.marks.set(2 * stage)?;
        self.stages.enqueue_with_barrier(commands)?;
        self.marks.set(2 * stage + 1)
    }

    /// Waits for a stage and returns its milliseconds.
    fn stage_ms(&self, stage: usize) -> Result<f64, CudaError> {
        self.gpu().synchronize()?;
        self.marks.ms_between(2 * stage, 2 * stage + 1)
    }
}

impl<T: CudaReal> Engine<T> for CudaEngine<T> {
    fn charge(&self) -> &Charge {
        self.stages.charge()
    }

    /// Allocates device memory, and frees the previous memory: graphs captured with steps of this
    /// engine must not run afterwards. Bodies are then in the caller's order.
    fn set_charge(&mut self, charge: Arc<Charge>) -> Result<(), EngineError> {
        check_same_grid(self.charge(), &charge)?;
        check_range::<T>(&charge)?;
        // Not in a capture: it would fail there with a part of it done.
        self.gpu().stream_guard()?.check_not_capturing()?;
        let peers = self.peers.clone();
        let launching = peers.launch_lock();
        self.stages.set_charge(&charge, self.choice.pipeline)?;
        // The graphs hold addresses of the previous memory.
        self.steps = Captures::default();
        self.solves = Captures::default();
        self.replays = Replays::default();
        drop(launching);
        self.done = Done::Nothing;
        self.without_potential = None;
        self.sharing = Sharing::Sent;
        self.reports = Reports::OfSteps(None);
        self.outside_halo = 0;
        // The kernel of the overflow may change.
        self.ran.clear();
        Ok(())
    }

    fn descriptor(&self) -> Descriptor {
        let name = |rank| self.peers.gpu(rank).info().name.as_str();
        let names: Vec<&str> = (0..self.peers.count()).map(name).collect();
        let device = match names.iter().all(|name| name == &names[0]) {
            true if names.len() == 1 => names[0].to_owned(),
            true => format!("{} x {}", names.len(), names[0]),
            false => names.join(", "),
        };
        Descriptor { engine: "cuda", device }
    }

    fn choice(&self) -> &Choice {
        &self.choice
    }

    fn path(&self, pipeline: Pipeline) -> &'static str {
        self.stages.path(pipeline).name()
    }

    fn discard_positions(&mut self) {
        self.invalidate();
        self.done = Done::Nothing;
    }

    fn set_positions(&mut self, x: &[T], y: &[T]) -> Result<(), EngineError> {
        self.discard_positions();
        check_lengths(
            self.stages.bodies().len(),
            &[("x positions", x.len()), ("y positions", y.len())],
        )?;
        check_positions(x, y)?;
        self.stages.receive(x, y)?;
        self.positions_written();
        Ok(())
    }

    fn set_positions_in(&mut self, layout: Layout, positions: &[T]) -> Result<(), EngineError> {
        self.discard_positions();
        let bodies = self.stages.bodies().len();
        check_positions_in(bodies, layout, positions)?;
        match layout {
            Layout::Halves => {
                let (x, y) = positions.split_at(bodies);
                self.stages.receive(x, y)?;
            }
            Layout::Pairs => self.stages.receive_pairs(positions)?,
        }
        self.positions_written();
        Ok(())
    }

    fn compute_density(&mut self) -> Result<DensityStats, EngineError> {
        self.done.require("the density", Done::Positions)?;
        self.invalidate();
        self.prepare()?;
        self.timed(0, &Stages::<T>::density(false))?;
        let (stats, _) = self.read_density()?;
        self.times.density = self.stage_ms(0)?;
        self.density_enqueued();
        self.done = Done::Density;
        Ok(stats)
    }

    fn exact_density(&mut self) -> Result<DensityStats, EngineError> {
        self.done.require("the exact density", Done::Positions)?;
        if self.done < Done::Density {
            // No new order after a density: forces are gathered in the order that the density saw.
            self.prepare()?;
        }
        Ok(self.stages.report_exact()?.stats)
    }

    fn solve(&mut self, pipeline: Pipeline) -> Result<f64, EngineError> {
        self.done.require("the field", Done::Density)?;
        self.done = Done::Density;
        self.stages.plan(pipeline)?;
        let [forward, inverse] = self.stages.solve_halves(pipeline, false);
        self.timed(0, &forward)?;
        self.timed(1, &inverse)?;
        let energy = self.stages.read_energy()?;
        self.times.forward = self.stage_ms(0)?;
        self.times.inverse = self.stage_ms(1)?;
        self.solve_enqueued(pipeline)?;
        Ok(energy)
    }

    fn compute_force(&mut self) -> Result<(), EngineError> {
        self.done.require("the force", Done::Solve)?;
        self.done = Done::Solve;
        self.timed(0, &FORCE)?;
        self.times.force = self.stage_ms(0)?;
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
            *only = self.read_evaluation()?;
            return Ok(());
        }
        let reports = self.stages.report_regions()?;
        let energies = self.stages.read_energies()?;
        for ((out, found), &energy) in out.iter_mut().zip(reports).zip(energies) {
            *out = Evaluation { density: found.stats, area_off_die: found.area_off_die, energy };
        }
        Ok(())
    }

    fn read_map(&mut self, kind: MapKind, out: &mut Map<T>) -> Result<(), EngineError> {
        self.map(kind)?;
        check_bins(self.charge().stacked_bins(), out)?;
        self.peers.wait_for_each_other()?;
        let map = self.stages.map(kind, self.done)?;
        self.gpu().read(map, out.as_mut_slice())?;
        let maps = out.as_mut_slice().chunks_mut(self.charge().grid().bins());
        let backgrounds = self.stages.backgrounds();
        maps.zip(backgrounds).for_each(|(map, &b)| add_background(kind, b, map));
        Ok(())
    }

    fn read_force(&mut self, fx: &mut [T], fy: &mut [T]) -> Result<(), EngineError> {
        self.done.require("the forces' read-back", Done::Force)?;
        let bodies = self.stages.bodies().len();
        check_lengths(bodies, &[("x forces", fx.len()), ("y forces", fy.len())])?;
        Ok(self.stages.send(fx, fy)?)
    }

    fn write_gradient(
        &mut self,
        gradient: &mut [T],
        options: &GradientOptions,
    ) -> Result<(), EngineError> {
        self.done.require("the gradient", Done::Force)?;
        check_lengths(2 * self.stages.bodies().len(), &[("gradient", gradient.len())])?;
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
        // Runs use the current order: if they are repeated at one position, bodies outside their
        // halos would call for a new one.
        if self.sharing != Sharing::Sent || !self.stages.bodies().is_ordered() {
            self.prepare()?;
        }
        self.invalidate();
        self.stages.plan(pipeline)?;
        let p = pipeline as usize;
        let peers = self.peers.clone();
        let median = |run: &mut dyn FnMut() -> Result<(), CudaError>| {
            let time = measure(peers.gpu(0), repetitions.max(1), RUNS_PER_SAMPLE, run)?;
            Ok::<_, CudaError>(time.median / 1e3)
        };
        let step = self.stages.step(pipeline, false);
        let solve = self.stages.solve(pipeline, true);
        let step_plain = median(&mut || self.stages.enqueue(&step))?;
        let solve_plain = median(&mut || self.stages.enqueue(&solve))?;
        let mut replay = |captured: &mut Captured<_>, commands: &[Command]| {
            let graphs = captured.ready(|| Self::graphs(&mut self.stages, commands))?;
            self.peers.wait_for_each_other()?;
            median(&mut || peers.launch(graphs))
        };
        let step_graph = replay(&mut self.steps[p], &step)?;
        let solve_graph = replay(&mut self.solves[p], &solve)?;
        self.peers.wait_for_each_other()?;
        self.without_potential = None;
        self.done = Done::Force;
        Ok(Some(StepTimes { step_graph, step_plain, solve_graph, solve_plain }))
    }
}

impl<T: CudaReal> Drop for CudaEngine<T> {
    fn drop(&mut self) {
        let _ = self.wait_for_graphs();
        // Freeing graphs and page-locked memory may wait for all of a device's work.
        let peers = self.peers.clone();
        let _launching = peers.launch_lock();
        self.steps = Captures::default();
        self.solves = Captures::default();
        self.replays = Replays::default();
        // SAFETY: nothing uses them after this.
        unsafe { ManuallyDrop::drop(&mut self.stages) };
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
