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

use super::lines::Threads;
use super::maps::Inverse;
use super::modify::Modify;
use super::scratch::{Parts, ScratchLen};
use super::shared::{AHEAD, ColumnPanels, make_ends_real, prefetch, vectorised};
use crate::memory::reals_mut;
use crate::real::Real;
use crate::transform::{PostProcessing, Reorder, Sample, permutation, twiddle};
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

    /// Columns of the map as lines, reordered along x.
    #[inline(always)]
    fn load_columns<S: Sample>(&self, x: &[S], first: usize, width: usize, lines: &mut [T]) {
        let (nx, stride) = (self.nx, self.line_stride);
        let mut load = |i: usize, p: usize| {
            let row = &x[i * self.ny + first..][..width];
            prefetch(row.as_ptr().wrapping_add(AHEAD * self.ny), width);
            for (w, value) in row.iter().enumerate() {
                lines[w * stride + p] = T::of(value.to_f64());
            }
        };
        match self.reorder {
            Reorder::Gather => (0..nx).for_each(|p| load(permutation::sample(p, nx), p)),
            _ => (0..nx).for_each(|i| load(i, permutation::position(i, nx))),
        }
    }

    /// Lines as columns of the map, the reordering along x undone and a sine's odd samples negated.
    #[inline(always)]
    fn store_columns(
        &self,
        kind: Inverse,
        lines: &[T],
        first: usize,
        width: usize,
        out: &ColumnPanels<'_, T>,
    ) {
        let (nx, stride) = (self.nx, self.line_stride);
        let (sine_x, sine_y) = kind.sines();
        let sign = |odd: bool| if odd { -T::one() } else { T::one() };
        let store = |i: usize, p: usize| {
            out.prefetch(i + AHEAD, first, width);
            // SAFETY: tiles share no column, and each is one task.
            let row = unsafe { out.segment(i, first, width) };
            let [even, odd] =
                [false, true].map(|odd| sign(sine_x && i % 2 == 1) * sign(sine_y && odd));
            for (w, value) in row.iter_mut().enumerate() {
                *value = lines[w * stride + p] * if w % 2 == 0 { even } else { odd };
            }
        };
        match self.reorder {
            Reorder::Scatter => (0..nx).for_each(|p| store(permutation::sample(p, nx), p)),
            _ => (0..nx).for_each(|i| store(i, permutation::position(i, nx))),
        }
    }

    /// The two runs of V's columns that a tile's columns are: where they begin
    /// and how long they are, even columns first. The odd ones run backwards.
    fn runs(&self, first: usize, width: usize) -> [(usize, usize); 2] {
        let (evens, odds) = (width.div_ceil(2), width / 2);
        [(first / 2, evens), (self.ny - first / 2 - odds, odds)]
    }

    /// A tile's spectra as columns of V, reordered along y.
    #[inline(always)]
    fn store_spectra(
        &self,
        spectra: &[Complex<T>],
        first: usize,
        width: usize,
        to: &ColumnPanels<'_, Complex<T>>,
    ) {
        let stride = self.spectrum_stride;
        let [(even, evens), (odd, odds)] = self.runs(first, width);
        for u in 0..=self.nx / 2 {
            to.prefetch(u + AHEAD, even, evens);
            to.prefetch(u + AHEAD, odd, odds);
            // SAFETY: the reordering is a permutation, so tiles share no column of V.
            let run = unsafe { to.segment(u, even, evens) };
            for (w, value) in run.iter_mut().enumerate() {
                *value = spectra[2 * w * stride + u];
            }
            // SAFETY: as above; even and odd columns lie apart.
            let run = unsafe { to.segment(u, odd, odds) };
            for (w, value) in run.iter_mut().rev().enumerate() {
                *value = spectra[(2 * w + 1) * stride + u];
            }
        }
    }

    /// Columns of V as a tile's spectra, the reordering along y undone.
    #[inline(always)]
    fn load_spectra(
        &self,
        from: &[Complex<T>],
        first: usize,
        width: usize,
        spectra: &mut [Complex<T>],
    ) {
        let stride = self.spectrum_stride;
        let [(even, evens), (odd, odds)] = self.runs(first, width);
        for (u, row) in from.chunks_exact(self.ny).enumerate() {
            let ahead = row.as_ptr().wrapping_add(AHEAD * self.ny);
            prefetch(ahead.wrapping_add(even), evens);
            prefetch(ahead.wrapping_add(odd), odds);
            for (w, &value) in row[even..][..evens].iter().enumerate() {
                spectra[2 * w * stride + u] = value;
            }
            for (w, &value) in row[odd..][..odds].iter().rev().enumerate() {
                spectra[(2 * w + 1) * stride + u] = value;
            }
        }
    }

    /// Four real coefficients from two complex ones, along line `u` of V.
    #[inline(always)]
    fn post_process(
        &self,
        u: usize,
        line: &[Complex<T>],
        by: &impl Modify<T>,
        out: &ColumnPanels<'_, T>,
    ) {
        let mirror = self.nx - u;
        // SAFETY: a line is one task, and rows u and nx − u are its alone.
        let near = unsafe { out.segment(u, 0, self.ny) };
        if u == 0 || mirror == u {
            self.post_process_rows::<false>([u, u], line, by, [near, &mut []]);
        } else {
            // SAFETY: as above; another row than u.
            let far = unsafe { out.segment(mirror, 0, self.ny) };
            self.post_process_rows::<true>([u, mirror], line, by, [near, far]);
        }
    }

    /// Row `u` of coefficients, and row `mirror` when it is another.
    #[inline(always)]
    fn post_process_rows<const BOTH: bool>(
        &self,
        [u, mirror]: [usize; 2],
        line: &[Complex<T>],
        by: &impl Modify<T>,
        [near, far]: [&mut [T]; 2],
    ) {
        let (ny, a) = (self.ny, self.half_a[u]);
        // v = 0 and v = ny/2 are their own mirrors.
        for v in [Some(0), ny.is_multiple_of(2).then_some(ny / 2)].into_iter().flatten() {
            let s = a * (self.b[v] * line[v] + self.b[v].conj() * line[v]);
            near[v] = by.apply(u, v, s.re);
            if BOTH {
                far[v] = by.apply(mirror, v, -s.im);
            }
        }
        let count = (ny - 1) / 2;
        let b = &self.b[1..][..count];
        let (low, high) = (&line[1..][..count], &line[ny - count..]);
        let (near_low, near_high) = near.split_at_mut(ny - count);
        let near_low = &mut near_low[1..][..count];
        let (far_low, far_high) = far.split_at_mut(if BOTH { ny - count } else { 0 });
        let far_low = if BOTH { &mut far_low[1..][..count] } else { far_low };
        for k in 0..count {
            let (v, back) = (k + 1, count - 1 - k);
            let (p, q) = (b[k] * low[k], b[k].conj() * high[back]);
            let (s, t) = (a * (p + q), a * (p - q));
            near_low[k] = by.apply(u, v, s.re);
            near_high[back] = by.apply(u, ny - v, -t.im);
            if BOTH {
                far_low[k] = by.apply(mirror, v, -s.im);
                far_high[back] = by.apply(mirror, ny - v, -t.re);
            }
        }
    }

    /// One coefficient at a time, two complex numbers read for each.
    #[inline(always)]
    fn post_process_naive(
        &self,
        u: usize,
        line: &[Complex<T>],
        by: &impl Modify<T>,
        out: &ColumnPanels<'_, T>,
    ) {
        let (nx, ny) = (self.nx, self.ny);
        let of = |a: Complex<T>, b: Complex<T>, p: Complex<T>, q: Complex<T>| {
            (a * (b * p + b.conj() * q)).re
        };
        // SAFETY: a line is one task, and rows u and nx − u are its alone.
        let near = unsafe { out.segment(u, 0, ny) };
        for (v, near) in near.iter_mut().enumerate() {
            let value = of(self.half_a[u], self.b[v], line[v], line[(ny - v) % ny]);
            *near = by.apply(u, v, value);
        }
        let mirror = nx - u;
        if u == 0 || mirror == u {
            return;
        }
        // SAFETY: as above; another row than u.
        let far = unsafe { out.segment(mirror, 0, ny) };
        for (v, far) in far.iter_mut().enumerate() {
            // V[nx − u][v] is the conjugate of V[u][ny − v].
            let (p, q) = (line[(ny - v) % ny].conj(), line[v].conj());
            *far = by.apply(mirror, v, of(self.half_a[mirror], self.b[v], p, q));
        }
    }

    /// Two complex coefficients from four real ones, along line `u`: the
    /// naive form takes each complex one by itself.
    #[inline(always)]
    fn pre_process<const SINE_X: bool, const SINE_Y: bool, S: Sample>(
        &self,
        u: usize,
        x: &[S],
        by: &impl Modify<T>,
        z: &mut [Complex<T>],
    ) {
        let (nx, ny) = (self.nx, self.ny);
        if SINE_X && u == 0 {
            z.fill(Complex::default());
            return;
        }
        // Rows u and nx − u as the cosine transforms see them; u = 0 has no mirror: zeros.
        let (near, far) = if SINE_X { (nx - u, u) } else { (u, nx - u) };
        let near_row = &x[near * ny..][..ny];
        let far_row = if far < nx { &x[far * ny..][..ny] } else { &[] };
        let at = |row: &[S], u: usize, v: usize| by.apply(u, v, T::of(row[v].to_f64()));
        // Z at (u, v) and at (u, ny − v), 0 < v < ny.
        let both = |v: usize| {
            let (v, back) = if SINE_Y { (ny - v, v) } else { (v, ny - v) };
            let (a, c) = (at(near_row, near, v), at(near_row, near, back));
            let (b, d) = match far_row.is_empty() {
                true => (T::zero(), T::zero()),
                false => (at(far_row, far, v), at(far_row, far, back)),
            };
            (Complex::new(a - d, -(b + c)), Complex::new(c - b, -(a + d)))
        };
        let half = T::of(0.5);
        let a = self.half_a[u].conj() * half;
        // v = 0 has no mirror.
        z[0] = if SINE_Y {
            Complex::default()
        } else {
            let b = if far_row.is_empty() { T::zero() } else { at(far_row, far, 0) };
            a * Complex::new(at(near_row, near, 0), -b)
        };
        if self.post == PostProcessing::Naive {
            for (v, z) in z.iter_mut().enumerate().skip(1) {
                *z = a * self.b[v].conj() * both(v).0;
            }
            return;
        }
        for v in 1..ny.div_ceil(2) {
            let b = self.b[v];
            let (low, high) = both(v);
            z[v] = a * b.conj() * low;
            z[ny - v] = a * Complex::new(-b.im, b.re) * high;
        }
        if ny.is_multiple_of(2) {
            z[ny / 2] = a * self.b[ny / 2].conj() * both(ny / 2).0;
        }
    }
}
