//! cuFFT in the one direction that a plan needs.

use crate::cuda::device::Gpu;
use crate::cuda::error::CudaError;
use crate::cuda::fft::{ForwardFft, InverseFft};
use crate::cuda::real::CudaReal;
use cudarc::driver::CudaSlice;

/// An FFT in the one direction a plan needs.
pub(super) enum RealFft<T: CudaReal> {
    Forward(ForwardFft<T>),
    Inverse(InverseFft<T>),
}

impl<T: CudaReal> RealFft<T> {
    /// For `batch` arrays of this shape, with a work area of its own.
    pub(super) fn new(
        gpu: &Gpu,
        forward: bool,
        shape: &[usize],
        batch: usize,
    ) -> Result<Self, CudaError> {
        Ok(if forward {
            RealFft::Forward(ForwardFft::alone(gpu, shape, batch)?)
        } else {
            RealFft::Inverse(InverseFft::alone(gpu, shape, batch)?)
        })
    }

    /// Enqueues it, from one of the two to the other.
    pub(super) fn run(
        &mut self,
        values: &mut CudaSlice<T>,
        spectra: &mut CudaSlice<T::Complex>,
    ) -> Result<(), CudaError> {
        match self {
            RealFft::Forward(fft) => fft.run(values, spectra),
            RealFft::Inverse(fft) => fft.run(spectra, values),
        }
    }
}
