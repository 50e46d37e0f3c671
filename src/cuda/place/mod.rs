//! A placement on one device or several: wirelength, the descent's vectors, and the
//! [`Backend`](crate::place::Backend) made of them and an engine.

mod backend;
mod descent;
mod nets;
mod ranks;
mod term;
mod wirelength;

pub use backend::CudaBackend;
pub use descent::{Descent, DescentBodies, DescentParameters, DescentSample, DescentVector};
pub use term::{DeviceCells, DeviceTerm};
pub use wirelength::CudaWirelength;
