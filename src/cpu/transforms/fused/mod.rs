//! The fused method: pre-processing, one 2-D real FFT, post-processing (Jiang, Gu and Pan, §III).
//!
//! With `a = e^{−jπu/2nx}`, `b = e^{−jπv/2ny}` and `V` the 2-D FFT of the map
//! reordered along both axes, two complex values give four real ones:
//!
//! ```text
//! s = ½b(a·V[u][v] + ā·V[nx−u][v])     X(u, v)    =  Re s    X(u, ny−v)    = −Im s
//! t = ½b(a·V[u][v] − ā·V[nx−u][v])     X(nx−u, v) = −Im t    X(nx−u, ny−v) = −Re t
//! ```
//!
//! and backwards, with `A, B, C, D` the coefficients at `(u, v)`, `(nx−u, v)`,
//! `(u, ny−v)`, `(nx−u, ny−v)` and zero where an index reaches nx or ny:
//!
//! ```text
//! Z(u, v) = ¼ ā b̄ [(A − D) − j(B + C)]     Z(nx−u, v) = ¼ ja b̄ [(B − C) − j(A + D)]
//! ```
//!
//! (The first index of V is periodic: `V[nx] = V[0]`. The inverse needs the
//! conjugate factors; the paper prints them without the bar.)
//!
//! The 2-D FFT is real FFTs along y and complex ones along x. Each unit of work above lies in one
//! column of V, so a panel of columns is read, taken through its FFTs and post-processed (or
//! pre-processed and taken through its inverse FFTs) while it is in cache: two passes over memory
//! for a transform, both in parallel, one over rows and one over column panels.

mod post;
mod pre;

use super::coefficients::{Inverse, Modify};
use super::scratch::{Parts, ScratchLen, Threads};
use crate::cpu::matrix::{AHEAD, Block, SharedMatrix, prefetch};
use crate::cpu::simd::vectorised;
use crate::memory::reals_mut;
use crate::parallel::{self, chunks_mut};
use crate::real::Real;
use crate::transform::fft::{ComplexFft, RealFft};
use crate::transform::line::Wave;
use crate::transform::{InputElement, permutation, twiddle};
use num_complex::Complex;
use std::ops::Range;

/// Columns of a panel: two to four cache lines of a row of V, and one to two of a map.
const W: usize = 16;

/// Plans and tables for maps of one size.
pub(crate) struct FusedMaps<T: Real> {
    nx: usize,
    ny: usize,
    /// Distance between a panel's columns: a cache line more than nx, so that
    /// at powers of two they do not all fall into one set of the cache.
    stride: usize,
    /// Along y.
    rows: RealFft<T>,
    /// Along x, and its inverse.
    fft: ComplexFft<T>,
    ifft: ComplexFft<T>,
    /// `½e^{−jπu/2nx}`, u = 0 … nx.
    half_a: Vec<Complex<T>>,
    /// `e^{−jπv/2ny}` and `½e^{−jπv/2ny}`, v = 0 … ny.
    b: Vec<Complex<T>>,
    half_b: Vec<Complex<T>>,
}

impl<T: Real> FusedMaps<T> {
    pub(crate) fn new(nx: usize, ny: usize) -> Self {
        let [fft, ifft] = ComplexFft::both(nx);
        FusedMaps {
            nx,
            ny,
            stride: nx + 64 / size_of::<Complex<T>>(),
            rows: RealFft::new(ny),
            fft,
            ifft,
            half_a: twiddle::scaled_quarter_wave(nx, 0.5),
            b: twiddle::scaled_quarter_wave(ny, 1.0),
            half_b: twiddle::scaled_quarter_wave(ny, 0.5),
        }
    }

    /// Returns the working memory for `maps` maps at once: V, `[nx][ny/2 + 1]`, of them all; for
    /// each thread a row or a panel's columns, each contiguous.
    pub(crate) fn scratch_len(&self, maps: usize) -> ScratchLen {
        let fft = self.fft.scratch_len().max(self.ifft.scratch_len());
        ScratchLen {
            shared: maps * self.nx * (self.ny / 2 + 1),
            per_thread: (self.ny.div_ceil(2) + self.rows.scratch_len()).max(W * self.stride + fft),
        }
    }

    /// Returns a row of real numbers and the FFT's working memory.
    fn row<'a>(&self, s: &'a mut [Complex<T>]) -> (&'a mut [T], &'a mut [Complex<T>]) {
        let (row, fft) = s.split_at_mut(self.ny.div_ceil(2));
        (&mut reals_mut(row)[..self.ny], fft)
    }
}

/// A panel: the columns `first..first + width` of V, and whether each has a
/// mirror column `ny − v` of its own (all but v = 0 and v = ny/2 do).
#[derive(Clone, Copy)]
struct Panel {
    first: usize,
    width: usize,
    mirrored: bool,
}

/// Returns the number of panels of a map with `ny` columns: v = 0, then the mirrored columns, then
/// v = ny/2 when ny is even.
fn panel_count(ny: usize) -> usize {
    let mirrored = (ny - 1) / 2;
    1 + mirrored.div_ceil(W) + usize::from(ny.is_multiple_of(2))
}

impl Panel {
    /// Returns the `index`-th panel of a map with `ny` columns.
    fn new(index: usize, ny: usize) -> Self {
        let mirrored = (ny - 1) / 2;
        let first = if index == 0 { 0 } else { 1 + (index - 1) * W };
        if index == 0 || first > mirrored {
            return Panel { first: first.min(ny / 2), width: 1, mirrored: false };
        }
        Panel { first, width: W.min(mirrored + 1 - first), mirrored: true }
    }

    /// Returns its columns of a map with `ny` columns, and their mirrors: first + w stands at ny −
    /// first − w.
    fn columns(self, ny: usize) -> [Range<usize>; 2] {
        let Panel { first, width, mirrored } = self;
        let last = ny - first;
        [first..first + width, if mirrored { last + 1 - width..last + 1 } else { ny..ny }]
    }
}

impl<T: Real> FusedMaps<T> {
    /// `out = DCT2(x)`, modified, of every map in `x`.
    pub(crate) fn forward<S: InputElement>(
        &self,
        x: &[S],
        by: &impl Modify<T>,
        out: &mut [T],
        s: Parts<'_, T>,
    ) {
        let spectrum = &mut s.shared[..x.len() / self.ny * (self.ny / 2 + 1)];
        self.rows_in::<false, S>(x, spectrum, s.threads);
        self.panels_out::<false>(spectrum, by, out, s.threads);
    }

    /// Rows: reorder along both axes, real FFT along y. By [`permutation::gather`] for the paper's
    /// tables.
    pub(crate) fn rows_in<const GATHER: bool, S: InputElement>(
        &self,
        x: &[S],
        spectrum: &mut [Complex<T>],
        threads: &Threads<T>,
    ) {
        let (nx, ny) = (self.nx, self.ny);
        parallel::for_each(chunks_mut(spectrum, ny / 2 + 1), |row, spectrum| {
            let p = row % nx;
            let row = &x[(row - p + permutation::sample(p, nx)) * ny..][..ny];
            threads.with(|s| {
                let (real, fft) = self.row(s);
                vectorised(
                    #[inline(always)]
                    || match GATHER {
                        true => permutation::gather(row, real),
                        false => permutation::reorder(row, real),
                    },
                );
                self.rows.forward(real, spectrum, fft);
            });
        });
    }

    /// Column panels: complex FFT along x, post-processing. One coefficient at a time for the
    /// paper's tables.
    pub(crate) fn panels_out<const NAIVE: bool>(
        &self,
        spectrum: &[Complex<T>],
        by: &impl Modify<T>,
        out: &mut [T],
        threads: &Threads<T>,
    ) {
        let (nx, ny) = (self.nx, self.ny);
        let (half, panels) = (ny / 2 + 1, panel_count(ny));
        let out = SharedMatrix::new(out, ny);
        parallel::each(spectrum.len() / (nx * half) * panels, &|task| {
            let (map, panel) = (task / panels, Panel::new(task % panels, ny));
            let rows = map * nx..(map + 1) * nx;
            // SAFETY: maps share no rows. Panels share neither columns, all of them below or at
            // ny/2, nor mirror columns, all of them above, and each is one task.
            let mut out =
                panel.columns(ny).map(|columns| unsafe { out.block(rows.clone(), columns) });
            let spectrum = &spectrum[map * nx * half..][..nx * half];
            threads.with(|s| {
                let (columns, fft) = s.split_at_mut(W * self.stride);
                for (u, row) in spectrum.chunks_exact(half).enumerate() {
                    prefetch(row.as_ptr().wrapping_add(AHEAD * half + panel.first), panel.width);
                    for (w, &value) in row[panel.first..][..panel.width].iter().enumerate() {
                        columns[w * self.stride + u] = value;
                    }
                }
                for column in columns.chunks_exact_mut(self.stride).take(panel.width) {
                    self.fft.run(&mut column[..nx], fft);
                }
                vectorised(
                    #[inline(always)]
                    || match NAIVE {
                        true => self.post_process_naive(panel, columns, by, &mut out),
                        false => self.post_process(panel, columns, by, &mut out),
                    },
                );
            });
        });
    }

    /// Column panels of every map in `x`, modified: pre-processing, complex inverse FFT along x.
    pub(crate) fn begin_inverse<M: Modify<T>>(
        &self,
        kind: Inverse,
        x: &[T],
        by: &M,
        s: &mut Parts<'_, T>,
    ) {
        let (nx, ny, threads) = (self.nx, self.ny, s.threads);
        let (half, panels) = (ny / 2 + 1, panel_count(ny));
        let spectrum = SharedMatrix::new(&mut s.shared[..x.len() / ny * half], half);
        parallel::each(x.len() / (nx * ny) * panels, &|task| {
            let (map, panel) = (task / panels, Panel::new(task % panels, ny));
            let x = &x[map * nx * ny..][..nx * ny];
            let columns = panel.first..panel.first + panel.width;
            // SAFETY: maps share no rows and panels no columns, and each is one task.
            let mut spectrum = unsafe { spectrum.block(map * nx..(map + 1) * nx, columns) };
            threads.with(|s| {
                let (columns, fft) = s.split_at_mut(W * self.stride);
                vectorised(
                    #[inline(always)]
                    || match M::INVERSE.unwrap_or(kind) {
                        Inverse::Idct => self.pre_process::<false, false>(panel, x, by, columns),
                        Inverse::IdctIdxst => {
                            self.pre_process::<false, true>(panel, x, by, columns)
                        }
                        Inverse::IdxstIdct => {
                            self.pre_process::<true, false>(panel, x, by, columns)
                        }
                    },
                );
                for column in columns.chunks_exact_mut(self.stride).take(panel.width) {
                    self.ifft.run(&mut column[..nx], fft);
                }
                for u in 0..nx {
                    spectrum.prefetch(u + AHEAD);
                    for (w, value) in spectrum.row(u).iter_mut().enumerate() {
                        *value = columns[w * self.stride + u];
                    }
                }
            });
        });
    }

    /// Rows: real inverse FFT along y, both reorderings undone, odd samples of a sine negated.
    pub(crate) fn end_inverse(&self, kind: Inverse, out: &mut [T], s: &mut Parts<'_, T>) {
        let (nx, ny, threads) = (self.nx, self.ny, s.threads);
        let half = ny / 2 + 1;
        let spectrum = &mut s.shared[..out.len() / ny * half];
        let [sine_x, sine_y] = kind.waves().map(|wave| wave == Wave::Sine);
        let out = SharedMatrix::new(out, ny);
        parallel::for_each(chunks_mut(spectrum, half), |row, spectrum| {
            let p = row % nx;
            let i = permutation::sample(p, nx);
            threads.with(|s| {
                let (real, fft) = self.row(s);
                self.rows.inverse(spectrum, real, fft);
                // SAFETY: `sample` is a permutation, so every row belongs to one task.
                let row = unsafe { out.row(row - p + i) };
                vectorised(
                    #[inline(always)]
                    || permutation::restore(real, row, sine_y),
                );
                if sine_x && !i.is_multiple_of(2) {
                    row.iter_mut().for_each(|value| *value = -*value);
                }
            });
        });
    }
}
