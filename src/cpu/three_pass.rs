//! The three-pass pipeline: the four transforms of a solve fused across one
//! another, three passes over memory for all of it (derived in
//! [`crate::three_pass`]).
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
//! 1. Rows of ρ in pairs: DCT along y. 1 word read, 1 written per bin.
//! 2. Columns in pairs: DCT along x, Green's function, and from that both
//!    `P = IDCT_x(âG)` and `Q = IDXST_x(âG·w_x)` while the column is in cache.
//!    1 word read, 2 written.
//! 3. Rows in pairs: `φ = IDCT_y(P)`, `Ex = IDCT_y(Q)` and `Ey = IDXST_y(w_y·P)`
//!    (w_y is constant down a column, so it commutes with the transform along
//!    x). 2 words read, 3 written, and ρ once more for the energy.
//!
//! Intermediates lie with the next pass's lines contiguous: a task works on a
//! tile of `W` pairs and writes it transposed, `W` complex numbers at a time.
//!
//! Like is packed with like, for the rounding of one half of a complex FFT is
//! that of the other, and φ is up to N/π times as large as E: φ with φ, Ex
//! with Ex, Ey with Ey. Column v = 0, whose longest wave can dwarf every other
//! column's, is paired with a column of zeros put before it, so that the pairs
//! are (zeros, 0), (1, 2), (3, 4), …

use super::shared::{AHEAD, ColumnPanels, PerThread, dot, vectorised};
use super::solve::{Fields, Green, Multipliers};
use crate::grid::Map;
use crate::memory::{filled, reals};
use crate::real::Real;
use crate::transform::{permutation, twiddle};
use num_complex::Complex;
use rayon::prelude::*;
use rustfft::{Fft, FftPlanner};
use std::sync::Arc;

/// Pairs of lines in a tile: 128 to 256 bytes of a transposed write.
const W: usize = 16;

/// Plans, tables and buffers for one map size.
pub(crate) struct ThreePass<T: Real> {
    along_x: Axis<T>,
    along_y: Axis<T>,
    /// DCT along y of ρ, `[1 + ny][pairs of rows]`; the first row stays zero.
    rows: Vec<Complex<T>>,
    /// P and Q, `[nx][pairs of columns]`: coefficient v is the real number 1 + v of a row.
    p: Vec<Complex<T>>,
    q: Vec<Complex<T>>,
}

/// Lines of one length, in pairs.
struct Axis<T: Real> {
    n: usize,
    fft: Arc<dyn Fft<T>>,
    ifft: Arc<dyn Fft<T>>,
    /// `½e^{−jπk/2n}`, k = 0 … n/2.
    half_w: Vec<Complex<T>>,
    scratch: PerThread<Scratch<T>>,
}

struct Scratch<T> {
    /// One pair of lines.
    line: Vec<Complex<T>>,
    /// Two tiles of pairs, `stride` apart.
    tiles: [Vec<Complex<T>>; 2],
    stride: usize,
    fft: Vec<Complex<T>>,
}

impl<T: Real> Axis<T> {
    fn new(n: usize, threads: usize) -> Self {
        let mut planner = FftPlanner::new();
        let (fft, ifft) = (planner.plan_fft_forward(n), planner.plan_fft_inverse(n));
        let scratch = fft.get_inplace_scratch_len().max(ifft.get_inplace_scratch_len());
        // A cache line more than n, so that at powers of two the lines of a
        // tile do not all fall into one set of the cache.
        let stride = n + 64 / size_of::<Complex<T>>();
        let zeros = |n: usize| filled(n, Complex::<T>::default());
        Axis {
            n,
            half_w: twiddle::scaled_quarter_wave(n, 0.5),
            scratch: PerThread::new(threads, || Scratch {
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
            along_x: Axis::new(nx, threads),
            along_y: Axis::new(ny, threads),
            rows: zeros((1 + ny) * Axis::<T>::pairs(nx)),
            p: zeros(nx * Axis::<T>::pairs(1 + ny)),
            q: zeros(nx * Axis::<T>::pairs(1 + ny)),
        }
    }

    /// Pass 1: rows in pairs. The spectrum itself only ever exists a column at a
    /// time, in pass 2.
    pub(crate) fn forward(&mut self, rho: &Map<T>) {
        let (nx, ny) = (self.along_x.n, self.along_y.n);
        let pairs = Axis::<T>::pairs(nx);
        let out = ColumnPanels::new(&mut self.rows, pairs);
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
                    axis.fft.process_with_scratch(&mut s.line, &mut s.fft);
                    vectorised(
                        #[inline(always)]
                        || dct_from_fft(&axis.half_w, &s.line, to),
                    );
                }
                let width = Axis::<T>::pairs(rows.len() / ny);
                vectorised(
                    #[inline(always)]
                    || {
                        for v in 0..ny {
                            out.prefetch(1 + v + AHEAD, t * W, width);
                            // SAFETY: tiles share no pairs of rows, and each is one task.
                            let segment = unsafe { out.segment(1 + v, t * W, width) };
                            gather(segment, tile, stride, v);
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
        let (row_pairs, pairs) = (Axis::<T>::pairs(nx), Axis::<T>::pairs(1 + ny));
        let p = ColumnPanels::new(&mut self.p, pairs);
        let q = ColumnPanels::new(&mut self.q, pairs);
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
                    axis.fft.process_with_scratch(&mut s.line, &mut s.fft);
                    vectorised(
                        #[inline(always)]
                        || {
                            let pair = [v.saturating_sub(1), v.min(ny - 1)];
                            spread(&axis.half_w, by, pair, &s.line, to_p, to_q)
                        },
                    );
                    axis.ifft.process_with_scratch(&mut to_p[..nx], &mut s.fft);
                    axis.ifft.process_with_scratch(&mut to_q[..nx], &mut s.fft);
                }
                let width = Axis::<T>::pairs(columns.len() / row_pairs);
                vectorised(
                    #[inline(always)]
                    || {
                        for x in 0..nx {
                            let at = permutation::position(x, nx);
                            p.prefetch(x + AHEAD, t * W, width);
                            q.prefetch(x + AHEAD, t * W, width);
                            // SAFETY: tiles share no pairs of columns, and each is one task.
                            let segment = unsafe { p.segment(x, t * W, width) };
                            gather(segment, tile_p, stride, at);
                            // SAFETY: as above.
                            let segment = unsafe { q.segment(x, t * W, width) };
                            gather(segment, tile_q, stride, at);
                            if !x.is_multiple_of(2) {
                                segment.iter_mut().for_each(|z| *z = -*z);
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
        let pairs = Axis::<T>::pairs(1 + ny);
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
        s: &mut Scratch<T>,
    ) {
        let axis = &self.along_y;
        let ny = axis.n;
        let (first, second) = coefficients.split_at(Axis::<T>::pairs(1 + ny));
        let first = &reals(first)[1..=ny];
        let second = reals(second).get(1..=ny).unwrap_or_default();
        vectorised(
            #[inline(always)]
            || inverse_pair::<SINE, T>(&axis.half_w, &by.wy, first, second, &mut s.line),
        );
        axis.ifft.process_with_scratch(&mut s.line, &mut s.fft);
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

/// `first + j·second`, reordered. A `second` that is not there counts as zero.
#[inline(always)]
fn pack<T: Real>(first: &[T], second: &[T], out: &mut [Complex<T>]) {
    let n = out.len();
    if second.is_empty() {
        for (i, &re) in first.iter().enumerate() {
            out[permutation::position(i, n)] = Complex::new(re, T::zero());
        }
        return;
    }
    let (evens, odds) = out.split_at_mut(n.div_ceil(2));
    let pairs = first.chunks_exact(2).zip(second.chunks_exact(2));
    let places = evens.iter_mut().zip(odds.iter_mut().rev());
    for ((a, b), (even, odd)) in pairs.zip(places) {
        *even = Complex::new(a[0], b[0]);
        *odd = Complex::new(a[1], b[1]);
    }
    if n % 2 == 1 {
        evens[n / 2] = Complex::new(first[n - 1], second[n - 1]);
    }
}

/// Undoes [`pack`]; odd samples are negated when `sine`.
#[inline(always)]
fn unpack<T: Real>(line: &[Complex<T>], first: &mut [T], second: &mut [T], sine: bool) {
    let n = first.len();
    if second.is_empty() {
        for (i, value) in first.iter_mut().enumerate() {
            let z = line[permutation::position(i, n)].re;
            *value = if sine && i % 2 == 1 { -z } else { z };
        }
        return;
    }
    let sign = if sine { -T::one() } else { T::one() };
    let (evens, odds) = line.split_at(n.div_ceil(2));
    let places = evens.iter().zip(odds.iter().rev());
    let pairs = first.chunks_exact_mut(2).zip(second.chunks_exact_mut(2));
    for ((a, b), (even, odd)) in pairs.zip(places) {
        a[0] = even.re;
        b[0] = even.im;
        a[1] = sign * odd.re;
        b[1] = sign * odd.im;
    }
    if n % 2 == 1 {
        first[n - 1] = evens[n / 2].re;
        second[n - 1] = evens[n / 2].im;
    }
}

/// The DCTs of two packed lines from their FFT.
#[inline(always)]
fn dct_from_fft<T: Real>(half_w: &[Complex<T>], fft: &[Complex<T>], out: &mut [Complex<T>]) {
    let n = fft.len();
    out[0] = fft[0];
    let (low, high) = out[1..n].split_at_mut((n - 1) / 2);
    let back = fft[1..].iter().rev();
    let terms = half_w[1..].iter().zip(&fft[1..]).zip(back).zip(low).zip(high.iter_mut().rev());
    for ((((&w, &near), &far), low), high) in terms {
        let (s, t) = (w * near, w.conj() * far);
        *low = s + t;
        // j(s − t): the coefficient at n − k.
        *high = Complex::new(t.im - s.im, s.re - t.re);
    }
    if n.is_multiple_of(2) {
        let h = n / 2;
        out[h] = fft[h].scale(half_w[h].re + half_w[h].re);
    }
}

/// Pass 2 between the FFTs: a pair of columns from the FFT of their packed
/// lines to the FFT inputs of P and of Q, through Green's function.
#[inline(always)]
fn spread<T: Real>(
    half_w: &[Complex<T>],
    by: &Multipliers<T>,
    [v, partner]: [usize; 2],
    fft: &[Complex<T>],
    p: &mut [Complex<T>],
    q: &mut [Complex<T>],
) {
    let n = fft.len();
    let green = Green(by);
    let half = T::of(0.5);
    p[0] = Complex::new(fft[0].re * green.at(0, v), fft[0].im * green.at(0, partner)).scale(half);
    q[0] = Complex::default();
    let (wy, wy_partner) = (by.wy_squared[v], by.wy_squared[partner]);
    let (p_low, p_high) = p[1..n].split_at_mut((n - 1) / 2);
    let (q_low, q_high) = q[1..n].split_at_mut((n - 1) / 2);
    let count = p_low.len();
    let (near, far) = (&fft[1..][..count], &fft[n - count..]);
    let (wx, wx_back) = (&by.wx[1..][..count], &by.wx[n - count..]);
    let (sq, sq_back) = (&by.wx_squared[1..][..count], &by.wx_squared[n - count..]);
    let half_w_low = &half_w[1..][..count];
    let (p_high, q_high) = (&mut p_high[n - 1 - 2 * count..], &mut q_high[n - 1 - 2 * count..]);
    for k in 0..count {
        let back = count - 1 - k;
        let w = half_w_low[k];
        let (s, t) = (w * near[k], w.conj() * far[back]);
        let low = s + t;
        let high = Complex::new(t.im - s.im, s.re - t.re);
        let g = |square: T, wy: T| by.normalisation / (square + wy);
        let low = Complex::new(low.re * g(sq[k], wy), low.im * g(sq[k], wy_partner));
        let high =
            Complex::new(high.re * g(sq_back[back], wy), high.im * g(sq_back[back], wy_partner));
        // ½w̄(z[k] − j·z[n−k]) and ½w(z[k] + j·z[n−k]).
        p_low[k] = w.conj() * Complex::new(low.re + high.im, low.im - high.re);
        p_high[back] = w * Complex::new(low.re - high.im, low.im + high.re);
        // The same of the reversed line.
        let (low, high) = (high.scale(wx_back[back]), low.scale(wx[k]));
        q_low[k] = w.conj() * Complex::new(low.re + high.im, low.im - high.re);
        q_high[back] = w * Complex::new(low.re - high.im, low.im + high.re);
    }
    if n.is_multiple_of(2) {
        // k = n/2 meets itself; cos(π/4) comes in once on each side.
        let h = n / 2;
        let quarter = half_w[h].re + half_w[h].re;
        let z = fft[h].scale(quarter * quarter);
        p[h] = Complex::new(z.re * green.at(h, v), z.im * green.at(h, partner));
        q[h] = p[h].scale(by.wx[h]);
    }
}

/// Pass 3 before the FFT: two rows' coefficients for IDCTs, or for IDXSTs of
/// `wy` times them. A `second` that is not there counts as zero.
#[inline(always)]
fn inverse_pair<const SINE: bool, T: Real>(
    half_w: &[Complex<T>],
    wy: &[T],
    first: &[T],
    second: &[T],
    out: &mut [Complex<T>],
) {
    let n = first.len();
    // Without a partner the row is its own: what comes of it is not kept.
    let second = if second.is_empty() { first } else { second };
    out[0] = if SINE { Complex::default() } else { Complex::new(first[0], second[0]) };
    out[0] = out[0].scale(T::of(0.5));
    let count = (n - 1) / 2;
    let (low, high) = out[1..].split_at_mut(count);
    let high = &mut high[n - 1 - 2 * count..];
    let (near, far) = (&first[1..][..count], &first[n - count..]);
    let (near_second, far_second) = (&second[1..][..count], &second[n - count..]);
    let (wy_near, wy_far) = (&wy[1..][..count], &wy[n - count..]);
    let half_w_low = &half_w[1..][..count];
    for k in 0..count {
        let back = count - 1 - k;
        let w = half_w_low[k];
        let (mut a, mut b) = (near[k], far[back]);
        let (mut c, mut d) = (near_second[k], far_second[back]);
        if SINE {
            let (here, there) = (wy_near[k], wy_far[back]);
            (a, b) = (b * there, a * here);
            (c, d) = (d * there, c * here);
        }
        low[k] = w.conj() * Complex::new(a + d, c - b);
        high[back] = w * Complex::new(a - d, c + b);
    }
    if n.is_multiple_of(2) {
        let h = n / 2;
        let quarter = half_w[h].re + half_w[h].re;
        let factor = if SINE { quarter * wy[h] } else { quarter };
        out[h] = Complex::new(first[h], second[h]).scale(factor);
    }
}
