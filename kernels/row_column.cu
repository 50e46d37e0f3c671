// The row-column pipeline: a 2-D transform is a batched 1-D transform along the
// contiguous axis, a transpose, a batched 1-D transform along what was the
// other axis, and a transpose back. The 1-D transforms are the N-point ones
// (reordering, real FFT, post-processing; Makhoul 1980), each with the
// conjugate symmetry used: two real outputs per complex number.
//
// Maps are [rows][n], n contiguous; spectra from cuFFT are [rows][n/2 + 1].
// w[k] = e^{-jπk/2n}.
#include "reorder.cuh"

/// DCT of every row from the FFT of its reordering.
extern "C" __global__ void __launch_bounds__(BLOCK)
dct_post(const cplx* __restrict__ in, real* __restrict__ out, unsigned rows, unsigned n,
         const cplx* __restrict__ w) {
    Cell c = cell();
    unsigned k = c.j, h = n / 2 + 1;
    if (c.i >= rows || k >= h) return;
    cplx z = w[k] * in[at(c.i, k, h)];
    out[at(c.i, k, n)] = z.x;
    if (k && 2 * k < n) out[at(c.i, n - k, n)] = -z.y;
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

extern "C" __global__ void __launch_bounds__(BLOCK)
idct_pre(const real* __restrict__ in, cplx* __restrict__ out, unsigned rows, unsigned n,
         const cplx* __restrict__ w, int sine) {
    Cell c = cell();
    unsigned k = c.j, h = n / 2 + 1;
    if (c.i >= rows || k >= h) return;
    real here = in[at(c.i, k, n)], mirror = k ? in[at(c.i, n - k, n)] : real(0);
    out[at(c.i, k, h)] = pre(here, mirror, k, sine, w[k]);
}

/// The same along y with the solve's spectral scaling folded in: map 0 is φ
/// (and writes the energy), 1 is Ex, 2 is Ey.
extern "C" __global__ void __launch_bounds__(BLOCK)
solve_pre(const real* __restrict__ in, cplx* __restrict__ out, unsigned rows, unsigned n,
          const cplx* __restrict__ w, Green green, int map, double* partial, unsigned* ticket,
          double* energy) {
    unsigned v = blockIdx.x * blockDim.x + threadIdx.x, h = n / 2 + 1;
    unsigned count = v < h ? rows : 0;
    double total = 0;
    for (unsigned u = blockIdx.y * blockDim.y + threadIdx.y; u < count; u += gridDim.y * blockDim.y) {
        bool mirror_v = v && 2 * v < n;
        real wx = green.step_x * u, wy = green.step_y * v, mirror_wy = green.step_y * (n - v);
        real x = in[at(u, v, n)], mirror = v ? in[at(u, n - v, n)] : real(0);
        real p = x * green(wx, wy), mirror_p = mirror * green(wx, mirror_wy);
        real across = u ? real(1) : real(0.5), along = v ? real(1) : real(0.5);
        total += across * (along * x * p + (mirror_v ? mirror * mirror_p : real(0)));
        real factor = map == 0 ? real(1) : map == 1 ? wx : wy;
        real mirror_factor = map == 2 ? mirror_wy : factor;
        out[at(u, v, h)] = pre(factor * p, mirror_factor * mirror_p, v, map == 2, w[v]);
    }
    // Uniform over the grid: map is the same everywhere.
    if (map == 0) grid_sum(total, 1.0, partial, ticket, energy);
}

constexpr unsigned TILE = 32;

/// out[j][i] = in[i][j] through a padded tile in shared memory, so that both
/// sides are whole lines. Blocks are 32 × 8 threads.
extern "C" __global__ void __launch_bounds__(BLOCK)
transpose(const real* __restrict__ in, real* __restrict__ out, unsigned rows, unsigned cols) {
    __shared__ real tile[TILE][TILE + 1];
    unsigned j = blockIdx.x * TILE + threadIdx.x, i = blockIdx.y * TILE + threadIdx.y;
#pragma unroll
    for (unsigned k = 0; k < TILE; k += BLOCK / TILE)
        if (i + k < rows && j < cols) tile[threadIdx.y + k][threadIdx.x] = in[at(i + k, j, cols)];
    __syncthreads();
    i = blockIdx.y * TILE + threadIdx.x;
    j = blockIdx.x * TILE + threadIdx.y;
#pragma unroll
    for (unsigned k = 0; k < TILE; k += BLOCK / TILE)
        if (i < rows && j + k < cols) out[at(j + k, i, rows)] = tile[threadIdx.x][threadIdx.y + k];
}
