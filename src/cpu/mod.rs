//! The computation on the CPU, one module per stage, parallel over the current rayon pool.

mod bodies;
pub(crate) mod boxes;
pub mod density;
pub mod energy_gradient;
pub mod engine;
pub mod fft;
mod force;
mod matrix;
pub mod simd;
pub mod solve;
pub mod transforms;
pub mod wirelength;
