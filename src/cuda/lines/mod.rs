//! Transforms of lines with everything before and after their FFT done in registers: one
//! family of kernels (`kernels/lines`), of which every instance is compiled for what it does and for
//! how its lines are divided over threads and blocks ([`shapes`]).

mod instances;
mod kernel;
mod shapes;
mod transform;
pub mod tuning;
mod twiddles;

pub(in crate::cuda) use instances::solve;
pub(in crate::cuda) use kernel::{Instance, LineKernel, Shapes};
pub(in crate::cuda) use shapes::{Keep, LONGEST, Role, SHORTEST};
pub(in crate::cuda) use transform::{Direction, LineTransform, panel};
