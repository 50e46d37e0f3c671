//! A [`Backend`] on the CPU: vectors in the host's memory, with a [`CpuEngine`].
//!
//! An evaluation runs entirely on the engine's threads. A second thread pool would occupy cores
//! while it looks for work, and on a small design a change of threads costs more than the stages.
//! The result is bit-identical on every run, for any number of threads.

use super::backend::{Backend, PointVector, Sample, StageSplit, Weights};
use super::ready::Ready;
use super::term::Term;
use super::vectors::Vectors;
use crate::charge::Charge;
use crate::cpu::engine::{CpuEngine, milliseconds};
use crate::cpu::wirelength::CpuWirelength;
use crate::engine::{
    Choice, DensityStats, Descriptor, Engine, EngineError, Evaluation, MapKind, Progress, Timed,
    check_bins, check_lengths,
};
use crate::grid::Map;
use crate::real::Real;
use crate::wirelength::{Netlist, Wirelength};
use std::time::Instant;

/// Wirelength, steps and norms, with the density of an engine. After creation it allocates only a
/// few numbers per 8192 bodies.
pub struct HostBackend<T: Real> {
    engine: CpuEngine<T>,
    wirelength: CpuWirelength<T>,
    netlist: Netlist,
    vectors: Vectors<T>,
    terms: Vec<Box<dyn Term<T>>>,
    map: Map<T>,
    ready: Ready,
    times: StageSplit,
}

impl<T: Real> HostBackend<T> {
    /// Places the bodies of `engine`'s charge, connected by `netlist`.
    ///
    /// # Errors
    /// If `netlist` has other movable cells than the charge.
    pub fn new(engine: CpuEngine<T>, netlist: &Netlist) -> Result<Self, EngineError> {
        let charge = engine.charge();
        check_lengths(charge.movable(), &[("movable cells of the netlist", netlist.movable())])?;
        Ok(HostBackend {
            wirelength: CpuWirelength::new(netlist, charge.origin()),
            netlist: netlist.clone(),
            vectors: Vectors::new(charge, netlist),
            terms: Vec::new(),
            map: Map::filled(charge.stacked_bins()[0], charge.stacked_bins()[1], T::zero()),
            ready: Ready::Nothing,
            times: StageSplit::default(),
            engine,
        })
    }

    /// Adds a term to the objective, before the placement begins.
    pub fn add_term(&mut self, term: impl Term<T> + 'static) {
        self.terms.push(Box::new(term));
    }

    /// Computes both gradients at v of the proposal, and g there.
    fn gradient_of_proposed(
        &mut self,
        weights: &Weights,
        moved_squared: f64,
    ) -> Result<Sample, EngineError> {
        if !moved_squared.is_finite() {
            let nan = f64::NAN;
            return Ok(Sample { hpwl: nan, gradient_squared: nan, ..Sample::default() });
        }
        let Vectors { points, pull, .. } = &mut self.vectors;
        let [x, y] = &points.proposed.v;
        let Evaluation { density, energy, .. } = self.engine.evaluate(x, y)?;
        let stages = self.engine.times();
        let start = Instant::now();
        let [pull_x, pull_y] = pull;
        let (operator, gamma) = (&mut self.wirelength, weights.gamma);
        let Wirelength { hpwl, smooth } = operator.evaluate(x, y, gamma, pull_x, pull_y)?;
        let cells = ..self.netlist.movable();
        let mut terms = 0.0;
        for term in &mut self.terms {
            terms += term.add(&x[cells], &y[cells], [&mut pull_x[cells], &mut pull_y[cells]]);
        }
        self.times.wirelength = milliseconds(start);
        self.times.density = stages.density;
        self.times.solve = stages.solve();
        self.times.force = stages.force;

        let vectors = &mut self.vectors;
        let start = Instant::now();
        let norms = vectors.combine(weights, self.engine.force()?.into());
        self.times.gradient = milliseconds(start);
        Ok(Sample {
            hpwl,
            wirelength: smooth,
            terms,
            density,
            energy,
            wirelength_norm: norms.pull,
            density_norm: norms.push,
            gradient_squared: norms.gradient_squared,
            moved_squared,
            changed_squared: norms.changed_squared,
        })
    }

    fn finish(&mut self, start: Instant) {
        self.times = self.times.within(milliseconds(start));
    }
}

impl<T: Real> Backend for HostBackend<T> {
    fn charge(&self) -> &Charge {
        self.engine.charge()
    }

    fn netlist(&self) -> &Netlist {
        &self.netlist
    }

    fn set_net_weights(&mut self, weights: &[f64]) -> Result<(), EngineError> {
        self.netlist.set_weights(weights)?;
        self.wirelength.set_weights(&self.netlist)?;
        self.vectors.set_pin_weights(self.engine.charge(), &self.netlist);
        self.ready = self.ready.min(Ready::Started);
        Ok(())
    }

    fn descriptor(&self) -> Descriptor {
        self.engine.descriptor()
    }

    fn choice(&self) -> Choice {
        self.engine.choice().clone()
    }

    fn start(&mut self, x: &[f64], y: &[f64]) -> Result<(), EngineError> {
        let lengths = [("x positions", x.len()), ("y positions", y.len())];
        check_lengths(self.charge().bodies(), &lengths)?;
        self.vectors.start(x, y);
        self.ready = Ready::Started;
        Ok(())
    }

    fn evaluate(&mut self, weights: &Weights) -> Result<Sample, EngineError> {
        self.ready.require("a gradient", Ready::Started)?;
        self.ready = Ready::Started;
        let start = Instant::now();
        // The current point is evaluated as a proposal, which then becomes current.
        self.vectors.points.stay();
        self.times.step = 0.0;
        let sample = self.engine.pool().install(|| self.gradient_of_proposed(weights, 0.0))?;
        let sample = Sample { changed_squared: 0.0, ..sample };
        self.vectors.accept();
        self.ready = Ready::Evaluated;
        self.finish(start);
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
        let sample = self.engine.pool().install(|| {
            let moved_squared = self.vectors.walk(T::cast(step), T::cast(momentum));
            self.times.step = milliseconds(start);
            self.gradient_of_proposed(weights, moved_squared)
        })?;
        self.ready = Ready::Proposed;
        self.finish(start);
        Ok(sample)
    }

    fn accept(&mut self) -> Result<(), EngineError> {
        self.ready.require("a step's acceptance", Ready::Proposed)?;
        self.vectors.accept();
        self.ready = Ready::Evaluated;
        Ok(())
    }

    fn keep(&mut self) -> Result<(), EngineError> {
        self.ready.require("a placement to keep", Ready::Started)?;
        self.vectors.keep();
        Ok(())
    }

    fn read(
        &mut self,
        vector: PointVector,
        x: &mut [f64],
        y: &mut [f64],
    ) -> Result<(), EngineError> {
        self.ready.require_vector(vector)?;
        let pair = self.vectors.vector(vector)?;
        for (from, to) in pair.iter().zip([x, y]) {
            check_lengths(from.len(), &[("positions", to.len())])?;
            to.iter_mut().zip(from).for_each(|(to, from)| *to = from.widen());
        }
        Ok(())
    }

    fn write(&mut self, vector: PointVector, x: &[f64], y: &[f64]) -> Result<(), EngineError> {
        let lengths = [("x of a vector", x.len()), ("y of a vector", y.len())];
        check_lengths(self.charge().bodies(), &lengths)?;
        let to = self.vectors.vector_mut(vector);
        for (from, to) in [x, y].into_iter().zip(to) {
            to.iter_mut().zip(from).for_each(|(to, from)| *to = T::cast(*from));
        }
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
        let [x, y] = self.vectors.vector(vector)?;
        self.engine.set_positions(x, y)?;
        self.engine.exact_density()
    }

    fn times(&self) -> StageSplit {
        self.times
    }
}
