//! The fused method with real FFTs along x: for a map as if it were
//! transposed, the transposes being part of pre- and post-processing (Jiang,
//! Gu and Pan, §IV-C).
//!
//! The formulas are those of [`fused`](super::fused) with the axes' roles
//! exchanged; `V` is the FFT of the map reordered along both axes, held for
//! u = 0 … nx/2:
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

use super::lines::Threads;
use super::maps::Inverse;
use super::modify::Modify;
use super::scratch::{Parts, ScratchLen};
use super::shared::{ColumnPanels, make_ends_real, vectorised};
use crate::memory::reals_mut;
use crate::real::Real;
use crate::transform::{PostProcessing, Reorder, Sample, twiddle};
use num_complex::Complex;
use rayon::prelude::*;
use realfft::{ComplexToReal, RealFftPlanner, RealToComplex};
use rustfft::{Fft, FftPlanner};
use std::sync::Arc;

/// Columns of a tile: even, so that a tile begins with a column that stays in
/// the first half of V, and its columns are two runs there.
const W: usize = 16;

/// Plans and tables for one map size.
pub(crate) struct Transposed<T: Real> {
    nx: usize,
    ny: usize,
    /// Distance between the real lines of a tile, in real numbers, and between
    /// their spectra: a cache line more than they need.
    line_stride: usize,
    spectrum_stride: usize,
    reorder: Reorder,
    post: PostProcessing,
    r2c: Arc<dyn RealToComplex<T>>,
    c2r: Arc<dyn ComplexToReal<T>>,
    fft: Arc<dyn Fft<T>>,
    ifft: Arc<dyn Fft<T>>,
    /// `½e^{−jπu/2nx}`, u = 0 … nx.
    half_a: Vec<Complex<T>>,
    /// `e^{−jπv/2ny}`, v = 0 … ny.
    b: Vec<Complex<T>>,
}

/// A thread's working memory.
struct Tile<'a, T> {
    /// Real lines, `line_stride` apart.
    lines: &'a mut [T],
    /// Their spectra, `spectrum_stride` apart.
    spectra: &'a mut [Complex<T>],
    fft: &'a mut [Complex<T>],
}

impl<T: Real> Transposed<T> {
    pub(crate) fn new(nx: usize, ny: usize, reorder: Reorder, post: PostProcessing) -> Self {
        let mut real = RealFftPlanner::new();
        let mut complex = FftPlanner::new();
        Transposed {
            nx,
            ny,
            line_stride: nx.next_multiple_of(2) + 64 / size_of::<T>(),
            spectrum_stride: nx / 2 + 1 + 64 / size_of::<Complex<T>>(),
            reorder,
            post,
            r2c: real.plan_fft_forward(nx),
            c2r: real.plan_fft_inverse(nx),
            fft: complex.plan_fft_forward(ny),
            ifft: complex.plan_fft_inverse(ny),
            half_a: twiddle::scaled_quarter_wave(nx, 0.5),
            b: twiddle::scaled_quarter_wave(ny, 1.0),
        }
    }

    /// For `maps` maps at once: V, `[nx/2 + 1][ny]`, of them all; for each thread a tile.
    pub(crate) fn scratch_len(&self, maps: usize) -> ScratchLen {
        let tile_fft = self.r2c.get_scratch_len().max(self.c2r.get_scratch_len());
        let fft = self.fft.get_inplace_scratch_len().max(self.ifft.get_inplace_scratch_len());
        let tile = W * (self.line_stride / 2 + self.spectrum_stride);
        ScratchLen {
            shared: maps * (self.nx / 2 + 1) * self.ny,
            per_thread: tile + tile_fft.max(fft),
        }
    }

    fn tile<'a>(&self, s: &'a mut [Complex<T>]) -> Tile<'a, T> {
        let (lines, rest) = s.split_at_mut(W * self.line_stride / 2);
        let (spectra, fft) = rest.split_at_mut(W * self.spectrum_stride);
        Tile { lines: reals_mut(lines), spectra, fft }
    }

    /// The number of tiles of a map.
    fn tiles(&self) -> usize {
        self.ny.div_ceil(W)
    }

    /// `out = DCT2(x)`, modified, of every map in `x`.
    pub(crate) fn forward<S: Sample>(
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
    fn columns_in<S: Sample>(&self, x: &[S], spectrum: &mut [Complex<T>], threads: &Threads<T>) {
        let (nx, ny) = (self.nx, self.ny);
        let (half, tiles) = (nx / 2 + 1, self.tiles());
        let to = ColumnPanels::new(spectrum, ny);
        (0..x.len() / (nx * ny) * tiles).into_par_iter().for_each(|task| {
            let (map, first) = (task / tiles, task % tiles * W);
            let (x, to) = (&x[map * nx * ny..][..nx * ny], to.rows(map * half, half));
            let width = W.min(ny - first);
            threads.with(|s| {
                let mut tile = self.tile(s);
                vectorised(
                    #[inline(always)]
                    || self.load_columns(x, first, width, tile.lines),
                );
                self.real_ffts(width, &mut tile);
                vectorised(
                    #[inline(always)]
                    || self.store_spectra(tile.spectra, first, width, &to),
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
        let out = ColumnPanels::new(out, ny);
        spectrum.par_chunks_exact_mut(ny).enumerate().for_each(|(line, v)| {
            let (map, u) = (line / half, line % half);
            threads.with(|s| self.fft.process_with_scratch(v, self.tile(s).fft));
            let out = out.rows(map * nx, nx);
            vectorised(
                #[inline(always)]
                || match self.post {
                    PostProcessing::Efficient => self.post_process(u, v, by, &out),
                    PostProcessing::Naive => self.post_process_naive(u, v, by, &out),
                },
            );
        });
    }

    /// `out` = inverse of `x`, modified, of every map in `x`.
    pub(crate) fn inverse<S: Sample>(
        &self,
        kind: Inverse,
        x: &[S],
        by: &impl Modify<T>,
        out: &mut [T],
        s: Parts<'_, T>,
    ) {
        let spectrum = &mut s.shared[..x.len() / self.nx * (self.nx / 2 + 1)];
        self.lines_in(kind, x, by, spectrum, s.threads);
        self.columns_out(kind, spectrum, out, s.threads);
    }

    /// Lines of V: pre-processing, complex inverse FFT along y.
    fn lines_in<S: Sample>(
        &self,
        kind: Inverse,
        x: &[S],
        by: &impl Modify<T>,
        spectrum: &mut [Complex<T>],
        threads: &Threads<T>,
    ) {
        let (nx, ny, half) = (self.nx, self.ny, self.nx / 2 + 1);
        spectrum.par_chunks_exact_mut(ny).enumerate().for_each(|(line, z)| {
            let (map, u) = (line / half, line % half);
            let x = &x[map * nx * ny..][..nx * ny];
            vectorised(
                #[inline(always)]
                || match kind {
                    Inverse::Idct => self.pre_process::<false, false, S>(u, x, by, z),
                    Inverse::IdctIdxst => self.pre_process::<false, true, S>(u, x, by, z),
                    Inverse::IdxstIdct => self.pre_process::<true, false, S>(u, x, by, z),
                },
            );
            threads.with(|s| self.ifft.process_with_scratch(z, self.tile(s).fft));
        });
    }

    /// Columns of the map: real inverse FFT along x, both reorderings undone,
    /// odd samples of a sine negated.
    fn columns_out(
        &self,
        kind: Inverse,
        spectrum: &[Complex<T>],
        out: &mut [T],
        threads: &Threads<T>,
    ) {
        let (nx, ny) = (self.nx, self.ny);
        let (half, tiles) = (nx / 2 + 1, self.tiles());
        let out = ColumnPanels::new(out, ny);
        (0..spectrum.len() / (half * ny) * tiles).into_par_iter().for_each(|task| {
            let (map, first) = (task / tiles, task % tiles * W);
            let from = &spectrum[map * half * ny..][..half * ny];
            let out = out.rows(map * nx, nx);
            let width = W.min(ny - first);
            threads.with(|s| {
                let mut tile = self.tile(s);
                vectorised(
                    #[inline(always)]
                    || self.load_spectra(from, first, width, tile.spectra),
                );
                self.real_inverse_ffts(width, &mut tile);
                vectorised(
                    #[inline(always)]
                    || self.store_columns(kind, tile.lines, first, width, &out),
                );
            });
        });
    }

    /// Real FFTs of a tile's lines.
    fn real_ffts(&self, width: usize, tile: &mut Tile<'_, T>) {
        let lines = tile.lines.chunks_exact_mut(self.line_stride);
        let spectra = tile.spectra.chunks_exact_mut(self.spectrum_stride);
        for (line, spectrum) in lines.zip(spectra).take(width) {
            let (line, spectrum) = (&mut line[..self.nx], &mut spectrum[..self.nx / 2 + 1]);
            self.r2c
                .process_with_scratch(line, spectrum, tile.fft)
                .expect("buffers are made for this length");
        }
    }

    /// Real inverse FFTs of a tile's spectra.
    fn real_inverse_ffts(&self, width: usize, tile: &mut Tile<'_, T>) {
        let lines = tile.lines.chunks_exact_mut(self.line_stride);
        let spectra = tile.spectra.chunks_exact_mut(self.spectrum_stride);
        for (line, spectrum) in lines.zip(spectra).take(width) {
            let (line, spectrum) = (&mut line[..self.nx], &mut spectrum[..self.nx / 2 + 1]);
            make_ends_real(spectrum, self.nx);
            self.c2r
                .process_with_scratch(spectrum, line, tile.fft)
                .expect("buffers are made for this length");
        }
    }
}
