//! The die, the bins that divide it, and maps over the bins.
//!
//! Maps are `[nx][ny]` with x slow and **y contiguous**: bin `(i, j)` is the
//! `i`-th column of bins from the left and the `j`-th row from the bottom, and
//! is at index `i * ny + j`.

#[cfg(feature = "plot")]
pub(crate) mod field_lines;
#[cfg(feature = "plot")]
pub(crate) mod sample;

use serde::{Deserialize, Serialize};
use std::ops::{Index, IndexMut};

/// An axis-aligned rectangle in layout units, lower-left to upper-right.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rect {
    /// Left edge.
    pub xl: f64,
    /// Bottom edge.
    pub yl: f64,
    /// Right edge.
    pub xh: f64,
    /// Top edge.
    pub yh: f64,
}

impl Rect {
    /// Makes the rectangle with lower-left corner `(x, y)` and the given size.
    pub fn at(x: f64, y: f64, width: f64, height: f64) -> Self {
        Rect { xl: x, yl: y, xh: x + width, yh: y + height }
    }

    /// Returns the extent along x.
    pub fn width(&self) -> f64 {
        self.xh - self.xl
    }

    /// Returns the extent along y.
    pub fn height(&self) -> f64 {
        self.yh - self.yl
    }

    /// Returns width times height.
    pub fn area(&self) -> f64 {
        self.width() * self.height()
    }

    /// Returns the area shared with `other`; zero if there is none.
    pub fn overlap(&self, other: &Rect) -> f64 {
        let w = self.xh.min(other.xh) - self.xl.max(other.xl);
        let h = self.yh.min(other.yh) - self.yl.max(other.yl);
        if w > 0.0 && h > 0.0 { w * h } else { 0.0 }
    }

    /// Returns the smallest rectangle that holds both.
    pub fn union(&self, other: &Rect) -> Rect {
        Rect {
            xl: self.xl.min(other.xl),
            yl: self.yl.min(other.yl),
            xh: self.xh.max(other.xh),
            yh: self.yh.max(other.yh),
        }
    }
}

/// Most bins along one axis.
pub const MAX_BINS_PER_AXIS: usize = 32_768;
/// Most bins in a grid (2^28: one `f64` map of 2 GiB).
pub const MAX_BINS: usize = 1 << 28;

/// Error of a die and bin counts that make no grid.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum GridError {
    /// The die has no area, or a bound that is NaN or infinite.
    #[error("die [{}, {}] x [{}, {}] has no area", .0.xl, .0.xh, .0.yl, .0.yh)]
    EmptyDie(Rect),
    /// A bin count of zero or beyond [`MAX_BINS_PER_AXIS`] or [`MAX_BINS`].
    #[error(
        "{nx} x {ny} bins: expected 1 to {MAX_BINS_PER_AXIS} along each axis and at most \
         {MAX_BINS} in all"
    )]
    BinCount {
        /// Bins asked for along x.
        nx: usize,
        /// Bins asked for along y.
        ny: usize,
    },
}

/// A die divided evenly into `nx × ny` bins, which need not be square.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BinGrid {
    die: Rect,
    nx: usize,
    ny: usize,
}

impl BinGrid {
    /// Divides `die` into `nx × ny` bins.
    ///
    /// # Errors
    /// When the die has no area, or the bin counts are zero or too large to hold.
    pub fn new(die: Rect, nx: usize, ny: usize) -> Result<Self, GridError> {
        if !(die.width() > 0.0 && die.height() > 0.0 && die.area().is_finite()) {
            return Err(GridError::EmptyDie(die));
        }
        let axis = 1..=MAX_BINS_PER_AXIS;
        if !axis.contains(&nx) || !axis.contains(&ny) || nx * ny > MAX_BINS {
            return Err(GridError::BinCount { nx, ny });
        }
        Ok(BinGrid { die, nx, ny })
    }

    /// Returns a grid of as many bins over `die`, a die of the same size elsewhere.
    pub(crate) fn over(&self, die: Rect) -> BinGrid {
        BinGrid { die, ..*self }
    }

    /// Returns the die: the bounding box of the rows.
    pub fn die(&self) -> Rect {
        self.die
    }

    /// Returns the number of bins along x.
    pub fn nx(&self) -> usize {
        self.nx
    }

    /// Returns the number of bins along y.
    pub fn ny(&self) -> usize {
        self.ny
    }

    /// Returns the number of bins.
    pub fn bins(&self) -> usize {
        self.nx * self.ny
    }

    /// Returns the bin width, layout units.
    pub fn bin_x(&self) -> f64 {
        self.die.width() / self.nx as f64
    }

    /// Returns the bin height, layout units.
    pub fn bin_y(&self) -> f64 {
        self.die.height() / self.ny as f64
    }

    /// Returns the area of one bin, layout units squared.
    pub fn bin_area(&self) -> f64 {
        self.bin_x() * self.bin_y()
    }
}

/// One value per bin, `[nx][ny]`, y contiguous.
#[derive(Clone, Debug)]
pub struct Map<T> {
    nx: usize,
    ny: usize,
    /// The values begin at `first`; those of a large map begin with a cache line.
    data: Vec<T>,
    first: usize,
}

impl<T> Map<T> {
    /// Wraps values that are already in `[nx][ny]` order.
    ///
    /// # Panics
    /// When `data.len() != nx * ny`.
    pub fn from_vec(nx: usize, ny: usize, data: Vec<T>) -> Self {
        let whole = nx.checked_mul(ny) == Some(data.len());
        assert!(whole, "a {nx} x {ny} map from {} values", data.len());
        Map { nx, ny, data, first: 0 }
    }

    /// Returns the number of bins along x, the slow axis.
    pub fn nx(&self) -> usize {
        self.nx
    }

    /// Returns the number of bins along y, the contiguous axis.
    pub fn ny(&self) -> usize {
        self.ny
    }

    /// Returns all values, x slow and y contiguous.
    pub fn as_slice(&self) -> &[T] {
        &self.data[self.first..][..self.nx * self.ny]
    }

    /// Returns all values, x slow and y contiguous.
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        &mut self.data[self.first..][..self.nx * self.ny]
    }

    /// Returns the `ny` values at x index `i`.
    pub fn row(&self, i: usize) -> &[T] {
        &self.as_slice()[i * self.ny..][..self.ny]
    }

    /// Returns the map of what `of` makes of every value.
    pub(crate) fn map<U>(&self, of: impl Fn(&T) -> U) -> Map<U> {
        Map::from_vec(self.nx, self.ny, self.as_slice().iter().map(of).collect())
    }

    /// Returns the map of what `of` makes of the values that two maps of one size have in a bin.
    pub(crate) fn zip<U>(&self, other: &Map<T>, of: impl Fn(&T, &T) -> U) -> Map<U> {
        let pairs = self.as_slice().iter().zip(other.as_slice());
        Map::from_vec(self.nx, self.ny, pairs.map(|(a, b)| of(a, b)).collect())
    }

    /// Returns the values, x slow and y contiguous.
    pub fn into_vec(mut self) -> Vec<T> {
        self.data.truncate(self.first + self.nx * self.ny);
        self.data.drain(..self.first);
        self.data
    }
}

impl<T: Copy + Send + Sync> Map<T> {
    /// Makes a map that holds `value` everywhere.
    ///
    /// # Panics
    /// When there is no memory for `nx * ny` values.
    pub fn filled(nx: usize, ny: usize, value: T) -> Self {
        let bins = nx.checked_mul(ny).expect("a map fits into memory");
        let (data, first) = crate::memory::filled_from_line(bins, value);
        Map { nx, ny, data, first }
    }
}

impl<T: PartialEq> PartialEq for Map<T> {
    fn eq(&self, other: &Self) -> bool {
        (self.nx, self.ny) == (other.nx, other.ny) && self.as_slice() == other.as_slice()
    }
}

impl<T: Copy + PartialOrd> Map<T> {
    /// Returns the smallest and the largest value. NaN is passed over.
    pub fn range(&self) -> (T, T) {
        let values = self.as_slice();
        let first = values[0];
        values.iter().fold((first, first), |(lo, hi), &v| {
            (if v < lo { v } else { lo }, if v > hi { v } else { hi })
        })
    }
}

impl<T> Index<(usize, usize)> for Map<T> {
    type Output = T;
    #[inline]
    fn index(&self, (i, j): (usize, usize)) -> &T {
        assert!(i < self.nx && j < self.ny, "bin ({i}, {j}) of a {} x {} map", self.nx, self.ny);
        &self.data[self.first + i * self.ny + j]
    }
}

impl<T> IndexMut<(usize, usize)> for Map<T> {
    #[inline]
    fn index_mut(&mut self, (i, j): (usize, usize)) -> &mut T {
        assert!(i < self.nx && j < self.ny, "bin ({i}, {j}) of a {} x {} map", self.nx, self.ny);
        &mut self.data[self.first + i * self.ny + j]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn y_is_contiguous() {
        let m = Map::from_vec(2, 3, vec![0, 1, 2, 10, 11, 12]);
        assert_eq!(m[(1, 2)], 12);
        assert_eq!(m.row(1), &[10, 11, 12]);
    }

    #[test]
    #[should_panic(expected = "bin (0, 3) of a 2 x 3 map")]
    fn an_index_beyond_a_row_is_not_one_of_the_next_row() {
        let _ = Map::from_vec(2, 3, vec![0; 6])[(0, 3)];
    }

    #[test]
    fn large_maps_are_aligned_and_otherwise_alike() {
        let (nx, ny) = if cfg!(miri) { (3, 5) } else { (1025, 1023) };
        let mut map = Map::filled(nx, ny, 3.0);
        assert!(cfg!(miri) || map.as_slice().as_ptr().addr().is_multiple_of(64));
        map[(2, 1)] = 7.0;
        assert_eq!((map.row(2)[1], map.as_slice().len()), (7.0, nx * ny));
        let mut other = Map::from_vec(nx, ny, vec![3.0; nx * ny]);
        assert_ne!(map, other);
        other.as_mut_slice()[2 * ny + 1] = 7.0;
        assert!(map == other && map.clone() == other && map.range() == (3.0, 7.0));
        assert_eq!(map.into_vec(), other.into_vec());
    }

    #[test]
    fn bins_of_a_wide_die_are_wide() {
        let g = BinGrid::new(Rect { xl: -10.0, yl: 5.0, xh: 30.0, yh: 15.0 }, 8, 5).unwrap();
        assert_eq!((g.bin_x(), g.bin_y(), g.bin_area()), (5.0, 2.0, 10.0));
    }

    #[test]
    fn bad_grids_are_errors() {
        let die = Rect::at(0.0, 0.0, 8.0, 8.0);
        for (nx, ny) in [(0, 8), (8, 0), (100_000, 100_000), (usize::MAX, usize::MAX)] {
            assert_eq!(BinGrid::new(die, nx, ny), Err(GridError::BinCount { nx, ny }));
        }
        for bad in [Rect::at(0.0, 0.0, 0.0, 8.0), Rect::at(0.0, 0.0, f64::NAN, 8.0)] {
            assert!(matches!(BinGrid::new(bad, 8, 8), Err(GridError::EmptyDie(_))));
        }
    }
}
