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
use std::ops::Range;

/// The row-column pipeline for one grid.
pub struct RowColumn<T: CudaReal> {
    passes: Passes<T>,
    scaling: Scaling<T>,
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
        let shape = [grid.nx(), grid.ny()];
        Ok(RowColumn {
            passes: Passes::new(gpu, UNIT, &shape, 1, options.reorder, T::TYPE)?,
            scaling: Scaling::new(gpu, green(grid), 0..grid.nx(), grid.ny())?,
            spectrum: gpu.zeros(grid.bins())?,
        })
    }

    fn solve_pre(&mut self, map: i32, energy: &mut DeviceVec<f64>) -> Result<(), CudaError> {
        let Passes { axes, half, .. } = &mut self.passes;
        self.scaling.run(&axes[0].lines, &self.spectrum, half, map, energy)
    }
}

/// The pipeline's kernels.
pub(in crate::cuda) const UNIT: &str = "row_column";

/// Green's function with the factor of a round trip of the transforms.
pub(in crate::cuda) fn green<T: CudaReal>(grid: &BinGrid) -> Green<T> {
    Green::new(grid, 4.0 / grid.bins() as f64)
}

/// The pre-processing of the solve's inverses along the rows of ρ's spectrum, or of an interval of
/// them, with its spectral scaling folded in.
pub(in crate::cuda) struct Scaling<T: CudaReal> {
    gpu: Gpu,
    kernel: Kernel,
    sum: SumScratch,
    green: Green<T>,
    first: u32,
}

impl<T: CudaReal> Scaling<T> {
    /// Of rows of n coefficients; of columns, with x and y of Green's function swapped.
    pub(in crate::cuda) fn new(
        gpu: &Gpu,
        green: Green<T>,
        rows: Range<usize>,
        n: usize,
    ) -> Result<Self, CudaError> {
        let module = gpu.kernels::<T>(UNIT)?;
        let config = cover_for_sum(gpu, &function(&module, "solve_pre")?, (n / 2 + 1, rows.len()))?;
        Ok(Scaling {
            gpu: gpu.clone(),
            kernel: Kernel::new(&module, "solve_pre", config)?,
            sum: SumScratch::new(gpu, config)?,
            green,
            first: rows.start as u32,
        })
    }

    /// Enqueues that of φ (0, with the energy), of the field across the rows (1: Ex, where rows go along y)
    /// or of that along them (2).
    pub(in crate::cuda) fn run(
        &mut self,
        lines: &CufftLines<T>,
        spectrum: &DeviceVec<T>,
        half: &mut DeviceVec<T::Complex>,
        map: i32,
        energy: &mut DeviceVec<f64>,
    ) -> Result<(), CudaError> {
        check_length("spectrum", spectrum.len(), lines.elements())?;
        check_length("energy", energy.len(), 1)?;
        assert!(half.len() >= lines.half_spectra());
        let Scaling { gpu, kernel, sum: SumScratch { partial, ticket }, green, first } = self;
        let CufftLines { rows, n, twiddles, .. } = lines;
        let mut launch = kernel.on(gpu);
        launch.args(&[spectrum, half, first, rows, n, twiddles, green, &map]);
        launch.args(&[partial, ticket, energy]);
        // SAFETY: the types are those of solve_pre in kernels/solve/row_column.cu; lengths are checked
        // above; the scratch was made for this launch, whose blocks are of BLOCK threads.
        unsafe { launch.launch(kernel.config) }
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
