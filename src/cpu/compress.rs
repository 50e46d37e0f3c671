//! The transforms of image compression on the CPU.

use super::scratch::Scratch;
use super::transforms::Plan2d;
use crate::compress::{ChannelRun, CompressError, Samples, ThresholdPair};
use crate::memory::filled;
use crate::real::Real;
use crate::transform::{Plan2dOptions, ShapeError, Transform};
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
        let plan = |kind| Plan2d::new(kind, height, width, Plan2dOptions::default(), 1);
        let (dct, idct) = (plan(Transform::Dct)?, plan(Transform::Idct)?);
        Ok(CpuThresholdPair {
            scratch: dct.make_scratch(),
            spectrum: filled(height * width, T::zero()),
            dct,
            idct,
        })
    }
}

impl<T: Real> ThresholdPair<T> for CpuThresholdPair<T> {
    fn run(
        &mut self,
        samples: &Samples,
        threshold: T,
        restored: &mut [T],
    ) -> Result<ChannelRun, CompressError> {
        let start = Instant::now();
        let ms = || start.elapsed().as_secs_f64() * 1e3;
        let (dct, spectrum, scratch) = (&self.dct, &mut self.spectrum[..], &mut self.scratch);
        match samples {
            Samples::U8(x) => dct.process_threshold(x, threshold, spectrum, scratch),
            Samples::U16(x) => dct.process_threshold(x, threshold, spectrum, scratch),
        }
        .map_err(|e| CompressError::Engine(e.into()))?;
        let forward_ms = ms();
        // What was below is zero now: below any threshold but zero, which keeps everything.
        let kept = |x: &&T| x.abs() >= threshold;
        let kept = spectrum.par_iter().filter(kept).count();
        let counted = ms();
        self.idct
            .process(spectrum, restored, scratch)
            .map_err(|e| CompressError::Engine(e.into()))?;
        Ok(ChannelRun { kept, forward_ms, inverse_ms: ms() - counted })
    }
}
