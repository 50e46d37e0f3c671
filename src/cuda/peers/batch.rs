//! Independent solves, distributed over devices.

use super::Peers;
use crate::cuda::device::{CudaError, CudaReal, DeviceVec, Gpu, check_length};
use crate::cuda::solve::{FieldSolver, Fields, solver};
use crate::engine::Pipeline;
use crate::grid::BinGrid;

/// Solves any number of maps over one grid, map k on rank k modulo the number of ranks. Ranks
/// exchange no data: each process has the maps of its own ranks.
pub struct BatchSolver<T: CudaReal> {
    peers: Peers,
    /// One for each rank of this process; maps of a rank are consecutive.
    solvers: Vec<Box<dyn FieldSolver<T>>>,
}

impl<T: CudaReal> BatchSolver<T> {
    /// Returns a solver on every rank of this process.
    ///
    /// # Errors
    /// See [`solver`].
    pub fn new(peers: &Peers, grid: &BinGrid, pipeline: Pipeline) -> Result<Self, CudaError> {
        let _launching = peers.launch_lock();
        let on = |rank| solver::<T>(peers.gpu(rank), grid, pipeline);
        let solvers = peers.local().map(on).collect::<Result<_, _>>()?;
        Ok(BatchSolver { peers: peers.clone(), solvers })
    }

    /// Returns which of `count` maps this process has: all of them, if it has all ranks.
    pub fn maps(&self, count: usize) -> impl Iterator<Item = usize> + use<T> {
        let (local, ranks) = (self.peers.local(), self.peers.count());
        (0..count).filter(move |map| local.contains(&(map % ranks)))
    }

    /// Returns the device with map k, its ρ and its fields.
    ///
    /// # Panics
    /// If the map is not one of this process's maps ([`BatchSolver::maps`]).
    pub fn gpu(&self, map: usize) -> &Gpu {
        self.peers.gpu(map % self.peers.count())
    }

    /// Enqueues the solve of every map of this process, in the order of [`BatchSolver::maps`].
    ///
    /// # Errors
    /// If there are not as many fields as maps, a field is on another device than
    /// [`BatchSolver::gpu`] returns or has the wrong length, or a launch fails.
    pub fn solve(
        &mut self,
        rho: &[DeviceVec<T>],
        fields: &mut [Fields<T>],
    ) -> Result<(), CudaError> {
        check_length("fields of a batch of solves", fields.len(), rho.len())?;
        let ranks = self.solvers.len();
        let mut all = rho.iter().zip(fields).enumerate();
        all.try_for_each(|(k, (rho, fields))| self.solvers[k % ranks].solve(rho, fields))
    }
}
