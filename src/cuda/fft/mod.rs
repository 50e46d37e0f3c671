//! FFTs and what comes before and after them in a transform: cuFFT, batched
//! lines, reordering, quads of 2-D spectra.

mod cufft;
mod lines;
mod quads;
mod real_fft;
mod reorder;
mod threshold;
mod twiddles;

pub use cufft::{ForwardFft, InverseFft};

pub(in crate::cuda) use cufft::{ColumnFft, share_work_area};
pub(in crate::cuda) use lines::{CufftLines, Passes, Transpose, tiles};
pub(in crate::cuda) use quads::Quads;
pub(in crate::cuda) use real_fft::RealFft;
pub(in crate::cuda) use reorder::{Maps, Reordering, Sines};
pub(in crate::cuda) use threshold::{Counter, Threshold};
pub(in crate::cuda) use twiddles::twiddles;
