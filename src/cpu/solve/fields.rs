//! Results of a solve.

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
    /// Returns zero maps of `nx × ny` bins.
    pub fn new(nx: usize, ny: usize) -> Self {
        let zero = || Map::filled(nx, ny, T::zero());
        Fields { potential: zero(), field_x: zero(), field_y: zero() }
    }
}

/// Where a solve puts its results, maps of `nx × ny` values, y contiguous.
#[derive(Debug)]
pub struct FieldSlices<'a, T> {
    /// φ, in bin widths squared.
    pub potential: &'a mut [T],
    /// E along x, in bin widths.
    pub field_x: &'a mut [T],
    /// E along y, in bin widths.
    pub field_y: &'a mut [T],
}

impl<'a, T> From<&'a mut Fields<T>> for FieldSlices<'a, T> {
    fn from(fields: &'a mut Fields<T>) -> Self {
        let Fields { potential, field_x, field_y } = fields;
        FieldSlices {
            potential: potential.as_mut_slice(),
            field_x: field_x.as_mut_slice(),
            field_y: field_y.as_mut_slice(),
        }
    }
}
