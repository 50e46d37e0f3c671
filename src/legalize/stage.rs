//! The cells of one lattice, from their wishes to their places.

use super::abacus::{Ask, RowAt, Segment, Stripe};
use super::shelf::{Shelf, Wish};
use super::sites::{Cell, Cells, Sites, orientation_on};
use super::{Failed, LegalizeError, Legalized, Reason};
use crate::design::Design;
use crate::parallel;
use std::collections::HashMap;
use std::ops::Range;

/// Cells of a stripe of rows: one thread deals with it. Fewer make the stripes' borders felt: cells
/// do not cross them.
const CELLS_OF_STRIPE: usize = 1 << 16;
/// Least rows of a stripe.
const ROWS_OF_STRIPE: usize = 32;
/// Of the sites of a stripe, the share that its cells may ask for; with more it is joined to the
/// next.
const FULL: f64 = 0.97;
/// Cells that one more may push, either way, where there is room elsewhere.
const REACH: usize = 64;
/// Cells farther from where they want to be than so many rows look for a nearer place.
const FAR: f64 = 4.0;
/// Cells of a small design that may do so, of a large one it is one in 64.
const MOST_FAR: usize = 1024;

/// Returns the lattice of every movable node, where there are several: the one with the nearest row
/// that it may stand on. `u32::MAX` where none has any.
pub(super) fn homes(design: &Design, sites: &Sites) -> Result<Vec<u32>, LegalizeError> {
    let mut homes = vec![u32::MAX; design.nodes.len()];
    let mut least = vec![f64::INFINITY; design.nodes.len()];
    for (index, lattice) in sites.lattices().iter().enumerate() {
        let cells = Cells::new(design, sites, index, 0)?;
        for cell in cells.cells() {
            let node = cell.node as usize;
            let (x, y) = (design.placement.x[node], design.placement.y[node]);
            for stand in cells.stands(cell) {
                let row = stand.row as usize;
                let dy = (sites.rows()[row].y - y).abs();
                for run in sites.segments(row).iter().filter(|run| run.fence == cell.fence) {
                    let (low, high) = (lattice.x(run.start), lattice.x(run.end - cell.width));
                    let distance = dy + (low - x).max(x - high).max(0.0);
                    if high >= low && distance < least[node] {
                        (least[node], homes[node]) = (distance, index as u32);
                    }
                }
            }
            if homes[node] == u32::MAX {
                homes[node] = index as u32;
            }
        }
    }
    Ok(homes)
}

/// Rows by what decides about them: where the stands of a cell begin, and its fence.
type RowsFor = HashMap<(usize, Option<u32>), Vec<RowAt>>;

/// Places `cells`, of one lattice, none of them a macro.
pub(super) fn place(
    design: &Design,
    sites: &Sites,
    cells: &Cells,
    done: &mut Legalized,
    standing: &mut [bool],
) {
    if cells.cells().is_empty() {
        return;
    }
    let first_row = cells.stands(&cells.cells()[0])[0].row as usize;
    let lattice = sites.lattices()[sites.rows()[first_row].lattice as usize];
    let pad = f64::from(cells.padding());
    let wishes = parallel::map(cells.cells().len(), |k| {
        let node = cells.cells()[k].node as usize;
        let (x, y) = (design.placement.x[node], design.placement.y[node]);
        // Turned, a cell wants to have its centre where it has it now.
        let now = design.size(node);
        let (w, h) = (design.nodes.width[node], design.nodes.height[node]);
        Wish {
            x: lattice.site(x + (now.0 - w) / 2.0) - pad,
            y: (y + (now.1 - h) / 2.0) / lattice.pitch,
        }
    });
    let pitch = |row: u32| sites.lattices()[row as usize].pitch;
    let row_y: Vec<f64> = sites.rows().iter().map(|row| row.y / pitch(row.lattice)).collect();
    let mut shelf = Shelf::new(sites, cells, &wishes, &row_y);
    let bands = |k: u32| cells.stands(&cells.cells()[k as usize])[0].bands().len();
    let all = 0..cells.cells().len() as u32;
    // The sweep asks for one band to a row.
    let (swept, mut others): (Vec<u32>, Vec<u32>) = all.partition(|_| !sites.rows_overlap());
    // The highest first, then from left to right.
    others.sort_by(|&a, &b| {
        let x = |k: u32| wishes[k as usize].x;
        bands(b).cmp(&bands(a)).then(x(a).total_cmp(&x(b))).then(a.cmp(&b))
    });
    let mut left = Vec::new();
    left.extend(others.into_iter().filter(|&k| !put(&mut shelf, k, REACH)));
    left.extend(abacus(sites, cells, &mut shelf, swept));
    left.retain(|&k| !put(&mut shelf, k, REACH));
    left.retain(|&k| !(put(&mut shelf, k, usize::MAX) || bands(k) == 1 && shelf.make_room(k)));
    nearer(sites, &mut shelf, lattice.pitch);
    // The rows that the others left in the end may do.
    left.retain(|&k| !put(&mut shelf, k, usize::MAX));

    for k in left {
        let Cell { node, width, .. } = cells.cells()[k as usize];
        let widest = shelf.widest(k);
        let reason =
            if width > widest { Reason::TooWide { sites: width, widest } } else { Reason::Full };
        done.failed.push(Failed { node, reason });
    }
    for (k, cell) in (0u32..).zip(cells.cells()) {
        let node = cell.node as usize;
        standing[node] = true;
        let Some((stand, x)) = shelf.place_of(k) else { continue };
        let row = stand.row as usize;
        let at = &mut done.placement;
        at.x[node] = sites.x(row, x + cells.padding());
        at.y[node] = sites.rows()[row].y;
        if let Some(orientation) = orientation_on(design, sites, node, row) {
            at.orientation[node] = orientation;
        }
    }
}

/// Puts a cell where it costs least, if that can be done by pushing at most `reach` others either
/// way.
fn put(shelf: &mut Shelf<'_>, k: u32, reach: usize) -> bool {
    let place = shelf.find(k, f64::INFINITY, reach);
    place.is_some_and(|place| {
        shelf.put(k, &place);
        true
    })
}

/// Cells that are far from where they want to be look for a nearer place, those that it pushes
/// counted in.
fn nearer(sites: &Sites, shelf: &mut Shelf<'_>, pitch: f64) {
    let far = FAR * sites.usual_height() / pitch;
    let mut all: Vec<(f64, u32)> = (0..shelf.cells.cells().len() as u32)
        .filter_map(|k| {
            let (stand, x) = shelf.place_of(k)?;
            Some((shelf.distance(k, stand.row, x), k)).filter(|(distance, _)| *distance > far)
        })
        .collect();
    all.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    all.truncate(MOST_FAR.max(shelf.cells.cells().len() / 64));
    for (distance, k) in all {
        let before = shelf.mark();
        shelf.remove(k);
        match shelf.find(k, distance - 0.5, REACH) {
            Some(place) => shelf.put(k, &place),
            None => shelf.undo(before),
        }
    }
}

/// Puts cells by Abacus on a shelf without any; those that found no room are given back.
fn abacus(sites: &Sites, cells: &Cells, shelf: &mut Shelf<'_>, singles: Vec<u32>) -> Vec<u32> {
    let cell = |k: u32| &cells.cells()[k as usize];
    let mut rows_for: RowsFor = HashMap::new();
    let key = |k: u32| (cells.first_stand(cell(k)), cell(k).fence);
    let mut last = None;
    for &k in &singles {
        if last == Some(key(k)) {
            continue;
        }
        last = Some(key(k));
        rows_for.entry(key(k)).or_insert_with(|| {
            let here = |row: u32| sites.segments(row as usize);
            let rows = cells.stands(cell(k)).iter().map(|stand| stand.row);
            rows.filter(|&row| here(row).iter().any(|run| run.fence == cell(k).fence))
                .map(|row| RowAt { y: shelf.row_y[row as usize], row })
                .collect()
        });
    }
    let wishes = shelf.wishes;
    let nearest_row = |k: u32| {
        let (rows, y) = (&rows_for[&key(k)], wishes[k as usize].y);
        let above = rows.partition_point(|at| at.y < y);
        let both = [above.checked_sub(1), Some(above)].into_iter().flatten();
        let near = both.filter_map(|n| rows.get(n));
        near.min_by(|a, b| (a.y - y).abs().total_cmp(&(b.y - y).abs())).map(|at| at.row)
    };
    let home = parallel::map(singles.len(), |k| (singles[k], nearest_row(singles[k])));
    let stripes = stripes(sites, cells, &home);
    let mut of_stripe: Vec<Vec<u32>> = vec![Vec::new(); stripes.len()];
    let mut left = Vec::new();
    for (k, row) in home {
        match row {
            Some(row) => {
                let at = stripes.partition_point(|rows| rows.end <= row as usize);
                of_stripe[at].push(k);
            }
            None => left.push(k),
        }
    }
    let row_height = sites.usual_height() / sites.lattices()[0].pitch;
    let done = parallel::map(stripes.len(), |at| {
        let rows = stripes[at].clone();
        let segments = |row: usize| sites.segments(row).iter().copied().map(Segment::new);
        let segments = rows.clone().map(|row| segments(row).collect()).collect();
        let mut stripe = Stripe { first: rows.start, rows: segments, row_height, high: Vec::new() };
        let mut order: Vec<(f64, u32)> =
            of_stripe[at].iter().map(|&k| (wishes[k as usize].x, k)).collect();
        order.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let (mut laid, mut left) = (Vec::with_capacity(order.len()), Vec::new());
        for (_, k) in order {
            let Cell { width, fence, .. } = *cell(k);
            let rows = cells.stands(cell(k))[0].bands().len() as u32;
            let ask = Ask { cell: k, width, rows, fence, wish: wishes[k as usize] };
            if !stripe.put(&ask, &rows_for[&key(k)]) {
                left.push(k);
            }
        }
        for (row, segments) in rows.zip(&stripe.rows) {
            for segment in segments {
                segment.placed(|k| cell(k).width, |k, x| laid.push((k, row as u32, x)));
            }
        }
        laid.extend(stripe.high);
        (laid, left)
    });
    for (laid, more) in done {
        shelf.lay(&laid);
        left.extend(more);
    }
    left
}

/// Divides the rows, so that about as many cells are of each stripe and fit there.
fn stripes(sites: &Sites, cells: &Cells, home: &[(u32, Option<u32>)]) -> Vec<Range<usize>> {
    let rows = sites.rows().len();
    let wanted = (home.len() / CELLS_OF_STRIPE).min(rows / ROWS_OF_STRIPE);
    if wanted < 2 {
        return std::iter::once(0..rows).collect();
    }
    let (mut asked, mut count) = (vec![0i64; rows], vec![0usize; rows]);
    for &(k, row) in home {
        let Some(row) = row else { continue };
        asked[row as usize] += i64::from(cells.cells()[k as usize].width);
        count[row as usize] += 1;
    }
    let of_stripe = home.len().div_ceil(wanted);
    let mut stripes: Vec<Range<usize>> = Vec::new();
    let (mut start, mut held, mut asks, mut has) = (0, 0, 0.0, 0.0);
    for row in 0..rows {
        let free: i32 = sites.segments(row).iter().map(|run| run.end - run.start).sum();
        has += f64::from(free);
        asks += asked[row] as f64;
        held += count[row];
        if held >= of_stripe && row + 1 - start >= ROWS_OF_STRIPE && asks <= FULL * has {
            stripes.push(start..row + 1);
            (start, held, asks, has) = (row + 1, 0, 0.0, 0.0);
        }
    }
    match stripes.last_mut() {
        // The rows that are left over may be few, or full.
        Some(last) if start < rows => last.end = rows,
        None => stripes.push(0..rows),
        _ => {}
    }
    stripes
}
