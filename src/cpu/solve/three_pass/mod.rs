//! The three-pass pipeline: the four transforms of a solve fused with each other in three passes
//! over memory (derived in [`crate::spectral`]). [`Axis`] has the transforms of lines.
//!
//! 1. Along x: DCT of ρ. 1 value read, 1 written per bin.
//! 2. Along y: DCT, Green's function, and from that both `P = IDCT_y(âG)` and
//!    `Q = IDXST_y(âG·w_y)` while the lines are in cache. 1 value read, 2 written.
//! 3. Along x: `φ = IDCT_x(P)`, `Ex = IDXST_x(w_x·P)` and `Ey = IDCT_x(Q)` (w_x is constant
//!    along y, so it commutes with the transform along y). 2 values read, 3 written.
//!
//! The energy Σ φ·ρ is Σ ε_u ε_v G·X² over the spectrum X of ρ, ε₀ = ½ and 1 elsewhere (Parseval).
//!
//! # Layout of lines
//! A task works on a tile of pairs of lines, one pair to each lane of the widest vectors
//! ([`LaneFft`](crate::cpu::fft::LaneFft)). Along x the lines of a tile are neighbouring columns of
//! the map: a row of the tile is a piece of a row of the map, and no transposition is needed.
//! Between the passes the map lies in *panels*, each the rows of one such tile; a tile of pass 2
//! takes a square block of every panel, which is transposed on its way.
//!
//! Lines of equal kind share an FFT: φ with φ, Ex with Ex, Ey with Ey. Both halves of a complex FFT
//! have the same rounding, and φ is up to N/π times as large as E. Line u = 0 of pass 2 is
//! transformed separately, because its longest wave can be much larger than those of other lines.
//! The other pairs are (1, 2), (3, 4), …

mod write;

use super::fields::FieldSlices;
use super::multipliers::Multipliers;
use crate::cpu::matrix::{AHEAD, SharedMatrix, prefetch};
use crate::cpu::simd::{Row, dispatch, vectorised};
use crate::cpu::transforms::axis::{Axis, AxisGreen};
use crate::memory::filled;
use crate::parallel::{self, PerThread, chunks_mut, each_mut};
use crate::real::Real;
use crate::transform::fft::Ways;
use crate::transform::line::{Line, Wave};
use crate::transform::permutation;
use num_complex::Complex;
use std::ops::Range;
use write::Write;

/// Least bytes of a map for which pass 3 bypasses the caches when it writes. Cache lines are then
/// not read before they are written, and other data remains in the caches. With 16 threads a solve
/// of 2048² bins went from 8.8 to 6.7 ms in f64 and from 4.3 to 3.6 in f32, of 4096² from 37 to 30
/// and from 18 to 15. With one thread a solve of 1024² in f32 went from 6.2 to 5.3.
const STREAMED: usize = 4 << 20;

/// How many panels ahead pass 2 fetches its blocks, which are whole cache lines one after the
/// other: by that it takes 4.4 instead of 5.1 ms at 1024² in f64 with one thread.
const PANELS_AHEAD: usize = 2;

/// Plans, tables and buffers for one map size.
pub(crate) struct ThreePass<T: Real> {
    along_x: Axis<T>,
    along_y: Axis<T>,
    /// The line u = 0.
    first: FirstLine<T>,
    /// Rows of a panel: nx, and as many more as make whole blocks of rows 1 … nx − 1. Those are
    /// zero before pass 2.
    panel: usize,
    /// P and Q, by panel. P first holds the DCT of ρ along x.
    p: Vec<Row<T>>,
    q: Vec<Row<T>>,
    /// Σ G·X² of every tile of pass 2.
    energy: Vec<f64>,
    scratch: PerThread<Scratch<T>>,
}

struct Scratch<T: Real> {
    tiles: [Vec<Row<T>>; 2],
    fft: Vec<Row<T>>,
}

struct FirstLine<T: Real> {
    line: Line<T>,
    coefficients: Vec<T>,
    out: Vec<T>,
    scratch: Vec<Complex<T>>,
}

impl<T: Real> ThreePass<T> {
    pub(crate) fn new(nx: usize, ny: usize, threads: usize) -> Self {
        let (along_x, along_y) = (Axis::new(nx), Axis::new(ny));
        let panel = 1 + (nx - 1).next_multiple_of(2 * T::LANES);
        let panels = || filled(ny.div_ceil(2 * T::LANES) * panel, T::ROW);
        let longest = along_x.fft.scratch_len().max(along_y.fft.scratch_len());
        let line = Line::new(ny, Ways::Both);
        ThreePass {
            first: FirstLine {
                coefficients: vec![T::zero(); ny],
                out: vec![T::zero(); ny],
                scratch: vec![Complex::default(); line.scratch_len()],
                line,
            },
            panel,
            p: panels(),
            q: panels(),
            energy: vec![0.0; (panel - 1) / (2 * T::LANES)],
            scratch: PerThread::new(threads, || Scratch {
                tiles: [filled(nx.max(ny), T::ROW), filled(ny, T::ROW)],
                fft: filled(longest, T::ROW),
            }),
            along_x,
            along_y,
        }
    }

    /// Returns the columns of bins of panel `p`.
    fn columns(&self, p: usize) -> Range<usize> {
        2 * T::LANES * p..self.along_y.n.min(2 * T::LANES * (p + 1))
    }

    /// Pass 1: DCTs along x, a panel at a time.
    pub(crate) fn forward(&mut self, rho: &[T]) {
        let ny = self.along_y.n;
        let mut p = std::mem::take(&mut self.p);
        parallel::for_each(chunks_mut(&mut p, self.panel), |i, panel| {
            let (axis, columns) = (&self.along_x, self.columns(i));
            let (tile, beyond) = panel.split_at_mut(axis.n);
            // Pass 2 has left the rounding of the lines that these were packed with.
            beyond.fill(T::ROW);
            for (x, &at) in axis.of_sample.iter().enumerate() {
                let from = &rho[x * ny..][columns.clone()];
                prefetch(from.as_ptr().wrapping_add(AHEAD * ny), from.len());
                let row = tile[at as usize].numbers_mut();
                if from.len() == row.len() {
                    row.copy_from_slice(from);
                } else {
                    row[..from.len()].copy_from_slice(from);
                    row[from.len()..].fill(T::zero());
                }
            }
            self.scratch.with(|s| axis.dct(tile, None, &mut s.fft));
        });
        self.p = p;
    }

    /// Runs passes 2 and 3; returns Σ φ·ρ.
    pub(crate) fn inverse(&mut self, by: &Multipliers<T>, fields: FieldSlices<'_, T>) -> f64 {
        let energy = self.along_y(by);
        self.last(by, fields);
        energy
    }

    /// Pass 2: lines along y.
    fn along_y(&mut self, by: &Multipliers<T>) -> f64 {
        let (nx, block) = (self.along_x.n, 2 * T::LANES);
        let (panel, axis, scratch) = (self.panel, &self.along_y, &self.scratch);
        let [p, q] = [&mut self.p, &mut self.q].map(|to| SharedMatrix::new(to, panel));
        let (first, energy) = (&mut self.first, &mut self.energy);
        let blocks = || {
            parallel::for_each(each_mut(energy), |b, energy| {
                // Lines u = 1 + b·block …, which lie in as many rows of every panel.
                let lines = 1 + b * block..1 + (b + 1) * block;
                let mut across = T::ROW;
                for (j, u) in lines.clone().enumerate() {
                    // Lines that are not there are zero: any wavenumber but zero will do.
                    let at = j % 2 * T::LANES + j / 2;
                    across.numbers_mut()[at] = by.wx_squared[if u < nx { u } else { 1 }];
                }
                scratch.with(|s| {
                    let [work, lines_y] = &mut s.tiles;
                    let (work, lines_y) = (&mut work[..axis.n], &mut lines_y[..axis.n]);
                    let samples = axis.of_sample.chunks(block);
                    for (i, samples) in samples.enumerate() {
                        // SAFETY: tasks have different lines, and line 0 is in none of them.
                        let mut from = unsafe { p.block(i..i + 1, lines.clone()) };
                        from.prefetch(PANELS_AHEAD);
                        vectorised(
                            #[inline(always)]
                            || bring(from.row(0), samples, lines_y),
                        );
                    }
                    let (along, normalisation) = (&by.wy_squared[..], by.normalisation);
                    let green = AxisGreen { across: &across, along, normalisation };
                    *energy = axis.dct(lines_y, Some(green), &mut s.fft);
                    let waves = [(Wave::Cosine, None), (Wave::Sine, Some(&by.wy[..]))];
                    for (to, (wave, scale)) in [&p, &q].into_iter().zip(waves) {
                        axis.inverse(lines_y, wave, scale, work, &mut s.fft);
                        for (i, first) in (0..axis.n).step_by(block).enumerate() {
                            // SAFETY: as above, where this task's blocks are no longer in use.
                            let mut to = unsafe { to.block(i..i + 1, lines.clone()) };
                            to.prefetch(PANELS_AHEAD);
                            let sine = wave == Wave::Sine;
                            vectorised(
                                #[inline(always)]
                                || put(work, first, sine, to.row(0)),
                            );
                        }
                    }
                });
            });
        };
        let alone = || {
            for (i, to) in first.coefficients.chunks_mut(block).enumerate() {
                // SAFETY: no other task uses line 0.
                let mut from = unsafe { p.block(i..i + 1, 0..1) };
                to.copy_from_slice(&from.row(0)[0].numbers()[..to.len()]);
            }
            first.transform(by, |wave, line| {
                for (i, line) in line.chunks(block).enumerate() {
                    let to = if wave == Wave::Cosine { &p } else { &q };
                    // SAFETY: as above.
                    let mut to = unsafe { to.block(i..i + 1, 0..1) };
                    to.row(0)[0].numbers_mut()[..line.len()].copy_from_slice(line);
                }
            })
        };
        let (of_first, ()) = rayon::join(alone, blocks);
        of_first + self.energy.iter().sum::<f64>()
    }

    /// Pass 3: inverses along x, a panel at a time.
    fn last(&self, by: &Multipliers<T>, fields: FieldSlices<'_, T>) {
        let (nx, ny) = (self.along_x.n, self.along_y.n);
        let FieldSlices { potential, field_x, field_y } = fields;
        let [potential, field_x, field_y] =
            [potential, field_x, field_y].map(|map| SharedMatrix::new(map, ny));
        let axis = &self.along_x;
        let streamed = nx * ny * size_of::<T>() >= STREAMED;
        parallel::each(self.p.len() / self.panel, &|i| {
            let columns = self.columns(i);
            self.scratch.with(|s| {
                let work = &mut s.tiles[0][..axis.n];
                let [p, q] = [&self.p, &self.q].map(|map| &map[i * self.panel..][..axis.n]);
                let inverses = [
                    (p, Wave::Cosine, None, &potential),
                    (p, Wave::Sine, Some(&by.wx[..]), &field_x),
                    (q, Wave::Cosine, None, &field_y),
                ];
                for (from, wave, scale, to) in inverses {
                    axis.inverse(from, wave, scale, work, &mut s.fft);
                    // SAFETY: panels share no columns, and each is one task.
                    let mut to = unsafe { to.block(0..axis.n, columns.clone()) };
                    let sine = wave == Wave::Sine;
                    dispatch(Write { tile: &*work, sine, streamed, to: &mut to });
                }
            });
        });
    }
}

impl<T: Real> FirstLine<T> {
    /// [`ThreePass::along_y`] of the line u = 0: P and Q are passed to `write`. Returns its energy.
    fn transform(&mut self, by: &Multipliers<T>, mut write: impl FnMut(Wave, &[T])) -> f64 {
        let FirstLine { line, coefficients, out, scratch } = self;
        line.forward(coefficients, out, scratch, |_, value| value);
        let mut energy = 0.0;
        for (v, (scaled, &value)) in coefficients.iter_mut().zip(&*out).enumerate() {
            *scaled = value * by.green_of_first(v);
            energy += 0.5 * scaled.widen() * value.widen();
        }
        line.inverse(Wave::Cosine, |v| coefficients[v], out, scratch);
        write(Wave::Cosine, out);
        line.inverse(Wave::Sine, |v| coefficients[v] * by.wy[v], out, scratch);
        write(Wave::Sine, out);
        energy
    }
}

/// Brings a block of a panel into the tile of its lines: number y of line j goes to row
/// `samples[y]`, to the real part of lane j/2 for even j and to its imaginary part for odd.
#[inline(always)]
fn bring<T: Real>(block: &[Row<T>], samples: &[u32], tile: &mut [Row<T>]) {
    for first in (0..samples.len()).step_by(4) {
        let count = samples.len().min(first + 4) - first;
        for part in 0..2 {
            for lane in (0..T::LANES).step_by(4) {
                let mut square = [[T::zero(); 4]; 4];
                for (l, numbers) in square.iter_mut().enumerate() {
                    let line = block[2 * (lane + l) + part].numbers();
                    numbers.copy_from_slice(&line[first..first + 4]);
                }
                let turned = T::transposed(square);
                for (y, numbers) in turned.iter().enumerate().take(count) {
                    let row = tile[samples[first + y] as usize].numbers_mut();
                    row[part * T::LANES + lane..][..4].copy_from_slice(numbers);
                }
            }
        }
    }
}

/// The way back from the tile of an inverse, whose lines start at sample `first` in this block;
/// odd samples are negated when `sine`.
#[inline(always)]
fn put<T: Real>(tile: &[Row<T>], first: usize, sine: bool, block: &mut [Row<T>]) {
    let n = tile.len();
    let odd = if sine { -T::one() } else { T::one() };
    for start in (0..2 * T::LANES.min((n - first).div_ceil(2))).step_by(4) {
        // Beyond the last sample a block has room, which is never read.
        let row = |y: usize| &tile[permutation::position((first + start + y).min(n - 1), n)];
        let rows = [row(0), row(1), row(2), row(3)];
        for part in 0..2 {
            for lane in (0..T::LANES).step_by(4) {
                // Real and imaginary parts come out exchanged.
                let at = (1 - part) * T::LANES + lane;
                let mut square = [[T::zero(); 4]; 4];
                for (numbers, row) in square.iter_mut().zip(rows) {
                    numbers.copy_from_slice(&row.numbers()[at..at + 4]);
                }
                square[1].iter_mut().for_each(|v| *v *= odd);
                square[3].iter_mut().for_each(|v| *v *= odd);
                let turned = T::transposed(square);
                for (l, numbers) in turned.iter().enumerate() {
                    let line = block[2 * (lane + l) + part].numbers_mut();
                    line[start..start + 4].copy_from_slice(numbers);
                }
            }
        }
    }
}
