//! The three-pass pipeline: the four transforms of a solve fused across one
//! another, three passes over memory for all of it (derived in
//! [`crate::spectral`]).
//!
//! With `z = p + jq` two real lines packed as one complex line, `V` the FFT of
//! z reordered and `w = e^{−jπk/2N}`,
//!
//! ```text
//! DCT(p) + jDCT(q)   = ½(w·V[k] + w̄·V[N−k])                     V[N] = V[0]
//! IDCT(p) + jIDCT(q) = unnormalised IFFT of ½w̄(z[k] − j·z[N−k])  z[N] := 0, reordering undone
//! ```
//!
//! so a pair of lines needs no unpacking and every N ≥ 1 works the same way.
//! The IDXST is the IDCT of the reversed line with odd samples negated.
//!
//! 1. Rows of ρ in pairs: DCT along y. 1 value read, 1 written per bin.
//! 2. Columns in pairs: DCT along x, Green's function, and from that both
//!    `P = IDCT_x(âG)` and `Q = IDXST_x(âG·w_x)` while the column is in cache.
//!    1 value read, 2 written.
//! 3. Rows in pairs: `φ = IDCT_y(P)`, `Ex = IDCT_y(Q)` and `Ey = IDXST_y(w_y·P)`
//!    (w_y is constant down a column, so it commutes with the transform along
//!    x). 2 values read, 3 written, and ρ once more for the energy.
//!
//! Intermediates lie with the next pass's lines contiguous: a task works on a
//! tile of `W` pairs and writes it transposed, `W` complex numbers at a time.
//!
//! Like is packed with like, for the rounding of one half of a complex FFT is
//! that of the other, and φ is up to N/π times as large as E: φ with φ, Ex
//! with Ex, Ey with Ey. Column v = 0, whose longest wave can dwarf every other
//! column's, is paired with a column of zeros put before it, so that the pairs
//! are (zeros, 0), (1, 2), (3, 4), …

mod lines;

use super::fields::Fields;
use super::multipliers::Multipliers;
use crate::cpu::matrix::{AHEAD, SharedMatrix};
use crate::cpu::parallel::{PerThread, dot};
use crate::cpu::simd::vectorised;
use crate::grid::Map;
use crate::memory::{filled, reals};
use crate::real::Real;
use crate::transform::fft::ComplexFft;
use crate::transform::{permutation, twiddle};
use lines::{dct_from_fft, inverse_pair, pack, spread, unpack};
use num_complex::Complex;
use rayon::prelude::*;

/// Pairs of lines in a tile: 128 to 256 bytes of a transposed write.
const W: usize = 16;

/// Plans, tables and buffers for one map size.
pub(crate) struct ThreePass<T: Real> {
    along_x: PairedLines<T>,
    along_y: PairedLines<T>,
    /// DCT along y of ρ, `[1 + ny][pairs of rows]`; the first row stays zero.
    rows: Vec<Complex<T>>,
    /// P and Q, `[nx][pairs of columns]`: coefficient v is the real number 1 + v of a row.
    p: Vec<Complex<T>>,
    q: Vec<Complex<T>>,
}

/// Lines of one length, in pairs.
struct PairedLines<T: Real> {
    n: usize,
    fft: ComplexFft<T>,
    ifft: ComplexFft<T>,
    /// `½e^{−jπk/2n}`, k = 0 … n/2.
    half_w: Vec<Complex<T>>,
    scratch: PerThread<PairScratch<T>>,
}

struct PairScratch<T> {
    /// One pair of lines.
    line: Vec<Complex<T>>,
    /// Two tiles of pairs, `stride` apart.
    tiles: [Vec<Complex<T>>; 2],
    stride: usize,
    fft: Vec<Complex<T>>,
}

impl<T: Real> PairedLines<T> {
    fn new(n: usize, threads: usize) -> Self {
        let [fft, ifft] = ComplexFft::both(n);
        let scratch = fft.scratch_len().max(ifft.scratch_len());
        // A cache line more than n, so that at powers of two the lines of a
        // tile do not all fall into one set of the cache.
        let stride = n + 64 / size_of::<Complex<T>>();
        let zeros = |n: usize| filled(n, Complex::<T>::default());
        PairedLines {
            n,
            half_w: twiddle::scaled_quarter_wave(n, 0.5),
            scratch: PerThread::new(threads, || PairScratch {
                line: zeros(n),
                tiles: [zeros(W * stride), zeros(W * stride)],
                stride,
                fft: zeros(scratch),
            }),
            fft,
            ifft,
        }
    }

    /// Number of pairs the lines come in.
    fn pairs(lines: usize) -> usize {
        lines.div_ceil(2)
    }
}

impl<T: Real> ThreePass<T> {
    pub(crate) fn new(nx: usize, ny: usize, threads: usize) -> Self {
        let zeros = |n: usize| filled(n, Complex::<T>::default());
        ThreePass {
            along_x: PairedLines::new(nx, threads),
            along_y: PairedLines::new(ny, threads),
            rows: zeros((1 + ny) * PairedLines::<T>::pairs(nx)),
            p: zeros(nx * PairedLines::<T>::pairs(1 + ny)),
            q: zeros(nx * PairedLines::<T>::pairs(1 + ny)),
        }
    }

    /// Pass 1: rows in pairs. The spectrum itself only ever exists a column at a
    /// time, in pass 2.
    pub(crate) fn forward(&mut self, rho: &Map<T>) {
        let (nx, ny) = (self.along_x.n, self.along_y.n);
        let pairs = PairedLines::<T>::pairs(nx);
        let out = SharedMatrix::new(&mut self.rows, pairs);
        let axis = &self.along_y;
        rho.as_slice().par_chunks(2 * W * ny).enumerate().for_each(|(t, rows)| {
            axis.scratch.with(|s| {
                let stride = s.stride;
                let [tile, _] = &mut s.tiles;
                for (pair, to) in rows.chunks(2 * ny).zip(tile.chunks_exact_mut(stride)) {
                    let (first, second) = pair.split_at(ny);
                    vectorised(
                        #[inline(always)]
                        || pack(first, second, &mut s.line),
                    );
                    axis.fft.run(&mut s.line, &mut s.fft);
                    vectorised(
                        #[inline(always)]
                        || dct_from_fft(&axis.half_w, &s.line, to),
                    );
                }
                let width = PairedLines::<T>::pairs(rows.len() / ny);
                // SAFETY: tiles share no pairs of rows, and each is one task.
                let mut out = unsafe { out.block(1..1 + ny, t * W..t * W + width) };
                vectorised(
                    #[inline(always)]
                    || {
                        for v in 0..ny {
                            out.prefetch(v + AHEAD);
                            gather(out.row(v), tile, stride, v);
                        }
                    },
                );
            });
        });
    }

    /// Passes 2 and 3. `row_energy` takes Σ φ·ρ of every row of bins.
    pub(crate) fn inverse(
        &mut self,
        by: &Multipliers<T>,
        rho: &Map<T>,
        fields: &mut Fields<T>,
        row_energy: &mut [f64],
    ) {
        self.columns(by);
        self.last(by, rho, fields, row_energy);
    }

    /// Pass 2: columns in pairs.
    fn columns(&mut self, by: &Multipliers<T>) {
        let (nx, ny) = (self.along_x.n, self.along_y.n);
        let (row_pairs, pairs) = (PairedLines::<T>::pairs(nx), PairedLines::<T>::pairs(1 + ny));
        let [p, q] = [&mut self.p, &mut self.q].map(|to| SharedMatrix::new(to, pairs));
        let axis = &self.along_x;
        self.rows.par_chunks(2 * W * row_pairs).enumerate().for_each(|(t, columns)| {
            axis.scratch.with(|s| {
                let stride = s.stride;
                let [tile_p, tile_q] = &mut s.tiles;
                let tiles = tile_p.chunks_exact_mut(stride).zip(tile_q.chunks_exact_mut(stride));
                for (w, (pair, (to_p, to_q))) in
                    columns.chunks(2 * row_pairs).zip(tiles).enumerate()
                {
                    // The columns before and at this index; before the first stand zeros.
                    let v = 2 * (t * W + w);
                    let (first, second) = pair.split_at(row_pairs);
                    let (first, second) = (&reals(first)[..nx], reals(second));
                    let second = &second[..nx.min(second.len())];
                    vectorised(
                        #[inline(always)]
                        || pack(first, second, &mut s.line),
                    );
                    axis.fft.run(&mut s.line, &mut s.fft);
                    vectorised(
                        #[inline(always)]
                        || {
                            let pair = [v.saturating_sub(1), v.min(ny - 1)];
                            spread(&axis.half_w, by, pair, &s.line, to_p, to_q)
                        },
                    );
                    axis.ifft.run(&mut to_p[..nx], &mut s.fft);
                    axis.ifft.run(&mut to_q[..nx], &mut s.fft);
                }
                let width = PairedLines::<T>::pairs(columns.len() / row_pairs);
                let range = t * W..t * W + width;
                // SAFETY: tiles share no pairs of columns, and each is one task.
                let (mut p, mut q) =
                    unsafe { (p.block(0..nx, range.clone()), q.block(0..nx, range)) };
                vectorised(
                    #[inline(always)]
                    || {
                        for x in 0..nx {
                            let at = permutation::position(x, nx);
                            p.prefetch(x + AHEAD);
                            q.prefetch(x + AHEAD);
                            gather(p.row(x), tile_p, stride, at);
                            let to_q = q.row(x);
                            gather(to_q, tile_q, stride, at);
                            if !x.is_multiple_of(2) {
                                to_q.iter_mut().for_each(|z| *z = -*z);
                            }
                        }
                    },
                );
            });
        });
    }

    /// Pass 3: rows, two at a time.
    fn last(
        &self,
        by: &Multipliers<T>,
        rho: &Map<T>,
        fields: &mut Fields<T>,
        row_energy: &mut [f64],
    ) {
        let ny = self.along_y.n;
        let pairs = PairedLines::<T>::pairs(1 + ny);
        let axis = &self.along_y;
        let out = fields.potential.as_mut_slice().par_chunks_mut(2 * ny);
        let out = out.zip(fields.field_x.as_mut_slice().par_chunks_mut(2 * ny));
        let out = out.zip(fields.field_y.as_mut_slice().par_chunks_mut(2 * ny));
        let input = self.p.par_chunks(2 * pairs).zip(self.q.par_chunks(2 * pairs));
        let energy = row_energy.par_chunks_mut(2).zip(rho.as_slice().par_chunks(2 * ny));
        out.zip(input).zip(energy).for_each(|((((phi, ex), ey), (p, q)), (energy, rho))| {
            axis.scratch.with(|s| {
                self.rows_of::<false>(by, p, phi, s);
                self.rows_of::<false>(by, q, ex, s);
                self.rows_of::<true>(by, p, ey, s);
            });
            let rows = energy.iter_mut().zip(rho.chunks(ny).zip(phi.chunks(ny)));
            vectorised(
                #[inline(always)]
                || rows.for_each(|(energy, (rho, phi))| *energy = dot(rho, phi)),
            );
        });
    }

    /// IDCT along y of two rows, or IDXST of w_y times them.
    #[inline(always)]
    fn rows_of<const SINE: bool>(
        &self,
        by: &Multipliers<T>,
        coefficients: &[Complex<T>],
        out: &mut [T],
        s: &mut PairScratch<T>,
    ) {
        let axis = &self.along_y;
        let ny = axis.n;
        let (first, second) = coefficients.split_at(PairedLines::<T>::pairs(1 + ny));
        let first = &reals(first)[1..=ny];
        let second = reals(second).get(1..=ny).unwrap_or_default();
        vectorised(
            #[inline(always)]
            || inverse_pair::<SINE, T>(&axis.half_w, &by.wy, first, second, &mut s.line),
        );
        axis.ifft.run(&mut s.line, &mut s.fft);
        let (first, second) = out.split_at_mut(ny);
        vectorised(
            #[inline(always)]
            || unpack(&s.line, first, second, SINE),
        );
    }
}

/// `out[w] = tile[w][at]`.
#[inline(always)]
fn gather<T: Real>(out: &mut [Complex<T>], tile: &[Complex<T>], stride: usize, at: usize) {
    if out.len() == W {
        // The full width is known to the compiler: no loop.
        for w in 0..W {
            out[w] = tile[w * stride + at];
        }
    } else {
        out.iter_mut().enumerate().for_each(|(w, z)| *z = tile[w * stride + at]);
    }
}
