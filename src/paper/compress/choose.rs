//! Thresholds for a given share of the coefficients or a given PSNR.

use super::{CompressError, Failed, Picture, Samples};
use crate::cpu::transforms::Plan;
use crate::transform::{InputElement, Transform};
use rayon::prelude::*;

/// The magnitudes of a picture's DCT coefficients.
pub(crate) struct Spectrum {
    /// Ascending.
    magnitudes: Vec<f64>,
    /// 4 / pixels: the share of a coefficient's square in the sum of squared samples, except for
    /// coefficients of constant rows and columns.
    energy: f64,
    /// Largest sample.
    peak: f64,
}

impl Spectrum {
    /// By one DCT of every colour channel on the CPU, in `f64`.
    ///
    /// # Errors
    /// When there is no plan for the picture's size.
    pub(crate) fn of(picture: &Picture) -> Result<Spectrum, CompressError> {
        let magnitudes = match picture.samples() {
            Samples::U8(samples) => magnitudes(&samples, picture),
            Samples::U16(samples) => magnitudes(&samples, picture),
        };
        let mut magnitudes = magnitudes?;
        magnitudes.par_sort_unstable_by(f64::total_cmp);
        let format = picture.format();
        Ok(Spectrum {
            magnitudes,
            energy: 4.0 / (format.width * format.height) as f64,
            peak: ((1u32 << format.bits) - 1) as f64,
        })
    }

    /// Returns a threshold that leaves out the `least` smallest coefficients: between the last of
    /// them and the next.
    fn threshold(&self, least: usize) -> f64 {
        match (least.checked_sub(1).map(|k| self.magnitudes[k]), self.magnitudes.get(least)) {
            (None, _) => 0.0,
            (Some(last), Some(&next)) => f64::midpoint(last, next),
            (Some(last), None) => 2.0 * last + 1.0,
        }
    }

    /// Returns the threshold that keeps this share, 0 to 1, of all coefficients.
    pub(crate) fn keeping(&self, share: f64) -> f64 {
        let all = self.magnitudes.len();
        self.threshold(all - ((share * all as f64).round() as usize).min(all))
    }

    /// Returns the largest threshold, to within 1/10000 of the coefficients, at which `psnr` is
    /// `least` at least; `psnr` gives that of a threshold, in decibels, none when nothing changes.
    ///
    /// By Parseval the error is that of the omitted coefficients plus rounding, so the search
    /// begins there.
    pub(crate) fn reaching(
        &self,
        least: f64,
        mut psnr: impl FnMut(f64) -> Result<Option<f64>, CompressError>,
    ) -> Result<f64, CompressError> {
        let all = self.magnitudes.len();
        let mut enough = |dropped: usize| -> Result<bool, CompressError> {
            Ok(psnr(self.threshold(dropped))?.is_none_or(|psnr| psnr >= least))
        };
        let error = self.peak * self.peak / 10f64.powf(least / 10.0) * all as f64;
        let (mut low, mut high) = (self.dropped(0.5 * error), self.dropped(2.0 * error));
        if !enough(low)? {
            (low, high) = (0, low);
        } else if high == all || enough(high)? {
            if enough(all)? {
                return Ok(self.threshold(all));
            }
            (low, high) = (high.min(all - 1).max(low), all);
        }
        while high - low > 1 + all / 10_000 {
            let middle = low + (high - low) / 2;
            if enough(middle)? { low = middle } else { high = middle }
        }
        Ok(self.threshold(low))
    }

    /// Returns how many of the smallest coefficients are worth this much of the sum of squared
    /// samples.
    fn dropped(&self, error: f64) -> usize {
        let mut sum = 0.0;
        let within = self.magnitudes.iter().take_while(|m| {
            sum += self.energy * *m * *m;
            sum <= error
        });
        within.count()
    }
}

fn magnitudes<S: InputElement>(samples: &[S], picture: &Picture) -> Result<Vec<f64>, Failed> {
    let format = picture.format();
    let step = format.channels + usize::from(format.alpha);
    let mut dct = Plan::<f64>::new(Transform::Dct, &[format.height, format.width])?;
    let mut spectrum = vec![0.0; format.height * format.width];
    let mut all = Vec::with_capacity(format.channels * spectrum.len());
    for channel in 0..format.channels {
        let plane: Vec<S> = samples.chunks_exact(step).map(|pixel| pixel[channel]).collect();
        dct.run(&plane, &mut spectrum)?;
        all.extend(spectrum.iter().map(|c| c.abs()));
    }
    Ok(all)
}

#[cfg(test)]
mod tests;
