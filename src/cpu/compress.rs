//! The transforms of image compression on the CPU.

use super::maps::{Inverse, Maps};
use super::modify::{Threshold, Unchanged};
use super::scratch::Scratch;
use crate::compress::{ChannelRun, CompressError, Samples, ThresholdPair};
use crate::memory::filled;
use crate::real::Real;
use crate::transform::{LengthError, Plan2dOptions, ShapeError, check_length, check_shape};
use rayon::prelude::*;
use std::time::Instant;

/// A fused DCT and IDCT of channels of one size, and the spectrum between them.
pub struct CpuThresholdPair<T: Real> {
    maps: Maps<T>,
    scratch: Scratch<T>,
    spectrum: Vec<T>,
}

impl<T: Real> CpuThresholdPair<T> {
    /// Plans for channels of `height × width` samples, for the pool this is called in.
    ///
    /// # Errors
    /// When a size is zero.
    pub fn new(height: usize, width: usize) -> Result<Self, ShapeError> {
        let size = check_shape(&[height, width], 1)?;
        let maps = Maps::new(height, width, &Plan2dOptions::default());
        Ok(CpuThresholdPair {
            scratch: Scratch::new(maps.scratch_len(1), rayon::current_num_threads()),
            spectrum: filled(size, T::zero()),
            maps,
        })
    }

    fn checked_run(
        &mut self,
        samples: &Samples,
        threshold: T,
        restored: &mut [T],
    ) -> Result<ChannelRun, LengthError> {
        check_length("input", self.spectrum.len(), samples.len())?;
        check_length("output", self.spectrum.len(), restored.len())?;
        let mut s = self.scratch.parts(self.maps.scratch_len(1))?;
        let start = Instant::now();
        let ms = || start.elapsed().as_secs_f64() * 1e3;
        let (by, spectrum) = (Threshold(threshold), &mut self.spectrum);
        match samples {
            Samples::U8(x) => self.maps.forward(x, &by, spectrum, s.reborrow()),
            Samples::U16(x) => self.maps.forward(x, &by, spectrum, s.reborrow()),
        }
        let forward_ms = ms();
        // What was below is zero now: below any threshold but zero, which keeps everything.
        let kept = spectrum.par_iter().filter(|x| x.abs() >= threshold).count();
        let counted = ms();
        self.maps.inverse(Inverse::Idct, spectrum, &Unchanged, restored, s);
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
