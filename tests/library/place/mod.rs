//! The placer's pieces, against golden values and independent derivations.

#[cfg(feature = "cli")]
mod descent;
mod fences;
#[cfg(feature = "cli")]
mod ordinary;
mod pieces;
#[cfg(feature = "cli")]
mod small;
#[cfg(feature = "cli")]
mod weights;
mod wirelength;
