//! The three-pass pipeline on a device: `kernels/solve/three_pass.cu`.
//!
//! Three kernels a solve: DCTs along y; DCTs along x, Green's function and both
//! inverses along x; the three inverses along y (see [`crate::spectral`] for
//! what is solved). A kernel keeps its lines in registers from the first of its
//! transforms to the last, so that a solve moves 10 values per bin
//! where the fused pipeline moves 28; without the potential, 9. How and why:
//! [`crate::spectral`].
//!
//! Lines are powers of two, 64 to 8192, and a block's lines must fit the
//! device's shared memory. [`ThreePass::new`] says so where they do not, and
//! [`solver`](super::solver()) takes the fused pipeline then.

use super::field_solver::{FieldSolver, Fields, Green, private};
use crate::cuda::device::{
    CudaError, CudaReal, DeviceVec, Gpu, KernelUse, Launch, Overlap, check_length,
};
use crate::cuda::fft::{BlockLines, LENGTHS, has_kernels, shared_memory};
use crate::engine::Pipeline;
use crate::grid::BinGrid;
use crate::transform::Transform;
use cudarc::driver::CudaFunction;

/// Up to here passes overlap where the device can: an H200 gains some 3 % by it
/// at 512² and loses up to 15 % at 1024² and beyond.
const OVERLAP: usize = 1 << 18;

/// The three-pass pipeline for one grid.
pub struct ThreePass<T: CudaReal> {
    gpu: Gpu,
    bins: usize,
    /// Row pairs of the map.
    pairs: u32,
    rows: BlockLines<T>,
    columns: BlockLines<T>,
    /// Rows in the inverse transforms.
    back: BlockLines<T>,
    forward: CudaFunction,
    solve: CudaFunction,
    inverse: CudaFunction,
    inverse_field: CudaFunction,
    overlap: Overlap,
    green: Green<T>,
    step_y: T,
    /// P and Q, between the second and the third pass: `[panel][row pair][column]`, rows in pairs. P
    /// first holds ρ's transform along y.
    p: DeviceVec<T::Complex>,
    q: DeviceVec<T::Complex>,
    /// The second pass's groups of columns that are neighbours.
    units: u32,
    /// The energy, by block of the second pass.
    partial: DeviceVec<f64>,
}

impl<T: CudaReal> ThreePass<T> {
    /// Whether there are kernels for `grid`'s numbers of bins.
    pub fn is_made_for(grid: &BinGrid) -> bool {
        has_kernels(grid.nx()) && has_kernels(grid.ny())
    }

    /// Compiles (or loads) the kernels of both line lengths and allocates
    /// everything a solve needs.
    ///
    /// # Errors
    /// [`CudaError::NoThreePass`] for a grid or device it is not made for; else
    /// when kernels cannot be compiled or memory runs out.
    pub fn new(gpu: &Gpu, grid: &BinGrid) -> Result<Self, CudaError> {
        let (nx, ny) = (grid.nx(), grid.ny());
        let not_here = |reason: String| CudaError::NoThreePass { nx, ny, reason };
        for n in [nx, ny] {
            if !has_kernels(n) {
                let (least, most) = (LENGTHS.start(), LENGTHS.end());
                return Err(not_here(format!(
                    "{n} bins: expected a power of two from {least} to {most}"
                )));
            }
        }
        let along_y = gpu.instance::<T>("three_pass", &[("PF_LINE", ny.to_string())])?;
        let along_x = gpu.instance::<T>("three_pass", &[("PF_LINE", nx.to_string())])?;
        let rows = BlockLines::new(gpu, &along_y, "rows", ny)?;
        let columns = BlockLines::new(gpu, &along_x, "columns", nx)?;
        let back = BlockLines::new(gpu, &along_y, "inverse", ny)?;
        let most = shared_memory(gpu)?;
        if let Some(bytes) =
            [&rows, &columns, &back].map(|l| l.shape.bytes).into_iter().find(|&b| b > most)
        {
            return Err(not_here(format!(
                "{bytes} bytes of shared memory for a block: the device has {most}"
            )));
        }
        let forward = rows.shape.kernel(&along_y, &format!("rows_forward_{ny}"))?;
        let solve = columns.shape.kernel(&along_x, &format!("columns_{nx}"))?;
        let inverse = back.shape.kernel(&along_y, &format!("rows_inverse_{ny}"))?;
        let inverse_field = back.shape.kernel(&along_y, &format!("rows_inverse_field_{ny}"))?;
        let units = (ny / columns.shape.columns()) as u32;
        let blocks = columns.shape.blocks(gpu, &solve, units)?;
        let green = Green::new(grid, SCALE / grid.bins() as f64);
        let overlap = match grid.bins() <= OVERLAP {
            true => Overlap::where_possible(&forward),
            false => Overlap::None,
        };
        Ok(ThreePass {
            gpu: gpu.clone(),
            bins: grid.bins(),
            pairs: nx as u32 / 2,
            forward,
            solve,
            inverse,
            inverse_field,
            overlap,
            step_y: green.step_y(),
            green,
            p: gpu.zeros(grid.bins() / 2)?,
            q: gpu.zeros(grid.bins() / 2)?,
            units,
            partial: gpu.zeros(blocks as usize)?,
            rows,
            columns,
            back,
        })
    }

    /// What each kernel takes of a multiprocessor: forward, columns, inverse, and
    /// inverse without φ.
    ///
    /// # Errors
    /// When the driver refuses to say.
    pub fn kernels(&self) -> Result<[KernelUse; 4], CudaError> {
        let back = self.back.shape;
        let blocks = |maps: u32| self.pairs * maps / back.lines;
        let rows = self.rows.shape.config(self.pairs / self.rows.shape.lines);
        let columns = self.columns.shape.config(self.partial.len() as u32);
        // Read and written by each: so many values per bin.
        let of = |name, kernel, config, values: usize| {
            let bytes = values * self.bins * size_of::<T>();
            KernelUse::of(&self.gpu, name, kernel, &config, bytes)
        };
        Ok([
            of("rows_forward", &self.forward, rows, 2)?,
            of("columns", &self.solve, columns, 3)?,
            of("rows_inverse", &self.inverse, back.config(blocks(3)), 5)?,
            of("rows_inverse_field", &self.inverse_field, back.config(blocks(2)), 4)?,
        ])
    }

    /// Enqueues the solve without φ: Ex, Ey and the energy, which needs no φ
    /// (Parseval). `fields.potential` is left as it is.
    ///
    /// # Errors
    /// When a map has the wrong length or a launch fails.
    pub fn solve_field(
        &mut self,
        rho: &DeviceVec<T>,
        fields: &mut Fields<T>,
    ) -> Result<(), CudaError> {
        self.forward(rho)?;
        self.inverse_maps(fields, false)
    }

    /// The second and third pass.
    fn inverse_maps(&mut self, fields: &mut Fields<T>, potential: bool) -> Result<(), CudaError> {
        check_length("energy", fields.energy.len(), 1)?;
        check_length("potential", fields.potential.len(), self.bins)?;
        check_length("field along x", fields.field_x.len(), self.bins)?;
        check_length("field along y", fields.field_y.len(), self.bins)?;
        let blocks = self.partial.len() as u32;
        // SAFETY: the arguments are those of columns_N, N = nx; P and Q hold a
        // complex number per two bins, the table was made for the kernel's
        // stages, `units` are all of the map's columns, `partial` has a number per block.
        unsafe {
            Launch::new(&self.gpu, &self.solve)
                .overlap(self.overlap)
                .arg(&self.p)
                .arg(&self.q)
                .arg(&self.columns.table)
                .arg(&self.green)
                .arg(&self.units)
                .arg(&self.partial)
                .launch(self.columns.shape.config(blocks))
        }?;
        let Fields { potential: phi, field_x, field_y, energy } = fields;
        let (maps, kernel) = if potential { (3, &self.inverse) } else { (2, &self.inverse_field) };
        let mut launch = Launch::new(&self.gpu, kernel);
        launch.overlap(self.overlap).arg(&self.p).arg(&self.q);
        if potential {
            launch.arg(phi);
        }
        launch.arg(field_x).arg(field_y).arg(&self.back.table).arg(&self.step_y);
        launch.arg(&self.pairs).arg(&self.partial).arg(&blocks).arg(energy);
        let config = self.back.shape.config(self.pairs * maps / self.back.shape.lines);
        // SAFETY: the arguments are those of rows_inverse_N, N = ny, or, without
        // the first output, of rows_inverse_field_N; every map holds `bins`
        // values, and the rest is as above.
        unsafe { launch.launch(config) }
    }
}

impl<T: CudaReal> private::Sealed for ThreePass<T> {}

impl<T: CudaReal> FieldSolver<T> for ThreePass<T> {
    fn pipeline(&self) -> Pipeline {
        Pipeline::ThreePass
    }

    fn forward(&mut self, rho: &DeviceVec<T>) -> Result<(), CudaError> {
        check_length("density map", rho.len(), self.bins)?;
        let blocks = self.pairs / self.rows.shape.lines;
        // SAFETY: the arguments are those of rows_forward_N, N = ny; ρ holds
        // `bins` values, P a complex number per two bins, the table was made for
        // the kernel's stages, and lines divide the map's row pairs. Nothing
        // overlaps: what comes before is not known to let its successor start.
        unsafe {
            Launch::new(&self.gpu, &self.forward)
                .arg(rho)
                .arg(&self.p)
                .arg(&self.rows.table)
                .arg(&self.pairs)
                .launch(self.rows.shape.config(blocks))
        }
    }

    fn inverse(&mut self, fields: &mut Fields<T>) -> Result<(), CudaError> {
        self.inverse_maps(fields, true)
    }

    /// There is no transform of a single map in this pipeline: it is an error.
    fn transform(
        &mut self,
        _: Transform,
        _: &DeviceVec<T>,
        _: &mut DeviceVec<T>,
    ) -> Result<(), CudaError> {
        Err(CudaError::SolvesOnly(Pipeline::ThreePass))
    }
}

/// What `Green::scale` is over the number of bins: the round trip's 4, over the
/// four halves that the kernels leave out.
const SCALE: f64 = 0.25;
