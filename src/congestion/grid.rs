//! The bins of demand: columns and rows that may differ in width.

use crate::cpu::boxes::AxisPart;
use crate::grid::{BinGrid, GridError, MAX_BINS, MAX_BINS_PER_AXIS, Rect};
use crate::lefdef::{GcellGrid, GridAxis};

/// Columns and rows of bins, as the gcells of a global router: those of a [`BinGrid`], which are
/// equally wide, or those between given edges (DEF: GCELLGRID).
#[derive(Clone, Debug, PartialEq)]
pub struct RoutingGrid {
    x: Axis,
    y: Axis,
}

/// One axis.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Axis {
    /// Ascending, one more than bins.
    edges: Vec<f64>,
    /// Bins per unit of length, where all are equally wide.
    per_bin: Option<f64>,
}

/// How the bins that a box covers are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Counting {
    /// A bin holds its left edge; all bins of a box count.
    Whole,
    /// The rule of CircuitNet's script: a bin holds its right edge, and of several bins the last is
    /// left out.
    ButTheLast,
}

/// The bins of one axis that an interval covers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Cover {
    pub(super) first: usize,
    pub(super) last: usize,
    /// Share of the first bin and, where there are several, of the last.
    head: f64,
    tail: f64,
}

impl From<&BinGrid> for RoutingGrid {
    fn from(grid: &BinGrid) -> Self {
        let die = grid.die();
        RoutingGrid {
            x: Axis::even(die.xl, die.xh, grid.nx()),
            y: Axis::even(die.yl, die.yh, grid.ny()),
        }
    }
}

impl RoutingGrid {
    /// Makes a grid of bins between the edges `x` and `y`, layout units, ascending.
    ///
    /// # Errors
    /// When an axis has fewer than two edges or too many, or they do not ascend.
    pub fn from_edges(x: Vec<f64>, y: Vec<f64>) -> Result<Self, GridError> {
        let bins = |edges: &Vec<f64>| edges.len().saturating_sub(1);
        let (nx, ny) = (bins(&x), bins(&y));
        let axis = 1..=MAX_BINS_PER_AXIS;
        if !axis.contains(&nx) || !axis.contains(&ny) || nx * ny > MAX_BINS {
            return Err(GridError::BinCount { nx, ny });
        }
        let ascends = |edges: &[f64]| {
            edges.windows(2).all(|pair| pair[1] > pair[0] && (pair[1] - pair[0]).is_finite())
        };
        if !ascends(&x) || !ascends(&y) {
            let die = Rect { xl: x[0], yl: y[0], xh: x[nx], yh: y[ny] };
            return Err(GridError::EmptyDie(die));
        }
        let axis = |edges| Axis { edges, per_bin: None };
        Ok(RoutingGrid { x: axis(x), y: axis(y) })
    }

    /// Returns the grid of bins between the lines of a DEF file's `GCELLGRID`, or `None` if an axis
    /// has no lines.
    ///
    /// # Errors
    /// See [`RoutingGrid::from_edges`].
    pub fn from_gcells(lines: &[GcellGrid]) -> Option<Result<Self, GridError>> {
        let along = |axis: GridAxis| -> Vec<&GcellGrid> {
            lines.iter().filter(|of| of.axis == axis && of.count > 0).collect()
        };
        let (x, y) = (along(GridAxis::X), along(GridAxis::Y));
        if x.is_empty() || y.is_empty() {
            return None;
        }
        let count =
            |of: &[&GcellGrid]| of.iter().fold(0, |sum: u64, of| sum.saturating_add(of.count));
        // Two statements may both name the line where they meet.
        let most = 2 * (MAX_BINS_PER_AXIS as u64 + 1);
        if count(&x) > most || count(&y) > most {
            let [nx, ny] = [count(&x), count(&y)].map(|n| usize::try_from(n).unwrap_or(usize::MAX));
            return Some(Err(GridError::BinCount { nx, ny }));
        }
        let edges = |of: Vec<&GcellGrid>| {
            let all = |of: &GcellGrid| {
                let GcellGrid { start, count, step, .. } = *of;
                (0..count).map(move |k| start + k as f64 * step)
            };
            let mut edges: Vec<f64> = of.into_iter().flat_map(all).collect();
            edges.sort_unstable_by(f64::total_cmp);
            edges.dedup();
            edges
        };
        Some(RoutingGrid::from_edges(edges(x), edges(y)))
    }

    /// Returns the number of bins along x.
    pub fn nx(&self) -> usize {
        self.x.bins()
    }

    /// Returns the number of bins along y.
    pub fn ny(&self) -> usize {
        self.y.bins()
    }

    /// Returns the edges of the columns, layout units, one more than there are columns.
    pub fn x_edges(&self) -> &[f64] {
        &self.x.edges
    }

    /// Returns the edges of the rows of bins, layout units, one more than there are rows.
    pub fn y_edges(&self) -> &[f64] {
        &self.y.edges
    }

    /// Returns the area of bin `(i, j)`, layout units squared.
    ///
    /// # Panics
    /// When there is no such bin.
    pub fn bin_area(&self, i: usize, j: usize) -> f64 {
        self.x.width(i) * self.y.width(j)
    }

    /// Returns the centre of bin `(i, j)`, layout units.
    ///
    /// # Panics
    /// When there is no such bin.
    pub fn centre(&self, i: usize, j: usize) -> (f64, f64) {
        let middle = |edges: &[f64], i: usize| f64::midpoint(edges[i], edges[i + 1]);
        (middle(&self.x.edges, i), middle(&self.y.edges, j))
    }

    /// Returns bins per unit of length, where all are equally wide, and their mean width, along x
    /// and along y.
    #[cfg(feature = "cuda")]
    pub(crate) fn widths(&self) -> [(Option<f64>, f64); 2] {
        [&self.x, &self.y].map(|axis| (axis.per_bin, axis.mean_width()))
    }

    pub(super) fn axes(&self) -> (&Axis, &Axis) {
        (&self.x, &self.y)
    }
}

impl Axis {
    fn even(low: f64, high: f64, bins: usize) -> Self {
        let width = (high - low) / bins as f64;
        let edges = (0..=bins).map(|i| if i == bins { high } else { low + i as f64 * width });
        Axis { edges: edges.collect(), per_bin: Some(1.0 / width) }
    }

    pub(super) fn bins(&self) -> usize {
        self.edges.len() - 1
    }

    #[inline(always)]
    pub(super) fn width(&self, i: usize) -> f64 {
        self.edges[i + 1] - self.edges[i]
    }

    /// Returns the narrowest bin's width.
    pub(super) fn least_width(&self) -> f64 {
        self.edges.windows(2).map(|pair| pair[1] - pair[0]).fold(f64::INFINITY, f64::min)
    }

    /// Returns the mean width.
    pub(super) fn mean_width(&self) -> f64 {
        (self.edges[self.bins()] - self.edges[0]) / self.bins() as f64
    }

    /// Returns where `at` lies, in bins from the first edge, moved to the nearest end if it is
    /// beyond.
    #[inline(always)]
    fn in_bins(&self, at: f64) -> f64 {
        let bins = self.bins();
        let u = match self.per_bin {
            Some(per_bin) => (at - self.edges[0]) * per_bin,
            None => {
                let i = self.edges.partition_point(|edge| *edge <= at).clamp(1, bins) - 1;
                i as f64 + (at - self.edges[i]) / self.width(i)
            }
        };
        u.clamp(0.0, bins as f64)
    }

    /// Whether `at` is on the grid, its ends included.
    #[inline(always)]
    pub(super) fn holds(&self, at: f64) -> bool {
        at >= self.edges[0] && at <= self.edges[self.bins()]
    }

    /// Returns the bin of a place that [`Axis::holds`].
    #[inline(always)]
    pub(super) fn bin(&self, at: f64, counting: Counting) -> usize {
        let u = self.in_bins(at);
        match counting {
            Counting::Whole => (u as usize).min(self.bins() - 1),
            Counting::ButTheLast => (u.ceil() as usize).saturating_sub(1),
        }
    }

    /// Returns the bins that `[low, high]` covers; `None` if it lies beyond the grid.
    #[inline(always)]
    pub(super) fn cover(&self, low: f64, high: f64, counting: Counting) -> Option<Cover> {
        let bins = self.bins();
        // The comparison is written so that a NaN fails it.
        if !(low <= high && high >= self.edges[0] && low <= self.edges[bins]) {
            return None;
        }
        let (from, to) = (self.in_bins(low), self.in_bins(high));
        let end = (to.ceil() as usize).saturating_sub(1);
        let first = match counting {
            Counting::Whole => (from as usize).min(bins - 1),
            Counting::ButTheLast => (from.ceil() as usize).saturating_sub(1),
        };
        let last = end.max(first);
        let (head, tail) = match (first == last, counting) {
            (true, _) => ((to - from).min(1.0), 0.0),
            (false, Counting::Whole) => ((first + 1) as f64 - from, to - last as f64),
            (false, Counting::ButTheLast) => ((first + 1) as f64 - from, 0.0),
        };
        Some(Cover { first, last, head: head.max(0.0), tail: tail.max(0.0) })
    }
}

impl Cover {
    /// Returns the number of bins.
    #[inline(always)]
    pub(super) fn bins(&self) -> usize {
        self.last - self.first + 1
    }

    /// Shares of the first bin, of those between, and of the last.
    #[inline(always)]
    pub(super) fn shares(&self) -> [f64; 3] {
        [self.head, if self.first == self.last { 0.0 } else { 1.0 }, self.tail]
    }

    /// [`Cover::shares`] over the length of the interval. Where there is none the limit: all of it
    /// lies in one bin, whose width is what a share is of.
    #[inline(always)]
    pub(super) fn shares_per_length(&self, axis: &Axis, length: f64) -> [f64; 3] {
        // Of a short interval the quotient is of rounding errors: it has a bound.
        let at_most = |share: f64, bin: usize| match length > 0.0 {
            true => (share / length).min(1.0 / axis.width(bin)),
            false => 1.0 / axis.width(bin),
        };
        let head = at_most(self.head, self.first);
        match self.first == self.last {
            true => [head, 0.0, 0.0],
            false if self.tail == 0.0 => [head, 1.0 / length, 0.0],
            false => [head, 1.0 / length, at_most(self.tail, self.last)],
        }
    }

    /// With a value of each channel for the first bin, those between and the last.
    #[inline(always)]
    pub(super) fn part<const C: usize>(&self, channels: [[f64; 3]; C]) -> AxisPart<[f64; C]> {
        let values = [0, 1, 2].map(|k| channels.map(|channel| channel[k]));
        AxisPart { first: self.first, last: self.last, values }
    }
}

#[cfg(test)]
mod tests;
