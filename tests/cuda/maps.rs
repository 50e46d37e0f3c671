//! The maps that tests of a solve on a device share.

use placefield::Real;
use placefield::grid::{BinGrid, Rect};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// Bins that are not square: w_y then differs from w_x by more than the sizes say.
pub(crate) fn grid(nx: usize, ny: usize) -> BinGrid {
    let die = Rect { xl: -3.0, yl: 5.0, xh: -3.0 + 2.0 * nx as f64, yh: 5.0 + 3.5 * ny as f64 };
    BinGrid::new(die, nx, ny).unwrap()
}

/// A blob far from both middles, wider along x than along y, on noise.
pub(crate) fn off_axis<T: Real>(nx: usize, ny: usize) -> Vec<T> {
    let mut random = Pcg64Mcg::seed_from_u64((nx * 100_003 + ny) as u64);
    let at = |k: usize, n: usize| (k as f64 + 0.5) / n as f64;
    let bell = |i: usize, j: usize| {
        (-((at(i, nx) - 0.31) / 0.17).powi(2) - ((at(j, ny) - 0.78) / 0.09).powi(2)).exp()
    };
    let value = |k: usize| bell(k / ny, k % ny) + 0.2 * random.random::<f64>();
    (0..nx * ny).map(value).map(T::cast).collect()
}
