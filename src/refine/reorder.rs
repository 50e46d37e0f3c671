//! Neighbours in a row in another order.

use super::state::{Change, Spot, State};
use super::wires::Together;
use crate::rows::Span;

/// Neighbours that are put into every order.
pub(super) const WINDOW: usize = 4;

/// Neighbours: cells from `first` on, [`WINDOW`] at most, of the band at the bottom of a row.
#[derive(Clone, Copy)]
pub(super) struct Window {
    row: u32,
    first: u32,
}

/// Windows that hold all neighbours of all rows, from the cell with number `offset` of each on.
pub(super) fn windows(state: &State, offset: usize) -> Vec<Window> {
    let of_row = |row: usize| {
        let cells = state.bands[state.rows[row].band as usize].cells.len();
        let first = (offset..cells).step_by(WINDOW);
        first.map(move |first| Window { row: row as u32, first: first as u32 })
    };
    state.searched.clone().flat_map(of_row).collect()
}

/// Adds to `changes` the best order of the cells of a window, if it is another than they have; the
/// gaps between them stay in order.
pub(super) fn propose(
    state: &State,
    window: Window,
    together: &mut Together,
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
    state.wires.leave_out_together(cells, together);
    let centre = |k: usize, site: i32| row.left(site) + state.cells[cells[k] as usize].centre;
    // By cell.
    let (mut sites, mut x) = ([0; WINDOW], [0.0; WINDOW]);
    for (k, standing) in standing.iter().enumerate() {
        x[k] = centre(k, standing.span.left);
    }
    let mut best = (together.length(&x) - state.least_gain, None);
    each_order(count, |order| {
        let mut site = all.left;
        for (place, &k) in order.iter().enumerate() {
            (sites[k], x[k]) = (site, centre(k, site));
            site += standing[k].span.width();
            if let Some(next) = standing.get(place + 1) {
                site += next.span.left - standing[place].span.right;
            }
        }
        let length = together.length(&x);
        if length < best.0 {
            best = (length, Some(sites));
        }
    });
    for (&cell, site) in cells.iter().zip(best.1.into_iter().flatten()) {
        let spot = state.cells[cell as usize].spot;
        if site != spot.site {
            changes.push(Change { cell, spot: Spot { site, ..spot } });
        }
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
