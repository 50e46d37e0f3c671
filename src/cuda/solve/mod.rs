//! The solve on a device: ρ → φ, Ex, Ey and the energy, by any of three pipelines.

mod field_solver;
mod fused;
mod row_column;
mod three_pass;

pub use field_solver::{FieldSolver, Fields, Folding, SolverOptions};
pub use fused::Fused;
pub use row_column::RowColumn;
pub use three_pass::ThreePass;

pub(in crate::cuda) use field_solver::Green;
pub(in crate::cuda) use three_pass::SCALE;

use crate::cuda::device::{CudaError, CudaReal, Gpu};
use crate::engine::Pipeline;
use crate::grid::BinGrid;

/// The solver of a pipeline. Where [`ThreePass`] is not made for the grid or the
/// device, the fused pipeline stands in for it; [`FieldSolver::pipeline`] says
/// which one it is.
///
/// ```no_run
/// use placefield::cuda::{self, Fields, Gpu, SolverOptions};
/// use placefield::engine::Pipeline;
/// use placefield::grid::{BinGrid, Rect};
///
/// let grid = BinGrid::new(Rect::at(0.0, 0.0, 640.0, 480.0), 64, 48)?;
/// let mut rho = vec![0.0; grid.bins()]; // [nx][ny], y contiguous
/// rho[20 * grid.ny() + 30] = 1.0;
///
/// let gpu = Gpu::open(0)?;
/// // Three-pass is the fastest.
/// let options = SolverOptions::default();
/// let mut solver = cuda::solver::<f32>(&gpu, &grid, Pipeline::ThreePass, options)?;
/// let rho = gpu.upload(&rho)?;
/// let mut fields = Fields::new(&gpu, grid.bins())?;
/// solver.solve(&rho, &mut fields)?; // enqueues; a download waits
/// let energy = gpu.download(&fields.energy)?[0];
/// let field_x = gpu.download(&fields.field_x)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
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
            Err(error) if error.lets_another_stand_in() => {
                Box::new(Fused::new(gpu, grid, options)?)
            }
            Err(error) => return Err(error),
        },
    })
}
