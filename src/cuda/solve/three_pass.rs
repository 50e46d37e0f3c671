//! The three-pass pipeline on a device: `kernels/lines/transform.cu`, `kernels/solve/columns.cu`
//! and `kernels/solve/fields.cu`.
//!
//! Three kernels a solve: DCTs along y; DCTs along x, Green's function and both inverses along x;
//! the three inverses along y (see [`crate::spectral`] for what is solved). A kernel keeps its
//! lines in registers from the first of its transforms to the last, so that a solve moves 10 values
//! per bin where the fused pipeline moves 28; without the potential, 9. How and why:
//! [`crate::spectral`].
//!
//! Lines have a length from 16 to 16384 that there are stages for (multiples of 4 with no prime
//! factor but 2, 3 and 5, not all of them: `src/cuda/lines/shapes.rs`), and a block's lines must
//! fit the device's shared memory and registers. [`ThreePass::new`] says so where they do not, and
//! [`solver`](super::solver()) takes the fused pipeline then.

use super::field_solver::{FieldMaps, FieldSolver, FieldsMut, Green, private};
use crate::cuda::device::bindings::lines::Transform;
use crate::cuda::device::bindings::solve::{self as kernels, Columns};
use crate::cuda::device::{
    Array, CudaError, CudaReal, DeviceSlice, DeviceVec, Function, Gpu, KernelUse, WIDEST,
    check_aligned, check_length,
};
use crate::cuda::lines::{
    Instance, LONGEST, LineBatch, LineKernel, Role, SHORTEST, Shapes, compile, panel, solve,
};
use crate::engine::Pipeline;
use crate::grid::BinGrid;

/// Up to here passes overlap where the device can: an H200 gains some 3 % by it
/// at 512² and loses up to 15 % at 1024² and beyond.
const OVERLAP: usize = 1 << 18;

/// The three-pass pipeline for one grid.
pub struct ThreePass<T: CudaReal> {
    gpu: Gpu,
    bins: usize,
    /// Solved at once, one after the other in memory.
    maps: u32,
    /// Row pairs of the map, and its columns.
    pairs: u32,
    across: u32,
    rows: LineKernel<T, Transform<T, Array<T::Complex>>>,
    columns: LineKernel<T, Columns<T>>,
    fields: LineKernel<T, kernels::Fields<T>>,
    green: Green<T>,
    /// P and Q, between the second and the third pass: `[panel][row pair][column]`, rows in pairs.
    /// P first holds ρ's transform along y.
    p: DeviceVec<T::Complex>,
    q: DeviceVec<T::Complex>,
    /// The energy, by map and block of the second pass.
    partial: DeviceVec<f64>,
}

impl<T: CudaReal> ThreePass<T> {
    /// Returns the kernels for `grid`: those of the three passes.
    pub(in crate::cuda) fn instances(
        shapes: &Shapes,
        grid: &BinGrid,
        maps: usize,
    ) -> Result<[Instance; 3], CudaError> {
        let (nx, ny) = (grid.nx(), grid.ny());
        let choose = |(unit, role, does)| {
            // Columns along x, rows along y.
            let (n, across) = if role == Role::Solve { (nx, ny) } else { (ny, nx) };
            let lines = LineBatch { n, count: across / 2, maps };
            let instance = Instance::choose::<T>(shapes, (unit, role, does), lines);
            instance.ok_or_else(|| CudaError::NoThreePass {
                nx,
                ny,
                reason: format!(
                    "no lines of {n} on a device with {} bytes of shared memory for a block: \
                     expected a multiple of 4 from {SHORTEST} to {LONGEST} without prime factors \
                     above 5, and shorter ones where there is little shared memory",
                    shapes.limits.shared
                ),
            })
        };
        let [rows, columns, fields] = solve(maps > 1);
        Ok([choose(rows)?, choose(columns)?, choose(fields)?])
    }

    /// Whether it is made for `grid`'s numbers of bins on this device.
    pub fn is_made_for(gpu: &Gpu, grid: &BinGrid) -> bool {
        Shapes::of(gpu).is_ok_and(|shapes| Self::instances(&shapes, grid, 1).is_ok())
    }

    /// Compiles (or loads) the kernels of both line lengths and allocates everything a solve needs.
    ///
    /// # Errors
    /// [`CudaError::NoThreePass`] for a grid or device it is not made for; else
    /// when kernels cannot be compiled or memory runs out.
    pub fn new(gpu: &Gpu, grid: &BinGrid) -> Result<Self, CudaError> {
        Self::shaped(gpu, &Shapes::of(gpu)?, grid, 1)
    }

    /// Returns the same for so many maps at once, one after the other in memory, at most
    /// [`MOST_BLOCKS`](crate::cuda::device::MOST_BLOCKS), with lines divided as `shapes` has it.
    pub(in crate::cuda) fn shaped(
        gpu: &Gpu,
        shapes: &Shapes,
        grid: &BinGrid,
        maps: usize,
    ) -> Result<Self, CudaError> {
        let (nx, ny) = (grid.nx(), grid.ny());
        let instances = Self::instances(shapes, grid, maps)?;
        let modules = compile::<T>(gpu, &instances)?;
        let of = |k: usize| (&instances[k], &modules[k]);
        let overlaps = maps * grid.bins() <= OVERLAP;
        let columns = LineKernel::new(gpu, of(1), overlaps)?;
        let blocks = columns.kernel.config.grid_dim.0;
        let green = Green::new(grid, SCALE / grid.bins() as f64);
        let between = maps * (nx / 2) * ny.next_multiple_of(panel::<T>());
        Ok(ThreePass {
            gpu: gpu.clone(),
            bins: grid.bins(),
            maps: maps as u32,
            pairs: nx as u32 / 2,
            across: nx as u32,
            rows: LineKernel::new(gpu, of(0), overlaps)?,
            columns,
            fields: LineKernel::new(gpu, of(2), overlaps)?,
            green,
            p: gpu.zeros(between)?,
            q: gpu.zeros(between)?,
            partial: gpu.zeros(maps * blocks as usize)?,
        })
    }

    /// Returns each kernel's usage of a multiprocessor: forward, columns and inverse.
    ///
    /// # Errors
    /// When the driver refuses to say.
    pub fn kernels(&self) -> Result<[KernelUse; 3], CudaError> {
        // Read and written by each: so many values per bin.
        let of = |name, kernel: &Function, values: usize| {
            let bytes = values * self.maps as usize * self.bins * size_of::<T>();
            KernelUse::of(&self.gpu, name, kernel, bytes)
        };
        Ok([
            of("rows_forward", &self.rows.kernel, 2)?,
            of("columns", &self.columns.kernel, 3)?,
            of("rows_inverse", &self.fields.kernel, 5)?,
        ])
    }

    /// The second pass.
    fn columns(&self) -> Result<(), CudaError> {
        let LineKernel { kernel, table, units, .. } = &self.columns;
        let arguments = Columns {
            p: (&self.p).into(),
            q: (&self.q).into(),
            table: table.into(),
            green: self.green,
            units: *units,
            partial: (&self.partial).into(),
        };
        // SAFETY: P and Q hold a complex number for two bins of whole panels of every map, the
        // table was made for the kernel's stages, `units` are all of a map's columns, `partial` has
        // a number per block.
        unsafe { kernel.launch(&self.gpu, &arguments) }
    }

    /// The third pass: `maps` of P and Q, which stay as they are, and the energy.
    fn fields(&self, fields: FieldsMut<'_, T>, maps: FieldMaps) -> Result<(), CudaError> {
        fields.check(&self.gpu, self.bins, self.maps as usize)?;
        let LineKernel { kernel, table, .. } = &self.fields;
        let arguments = kernels::Fields {
            p: (&self.p).into(),
            q: (&self.q).into(),
            phi: (&fields.potential).into(),
            ex: (&fields.field_x).into(),
            ey: (&fields.field_y).into(),
            table: table.into(),
            step_y: self.green.step_y,
            pairs: self.pairs,
            partial: (&self.partial).into(),
            partials: self.columns.kernel.config.grid_dim.0,
            energy: (&fields.energy).into(),
            maps,
        };
        // SAFETY: fields hold `bins` values for every map and the energies have been checked too,
        // and the rest is as in `columns`.
        unsafe { kernel.launch_as(&self.gpu, self.fields.config_for(maps.count), &arguments) }
    }
}

impl<T: CudaReal> private::Sealed for ThreePass<T> {}

impl<T: CudaReal> FieldSolver<T> for ThreePass<T> {
    fn pipeline(&self) -> Pipeline {
        Pipeline::ThreePass
    }

    fn forward(&mut self, rho: DeviceSlice<'_, T>) -> Result<(), CudaError> {
        check_length("density map", rho.len(), self.maps as usize * self.bins)?;
        check_aligned("density map", *rho.address(), WIDEST)?;
        let LineKernel { kernel, table, .. } = &self.rows;
        let arguments = Transform {
            r#in: Array::from(&rho).cast(),
            out: (&self.p).into(),
            table: table.into(),
            lines: self.pairs,
            across: self.across,
            epsilon: None,
            kept: None,
            parts: None,
            sine: Some(0),
        };
        // SAFETY: of every map ρ holds `bins` values, P a complex number for two bins of whole
        // panels, the table was made for the kernel's stages, and blocks cover the map's row pairs.
        // It waits before its first access; what comes before need not let it start.
        unsafe { kernel.launch(&self.gpu, &arguments) }
    }

    fn inverse(&mut self, fields: FieldsMut<'_, T>) -> Result<(), CudaError> {
        self.columns()?;
        self.fields(fields, FieldMaps::ALL)
    }

    fn inverse_field(&mut self, fields: FieldsMut<'_, T>) -> Result<(), CudaError> {
        self.columns()?;
        self.fields(fields, FieldMaps::FIELD)
    }

    fn potential(&mut self, fields: FieldsMut<'_, T>) -> Result<(), CudaError> {
        self.fields(fields, FieldMaps::POTENTIAL)
    }
}

/// `Green::scale` times the number of bins: the round trip's 4, over the four halves that the
/// kernels leave out.
pub(in crate::cuda) const SCALE: f64 = 0.25;
