//! Where cells overflow most.

use crate::design::{Design, NodeKind};
use crate::grid::{BinGrid, Map, Rect};
use crate::real::largest_first;

/// A place where cells overflow.
#[derive(Clone, Debug)]
pub(crate) struct HotSpot {
    /// The square of bins that it takes in.
    pub(crate) rect: Rect,
    /// Area over the target density in it, layout units squared.
    pub(crate) area: f64,
    /// Its share of all area over the target.
    pub(crate) share: f64,
    /// The densest bin's density.
    pub(crate) densest: f64,
    /// The largest nodes in it, largest first.
    pub(crate) names: Vec<String>,
    /// Nodes that lie in it, with those named.
    pub(crate) nodes: usize,
}

/// Most names of a hot spot.
const MOST_NAMES: usize = 4;
/// A hot spot reaches this many bins to each side of its middle, on a map of 512 bins; in
/// proportion on others.
const REACH: f64 = 6.0;

/// Returns the `most` worst places of `overflow`, none of which share a bin, the worst first.
pub(crate) fn hot_spots(
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
mod tests {
    use super::*;
    use crate::charge::Charge;
    use crate::design::{Names, Nodes, Placement, Row};
    use crate::maps::{cells_and_overflow, coarse_grid, fixed_outlines, outlines};

    /// Returns the cells of 2 × 2 on a die of 64 × 32 with rows of height 2.
    fn design(at: &[(f64, f64)]) -> Design {
        let mut names = Names::default();
        (0..at.len()).for_each(|i| names.push(&format!("c{i}")));
        let n = at.len();
        let row = |k| Row {
            x: 0.0,
            y: 2.0 * f64::from(k),
            height: 2.0,
            site_width: 1.0,
            pitch: 1.0,
            sites: 64,
            ..Row::default()
        };
        Design {
            nodes: Nodes {
                names,
                width: vec![2.0; n],
                height: vec![2.0; n],
                kind: vec![NodeKind::Movable; n],
                ..Nodes::default()
            },
            placement: Placement {
                x: at.iter().map(|p| p.0).collect(),
                y: at.iter().map(|p| p.1).collect(),
                orientation: vec![Default::default(); n],
            },
            rows: (0..16).map(row).collect(),
            ..Design::default()
        }
    }

    #[test]
    fn hot_spots_are_where_cells_lie_on_one_another() {
        // Three on one place, two on another, one alone; x is the longer axis.
        let at = [(40.0, 4.0), (40.0, 4.0), (40.0, 4.0), (10.0, 20.0), (10.0, 20.0), (30.0, 30.0)];
        let mut design = design(&at);
        design.nodes.width[4] = 1.0;
        let grid = BinGrid::new(design.die().unwrap(), 32, 16).unwrap();
        let charge = Charge::from_design(&design, grid, &Default::default()).unwrap();
        let maps = cells_and_overflow(&charge);
        assert_eq!((maps[0][(20, 2)], maps[1][(20, 2)]), (3.0, 2.0));
        let spots = hot_spots(&design, &grid, &maps, 5);
        assert_eq!(spots.len(), 2);
        assert_eq!((spots[0].area, spots[0].densest, spots[0].nodes), (8.0, 3.0, 3));
        assert_eq!(spots[0].names, ["c0", "c1", "c2"]);
        assert_eq!((spots[1].area, spots[1].share), (2.0, 0.2));
        assert_eq!(spots[1].names, ["c3", "c4"], "the largest first");
        assert_eq!(spots[1].rect, Rect::at(10.0, 20.0, 2.0, 2.0));
        assert_eq!(hot_spots(&design, &grid, &maps, 1).len(), 1);
    }

    #[test]
    fn rounding_is_no_overflow() {
        // Three cells that fill a bin, whose areas do not sum up to one exactly.
        let third = 2.0 / 3.0;
        let mut design = design(&[(40.0, 4.0), (40.0 + third, 4.0), (40.0 + 2.0 * third, 4.0)]);
        design.nodes.width.fill(third * (1.0 + 1e-11));
        let grid = BinGrid::new(design.die().unwrap(), 32, 16).unwrap();
        let charge = Charge::from_design(&design, grid, &Default::default()).unwrap();
        let [cells, overflow] = cells_and_overflow(&charge);
        assert!((cells[(20, 2)] - 1.0).abs() < 1e-9);
        assert!(overflow.as_slice().iter().all(|v| *v == 0.0));
        design.nodes.width.fill(third * 1.001);
        let charge = Charge::from_design(&design, grid, &Default::default()).unwrap();
        assert!(cells_and_overflow(&charge)[1][(20, 2)] > 1e-4);
    }

    #[test]
    fn coarse_bins_are_not_lower_than_rows() {
        let design = design(&[(0.0, 0.0)]);
        let grid = coarse_grid(&design, design.die().unwrap()).unwrap();
        assert_eq!((grid.nx(), grid.ny()), (64, 16));
    }

    #[test]
    fn a_macro_is_tall_or_a_block() {
        let mut design = design(&[(0.0, 0.0); 40]);
        design.nodes.height[3] = 8.0; // four rows
        design.nodes.height[5] = 10.0;
        (design.nodes.width[7], design.nodes.height[7]) = (62.0, 2.0); // large, but of one row
        assert_eq!(design.movable_macros(), [5]);
        design.nodes.kind[9] = NodeKind::Fixed;
        let die = design.die().unwrap();
        assert_eq!(outlines(&design, die).len(), 2);
        assert_eq!(fixed_outlines(&design, die), [design.rect(9)]);
    }
}
