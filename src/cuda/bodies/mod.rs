//! Bodies on a device: their order, density and forces.

mod age;
#[allow(clippy::module_inception)]
mod bodies;
mod deal;
mod density;
mod force;
mod order;
mod permute;
mod plan;

pub use age::MOST_STEPS_PER_ORDER;
pub use bodies::{Arrangement, Bodies};
pub(in crate::cuda) use deal::{Addresses, Deal, MOST_RANKS, Shares, blocks_of, grid_of};
pub(in crate::cuda) use density::BINS_PER_BLOCK;
pub use density::{Density, DensityReport, RawStatistics};
pub use force::Force;
pub(in crate::cuda) use force::Outputs;
pub use permute::{Permutation, PermutationView};
