// Pre- and post-processing of N-point transforms of lines, between the reordering and
// the real FFT, which use its conjugate symmetry: two real numbers per complex one
// (Makhoul 1980; Jiang et al., algorithm 1). And the transpose between two axes.
//
// Maps are [rows][n], n contiguous; spectra from cuFFT are [rows][n/2 + 1].
// w[k] = e^{-jπk/2n}. Blocks of 256 threads, one for each complex number, cover
// the rows, with a grid-stride loop over rows where those need more than 65535
// blocks; no shared memory but the transpose's tile. One read and one write an
// element.
#pragma once
#include "fft/keep.cuh"
#include "fft/reorder.cuh"
#include "fft/transpose.cuh"

/// DCT of every row from the FFT of its reordering.
PF_KERNEL(BLOCK) dct_post(const cplx* __restrict__ in, real* __restrict__ out, u32 rows, u32 n,
                          const cplx* __restrict__ w) {
    Index c = first_index();
    u32 k = c.j, h = n / 2 + 1;
    if (k >= h) return;
    for (; c.i < rows; c.i += row_stride()) {
        cplx z = w[k] * in[at(c.i, k, h)];
        out[at(c.i, k, n)] = z.x;
        if (k && 2 * k < n) out[at(c.i, n - k, n)] = -z.y;
    }
}

/// What the inverse FFT needs for the inverse cosine (or, with `sine`, sine)
/// transform of every row, from x(k) = here and x(n-k) = mirror.
__device__ __forceinline__ cplx pre(real here, real mirror, u32 k, int sine, cplx w) {
    if (sine) {
        real keep = here;
        here = k ? mirror : real(0);
        mirror = keep;
    }
    if (k == 0) mirror = 0;
    const real half = real(0.5);
    return conj(w) * make(half * here, -half * mirror);
}

PF_KERNEL(BLOCK) idct_pre(const Input* __restrict__ in, cplx* __restrict__ out, u32 rows, u32 n,
                          const cplx* __restrict__ w, int sine) {
    Index c = first_index();
    u32 k = c.j, h = n / 2 + 1;
    if (k >= h) return;
    for (; c.i < rows; c.i += row_stride()) {
        real here = real(in[at(c.i, k, n)]), mirror = k ? real(in[at(c.i, n - k, n)]) : real(0);
        out[at(c.i, k, h)] = pre(here, mirror, k, sine, w[k]);
    }
}

/// out[j][i] = in[i][j] of map blockIdx.z. Blocks are TRANSPOSE_TILE × 8 threads.
template <typename Keep>
__device__ __forceinline__ void transpose_of(const real* __restrict__ in, real* __restrict__ out, u32 rows, u32 cols,
                                             Keep& keep) {
    const size_t map = size_t(rows) * cols;
    in += blockIdx.z * map;
    out += blockIdx.z * map;
    const u32 left = blockIdx.x * TRANSPOSE_TILE;
    for (u32 top = blockIdx.y * TRANSPOSE_TILE; top < rows; top += gridDim.y * TRANSPOSE_TILE) {
        transpose_tile(
            top, left, rows, cols, [&](u32 i, u32 j) { return in[at(i, j, cols)]; },
            [&](u32 i, u32 j, real x) { out[at(j, i, rows)] = keep(x); });
        __syncthreads();
    }
}

PF_KERNEL(BLOCK) transpose(const real* __restrict__ in, real* __restrict__ out, u32 rows, u32 cols) {
    KeepAll keep;
    transpose_of(in, out, rows, cols, keep);
}

/// The same, with zero for what is smaller than epsilon; `kept` gets the number of
/// coefficients that are not smaller.
PF_KERNEL(BLOCK) transpose_threshold(const real* __restrict__ in, real* __restrict__ out, u32 rows, u32 cols,
                                     real epsilon, u64* kept, Kept* parts) {
    KeepLarge keep = {epsilon, kept, parts};
    transpose_of(in, out, rows, cols, keep);
    keep.count();
}
