//! Spreads desired positions in overfull areas.
//!
//! Cells that were never placed, or are all at one point, find no free sites near their desired
//! positions. If they were placed one by one, each search would be longer. Instead, the die is
//! halved repeatedly. If more cells have desired positions in one half than fit, those nearest to
//! the cut move to the other half, as few as necessary. O(n log n) from any start. Spread
//! placements do not change.

use super::shelf::Wish;
use crate::parallel::{self, Groups, group};
use crate::rows::{Access, Cells, Sites};

/// Of the area of all cells, the share that must be in excess of the free area of its bins before
/// wishes are spread. Global placements have less than a twentieth.
const EXCESS: f64 = 0.2;
/// Cells of a bin, on average of the free area.
const CELLS_OF_BIN: f64 = 16.0;
/// The share of the free area that spread cells fill, if they do not need more.
const FILLED: f64 = 0.9;
/// Bins along an axis at most.
const MOST_BINS: f64 = 2048.0;

/// A cell as a point with an area.
#[derive(Clone, Copy)]
struct Item {
    cell: u32,
    /// Its centre, in bins.
    at: [f64; 2],
    area: f64,
}

/// Spreads the wishes of cells whose areas have much too little room. `pitch` is that of the
/// lattice of the cells, the unit of the wishes.
pub(super) fn spread(sites: &Sites, cells: &Cells, pitch: f64, wishes: &mut [Wish]) {
    // Cells with access to the same areas share the room there.
    let all = cells.cells();
    let (accesses, of_cells) = parallel::number(all.len(), |k| all[k].access);
    let Groups { start, items } = match accesses.len() {
        // One thread would fill a single group.
        1 => {
            let items = parallel::map(all.len(), |k| k as u32);
            Groups { start: vec![0, items.len() as u32], items }
        }
        count => group(count, all.len(), |k| of_cells[k]),
    };
    for (k, (access, _)) in accesses.into_iter().enumerate() {
        let members = &items[start[k] as usize..start[k + 1] as usize];
        let Some(room) = Room::new(sites, cells, access, pitch, members.len()) else { continue };
        let height = |k: u32| {
            let bands = cells.rows(&cells.cells()[k as usize])[0].bands();
            bands.map(|band| sites.bands()[band].yh - sites.bands()[band].yl).sum::<f64>() / pitch
        };
        let half = |k: u32| [0.5 * f64::from(cells.cells()[k as usize].width), 0.5 * height(k)];
        let at = |half: [f64; 2], wish: Wish| room.bins_at([wish.x + half[0], wish.y + half[1]]);
        let item = |nth: usize| {
            let (cell, half) = (members[nth], half(members[nth]));
            Item { cell, at: at(half, wishes[cell as usize]), area: 4.0 * half[0] * half[1] }
        };
        if !room.is_exceeded(members.len(), &item) {
            continue;
        }
        let mut items = parallel::map(members.len(), item);
        room.halve(&mut items, [0, 0], room.bins);
        for item in items {
            let (wish, half) = (&mut wishes[item.cell as usize], half(item.cell));
            if at(half, *wish) != item.at {
                let [x, y] = room.place_of(item.at);
                *wish = Wish { x: x - half[0], y: y - half[1] };
            }
        }
    }
}

/// The free area by bin.
struct Room {
    low: [f64; 2],
    /// Lengths of a bin.
    size: [f64; 2],
    bins: [usize; 2],
    /// Sums of the free area over bins `[0, i) × [0, j)`, with `bins[1] + 1` values for each i.
    sums: Vec<f64>,
}

impl Room {
    /// The room for so many cells with this access; `None` if there is none.
    fn new(sites: &Sites, cells: &Cells, access: Access, pitch: f64, count: usize) -> Option<Self> {
        let first = cells.rows(cells.cells().first()?)[0].row as usize;
        let lattice = sites.rows()[first].lattice;
        let bands = || (0..sites.bands().len()).filter(|&b| sites.bands()[b].lattice == lattice);
        let runs = |band: usize| {
            sites.free_for(access, band).iter().filter(|run| run.fence == access.fence)
        };
        let (mut low, mut high, mut free) = ([f64::INFINITY; 2], [f64::NEG_INFINITY; 2], 0.0);
        for band in bands() {
            let (yl, yh) = (sites.bands()[band].yl / pitch, sites.bands()[band].yh / pitch);
            for run in runs(band) {
                low = [low[0].min(f64::from(run.start)), low[1].min(yl)];
                high = [high[0].max(f64::from(run.end)), high[1].max(yh)];
                free += f64::from(run.sites()) * (yh - yl);
            }
        }
        if free <= 0.0 {
            return None;
        }
        let side = (free * CELLS_OF_BIN / count as f64).sqrt();
        let row = sites.usual_height() / pitch;
        let count = |axis: usize, least: f64| {
            ((high[axis] - low[axis]) / side.max(least)).ceil().clamp(1.0, MOST_BINS)
        };
        let counts = [count(0, 1.0), count(1, row)];
        let size = [(high[0] - low[0]) / counts[0], (high[1] - low[1]) / counts[1]];
        let bins = counts.map(|count| count as usize);
        let mut room = Room { low, size, bins, sums: vec![0.0; (bins[0] + 1) * (bins[1] + 1)] };
        for band in bands() {
            let (yl, yh) = (sites.bands()[band].yl / pitch, sites.bands()[band].yh / pitch);
            for run in runs(band) {
                let (start, end) = (f64::from(run.start), f64::from(run.end));
                room.add([start, end], [yl, yh]);
            }
        }
        for i in 1..=bins[0] {
            for j in 1..=bins[1] {
                let at = |i: usize, j: usize| i * (bins[1] + 1) + j;
                let before = room.sums[at(i - 1, j)] + room.sums[at(i, j - 1)];
                room.sums[at(i, j)] += before - room.sums[at(i - 1, j - 1)];
            }
        }
        Some(room)
    }

    /// Adds a rectangle to the areas of its bins.
    fn add(&mut self, x: [f64; 2], y: [f64; 2]) {
        let parts = |range: [f64; 2], axis: usize| {
            let [from, to] = range.map(|v| (v - self.low[axis]) / self.size[axis]);
            let last = self.bins[axis] - 1;
            let (first, end) = ((from as usize).min(last), (to.ceil() as usize).clamp(1, last + 1));
            let part = move |bin: usize| (bin, to.min(bin as f64 + 1.0) - from.max(bin as f64));
            (first..end.max(first + 1)).map(part).collect::<Vec<_>>()
        };
        let area = self.size[0] * self.size[1];
        let (x, y) = (parts(x, 0), parts(y, 1));
        for &(i, of_x) in &x {
            for &(j, of_y) in &y {
                self.sums[(i + 1) * (self.bins[1] + 1) + j + 1] += of_x * of_y * area;
            }
        }
    }

    /// Returns a place in bins, within them.
    fn bins_at(&self, at: [f64; 2]) -> [f64; 2] {
        [0, 1].map(|axis| {
            let most = self.bins[axis] as f64;
            ((at[axis] - self.low[axis]) / self.size[axis]).clamp(0.0, most - 1e-9 * most)
        })
    }

    fn place_of(&self, at: [f64; 2]) -> [f64; 2] {
        [0, 1].map(|axis| self.low[axis] + at[axis] * self.size[axis])
    }

    /// Returns the free area of bins `low..high`.
    fn free(&self, low: [usize; 2], high: [usize; 2]) -> f64 {
        let at = |i: usize, j: usize| self.sums[i * (self.bins[1] + 1) + j];
        at(high[0], high[1]) - at(low[0], high[1]) - at(high[0], low[1]) + at(low[0], low[1])
    }

    /// Returns whether much of the area of `count` cells has no room in its bin.
    fn is_exceeded(&self, count: usize, item: &(impl Fn(usize) -> Item + Sync)) -> bool {
        const MOST_BLOCKS: usize = 16;
        let [columns, rows] = self.bins;
        // Sums depend on the number of blocks, which does not depend on the number of threads.
        let blocks = (count / (columns * rows)).clamp(1, MOST_BLOCKS);
        let blocks = parallel::map_blocks(count, count.div_ceil(blocks), |block| {
            let mut asked = vec![0.0; columns * rows];
            for Item { at, area, .. } in block.map(item) {
                asked[at[0] as usize * rows + at[1] as usize] += area;
            }
            asked
        });
        let asked = |bin: usize| blocks.iter().map(|asked| asked[bin]).sum::<f64>();
        let excess = |bin: usize| {
            let [i, j] = [bin / rows, bin % rows];
            (asked(bin) - self.free([i, j], [i + 1, j + 1])).max(0.0)
        };
        let all = |of: &(dyn Fn(usize) -> f64 + Sync)| parallel::sum(columns * rows, of);
        all(&excess) > EXCESS * all(&asked)
    }

    /// Halves bins `low..high`, which have room for the items in all, and moves items so that each
    /// half has room for its own; and so on for both halves.
    fn halve(&self, items: &mut [Item], low: [usize; 2], high: [usize; 2]) {
        let lengths = [0, 1].map(|axis| (high[axis] - low[axis]) as f64 * self.size[axis]);
        let axis = usize::from(lengths[1] > lengths[0] && high[1] - low[1] > 1);
        let axis = if high[axis] - low[axis] > 1 { axis } else { 1 - axis };
        if items.len() < 2 || high[axis] - low[axis] < 2 {
            return;
        }
        let cut = usize::midpoint(low[axis], high[axis]);
        let (mut end, mut start) = (high, low);
        (end[axis], start[axis]) = (cut, cut);
        let (free, all_free) = (self.free(low, end), self.free(low, high));
        let asked: f64 = items.iter().map(|item| item.area).sum();
        let filled = (asked / all_free.max(f64::MIN_POSITIVE)).max(FILLED);
        let cut = cut as f64;
        let mut count = partition(items, |item| item.at[axis] < cut);
        let below: f64 = items[..count].iter().map(|item| item.area).sum();
        let (room, room_above) = (free * filled, (all_free - free) * filled);
        let near = |a: &Item, b: &Item| {
            let by_axis = a.at[axis].total_cmp(&b.at[axis]);
            // Of cells at one place, those nearest along the other axis stay together.
            by_axis.then(a.at[1 - axis].total_cmp(&b.at[1 - axis])).then(a.cell.cmp(&b.cell))
        };
        if below > room {
            items[..count].sort_unstable_by(near);
            let mut excess = below - room;
            while excess > 0.0 && count > 0 {
                count -= 1;
                excess -= items[count].area;
                items[count].at[axis] = cut;
            }
        } else if asked - below > room_above {
            items[count..].sort_unstable_by(near);
            let mut excess = asked - below - room_above;
            while excess > 0.0 && count < items.len() {
                excess -= items[count].area;
                items[count].at[axis] = cut - 1e-9 * cut;
                count += 1;
            }
        }
        let (before, after) = items.split_at_mut(count);
        rayon::join(|| self.halve(before, low, end), || self.halve(after, start, high));
    }
}

/// Brings the items that `is_first` accepts before the others, in order. Returns their number.
fn partition(items: &mut [Item], is_first: impl Fn(&Item) -> bool) -> usize {
    let (first, others): (Vec<Item>, Vec<Item>) = items.iter().partition(|item| is_first(item));
    items[..first.len()].copy_from_slice(&first);
    items[first.len()..].copy_from_slice(&others);
    first.len()
}
