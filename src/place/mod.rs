//! A global placer in the style of ePlace, on the public API of the other modules.
//!
//! Cells are moved to minimise WA_γ + λ · density: wirelength
//! ([`crate::wirelength`]) pulls, the engine's force pushes. λ grows until the
//! cells are spread, γ falls with the overflow ([`schedule`]). The descent is
//! Nesterov's, preconditioned, its step the inverse of a Lipschitz estimate
//! with backtracking ([`placer`]; Lu et al., "ePlace", TODAES 2015; Lin et al.,
//! "DREAMPlace", TCAD 2021). Legalisation is left to others: cells come out
//! spread and connected, not on rows.
//!
//! The placer itself holds no positions; those are in a [`Backend`], on the
//! host ([`HostBackend`]) or on a device (`cuda::CudaBackend`).

pub mod backend;
pub mod bounds;
pub mod host;
pub mod nesterov;
pub mod placer;
pub(crate) mod ready;
pub mod schedule;
pub mod start;
mod vectors;
mod watch;

pub use backend::{Backend, Held, Sample, StageSplit, Weights};
pub use bounds::Bounds;
pub use host::HostBackend;
pub use placer::{Outcome, PlaceOptions, Placer, Record};

use crate::engine::EngineError;

/// Why a placement could not be begun or went no further.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlaceError {
    /// The engine or the device.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// Every node is fixed.
    #[error("nothing to place: no node is movable")]
    NothingMovable,
    /// No net pulls at a movable cell: there are no nets, or none of 2 pins or
    /// more with a pin on a movable cell, or all of them have weight zero.
    #[error("nothing to place by: no net pulls at a movable node")]
    NothingPulls,
    /// The start's wirelength, density or gradient is not finite.
    #[error("the start's wirelength or density is not a finite number")]
    NotFinite,
}
