// N-point transforms of lines, between the reordering and the real FFT: the
// conjugate symmetry used, two real numbers per complex one (Makhoul 1980; Jiang
// et al., algorithm 1). And the transpose that turns one axis into the other.
//
// Maps are [rows][n], n contiguous; spectra from cuFFT are [rows][n/2 + 1].
// w[k] = e^{-jπk/2n}. Blocks of 256 threads, one for each complex number, cover
// the rows; beyond 65535 blocks down threads go on. One read and one write an
// element.
#pragma once
#include "fft/keep.cuh"
#include "fft/reorder.cuh"

/// DCT of every row from the FFT of its reordering.
extern "C" __global__ void __launch_bounds__(BLOCK)
dct_post(const cplx* __restrict__ in, real* __restrict__ out, unsigned rows, unsigned n,
         const cplx* __restrict__ w) {
    Cell c = cell();
    unsigned k = c.j, h = n / 2 + 1;
    if (k >= h) return;
    for (; c.i < rows; c.i += down()) {
        cplx z = w[k] * in[at(c.i, k, h)];
        out[at(c.i, k, n)] = z.x;
        if (k && 2 * k < n) out[at(c.i, n - k, n)] = -z.y;
    }
}

/// What the inverse FFT needs for the inverse cosine (or, with `sine`, sine)
/// transform of every row, from x(k) = here and x(n-k) = mirror.
__device__ __forceinline__ cplx pre(real here, real mirror, unsigned k, int sine, cplx w) {
    if (sine) {
        real keep = here;
        here = k ? mirror : real(0);
        mirror = keep;
    }
    if (k == 0) mirror = 0;
    const real half = real(0.5);
    return conj(w) * make(half * here, -half * mirror);
}

#define PF_IDCT_PRE(SUFFIX, In)                                                                      \
    extern "C" __global__ void __launch_bounds__(BLOCK)                                              \
    idct_pre##SUFFIX(const In* __restrict__ in, cplx* __restrict__ out, unsigned rows, unsigned n,   \
                     const cplx* __restrict__ w, int sine) {                                         \
        Cell c = cell();                                                                             \
        unsigned k = c.j, h = n / 2 + 1;                                                             \
        if (k >= h) return;                                                                          \
        for (; c.i < rows; c.i += down()) {                                                          \
            real here = real(in[at(c.i, k, n)]), mirror = k ? real(in[at(c.i, n - k, n)]) : real(0); \
            out[at(c.i, k, h)] = pre(here, mirror, k, sine, w[k]);                                   \
        }                                                                                            \
    }
PF_IDCT_PRE(, real)

constexpr unsigned TILE = 32;

/// out[j][i] = in[i][j] of map blockIdx.z, through a padded tile in shared
/// memory, so that both sides are whole lines. Blocks are 32 × 8 threads.
template <typename Keep>
__device__ __forceinline__ void transpose_of(const real* __restrict__ in, real* __restrict__ out, unsigned rows,
                                             unsigned cols, Keep& keep) {
    __shared__ real tile[TILE][TILE + 1];
    size_t map = size_t(rows) * cols;
    in += blockIdx.z * map;
    out += blockIdx.z * map;
    for (unsigned top = blockIdx.y * TILE; top < rows; top += gridDim.y * TILE) {
        unsigned j = blockIdx.x * TILE + threadIdx.x, i = top + threadIdx.y;
#pragma unroll
        for (unsigned k = 0; k < TILE; k += BLOCK / TILE)
            if (i + k < rows && j < cols) tile[threadIdx.y + k][threadIdx.x] = in[at(i + k, j, cols)];
        __syncthreads();
        i = top + threadIdx.x;
        j = blockIdx.x * TILE + threadIdx.y;
#pragma unroll
        for (unsigned k = 0; k < TILE; k += BLOCK / TILE)
            if (i < rows && j + k < cols) out[at(j + k, i, rows)] = keep(tile[threadIdx.x][threadIdx.y + k]);
        __syncthreads();
    }
}

extern "C" __global__ void __launch_bounds__(BLOCK)
transpose(const real* __restrict__ in, real* __restrict__ out, unsigned rows, unsigned cols) {
    KeepAll keep;
    transpose_of(in, out, rows, cols, keep);
}

/// With zero for what is smaller than epsilon; `kept` gets the number of
/// coefficients that are not.
extern "C" __global__ void __launch_bounds__(BLOCK)
transpose_threshold(const real* __restrict__ in, real* __restrict__ out, unsigned rows, unsigned cols, real epsilon,
                    unsigned long long* kept, Kept* parts) {
    KeepLarge keep = {epsilon, kept, parts};
    transpose_of(in, out, rows, cols, keep);
    keep.count();
}
