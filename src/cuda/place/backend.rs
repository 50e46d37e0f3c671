//! A [`Backend`] that lives on an NVIDIA GPU.
//!
//! Positions, gradients and the kept placement stay in device memory; the host
//! sends nine numbers per evaluation and reads eleven, which is the only time
//! that it waits. A proposal is one captured graph: step, then wirelength beside density,
//! solve and force, then the gradient; which vectors take which part is among the numbers sent.
//!
//! Bodies stay in the caller's order, and the engine orders them by tile before a
//! step when enough of them are outside their halos. In slot order an H200 would save
//! some 0.1 of 0.8 ms per iteration at bigblue4's size (density and force without permutations)
//! and spend a part of that again: every pin would look up its body's slot, and
//! every new order, one in five iterations, would move ten more arrays.

use super::descent::{Descent, DescentBodies, DescentParameters, PointVector};
use super::wirelength::CudaWirelength;
use crate::charge::Charge;
use crate::cuda::device::{Branch, CudaError, CudaReal, DeviceVec, Gpu, Graph, Marks};
use crate::cuda::engine::CudaEngine;
use crate::engine::{
    Choice, DensityStats, Descriptor, Engine, EngineError, EngineOptions, MapKind, check_bins,
    check_lengths,
};
use crate::grid::Map;
use crate::place::bounds::Bounds;
use crate::place::ready::{NOTHING_KEPT, Ready};
use crate::place::{Backend, Held, Sample, StageSplit, Weights};
use crate::wirelength::Netlist;
use rayon::prelude::*;
use std::sync::Arc;
use std::time::Instant;

/// Marks before and behind the wirelength, then before the density, behind it, the solve and the force.
const MARKS: usize = 6;

/// Wirelength, density, steps and norms on a device.
pub struct CudaBackend<T: CudaReal> {
    // Graphs hold addresses of what the others own, so they are dropped first.
    proposal: Option<Graph>,
    work: Work<T>,
    bounds: Bounds<T>,
    fixed_hpwl: f64,
    most_pull: f64,
    map: Map<T>,
    ready: Ready,
    times: StageSplit,
}

/// What a backend has besides its engine.
struct Rest<T: CudaReal> {
    bounds: Bounds<T>,
    descent: Descent<T>,
    wirelength: CudaWirelength<T>,
}

impl<T: CudaReal> Rest<T> {
    fn new(gpu: &Gpu, charge: &Charge, netlist: &Netlist) -> Result<Self, EngineError> {
        check_lengths(charge.movable(), &[("movable cells of the netlist", netlist.movable())])?;
        let bounds = Bounds::of(charge);
        let sizes = charge.width().par_iter().zip(charge.height());
        let area: Vec<T> = sizes.map(|(w, h)| T::of(w * h)).collect();
        let pin_weight: Vec<T> = netlist.pin_weights().into_iter().map(T::of).collect();
        let bodies = DescentBodies {
            low: [bounds.low_x, bounds.low_y],
            high_x: &bounds.high_x,
            high_y: &bounds.high_y,
            area: &area,
            pin_weight: &pin_weight,
        };
        let descent = Descent::new(gpu, &bodies)?;
        let wirelength = CudaWirelength::new(gpu, netlist, charge.bodies())?;
        Ok(Rest { bounds, descent, wirelength })
    }
}

/// What an evaluation is made of.
struct Work<T: CudaReal> {
    descent: Descent<T>,
    wirelength: CudaWirelength<T>,
    /// The wirelength's, beside the engine's stages. In one after the other an iteration took 9 % longer
    /// at adaptec1's size on an H200, 5 % at bigblue3's, and the same at bigblue4's, where each of them
    /// keeps the device busy.
    branch: Branch,
    marks: Marks,
    engine: CudaEngine<T>,
}

impl<T: CudaReal> Work<T> {
    /// Enqueues the gradient where the engine's positions are, at v of the current point or of
    /// the one that the last step `proposed`.
    fn gradient(&mut self, proposed: bool) -> Result<(), EngineError> {
        let Work { descent, wirelength, branch, marks, engine } = self;
        let aside = |engine: &mut CudaEngine<T>| {
            marks.set(0)?;
            wirelength.run(descent.gamma(), engine.positions_device())?;
            Ok::<_, EngineError>(marks.set(1)?)
        };
        let ahead = |engine: &mut CudaEngine<T>| {
            let mut mark = 2;
            marks.set(mark)?;
            engine.enqueue_stages(|| {
                mark += 1;
                marks.set(mark)
            })
        };
        // SAFETY: both read the engine's positions and write arrays of their own.
        unsafe { branch.side_by_side(engine, aside, ahead) }?;
        let (force, evaluation) = (engine.force_device()?, engine.evaluation_device());
        Ok(descent.gradient(proposed, wirelength, force, evaluation)?)
    }

    /// One of the vectors, where all that is `ready` has been done.
    fn held(
        descent: &Descent<T>,
        ready: Ready,
        held: Held,
    ) -> Result<&[DeviceVec<T>; 2], EngineError> {
        ready.require_vector(held)?;
        match vector(held) {
            Some(which) => Ok(descent.vector(which)),
            None => descent.kept().ok_or(NOTHING_KEPT),
        }
    }

    /// Enqueues a step from the current point and the gradient where it leads.
    fn proposal(&mut self) -> Result<(), EngineError> {
        self.descent.step(self.engine.positions_device_mut())?;
        self.gradient(true)
    }
}

impl<T: CudaReal> CudaBackend<T> {
    /// Places the bodies of `engine`'s charge, connected by `netlist`, on its device.
    ///
    /// # Errors
    /// When `netlist` has other movable cells than the charge, kernels cannot be
    /// compiled, or device memory does not suffice.
    pub fn new(engine: CudaEngine<T>, netlist: &Netlist) -> Result<Self, EngineError> {
        let rest = Rest::new(engine.gpu(), engine.charge(), netlist)?;
        CudaBackend::of(engine, rest, netlist)
    }

    /// As [`CudaBackend::new`], with an engine of its own ([`CudaEngine::on`]) that is made at the same time.
    ///
    /// # Errors
    /// As [`CudaBackend::new`] and [`CudaEngine::on`].
    pub fn on(
        gpu: &Gpu,
        charge: Arc<Charge>,
        options: &EngineOptions,
        netlist: &Netlist,
    ) -> Result<Self, EngineError> {
        let (rest, engine) = gpu.side_by_side(
            || Rest::new(gpu, &charge, netlist),
            || CudaEngine::on(gpu, charge.clone(), options),
        );
        CudaBackend::of(engine?, rest?, netlist)
    }

    fn of(engine: CudaEngine<T>, rest: Rest<T>, netlist: &Netlist) -> Result<Self, EngineError> {
        let (charge, gpu) = (engine.charge(), engine.gpu());
        let Rest { bounds, descent, wirelength } = rest;
        Ok(CudaBackend {
            proposal: None,
            fixed_hpwl: netlist.fixed_hpwl(),
            most_pull: netlist.most_pull(),
            map: Map::filled(charge.stacked_bins()[0], charge.stacked_bins()[1], T::zero()),
            ready: Ready::Nothing,
            times: StageSplit::default(),
            work: Work {
                descent,
                wirelength,
                branch: Branch::new(gpu)?,
                marks: Marks::new(gpu, MARKS)?,
                engine,
            },
            bounds,
        })
    }

    /// Loads what a backend and its engine run on `gpu` but the solve, compiled at the same time where
    /// that was not done before: the first backend made there then finds it loaded.
    ///
    /// # Errors
    /// When kernels cannot be compiled or loaded.
    pub fn load_kernels(gpu: &Gpu) -> Result<(), CudaError> {
        let units = ["order", "density", "force", "wirelength", "descent"];
        gpu.prepare::<T>(&units.map(|unit| (unit, &[][..]))).map(drop)
    }

    /// The engine that it evaluates by.
    pub fn engine(&self) -> &CudaEngine<T> {
        &self.work.engine
    }

    fn send(&mut self, weights: &Weights, step: f64, momentum: f64) -> Result<(), EngineError> {
        let Weights { gamma, lambda, pin_factor, area_factor } = *weights;
        let parameters =
            DescentParameters { gamma, lambda, pin_factor, area_factor, step, momentum };
        Ok(self.work.descent.send(&parameters)?)
    }

    /// Enqueues a proposal: the first one as plain launches,
    /// which load what a capture could not, then as a graph.
    fn enqueue_proposal(&mut self) -> Result<(), EngineError> {
        let work = &mut self.work;
        if let Some(graph) = &mut self.proposal {
            return work.engine.replay(graph);
        }
        work.proposal()?;
        work.engine.order_if_due()?;
        let gpu = work.engine.gpu().clone();
        // SAFETY: the graph is kept beside `work`, whose device memory stays
        // where it is until it is dropped, and is dropped before it; all work of
        // this backend goes to the one stream of its engine. Nothing is ordered
        // during capture, for that was just done if it was due.
        let graph = unsafe { Graph::capture(&gpu, || work.proposal().map_err(Captured)) };
        self.proposal = Some(graph.map_err(|Captured(error)| error)?);
        Ok(())
    }

    /// Waits for an evaluation begun at `start` and reads its numbers.
    fn receive(&mut self, start: Instant) -> Result<Sample, EngineError> {
        let found = self.work.descent.receive()?;
        let evaluation = self.work.engine.take_evaluation(found.statistics, found.energy)?;
        let between = |k, l| self.work.marks.ms_between(k, l);
        let staged = [between(0, 1)?, between(2, 3)?, between(3, 4)?, between(4, 5)?];
        // What ran at the same time has a share of the time that passed.
        let passed = between(0, 1)?.max(between(0, 5)?);
        let share = passed / staged.iter().sum::<f64>().max(f64::MIN_POSITIVE);
        let [wirelength, density, solve, force] = staged.map(|ms| ms * share);
        let other = (start.elapsed().as_secs_f64() * 1e3 - passed).max(0.0);
        self.times = StageSplit { wirelength, density, solve, force, other };
        Ok(Sample {
            hpwl: self.fixed_hpwl + found.hpwl,
            wirelength: found.wirelength,
            density: evaluation.density,
            energy: evaluation.energy,
            wirelength_norm: found.wirelength_norm,
            density_norm: found.force_norm,
            gradient_squared: found.gradient_squared,
            moved_squared: found.moved_squared,
            changed_squared: found.changed_squared,
        })
    }
}

/// What stops a capture: the device's refusal, or that of what is captured.
struct Captured(EngineError);

impl From<CudaError> for Captured {
    fn from(error: CudaError) -> Self {
        Captured(error.into())
    }
}

/// Which of the current point's vectors is meant; none for the placement kept.
fn vector(held: Held) -> Option<PointVector> {
    match held {
        Held::Current => Some(PointVector::V),
        Held::Sequence => Some(PointVector::U),
        Held::Gradient => Some(PointVector::G),
        Held::Kept => None,
    }
}

impl<T: CudaReal> Backend for CudaBackend<T> {
    fn charge(&self) -> &Charge {
        self.work.engine.charge()
    }

    fn most_pull(&self) -> f64 {
        self.most_pull
    }

    fn descriptor(&self) -> Descriptor {
        self.work.engine.descriptor()
    }

    fn choice(&self) -> Choice {
        self.work.engine.choice().clone()
    }

    fn start(&mut self, x: &[f64], y: &[f64]) -> Result<(), EngineError> {
        let bodies = self.charge().bodies();
        check_lengths(bodies, &[("x positions", x.len()), ("y positions", y.len())])?;
        let at = |i: usize| self.bounds.clamp(i, T::of(x[i]), T::of(y[i]));
        let (x, y): (Vec<T>, Vec<T>) = (0..bodies).into_par_iter().map(at).unzip();
        self.work.descent.start(&x, &y)?;
        self.ready = Ready::Started;
        Ok(())
    }

    fn evaluate(&mut self, weights: &Weights) -> Result<Sample, EngineError> {
        self.ready.require("a gradient", Ready::Started)?;
        let start = Instant::now();
        self.send(weights, 0.0, 0.0)?;
        let Work { descent, engine, .. } = &mut self.work;
        let [x, y] = descent.vector(PointVector::V);
        engine.set_positions_device(x, y)?;
        self.work.gradient(false)?;
        let sample = self.receive(start)?;
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
        let start = Instant::now();
        self.send(weights, step, momentum)?;
        self.enqueue_proposal()?;
        let sample = self.receive(start)?;
        self.ready = Ready::Proposed;
        Ok(sample)
    }

    fn accept(&mut self) -> Result<(), EngineError> {
        self.ready.require("a step's acceptance", Ready::Proposed)?;
        self.work.descent.swap();
        self.ready = Ready::Evaluated;
        Ok(())
    }

    fn keep(&mut self) -> Result<(), EngineError> {
        self.ready.require("a placement to keep", Ready::Started)?;
        self.work.descent.keep();
        Ok(())
    }

    fn read(&mut self, held: Held, x: &mut [f64], y: &mut [f64]) -> Result<(), EngineError> {
        let bodies = self.charge().bodies();
        check_lengths(bodies, &[("x positions", x.len()), ("y positions", y.len())])?;
        let mut values = vec![T::zero(); bodies];
        let Work { descent, engine, .. } = &self.work;
        for (from, to) in Work::held(descent, self.ready, held)?.iter().zip([x, y]) {
            engine.gpu().read(from, &mut values)?;
            to.par_iter_mut().zip(&values).for_each(|(to, value)| *to = value.wide());
        }
        Ok(())
    }

    fn write(&mut self, held: Held, x: &[f64], y: &[f64]) -> Result<(), EngineError> {
        let bodies = self.charge().bodies();
        check_lengths(bodies, &[("x of a vector", x.len()), ("y of a vector", y.len())])?;
        let round = |from: &[f64]| from.iter().map(|&v| T::of(v)).collect::<Vec<T>>();
        let (x, y) = (round(x), round(y));
        let descent = &mut self.work.descent;
        match vector(held) {
            Some(which) => descent.set_vector(which, &x, &y)?,
            None => descent.set_kept(&x, &y)?,
        }
        self.ready = self.ready.after_write(held);
        Ok(())
    }

    fn read_map(&mut self, kind: MapKind, out: &mut Map<f64>) -> Result<(), EngineError> {
        check_bins([self.map.nx(), self.map.ny()], out)?;
        self.work.engine.read_map(kind, &mut self.map)?;
        let values = out.as_mut_slice().iter_mut().zip(self.map.as_slice());
        values.for_each(|(to, from)| *to = from.wide());
        Ok(())
    }

    fn exact_density(&mut self, held: Held) -> Result<DensityStats, EngineError> {
        let Work { descent, engine, .. } = &mut self.work;
        let [x, y] = Work::<T>::held(descent, self.ready, held)?;
        engine.set_positions_device(x, y)?;
        engine.exact_density()
    }

    fn times(&self) -> StageSplit {
        self.times
    }
}
