//! Kernels, their launches, and constants shared by kernels that sum over a grid.

use super::arguments::{ArgumentList, Arguments};
use super::constants::{self, PIECE_PINS};
use super::error::CudaError;
use super::gpu::Gpu;
use super::probe::driver_version;
use super::stream::Lenient;
use cudarc::driver::sys::{self, CUfunction_attribute, CUresult};
use cudarc::driver::{CudaFunction, CudaModule, DriverError, LaunchConfig};
use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::Arc;

/// Threads in a block.
pub(crate) const BLOCK: u32 = constants::BLOCK as u32;

/// Returns one thread for each of `width × height` cells, consecutive along the width. A block
/// takes `line` cells along the width, and more if the height is small.
fn cover(line: u32, (width, height): (usize, usize)) -> LaunchConfig {
    let (width, height) = (width as u32, height as u32);
    let narrow = width.next_power_of_two().min(line);
    let tall = (BLOCK / narrow).min(height.next_power_of_two());
    let wide = BLOCK / tall;
    grid_with((wide, tall), (width.div_ceil(wide), height.div_ceil(tall)))
}

/// A kernel in a module, with its launch configuration.
pub(crate) struct Function {
    /// The kernel's name in its file.
    pub(crate) name: &'static str,
    pub(crate) code: CudaFunction,
    pub(crate) config: LaunchConfig,
    /// Whether the kernel's start may overlap with the end of the kernel before it.
    overlaps: bool,
    /// Sizes of its parameters, if the driver reports them; with debug assertions only.
    parameters: Option<Vec<usize>>,
}

impl Function {
    /// Returns the number of blocks of this launch that a multiprocessor holds at once.
    pub(super) fn occupancy(&self, config: &LaunchConfig) -> Result<u32, DriverError> {
        let (width, height, _) = config.block_dim;
        let bytes = config.shared_mem_bytes as usize;
        self.code.occupancy_max_active_blocks_per_multiprocessor(width * height, bytes, None)
    }

    /// Returns the number of such blocks that a device runs at once, at least one.
    pub(crate) fn at_once(&self, gpu: &Gpu, config: &LaunchConfig) -> Result<u32, CudaError> {
        Ok((self.occupancy(config)? * gpu.info().multiprocessors as u32).max(1))
    }
}

/// A kernel that takes the arguments `A`.
pub(crate) struct Kernel<A> {
    function: Function,
    of: PhantomData<fn(A)>,
}

impl<A> Deref for Kernel<A> {
    type Target = Function;

    fn deref(&self) -> &Function {
        &self.function
    }
}

impl<A: Arguments> Kernel<A> {
    /// Returns the first kernel in `module` that takes the arguments `A`, in one block.
    pub(crate) fn new(module: &Arc<CudaModule>) -> Result<Self, CudaError> {
        Self::named(module, A::NAMES[0])
    }

    /// Returns the kernel of this name.
    ///
    /// # Errors
    /// [`CudaError::NoKernel`] if the module lacks the kernel.
    ///
    /// # Panics
    /// If the kernel takes other arguments.
    pub(crate) fn named(module: &Arc<CudaModule>, name: &str) -> Result<Self, CudaError> {
        let name = A::NAMES.iter().find(|&&of| of == name).expect("a kernel with these arguments");
        let code = module.load_function(name).map_err(|error| match error.0 {
            CUresult::CUDA_ERROR_NOT_FOUND => CudaError::NoKernel((*name).into()),
            _ => error.into(),
        })?;
        let parameters = if cfg!(debug_assertions) { parameters(&code) } else { None };
        let (config, overlaps) = (grid_of(1), false);
        let function = Function { name, code, config, overlaps, parameters };
        Ok(Kernel { function, of: PhantomData })
    }

    /// Returns the kernels of these names; see [`Kernel::named`].
    pub(crate) fn each<const N: usize>(
        module: &Arc<CudaModule>,
        names: [&str; N],
    ) -> Result<[Self; N], CudaError> {
        let kernels = names.into_iter().map(|name| Self::named(module, name));
        let kernels = kernels.collect::<Result<Vec<_>, _>>()?;
        Ok(kernels.try_into().unwrap_or_else(|_| unreachable!("one for each name")))
    }

    /// Returns the same kernel with the launch configuration `config`.
    pub(crate) fn with(mut self, config: LaunchConfig) -> Self {
        self.function.config = config;
        self
    }

    /// Returns the same kernel, whose start may overlap with the end of the kernel before it in the
    /// stream. This is programmatic dependent launch (compute capability 9.0). Its blocks start as
    /// soon as there is room, and then wait for that kernel's results. Only code compiled for 9.0
    /// or later does so (`wait_for_previous` in `kernels/device`). If the driver compiles older PTX
    /// for a newer device, nothing overlaps.
    pub(crate) fn overlapping(mut self) -> Self {
        let compiled_for = CUfunction_attribute::CU_FUNC_ATTRIBUTE_PTX_VERSION;
        let waits = self.code.get_attribute(compiled_for).is_ok_and(|sm| sm >= 90);
        self.function.overlaps = waits;
        self
    }

    /// Enqueues the kernel.
    ///
    /// # Errors
    /// When an argument belongs to another device, a block needs more shared memory than the device
    /// or its limit allows, or the driver refuses.
    ///
    /// # Safety
    /// Memory lives and is as large as the kernel requires; memory that the kernel writes is used
    /// elsewhere only in the stream's order. If the kernel's start overlaps
    /// ([`Kernel::overlapping`]), the kernel waits before its first access to certain memory:
    /// memory that the kernel before it writes, and memory that this kernel writes and that kernel
    /// reads.
    ///
    /// # Panics
    /// With debug assertions, if the driver reports another number of parameters or other sizes.
    /// Then an argument that only some instances have is missing, or does not belong to this
    /// instance.
    pub(crate) unsafe fn launch(&self, gpu: &Gpu, arguments: &A) -> Result<(), CudaError> {
        // SAFETY: the caller's promise.
        unsafe { self.launch_as(gpu, self.config, arguments) }
    }

    /// Enqueues the kernel with another launch configuration.
    ///
    /// # Safety
    /// See [`Kernel::launch`].
    pub(crate) unsafe fn launch_as(
        &self,
        gpu: &Gpu,
        config: LaunchConfig,
        arguments: &A,
    ) -> Result<(), CudaError> {
        let mut list = ArgumentList::of(gpu, arguments)?;
        if let Some(parameters) = &self.parameters {
            assert_eq!(list.sizes(), parameters, "bytes of the parameters of {}", self.name);
        }
        // The driver knows only the device's own limit.
        if config.shared_mem_bytes as usize > gpu.shared_memory_limit() {
            return Err(DriverError(CUresult::CUDA_ERROR_INVALID_VALUE).into());
        }
        let value = sys::CUlaunchAttributeValue { programmaticStreamSerializationAllowed: 1 };
        let mut attribute = sys::CUlaunchAttribute {
            id: sys::CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
            pad: Default::default(),
            value,
        };
        let stream = gpu.stream_guard()?;
        let config = sys::CUlaunchConfig {
            gridDimX: config.grid_dim.0,
            gridDimY: config.grid_dim.1,
            gridDimZ: config.grid_dim.2,
            blockDimX: config.block_dim.0,
            blockDimY: config.block_dim.1,
            blockDimZ: config.block_dim.2,
            sharedMemBytes: config.shared_mem_bytes,
            hStream: stream.raw(),
            attrs: &mut attribute,
            numAttrs: u32::from(self.overlaps),
        };
        let (function, list) = (self.code.cu_function(), list.pointers());
        // SAFETY: stream and function belong to the current context; the attribute and the
        // arguments, which have the kernel's types, outlive the call; the caller promises the rest.
        unsafe { sys::cuLaunchKernelEx(&config, function, list, std::ptr::null_mut()) }.result()?;
        Ok(())
    }
}

/// The first driver that reports the sizes of a kernel's parameters.
const TELLS_PARAMETERS: (i32, i32) = (12, 4);

/// Returns the sizes of a kernel's parameters in bytes, if the driver reports them.
fn parameters(code: &CudaFunction) -> Option<Vec<usize>> {
    driver_version().filter(|version| *version >= TELLS_PARAMETERS)?;
    // The call may load the kernel, and a caller's capture forbids loading to all threads.
    let _lenient = Lenient::begin().ok()?;
    let size = |k| {
        let (mut offset, mut size) = (0, 0);
        // SAFETY: the function belongs to the current context; the call writes two numbers if there
        // is such a parameter.
        let told =
            unsafe { sys::cuFuncGetParamInfo(code.cu_function(), k, &mut offset, &mut size) };
        told.result().ok().map(|()| size)
    };
    Some((0..).map_while(size).collect())
}

/// The largest number of pins of a netlist. Kernels count pins in 32 bits, including a block's
/// stride and a piece's pins beyond the last one.
pub(crate) const MOST_PINS: usize = u32::MAX as usize - BLOCK as usize - PIECE_PINS;

/// The largest number of blocks along the second and third axis of a grid.
pub(crate) const MOST_BLOCKS: u32 = 65535;

/// Returns the grid of [`cover_lines`], except for fewer than `line` cells along the width: then a
/// block is as wide as the cells and has a number of threads other than [`BLOCK`]. For kernels
/// without sums. (On an H200 with 10000 × 100 in f64, the DCT's post-processing is 4 % faster and
/// other kernels are slower.)
pub(crate) fn fit(line: u32, (width, height): (usize, usize)) -> LaunchConfig {
    if width >= line as usize {
        return cover_lines(line, (width, height));
    }
    let wide = width as u32;
    let tall = (BLOCK / wide).min(height.min(BLOCK as usize) as u32);
    grid_with((wide, tall), (1, (height as u32).div_ceil(tall).min(MOST_BLOCKS)))
}

/// Returns the grid of [`cover`] with at most as many blocks down the height as a grid can have.
/// For kernels with a grid-stride loop over the height.
pub(crate) fn cover_lines(line: u32, cells: (usize, usize)) -> LaunchConfig {
    let mut config = cover(line, cells);
    config.grid_dim.1 = config.grid_dim.1.min(MOST_BLOCKS);
    config
}

/// Returns the same launch configuration for each of `maps` maps.
pub(crate) fn stacked(mut config: LaunchConfig, maps: usize) -> LaunchConfig {
    config.grid_dim.2 = maps as u32;
    config
}

/// The largest number of turns of a thread in a kernel that ends in a sum over the grid.
const TURNS: u32 = 8;

/// Returns the grid of [`cover`] with at most as many blocks as the device runs at once. A
/// grid-stride loop covers the rest of the height. The sum over the grid at the kernel's end then
/// waits for few blocks. (On an H200 at 1024² and 2048², the solve is 2 % faster than with two or
/// four times the blocks. At 4096², where a thread would take 26 turns, it is 1 % slower, hence
/// [`TURNS`].)
pub(crate) fn cover_for_sum(
    gpu: &Gpu,
    kernel: &Function,
    cells: (usize, usize),
) -> Result<LaunchConfig, CudaError> {
    Ok(at_most(kernel.at_once(gpu, &grid_of(1))?, cover(64, cells)))
}

/// Returns fewer blocks down the height. Each takes the same number of turns, except for the
/// remainder in the last turn.
fn at_most(blocks: u32, mut config: LaunchConfig) -> LaunchConfig {
    let (across, down, _) = config.grid_dim;
    let turns = down.div_ceil((blocks / across).max(1)).min(TURNS);
    config.grid_dim.1 = down.div_ceil(turns);
    config
}

/// Returns a launch of this many blocks.
pub(crate) fn blocks_with(threads: u32, blocks: usize) -> LaunchConfig {
    grid_with((threads, 1), (blocks as u32, 1))
}

fn grid_with((wide, tall): (u32, u32), (across, down): (u32, u32)) -> LaunchConfig {
    LaunchConfig { grid_dim: (across, down, 1), block_dim: (wide, tall, 1), shared_mem_bytes: 0 }
}

/// Returns a launch of this many blocks of [`BLOCK`] threads.
pub(crate) fn grid_of(blocks: usize) -> LaunchConfig {
    blocks_with(BLOCK, blocks)
}

/// Returns blocks of [`BLOCK`] threads with one thread per element; at least one block.
pub(crate) fn blocks_for(elements: usize) -> LaunchConfig {
    grid_of(elements.div_ceil(BLOCK as usize).max(1))
}

/// Returns up to `blocks` blocks of [`BLOCK`] threads, but no more than the device runs at once.
pub(crate) fn blocks_at_once(
    gpu: &Gpu,
    kernel: &Function,
    blocks: usize,
) -> Result<LaunchConfig, CudaError> {
    Ok(grid_of(blocks.max(1).min(kernel.at_once(gpu, &grid_of(1))? as usize)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grid_limits_give_even_loop_counts() {
        let config = cover(32, (1025, 1025));
        assert_eq!(config.grid_dim, (33, 129, 1));
        // 20 blocks fit down the height; 129 rows of blocks then take 7 turns, as with 19.
        assert_eq!(at_most(660, config).grid_dim, (33, 19, 1));
        // One block would take 129 turns.
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
