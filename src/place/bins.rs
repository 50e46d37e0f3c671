//! The number of bins for placing and measuring a design.

use crate::charge::region_count;
use crate::design::{Design, NodeKind};
use crate::grid::{MAX_BINS_PER_AXIS, Rect};
use crate::parallel;

/// Least bins along the die's longer side.
const LEAST_BINS: f64 = 16.0;
/// Most mean cells in a bin, as in DREAMPlace.
const PER_BIN: f64 = 4.0;
/// Most mean cells in a bin of a placement grid.
const PLACED_PER_BIN: f64 = 1.1;
/// Most bins of a grid.
const MOST_BINS: f64 = 4096.0 * 4096.0;
/// Most bins of all fence regions together.
const MOST_IN_REGIONS: f64 = 4.0 * MOST_BINS;
/// All fence regions together may have this number of bins for any number of cells.
const FEW_IN_REGIONS: f64 = (1 << 22) as f64;
/// Most bins of all fence regions together for each cell, if that is more.
const PER_CELL_IN_REGIONS: f64 = 1024.0;
/// Most bins for each cell: a few cells on a large die do not need a fine grid.
const MOST_PER_CELL: f64 = 256.0;
/// Most bins of a placement grid for each cell, if no macro moves and if some do.
const MOST_PER_PLACED_CELL: [f64; 2] = [16.0, 4.0];
/// A placement grid may have this number of bins for any number of cells.
const FEW_BINS: f64 = (1 << 14) as f64;

/// Returns DREAMPlace's bins: its own choice for the ISPD2005 designs, and its heuristic for
/// others, with 1 to 4 mean cells per bin. The mean ignores movable macros, so that bins are fine
/// enough for the cells beside them. The longer side has at least 16 bins, so that a few cells in
/// one place do overflow. If no movable cell has an area, the fixed ones decide. There are at most
/// 256 bins for each of these cells. Each fence region needs its own maps: all regions together
/// have at most 1024 bins for each cell, or 2^22, and never more than 2^26.
pub fn default_bins(design: &Design, die: Rect, target_density: f64) -> [usize; 2] {
    if let Some(n) = ispd2005_bins(design) {
        return [n, n];
    }
    bins(design, die, target_density, PER_BIN, |cells| MOST_PER_CELL * cells)
}

/// Returns the bins of [`default_bins`], with at most `per_bin` mean cells in a bin, and at most as
/// many bins as `most` allows for this number of cells.
fn bins(
    design: &Design,
    die: Rect,
    target_density: f64,
    per_bin: f64,
    most: impl Fn(f64) -> f64,
) -> [usize; 2] {
    let row = design.usual_height();
    let mean = |counts: &(dyn Fn(usize) -> bool + Sync)| {
        let sum = |of: &(dyn Fn(usize) -> f64 + Sync)| {
            parallel::sum(design.nodes.len(), |i| if counts(i) { of(i) } else { 0.0 })
        };
        let of_standard = |i, value| if design.is_macro(i, row) { 0.0 } else { value };
        let area = sum(&|i| {
            let (w, h) = design.size(i);
            of_standard(i, w * h)
        });
        let mean = area / sum(&|i| of_standard(i, 1.0)).max(1.0);
        Some((mean, sum(&|_| 1.0))).filter(|_| mean > 0.0)
    };
    let moves = |i: usize| design.nodes.kind[i] == NodeKind::Movable;
    let mean = mean(&moves).or_else(|| mean(&|_| true));
    let ideal = mean.map_or(1.0, |(mean, _)| die.area() * target_density / mean);
    let cells = mean.map_or(f64::INFINITY, |(_, cells)| cells);
    let in_regions = (PER_CELL_IN_REGIONS * cells).clamp(FEW_IN_REGIONS, MOST_IN_REGIONS);
    let most = most(cells).min(MOST_BINS).min(in_regions / region_count(design) as f64);
    // The bins along the longer side are a power of two times those along the shorter.
    let aspect = (die.width() / die.height()).log2().round().clamp(-12.0, 12.0);
    let (along_x, along_y) = if aspect >= 0.0 { (aspect, 0.0) } else { (0.0, -aspect) };
    let times = 2f64.powf(aspect.abs());
    // The limits also hold for a very narrow die.
    let enough = |n: &f64| {
        n * times >= LEAST_BINS && (4.0 * n * n * times > most || ideal / per_bin < n * n * times)
    };
    let n = (1..=12).map(|k| 2f64.powi(k)).find(enough).unwrap_or(4096.0);
    let bins = |along: f64| ((n * 2f64.powf(along)) as usize).min(MAX_BINS_PER_AXIS);
    [bins(along_x), bins(along_y)]
}

/// Returns the bins of a placement grid: powers of two by the heuristic of [`default_bins`], but
/// with at most about one mean cell in a bin. In larger bins cells could overlap without overflow,
/// which would cost wirelength in legalisation. On a sparse die there are at most 16 bins for each
/// cell, or 2^14: more bins make an iteration slower. If macros move, a bin may have as many cells
/// as by the heuristic, and there are at most 4 bins for each cell. In that case finer bins make
/// final wires longer.
pub fn placement_bins(design: &Design, die: Rect, target_density: f64) -> [usize; 2] {
    let moves = !design.movable_macros().is_empty();
    let per_bin = if moves { PER_BIN } else { PLACED_PER_BIN };
    let most = |cells: f64| (MOST_PER_PLACED_CELL[usize::from(moves)] * cells).max(FEW_BINS);
    bins(design, die, target_density, per_bin, most)
}

/// DREAMPlace's own choice for an ISPD2005 design, by its name: the bins along each axis.
fn ispd2005_bins(design: &Design) -> Option<usize> {
    match design.name.split('.').next().unwrap_or_default() {
        "adaptec1" | "bigblue1" => Some(512),
        "adaptec2" | "adaptec3" | "adaptec4" | "bigblue2" => Some(1024),
        "bigblue3" | "bigblue4" => Some(2048),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
