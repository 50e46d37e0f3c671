//! cuFFT in the one direction that a plan needs.

use super::cufft::{ForwardFft, InverseFft};
use crate::cuda::device::{CudaError, CudaReal, DeviceVec, Gpu};

/// An FFT in the one direction a plan needs.
pub(in crate::cuda) enum RealFft<T: CudaReal> {
    Forward(ForwardFft<T>),
    Inverse(InverseFft<T>),
}

impl<T: CudaReal> RealFft<T> {
    /// For `batch` arrays of this shape, with a work area of its own.
    pub(in crate::cuda) fn new(
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
    pub(in crate::cuda) fn run(
        &mut self,
        values: &mut DeviceVec<T>,
        spectra: &mut DeviceVec<T::Complex>,
    ) -> Result<(), CudaError> {
        match self {
            RealFft::Forward(fft) => fft.run(&*values, spectra),
            RealFft::Inverse(fft) => fft.run(spectra, values),
        }
    }
}
