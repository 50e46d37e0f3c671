//! Independent solves, spread over devices.

use super::Peers;
use crate::cuda::device::{CudaError, CudaReal, DeviceVec, Gpu, check_length};
use crate::cuda::solve::{FieldSolver, Fields, SolverOptions, solver};
use crate::engine::Pipeline;
use crate::grid::BinGrid;

/// Solves any number of maps over one grid, map k on rank k modulo the number of ranks.
pub struct BatchSolver<T: CudaReal> {
    peers: Peers,
    /// One for each rank: maps of a rank follow each other.
    solvers: Vec<Box<dyn FieldSolver<T>>>,
}

impl<T: CudaReal> BatchSolver<T> {
    /// A solver on every rank.
    ///
    /// # Errors
    /// As [`solver`].
    pub fn new(
        peers: &Peers,
        grid: &BinGrid,
        pipeline: Pipeline,
        options: SolverOptions,
    ) -> Result<Self, CudaError> {
        let on = |rank| solver::<T>(peers.gpu(rank), grid, pipeline, options);
        let solvers = (0..peers.count()).map(on).collect::<Result<_, _>>()?;
        Ok(BatchSolver { peers: peers.clone(), solvers })
    }

    /// The device on which map k, its ρ and its fields are.
    pub fn gpu(&self, map: usize) -> &Gpu {
        self.peers.gpu(map % self.peers.count())
    }

    /// Enqueues the solve of every map.
    ///
    /// # Errors
    /// When there are not as many fields as maps, one is on another device than
    /// [`BatchSolver::gpu`] says or has the wrong length, or a launch fails.
    pub fn solve(
        &mut self,
        rho: &[DeviceVec<T>],
        fields: &mut [Fields<T>],
    ) -> Result<(), CudaError> {
        check_length("fields of a batch of solves", fields.len(), rho.len())?;
        let ranks = self.solvers.len();
        for (k, (rho, fields)) in rho.iter().zip(fields).enumerate() {
            self.solvers[k % ranks].solve(rho, fields)?;
        }
        Ok(())
    }
}
