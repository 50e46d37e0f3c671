//! Which transform runs along which axis, and what a pass does to a transform's coefficients: a
//! threshold or a multiplication.
//!
//! A forward transform applies it as it writes a coefficient, an inverse as it
//! reads one. A type per case, so that every pass is compiled with it inlined.

use crate::real::Real;
use crate::transform::line::Wave;

/// The inverse transforms of a map, by what runs along each axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Inverse {
    Idct,
    IdctIdxst,
    IdxstIdct,
}

impl Inverse {
    /// Returns what runs along x, and along y.
    pub(crate) fn waves(self) -> [Wave; 2] {
        match self {
            Inverse::Idct => [Wave::Cosine, Wave::Cosine],
            Inverse::IdctIdxst => [Wave::Cosine, Wave::Sine],
            Inverse::IdxstIdct => [Wave::Sine, Wave::Cosine],
        }
    }
}

/// A change to the coefficient `(u, v)`.
pub(crate) trait Modify<T>: Sync {
    /// The only inverse transform that it goes with, so that no other is compiled with it.
    const INVERSE: Option<Inverse> = None;

    fn apply(&self, u: usize, v: usize, value: T) -> T;
}

/// Zero where the magnitude is below the threshold (Jiang, Gu and Pan, §V-A).
pub(crate) struct Threshold<T>(pub(crate) T);

impl<T: Real> Threshold<T> {
    /// Leaves coefficients as they are.
    pub(crate) fn none() -> Self {
        Threshold(T::zero())
    }
}

impl<T: Real> Modify<T> for Threshold<T> {
    #[inline(always)]
    fn apply(&self, _: usize, _: usize, value: T) -> T {
        if value.abs() < self.0 { T::zero() } else { value }
    }
}

/// Times a number for every u.
pub(crate) struct AlongX<'a, T>(pub(crate) &'a [T]);

impl<T: Real> Modify<T> for AlongX<'_, T> {
    const INVERSE: Option<Inverse> = Some(Inverse::IdxstIdct);

    #[inline(always)]
    fn apply(&self, u: usize, _: usize, value: T) -> T {
        value * self.0[u]
    }
}

/// Times a number for every v.
pub(crate) struct AlongY<'a, T>(pub(crate) &'a [T]);

impl<T: Real> Modify<T> for AlongY<'_, T> {
    const INVERSE: Option<Inverse> = Some(Inverse::IdctIdxst);

    #[inline(always)]
    fn apply(&self, _: usize, v: usize, value: T) -> T {
        value * self.0[v]
    }
}
