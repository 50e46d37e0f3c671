//! The fused method with real FFTs along x: for a map as if it were transposed, the transposes
//! being part of pre- and post-processing (Jiang, Gu and Pan, §IV-C).
//!
//! The formulas are those of [`fused`](super::fused) with the axes' roles exchanged; `V` is the FFT
//! of the map reordered along both axes, held for u = 0 … nx/2:
//!
//! ```text
//! s = ½a(b·V[u][v] + b̄·V[u][ny−v])     X(u, v)    =  Re s    X(nx−u, v)    = −Im s
//! t = ½a(b·V[u][v] − b̄·V[u][ny−v])     X(u, ny−v) = −Im t    X(nx−u, ny−v) = −Re t
//!
//! Z(u, v) = ¼ ā b̄ [(A − D) − j(B + C)]     Z(u, ny−v) = ¼ jb ā [(C − B) − j(A + D)]
//! ```
//!
//! One pass takes tiles of columns of the map: each column is gathered,
//! transformed along x and scattered. The other takes lines of V along y,
//! each of which is one task with the two rows u and nx − u of coefficients.

mod post;
mod pre;
mod tiles;

use super::coefficients::{Inverse, Modify};
use super::scratch::{Parts, ScratchLen, Threads};
use crate::cpu::matrix::{AHEAD, Block, SharedMatrix, prefetch};
use crate::cpu::simd::vectorised;
use crate::memory::{reals, reals_mut};
use crate::parallel::{self, chunks_mut};
use crate::real::Real;
use crate::transform::fft::{ComplexFft, RealFft};
use crate::transform::{InputElement, twiddle};
use num_complex::Complex;

/// Columns of a tile at most: a cache line or two of a row of the map.
const W: usize = 16;

/// Values of V that a task takes about, where lines are short.
const LINE_VALUES: usize = 1024;

/// Tiles for each thread from which on one more for some of them does not matter.
const MANY: usize = 8;

/// Plans and tables for maps of one size.
pub(crate) struct TransposedMaps<T: Real> {
    nx: usize,
    ny: usize,
    /// Distance between the lines of a tile, in complex numbers: a cache line more than a spectrum.
    stride: usize,
    /// Along x.
    columns: RealFft<T>,
    /// Along y, and its inverse.
    fft: ComplexFft<T>,
    ifft: ComplexFft<T>,
    /// `½e^{−jπu/2nx}`, u = 0 … nx.
    half_a: Vec<Complex<T>>,
    /// `e^{−jπv/2ny}`, v = 0 … ny.
    b: Vec<Complex<T>>,
}

/// A thread's working memory.
struct Tile<'a, T> {
    /// Columns of the map or of V, `stride` apart, and memory for one more: a line and its spectrum
    /// take neighbouring places, so that either takes the place that the one before it has left.
    lines: &'a mut [Complex<T>],
    fft: &'a mut [Complex<T>],
}

/// Some columns of the map: an even number of them, or else up to the last. The
/// first is even, so that in V they are two runs.
#[derive(Clone, Copy)]
struct Columns {
    first: usize,
    width: usize,
}

/// The tiles of a map, of as many columns each as an even division gives.
#[derive(Clone, Copy)]
struct Tiles {
    ny: usize,
    count: usize,
}

impl Tiles {
    /// Makes tiles as few as W columns allow; where there are few, as many for every thread.
    fn new(ny: usize, maps: usize) -> Self {
        let (fewest, threads) = (ny.div_ceil(W), parallel::threads());
        let count = match fewest * maps < MANY * threads {
            true => fewest.next_multiple_of(threads).min(ny.div_ceil(2)),
            false => fewest,
        };
        Tiles { ny, count }
    }

    /// In pairs of columns the tiles are alike to within one.
    fn columns(self, tile: usize) -> Columns {
        let pairs = self.ny.div_ceil(2);
        let first = |tile: usize| 2 * (tile * pairs / self.count);
        Columns { first: first(tile), width: first(tile + 1).min(self.ny) - first(tile) }
    }
}

impl<T: Real> TransposedMaps<T> {
    pub(crate) fn new(nx: usize, ny: usize) -> Self {
        let [fft, ifft] = ComplexFft::both(ny);
        TransposedMaps {
            nx,
            ny,
            stride: nx / 2 + 1 + 64 / size_of::<Complex<T>>(),
            columns: RealFft::new(nx),
            fft,
            ifft,
            half_a: twiddle::scaled_quarter_wave(nx, 0.5),
            b: twiddle::scaled_quarter_wave(ny, 1.0),
        }
    }

    /// Returns the working memory for `maps` maps at once: V, `[nx/2 + 1][ny]`, of them all; for
    /// each thread a tile.
    pub(crate) fn scratch_len(&self, maps: usize) -> ScratchLen {
        let fft = self.fft.scratch_len().max(self.ifft.scratch_len());
        ScratchLen {
            shared: maps * (self.nx / 2 + 1) * self.ny,
            per_thread: (W + 1) * self.stride + self.columns.scratch_len().max(fft),
        }
    }

    fn tile<'a>(&self, s: &'a mut [Complex<T>]) -> Tile<'a, T> {
        let (lines, fft) = s.split_at_mut((W + 1) * self.stride);
        Tile { lines, fft }
    }

    /// Returns the number of lines of V that are one task: several where they are short.
    fn lines_at_once(&self) -> usize {
        (LINE_VALUES / self.ny).max(1)
    }

    /// `out = DCT2(x)`, modified, of every map in `x`.
    pub(crate) fn forward<S: InputElement>(
        &self,
        x: &[S],
        by: &impl Modify<T>,
        out: &mut [T],
        s: Parts<'_, T>,
    ) {
        let spectrum = &mut s.shared[..x.len() / self.nx * (self.nx / 2 + 1)];
        self.columns_in(x, spectrum, s.threads);
        self.lines_out(spectrum, by, out, s.threads);
    }

    /// Columns of the map: reorder along both axes, real FFT along x.
    fn columns_in<S: InputElement>(
        &self,
        x: &[S],
        spectrum: &mut [Complex<T>],
        threads: &Threads<T>,
    ) {
        let (nx, ny) = (self.nx, self.ny);
        let (half, maps) = (nx / 2 + 1, x.len() / (nx * ny));
        let tiles = Tiles::new(ny, maps);
        let to = SharedMatrix::new(spectrum, ny);
        parallel::each(maps * tiles.count, &|task| {
            let (map, columns) = (task / tiles.count, tiles.columns(task % tiles.count));
            let (x, rows) = (&x[map * nx * ny..][..nx * ny], map * half..(map + 1) * half);
            // SAFETY: maps share no rows of V. The reordering is a permutation, so that tiles
            // share no columns, and neither do the two runs of a tile; each tile is one task.
            let mut runs = self.runs(columns).map(|run| unsafe { to.block(rows.clone(), run) });
            threads.with(|s| {
                let tile = self.tile(s);
                vectorised(
                    #[inline(always)]
                    || self.load_columns(x, columns, reals_mut(&mut tile.lines[self.stride..])),
                );
                self.real_ffts(columns.width, tile.lines, tile.fft);
                vectorised(
                    #[inline(always)]
                    || self.store_spectra(tile.lines, &mut runs),
                );
            });
        });
    }

    /// Lines of V: complex FFT along y, post-processing.
    fn lines_out(
        &self,
        spectrum: &mut [Complex<T>],
        by: &impl Modify<T>,
        out: &mut [T],
        threads: &Threads<T>,
    ) {
        let (nx, ny, half) = (self.nx, self.ny, self.nx / 2 + 1);
        let out = SharedMatrix::new(out, ny);
        let lines = self.lines_at_once();
        parallel::for_each(chunks_mut(spectrum, lines * ny), |task, v| {
            threads.with(|s| self.fft.run(v, self.tile(s).fft));
            vectorised(
                #[inline(always)]
                || {
                    for (line, v) in (task * lines..).zip(v.chunks_exact(ny)) {
                        let (map, u) = (line / half, line % half);
                        let mirror = nx - u;
                        // SAFETY: a line is one task, and rows u and nx − u of its map are its
                        // alone; where they are one and the same row it is taken once.
                        let (near, far) = unsafe {
                            let far = match u == 0 || mirror == u {
                                true => &mut [],
                                false => out.row(map * nx + mirror),
                            };
                            (out.row(map * nx + u), far)
                        };
                        self.post_process(u, v, by, [near, far]);
                    }
                },
            );
        });
    }

    /// Lines of V of every map in `x`, modified: pre-processing, complex inverse FFT along y.
    pub(crate) fn begin_inverse<M: Modify<T>>(
        &self,
        kind: Inverse,
        x: &[T],
        by: &M,
        s: &mut Parts<'_, T>,
    ) {
        let (nx, ny, half, threads) = (self.nx, self.ny, self.nx / 2 + 1, s.threads);
        let spectrum = &mut s.shared[..x.len() / nx * half];
        let lines = self.lines_at_once();
        parallel::for_each(chunks_mut(spectrum, lines * ny), |task, z| {
            vectorised(
                #[inline(always)]
                || {
                    for (line, z) in (task * lines..).zip(z.chunks_exact_mut(ny)) {
                        let (map, u) = (line / half, line % half);
                        let x = &x[map * nx * ny..][..nx * ny];
                        // Short rows: those of the next task, half of which run backwards.
                        // In f64 this pass of a 10000 × 100 IDCT went from 3.1 to 2.3 ms.
                        if lines > 1 {
                            for row in [u + lines, (nx - u).wrapping_sub(lines)] {
                                prefetch(x.as_ptr().wrapping_add(row.wrapping_mul(ny)), ny);
                            }
                        }
                        match M::INVERSE.unwrap_or(kind) {
                            Inverse::Idct => self.pre_process::<false, false>(u, x, by, z),
                            Inverse::IdctIdxst => self.pre_process::<false, true>(u, x, by, z),
                            Inverse::IdxstIdct => self.pre_process::<true, false>(u, x, by, z),
                        }
                    }
                },
            );
            threads.with(|s| self.ifft.run(z, self.tile(s).fft));
        });
    }

    /// Columns of the map: real inverse FFT along x, both reorderings undone,
    /// odd samples of a sine negated.
    pub(crate) fn end_inverse(&self, kind: Inverse, out: &mut [T], s: &mut Parts<'_, T>) {
        let (nx, ny, threads) = (self.nx, self.ny, s.threads);
        let (half, maps) = (nx / 2 + 1, out.len() / (nx * ny));
        let spectrum = &s.shared[..maps * half * ny];
        let tiles = Tiles::new(ny, maps);
        let out = SharedMatrix::new(out, ny);
        parallel::each(maps * tiles.count, &|task| {
            let (map, columns) = (task / tiles.count, tiles.columns(task % tiles.count));
            let from = &spectrum[map * half * ny..][..half * ny];
            let range = columns.first..columns.first + columns.width;
            // SAFETY: maps share no rows and tiles no columns, and each is one task.
            let mut out = unsafe { out.block(map * nx..(map + 1) * nx, range) };
            threads.with(|s| {
                let tile = self.tile(s);
                vectorised(
                    #[inline(always)]
                    || self.load_spectra(from, columns, &mut tile.lines[self.stride..]),
                );
                self.real_inverse_ffts(columns.width, tile.lines, tile.fft);
                vectorised(
                    #[inline(always)]
                    || self.store_columns(kind, reals(tile.lines), columns.width, &mut out),
                );
            });
        });
    }

    /// Real FFTs of a tile's lines, from the second place on; spectra from the first on.
    fn real_ffts(&self, width: usize, lines: &mut [Complex<T>], fft: &mut [Complex<T>]) {
        for place in 0..width {
            let (spectrum, line) = self.neighbours(lines, place);
            self.columns.forward(&mut reals_mut(line)[..self.nx], spectrum, fft);
        }
    }

    /// Real inverse FFTs of a tile's spectra, from the second place on; lines from the first on.
    fn real_inverse_ffts(&self, width: usize, lines: &mut [Complex<T>], fft: &mut [Complex<T>]) {
        for place in 0..width {
            let (line, spectrum) = self.neighbours(lines, place);
            self.columns.inverse(spectrum, &mut reals_mut(line)[..self.nx], fft);
        }
    }

    /// Returns the tile's content, and the next one's.
    fn neighbours<'a>(
        &self,
        lines: &'a mut [Complex<T>],
        place: usize,
    ) -> (&'a mut [Complex<T>], &'a mut [Complex<T>]) {
        let (one, next) = lines[place * self.stride..].split_at_mut(self.stride);
        (&mut one[..self.nx / 2 + 1], &mut next[..self.nx / 2 + 1])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_cover_columns_once_and_evenly() {
        for threads in [1, 2, 3, 7] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let most = if cfg!(miri) { 20 } else { 200 };
            for (ny, maps) in (1..most).flat_map(|ny| [(ny, 1), (ny, 5), (64 * ny, 1)]) {
                let tiles = pool.install(|| Tiles::new(ny, maps));
                let mut next = 0;
                for tile in 0..tiles.count {
                    let Columns { first, width } = tiles.columns(tile);
                    assert_eq!(first, next, "{ny} columns");
                    assert!(first.is_multiple_of(2) && (1..=W).contains(&width), "{ny} columns");
                    next = first + width;
                }
                assert_eq!(next, ny);
            }
            let tiles = pool.install(|| Tiles::new(100, 1));
            assert!(tiles.count.is_multiple_of(threads), "{} for {threads}", tiles.count);
        }
    }
}
