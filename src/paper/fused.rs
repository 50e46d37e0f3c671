//! The fused method stage by stage, by FFTs of one line at a time: a 2-D real FFT alone, and the DCT
//! of one map with a choice of its reordering and of its post-processing.
//!
//! With `a = e^{−jπu/2nx}`, `b = e^{−jπv/2ny}` and `V` the 2-D FFT of the map reordered along both
//! axes, two complex values give four real ones (Jiang, Gu and Pan, §III):
//!
//! ```text
//! s = ½b(a·V[u][v] + ā·V[nx−u][v])     X(u, v)    =  Re s    X(u, ny−v)    = −Im s
//! t = ½b(a·V[u][v] − ā·V[nx−u][v])     X(nx−u, v) = −Im t    X(nx−u, ny−v) = −Re t
//! ```
//!
//! Real FFTs along y of every row, then complex FFTs along x of panels of columns, each panel
//! brought into cache, transformed, and written back or post-processed. Spectra are
//! `[nx][ny/2 + 1]`; nothing is normalised.

use super::{PostProcessing, Reorder};
use crate::cpu::matrix::{AHEAD, Block, SharedMatrix, prefetch};
use crate::cpu::simd::vectorised;
use crate::memory::{filled, require};
use crate::parallel::{self, PerThread, chunks, chunks_mut};
use crate::real::Real;
use crate::transform::fft::{ComplexFft, RealFft};
use crate::transform::{LengthError, ShapeError, check_length, check_shape, permutation, twiddle};
use num_complex::Complex;

/// Columns of a panel: two to four cache lines of a row of a spectrum.
const W: usize = 16;

/// A planned 2-D real FFT of maps of `nx × ny`, y contiguous, and its inverse.
/// No call allocates; work is spread over the rayon pool it is called in.
pub struct Fft2d<T: Real> {
    nx: usize,
    ny: usize,
    /// Distance between a panel's columns: a cache line more than nx.
    stride: usize,
    rows: RealFft<T>,
    fft: ComplexFft<T>,
    ifft: ComplexFft<T>,
    /// The spectrum between the passes.
    between: Vec<Complex<T>>,
    scratch: PerThread<PanelScratch<T>>,
}

struct PanelScratch<T> {
    row: Vec<T>,
    half_row: Vec<Complex<T>>,
    panel: Vec<Complex<T>>,
    fft: Vec<Complex<T>>,
}

impl<T: Real> Fft2d<T> {
    /// Plans maps of `nx × ny` values, for the pool this is called in.
    ///
    /// # Errors
    /// When `nx` or `ny` is zero, or there is not enough memory.
    pub fn new(nx: usize, ny: usize) -> Result<Self, ShapeError> {
        check_shape(&[nx, ny], 1)?;
        let (rows, [fft, ifft]) = (RealFft::new(ny), ComplexFft::both(nx));
        let longest = rows.scratch_len().max(fft.scratch_len()).max(ifft.scratch_len());
        let (stride, threads) = (nx + 64 / size_of::<Complex<T>>(), parallel::threads());
        let (shared, each) = (nx * (ny / 2 + 1), W * stride + longest + ny + 1);
        let bytes = (shared + each.saturating_mul(threads)) as u64 * size_of::<Complex<T>>() as u64;
        require("the arrays of the plan", bytes)?;
        let zeros = |n: usize| filled(n, Complex::<T>::default());
        Ok(Fft2d {
            nx,
            ny,
            stride,
            between: zeros(shared),
            scratch: PerThread::new(threads, || PanelScratch {
                row: vec![T::zero(); ny],
                half_row: zeros(ny / 2 + 1),
                panel: zeros(W * stride),
                fft: zeros(longest),
            }),
            rows,
            fft,
            ifft,
        })
    }

    /// Computes `spectrum` = FFT of `x`.
    ///
    /// # Panics
    /// When a slice is not of the planned size.
    pub fn forward(&self, x: &[T], spectrum: &mut [Complex<T>]) {
        let half = self.ny / 2 + 1;
        assert_eq!((x.len(), spectrum.len()), (self.nx * self.ny, self.nx * half));
        self.rows(spectrum, |p, row| row.copy_from_slice(&x[p * self.ny..][..self.ny]));
        self.columns(&self.fft, None, spectrum);
    }

    /// Computes `x` = inverse FFT of `spectrum`, which is not changed.
    ///
    /// # Panics
    /// When a slice is not of the planned size.
    pub fn inverse(&mut self, spectrum: &[Complex<T>], x: &mut [T]) {
        let half = self.ny / 2 + 1;
        assert_eq!((x.len(), spectrum.len()), (self.nx * self.ny, self.nx * half));
        let mut between = std::mem::take(&mut self.between);
        self.columns(&self.ifft, Some(spectrum), &mut between);
        let rows = (chunks_mut(x, self.ny), chunks(&between, half));
        parallel::for_each(rows, |_, (to, from)| {
            self.scratch.with(|s| {
                s.half_row.copy_from_slice(from);
                self.rows.inverse(&mut s.half_row, to, &mut s.fft);
            });
        });
        self.between = between;
    }

    /// Real FFTs of all rows, row p being what `load(p, row)` writes.
    fn rows(&self, spectrum: &mut [Complex<T>], load: impl Fn(usize, &mut [T]) + Sync) {
        parallel::for_each(chunks_mut(spectrum, self.ny / 2 + 1), |p, to| {
            self.scratch.with(|s| {
                vectorised(
                    #[inline(always)]
                    || load(p, &mut s.row),
                );
                self.rows.forward(&mut s.row, to, &mut s.fft);
            });
        });
    }

    /// Complex FFTs of all columns, from `source` into `matrix`, or in place.
    fn columns(
        &self,
        fft: &ComplexFft<T>,
        source: Option<&[Complex<T>]>,
        matrix: &mut [Complex<T>],
    ) {
        let (nx, half) = (self.nx, self.ny / 2 + 1);
        let matrix = SharedMatrix::new(matrix, half);
        parallel::each(half.div_ceil(W), &|p| {
            let (first, width) = (p * W, W.min(half - p * W));
            // SAFETY: panels share no columns, and each is one task.
            let mut block = unsafe { matrix.block(0..nx, first..first + width) };
            self.scratch.with(|s| {
                for u in 0..nx {
                    let row = match source {
                        Some(source) => &source[u * half + first..][..width],
                        None => &*block.row(u),
                    };
                    self.bring(row, half, u, &mut s.panel);
                }
                self.run(fft, width, s);
                for u in 0..nx {
                    for (w, value) in block.row(u).iter_mut().enumerate() {
                        *value = s.panel[w * self.stride + u];
                    }
                }
            });
        });
    }

    /// Writes a piece of row `u` of a spectrum to a panel.
    #[inline(always)]
    fn bring(&self, row: &[Complex<T>], half: usize, u: usize, panel: &mut [Complex<T>]) {
        prefetch(row.as_ptr().wrapping_add(AHEAD * half), row.len());
        for (w, &value) in row.iter().enumerate() {
            panel[w * self.stride + u] = value;
        }
    }

    /// FFTs of a panel's columns.
    fn run(&self, fft: &ComplexFft<T>, width: usize, s: &mut PanelScratch<T>) {
        for column in s.panel.chunks_exact_mut(self.stride).take(width) {
            fft.run(&mut column[..self.nx], &mut s.fft);
        }
    }
}

/// The DCT of one map on the CPU by the fused method, with its stages chosen.
pub struct Dct2d<T: Real> {
    fft: Fft2d<T>,
    reorder: Reorder,
    post: PostProcessing,
    /// `½e^{−jπu/2nx}`, u = 0 … nx.
    half_a: Vec<Complex<T>>,
    /// `e^{−jπv/2ny}`, v = 0 … ny.
    b: Vec<Complex<T>>,
}

/// A panel's columns `first..first + width` of a map, and their mirrors `ny − v`: those of the
/// columns `mirrored`, backwards.
struct Columns<'a, T> {
    first: usize,
    mirrored: std::ops::Range<usize>,
    near: Block<'a, T>,
    far: Block<'a, T>,
}

impl<T: Real> Dct2d<T> {
    /// Plans the DCT of a map of `nx × ny` values, for the pool this is called in.
    ///
    /// # Errors
    /// See [`Fft2d::new`].
    pub fn new(
        [nx, ny]: [usize; 2],
        reorder: Reorder,
        post: PostProcessing,
    ) -> Result<Self, ShapeError> {
        Ok(Dct2d {
            fft: Fft2d::new(nx, ny)?,
            reorder,
            post,
            half_a: twiddle::scaled_quarter_wave(nx, 0.5),
            b: twiddle::scaled_quarter_wave(ny, 1.0),
        })
    }

    /// Computes `output = DCT2(input)`, both `nx × ny` values.
    ///
    /// # Errors
    /// When a slice has another length.
    pub fn run(&mut self, input: &[T], output: &mut [T]) -> Result<(), LengthError> {
        let (nx, ny) = (self.fft.nx, self.fft.ny);
        check_length("input", nx * ny, input.len())?;
        check_length("output", nx * ny, output.len())?;
        let mut spectrum = std::mem::take(&mut self.fft.between);
        self.fft.rows(
            &mut spectrum,
            #[inline(always)]
            |p, row| {
                let from = &input[permutation::sample(p, nx) * ny..][..ny];
                match self.reorder {
                    Reorder::Gather => permutation::gather(from, row),
                    _ => permutation::reorder(from, row),
                }
            },
        );
        self.columns_out(&spectrum, output);
        self.fft.between = spectrum;
        Ok(())
    }

    /// Complex FFTs of all columns and post-processing, a panel at a time.
    fn columns_out(&self, spectrum: &[Complex<T>], output: &mut [T]) {
        let (nx, ny, half) = (self.fft.nx, self.fft.ny, self.fft.ny / 2 + 1);
        let out = SharedMatrix::new(output, ny);
        parallel::each(half.div_ceil(W), &|p| {
            let (first, width) = (p * W, W.min(half - p * W));
            let end = (first + width).min(ny.div_ceil(2));
            let mirrored = first.max(1).min(end)..end;
            let far = ny + 1 - mirrored.end..ny + 1 - mirrored.start;
            // SAFETY: panels share neither columns nor mirrors of them, and each is one task.
            let [near, far] =
                [first..first + width, far].map(|columns| unsafe { out.block(0..nx, columns) });
            let mut columns = Columns { first, mirrored, near, far };
            self.fft.scratch.with(|s| {
                for (u, row) in spectrum.chunks_exact(half).enumerate() {
                    self.fft.bring(&row[first..][..width], half, u, &mut s.panel);
                }
                self.fft.run(&self.fft.fft, width, s);
                vectorised(
                    #[inline(always)]
                    || match self.post {
                        PostProcessing::Naive => self.naive(&s.panel, &mut columns),
                        PostProcessing::Efficient => self.efficient(&s.panel, &mut columns),
                    },
                );
            });
        });
    }

    /// Four real coefficients from two complex ones, for every pair of rows.
    #[inline(always)]
    fn efficient(&self, panel: &[Complex<T>], columns: &mut Columns<'_, T>) {
        let (nx, stride) = (self.fft.nx, self.fft.stride);
        let mut b = [Complex::default(); W];
        b.iter_mut().zip(&self.b[columns.first..]).for_each(|(to, &b)| *to = b);
        for u in 0..=nx / 2 {
            let (a, mirror) = (self.half_a[u], (nx - u) % nx);
            let (mut s, mut t) = ([Complex::default(); W], [Complex::default(); W]);
            for w in 0..W {
                let (p, q) = (a * panel[w * stride + u], a.conj() * panel[w * stride + mirror]);
                (s[w], t[w]) = (b[w] * (p + q), b[w] * (p - q));
            }
            columns.write(u, s.map(|s| s.re), s.map(|s| -s.im));
            if mirror > u {
                columns.write(mirror, t.map(|t| -t.im), t.map(|t| -t.re));
            }
        }
    }

    /// One coefficient at a time, two complex numbers read for each (Jiang et al., Table "Comparison
    /// of the naive method and our efficient method").
    #[inline(always)]
    fn naive(&self, panel: &[Complex<T>], columns: &mut Columns<'_, T>) {
        let (nx, ny, stride) = (self.fft.nx, self.fft.ny, self.fft.stride);
        let first = columns.first;
        for u in 0..nx {
            let (a, mirror) = (self.half_a[u], (nx - u) % nx);
            for (w, near) in columns.near.row(u).iter_mut().enumerate() {
                let (p, q) = (panel[w * stride + u], panel[w * stride + mirror]);
                *near = (self.b[first + w] * (a * p + a.conj() * q)).re;
            }
            let mirrored = columns.mirrored.clone();
            for (v, far) in mirrored.zip(columns.far.row(u).iter_mut().rev()) {
                // V[u][ny − v] is the conjugate of V[nx − u][v].
                let w = v - first;
                let (p, q) = (panel[w * stride + mirror].conj(), panel[w * stride + u].conj());
                *far = (self.b[ny - v] * (a * p + a.conj() * q)).re;
            }
        }
    }
}

impl<T: Real> Columns<'_, T> {
    /// Writes a row's coefficients of all columns and of their mirrors.
    #[inline(always)]
    fn write(&mut self, u: usize, near: [T; W], far: [T; W]) {
        self.near.row(u).iter_mut().zip(near).for_each(|(to, v)| *to = v);
        let far = &far[self.mirrored.start - self.first..];
        self.far.row(u).iter_mut().rev().zip(far).for_each(|(to, &v)| *to = v);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::TAU;

    #[test]
    fn transforms_match_the_dft_and_invert() {
        for (nx, ny) in [(1, 1), (5, 3), (4, 6), (3, 70), (40, 2)] {
            let x: Vec<f64> = (0..nx * ny).map(|k| ((k * 37) % 11) as f64 - 4.0).collect();
            let half = ny / 2 + 1;
            let mut fft = Fft2d::new(nx, ny).unwrap();
            let mut spectrum = vec![Complex::new(0.0, 0.0); nx * half];
            fft.forward(&x, &mut spectrum);
            for (at, got) in spectrum.iter().enumerate() {
                let turns = |k: usize| {
                    (at / half * (k / ny)) as f64 / nx as f64
                        + (at % half * (k % ny)) as f64 / ny as f64
                };
                let terms = x.iter().enumerate();
                let want: Complex<f64> =
                    terms.map(|(k, &x)| Complex::from_polar(x, -TAU * turns(k))).sum();
                assert!((got - want).norm() < 1e-10, "{nx} x {ny}, {at}: {got} {want}");
            }
            let mut back = vec![0.0; x.len()];
            fft.inverse(&spectrum, &mut back);
            for (back, x) in back.iter().zip(&x) {
                assert!((back / (nx * ny) as f64 - x).abs() < 1e-12, "{nx} x {ny}");
            }
        }
    }
}
