//! The fused pipeline: pre-processing, one 2-D real FFT, post-processing
//! (Jiang, Gu and Pan, §III).
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
//! The 2-D FFT is real FFTs along y and complex ones along x. Each unit of
//! work above lies in one column of V, so a panel of columns is read, taken
//! through its FFTs and post-processed (or pre-processed and taken through
//! its inverse FFTs) while it is in cache: two passes over memory for a
//! transform, both in parallel, one over rows and one over column panels.

use super::shared::{AHEAD, ColumnPanels, PerThread, prefetch, vectorised};
use super::solve::{Inverse, Multiply, Transforms2d};
use crate::memory::filled;
use crate::real::Real;
use crate::transform::{permutation, twiddle};
use num_complex::Complex;
use rayon::prelude::*;
use realfft::{ComplexToReal, RealFftPlanner, RealToComplex};
use rustfft::{Fft, FftPlanner};
use std::sync::Arc;

/// Columns of a panel: two to four cache lines of a row of V, and one to two of a map.
const W: usize = 16;

/// Plans, tables and buffers for one map size.
pub(crate) struct Fused<T: Real> {
    nx: usize,
    ny: usize,
    /// Distance between a panel's columns: a cache line more than nx, so that
    /// at powers of two they do not all fall into one set of the cache.
    stride: usize,
    r2c: Arc<dyn RealToComplex<T>>,
    c2r: Arc<dyn ComplexToReal<T>>,
    fft: Arc<dyn Fft<T>>,
    ifft: Arc<dyn Fft<T>>,
    /// `½e^{−jπu/2nx}`, u = 0 … nx.
    half_a: Vec<Complex<T>>,
    /// `e^{−jπv/2ny}` and `½e^{−jπv/2ny}`, v = 0 … ny.
    b: Vec<Complex<T>>,
    half_b: Vec<Complex<T>>,
    /// V, `[nx][ny/2 + 1]`.
    half_spectrum: Vec<Complex<T>>,
    row_scratch: PerThread<RowScratch<T>>,
    panel_scratch: PerThread<PanelScratch<T>>,
}

struct RowScratch<T> {
    real: Vec<T>,
    fft: Vec<Complex<T>>,
}

struct PanelScratch<T> {
    /// The panel's columns, each contiguous.
    columns: Vec<Complex<T>>,
    fft: Vec<Complex<T>>,
}

impl<T: Real> Fused<T> {
    pub(crate) fn new(nx: usize, ny: usize, threads: usize) -> Self {
        let mut real = RealFftPlanner::new();
        let mut complex = FftPlanner::new();
        let (r2c, c2r) = (real.plan_fft_forward(ny), real.plan_fft_inverse(ny));
        let (fft, ifft) = (complex.plan_fft_forward(nx), complex.plan_fft_inverse(nx));
        let zeros = |n: usize| filled(n, Complex::<T>::default());
        let row_fft = r2c.get_scratch_len().max(c2r.get_scratch_len());
        let column_fft = fft.get_inplace_scratch_len().max(ifft.get_inplace_scratch_len());
        let stride = nx + 64 / size_of::<Complex<T>>();
        Fused {
            nx,
            ny,
            stride,
            half_a: twiddle::scaled_quarter_wave(nx, 0.5),
            b: twiddle::scaled_quarter_wave(ny, 1.0),
            half_b: twiddle::scaled_quarter_wave(ny, 0.5),
            half_spectrum: zeros(nx * (ny / 2 + 1)),
            row_scratch: PerThread::new(threads, || RowScratch {
                real: vec![T::zero(); ny],
                fft: zeros(row_fft),
            }),
            panel_scratch: PerThread::new(threads, || PanelScratch {
                columns: zeros(stride * W),
                fft: zeros(column_fft),
            }),
            r2c,
            c2r,
            fft,
            ifft,
        }
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

/// Number of panels of a map with `ny` columns: v = 0, then the mirrored
/// columns, then v = ny/2 when ny is even.
fn panel_count(ny: usize) -> usize {
    let mirrored = (ny - 1) / 2;
    1 + mirrored.div_ceil(W) + usize::from(ny.is_multiple_of(2))
}

impl Panel {
    /// The `index`-th panel of a map with `ny` columns.
    fn new(index: usize, ny: usize) -> Self {
        let mirrored = (ny - 1) / 2;
        let first = if index == 0 { 0 } else { 1 + (index - 1) * W };
        if index == 0 || first > mirrored {
            return Panel { first: first.min(ny / 2), width: 1, mirrored: false };
        }
        Panel { first, width: W.min(mirrored + 1 - first), mirrored: true }
    }
}

impl<T: Real> Transforms2d<T> for Fused<T> {
    fn forward(&mut self, x: &[T], by: &impl Multiply<T>, out: &mut [T]) {
        let (nx, ny) = (self.nx, self.ny);
        let half = ny / 2 + 1;
        // Rows: reorder along both axes, real FFT along y.
        self.half_spectrum.par_chunks_exact_mut(half).enumerate().for_each(|(p, spectrum)| {
            let row = &x[permutation::sample(p, nx) * ny..][..ny];
            self.row_scratch.with(|s| {
                vectorised(
                    #[inline(always)]
                    || permutation::reorder(row, &mut s.real),
                );
                self.r2c
                    .process_with_scratch(&mut s.real, spectrum, &mut s.fft)
                    .expect("buffers are made for this length");
            });
        });
        // Column panels: complex FFT along x, post-processing.
        let out = ColumnPanels::new(out, ny);
        (0..panel_count(ny)).into_par_iter().for_each(|index| {
            let panel = Panel::new(index, ny);
            self.panel_scratch.with(|s| {
                let (columns, stride) = (&mut s.columns[..], self.stride);
                for (u, row) in self.half_spectrum.chunks_exact(half).enumerate() {
                    prefetch(row.as_ptr().wrapping_add(AHEAD * half + panel.first), panel.width);
                    for (w, &value) in row[panel.first..][..panel.width].iter().enumerate() {
                        columns[w * stride + u] = value;
                    }
                }
                for column in columns.chunks_exact_mut(stride).take(panel.width) {
                    self.fft.process_with_scratch(&mut column[..nx], &mut s.fft);
                }
                vectorised(
                    #[inline(always)]
                    || self.post_process(panel, columns, by, &out),
                );
            });
        });
    }

    fn inverse(&mut self, kind: Inverse, x: &[T], by: &impl Multiply<T>, out: &mut [T]) {
        let (nx, ny) = (self.nx, self.ny);
        let half = ny / 2 + 1;
        // Column panels: pre-processing, complex inverse FFT along x.
        let mut half_spectrum = std::mem::take(&mut self.half_spectrum);
        let spectrum = ColumnPanels::new(&mut half_spectrum, half);
        (0..panel_count(ny)).into_par_iter().for_each(|index| {
            let panel = Panel::new(index, ny);
            self.panel_scratch.with(|s| {
                let (columns, stride) = (&mut s.columns[..], self.stride);
                vectorised(
                    #[inline(always)]
                    || match kind {
                        Inverse::Idct => self.pre_process::<false, false>(panel, x, by, columns),
                        Inverse::IdctIdxst => {
                            self.pre_process::<false, true>(panel, x, by, columns)
                        }
                        Inverse::IdxstIdct => {
                            self.pre_process::<true, false>(panel, x, by, columns)
                        }
                    },
                );
                for column in columns.chunks_exact_mut(stride).take(panel.width) {
                    self.ifft.process_with_scratch(&mut column[..nx], &mut s.fft);
                }
                for u in 0..nx {
                    spectrum.prefetch(u + AHEAD, panel.first, panel.width);
                    // SAFETY: panels share no column, and each is one task.
                    let row = unsafe { spectrum.segment(u, panel.first, panel.width) };
                    for (w, value) in row.iter_mut().enumerate() {
                        *value = columns[w * stride + u];
                    }
                }
            });
        });
        // Rows: real inverse FFT along y, both reorderings undone, odd samples of a sine negated.
        let rows = ColumnPanels::new(out, ny);
        half_spectrum.par_chunks_exact_mut(half).enumerate().for_each(|(p, spectrum)| {
            let i = permutation::sample(p, nx);
            // Real in exact arithmetic; the real FFT wants it to the bit.
            spectrum[0].im = T::zero();
            if ny.is_multiple_of(2) {
                spectrum[ny / 2].im = T::zero();
            }
            self.row_scratch.with(|s| {
                self.c2r
                    .process_with_scratch(spectrum, &mut s.real, &mut s.fft)
                    .expect("buffers are made for this length");
                // SAFETY: `sample` is a permutation, so every row is written by one task.
                let row = unsafe { rows.segment(i, 0, ny) };
                vectorised(
                    #[inline(always)]
                    || permutation::restore(&s.real, row, kind == Inverse::IdctIdxst),
                );
                if kind == Inverse::IdxstIdct && !i.is_multiple_of(2) {
                    row.iter_mut().for_each(|value| *value = -*value);
                }
            });
        });
        self.half_spectrum = half_spectrum;
    }
}

impl<T: Real> Fused<T> {
    /// Four real coefficients from two complex ones, for every pair of rows of a panel.
    #[inline(always)]
    fn post_process<M: Multiply<T>>(
        &self,
        panel: Panel,
        columns: &[Complex<T>],
        by: &M,
        out: &ColumnPanels<'_, T>,
    ) {
        if !panel.mirrored {
            self.post_process_edge(panel.first, columns, by, out);
        } else if panel.width == W {
            // The width of a full panel is known to the compiler: whole vectors, no remainder.
            self.post_process_mirrored(panel.first, W, columns, by, out);
        } else {
            self.post_process_mirrored(panel.first, panel.width, columns, by, out);
        }
    }

    /// The columns `first..first + width` and their mirrors.
    #[inline(always)]
    fn post_process_mirrored<M: Multiply<T>>(
        &self,
        first: usize,
        width: usize,
        columns: &[Complex<T>],
        by: &M,
        out: &ColumnPanels<'_, T>,
    ) {
        let (nx, ny, stride) = (self.nx, self.ny, self.stride);
        assert!(columns.len() >= width * stride && width <= W);
        // Mirror columns run backwards: v = first + w stands at last − w.
        let last = ny - first;
        let mut b = [Complex::default(); W];
        b[..width].copy_from_slice(&self.b[first..][..width]);
        for u in 0..=nx / 2 {
            let mirror = if u == 0 { 0 } else { nx - u };
            let a = self.half_a[u];
            let ahead = u + AHEAD;
            for row in [ahead, nx - ahead.min(nx)] {
                out.prefetch(row, first, width);
                out.prefetch(row, last + 1 - width, width);
            }
            let mut s = [Complex::default(); W];
            let mut t = [Complex::default(); W];
            for w in 0..width {
                // SAFETY: w < width and u, mirror < nx, within the length asserted above.
                let (p, q) = unsafe {
                    (
                        *columns.get_unchecked(w * stride + u),
                        *columns.get_unchecked(w * stride + mirror),
                    )
                };
                let (p, q) = (a * p, a.conj() * q);
                s[w] = b[w] * (p + q);
                t[w] = b[w] * (p - q);
            }
            // SAFETY: panels share neither columns nor mirror columns, and each is one task.
            let near = unsafe { out.segment(u, first, width) };
            for w in 0..width {
                near[w] = s[w].re * by.at(u, first + w);
            }
            // SAFETY: as above.
            let near = unsafe { out.segment(u, last + 1 - width, width) };
            for w in 0..width {
                near[width - 1 - w] = -s[w].im * by.at(u, last - w);
            }
            if mirror <= u {
                continue;
            }
            // SAFETY: as above; another row than u.
            let far = unsafe { out.segment(mirror, first, width) };
            for w in 0..width {
                far[w] = -t[w].im * by.at(mirror, first + w);
            }
            // SAFETY: as above.
            let far = unsafe { out.segment(mirror, last + 1 - width, width) };
            for w in 0..width {
                far[width - 1 - w] = -t[w].re * by.at(mirror, last - w);
            }
        }
    }

    /// The column v = 0 or v = ny/2, which is its own mirror.
    fn post_process_edge<M: Multiply<T>>(
        &self,
        v: usize,
        column: &[Complex<T>],
        by: &M,
        out: &ColumnPanels<'_, T>,
    ) {
        for u in 0..=self.nx / 2 {
            let mirror = (self.nx - u) % self.nx;
            let (p, q) = (self.half_a[u] * column[u], self.half_a[u].conj() * column[mirror]);
            // SAFETY: column v belongs to this task alone.
            let set = |u: usize, value: T| unsafe { out.segment(u, v, 1)[0] = value * by.at(u, v) };
            set(u, (self.b[v] * (p + q)).re);
            if mirror > u {
                set(mirror, -(self.b[v] * (p - q)).im);
            }
        }
    }

    /// Two complex coefficients from four real ones, for every pair of rows of a panel.
    ///
    /// A sine transform takes its coefficients reversed along its axis.
    #[inline(always)]
    fn pre_process<const SINE_X: bool, const SINE_Y: bool>(
        &self,
        panel: Panel,
        x: &[T],
        by: &impl Multiply<T>,
        columns: &mut [Complex<T>],
    ) {
        if !panel.mirrored {
            self.pre_process_edge::<SINE_X, SINE_Y>(panel.first, x, by, columns);
        } else if panel.width == W {
            self.pre_process_mirrored::<SINE_X, SINE_Y>(panel.first, W, x, by, columns);
        } else {
            self.pre_process_mirrored::<SINE_X, SINE_Y>(panel.first, panel.width, x, by, columns);
        }
    }

    /// The columns `first..first + width`, from themselves and their mirrors.
    #[inline(always)]
    fn pre_process_mirrored<const SINE_X: bool, const SINE_Y: bool>(
        &self,
        first: usize,
        width: usize,
        x: &[T],
        by: &impl Multiply<T>,
        columns: &mut [Complex<T>],
    ) {
        let (nx, stride) = (self.nx, self.stride);
        assert!(columns.len() >= width * stride && width <= W);
        let mut b = [Complex::default(); W];
        b[..width].copy_from_slice(&self.half_b[first..][..width]);
        let none = ([T::zero(); W], [T::zero(); W]);
        for u in 0..=nx / 2 {
            // u = 0 has no mirror: zero there.
            let mirror = if u == 0 { 0 } else { nx - u };
            let ahead = u + AHEAD;
            for row in [ahead, nx - ahead.min(nx)] {
                let row = x.as_ptr().wrapping_add(row * self.ny);
                prefetch(row.wrapping_add(first), width);
                prefetch(row.wrapping_add(self.ny - first + 1 - width), width);
            }
            let ((a, c), (d_row_a, d)) = match (SINE_X, u) {
                (true, 0) => (none, none),
                (false, 0) => (self.load::<SINE_Y>(0, first, width, x, by), none),
                _ => {
                    let (u, mirror) = if SINE_X { (mirror, u) } else { (u, mirror) };
                    (
                        self.load::<SINE_Y>(u, first, width, x, by),
                        self.load::<SINE_Y>(mirror, first, width, x, by),
                    )
                }
            };
            let wa = self.half_a[u];
            let ja = Complex::new(-wa.im, wa.re);
            for w in 0..width {
                let z = (wa * b[w]).conj() * Complex::new(a[w] - d[w], -(d_row_a[w] + c[w]));
                // SAFETY: w < width and u < nx, within the length asserted above.
                unsafe { *columns.get_unchecked_mut(w * stride + u) = z };
            }
            if mirror > u {
                for w in 0..width {
                    let z = ja * b[w].conj() * Complex::new(d_row_a[w] - c[w], -(a[w] + d[w]));
                    // SAFETY: as above; mirror < nx.
                    unsafe { *columns.get_unchecked_mut(w * stride + mirror) = z };
                }
            }
        }
    }

    /// Coefficients of row `u` at a panel's columns and at their mirrors, reversed for a sine.
    #[inline(always)]
    fn load<const SINE_Y: bool>(
        &self,
        u: usize,
        first: usize,
        width: usize,
        x: &[T],
        by: &impl Multiply<T>,
    ) -> ([T; W], [T; W]) {
        let last = self.ny - first;
        let row = &x[u * self.ny..][..self.ny];
        let (near, far) = (&row[first..][..width], &row[last + 1 - width..][..width]);
        let (mut there, mut back) = ([T::zero(); W], [T::zero(); W]);
        for w in 0..width {
            there[w] = near[w] * by.at(u, first + w);
            back[w] = far[width - 1 - w] * by.at(u, last - w);
        }
        if SINE_Y { (back, there) } else { (there, back) }
    }

    /// The column v = 0 or v = ny/2.
    fn pre_process_edge<const SINE_X: bool, const SINE_Y: bool>(
        &self,
        v: usize,
        x: &[T],
        by: &impl Multiply<T>,
        column: &mut [Complex<T>],
    ) {
        let (nx, ny) = (self.nx, self.ny);
        // Coefficient (u, v) as the cosine transforms see it: reversed for a
        // sine, zero where an index reaches nx or ny.
        let at = |u: usize, v: usize| {
            let u = if SINE_X { nx - u } else { u };
            let v = if SINE_Y { ny - v } else { v };
            if u < nx && v < ny { x[u * ny + v] * by.at(u, v) } else { T::zero() }
        };
        for (u, value) in column[..nx].iter_mut().enumerate() {
            let z = Complex::new(at(u, v) - at(nx - u, ny - v), -(at(nx - u, v) + at(u, ny - v)));
            *value = (self.half_a[u] * self.half_b[v]).conj() * z;
        }
    }
}
