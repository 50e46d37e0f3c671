//! Transforms through cuFFT's FFTs, with what comes before and after them.

mod cufft;
mod fused;
mod rounds;

pub use cufft::RealFft;
pub use fused::Stage;

pub(in crate::cuda) use cufft::share_work_area;
pub(in crate::cuda) use fused::{FusedTransform, Sines, Threshold, TransformSpec, twiddles};
pub(in crate::cuda) use rounds::Rounds;
