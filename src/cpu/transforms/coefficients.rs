//! Changes of a transform's coefficients when a forward transform writes them or an inverse
//! reads them. There is a type for each change, so that the compiler inlines it in every pass.

use crate::real::Real;

/// A change of coefficients.
pub(crate) trait Modify<T>: Sync {
    /// Whether anything is changed.
    const CHANGES: bool = true;

    /// Changes neighbours: the coefficients `(u, j)`, `(u, j + 1)`, …, u being the index along axis
    /// 0 and j the place among all values with the same u.
    fn apply(&self, u: usize, j: usize, values: &mut [T]);
}

/// No change.
pub(crate) struct Unchanged;

impl<T> Modify<T> for Unchanged {
    const CHANGES: bool = false;

    #[inline(always)]
    fn apply(&self, _: usize, _: usize, _: &mut [T]) {}
}

/// Zero where the magnitude is below the threshold (Jiang, Gu and Pan, §V-A).
pub(crate) struct Threshold<T>(pub(crate) T);

impl<T: Real> Modify<T> for Threshold<T> {
    #[inline(always)]
    fn apply(&self, _: usize, _: usize, values: &mut [T]) {
        for value in values {
            *value = if value.abs() < self.0 { T::zero() } else { *value };
        }
    }
}

/// Times a number for every u.
pub(crate) struct AlongFirst<'a, T>(pub(crate) &'a [T]);

impl<T: Real> Modify<T> for AlongFirst<'_, T> {
    #[inline(always)]
    fn apply(&self, u: usize, _: usize, values: &mut [T]) {
        let factor = self.0[u];
        for value in values {
            *value *= factor;
        }
    }
}

/// Times a number for every j.
pub(crate) struct AlongOthers<'a, T>(pub(crate) &'a [T]);

impl<T: Real> Modify<T> for AlongOthers<'_, T> {
    #[inline(always)]
    fn apply(&self, _: usize, j: usize, values: &mut [T]) {
        let factors = &self.0[j..][..values.len()];
        for (value, &factor) in values.iter_mut().zip(factors) {
            *value *= factor;
        }
    }
}
