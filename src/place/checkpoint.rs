//! A placement in progress, to be taken up again later.

use super::PlaceError;
use super::backend::{Backend, Held, Sample, StageSplit, Weights};
use super::record::Record;
use super::watch::Watch;
use serde::{Deserialize, Serialize};

/// State of the placer besides the vectors: it decides the next iteration.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct State {
    pub(super) weights: Weights,
    /// λ of the start.
    pub(super) first_lambda: f64,
    /// Nesterov's a.
    pub(super) coefficient: f64,
    pub(super) step: f64,
    pub(super) last: Record,
    pub(super) watch: Watch,
    /// How often it was taken up again from the best placement.
    pub(super) returns: u32,
}

impl State {
    pub(super) fn new(weights: Weights, sample: Sample, watch: Watch) -> Self {
        State {
            weights,
            first_lambda: weights.lambda,
            coefficient: 1.0,
            step: 0.0,
            last: Record {
                iteration: 0,
                sample,
                gamma: weights.gamma,
                lambda: weights.lambda,
                pressure: 0.0,
                overflow_standard_cells: None,
                step: 0.0,
                tries: 1,
                times: StageSplit::default(),
            },
            watch,
            returns: 0,
        }
    }

    /// Returns the factor on λ, nearer to 1 the more often the descent had to be taken up again.
    pub(super) fn slowed(&self, mu: f64) -> f64 {
        mu.powf(0.5f64.powi(self.returns as i32))
    }

    /// Returns the last iteration.
    pub fn last(&self) -> &Record {
        &self.last
    }

    /// Returns the iteration of the best placement so far.
    pub fn best_iteration(&self) -> Option<usize> {
        self.watch.best().map(|best| best.iteration)
    }
}

/// All that a placement in progress consists of: with the same bodies, nets and bins on the
/// same kind of engine, [`Placer::resume`](super::Placer::resume) goes on bit for bit.
#[derive(Clone, Debug, PartialEq)]
pub struct Checkpoint {
    /// State of the placer.
    pub state: State,
    /// Every vector of [`Held::ALL`]: x and y of every body.
    pub vectors: Vec<[Vec<f64>; 2]>,
}

impl Checkpoint {
    pub(super) fn of(backend: &mut dyn Backend, state: State) -> Result<Self, PlaceError> {
        let bodies = backend.charge().bodies();
        let mut vectors = Vec::new();
        for held in Held::ALL {
            let mut pair = [vec![0.0; bodies], vec![0.0; bodies]];
            let [x, y] = &mut pair;
            backend.read(held, x, y)?;
            vectors.push(pair);
        }
        Ok(Checkpoint { state, vectors })
    }

    pub(super) fn restore(&self, backend: &mut dyn Backend) -> Result<(), PlaceError> {
        let (expected, found) = (Held::ALL.len(), self.vectors.len());
        if found != expected {
            return Err(PlaceError::Vectors { expected, found });
        }
        for (held, [x, y]) in Held::ALL.into_iter().zip(&self.vectors) {
            backend.write(held, x, y)?;
        }
        Ok(())
    }
}
