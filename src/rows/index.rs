//! Rectangles in a tree of boxes, to find overlapping rectangles quickly.

use crate::grid::Rect;

/// Rectangles, each with a value of the caller.
pub(crate) struct RectIndex<T> {
    /// In preorder: a node comes before all nodes below it.
    nodes: Vec<Node<T>>,
}

struct Node<T> {
    /// The box around all rectangles below it; of a leaf, the rectangle.
    bounds: Rect,
    /// The first node that is not below it.
    end: usize,
    /// The first of the rectangles below it; of a leaf, the only one.
    of: T,
}

impl<T: Copy> RectIndex<T> {
    pub(crate) fn new(rects: impl Iterator<Item = (Rect, T)>) -> Self {
        let mut rects: Vec<(Rect, T)> = rects.collect();
        let mut index = RectIndex { nodes: Vec::with_capacity(2 * rects.len()) };
        index.add(&mut rects, true);
        index
    }

    /// Adds the tree of some rectangles, whose root divides them along x or along y.
    fn add(&mut self, rects: &mut [(Rect, T)], along_x: bool) {
        let Some((first, of)) = rects.first().copied() else { return };
        let bounds = rects.iter().fold(first, |all, (rect, _)| Rect {
            xl: all.xl.min(rect.xl),
            yl: all.yl.min(rect.yl),
            xh: all.xh.max(rect.xh),
            yh: all.yh.max(rect.yh),
        });
        let at = self.nodes.len();
        self.nodes.push(Node { bounds, end: 0, of });
        if rects.len() > 1 {
            let middle = |rect: &Rect| if along_x { rect.xl + rect.xh } else { rect.yl + rect.yh };
            let half = rects.len() / 2;
            rects.select_nth_unstable_by(half, |a, b| middle(&a.0).total_cmp(&middle(&b.0)));
            let (low, high) = rects.split_at_mut(half);
            self.add(low, !along_x);
            self.add(high, !along_x);
        }
        self.nodes[at].end = self.nodes.len();
    }

    /// Returns the rectangles that share more than `near` with `rect` along x and along y: what
    /// each belongs to, and the shared area.
    pub(crate) fn meeting(&self, rect: &Rect, near: f64) -> impl Iterator<Item = (T, f64)> {
        let (rect, mut at) = (*rect, 0);
        std::iter::from_fn(move || {
            while let Some(Node { bounds, end, of }) = self.nodes.get(at) {
                let wide = bounds.xh.min(rect.xh) - bounds.xl.max(rect.xl);
                let high = bounds.yh.min(rect.yh) - bounds.yl.max(rect.yl);
                let meets = wide > near && high > near;
                let is_leaf = *end == at + 1;
                at = if meets { at + 1 } else { *end };
                if meets && is_leaf {
                    return Some((*of, wide * high));
                }
            }
            None
        })
    }
}
