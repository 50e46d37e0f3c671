//! The shape of a launch, and what kernels that sum over a grid share.

use super::device::Gpu;
use super::error::CudaError;
use cudarc::driver::sys::CUdeviceptr;
use cudarc::driver::{CudaFunction, CudaSlice, DevicePtr, DevicePtrMut, LaunchConfig};

/// Threads in a block: `BLOCK` in `kernels/common.cuh`.
pub(super) const BLOCK: u32 = 256;

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

/// As [`cover`], with no more blocks than the device runs at once: threads go
/// on down the height, so that the sum over the grid that ends the kernel has
/// few blocks to wait for (2048² in f32: 13 % of the kernel's time).
pub(super) fn cover_for_sum(
    gpu: &Gpu,
    kernel: &CudaFunction,
    (width, height): (usize, usize),
) -> Result<LaunchConfig, CudaError> {
    let each = kernel.occupancy_max_active_blocks_per_multiprocessor(BLOCK, 0, None)?;
    let at_once = each * gpu.info().multiprocessors as u32;
    Ok(at_most(at_once, cover(width, height)))
}

/// Fewer blocks down the height, each taking the same number of turns but for
/// the last turn's remainder.
fn at_most(blocks: u32, mut config: LaunchConfig) -> LaunchConfig {
    let (across, down, _) = config.grid_dim;
    let turns = down.div_ceil((blocks / across).max(1));
    config.grid_dim.1 = down.div_ceil(turns);
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
    fn turns_are_even() {
        let mut config = cover(1025, 1025);
        assert_eq!(config.grid_dim, (33, 129, 1));
        config = at_most(660, config);
        // 20 blocks fit down the height; 129 rows of blocks then take 7 turns, as with 19.
        assert_eq!(config.grid_dim, (33, 19, 1));
    }

    #[test]
    fn launches_cover_every_cell_in_full_blocks() {
        for (w, h) in [(1, 1), (1, 7), (2, 3), (257, 257), (1, 32768), (32768, 1), (100, 10000)] {
            let c = cover(w, h);
            assert_eq!(c.block_dim.0 * c.block_dim.1, BLOCK, "{w} x {h}");
            assert!((c.grid_dim.0 * c.block_dim.0) as usize >= w, "{w} x {h}");
            assert!((c.grid_dim.1 * c.block_dim.1) as usize >= h, "{w} x {h}");
            assert!(c.grid_dim.1 <= 65535, "{w} x {h}");
            let few = at_most(100, c);
            assert!(few.grid_dim.0 * few.grid_dim.1 <= 100.max(c.grid_dim.0), "{w} x {h}");
            assert_eq!((few.grid_dim.0, few.block_dim), (c.grid_dim.0, c.block_dim));
        }
    }
}
