//! Wavenumbers and Green's function of Poisson's equation on the bins.
//!
//! φ solves `∇²φ = −(ρ − mean ρ)` with zero normal derivative on the die's
//! boundary, in units of the bin width: with the DCT of [`crate::transform`]
//! written `â = DCT2(ρ)`,
//!
//! * `w_x(u) = πu/nx`, `w_y(v) = (πv/ny)·(bin_x/bin_y)`
//! * `G(u, v) = 4/(nx·ny) / (w_x² + w_y²)`, and `G(0, 0) = 0` drops the mean
//! * `φ = IDCT2(â·G)`, `Ex = IDXST_IDCT(â·G·w_x)`, `Ey = IDCT_IDXST(â·G·w_y)`
//!
//! (Lu et al., "ePlace", §4; the scaling is that of the transforms here.) A volume has one more axis,
//! `w_z(w) = (πw/nz)·(bin_x/bin_z)` and `G = 8/(nx·ny·nz) / (w_x² + w_y² + w_z²)`.
//!
#![doc = include_str!("solve.md")]

use crate::grid::BinGrid;
use crate::transform::ShapeError;
use std::f64::consts::PI;

/// The wavenumbers of one grid, of any number of axes, in `f64`.
#[derive(Clone, Debug)]
pub struct Spectrum {
    waves: Vec<Vec<f64>>,
}

impl Spectrum {
    /// Computes the wavenumbers of `grid`.
    pub fn new(grid: &BinGrid) -> Self {
        Spectrum::of_bins(&[grid.nx(), grid.ny()], &[grid.bin_x(), grid.bin_y()])
    }

    /// Computes the wavenumbers of `shape` bins of these lengths, slowest axis first; the unit of
    /// length is a bin's along that axis.
    pub(crate) fn of_bins(shape: &[usize], bin: &[f64]) -> Self {
        let wave = |(&n, length): (&usize, &f64)| {
            let aspect = bin[0] / length;
            (0..n).map(|u| PI * u as f64 / n as f64 * aspect).collect()
        };
        Spectrum { waves: shape.iter().zip(bin).map(wave).collect() }
    }

    /// Returns `w_x(u)` for u = 0 … nx−1, per bin width.
    pub fn wx(&self) -> &[f64] {
        &self.waves[0]
    }

    /// Returns `w_y(v)` for v = 0 … ny−1, per bin width.
    pub fn wy(&self) -> &[f64] {
        &self.waves[1]
    }

    /// Returns the wavenumbers along every axis, per bin width.
    pub(crate) fn waves(&self) -> &[Vec<f64>] {
        &self.waves
    }

    /// Returns `4/(nx·ny)`, or `8/(nx·ny·nz)` of a volume: the factor that undoes the scaling of a
    /// DCT and an IDCT along every axis.
    pub fn normalisation(&self) -> f64 {
        let (scale, bins) = self
            .waves
            .iter()
            .fold((1.0, 1.0), |(scale, bins), wave| (2.0 * scale, bins * wave.len() as f64));
        scale / bins
    }

    /// Returns `G(u, v)`, for the transforms' scaling, in bin widths squared.
    ///
    /// # Panics
    /// When `u ≥ nx` or `v ≥ ny`.
    pub fn green(&self, u: usize, v: usize) -> f64 {
        self.green_at(&[u, v])
    }

    /// Returns Green's function at an index along every axis.
    pub(crate) fn green_at(&self, index: &[usize]) -> f64 {
        let square: f64 = self.waves.iter().zip(index).map(|(w, &u)| w[u] * w[u]).sum();
        if square > 0.0 { self.normalisation() / square } else { 0.0 }
    }
}

/// `Ok` when a bin's lengths are above zero and finite, and so are their ratios.
pub(crate) fn check_bin(bin: [f64; 3]) -> Result<(), ShapeError> {
    let ratios = bin.map(|length| bin[0] / length);
    let positive = |v: &f64| *v > 0.0 && v.is_finite();
    match bin.iter().chain(&ratios).all(positive) {
        true => Ok(()),
        false => Err(ShapeError::Bin(bin)),
    }
}
