//! Nesterov's accelerated descent on the host: its vectors and one step of them.
//!
//! With `a_0 = 1` and `a' = (1 + √(4a² + 1))/2`, from the reference point v:
//!
//! ```text
//! u' = v − α·g(v)        v' = u' + (a − 1)/a' · (u' − u)
//! ```
//!
//! (Lu et al., "ePlace", TODAES 2015, §5). The caller chooses α: the placer backtracks
//! ([`super::placer`]).
//!
//! ```
//! use placefield::place::nesterov::{Nesterov, momentum};
//!
//! // The least of (x − 3)² + (y + 1)² in a box from −5 to 2.
//! let clamp = |_: usize, x: f64, y: f64| (x.clamp(-5.0, 2.0), y.clamp(-5.0, 2.0));
//! let mut points = Nesterov::new(1);
//! points.start(&[-4.0], &[1.0], clamp);
//! let mut a = 1.0;
//! for _ in 0..50 {
//!     let [x, y] = points.current.v.each_ref().map(|v| v[0]);
//!     points.current.g = [vec![2.0 * (x - 3.0)], vec![2.0 * (y + 1.0)]];
//!     let (momentum, next) = momentum(a);
//!     points.walk(0.1, momentum, clamp);
//!     points.accept();
//!     a = next;
//! }
//! let [x, y] = points.current.v.each_ref().map(|v| v[0]);
//! assert!((x - 2.0).abs() < 1e-3 && (y + 1.0).abs() < 1e-3);
//! ```
//!
//! This code is parallel over the current rayon pool. Sums are over fixed blocks, added in order in
//! `f64`, so that they are bit-identical for any number of threads.

use crate::parallel::{self, chunks_mut};
use crate::real::Real;

/// Bodies that form one task and one partial sum.
pub(super) const BLOCK: usize = 8192;

/// One value per body and axis.
pub type Pair<T> = [Vec<T>; 2];

/// Both coordinates of u, v and g, one value per body each.
#[derive(Clone, Debug)]
pub struct Point<T> {
    /// Nesterov's other sequence.
    pub u: Pair<T>,
    /// The reference point.
    pub v: Pair<T>,
    /// The gradient at v, which the caller computes.
    pub g: Pair<T>,
}

/// The current point and the proposed one. After [`Nesterov::accept`] the latter is the previous
/// point.
#[derive(Clone, Debug)]
pub struct Nesterov<T> {
    /// The point from which the next step begins.
    pub current: Point<T>,
    /// The point that the last step led to; its gradient is still to be computed.
    pub proposed: Point<T>,
}

impl<T: Real> Nesterov<T> {
    /// Returns zeros for `bodies` bodies.
    pub fn new(bodies: usize) -> Self {
        let zeros = || [vec![T::zero(); bodies], vec![T::zero(); bodies]];
        let point = Point { u: zeros(), v: zeros(), g: zeros() };
        Nesterov { current: point.clone(), proposed: point }
    }

    /// Sets u = v = (x, y), with body i moved to the position that `clamp(i, x, y)` returns.
    ///
    /// # Panics
    /// If a slice has more values than there are bodies, or `y` fewer than `x`.
    pub fn start(&mut self, x: &[f64], y: &[f64], clamp: impl Fn(usize, T, T) -> (T, T)) {
        let Point { u, v, .. } = &mut self.current;
        for i in 0..x.len() {
            let (x, y) = clamp(i, T::cast(x[i]), T::cast(y[i]));
            (v[0][i], v[1][i]) = (x, y);
            (u[0][i], u[1][i]) = (x, y);
        }
    }

    /// Proposes the current point again.
    pub fn stay(&mut self) {
        self.proposed.u.clone_from(&self.current.u);
        self.proposed.v.clone_from(&self.current.v);
    }

    /// Makes the proposal current.
    pub fn accept(&mut self) {
        std::mem::swap(&mut self.current, &mut self.proposed);
    }

    /// Proposes u' = v − step · g and v' = clamp(u' + momentum (u' − u)). Returns Σ(v' − v)², which
    /// is NaN if u' has a value that is not finite.
    ///
    /// # Panics
    /// If a vector has fewer values than there are bodies.
    pub fn walk(
        &mut self,
        step: T,
        momentum: T,
        clamp: impl Fn(usize, T, T) -> (T, T) + Sync,
    ) -> f64 {
        let Nesterov { current, proposed } = self;
        let ([ux, uy], [vx, vy]) = (&mut proposed.u, &mut proposed.v);
        let blocks = (
            chunks_mut(ux, BLOCK),
            chunks_mut(uy, BLOCK),
            chunks_mut(vx, BLOCK),
            chunks_mut(vy, BLOCK),
        );
        let moved: Vec<f64> = parallel::map_items(blocks, |b, (ux, uy, vx, vy)| {
            let mut moved = 0.0;
            for k in 0..ux.len() {
                let i = b * BLOCK + k;
                let along = |axis: usize| {
                    let u = current.v[axis][i] - step * current.g[axis][i];
                    (u, u + momentum * (u - current.u[axis][i]))
                };
                let ((next_ux, x), (next_uy, y)) = (along(0), along(1));
                (ux[k], uy[k]) = (next_ux, next_uy);
                (vx[k], vy[k]) = clamp(i, x, y);
                let dx = (vx[k] - current.v[0][i]).widen();
                let dy = (vy[k] - current.v[1][i]).widen();
                moved += dx * dx + dy * dy;
                if !(ux[k].is_finite() && uy[k].is_finite()) {
                    moved = f64::NAN; // the clamp would hide it
                }
            }
            moved
        });
        moved.iter().sum()
    }
}

/// Returns the momentum (a − 1)/a' of a step from the coefficient `a`, and the next coefficient a'.
pub fn momentum(a: f64) -> (f64, f64) {
    let next = (1.0 + (4.0 * a * a + 1.0).sqrt()) / 2.0;
    ((a - 1.0) / next, next)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coefficients_follow_the_recurrence() {
        let golden = (1.0 + 5.0_f64.sqrt()) / 2.0;
        let (none, next) = momentum(1.0);
        assert!(none == 0.0 && (next - golden).abs() < 1e-15);
        let (some, next) = momentum(golden);
        assert!((next - 2.193527085331054).abs() < 1e-14);
        assert!((some - (golden - 1.0) / 2.193527085331054).abs() < 1e-15);
    }

    #[test]
    fn infinite_gradients_give_nan_steps() {
        let mut points = Nesterov::<f64>::new(2);
        points.start(&[1.0, 2.0], &[3.0, 4.0], |_, x, y| (x, y));
        points.current.g = [vec![1.0, f64::INFINITY], vec![0.0; 2]];
        let clamp = |_, x: f64, y: f64| (x.clamp(0.0, 9.0), y.clamp(0.0, 9.0));
        assert!(points.walk(0.5, 0.5, clamp).is_nan());
        assert_eq!(points.proposed.v, [[0.25, 0.0], [3.0, 4.0]]);
        points.current.g[0][1] = 2.0;
        assert_eq!(points.walk(0.5, 0.0, clamp), 0.25 + 1.0);
        points.accept();
        assert_eq!(points.current.v, [[0.5, 1.0], [3.0, 4.0]]);
    }
}
