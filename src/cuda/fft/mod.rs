//! Transforms through cuFFT's FFTs, with the steps before and after them.

mod cufft;
mod fused;
mod rounds;

pub use cufft::RealFft;
pub use fused::Stage;

pub(crate) use cufft::share_work_area;
pub(crate) use fused::{FusedTransform, Sines, Threshold, TransformSpec, twiddles};
pub(crate) use rounds::Rounds;
