//! The solve on a device: ρ → φ, Ex, Ey and the energy, by any of three pipelines.

mod energies;
mod field_solver;
#[cfg(any(feature = "capi", feature = "python"))]
mod host;
mod one_by_one;
mod spectral;
mod three_pass;
mod volume;

pub use field_solver::{FieldSolver, Fields, FieldsMut};
pub use spectral::Spectral;
pub use three_pass::ThreePass;
pub use volume::{VolumeFields, VolumeSolver};

pub(crate) use field_solver::{FieldMaps, check_fields, with_total};
#[cfg(any(feature = "capi", feature = "python"))]
pub(crate) use host::HostSolve;
pub(crate) use three_pass::Passes;

use crate::cuda::device::{CudaError, CudaReal, Gpu};
use crate::cuda::lines::Shapes;
use crate::engine::Pipeline;
use crate::grid::BinGrid;

/// Returns the solver of a pipeline. Where [`ThreePass`] does not support the grid or the device,
/// the fused pipeline replaces it; [`FieldSolver::pipeline`] returns the actual pipeline.
///
/// ```no_run
/// use placefield::cuda::{self, Fields, Gpu};
/// use placefield::engine::Pipeline;
/// use placefield::grid::{BinGrid, Rect};
///
/// let grid = BinGrid::new(Rect::at(0.0, 0.0, 640.0, 480.0), 64, 48)?;
/// let mut rho = vec![0.0; grid.bins()]; // [nx][ny], y contiguous
/// rho[20 * grid.ny() + 30] = 1.0;
///
/// let gpu = Gpu::open(0)?;
/// // Three-pass is the fastest.
/// let mut solver = cuda::solver::<f32>(&gpu, &grid, Pipeline::ThreePass)?;
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
) -> Result<Box<dyn FieldSolver<T>>, CudaError> {
    solver_of_maps(gpu, grid, pipeline, 1)
}

/// Returns the solver of a pipeline for `maps` maps, one after the other in memory, and the same
/// number of fields ([`Fields::of_maps`]).
pub(crate) fn solver_of_maps<T: CudaReal>(
    gpu: &Gpu,
    grid: &BinGrid,
    pipeline: Pipeline,
    maps: usize,
) -> Result<Box<dyn FieldSolver<T>>, CudaError> {
    let solver: Box<dyn FieldSolver<T>> = match pipeline {
        Pipeline::Fused | Pipeline::RowColumn => Box::new(Spectral::new(gpu, grid, pipeline)?),
        Pipeline::ThreePass => match three_pass(gpu, grid, maps) {
            Err(error) if error.allows_fallback() => {
                Box::new(Spectral::new(gpu, grid, Pipeline::Fused)?)
            }
            done => return done,
        },
    };
    one_by_one(gpu, grid, solver, maps)
}

/// Returns the three-pass solver of `maps` maps. It solves all at once, or one after the other if
/// the code supports only one map.
pub(crate) fn three_pass<T: CudaReal>(
    gpu: &Gpu,
    grid: &BinGrid,
    maps: usize,
) -> Result<Box<dyn FieldSolver<T>>, CudaError> {
    match ThreePass::shaped(gpu, &Shapes::of(gpu)?, grid, maps) {
        Err(error) if maps > 1 && error.allows_fallback() => {
            one_by_one(gpu, grid, Box::new(ThreePass::new(gpu, grid)?), maps)
        }
        done => Ok(Box::new(done?)),
    }
}

fn one_by_one<T: CudaReal>(
    gpu: &Gpu,
    grid: &BinGrid,
    solver: Box<dyn FieldSolver<T>>,
    maps: usize,
) -> Result<Box<dyn FieldSolver<T>>, CudaError> {
    Ok(match maps {
        1 => solver,
        _ => Box::new(one_by_one::OneByOne::new(gpu, grid.bins(), solver, maps)?),
    })
}
