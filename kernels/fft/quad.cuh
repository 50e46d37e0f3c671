// Pre- and post-processing of 2-D transforms through one 2-D real FFT (Jiang,
// Gu and Pan, algorithm 2 and the four-outputs-per-thread form of "Efficient
// Postprocessing"): a thread has two complex numbers on one side and the four
// real ones they hold on the other, each read and written once.
//
// Maps are [m][n], n contiguous, map blockIdx.z of a batch; spectra from cuFFT
// are [m][n/2 + 1]. a[k] = e^{-jπk/2m} and b[k] = e^{-jπk/2n}. Blocks of 256
// threads cover (m/2 + 1) × (n/2 + 1), the naive form m × n; no shared memory.
#pragma once
#include "fft/keep.cuh"
#include "fft/reorder.cuh"

/// A DCT spectrum at (u, v) and at its mirror images: x01 at (u, n-v), x10 at
/// (m-u, v), x11 at (m-u, n-v). Index m or n stands for a zero.
struct Quad {
    real x00, x01, x10, x11;
};

/// The four DCT coefficients that V[u][v] = p and V[m-u][v] = q hold.
__device__ __forceinline__ Quad post(cplx p, cplx q, cplx a, cplx b, u32 u, u32 v) {
    cplx ap = a * p, aq = conj(a) * q;
    cplx s = b * (ap + aq), t = b * (ap - aq);
    const real half = real(0.5);
    Quad x = {half * s.x, -half * s.y, -half * t.y, -half * t.x};
    if (u == 0) x.x10 = x.x11 = 0;
    if (v == 0) x.x01 = x.x11 = 0;
    return x;
}

/// Reads what nothing will read again. Where it is `cached` as a whole, L2 is told to drop
/// it first. (An H200, the DCT at 2048² in f64: 2 % faster so; at 4096², beyond L2, 2 %
/// slower.)
template <typename T> __device__ __forceinline__ T last_read(const T* p, int cached) { return cached ? __ldcs(p) : *p; }

/// A DCT from its spectrum.
template <typename Keep>
__device__ __forceinline__ void dct2_post_of(const cplx* __restrict__ in, real* __restrict__ out, u32 m, u32 n,
                                             const cplx* __restrict__ a, const cplx* __restrict__ b, int cached,
                                             Keep& keep) {
    Index c = first_index();
    u32 u = c.i, v = c.j, h = n / 2 + 1;
    if (2 * u > m || v >= h) return;
    in += blockIdx.z * (size_t(m) * h);
    out += blockIdx.z * (size_t(m) * n);
    cplx p = last_read(in + at(u, v, h), cached);
    cplx q = u ? last_read(in + at(m - u, v, h), cached) : p;
    Quad x = post(p, q, a[u], b[v], u, v);
    bool mirror_u = u && 2 * u < m, mirror_v = v && 2 * v < n;
    out[at(u, v, n)] = keep(x.x00);
    if (mirror_v) out[at(u, n - v, n)] = keep(x.x01);
    if (mirror_u) out[at(m - u, v, n)] = keep(x.x10);
    if (mirror_u && mirror_v) out[at(m - u, n - v, n)] = keep(x.x11);
}

PF_KERNEL(BLOCK) dct2_post(const cplx* __restrict__ in, real* __restrict__ out, u32 m, u32 n,
                           const cplx* __restrict__ a, const cplx* __restrict__ b, int cached) {
    KeepAll keep;
    dct2_post_of(in, out, m, n, a, b, cached, keep);
}

/// The naive form, for comparison: one thread per output, every element of the
/// spectrum read four times.
PF_KERNEL(BLOCK) dct2_post_naive(const cplx* __restrict__ in, real* __restrict__ out, u32 m, u32 n,
                                 const cplx* __restrict__ a, const cplx* __restrict__ b, int) {
    Index c = first_index();
    u32 u = c.i, v = c.j, h = n / 2 + 1;
    if (u >= m || v >= n) return;
    in += blockIdx.z * (size_t(m) * h);
    out += blockIdx.z * (size_t(m) * n);
    u32 mirror = u ? m - u : 0;
    cplx p, q;
    if (v < h) {
        p = in[at(u, v, h)];
        q = in[at(mirror, v, h)];
    } else {
        p = conj(in[at(mirror, n - v, h)]);
        q = conj(in[at(u, n - v, h)]);
    }
    out[at(u, v, n)] = real(0.5) * (b[v] * (a[u] * p + conj(a[u]) * q)).x;
}

/// Writes what the inverse FFT needs at (u, v) and (m-u, v) for the inverse
/// cosine transform of x, times four.
__device__ __forceinline__ void store_pre(cplx* out, Quad x, cplx twiddle, cplx mirror_twiddle, size_t here,
                                          size_t mirror, bool mirror_u) {
    out[here] = twiddle * make(x.x00 - x.x11, -(x.x10 + x.x01));
    if (mirror_u) out[mirror] = mirror_twiddle * make(x.x00 + x.x11, x.x10 - x.x01);
}

/// x with x'(u, v) = x(m-u, v): the inverse sine transform along x is the
/// cosine transform of this, with odd rows negated afterwards.
__device__ __forceinline__ Quad flip_u(Quad x) { return {x.x10, x.x11, x.x00, x.x01}; }
/// The same along y.
__device__ __forceinline__ Quad flip_v(Quad x) { return {x.x01, x.x00, x.x11, x.x10}; }

/// Pre-processing of the inverse transform of x, which is at (u, v) of an [m][n]
/// map: two complex numbers of its spectrum. sine_u or sine_v makes that axis a
/// sine transform.
__device__ __forceinline__ void idct2_pre_quad(Quad x, cplx* out, u32 m, u32 n, cplx a, cplx b, u32 u, u32 v,
                                               int sine_u, int sine_v) {
    if (sine_u) {
        x = flip_u(x);
        if (u == 0) x.x10 = x.x11 = 0;
    }
    if (sine_v) {
        x = flip_v(x);
        if (v == 0) x.x01 = x.x11 = 0;
    }
    const real quarter = real(0.25);
    u32 h = n / 2 + 1;
    cplx s = make(quarter * a.x, quarter * a.y);
    store_pre(out, x, conj(s * b), s * conj(b), at(u, v, h), u ? at(m - u, v, h) : 0, u && 2 * u < m);
}

/// A map at (u, v) and its mirror images.
__device__ __forceinline__ Quad read_quad(const Input* __restrict__ in, u32 m, u32 n, u32 u, u32 v) {
    return {real(in[at(u, v, n)]), v ? real(in[at(u, n - v, n)]) : 0, u ? real(in[at(m - u, v, n)]) : 0,
            u && v ? real(in[at(m - u, n - v, n)]) : 0};
}

PF_KERNEL(BLOCK) idct2_pre(const Input* __restrict__ in, cplx* __restrict__ out, u32 m, u32 n,
                           const cplx* __restrict__ a, const cplx* __restrict__ b, int sine_x, int sine_y) {
    Index c = first_index();
    u32 u = c.i, v = c.j, h = n / 2 + 1;
    if (2 * u > m || v >= h) return;
    in += blockIdx.z * (size_t(m) * n);
    out += blockIdx.z * (size_t(m) * h);
    idct2_pre_quad(read_quad(in, m, n, u, v), out, m, n, a[u], b[v], u, v, sine_x, sine_y);
}
