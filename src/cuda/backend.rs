//! A [`Backend`] that lives on one or several NVIDIA GPUs.
//!
//! Positions, gradients and the kept placement stay in device memory. For each evaluation the host
//! sends ten numbers and reads twelve; it waits only for that read. A proposal is one captured
//! graph for each device. The graph takes the step, then computes the wirelength concurrently with
//! density, solve and force, and then the gradient. The numbers sent say which vectors have which
//! role. There are two such graphs, one of which times its stages.
//!
//! Each of several devices ([`CudaEngine::on_peers`]) has a share of the bodies, which it moves,
//! and of the nets. Every device computes the density of the bodies in its tiles. It receives the
//! positions of these bodies and of the cells on its nets. Forces and pins' gradients go to the
//! device that moves the body. No sum depends on the number of devices. So a placement is
//! bit-identical to one device if the solve is ([`EngineOptions::deterministic`]). Otherwise the
//! solve by slabs may round differently here and there.
//!
//! Bodies stay in the caller's order. The engine orders them by tile before a step if enough of
//! them are outside their halos. In slot order an H200 would save some 0.1 of 0.8 ms per iteration
//! at bigblue4's size (density and force without permutations). It would spend a part of that
//! again: every pin would look up its body's slot, and every new order, one in five iterations,
//! would move ten more arrays.

use super::device::{Branch, Captured, CudaError, CudaReal, Gpu, Graph};
use super::engine::{BEGIN, CudaEngine, END, Placer, PlacerCommand};
use super::peers::Peers;
use super::place::{CudaWirelength, Descent, DescentBodies, DeviceTerm};
use crate::charge::Charge;
use crate::engine::{
    Choice, DensityStats, Descriptor, Engine, EngineError, EngineOptions, MapKind, Progress,
    check_bins, check_lengths,
};
use crate::grid::Map;
use crate::parallel::{self, chunks, chunks_mut};
use crate::place::backend::pin_weights;
use crate::place::bounds::Bounds;
use crate::place::ready::Ready;
use crate::place::{Backend, PointVector, Sample, StageSplit, Weights};
use crate::wirelength::Netlist;
use std::sync::Arc;
use std::time::Instant;

/// Numbers that a task converts to `f64`.
const WIDENED_AT_ONCE: usize = 1 << 14;

/// One proposal in this many has marks: marks take the device some 2 µs, and the host 1 µs to read.
const TIMED_EVERY: u32 = 16;

/// A proposal for each rank.
struct Proposals {
    untimed: Vec<Graph>,
    timed: Vec<Graph>,
}

/// Wirelength, density, steps and norms on one device or several.
pub struct CudaBackend<T: CudaReal> {
    // Graphs hold addresses of memory that the other fields own, so they are dropped first.
    proposals: Captured<Proposals>,
    /// Proposals left before the next timed one.
    untimed: u32,
    /// Each rank's branch for the wirelength, concurrent with the engine's stages. In sequence an
    /// iteration on an H200 took 9 % longer at adaptec1's size and 5 % longer at bigblue3's. It
    /// took the same time at bigblue4's size, where either branch keeps the device busy.
    branches: Vec<Branch>,
    engine: CudaEngine<T>,
    bounds: Bounds<T>,
    netlist: Netlist,
    map: Map<T>,
    ready: Ready,
    /// Times of the last evaluation, and of the last one with marks.
    times: StageSplit,
    timed: StageSplit,
}

/// The parts of a backend besides its engine.
struct BackendParts<T: CudaReal> {
    bounds: Bounds<T>,
    ranks: Vec<(Descent<T>, CudaWirelength<T>)>,
}

impl<T: CudaReal> BackendParts<T> {
    fn new(gpus: &[&Gpu], charge: &Charge, netlist: &Netlist) -> Result<Self, EngineError> {
        check_lengths(charge.movable(), &[("movable cells of the netlist", netlist.movable())])?;
        let bounds = Bounds::of(charge);
        let descents = || {
            let (width, height) = (charge.width(), charge.height());
            let area = parallel::map(charge.bodies(), |i| T::cast(width[i] * height[i]));
            let bodies = DescentBodies {
                low: [bounds.low_x, bounds.low_y],
                high_x: &bounds.high_x,
                high_y: &bounds.high_y,
                area: &area,
                pin_weight: &pin_weights::<T>(charge, netlist),
            };
            Descent::on_each(gpus, &bodies)
        };
        let (descents, wirelengths) = Gpu::in_parallel(descents, || {
            CudaWirelength::on_each(gpus, netlist, charge.bodies(), charge.origin())
        });
        let ranks = descents?.into_iter().zip(wirelengths?).collect();
        Ok(BackendParts { bounds, ranks })
    }
}

impl<T: CudaReal> CudaBackend<T> {
    /// Places the bodies of `engine`'s charge, connected by `netlist`, on its devices.
    ///
    /// # Errors
    /// If `engine` is in slot order ([`CudaEngine::use_slots`]), `netlist` has other movable cells
    /// than the charge, kernels cannot be compiled, or device memory does not suffice.
    pub fn new(engine: CudaEngine<T>, netlist: &Netlist) -> Result<Self, EngineError> {
        engine.require_callers_order("a placement")?;
        let peers = engine.peers().clone();
        let _launching = peers.launch_lock();
        let parts = BackendParts::new(&peers.gpus(), engine.charge(), netlist)?;
        CudaBackend::of(engine, parts, netlist)
    }

    /// Like [`CudaBackend::new`], but makes the engine, too ([`CudaEngine::on`]), at the same time.
    ///
    /// # Errors
    /// Those of [`CudaBackend::new`] and [`CudaEngine::on`].
    pub fn on(
        gpu: &Gpu,
        charge: Arc<Charge>,
        options: &EngineOptions,
        netlist: &Netlist,
    ) -> Result<Self, EngineError> {
        CudaBackend::on_peers(&Peers::on(vec![gpu.clone()])?, charge, options, netlist)
    }

    /// Like [`CudaBackend::on`], on several devices ([`CudaEngine::on_peers`]). A device begins a
    /// proposal as soon as it has finished its other work. If that makes one device more than four
    /// seconds later than another, the placement ends with an error. (A wait for each other at the
    /// start would cost every proposal some microseconds.)
    ///
    /// # Errors
    /// Those of [`CudaBackend::new`] and [`CudaEngine::on_peers`].
    pub fn on_peers(
        peers: &Peers,
        charge: Arc<Charge>,
        options: &EngineOptions,
        netlist: &Netlist,
    ) -> Result<Self, EngineError> {
        peers.check_reach()?;
        let gpus = peers.gpus();
        let _launching = peers.launch_lock();
        let (parts, engine) = Gpu::in_parallel(
            || BackendParts::new(&gpus, &charge, netlist),
            || CudaEngine::on_peers(peers, charge.clone(), options),
        );
        CudaBackend::of(engine?, parts?, netlist)
    }

    fn of(
        mut engine: CudaEngine<T>,
        BackendParts { bounds, ranks }: BackendParts<T>,
        netlist: &Netlist,
    ) -> Result<Self, EngineError> {
        let [nx, ny] = engine.charge().stacked_bins();
        let branches = engine.peers().gpus().into_iter().map(Branch::new);
        let branches = branches.collect::<Result<_, _>>()?;
        engine.set_placer(Placer::new(engine.gpu(), ranks)?);
        Ok(CudaBackend {
            proposals: Captured::New,
            untimed: 0,
            branches,
            engine,
            bounds,
            netlist: netlist.clone(),
            map: Map::filled(nx, ny, T::zero()),
            ready: Ready::Nothing,
            times: StageSplit::default(),
            timed: StageSplit::default(),
        })
    }

    /// Loads all kernels that a backend and its engine run on `gpu` except the solve. Kernels that
    /// are not compiled yet are compiled at the same time. The first backend on `gpu` then finds
    /// them loaded.
    ///
    /// # Errors
    /// If kernels cannot be compiled or loaded.
    pub fn load_kernels(gpu: &Gpu) -> Result<(), CudaError> {
        let units = ["order", "density", "force", "wirelength", "descent"];
        gpu.prepare::<T>(&units.map(|unit| (unit, &[][..]))).map(drop)
    }

    /// Adds a term to the objective before the placement begins. [`Sample::terms`] then costs a
    /// copy from the device in each evaluation.
    ///
    /// # Errors
    /// If the backend has several devices.
    pub fn add_term(&mut self, term: impl DeviceTerm + 'static) -> Result<(), EngineError> {
        if self.engine.peers().count() > 1 {
            return Err(CudaError::Peers("terms of the objective are for one device".into()).into());
        }
        self.engine.placer_mut().terms.push(Box::new(term));
        self.proposals = Captured::New;
        Ok(())
    }

    /// Returns how many orders of the bodies by tile have been made.
    pub fn orders(&self) -> u32 {
        self.engine.bodies().orders()
    }

    /// Returns an evaluation's numbers. If several ranks fail, returns the first failure; the other
    /// ranks may only have been affected by it.
    fn evaluated(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<Sample, EngineError>,
    ) -> Result<Sample, EngineError> {
        work(self).map_err(|error| match self.engine.peers().wait_for_each_other() {
            Err(first) => first.into(),
            Ok(()) => error,
        })
    }

    fn send(&mut self, weights: &Weights, step: f64, momentum: f64) -> Result<(), CudaError> {
        self.descents().try_for_each(|descent| descent.send(weights, step, momentum))
    }

    /// Returns the descent of every rank.
    fn descents(&mut self) -> impl Iterator<Item = &mut Descent<T>> {
        self.engine.placer_mut().ranks.iter_mut().map(|(descent, _)| descent)
    }

    /// Enqueues a proposal. Returns whether it has marks.
    fn enqueue_proposal(&mut self) -> Result<bool, EngineError> {
        let CudaBackend { proposals, branches, engine, untimed, .. } = self;
        let mut is_timed = true;
        let capture = |engine: &mut CudaEngine<T>| {
            // SAFETY: the graphs are kept beside the engine and the branches, and are dropped
            // before them.
            let mut graphs = |has_marks| unsafe { engine.proposal(branches, has_marks) };
            Ok(Proposals { untimed: graphs(false)?, timed: graphs(true)? })
        };
        let replay = |engine: &mut CudaEngine<T>, graphs: &mut Proposals| {
            is_timed = *untimed == 0;
            *untimed = if is_timed { TIMED_EVERY } else { *untimed } - 1;
            engine.launch_proposal(if is_timed { &mut graphs.timed } else { &mut graphs.untimed })
        };
        let plain =
            |engine: &mut CudaEngine<T>| engine.enqueue_evaluation(PlacerCommand::Step, true);
        proposals.run(engine, plain, capture, replay)?;
        Ok(is_timed)
    }

    /// Waits for an evaluation begun at `start` and reads its numbers. Stages without marks are
    /// assumed to last as long as in the last evaluation with marks, or less if the whole
    /// evaluation lasted less.
    fn receive(&mut self, start: Instant, has_marks: bool) -> Result<Sample, EngineError> {
        let (sample, statistics, missing) = self.engine.placer_mut().ranks[0].0.receive()?;
        if missing {
            return Err(CudaError::Peers("a rank has waited for another in vain".into()).into());
        }
        self.descents().for_each(Descent::arrived);
        let evaluation = self.engine.take_evaluation(statistics, sample.energy)?;
        if has_marks {
            self.engine.gpu().synchronize()?;
            self.timed = self.staged()?;
        }
        let passed = start.elapsed().as_secs_f64() * 1e3;
        self.times = self.timed.within(passed);
        let Placer { terms, value, .. } = self.engine.placer();
        let terms = if terms.is_empty() { 0.0 } else { self.engine.gpu().download(value)?[0] };
        let (hpwl, density) = (self.netlist.fixed_hpwl() + sample.hpwl, evaluation.density);
        Ok(Sample { hpwl, terms, density, ..sample })
    }

    /// Returns the stage times of the last evaluation with marks.
    fn staged(&self) -> Result<StageSplit, CudaError> {
        let between = |k, l| self.engine.placer().marks.ms_between(k, l);
        let staged = [between(0, 1)?, between(2, 3)?, between(3, 4)?, between(4, 5)?];
        // Concurrent stages share the time that passed.
        let passed = between(0, 1)?.max(between(0, 5)?);
        let share = passed / staged.iter().sum::<f64>().max(f64::MIN_POSITIVE);
        let [wirelength, density, solve, force] = staged.map(|ms| ms * share);
        let (step, whole) = (between(BEGIN, 0)?, between(BEGIN, END)?);
        let gradient = (whole - step - passed).max(0.0);
        Ok(StageSplit { wirelength, density, solve, force, step, gradient, other: 0.0 })
    }
}

impl<T: CudaReal> Drop for CudaBackend<T> {
    fn drop(&mut self) {
        // Kernels on another rank's stream may write into one rank's memory.
        let peers = self.engine.peers().clone();
        let _ = peers.wait_for_each_other();
        // Freeing graphs and page-locked memory may wait for all of a device's work.
        let _launching = peers.launch_lock();
        self.proposals = Captured::New;
    }
}

impl<T: CudaReal> Backend for CudaBackend<T> {
    fn charge(&self) -> &Charge {
        self.engine.charge()
    }

    fn netlist(&self) -> &Netlist {
        &self.netlist
    }

    fn set_net_weights(&mut self, weights: &[f64]) -> Result<(), EngineError> {
        self.netlist.set_weights(weights)?;
        self.ready = self.ready.min(Ready::Started);
        let pin_weight = pin_weights::<T>(self.charge(), &self.netlist);
        for (descent, wirelength) in &mut self.engine.placer_mut().ranks {
            wirelength.set_weights(&self.netlist)?;
            descent.set_pin_weights(&pin_weight)?;
        }
        Ok(())
    }

    fn descriptor(&self) -> Descriptor {
        self.engine.descriptor()
    }

    fn choice(&self) -> Choice {
        self.engine.choice().clone()
    }

    fn start(&mut self, x: &[f64], y: &[f64]) -> Result<(), EngineError> {
        let bodies = self.charge().bodies();
        check_lengths(bodies, &[("x positions", x.len()), ("y positions", y.len())])?;
        let at = |i: usize| self.bounds.clamp(i, T::cast(x[i]), T::cast(y[i]));
        let (x, y) = (parallel::map(bodies, |i| at(i).0), parallel::map(bodies, |i| at(i).1));
        self.ready = Ready::Nothing;
        self.descents().try_for_each(|descent| descent.start(&x, &y))?;
        self.ready = Ready::Started;
        Ok(())
    }

    fn evaluate(&mut self, weights: &Weights) -> Result<Sample, EngineError> {
        self.ready.require("a gradient", Ready::Started)?;
        self.ready = Ready::Started;
        let start = Instant::now();
        let sample = self.evaluated(|backend| {
            backend.send(weights, 0.0, 0.0)?;
            let place = PlacerCommand::Place(PointVector::Reference);
            backend.engine.enqueue_evaluation(place, false)?;
            // Plain launches take longer than graphs.
            backend.untimed = 0;
            backend.receive(start, true)
        })?;
        self.ready = Ready::Evaluated;
        Ok(sample)
    }

    fn propose(
        &mut self,
        step: f64,
        momentum: f64,
        weights: &Weights,
    ) -> Result<Sample, EngineError> {
        self.ready.require("a step", Ready::Evaluated)?;
        self.ready = Ready::Evaluated;
        let start = Instant::now();
        let sample = self.evaluated(|backend| {
            backend.send(weights, step, momentum)?;
            let has_marks = backend.enqueue_proposal()?;
            backend.receive(start, has_marks)
        })?;
        self.ready = Ready::Proposed;
        Ok(sample)
    }

    fn accept(&mut self) -> Result<(), EngineError> {
        self.ready.require("a step's acceptance", Ready::Proposed)?;
        self.descents().for_each(Descent::swap);
        self.ready = Ready::Evaluated;
        Ok(())
    }

    fn keep(&mut self) -> Result<(), EngineError> {
        self.ready.require("a placement to keep", Ready::Started)?;
        self.descents().for_each(Descent::keep);
        Ok(())
    }

    fn read(
        &mut self,
        vector: PointVector,
        x: &mut [f64],
        y: &mut [f64],
    ) -> Result<(), EngineError> {
        let bodies = self.charge().bodies();
        check_lengths(bodies, &[("x positions", x.len()), ("y positions", y.len())])?;
        self.ready.require_vector(vector)?;
        let mut values = vec![T::zero(); bodies];
        for (axis, to) in [x, y].into_iter().enumerate() {
            for (descent, _) in &self.engine.placer().ranks {
                let from = &descent.vector(vector)?[axis];
                for range in descent.share() {
                    from.gpu().read(from.slice(range.clone()), &mut values[range])?;
                }
            }
            let parts = (chunks_mut(to, WIDENED_AT_ONCE), chunks(&values, WIDENED_AT_ONCE));
            parallel::for_each(parts, |_, (to, values)| {
                to.iter_mut().zip(values).for_each(|(to, value)| *to = value.widen());
            });
        }
        Ok(())
    }

    fn write(&mut self, vector: PointVector, x: &[f64], y: &[f64]) -> Result<(), EngineError> {
        let bodies = self.charge().bodies();
        check_lengths(bodies, &[("x of a vector", x.len()), ("y of a vector", y.len())])?;
        let round = |from: &[f64]| from.iter().map(|&v| T::cast(v)).collect::<Vec<T>>();
        let (x, y) = (round(x), round(y));
        self.descents().try_for_each(|descent| descent.set_vector(vector, &x, &y))?;
        self.ready = self.ready.after_write(vector);
        Ok(())
    }

    fn read_map(&mut self, kind: MapKind, out: &mut Map<f64>) -> Result<(), EngineError> {
        check_bins([self.map.nx(), self.map.ny()], out)?;
        self.engine.read_map(kind, &mut self.map)?;
        let values = out.as_mut_slice().iter_mut().zip(self.map.as_slice());
        values.for_each(|(to, from)| *to = from.widen());
        Ok(())
    }

    fn exact_density(&mut self, vector: PointVector) -> Result<DensityStats, EngineError> {
        self.ready.require_vector(vector)?;
        self.engine.placer().ranks[0].0.vector(vector)?;
        self.engine.place(vector)?;
        self.engine.exact_density()
    }

    fn times(&self) -> StageSplit {
        self.times
    }
}
