//! A kernel compiled for lines of one length: an instance of the family.

use super::shapes::{Limits, Role, Shape, choose};
use super::twiddles::twiddles;
use crate::cuda::device::{CudaError, CudaReal, DeviceVec, Gpu};
use cudarc::driver::sys::{CUdevice_attribute, CUfunction_attribute};
use cudarc::driver::{CudaFunction, LaunchConfig};

/// What a device leaves to choose from.
pub(in crate::cuda) fn limits(gpu: &Gpu) -> Result<Limits, CudaError> {
    let threads = CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR;
    Ok(Limits {
        shared: gpu.info().shared_memory,
        threads: gpu.context().attribute(threads)? as usize,
    })
}

/// A kernel to be compiled: what it does, and how its lines are divided.
#[derive(Clone, Debug)]
pub(in crate::cuda) struct Instance {
    unit: &'static str,
    kernel: &'static str,
    pub(in crate::cuda) shape: Shape,
    defines: Vec<(&'static str, String)>,
}

impl Instance {
    /// The kernel called `kernel` in `kernels/…/<unit>.cu` for lines of n elements; `does` are the
    /// definitions that say what it does. `None` where the device cannot have such lines.
    pub(in crate::cuda) fn choose<T: CudaReal>(
        limits: Limits,
        (unit, kernel): (&'static str, &'static str),
        role: Role,
        n: usize,
        does: &[(&'static str, &str)],
    ) -> Option<Self> {
        let shape = choose(role, size_of::<T>(), n, limits)?;
        let mut defines = shape.defines(limits);
        defines.extend(does.iter().map(|&(name, value)| (name, value.to_owned())));
        Some(Instance { unit, kernel, shape, defines })
    }
}

/// An instance on a device, with its table of twiddles.
pub(in crate::cuda) struct LineKernel<T: CudaReal> {
    /// Its name in its file.
    pub(in crate::cuda) name: &'static str,
    pub(in crate::cuda) function: CudaFunction,
    pub(in crate::cuda) shape: Shape,
    pub(in crate::cuda) table: DeviceVec<T::Complex>,
}

impl<T: CudaReal> LineKernel<T> {
    /// All of a plan's: what has to be compiled is compiled side by side.
    pub(in crate::cuda) fn all(gpu: &Gpu, instances: &[Instance]) -> Result<Vec<Self>, CudaError> {
        let wanted: Vec<_> = instances.iter().map(|i| (i.unit, &i.defines[..])).collect();
        let modules = gpu.instances::<T>(&wanted)?;
        let kernels = instances.iter().zip(modules).map(|(instance, module)| {
            let shape = instance.shape;
            let function = module.load_function(instance.kernel)?;
            let most = CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
            function.set_attribute(most, shape.bytes() as i32)?;
            let table: Vec<T::Complex> =
                twiddles(&shape).into_iter().map(|(re, im)| T::complex(re, im)).collect();
            Ok(LineKernel { name: instance.kernel, function, shape, table: gpu.upload(&table)? })
        });
        kernels.collect()
    }

    /// A launch of so many blocks, for each of `maps` maps.
    pub(in crate::cuda) fn config(&self, blocks: u32, maps: u32) -> LaunchConfig {
        LaunchConfig {
            grid_dim: (blocks, maps, 1),
            block_dim: (self.shape.threads() as u32, 1, 1),
            shared_mem_bytes: self.shape.bytes() as u32,
        }
    }

    /// The launch for `lines` lines of each of `maps` maps.
    pub(in crate::cuda) fn cover(&self, lines: u32, maps: u32) -> LaunchConfig {
        self.config(lines.div_ceil(self.shape.lines() as u32), maps)
    }

    /// The most blocks that run at once.
    pub(in crate::cuda) fn blocks_at_once(&self, gpu: &Gpu) -> Result<u32, CudaError> {
        let (threads, bytes) = (self.shape.threads() as u32, self.shape.bytes());
        let each =
            self.function.occupancy_max_active_blocks_per_multiprocessor(threads, bytes, None)?;
        Ok(each.max(1) * gpu.info().multiprocessors as u32)
    }
}
