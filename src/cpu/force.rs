//! The force on every body: the field, weighted by what the body covers.
//!
//! F = ratio · Σ over bins of overlap area · E, for the stretched rectangle that
//! the density is made from (ePlace, Lu et al., TODAES 2015, up to the constant it
//! leaves to the density weight; DREAMPlace, Lin et al., TCAD 2021). It points
//! where the field does, away from dense regions. With E in bin widths the unit
//! is layout area × bin widths.

use super::bodies::{Bodies, Extent, Footprint, window};
use super::density::CpuDensity;
use crate::charge::overlap::Span;
use crate::grid::Map;
use crate::real::Real;
use rayon::prelude::*;
use std::sync::Arc;

/// Bodies whose footprints are found before the field under them is read. Bodies
/// are scattered over the die: with nothing but reads in the second loop more of
/// the waits for memory overlap (measured 1.4 times as fast for 1.8 million).
const BATCH: usize = 64;
/// Batches of one task at least.
const BATCHES: usize = 16;

/// The force on the bodies of a [`CpuDensity`]: made once, then asked every iteration.
///
/// Nothing is allocated after [`CpuForce::new`]; each body's sum is in a set
/// order, so that the bits are the same for any number of threads.
#[derive(Debug)]
pub struct CpuForce {
    bodies: Arc<Bodies>,
}

/// Both components of the field, `[nx][ny]`, y contiguous.
#[derive(Clone, Copy)]
struct Field<'a, T> {
    x: &'a [T],
    y: &'a [T],
    nx: usize,
    ny: usize,
}

impl CpuForce {
    /// The force on `density`'s bodies, whose sizes and weights it shares.
    pub fn new(density: &CpuDensity) -> Self {
        CpuForce { bodies: density.bodies.clone() }
    }

    /// Writes the force on every body at the lower-left corners `x`, `y`, movable
    /// cells then fillers, in the field `(field_x, field_y)`. A body outside
    /// the die, or at a position that is not finite, has zero force.
    ///
    /// # Panics
    /// When a slice is not one entry per body or a map is not `nx × ny`.
    pub fn gather<T: Real>(
        &self,
        x: &[T],
        y: &[T],
        field_x: &Map<T>,
        field_y: &Map<T>,
        force_x: &mut [T],
        force_y: &mut [T],
    ) {
        let bodies = self.bodies.len();
        assert_eq!((x.len(), y.len()), (bodies, bodies), "positions");
        assert_eq!((force_x.len(), force_y.len()), (bodies, bodies), "forces");
        for map in [field_x, field_y] {
            assert_eq!([map.nx(), map.ny()], self.bodies.bins, "bins of the field");
        }
        let bodies = &*self.bodies;
        let ([nx, ny], bin_area) = (bodies.bins, bodies.bin_area);
        let field = Field { x: field_x.as_slice(), y: field_y.as_slice(), nx, ny };
        let forces = force_x.par_chunks_mut(BATCH).zip(force_y.par_chunks_mut(BATCH));
        forces.with_min_len(BATCHES).enumerate().for_each(|(b, (fx, fy))| {
            let first = b * BATCH;
            let mut footprints = [None; BATCH];
            for (k, footprint) in footprints[..fx.len()].iter_mut().enumerate() {
                let i = first + k;
                *footprint = bodies.footprint(i, Extent::Smoothed, x[i], y[i]);
            }
            for ((fx, fy), footprint) in fx.iter_mut().zip(fy).zip(&footprints) {
                let (ex, ey) = footprint.as_ref().map_or((0.0, 0.0), |f| field.over(f));
                *fx = T::of(ex * bin_area);
                *fy = T::of(ey * bin_area);
            }
        });
    }
}

impl<T: Real> Field<'_, T> {
    /// Weight × Σ over bins of the covered fraction × E.
    #[inline(always)]
    fn over(&self, footprint: &Footprint) -> (f64, f64) {
        let (columns, rows) = (&footprint.x, &footprint.y);
        let (width, height) = (columns.last - columns.first, rows.last - rows.first);
        let inside = columns.first + 3 <= self.nx && rows.first + 4 <= self.ny;
        let (ex, ey) = if width < 3 && height < 4 && inside {
            self.in_window(columns, rows)
        } else {
            self.anywhere(columns, rows)
        };
        (footprint.weight * ex, footprint.weight * ey)
    }

    /// As in the density, most bodies cover 2 or 3 columns and rows: a window of
    /// set size, zeros where the body does not reach, has no branch to mispredict.
    /// Its few terms are summed in `T`; the many of a larger body in `f64`.
    #[inline(always)]
    fn in_window(&self, columns: &Span, rows: &Span) -> (f64, f64) {
        let across = window::<3>(columns.last - columns.first, columns.head, columns.tail);
        let up = window::<4>(rows.last - rows.first, rows.head, rows.tail);
        let (across, up) = (across.map(T::of), up.map(T::of));
        let (mut ex, mut ey) = ([T::zero(); 4], [T::zero(); 4]);
        for (k, of_column) in across.into_iter().enumerate() {
            let start = (columns.first + k) * self.ny + rows.first;
            let (x, y) = (&self.x[start..][..4], &self.y[start..][..4]);
            for l in 0..4 {
                ex[l] += of_column * x[l];
                ey[l] += of_column * y[l];
            }
        }
        let dot = |e: [T; 4]| (up[0] * e[0] + up[1] * e[1]) + (up[2] * e[2] + up[3] * e[3]);
        (dot(ex).wide(), dot(ey).wide())
    }

    fn anywhere(&self, columns: &Span, rows: &Span) -> (f64, f64) {
        let (mut ex, mut ey) = (0.0, 0.0);
        for i in columns.first..=columns.last {
            let start = i * self.ny;
            let bins = start + rows.first..=start + rows.last;
            let of_column = columns.of_bin(i);
            ex += of_column * along(&self.x[bins.clone()], rows.head, rows.tail);
            ey += of_column * along(&self.y[bins], rows.head, rows.tail);
        }
        (ex, ey)
    }
}

/// Σ of one column's values, the first and last weighted.
fn along<T: Real>(values: &[T], head: f64, tail: f64) -> f64 {
    match values {
        [] => 0.0,
        [only] => head * only.wide(),
        [first, middle @ .., last] => {
            let middle: f64 = middle.iter().map(|v| v.wide()).sum();
            head * first.wide() + middle + tail * last.wide()
        }
    }
}
