//! The transforms of image compression on the CPU.

use super::{ChannelRun, CompressError, Samples, ThresholdPair};
use crate::cpu::transforms::{Plan2d, Scratch};
use crate::memory::filled;
use crate::real::Real;
use crate::transform::{LengthError, Plan2dOptions, ShapeError, Transform};
use rayon::prelude::*;
use std::time::Instant;

/// A fused DCT and IDCT of channels of one size, and the spectrum between them.
pub struct CpuThresholdPair<T: Real> {
    dct: Plan2d<T>,
    idct: Plan2d<T>,
    scratch: Scratch<T>,
    spectrum: Vec<T>,
}

impl<T: Real> CpuThresholdPair<T> {
    /// Plans for channels of `height × width` samples, for the pool this is called in.
    ///
    /// # Errors
    /// When a size is zero.
    pub fn new(height: usize, width: usize) -> Result<Self, ShapeError> {
        let options = Plan2dOptions::default();
        let dct = Plan2d::new(Transform::Dct, height, width, options, 1)?;
        Ok(CpuThresholdPair {
            scratch: dct.make_scratch(),
            idct: Plan2d::new(Transform::Idct, height, width, options, 1)?,
            dct,
            spectrum: filled(height * width, T::zero()),
        })
    }

    fn checked_run(
        &mut self,
        samples: &Samples,
        threshold: T,
        restored: &mut [T],
    ) -> Result<ChannelRun, LengthError> {
        let CpuThresholdPair { dct, idct, scratch, spectrum } = self;
        let start = Instant::now();
        let ms = || start.elapsed().as_secs_f64() * 1e3;
        match samples {
            Samples::U8(x) => dct.process_threshold(x, threshold, spectrum, scratch)?,
            Samples::U16(x) => dct.process_threshold(x, threshold, spectrum, scratch)?,
        }
        let forward_ms = ms();
        // What was below is zero now: below any threshold but zero, which keeps everything.
        let kept = spectrum.par_iter().filter(|x| x.abs() >= threshold).count();
        let counted = ms();
        idct.process(spectrum, restored, scratch)?;
        Ok(ChannelRun { kept, forward_ms, inverse_ms: ms() - counted })
    }
}

impl<T: Real> ThresholdPair<T> for CpuThresholdPair<T> {
    fn run(
        &mut self,
        samples: &Samples,
        threshold: T,
        restored: &mut [T],
    ) -> Result<ChannelRun, CompressError> {
        self.checked_run(samples, threshold, restored).map_err(|e| CompressError::Engine(e.into()))
    }
}
