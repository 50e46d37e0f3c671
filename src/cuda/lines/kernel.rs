//! A kernel compiled for lines of one length: an instance of the family.

use super::instances::{Defines, instance};
use super::shapes::{Keep, Limits, Role, Shape, choose};
use super::tuning::measured;
use super::twiddles::twiddles;
use crate::cuda::device::{CudaError, CudaReal, DeviceVec, Gpu, function};
use cudarc::driver::sys::{CUdevice_attribute, CUfunction_attribute};
use cudarc::driver::{CudaFunction, LaunchConfig};

/// How lines are divided on a device: by the table, or as was measured to be faster there.
#[derive(Clone, Debug)]
pub(in crate::cuda) struct Shapes {
    pub(in crate::cuda) limits: Limits,
    /// Before the table.
    measured: Vec<Shape>,
}

impl Shapes {
    /// As the table has them.
    pub(in crate::cuda) fn from_table(gpu: &Gpu) -> Result<Self, CudaError> {
        let threads = CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR;
        let limits = Limits {
            shared: gpu.info().shared_memory,
            threads: gpu.context().attribute(threads)? as usize,
        };
        Ok(Shapes { limits, measured: Vec::new() })
    }

    /// What was measured on this device, and the table for everything else.
    pub(in crate::cuda) fn of(gpu: &Gpu) -> Result<Self, CudaError> {
        let shapes = Self::from_table(gpu)?;
        let measured = measured(gpu, shapes.limits);
        Ok(Shapes { measured, ..shapes })
    }

    /// With this one in place of what there is for lines of its length.
    pub(in crate::cuda) fn with(mut self, shape: Shape) -> Self {
        self.measured.insert(0, shape);
        self
    }

    /// That of lines of n elements; `None` where the device cannot have such lines.
    pub(in crate::cuda) fn choose<T: CudaReal>(&self, role: Role, n: usize) -> Option<Shape> {
        let real = size_of::<T>();
        let is_it = |shape: &&Shape| (shape.role, shape.n, shape.real) == (role, n, real);
        self.measured
            .iter()
            .copied()
            .find(|shape| is_it(&shape))
            .or_else(|| choose(role, real, n, self.limits))
    }
}

/// A kernel to be compiled: what it does, and how its lines are divided.
#[derive(Clone, Debug)]
pub(in crate::cuda) struct Instance {
    unit: &'static str,
    shape: Shape,
    defines: Defines,
}

impl Instance {
    /// The kernel called `unit`, as its file is, for `lines` lines of n elements that does what
    /// `does` says. `None` where the device cannot have such lines.
    pub(in crate::cuda) fn choose<T: CudaReal>(
        shapes: &Shapes,
        (unit, role, does): (&'static str, Role, Defines),
        (n, lines): (usize, usize),
    ) -> Option<Self> {
        let shape = shapes.choose::<T>(role, n)?;
        Some(Instance { unit, shape, defines: instance(&shape, shapes.limits, lines, does) })
    }
}

/// An instance on a device, with its table of twiddles.
pub(in crate::cuda) struct LineKernel<T: CudaReal> {
    pub(in crate::cuda) function: CudaFunction,
    pub(in crate::cuda) shape: Shape,
    pub(in crate::cuda) table: DeviceVec<T::Complex>,
}

impl<T: CudaReal> LineKernel<T> {
    /// All of a plan's: what has to be compiled is compiled side by side.
    pub(in crate::cuda) fn all(gpu: &Gpu, instances: &[Instance]) -> Result<Vec<Self>, CudaError> {
        let wanted: Vec<_> = instances.iter().map(|i| (i.unit, &i.defines[..])).collect();
        let modules = gpu.prepare::<T>(&wanted)?;
        let kernels = instances.iter().zip(modules).map(|(instance, module)| {
            let shape = instance.shape;
            let function = function(&module, instance.unit)?;
            let most = CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
            function.set_attribute(most, shape.bytes() as i32)?;
            let table: Vec<T::Complex> =
                twiddles(&shape).into_iter().map(|(re, im)| T::complex(re, im)).collect();
            Ok(LineKernel { function, shape, table: gpu.upload(&table)? })
        });
        kernels.collect()
    }

    /// Compiles instances side by side; those that fail do so again when they are asked for.
    pub(in crate::cuda) fn compile(gpu: &Gpu, instances: &[Instance]) {
        let wanted: Vec<_> = instances.iter().map(|i| (i.unit, &i.defines[..])).collect();
        let _ = gpu.prepare::<T>(&wanted);
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

    /// The launch of the third pass of `solves` solves for `pairs` row pairs each: every group of
    /// threads has row pairs of one of a solve's `maps` maps.
    pub(in crate::cuda) fn cover_fields(&self, pairs: u32, maps: u32, solves: u32) -> LaunchConfig {
        let units = pairs.div_ceil(self.shape.lanes as u32) * maps;
        self.config(units.div_ceil(self.shape.groups as u32), solves)
    }

    /// Of the solve's second pass for so many columns: its groups of columns that are neighbours,
    /// and its blocks, of which persistent ones are as many as run at once.
    pub(in crate::cuda) fn column_units(
        &self,
        gpu: &Gpu,
        columns: usize,
    ) -> Result<(u32, u32), CudaError> {
        let units = columns.div_ceil(2 * self.shape.lines()) as u32;
        if self.shape.keep != Keep::Separate {
            return Ok((units, units));
        }
        let (threads, bytes) = (self.shape.threads() as u32, self.shape.bytes());
        let each =
            self.function.occupancy_max_active_blocks_per_multiprocessor(threads, bytes, None)?;
        Ok((units, units.min(each.max(1) * gpu.info().multiprocessors as u32)))
    }
}
