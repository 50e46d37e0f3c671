//! Polygons whose edges run along the axes, as rectangles.

use super::lef::bounds;
use crate::grid::Rect;

/// Most points of a polygon: its rectangles may be as many as the square of a quarter of them.
const MOST_POINTS: usize = 256;

/// Returns the rectangles that make up the polygon; they do not overlap. Two points are the corners
/// of a rectangle. `None` if an edge is not along an axis or there are more than [`MOST_POINTS`]
/// points.
pub(super) fn rectangles(points: &[(f64, f64)]) -> Option<Vec<Rect>> {
    let all = bounds(points).filter(|_| points.len() <= MOST_POINTS)?;
    // Points that are repeated, the first one at the end too, are one.
    let mut points = points.to_vec();
    points.dedup();
    while points.len() > 1 && points.first() == points.last() {
        points.pop();
    }
    if points.len() == 2 {
        return Some(vec![all]);
    }
    let next = points.iter().cycle().skip(1);
    let edges: Vec<_> = points.iter().zip(next).filter(|(a, b)| a != b).collect();
    let straight = edges.iter().all(|(a, b)| a.0 == b.0 || a.1 == b.1);
    if !straight {
        return None;
    }
    let mut levels: Vec<f64> = points.iter().map(|point| point.1).collect();
    levels.sort_by(f64::total_cmp);
    levels.dedup();
    let mut rects: Vec<Rect> = Vec::new();
    // Rectangles of the slab below, which grow where the next slab has the same.
    let mut below = 0..0;
    for slab in levels.windows(2) {
        let middle = slab[0] + (slab[1] - slab[0]) / 2.0;
        let crosses = |y0: f64, y1: f64| y0.min(y1) <= middle && middle < y0.max(y1);
        let mut cuts: Vec<f64> = Vec::new();
        cuts.extend(edges.iter().filter(|(a, b)| crosses(a.1, b.1)).map(|(a, _)| a.0));
        cuts.sort_by(f64::total_cmp);
        let spans: Vec<(f64, f64)> = cuts
            .chunks_exact(2)
            .map(|cut| (cut[0], cut[1]))
            .filter(|(from, to)| from < to)
            .collect();
        let same = spans.len() == below.len()
            && rects[below.clone()].iter().zip(&spans).all(|(r, s)| (r.xl, r.xh) == *s);
        if same {
            rects[below.clone()].iter_mut().for_each(|r| r.yh = slab[1]);
        } else {
            let start = rects.len();
            let of = |&(xl, xh): &(f64, f64)| Rect { xl, yl: slab[0], xh, yh: slab[1] };
            rects.extend(spans.iter().map(of));
            below = start..rects.len();
        }
    }
    Some(rects)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An L: the square of 20 without its upper right quarter.
    const L: [(f64, f64); 6] =
        [(0.0, 0.0), (0.0, 20.0), (10.0, 20.0), (10.0, 10.0), (20.0, 10.0), (20.0, 0.0)];

    #[test]
    fn l_shapes_are_cut_into_two_rectangles() {
        let inside = rectangles(&L).unwrap();
        assert_eq!(inside, [Rect::at(0.0, 0.0, 20.0, 10.0), Rect::at(0.0, 10.0, 10.0, 10.0)]);
    }

    #[test]
    fn two_points_are_a_rectangle() {
        let points = [(5.0, 7.0), (1.0, 2.0)];
        assert_eq!(rectangles(&points).unwrap(), [Rect::at(1.0, 2.0, 4.0, 5.0)]);
    }

    #[test]
    fn repeated_points_are_one() {
        let mut doubled: Vec<_> = L.iter().flat_map(|&point| [point; 3]).collect();
        doubled.push(L[0]);
        assert_eq!(rectangles(&doubled), rectangles(&L));
        let corners = [(0.0, 0.0), (0.0, 0.0), (4.0, 5.0), (4.0, 5.0), (0.0, 0.0)];
        assert_eq!(rectangles(&corners).unwrap(), [Rect::at(0.0, 0.0, 4.0, 5.0)]);
    }

    #[test]
    fn slanted_edges_are_refused() {
        assert_eq!(rectangles(&[(0.0, 0.0), (5.0, 5.0), (5.0, 0.0)]), None);
        assert_eq!(rectangles(&vec![(0.0, 0.0); MOST_POINTS + 1]), None);
        assert_eq!(rectangles(&[]), None);
    }
}
