//! DCT and IDCT of a volume `[n0][n1][n2]` by one 3-D real FFT (Jiang, Gu and
//! Pan, §III-D): four complex numbers give eight real coefficients.
//!
//! With `V` the FFT of the volume reordered along every axis, and along an
//! axis of N values with `w = e^{−jπk/2N}`, a complex line's DCT is
//!
//! ```text
//! Y[k] = ½(w·V[k] + w̄·V[N−k])     Y[N−k] = ½j(w·V[k] − w̄·V[N−k])     V[N] = V[0]
//! ```
//!
//! Taken along axis 0 and then axis 1 this makes four numbers Y of
//! `V[±u][±v][w]`, and along axis 2, whose other half is conjugate,
//! `X[w] = Re(cY)` and `X[n2−w] = −Im(cY)` with `c = e^{−jπw/2n2}`. Backwards,
//! with `X[N] = 0`,
//!
//! ```text
//! Y[w] = ½c̄(X[w] − jX[n2−w])     V[k] = ½w̄(Y[k] − jY[N−k])     V[N−k] = ½w(Y[k] + jY[N−k])
//! ```
//!
//! Two passes over memory. One takes planes: real FFTs along axis 2, complex
//! ones along axis 1. The other takes panels of `W` neighbours along axis 2 at
//! v and n1 − v: complex FFTs along axis 0 and post-processing (or
//! pre-processing and inverse FFTs) while they are in cache.

mod post;
mod pre;

use crate::cpu::lines::Threads;
use crate::cpu::scratch::{Parts, ScratchLen};
use crate::cpu::shared::{AHEAD, ColumnPanels, make_ends_real, prefetch, vectorised};
use crate::memory::reals_mut;
use crate::real::Real;
use crate::transform::{Reorder, Sample, permutation, twiddle};
use num_complex::Complex;
use rayon::prelude::*;
use realfft::{ComplexToReal, RealFftPlanner, RealToComplex};
use rustfft::{Fft, FftPlanner};
use std::sync::Arc;

/// Neighbours along axis 2 in a panel.
const W: usize = 16;

/// `W` complex numbers of a panel.
type Run<T> = [Complex<T>; W];

/// Plans and tables for one shape.
pub(super) struct Volume<T: Real> {
    shape: [usize; 3],
    /// Complex numbers along axis 2: n2/2 + 1.
    half: usize,
    /// Distances between the columns along axis 0 and along axis 1 in a
    /// thread's memory: a cache line more than they need.
    stride: [usize; 2],
    r2c: Arc<dyn RealToComplex<T>>,
    c2r: Arc<dyn ComplexToReal<T>>,
    /// Along axis 0 and along axis 1.
    fft: [Arc<dyn Fft<T>>; 2],
    ifft: [Arc<dyn Fft<T>>; 2],
    /// `½e^{−jπk/2n}` along axes 0 and 1.
    half_w: [Vec<Complex<T>>; 2],
    /// `e^{−jπw/2n2}`.
    c: Vec<Complex<T>>,
}

/// The columns along axis 0 of one task: at `v` and `n1 − v`, from `first` on
/// along axis 2.
#[derive(Clone, Copy)]
struct Panel {
    v: usize,
    first: usize,
    width: usize,
}

impl<T: Real> Volume<T> {
    pub(super) fn new(shape: [usize; 3]) -> Self {
        let mut real = RealFftPlanner::new();
        let mut complex = FftPlanner::new();
        let line = 64 / size_of::<Complex<T>>();
        let [n0, n1, n2] = shape;
        Volume {
            shape,
            half: n2 / 2 + 1,
            stride: [n0 + line, n1 + line],
            r2c: real.plan_fft_forward(n2),
            c2r: real.plan_fft_inverse(n2),
            fft: [complex.plan_fft_forward(n0), complex.plan_fft_forward(n1)],
            ifft: [complex.plan_fft_inverse(n0), complex.plan_fft_inverse(n1)],
            half_w: [n0, n1].map(|n| twiddle::scaled_quarter_wave(n, 0.5)),
            c: twiddle::scaled_quarter_wave(n2, 1.0),
        }
    }

    /// V, and for each thread a row, a panel's columns of a plane or a panel's along axis 0.
    pub(super) fn scratch_len(&self) -> ScratchLen {
        let [n0, n1, n2] = self.shape;
        let row = n2.div_ceil(2) + self.r2c.get_scratch_len().max(self.c2r.get_scratch_len());
        let fft = |axis: usize| {
            let fft = &self.fft[axis];
            fft.get_inplace_scratch_len().max(self.ifft[axis].get_inplace_scratch_len())
        };
        let columns = [2 * W * self.stride[0] + fft(0), W * self.stride[1] + fft(1)];
        ScratchLen {
            shared: n0 * n1 * self.half,
            per_thread: columns.into_iter().fold(row, usize::max),
        }
    }

    /// `out = DCT(x)` along every axis.
    pub(super) fn forward<S: Sample>(&self, x: &[S], out: &mut [T], s: Parts<'_, T>) {
        let spectrum = &mut s.shared[..self.shape[0] * self.plane()];
        self.planes_in(x, spectrum, s.threads);
        self.panels_out(spectrum, out, s.threads);
    }

    /// Complex numbers in a plane of V.
    fn plane(&self) -> usize {
        self.shape[1] * self.half
    }

    /// Planes: reordered along all axes, real FFTs along axis 2, complex ones along axis 1.
    fn planes_in<S: Sample>(&self, x: &[S], spectrum: &mut [Complex<T>], threads: &Threads<T>) {
        let [n0, n1, n2] = self.shape;
        spectrum.par_chunks_exact_mut(self.plane()).enumerate().for_each(|(p, spectrum)| {
            let x = &x[permutation::sample(p, n0) * n1 * n2..][..n1 * n2];
            threads.with(|s| {
                self.plane_rows(x, spectrum, s);
                self.plane_columns(&*self.fft[1], spectrum, s);
            });
        });
    }

    /// Panels: complex FFTs along axis 0, post-processing.
    fn panels_out(&self, spectrum: &[Complex<T>], out: &mut [T], threads: &Threads<T>) {
        let out = ColumnPanels::new(out, self.shape[2]);
        self.panels().for_each(|panel| {
            threads.with(|s| {
                let (columns, fft) = s.split_at_mut(2 * W * self.stride[0]);
                self.load_panel(spectrum, panel, columns);
                self.panel_ffts(&*self.fft[0], panel, columns, fft);
                vectorised(
                    #[inline(always)]
                    || self.post_process(panel, columns, &out),
                );
            });
        });
    }

    /// `out = IDCT(x)` along every axis.
    pub(super) fn inverse<S: Sample>(&self, x: &[S], out: &mut [T], s: Parts<'_, T>) {
        let spectrum = &mut s.shared[..self.shape[0] * self.plane()];
        self.panels_in(x, spectrum, s.threads);
        self.planes_out(spectrum, out, s.threads);
    }

    /// Panels: pre-processing, complex inverse FFTs along axis 0.
    fn panels_in<S: Sample>(&self, x: &[S], spectrum: &mut [Complex<T>], threads: &Threads<T>) {
        let to = ColumnPanels::new(spectrum, self.half);
        self.panels().for_each(|panel| {
            threads.with(|s| {
                let (columns, fft) = s.split_at_mut(2 * W * self.stride[0]);
                vectorised(
                    #[inline(always)]
                    || self.pre_process(panel, x, columns),
                );
                self.panel_ffts(&*self.ifft[0], panel, columns, fft);
                self.store_panel(columns, panel, &to);
            });
        });
    }

    /// Planes: complex inverse FFTs along axis 1, real ones along axis 2, all reorderings undone.
    fn planes_out(&self, spectrum: &mut [Complex<T>], out: &mut [T], threads: &Threads<T>) {
        let [n0, n1, n2] = self.shape;
        let out = ColumnPanels::new(out, n1 * n2);
        spectrum.par_chunks_exact_mut(self.plane()).enumerate().for_each(|(p, spectrum)| {
            // SAFETY: `sample` is a permutation, so every plane is written by one task.
            let out = unsafe { out.segment(permutation::sample(p, n0), 0, n1 * n2) };
            threads.with(|s| {
                self.plane_columns(&*self.ifft[1], spectrum, s);
                self.plane_rows_back(spectrum, out, s);
            });
        });
    }

    /// Rows of a plane: reordered along both axes, real FFTs.
    fn plane_rows<S: Sample>(&self, x: &[S], spectrum: &mut [Complex<T>], s: &mut [Complex<T>]) {
        let [_, n1, n2] = self.shape;
        let (row, fft) = s.split_at_mut(n2.div_ceil(2));
        let row = &mut reals_mut(row)[..n2];
        for (p, spectrum) in spectrum.chunks_exact_mut(self.half).enumerate() {
            let x = &x[permutation::sample(p, n1) * n2..][..n2];
            vectorised(
                #[inline(always)]
                || permutation::reorder(Reorder::default(), x, row),
            );
            self.r2c
                .process_with_scratch(row, spectrum, fft)
                .expect("buffers are made for this length");
        }
    }

    /// Real inverse FFTs of a plane's rows, reordering along both axes undone.
    fn plane_rows_back(&self, spectrum: &mut [Complex<T>], out: &mut [T], s: &mut [Complex<T>]) {
        let [_, n1, n2] = self.shape;
        let (row, fft) = s.split_at_mut(n2.div_ceil(2));
        let row = &mut reals_mut(row)[..n2];
        for (p, spectrum) in spectrum.chunks_exact_mut(self.half).enumerate() {
            make_ends_real(spectrum, n2);
            self.c2r
                .process_with_scratch(spectrum, row, fft)
                .expect("buffers are made for this length");
            let out = &mut out[permutation::sample(p, n1) * n2..][..n2];
            vectorised(
                #[inline(always)]
                || permutation::restore(Reorder::default(), row, out, false),
            );
        }
    }

    /// Complex FFTs along axis 1 of a plane, `W` columns at a time.
    fn plane_columns(&self, fft: &dyn Fft<T>, spectrum: &mut [Complex<T>], s: &mut [Complex<T>]) {
        let (n1, stride) = (self.shape[1], self.stride[1]);
        let (columns, scratch) = s.split_at_mut(W * stride);
        for first in (0..self.half).step_by(W) {
            let width = W.min(self.half - first);
            for (v, row) in spectrum.chunks_exact(self.half).enumerate() {
                for (w, &value) in row[first..][..width].iter().enumerate() {
                    columns[w * stride + v] = value;
                }
            }
            for column in columns.chunks_exact_mut(stride).take(width) {
                fft.process_with_scratch(&mut column[..n1], scratch);
            }
            for (v, row) in spectrum.chunks_exact_mut(self.half).enumerate() {
                for (w, value) in row[first..][..width].iter_mut().enumerate() {
                    *value = columns[w * stride + v];
                }
            }
        }
    }

    /// Every panel once; v and n1 − v together.
    fn panels(&self) -> impl ParallelIterator<Item = Panel> {
        let (half, along) = (self.half, self.half.div_ceil(W));
        (0..(self.shape[1] / 2 + 1) * along).into_par_iter().map(move |task| {
            let first = task % along * W;
            Panel { v: task / along, first, width: W.min(half - first) }
        })
    }

    /// The index `n1 − v`, if it is another than `v`.
    fn mirror(&self, v: usize) -> Option<usize> {
        Some(self.shape[1] - v).filter(|&mirror| v > 0 && mirror > v)
    }

    /// A panel's columns from V: those at v, then those at n1 − v.
    fn load_panel(&self, spectrum: &[Complex<T>], panel: Panel, columns: &mut [Complex<T>]) {
        let Panel { v, first, width } = panel;
        let (n1, stride) = (self.shape[1], self.stride[0]);
        let sides = columns.chunks_exact_mut(W * stride);
        for (v, columns) in [Some(v), self.mirror(v)].into_iter().flatten().zip(sides) {
            for (u, plane) in spectrum.chunks_exact(n1 * self.half).enumerate() {
                let run = &plane[v * self.half + first..][..width];
                prefetch(run.as_ptr().wrapping_add(AHEAD * n1 * self.half), width);
                for (w, &value) in run.iter().enumerate() {
                    columns[w * stride + u] = value;
                }
            }
        }
    }

    /// A panel's columns to V.
    fn store_panel(&self, columns: &[Complex<T>], panel: Panel, to: &ColumnPanels<'_, Complex<T>>) {
        let Panel { v, first, width } = panel;
        let ([n0, n1, _], stride) = (self.shape, self.stride[0]);
        let sides = columns.chunks_exact(W * stride);
        for (v, columns) in [Some(v), self.mirror(v)].into_iter().flatten().zip(sides) {
            for u in 0..n0 {
                to.prefetch((u + AHEAD) * n1 + v, first, width);
                // SAFETY: panels share neither v nor n1 − v, or no columns, and each is one task.
                let run = unsafe { to.segment(u * n1 + v, first, width) };
                for (w, value) in run.iter_mut().enumerate() {
                    *value = columns[w * stride + u];
                }
            }
        }
    }

    /// FFTs along axis 0 of a panel's columns.
    fn panel_ffts(
        &self,
        fft: &dyn Fft<T>,
        panel: Panel,
        columns: &mut [Complex<T>],
        scratch: &mut [Complex<T>],
    ) {
        let sides = if self.mirror(panel.v).is_some() { 2 } else { 1 };
        for side in columns.chunks_exact_mut(W * self.stride[0]).take(sides) {
            for column in side.chunks_exact_mut(self.stride[0]).take(panel.width) {
                fft.process_with_scratch(&mut column[..self.shape[0]], scratch);
            }
        }
    }
}
