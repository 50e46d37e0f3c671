// The row-column pipeline: a 2-D transform is a batched 1-D transform along the
// contiguous axis, a transpose, a batched 1-D transform along what was the
// other axis, and a transpose back. The 1-D transforms are the N-point ones
// of lines.cuh.
//
// Maps are [rows][n], n contiguous; spectra from cuFFT are [rows][n/2 + 1].
// w[k] = e^{-jπk/2n}. Blocks of 256 threads, one for each complex number, cover the rows by a
// grid-stride loop; shared memory for a sum over the grid alone. One read and one write an
// element.
#include "device/reduce.cuh"
#include "fft/lines.cuh"
#include "solve/green.cuh"

/// Pre-processing of the inverse along y with the solve's spectral scaling folded in: map 0 is φ
/// (and writes the energy), 1 is Ex, 2 is Ey. The rows are those from `first` on.
PF_KERNEL(BLOCK) solve_pre(const real* __restrict__ in, cplx* __restrict__ out, u32 first, u32 rows, u32 n,
                           const cplx* __restrict__ w, Green green, int map, double* partial, u32* ticket,
                           double* energy) {
    u32 v = blockIdx.x * blockDim.x + threadIdx.x, h = n / 2 + 1;
    u32 count = v < h ? rows : 0;
    double total = 0;
    for (u32 i = blockIdx.y * blockDim.y + threadIdx.y; i < count; i += gridDim.y * blockDim.y) {
        u32 u = first + i;
        bool mirror_v = v && 2 * v < n;
        real wx = green.step_x * u, wy = green.step_y * v, mirror_wy = green.step_y * (n - v);
        real x = in[at(i, v, n)], mirror = v ? in[at(i, n - v, n)] : real(0);
        real p = x * green(wx, wy), mirror_p = mirror * green(wx, mirror_wy);
        real across = u ? real(1) : real(0.5), along = v ? real(1) : real(0.5);
        total += across * (along * x * p + (mirror_v ? mirror * mirror_p : real(0)));
        real factor = map == 0 ? real(1) : map == 1 ? wx : wy;
        real mirror_factor = map == 2 ? mirror_wy : factor;
        out[at(i, v, h)] = pre(factor * p, mirror_factor * mirror_p, v, map == 2, w[v]);
    }
    // Uniform over the grid: map is the same everywhere.
    if (map == 0) grid_sum(total, 1.0, partial, ticket, energy);
}
