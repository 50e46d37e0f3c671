//! Heaps of cells, in which overlapping pairs are counted but not listed.
//!
//! A line sweeps upwards. When a cell begins, the cells on the line that overlap its width
//! are all except those that end to its left or begin to its right: two look-ups in Fenwick trees
//! over the left and the right edges (P. M. Fenwick, "A new data structure for cumulative frequency
//! tables", Software: Practice and Experience 24, 1994). The trees also have the edges'
//! coordinates, and so give the total length that a cell shares with the others. The area that
//! pairs share is the integral of that length over y. O(n log n) for any heap.

use crate::grid::Rect;

/// A cell of a heap.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cell {
    pub(super) rect: Rect,
    pub(super) node: u32,
    pub(super) movable: bool,
    /// It covers only parts of its box.
    pub(super) outlined: bool,
}

/// Returns the number of pairs with a movable cell whose shared area begins at a y that `begins`
/// accepts, and the area that they share.
pub(super) fn count(cells: &[Cell], begins: &dyn Fn(f64) -> bool, tolerance: f64) -> (u64, f64) {
    let all: Vec<&Cell> = cells.iter().collect();
    let fixed: Vec<&Cell> = cells.iter().filter(|c| !c.movable).collect();
    // Pairs of fixed cells are no fault.
    let difference = |of: &dyn Fn(&[&Cell]) -> f64| of(&all) - of(&fixed);
    let pairs = difference(&|cells| Sweep::new(cells, tolerance).pairs(begins));
    let area = difference(&|cells| Sweep::new(cells, 0.0).area(begins));
    (pairs as u64, area.max(0.0))
}

/// An event at one position of the line.
#[derive(Clone, Copy)]
struct Event {
    y: f64,
    starts: bool,
    cell: usize,
}

/// Edges of cells, less `shrunk` by half on every side, and the places where they begin and end.
struct Sweep {
    /// Left and right edges of each cell.
    sides: Vec<[f64; 2]>,
    /// Bottom edges, not shrunk.
    bottoms: Vec<f64>,
    /// Ends before starts, of one y.
    events: Vec<Event>,
    /// Of the cells under the line.
    under: Edges,
}

impl Sweep {
    fn new(cells: &[&Cell], shrunk: f64) -> Self {
        let half = shrunk / 2.0;
        let kept: Vec<_> = cells
            .iter()
            .map(|c| Rect {
                xl: c.rect.xl + half,
                yl: c.rect.yl + half,
                xh: c.rect.xh - half,
                yh: c.rect.yh - half,
            })
            .zip(cells)
            .filter(|(rect, _)| rect.width() > 0.0 && rect.height() > 0.0)
            .collect();
        let mut events: Vec<Event> = Vec::with_capacity(2 * kept.len());
        for (cell, (rect, _)) in kept.iter().enumerate() {
            events.push(Event { y: rect.yl, starts: true, cell });
            events.push(Event { y: rect.yh, starts: false, cell });
        }
        events.sort_by(|a, b| a.y.total_cmp(&b.y).then(a.starts.cmp(&b.starts)));
        let sides: Vec<[f64; 2]> = kept.iter().map(|(rect, _)| [rect.xl, rect.xh]).collect();
        Sweep {
            under: Edges::new(&sides),
            sides,
            bottoms: kept.iter().map(|(_, cell)| cell.rect.yl).collect(),
            events,
        }
    }

    fn pairs(mut self, begins: &dyn Fn(f64) -> bool) -> f64 {
        let (mut pairs, mut under) = (0u64, 0u64);
        for event in std::mem::take(&mut self.events) {
            let [xl, xh] = self.sides[event.cell];
            if !event.starts {
                under -= 1;
            } else {
                if begins(self.bottoms[event.cell]) {
                    let left = self.under.rights.up_to(xl).0;
                    let right = under - self.under.lefts.below(xh).0;
                    pairs += under - left - right;
                }
                under += 1;
            }
            self.under.change([xl, xh], event.starts);
        }
        pairs as f64
    }

    /// Returns the length that the pairs which began share, integrated over y. A pair that began
    /// shares its length until one of the two ends: the length of every cell with those that came
    /// before is taken back when it ends, with those that came later when they end.
    fn area(mut self, begins: &dyn Fn(f64) -> bool) -> f64 {
        // Two cells that both began elsewhere are no pair here: their shared area is left out when
        // the second of them begins, and so must be when the first of them ends.
        let (mut area, mut length, mut before) = (0.0, 0.0, f64::NEG_INFINITY);
        let (mut is_early, mut early) = (vec![false; self.sides.len()], Edges::new(&self.sides));
        for event in std::mem::take(&mut self.events) {
            if length != 0.0 {
                area += length * (event.y - before);
            }
            before = event.y;
            let (cell, sides) = (event.cell, self.sides[event.cell]);
            if event.starts {
                is_early[cell] = !begins(self.bottoms[cell]);
                match is_early[cell] {
                    true => early.change(sides, true),
                    false => length += self.under.shared(sides),
                }
                self.under.change(sides, true);
            } else {
                self.under.change(sides, false);
                length -= self.under.shared(sides);
                if is_early[cell] {
                    early.change(sides, false);
                    length += early.shared(sides);
                }
            }
        }
        area
    }
}

/// The left and the right edges of cells that come and go.
struct Edges {
    lefts: Fenwick,
    rights: Fenwick,
}

impl Edges {
    /// Of none yet of those with these sides.
    fn new(sides: &[[f64; 2]]) -> Self {
        let [lefts, rights] = [0, 1].map(|side| Fenwick::new(sides.iter().map(|s| s[side])));
        Edges { lefts, rights }
    }

    fn change(&mut self, [xl, xh]: [f64; 2], comes: bool) {
        self.lefts.change(xl, comes);
        self.rights.change(xh, comes);
    }

    /// Returns Σ over the cells of the length of `[xl, xh]` that they cover.
    fn shared(&self, [xl, xh]: [f64; 2]) -> f64 {
        // max(0, x − e) summed over the edges e of a tree.
        let beyond = |tree: &Fenwick, x: f64| {
            let (count, sum) = tree.below(x);
            x * count as f64 - sum
        };
        let up_to = |x| beyond(&self.lefts, x) - beyond(&self.rights, x);
        up_to(xh) - up_to(xl)
    }
}

/// Numbers that come and go, and how many there are below a bound, and their sum.
struct Fenwick {
    /// Ascending, none twice.
    values: Vec<f64>,
    nodes: Vec<(u64, f64)>,
}

impl Fenwick {
    fn new(values: impl Iterator<Item = f64>) -> Self {
        let mut values: Vec<f64> = values.collect();
        values.sort_unstable_by(f64::total_cmp);
        values.dedup();
        let nodes = vec![(0, 0.0); values.len() + 1];
        Fenwick { values, nodes }
    }

    /// Adds or removes `value`, one of those given to [`Fenwick::new`].
    fn change(&mut self, value: f64, comes: bool) {
        let mut k = self.values.partition_point(|v| *v < value) + 1;
        while k < self.nodes.len() {
            let (count, sum) = &mut self.nodes[k];
            if comes {
                (*count, *sum) = (*count + 1, *sum + value);
            } else {
                (*count, *sum) = (*count - 1, *sum - value);
            }
            k += k & k.wrapping_neg();
        }
    }

    /// Returns the number and sum of those below `bound`.
    fn below(&self, bound: f64) -> (u64, f64) {
        self.first(self.values.partition_point(|v| *v < bound))
    }

    /// Returns the number and sum of those up to `bound`.
    fn up_to(&self, bound: f64) -> (u64, f64) {
        self.first(self.values.partition_point(|v| *v <= bound))
    }

    fn first(&self, mut k: usize) -> (u64, f64) {
        let (mut count, mut sum) = (0, 0.0);
        while k > 0 {
            let node = self.nodes[k];
            (count, sum) = (count + node.0, sum + node.1);
            k &= k - 1;
        }
        (count, sum)
    }
}
