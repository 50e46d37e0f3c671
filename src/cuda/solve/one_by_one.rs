//! Several maps by a solver of one, one after the other.

use super::field_solver::{FieldSolver, Fields, private};
use crate::cuda::device::{CudaError, CudaReal, DeviceVec, Gpu, Launch, blocks_for, function};
use crate::engine::Pipeline;
use cudarc::driver::{CudaFunction, LaunchConfig};

/// Solves so many maps, one after the other. Each is copied to memory of its own, which begins where
/// its solver can read it, and its fields from there.
pub(super) struct OneByOne<T: CudaReal> {
    gpu: Gpu,
    solver: Box<dyn FieldSolver<T>>,
    maps: u32,
    bins: usize,
    energies: CudaFunction,
    /// All maps, from [`FieldSolver::forward`] to [`FieldSolver::inverse`], which does all the work.
    all: DeviceVec<T>,
    rho: DeviceVec<T>,
    fields: Fields<T>,
}

impl<T: CudaReal> OneByOne<T> {
    pub(super) fn new(
        gpu: &Gpu,
        bins: usize,
        solver: Box<dyn FieldSolver<T>>,
        maps: usize,
    ) -> Result<Self, CudaError> {
        Ok(OneByOne {
            energies: function(&gpu.kernels::<T>("energies")?, "energies")?,
            all: gpu.zeros(maps * bins)?,
            rho: gpu.zeros(bins)?,
            fields: Fields::new(gpu, bins)?,
            gpu: gpu.clone(),
            solver,
            maps: maps as u32,
            bins,
        })
    }
}

impl<T: CudaReal> private::Sealed for OneByOne<T> {}

impl<T: CudaReal> FieldSolver<T> for OneByOne<T> {
    fn pipeline(&self) -> Pipeline {
        self.solver.pipeline()
    }

    fn forward(&mut self, rho: &DeviceVec<T>) -> Result<(), CudaError> {
        self.gpu.copy(rho, &mut self.all)
    }

    fn inverse(&mut self, fields: &mut Fields<T>) -> Result<(), CudaError> {
        let maps = self.maps as usize;
        fields.check(self.bins, maps)?;
        for map in 0..maps {
            let bins = map * self.bins..(map + 1) * self.bins;
            self.gpu.copy(self.all.slice(bins.clone()), &mut self.rho)?;
            self.solver.solve(&self.rho, &mut self.fields)?;
            let Fields { potential, field_x, field_y, energy } = &self.fields;
            self.gpu.copy(potential, fields.potential.slice_mut(bins.clone()))?;
            self.gpu.copy(field_x, fields.field_x.slice_mut(bins.clone()))?;
            self.gpu.copy(field_y, fields.field_y.slice_mut(bins))?;
            self.gpu.copy(energy, fields.energy.slice_mut(map + 1..map + 2))?;
        }
        let each = fields.energy.slice(1..maps + 1);
        let one_warp = LaunchConfig { block_dim: (32, 1, 1), ..blocks_for(1) };
        // SAFETY: the arguments are those of kernels/solve/energies.cu; there is an energy for each map
        // after the first number (checked above).
        unsafe {
            Launch::new(&self.gpu, &self.energies)
                .args(&[&each, &self.maps, &fields.energy])
                .launch(one_warp)
        }
    }
}
