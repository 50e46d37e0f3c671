//! Nesterov's accelerated descent with a step length from the last two gradients.
//!
//! With `a_0 = 1` and `a' = (1 + √(4a² + 1))/2`, from the reference point v:
//!
//! ```text
//! u' = v − α·g(v)        v' = u' + (a − 1)/a' · (u' − u)
//! ```
//!
//! The step α is Barzilai and Borwein's, `s·y / y·y` with `s` and `y` the
//! changes of v and of its gradient, where that is positive, and otherwise the
//! inverse Lipschitz estimate `‖s‖/‖y‖`, at most the step before (Lu et al.,
//! "ePlace", §5; Lin et al., "DREAMPlace", §III-C).

use rayon::prelude::*;

/// Unknowns a thread takes at a time.
const CHUNK: usize = 1 << 16;

/// The state of a descent in `n` unknowns. No call allocates memory that grows
/// with them but for a few numbers per 65536.
#[derive(Clone, Debug)]
pub struct Nesterov {
    a: f64,
    step: Option<f64>,
    u: Vec<f64>,
    v: Vec<f64>,
    previous_v: Vec<f64>,
    previous_gradient: Vec<f64>,
}

impl Nesterov {
    /// Starts at `v`.
    pub fn new(v: Vec<f64>) -> Self {
        Nesterov {
            a: 1.0,
            step: None,
            u: v.clone(),
            previous_v: v.clone(),
            previous_gradient: vec![0.0; v.len()],
            v,
        }
    }

    /// The point whose gradient the next step wants.
    pub fn point(&self) -> &[f64] {
        &self.v
    }

    /// Takes one step and returns its length α.
    ///
    /// `first_move` is how far the root mean square unknown goes in the first
    /// step, before there are two gradients to learn from; `clamp(i, value)`
    /// keeps unknown `i` where it may be.
    ///
    /// # Panics
    /// When `gradient` is not of the length of the starting point.
    pub fn advance(
        &mut self,
        gradient: &[f64],
        first_move: f64,
        clamp: impl Fn(usize, f64) -> f64 + Sync,
    ) -> f64 {
        assert_eq!(gradient.len(), self.v.len(), "the gradient's length");
        let step = match self.step {
            None => {
                let mean_square =
                    gradient.iter().map(|g| g * g).sum::<f64>() / gradient.len().max(1) as f64;
                if mean_square > 0.0 { first_move / mean_square.sqrt() } else { 0.0 }
            }
            Some(previous) => self.learned_step(gradient, previous),
        };
        let next_a = next_coefficient(self.a);
        let momentum = (self.a - 1.0) / next_a;
        let state = (&mut self.u, &mut self.v, &mut self.previous_v, &mut self.previous_gradient);
        (state.0, state.1, state.2, state.3, gradient).into_par_iter().enumerate().for_each(
            |(i, (u, v, previous_v, previous_gradient, &slope))| {
                let next_u = *v - step * slope;
                (*previous_v, *previous_gradient) = (*v, slope);
                *v = clamp(i, next_u + momentum * (next_u - *u));
                *u = next_u;
            },
        );
        self.a = next_a;
        self.step = Some(step);
        step
    }

    fn learned_step(&self, gradient: &[f64], previous: f64) -> f64 {
        let (mut ss, mut sy, mut yy) = (0.0, 0.0, 0.0);
        // Chunks in parallel, their sums in order: the same bits for any number of threads.
        let chunks = (
            self.v.par_chunks(CHUNK),
            self.previous_v.par_chunks(CHUNK),
            gradient.par_chunks(CHUNK),
            self.previous_gradient.par_chunks(CHUNK),
        );
        let sums = chunks.into_par_iter().map(|(v, previous_v, gradient, previous_gradient)| {
            let mut sums = [0.0; 3];
            for i in 0..v.len() {
                let (s, y) = (v[i] - previous_v[i], gradient[i] - previous_gradient[i]);
                sums = [sums[0] + s * s, sums[1] + s * y, sums[2] + y * y];
            }
            sums
        });
        for sums in sums.collect::<Vec<_>>() {
            (ss, sy, yy) = (ss + sums[0], sy + sums[1], yy + sums[2]);
        }
        if yy > 0.0 && sy > 0.0 {
            sy / yy
        } else if yy > 0.0 {
            (ss / yy).sqrt().min(previous)
        } else {
            previous
        }
    }
}

/// `a' = (1 + √(4a² + 1))/2`: the coefficient after `a`.
pub fn next_coefficient(a: f64) -> f64 {
    (1.0 + (4.0 * a * a + 1.0).sqrt()) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coefficients_follow_the_recurrence() {
        let golden = (1.0 + 5.0_f64.sqrt()) / 2.0;
        assert!((next_coefficient(1.0) - golden).abs() < 1e-15);
        assert!((next_coefficient(golden) - 2.193527085331054).abs() < 1e-14);
    }

    #[test]
    fn finds_the_bottom_of_a_bowl() {
        // ½(x² + 10 y²): unlike curvatures, minimum at the origin.
        let mut descent = Nesterov::new(vec![3.0, -2.0]);
        for _ in 0..200 {
            let gradient = [descent.point()[0], 10.0 * descent.point()[1]];
            descent.advance(&gradient, 0.01, |_, v| v);
        }
        assert!(descent.point().iter().all(|v| v.abs() < 1e-6), "{:?}", descent.point());
    }

    #[test]
    fn clamping_holds() {
        let mut descent = Nesterov::new(vec![0.5]);
        for _ in 0..20 {
            descent.advance(&[-1.0], 0.1, |_, v| v.clamp(0.0, 1.0));
        }
        assert_eq!(descent.point(), [1.0]);
    }
}
