//! The CPU engine's rooms.

pub mod fused;
pub mod row_column;
mod shared;
pub mod solve;
