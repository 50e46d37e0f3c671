//! Numbers of a window of the die.

use super::{bins_under, cells_and_overflow};
use crate::charge::Charge;
use crate::charge::fixed::union_area;
use crate::design::{Design, NodeKind};
use crate::grid::Rect;
use serde::Serialize;
use std::fmt;

/// A window over the die in numbers; areas are layout units squared.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
pub struct WindowReport {
    /// `[x0, y0, x1, y1]`, layout units.
    pub window: [f64; 4],
    /// Movable cells whose centre lies in it.
    pub movable: usize,
    /// Area of movable cells in it, overlaps counted twice.
    pub movable_area: f64,
    /// Area that fixed cells cover in it.
    pub fixed_area: f64,
    /// Movable area divided by the area outside fixed cells; `None` if there is none.
    pub utilization: Option<f64>,
    /// Area above the target density in it, of cells at their exact sizes; a bin at its border
    /// counts by its share in it.
    pub overflow_area: f64,
    /// This area divided by the movable area in the window; none without movable area.
    pub overflow_exact: Option<f64>,
    /// Largest density of a bin that overlaps it, with cells at their exact sizes.
    pub max_exact: f64,
}

/// Returns the windows in numbers, of the placement that `charge` begins at.
pub fn window_reports(design: &Design, charge: &Charge, windows: &[Rect]) -> Vec<WindowReport> {
    if windows.is_empty() {
        return Vec::new();
    }
    let [cells, overflow] = cells_and_overflow(charge);
    let fixed = (0..design.nodes.len()).filter(|&i| design.nodes.kind[i] == NodeKind::Fixed);
    let fixed: Vec<Rect> = fixed.map(|i| design.rect(i)).collect();
    let grid = charge.grid();
    let report = |window: &Rect| {
        let within = |rect: &Rect| {
            let (x, y) = ((rect.xl + rect.xh) / 2.0, (rect.yl + rect.yh) / 2.0);
            (window.xl..window.xh).contains(&x) && (window.yl..window.yh).contains(&y)
        };
        let rects = || design.movable().map(|i| design.rect(i));
        let movable_area: f64 = rects().map(|rect| rect.overlap(window)).sum();
        let fixed_area = union_area(&fixed, window);
        let free = (window.xh - window.xl) * (window.yh - window.yl) - fixed_area;
        let (mut overflow_area, mut max_exact) = (0.0, 0.0f64);
        let die = grid.die();
        let [columns, rows] = bins_under(&grid, window);
        for i in columns {
            for j in rows.clone() {
                let (x, y) = (die.xl + i as f64 * grid.bin_x(), die.yl + j as f64 * grid.bin_y());
                let area = Rect::at(x, y, grid.bin_x(), grid.bin_y()).overlap(window);
                overflow_area += overflow[(i, j)] * area;
                max_exact = if area > 0.0 { max_exact.max(cells[(i, j)]) } else { max_exact };
            }
        }
        WindowReport {
            window: [window.xl, window.yl, window.xh, window.yh],
            movable: rects().filter(within).count(),
            movable_area,
            fixed_area,
            utilization: (free > 0.0).then(|| movable_area / free),
            overflow_area,
            overflow_exact: (movable_area > 0.0).then(|| overflow_area / movable_area),
            max_exact,
        }
    };
    windows.iter().map(report).collect()
}

impl fmt::Display for WindowReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x0, y0, x1, y1] = self.window;
        let share = |v: Option<f64>| v.map_or("none".to_owned(), |v| format!("{v:.6}"));
        write!(
            f,
            "[{x0}, {x1}] x [{y0}, {y1}]: {} cells, utilization {}, overflow {} exact, \
             maximum {:.6}",
            self.movable,
            share(self.utilization),
            share(self.overflow_exact),
            self.max_exact
        )
    }
}
