//! The vectors of a descent on the host, and the operators on each body.
//!
//! This code is parallel over the current rayon pool. Sums are over fixed blocks, added in order in
//! `f64`, so that they are bit-identical for any number of threads.

use super::backend::{PointVector, Weights, pin_weights};
use super::bounds::Bounds;
use super::nesterov::{BLOCK, Nesterov, Pair};
use super::ready::NOTHING_KEPT;
use crate::charge::Charge;
use crate::engine::EngineError;
use crate::parallel::{self, chunks, chunks_mut};
use crate::real::Real;
use crate::wirelength::Netlist;

/// The location of the kept placement.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kept {
    Nowhere,
    /// The kept placement is v of the current point.
    Current,
    Aside,
}

/// The points of a descent, and the inputs of their gradients.
#[derive(Clone, Debug)]
pub(super) struct Vectors<T> {
    bounds: Bounds<T>,
    /// Σ net weights of each body's pins, and its area.
    preconditioner: Vec<(T, T)>,
    pub(super) points: Nesterov<T>,
    /// ∂WA at the point proposed.
    pub(super) pull: Pair<T>,
    kept: Kept,
    aside: Pair<T>,
}

/// Sums over all bodies and both axes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Norms {
    /// Σ |∂WA|.
    pub(super) pull: f64,
    /// Σ |force|.
    pub(super) push: f64,
    /// Σ g'².
    pub(super) gradient_squared: f64,
    /// Σ (g' − g)².
    pub(super) changed_squared: f64,
}

impl Norms {
    fn plus(self, other: Norms) -> Norms {
        Norms {
            pull: self.pull + other.pull,
            push: self.push + other.push,
            gradient_squared: self.gradient_squared + other.gradient_squared,
            changed_squared: self.changed_squared + other.changed_squared,
        }
    }
}

impl<T: Real> Vectors<T> {
    /// Returns zeros for every body of `charge`.
    pub(super) fn new(charge: &Charge, netlist: &Netlist) -> Self {
        let bodies = charge.bodies();
        let areas = charge.width().iter().zip(charge.height()).map(|(w, h)| w * h);
        let zeros = || [vec![T::zero(); bodies], vec![T::zero(); bodies]];
        let mut vectors = Vectors {
            bounds: Bounds::of(charge),
            preconditioner: areas.map(|area| (T::zero(), T::cast(area))).collect(),
            points: Nesterov::new(bodies),
            pull: zeros(),
            kept: Kept::Nowhere,
            aside: zeros(),
        };
        vectors.set_pin_weights(charge, netlist);
        vectors
    }

    /// Copies the net weights of the cells' pins.
    pub(super) fn set_pin_weights(&mut self, charge: &Charge, netlist: &Netlist) {
        let pins = self.preconditioner.iter_mut().zip(pin_weights(charge, netlist));
        pins.for_each(|((pins, _), weight)| *pins = weight);
    }

    /// Returns one of the vectors, or the kept placement.
    pub(super) fn vector(&self, vector: PointVector) -> Result<&Pair<T>, EngineError> {
        let current = &self.points.current;
        match (vector, self.kept) {
            (PointVector::Reference, _) | (PointVector::Best, Kept::Current) => Ok(&current.v),
            (PointVector::Solution, _) => Ok(&current.u),
            (PointVector::Gradient, _) => Ok(&current.g),
            (PointVector::Best, Kept::Aside) => Ok(&self.aside),
            (PointVector::Best, Kept::Nowhere) => Err(NOTHING_KEPT),
        }
    }

    /// Returns one of the vectors; the caller overwrites every value. The kept placement is not
    /// lost.
    pub(super) fn vector_mut(&mut self, vector: PointVector) -> &mut Pair<T> {
        match vector {
            PointVector::Reference => {
                self.leave_kept();
                &mut self.points.current.v
            }
            PointVector::Solution => &mut self.points.current.u,
            PointVector::Gradient => &mut self.points.current.g,
            PointVector::Best => {
                self.kept = Kept::Aside;
                &mut self.aside
            }
        }
    }

    /// Keeps v of the current point, which replaces the placement kept before. Nothing is copied.
    pub(super) fn keep(&mut self) {
        self.kept = Kept::Current;
    }

    /// Called before every value of v of the current point is overwritten: if v is the kept
    /// placement, it is swapped with the spare vector.
    fn leave_kept(&mut self) {
        if self.kept == Kept::Current {
            std::mem::swap(&mut self.aside, &mut self.points.current.v);
            self.kept = Kept::Aside;
        }
    }

    /// Makes the proposed point current. The next proposal overwrites the previous point.
    pub(super) fn accept(&mut self) {
        self.leave_kept();
        self.points.accept();
    }

    /// Sets u = v = (x, y), clamped into the die.
    pub(super) fn start(&mut self, x: &[f64], y: &[f64]) {
        self.leave_kept();
        self.points.start(x, y, |i, x, y| self.bounds.clamp(i, x, y));
    }

    /// Proposes a step, clamped into the die ([`Nesterov::walk`]).
    pub(super) fn walk(&mut self, step: T, momentum: T) -> f64 {
        self.points.walk(step, momentum, |i, x, y| self.bounds.clamp(i, x, y))
    }

    /// Computes g' = (pull − λ · push) / max(1, β pins + α λ area). `push` is the force, −∂density,
    /// x and y of every body.
    pub(super) fn combine(&mut self, weights: &Weights, push: [&[T]; 2]) -> Norms {
        let lambda = T::cast(weights.lambda);
        let per_pin = T::cast(weights.pin_factor);
        let per_area = T::cast(weights.lambda * weights.area_factor);
        let mut sum = Norms::default();
        for axis in 0..2 {
            let blocks = (
                chunks_mut(&mut self.points.proposed.g[axis], BLOCK),
                chunks(&self.points.current.g[axis], BLOCK),
                chunks(&self.pull[axis], BLOCK),
                chunks(push[axis], BLOCK),
                chunks(&self.preconditioner, BLOCK),
            );
            let blocks = parallel::map_items(blocks, |_, (g, before, pull, push, sizes)| {
                let mut norms = Norms::default();
                for i in 0..g.len() {
                    let (pins, area) = sizes[i];
                    let scale = (per_pin * pins + per_area * area).max(T::one());
                    g[i] = (pull[i] - lambda * push[i]) / scale;
                    let change = (g[i] - before[i]).widen();
                    norms.pull += pull[i].widen().abs();
                    norms.push += push[i].widen().abs();
                    norms.gradient_squared += g[i].widen() * g[i].widen();
                    norms.changed_squared += change * change;
                }
                norms
            });
            sum = blocks.into_iter().fold(sum, Norms::plus);
        }
        sum
    }
}
