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
//! (Lu et al., "ePlace", §4; the scaling is that of the transforms here.)
//!
#![doc = include_str!("solve.md")]

use crate::grid::BinGrid;
use std::f64::consts::PI;

/// The tables of one grid, in `f64`.
#[derive(Clone, Debug)]
pub struct Spectrum {
    wx: Vec<f64>,
    wy: Vec<f64>,
}

impl Spectrum {
    /// Computes the wavenumbers of `grid`.
    pub fn new(grid: &BinGrid) -> Self {
        let (nx, ny) = (grid.nx() as f64, grid.ny() as f64);
        let aspect = grid.bin_x() / grid.bin_y();
        Spectrum {
            wx: (0..grid.nx()).map(|u| PI * u as f64 / nx).collect(),
            wy: (0..grid.ny()).map(|v| PI * v as f64 / ny * aspect).collect(),
        }
    }

    /// Returns `w_x(u)` for u = 0 … nx−1, per bin width.
    pub fn wx(&self) -> &[f64] {
        &self.wx
    }

    /// Returns `w_y(v)` for v = 0 … ny−1, per bin width.
    pub fn wy(&self) -> &[f64] {
        &self.wy
    }

    /// Returns `4/(nx·ny)`, the factor that undoes the scaling of a DCT and an IDCT along both
    /// axes.
    pub fn normalisation(&self) -> f64 {
        4.0 / (self.wx.len() as f64 * self.wy.len() as f64)
    }

    /// Returns `G(u, v)`, for the transforms' scaling, in bin widths squared.
    ///
    /// # Panics
    /// When `u ≥ nx` or `v ≥ ny`.
    pub fn green(&self, u: usize, v: usize) -> f64 {
        if u == 0 && v == 0 {
            return 0.0;
        }
        self.normalisation() / (self.wx[u] * self.wx[u] + self.wy[v] * self.wy[v])
    }
}
