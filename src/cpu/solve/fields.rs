//! What a solve gives.

use crate::grid::Map;
use crate::real::Real;

/// The potential and the field of one density, each `nx × ny`.
#[derive(Clone, Debug)]
pub struct Fields<T> {
    /// φ, in bin widths squared.
    pub potential: Map<T>,
    /// E along x, in bin widths.
    pub field_x: Map<T>,
    /// E along y, in bin widths.
    pub field_y: Map<T>,
}

impl<T: Real> Fields<T> {
    /// Zero maps of `nx × ny` bins.
    pub fn new(nx: usize, ny: usize) -> Self {
        let zero = || Map::filled(nx, ny, T::zero());
        Fields { potential: zero(), field_x: zero(), field_y: zero() }
    }
}
