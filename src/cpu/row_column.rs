//! The row-column pipeline: every line along y, a transpose, every line along
//! x, a transpose back.
//!
//! Four passes over the map per transform. Within a pass a line is reordered,
//! transformed by an N-point real FFT and post-processed while it is in the
//! first-level cache; multipliers are folded into the second pass of a DCT and
//! the first of an inverse.

use super::shared::{PerThread, vectorised};
use super::solve::{Inverse, Multiply, Transforms2d};
use crate::memory::filled;
use crate::real::Real;
use crate::transform::line::{Line, LineScratch, Wave};
use rayon::prelude::*;

/// Side of the square blocks a transpose works in: 32 × 32 `f64` are 8 KiB,
/// so source and destination blocks share the first-level cache.
const BLOCK: usize = 32;

/// Plans and buffers for one map size.
pub(crate) struct RowColumn<T: Real> {
    along_x: Axis<T>,
    along_y: Axis<T>,
    /// Lines along y transformed, `[nx][ny]`.
    rows: Vec<T>,
    /// The same transposed, `[ny][nx]`, and lines along x transformed.
    columns: [Vec<T>; 2],
}

struct Axis<T: Real> {
    line: Line<T>,
    scratch: PerThread<LineScratch<T>>,
}

impl<T: Real> Axis<T> {
    fn new(n: usize, threads: usize) -> Self {
        let line = Line::new(n);
        let scratch = PerThread::new(threads, || line.make_scratch());
        Axis { line, scratch }
    }

    /// DCT of every line; coefficient `k` of line `l` passes through `finish(l, k, ·)`.
    fn forward(&self, x: &[T], out: &mut [T], finish: impl Fn(usize, usize, T) -> T + Sync) {
        let n = self.line.len();
        let lines = out.par_chunks_exact_mut(n).zip(x.par_chunks_exact(n)).enumerate();
        lines.for_each(|(l, (out, x))| {
            self.scratch.with(|s| {
                vectorised(
                    #[inline(always)]
                    || self.line.forward(x, out, s, |k, value| finish(l, k, value)),
                )
            });
        });
    }

    /// IDCT or IDXST of every line; coefficient `k` of line `l` is multiplied by `by(l, k)`.
    fn inverse(&self, wave: Wave, x: &[T], out: &mut [T], by: impl Fn(usize, usize) -> T + Sync) {
        let n = self.line.len();
        let lines = out.par_chunks_exact_mut(n).zip(x.par_chunks_exact(n)).enumerate();
        lines.for_each(|(l, (out, x))| {
            self.scratch.with(|s| {
                vectorised(
                    #[inline(always)]
                    || self.line.inverse(wave, |k| x[k] * by(l, k), out, s),
                )
            });
        });
    }
}

impl<T: Real> RowColumn<T> {
    pub(crate) fn new(nx: usize, ny: usize, threads: usize) -> Self {
        let map = || filled(nx * ny, T::zero());
        RowColumn {
            along_x: Axis::new(nx, threads),
            along_y: Axis::new(ny, threads),
            rows: map(),
            columns: [map(), map()],
        }
    }
}

impl<T: Real> Transforms2d<T> for RowColumn<T> {
    fn forward(&mut self, x: &[T], by: &impl Multiply<T>, out: &mut [T]) {
        let (nx, ny) = (self.along_x.line.len(), self.along_y.line.len());
        let [transposed, columns] = &mut self.columns;
        self.along_y.forward(x, &mut self.rows, |_, _, value| value);
        transpose(&self.rows, ny, transposed);
        self.along_x.forward(transposed, columns, |v, u, value| value * by.at(u, v));
        transpose(columns, nx, out);
    }

    fn inverse(&mut self, kind: Inverse, x: &[T], by: &impl Multiply<T>, out: &mut [T]) {
        let (nx, ny) = (self.along_x.line.len(), self.along_y.line.len());
        let (wave_x, wave_y) = match kind {
            Inverse::Idct => (Wave::Cosine, Wave::Cosine),
            Inverse::IdctIdxst => (Wave::Cosine, Wave::Sine),
            Inverse::IdxstIdct => (Wave::Sine, Wave::Cosine),
        };
        let [transposed, columns] = &mut self.columns;
        self.along_y.inverse(wave_y, x, &mut self.rows, |u, v| by.at(u, v));
        transpose(&self.rows, ny, transposed);
        self.along_x.inverse(wave_x, transposed, columns, |_, _| T::one());
        transpose(columns, nx, out);
    }
}

/// `out[j][i] = x[i][j]` for `x` of `columns` columns, in square blocks.
fn transpose<T: Real>(x: &[T], columns: usize, out: &mut [T]) {
    let rows = x.len() / columns;
    out.par_chunks_mut(BLOCK * rows).enumerate().for_each(|(b, panel)| {
        let first = b * BLOCK;
        for i in (0..rows).step_by(BLOCK) {
            let block = i..rows.min(i + BLOCK);
            for (j, line) in panel.chunks_exact_mut(rows).enumerate() {
                for (value, i) in line[block.clone()].iter_mut().zip(block.clone()) {
                    *value = x[i * columns + first + j];
                }
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transposes_any_shape() {
        for (rows, columns) in [(1, 1), (1, 70), (70, 1), (33, 65), (64, 32)] {
            let x: Vec<f64> = (0..rows * columns).map(|i| i as f64).collect();
            let mut out = vec![0.0; x.len()];
            transpose(&x, columns, &mut out);
            for i in 0..rows {
                for j in 0..columns {
                    assert_eq!(out[j * rows + i], x[i * columns + j]);
                }
            }
        }
    }
}
