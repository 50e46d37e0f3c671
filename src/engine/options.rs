//! Options of an engine and of its arrays.

use super::Pipeline;
use crate::setters::setters;

/// Options of an engine; the methods change the defaults.
///
/// ```
/// use placefield::engine::{EngineOptions, Pipeline};
/// let options = EngineOptions::default().pipeline(Pipeline::Fused).threads(2);
/// assert_eq!(options.pipeline, Some(Pipeline::Fused));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct EngineOptions {
    /// The pipeline of [`Engine::evaluate`](super::Engine::evaluate); `None` selects the fastest one
    /// for the engine and the grid ([`Engine::choice`](super::Engine::choice) names it).
    pub pipeline: Option<Pipeline>,
    /// Threads on the CPU, at most [`MAX_THREADS`](super::MAX_THREADS); 0 uses all processors.
    pub threads: usize,
    /// Whether an engine on several devices is bit-identical to an engine on one device: only the
    /// first device then solves. It has no effect on one device and on the CPU, where equal
    /// positions always give equal bits.
    pub deterministic: bool,
}

impl EngineOptions {
    /// Sets the pipeline; `None` selects the fastest.
    #[must_use]
    pub fn pipeline(self, pipeline: impl Into<Option<Pipeline>>) -> Self {
        EngineOptions { pipeline: pipeline.into(), ..self }
    }

    setters! {
        /// Sets the number of threads on the CPU, at most [`MAX_THREADS`](super::MAX_THREADS); 0
        /// uses all processors.
        threads: usize,
        /// Sets whether any number of devices is bit-identical to one device.
        deterministic: bool,
    }
}

/// Layout of an array with two values of every body, x and y.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Layout {
    /// x of every body, then y of every body: x…y…, as DREAMPlace and Xplace have it.
    #[default]
    Halves,
    /// x and y of a body side by side: x y x y …
    Pairs,
}

/// Options of a gradient; the methods change the defaults.
///
/// ```
/// use placefield::engine::{GradientOptions, Layout};
/// let options = GradientOptions::default().layout(Layout::Pairs).weight(-0.25).accumulate(true);
/// assert_eq!(options.layout, Layout::Pairs);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct GradientOptions<'a> {
    /// How the array holds it; x…y… by default.
    pub layout: Layout,
    /// The factor of the force ([`Engine::read_force`](super::Engine::read_force)); −1 by
    /// default, which gives the gradient of placers such as DREAMPlace, the direction in which
    /// density rises. By −2/(bin area · bin width along x) it is the derivative of the energy by
    /// positions.
    pub weight: f64,
    /// Whether it is added to what the array holds; off by default: it is written.
    pub accumulate: bool,
    /// A further factor of the force on bodies of each fence region
    /// ([`Charge::set_fences`](crate::charge::Charge::set_fences)), one number per region; empty by
    /// default: none.
    pub region_weights: &'a [f64],
}

impl Default for GradientOptions<'_> {
    fn default() -> Self {
        let layout = Layout::Halves;
        GradientOptions { layout, weight: -1.0, accumulate: false, region_weights: &[] }
    }
}

impl<'a> GradientOptions<'a> {
    setters! {
        /// With x and y of the array laid out this way.
        layout: Layout,
        /// With the force multiplied by this number.
        weight: f64,
        /// Added to what the array holds, or written.
        accumulate: bool,
    }

    /// Returns the factor of the force on bodies of the first region. It applies to all bodies if
    /// regions have no separate weights.
    pub(crate) fn first_weight(&self) -> f64 {
        self.weight * self.region_weights.first().unwrap_or(&1.0)
    }

    setters! {
        /// With the force on bodies of each fence region multiplied by its number as well.
        region_weights: &'a [f64],
    }
}

/// The pipeline an engine evaluates by, and why it is that one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The pipeline.
    pub pipeline: Pipeline,
    /// Half a sentence, as in "asked for".
    pub reason: String,
}

impl Choice {
    pub(crate) fn asked_for(pipeline: Pipeline) -> Self {
        Choice { pipeline, reason: "asked for".to_owned() }
    }
}
