//! A placement in progress that can be resumed later.

use super::PlaceError;
use super::backend::{Backend, PointVector, Sample, StageSplit, Weights};
use super::convergence::ConvergenceMonitor;
use super::record::Record;
use serde::{Deserialize, Serialize};

/// State of the placer besides the vectors; it determines the next iteration.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct State {
    pub(super) weights: Weights,
    /// λ of the start.
    pub(super) first_lambda: f64,
    /// Nesterov's a.
    pub(super) coefficient: f64,
    pub(super) step: f64,
    pub(super) last: Record,
    /// Checkpoints store it under its former name.
    #[serde(rename = "watch")]
    pub(super) monitor: ConvergenceMonitor,
    /// How often the descent restarted from the best placement.
    pub(super) returns: u32,
}

impl State {
    pub(super) fn new(weights: Weights, sample: Sample, monitor: ConvergenceMonitor) -> Self {
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
            monitor,
            returns: 0,
        }
    }

    /// Returns the factor on λ, nearer to 1 after each restart of the descent.
    pub(super) fn slowed(&self, mu: f64) -> f64 {
        mu.powf(0.5f64.powi(self.returns as i32))
    }

    /// Returns the last iteration.
    pub fn last(&self) -> &Record {
        &self.last
    }

    /// Returns the iteration of the best placement so far.
    pub fn best_iteration(&self) -> Option<usize> {
        self.monitor.best().map(|best| best.iteration)
    }
}

/// The complete state of a placement in progress. With the same bodies, nets and bins on the same
/// kind of engine, [`Placer::resume`](super::Placer::resume) continues bit for bit.
#[derive(Clone, Debug, PartialEq)]
pub struct Checkpoint {
    /// State of the placer.
    pub state: State,
    /// Every vector of [`PointVector::ALL`]: x and y of every body.
    pub vectors: Vec<[Vec<f64>; 2]>,
}

impl Checkpoint {
    pub(super) fn of(backend: &mut dyn Backend, state: State) -> Result<Self, PlaceError> {
        let bodies = backend.charge().bodies();
        let mut vectors = Vec::new();
        for vector in PointVector::ALL {
            let mut pair = [vec![0.0; bodies], vec![0.0; bodies]];
            let [x, y] = &mut pair;
            backend.read(vector, x, y)?;
            vectors.push(pair);
        }
        Ok(Checkpoint { state, vectors })
    }

    pub(super) fn restore(&self, backend: &mut dyn Backend) -> Result<(), PlaceError> {
        let (expected, found) = (PointVector::ALL.len(), self.vectors.len());
        if found != expected {
            return Err(PlaceError::Vectors { expected, found });
        }
        for (vector, [x, y]) in PointVector::ALL.into_iter().zip(&self.vectors) {
            backend.write(vector, x, y)?;
        }
        Ok(())
    }
}
