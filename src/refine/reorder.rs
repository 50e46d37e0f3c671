//! Neighbours in a row in another order.

use super::state::{Change, Spot, State};
use super::wires::WindowNets;
use crate::parallel;
use crate::rows::Span;

/// Neighbours that are put into every order.
pub(super) const WINDOW: usize = 4;
/// Sets of them.
const SETS: usize = 1 << WINDOW;

/// Neighbours: cells from `first` on, [`WINDOW`] at most, of the band at the bottom of a row.
#[derive(Clone, Copy)]
pub(super) struct Window {
    row: u32,
    first: u32,
}

/// Windows that hold all neighbours of all rows, from the cell with number `offset` of each on.
pub(super) fn windows(state: &State, offset: usize) -> Vec<Window> {
    let of_row = |k: usize| {
        let row = state.searched.start + k;
        let cells = state.bands[state.rows[row].band as usize].cells.len();
        let first = (offset..cells).step_by(WINDOW);
        first.map(|first| Window { row: row as u32, first: first as u32 }).collect::<Vec<_>>()
    };
    parallel::concat(&parallel::map(state.searched.len(), of_row))
}

/// Adds to `changes` the best order of the cells of a window, if it is another than they have; the
/// gaps between them stay in order.
pub(super) fn propose(
    state: &State,
    window: Window,
    nets: &mut WindowNets,
    changes: &mut Vec<Change>,
) {
    let row = &state.rows[window.row as usize];
    let standing = &state.bands[row.band as usize].cells[window.first as usize..];
    let standing = &standing[..standing.len().min(WINDOW)];
    let count = standing.len();
    let here =
        |cell: u32| state.cells[cell as usize].spot.row == window.row && state.is_single(cell);
    let (Some(first), Some(last)) = (standing.first(), standing.last()) else { return };
    let all = Span { left: first.span.left, right: last.span.right };
    let of_first = &state.cells[first.cell as usize];
    // Of one segment, and so of one fence.
    if !standing.iter().all(|s| here(s.cell))
        || !state.holds(window.row as usize, all, of_first.access)
    {
        return;
    }
    let mut cells = [0; WINDOW];
    for (cell, standing) in cells.iter_mut().zip(standing) {
        *cell = standing.cell;
    }
    let cells = &cells[..count];
    state.wires.leave_out_together(cells, nets);
    // By the set of the cells at the left of the next one, the site of that one.
    let mut sites = [all.left; SETS];
    for (set, site) in sites.iter_mut().enumerate().take(1 << count) {
        let in_set = |k: &usize| set >> k & 1 == 1;
        *site += (0..count).filter(in_set).map(|k| standing[k].span.width()).sum::<i32>();
        let gaps = standing.windows(2).take(set.count_ones() as usize);
        *site += gaps.map(|pair| pair[1].span.left - pair[0].span.right).sum::<i32>();
    }
    // By cell and that set, the centre of the cell and the length of the nets that it has alone.
    let (mut x, mut lengths) = ([[0.0; SETS]; WINDOW], [[0.0; SETS]; WINDOW]);
    let sets = |k: usize| (0..1 << count).filter(move |set| set >> k & 1 == 0);
    for k in 0..count {
        let centre = state.cells[cells[k] as usize].centre;
        sets(k).for_each(|set| x[k][set] = row.left(sites[set]) + centre);
    }
    let everywhere = (1 << count) - 1;
    for &(k, net) in &nets.of_one {
        let k = k as usize;
        if !net.is_flat(x[k][0], x[k][everywhere & !(1 << k)]) {
            sets(k).for_each(|set| lengths[k][set] += net.length(x[k][set], false));
        }
    }
    let mut centres = [0.0; WINDOW];
    let mut length = |order: &[usize], best: f64, least: f64| {
        let (mut set, mut sum) = (0, 0.0);
        for &k in order {
            (centres[k], sum) = (x[k][set], sum + lengths[k][set]);
            set |= 1 << k;
        }
        if sum + least < best { sum + nets.shared_length(&centres) } else { f64::INFINITY }
    };
    let now: [usize; WINDOW] = std::array::from_fn(|k| k);
    let now = length(&now[..count], f64::INFINITY, 0.0);
    let (mut best, mut found) = (now - state.least_gain, None);
    let shared = nets.least_shared_length();
    let shortest = |k| sets(k).map(|set| lengths[k][set]).fold(f64::INFINITY, f64::min);
    if (0..count).map(shortest).sum::<f64>() + shared >= best {
        return;
    }
    each_order(count, |order| {
        let length = length(order, best, shared);
        if length < best {
            let mut copy = [0; WINDOW];
            copy[..count].copy_from_slice(order);
            (best, found) = (length, Some(copy));
        }
    });
    let mut set = 0;
    for &k in found.iter().flat_map(|order| &order[..count]) {
        let spot = state.cells[cells[k] as usize].spot;
        if sites[set] != spot.site {
            changes.push(Change { cell: cells[k], spot: Spot { site: sites[set], ..spot } });
        }
        set |= 1 << k;
    }
}

/// Calls `each` with every order of `0..count` but the first, in lexicographic order.
fn each_order(count: usize, mut each: impl FnMut(&[usize])) {
    let mut order: [usize; WINDOW] = std::array::from_fn(|k| k);
    let order = &mut order[..count];
    while let Some(k) = (1..count).rev().find(|&k| order[k - 1] < order[k]) {
        let after = (k..count).rev().find(|&j| order[j] > order[k - 1]).unwrap_or(k);
        order.swap(k - 1, after);
        order[k..].reverse();
        each(order);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_order_comes_once() {
        let mut seen = Vec::new();
        each_order(4, |order| seen.push(order.to_vec()));
        assert_eq!((seen.len(), &seen[0][..]), (23, &[0, 1, 3, 2][..]));
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), 23);
        each_order(1, |_| panic!("one cell has one order"));
    }
}
