//! The four transforms of `nx × ny` maps by any method: what
//! [`Plan2d`](super::Plan2d) and the field solve are made of.

use super::coefficients::{Inverse, Modify};
use super::fused::FusedMaps;
use super::row_column::RowColumnMaps;
use super::scratch::{Parts, ScratchLen};
use super::transposed::TransposedMaps;
use crate::parallel::{self, chunks, chunks_mut};
use crate::real::{Real, in_type};
use crate::transform::{InputElement, Method, Transform};

/// Values of the maps that go through the passes together: small maps in
/// groups, that every pass has work for all threads.
const GROUP: usize = 1 << 20;

/// Values that a task converts.
const VALUES: usize = 1 << 16;

/// Plans and tables for maps of one size; immutable.
pub(crate) enum MapTransform<T: Real> {
    RowColumn(RowColumnMaps<T>),
    Straight(FusedMaps<T>),
    Transposed(TransposedMaps<T>),
}

/// Runs `$body` with `$plan` standing for the method's plan.
macro_rules! with_plan {
    ($maps:expr, $plan:ident => $body:expr) => {
        match $maps {
            MapTransform::RowColumn($plan) => $body,
            MapTransform::Straight($plan) => $body,
            MapTransform::Transposed($plan) => $body,
        }
    };
}

impl<T: Real> MapTransform<T> {
    /// Plans maps of `nx × ny` values. The fused method gives the real FFTs to the long axis where
    /// that is x (Jiang et al., §IV-C).
    ///
    /// On one core, f64, a DCT of 10000 × 100 took 6.8 ms with them along y and 5.1 along x, an
    /// IDCT 5.5 and 5.3 (100 × 10000 along y: 5.2 and 5.1).
    pub(crate) fn new(nx: usize, ny: usize, method: Method) -> Self {
        match method {
            Method::RowColumn => MapTransform::RowColumn(RowColumnMaps::new(nx, ny)),
            _ if nx > ny => MapTransform::Transposed(TransposedMaps::new(nx, ny)),
            _ => MapTransform::Straight(FusedMaps::new(nx, ny)),
        }
    }

    /// Returns the working memory for `maps` maps at once.
    pub(crate) fn scratch_len(&self, maps: usize) -> ScratchLen {
        with_plan!(self, plan => plan.scratch_len(maps))
    }

    /// `out = DCT2(x)`, modified, of every map in `x`.
    pub(crate) fn forward<S: InputElement>(
        &self,
        x: &[S],
        by: &impl Modify<T>,
        out: &mut [T],
        s: Parts<'_, T>,
    ) {
        with_plan!(self, plan => plan.forward(x, by, out, s));
    }

    /// `out` = inverse of `x`, modified, of every map in `x`.
    pub(crate) fn inverse(
        &self,
        kind: Inverse,
        x: &[T],
        by: &impl Modify<T>,
        out: &mut [T],
        mut s: Parts<'_, T>,
    ) {
        self.begin_inverse(kind, x, by, &mut s);
        self.end_inverse(kind, out, &mut s);
    }

    /// The first half of an inverse: from `x` to the shared working memory.
    fn begin_inverse<M: Modify<T>>(&self, kind: Inverse, x: &[T], by: &M, s: &mut Parts<'_, T>) {
        debug_assert!(M::INVERSE.is_none_or(|only| only == kind));
        with_plan!(self, plan => plan.begin_inverse(kind, x, by, s));
    }

    /// The second half of an inverse: from the shared working memory to `out`.
    fn end_inverse(&self, kind: Inverse, out: &mut [T], s: &mut Parts<'_, T>) {
        with_plan!(self, plan => plan.end_inverse(kind, out, s));
    }
}

/// One kind of transform of a batch of maps.
pub(crate) struct MapBatch<T: Real> {
    kind: Transform,
    /// Values of a map.
    size: usize,
    /// Maps that go through the passes together.
    group: usize,
    maps: MapTransform<T>,
}

impl<T: Real> MapBatch<T> {
    pub(crate) fn new(kind: Transform, [nx, ny]: [usize; 2], method: Method, batch: usize) -> Self {
        let (size, maps) = (nx * ny, MapTransform::new(nx, ny, method));
        MapBatch { kind, size, group: (GROUP / size).clamp(1, batch), maps }
    }

    /// Returns the transform.
    pub(crate) fn kind(&self) -> Transform {
        self.kind
    }

    /// Returns the number of values of a map.
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    pub(crate) fn scratch_len(&self) -> ScratchLen {
        self.maps.scratch_len(self.group)
    }

    /// `out = kind(x)` of every map: coefficients are modified as they are written by a DCT
    /// and as they are read by an inverse.
    pub(crate) fn run<S: InputElement>(
        &self,
        x: &[S],
        by: &impl Modify<T>,
        out: &mut [T],
        s: &mut Parts<'_, T>,
    ) {
        let group = self.group * self.size;
        for (x, out) in x.chunks(group).zip(out.chunks_mut(group)) {
            let mut s = s.reborrow();
            let kind = match self.kind {
                Transform::Dct => {
                    self.maps.forward(x, by, out, s);
                    continue;
                }
                Transform::Idct => Inverse::Idct,
                Transform::IdctIdxst => Inverse::IdctIdxst,
                Transform::IdxstIdct => Inverse::IdxstIdct,
            };
            let coefficients = match in_type(x) {
                Some(coefficients) => coefficients,
                // Coefficients of another type are rare: they are converted in a pass of their
                // own, so that inverse transforms are compiled for one type only.
                None => {
                    convert(x, out);
                    &*out
                }
            };
            self.maps.begin_inverse(kind, coefficients, by, &mut s);
            self.maps.end_inverse(kind, out, &mut s);
        }
    }
}

/// Writes `x`, in another type, to `out`.
fn convert<S: InputElement, T: Real>(x: &[S], out: &mut [T]) {
    parallel::for_each((chunks_mut(out, VALUES), chunks(x, VALUES)), |_, (out, x)| {
        for (value, x) in out.iter_mut().zip(x) {
            *value = T::of(x.to_f64());
        }
    });
}
