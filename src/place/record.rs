//! The numbers of an iteration.

use super::backend::{Sample, StageSplit};
use serde::{Deserialize, Serialize};

/// Numbers of one iteration; iteration 0 is the start.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
pub struct Record {
    /// From 0.
    pub iteration: usize,
    /// Sample of the placement after the iteration.
    #[serde(flatten)]
    pub sample: Sample,
    /// Smoothing length of its evaluation, layout units.
    pub gamma: f64,
    /// Weight of the density in its evaluation.
    pub lambda: f64,
    /// λ‖∇density‖₁ / ‖∇WA‖₁: about 1 while the placement follows its weights.
    pub pressure: f64,
    /// Overflow of the standard cells alone, if macros move too and it was computed in this
    /// iteration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overflow_standard_cells: Option<f64>,
    /// Length of the step in this iteration.
    pub step: f64,
    /// Number of evaluations in this iteration.
    pub tries: u32,
    /// Milliseconds of all these evaluations together.
    #[serde(rename = "timings_ms")]
    pub times: StageSplit,
}

/// Name and value of a number of a [`Record`].
type Column = (&'static str, fn(&Record) -> f64);

impl Record {
    /// Name and value of every number, in the order of tables.
    pub const COLUMNS: [Column; 18] = [
        ("iteration", |r| r.iteration as f64),
        ("hpwl_weighted", |r| r.sample.hpwl),
        ("wirelength", |r| r.sample.wirelength),
        ("overflow_smoothed", |r| r.sample.density.overflow),
        ("max_smoothed", |r| r.sample.density.max),
        ("energy", |r| r.sample.energy),
        ("gamma", |r| r.gamma),
        ("lambda", |r| r.lambda),
        ("step", |r| r.step),
        ("tries", |r| f64::from(r.tries)),
        ("wirelength_ms", |r| r.times.wirelength),
        ("density_ms", |r| r.times.density),
        ("solve_ms", |r| r.times.solve),
        ("force_ms", |r| r.times.force),
        ("step_ms", |r| r.times.step),
        ("gradient_ms", |r| r.times.gradient),
        ("other_ms", |r| r.times.other),
        ("pressure", |r| r.pressure),
    ];
}
