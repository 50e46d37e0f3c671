//! Transforms of lines with everything before and after their FFT done in registers: one
//! family of kernels.
//!
//! A kernel loads lines, transforms them and stores them (`kernels/lines`; the solve's second and
//! third pass are in `kernels/solve`). Which lines, what transform and where to is what an instance
//! is compiled for ([`instances`]), and so is how its lines are divided over threads and blocks: a
//! table says that ([`shapes`]), or a measurement on this device ([`measured`]). [`kernel`]
//! chooses, compiles and loads instances; [`transform`] makes transforms of arrays of them.

mod instances;
mod kernel;
pub(crate) mod measured;
mod shapes;
mod transform;
mod twiddles;

pub(crate) use instances::{slabs, solve, spectral};
pub(crate) use kernel::{Instance, LineBatch, LineKernel, Shapes, compile};
pub(crate) use shapes::{LONGEST, Role, SHORTEST, Shape, SpectrumStorage, candidates};
#[cfg(test)]
pub(crate) use shapes::{Limits, choose};
pub(crate) use transform::{Arrays, LineTransform, panel};
