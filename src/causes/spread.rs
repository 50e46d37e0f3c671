//! Causes in the distribution of the cells.

use super::{Case, Cause, Kind, percent};
use crate::grid::Rect;
use crate::real::largest_first;

/// Area outside the die, of the movable area, that is no fault.
const OFF_DIE: f64 = 0.01;
/// Share of the cells on each side that is left out when their extent is taken.
const TAIL: f64 = 0.05;
/// Cells whose middle nine tenths lie in less than this share of the area they need are a heap.
const HEAP: f64 = 0.5;
/// Fewest cells that can be a heap.
const LEAST_CELLS: usize = 3;
/// Area of cells with their centre in a fixed one, of the movable area, that is no fault.
const ON_FIXED: f64 = 0.15;
/// Squares along each side of the die by which fixed cells are looked up.
const SQUARES: usize = 128;

/// Checks whether movable cells lie outside the die.
pub(super) fn off_die(case: &Case<'_>) -> Option<Cause> {
    let outside = |(i, r): &(usize, Rect)| {
        let area = r.area() - r.overlap(&case.die);
        (area > 1e-6 * r.area()).then_some((area, *i))
    };
    let mut off: Vec<(f64, usize)> = case.movable.iter().filter_map(outside).collect();
    let area: f64 = off.iter().map(|o| o.0).sum();
    (area > OFF_DIE * case.charge.movable_area()).then(|| {
        largest_first(&mut off);
        let finding = format!(
            "{} of {} movable cells reach beyond the die, with {} of the movable area, \
             which no bin holds.",
            off.len(),
            case.movable.len(),
            percent(area / case.charge.movable_area())
        );
        let advice = "Give a placement with --pl FILE, or make one with placefield place.";
        Cause::new(Kind::CellsOffDie, finding, advice).about(off.iter().map(|o| o.1))
    })
}

/// Checks whether most cells lie on a heap.
pub(super) fn heap(case: &Case<'_>) -> Option<Cause> {
    // Macros are few and may have most of the area.
    let cells = || case.movable.iter().map(|(_, r)| r).filter(|r| !case.is_macro(r));
    let (count, area) = cells().fold((0, 0.0), |(n, area), r| (n + 1, area + r.area()));
    if count < LEAST_CELLS {
        return None;
    }
    // The middle nine tenths of all corners along an axis.
    let extent = |low: fn(&Rect) -> f64, high: fn(&Rect) -> f64| {
        let end = |of: fn(&Rect) -> f64, share: f64| {
            let mut values: Vec<f64> = cells().map(of).collect();
            let at = (share * (count - 1) as f64).round() as usize;
            *values.select_nth_unstable_by(at, f64::total_cmp).1
        };
        end(high, 1.0 - TAIL) - end(low, TAIL)
    };
    let (width, height) = (extent(|r| r.xl, |r| r.xh), extent(|r| r.yl, |r| r.yh));
    let needed = (1.0 - 2.0 * TAIL) * area / case.options.target_density;
    (width * height < HEAP * needed).then(|| {
        let finding = format!(
            "The middle nine tenths of the cells lie within {} × {}, \
             {} of the area that they need.",
            case.length(width),
            case.length(height),
            percent(width * height / needed)
        );
        let advice = "This is a start, not a placement: give one with --pl FILE, \
                      or make one with placefield place.";
        Cause::new(Kind::CellsNotSpread, finding, advice)
    })
}

/// Checks whether cells lie on fixed ones.
pub(super) fn on_fixed(case: &Case<'_>) -> Option<Cause> {
    let die = case.die;
    let square = |v: f64, low: f64, high: f64| {
        (((v - low) / (high - low)).clamp(0.0, 1.0) * SQUARES as f64).min(SQUARES as f64 - 1.0)
            as usize
    };
    let mut squares = vec![Vec::new(); SQUARES * SQUARES];
    for (_, r) in &case.fixed {
        for i in square(r.xl, die.xl, die.xh)..=square(r.xh, die.xl, die.xh) {
            for j in square(r.yl, die.yl, die.yh)..=square(r.yh, die.yl, die.yh) {
                squares[i * SQUARES + j].push(*r);
            }
        }
    }
    let covered = |cell: &Rect| {
        let (x, y) = ((cell.xl + cell.xh) / 2.0, (cell.yl + cell.yh) / 2.0);
        let of = &squares[square(x, die.xl, die.xh) * SQUARES + square(y, die.yl, die.yh)];
        of.iter().any(|r| x > r.xl && x < r.xh && y > r.yl && y < r.yh)
    };
    let mut on: Vec<(f64, usize)> =
        case.movable.iter().filter(|(_, r)| covered(r)).map(|(i, r)| (r.area(), *i)).collect();
    let area: f64 = on.iter().map(|o| o.0).sum();
    (area > ON_FIXED * case.charge.movable_area()).then(|| {
        largest_first(&mut on);
        let finding = format!(
            "{} movable cells, {} of the movable area, have their centre in a fixed cell.",
            on.len(),
            percent(area / case.charge.movable_area())
        );
        let advice = "Give a placement of these fixed cells with --pl FILE, \
                      or make one with placefield place.";
        Cause::new(Kind::CellsOnFixed, finding, advice).about(on.iter().map(|o| o.1))
    })
}
