//! The shape of a launch, and what kernels that sum over a grid share.

use super::device::Gpu;
use super::error::CudaError;
use cudarc::driver::sys::{self, CUdeviceptr};
use cudarc::driver::{CudaFunction, CudaModule, CudaSlice, DevicePtr, DevicePtrMut, LaunchConfig};
use std::ffi::c_void;
use std::sync::Arc;

/// Threads in a block: `BLOCK` in `kernels/common.cuh`.
pub(super) const BLOCK: u32 = 256;

/// One thread for each of `width × height` cells, neighbours along the width; a
/// block takes `line` cells along it, more where the height is small.
pub(super) fn cover(line: u32, (width, height): (usize, usize)) -> LaunchConfig {
    let (width, height) = (width as u32, height as u32);
    let narrow = width.next_power_of_two().min(line);
    let tall = (BLOCK / narrow).min(height.next_power_of_two());
    let wide = BLOCK / tall;
    LaunchConfig {
        grid_dim: (width.div_ceil(wide), height.div_ceil(tall), 1),
        block_dim: (wide, tall, 1),
        shared_mem_bytes: 0,
    }
}

/// A kernel and the launch that it is made for.
pub(super) struct Kernel {
    /// Its name in its file.
    pub(super) name: String,
    pub(super) function: CudaFunction,
    pub(super) config: LaunchConfig,
}

impl Kernel {
    /// The kernel of this name in `module`.
    pub(super) fn new(
        module: &Arc<CudaModule>,
        name: impl Into<String>,
        config: LaunchConfig,
    ) -> Result<Kernel, CudaError> {
        let name = name.into();
        Ok(Kernel { function: module.load_function(&name)?, name, config })
    }
}

/// Enqueues a [`Kernel`] with the launch it is made for: device, kernel, then the
/// arguments in the order in which the kernel declares them.
macro_rules! enqueue {
    ($gpu:expr, $kernel:expr, $($argument:expr),+ $(,)?) => {
        $gpu.stream()
            .launch_builder(&$kernel.function)
            $(.arg($argument))+
            .launch($kernel.config)
            .map(|_| ())
            .map_err(CudaError::from)
    };
}
pub(super) use enqueue;

/// Most blocks along the second and third axis of a grid.
pub(super) const MOST_BLOCKS: u32 = 65535;

/// As [`cover`], but for cells of fewer than `line` across a block is as wide as
/// they are, and then not of exactly [`BLOCK`] threads: for kernels that sum nothing.
/// (An H200, 10000 × 100 in f64: the DCT's post-processing 4 % faster, other kernels
/// slower.)
pub(super) fn fit(line: u32, (width, height): (usize, usize)) -> LaunchConfig {
    if width >= line as usize {
        return cover(line, (width, height));
    }
    let wide = width as u32;
    let tall = (BLOCK / wide).min(height.min(BLOCK as usize) as u32);
    LaunchConfig {
        grid_dim: (1, (height as u32).div_ceil(tall), 1),
        block_dim: (wide, tall, 1),
        shared_mem_bytes: 0,
    }
}

/// As [`cover`], with no more blocks down the height than a grid can have: for
/// kernels whose threads go on from there.
pub(super) fn cover_lines(line: u32, cells: (usize, usize)) -> LaunchConfig {
    let mut config = cover(line, cells);
    config.grid_dim.1 = config.grid_dim.1.min(MOST_BLOCKS);
    config
}

/// The same launch for each of `maps` maps.
pub(super) fn stacked(mut config: LaunchConfig, maps: usize) -> LaunchConfig {
    config.grid_dim.2 = maps as u32;
    config
}

/// Most turns a thread takes in a kernel that ends in a sum over the grid.
const TURNS: u32 = 8;

/// As [`cover`], with no more blocks than the device runs at once: threads go
/// on down the height, so that the sum over the grid that ends the kernel has
/// few blocks to wait for. (An H200, the solve at 1024² and 2048²: 2 % faster
/// than with two or four times the blocks. At 4096², where a thread would take
/// 26 turns, 1 % slower: hence [`TURNS`].)
pub(super) fn cover_for_sum(
    gpu: &Gpu,
    kernel: &CudaFunction,
    cells: (usize, usize),
) -> Result<LaunchConfig, CudaError> {
    let each = kernel.occupancy_max_active_blocks_per_multiprocessor(BLOCK, 0, None)?;
    let at_once = each * gpu.info().multiprocessors as u32;
    Ok(at_most(at_once, cover(64, cells)))
}

/// Fewer blocks down the height, each taking the same number of turns but for
/// the last turn's remainder.
fn at_most(blocks: u32, mut config: LaunchConfig) -> LaunchConfig {
    let (across, down, _) = config.grid_dim;
    let turns = down.div_ceil((blocks / across).max(1)).min(TURNS);
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

/// What a kernel's start may overlap with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Overlap {
    /// Nothing: all work before it in the stream is done.
    None,
    /// The end of the kernel before it in the stream (programmatic dependent
    /// launch, compute capability 9.0): its blocks start when there is room for
    /// them and wait for that kernel's results themselves.
    Previous,
}

impl Overlap {
    /// [`Overlap::Previous`] on devices that have it.
    pub(super) fn where_possible(gpu: &Gpu) -> Overlap {
        if gpu.info().compute_capability >= (9, 0) { Overlap::Previous } else { Overlap::None }
    }
}

/// An argument of [`launch`], whatever its type. It is only read.
pub(super) fn argument<A>(value: &A) -> *mut c_void {
    std::ptr::from_ref(value).cast_mut().cast()
}

/// Launches `kernel` on the device's stream.
///
/// # Safety
/// `arguments` point at values of the types the kernel declares, in its order;
/// what those say of device memory is true until the kernel has run; with
/// [`Overlap::Previous`] the kernel waits before its first access to memory that
/// the kernel before it writes, or that this one writes and that one reads.
pub(super) unsafe fn launch(
    gpu: &Gpu,
    kernel: &CudaFunction,
    config: LaunchConfig,
    overlap: Overlap,
    arguments: &mut [*mut c_void],
) -> Result<(), CudaError> {
    gpu.context().bind_to_thread()?;
    let value = sys::CUlaunchAttributeValue { programmaticStreamSerializationAllowed: 1 };
    let mut attribute = sys::CUlaunchAttribute {
        id: sys::CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
        pad: Default::default(),
        value,
    };
    let config = sys::CUlaunchConfig {
        gridDimX: config.grid_dim.0,
        gridDimY: config.grid_dim.1,
        gridDimZ: config.grid_dim.2,
        blockDimX: config.block_dim.0,
        blockDimY: config.block_dim.1,
        blockDimZ: config.block_dim.2,
        sharedMemBytes: config.shared_mem_bytes,
        hStream: gpu.stream().cu_stream(),
        attrs: &mut attribute,
        numAttrs: u32::from(overlap == Overlap::Previous),
    };
    let none = std::ptr::null_mut();
    // SAFETY: stream and function belong to the context just bound; the
    // attribute outlives the call; the rest is the caller's promise.
    unsafe {
        sys::cuLaunchKernelEx(&config, kernel.cu_function(), arguments.as_mut_ptr(), none).result()
    }?;
    Ok(())
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
    fn turns_are_even_and_few() {
        let config = cover(32, (1025, 1025));
        assert_eq!(config.grid_dim, (33, 129, 1));
        // 20 blocks fit down the height; 129 rows of blocks then take 7 turns, as with 19.
        assert_eq!(at_most(660, config).grid_dim, (33, 19, 1));
        // One would take 129 turns.
        assert_eq!(at_most(33, config).grid_dim, (33, 17, 1));
        assert_eq!(at_most(1_000_000, config).grid_dim, config.grid_dim);
    }

    #[test]
    fn launches_cover_every_cell_in_full_blocks() {
        for (w, h) in [(1, 1), (1, 7), (2, 3), (257, 257), (1, 32768), (32768, 1), (100, 10000)] {
            for line in [32, 64, 128] {
                let c = cover(line, (w, h));
                assert_eq!(c.block_dim.0 * c.block_dim.1, BLOCK, "{w} x {h}");
                assert!((c.grid_dim.0 * c.block_dim.0) as usize >= w, "{w} x {h}");
                assert!((c.grid_dim.1 * c.block_dim.1) as usize >= h, "{w} x {h}");
                assert!(c.grid_dim.1 <= 65535, "{w} x {h}");
                let f = fit(line, (w, h));
                assert!(f.block_dim.0 * f.block_dim.1 <= BLOCK, "{w} x {h}");
                assert!((f.grid_dim.0 * f.block_dim.0) as usize >= w, "{w} x {h}");
                assert!((f.grid_dim.1 * f.block_dim.1) as usize >= h, "{w} x {h}");
            }
        }
    }
}
