//! The constant area: fixed cells, and with an option the area outside rows.
//!
//! Sizes and overlaps are exact and clipped to the die. The sum in a bin is clamped to the bin's
//! area, because fixed cells may overlap. It is then scaled by the target density, so that a
//! bin full of fixed cells is exactly at its target (DREAMPlace, Lin et al., TCAD 2021).

use super::overlap::Axis;
use crate::grid::{BinGrid, Map, Rect};
use crate::parallel::{self, chunks, chunks_mut};

/// Returns the part of `rect` inside `die`; `None` when no area is left.
pub(crate) fn clip(rect: &Rect, die: &Rect) -> Option<Rect> {
    let part = Rect {
        xl: rect.xl.max(die.xl),
        yl: rect.yl.max(die.yl),
        xh: rect.xh.min(die.xh),
        yh: rect.yh.min(die.yh),
    };
    (part.xl < part.xh && part.yl < part.yh).then_some(part)
}

/// Whether `rect` lies in `die`, edges included.
pub(super) fn contains(die: &Rect, rect: &Rect) -> bool {
    rect.xl >= die.xl && rect.xh <= die.xh && rect.yl >= die.yl && rect.yh <= die.yh
}

/// Returns the area of `rects` in every bin, and that of `blocked_map` besides (layout
/// units squared, where there is such a map), clamped to the bin's area and scaled by the bin's
/// `target` density.
///
/// Bins that a cell covers whole are full whatever else is in them: of each
/// column only the first and the last of them are marked, so that the cost of a
/// cell goes with its outline and not with its area.
pub(super) fn map<'a>(
    rects: impl Iterator<Item = &'a Rect>,
    blocked_map: Option<&Map<f64>>,
    grid: &BinGrid,
    target: impl Fn(usize) -> f64 + Sync,
) -> Map<f64> {
    let (ax, ay) = Axis::of(grid);
    let (nx, ny) = (grid.nx(), grid.ny());
    let mut map = Map::filled(nx, ny, 0.0);
    // How many more cells cover a bin whole than the one below it.
    let mut more = Map::filled(nx, ny, 0i32);
    for rect in rects {
        let x = ax.span(rect.xl, rect.width());
        let y = ay.span(rect.yl, rect.height());
        let (Some(x), Some(y)) = (x, y) else { continue };
        for i in x.first..=x.last {
            let of_column = x.of_bin(i);
            let mut add = |j| map[(i, j)] += of_column * y.of_bin(j);
            if of_column == 1.0 && y.last > y.first + 1 {
                add(y.first);
                add(y.last);
                more[(i, y.first + 1)] += 1;
                more[(i, y.last)] -= 1;
            } else {
                (y.first..=y.last).for_each(add);
            }
        }
    }
    if let Some(blocked_map) = blocked_map {
        let bins = map.as_mut_slice().iter_mut().zip(blocked_map.as_slice());
        bins.for_each(|(bin, area)| *bin += area / grid.bin_area());
    }
    let columns = (chunks_mut(map.as_mut_slice(), ny), chunks(more.as_slice(), ny));
    parallel::for_each(columns, |i, (column, more)| {
        let mut covering = 0;
        for (j, (bin, more)) in column.iter_mut().zip(more).enumerate() {
            covering += more;
            let full = target(i * ny + j) * grid.bin_area();
            *bin = if covering > 0 { full } else { bin.min(1.0) * full };
        }
    });
    map
}

/// The part of a line covered by intervals that are added and removed: a segment tree over the
/// pieces between the line's cuts. A change takes O(log n), the covered length is known, and to
/// list the gaps takes O(log n) each.
struct Cover {
    /// Ascending, none twice, two at least.
    cuts: Vec<f64>,
    /// By node, the root being 1 and the children of `k` being `2k` and `2k + 1`: intervals that
    /// cover the node's pieces but not its parent's, and the length covered of them.
    nodes: Vec<(u32, f64)>,
}

/// A node of the tree and the pieces below it.
#[derive(Clone, Copy)]
struct Pieces {
    node: usize,
    first: usize,
    end: usize,
}

impl Pieces {
    fn halves(self) -> [Pieces; 2] {
        let Pieces { node, first, end } = self;
        let middle = first + (end - first) / 2;
        [
            Pieces { node: 2 * node, first, end: middle },
            Pieces { node: 2 * node + 1, first: middle, end },
        ]
    }

    fn is_leaf(self) -> bool {
        self.end - self.first == 1
    }
}

impl Cover {
    fn new(mut cuts: Vec<f64>) -> Self {
        cuts.sort_by(f64::total_cmp);
        cuts.dedup();
        let nodes = vec![(0, 0.0); 2 * (cuts.len() - 1).next_power_of_two()];
        Cover { cuts, nodes }
    }

    fn all(&self) -> Pieces {
        Pieces { node: 1, first: 0, end: self.cuts.len() - 1 }
    }

    fn length(&self, of: Pieces) -> f64 {
        self.cuts[of.end] - self.cuts[of.first]
    }

    /// Returns the length that is covered.
    fn covered(&self) -> f64 {
        self.nodes[1].1
    }

    /// Adds or removes an interval between two cuts.
    fn change(&mut self, low: f64, high: f64, comes: bool) {
        let at = |cut: f64| self.cuts.partition_point(|&c| c < cut);
        let (first, end) = (at(low), at(high));
        self.change_below(self.all(), first, end, comes);
    }

    fn change_below(&mut self, below: Pieces, first: usize, end: usize, comes: bool) {
        if end <= below.first || below.end <= first {
            return;
        }
        let node = below.node;
        if first <= below.first && below.end <= end {
            let count = &mut self.nodes[node].0;
            *count = if comes { *count + 1 } else { *count - 1 };
        } else {
            for half in below.halves() {
                self.change_below(half, first, end, comes);
            }
        }
        self.nodes[node].1 = if self.nodes[node].0 > 0 {
            self.length(below)
        } else if below.is_leaf() {
            0.0
        } else {
            below.halves().map(|half| self.nodes[half.node].1).iter().sum()
        };
    }

    /// Collects the uncovered intervals, from left to right and not touching.
    fn gaps(&self, gaps: &mut Vec<(f64, f64)>) {
        gaps.clear();
        self.gaps_below(self.all(), gaps);
    }

    fn gaps_below(&self, below: Pieces, gaps: &mut Vec<(f64, f64)>) {
        let (count, covered) = self.nodes[below.node];
        if count > 0 {
            return;
        }
        if covered > 0.0 {
            for half in below.halves() {
                self.gaps_below(half, gaps);
            }
            return;
        }
        let (low, high) = (self.cuts[below.first], self.cuts[below.end]);
        match gaps.last_mut() {
            Some((_, end)) if *end == low => *end = high,
            _ => gaps.push((low, high)),
        }
    }
}

/// Cuts `die` into horizontal slabs at every edge of `rects` and hands each slab, bottom up, to
/// `visit` with the part of the die's width in it that the rectangles cover. Takes O(n log n),
/// however they overlap.
fn slabs(rects: &[Rect], die: &Rect, visit: &mut dyn FnMut(f64, f64, &Cover)) {
    let rects: Vec<Rect> = rects.iter().filter_map(|r| clip(r, die)).collect();
    let cuts = rects.iter().flat_map(|r| [r.xl, r.xh]).chain([die.xl, die.xh]);
    let mut cover = Cover::new(cuts.collect());
    let mut edges: Vec<(f64, bool, &Rect)> =
        rects.iter().flat_map(|r| [(r.yl, true, r), (r.yh, false, r)]).collect();
    edges.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut low = die.yl;
    for (y, comes, rect) in edges {
        if y > low {
            visit(low, y, &cover);
            low = y;
        }
        cover.change(rect.xl, rect.xh, comes);
    }
    if die.yh > low {
        visit(low, die.yh, &cover);
    }
}

/// Returns the area of the union of `rects` within `die`.
pub(crate) fn union_area(rects: &[Rect], die: &Rect) -> f64 {
    let mut area = 0.0;
    slabs(rects, die, &mut |low, high, cover| area += (high - low) * cover.covered());
    area
}

/// Returns the part of `die` outside every one of `rects`, as rectangles that do not overlap.
pub(crate) fn gaps(rects: &[Rect], die: &Rect) -> Vec<Rect> {
    let (mut gaps, mut across) = (Vec::new(), Vec::new());
    slabs(rects, die, &mut |yl, yh, cover| {
        cover.gaps(&mut across);
        gaps.extend(across.iter().map(|&(xl, xh)| Rect { xl, yl, xh, yh }));
    });
    gaps
}

#[cfg(test)]
mod tests;
