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
//! Taken along axis 0 and then axis 1 this makes four numbers Y of `V[±u][±v][w]`, and along axis
//! 2, whose other half is conjugate, `X[w] = Re(cY)` and `X[n2−w] = −Im(cY)` with `c =
//! e^{−jπw/2n2}`. Backwards, with `X[N] = 0`,
//!
//! ```text
//! Y[w] = ½c̄(X[w] − jX[n2−w])     V[k] = ½w̄(Y[k] − jY[N−k])     V[N−k] = ½w(Y[k] + jY[N−k])
//! ```
//!
//! Two passes over memory. One takes planes: real FFTs along axis 2, complex ones along axis 1. The
//! other takes panels of `W` neighbours along axis 2 at v and n1 − v: complex FFTs along axis 0 and
//! post-processing (or pre-processing and inverse FFTs) while they are in cache.

mod post;
mod pre;

use super::scratch::{Parts, ScratchLen, Threads};
use crate::cpu::matrix::{AHEAD, Block, SharedMatrix, prefetch};
use crate::cpu::simd::vectorised;
use crate::memory::reals_mut;
use crate::parallel::{self, chunks_mut};
use crate::real::Real;
use crate::transform::fft::{ComplexFft, RealFft};
use crate::transform::{InputElement, TransformNd, permutation, twiddle};
use num_complex::Complex;
use std::ops::Range;

/// Neighbours along axis 2 in a panel.
const W: usize = 16;

/// `W` complex numbers of a panel.
type Run<T> = [Complex<T>; W];

/// Plans and tables for volumes of one shape.
pub(super) struct VolumeTransform<T: Real> {
    shape: [usize; 3],
    /// Complex numbers along axis 2: n2/2 + 1.
    half: usize,
    /// Distances between the columns along axis 0 and along axis 1 in a
    /// thread's memory: a cache line more than they need.
    stride: [usize; 2],
    /// Along axis 2.
    rows: RealFft<T>,
    /// Along axis 0 and along axis 1.
    fft: [ComplexFft<T>; 2],
    ifft: [ComplexFft<T>; 2],
    /// `½e^{−jπk/2n}` along axes 0 and 1.
    half_w: [Vec<Complex<T>>; 2],
    /// `e^{−jπw/2n2}`.
    c: Vec<Complex<T>>,
}

/// The columns along axis 0 of one task: at `v` and `n1 − v`, from `first` on along axis 2.
#[derive(Clone, Copy)]
struct VolumePanel {
    v: usize,
    first: usize,
    width: usize,
}

impl<T: Real> VolumeTransform<T> {
    pub(super) fn new(shape: [usize; 3]) -> Self {
        let line = 64 / size_of::<Complex<T>>();
        let [n0, n1, n2] = shape;
        let ([fft_0, ifft_0], [fft_1, ifft_1]) = (ComplexFft::both(n0), ComplexFft::both(n1));
        VolumeTransform {
            shape,
            half: n2 / 2 + 1,
            stride: [n0 + line, n1 + line],
            rows: RealFft::new(n2),
            fft: [fft_0, fft_1],
            ifft: [ifft_0, ifft_1],
            half_w: [n0, n1].map(|n| twiddle::scaled_quarter_wave(n, 0.5)),
            c: twiddle::scaled_quarter_wave(n2, 1.0),
        }
    }

    /// Returns working memory: V, and for each thread a row, a panel's columns of a plane or a
    /// panel's along axis 0.
    pub(super) fn scratch_len(&self) -> ScratchLen {
        let [n0, n1, n2] = self.shape;
        let row = n2.div_ceil(2) + self.rows.scratch_len();
        let fft = |axis: usize| self.fft[axis].scratch_len().max(self.ifft[axis].scratch_len());
        let columns = [2 * W * self.stride[0] + fft(0), W * self.stride[1] + fft(1)];
        ScratchLen {
            shared: n0 * n1 * self.half,
            per_thread: columns.into_iter().fold(row, usize::max),
        }
    }

    /// Returns the number of values of a volume.
    pub(super) fn size(&self) -> usize {
        self.shape.iter().product()
    }

    /// `out = kind(x)`, volume by volume.
    pub(super) fn run<S: InputElement>(
        &self,
        kind: TransformNd,
        x: &[S],
        out: &mut [T],
        s: &mut Parts<'_, T>,
    ) {
        for (x, out) in x.chunks(self.size()).zip(out.chunks_mut(self.size())) {
            let s = s.reborrow();
            let spectrum = &mut s.shared[..self.shape[0] * self.plane()];
            match kind {
                TransformNd::Dct => {
                    self.planes_in(x, spectrum, s.threads);
                    self.panels_out(spectrum, out, s.threads);
                }
                TransformNd::Idct => {
                    self.panels_in(x, spectrum, s.threads);
                    self.planes_out(spectrum, out, s.threads);
                }
            }
        }
    }

    /// Returns the number of complex numbers in a plane of V.
    fn plane(&self) -> usize {
        self.shape[1] * self.half
    }

    /// Planes: reordered along all axes, real FFTs along axis 2, complex ones along axis 1.
    fn planes_in<S: InputElement>(
        &self,
        x: &[S],
        spectrum: &mut [Complex<T>],
        threads: &Threads<T>,
    ) {
        let [n0, n1, n2] = self.shape;
        parallel::for_each(chunks_mut(spectrum, self.plane()), |p, spectrum| {
            let x = &x[permutation::sample(p, n0) * n1 * n2..][..n1 * n2];
            threads.with(|s| {
                self.plane_rows(x, spectrum, s);
                self.plane_columns(&self.fft[1], spectrum, s);
            });
        });
    }

    /// Panels: complex FFTs along axis 0, post-processing.
    fn panels_out(&self, spectrum: &[Complex<T>], out: &mut [T], threads: &Threads<T>) {
        let [_, n1, n2] = self.shape;
        let out = SharedMatrix::new(out, n1 * n2);
        self.for_each_panel(&|panel| {
            let sides = [Some(panel.v), self.mirror(panel.v)].map(|v| self.coefficients(v, panel));
            // SAFETY: panels share neither v nor n1 − v, or no columns, of which the mirrors lie
            // beyond n2/2 and the others do not; each panel is one task.
            let mut out = sides
                .map(|side| side.map(|columns| unsafe { out.block(0..self.shape[0], columns) }));
            threads.with(|s| {
                let (columns, fft) = s.split_at_mut(2 * W * self.stride[0]);
                self.load_panel(spectrum, panel, columns);
                self.panel_ffts(&self.fft[0], panel, columns, fft);
                vectorised(
                    #[inline(always)]
                    || self.post_process(panel, columns, &mut out),
                );
            });
        });
    }

    /// Panels: pre-processing, complex inverse FFTs along axis 0.
    fn panels_in<S: InputElement>(
        &self,
        x: &[S],
        spectrum: &mut [Complex<T>],
        threads: &Threads<T>,
    ) {
        let to = SharedMatrix::new(spectrum, self.plane());
        self.for_each_panel(&|panel| {
            let mut to = [Some(panel.v), self.mirror(panel.v)].map(|v| {
                let start = v? * self.half + panel.first;
                // SAFETY: panels share neither v nor n1 − v, or no columns, and each is one task.
                Some(unsafe { to.block(0..self.shape[0], start..start + panel.width) })
            });
            threads.with(|s| {
                let (columns, fft) = s.split_at_mut(2 * W * self.stride[0]);
                vectorised(
                    #[inline(always)]
                    || self.pre_process(panel, x, columns),
                );
                self.panel_ffts(&self.ifft[0], panel, columns, fft);
                self.store_panel(columns, &mut to);
            });
        });
    }

    /// Planes: complex inverse FFTs along axis 1, real ones along axis 2, all reorderings undone.
    fn planes_out(&self, spectrum: &mut [Complex<T>], out: &mut [T], threads: &Threads<T>) {
        let [n0, n1, n2] = self.shape;
        let out = SharedMatrix::new(out, n1 * n2);
        parallel::for_each(chunks_mut(spectrum, self.plane()), |p, spectrum| {
            // SAFETY: `sample` is a permutation, so every plane belongs to one task.
            let out = unsafe { out.row(permutation::sample(p, n0)) };
            threads.with(|s| {
                self.plane_columns(&self.ifft[1], spectrum, s);
                self.plane_rows_back(spectrum, out, s);
            });
        });
    }

    /// Rows of a plane: reordered along both axes, real FFTs.
    fn plane_rows<S: InputElement>(
        &self,
        x: &[S],
        spectrum: &mut [Complex<T>],
        s: &mut [Complex<T>],
    ) {
        let [_, n1, n2] = self.shape;
        let (row, fft) = s.split_at_mut(n2.div_ceil(2));
        let row = &mut reals_mut(row)[..n2];
        for (p, spectrum) in spectrum.chunks_exact_mut(self.half).enumerate() {
            let x = &x[permutation::sample(p, n1) * n2..][..n2];
            vectorised(
                #[inline(always)]
                || permutation::reorder(x, row),
            );
            self.rows.forward(row, spectrum, fft);
        }
    }

    /// Real inverse FFTs of a plane's rows, reordering along both axes undone.
    fn plane_rows_back(&self, spectrum: &mut [Complex<T>], out: &mut [T], s: &mut [Complex<T>]) {
        let [_, n1, n2] = self.shape;
        let (row, fft) = s.split_at_mut(n2.div_ceil(2));
        let row = &mut reals_mut(row)[..n2];
        for (p, spectrum) in spectrum.chunks_exact_mut(self.half).enumerate() {
            self.rows.inverse(spectrum, row, fft);
            let out = &mut out[permutation::sample(p, n1) * n2..][..n2];
            vectorised(
                #[inline(always)]
                || permutation::restore(row, out, false),
            );
        }
    }

    /// Complex FFTs along axis 1 of a plane, `W` columns at a time.
    fn plane_columns(
        &self,
        fft: &ComplexFft<T>,
        spectrum: &mut [Complex<T>],
        s: &mut [Complex<T>],
    ) {
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
                fft.run(&mut column[..n1], scratch);
            }
            for (v, row) in spectrum.chunks_exact_mut(self.half).enumerate() {
                for (w, value) in row[first..][..width].iter_mut().enumerate() {
                    *value = columns[w * stride + v];
                }
            }
        }
    }

    /// Calls `work` with every panel once; v and n1 − v together.
    fn for_each_panel(&self, work: &(dyn Fn(VolumePanel) + Sync)) {
        let (half, along) = (self.half, self.half.div_ceil(W));
        parallel::each((self.shape[1] / 2 + 1) * along, &|task| {
            let first = task % along * W;
            work(VolumePanel { v: task / along, first, width: W.min(half - first) });
        });
    }

    /// Returns the index `n1 − v`, if it is another than `v`.
    fn mirror(&self, v: usize) -> Option<usize> {
        Some(self.shape[1] - v).filter(|&mirror| v > 0 && mirror > v)
    }

    /// A panel's columns from V: those at v, then those at n1 − v.
    fn load_panel(&self, spectrum: &[Complex<T>], panel: VolumePanel, columns: &mut [Complex<T>]) {
        let VolumePanel { v, first, width } = panel;
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

    /// A panel's columns to V, those at v and those at n1 − v, if there are.
    fn store_panel(&self, columns: &[Complex<T>], to: &mut [Option<Block<'_, Complex<T>>>; 2]) {
        let (n0, stride) = (self.shape[0], self.stride[0]);
        for (to, columns) in to.iter_mut().flatten().zip(columns.chunks_exact(W * stride)) {
            for u in 0..n0 {
                to.prefetch(u + AHEAD);
                for (w, value) in to.row(u).iter_mut().enumerate() {
                    *value = columns[w * stride + u];
                }
            }
        }
    }

    /// Returns where in a plane of coefficients a panel's are, in its row `v`, and their mirrors.
    fn coefficients(&self, v: Option<usize>, panel: VolumePanel) -> [Range<usize>; 2] {
        let Some(v) = v else { return [0..0, 0..0] };
        let (n2, VolumePanel { first, width, .. }) = (self.shape[2], panel);
        let row = v * n2;
        // w = 0 and w = n2/2 have no mirror.
        let mirrored = first.max(1)..(first + width).min(n2.div_ceil(2));
        let mirrors = match mirrored.is_empty() {
            true => 0..0,
            false => row + n2 + 1 - mirrored.end..row + n2 + 1 - mirrored.start,
        };
        [row + first..row + first + width, mirrors]
    }

    /// FFTs along axis 0 of a panel's columns.
    fn panel_ffts(
        &self,
        fft: &ComplexFft<T>,
        panel: VolumePanel,
        columns: &mut [Complex<T>],
        scratch: &mut [Complex<T>],
    ) {
        let sides = if self.mirror(panel.v).is_some() { 2 } else { 1 };
        for side in columns.chunks_exact_mut(W * self.stride[0]).take(sides) {
            for column in side.chunks_exact_mut(self.stride[0]).take(panel.width) {
                fft.run(&mut column[..self.shape[0]], scratch);
            }
        }
    }
}
