//! Bodies on a device: their order, density and forces.

#[allow(clippy::module_inception)]
mod bodies;
mod density;
mod force;
mod order;
mod permute;
mod setup;
mod shares;
mod staleness;

pub use bodies::Bodies;
pub(crate) use density::BINS_PER_BLOCK;
pub use density::{Density, DensityReport, RawStatistics};
pub use force::Force;
pub(crate) use force::{BodyForces, Outputs};
pub use order::PositionLayout;
pub use permute::{Permutation, PermutationView};
pub(crate) use shares::{BodyDivision, MOST_RANKS, blocks_of};
pub use staleness::MOST_STEPS_PER_ORDER;
