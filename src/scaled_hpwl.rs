//! The ISPD 2006 contest's score of a placement: HPWL, scaled by the overflow of bins.
//!
//! A grid of bins of ten by ten row heights is laid over the rows' bounding box from its
//! lower-left corner; the last column and row are cut off at the box. In a bin of free space
//! F = area of rows − area of fixed cells, with movable cells of area M inside, M − T·F overflows
//! where M / F exceeds the target density T. With A the area of all movable cells,
//!
//! ```text
//! scaled overflow per bin = (36 · T · Σ overflow / A)²      percent
//! scaled HPWL             = HPWL · (1 + scaled overflow per bin / 100)
//! ```
//!
//! Source: the contest's page, "How to score you placement solution",
//! <http://archive.sigda.org/ispd2006/contest.html>, and its `check_density_target.pl` (G.-J. Nam,
//! 2005), which has `(total overflow · 120 · 120 · T) / (A · 400)` and squares it: 120 is ten of
//! the benchmarks' rows of 12, so that 120 · 120 / 400 is 36. Here 36 stands for rows of every
//! height, which makes the score independent of the layout's unit. Published for adaptec1 at
//! T = 0.9: an overflow of 21624 of 53307432 gives 0.000173.
//!
//! As in the contest, a bin without free space is passed over, `terminal` nodes alone are fixed
//! area (`FixedOverlappable` ones take none), and HPWL counts every net once whatever its weight.
//! Area outside the box, which the contest refuses, is left out; overlapping fixed cells and rows,
//! which it does not expect, add up, and free space below zero counts as none.

use crate::charge::fixed::clip;
use crate::charge::overlap::Axis;
use crate::design::{Design, DesignError, NodeKind};
use crate::grid::{BinGrid, GridError, MAX_BINS_PER_AXIS, Map, Rect};

/// Height and width of a bin, in rows.
const ROWS_PER_BIN: f64 = 10.0;
/// 120² / 400 of the contest's script.
const SCALE: f64 = 36.0;

/// A placement's score.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ScaledHpwl {
    /// HPWL · (1 + [`ScaledHpwl::scaled_overflow`] / 100); none without nets.
    pub scaled_hpwl: Option<f64>,
    /// HPWL, every net once; none without nets.
    pub hpwl: Option<f64>,
    /// The contest's "scaled overflow per bin", percent.
    pub scaled_overflow: f64,
    /// Σ over bins of the movable area above T times the free space, layout units squared.
    pub overflow_area: f64,
    /// Target density T.
    pub target_density: f64,
    /// `[nx, ny]`.
    pub bins: [usize; 2],
    /// Bins that overflow.
    pub crowded_bins: usize,
    /// The largest M / F − T.
    pub largest_overflow: f64,
}

/// Error of a placement that has no score.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ScoreError {
    /// The design's columns do not fit together.
    #[error(transparent)]
    Design(#[from] DesignError),
    /// Without rows there are no bins.
    #[error("the design has no rows, so it has no bins of ten rows")]
    NoRows,
    /// More bins than a grid holds, or a die without area.
    #[error(transparent)]
    Grid(#[from] GridError),
    /// T outside (0, 1].
    #[error("target density {0}: expected a number above 0 and at most 1")]
    TargetDensity(f64),
}

/// Returns the score of the placement of `design` at target density `target_density`.
///
/// # Errors
/// When the design's columns do not fit together, it has no rows, its bins are too many, or
/// `target_density` is not in (0, 1].
pub fn score(design: &Design, target_density: f64) -> Result<ScaledHpwl, ScoreError> {
    design.check()?;
    if !(target_density > 0.0 && target_density <= 1.0) {
        return Err(ScoreError::TargetDensity(target_density));
    }
    let (die, row) = design.die().zip(design.row_height()).ok_or(ScoreError::NoRows)?;
    let side = ROWS_PER_BIN * row;
    let bins = |length: f64| (length / side).ceil().clamp(1.0, 2.0 * MAX_BINS_PER_AXIS as f64);
    let (nx, ny) = (bins(die.width()), bins(die.height()));
    // Whole bins, of which the last reach beyond the die: rows end there, and so does free space.
    let whole = Rect::at(die.xl, die.yl, nx * side, ny * side);
    let grid = BinGrid::new(whole, nx as usize, ny as usize)?;

    let mut free = areas(&grid, design.rows.iter().map(|row| row.rect()));
    let of_kind = |kind| {
        let nodes = (0..design.nodes.len()).filter(move |&i| design.nodes.kind[i] == kind);
        nodes.map(|i| design.rect(i)).filter_map(move |rect| clip(&rect, &die))
    };
    let fixed = areas(&grid, of_kind(NodeKind::Fixed));
    let movable = areas(&grid, of_kind(NodeKind::Movable));
    for (free, fixed) in free.as_mut_slice().iter_mut().zip(fixed.as_slice()) {
        *free = (*free - fixed).max(0.0);
    }
    let (mut overflow_area, mut crowded_bins, mut largest_overflow) = (0.0, 0, 0.0);
    for (&free, &movable) in free.as_slice().iter().zip(movable.as_slice()) {
        // Both are sums of products of decimal numbers: a billionth of a bin is nothing.
        let least = 1e-9 * grid.bin_area();
        if free > least && movable - target_density * free > least {
            overflow_area += movable - target_density * free;
            crowded_bins += 1;
            largest_overflow = f64::max(largest_overflow, movable / free - target_density);
        }
    }
    let area: f64 = design.movable().map(|i| design.nodes.width[i] * design.nodes.height[i]).sum();
    let share = if area > 0.0 { overflow_area / area } else { 0.0 };
    let scaled_overflow = (SCALE * target_density * share).powi(2);
    let hpwl = design.hpwl().map(|h| h.unweighted);
    Ok(ScaledHpwl {
        scaled_hpwl: hpwl.map(|h| h * (1.0 + scaled_overflow / 100.0)),
        hpwl,
        scaled_overflow,
        overflow_area,
        target_density,
        bins: [grid.nx(), grid.ny()],
        crowded_bins,
        largest_overflow,
    })
}

/// Σ of the area of `rects` in every bin, layout units squared.
fn areas(grid: &BinGrid, rects: impl Iterator<Item = Rect>) -> Map<f64> {
    let (ax, ay) = Axis::of(grid);
    let mut map = Map::filled(grid.nx(), grid.ny(), 0.0);
    for rect in rects {
        let spans = (ax.span(rect.xl, rect.width()), ay.span(rect.yl, rect.height()));
        let (Some(x), Some(y)) = spans else { continue };
        for i in x.first..=x.last {
            for j in y.first..=y.last {
                map[(i, j)] += x.of_bin(i) * y.of_bin(j) * grid.bin_area();
            }
        }
    }
    map
}

#[cfg(test)]
mod tests;
