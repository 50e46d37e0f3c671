//! The CPU engine's rooms, parallel over the current rayon pool.

mod bodies;
pub mod density;
pub mod engine;
pub mod fft;
pub mod force;
mod fused;
mod lines;
mod maps;
mod modify;
mod row_column;
mod scratch;
mod shared;
pub mod solve;
mod three_pass;
pub mod transforms;
mod transposed;
pub mod wirelength;
