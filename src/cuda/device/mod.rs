//! A device and everything that all work on it shares: opening, memory, the compiler and cache of
//! kernels, launches, graphs, times and errors.

mod arguments;
pub(crate) mod bindings;
pub mod compile;
pub(crate) mod constants;
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

pub(crate) use arguments::{Any, Arguments, Array, KernelArgument, Pointer, pointers};
pub(crate) use error::{WIDEST, check_aligned, check_length};
pub(crate) use graph::Captured;
pub(crate) use launch::{
    BLOCK, Function, Kernel, MOST_BLOCKS, MOST_PINS, blocks_at_once, blocks_for, blocks_with,
    cover_for_sum, cover_lines, fit, grid_of, stacked,
};
pub(crate) use memory::{DeviceArrays, Pinned, reals};
pub(crate) use probe::check_cufft;
#[cfg(feature = "python")]
pub(crate) use stream::CallersCapture;
pub(crate) use stream::{Branch, Resource, StreamGuard};
