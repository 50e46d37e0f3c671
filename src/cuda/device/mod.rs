//! A device and what all work on it shares: opening it, its memory, kernels
//! compiled and cached, launches, graphs, times and errors.

mod arguments;
pub(in crate::cuda) mod bindings;
pub mod compile;
pub(in crate::cuda) mod constants;
mod error;
mod gpu;
mod graph;
mod info;
mod input;
mod launch;
mod limit;
mod memory;
mod probe;
mod real;
mod staging;
mod stream;
mod timing;
mod usage;
mod value;

pub use error::{CudaError, CufftFailure, DriverFailure};
pub use gpu::{Gpu, GpuOptions, KernelOrigin, MemoryInfo};
pub use graph::Graph;
pub use info::DeviceInfo;
pub use input::Input;
pub use limit::DeviceLimit;
pub use memory::{DeviceSlice, DeviceSliceMut, DeviceVec};
pub use probe::{Capabilities, probe};
pub use real::CudaReal;
pub use timing::{Marks, Spread, measure};
pub use usage::KernelUse;
pub use value::DeviceValue;

pub(in crate::cuda) use arguments::{Any, Arguments, Array, KernelArgument, Pointer, pointers};
pub(in crate::cuda) use error::{WIDEST, check_aligned, check_length};
pub(in crate::cuda) use graph::Captured;
pub(in crate::cuda) use launch::{
    BLOCK, Function, Kernel, MOST_BLOCKS, MOST_PINS, blocks_at_once, blocks_for, blocks_with,
    cover_for_sum, cover_lines, fit, grid_of, stacked,
};
pub(in crate::cuda) use memory::{DeviceArrays, Pinned, reals};
pub(in crate::cuda) use probe::check_cufft;
#[cfg(feature = "python")]
pub(crate) use stream::CallersCapture;
pub(in crate::cuda) use stream::{Branch, Resource, StreamGuard};
