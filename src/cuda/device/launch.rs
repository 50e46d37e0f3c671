//! Launches: their shapes, their arguments, and what kernels that sum over a grid share.

use super::constants;
use super::error::CudaError;
use super::gpu::Gpu;
use super::memory::{DeviceSlice, DeviceSliceMut, DeviceVec};
use super::value::DeviceValue;
use cudarc::driver::sys::{self, CUfunction_attribute, CUresult};
use cudarc::driver::{CudaFunction, CudaModule, DriverError, LaunchConfig};
use std::ffi::c_void;
use std::marker::PhantomData;
use std::sync::Arc;

/// Threads in a block.
pub(in crate::cuda) const BLOCK: u32 = constants::BLOCK as u32;

/// Returns one thread for each of `width × height` cells, consecutive along the width; a block
/// takes `line` cells along it, more where the height is small.
fn cover(line: u32, (width, height): (usize, usize)) -> LaunchConfig {
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
pub(in crate::cuda) struct Kernel {
    /// Its name in its file.
    pub(in crate::cuda) name: String,
    pub(in crate::cuda) function: CudaFunction,
    pub(in crate::cuda) config: LaunchConfig,
}

impl Kernel {
    /// Returns a launch of it; its shape is `config`.
    pub(in crate::cuda) fn on<'a>(&'a self, gpu: &'a Gpu) -> Launch<'a> {
        Launch::new(gpu, &self.function)
    }

    /// Enqueues it.
    ///
    /// # Errors
    /// See [`Launch::launch`].
    ///
    /// # Safety
    /// See [`Launch::launch`].
    pub(in crate::cuda) unsafe fn launch(
        &self,
        gpu: &Gpu,
        arguments: &[&dyn KernelArgument],
    ) -> Result<(), CudaError> {
        // SAFETY: the caller's promise.
        unsafe { self.on(gpu).args(arguments).launch(self.config) }
    }

    /// Returns the kernel of this name in `module`.
    pub(in crate::cuda) fn new(
        module: &Arc<CudaModule>,
        name: impl Into<String>,
        config: LaunchConfig,
    ) -> Result<Kernel, CudaError> {
        let name = name.into();
        Ok(Kernel { function: function(module, &name)?, name, config })
    }
}

/// Returns the kernel of this name in `module`.
///
/// # Errors
/// [`CudaError::NoKernel`] when there is none.
pub(in crate::cuda) fn function(
    module: &Arc<CudaModule>,
    name: &str,
) -> Result<CudaFunction, CudaError> {
    module.load_function(name).map_err(|error| match error.0 {
        CUresult::CUDA_ERROR_NOT_FOUND => CudaError::NoKernel(name.into()),
        _ => error.into(),
    })
}

/// Most pins of a netlist: kernels count them in 32 bits, a block's stride beyond the
/// last one included.
pub(in crate::cuda) const MOST_PINS: usize = (u32::MAX - BLOCK) as usize;

/// Most blocks along the second and third axis of a grid.
pub(in crate::cuda) const MOST_BLOCKS: u32 = 65535;

/// Returns the grid of [`cover_lines`], except that for fewer than `line` cells across a block is
/// as wide as they are and has other than [`BLOCK`] threads: for kernels without sums. (An H200,
/// 10000 × 100 in f64: the DCT's post-processing 4 % faster, other kernels slower.)
pub(in crate::cuda) fn fit(line: u32, (width, height): (usize, usize)) -> LaunchConfig {
    if width >= line as usize {
        return cover_lines(line, (width, height));
    }
    let wide = width as u32;
    let tall = (BLOCK / wide).min(height.min(BLOCK as usize) as u32);
    LaunchConfig {
        grid_dim: (1, (height as u32).div_ceil(tall).min(MOST_BLOCKS), 1),
        block_dim: (wide, tall, 1),
        shared_mem_bytes: 0,
    }
}

/// Returns the grid of [`cover`] with no more blocks down the height than a grid can have, for
/// kernels with a grid-stride loop over the height.
pub(in crate::cuda) fn cover_lines(line: u32, cells: (usize, usize)) -> LaunchConfig {
    let mut config = cover(line, cells);
    config.grid_dim.1 = config.grid_dim.1.min(MOST_BLOCKS);
    config
}

/// Returns the same launch for each of `maps` maps.
pub(in crate::cuda) fn stacked(mut config: LaunchConfig, maps: usize) -> LaunchConfig {
    config.grid_dim.2 = maps as u32;
    config
}

/// Most turns a thread takes in a kernel that ends in a sum over the grid.
const TURNS: u32 = 8;

/// Returns the grid of [`cover`] with no more blocks than the device runs at once: a grid-stride
/// loop takes the rest of the height, so that the sum over the grid that ends the kernel has few
/// blocks to wait for. (An H200, the solve at 1024² and 2048²: 2 % faster than with two or four
/// times the blocks. At 4096², where a thread would take 26 turns, 1 % slower: hence [`TURNS`].)
pub(in crate::cuda) fn cover_for_sum(
    gpu: &Gpu,
    kernel: &CudaFunction,
    cells: (usize, usize),
) -> Result<LaunchConfig, CudaError> {
    let each = kernel.occupancy_max_active_blocks_per_multiprocessor(BLOCK, 0, None)?;
    let at_once = each * gpu.info().multiprocessors as u32;
    Ok(at_most(at_once, cover(64, cells)))
}

/// Returns fewer blocks down the height, each taking the same number of turns but for the last
/// turn's remainder.
fn at_most(blocks: u32, mut config: LaunchConfig) -> LaunchConfig {
    let (across, down, _) = config.grid_dim;
    let turns = down.div_ceil((blocks / across).max(1)).min(TURNS);
    config.grid_dim.1 = down.div_ceil(turns);
    config
}

/// The work that a kernel's start may overlap with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cuda) enum Overlap {
    /// Nothing: all work before it in the stream is done.
    None,
    /// The end of the kernel before it in the stream (programmatic dependent
    /// launch, compute capability 9.0): its blocks start when there is room for
    /// them and wait for that kernel's results themselves.
    Previous,
}

impl Overlap {
    /// [`Overlap::Previous`] for a kernel whose code waits, as that compiled for 9.0 or
    /// later does (`wait_for_previous` in `kernels/device`). Older PTX that the driver
    /// makes code of for a newer device does not.
    pub(in crate::cuda) fn where_possible(kernel: &CudaFunction) -> Overlap {
        let compiled_for = CUfunction_attribute::CU_FUNC_ATTRIBUTE_PTX_VERSION;
        match kernel.get_attribute(compiled_for) {
            Ok(sm) if sm >= 90 => Overlap::Previous,
            _ => Overlap::None,
        }
    }
}

/// A type that kernels take by value: a number, a structure or the address of memory.
///
/// # Safety
/// `pointer` leads to a value of the type that the kernel declares for it, laid out as in C++;
/// addresses in it are of memory that `check` checks, or that the caller of the launch ensures.
pub(in crate::cuda) unsafe trait KernelArgument {
    /// Refuses memory of another device.
    fn check(&self, _gpu: &Gpu) -> Result<(), CudaError> {
        Ok(())
    }

    /// Returns where the value is. It is only read.
    fn pointer(&self) -> *mut c_void {
        std::ptr::from_ref(self).cast_mut().cast()
    }
}

// SAFETY: numbers are alike on both sides.
unsafe impl<E: DeviceValue> KernelArgument for E {}

macro_rules! memory {
    ($([$($lifetime:lifetime)?] $memory:ty),*) => {
        // SAFETY: an address is passed as a pointer to values of this type.
        $(unsafe impl<$($lifetime,)? E: DeviceValue> KernelArgument for $memory {
            fn check(&self, gpu: &Gpu) -> Result<(), CudaError> {
                gpu.check_own(self.gpu())
            }

            fn pointer(&self) -> *mut c_void {
                std::ptr::from_ref(self.address()).cast_mut().cast()
            }
        })*
    };
}
memory!([] DeviceVec<E>, ['a] DeviceSlice<'a, E>, ['a] DeviceSliceMut<'a, E>);

/// Most arguments of a kernel.
const MOST_ARGUMENTS: usize = 20;

/// A launch and its arguments, gathered without allocating.
pub(in crate::cuda) struct Launch<'a> {
    gpu: &'a Gpu,
    function: &'a CudaFunction,
    overlap: Overlap,
    arguments: [*mut c_void; MOST_ARGUMENTS],
    count: usize,
    /// The error of the first argument that was refused.
    refused: Option<CudaError>,
    of: PhantomData<&'a ()>,
}

impl<'a> Launch<'a> {
    /// Prepares a launch that begins when all work before it is done.
    pub(in crate::cuda) fn new(gpu: &'a Gpu, function: &'a CudaFunction) -> Self {
        Launch {
            gpu,
            function,
            overlap: Overlap::None,
            arguments: [std::ptr::null_mut(); MOST_ARGUMENTS],
            count: 0,
            refused: None,
            of: PhantomData,
        }
    }

    /// Sets the work that the kernel's start may overlap with.
    pub(in crate::cuda) fn overlap(&mut self, overlap: Overlap) -> &mut Self {
        self.overlap = overlap;
        self
    }

    /// Adds the next argument, in the order in which the kernel declares them.
    ///
    /// # Panics
    /// When there are too many.
    pub(in crate::cuda) fn arg(
        &mut self,
        argument: &'a (impl KernelArgument + ?Sized),
    ) -> &mut Self {
        if let Err(error) = argument.check(self.gpu) {
            self.refused.get_or_insert(error);
        }
        self.arguments[self.count] = argument.pointer();
        self.count += 1;
        self
    }

    /// Adds the next arguments.
    ///
    /// # Panics
    /// When there are too many.
    pub(in crate::cuda) fn args(&mut self, arguments: &[&'a dyn KernelArgument]) -> &mut Self {
        for &argument in arguments {
            self.arg(argument);
        }
        self
    }

    /// Enqueues it.
    ///
    /// # Errors
    /// When an argument belongs to another device, a block would have more shared memory
    /// than the device or its limit allows, or the driver refuses.
    ///
    /// # Safety
    /// The arguments are of the types the kernel declares, in its order; memory is as large as the
    /// kernel counts on; memory that the kernel writes is used elsewhere only in the stream's
    /// order; with [`Overlap::Previous`] the kernel waits before its first access to memory that
    /// the kernel before it writes, or that this one writes and that one reads.
    pub(in crate::cuda) unsafe fn launch(&mut self, config: LaunchConfig) -> Result<(), CudaError> {
        if let Some(error) = self.refused.take() {
            return Err(error);
        }
        // The driver knows the device's own limit alone.
        if config.shared_mem_bytes as usize > self.gpu.shared_memory_limit() {
            return Err(DriverError(CUresult::CUDA_ERROR_INVALID_VALUE).into());
        }
        let value = sys::CUlaunchAttributeValue { programmaticStreamSerializationAllowed: 1 };
        let mut attribute = sys::CUlaunchAttribute {
            id: sys::CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
            pad: Default::default(),
            value,
        };
        let stream = self.gpu.stream_guard()?;
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
            numAttrs: u32::from(self.overlap == Overlap::Previous),
        };
        let (function, arguments) = (self.function.cu_function(), self.arguments.as_mut_ptr());
        // SAFETY: stream and function belong to the context that is current; the
        // attribute outlives the call, and so do the arguments, borrowed for as
        // long as `self`; the rest is the caller's promise.
        unsafe {
            sys::cuLaunchKernelEx(&config, function, arguments, std::ptr::null_mut()).result()
        }?;
        Ok(())
    }
}

/// Returns a launch of so many blocks of [`BLOCK`] threads.
pub(in crate::cuda) fn grid_of(blocks: usize) -> LaunchConfig {
    LaunchConfig { grid_dim: (blocks as u32, 1, 1), block_dim: (BLOCK, 1, 1), shared_mem_bytes: 0 }
}

/// Returns the blocks of [`BLOCK`] threads, one thread per element; one block at least.
pub(in crate::cuda) fn blocks_for(elements: usize) -> LaunchConfig {
    grid_of(elements.div_ceil(BLOCK as usize).max(1))
}

/// At most `blocks` blocks of [`BLOCK`] threads, and no more than the device runs at once.
pub(in crate::cuda) fn blocks_at_once(
    gpu: &Gpu,
    kernel: &CudaFunction,
    blocks: usize,
) -> Result<LaunchConfig, CudaError> {
    let each = kernel.occupancy_max_active_blocks_per_multiprocessor(BLOCK, 0, None)?;
    let most = (each * gpu.info().multiprocessors.max(1) as u32).max(1);
    Ok(grid_of(blocks.max(1).min(most as usize)))
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
