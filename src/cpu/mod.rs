//! The computation on the CPU, one module per stage, parallel over the current rayon pool.

mod bodies;
pub(crate) mod boxes;
pub mod density;
pub mod energy_gradient;
pub mod engine;
mod fft;
mod force;
pub(crate) mod matrix;
pub mod simd;
pub mod solve;
pub mod transforms;
pub mod wirelength;
