//! Pairs of cells that share area.
//!
//! The die is cut into bands of a row's height. A pair is found in the band where the area it
//! shares begins: there both are among the band's cells, sorted by their left edges, and every cell
//! is compared with those that begin before it ends. In a legal placement there are none.

use super::heap::{self, Cell};
use super::{Fault, Found, Violation, Worst};
use crate::design::{Design, NodeKind};
use crate::grid::Rect;
use crate::parallel;

/// Most bands.
const MOST_BANDS: usize = 1 << 16;
/// Entries in all bands, in cells; there are fewer bands where more would be needed.
const ENTRIES_PER_CELL: usize = 4;
/// Pairs that are looked at, in cells of a band; beyond that they are only counted.
const PAIRS_PER_CELL: usize = 64;
/// That number for a band of few cells.
const LEAST_PAIRS: usize = 1 << 14;

/// Returns the number of pairs, the area they share, and the worst.
pub(super) fn overlaps(design: &Design, die: &Rect, tolerance: f64) -> (u64, f64, Found) {
    let bands = Bands::new(design, die);
    let parts = parallel::map(bands.count, |band| {
        let cell = |&node: &u32| Cell {
            rect: design.rect(node as usize),
            node,
            movable: design.nodes.kind[node as usize] == NodeKind::Movable,
        };
        let mut cells: Vec<Cell> = bands.nodes(band).iter().map(cell).collect();
        in_band(&bands, band, &mut cells, tolerance)
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
    start: Vec<usize>,
    node: Vec<u32>,
}

impl Bands {
    fn new(design: &Design, die: &Rect) -> Self {
        let takes_part = |i: usize| {
            design.nodes.kind[i] != NodeKind::FixedOverlappable
                && design.nodes.width[i] > 0.0
                && design.nodes.height[i] > 0.0
        };
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
                takes_part(i).then(|| bands.span(&design.rect(i)))
            });
            let lengths = spans.iter().flatten().map(|(first, last)| (last - first) as u64 + 1);
            let most = (ENTRIES_PER_CELL * design.nodes.len() + MOST_BANDS) as u64;
            if bands.count == 1 || lengths.sum::<u64>() <= most {
                bands.fill(&spans);
                return bands;
            }
            bands.count = bands.count.div_ceil(2);
            bands.height = die.height() / bands.count as f64;
        }
    }

    /// A counting sort of the nodes by band.
    fn fill(&mut self, spans: &[Option<(u32, u32)>]) {
        let mut start = vec![0; self.count + 1];
        for (first, last) in spans.iter().flatten() {
            (*first..=*last).for_each(|band| start[band as usize + 1] += 1);
        }
        for band in 0..self.count {
            start[band + 1] += start[band];
        }
        let mut next = start.clone();
        self.node = vec![0; start[self.count]];
        for (i, span) in spans.iter().enumerate() {
            let Some((first, last)) = span else { continue };
            for band in *first..=*last {
                self.node[next[band as usize]] = i as u32;
                next[band as usize] += 1;
            }
        }
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
        &self.node[self.start[band]..self.start[band + 1]]
    }

    /// Whether the area that two cells share begins in `band`.
    fn begins(&self, band: usize, a: &Rect, b: &Rect) -> bool {
        self.of(a.yl.max(b.yl)) as usize == band
    }
}

/// Returns the area that two cells share, unless it is thinner than `tolerance` along an axis.
fn shared(a: &Rect, b: &Rect, tolerance: f64) -> Option<Rect> {
    let both =
        Rect { xl: a.xl.max(b.xl), yl: a.yl.max(b.yl), xh: a.xh.min(b.xh), yh: a.yh.min(b.yh) };
    (both.width() > tolerance && both.height() > tolerance).then_some(both)
}

fn violation(a: &Cell, b: &Cell, place: Rect) -> Violation {
    // The movable one is named first, of two the one that comes first.
    let swap = (!a.movable, a.node) > (!b.movable, b.node);
    let (first, second) = if swap { (b, a) } else { (a, b) };
    let (node, other, amount) = (first.node, Some(second.node), place.area());
    Violation { fault: Fault::Overlap, node, other, amount, place }
}

fn in_band(bands: &Bands, band: usize, cells: &mut [Cell], tolerance: f64) -> (u64, f64, Worst) {
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
            let Some(place) = shared(&a.rect, &b.rect, tolerance) else { continue };
            if bands.begins(band, &a.rect, &b.rect) {
                (count, area) = (count + 1, area + place.area());
                worst.add(violation(a, b, place));
            }
        }
        if looked_at > most {
            let begins = |y: f64| bands.of(y) as usize == band;
            let (count, area) = heap::count(cells, &begins, tolerance);
            return (count, area, of_the_largest(bands, band, cells, tolerance, most));
        }
    }
    (count, area, worst)
}

/// Returns the worst pairs of a heap, as far as `most` of them show them: the largest cells are
/// looked at first, and none that is smaller than what a pair must share.
fn of_the_largest(
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
            if let Some(place) = shared(&a.rect, &b.rect, tolerance) {
                worst.add(violation(a, b, place));
            }
        }
        if looked_at > most || area(a) < worst.least() {
            break;
        }
    }
    worst
}
