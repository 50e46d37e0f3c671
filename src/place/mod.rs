//! A global placer in the style of ePlace, on the public API of the other modules.
//!
//! The placer moves cells to minimise WA_γ + λ · density: wirelength ([`crate::wirelength`]) pulls
//! cells together, and the engine's force pushes them apart. λ grows until the cells are spread,
//! and γ falls with the overflow ([`schedule`]). The method is Nesterov's, preconditioned; its step
//! is the inverse of a Lipschitz estimate with backtracking ([`placer`]; Lu et al., "ePlace",
//! TODAES 2015; Lin et al., "DREAMPlace", TCAD 2021). This module does not legalise: cells end up
//! spread and connected, not on rows.
//!
//! The placer itself stores no positions. A [`Backend`] stores them on the host ([`HostBackend`])
//! or on a device (`cuda::CudaBackend`).

pub mod backend;
mod bins;
pub mod bounds;
mod checkpoint;
mod convergence;
pub mod host;
pub mod limits;
pub mod nesterov;
mod options;
pub mod placer;
pub(crate) mod ready;
mod record;
pub mod routability;
pub mod schedule;
mod standard;
pub mod start;
mod term;
mod vectors;

pub use backend::{Backend, PointVector, Sample, StageSplit, Weights};
pub use bins::{default_bins, placement_bins};
pub use bounds::Bounds;
pub use checkpoint::{Checkpoint, State};
pub use host::HostBackend;
pub use options::{BadOption, Number, PlaceOptions, Schedule};
pub use placer::Placer;
pub use record::Record;
pub use standard::{ClassOverflow, OverflowParts};
pub use term::Term;

use crate::charge::ChargeError;
use crate::engine::EngineError;
use serde::Serialize;

/// How a placement ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Outcome {
    /// The placement reached the overflow asked for.
    Converged,
    /// The iterations ran out first. The best trade-off is the result, as in all variants below.
    OutOfIterations,
    /// The caller's time limit ran out first.
    OutOfTime,
    /// The caller ended the descent at its last placement, which is the result.
    Stopped,
    /// Overflow no longer falls at any weight of the density.
    Plateau,
    /// Both wirelength and overflow grew, even after the descent restarted from the best placement.
    Diverged,
    /// A number was NaN or infinite, even after such restarts.
    NotFinite,
    /// The caller interrupted the descent.
    Interrupted,
}

impl Outcome {
    /// Returns the name in documents: `converged`, `stopped`, `plateau`, `interrupted` or
    /// `diverged`.
    pub fn status(self) -> &'static str {
        match self {
            Outcome::Converged => "converged",
            Outcome::OutOfIterations | Outcome::OutOfTime | Outcome::Stopped => "stopped",
            Outcome::Plateau => "plateau",
            Outcome::Interrupted => "interrupted",
            Outcome::Diverged | Outcome::NotFinite => "diverged",
        }
    }
}

/// Why a placement could not begin or continue.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlaceError {
    /// The engine or the device failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// No charge can be made of the bodies.
    #[error(transparent)]
    Charge(#[from] ChargeError),
    /// An option with a value outside its range.
    #[error(transparent)]
    Option(#[from] BadOption),
    /// A checkpoint without all vectors of a descent.
    #[error("the checkpoint has {found} vectors: expected {expected}")]
    Vectors {
        /// Vectors that a checkpoint has.
        expected: usize,
        /// Vectors that this one has.
        found: usize,
    },
    /// Every node is fixed.
    #[error("nothing to place: no node is movable")]
    NothingMovable,
    /// The start's wirelength, density or gradient is not finite.
    #[error("the start's wirelength or density is not a finite number")]
    NotFinite,
}
