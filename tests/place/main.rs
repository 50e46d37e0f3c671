//! The placer's pieces, against golden values and independent derivations.

#[path = "../common/mod.rs"]
mod common;
mod descent;
mod pieces;
mod wirelength;
