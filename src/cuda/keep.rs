//! Which coefficients a DCT keeps: `kernels/keep.cuh`, typed.

use super::device::Gpu;
use super::error::CudaError;
use super::launch::check_length;
use cudarc::driver::CudaSlice;

/// Coefficients smaller in magnitude than `epsilon` become zero, and `kept`, one
/// number, gets how many are not.
pub(super) struct Threshold<'a, T> {
    pub(super) epsilon: T,
    pub(super) kept: &'a mut CudaSlice<u64>,
    /// `Kept` in the kernels.
    pub(super) parts: &'a mut CudaSlice<u64>,
}

/// What a plan counts in.
pub(super) struct Counter(CudaSlice<u64>);

impl Counter {
    pub(super) fn new(gpu: &Gpu) -> Result<Self, CudaError> {
        Ok(Counter(gpu.zeros(2)?))
    }

    pub(super) fn threshold<'a, T>(
        &'a mut self,
        epsilon: T,
        kept: &'a mut CudaSlice<u64>,
    ) -> Result<Threshold<'a, T>, CudaError> {
        check_length("count of kept coefficients", kept.len(), 1)?;
        Ok(Threshold { epsilon, kept, parts: &mut self.0 })
    }
}
