//! Image compression against an independent computation: transforms in f64, a
//! threshold and a rounding written out here.

use crate::common::lines::{self, Line};
use placefield::paper::compress::CpuThresholdPair;
use placefield::paper::compress::{
    CompressError, Picture, Samples, ThresholdPair, compress, orthonormal,
};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// The DCT or its inverse along rows, then along columns.
fn dct2(forward: bool, height: usize, width: usize, x: &mut [f64]) {
    let kind = if forward { Line::Dct } else { Line::Idct };
    let line = |v: &mut [f64]| v.copy_from_slice(&lines::line(kind, v));
    x.chunks_exact_mut(width).for_each(line);
    for j in 0..width {
        let mut column: Vec<f64> = (0..height).map(|i| x[i * width + j]).collect();
        line(&mut column);
        (0..height).for_each(|i| x[i * width + j] = column[i]);
    }
}

/// Edges, a slope and noise, `channels` interleaved, 0 … `max`.
fn drawing(height: usize, width: usize, channels: usize, max: f64) -> Vec<f64> {
    let mut random = Pcg64Mcg::seed_from_u64((height * width * channels) as u64);
    let mut samples = Vec::new();
    for i in 0..height {
        for j in 0..width {
            for c in 0..channels {
                let block = if (i / 5 + j / 9 + c).is_multiple_of(2) { 0.7 } else { 0.1 };
                let slope = 0.2 * j as f64 / width as f64;
                let value = block + slope + 0.15 * random.random::<f64>();
                samples.push((value.min(1.0) * max).round());
            }
        }
    }
    samples
}

fn stored(samples: &[f64], bits: u32) -> Samples {
    match bits {
        8 => Samples::U8(samples.iter().map(|&v| v as u8).collect()),
        _ => Samples::U16(samples.iter().map(|&v| v as u16).collect()),
    }
}

fn loose(samples: Samples) -> Vec<f64> {
    match samples {
        Samples::U8(v) => v.into_iter().map(f64::from).collect(),
        Samples::U16(v) => v.into_iter().map(f64::from).collect(),
    }
}

/// A threshold between two neighbouring magnitudes, about `share` of them below it.
fn between(coefficients: &[Vec<f64>], share: f64) -> f64 {
    let mut all: Vec<f64> = coefficients.iter().flatten().map(|c| c.abs()).collect();
    all.sort_by(f64::total_cmp);
    let middle = (share * all.len() as f64) as usize;
    let (from, to) = (middle.saturating_sub(9), (middle + 9).min(all.len() - 1));
    // The widest gap near by: rounding must not decide.
    let gap = |i: &usize| all[i + 1] - all[*i];
    let at = (from..to).max_by(|a, b| gap(a).total_cmp(&gap(b))).unwrap();
    0.5 * (all[at] + all[at + 1])
}

#[test]
fn every_kind_of_picture_to_the_last_rounding() {
    for (height, width) in [(23, 40), (64, 48), (37, 31)] {
        for step in 1..=4 {
            for bits in [8, 16] {
                check(height, width, step, bits);
            }
        }
    }
}

fn check(height: usize, width: usize, step: usize, bits: u32) {
    let max = ((1_u32 << bits) - 1) as f64;
    let samples = drawing(height, width, step, max);
    let channels = if step < 3 { 1 } else { 3 };
    let pixels = height * width;
    let mut spectra: Vec<Vec<f64>> = (0..channels)
        .map(|c| {
            let mut plane: Vec<f64> = samples.iter().skip(c).step_by(step).copied().collect();
            dct2(true, height, width, &mut plane);
            plane
        })
        .collect();
    let epsilon = between(&spectra, 0.9);

    let mut want = samples.clone();
    let (mut kept, mut squares) = (Vec::new(), 0.0);
    for (c, spectrum) in spectra.iter_mut().enumerate() {
        spectrum.iter_mut().filter(|v| v.abs() < epsilon).for_each(|v| *v = 0.0);
        kept.push(spectrum.iter().filter(|v| **v != 0.0).count());
        dct2(false, height, width, spectrum);
        for (p, value) in spectrum.iter().enumerate() {
            let exact = value * 4.0 / pixels as f64;
            assert!((exact.fract().abs() - 0.5).abs() > 1e-9, "a tie decides nothing here");
            let old = &mut want[p * step + c];
            let new = exact.round().max(0.0).min(max);
            squares += (new - *old) * (new - *old);
            *old = new;
        }
    }

    let picture = Picture::from_samples(width as u32, height as u32, stored(&samples, bits));
    let picture = picture.unwrap();
    let mut engine = CpuThresholdPair::<f64>::new(height, width).unwrap();
    let (got, numbers) = compress(&picture, epsilon, &mut engine).unwrap();
    let what = format!("{width} x {height}, {step} channels, {bits} bits");
    assert_eq!(loose(got.samples()), want, "{what}");
    assert_eq!(numbers.kept_per_channel, kept, "{what}");
    assert_eq!(numbers.kept, kept.iter().sum::<usize>());
    assert_eq!(numbers.coefficients, channels * pixels);
    let mse = squares / (channels * pixels) as f64;
    let psnr = 10.0 * (max * max / mse).log10();
    assert!((numbers.mean_squared_error - mse).abs() <= 1e-12 * mse, "{what}");
    assert!((numbers.psnr.unwrap() - psnr).abs() < 1e-9, "{what}");
    let format = got.format();
    assert_eq!(
        (format.channels, format.alpha, format.bits),
        (channels, step.is_multiple_of(2), bits)
    );

    // In single precision at most a sample here and there is rounded the other way.
    let mut engine = CpuThresholdPair::<f32>::new(height, width).unwrap();
    let (single, _) = compress(&picture, epsilon, &mut engine).unwrap();
    let far =
        loose(single.samples()).iter().zip(&want).filter(|(a, b)| (*a - *b).abs() > 1.0).count();
    assert_eq!(far, 0, "{what} in f32");
}

#[test]
fn zero_thresholds_are_lossless_huge_ones_black() {
    let samples = drawing(19, 30, 4, 65_535.0);
    let picture = Picture::from_samples(30, 19, stored(&samples, 16)).unwrap();
    let mut engine = CpuThresholdPair::<f64>::new(19, 30).unwrap();
    let (same, numbers) = compress(&picture, 0.0, &mut engine).unwrap();
    assert_eq!(same, picture);
    assert_eq!((numbers.kept, numbers.psnr), (3 * 19 * 30, None));
    let (black, numbers) = compress(&picture, 1e300, &mut engine).unwrap();
    assert_eq!(numbers.kept, 0);
    let black = loose(black.samples());
    let alpha = |v: &[f64]| v.iter().skip(3).step_by(4).copied().collect::<Vec<_>>();
    assert_eq!(alpha(&black), alpha(&samples));
    assert!(black.chunks(4).all(|pixel| pixel[..3] == [0.0; 3]));
}

#[test]
fn bad_thresholds_and_sizes_are_errors() {
    let picture = Picture::from_samples(2, 3, Samples::U8(vec![1; 6])).unwrap();
    let mut engine = CpuThresholdPair::<f64>::new(3, 2).unwrap();
    for bad in [-1.0, f64::NAN, f64::INFINITY] {
        let error = compress::<f64>(&picture, bad, &mut engine).unwrap_err();
        assert!(matches!(error, CompressError::Threshold(_)), "{error}");
    }
    let mut other = CpuThresholdPair::<f64>::new(3, 3).unwrap();
    let error = compress::<f64>(&picture, 1.0, &mut other).unwrap_err();
    assert_eq!(error.to_string(), "input has 6 values, the plan is for 9");
    let samples = Samples::U8(vec![1; 6]);
    assert!(other.run(&samples, 1.0, &mut [0.0; 9]).is_err());
    assert!(Picture::from_samples(2, 3, Samples::U8(vec![1; 7])).is_none());
    assert!(Picture::from_samples(1, 1, Samples::U8(vec![1; 5])).is_none());
    assert!(Picture::from_samples(0, 0, Samples::U8(vec![])).is_none());
}

/// On a flat picture all but the mean is zero, and ε meets it where the definition says.
#[test]
fn epsilon_is_in_the_papers_scaling() {
    let (height, width) = (6, 10);
    let picture = Picture::from_samples(10, 6, Samples::U8(vec![100; 60])).unwrap();
    let mut engine = CpuThresholdPair::<f64>::new(height, width).unwrap();
    for (epsilon, kept) in [(5_999.0, 1), (6_001.0, 0)] {
        assert_eq!(compress::<f64>(&picture, epsilon, &mut engine).unwrap().1.kept, kept);
    }
    // Orthonormal: the mean is √60 · 100, and for it ½ of what is said of the others.
    let of_others = orthonormal(6_000.0, &picture.format());
    assert!((of_others / 2.0 - 60.0_f64.sqrt() * 100.0).abs() < 1e-9);
}
