//! Device resources that a kernel uses, as the driver reports them.

use super::error::CudaError;
use super::gpu::Gpu;
use super::launch::Function;
use cudarc::driver::sys::CUdevice_attribute;
use serde::Serialize;

/// A kernel's launch, resources and traffic.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KernelUse {
    /// The kernel's name in its file.
    pub name: String,
    /// Threads of a block along x and y.
    pub block: (u32, u32),
    /// Blocks of the launch.
    pub blocks: u64,
    /// Blocks a multiprocessor holds at once (the driver's occupancy calculator).
    pub blocks_per_sm: u32,
    /// Threads a multiprocessor then holds, divided by the most it can hold.
    pub occupancy: f64,
    /// Registers per thread.
    pub registers: u32,
    /// Local memory per thread in bytes, which holds the values that do not fit in registers.
    pub local: u32,
    /// Shared memory per block in bytes.
    pub shared: u32,
    /// Bytes that one launch reads and writes, without tables.
    pub bytes: u64,
}

impl KernelUse {
    /// Returns the usage of a kernel with its launch, under the name `name`, moving `bytes`.
    pub(crate) fn of(
        gpu: &Gpu,
        name: impl Into<String>,
        kernel: &Function,
        bytes: usize,
    ) -> Result<Self, CudaError> {
        let Function { code: function, config, .. } = kernel;
        let (width, height, _) = config.block_dim;
        let threads = width * height;
        let blocks_per_sm = kernel.occupancy(config)?;
        let most = CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR;
        let most = gpu.context().attribute(most)?;
        let (x, y, z) = config.grid_dim;
        Ok(KernelUse {
            name: name.into(),
            block: (width, height),
            blocks: u64::from(x) * u64::from(y) * u64::from(z),
            blocks_per_sm,
            occupancy: f64::from(blocks_per_sm * threads) / f64::from(most),
            registers: function.num_regs()? as u32,
            local: function.local_size_bytes()? as u32,
            shared: function.shared_size_bytes()? as u32 + config.shared_mem_bytes,
            bytes: bytes as u64,
        })
    }
}
