//! The force on every body: the field, weighted by what the body covers.
//!
//! F = ratio · Σ over bins of overlap area · E, for the stretched rectangle that the density is
//! made from (ePlace, Lu et al., TODAES 2015, up to the constant it leaves to the density weight;
//! DREAMPlace, Lin et al., TCAD 2021). It points where the field does, away from dense regions.
//! With E in bin widths the unit is layout area × bin widths.
//!
//! Bodies are taken in their order by bin (`bodies`): the task of a chunk brings both components of
//! its patch of the field into cache, side by side, reads it there, and writes the forces of its
//! bodies next to one another. From there they are read in the caller's order; if chunks wrote in
//! that order, cores would take cache lines from one another. The order of each body's sum depends
//! on its size and not on its position in the order by bin: the bits are the same for any number of
//! threads, whatever was computed before.

use super::bodies::{
    BLOCK, Bins, Chunk, Extent, Footprint, Footprints, MOVED, NOT_IN_PATCH, Order, PATCH, blocks,
};
use super::density::CpuDensity;
use super::matrix::SharedMatrix;
use super::simd::vectorised;
use crate::grid::Map;
use crate::parallel::{self, chunks, chunks_mut};
use crate::real::Real;

/// Both components of the field, `[nx][ny]` for each region, y contiguous.
#[derive(Clone, Copy)]
struct Field<'a, T> {
    bins: Bins,
    x: &'a [T],
    y: &'a [T],
}

/// A field over the bins of a patch, Ex and Ey of each bin together, zero outside the map.
type Patch<T> = [[T; 2]; PATCH * PATCH];

impl CpuDensity {
    /// Writes the force on every body in the field `(field_x, field_y)` of its region, movable
    /// cells then fillers, at the positions last given. A body outside the die, or at a position
    /// that is not finite, has zero force.
    ///
    /// # Panics
    /// When a slice is not one entry per body, a map is not `nx × ny` for each region, or no
    /// positions were given.
    pub fn force<T: Real>(
        &mut self,
        field_x: &Map<T>,
        field_y: &Map<T>,
        force_x: &mut [T],
        force_y: &mut [T],
    ) {
        self.check(field_x);
        self.check(field_y);
        let CpuDensity { bodies, forces, .. } = self;
        assert_eq!((force_x.len(), force_y.len()), (bodies.len(), bodies.len()), "forces");
        let bins = bodies.bins;
        let field = Field { bins, x: field_x.as_slice(), y: field_y.as_slice() };
        let movable = bodies.movable.len();
        let (movable_x, fillers_x) = force_x.split_at_mut(movable);
        let (movable_y, fillers_y) = force_y.split_at_mut(movable);
        let forces = &mut bytemuck::cast_slice_mut(forces)[..bodies.len()];
        let (of_movable, of_fillers) = forces.split_at_mut(movable);
        field.gather(&bodies.movable, of_movable, movable_x, movable_y);
        field.gather(&bodies.fillers, of_fillers, fillers_x, fillers_y);
    }
}

impl<T: Real> Field<'_, T> {
    /// The force on all bodies of one kind, by slot and then by index.
    fn gather(&self, order: &Order, by_slot: &mut [[T; 2]], force_x: &mut [T], force_y: &mut [T]) {
        if order.len() == 0 {
            return;
        }
        assert!(order.has_positions(), "the force needs positions");
        let slots = SharedMatrix::new(by_slot, order.len());
        parallel::each(order.chunks().len(), &|chunk| {
            let chunk = &order.chunks()[chunk];
            let field = self.of_region(chunk.region as usize);
            // SAFETY: every slot is in one chunk, which is one task.
            let mut forces = unsafe { slots.block(0..1, chunk.slots()) };
            let mut patch: Patch<T> = [[T::zero(); 2]; PATCH * PATCH];
            let mut footprints = Footprints::<T>::new();
            vectorised(
                #[inline(always)]
                || {
                    field.bring(chunk, &mut patch);
                    let forces = forces.row(0).chunks_mut(BLOCK);
                    for (slots, forces) in blocks(chunk.slots()).zip(forces) {
                        let inputs = order.inputs(slots.clone(), Extent::Smoothed);
                        let area = self.bins.area;
                        footprints.compute(
                            &self.bins,
                            chunk.corner(),
                            Extent::Smoothed,
                            inputs,
                            area,
                        );
                        for (k, (slot, force)) in slots.zip(forces).enumerate() {
                            if footprints.at[k] != NOT_IN_PATCH {
                                let window = &patch[footprints.at[k] as usize..];
                                *force = in_window(window, &footprints, k);
                                continue;
                            }
                            let body = order.footprint(slot, Extent::Smoothed);
                            *force = body.map_or([T::zero(); 2], |body| {
                                match Footprints::<T>::has_room_for(&body) {
                                    true => in_window(&field.window(&body), &footprints, k),
                                    false => field.anywhere(&body),
                                }
                            });
                        }
                    }
                },
            );
        });
        let forces = (chunks_mut(force_x, MOVED), chunks_mut(force_y, MOVED));
        parallel::for_each((forces, chunks(order.slots(), MOVED)), |_, ((x, y), slots)| {
            for ((x, y), &slot) in x.iter_mut().zip(y).zip(slots) {
                [*x, *y] = by_slot[slot as usize];
            }
        });
    }

    /// The field of one region.
    fn of_region(&self, region: usize) -> Self {
        let map = self.bins.nx * self.bins.ny;
        let [x, y] = [self.x, self.y].map(|field| &field[region * map..][..map]);
        Field { x, y, ..*self }
    }

    /// Fills what a patch has of the map.
    #[inline(always)]
    fn bring(&self, chunk: &Chunk, patch: &mut Patch<T>) {
        let Bins { nx, ny, .. } = self.bins;
        let ([left, bottom], rows) = (chunk.corner(), chunk.on_map(1, ny));
        let first_row = (rows.start as i64 - bottom) as usize;
        for u in chunk.on_map(0, nx) {
            let (x, y) = (&self.x[u * ny..][rows.clone()], &self.y[u * ny..][rows.clone()]);
            let to = &mut patch[(u as i64 - left) as usize * PATCH + first_row..][..x.len()];
            for ((to, &x), &y) in to.iter_mut().zip(x).zip(y) {
                *to = [x, y];
            }
        }
    }

    /// Returns the field at a body's window, as a patch that begins there has it: the same sums
    /// follow, whatever patch the body is in.
    fn window(&self, body: &Footprint) -> [[T; 2]; Footprints::<f32>::SPAN] {
        let Bins { nx, ny, .. } = self.bins;
        let mut window = [[T::zero(); 2]; Footprints::<f32>::SPAN];
        for (i, column) in window.chunks_mut(PATCH).enumerate() {
            for (l, to) in column.iter_mut().take(4).enumerate() {
                let (u, v) = (body.x.first + i, body.y.first + l);
                if u < nx && v < ny {
                    *to = [self.x[u * ny + v], self.y[u * ny + v]];
                }
            }
        }
        window
    }

    /// Returns the sum of the field times the area that a body of any size covers.
    fn anywhere(&self, body: &Footprint) -> [T; 2] {
        let (columns, rows) = (&body.x, &body.y);
        let (mut ex, mut ey) = (0.0, 0.0);
        for i in columns.first..=columns.last {
            let start = i * self.bins.ny;
            let bins = start + rows.first..=start + rows.last;
            let of_column = columns.of_bin(i);
            ex += of_column * along(&self.x[bins.clone()], rows.head, rows.tail);
            ey += of_column * along(&self.y[bins], rows.head, rows.tail);
        }
        [ex, ey].map(|e| T::cast(body.weight * self.bins.area * e))
    }
}

/// Returns the force on the `k`-th body of a block, all of it in a window, with which `patch`
/// begins: its few terms are summed in `T`, the many of a larger body in `f64`.
#[inline(always)]
fn in_window<T: Real>(patch: &[[T; 2]], footprints: &Footprints<T>, k: usize) -> [T; 2] {
    let bins = patch[..Footprints::<T>::SPAN].as_flattened();
    // Both components of four bins, which LLVM takes as one vector.
    let columns = [0, 1, 2].map(
        #[inline(always)]
        |i| &bins[2 * i * PATCH..][..8],
    );
    let across = footprints.across.each_ref().map(
        #[inline(always)]
        |across| across[k],
    );
    let up = footprints.up.each_ref().map(
        #[inline(always)]
        |up| up[k],
    );
    let mut terms = [T::zero(); 8];
    for l in 0..8 {
        let sum = across[0] * columns[0][l] + across[1] * columns[1][l] + across[2] * columns[2][l];
        terms[l] = sum * up[l / 2];
    }
    let mut halves = [T::zero(); 4];
    for l in 0..4 {
        halves[l] = terms[l] + terms[l + 4];
    }
    [halves[0] + halves[2], halves[1] + halves[3]]
}

/// Returns Σ of one column's values, the first and last weighted.
fn along<T: Real>(values: &[T], head: f64, tail: f64) -> f64 {
    match values {
        [] => 0.0,
        [only] => head * only.widen(),
        [first, middle @ .., last] => {
            let middle: f64 = middle.iter().map(|v| v.widen()).sum();
            head * first.widen() + middle + tail * last.widen()
        }
    }
}
