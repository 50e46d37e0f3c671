//! The largest overflows of a map.

use crate::design::{Design, NodeKind};
use crate::grid::{BinGrid, Map, Rect};
use crate::real::largest_first;

/// A place where cells overflow.
#[derive(Clone, Debug)]
pub struct HotSpot {
    /// The square of bins that it takes in.
    pub rect: Rect,
    /// Area over the target density in it, layout units squared.
    pub area: f64,
    /// Its share of all area over the target.
    pub share: f64,
    /// The densest bin's density.
    pub densest: f64,
    /// The largest nodes in it, largest first.
    pub names: Vec<String>,
    /// Nodes that lie in it, with those named.
    pub nodes: usize,
}

/// Most names of a hot spot.
const MOST_NAMES: usize = 4;
/// A hot spot reaches this many bins to each side of its middle, on a map of 512 bins; in
/// proportion on others.
const REACH: f64 = 6.0;

/// Returns the `most` largest overflows of the map, the largest first; no two share a bin.
pub fn hot_spots(
    design: &Design,
    grid: &BinGrid,
    [cells, overflow]: &[Map<f64>; 2],
    most: usize,
) -> Vec<HotSpot> {
    let (nx, ny) = (grid.nx(), grid.ny());
    let reach = (REACH * nx.max(ny) as f64 / 512.0).round() as usize;
    let around = |at: usize, n: usize| at.saturating_sub(reach)..(at + reach + 1).min(n);
    let total: f64 = overflow.as_slice().iter().sum();
    let mut over: Vec<(f64, usize)> =
        overflow.as_slice().iter().copied().zip(0..).filter(|(v, _)| *v > 0.0).collect();
    largest_first(&mut over);
    let mut taken = Map::filled(nx, ny, false);
    let mut spots = Vec::new();
    for (_, bin) in over {
        if spots.len() == 4 * most {
            break; // of which the worst are kept
        }
        let (i, j) = (bin / ny, bin % ny);
        if taken[(i, j)] {
            continue;
        }
        let (columns, rows) = (around(i, nx), around(j, ny));
        let (mut sum, mut densest) = (0.0, 0.0f64);
        for i in columns.clone() {
            for j in rows.clone() {
                if !std::mem::replace(&mut taken[(i, j)], true) {
                    sum += overflow[(i, j)];
                    densest = densest.max(cells[(i, j)]);
                }
            }
        }
        let (xl, yl) = (
            grid.die().xl + columns.start as f64 * grid.bin_x(),
            grid.die().yl + rows.start as f64 * grid.bin_y(),
        );
        let size = (columns.len() as f64 * grid.bin_x(), rows.len() as f64 * grid.bin_y());
        spots.push(HotSpot {
            rect: Rect::at(xl, yl, size.0, size.1),
            area: sum * grid.bin_area(),
            share: sum / total,
            densest,
            names: Vec::new(),
            nodes: 0,
        });
    }
    spots.sort_by(|a, b| b.area.total_cmp(&a.area));
    spots.truncate(most);
    name_nodes(design, &mut spots);
    spots
}

/// Finds the nodes that lie in the spots.
fn name_nodes(design: &Design, spots: &mut [HotSpot]) {
    let mut found: Vec<Vec<(f64, usize)>> = vec![Vec::new(); spots.len()];
    for i in
        (0..design.nodes.len()).filter(|&i| design.nodes.kind[i] != NodeKind::FixedOverlappable)
    {
        let rect = design.rect(i);
        for (spot, found) in spots.iter().zip(&mut found) {
            if rect.overlap(&spot.rect) > 0.0 {
                found.push((rect.area(), i));
            }
        }
    }
    for (spot, mut found) in spots.iter_mut().zip(found) {
        spot.nodes = found.len();
        largest_first(&mut found);
        found.truncate(MOST_NAMES);
        spot.names = found.iter().map(|&(_, i)| design.node_name(i)).collect();
    }
}

#[cfg(test)]
mod tests;
