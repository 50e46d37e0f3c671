//! What a placement on one device or several is made of: wirelength, the descent's vectors, and terms
//! of the caller.

mod descent;
mod nets;
mod term;
mod wirelength;

pub use descent::{Descent, DescentBodies};
pub use term::{DeviceCells, DeviceTerm};
pub use wirelength::CudaWirelength;
