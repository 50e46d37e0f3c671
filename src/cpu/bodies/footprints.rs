//! Footprints of a block of bodies at once, each loop one that LLVM vectorises.

use super::{Bins, Chunk, Extent, PATCH};
use crate::charge::overlap::Axis;
use crate::real::Real;

/// Bodies of a block.
pub(in crate::cpu) const BLOCK: usize = 64;
/// Stands in [`Footprints::at`] for a body that no window in the patch holds.
pub(in crate::cpu) const NOT_IN_PATCH: u32 = u32::MAX;

/// Corners and sizes of some bodies, bin units, and their weights.
#[derive(Clone, Copy)]
pub(in crate::cpu) struct Inputs<'a> {
    pub(super) x: &'a [f64],
    pub(super) y: &'a [f64],
    pub(super) width: &'a [f64],
    pub(super) height: &'a [f64],
    pub(super) weight: &'a [f64],
}

/// Windows of 3 columns by 4 rows of bins, zero where a body does not reach.
///
/// Most bodies cover 2 or 3 columns and rows, which of the two is as good as random: a
/// window of set size has no branch to mispredict.
pub(in crate::cpu) struct Footprints<U> {
    /// The patch's bin at the window's corner, [`PATCH`] bins to a column.
    pub(in crate::cpu) at: [u32; BLOCK],
    /// Overlaps with the columns, times weight.
    pub(in crate::cpu) across: [[U; BLOCK]; 3],
    /// Overlaps with the rows.
    pub(in crate::cpu) up: [[U; 4]; BLOCK],
    inputs: [[f64; BLOCK]; 5],
    column: [f64; BLOCK],
    row: [f64; BLOCK],
}

impl<U: Real> Footprints<U> {
    pub(in crate::cpu) fn new() -> Self {
        Footprints {
            at: [NOT_IN_PATCH; BLOCK],
            across: [[U::zero(); BLOCK]; 3],
            up: [[U::zero(); 4]; BLOCK],
            inputs: [[0.0; BLOCK]; 5],
            column: [0.0; BLOCK],
            row: [0.0; BLOCK],
        }
    }

    /// Computes the footprints of up to [`BLOCK`] bodies in the patch of `chunk`,
    /// their weights times `scale`.
    #[inline(always)]
    pub(in crate::cpu) fn compute(
        &mut self,
        bins: &Bins,
        chunk: &Chunk,
        extent: Extent,
        inputs: Inputs<'_>,
        scale: f64,
    ) {
        let count = inputs.x.len();
        let from = [inputs.x, inputs.y, inputs.width, inputs.height, inputs.weight];
        for (to, from) in self.inputs.iter_mut().zip(from) {
            to[..count].copy_from_slice(from);
        }
        let [x, y, width, height, weight] = &self.inputs;
        let [left, bottom] = chunk.corner().map(|c| c as f64);
        let least = extent.least();
        for k in 0..BLOCK {
            let w = Window::<3>::new(&bins.x, x[k], width[k], least);
            let weight = weight[k] * scale;
            for i in 0..3 {
                self.across[i][k] = U::of(w.overlaps[i] * weight);
            }
            self.column[k] = w.in_patch(left);
        }
        for k in 0..BLOCK {
            let w = Window::<4>::new(&bins.y, y[k], height[k], least);
            self.up[k] = w.overlaps.map(U::of);
            self.row[k] = w.in_patch(bottom);
        }
        for k in 0..BLOCK {
            let (column, row) = (self.column[k], self.row[k]);
            let here = (column >= 0.0) & (row >= 0.0);
            let at = if here { column * PATCH as f64 + row } else { f64::from(NOT_IN_PATCH) };
            self.at[k] = low_bits(at) as u32;
        }
    }
}

/// 2^52: a number from 0 to 2^52 added to it is rounded to an integer, which is then in
/// the lowest bits. Vector units have no conversion for that, or only the newest.
pub(in crate::cpu) const INTEGERS: f64 = (1_u64 << 52) as f64;

/// A number from 0 to 2^52, rounded.
#[inline(always)]
pub(in crate::cpu) fn low_bits(value: f64) -> u64 {
    (value + INTEGERS).to_bits().wrapping_sub(INTEGERS.to_bits())
}

/// What [`Axis::covered`] gives, for the first `N` bins and without a branch.
struct Window<const N: usize> {
    /// The first bin.
    first: f64,
    /// Bins after it.
    more: f64,
    overlaps: [f64; N],
}

impl<const N: usize> Window<N> {
    #[inline(always)]
    fn new(axis: &Axis, low: f64, size: f64, least: f64) -> Self {
        let bins = axis.bins();
        let larger = |a: f64, b: f64| if a > b { a } else { b };
        let smaller = |a: f64, b: f64| if a < b { a } else { b };
        let stretched = larger(size, least);
        let low = low + 0.5 * (size - stretched);
        let high = low + stretched;
        let on_die = (high > low) & (high > 0.0) & (low < bins);
        let low = if on_die { larger(low, 0.0) } else { 0.0 };
        let high = if on_die { smaller(high, bins) } else { 0.0 };
        let first = floor(low);
        let mut overlaps = [0.0; N];
        overlaps[0] = smaller(high, first + 1.0) - low;
        for (k, overlap) in overlaps.iter_mut().enumerate().skip(1) {
            *overlap = smaller(larger(high - (first + k as f64), 0.0), 1.0);
        }
        // An interval that ends on an edge does not reach into the next bin.
        let end = floor(high);
        let last = if end == high { end - 1.0 } else { end };
        Window { first, more: last - first, overlaps }
    }

    /// The first bin counted from the patch's, below zero when the patch has no
    /// room for the window or the window none for the body.
    #[inline(always)]
    fn in_patch(&self, start: f64) -> f64 {
        let at = self.first - start;
        let here = (at >= 0.0) & (at <= (PATCH - N) as f64) & (self.more < N as f64);
        if here { at } else { -1.0 }
    }
}

/// The integer at or below a number from 0 to 2^51.
#[inline(always)]
fn floor(value: f64) -> f64 {
    let nearest = (value + INTEGERS) - INTEGERS;
    if nearest > value { nearest - 1.0 } else { nearest }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::{BinGrid, Rect};

    /// Every window against the one definition of what an interval covers.
    #[test]
    fn windows_are_spans() {
        let grid = BinGrid::new(Rect::at(-3.0, 1.0, 40.0, 20.0), 20, 20).unwrap();
        let (axis, _) = Axis::of(&grid);
        let lows = (-60..500).map(|k| 0.05 * f64::from(k) - 0.7);
        let lows = lows.chain([f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1e300, 1e300]);
        for low in lows {
            for size in [0.0, 0.25, 1.0, 1.3, 2.0, 2.75, 5.0, 1e300] {
                for least in [0.0, Extent::Smoothed.least()] {
                    let window = Window::<4>::new(&axis, low, size, least);
                    let Some(span) = axis.covered(low, size, least) else {
                        assert_eq!(window.overlaps, [0.0; 4], "{low} {size} {least}");
                        continue;
                    };
                    assert_eq!(window.first, span.first as f64);
                    assert_eq!(window.more, (span.last - span.first) as f64);
                    for (k, &overlap) in window.overlaps.iter().enumerate() {
                        let bin = span.first + k;
                        let want = if bin <= span.last { span.of_bin(bin) } else { 0.0 };
                        assert_eq!(overlap, want, "{low} {size} {least}, bin {bin}");
                    }
                }
            }
        }
    }
}
