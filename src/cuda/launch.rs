//! The shape of a launch, and what kernels that sum over a grid share.

use super::device::Gpu;
use super::error::CudaError;
use cudarc::driver::sys::CUdeviceptr;
use cudarc::driver::{CudaSlice, DevicePtr, DevicePtrMut, LaunchConfig};

/// Threads in a block: `BLOCK` in `kernels/common.cuh`.
pub(super) const BLOCK: u32 = 256;

/// Most blocks of a kernel that ends in a sum over the grid. More than fill any
/// device, few enough that one block adds up their sums in no time.
pub(super) const SUM_BLOCKS: u32 = 4096;

/// One thread for each of `width × height` cells, neighbours along the width.
pub(super) fn cover(width: usize, height: usize) -> LaunchConfig {
    let (width, height) = (width as u32, height as u32);
    let narrow = width.next_power_of_two().min(32);
    let tall = (BLOCK / narrow).min(height.next_power_of_two());
    let wide = BLOCK / tall;
    LaunchConfig {
        grid_dim: (width.div_ceil(wide), height.div_ceil(tall), 1),
        block_dim: (wide, tall, 1),
        shared_mem_bytes: 0,
    }
}

/// As [`cover`], with at most [`SUM_BLOCKS`] blocks: threads go on down the height.
pub(super) fn cover_for_sum(width: usize, height: usize) -> LaunchConfig {
    let mut config = cover(width, height);
    let across = config.grid_dim.0;
    config.grid_dim.1 = config.grid_dim.1.min((SUM_BLOCKS / across).max(1));
    config
}

/// Device memory a sum over a grid needs between its two stages.
pub(super) struct SumScratch {
    pub(super) partial: CudaSlice<f64>,
    pub(super) ticket: CudaSlice<u32>,
}

impl SumScratch {
    /// For launches of at most `blocks` blocks.
    pub(super) fn new(gpu: &Gpu, config: LaunchConfig) -> Result<Self, CudaError> {
        let blocks = config.grid_dim.0 as usize * config.grid_dim.1 as usize;
        Ok(SumScratch { partial: gpu.zeros(blocks)?, ticket: gpu.zeros(1)? })
    }
}

/// The address of a buffer a kernel reads.
pub(super) fn address<E, S: DevicePtr<E>>(gpu: &Gpu, buffer: &S) -> CUdeviceptr {
    buffer.device_ptr(gpu.stream()).0
}

/// The address of a buffer a kernel writes.
pub(super) fn address_mut<E, S: DevicePtrMut<E>>(gpu: &Gpu, buffer: &mut S) -> CUdeviceptr {
    buffer.device_ptr_mut(gpu.stream()).0
}

/// Fails unless a buffer has the length a kernel counts on.
pub(super) fn check_length(
    what: &'static str,
    found: usize,
    expected: usize,
) -> Result<(), CudaError> {
    if found == expected { Ok(()) } else { Err(CudaError::Length { what, expected, found }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launches_cover_every_cell_in_full_blocks() {
        for (w, h) in [(1, 1), (1, 7), (2, 3), (257, 257), (1, 32768), (32768, 1), (100, 10000)] {
            let c = cover(w, h);
            assert_eq!(c.block_dim.0 * c.block_dim.1, BLOCK, "{w} x {h}");
            assert!((c.grid_dim.0 * c.block_dim.0) as usize >= w, "{w} x {h}");
            assert!((c.grid_dim.1 * c.block_dim.1) as usize >= h, "{w} x {h}");
            assert!(c.grid_dim.1 <= 65535, "{w} x {h}");
            let s = cover_for_sum(w, h);
            assert!(s.grid_dim.0 * s.grid_dim.1 <= SUM_BLOCKS.max(s.grid_dim.0), "{w} x {h}");
            assert_eq!((s.grid_dim.0, s.block_dim), (c.grid_dim.0, c.block_dim));
        }
    }
}
