//! Causes in areas, sizes and rows: whether the cells fit.

use super::{Case, Cause, Kind, percent};
use crate::design::BlockageKind;
use crate::grid::Rect;
use crate::real::largest_first;

/// A sum of areas that is larger by this share is not larger but rounded.
const ROUNDING: f64 = 1e-9;
/// Area that fixed cells share, of the area under them, that is no fault of a design.
const SHARED: f64 = 0.02;
/// Area outside rows and fixed cells, of the die, that is no fault of a design.
const GAPS: f64 = 0.05;
/// Most cells checked for whether they fit somewhere, the largest.
const MOST_LARGE: usize = 64;
/// Most fixed cells considered, the largest: with fewer there is only more room.
const MOST_FIXED: usize = 1500;

/// Checks whether the cells' area fits, and at which density.
pub(super) fn capacity(case: &Case<'_>) -> Option<Cause> {
    let (movable, free) = (case.charge.movable_area(), case.free_area());
    if movable > free * (1.0 + ROUNDING) {
        let finding = format!(
            "The movable cells have an area of {}; the die has {}, \
             of which {} is under fixed cells{} and {} is left.",
            case.area(movable),
            case.area(case.die.area()),
            case.area(case.fixed_area),
            match (case.charge.blockage_area(), case.design.blockages.is_empty()) {
                (0.0, _) => String::new(),
                (area, true) => format!(", {} outside every row", case.area(area)),
                (area, false) => format!(", {} blocked", case.area(area)),
            },
            case.area(free)
        );
        let advice = "No option helps: the design needs a larger die, or less area in cells.";
        return Some(Cause::new(Kind::CellsCannotFit, finding, advice));
    }
    let target = case.options.target_density;
    // At a lower target macros keep their whole area, as fixed cells do.
    let macros = case.movable.iter().map(|(_, r)| r).filter(|r| case.is_macro(r));
    let macro_area: f64 = macros.map(Rect::area).sum();
    let least = (movable - macro_area) / (free - macro_area).max(f64::MIN_POSITIVE);
    (target * (1.0 + 1e-6) < least).then(|| {
        let finding = format!(
            "The movable cells need a density of {least:.3} to fit into the {} of free area; \
             {target} is asked for.",
            case.area(free)
        );
        let advice = match (100.0 * least).ceil() / 100.0 {
            reachable if reachable <= 1.0 => {
                format!("Ask for --target-density {reachable:.2} or more.")
            }
            _ => "Beside the macros there is too little room at any target density: \
                  the design needs a larger die."
                .to_owned(),
        };
        Cause::new(Kind::TargetDensityOutOfReach, finding, advice)
    })
}

/// Checks whether every cell fits somewhere between the fixed ones.
pub(super) fn too_large(case: &Case<'_>) -> Option<Cause> {
    let mut cells = case.movable.clone();
    cells.sort_by(|a, b| b.1.area().total_cmp(&a.1.area()));
    // The longest need not be among the largest.
    let longest = |of: fn(&Rect) -> f64| {
        case.movable.iter().max_by(|a, b| of(&a.1).total_cmp(&of(&b.1))).copied()
    };
    let long = [longest(Rect::width), longest(Rect::height)];
    cells.truncate(MOST_LARGE);
    cells.extend(
        long.into_iter()
            .flatten()
            .filter(|long| cells.iter().all(|c| c.0 != long.0))
            .collect::<Vec<_>>(),
    );
    let room = Room::new(case);
    let misfits: Vec<_> =
        cells.iter().filter(|(_, r)| !room.holds(r.width(), r.height())).collect();
    let (_, worst) = misfits.first()?;
    let finding = format!(
        "{} of the movable cells {} in no free rectangle of the die; \
         the largest of them is {} × {}, the die {} × {}.",
        misfits.len(),
        if misfits.len() == 1 { "fits" } else { "fit" },
        case.length(worst.width()),
        case.length(worst.height()),
        case.length(case.die.width()),
        case.length(case.die.height())
    );
    let advice = "Fix such a cell where it belongs (/FIXED in the .pl file), turn it, \
                  or make room between the fixed cells.";
    Some(Cause::new(Kind::CellTooLarge, finding, advice).about(misfits.iter().map(|m| m.0)))
}

/// The die cut at the edges of fixed cells and hard blockages: between two cuts each piece is
/// blocked or free.
struct Room {
    x: Vec<f64>,
    y: Vec<f64>,
    /// Blocked pieces below and left of each crossing of cuts, `[x][y]`.
    blocked: Vec<u32>,
}

impl Room {
    fn new(case: &Case<'_>) -> Room {
        let die = case.die;
        let hard = case.design.blockages.iter().filter(|of| of.kind == BlockageKind::Hard);
        let fixed = case.fixed.iter().map(|(_, rect)| *rect);
        let mut rects: Vec<Rect> = fixed.chain(hard.map(|of| of.rect)).collect();
        rects.sort_by(|a, b| b.area().total_cmp(&a.area()));
        rects.truncate(MOST_FIXED);
        let cuts = |low: f64, high: f64, ends: &dyn Fn(&Rect) -> [f64; 2]| {
            let inside = rects.iter().flat_map(ends).filter(|v| *v > low && *v < high);
            let mut cuts: Vec<f64> = inside.chain([low, high]).collect();
            cuts.sort_by(f64::total_cmp);
            cuts.dedup();
            cuts
        };
        let x = cuts(die.xl, die.xh, &|r| [r.xl, r.xh]);
        let y = cuts(die.yl, die.yh, &|r| [r.yl, r.yh]);
        // A rectangle adds one over its pieces: by its four corners, then summed up.
        let ny = y.len();
        let mut cover = vec![0i32; x.len() * ny];
        for r in &rects {
            let piece = |cuts: &[f64], v: f64| cuts.partition_point(|c| *c < v).min(cuts.len() - 1);
            let (i0, i1) = (piece(&x, r.xl), piece(&x, r.xh));
            let (j0, j1) = (piece(&y, r.yl), piece(&y, r.yh));
            cover[i0 * ny + j0] += 1;
            cover[i0 * ny + j1] -= 1;
            cover[i1 * ny + j0] -= 1;
            cover[i1 * ny + j1] += 1;
        }
        for i in 0..x.len() {
            for j in 0..ny {
                let left = if i > 0 { cover[(i - 1) * ny + j] } else { 0 };
                let below = if j > 0 { cover[i * ny + j - 1] } else { 0 };
                let corner = if i > 0 && j > 0 { cover[(i - 1) * ny + j - 1] } else { 0 };
                cover[i * ny + j] += left + below - corner;
            }
        }
        let mut blocked = vec![0u32; x.len() * ny];
        for i in 1..x.len() {
            for j in 1..ny {
                let here = u32::from(cover[(i - 1) * ny + j - 1] > 0);
                blocked[i * ny + j] = here + blocked[(i - 1) * ny + j] + blocked[i * ny + j - 1]
                    - blocked[(i - 1) * ny + j - 1];
            }
        }
        Room { x, y, blocked }
    }

    /// Whether a free rectangle of this size is somewhere. One that can be moved left and down
    /// until it touches a cut on both sides.
    fn holds(&self, width: f64, height: f64) -> bool {
        let ny = self.y.len();
        let slack = 1e-9;
        let end = |cuts: &[f64], from: usize, length: f64| {
            let to = cuts[from] + length * (1.0 - slack);
            let end = cuts.partition_point(|c| *c < to);
            (end < cuts.len()).then_some(end)
        };
        let rows: Vec<(usize, usize)> =
            (0..ny).filter_map(|j| Some((j, end(&self.y, j, height)?))).collect();
        (0..self.x.len()).filter_map(|i| Some((i, end(&self.x, i, width)?))).any(|(i0, i1)| {
            let free = |&(j0, j1): &(usize, usize)| {
                let at = |i: usize, j: usize| self.blocked[i * ny + j];
                at(i1, j1) + at(i0, j0) == at(i0, j1) + at(i1, j0)
            };
            rows.iter().any(free)
        })
    }
}

/// Checks whether fixed cells lie on one another.
pub(super) fn fixed_overlap(case: &Case<'_>) -> Option<Cause> {
    let shared = case.charge.fixed_area() - case.fixed_area;
    if shared <= SHARED * case.fixed_area {
        return None;
    }
    // Those that share most with another one, from left to right.
    let mut fixed = case.fixed.clone();
    fixed.sort_by(|a, b| a.1.xl.total_cmp(&b.1.xl));
    let mut most = vec![(0.0, 0); fixed.len()];
    let mut open: Vec<usize> = Vec::new();
    for k in 0..fixed.len() {
        let rect = fixed[k].1;
        open.retain(|&o| fixed[o].1.xh > rect.xl);
        for &o in &open {
            let area = rect.overlap(&fixed[o].1);
            most[k].0 = f64::max(most[k].0, area);
            most[o].0 = f64::max(most[o].0, area);
        }
        most[k].1 = fixed[k].0;
        open.push(k);
    }
    largest_first(&mut most);
    let sharing = most.iter().filter(|(area, _)| *area > 0.0).count();
    let finding = format!(
        "{sharing} fixed cells share {} of area with others, {} of what lies under fixed cells.",
        case.area(shared),
        percent(shared / case.fixed_area)
    );
    let advice = "Check that the .pl file and the .nodes file belong together: \
                  a bin is full however many fixed cells cover it, \
                  but pins of the covered ones pull cells there.";
    Some(
        Cause::new(Kind::FixedCellsOverlap, finding, advice)
            .about(most.iter().take(sharing).map(|m| m.1)),
    )
}

/// Checks whether rows and fixed cells together cover the die.
pub(super) fn gaps_between_rows(case: &Case<'_>) -> Option<Cause> {
    let share = case.gap_area / case.die.area();
    (share > GAPS && !case.charge.row_blockage()).then(|| {
        let finding = format!(
            "{} of the die is in no row and under no fixed cell, and yet counts as free: \
             cells spread to where none may stand.",
            percent(share)
        );
        Cause::new(Kind::RowsLeaveGaps, finding, "Take it as blocked with --row-blockage.")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rectangles_fit_across_adjacent_free_pieces() {
        // Free: a column 0–3, a strip y 4–6 over the whole width, and the area above 8.
        let (x, y) = (vec![0.0, 3.0, 10.0], vec![0.0, 4.0, 6.0, 8.0, 10.0]);
        let free = [[true; 4], [false, true, false, true]];
        let ny = y.len();
        let mut blocked = vec![0u32; x.len() * ny];
        for i in 1..x.len() {
            for j in 1..ny {
                blocked[i * ny + j] = u32::from(!free[i - 1][j - 1])
                    + blocked[(i - 1) * ny + j]
                    + blocked[i * ny + j - 1]
                    - blocked[(i - 1) * ny + j - 1];
            }
        }
        let room = Room { x, y, blocked };
        assert!(room.holds(3.0, 10.0) && room.holds(10.0, 2.0));
        assert!(!room.holds(3.1, 2.1) && !room.holds(10.1, 1.0) && !room.holds(1.0, 10.1));
        assert!(room.holds(7.0, 2.0) && !room.holds(2.0, 10.5));
    }
}
