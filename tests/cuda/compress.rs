//! Thresholds of DCTs on a device, and compression by them, against thresholds
//! written out here and against the CPU.

use crate::device::{gpu, output, values};
use placefield::cuda::CudaReal;
use placefield::cuda::transforms::Plan;
use placefield::paper::compress::CpuThresholdPair;
use placefield::paper::compress::CudaThresholdPair;
use placefield::paper::compress::{Picture, Samples, compress};
use placefield::transform::{Method, Transform};

/// Whatever `epsilon` is, the coefficients that are kept are those of a DCT without
/// one to the bit, and the others zero.
fn thresholds_drop_and_count<T: CudaReal>() {
    let gpu = gpu();
    let sizes = [
        (1, 1, 1),
        (5, 7, 1),
        (31, 66, 2),
        (64, 64, 1),
        (100, 300, 1),
        (256, 100, 3),
        (500, 64, 2),
        (8192, 128, 1),
        (10000, 100, 1),
        (64, 10000, 2),
    ];
    let each = sizes.iter().flat_map(|&size| Method::ALL.map(|method| (size, method)));
    for ((nx, ny, batch), method) in each {
        let x: Vec<T> = values(batch * nx * ny);
        let input = gpu.upload(&x).unwrap();
        let plan = Plan::<T, T>::of_maps(&gpu, Transform::Dct, nx, ny, method, batch).unwrap();
        let mut plan = plan.with_threshold().unwrap();
        let full = output(&gpu, x.len(), |out| plan.run(&input, out));
        let mut sizes: Vec<T> = full.iter().map(|v| v.abs()).collect();
        sizes.sort_by(|a, b| a.partial_cmp(b).unwrap());
        for epsilon in [T::zero(), sizes[sizes.len() / 3], sizes[sizes.len() - 1], T::infinity()] {
            let want: Vec<T> =
                full.iter().map(|&v| if v.abs() < epsilon { T::zero() } else { v }).collect();
            let left = full.iter().filter(|v| v.abs() >= epsilon).count() as u64;
            let mut kept = gpu.upload(&[99u64]).unwrap();
            for _ in 0..2 {
                let got = output(&gpu, x.len(), |out| {
                    plan.run_thresholded(&input, epsilon, out, &mut kept)
                });
                assert!(got == want, "{nx} x {ny} {:?} below {epsilon:?}", plan.path());
                assert_eq!(gpu.download(&kept).unwrap(), [left], "{nx} x {ny} {:?}", plan.path());
            }
        }
    }
}

#[test]
fn thresholds_drop_and_count_coefficients() {
    thresholds_drop_and_count::<f32>();
    thresholds_drop_and_count::<f64>();
}

/// Compression on the device gives the picture that compression on the CPU gives.
#[test]
fn compression_agrees_with_the_cpu() {
    let gpu = gpu();
    // By cuFFT, and by two passes.
    for (height, width) in [(123, 250), (200, 512)] {
        let sample =
            |i: usize| (i / 3 % width / 9 * 20 + i / 3 / width / 7 * 900 + i * i % 101) as u16;
        let wide: Vec<u16> = (0..height * width * 3).map(sample).collect();
        let narrow: Vec<u8> = wide.iter().map(|&v| (v >> 8) as u8 + (v & 63) as u8).collect();
        for (samples, bits) in [(Samples::U8(narrow), 8), (Samples::U16(wide), 16)] {
            let picture = Picture::from_samples(width as u32, height as u32, samples).unwrap();
            let epsilon = 20_000.25;
            let mut cpu = CpuThresholdPair::<f64>::new(height, width).unwrap();
            let mut cuda = CudaThresholdPair::<f64>::new(&gpu, height, width, bits).unwrap();
            let (want, on_cpu) = compress::<f64>(&picture, epsilon, &mut cpu).unwrap();
            let (got, on_device) = compress::<f64>(&picture, epsilon, &mut cuda).unwrap();
            assert_eq!(on_device.kept_per_channel, on_cpu.kept_per_channel);
            assert!(on_cpu.kept < on_cpu.coefficients / 2, "{} kept", on_cpu.kept);
            assert_eq!(got, want, "{height} x {width}, {bits} bits");
        }
    }
}
