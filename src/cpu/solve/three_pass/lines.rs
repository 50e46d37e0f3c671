//! What is done with a pair of lines before, between and after the FFTs.

use crate::cpu::solve::multipliers::{Green, Multipliers};
use crate::real::Real;
use crate::transform::permutation;
use num_complex::Complex;

/// `first + j·second`, reordered. A `second` that is not there counts as zero.
#[inline(always)]
pub(super) fn pack<T: Real>(first: &[T], second: &[T], out: &mut [Complex<T>]) {
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
pub(super) fn unpack<T: Real>(line: &[Complex<T>], first: &mut [T], second: &mut [T], sine: bool) {
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
pub(super) fn dct_from_fft<T: Real>(
    half_w: &[Complex<T>],
    fft: &[Complex<T>],
    out: &mut [Complex<T>],
) {
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
pub(super) fn spread<T: Real>(
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
        // k = n/2 is its own partner; cos(π/4) comes in once on each side.
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
pub(super) fn inverse_pair<const SINE: bool, T: Real>(
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
