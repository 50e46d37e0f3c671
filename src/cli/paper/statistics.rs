//! Statistics of repeated times.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Statistics of repeated measurements, all in the unit of the measurements.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Timing {
    /// Arithmetic mean, which is what the paper prints.
    pub mean: f64,
    /// Standard deviation of the sample (over n − 1); zero for one measurement.
    pub deviation: f64,
    /// The middle value.
    pub median: f64,
    /// First and third quartile, interpolated.
    pub quartiles: [f64; 2],
    /// The smallest.
    pub min: f64,
    /// The largest.
    pub max: f64,
    /// How many measurements.
    pub repetitions: usize,
}

impl Timing {
    /// Returns the statistics of measurements in any order; `None` without any.
    pub fn of(values: &[f64]) -> Option<Timing> {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (&min, &max) = (sorted.first()?, sorted.last()?);
        let n = sorted.len();
        let mean = sorted.iter().sum::<f64>() / n as f64;
        let squares: f64 = sorted.iter().map(|v| (v - mean) * (v - mean)).sum();
        let deviation = if n > 1 { (squares / (n - 1) as f64).sqrt() } else { 0.0 };
        let at = |share: f64| {
            let place = (n - 1) as f64 * share;
            let (low, high) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
            low + (high - low) * place.fract()
        };
        let quartiles = [at(0.25), at(0.75)];
        Some(Timing { mean, deviation, median: at(0.5), quartiles, min, max, repetitions: n })
    }

    /// Returns the same in another unit.
    #[must_use]
    pub fn scaled(self, by: f64) -> Timing {
        Timing {
            mean: self.mean * by,
            deviation: self.deviation * by,
            median: self.median * by,
            quartiles: self.quartiles.map(|q| q * by),
            min: self.min * by,
            max: self.max * by,
            repetitions: self.repetitions,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics_by_hand() {
        let s = Timing::of(&[4.0, 1.0, 3.0, 2.0, 10.0]).unwrap();
        assert_eq!((s.mean, s.median, s.quartiles), (4.0, 3.0, [2.0, 4.0]));
        assert_eq!((s.min, s.max, s.repetitions), (1.0, 10.0, 5));
        // Squares 0, 9, 1, 4, 36 over four.
        assert!((s.deviation - 12.5f64.sqrt()).abs() < 1e-15);
        assert_eq!(Timing::of(&[1.0, 2.0]).unwrap().quartiles, [1.25, 1.75]);
        assert_eq!(Timing::of(&[7.0]).unwrap().deviation, 0.0);
        assert_eq!(Timing::of(&[]), None);
        assert_eq!(s.scaled(1e3).median, 3000.0);
    }
}
