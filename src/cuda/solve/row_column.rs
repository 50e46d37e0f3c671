//! The row-column pipeline on a device: `kernels/solve/row_column.cu`, around
//! batched 1-D cuFFT.
//!
//! A 2-D transform is eight passes over the map: reordering (or
//! pre-processing), FFT and post-processing (or reordering) along y, a tiled
//! transpose, the same along x, and a transpose back (Jiang et al., "Examples and
//! Summary"). A solve is 32 passes, 64 values read or written per bin;
//! spectral scaling costs none of its own, for the pre-processing does it.

use super::field_solver::{FieldSolver, Fields, Green, SolverOptions, private};
use crate::cuda::device::{
    CudaError, CudaReal, DeviceVec, Gpu, Kernel, SumScratch, check_length, cover_for_sum, function,
};
use crate::cuda::fft::{CufftLines, Passes, Sines};
use crate::engine::Pipeline;
use crate::grid::BinGrid;
use crate::transform::Transform;

/// The row-column pipeline for one grid.
pub struct RowColumn<T: CudaReal> {
    gpu: Gpu,
    passes: Passes<T>,
    solve_pre: Kernel,
    sum: SumScratch,
    green: Green<T>,
    /// ρ's DCT spectrum.
    spectrum: DeviceVec<T>,
}

impl<T: CudaReal> RowColumn<T> {
    /// Compiles (or loads) kernels, plans the FFTs and allocates everything a
    /// solve needs. Of the options only [`SolverOptions::reorder`] matters here.
    ///
    /// # Errors
    /// When kernels cannot be compiled, cuFFT refuses the size, or memory runs out.
    pub fn new(gpu: &Gpu, grid: &BinGrid, options: SolverOptions) -> Result<Self, CudaError> {
        let (unit, shape) = ("row_column", [grid.nx(), grid.ny()]);
        let module = gpu.kernels::<T>(unit)?;
        let solve_pre = function(&module, "solve_pre")?;
        let config = cover_for_sum(gpu, &solve_pre, (grid.ny() / 2 + 1, grid.nx()))?;
        Ok(RowColumn {
            gpu: gpu.clone(),
            passes: Passes::new(gpu, unit, &shape, 1, options.reorder, T::TYPE)?,
            solve_pre: Kernel::new(&module, "solve_pre", config)?,
            sum: SumScratch::new(gpu, config)?,
            green: Green::new(grid, 4.0 / grid.bins() as f64),
            spectrum: gpu.zeros(grid.bins())?,
        })
    }

    /// Enqueues the pre-processing along y of one of the solve's inverses: 0 is
    /// φ (and the energy), 1 is Ex, 2 is Ey.
    fn solve_pre(&mut self, map: i32, energy: &mut DeviceVec<f64>) -> Result<(), CudaError> {
        let Passes { axes, half, .. } = &mut self.passes;
        let CufftLines { rows, n, twiddles, .. } = &axes[0].lines;
        let SumScratch { partial, ticket } = &self.sum;
        let mut launch = self.solve_pre.on(&self.gpu);
        launch.args(&[&self.spectrum, half, rows, n, twiddles, &self.green]);
        launch.args(&[&map, partial, ticket, energy]);
        // SAFETY: the types are those of solve_pre in kernels/solve/row_column.cu; the
        // spectrum holds nx × ny elements and `half` at least nx × (ny/2 + 1);
        // the scratch was made for this launch, whose blocks are of BLOCK
        // threads; `energy` has been checked to hold one number.
        unsafe { launch.launch(self.solve_pre.config) }
    }
}

impl<T: CudaReal> private::Sealed for RowColumn<T> {}

impl<T: CudaReal> FieldSolver<T> for RowColumn<T> {
    fn pipeline(&self) -> Pipeline {
        Pipeline::RowColumn
    }

    fn forward(&mut self, rho: &DeviceVec<T>) -> Result<(), CudaError> {
        self.passes.dct(rho, &mut self.spectrum, None)
    }

    fn inverse(&mut self, fields: &mut Fields<T>) -> Result<(), CudaError> {
        check_length("energy", fields.energy.len(), 1)?;
        self.solve_pre(0, &mut fields.energy)?;
        self.passes.inverse(&[false, false], &mut fields.potential)?;
        self.solve_pre(1, &mut fields.energy)?;
        self.passes.inverse(&[true, false], &mut fields.field_x)?;
        self.solve_pre(2, &mut fields.energy)?;
        self.passes.inverse(&[false, true], &mut fields.field_y)
    }

    fn transform(
        &mut self,
        transform: Transform,
        input: &DeviceVec<T>,
        output: &mut DeviceVec<T>,
    ) -> Result<(), CudaError> {
        let passes = &mut self.passes;
        if transform == Transform::Dct {
            return passes.dct(input, output, None);
        }
        let sines = Sines::of(transform);
        passes.pre(input, sines.y)?;
        passes.inverse(&[sines.x, sines.y], output)
    }
}
