//! The 2-D real FFT of a map, alone: the reference that the fused transforms are measured against.
//!
//! The passes are those of the fused transforms without pre- and post-processing: real FFTs along y
//! of every row, then complex FFTs along x of panels of columns, each panel brought into cache,
//! transformed and written back. Spectra are `[nx][ny/2 + 1]`; nothing is normalised.

use super::matrix::{AHEAD, SharedMatrix, prefetch};
use crate::memory::filled;
use crate::parallel::{self, PerThread, chunks, chunks_mut};
use crate::real::Real;
use crate::transform::fft::{ComplexFft, RealFft};
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
    /// The spectrum between the passes of an inverse.
    columns_done: Vec<Complex<T>>,
    scratch: PerThread<PanelScratch<T>>,
}

struct PanelScratch<T> {
    row: Vec<T>,
    half_row: Vec<Complex<T>>,
    panel: Vec<Complex<T>>,
    fft: Vec<Complex<T>>,
}

impl<T: Real> Fft2d<T> {
    /// Plans for a pool of `threads` threads.
    pub fn new(nx: usize, ny: usize, threads: usize) -> Self {
        let (rows, [fft, ifft]) = (RealFft::new(ny), ComplexFft::both(nx));
        let longest = rows.scratch_len().max(fft.scratch_len()).max(ifft.scratch_len());
        let stride = nx + 64 / size_of::<Complex<T>>();
        let zeros = |n: usize| filled(n, Complex::<T>::default());
        Fft2d {
            nx,
            ny,
            stride,
            columns_done: zeros(nx * (ny / 2 + 1)),
            scratch: PerThread::new(threads, || PanelScratch {
                row: vec![T::zero(); ny],
                half_row: zeros(ny / 2 + 1),
                panel: zeros(W * stride),
                fft: zeros(longest),
            }),
            rows,
            fft,
            ifft,
        }
    }

    /// Computes `spectrum` = FFT of `x`.
    ///
    /// # Panics
    /// When a slice is not of the planned size.
    pub fn forward(&self, x: &[T], spectrum: &mut [Complex<T>]) {
        let half = self.ny / 2 + 1;
        assert_eq!((x.len(), spectrum.len()), (self.nx * self.ny, self.nx * half));
        let rows = (chunks_mut(spectrum, half), chunks(x, self.ny));
        parallel::for_each(rows, |_, (to, from)| {
            self.scratch.with(|s| {
                s.row.copy_from_slice(from);
                self.rows.forward(&mut s.row, to, &mut s.fft);
            });
        });
        self.panels(&self.fft, None, spectrum);
    }

    /// Computes `x` = inverse FFT of `spectrum`, which is not changed.
    ///
    /// # Panics
    /// When a slice is not of the planned size.
    pub fn inverse(&mut self, spectrum: &[Complex<T>], x: &mut [T]) {
        let half = self.ny / 2 + 1;
        assert_eq!((x.len(), spectrum.len()), (self.nx * self.ny, self.nx * half));
        let mut columns_done = std::mem::take(&mut self.columns_done);
        self.panels(&self.ifft, Some(spectrum), &mut columns_done);
        let rows = (chunks_mut(x, self.ny), chunks(&columns_done, half));
        parallel::for_each(rows, |_, (to, from)| {
            self.scratch.with(|s| {
                s.half_row.copy_from_slice(from);
                self.rows.inverse(&mut s.half_row, to, &mut s.fft);
            });
        });
        self.columns_done = columns_done;
    }

    /// Complex FFTs of all columns, from `source` into `matrix`, or in place.
    fn panels(
        &self,
        fft: &ComplexFft<T>,
        source: Option<&[Complex<T>]>,
        matrix: &mut [Complex<T>],
    ) {
        let (nx, half, stride) = (self.nx, self.ny / 2 + 1, self.stride);
        let matrix = SharedMatrix::new(matrix, half);
        parallel::each(half.div_ceil(W), &|p| {
            let first = p * W;
            let width = W.min(half - first);
            // SAFETY: panels share no columns, and each is one task.
            let mut panel = unsafe { matrix.block(0..nx, first..first + width) };
            self.scratch.with(|s| {
                for u in 0..nx {
                    let row = match source {
                        Some(source) => {
                            let row = source[u * half + first..].as_ptr();
                            prefetch(row.wrapping_add(AHEAD * half), width);
                            &source[u * half + first..][..width]
                        }
                        None => {
                            panel.prefetch(u + AHEAD);
                            &*panel.row(u)
                        }
                    };
                    for (w, &value) in row.iter().enumerate() {
                        s.panel[w * stride + u] = value;
                    }
                }
                for column in s.panel.chunks_exact_mut(stride).take(width) {
                    fft.run(&mut column[..nx], &mut s.fft);
                }
                for u in 0..nx {
                    for (w, value) in panel.row(u).iter_mut().enumerate() {
                        *value = s.panel[w * stride + u];
                    }
                }
            });
        });
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
            let mut fft = Fft2d::new(nx, ny, 1);
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
