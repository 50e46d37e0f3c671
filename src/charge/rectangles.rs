//! Rectangles without a design, and their checks.

use super::{ChargeError, check_length};
use crate::design::{Blockage, BlockageKind};
use crate::grid::Rect;
use crate::parallel;
use crate::setters::setters;

/// Bare rectangles, for a placer that has no [`Design`](crate::design::Design).
/// Lengths in layout units; one entry per movable cell in the first four.
///
/// ```
/// use placefield::charge::Rectangles;
/// use placefield::grid::Rect;
/// let (width, height) = ([2.0, 3.0], [1.0, 1.0]);
/// let (x, y) = ([0.0, 4.0], [5.0, 5.0]);
/// let block = [Rect::at(8.0, 0.0, 2.0, 10.0)];
/// let cells = Rectangles::movable(&width, &height, &x, &y).fixed(&block).row_height(1.0);
/// assert_eq!(cells.width, [2.0, 3.0]);
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct Rectangles<'a> {
    /// Widths of the movable cells.
    pub width: &'a [f64],
    /// Heights of the movable cells.
    pub height: &'a [f64],
    /// Where they start, left edges.
    pub x: &'a [f64],
    /// Where they start, bottom edges.
    pub y: &'a [f64],
    /// Fixed cells, which block the area under them.
    pub fixed: &'a [Rect],
    /// Height of a row, which is the height of a filler; `None`: the median
    /// height of the movable cells.
    pub row_height: Option<f64>,
    /// Whether each movable cell is a macro; `None`: those of more than 10 times the mean area and
    /// 2 rows' height, as in DREAMPlace. Matters only below a target density of 1.
    pub macros: Option<&'a [bool]>,
    /// Where cells may go; read only with
    /// [`ChargeOptions::row_blockage`](super::ChargeOptions::row_blockage).
    pub rows: &'a [Rect],
    /// Areas that cells may not lie in, or may not fill. Parts that fixed cells cover count once.
    pub blockages: &'a [Blockage],
}

impl<'a> Rectangles<'a> {
    /// Returns movable cells with these sizes and lower-left corners, without fixed cells, rows or
    /// blockages.
    pub fn movable(width: &'a [f64], height: &'a [f64], x: &'a [f64], y: &'a [f64]) -> Self {
        Rectangles { width, height, x, y, ..Rectangles::default() }
    }

    setters! {
        /// Sets the fixed cells, which block the area under them.
        fixed: &'a [Rect],
    }

    /// Sets the height of a row, layout units; `None`: the median height.
    #[must_use]
    pub fn row_height(self, height: impl Into<Option<f64>>) -> Self {
        Rectangles { row_height: height.into(), ..self }
    }

    /// Sets which movable cells are macros; `None`: those that are large.
    #[must_use]
    pub fn macros(self, macros: impl Into<Option<&'a [bool]>>) -> Self {
        Rectangles { macros: macros.into(), ..self }
    }

    setters! {
        /// Sets rows, where cells may go.
        rows: &'a [Rect],
        /// Sets areas that cells may not lie in, or may not fill.
        blockages: &'a [Blockage],
    }

    /// Refuses slices of different lengths and numbers that a [`super::Charge`] cannot hold.
    pub(super) fn check(&self) -> Result<(), ChargeError> {
        let expected = self.width.len();
        check_length("heights of movable cells", expected, self.height.len())?;
        check_length("x of movable cells", expected, self.x.len())?;
        check_length("y of movable cells", expected, self.y.len())?;
        check_length("macro marks", expected, self.macros.map_or(expected, <[bool]>::len))?;
        let names = [
            "width of movable cell",
            "height of movable cell",
            "x of movable cell",
            "y of movable cell",
        ];
        check_all(names, expected, |i| [self.width[i], self.height[i], self.x[i], self.y[i]])?;
        let fixed =
            ["width of fixed cell", "height of fixed cell", "x of fixed cell", "y of fixed cell"];
        let row = ["width of row", "height of row", "x of row", "y of row"];
        for (names, rects) in [(fixed, self.fixed), (row, self.rows)] {
            for (i, r) in rects.iter().enumerate() {
                check(names, i, [r.width(), r.height(), r.xl, r.yl])?;
            }
        }
        let names = ["width of blockage", "height of blockage", "x of blockage", "y of blockage"];
        for (index, Blockage { rect, kind }) in self.blockages.iter().enumerate() {
            check(names, index, [rect.width(), rect.height(), rect.xl, rect.yl])?;
            match *kind {
                BlockageKind::Partial(value) if !(0.0..=1.0).contains(&value) => {
                    return Err(ChargeError::Share { index, value });
                }
                _ => {}
            }
        }
        match self.row_height {
            Some(value) if !(value.is_finite() && value >= 0.0) => Err(ChargeError::BadNumber {
                what: "row height",
                index: 0,
                value,
                non_negative: true,
            }),
            _ => Ok(()),
        }
    }
}

/// Runs [`check`] on so many, and returns the error of the first that is refused. Parallel.
pub(super) fn check_all(
    names: [&'static str; 4],
    count: usize,
    values: impl Fn(usize) -> [f64; 4] + Sync,
) -> Result<(), ChargeError> {
    let refused = parallel::first(count, |i| check(names, i, values(i)).err());
    refused.map_or(Ok(()), Err)
}

/// Refuses a width, height, x or y that is not finite and a size that is
/// negative or whose area overflows.
pub(super) fn check(
    names: [&'static str; 4],
    index: usize,
    values: [f64; 4],
) -> Result<(), ChargeError> {
    for (k, (what, value)) in names.into_iter().zip(values).enumerate() {
        let non_negative = k < 2;
        if !value.is_finite() || (non_negative && value < 0.0) {
            return Err(ChargeError::BadNumber { what, index, value, non_negative });
        }
    }
    let area = values[0] * values[1];
    if !area.is_finite() {
        let what = "width × height of cell";
        return Err(ChargeError::BadNumber { what, index, value: area, non_negative: true });
    }
    Ok(())
}
