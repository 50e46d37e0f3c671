//! The CUDA engine ([`CudaEngine`]), its ground and its stages.
//!
//! Nothing of CUDA is needed at build time. Driver, cuFFT and NVRTC are opened
//! at run time: [`probe`] says which are there, and [`Gpu::open`] gives a typed
//! error that names the missing one. Kernels are CUDA C++ under `kernels/`,
//! compiled for the device at the first start and cached on disk ([`compile`]).
//!
//! The solve takes ρ to φ, Ex, Ey and the energy Σ φ·ρ ([`FieldSolver`]), all of
//! them in device memory, by either pipeline: [`Fused`] (Jiang et al.: one 2-D
//! real FFT per 2-D DCT) and [`RowColumn`] (1-D transforms and transposes).
//! Maps are `[nx][ny]`, y contiguous; lengths are bin widths.
//!
//! Every piece of work goes to the one stream that a [`Gpu`] owns, so pieces run
//! in the order in which they were asked for and nothing waits on the host.

mod bodies;
pub mod compile;
mod density;
mod descent;
mod device;
mod engine;
mod error;
mod fft;
mod force;
mod fused;
mod graph;
mod input;
mod keep;
mod launch;
mod lines;
mod order;
mod plan;
mod quads;
mod real;
mod rearrange;
mod reorder;
mod resident;
mod row_column;
mod solver;
mod stages;
mod three_pass;
mod timing;
pub mod transforms;
mod usage;
mod wear;
mod wirelength;

pub use bodies::{Arrangement, Bodies};
pub use cudarc::driver::{CudaSlice, CudaView, CudaViewMut};
pub use density::{Density, DensityReport};
pub use descent::{Descent, DescentBodies, DescentParameters, DescentSample};
pub use device::{Capabilities, DeviceInfo, Gpu, probe};
pub use engine::CudaEngine;
pub use error::CudaError;
pub use fft::{ForwardFft, InverseFft};
pub use force::Force;
pub use fused::Fused;
pub use graph::Graph;
pub use input::Input;
pub use real::CudaReal;
pub use row_column::RowColumn;
pub use solver::{FieldSolver, Fields, Folding, SolverOptions, solver};
pub use three_pass::ThreePass;
pub use timing::{Marks, Spread, Stopwatch, measure};
pub use usage::KernelUse;
pub use wear::MOST_STEPS_PER_ORDER;
pub use wirelength::CudaWirelength;
