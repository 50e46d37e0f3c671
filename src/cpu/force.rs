//! The force on every body: the field, weighted by what the body covers.
//!
//! F = ratio · Σ over bins of overlap area · E, for the stretched rectangle that
//! the density is made from (ePlace, Lu et al., TODAES 2015, up to the constant it
//! leaves to the density weight; DREAMPlace, Lin et al., TCAD 2021). It points
//! where the field does, away from dense regions. With E in bin widths the unit
//! is layout area × bin widths.
//!
//! Bodies are taken in their order by bin (`bodies`): the task of a chunk brings
//! both components of its patch of the field into cache, side by side, and reads it there.
//! Each body's sum is in a set order: the bits are the same for any number of threads.

use super::bodies::{
    Bins, Chunk, Extent, Footprint, Footprints, NOT_IN_PATCH, Order, PATCH, blocks,
};
use super::density::CpuDensity;
use super::matrix::SharedMatrix;
use super::simd::vectorised;
use crate::grid::Map;
use crate::real::Real;
use rayon::prelude::*;

/// Both components of the field, `[nx][ny]`, y contiguous.
#[derive(Clone, Copy)]
struct Field<'a, T> {
    x: &'a [T],
    y: &'a [T],
    nx: usize,
    ny: usize,
}

/// A field over the bins of a patch, Ex and Ey of each bin together, zero outside the map.
type Patch<T> = [[T; 2]; PATCH * PATCH];

impl CpuDensity {
    /// Writes the force on every body in the field `(field_x, field_y)`, movable cells then fillers, at
    /// the positions last given. A body outside the die, or at a position that is not
    /// finite, has zero force.
    ///
    /// # Panics
    /// When a slice is not one entry per body, a map is not `nx × ny`, or no positions
    /// were given.
    pub fn force<T: Real>(
        &self,
        field_x: &Map<T>,
        field_y: &Map<T>,
        force_x: &mut [T],
        force_y: &mut [T],
    ) {
        let bodies = &self.bodies;
        assert_eq!((force_x.len(), force_y.len()), (bodies.len(), bodies.len()), "forces");
        let Bins { nx, ny, .. } = bodies.bins;
        for map in [field_x, field_y] {
            assert_eq!((map.nx(), map.ny()), (nx, ny), "bins of the field");
        }
        let field = Field { x: field_x.as_slice(), y: field_y.as_slice(), nx, ny };
        let (movable_x, fillers_x) = force_x.split_at_mut(bodies.movable.len());
        let (movable_y, fillers_y) = force_y.split_at_mut(bodies.movable.len());
        field.gather(&bodies.movable, bodies.bins, movable_x, movable_y);
        field.gather(&bodies.fillers, bodies.bins, fillers_x, fillers_y);
    }
}

impl<T: Real> Field<'_, T> {
    /// The force on all bodies of one kind.
    fn gather(&self, order: &Order, bins: Bins, force_x: &mut [T], force_y: &mut [T]) {
        assert!(order.is_placed(), "positions are given before the force is asked for");
        let force_x = SharedMatrix::new(force_x, 1);
        let force_y = SharedMatrix::new(force_y, 1);
        order.chunks().par_iter().for_each(|chunk| {
            let mut patch: Patch<T> = [[T::zero(); 2]; PATCH * PATCH];
            let mut footprints = Footprints::<T>::new();
            vectorised(
                #[inline(always)]
                || {
                    self.bring(chunk, &mut patch);
                    for slots in blocks(chunk.slots()) {
                        let inputs = order.inputs(slots.clone(), Extent::Smoothed);
                        footprints.compute(&bins, chunk, Extent::Smoothed, inputs, bins.area);
                        for (k, slot) in slots.enumerate() {
                            let [fx, fy] = if footprints.at[k] != NOT_IN_PATCH {
                                in_window(&patch, &footprints, k)
                            } else {
                                let body = order.footprint(slot, Extent::Smoothed);
                                body.map_or([T::zero(); 2], |body| self.anywhere(&body, bins.area))
                            };
                            let body = order.body(slot);
                            // SAFETY: every body is in one slot, and every slot in one chunk, which is
                            // one task: nothing else refers to these two elements.
                            unsafe {
                                force_x.row(body)[0] = fx;
                                force_y.row(body)[0] = fy;
                            }
                        }
                    }
                },
            );
        });
    }

    /// Fills what a patch has of the map.
    #[inline(always)]
    fn bring(&self, chunk: &Chunk, patch: &mut Patch<T>) {
        let ([left, bottom], rows) = (chunk.corner(), chunk.on_map(1, self.ny));
        let first_row = (rows.start as i64 - bottom) as usize;
        for u in chunk.on_map(0, self.nx) {
            let (x, y) =
                (&self.x[u * self.ny..][rows.clone()], &self.y[u * self.ny..][rows.clone()]);
            let to = &mut patch[(u as i64 - left) as usize * PATCH + first_row..][..x.len()];
            for ((to, &x), &y) in to.iter_mut().zip(x).zip(y) {
                *to = [x, y];
            }
        }
    }

    /// What a body of any size covers, times its area.
    fn anywhere(&self, body: &Footprint, bin_area: f64) -> [T; 2] {
        let (columns, rows) = (&body.x, &body.y);
        let (mut ex, mut ey) = (0.0, 0.0);
        for i in columns.first..=columns.last {
            let start = i * self.ny;
            let bins = start + rows.first..=start + rows.last;
            let of_column = columns.of_bin(i);
            ex += of_column * along(&self.x[bins.clone()], rows.head, rows.tail);
            ey += of_column * along(&self.y[bins], rows.head, rows.tail);
        }
        [ex, ey].map(|e| T::of(body.weight * bin_area * e))
    }
}

/// The force on the `k`-th body of a block, all of it in a window: its few terms are
/// summed in `T`, the many of a larger body in `f64`.
#[inline(always)]
fn in_window<T: Real>(patch: &Patch<T>, footprints: &Footprints<T>, k: usize) -> [T; 2] {
    const SPAN: usize = 2 * PATCH + 4;
    let bins = &patch[footprints.at[k] as usize..][..SPAN];
    let mut sums = [[T::zero(); 2]; 4];
    for (i, across) in footprints.across.iter().enumerate() {
        let bins = &bins[i * PATCH..][..4];
        for l in 0..4 {
            sums[l][0] += across[k] * bins[l][0];
            sums[l][1] += across[k] * bins[l][1];
        }
    }
    let up = footprints.up[k];
    let dot = |c: usize| {
        (up[0] * sums[0][c] + up[1] * sums[1][c]) + (up[2] * sums[2][c] + up[3] * sums[3][c])
    };
    [dot(0), dot(1)]
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
