use super::*;
use crate::paper::compress::{CpuThresholdPair, compress};

fn picture() -> Picture {
    let sample = |i: usize| (128.0 + 60.0 * (i as f64 * 0.37).sin() + (i * i % 61) as f64) as u8;
    let samples = Samples::U8((0..48 * 36 * 3).map(sample).collect());
    Picture::from_samples(48, 36, samples).unwrap()
}

#[test]
fn thresholds_keep_what_they_are_asked_to() {
    let (picture, coefficients) = (picture(), 48 * 36 * 3);
    let spectrum = Spectrum::of(&picture).unwrap();
    let mut engine = CpuThresholdPair::<f64>::new(36, 48).unwrap();
    for share in [1.0, 0.5, 0.1, 0.0] {
        let epsilon = spectrum.keeping(share);
        let kept = compress::<f64>(&picture, epsilon, &mut engine).unwrap().1.kept;
        assert_eq!(kept, (share * coefficients as f64).round() as usize, "{share}");
    }
}

#[test]
fn thresholds_are_near_the_largest_for_a_psnr() {
    let picture = picture();
    let spectrum = Spectrum::of(&picture).unwrap();
    let mut engine = CpuThresholdPair::<f64>::new(36, 48).unwrap();
    let mut psnr = |e| compress::<f64>(&picture, e, &mut engine).map(|(_, c)| c.psnr);
    for least in [18.0, 25.0, 30.0, 40.0, 48.0, 70.0] {
        let epsilon = spectrum.reaching(least, &mut psnr).unwrap();
        assert!(psnr(epsilon).unwrap().is_none_or(|p| p >= least), "{least}");
        let more = psnr(1.1 * epsilon + 1.0).unwrap();
        assert!(more.is_some_and(|p| p < least), "{least}: {more:?}");
    }
    // Below the least that an empty picture has, all coefficients are omitted.
    let nothing = spectrum.reaching(0.5, &mut psnr).unwrap();
    assert!(nothing > *spectrum.magnitudes.last().unwrap());
}
