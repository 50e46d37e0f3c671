//! The four transforms of `nx × ny` maps by any method: what
//! [`Plan2d`](super::transforms::Plan2d) and the field solve are made of.

use super::fused::Fused;
use super::modify::Modify;
use super::row_column::RowColumn;
use super::scratch::{Parts, ScratchLen};
use super::transposed::Transposed;
use crate::real::Real;
use crate::transform::{Method, Orientation, Plan2dOptions, Sample, Transform};

/// The inverse transforms, by what runs along each axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Inverse {
    Idct,
    IdctIdxst,
    IdxstIdct,
}

impl Inverse {
    /// Whether a sine runs along x, and along y.
    pub(crate) fn sines(self) -> (bool, bool) {
        (self == Inverse::IdxstIdct, self == Inverse::IdctIdxst)
    }
}

/// Plans and tables for one map size; immutable.
pub(crate) enum Maps<T: Real> {
    RowColumn(RowColumn<T>),
    Straight(Fused<T>),
    Transposed(Transposed<T>),
}

/// Runs `$body` with `$plan` standing for the method's plan.
macro_rules! with_plan {
    ($maps:expr, $plan:ident => $body:expr) => {
        match $maps {
            Maps::RowColumn($plan) => $body,
            Maps::Straight($plan) => $body,
            Maps::Transposed($plan) => $body,
        }
    };
}

impl<T: Real> Maps<T> {
    pub(crate) fn new(nx: usize, ny: usize, options: &Plan2dOptions) -> Self {
        let Plan2dOptions { method, orientation, reorder, post } = *options;
        match (method, orientation.chosen(nx, ny)) {
            (Method::RowColumn, _) => Maps::RowColumn(RowColumn::new(nx, ny, reorder, post)),
            (Method::Fused, Orientation::Transposed) => {
                Maps::Transposed(Transposed::new(nx, ny, reorder, post))
            }
            (Method::Fused, _) => Maps::Straight(Fused::new(nx, ny, reorder, post)),
        }
    }

    /// Working memory for `maps` maps at once.
    pub(crate) fn scratch_len(&self, maps: usize) -> ScratchLen {
        with_plan!(self, plan => plan.scratch_len(maps))
    }

    /// `out = DCT2(x)`, modified, of every map in `x`.
    pub(crate) fn forward<S: Sample>(
        &self,
        x: &[S],
        by: &impl Modify<T>,
        out: &mut [T],
        s: Parts<'_, T>,
    ) {
        with_plan!(self, plan => plan.forward(x, by, out, s));
    }

    /// `out` = inverse of `x`, modified, of every map in `x`.
    pub(crate) fn inverse<S: Sample>(
        &self,
        kind: Inverse,
        x: &[S],
        by: &impl Modify<T>,
        out: &mut [T],
        s: Parts<'_, T>,
    ) {
        with_plan!(self, plan => plan.inverse(kind, x, by, out, s));
    }

    /// `out = kind(x)`: coefficients are modified as they are written by a DCT
    /// and as they are read by an inverse.
    pub(crate) fn process<S: Sample>(
        &self,
        kind: Transform,
        x: &[S],
        by: &impl Modify<T>,
        out: &mut [T],
        s: Parts<'_, T>,
    ) {
        match kind {
            Transform::Dct => self.forward(x, by, out, s),
            Transform::Idct => self.inverse(Inverse::Idct, x, by, out, s),
            Transform::IdctIdxst => self.inverse(Inverse::IdctIdxst, x, by, out, s),
            Transform::IdxstIdct => self.inverse(Inverse::IdxstIdct, x, by, out, s),
        }
    }
}

impl Orientation {
    /// Straight or transposed, for an `nx × ny` map on the CPU: the long axis takes the real FFTs
    /// where it is x.
    ///
    /// On one core, f64, a DCT of 10000 × 100 took 6.8 ms straight and 5.1 transposed, an IDCT
    /// 5.5 and 5.3 (100 × 10000 straight: 5.2 and 5.1).
    pub(crate) fn chosen(self, nx: usize, ny: usize) -> Orientation {
        match self {
            Orientation::Auto if nx > ny => Orientation::Transposed,
            Orientation::Auto => Orientation::Straight,
            given => given,
        }
    }
}
