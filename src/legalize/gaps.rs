//! Gaps of one site between neighbours in a row, which some processes forbid. Cells move until
//! every gap is closed or at least two sites wide.
//!
//! A stretch is all cells of one row between two walls: ends of a run, and cells of several rows.
//! Its cells keep their order, and each moves by a few sites. A dynamic program over the moves of
//! one cell after the other finds the least displacement. If a stretch has one free site in all,
//! one of its cells goes to another row.

use super::shelf::Shelf;
use crate::parallel;
use crate::rows::{AllowedRow, Span};

/// Sites that a cell moves at first, and if that is not enough.
const MOVES: [i32; 2] = [6, 32];

/// Rows that are looked at for a cell of several rows.
const ROWS_OF_HIGH_CELLS: usize = 12;

/// A cell or a wall in a stretch.
#[derive(Clone, Copy)]
struct Item {
    span: Span,
    /// Sites of padding within the span.
    padding: i32,
    /// `None` for a wall.
    cell: Option<u32>,
}

impl Item {
    /// Returns whether exactly one site is free between an item that ends at `end` and one that
    /// begins at `start`, paddings included.
    fn one_site(end: (i32, i32), start: (i32, i32)) -> bool {
        start.0 - end.0 + end.1 + start.1 == 1
    }
}

/// Removes the gaps of one site between the cells of a shelf, as far as possible.
pub(super) fn remove_one_site_gaps(shelf: &mut Shelf<'_>) {
    let bands = shelf.sites.bands().len();
    move_high_cells(shelf);
    let moves = parallel::map(bands, |band| {
        let stretches = stretches(shelf, band);
        let shelf = &*shelf;
        stretches.iter().filter(|s| has_one_site_gap(s)).fold(
            (Vec::new(), Vec::new()),
            |(mut moves, mut unsolved), stretch| {
                match solve(shelf, stretch) {
                    Some(sites) => moves.extend(sites),
                    None => unsolved.push((band, stretch[0].span)),
                }
                (moves, unsolved)
            },
        )
    });
    let mut unsolved = Vec::new();
    for (moves, more) in moves {
        shelf.move_in_rows(&moves);
        unsolved.extend(more);
    }
    for (band, wall) in unsolved {
        // Cells have come and gone since, but no wall.
        let mut now = stretches(shelf, band).into_iter();
        if let Some(stretch) = now.find(|stretch| stretch[0].span == wall)
            && has_one_site_gap(&stretch)
        {
            move_one_away(shelf, &stretch);
        }
    }
}

/// Moves cells of several rows that are one site from another such cell or from the end of a run.
fn move_high_cells(shelf: &mut Shelf<'_>) {
    for k in 0..shelf.cells.cells().len() as u32 {
        let Some((row, x)) = shelf.place_of(k) else { continue };
        if row.bands().len() < 2 {
            continue;
        }
        let faults = |shelf: &Shelf<'_>, row: AllowedRow| -> usize {
            let (padding, width) = (shelf.cell(k).padding, shelf.width(k));
            let x = shelf.place_of(k).map_or(0, |(_, x)| x);
            let of_band = |band| {
                let [left, right] = shelf.beside(k, band);
                let own = [(x, padding), (x + width, padding)];
                let before = left.is_some_and(|end| Item::one_site(end, own[0]));
                let after = right.is_some_and(|start| Item::one_site(own[1], start));
                usize::from(before) + usize::from(after)
            };
            row.bands().map(of_band).sum()
        };
        if faults(shelf, row) == 0 {
            continue;
        }
        let mark = shelf.mark();
        shelf.remove(k);
        let (allowed, wish) = (shelf.cells.rows(shelf.cell(k)), shelf.wishes[k as usize].x as i32);
        let (mut best, mut least) = ((row, x), f64::INFINITY);
        for (nth, _) in shelf.rows_around(k, allowed).take(ROWS_OF_HIGH_CELLS) {
            let row = allowed[nth];
            for site in wish - MOVES[1]..=wish + MOVES[1] {
                let distance = shelf.distance(k, row.row, site);
                if distance < least && shelf.is_free(k, row, site) {
                    let mark = shelf.mark();
                    shelf.put_at(k, row, site);
                    if faults(shelf, row) == 0 {
                        (best, least) = ((row, site), distance);
                    }
                    shelf.undo(mark);
                }
            }
        }
        match least.is_finite() {
            true => shelf.put_at(k, best.0, best.1),
            false => shelf.undo(mark),
        }
    }
}

/// Returns the stretches of a band: each begins and ends with a wall.
fn stretches(shelf: &Shelf<'_>, band: usize) -> Vec<Vec<Item>> {
    let mut all = Vec::new();
    for run in shelf.sites.free(band) {
        let wall = |at: i32| Item { span: Span { left: at, right: at }, padding: 0, cell: None };
        let mut stretch = vec![wall(run.start)];
        for occupant in shelf.cells_of(band, Span { left: run.start, right: run.end }) {
            let cell = occupant.cell;
            let padding = shelf.cell(cell).padding;
            let item = Item { span: occupant.span, padding, cell: Some(cell) };
            stretch.push(item);
            if shelf.bands_of(cell).len() > 1 {
                all.push(std::mem::replace(&mut stretch, vec![item]));
            }
        }
        stretch.push(wall(run.end));
        all.push(stretch);
    }
    all
}

fn has_one_site_gap(stretch: &[Item]) -> bool {
    let pair = |p: &[Item]| {
        Item::one_site((p[0].span.right, p[0].padding), (p[1].span.left, p[1].padding))
    };
    stretch.windows(2).any(pair)
}

/// Returns sites for the cells of a stretch without gaps of one site, with the least displacement;
/// `None` if there are none near their places.
fn solve(shelf: &Shelf<'_>, stretch: &[Item]) -> Option<Vec<(u32, i32)>> {
    MOVES.iter().find_map(|&most| solve_within(shelf, stretch, most, None))
}

/// [`solve`] with moves of at most so many sites. A cell may come to the row `new`.
fn solve_within(
    shelf: &Shelf<'_>,
    stretch: &[Item],
    most: i32,
    new: Option<(u32, AllowedRow)>,
) -> Option<Vec<(u32, i32)>> {
    let [first, cells @ .., last] = stretch else { return None };
    let ends = [(first.span.right, first.padding), (last.span.left, last.padding)];
    let count = 2 * most as usize + 1;
    let site = |item: &Item, step: usize| item.span.left - most + step as i32;
    // By cell and step: the least cost, and the step of the cell before.
    let mut costs: Vec<Vec<(f64, usize)>> = Vec::with_capacity(cells.len());
    for (k, item) in cells.iter().enumerate() {
        let of_step = |step: usize| {
            let (x, cell) = (site(item, step), item.cell.unwrap_or(0));
            let now = shelf.place_of(cell).map(|(row, _)| row);
            let row = new.filter(|(k, _)| *k == cell).map(|(_, row)| row).or(now);
            if !row.is_some_and(|row| shelf.may_lie(cell, row, x)) {
                return (f64::INFINITY, 0);
            }
            let own = (f64::from(x) - shelf.wishes[cell as usize].x).abs();
            let follows = |end: (i32, i32)| x >= end.0 && !Item::one_site(end, (x, item.padding));
            let Some(before) = k.checked_sub(1) else {
                return (if follows(ends[0]) { own } else { f64::INFINITY }, 0);
            };
            let left = &cells[before];
            let best = (0..count)
                .filter(|&s| follows((site(left, s) + left.span.width(), left.padding)))
                .map(|s| (costs[before][s].0 + own, s))
                .min_by(|a, b| a.0.total_cmp(&b.0));
            best.unwrap_or((f64::INFINITY, 0))
        };
        costs.push((0..count).map(of_step).collect());
    }
    let Some(item) = cells.last() else {
        return (!Item::one_site(ends[0], ends[1])).then(Vec::new);
    };
    let fits = |&step: &usize| {
        let end = site(item, step) + item.span.width();
        end <= ends[1].0 && !Item::one_site((end, item.padding), ends[1])
    };
    let cost = |step: usize| costs[cells.len() - 1][step].0;
    let best = (0..count).filter(fits).min_by(|&a, &b| cost(a).total_cmp(&cost(b)));
    let mut step = best.filter(|&step| cost(step).is_finite())?;
    let mut sites = Vec::with_capacity(cells.len());
    for (item, costs) in cells.iter().zip(&costs).rev() {
        sites.push((item.cell?, site(item, step)));
        step = costs[step].1;
    }
    sites.reverse();
    Some(sites)
}

/// Moves one cell of a stretch to another row, so that both have no gaps of one site. If that is
/// not possible, all cells stay.
fn move_one_away(shelf: &mut Shelf<'_>, stretch: &[Item]) {
    for k in stretch[1..stretch.len() - 1].iter().filter_map(|item| item.cell) {
        let rest: Vec<Item> = stretch.iter().filter(|item| item.cell != Some(k)).copied().collect();
        let Some(rest) = solve(shelf, &rest) else { continue };
        let allowed = shelf.cells.rows(shelf.cell(k));
        let around: Vec<usize> = shelf.rows_around(k, allowed).map(|(nth, _)| nth).collect();
        for nth in around.into_iter().take(64) {
            let (band, x) = (allowed[nth].bands().start, shelf.wishes[k as usize].x as i32);
            if shelf.place_of(k).is_some_and(|(row, _)| row.row == allowed[nth].row) {
                continue;
            }
            let with = stretches(shelf, band).into_iter().find_map(|mut stretch| {
                let (low, high) = (stretch[0].span.right, stretch[stretch.len() - 1].span.left);
                let width = shelf.width(k);
                let taken: i32 = stretch[1..stretch.len() - 1].iter().map(|i| i.span.width()).sum();
                if high - low - taken < width || !(low..high.max(low + 1)).contains(&x) {
                    return None;
                }
                let at = stretch[1..stretch.len() - 1].partition_point(|i| i.span.left < x) + 1;
                let left = x.max(stretch[at - 1].span.right).min(high - width);
                let span = Span { left, right: left + width };
                stretch.insert(at, Item { span, padding: shelf.cell(k).padding, cell: Some(k) });
                solve_within(shelf, &stretch, MOVES[1], Some((k, allowed[nth])))
            });
            if let Some(with) = with {
                shelf.remove(k);
                shelf.move_in_rows(&rest);
                let others: Vec<_> = with.iter().filter(|(c, _)| *c != k).copied().collect();
                shelf.move_in_rows(&others);
                let site = with.iter().find(|(c, _)| *c == k).map_or(x, |(_, site)| *site);
                shelf.put_at(k, allowed[nth], site);
                return;
            }
        }
    }
}
