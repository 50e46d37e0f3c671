//! Wavenumbers in working precision.

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
    pub(super) fn new(spectrum: &Spectrum) -> Self {
        let squares = |w: &[f64]| w.iter().map(|w| T::cast(w * w)).collect();
        Multipliers {
            wx: spectrum.wx().iter().map(|&w| T::cast(w)).collect(),
            wy: spectrum.wy().iter().map(|&w| T::cast(w)).collect(),
            wx_squared: squares(spectrum.wx()),
            wy_squared: squares(spectrum.wy()),
            normalisation: T::cast(spectrum.normalisation()),
        }
    }

    /// Returns Green's function at `(0, v)`; that at v = 0, of the mean, is zero.
    pub(super) fn green_of_first(&self, v: usize) -> T {
        let square = self.wy_squared[v];
        if square > T::zero() { self.normalisation / square } else { T::zero() }
    }
}
