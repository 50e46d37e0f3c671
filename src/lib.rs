//! placefield turns a chip placement into its electrostatic picture.

pub mod charge;
pub mod design;
pub mod engine;
pub mod grid;
pub mod spectral;
pub mod transform;
mod real;

pub use real::{Precision, Real};
