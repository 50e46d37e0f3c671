//! The numbers that Jiang, Gu and Pan print, as data.
//!
//! "A New Acceleration Paradigm for Discrete Cosine Transform and Other Fourier-Related
//! Transforms", measured on the machine in [`HARDWARE`] with cuFFT, in `f64`, as means of 100 runs
//! ("Settings" in its section on experiments). Tables and figures carry the numbers that the
//! paper's type setting gives them; times are milliseconds unless a name says otherwise.

use crate::transform::Algorithm1d;

/// The hardware of the paper's measurements.
pub const HARDWARE: &str = "NVIDIA Titan Xp, Intel Core i9-7900X";

/// Runs that the paper's means are over.
pub const REPETITIONS: usize = 100;

/// Mean and standard deviation of the 1024 × 1024 DCT, the one spread it prints ("Settings").
pub const DCT_1024: (f64, f64) = (0.3765, 0.003196);

/// Pre-processing of an N × N DCT: N, gather, scatter (table II).
pub const REORDERING: [(usize, f64, f64); 5] = [
    (512, 0.013, 0.014),
    (1024, 0.042, 0.043),
    (2048, 0.160, 0.163),
    (4096, 0.627, 0.633),
    (8192, 2.568, 2.524),
];

/// Operations of a 2-D DCT's post-processing per output element: reads of complex numbers, real
/// multiplications and real additions (table III, its totals over N₁N₂).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Operations {
    /// Complex numbers read.
    pub reads: f64,
    /// Real multiplications.
    pub multiplications: f64,
    /// Real additions.
    pub additions: f64,
}

impl Operations {
    /// Multiplications and additions per read: arithmetic intensity as the paper defines it.
    pub fn intensity(&self) -> f64 {
        (self.multiplications + self.additions) / self.reads
    }
}

/// One thread per output element (table III).
pub const NAIVE: Operations = Operations { reads: 2.0, multiplications: 10.0, additions: 7.0 };

/// One thread per four output elements (table III).
pub const EFFICIENT: Operations = Operations { reads: 0.5, multiplications: 4.0, additions: 3.0 };

/// The columns of [`ONE_DIMENSIONAL`].
pub const ALGORITHMS: [Algorithm1d; 4] =
    [Algorithm1d::FourN, Algorithm1d::MirroredTwoN, Algorithm1d::PaddedTwoN, Algorithm1d::NPoint];

/// A DCT of N values: log₂ N and microseconds by each of [`ALGORITHMS`] (table IV).
pub const ONE_DIMENSIONAL: [(u32, [f64; 4]); 5] = [
    (14, [190.41, 155.34, 144.32, 101.62]),
    (15, [292.34, 207.29, 208.76, 122.60]),
    (16, [416.20, 301.66, 309.32, 133.50]),
    (17, [639.64, 414.04, 443.18, 158.96]),
    (18, [1099.31, 645.24, 652.23, 215.99]),
];

/// One row of table V.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TwoDimensional {
    /// N₁ and N₂, N₂ contiguous.
    pub shape: [usize; 2],
    /// DCT by MATLAB 2019a on the GPU.
    pub matlab: f64,
    /// DCT by 1-D transforms.
    pub dct_row_column: f64,
    /// DCT by one 2-D FFT.
    pub dct_fused: f64,
    /// The real FFT alone.
    pub rfft: f64,
    /// IDCT by 1-D transforms.
    pub idct_row_column: f64,
    /// IDCT by one 2-D inverse FFT.
    pub idct_fused: f64,
    /// The inverse real FFT alone.
    pub irfft: f64,
}

/// Table V.
#[rustfmt::skip]
pub const TWO_DIMENSIONAL: [TwoDimensional; 7] = [
    row_v([  512,   512],   2.43, [ 0.19,  0.12,  0.10], [ 0.24,  0.13,  0.10]),
    row_v([ 1024,  1024],   9.83, [ 0.66,  0.37,  0.33], [ 0.88,  0.42,  0.35]),
    row_v([ 2048,  2048],  30.62, [ 2.58,  1.46,  1.12], [ 3.45,  1.62,  1.28]),
    row_v([ 4096,  4096], 122.79, [12.28,  5.80,  4.44], [15.80,  6.44,  5.04]),
    row_v([ 8192,  8192], 525.03, [54.18, 25.78, 20.11], [67.39, 28.64, 22.50]),
    row_v([  100, 10000],   9.52, [ 1.04,  0.46,  0.39], [ 1.44,  0.51,  0.41]),
    row_v([10000,   100],   9.47, [ 1.03,  0.46,  0.48], [ 1.43,  0.51,  0.49]),
];

/// Row-column, fused and FFT, once for the DCT and once for the IDCT.
const fn row_v(
    shape: [usize; 2],
    matlab: f64,
    [dct_row_column, dct_fused, rfft]: [f64; 3],
    [idct_row_column, idct_fused, irfft]: [f64; 3],
) -> TwoDimensional {
    TwoDimensional {
        shape,
        matlab,
        dct_row_column,
        dct_fused,
        rfft,
        idct_row_column,
        idct_fused,
        irfft,
    }
}

/// Fused IDCT_IDXST of N × N: N and time (section "Case studies", DREAMPlace).
pub const IDCT_IDXST: [(usize, f64); 4] = [(512, 0.13), (1024, 0.42), (2048, 1.63), (4096, 6.80)];

/// Share of the 1024 × 1024 fused DCT that pre- and post-processing take
/// together (figure 6, in the words of its paragraph: "around 20 %").
pub const PRE_AND_POST_SHARE: f64 = 0.20;

/// Full-matrix stages of memory traffic, row-column and fused (section "Examples and Summary").
pub const MEMORY_STAGES: (f64, f64) = (8.0, 3.0);

/// The report of NVIDIA's visual profiler on a kernel, in percent (table VI).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Utilisation {
    /// Occupancy achieved.
    pub occupancy: f64,
    /// Compute utilisation.
    pub compute: f64,
    /// Device memory bandwidth in use.
    pub bandwidth: f64,
    /// Multiprocessors in use.
    pub multiprocessors: f64,
}

/// The DCT's pre-processing, 16 × 16 threads a block (table VI).
pub const PREPROCESS: Utilisation =
    Utilisation { occupancy: 82.1, compute: 28.0, bandwidth: 78.1, multiprocessors: 100.0 };

/// The DCT's post-processing, 16 × 16 threads a block (table VI).
pub const POSTPROCESS: Utilisation =
    Utilisation { occupancy: 79.1, compute: 75.0, bandwidth: 75.6, multiprocessors: 99.0 };

/// One row of table VII.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Design {
    /// The ISPD 2005 circuit.
    pub name: &'static str,
    /// DREAMPlace's bins along each axis, which the table does not print.
    pub bins: usize,
    /// One step of potential and force by row-column transforms.
    pub row_column: f64,
    /// One step by fused transforms.
    pub fused: f64,
}

/// Table VII.
#[rustfmt::skip]
pub const DESIGNS: [Design; 8] = [
    Design { name: "adaptec1", bins:  512, row_column:  0.63, fused:  0.33 },
    Design { name: "adaptec2", bins: 1024, row_column:  2.00, fused:  1.00 },
    Design { name: "adaptec3", bins: 1024, row_column:  2.27, fused:  1.29 },
    Design { name: "adaptec4", bins: 1024, row_column:  2.88, fused:  1.89 },
    Design { name: "bigblue1", bins:  512, row_column:  0.67, fused:  0.38 },
    Design { name: "bigblue2", bins: 1024, row_column:  2.56, fused:  1.53 },
    Design { name: "bigblue3", bins: 2048, row_column:  8.25, fused:  4.87 },
    Design { name: "bigblue4", bins: 2048, row_column: 15.10, fused: 11.72 },
];

#[cfg(test)]
mod tests {
    use super::*;

    /// The ratios are printed beside the times, so a mistyped time shows.
    #[test]
    fn times_give_the_printed_ratios() {
        let printed = [
            [20.18, 1.61, 0.81, 1.87, 0.81],
            [26.34, 1.76, 0.88, 2.10, 0.83],
            [20.91, 1.76, 0.77, 2.13, 0.79],
            [21.15, 2.11, 0.77, 2.45, 0.78],
            [20.37, 2.10, 0.78, 2.35, 0.79],
            [20.85, 2.29, 0.86, 2.82, 0.81],
            [20.74, 2.26, 1.05, 2.80, 0.96],
        ];
        for (row, printed) in TWO_DIMENSIONAL.iter().zip(printed) {
            let ratios = [
                (row.matlab, row.dct_fused),
                (row.dct_row_column, row.dct_fused),
                (row.rfft, row.dct_fused),
                (row.idct_row_column, row.idct_fused),
                (row.irfft, row.idct_fused),
            ];
            for ((over, under), printed) in ratios.into_iter().zip(printed) {
                // Times and ratios are printed with two decimals.
                let half = 0.005;
                let least = (over - half) / (under + half) - half;
                let most = (over + half) / (under - half) + half;
                assert!((least..=most).contains(&printed), "{:?}: {over} / {under}", row.shape);
            }
        }
        let printed = [1.90, 1.99, 1.75, 1.53, 1.78, 1.68, 1.69, 1.29];
        for (row, printed) in DESIGNS.iter().zip(printed) {
            let ratio = row.row_column / row.fused;
            assert!((ratio / printed - 1.0).abs() < 0.02, "{}: {ratio}", row.name);
        }
        assert_eq!(NAIVE.intensity(), 8.5);
        assert_eq!(EFFICIENT.intensity(), 14.0);
    }

    /// Every algorithm slows down with N, and N-point is the fastest.
    #[test]
    fn one_dimensional_times_are_in_order() {
        for (k, (_, times)) in ONE_DIMENSIONAL.iter().enumerate() {
            assert!(times[..3].iter().all(|&t| t > times[3]));
            let next = ONE_DIMENSIONAL.get(k + 1).map_or([f64::INFINITY; 4], |(_, next)| *next);
            assert!(times.iter().zip(next).all(|(&t, next)| t < next));
        }
    }
}
