//! A [`Backend`] whose vectors are in the host's memory, over any
//! [`Engine`].
//!
//! Parallel over the current rayon pool. Sums are over fixed blocks, added in
//! order in `f64`: with an engine that gives the same bits on every run, so
//! does this, for any number of threads.

use super::backend::{Backend, Held, Sample, StageSplit, Weights};
use super::bounds::Bounds;
use crate::charge::Charge;
use crate::cpu::wirelength::CpuWirelength;
use crate::engine::{Descriptor, Engine, EngineError, Evaluation, MapKind, check_lengths};
use crate::grid::Map;
use crate::real::Real;
use crate::wirelength::{Netlist, Wirelength};
use rayon::prelude::*;
use std::time::Instant;

/// Bodies that are one task and one partial sum.
const BLOCK: usize = 8192;

/// Wirelength, steps and norms on the CPU, density by an engine.
/// Nothing is allocated after creation but a few numbers per 8192 bodies.
pub struct HostBackend<T: Real> {
    engine: Box<dyn Engine<T>>,
    wirelength: CpuWirelength<T>,
    bounds: Bounds<T>,
    /// Σ net weights of each body's pins, and its area.
    preconditioner: Vec<(T, T)>,
    current: Point<T>,
    proposed: Point<T>,
    kept: Option<[Vec<T>; 2]>,
    wirelength_gradient: [Vec<T>; 2],
    force: [Vec<T>; 2],
    map: Map<T>,
    ready: Ready,
    times: StageSplit,
}

/// Both coordinates of u, v and g.
#[derive(Clone, Debug)]
struct Point<T> {
    u: [Vec<T>; 2],
    v: [Vec<T>; 2],
    g: [Vec<T>; 2],
}

/// What has been done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Ready {
    Nothing,
    Started,
    Evaluated,
    Proposed,
}

impl<T: Real> Point<T> {
    fn new(bodies: usize) -> Self {
        let zeros = || [vec![T::zero(); bodies], vec![T::zero(); bodies]];
        Point { u: zeros(), v: zeros(), g: zeros() }
    }
}

impl<T: Real> HostBackend<T> {
    /// Makes room for the bodies of `engine`'s charge, connected by `netlist`.
    ///
    /// # Errors
    /// When `netlist` has other movable cells than the charge.
    pub fn new(engine: Box<dyn Engine<T>>, netlist: &Netlist) -> Result<Self, EngineError> {
        let charge = engine.charge();
        check_lengths(charge.movable, &[("movable cells of the netlist", netlist.movable())])?;
        let bodies = charge.bodies();
        let mut pin_weights = netlist.pin_weights();
        pin_weights.resize(bodies, 0.0);
        let sizes = charge.width.iter().zip(&charge.height);
        let preconditioner =
            sizes.zip(pin_weights).map(|((w, h), pins)| (T::of(pins), T::of(w * h))).collect();
        let zeros = || [vec![T::zero(); bodies], vec![T::zero(); bodies]];
        Ok(HostBackend {
            wirelength: CpuWirelength::new(netlist),
            bounds: Bounds::of(charge),
            preconditioner,
            current: Point::new(bodies),
            proposed: Point::new(bodies),
            kept: None,
            wirelength_gradient: zeros(),
            force: zeros(),
            map: Map::filled(charge.grid.nx(), charge.grid.ny(), T::zero()),
            ready: Ready::Nothing,
            times: StageSplit::default(),
            engine,
        })
    }

    fn require(&self, stage: &'static str, at_least: Ready) -> Result<(), EngineError> {
        let needs = match at_least {
            ready if self.ready >= ready => return Ok(()),
            Ready::Nothing | Ready::Started => "the placer was given a start",
            Ready::Evaluated => "the start was evaluated",
            Ready::Proposed => "a step was proposed",
        };
        Err(EngineError::OutOfOrder { stage, needs })
    }

    /// Both gradients at v of `proposed`, and g there; to `compare`, how far that
    /// is from g of `current`.
    fn gradient_of_proposed(
        &mut self,
        weights: &Weights,
        moved_squared: f64,
        compare: bool,
    ) -> Result<Sample, EngineError> {
        let nan = Sample { hpwl: f64::NAN, gradient_squared: f64::NAN, ..Sample::default() };
        if !moved_squared.is_finite() {
            return Ok(nan);
        }
        let [x, y] = &self.proposed.v;
        let Evaluation { density, energy } = self.engine.evaluate(x, y)?;
        let stages = self.engine.times();
        let [fx, fy] = &mut self.force;
        self.engine.read_force(fx, fy)?;
        let start = Instant::now();
        let [gx, gy] = &mut self.wirelength_gradient;
        let Wirelength { hpwl, smooth } = self.wirelength.evaluate(x, y, weights.gamma, gx, gy);
        self.times.wirelength = milliseconds(start);
        self.times.density = stages.density;
        self.times.solve = stages.solve();
        self.times.force = stages.force;
        let [wirelength_norm, density_norm, gradient_squared, changed_squared] =
            self.combine(weights, compare);
        Ok(Sample {
            hpwl,
            wirelength: smooth,
            density,
            energy,
            wirelength_norm,
            density_norm,
            gradient_squared,
            moved_squared,
            changed_squared,
        })
    }

    /// g' of both gradients; Σ|∂WA|, Σ|force|, Σg'² and, to `compare`, Σ(g' − g)².
    fn combine(&mut self, weights: &Weights, compare: bool) -> [f64; 4] {
        let lambda = T::of(weights.lambda);
        let per_area = T::of(weights.lambda * weights.area_factor);
        let mut sums = [0.0; 4];
        for axis in 0..2 {
            let blocks: Vec<[f64; 4]> = (
                self.proposed.g[axis].par_chunks_mut(BLOCK),
                self.current.g[axis].par_chunks(BLOCK),
                self.wirelength_gradient[axis].par_chunks(BLOCK),
                self.force[axis].par_chunks(BLOCK),
                self.preconditioner.par_chunks(BLOCK),
            )
                .into_par_iter()
                .map(|(g, before, pull, push, sizes)| {
                    let mut sums = [0.0; 4];
                    for i in 0..g.len() {
                        let (pins, area) = sizes[i];
                        let scale = (pins + per_area * area).max(T::one());
                        g[i] = (pull[i] - lambda * push[i]) / scale;
                        let change = if compare { (g[i] - before[i]).wide() } else { 0.0 };
                        sums[0] += pull[i].wide().abs();
                        sums[1] += push[i].wide().abs();
                        sums[2] += g[i].wide() * g[i].wide();
                        sums[3] += change * change;
                    }
                    sums
                })
                .collect();
            add_up(&mut sums, &blocks);
        }
        sums
    }

    /// u' and v' of a step; Σ(v' − v)².
    fn walk(&mut self, step: T, momentum: T) -> f64 {
        let bounds = &self.bounds;
        let ([ux, uy], [vx, vy]) = (&mut self.proposed.u, &mut self.proposed.v);
        let next = (ux.par_chunks_mut(BLOCK), uy.par_chunks_mut(BLOCK))
            .into_par_iter()
            .zip((vx.par_chunks_mut(BLOCK), vy.par_chunks_mut(BLOCK)));
        let current = &self.current;
        let moved: Vec<f64> = next
            .enumerate()
            .map(|(b, ((ux, uy), (vx, vy)))| {
                let mut moved = 0.0;
                for k in 0..ux.len() {
                    let i = b * BLOCK + k;
                    let along = |axis: usize| {
                        let u = current.v[axis][i] - step * current.g[axis][i];
                        (u, u + momentum * (u - current.u[axis][i]))
                    };
                    let ((next_ux, x), (next_uy, y)) = (along(0), along(1));
                    (ux[k], uy[k]) = (next_ux, next_uy);
                    (vx[k], vy[k]) = bounds.clamp(i, x, y);
                    let dx = (vx[k] - current.v[0][i]).wide();
                    let dy = (vy[k] - current.v[1][i]).wide();
                    moved += dx * dx + dy * dy;
                }
                moved
            })
            .collect();
        moved.iter().sum()
    }

    fn finish(&mut self, start: Instant) {
        let staged = self.times.total() - self.times.other;
        self.times.other = (milliseconds(start) - staged).max(0.0);
    }
}

fn add_up(sums: &mut [f64; 4], blocks: &[[f64; 4]]) {
    for block in blocks {
        sums.iter_mut().zip(block).for_each(|(sum, part)| *sum += part);
    }
}

fn milliseconds(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1e3
}

impl<T: Real> Backend for HostBackend<T> {
    fn charge(&self) -> &Charge {
        self.engine.charge()
    }

    fn descriptor(&self) -> Descriptor {
        self.engine.descriptor()
    }

    fn start(&mut self, x: &[f64], y: &[f64]) -> Result<(), EngineError> {
        let bodies = self.charge().bodies();
        check_lengths(bodies, &[("x positions", x.len()), ("y positions", y.len())])?;
        for i in 0..bodies {
            let (x, y) = self.bounds.clamp(i, T::of(x[i]), T::of(y[i]));
            (self.current.v[0][i], self.current.v[1][i]) = (x, y);
            (self.current.u[0][i], self.current.u[1][i]) = (x, y);
        }
        self.ready = Ready::Started;
        Ok(())
    }

    fn evaluate(&mut self, weights: &Weights) -> Result<Sample, EngineError> {
        self.require("a gradient", Ready::Started)?;
        let start = Instant::now();
        // Evaluated as a proposal to stay, which is then made current.
        self.proposed.u.clone_from(&self.current.u);
        self.proposed.v.clone_from(&self.current.v);
        let sample = self.gradient_of_proposed(weights, 0.0, false)?;
        std::mem::swap(&mut self.current, &mut self.proposed);
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
        self.require("a step", Ready::Evaluated)?;
        let start = Instant::now();
        let moved_squared = self.walk(T::of(step), T::of(momentum));
        let sample = self.gradient_of_proposed(weights, moved_squared, true)?;
        self.ready = Ready::Proposed;
        self.finish(start);
        Ok(sample)
    }

    fn accept(&mut self) -> Result<(), EngineError> {
        self.require("a step's acceptance", Ready::Proposed)?;
        std::mem::swap(&mut self.current, &mut self.proposed);
        self.ready = Ready::Evaluated;
        Ok(())
    }

    fn keep(&mut self) -> Result<(), EngineError> {
        self.require("a placement to keep", Ready::Started)?;
        match &mut self.kept {
            Some(kept) => kept.clone_from(&self.current.v),
            None => self.kept = Some(self.current.v.clone()),
        }
        Ok(())
    }

    fn read_positions(
        &mut self,
        held: Held,
        x: &mut [f64],
        y: &mut [f64],
    ) -> Result<(), EngineError> {
        self.require("positions", Ready::Started)?;
        let from = match (held, &self.kept) {
            (Held::Current, _) => &self.current.v,
            (Held::Kept, Some(kept)) => kept,
            (Held::Kept, None) => {
                let (stage, needs) = ("the placement kept", "one was kept");
                return Err(EngineError::OutOfOrder { stage, needs });
            }
        };
        for (from, to) in from.iter().zip([x, y]) {
            check_lengths(from.len(), &[("positions", to.len())])?;
            to.iter_mut().zip(from).for_each(|(to, from)| *to = from.wide());
        }
        Ok(())
    }

    fn read_map(&mut self, kind: MapKind, out: &mut Map<f64>) -> Result<(), EngineError> {
        let (bins, found) = (self.map.as_slice().len(), out.as_slice().len());
        check_lengths(bins, &[("map", found)])?;
        self.engine.read_map(kind, &mut self.map)?;
        let values = out.as_mut_slice().iter_mut().zip(self.map.as_slice());
        values.for_each(|(to, from)| *to = from.wide());
        Ok(())
    }

    fn times(&self) -> StageSplit {
        self.times
    }
}
