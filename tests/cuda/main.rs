//! The library on an NVIDIA GPU, against the CPU, the definitions and golden values.
//!
//! Tests need a GPU and fail without one, so `cargo test` leaves out this target. Where there is a GPU,
//! `cargo test --test cuda -- --test-threads=1` runs it.

mod arrays;
mod changes;
mod code;
#[path = "../common/mod.rs"]
mod common;
mod compress;
mod congestion;
mod density;
mod device;
mod engine;
mod fences;
mod golden;
mod limits;
mod maps;
mod peers;
mod place;
mod place_peers;
mod ranks;
mod reference;
mod refine;
mod replays;
mod sanitizer;
mod slabs;
mod solve;
mod sound;
mod three_pass;
mod transforms;
mod tuning;
