//! Points and boxes of a picture, in its units from the top left corner, y downward.

/// A point in picture units.
pub(super) type Point = (f64, f64);

/// A box in picture units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Area {
    pub(super) left: f64,
    pub(super) top: f64,
    pub(super) right: f64,
    pub(super) bottom: f64,
}

impl Area {
    pub(super) fn width(&self) -> f64 {
        self.right - self.left
    }

    pub(super) fn height(&self) -> f64 {
        self.bottom - self.top
    }

    /// Returns the box with every side moved outward by `by`.
    pub(super) fn grown(&self, by: f64) -> Area {
        let Area { left, top, right, bottom } = *self;
        Area { left: left - by, top: top - by, right: right + by, bottom: bottom + by }
    }

    /// Returns the part inside `other`.
    pub(super) fn within(&self, other: &Area) -> Area {
        Area {
            left: self.left.max(other.left),
            top: self.top.max(other.top),
            right: self.right.min(other.right),
            bottom: self.bottom.min(other.bottom),
        }
    }

    /// Returns the box's corners, closed.
    pub(super) fn outline(&self) -> Vec<Point> {
        let Area { left, top, right, bottom } = *self;
        vec![(left, top), (right, top), (right, bottom), (left, bottom), (left, top)]
    }
}
