//! Displacement of cells between two placements.
//!
//! The displacement of a cell is that of its centre, |Δx| + |Δy|, as in legalization contests
//! (ICCAD 2017, problem C), in layout units. Only movable cells count.

use crate::design::{Design, DesignError, Placement};
use crate::parallel;
use rayon::prelude::*;

/// Most entries of [`Displacement::farthest`].
pub const FARTHEST: usize = 10;

/// The displacement of the movable cells.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Displacement {
    /// Movable cells.
    pub cells: usize,
    /// Cells whose centre has moved.
    pub moved: usize,
    /// Cells that were rotated or mirrored.
    pub turned: usize,
    /// Σ of distances.
    pub total: f64,
    /// Mean distance of all cells; 0 without cells.
    pub mean: f64,
    /// Median distance (the mean of the middle two for an even number of cells).
    pub median: f64,
    /// 95 % of the movable cells moved by at most this.
    pub p95: f64,
    /// The largest distance.
    #[serde(rename = "max")]
    pub largest: f64,
    /// Number of cells by distance: first cells that did not move, then those in each range
    /// `2ᵏ⁻¹·unit ≤ distance < 2ᵏ·unit`.
    pub histogram: Vec<Range>,
    /// The cells that moved farthest, [`FARTHEST`] at most, the farthest first.
    #[serde(skip)]
    pub farthest: Vec<Moved>,
}

/// Cells whose distance is within a range.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
pub struct Range {
    /// From this distance on …
    pub from: f64,
    /// … and below this distance. Both are 0 for cells that did not move.
    pub to: f64,
    /// Number of cells.
    pub cells: usize,
}

/// A cell that moved.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Moved {
    /// The node, by its index in the design.
    pub node: u32,
    /// |Δx| + |Δy| of its centre.
    pub distance: f64,
    /// Its centre before.
    pub from: (f64, f64),
    /// Its centre after.
    pub to: (f64, f64),
}

/// Returns the displacements of the movable cells of `design` from `from` to `to`; the design's own
/// positions are not used. The histogram's unit is the height of a row, or 1 without rows.
///
/// # Errors
/// When the columns of the design or of a placement do not fit together.
pub fn between(
    design: &Design,
    from: &Placement,
    to: &Placement,
) -> Result<Displacement, DesignError> {
    design.check()?;
    for placement in [from, to] {
        placement.check(design.nodes.len())?;
    }
    let movable = design.movable_nodes();
    let distances: Vec<f64> = parallel::map(movable.len(), |k| of(design, movable[k], from, to));
    let total: f64 = distances.iter().sum();
    let turned = |&&i: &&usize| from.orientation[i] != to.orientation[i];
    let mut sorted = distances.clone();
    sorted.par_sort_unstable_by(f64::total_cmp);
    let half = sorted.len() / 2;
    let median = match (sorted.len(), sorted.len() % 2) {
        (0, _) => 0.0,
        (_, 1) => sorted[half],
        _ => f64::midpoint(sorted[half - 1], sorted[half]),
    };
    let mut order = parallel::filter(movable.len(), |k| distances[k] > 0.0);
    let moved = order.len();
    let least = sorted.len().checked_sub(FARTHEST).map_or(0.0, |rank| sorted[rank]);
    order.retain(|&k| distances[k] >= least || least.is_nan());
    let farther = |&a: &usize, &b: &usize| {
        distances[b].total_cmp(&distances[a]).then(movable[a].cmp(&movable[b]))
    };
    if order.len() > FARTHEST {
        order.select_nth_unstable_by(FARTHEST, farther);
        order.truncate(FARTHEST);
    }
    order.sort_by(farther);
    let farthest = order.into_iter().map(|k| Moved {
        node: movable[k] as u32,
        distance: distances[k],
        from: centre(design, from, movable[k]),
        to: centre(design, to, movable[k]),
    });
    // The nearest rank.
    let p95 = sorted.get((95 * sorted.len()).div_ceil(100).saturating_sub(1)).copied();
    Ok(Displacement {
        cells: movable.len(),
        moved,
        turned: movable.iter().filter(turned).count(),
        total,
        mean: if movable.is_empty() { 0.0 } else { total / movable.len() as f64 },
        median,
        p95: p95.unwrap_or(0.0),
        largest: sorted.last().copied().unwrap_or(0.0),
        histogram: histogram(&sorted, design.row_height().unwrap_or(1.0)),
        farthest: farthest.collect(),
    })
}

/// Returns how far node `i` is from `from` to `to`.
pub(crate) fn of(design: &Design, i: usize, from: &Placement, to: &Placement) -> f64 {
    let (a, b) = (centre(design, from, i), centre(design, to, i));
    (b.0 - a.0).abs() + (b.1 - a.1).abs()
}

/// Returns where the centre of node `i` lies in `placement`.
pub(crate) fn centre(design: &Design, placement: &Placement, i: usize) -> (f64, f64) {
    let (w, h) = design.nodes.size(i, placement.orientation[i]);
    (placement.x[i] + w / 2.0, placement.y[i] + h / 2.0)
}

/// Returns the ranges from the first to the last that holds a cell; `sorted` ascending.
fn histogram(sorted: &[f64], unit: f64) -> Vec<Range> {
    const FIRST: i32 = -6;
    const LAST: i32 = 40;
    let still = sorted.partition_point(|d| *d == 0.0);
    let mut ranges = vec![Range { from: 0.0, to: 0.0, cells: still }];
    let (mut below, mut from) = (still, 0.0);
    for k in FIRST..=LAST {
        let to = if k == LAST { f64::INFINITY } else { unit * 2f64.powi(k) };
        let end = sorted.partition_point(|d| *d < to);
        // No range before the first that holds a cell, none after the last.
        if end > below || (ranges.len() > 1 && end < sorted.len()) {
            ranges.push(Range { from, to, cells: end - below });
        }
        (below, from) = (end, to);
        if end == sorted.len() {
            break;
        }
    }
    ranges
}
