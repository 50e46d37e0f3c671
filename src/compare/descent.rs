//! The descent that spreads the cells of a comparison: Nesterov's
//! ([`crate::place::nesterov`]) with a step length from the last two gradients.
//!
//! The step α is Barzilai and Borwein's, `s·y / y·y` with `s` and `y` the changes of v and of its
//! gradient, where that is positive, and otherwise the inverse Lipschitz estimate `‖s‖/‖y‖`, at
//! most the step before (Lu et al., "ePlace", §5; Lin et al., "DREAMPlace", §III-C).

use crate::parallel;
use crate::place::nesterov::{Nesterov, Pair, Point, momentum};

/// Unknowns a thread takes at a time.
const CHUNK: usize = 1 << 16;

/// The state of a descent. Calls allocate only a few numbers per 65536 bodies.
#[derive(Clone, Debug)]
pub(super) struct Descent {
    points: Nesterov<f64>,
    coefficient: f64,
    step: Option<f64>,
}

impl Descent {
    /// Starts at `x`, `y`.
    pub(super) fn new(x: &[f64], y: &[f64]) -> Self {
        let mut points = Nesterov::new(x.len());
        points.start(x, y, |_, x, y| (x, y));
        Descent { points, coefficient: 1.0, step: None }
    }

    /// Returns the point whose gradient the next step needs, x and y.
    pub(super) fn point(&self) -> (&[f64], &[f64]) {
        let [x, y] = &self.points.current.v;
        (x, y)
    }

    /// Returns the gradient there, to be set before [`Descent::advance`].
    pub(super) fn gradient(&mut self) -> &mut Pair<f64> {
        &mut self.points.current.g
    }

    /// Takes one step and returns its length α.
    ///
    /// `first_move` is how far the root mean square unknown goes in the first step, before there
    /// are two gradients; `clamp(i, x, y)` keeps body `i` where it may be.
    pub(super) fn advance(
        &mut self,
        first_move: f64,
        clamp: impl Fn(usize, f64, f64) -> (f64, f64) + Sync,
    ) -> f64 {
        let step = match self.step {
            None => {
                let [gx, gy] = &self.points.current.g;
                let squares = gx.iter().chain(gy).map(|g| g * g).sum::<f64>();
                let mean_square = squares / (2 * gx.len()).max(1) as f64;
                if mean_square > 0.0 { first_move / mean_square.sqrt() } else { 0.0 }
            }
            Some(previous) => self.learned_step(previous),
        };
        let (momentum, next) = momentum(self.coefficient);
        self.points.walk(step, momentum, clamp);
        self.points.accept();
        self.coefficient = next;
        self.step = Some(step);
        step
    }

    fn learned_step(&self, previous: f64) -> f64 {
        let Nesterov { current, proposed: before } = &self.points;
        let unknowns = 2 * current.v[0].len();
        let changes = |at: &Point<f64>, before: &Point<f64>, i: usize| {
            let bodies = at.v[0].len();
            let (axis, i) = if i < bodies { (0, i) } else { (1, i - bodies) };
            (at.v[axis][i] - before.v[axis][i], at.g[axis][i] - before.g[axis][i])
        };
        // Chunks in parallel, their sums in order: the same bits for any number of threads.
        let sums = parallel::map_blocks(unknowns, CHUNK, |chunk| {
            let mut sums = [0.0; 3];
            for i in chunk {
                let (s, y) = changes(current, before, i);
                sums = [sums[0] + s * s, sums[1] + s * y, sums[2] + y * y];
            }
            sums
        });
        let [ss, sy, yy] = sums
            .iter()
            .fold([0.0; 3], |sum, part| [sum[0] + part[0], sum[1] + part[1], sum[2] + part[2]]);
        if yy > 0.0 && sy > 0.0 {
            sy / yy
        } else if yy > 0.0 {
            (ss / yy).sqrt().min(previous)
        } else {
            previous
        }
    }
}

#[cfg(test)]
mod tests;
