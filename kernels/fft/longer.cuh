// The four ways from a 1-D DCT to a real FFT (Jiang et al., algorithm 1): of 4n, 2n (mirrored or padded) and n values.
// The last one's kernels are in reorder.cuh and spectra.cuh; here are those of the others, for the paper's tables.
//
// Lines are [rows][n], n contiguous, and the FFT's sides [rows][length] and [rows][length/2 + 1]. w[k] = e^{-jπk/2n}.
// Blocks of 256 threads cover the rows, with a grid-stride loop over rows where those need more than 65535 blocks; no
// shared memory unless stated otherwise. Values read and written for each of a line's: before the FFT 1 + length/n,
// after it 2 + 1 of its 1 + length/n.
#pragma once
#include "fft/reorder.cuh"

/// out[row][j] = f(line, j) for j < `length`, from lines of n.
template <typename In, typename Out, typename F>
__device__ __forceinline__ void each_of_lines(const In* __restrict__ in, u32 n, Out* __restrict__ out, u32 length,
                                              u32 rows, F f) {
    Index c = first_index();
    if (c.j >= length) return;
    for (; c.i < rows; c.i += row_stride()) out[at(c.i, c.j, length)] = f(in + at(c.i, 0, n), c.j);
}

/// Element j of a line and its mirror image.
__device__ __forceinline__ real mirrored(const Input* line, u32 j, u32 n) {
    return real(line[j < n ? j : 2 * n - 1 - j]);
}

/// The kernels before the forward FFTs. 4n: zero at even places; the line, then its mirror image, at odd ones (a thread
/// writes two values). Mirrored: the line and its mirror image. Padded: the line and as many zeros.
PF_KERNEL(BLOCK) dct_pre_4n(const Input* __restrict__ in, real* __restrict__ out, u32 rows, u32 n) {
    each_of_lines(in, n, reinterpret_cast<cplx*>(out), 2 * n, rows,
                  [=](const Input* line, u32 j) { return make(0, mirrored(line, j, n)); });
}
PF_KERNEL(BLOCK) dct_pre_mirrored(const Input* __restrict__ in, real* __restrict__ out, u32 rows, u32 n) {
    each_of_lines(in, n, out, 2 * n, rows, [=](const Input* line, u32 j) { return mirrored(line, j, n); });
}
PF_KERNEL(BLOCK) dct_pre_padded(const Input* __restrict__ in, real* __restrict__ out, u32 rows, u32 n) {
    each_of_lines(in, n, out, 2 * n, rows,
                  [=](const Input* line, u32 j) { return j < n ? real(line[j]) : real(0); });
}

/// DCT from a spectrum of `half` complex numbers a row: scale · Re(w X) where `rotated`, else scale · Re(X).
PF_KERNEL(BLOCK) dct_post_long(const cplx* __restrict__ in, real* __restrict__ out, u32 rows, u32 n, u32 half,
                               const cplx* __restrict__ w, real scale, int rotated) {
    each_of_lines(in, half, out, n, rows,
                  [=](const cplx* line, u32 k) { return scale * (rotated ? w[k] * line[k] : line[k]).x; });
}
