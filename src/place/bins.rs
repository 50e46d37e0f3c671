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
mod tests {
    use super::*;
    use crate::design::{Fence, NodeKind, Orientation};
    use crate::grid::BinGrid;

    #[test]
    fn bins_follow_names_and_the_heuristic() {
        let mut design = Design { name: "adaptec1.mms".to_owned(), ..Design::default() };
        let die = Rect::at(0.0, 0.0, 400.0, 100.0);
        let [nx, ny] = default_bins(&design, die, 1.0);
        assert_eq!((nx, ny), (512, 512));
        assert_eq!(placement_bins(&design, die, 1.0), [16, 4], "whatever its name");
        // 100 cells of 20 x 10 on 40000: 200 ideal bins, 4 times as wide as high.
        design.name = "other".to_owned();
        design.nodes.width = vec![20.0; 100];
        design.nodes.height = vec![10.0; 100];
        design.nodes.kind = vec![crate::design::NodeKind::Movable; 100];
        design.placement.orientation = vec![Default::default(); 100];
        let [nx, ny] = default_bins(&design, die, 1.0);
        assert_eq!((nx, ny), (16, 4));
        assert_eq!(placement_bins(&design, die, 1.0), [32, 8]);
        // The same when all are fixed; the fewest without any area.
        design.nodes.kind = vec![crate::design::NodeKind::Fixed; 100];
        let [nx, ny] = default_bins(&design, die, 1.0);
        assert_eq!((nx, ny), (16, 4));
        design.nodes.width = vec![0.0; 100];
        let [nx, ny] = default_bins(&design, die, 1.0);
        assert_eq!((nx, ny), (16, 4));
        // A macro does not make the bins coarser.
        design.nodes.width = vec![20.0; 100];
        design.nodes.kind = vec![crate::design::NodeKind::Movable; 100];
        (design.nodes.width[7], design.nodes.height[7]) = (200.0, 90.0);
        let [nx, ny] = default_bins(&design, die, 1.0);
        assert_eq!((nx, ny), (16, 4));
        assert_eq!(placement_bins(&design, die, 1.0), [16, 4]);
        // A very narrow die still has a grid for any cells.
        design.nodes.width = vec![1e-9; 100];
        let thread = Rect::at(0.0, 0.0, 1.0, 1e9);
        let [nx, ny] = default_bins(&design, thread, 1.0);
        assert!(BinGrid::new(thread, nx, ny).is_ok(), "{nx} x {ny}");
        assert!((1 << 12..=100 << 8).contains(&(nx * ny)), "{nx} x {ny}");
        let [nx, ny] = default_bins(&design, Rect::at(0.0, 0.0, 1e6, 1e6), 1.0);
        assert_eq!((nx, ny), (128, 128), "100 cells");
        assert_eq!(placement_bins(&design, Rect::at(0.0, 0.0, 1e6, 1e6), 1.0), [128, 128]);
    }

    #[test]
    fn bins_fall_with_fences_and_grow_with_cells() {
        let die = Rect::at(0.0, 0.0, 1e6, 1e6);
        let bins = |cells: usize, fences: usize| {
            let mut design = Design::default();
            design.nodes.width = vec![1e-6; cells];
            design.nodes.height = vec![1e-6; cells];
            design.nodes.kind = vec![NodeKind::Movable; cells];
            design.placement.orientation = vec![Orientation::N; cells];
            design.fences = vec![Fence::default(); fences];
            if fences > 0 {
                design.nodes.fence = (0..cells).map(|i| Some((i % fences) as u32)).collect();
            }
            [default_bins(&design, die, 1.0), placement_bins(&design, die, 1.0)]
                .map(|[nx, ny]| nx * ny)
        };
        let mut beside_macros = Design::default();
        beside_macros.nodes.width = [vec![1.0; 88_000], vec![4e4]].concat();
        beside_macros.nodes.height = [vec![1.0; 88_000], vec![4e4]].concat();
        beside_macros.nodes.kind = vec![NodeKind::Movable; 88_001];
        beside_macros.placement.orientation = vec![Orientation::N; 88_001];
        assert_eq!(placement_bins(&beside_macros, die, 1.0), [512, 512]);
        beside_macros.nodes.kind[88_000] = NodeKind::Fixed;
        assert_eq!(placement_bins(&beside_macros, die, 1.0), [1024, 1024]);
        let (few, many) = (13, 100_000);
        assert_eq!(bins(few, 0), [32 * 32, 128 * 128]);
        assert_eq!(bins(many, 0), [4096 * 4096, 1024 * 1024]);
        assert_eq!(bins(many, 15), [2048 * 2048, 1024 * 1024]);
        assert_eq!(bins(many, 1000), [256 * 256; 2]);
        assert_eq!(bins(1000, 1000), [64 * 64; 2], "few cells have few bins in all");
        assert_eq!(bins(few, 13), [32 * 32, 128 * 128], "fences are limited together");
    }
}
