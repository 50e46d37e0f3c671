//! Footprints of a block of bodies at once, each loop one that LLVM vectorises.

use super::{Bins, Extent, Footprint, PATCH};
use crate::charge::overlap::Axis;
use crate::real::Real;

/// Bodies of a block.
pub(crate) const BLOCK: usize = 64;
/// Stands in [`Footprints::at`] for a body that no window in the patch holds.
pub(crate) const NOT_IN_PATCH: u32 = u32::MAX;

/// Corners and sizes of some bodies, bin units, and their weights.
#[derive(Clone, Copy)]
pub(crate) struct Inputs<'a> {
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
pub(crate) struct Footprints<U> {
    /// The patch's bin at the window's corner, [`PATCH`] bins to a column.
    pub(crate) at: [u32; BLOCK],
    /// Overlaps with the columns, times weight.
    pub(crate) across: [[U; BLOCK]; 3],
    /// Overlaps with the rows.
    pub(crate) up: [[U; BLOCK]; 4],
    columns: Windows<3>,
    rows: Windows<4>,
    /// Inputs of the last block, which has fewer bodies.
    inputs: [[f64; BLOCK]; 5],
}

impl<U: Real> Footprints<U> {
    /// Bins from a window's first to its last.
    pub(crate) const SPAN: usize = 2 * PATCH + 4;

    /// Whether a window holds all of a body.
    pub(crate) fn has_room_for(body: &Footprint) -> bool {
        body.x.last - body.x.first < 3 && body.y.last - body.y.first < 4
    }

    pub(crate) fn new() -> Self {
        Footprints {
            at: [NOT_IN_PATCH; BLOCK],
            across: [[U::zero(); BLOCK]; 3],
            up: [[U::zero(); BLOCK]; 4],
            columns: Windows::new(),
            rows: Windows::new(),
            inputs: [[0.0; BLOCK]; 5],
        }
    }

    /// Computes the footprints of up to [`BLOCK`] bodies in the patch whose first bin is `corner`,
    /// their weights times `scale`.
    #[allow(clippy::needless_range_loop)] // the form that LLVM is seen to vectorise
    #[inline(always)]
    pub(crate) fn compute(
        &mut self,
        bins: &Bins,
        corner: [i64; 2],
        extent: Extent,
        inputs: Inputs<'_>,
        scale: f64,
    ) {
        let from = [inputs.x, inputs.y, inputs.width, inputs.height, inputs.weight];
        let Footprints { at, across, up, columns, rows, inputs } = self;
        let [x, y, width, height, weight] = match from.map(<&[f64; BLOCK]>::try_from) {
            [Ok(x), Ok(y), Ok(width), Ok(height), Ok(weight)] => [x, y, width, height, weight],
            _ => {
                for (to, from) in inputs.iter_mut().zip(from) {
                    to[..from.len()].copy_from_slice(from);
                }
                inputs.each_ref()
            }
        };
        let [left, bottom] = corner.map(|c| c as f64);
        columns.compute(&bins.x, x, width, extent.least(), left);
        rows.compute(&bins.y, y, height, extent.least(), bottom);
        // Loops of one simple statement each: LLVM may not vectorise longer loops.
        for (across, overlaps) in across.iter_mut().zip(&columns.overlaps) {
            for k in 0..BLOCK {
                across[k] = U::cast(overlaps[k] * (weight[k] * scale));
            }
        }
        for (up, overlaps) in up.iter_mut().zip(&rows.overlaps) {
            for k in 0..BLOCK {
                up[k] = U::cast(overlaps[k]);
            }
        }
        for k in 0..BLOCK {
            let here = columns.beyond[k] + rows.beyond[k] == 0.0;
            let bin = columns.first[k] * PATCH as f64 + rows.first[k];
            at[k] = low_bits(if here { bin } else { f64::from(NOT_IN_PATCH) }) as u32;
        }
    }
}

/// 2^52: a number from 0 to 2^52 added to it is rounded to an integer, which is then in
/// the lowest bits. Vector units have no conversion for that, or only the newest.
pub(crate) const INTEGERS: f64 = (1_u64 << 52) as f64;

/// Returns a number from 0 to 2^52, rounded.
#[inline(always)]
pub(crate) fn low_bits(value: f64) -> u64 {
    (value + INTEGERS).to_bits().wrapping_sub(INTEGERS.to_bits())
}

/// Results of [`Axis::covered`] for a block of intervals, for the first `N` bins and without a
/// branch.
struct Windows<const N: usize> {
    /// The first bin, counted from the patch's.
    first: [f64; BLOCK],
    /// Zero when the patch has room for the window and the window for the interval.
    beyond: [f64; BLOCK],
    overlaps: [[f64; BLOCK]; N],
}

impl<const N: usize> Windows<N> {
    fn new() -> Self {
        Windows { first: [0.0; BLOCK], beyond: [0.0; BLOCK], overlaps: [[0.0; BLOCK]; N] }
    }

    /// Intervals from `low` on in a patch that begins at bin `start`. One that is off the
    /// die, or nowhere, overlaps nothing.
    #[allow(clippy::needless_range_loop)] // as above
    #[inline(always)]
    fn compute(
        &mut self,
        axis: &Axis,
        low: &[f64; BLOCK],
        size: &[f64; BLOCK],
        least: f64,
        start: f64,
    ) {
        let Windows { first, beyond, overlaps } = self;
        let bins = axis.bins();
        for k in 0..BLOCK {
            let stretched = larger(size[k], least);
            let low = low[k] + 0.5 * (size[k] - stretched);
            let high = low + stretched;
            // A NaN becomes zero.
            let (low, high) = (smaller(larger(low, 0.0), bins), smaller(larger(high, 0.0), bins));
            let bin = floor(low);
            let (at, reach) = (bin - start, high - bin);
            overlaps[0][k] = smaller(high, bin + 1.0) - low;
            for i in 1..N {
                overlaps[i][k] = smaller(larger(reach - i as f64, 0.0), 1.0);
            }
            first[k] = at;
            beyond[k] = larger(reach - N as f64, 0.0)
                + larger(-at, 0.0)
                + larger(at - (PATCH - N) as f64, 0.0);
        }
    }
}

#[inline(always)]
fn larger(a: f64, b: f64) -> f64 {
    if a > b { a } else { b }
}

#[inline(always)]
fn smaller(a: f64, b: f64) -> f64 {
    if a < b { a } else { b }
}

/// Returns the integer at or below a number from 0 to 2^51.
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
        let lows: Vec<f64> = lows.collect();
        let mut windows = Windows::<4>::new();
        for lows in lows.chunks(BLOCK) {
            let low = std::array::from_fn(|k| lows[k % lows.len()]);
            for size in [0.0, 0.25, 1.0, 1.3, 2.0, 2.75, 5.0, 1e300] {
                for least in [0.0, Extent::Smoothed.least()] {
                    windows.compute(&axis, &low, &[size; BLOCK], least, 2.0);
                    for (k, &low) in low.iter().enumerate() {
                        let overlaps = windows.overlaps.each_ref().map(|o| o[k]);
                        let Some(span) = axis.covered(low, size, least) else {
                            assert_eq!(overlaps, [0.0; 4], "{low} {size} {least}");
                            continue;
                        };
                        assert_eq!(windows.first[k], span.first as f64 - 2.0);
                        let fits = span.first >= 2 && span.last - span.first < 4;
                        assert_eq!(windows.beyond[k] == 0.0, fits, "{low} {size} {least}");
                        for (i, overlap) in overlaps.into_iter().enumerate() {
                            let bin = span.first + i;
                            let want = if bin <= span.last { span.of_bin(bin) } else { 0.0 };
                            assert_eq!(overlap, want, "{low} {size} {least}, bin {bin}");
                        }
                    }
                }
            }
        }
    }
}
