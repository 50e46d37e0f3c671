//! The solve from and to memory of the host, with as few waits as possible.

use super::{FieldSolver, Fields, solver};
use crate::cuda::device::{Captured, CudaError, CudaReal, DeviceVec, Gpu, Graph, Pinned};
use crate::engine::{EngineError, Pipeline, check_finite, check_lengths};
use crate::grid::BinGrid;

/// A pipeline, its memory, and its solve as one launch.
pub(crate) struct HostSolve<T: CudaReal> {
    // The graph holds addresses of the following fields, so it is dropped first.
    graph: Captured<Graph>,
    solver: Box<dyn FieldSolver<T>>,
    rho: DeviceVec<T>,
    fields: Fields<T>,
    energy: Pinned<f64>,
    gpu: Gpu,
}

impl<T: CudaReal> HostSolve<T> {
    pub(crate) fn new(gpu: &Gpu, grid: &BinGrid, pipeline: Pipeline) -> Result<Self, CudaError> {
        Ok(HostSolve {
            graph: Captured::New,
            solver: solver(gpu, grid, pipeline)?,
            rho: gpu.zeros(grid.bins())?,
            fields: Fields::new(gpu, grid.bins())?,
            energy: Pinned::zeros(gpu, 1)?,
            gpu: gpu.clone(),
        })
    }

    /// Writes φ, Ex and Ey of ρ to `maps` and returns the energy. If a number of ρ is not finite,
    /// `maps` stay unchanged.
    ///
    /// # Errors
    /// When the number of values differs from the number of bins, a value of ρ is not finite, or
    /// the device failed.
    pub(crate) fn solve(&mut self, rho: &[T], maps: [&mut [T]; 3]) -> Result<f64, EngineError> {
        let [potential, field_x, field_y] = maps;
        let lengths = [
            ("density", rho.len()),
            ("potential", potential.len()),
            ("field along x", field_x.len()),
            ("field along y", field_y.len()),
        ];
        check_lengths(self.rho.len(), &lengths)?;
        // SAFETY: ρ and the maps are borrowed here, and every exit from here comes after a wait for
        // the copies.
        unsafe {
            let solved = self.gpu.write_later(rho, &mut self.rho).and_then(|()| self.enqueue());
            let energy = self.energy.receive(&self.fields.energy).map(|energy| energy[0]);
            solved?;
            let energy = energy?;
            // Every wave is a sum over all bins, so one number that is not finite makes the energy
            // not finite. One bin has no wave.
            if !energy.is_finite() || rho.len() == 1 {
                check_finite(&[("density of bin", rho)])?;
            }
            let read = self
                .gpu
                .read_later(&self.fields.potential, potential)
                .and_then(|()| self.gpu.read_later(&self.fields.field_x, field_x))
                .and_then(|()| self.gpu.read_later(&self.fields.field_y, field_y));
            self.gpu.synchronize()?;
            read?;
            Ok(energy)
        }
    }

    fn enqueue(&mut self) -> Result<(), CudaError> {
        let HostSolve { graph, solver, rho, fields, gpu, .. } = self;
        graph.run(
            &mut || solver.solve(rho, fields),
            |solve| solve(),
            // SAFETY: stored beside the buffers and the plan that it uses, and dropped before them.
            |solve| unsafe { Graph::capture(gpu, solve) },
            |_, graph| graph.launch(),
        )
    }
}
