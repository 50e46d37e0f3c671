//! The three-pass pipeline on a device: `kernels/lines/transform.cu`, `kernels/solve/columns.cu`
//! and `kernels/solve/fields.cu`.
//!
//! A solve is three kernels: DCTs along y; DCTs along x, Green's function and both inverses along
//! x; the three inverses along y (see [`crate::spectral`] for the equations). A kernel keeps its
//! lines in registers from the first of its transforms to the last. A solve therefore moves 10
//! values per bin, and 9 without the potential; the fused pipeline moves 28. The reasons are in
//! [`crate::spectral`].
//!
//! Lines have a length from 16 to 16384 that has stages: multiples of 4 with no prime factor except
//! 2, 3 and 5, but not all of them (`src/cuda/lines/shapes.rs`). A block's lines must fit the
//! device's shared memory and registers. Otherwise [`ThreePass::new`] returns an error, and
//! [`solver`](super::solver()) uses the fused pipeline.

use super::field_solver::{FieldMaps, FieldSolver, FieldsMut, Green, private};
use crate::cuda::device::bindings::lines::Transform;
use crate::cuda::device::bindings::solve::{Columns, Fields};
use crate::cuda::device::{
    Arguments, Array, CudaError, CudaReal, DeviceSlice, DeviceVec, Function, Gpu, KernelArgument,
    KernelUse, WIDEST, check_aligned, check_length,
};
use crate::cuda::lines::{
    Instance, LONGEST, LineBatch, LineKernel, Role, SHORTEST, Shapes, compile, panel, solve,
};
use crate::engine::Pipeline;
use crate::grid::BinGrid;

/// Up to this many bins, passes overlap if the device can: an H200 gains some 3 % at 512² and loses
/// up to 15 % at 1024² and beyond.
const OVERLAP: usize = 1 << 18;
/// `Green::scale` times the number of bins: the round trip's 4 times the kernels' four omitted
/// factors ½.
const SCALE: f64 = 0.25;

/// The kernels of the three passes on a device, and the memory between the last two. The first pass
/// stores to `O`, and the second takes the arguments `C`.
pub(crate) struct Passes<T: CudaReal, O: KernelArgument, C: Arguments> {
    pub(crate) gpu: Gpu,
    /// Maps solved at once, one after the other in memory.
    maps: usize,
    /// Row pairs of a map.
    pairs: u32,
    rows: LineKernel<T, Transform<T, O>>,
    pub(crate) columns: LineKernel<T, C>,
    fields: LineKernel<T, Fields<T>>,
    pub(crate) green: Green<T>,
    /// P and Q: `[panel][row pair][column]`, rows in pairs.
    pub(crate) p: DeviceVec<T::Complex>,
    pub(crate) q: DeviceVec<T::Complex>,
    /// The energy, by map and block of the second pass; allocated by the owner.
    pub(crate) partial: DeviceVec<f64>,
}

impl<T: CudaReal, O: KernelArgument, C: Arguments> Passes<T, O, C> {
    /// Compiles (or loads) the instances of the passes, for rows in `pairs` pairs. P and Q have the
    /// numbers of values in `between`.
    pub(crate) fn new(
        gpu: &Gpu,
        (grid, maps, overlaps): (&BinGrid, usize, bool),
        instances: &[Instance],
        pairs: usize,
        between: [usize; 2],
    ) -> Result<Self, CudaError> {
        let modules = compile::<T>(gpu, instances)?;
        let of = |k: usize| (&instances[k], &modules[k]);
        Ok(Passes {
            maps,
            pairs: pairs as u32,
            rows: LineKernel::new(gpu, of(0), overlaps)?,
            columns: LineKernel::new(gpu, of(1), overlaps)?,
            fields: LineKernel::new(gpu, of(2), overlaps)?,
            green: Green::new(grid, SCALE / grid.bins() as f64),
            p: gpu.zeros(between[0])?,
            q: gpu.zeros(between[1])?,
            partial: gpu.zeros(0)?,
            gpu: gpu.clone(),
        })
    }

    /// Enqueues the first pass: ρ's transform along y. Its maps have `across` rows, if the kernel
    /// requires that number.
    ///
    /// # Safety
    /// ρ has the rows of all maps, and `out` has room for all values that the kernel stores.
    pub(crate) unsafe fn forward(
        &self,
        rho: DeviceSlice<'_, T>,
        out: O,
        across: u32,
    ) -> Result<(), CudaError> {
        let LineKernel { kernel, table, .. } = &self.rows;
        let arguments = Transform {
            r#in: Array::from(&rho).cast(),
            out,
            table: table.into(),
            lines: self.pairs,
            across,
            epsilon: None,
            kept: None,
            parts: None,
            sine: Some(0),
        };
        // SAFETY: the table was made for the kernel's stages, and blocks cover the maps' row pairs.
        // The kernel waits before its first access; the work before it need not allow an early
        // start. The rest is the caller's promise.
        unsafe { kernel.launch(&self.gpu, &arguments) }
    }

    /// Enqueues the third pass for `maps`, from P and Q, which stay unchanged, and the energy.
    ///
    /// # Safety
    /// Fields have the rows of all maps, and P and Q whole panels of their row pairs.
    pub(crate) unsafe fn fields(
        &self,
        fields: &FieldsMut<'_, T>,
        maps: FieldMaps,
    ) -> Result<(), CudaError> {
        let LineKernel { kernel, table, .. } = &self.fields;
        let arguments = Fields {
            p: (&self.p).into(),
            q: (&self.q).into(),
            phi: (&fields.potential).into(),
            ex: (&fields.field_x).into(),
            ey: (&fields.field_y).into(),
            table: table.into(),
            step_y: self.green.step_y,
            pairs: self.pairs,
            partial: (&self.partial).into(),
            partials: (self.partial.len() / self.maps) as u32,
            energy: (&fields.energy).into(),
            maps,
        };
        // SAFETY: as in `forward`.
        unsafe { kernel.launch_as(&self.gpu, self.fields.config_for(maps.count), &arguments) }
    }
}

/// The three-pass pipeline for one grid. P first holds ρ's transform along y.
pub struct ThreePass<T: CudaReal> {
    bins: usize,
    /// Rows of a map.
    across: u32,
    passes: Passes<T, Array<T::Complex>, Columns<T>>,
}

impl<T: CudaReal> ThreePass<T> {
    /// Returns the kernels of the three passes for `grid`.
    pub(crate) fn instances(
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

    /// Whether the pipeline supports `grid`'s numbers of bins on this device.
    pub fn is_made_for(gpu: &Gpu, grid: &BinGrid) -> bool {
        Shapes::of(gpu).is_ok_and(|shapes| Self::instances(&shapes, grid, 1).is_ok())
    }

    /// Compiles (or loads) the kernels of both line lengths and allocates all memory of a solve.
    ///
    /// # Errors
    /// [`CudaError::NoThreePass`] for an unsupported grid or device; else when kernels cannot be
    /// compiled or memory runs out.
    pub fn new(gpu: &Gpu, grid: &BinGrid) -> Result<Self, CudaError> {
        Self::shaped(gpu, &Shapes::of(gpu)?, grid, 1)
    }

    /// Returns the solver of `maps` maps at once, one after the other in memory, with lines divided
    /// as `shapes` says. There are at most [`MOST_BLOCKS`](crate::cuda::device::MOST_BLOCKS) maps.
    pub(crate) fn shaped(
        gpu: &Gpu,
        shapes: &Shapes,
        grid: &BinGrid,
        maps: usize,
    ) -> Result<Self, CudaError> {
        let (nx, ny) = (grid.nx(), grid.ny());
        let instances = Self::instances(shapes, grid, maps)?;
        let overlaps = maps * grid.bins() <= OVERLAP;
        let between = maps * (nx / 2) * ny.next_multiple_of(panel::<T>());
        let of = (grid, maps, overlaps);
        let mut passes = Passes::new(gpu, of, &instances, nx / 2, [between; 2])?;
        let blocks = passes.columns.kernel.config.grid_dim.0 as usize;
        passes.partial = gpu.zeros(maps * blocks)?;
        Ok(ThreePass { bins: grid.bins(), across: nx as u32, passes })
    }

    /// Returns each kernel's usage of a multiprocessor: forward, columns and inverse.
    ///
    /// # Errors
    /// When the driver does not report it.
    pub fn kernels(&self) -> Result<[KernelUse; 3], CudaError> {
        // Values per bin that each pass reads and writes.
        let Passes { gpu, maps, rows, columns, fields, .. } = &self.passes;
        let of = |name, kernel: &Function, values: usize| {
            KernelUse::of(gpu, name, kernel, values * maps * self.bins * size_of::<T>())
        };
        Ok([
            of("rows_forward", &rows.kernel, 2)?,
            of("columns", &columns.kernel, 3)?,
            of("rows_inverse", &fields.kernel, 5)?,
        ])
    }

    /// The second pass.
    fn columns(&self) -> Result<(), CudaError> {
        let Passes { gpu, columns, green, p, q, partial, .. } = &self.passes;
        let LineKernel { kernel, table, units, .. } = columns;
        let (p, q, table, partial) = (p.into(), q.into(), table.into(), partial.into());
        let arguments = Columns { p, q, table, green: *green, units: *units, partial };
        // SAFETY: P and Q hold a complex number for two bins of whole panels of every map; the
        // table was made for the kernel's stages; `units` are all of a map's columns; `partial` has
        // a number per block.
        unsafe { kernel.launch(gpu, &arguments) }
    }

    /// The third pass.
    fn fields(&self, fields: FieldsMut<'_, T>, maps: FieldMaps) -> Result<(), CudaError> {
        fields.check(&self.passes.gpu, self.bins, self.passes.maps)?;
        // SAFETY: fields hold `bins` values for every map, and the energies have been checked too;
        // the rest is as in `columns`.
        unsafe { self.passes.fields(&fields, maps) }
    }
}

impl<T: CudaReal> private::Sealed for ThreePass<T> {}

impl<T: CudaReal> FieldSolver<T> for ThreePass<T> {
    fn pipeline(&self) -> Pipeline {
        Pipeline::ThreePass
    }

    fn forward(&mut self, rho: DeviceSlice<'_, T>) -> Result<(), CudaError> {
        check_length("density map", rho.len(), self.passes.maps * self.bins)?;
        check_aligned("density map", *rho.address(), WIDEST)?;
        // SAFETY: for every map, ρ holds `bins` values and P a complex number for two bins of whole
        // panels.
        unsafe { self.passes.forward(rho, (&self.passes.p).into(), self.across) }
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
