//! The vectors of a descent on the host, and what is done with each body.
//!
//! Parallel over the current rayon pool; sums are over fixed blocks, added in
//! order in `f64`, so that they are the same bits for any number of threads.

use super::backend::Weights;
use super::bounds::Bounds;
use crate::charge::Charge;
use crate::real::Real;
use crate::wirelength::Netlist;
use rayon::prelude::*;

/// Bodies that are one task and one partial sum.
const BLOCK: usize = 8192;

/// One value per body and axis.
pub(super) type Pair<T> = [Vec<T>; 2];

/// Both coordinates of u, v and g.
#[derive(Clone, Debug)]
pub(super) struct Point<T> {
    pub(super) u: Pair<T>,
    pub(super) v: Pair<T>,
    pub(super) g: Pair<T>,
}

/// The point at hand, the one proposed, and what their gradients are made of.
#[derive(Clone, Debug)]
pub(super) struct Vectors<T> {
    bounds: Bounds<T>,
    /// Σ net weights of each body's pins, and its area.
    preconditioner: Vec<(T, T)>,
    pub(super) current: Point<T>,
    pub(super) proposed: Point<T>,
    /// ∂WA at the point proposed.
    pub(super) pull: Pair<T>,
    /// Force, −∂density, at the point proposed.
    pub(super) push: Pair<T>,
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
    /// Zeros for every body of `charge`.
    pub(super) fn new(charge: &Charge, netlist: &Netlist) -> Self {
        let bodies = charge.bodies();
        let mut pins = netlist.pin_weights();
        pins.resize(bodies, 0.0);
        let areas = charge.width().iter().zip(charge.height()).map(|(w, h)| w * h);
        let zeros = || [vec![T::zero(); bodies], vec![T::zero(); bodies]];
        let point = Point { u: zeros(), v: zeros(), g: zeros() };
        Vectors {
            bounds: Bounds::of(charge),
            preconditioner: pins.iter().zip(areas).map(|(&p, a)| (T::of(p), T::of(a))).collect(),
            current: point.clone(),
            proposed: point,
            pull: zeros(),
            push: zeros(),
        }
    }

    /// u = v = (x, y), kept inside the die.
    pub(super) fn start(&mut self, x: &[f64], y: &[f64]) {
        let Point { u, v, .. } = &mut self.current;
        for i in 0..x.len() {
            let (x, y) = self.bounds.clamp(i, T::of(x[i]), T::of(y[i]));
            (v[0][i], v[1][i]) = (x, y);
            (u[0][i], u[1][i]) = (x, y);
        }
    }

    /// Proposes to stay.
    pub(super) fn stay(&mut self) {
        self.proposed.u.clone_from(&self.current.u);
        self.proposed.v.clone_from(&self.current.v);
    }

    /// Makes the proposal current.
    pub(super) fn accept(&mut self) {
        std::mem::swap(&mut self.current, &mut self.proposed);
    }

    /// Proposes u' = v − step · g and v' = clamp(u' + momentum (u' − u));
    /// returns Σ(v' − v)², which is no number where u' has one that is not finite.
    pub(super) fn walk(&mut self, step: T, momentum: T) -> f64 {
        let Vectors { bounds, current, proposed, .. } = self;
        let ([ux, uy], [vx, vy]) = (&mut proposed.u, &mut proposed.v);
        let u = ux.par_chunks_mut(BLOCK).zip(uy.par_chunks_mut(BLOCK));
        let v = vx.par_chunks_mut(BLOCK).zip(vy.par_chunks_mut(BLOCK));
        let moved: Vec<f64> = u
            .zip(v)
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
                    if !(ux[k].is_finite() && uy[k].is_finite()) {
                        moved = f64::NAN; // the clamp would hide it
                    }
                }
                moved
            })
            .collect();
        moved.iter().sum()
    }

    /// g' = (pull − λ · push) / max(1, pins + α λ area).
    pub(super) fn combine(&mut self, weights: &Weights) -> Norms {
        let lambda = T::of(weights.lambda);
        let per_area = T::of(weights.lambda * weights.area_factor);
        let mut sum = Norms::default();
        for axis in 0..2 {
            let blocks: Vec<Norms> = (
                self.proposed.g[axis].par_chunks_mut(BLOCK),
                self.current.g[axis].par_chunks(BLOCK),
                self.pull[axis].par_chunks(BLOCK),
                self.push[axis].par_chunks(BLOCK),
                self.preconditioner.par_chunks(BLOCK),
            )
                .into_par_iter()
                .map(|(g, before, pull, push, sizes)| {
                    let mut norms = Norms::default();
                    for i in 0..g.len() {
                        let (pins, area) = sizes[i];
                        let scale = (pins + per_area * area).max(T::one());
                        g[i] = (pull[i] - lambda * push[i]) / scale;
                        let change = (g[i] - before[i]).wide();
                        norms.pull += pull[i].wide().abs();
                        norms.push += push[i].wide().abs();
                        norms.gradient_squared += g[i].wide() * g[i].wide();
                        norms.changed_squared += change * change;
                    }
                    norms
                })
                .collect();
            sum = blocks.into_iter().fold(sum, Norms::plus);
        }
        sum
    }
}
