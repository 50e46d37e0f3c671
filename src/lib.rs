//! placefield turns a chip placement into its electrostatic picture.

pub mod charge;
pub mod cpu;
pub mod design;
pub mod engine;
pub mod generate;
pub mod grid;
mod real;
pub mod spectral;
pub mod transform;

pub use real::{Precision, Real};
