//! The transforms of image compression on a device.

use super::{ChannelRun, Failed, Samples, ThresholdPair};
use crate::cuda::transforms::Plan;
use crate::cuda::{CudaError, CudaReal, DeviceVec, Gpu};
use crate::transform::Transform;
use std::time::Instant;

/// A DCT and an IDCT of channels of one size, and the arrays between them.
pub struct CudaThresholdPair<T: CudaReal> {
    gpu: Gpu,
    dct: Dct<T>,
    idct: Plan<T>,
    spectrum: DeviceVec<T>,
    restored: DeviceVec<T>,
    kept: DeviceVec<u64>,
}

/// By the samples it reads.
enum Dct<T: CudaReal> {
    U8(Plan<T, u8>),
    U16(Plan<T, u16>),
}

impl<T: CudaReal> CudaThresholdPair<T> {
    /// Plans for channels of `height × width` samples of 8 or else 16 bits.
    ///
    /// # Errors
    /// When a size is zero or beyond the device, or kernels cannot be made.
    pub fn new(gpu: &Gpu, height: usize, width: usize, bits: u32) -> Result<Self, CudaError> {
        let dct = match bits {
            8 => Dct::U8(Plan::of_map(gpu, Transform::Dct, height, width)?.with_threshold()?),
            _ => Dct::U16(Plan::of_map(gpu, Transform::Dct, height, width)?.with_threshold()?),
        };
        Ok(CudaThresholdPair {
            dct,
            idct: Plan::of_map(gpu, Transform::Idct, height, width)?,
            spectrum: gpu.zeros(height * width)?,
            restored: gpu.zeros(height * width)?,
            kept: gpu.zeros(1)?,
            gpu: gpu.clone(),
        })
    }
}

impl<T: CudaReal> ThresholdPair<T> for CudaThresholdPair<T> {
    fn run(
        &mut self,
        samples: &Samples,
        threshold: T,
        restored: &mut [T],
    ) -> Result<ChannelRun, Failed> {
        let (expected, found) = (self.restored.len(), restored.len());
        if found != expected {
            return Err(CudaError::Length { what: "restored channel", expected, found }.into());
        }
        let start = Instant::now();
        let ms = || start.elapsed().as_secs_f64() * 1e3;
        let (spectrum, kept) = (&mut self.spectrum, &mut self.kept);
        match (&mut self.dct, samples) {
            (Dct::U8(dct), Samples::U8(x)) => {
                dct.run_thresholded(&self.gpu.upload(x)?, threshold, spectrum, kept)?;
            }
            (Dct::U16(dct), Samples::U16(x)) => {
                dct.run_thresholded(&self.gpu.upload(x)?, threshold, spectrum, kept)?;
            }
            _ => {
                return Err(CudaError::NotPlanned {
                    what: "samples of another width",
                    needs: "a plan for samples of that width",
                }
                .into());
            }
        }
        let kept = self.gpu.download(&self.kept)?[0] as usize;
        let forward_ms = ms();
        self.idct.run(&self.spectrum, &mut self.restored)?;
        restored.copy_from_slice(&self.gpu.download(&self.restored)?);
        Ok(ChannelRun { kept, forward_ms, inverse_ms: ms() - forward_ms })
    }
}
