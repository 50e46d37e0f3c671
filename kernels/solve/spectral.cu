// The steps of a solve between its FFTs in the pipelines of cuFFT, with the pre- and post-processing of single
// transforms (spectra.cuh): of two axes for the fused pipeline (Jiang, Gu and Pan, "A New Acceleration Paradigm for
// Discrete Cosine Transform and Other Fourier-Related Transforms", algorithm 2), of one for the row-column pipeline,
// which transforms along the contiguous axis, transposes, and so again.
//
// Maps are [m][n], n contiguous; spectra from cuFFT are [m][n/2 + 1]. w[k] = e^{-jπk/2N} for N = m, n. Blocks of 256
// threads cover the rows by a grid-stride loop; shared memory for a sum over the grid alone. A spectrum's values are
// read and written once: solve_spectra reads one spectrum and writes three, solve_pre reads a map and writes one.
#include "device/reduce.cuh"
#include "fft/spectra.cuh"
#include "fft/transpose.cuh"
#include "solve/green.cuh"

/// Wavenumbers of a thread's coefficients: along x of every image, along y at v and at n - v.
struct Waves {
    real x[HALF], y, mirror_y;
    real across;  // what Parseval's sum has of the row
    __device__ __forceinline__ Waves(const Green& green, const Corner& at)
        : y(green.step_y * at.v), mirror_y(green.step_y * (at.n - at.v)), across(at.u ? real(1) : real(0.5)) {
#pragma unroll
        for (int i = 0; i < HALF; ++i) x[i] = green.step_x * (i ? at.m - at.u : at.u);
    }
};

/// φ's coefficients from ρ's, whose share of Σ φ·ρ by Parseval is added to `energy`.
__device__ __forceinline__ Coefficients potential(const Coefficients& rho, const Green& green, const Waves& w,
                                                  const Corner& at, double& energy) {
    const real along = at.v ? real(1) : real(0.5);
    Coefficients p;
    real sum = 0;
#pragma unroll
    for (int i = 0; i < HALF; ++i) {
        p.here[i] = rho.here[i] * green(w.x[i], w.y);
        p.mirror[i] = rho.mirror[i] * green(w.x[i], w.mirror_y);
        if (!at.distinct(i)) continue;
        const real mirror = at.mirrored() ? rho.mirror[i] * p.mirror[i] : real(0);
        sum += (i ? real(1) : w.across) * (along * rho.here[i] * p.here[i] + mirror);
    }
    energy += sum;
    return p;
}

/// From φ's coefficients to those of which an inverse of cosines makes a map: 0 is φ, 1 is Ex, 2 is Ey. (Of one axis
/// alone Ex's are not yet in reverse.)
__device__ __forceinline__ Coefficients of_map(Coefficients p, const Waves& w, const Corner& at, int map) {
#pragma unroll
    for (int i = 0; i < HALF; ++i) {
        p.here[i] *= map == 0 ? real(1) : map == 1 ? w.x[i] : w.y;
        p.mirror[i] *= map == 0 ? real(1) : map == 1 ? w.x[i] : w.mirror_y;
    }
    reverse(p, at, map == 0 ? 0 : map == 1 ? 2 : 1);
    return p;
}

/// Pre-processing of one of the solve's inverses with its spectral scaling
/// folded in: map 0 is φ (and writes the energy), 1 is Ex, 2 is Ey.
PF_KERNEL(BLOCK) solve_pre(const real* __restrict__ in, cplx* __restrict__ out, u32 l, u32 m, u32 n,
                           const cplx* __restrict__ wl, const cplx* __restrict__ wm, const cplx* __restrict__ wn,
                           Green green, int map, double* partial, u32* ticket, double* energy) {
    double total = 0;
    each_corner(l, m, n, [&](const Corner& at) {
        const Waves w(green, at);
        const Coefficients p = potential(read(in, at), green, w, at, total);
        store_spectrum(out, of_map(p, w, at, map), at, Turns(at, wl, wm, wn));
    });
    // Uniform over the grid: map is the same everywhere.
    if (map == 0) grid_sum(total, 1.0, partial, ticket, energy);
}

#if PF_RANK == 2
/// The forward transform's post-processing, Green's function and the pre-processing of all three inverses in one pass:
/// a thread's two complex numbers hold exactly the four coefficients that its six outputs need, so the DCT spectrum
/// itself never goes to memory. `in` may be the first of the three spectra in `out`.
PF_KERNEL(BLOCK) solve_spectra(const cplx* in, cplx* out, u32 l, u32 m, u32 n, const cplx* __restrict__ wl,
                               const cplx* __restrict__ wm, const cplx* __restrict__ wn, Green green,
                               double* partial, u32* ticket, double* energy) {
    const size_t spectrum = size_t(m) * (n / 2 + 1);
    double total = 0;
    each_corner(l, m, n, [&](const Corner& at) {
        const Waves w(green, at);
        const Turns turns(at, wl, wm, wn);
        cplx x[HALF] = {in[at.in_spectrum(0)], in[at.in_spectrum(1)]};
        const Coefficients p = potential(coefficients_of(x, at, turns), green, w, at, total);
#pragma unroll
        for (int map = 0; map < 3; ++map) store_spectrum(out + map * spectrum, of_map(p, w, at, map), at, turns);
    });
    grid_sum(total, 1.0, partial, ticket, energy);
}
#endif
