//! The area that is taken for good: fixed cells, and on request whatever lies
//! outside every row.
//!
//! Real sizes, exact overlaps, clipped to the die; the sum in a bin is clamped
//! to the bin's area, for overlapping cells take no more than all of it, and
//! scaled by the target density, so that a bin full of fixed cells is just full
//! (DREAMPlace, Lin et al., TCAD 2021).

use super::overlap::Axis;
use crate::grid::{BinGrid, Map, Rect};

/// Fixed area, layout units squared, and how the cells lie to the die.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Census {
    pub(super) inside_area: f64,
    pub(super) clipped_area: f64,
    pub(super) wholly_outside: usize,
    pub(super) partly_outside: usize,
}

/// The part of `rect` inside `die`; `None` when no area is left.
pub(super) fn clip(rect: &Rect, die: &Rect) -> Option<Rect> {
    let part = Rect {
        xl: rect.xl.max(die.xl),
        yl: rect.yl.max(die.yl),
        xh: rect.xh.min(die.xh),
        yh: rect.yh.min(die.yh),
    };
    (part.xl < part.xh && part.yl < part.yh).then_some(part)
}

/// True when `rect` lies in `die`, edges included.
pub(super) fn contains(die: &Rect, rect: &Rect) -> bool {
    rect.xl >= die.xl && rect.xh <= die.xh && rect.yl >= die.yl && rect.yh <= die.yh
}

/// Sums areas and counts what reaches beyond the die.
pub(super) fn census(rects: &[Rect], die: &Rect) -> Census {
    let mut census = Census::default();
    for rect in rects {
        if contains(die, rect) {
            census.inside_area += rect.area();
            continue;
        }
        let inside = rect.overlap(die);
        census.inside_area += inside;
        census.clipped_area += rect.area() - inside;
        if inside > 0.0 {
            census.partly_outside += 1;
        } else {
            census.wholly_outside += 1;
        }
    }
    census
}

/// Area of `rects` in every bin, clamped to the bin's area and scaled by `target`.
pub(super) fn map<'a>(
    rects: impl Iterator<Item = &'a Rect>,
    grid: &BinGrid,
    target: f64,
) -> Map<f64> {
    let (ax, ay) = Axis::of(grid);
    let mut map = Map::filled(grid.nx(), grid.ny(), 0.0);
    for rect in rects {
        let x = ax.span(rect.xl, rect.width());
        let y = ay.span(rect.yl, rect.height());
        let (Some(x), Some(y)) = (x, y) else { continue };
        for i in x.first..=x.last {
            for j in y.first..=y.last {
                map[(i, j)] += x.of_bin(i) * y.of_bin(j);
            }
        }
    }
    let full = target * grid.bin_area();
    map.as_mut_slice().iter_mut().for_each(|v| *v = v.min(1.0) * full);
    map
}

/// Cuts `die` into horizontal slabs at every edge of `rects` and hands each
/// slab, bottom up, to `visit` with the x intervals covered in it: merged,
/// sorted, apart from one another.
///
/// Takes O(n log n) plus the intervals of every slab, which for the rows and
/// blocks of a design is far from the O(n²) of the worst case.
fn slabs(rects: &[Rect], die: &Rect, mut visit: impl FnMut(f64, f64, &[(f64, f64)])) {
    let mut rects: Vec<Rect> = rects.iter().filter_map(|r| clip(r, die)).collect();
    rects.sort_by(|a, b| a.yl.total_cmp(&b.yl));
    let mut edges: Vec<f64> = rects.iter().flat_map(|r| [r.yl, r.yh]).collect();
    edges.extend([die.yl, die.yh]);
    edges.sort_by(f64::total_cmp);
    edges.dedup();

    let mut waiting = rects.iter().peekable();
    let mut active: Vec<&Rect> = Vec::new(); // sorted by left edge
    let mut covered: Vec<(f64, f64)> = Vec::new();
    for slab in edges.windows(2) {
        let (low, high) = (slab[0], slab[1]);
        active.retain(|r| r.yh > low);
        while let Some(rect) = waiting.next_if(|r| r.yl <= low) {
            let at = active.partition_point(|r| r.xl <= rect.xl);
            active.insert(at, rect);
        }
        covered.clear();
        for rect in &active {
            match covered.last_mut() {
                Some((_, right)) if rect.xl <= *right => *right = right.max(rect.xh),
                _ => covered.push((rect.xl, rect.xh)),
            }
        }
        visit(low, high, &covered);
    }
}

/// Area of the union of `rects` within `die`.
pub(super) fn union_area(rects: &[Rect], die: &Rect) -> f64 {
    let mut area = 0.0;
    slabs(rects, die, |low, high, covered| {
        area += (high - low) * covered.iter().map(|(l, r)| r - l).sum::<f64>();
    });
    area
}

/// What is left of `die` outside every one of `rects`, as rectangles that do
/// not overlap.
pub(super) fn gaps(rects: &[Rect], die: &Rect) -> Vec<Rect> {
    let mut gaps = Vec::new();
    slabs(rects, die, |low, high, covered| {
        let mut left = die.xl;
        for &(xl, xh) in covered.iter().chain(std::iter::once(&(die.xh, die.xh))) {
            if xl > left {
                gaps.push(Rect { xl: left, yl: low, xh: xl, yh: high });
            }
            left = xh;
        }
    });
    gaps
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIE: Rect = Rect { xl: 0.0, yl: 0.0, xh: 8.0, yh: 6.0 };

    #[test]
    fn union_counts_shared_area_once() {
        let rects = [
            Rect::at(1.0, 1.0, 3.0, 2.0),
            Rect::at(2.0, 2.0, 4.0, 3.0),
            Rect::at(7.0, 4.0, 9.0, 9.0),
        ];
        // 6 + 12 − 2 shared + 2 of the one that sticks out
        assert_eq!(union_area(&rects, &DIE), 18.0);
        assert_eq!(union_area(&[], &DIE), 0.0);
    }

    #[test]
    fn gaps_and_union_make_the_die() {
        let rows = [
            Rect::at(0.0, 0.0, 8.0, 1.0),
            Rect::at(0.0, 1.0, 3.0, 1.0),
            Rect::at(2.0, 1.0, 3.0, 1.0), // overlaps its neighbour
            Rect::at(6.0, 4.0, 2.0, 1.0),
        ];
        let gaps = gaps(&rows, &DIE);
        let area: f64 = gaps.iter().map(Rect::area).sum();
        assert_eq!(area, DIE.area() - union_area(&rows, &DIE));
        for (k, g) in gaps.iter().enumerate() {
            assert!(contains(&DIE, g));
            assert!(rows.iter().all(|r| r.overlap(g) == 0.0));
            assert!(gaps[..k].iter().all(|other| other.overlap(g) == 0.0));
        }
        assert!(gaps.contains(&Rect { xl: 5.0, yl: 1.0, xh: 8.0, yh: 2.0 }));
    }

    #[test]
    fn cells_outside_are_counted_not_folded_in() {
        let rects = [
            Rect::at(-2.0, 1.0, 3.0, 2.0), // 4 of 6 outside
            Rect::at(-9.0, 1.0, 1.0, 1.0), // wholly outside
            Rect::at(8.0, 0.0, 1.0, 1.0),  // touches only
            Rect::at(3.0, 3.0, 1.0, 2.0),
        ];
        let census = census(&rects, &DIE);
        assert_eq!((census.wholly_outside, census.partly_outside), (2, 1));
        assert_eq!((census.inside_area, census.clipped_area), (4.0, 6.0));
        let grid = BinGrid::new(DIE, 4, 2).unwrap();
        let map = map(rects.iter(), &grid, 0.5);
        for (got, want) in map.as_slice().iter().zip([1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0]) {
            assert!((got - want).abs() < 1e-12, "{:?}", map.as_slice());
        }
    }
}
