//! The CPU engine's rooms, parallel over the current rayon pool.

mod bodies;
pub mod density;
pub mod engine;
pub mod fft;
pub mod force;
mod fused;
mod row_column;
mod shared;
pub mod solve;
mod three_pass;
