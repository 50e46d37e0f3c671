//! A kernel compiled for lines of one length: an instance of the family.

use super::instances::{Defines, instance};
use super::measured::measured;
use super::shapes::{Limits, Role, Shape, SpectrumStorage, choose};
use super::twiddles::twiddles;
use crate::cuda::device::{Arguments, CudaError, CudaReal, DeviceVec, Gpu, Kernel};
use cudarc::driver::sys::{CUdevice_attribute, CUfunction_attribute};
use cudarc::driver::{CudaModule, LaunchConfig};
use std::sync::Arc;

/// The division of lines on a device: from the table, or from faster measured shapes.
#[derive(Clone, Debug)]
pub(crate) struct Shapes {
    pub(crate) limits: Limits,
    /// Takes precedence over the table.
    measured: Vec<Shape>,
}

impl Shapes {
    /// Returns the shapes of the table.
    pub(crate) fn from_table(gpu: &Gpu) -> Result<Self, CudaError> {
        let threads = CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR;
        let limits = Limits {
            shared: gpu.info().shared_memory,
            threads: gpu.context().attribute(threads)? as usize,
        };
        Ok(Shapes { limits, measured: Vec::new() })
    }

    /// Returns the shapes measured on this device, and the table for everything else.
    pub(crate) fn of(gpu: &Gpu) -> Result<Self, CudaError> {
        let shapes = Self::from_table(gpu)?;
        let measured = measured(gpu, shapes.limits);
        Ok(Shapes { measured, ..shapes })
    }

    /// Returns the shapes with this one replacing the shape for lines of its length.
    pub(crate) fn with(mut self, shape: Shape) -> Self {
        self.measured.insert(0, shape);
        self
    }

    /// Returns the shape of lines of n elements, of which a map has `count` pairs; `None` if the
    /// device cannot run such lines.
    pub(crate) fn choose<T: CudaReal>(
        &self,
        role: Role,
        (n, count): (usize, usize),
    ) -> Option<Shape> {
        let real = size_of::<T>();
        let is_it = |shape: &&Shape| (shape.role, shape.n, shape.real) == (role, n, real);
        self.measured
            .iter()
            .copied()
            .find(|shape| is_it(&shape))
            .or_else(|| choose(role, real, (n, count), self.limits))
    }
}

/// The lines that a kernel processes in each of `maps` maps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LineBatch {
    /// Elements of a line.
    pub(crate) n: usize,
    /// Pairs of real lines.
    pub(crate) count: usize,
    pub(crate) maps: usize,
}

/// A kernel to be compiled: its file, its macros and the division of its lines.
#[derive(Clone, Debug)]
pub(crate) struct Instance {
    unit: &'static str,
    shape: Shape,
    defines: Defines,
    lines: LineBatch,
}

impl Instance {
    /// Returns the kernel `unit`, named like its file, with the macros `does` for `lines`; `None`
    /// if the device cannot run such lines.
    pub(crate) fn choose<T: CudaReal>(
        shapes: &Shapes,
        (unit, role, does): (&'static str, Role, Defines),
        lines: LineBatch,
    ) -> Option<Self> {
        let shape = shapes.choose::<T>(role, (lines.n, lines.count))?;
        let defines = instance(&shape, shapes.limits, lines.count, does);
        Some(Instance { unit, shape, defines, lines })
    }
}

/// Compiles instances in parallel.
pub(crate) fn compile<T: CudaReal>(
    gpu: &Gpu,
    instances: &[Instance],
) -> Result<Vec<Arc<CudaModule>>, CudaError> {
    let wanted: Vec<_> = instances.iter().map(|i| (i.unit, &i.defines[..])).collect();
    gpu.prepare::<T>(&wanted)
}

/// An instance on a device, with its launch configuration and its table of twiddles.
pub(crate) struct LineKernel<T: CudaReal, A> {
    pub(crate) kernel: Kernel<A>,
    pub(crate) table: DeviceVec<T::Complex>,
    /// Groups of lines of a map. Every group of threads of a block processes one, or several if
    /// blocks are persistent.
    pub(crate) units: u32,
    /// Groups of threads in a block.
    groups: u32,
}

impl<T: CudaReal, A: Arguments> LineKernel<T, A> {
    /// Returns the kernel of a compiled instance. With `overlaps`, its start overlaps with the end
    /// of the kernel before it where possible.
    pub(crate) fn new(
        gpu: &Gpu,
        (instance, module): (&Instance, &Arc<CudaModule>),
        overlaps: bool,
    ) -> Result<Self, CudaError> {
        let &Instance { shape, lines: LineBatch { count, maps, .. }, .. } = instance;
        let (threads, bytes) = (shape.threads() as u32, shape.bytes());
        let units = count.div_ceil(shape.lanes) as u32;
        let groups = shape.groups as u32;
        let mut config = LaunchConfig {
            grid_dim: (units.div_ceil(groups), maps as u32, 1),
            block_dim: (threads, 1, 1),
            shared_mem_bytes: bytes as u32,
        };
        let mut kernel = Kernel::new(module)?;
        if overlaps {
            kernel = kernel.overlapping();
        }
        let most = CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        kernel.code.set_attribute(most, bytes as i32)?;
        if shape.keep == SpectrumStorage::Separate {
            // Persistent blocks: as many as run at once.
            config.grid_dim.0 = units.min(kernel.at_once(gpu, &config)?);
        }
        let table: Vec<T::Complex> =
            twiddles(&shape).into_iter().map(|w| T::complex(w.re, w.im)).collect();
        Ok(LineKernel { kernel: kernel.with(config), table: gpu.upload(&table)?, units, groups })
    }

    /// Returns the launch that makes `outputs` maps of each: several in the solve's third pass.
    pub(crate) fn config_for(&self, outputs: u32) -> LaunchConfig {
        let mut config = self.kernel.config;
        config.grid_dim.0 = (self.units * outputs).div_ceil(self.groups);
        config
    }
}
