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
//! (The first index of V is periodic: V[nx] = V[0]. The inverse needs the
//! conjugate factors; the paper prints them without the bar.)
//!
//! The 2-D FFT is real FFTs along y and complex ones along x. Each unit of
//! work above lies in one column of V, so a panel of columns is read, taken
//! through its FFTs and post-processed (or pre-processed and taken through
//! its inverse FFTs) while it is in cache: two passes over memory for a
//! transform, both in parallel, one over rows and one over column panels.

use super::shared::{ColumnPanels, PerThread};
use super::solve::{Inverse, Multiply, Transforms2d};
use crate::real::Real;
use crate::transform::{permutation, twiddle};
use num_complex::Complex;
use rayon::prelude::*;
use realfft::{ComplexToReal, RealFftPlanner, RealToComplex};
use rustfft::{Fft, FftPlanner};
use std::sync::Arc;

/// Columns of a panel: 128 bytes of a row of V, two cache lines.
const fn panel_width<T>() -> usize {
    128 / size_of::<Complex<T>>()
}

/// Plans, tables and buffers for one map size.
pub(crate) struct Fused<T: Real> {
    nx: usize,
    ny: usize,
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
        let zeros = |n| vec![Complex::<T>::default(); n];
        let row_fft = r2c.get_scratch_len().max(c2r.get_scratch_len());
        let column_fft = fft.get_inplace_scratch_len().max(ifft.get_inplace_scratch_len());
        Fused {
            nx,
            ny,
            half_a: twiddle::scaled_quarter_wave(nx, 0.5),
            b: twiddle::scaled_quarter_wave(ny, 1.0),
            half_b: twiddle::scaled_quarter_wave(ny, 0.5),
            half_spectrum: zeros(nx * (ny / 2 + 1)),
            row_scratch: PerThread::new(threads, || RowScratch {
                real: vec![T::zero(); ny],
                fft: zeros(row_fft),
            }),
            panel_scratch: PerThread::new(threads, || PanelScratch {
                columns: zeros(nx * panel_width::<T>()),
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
fn panel_count<T>(ny: usize) -> usize {
    let mirrored = (ny - 1) / 2;
    1 + mirrored.div_ceil(panel_width::<T>()) + usize::from(ny.is_multiple_of(2))
}

fn panel<T>(index: usize, ny: usize) -> Panel {
    let mirrored = (ny - 1) / 2;
    let width = panel_width::<T>();
    let first = if index == 0 { 0 } else { 1 + (index - 1) * width };
    if index == 0 || first > mirrored {
        return Panel { first: first.min(ny / 2), width: 1, mirrored: false };
    }
    Panel { first, width: width.min(mirrored + 1 - first), mirrored: true }
}

impl<T: Real> Transforms2d<T> for Fused<T> {
    fn forward(&mut self, x: &[T], by: &impl Multiply<T>, out: &mut [T]) {
        let (nx, ny) = (self.nx, self.ny);
        let half = ny / 2 + 1;
        // Rows: reorder along both axes, real FFT along y.
        self.half_spectrum.par_chunks_exact_mut(half).enumerate().for_each(|(p, spectrum)| {
            let row = &x[permutation::sample(p, nx) * ny..][..ny];
            self.row_scratch.with(|s| {
                permutation::reorder(row, &mut s.real);
                self.r2c
                    .process_with_scratch(&mut s.real, spectrum, &mut s.fft)
                    .expect("buffers are made for this length");
            });
        });
        // Column panels: complex FFT along x, post-processing.
        let out = ColumnPanels::new(out, ny);
        (0..panel_count::<T>(ny)).into_par_iter().for_each(|index| {
            let panel = panel::<T>(index, ny);
            self.panel_scratch.with(|s| {
                let columns = &mut s.columns[..panel.width * nx];
                for (u, row) in self.half_spectrum.chunks_exact(half).enumerate() {
                    for (w, &value) in row[panel.first..][..panel.width].iter().enumerate() {
                        columns[w * nx + u] = value;
                    }
                }
                self.fft.process_with_scratch(columns, &mut s.fft);
                self.post_process(panel, columns, by, &out);
            });
        });
    }

    fn inverse(&mut self, kind: Inverse, x: &[T], by: &impl Multiply<T>, out: &mut [T]) {
        let (nx, ny) = (self.nx, self.ny);
        let half = ny / 2 + 1;
        // Column panels: pre-processing, complex inverse FFT along x.
        let mut half_spectrum = std::mem::take(&mut self.half_spectrum);
        let spectrum = ColumnPanels::new(&mut half_spectrum, half);
        (0..panel_count::<T>(ny)).into_par_iter().for_each(|index| {
            let panel = panel::<T>(index, ny);
            self.panel_scratch.with(|s| {
                let columns = &mut s.columns[..panel.width * nx];
                match kind {
                    Inverse::Idct => self.pre_process::<false, false>(panel, x, by, columns),
                    Inverse::IdctIdxst => self.pre_process::<false, true>(panel, x, by, columns),
                    Inverse::IdxstIdct => self.pre_process::<true, false>(panel, x, by, columns),
                }
                self.ifft.process_with_scratch(columns, &mut s.fft);
                for u in 0..nx {
                    // SAFETY: panels share no column, and each is one task.
                    let row = unsafe { spectrum.segment(u, panel.first, panel.width) };
                    for (w, value) in row.iter_mut().enumerate() {
                        *value = columns[w * nx + u];
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
                permutation::restore(&s.real, row, kind == Inverse::IdctIdxst);
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
    fn post_process(
        &self,
        panel: Panel,
        columns: &[Complex<T>],
        by: &impl Multiply<T>,
        out: &ColumnPanels<'_, T>,
    ) {
        let (nx, ny) = (self.nx, self.ny);
        for u in 0..=nx / 2 {
            let mirror = (nx - u) % nx;
            let paired = mirror > u;
            // a·P and ā·Q each carry ½ from half_a; where u is its own mirror P = Q.
            let a = self.half_a[u];
            // SAFETY: panels share neither columns nor mirror columns, and each is one task;
            // rows u and nx−u differ when paired.
            let segment = |row, first| unsafe { out.segment(row, first, panel.width) };
            let near = segment(u, panel.first);
            let far = if paired { segment(mirror, panel.first) } else { &mut [] };
            // The mirror columns run backwards: v ↦ ny − v.
            let last = ny - panel.first - (panel.width - 1);
            let (near_mirror, far_mirror) = match (panel.mirrored, paired) {
                (true, true) => (segment(u, last), segment(mirror, last)),
                (true, false) => (segment(u, last), &mut [][..]),
                _ => (&mut [][..], &mut [][..]),
            };
            for w in 0..panel.width {
                let v = panel.first + w;
                let b = self.b[v];
                let p = a * columns[w * nx + u];
                let q = a.conj() * columns[w * nx + mirror];
                let s = b * (p + q);
                near[w] = s.re * by.at(u, v);
                let back = panel.width - 1 - w;
                if panel.mirrored {
                    near_mirror[back] = -s.im * by.at(u, ny - v);
                }
                if paired {
                    let t = b * (p - q);
                    far[w] = -t.im * by.at(mirror, v);
                    if panel.mirrored {
                        far_mirror[back] = -t.re * by.at(mirror, ny - v);
                    }
                }
            }
        }
    }

    /// Two complex coefficients from four real ones, for every pair of rows of a panel.
    ///
    /// A sine transform takes its coefficients reversed along its axis.
    fn pre_process<const SINE_X: bool, const SINE_Y: bool>(
        &self,
        panel: Panel,
        x: &[T],
        by: &impl Multiply<T>,
        columns: &mut [Complex<T>],
    ) {
        let (nx, ny) = (self.nx, self.ny);
        let at = |u: usize, v: usize| x[u * ny + v] * by.at(u, v);
        for u in 0..=nx / 2 {
            let mirror = (nx - u) % nx;
            for w in 0..panel.width {
                let v = panel.first + w;
                // v = 0 has no mirror: zero there.
                let pair = |u: usize| {
                    let there = at(u, v);
                    let back = if v > 0 { at(u, ny - v) } else { T::zero() };
                    match (SINE_Y, v) {
                        (true, 0) => (T::zero(), T::zero()),
                        (true, _) => (back, there),
                        (false, _) => (there, back),
                    }
                };
                // u = 0 has no mirror: zero there.
                let ((a, c), (b, d)) = if u > 0 {
                    if SINE_X { (pair(mirror), pair(u)) } else { (pair(u), pair(mirror)) }
                } else if SINE_X {
                    ((T::zero(), T::zero()), (T::zero(), T::zero()))
                } else {
                    (pair(0), (T::zero(), T::zero()))
                };
                let (wa, wb) = (self.half_a[u], self.half_b[v]);
                columns[w * nx + u] = (wa * wb).conj() * Complex::new(a - d, -(b + c));
                if mirror > u {
                    let ja = Complex::new(-wa.im, wa.re);
                    columns[w * nx + mirror] = ja * wb.conj() * Complex::new(b - c, -(a + d));
                }
            }
        }
    }
}
