//! Movable cells: their widths and where they start.

use super::floorplan::ROW_HEIGHT;
use super::hilbert::Hidden;
use super::random::{Stream, random_stream};
use super::spec::Spec;
use crate::design::Placement;
use crate::grid::Rect;
use crate::parallel::{self, chunks_mut};
use rand_distr::{Distribution, LogNormal, Normal};

/// Cells that share a random stream.
const BLOCK: usize = 1 << 15;

/// Standard deviation of adaptec1's cell widths over their mean.
const WIDTH_VARIATION: f64 = 0.485;
/// Narrowest and widest cell of adaptec1, in sites.
const WIDTH_RANGE: (f64, f64) = (3.0, 77.0);

/// Clusters of the starting placement.
const CLUSTERS: u64 = 8;
/// How much a cluster is drawn together, from the hidden placement at 1 to one point at 0.
const CLUSTER_SCALE: f64 = 0.35;
/// Standard deviation of the noise on the starting placement, in die widths and heights.
const CLUSTER_NOISE: f64 = 0.03;

/// Returns log-normal widths in whole sites.
pub(super) fn widths(spec: &Spec) -> Vec<f64> {
    let law = LogNormal::from_mean_cv(spec.mean_width, WIDTH_VARIATION)
        .expect("the mean width is checked and positive");
    let mut widths = vec![0.0; spec.cells as usize];
    parallel::for_each(chunks_mut(&mut widths, BLOCK), |block, widths| {
        let mut random = random_stream(spec.seed, Stream::Widths, block as u64);
        for width in widths {
            *width = law.sample(&mut random).round().clamp(WIDTH_RANGE.0, WIDTH_RANGE.1);
        }
    });
    widths
}

/// Returns a placement as placers have it early on: Gaussian clusters around a few centres, every
/// cell inside the die, related cells in the same cluster.
///
/// Each cluster is a stretch of the hidden placement, drawn together and blurred. Holds the cells
/// only. Coordinates are multiples of 1/16, so that their decimals are short.
pub(super) fn clustered_start(spec: &Spec, hidden: &Hidden, width: &[f64]) -> Placement {
    let die = hidden.die();
    let centres = centres(hidden, spec.cells);
    let noise_x = Normal::new(0.0, CLUSTER_NOISE * die.width()).expect("the die is finite");
    let noise_y = Normal::new(0.0, CLUSTER_NOISE * die.height()).expect("the die is finite");
    let mut x = vec![0.0; width.len()];
    let mut y = vec![0.0; width.len()];
    let blocks = (chunks_mut(&mut x, BLOCK), chunks_mut(&mut y, BLOCK));
    parallel::for_each(blocks, |block, (xs, ys)| {
        let mut random = random_stream(spec.seed, Stream::Start, block as u64);
        for (i, (x, y)) in xs.iter_mut().zip(ys).enumerate() {
            let cell = block * BLOCK + i;
            let (hx, hy) = hidden.cell_point(cell as u64);
            let (cx, cy) = centres[cluster(cell as u64, spec.cells) as usize];
            let px = cx + CLUSTER_SCALE * (hx - cx) + noise_x.sample(&mut random);
            let py = cy + CLUSTER_SCALE * (hy - cy) + noise_y.sample(&mut random);
            (*x, *y) = corner_inside(die, (px, py), width[cell]);
        }
    });
    Placement { x, y, orientation: Vec::new() }
}

/// Returns the cluster a cell belongs to.
fn cluster(cell: u64, cells: u64) -> u64 {
    cell * CLUSTERS / cells
}

/// Returns the middle of each cluster: the mean of evenly taken members.
fn centres(hidden: &Hidden, cells: u64) -> Vec<(f64, f64)> {
    const MEMBERS: u64 = 64;
    (0..CLUSTERS)
        .map(|c| {
            let sum = (0..MEMBERS).fold((0.0, 0.0), |(sx, sy), m| {
                let (x, y) = hidden.cell_point((c * MEMBERS + m) * cells / (CLUSTERS * MEMBERS));
                (sx + x, sy + y)
            });
            (sum.0 / MEMBERS as f64, sum.1 / MEMBERS as f64)
        })
        .collect()
}

/// Returns the lower-left corner of a cell around `centre`, brought inside the die.
fn corner_inside(die: Rect, centre: (f64, f64), width: f64) -> (f64, f64) {
    let short = |v: f64| (v * 16.0).round() / 16.0;
    (
        short(centre.0 - width / 2.0).clamp(die.xl, die.xh - width),
        short(centre.1 - ROW_HEIGHT / 2.0).clamp(die.yl, die.yh - ROW_HEIGHT),
    )
}
