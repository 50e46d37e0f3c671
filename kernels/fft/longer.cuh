// The four ways from a 1-D DCT, or its inverse, to a real FFT (Jiang et al.,
// algorithm 1): of 4n, 2n (mirrored or padded) and n values. The last one's
// kernels are in reorder.cuh and spectra.cuh; here are those of the others.
//
// Lines are [rows][n], n contiguous, and the FFT's sides [rows][length] and
// [rows][length/2 + 1]. w[k] = e^{-jπk/2n}. Blocks of 256 threads cover the rows, with a
// grid-stride loop over rows where those need more than 65535 blocks; no shared memory
// where nothing else is said. Values read and written for each of a line's: before the FFT
// 1 + length/n, after it 2 + 1 of its 1 + length/n.
//
// The inverses take the same steps backwards. Those of the two 2n-point ones are
// one and the same: the coefficients times conj(w), n zeros, and the first half of what the inverse FFT gives.
#pragma once
#include "fft/reorder.cuh"

/// out[row][j] = f(line, j) for j < 2n, from lines of n.
template <typename Out, typename F>
__device__ __forceinline__ void extend_lines(const Input* __restrict__ in, Out* __restrict__ out, u32 rows, u32 n, F f) {
    Index c = first_index();
    if (c.j >= 2 * n) return;
    for (; c.i < rows; c.i += row_stride()) out[at(c.i, c.j, 2 * n)] = f(in + at(c.i, 0, n), c.j);
}

/// Element j of a line and its mirror image.
__device__ __forceinline__ real mirrored(const Input* line, u32 j, u32 n) {
    return real(line[j < n ? j : 2 * n - 1 - j]);
}

/// What is before the forward FFTs. 4n: zero at even places; the line, then its mirror image,
/// at odd ones (a thread writes two values). Mirrored: the line and its mirror image. Padded:
/// the line and as many zeros.
PF_KERNEL(BLOCK) dct_pre_4n(const Input* __restrict__ in, real* __restrict__ out, u32 rows, u32 n) {
    extend_lines(in, reinterpret_cast<cplx*>(out), rows, n,
                 [=](const Input* line, u32 j) { return make(0, mirrored(line, j, n)); });
}
PF_KERNEL(BLOCK) dct_pre_mirrored(const Input* __restrict__ in, real* __restrict__ out, u32 rows, u32 n) {
    extend_lines(in, out, rows, n, [=](const Input* line, u32 j) { return mirrored(line, j, n); });
}
PF_KERNEL(BLOCK) dct_pre_padded(const Input* __restrict__ in, real* __restrict__ out, u32 rows, u32 n) {
    extend_lines(in, out, rows, n, [=](const Input* line, u32 j) { return j < n ? real(line[j]) : real(0); });
}

/// DCT from a spectrum of `half` complex numbers a row: scale · Re(w X) where
/// `rotated`, else scale · Re(X).
PF_KERNEL(BLOCK) dct_post_long(const cplx* __restrict__ in, real* __restrict__ out, u32 rows, u32 n, u32 half,
                               const cplx* __restrict__ w, real scale, int rotated) {
    Index c = first_index();
    u32 k = c.j;
    if (k >= n) return;
    for (; c.i < rows; c.i += row_stride()) {
        cplx x = in[at(c.i, k, half)];
        out[at(c.i, k, n)] = scale * (rotated ? (w[k] * x).x : x.x);
    }
}

/// Coefficient k of a cosine or sine transform of a line: that one takes them
/// from the other end, with a zero first.
__device__ __forceinline__ real coefficient(const Input* __restrict__ line, u32 k, u32 n, int sine) {
    return !sine ? real(line[k]) : k ? real(line[n - k]) : real(0);
}

/// ½ conj(w) X, then zeros: n + 1 complex numbers.
PF_KERNEL(BLOCK) idct_pre_2n(const Input* __restrict__ in, cplx* __restrict__ out, u32 rows, u32 n,
                             const cplx* __restrict__ w, int sine) {
    Index c = first_index();
    u32 k = c.j;
    if (k > n) return;
    for (; c.i < rows; c.i += row_stride()) {
        real x = k < n ? real(0.5) * coefficient(in + at(c.i, 0, n), k, n, sine) : real(0);
        out[at(c.i, k, n + 1)] = make(x * w[k].x, -x * w[k].y);
    }
}

/// ¼ X, a zero, -¼ X backwards: the spectrum of a line like dct_pre_4n's.
PF_KERNEL(BLOCK) idct_pre_4n(const Input* __restrict__ in, cplx* __restrict__ out, u32 rows, u32 n,
                             const cplx* __restrict__, int sine) {
    Index c = first_index();
    u32 k = c.j;
    if (k > 2 * n) return;
    const real quarter = k < n ? real(0.25) : real(-0.25);
    for (; c.i < rows; c.i += row_stride()) {
        real x = k == n ? real(0) : coefficient(in + at(c.i, 0, n), k < n ? k : 2 * n - k, n, sine);
        out[at(c.i, k, 2 * n + 1)] = make(quarter * x, 0);
    }
}

/// Value k of a row is element step·k + first of `length`; odd ones negated for a
/// sine transform.
PF_KERNEL(BLOCK) idct_post_long(const real* __restrict__ in, real* __restrict__ out, u32 rows, u32 n, u32 length,
                                u32 step, u32 first, int sine) {
    Index c = first_index();
    u32 k = c.j;
    if (k >= n) return;
    const real sign = sine && k & 1 ? real(-1) : real(1);
    for (; c.i < rows; c.i += row_stride()) out[at(c.i, k, n)] = sign * in[at(c.i, step * k + first, length)];
}
