//! placefield turns a chip placement into its electrostatic picture.

pub mod bookshelf;
pub mod charge;
pub mod compare;
pub mod cpu;
#[cfg(feature = "cuda")]
pub mod cuda;
pub mod design;
pub mod engine;
pub mod generate;
pub mod grid;
pub mod nesterov;
pub mod output;
pub mod plot;
mod real;
pub mod report;
pub mod spectral;
pub mod transform;

pub use real::{Precision, Real};
