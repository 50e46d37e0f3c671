//! The definitions, summed term by term in `f64`: the reference of every test.
//!
//! O(N²) per line. Cosines come from one table of a full wave, indexed by
//! exact integer arithmetic, so that the error does not grow with k·n.

use super::{Transform, Transform1d, TransformNd};
use crate::grid::{BinGrid, Map};
use crate::spectral::Spectrum;

/// `cos(πm/2n)` for every m, through a table of one wave.
struct CosineTable {
    n: usize,
    cosine: Vec<f64>,
}

impl CosineTable {
    fn new(n: usize) -> Self {
        let quarter = super::twiddle::quarter_wave(n);
        let cosine = (0..4 * n)
            .map(|m| match m / n {
                0 => quarter[m].re,
                1 => -quarter[2 * n - m].re,
                2 => -quarter[m - 2 * n].re,
                _ => quarter[4 * n - m].re,
            })
            .collect();
        CosineTable { n, cosine }
    }

    /// Returns `cos(πm/2n)`.
    fn cos(&self, m: usize) -> f64 {
        self.cosine[m % (4 * self.n)]
    }

    /// Returns `sin(πm/2n)`.
    fn sin(&self, m: usize) -> f64 {
        self.cos(m + 3 * self.n)
    }
}

/// Computes `X_k = Σ_n x_n cos(π(n+½)k/N)`.
pub fn dct(x: &[f64]) -> Vec<f64> {
    let table = CosineTable::new(x.len());
    sum(x, |k, n| table.cos((2 * n + 1) * k))
}

/// Computes `X_k = ½x_0 + Σ_{n≥1} x_n cos(πn(k+½)/N)`.
pub fn idct(x: &[f64]) -> Vec<f64> {
    let table = CosineTable::new(x.len());
    sum(x, |k, n| if n == 0 { 0.5 } else { table.cos(n * (2 * k + 1)) })
}

/// Computes `X_k = Σ_{n≥1} x_n sin(πn(k+½)/N)`.
pub fn idxst(x: &[f64]) -> Vec<f64> {
    let table = CosineTable::new(x.len());
    sum(x, |k, n| table.sin(n * (2 * k + 1)))
}

fn sum(x: &[f64], basis: impl Fn(usize, usize) -> f64) -> Vec<f64> {
    (0..x.len()).map(|k| x.iter().enumerate().map(|(n, &v)| v * basis(k, n)).sum()).collect()
}

/// A one-dimensional transform.
type LineFunction = fn(&[f64]) -> Vec<f64>;

/// Returns a two-dimensional transform, one axis after the other.
pub fn transform2(kind: Transform, x: &Map<f64>) -> Map<f64> {
    let (along_x, along_y): (LineFunction, LineFunction) = match kind {
        Transform::Dct => (dct, dct),
        Transform::Idct => (idct, idct),
        Transform::IdctIdxst => (idct, idxst),
        Transform::IdxstIdct => (idxst, idct),
    };
    let (nx, ny) = (x.nx(), x.ny());
    let rows: Vec<Vec<f64>> = (0..nx).map(|i| along_y(x.row(i))).collect();
    let mut out = Map::filled(nx, ny, 0.0);
    for j in 0..ny {
        let column: Vec<f64> = rows.iter().map(|row| row[j]).collect();
        for (i, value) in along_x(&column).into_iter().enumerate() {
            out[(i, j)] = value;
        }
    }
    out
}

/// Returns a transform of any number of dimensions, one axis after the other; the last is
/// contiguous.
pub fn transform_nd(kind: TransformNd, shape: &[usize], x: &[f64]) -> Vec<f64> {
    assert_eq!(x.len(), shape.iter().product::<usize>());
    let mut out = x.to_vec();
    let mut stride = 1;
    for (axis, &n) in shape.iter().enumerate().rev() {
        let along: LineFunction = match kind {
            TransformNd::Dct => dct,
            TransformNd::Idxst(sine) if sine == axis => idxst,
            _ => idct,
        };
        // A line starts wherever this axis's index is zero.
        for start in (0..out.len()).filter(|i| i / stride % n == 0) {
            let line: Vec<f64> = (0..n).map(|k| out[start + k * stride]).collect();
            for (k, value) in along(&line).into_iter().enumerate() {
                out[start + k * stride] = value;
            }
        }
        stride *= n;
    }
    out
}

/// Returns a one-dimensional transform of one line.
pub fn transform1(kind: Transform1d, x: &[f64]) -> Vec<f64> {
    match kind {
        Transform1d::Dct => dct(x),
        Transform1d::Idct => idct(x),
        Transform1d::Idxst => idxst(x),
    }
}

/// Returns φ, Ex and Ey of `rho` by direct summation; see [`crate::spectral`].
pub fn solve(grid: &BinGrid, rho: &Map<f64>) -> [Map<f64>; 3] {
    let spectrum = Spectrum::new(grid);
    let mut hat = transform2(Transform::Dct, rho);
    for u in 0..grid.nx() {
        for v in 0..grid.ny() {
            hat[(u, v)] *= spectrum.green(u, v);
        }
    }
    let times = |factor: &dyn Fn(usize, usize) -> f64| {
        let mut map = hat.clone();
        for u in 0..grid.nx() {
            for v in 0..grid.ny() {
                map[(u, v)] *= factor(u, v);
            }
        }
        map
    };
    [
        transform2(Transform::Idct, &hat),
        transform2(Transform::IdxstIdct, &times(&|u, _| spectrum.wx()[u])),
        transform2(Transform::IdctIdxst, &times(&|_, v| spectrum.wy()[v])),
    ]
}

/// Returns φ and E along x, y and z of `rho`, `shape` bins with these lengths, by direct summation;
/// see [`crate::spectral`].
pub fn solve_volume(shape: [usize; 3], bin: [f64; 3], rho: &[f64]) -> [Vec<f64>; 4] {
    let spectrum = Spectrum::of_bins(&shape, &bin);
    let index = |at: usize| [at / shape[2] / shape[1], at / shape[2] % shape[1], at % shape[2]];
    let mut hat = transform_nd(TransformNd::Dct, &shape, rho);
    hat.iter_mut().enumerate().for_each(|(at, v)| *v *= spectrum.green_at(&index(at)));
    let field = |axis: usize| {
        let wave = |at: usize| spectrum.waves()[axis][index(at)[axis]];
        let times: Vec<f64> = hat.iter().enumerate().map(|(at, v)| v * wave(at)).collect();
        transform_nd(TransformNd::Idxst(axis), &shape, &times)
    };
    [transform_nd(TransformNd::Idct, &shape, &hat), field(0), field(1), field(2)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_pairs() {
        // A constant has no wave in it; one wave comes back from its coefficient.
        assert!(dct(&[1.0; 5])[1..].iter().all(|v| v.abs() < 1e-15));
        let half = 0.5_f64.sqrt();
        for (got, want) in idct(&[0.0, 0.0, 1.0, 0.0]).iter().zip([half, -half, -half, half]) {
            assert!((got - want).abs() < 1e-15);
        }
        for (got, want) in idxst(&[7.0, 0.0, 1.0, 0.0]).iter().zip([half, half, -half, -half]) {
            assert!((got - want).abs() < 1e-15);
        }
    }

    #[test]
    fn idxst_is_an_alternating_reversed_idct() {
        let x = [3.0, -1.0, 4.0, 1.0, -5.0, 9.0, 2.0];
        let n = x.len();
        let reversed: Vec<f64> = (0..n).map(|i| if i == 0 { 0.0 } else { x[n - i] }).collect();
        for (k, (a, b)) in idxst(&x).iter().zip(idct(&reversed)).enumerate() {
            assert!((a - if k % 2 == 1 { -b } else { b }).abs() < 1e-13);
        }
    }

    #[test]
    fn two_dimensions_are_a_case_of_any_number() {
        let x: Vec<f64> = (0..15).map(|i| ((i * i * 7) % 11) as f64).collect();
        let map = Map::from_vec(3, 5, x.clone());
        for kind in Transform::ALL {
            let want = transform2(kind, &map);
            for (a, b) in transform_nd(kind.into(), &[3, 5], &x).iter().zip(want.as_slice()) {
                assert!((a - b).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn idct_undoes_dct() {
        let x = [3.0, -1.0, 4.0, 1.0, -5.0];
        for (a, b) in idct(&dct(&x)).iter().zip(x) {
            assert!((a - 2.5 * b).abs() < 1e-13);
        }
    }
}
