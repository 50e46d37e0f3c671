// The fused pipeline: a 2-D DCT (or inverse) is a reordering, one 2-D real FFT
// and a post- (pre-) processing that uses the conjugate symmetry, so that every
// element is read and written once (Jiang, Gu and Pan, "A New Acceleration
// Paradigm for Discrete Cosine Transform and Other Fourier-Related Transforms",
// algorithm 2 and the four-outputs-per-thread form of "Efficient
// Postprocessing").
//
// Maps are [m][n], n contiguous; spectra from cuFFT are [m][n/2 + 1].
// a[k] = e^{-jπk/2m} and b[k] = e^{-jπk/2n}. Blocks of 256 threads cover the quads of a
// map, (m/2 + 1) × (n/2 + 1), by a grid-stride loop over u; shared memory for a sum over
// the grid alone. A spectrum's values are read and written once: solve_spectra reads one
// spectrum and writes three, solve_pre reads a map and writes one.
#include "device/reduce.cuh"
#include "fft/quad.cuh"
#include "solve/green.cuh"

/// Green::scale here is 1/(mn): the round trip's 4/(mn) times the ¼ that store_pre leaves
/// out. Energies are multiplied by 4 in return.
constexpr double ENERGY = 4.0;

/// φ's spectrum from ρ's, and this quad's share of Σ φ·ρ by Parseval.
__device__ __forceinline__ Quad potential(Quad x, const Green& green, real wx, real mirror_wx, real wy, real mirror_wy,
                                          u32 u, u32 v, bool mirror_u, bool mirror_v, real* energy) {
    Quad p = {x.x00 * green(wx, wy), x.x01 * green(wx, mirror_wy), x.x10 * green(mirror_wx, wy),
              x.x11 * green(mirror_wx, mirror_wy)};
    const real half = real(0.5);
    real across = u ? real(1) : half, along = v ? real(1) : half;
    real sum = across * along * x.x00 * p.x00;
    if (mirror_v) sum += across * x.x01 * p.x01;
    if (mirror_u) sum += along * x.x10 * p.x10;
    if (mirror_u && mirror_v) sum += x.x11 * p.x11;
    *energy = sum;
    return p;
}

/// Ex's spectrum in the order flip_u leaves it.
__device__ __forceinline__ Quad field_x(Quad p, real wx, real mirror_wx) {
    return flip_u({wx * p.x00, wx * p.x01, mirror_wx * p.x10, mirror_wx * p.x11});
}

/// Ey's spectrum in the order flip_v leaves it.
__device__ __forceinline__ Quad field_y(Quad p, real wy, real mirror_wy) {
    return flip_v({wy * p.x00, mirror_wy * p.x01, wy * p.x10, mirror_wy * p.x11});
}

/// Pre-processing of one of the solve's inverses with its spectral scaling
/// folded in: map 0 is φ (and writes the energy), 1 is Ex, 2 is Ey.
PF_KERNEL(BLOCK) solve_pre(const real* __restrict__ in, cplx* __restrict__ out, u32 m, u32 n,
                           const cplx* __restrict__ a, const cplx* __restrict__ b, Green green, int map,
                           double* partial, u32* ticket, double* energy) {
    u32 v = blockIdx.x * blockDim.x + threadIdx.x, h = n / 2 + 1;
    double total = 0;
    u32 rows = v < h ? m / 2 + 1 : 0;
    for (u32 u = blockIdx.y * blockDim.y + threadIdx.y; u < rows; u += gridDim.y * blockDim.y) {
        bool mirror_u = u && 2 * u < m, mirror_v = v && 2 * v < n;
        Quad x = read_quad(in, m, n, u, v);
        real wx = green.step_x * u, mirror_wx = green.step_x * (m - u);
        real wy = green.step_y * v, mirror_wy = green.step_y * (n - v);
        real share;
        Quad p = potential(x, green, wx, mirror_wx, wy, mirror_wy, u, v, mirror_u, mirror_v, &share);
        total += share;
        if (map == 1) p = field_x(p, wx, mirror_wx);
        if (map == 2) p = field_y(p, wy, mirror_wy);
        cplx au = a[u], bv = b[v];
        store_pre(out, p, conj(au * bv), au * conj(bv), at(u, v, h), u ? at(m - u, v, h) : 0, mirror_u);
    }
    // Uniform over the grid: map is the same everywhere.
    if (map == 0) grid_sum(total, ENERGY, partial, ticket, energy);
}

/// The forward transform's post-processing, Green's function and the
/// pre-processing of all three inverses in one pass: a thread's two complex
/// numbers hold exactly the four coefficients that its six outputs need, so the
/// DCT spectrum itself never goes to memory. `in` may be the first of the three
/// spectra in `out`. The spectra are the `width` columns [m][width] from `first` on.
PF_KERNEL(BLOCK) solve_spectra(const cplx* in, cplx* out, u32 m, u32 n, u32 first, u32 width,
                               const cplx* __restrict__ a, const cplx* __restrict__ b, Green green, double* partial,
                               u32* ticket, double* energy) {
    u32 column = blockIdx.x * blockDim.x + threadIdx.x, v = first + column;
    size_t spectrum = size_t(m) * width;
    double total = 0;
    u32 rows = column < width ? m / 2 + 1 : 0;
    for (u32 u = blockIdx.y * blockDim.y + threadIdx.y; u < rows; u += gridDim.y * blockDim.y) {
        bool mirror_u = u && 2 * u < m, mirror_v = v && 2 * v < n;
        size_t here = at(u, column, width), mirror = u ? at(m - u, column, width) : here;
        cplx p = in[here], q = in[mirror], au = a[u], bv = b[v];
        Quad x = post(p, q, au, bv, u, v);
        real wx = green.step_x * u, mirror_wx = green.step_x * (m - u);
        real wy = green.step_y * v, mirror_wy = green.step_y * (n - v);
        real share;
        x = potential(x, green, wx, mirror_wx, wy, mirror_wy, u, v, mirror_u, mirror_v, &share);
        total += share;
        cplx twiddle = conj(au * bv), mirror_twiddle = au * conj(bv);
        store_pre(out, x, twiddle, mirror_twiddle, here, mirror, mirror_u);
        store_pre(out + spectrum, field_x(x, wx, mirror_wx), twiddle, mirror_twiddle, here, mirror, mirror_u);
        store_pre(out + 2 * spectrum, field_y(x, wy, mirror_wy), twiddle, mirror_twiddle, here, mirror, mirror_u);
    }
    grid_sum(total, ENERGY, partial, ticket, energy);
}
