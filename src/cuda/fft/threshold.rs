//! Which coefficients a DCT keeps: `kernels/fft/keep.cuh`.

use crate::cuda::device::{CudaError, DeviceVec, Gpu, check_length};

/// Coefficients smaller in magnitude than `epsilon` become zero, and `kept`, one
/// number, gets how many are not.
pub(in crate::cuda) struct Threshold<'a, T> {
    pub(in crate::cuda) epsilon: T,
    pub(in crate::cuda) kept: &'a mut DeviceVec<u64>,
    /// `Kept` in the kernels.
    pub(in crate::cuda) parts: &'a mut DeviceVec<u64>,
}

/// What a plan counts in.
pub(in crate::cuda) struct Counter(DeviceVec<u64>);

impl Counter {
    pub(in crate::cuda) fn new(gpu: &Gpu) -> Result<Self, CudaError> {
        Ok(Counter(gpu.zeros(2)?))
    }

    pub(in crate::cuda) fn threshold<'a, T>(
        &'a mut self,
        epsilon: T,
        kept: &'a mut DeviceVec<u64>,
    ) -> Result<Threshold<'a, T>, CudaError> {
        check_length("count of kept coefficients", kept.len(), 1)?;
        Ok(Threshold { epsilon, kept, parts: &mut self.0 })
    }
}
