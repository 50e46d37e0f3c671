//! Sums the energies of several solves that ran one after the other, or of the parts of one:
//! `kernels/solve/energies.cu`.

use crate::cuda::device::bindings::solve::Energies;
use crate::cuda::device::{
    CudaError, DeviceSlice, DeviceSliceMut, Gpu, Kernel, blocks_with, check_length,
};

/// Sums energies.
pub(crate) struct EnergySum {
    gpu: Gpu,
    kernel: Kernel<Energies>,
}

impl EnergySum {
    pub(crate) fn new(gpu: &Gpu) -> Result<Self, CudaError> {
        let kernel = Kernel::new(&gpu.kernels::<f64>("energies")?)?.with(blocks_with(32, 1));
        Ok(EnergySum { gpu: gpu.clone(), kernel })
    }

    /// Enqueues the sum of `parts`, stored in `total`, one number.
    pub(crate) fn run(
        &self,
        parts: DeviceSlice<'_, f64>,
        total: DeviceSliceMut<'_, f64>,
    ) -> Result<(), CudaError> {
        check_length("energy", total.len(), 1)?;
        let count = parts.len() as u32;
        let arguments = Energies { parts: (&parts).into(), count, energy: (&total).into() };
        // SAFETY: there are `count` parts, and room for one number (checked above).
        unsafe { self.kernel.launch(&self.gpu, &arguments) }
    }
}
