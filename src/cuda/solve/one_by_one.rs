//! Solves several maps, one after the other, by a solver of one map.

use super::energies::EnergySum;
use super::field_solver::{FieldSolver, Fields, FieldsMut, private};
use crate::cuda::device::{CudaError, CudaReal, DeviceSlice, DeviceVec, Gpu};
use crate::engine::Pipeline;

/// Solves `maps` maps, one after the other. Each map is copied to separate memory, which is aligned
/// for the solver, and its fields are copied from separate memory.
pub(super) struct OneByOne<T: CudaReal> {
    gpu: Gpu,
    solver: Box<dyn FieldSolver<T>>,
    maps: usize,
    bins: usize,
    sum: EnergySum,
    /// All maps, from [`FieldSolver::forward`] to [`FieldSolver::inverse`], which does all the
    /// work.
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
            sum: EnergySum::new(gpu)?,
            all: gpu.zeros(maps * bins)?,
            rho: gpu.zeros(bins)?,
            fields: Fields::new(gpu, bins)?,
            gpu: gpu.clone(),
            solver,
            maps,
            bins,
        })
    }
}

impl<T: CudaReal> private::Sealed for OneByOne<T> {}

impl<T: CudaReal> FieldSolver<T> for OneByOne<T> {
    fn pipeline(&self) -> Pipeline {
        self.solver.pipeline()
    }

    fn forward(&mut self, rho: DeviceSlice<'_, T>) -> Result<(), CudaError> {
        self.gpu.copy(rho, &mut self.all)
    }

    fn inverse(&mut self, mut fields: FieldsMut<'_, T>) -> Result<(), CudaError> {
        fields.check(&self.gpu, self.bins, self.maps)?;
        for map in 0..self.maps {
            let bins = map * self.bins..(map + 1) * self.bins;
            self.gpu.copy(self.all.slice(bins.clone()), &mut self.rho)?;
            self.solver.solve(&self.rho, &mut self.fields)?;
            let Fields { potential, field_x, field_y, energy } = &self.fields;
            self.gpu.copy(potential, fields.potential.reborrow().part(bins.clone()))?;
            self.gpu.copy(field_x, fields.field_x.reborrow().part(bins.clone()))?;
            self.gpu.copy(field_y, fields.field_y.reborrow().part(bins))?;
            self.gpu.copy(energy, fields.energy.reborrow().part(map + 1..map + 2))?;
        }
        let (total, each) = fields.energy.split_at(1);
        self.sum.run(each.as_view(), total)
    }
}
