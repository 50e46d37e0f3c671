//! The transforms of image compression on the CPU.

use super::{ChannelRun, Failed, Samples, ThresholdPair};
use crate::cpu::transforms::Plan;
use crate::memory::filled;
use crate::parallel;
use crate::real::Real;
use crate::transform::{ShapeError, Transform};
use std::time::Instant;

/// A DCT and an IDCT of channels of one size, and the spectrum between them.
pub struct CpuThresholdPair<T: Real> {
    dct: Plan<T>,
    idct: Plan<T>,
    spectrum: Vec<T>,
}

impl<T: Real> CpuThresholdPair<T> {
    /// Plans for channels of `height × width` samples, for the pool this is called in.
    ///
    /// # Errors
    /// When a size is zero.
    pub fn new(height: usize, width: usize) -> Result<Self, ShapeError> {
        Ok(CpuThresholdPair {
            dct: Plan::new(Transform::Dct, &[height, width])?,
            idct: Plan::new(Transform::Idct, &[height, width])?,
            spectrum: filled(height * width, T::zero()),
        })
    }
}

impl<T: Real> ThresholdPair<T> for CpuThresholdPair<T> {
    fn run(
        &mut self,
        samples: &Samples,
        threshold: T,
        restored: &mut [T],
    ) -> Result<ChannelRun, Failed> {
        let start = Instant::now();
        let ms = || start.elapsed().as_secs_f64() * 1e3;
        let spectrum = &mut self.spectrum;
        match samples {
            Samples::U8(x) => self.dct.run_thresholded(x, threshold, spectrum)?,
            Samples::U16(x) => self.dct.run_thresholded(x, threshold, spectrum)?,
        }
        let forward_ms = ms();
        // Coefficients below are zero now: below any threshold but zero, which keeps everything.
        let kept_of_blocks = parallel::map_blocks(spectrum.len(), 1 << 16, |block| {
            spectrum[block].iter().filter(|x| x.abs() >= threshold).count()
        });
        let kept = kept_of_blocks.iter().sum();
        let counted = ms();
        self.idct.run(spectrum, restored)?;
        Ok(ChannelRun { kept, forward_ms, inverse_ms: ms() - counted })
    }
}
