//! The CPU engine's rooms, parallel over the current rayon pool.

mod bodies;
pub mod density;
pub mod force;
pub mod fused;
pub mod row_column;
mod shared;
pub mod solve;
