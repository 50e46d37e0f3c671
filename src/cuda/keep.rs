//! Which coefficients a DCT keeps: `kernels/keep.cuh`, typed.

use super::device::Gpu;
use super::error::CudaError;
use super::launch::check_length;
use cudarc::driver::CudaSlice;

/// Coefficients smaller in magnitude than `epsilon` become zero, and the number
/// of the others is added to `kept`, one number.
pub(super) struct Threshold<'a, T> {
    pub(super) epsilon: T,
    pub(super) kept: &'a mut CudaSlice<u64>,
}

impl<'a, T> Threshold<'a, T> {
    /// With the count at zero.
    pub(super) fn new(
        gpu: &Gpu,
        epsilon: T,
        kept: &'a mut CudaSlice<u64>,
    ) -> Result<Self, CudaError> {
        check_length("count of kept coefficients", kept.len(), 1)?;
        gpu.stream().memset_zeros(kept)?;
        Ok(Threshold { epsilon, kept })
    }
}
