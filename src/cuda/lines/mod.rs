//! Transforms of lines, with all steps before and after their FFT in registers: one family of
//! kernels.
//!
//! A kernel loads lines, transforms them and stores them (`kernels/lines`; the solve's second and
//! third pass are in `kernels/solve`). Each instance is compiled for its lines, its transform and
//! its output ([`instances`]), and for the division of its lines over threads and blocks. The
//! division comes from a table ([`shapes`]) or from a measurement on this device ([`measured`]).
//! [`kernel`] chooses, compiles and loads instances; [`transform`] combines them.

mod instances;
mod kernel;
pub(crate) mod measured;
mod shapes;
mod transform;
mod twiddles;

pub(crate) use instances::{others, slabs, solve, spectral};
pub(crate) use kernel::{Instance, LineBatch, LineKernel, Shapes, compile};
pub(crate) use shapes::{LONGEST, Role, SHORTEST, Shape, SpectrumStorage, candidates};
#[cfg(test)]
pub(crate) use shapes::{Limits, choose};
pub(crate) use transform::{Arrays, LineTransform, panel};
