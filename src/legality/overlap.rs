//! Pairs of cells that share area.
//!
//! The die is divided into bands of a row's height. A pair is found in the band in which its shared
//! area begins. The band's cells are sorted by their left edges, and every cell
//! is compared with the cells that begin before it ends; in a legal placement there are none.

use super::heap::{self, Cell};
use super::{Fault, Found, Violation, Worst};
use crate::design::{Design, NodeKind};
use crate::grid::Rect;
use crate::parallel::{self, Groups, group};

/// Most bands.
const MOST_BANDS: usize = 1 << 16;
/// Entries in all bands, in cells; there are fewer bands where more would be needed.
const ENTRIES_PER_CELL: usize = 4;
/// Pairs that are looked at, in cells of a band; beyond that they are only counted.
const PAIRS_PER_CELL: usize = 64;
/// That number for a band of few cells.
const LEAST_PAIRS: usize = 1 << 14;

/// Nodes that a task takes.
const BLOCK: usize = 1 << 14;

/// Returns the number of pairs, the area they share, and the worst. Nodes that `counts` refuses are
/// ignored.
pub(super) fn overlaps(
    design: &Design,
    die: &Rect,
    tolerance: f64,
    counts: &(dyn Fn(usize) -> bool + Sync),
) -> (u64, f64, Found) {
    let bands = Bands::new(design, die, counts);
    let parts = parallel::map(bands.count, |band| {
        let cell = |&node: &u32| Cell {
            rect: design.rect(node as usize),
            node,
            movable: design.nodes.kind[node as usize] == NodeKind::Movable,
            outlined: design.master_of(node as usize).is_some_and(|m| !m.outline.is_empty()),
        };
        let mut cells: Vec<Cell> = bands.nodes(band).iter().map(cell).collect();
        in_band(design, &bands, band, &mut cells, tolerance)
    });
    let mut found = Found::default();
    let (mut count, mut area) = (0, 0.0);
    for (pairs, shared, worst) in parts {
        (count, area) = (count + pairs, area + shared);
        worst.0.into_iter().for_each(|v| found.worst[Fault::Overlap as usize].add(v));
    }
    (count, area, found)
}

/// The nodes in each band.
pub(super) struct Bands {
    low: f64,
    height: f64,
    count: usize,
    /// The nodes of band `b` are `node[start[b]..start[b + 1]]`.
    start: Vec<u32>,
    node: Vec<u32>,
}

impl Bands {
    fn new(design: &Design, die: &Rect, counts: &(dyn Fn(usize) -> bool + Sync)) -> Self {
        let row = design.row_height().filter(|h| *h > 0.0).unwrap_or(die.height());
        let count = (die.height() / row).round().clamp(1.0, MOST_BANDS as f64) as usize;
        let mut bands = Bands {
            low: die.yl,
            height: die.height() / count as f64,
            count,
            start: Vec::new(),
            node: Vec::new(),
        };
        loop {
            let spans = parallel::map(design.nodes.len(), |i| {
                counts(i).then(|| bands.span(&design.rect(i)))
            });
            let lengths = parallel::map_blocks(spans.len(), BLOCK, |nodes| {
                spans[nodes].iter().flatten().map(|(first, last)| (last - first) as u64 + 1).sum()
            });
            let most = (ENTRIES_PER_CELL * design.nodes.len() + MOST_BANDS) as u64;
            if bands.count == 1 || lengths.iter().sum::<u64>() <= most {
                bands.fill(&spans);
                return bands;
            }
            bands.count = bands.count.div_ceil(2);
            bands.height = die.height() / bands.count as f64;
        }
    }

    /// Groups the nodes by band.
    fn fill(&mut self, spans: &[Option<(u32, u32)>]) {
        let entries = parallel::map_blocks(spans.len(), BLOCK, |nodes| {
            let bands = |node: usize| spans[node].map_or(0..0, |(first, last)| first..last + 1);
            nodes.flat_map(|node| bands(node).map(move |band| [band, node as u32])).collect()
        });
        let entries: Vec<[u32; 2]> = parallel::concat(&entries);
        let Groups { start, items } = group(self.count, entries.len(), |entry| entries[entry][0]);
        self.node = parallel::map(items.len(), |k| entries[items[k] as usize][1]);
        self.start = start;
    }

    /// Returns the band that holds `y`; positions beyond the die are in the first or the last.
    fn of(&self, y: f64) -> u32 {
        ((y - self.low) / self.height).clamp(0.0, (self.count - 1) as f64) as u32
    }

    /// Returns the first and last band of a cell: none that only its upper edge touches.
    fn span(&self, rect: &Rect) -> (u32, u32) {
        let (first, last) = (self.of(rect.yl), self.of(rect.yh));
        let touches = f64::from(last) * self.height + self.low >= rect.yh;
        (first, if touches { last.saturating_sub(1).max(first) } else { last })
    }

    fn nodes(&self, band: usize) -> &[u32] {
        &self.node[self.start[band] as usize..self.start[band + 1] as usize]
    }

    /// Whether the area that two cells share begins in `band`.
    fn begins(&self, band: usize, a: &Rect, b: &Rect) -> bool {
        self.of(a.yl.max(b.yl)) as usize == band
    }
}

/// Returns the area that two rectangles share, unless it is thinner than `tolerance` along an axis.
fn common(a: &Rect, b: &Rect, tolerance: f64) -> Option<Rect> {
    let both =
        Rect { xl: a.xl.max(b.xl), yl: a.yl.max(b.yl), xh: a.xh.min(b.xh), yh: a.yh.min(b.yh) };
    (both.width() > tolerance && both.height() > tolerance).then_some(both)
}

/// Returns the rectangle that the boxes of two cells share, and the area that the cells share in
/// it; `None` if they share none.
fn shared(design: &Design, a: &Cell, b: &Cell, tolerance: f64) -> Option<(Rect, f64)> {
    let place = common(&a.rect, &b.rect, tolerance)?;
    if !(a.outlined || b.outlined) {
        return Some((place, place.area()));
    }
    let of_b = || design.solid_rects(b.node as usize);
    let pairs = design.solid_rects(a.node as usize).flat_map(|a| of_b().map(move |b| (a, b)));
    let area: f64 = pairs.filter_map(|(a, b)| common(&a, &b, tolerance)).map(|r| r.area()).sum();
    (area > 0.0).then_some((place, area))
}

fn violation(a: &Cell, b: &Cell, (place, amount): (Rect, f64)) -> Violation {
    // Name the movable cell first, or the first of two movable cells.
    let swap = (!a.movable, a.node) > (!b.movable, b.node);
    let (first, second) = if swap { (b, a) } else { (a, b) };
    let (node, other) = (first.node, Some(second.node));
    Violation { fault: Fault::Overlap, node, other, amount, place }
}

fn in_band(
    design: &Design,
    bands: &Bands,
    band: usize,
    cells: &mut [Cell],
    tolerance: f64,
) -> (u64, f64, Worst) {
    cells.sort_unstable_by(|a, b| a.rect.xl.total_cmp(&b.rect.xl).then(a.node.cmp(&b.node)));
    let most = (PAIRS_PER_CELL * cells.len()).max(LEAST_PAIRS);
    let (mut count, mut area, mut worst, mut looked_at) = (0, 0.0, Worst::default(), 0);
    for (k, a) in cells.iter().enumerate() {
        let meets = |b: &&Cell| b.rect.xl < a.rect.xh - tolerance;
        for b in cells[k + 1..].iter().take_while(meets) {
            looked_at += 1;
            if !(a.movable || b.movable) {
                continue;
            }
            let Some(both) = shared(design, a, b, tolerance) else { continue };
            if bands.begins(band, &a.rect, &b.rect) {
                (count, area) = (count + 1, area + both.1);
                worst.add(violation(a, b, both));
            }
        }
        if looked_at > most {
            let begins = |y: f64| bands.of(y) as usize == band;
            let (mut count, mut area) = heap::count(cells, &begins, tolerance);
            // Boxes were counted, which share more than cells with an outline.
            for (k, a) in cells.iter().enumerate().filter(|(_, a)| a.outlined) {
                let others = cells.iter().enumerate().filter(|(other, b)| {
                    *other != k && { (a.movable || b.movable) && (!b.outlined || *other < k) }
                });
                for (_, b) in others.filter(|(_, b)| bands.begins(band, &a.rect, &b.rect)) {
                    let Some(boxes) = common(&a.rect, &b.rect, tolerance) else { continue };
                    let both = shared(design, a, b, tolerance);
                    count -= u64::from(both.is_none());
                    area -= boxes.area() - both.map_or(0.0, |(_, area)| area);
                }
            }
            return (count, area, of_the_largest(design, bands, band, cells, tolerance, most));
        }
    }
    (count, area, worst)
}

/// Returns the worst pairs of a heap, as far as `most` of them show them: the largest cells are
/// looked at first, and none that is smaller than what a pair must share.
fn of_the_largest(
    design: &Design,
    bands: &Bands,
    band: usize,
    cells: &mut [Cell],
    tolerance: f64,
    most: usize,
) -> Worst {
    let area = |cell: &Cell| cell.rect.area();
    cells.sort_unstable_by(|a, b| area(b).total_cmp(&area(a)).then(a.node.cmp(&b.node)));
    let (mut worst, mut looked_at) = (Worst::default(), 0);
    for (k, a) in cells.iter().enumerate() {
        for b in &cells[..k] {
            looked_at += 1;
            if !(a.movable || b.movable) || !bands.begins(band, &a.rect, &b.rect) {
                continue;
            }
            if let Some(both) = shared(design, a, b, tolerance) {
                worst.add(violation(a, b, both));
            }
        }
        if looked_at > most || area(a) < worst.least() {
            break;
        }
    }
    worst
}
