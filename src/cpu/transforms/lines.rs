//! Many lines of one length, each by an N-point FFT, and the transposes
//! between one axis's lines and the next's.

use super::scratch::Threads;
use crate::cpu::simd::vectorised;
use crate::parallel::{self, chunks, chunks_mut};
use crate::real::Real;
use crate::transform::fft::Ways;
use crate::transform::line::{Line, Wave};
use crate::transform::{InputElement, Transform1d};
use num_complex::Complex;

/// Side of the square blocks a transpose works in: 32 × 32 `f64` are 8 KiB,
/// so source and destination blocks share the L1 cache.
const SIDE: usize = 32;

/// Values a task takes at least, where lines are short.
const VALUES: usize = 4096;

/// Calls `work(l, x, out, scratch)` for every line of `n` values, in parallel.
#[inline(always)]
fn for_lines<S: InputElement, T: Real>(
    n: usize,
    x: &[S],
    out: &mut [T],
    threads: &Threads<T>,
    work: impl Fn(usize, &[S], &mut [T], &mut [Complex<T>]) + Sync,
) {
    let lines = (VALUES / n).max(1);
    let tasks = (chunks_mut(out, lines * n), chunks(x, lines * n));
    parallel::for_each(tasks, |task, (out, x)| {
        threads.with(|s| {
            for (l, (out, x)) in out.chunks_exact_mut(n).zip(x.chunks_exact(n)).enumerate() {
                work(task * lines + l, x, out, s);
            }
        });
    });
}

/// Lines of one length by the N-point algorithm.
pub(crate) struct Lines<T: Real>(Line<T>);

impl<T: Real> Lines<T> {
    pub(crate) fn new(n: usize, ways: Ways) -> Self {
        Lines(Line::new(n, ways))
    }

    /// Returns the number of values in a line.
    pub(crate) fn n(&self) -> usize {
        self.0.n()
    }

    /// Returns the working memory of a thread.
    pub(crate) fn scratch_len(&self) -> usize {
        self.0.scratch_len()
    }

    /// DCT of every line; coefficient `k` of line `l` of a map of `lines` passes
    /// through `finish(l, k, ·)`.
    pub(crate) fn forward<S: InputElement>(
        &self,
        x: &[S],
        out: &mut [T],
        lines: usize,
        threads: &Threads<T>,
        finish: impl Fn(usize, usize, T) -> T + Sync,
    ) {
        for_lines(self.n(), x, out, threads, |l, x, out, s| {
            let l = l % lines;
            vectorised(
                #[inline(always)]
                || self.0.forward(x, out, s, |k, value| finish(l, k, value)),
            );
        });
    }

    /// IDCT or IDXST of every line; coefficient `k` of line `l` of a map of `lines` first passes
    /// through `start(l, k, ·)`.
    pub(crate) fn inverse<S: InputElement>(
        &self,
        wave: Wave,
        x: &[S],
        out: &mut [T],
        lines: usize,
        threads: &Threads<T>,
        start: impl Fn(usize, usize, T) -> T + Sync,
    ) {
        for_lines(self.n(), x, out, threads, |l, x, out, s| {
            let l = l % lines;
            vectorised(
                #[inline(always)]
                || self.0.inverse(wave, |k| start(l, k, T::of(x[k].to_f64())), out, s),
            );
        });
    }

    /// `out = kind(x)`, line by line.
    pub(crate) fn run<S: InputElement>(
        &self,
        kind: Transform1d,
        x: &[S],
        out: &mut [T],
        threads: &Threads<T>,
    ) {
        match kind {
            Transform1d::Dct => self.forward(x, out, 1, threads, |_, _, value| value),
            Transform1d::Idct => {
                self.inverse(Wave::Cosine, x, out, 1, threads, |_, _, value| value);
            }
            Transform1d::Idxst => self.inverse(Wave::Sine, x, out, 1, threads, |_, _, value| value),
        }
    }
}

/// `out[m][j][i] = x[m][i][j]` for every `rows × columns` matrix, in square blocks.
pub(crate) fn transpose<T: Real>(x: &[T], rows: usize, columns: usize, out: &mut [T]) {
    let matrices = (chunks_mut(out, rows * columns), chunks(x, rows * columns));
    parallel::for_each(matrices, |_, (out, x)| {
        parallel::for_each(chunks_mut(out, SIDE * rows), |b, panel| {
            let first = b * SIDE;
            for i in (0..rows).step_by(SIDE) {
                let block = i..rows.min(i + SIDE);
                for (j, line) in panel.chunks_exact_mut(rows).enumerate() {
                    for (value, i) in line[block.clone()].iter_mut().zip(block.clone()) {
                        *value = x[i * columns + first + j];
                    }
                }
            }
        });
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transposes_any_shape() {
        for (matrices, rows, columns) in [
            (1, 1, 1),
            (2, 1, 70),
            (1, 70, 1),
            (3, 33, if cfg!(miri) { 2 } else { 65 }),
            (1, 64, 32),
        ] {
            let size = rows * columns;
            let x: Vec<f64> = (0..matrices * size).map(|i| i as f64).collect();
            let mut out = vec![0.0; x.len()];
            transpose(&x, rows, columns, &mut out);
            for m in 0..matrices {
                for i in 0..rows {
                    for j in 0..columns {
                        assert_eq!(out[m * size + j * rows + i], x[m * size + i * columns + j]);
                    }
                }
            }
        }
    }
}
