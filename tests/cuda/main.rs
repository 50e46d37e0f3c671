//! The library on an NVIDIA GPU, against the CPU, the definitions and golden values.
//!
//! All but a few tests are ignored by default; where there is a GPU,
//! `cargo test --test cuda -- --include-ignored --test-threads=1` runs them.

#[path = "../common/mod.rs"]
mod common;
#[cfg(feature = "cli")]
mod compress;
mod density;
mod device;
mod engine;
mod golden;
mod maps;
#[cfg(feature = "cli")]
mod place;
mod reference;
mod solve;
mod three_pass;
mod transforms;
