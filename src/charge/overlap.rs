//! The bins that an interval covers, and the share of each. Only this module
//! converts positions to bin indices.
//!
//! Everything is in **bin units**: bin `i` of an axis is `[i, i + 1]`, the die
//! is `[0, n]`. The overlap of a rectangle with a bin is the product of the two
//! overlaps, a fraction of the bin's area. Intervals are clipped to the die, so
//! that no overlap is negative and nothing outside counts.

use crate::grid::BinGrid;

/// One axis of a grid: where it starts and how long its bins are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Axis {
    origin: f64,
    per_bin: f64,
    bins: f64,
}

/// The bins `first..=last` an interval covers.
///
/// It covers `head` of the first bin, `tail` of the last one and all of those
/// between; in a span of one bin `head` is all there is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Span {
    pub(crate) first: usize,
    pub(crate) last: usize,
    pub(crate) head: f64,
    pub(crate) tail: f64,
}

impl Axis {
    /// Returns the x axis and the y axis of `grid`.
    pub(crate) fn of(grid: &BinGrid) -> (Axis, Axis) {
        let axis =
            |origin, bin: f64, bins: usize| Axis { origin, per_bin: 1.0 / bin, bins: bins as f64 };
        let die = grid.die();
        (axis(die.xl, grid.bin_x(), grid.nx()), axis(die.yl, grid.bin_y(), grid.ny()))
    }

    /// Returns a place on the axis, layout units, in bin units from the die's edge.
    #[inline(always)]
    pub(crate) fn position(&self, low: f64) -> f64 {
        (low - self.origin) * self.per_bin
    }

    /// Returns a length in bin units.
    #[inline(always)]
    pub(crate) fn length(&self, size: f64) -> f64 {
        size * self.per_bin
    }

    /// Returns the number of bins.
    #[inline(always)]
    pub(crate) fn bins(&self) -> f64 {
        self.bins
    }

    /// Returns the bins that `[low, low + size]`, layout units, covers. `None` when it covers
    /// nothing, or `low` is NaN.
    #[inline(always)]
    pub(crate) fn span(&self, low: f64, size: f64) -> Option<Span> {
        self.covered(self.position(low), self.length(size), 0.0)
    }

    /// Returns the bins that an interval covers, bin units, once it is stretched about its centre
    /// to `least` bins at least.
    #[inline(always)]
    pub(crate) fn covered(&self, low: f64, size: f64, least: f64) -> Option<Span> {
        let stretched = size.max(least);
        let low = low + 0.5 * (size - stretched);
        self.clip(low, low + stretched)
    }

    /// Clips `[low, high]`, bin units, to the die.
    #[inline(always)]
    fn clip(&self, low: f64, high: f64) -> Option<Span> {
        // The comparisons are written so that a NaN fails them.
        if !(high > low && high > 0.0 && low < self.bins) {
            return None;
        }
        let (low, high) = (low.max(0.0), high.min(self.bins));
        // Truncation is floor: neither is negative. An interval that ends on an
        // edge does not reach into the next bin.
        let first = low as u32;
        let end = high as u32;
        let last = if f64::from(end) == high { end - 1 } else { end };
        Some(Span {
            first: first as usize,
            last: last as usize,
            head: high.min(f64::from(first) + 1.0) - low,
            tail: high - f64::from(last),
        })
    }
}

impl Span {
    /// Returns how much of bin `i` is covered, for `i` in `first..=last`.
    #[inline(always)]
    pub(crate) fn of_bin(&self, i: usize) -> f64 {
        if i == self.first {
            self.head
        } else if i == self.last {
            self.tail
        } else {
            1.0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::charge::smoothing::LEAST_EXTENT;
    use crate::grid::Rect;

    fn axes() -> (Axis, Axis) {
        let die = Rect { xl: -8.0, yl: 1.0, xh: 8.0, yh: 13.0 };
        Axis::of(&BinGrid::new(die, 8, 4).unwrap())
    }

    #[test]
    fn a_span_has_a_head_whole_bins_and_a_tail() {
        let (x, y) = axes();
        assert_eq!(x.span(-7.0, 6.5), Some(Span { first: 0, last: 3, head: 0.5, tail: 0.75 }));
        assert_eq!(y.span(1.75, 1.5), Some(Span { first: 0, last: 0, head: 0.5, tail: 0.75 }));
    }

    #[test]
    fn edges_on_bin_edges_reach_no_further() {
        let (x, _) = axes();
        assert_eq!(x.span(-4.0, 4.0), Some(Span { first: 2, last: 3, head: 1.0, tail: 1.0 }));
        assert_eq!(x.span(6.0, 2.0), Some(Span { first: 7, last: 7, head: 1.0, tail: 1.0 }));
    }

    #[test]
    fn overlaps_are_clipped_to_the_die() {
        let (x, _) = axes();
        assert_eq!(x.span(-100.0, 93.0), Some(Span { first: 0, last: 0, head: 0.5, tail: 0.5 }));
        let all = x.span(-1e300, 2e300).unwrap();
        assert_eq!((all.first, all.last, all.head, all.tail), (0, 7, 1.0, 1.0));
        for (low, size) in [(-10.0, 2.0), (8.0, 3.0), (0.0, 0.0), (f64::NAN, 1.0)] {
            assert_eq!(x.span(low, size), None, "{low} {size}");
        }
        for low in [f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(x.covered(x.position(low), 1.5, LEAST_EXTENT), None);
        }
    }

    #[test]
    fn stretching_keeps_the_centre() {
        let (x, _) = axes();
        // Centre 1.0 is 4.5 bins from the edge.
        let s = x.covered(x.position(0.5), x.length(1.0), LEAST_EXTENT).unwrap();
        assert_eq!((s.first, s.last), (3, 5));
        assert!((s.head - s.tail).abs() < 1e-15);
        assert!((s.head + s.tail + 1.0 - std::f64::consts::SQRT_2).abs() < 1e-15);
    }
}
