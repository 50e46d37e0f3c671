//! The solve on a device: ρ → φ, Ex, Ey and the energy, by any of three pipelines.

mod field_solver;
mod fused;
mod row_column;
mod three_pass;

pub use field_solver::{FieldSolver, Fields, Folding, SolverOptions};
pub use fused::Fused;
pub use row_column::RowColumn;
pub use three_pass::ThreePass;

use crate::cuda::device::{CudaError, CudaReal, Gpu};
use crate::engine::Pipeline;
use crate::grid::BinGrid;

/// The solver of a pipeline. Where [`ThreePass`] is not made for the grid or the
/// device, the fused pipeline stands in for it; [`FieldSolver::pipeline`] says
/// which one it is.
///
/// # Errors
/// When kernels cannot be compiled, cuFFT refuses the size, or memory runs out.
pub fn solver<T: CudaReal>(
    gpu: &Gpu,
    grid: &BinGrid,
    pipeline: Pipeline,
    options: SolverOptions,
) -> Result<Box<dyn FieldSolver<T>>, CudaError> {
    Ok(match pipeline {
        Pipeline::Fused => Box::new(Fused::new(gpu, grid, options)?),
        Pipeline::RowColumn => Box::new(RowColumn::new(gpu, grid, options)?),
        Pipeline::ThreePass => match ThreePass::new(gpu, grid) {
            Ok(solver) => Box::new(solver),
            Err(CudaError::NoThreePass { .. }) => Box::new(Fused::new(gpu, grid, options)?),
            Err(error) => return Err(error),
        },
    })
}
