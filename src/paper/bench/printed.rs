//! The numbers that Jiang, Gu and Pan print, as data.
//!
//! "A New Acceleration Paradigm for Discrete Cosine Transform and Other Fourier-Related
//! Transforms", measured on the machine in [`HARDWARE`] with cuFFT, in `f64`, as means of 100 runs
//! ("Settings" in its section on experiments). Tables and figures carry the numbers that the
//! paper's type setting gives them; times are milliseconds unless a name says otherwise.

use crate::paper::Algorithm1d;

/// The hardware of the paper's measurements.
pub const HARDWARE: &str = "NVIDIA Titan Xp, Intel Core i9-7900X";

/// Runs that the paper's means are over.
pub const REPETITIONS: usize = 100;

/// Standard deviation over mean of the 1024 × 1024 DCT, the one spread it prints ("Settings").
pub(super) const DEVIATION: f64 = 0.003196 / 0.3765;

/// N₁ and N₂ of table V, N₂ contiguous; the squares of table II are its first five.
pub(super) const SHAPES: [[usize; 2]; 7] = [
    [512, 512],
    [1024, 1024],
    [2048, 2048],
    [4096, 4096],
    [8192, 8192],
    [100, 10000],
    [10000, 100],
];

/// Pre-processing of a DCT by gather and by scatter, of the squares (table II).
pub(super) const GATHER: [f64; 5] = [0.013, 0.042, 0.160, 0.627, 2.568];
pub(super) const SCATTER: [f64; 5] = [0.014, 0.043, 0.163, 0.633, 2.524];

/// Reads of complex numbers, real multiplications and real additions of a 2-D DCT's
/// post-processing, per output element (table III, its totals over N₁N₂).
pub(super) type Operations = [f64; 3];

/// One thread per output element (table III).
pub(super) const NAIVE: Operations = [2.0, 10.0, 7.0];

/// One thread per four output elements (table III).
pub(super) const EFFICIENT: Operations = [0.5, 4.0, 3.0];

/// Lengths of table IV, log₂.
pub(super) const LINES: [usize; 5] = [14, 15, 16, 17, 18];

/// Microseconds of a DCT of one of [`LINES`] by each algorithm (table IV).
pub(super) const ONE_DIMENSIONAL: [(Algorithm1d, [f64; 5]); 4] = [
    (Algorithm1d::FourN, [190.41, 292.34, 416.20, 639.64, 1099.31]),
    (Algorithm1d::MirroredTwoN, [155.34, 207.29, 301.66, 414.04, 645.24]),
    (Algorithm1d::PaddedTwoN, [144.32, 208.76, 309.32, 443.18, 652.23]),
    (Algorithm1d::NPoint, [101.62, 122.60, 133.50, 158.96, 215.99]),
];

/// DCT by MATLAB 2019a on the GPU, of [`SHAPES`] (table V).
pub(super) const MATLAB: [f64; 7] = [2.43, 9.83, 30.62, 122.79, 525.03, 9.52, 9.47];
/// DCT and IDCT by 1-D transforms, by one 2-D FFT, and that FFT alone, of [`SHAPES`] (table V).
pub(super) const DCT_ROW_COLUMN: [f64; 7] = [0.19, 0.66, 2.58, 12.28, 54.18, 1.04, 1.03];
pub(super) const DCT_FUSED: [f64; 7] = [0.12, 0.37, 1.46, 5.80, 25.78, 0.46, 0.46];
pub(super) const RFFT: [f64; 7] = [0.10, 0.33, 1.12, 4.44, 20.11, 0.39, 0.48];
pub(super) const IDCT_ROW_COLUMN: [f64; 7] = [0.24, 0.88, 3.45, 15.80, 67.39, 1.44, 1.43];
pub(super) const IDCT_FUSED: [f64; 7] = [0.13, 0.42, 1.62, 6.44, 28.64, 0.51, 0.51];
pub(super) const IRFFT: [f64; 7] = [0.10, 0.35, 1.28, 5.04, 22.50, 0.41, 0.49];

/// Fused IDCT_IDXST of the first four squares (section "Case studies", DREAMPlace).
pub(super) const IDCT_IDXST: [f64; 4] = [0.13, 0.42, 1.63, 6.80];

/// Share of the 1024 × 1024 fused DCT that pre- and post-processing take
/// together (figure 6, in the words of its paragraph: "around 20 %").
pub(super) const PRE_AND_POST_SHARE: f64 = 0.20;

/// Percent that NVIDIA's visual profiler reports of a kernel (table VI).
pub(super) struct Utilisation {
    /// Occupancy achieved.
    pub(super) occupancy: f64,
    /// Compute utilisation.
    pub(super) compute: f64,
    /// Device memory bandwidth in use.
    pub(super) bandwidth: f64,
    /// Multiprocessors in use.
    pub(super) multiprocessors: f64,
}

/// The DCT's pre-processing, 16 × 16 threads a block (table VI).
pub(super) const PREPROCESS: Utilisation =
    Utilisation { occupancy: 82.1, compute: 28.0, bandwidth: 78.1, multiprocessors: 100.0 };

/// The DCT's post-processing, 16 × 16 threads a block (table VI).
pub(super) const POSTPROCESS: Utilisation =
    Utilisation { occupancy: 79.1, compute: 75.0, bandwidth: 75.6, multiprocessors: 99.0 };

/// One row of table VII.
#[derive(Clone, Copy)]
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
mod tests;
