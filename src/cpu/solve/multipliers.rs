//! Wavenumbers and Green's function in working precision.

use crate::cpu::transforms::coefficients::Modify;
use crate::grid::BinGrid;
use crate::real::Real;
use crate::spectral::Spectrum;

/// The wavenumbers of a grid in working precision: what passes multiply by.
#[derive(Clone, Debug)]
pub(crate) struct Multipliers<T> {
    pub(crate) wx: Vec<T>,
    pub(crate) wy: Vec<T>,
    pub(crate) wx_squared: Vec<T>,
    pub(crate) wy_squared: Vec<T>,
    pub(crate) normalisation: T,
}

impl<T: Real> Multipliers<T> {
    pub(super) fn new(grid: &BinGrid) -> Self {
        let spectrum = Spectrum::new(grid);
        let squares = |w: &[f64]| w.iter().map(|w| T::of(w * w)).collect();
        Multipliers {
            wx: spectrum.wx().iter().map(|&w| T::of(w)).collect(),
            wy: spectrum.wy().iter().map(|&w| T::of(w)).collect(),
            wx_squared: squares(spectrum.wx()),
            wy_squared: squares(spectrum.wy()),
            normalisation: T::of(spectrum.normalisation()),
        }
    }
}

/// Multiplies by Green's function.
pub(crate) struct Green<'a, T>(pub(crate) &'a Multipliers<T>);

impl<T: Real> Green<'_, T> {
    /// Returns Green's function at `(u, v)`.
    #[inline(always)]
    pub(crate) fn at(&self, u: usize, v: usize) -> T {
        let square = self.0.wx_squared[u] + self.0.wy_squared[v];
        // Only (0, 0) has no wavenumber: the mean, which is dropped.
        if square > T::zero() { self.0.normalisation / square } else { T::zero() }
    }
}

impl<T: Real> Modify<T> for Green<'_, T> {
    #[inline(always)]
    fn apply(&self, u: usize, j: usize, values: &mut [T]) {
        let count = values.len();
        for (v, value) in (j..).zip(values.iter_mut()).take(count) {
            *value *= self.at(u, v);
        }
    }
}
