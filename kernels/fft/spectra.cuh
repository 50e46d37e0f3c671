// Pre- and post-processing of transforms of one, two or three axes through one real FFT of them (Makhoul
// 1980; Jiang, Gu and Pan, algorithms 1 and 2, the four-outputs-per-thread form of "Efficient
// Postprocessing", and "Higher dimensions"): a thread has HALF complex numbers on one side and the
// 2·HALF real ones they hold on the other, each read and written once.
//
// Arrays are [l][m][n], n contiguous, those of one axis m lines; spectra from cuFFT are [l][m][n/2 + 1]. w[k] =
// e^{-jπk/2N} for N = l, m, n. Blocks of 256 threads cover (m/2 + 1) × (n/2 + 1), of lines m × (n/2 + 1), by a
// grid-stride loop over the rows; blockIdx.z counts arrays, of three axes l/2 + 1 for each. No shared memory.
//
// Along one axis, with C the DCT and V the FFT of the reordered line:
//   C[k] = (w V[k] + conj(w) V[N-k]) / 2,  C[N-k] = j (w V[k] - conj(w) V[N-k]) / 2
//   V[k] = conj(w) (C[k] - j C[N-k]) / 2,  V[N-k] = w (C[k] + j C[N-k]) / 2
// with C[N] = 0. They hold for complex lines, so they can be taken one axis after
// the other (dct_pair and idct_pair with conj(w)); along the last one, the lines being real,
// one of the pair is enough.
#pragma once
#include "fft/keep.cuh"
#include "fft/reorder.cuh"
#include "lines/real_lines.cuh"

/// Complex numbers of a thread: at its place and at its mirror images along all axes but the last. Bit 0
/// of an image's number is for the axis of m, bit 1 for that of l.
constexpr int HALF = 1 << (RANK - 1);

__device__ __forceinline__ cplx scaled(real s, cplx a) { return make(s * a.x, s * a.y); }

/// Where a thread is along each axis.
struct Corner {
    u32 l, m, n, t, u, v;

    /// Whether there is an image: index N stands for a zero.
    __device__ __forceinline__ bool there(int image) const { return (!(image & 1) || u) && (!(image & 2) || t); }
    /// Whether it is not the place itself.
    __device__ __forceinline__ bool distinct(int image) const {
        return (!(image & 1) || (u && 2 * u < m)) && (!(image & 2) || (t && 2 * t < l));
    }
    /// Whether there is another coefficient at n - v.
    __device__ __forceinline__ bool mirrored() const { return v && 2 * v < n; }
    /// An image's row; index N is index 0.
    __device__ __forceinline__ size_t row(int image) const {
        const u32 slice = image & 2 && t ? l - t : t, row = image & 1 && u ? m - u : u;
        return size_t(slice) * m + row;
    }
    __device__ __forceinline__ size_t in_spectrum(int image) const { return row(image) * (n / 2 + 1) + v; }
};

/// A thread's twiddles.
struct Turns {
    cplx l, m, n;
    __device__ __forceinline__ Turns(const Corner& at, const cplx* __restrict__ wl, const cplx* __restrict__ wm,
                                     const cplx* __restrict__ wn)
        : n(wn[at.v]) {
        if (RANK > 1) m = wm[at.u];
        if (RANK > 2) l = wl[at.t];
    }
};

/// Coefficients at v and at n - v of every image.
struct Coefficients {
    real here[HALF], mirror[HALF];
};

/// Calls f for the places of a thread.
template <typename F> __device__ __forceinline__ void each_corner(u32 l, u32 m, u32 n, F f) {
    const Index c = first_index();
    if (c.j > n / 2) return;
    const u32 rows = RANK == 1 ? m : m / 2 + 1, slice = RANK > 2 ? blockIdx.z % (l / 2 + 1) : 0;
    for (u32 u = c.i; u < rows; u += row_stride()) f(Corner{l, m, n, slice, u, c.j});
}

/// The array that a block works on.
__device__ __forceinline__ u32 array_of(u32 l) { return RANK > 2 ? blockIdx.z / (l / 2 + 1) : blockIdx.z; }
template <typename V> __device__ __forceinline__ V* map_of(V* in, u32 l, u32 m, u32 n) {
    return in + array_of(l) * (size_t(l) * m * n);
}
template <typename V> __device__ __forceinline__ V* spectrum_of(V* in, u32 l, u32 m, u32 n) {
    return in + array_of(l) * (size_t(l) * m * (n / 2 + 1));
}

/// The DCT coefficients that a spectrum's numbers x hold.
__device__ __forceinline__ Coefficients coefficients_of(cplx* x, const Corner& at, const Turns& w) {
#pragma unroll
    for (int i = 0; i < HALF / 2; ++i)
        if (RANK > 2) dct_pair(conj(w.l), x[i], x[i + HALF / 2]);
#pragma unroll
    for (int i = 0; i + 1 < HALF; i += 2) dct_pair(conj(w.m), x[i], x[i + 1]);
    const cplx turn = scaled(real(1) / HALF, w.n);
    Coefficients c;
#pragma unroll
    for (int i = 0; i < HALF; ++i) {
        const cplx z = turn * x[i];
        c.here[i] = z.x;
        c.mirror[i] = at.v ? -z.y : real(0);
    }
    return c;
}

/// Writes what the inverse FFT needs for the inverse cosine transform of these coefficients.
__device__ __forceinline__ void store_spectrum(cplx* out, const Coefficients& c, const Corner& at, const Turns& w) {
    const cplx turn = conj(scaled(real(0.5) / HALF, w.n));
    cplx x[HALF];
#pragma unroll
    for (int i = 0; i < HALF; ++i) x[i] = turn * make(c.here[i], -c.mirror[i]);
#pragma unroll
    for (int i = 0; i + 1 < HALF; i += 2) idct_pair(conj(w.m), x[i], x[i + 1]);
#pragma unroll
    for (int i = 0; i < HALF / 2; ++i)
        if (RANK > 2) idct_pair(conj(w.l), x[i], x[i + HALF / 2]);
#pragma unroll
    for (int i = 0; i < HALF; ++i)
        if (at.distinct(i)) out[at.in_spectrum(i)] = x[i];
}

template <typename In> __device__ __forceinline__ Coefficients read(const In* __restrict__ in, const Corner& at) {
    Coefficients c;
#pragma unroll
    for (int i = 0; i < HALF; ++i) {
        const In* row = in + at.row(i) * at.n;
        c.here[i] = at.there(i) ? real(row[at.v]) : real(0);
        c.mirror[i] = at.there(i) && at.v ? real(row[at.n - at.v]) : real(0);
    }
    return c;
}

__device__ __forceinline__ void exchange(real& a, real& b) {
    const real keep = a;
    a = b;
    b = keep;
}

/// From coefficients to those whose inverse cosine transform is their inverse sine transform but for the signs of odd
/// elements: in reverse with a zero first, along the last axis (bit 0 of `sines`) and along the one before (bit 1).
__device__ __forceinline__ void reverse(Coefficients& c, const Corner& at, int sines) {
#pragma unroll
    for (int i = 0; i < HALF; ++i)
        if (sines & 1) {
            exchange(c.here[i], c.mirror[i]);
            if (at.v == 0) c.mirror[i] = 0;
        }
#pragma unroll
    for (int i = 0; i + 1 < HALF; i += 2)
        if (sines & 2) {
            exchange(c.here[i], c.here[i + 1]);
            exchange(c.mirror[i], c.mirror[i + 1]);
            if (at.u == 0) c.here[i + 1] = c.mirror[i + 1] = 0;
        }
}

/// Reads values that are not read again. Where the whole is `cached`, L2 drops them first. (An H200, the DCT at 2048²
/// in f64: 2 % faster so; at 4096², beyond L2, 2 % slower.)
template <typename T> __device__ __forceinline__ T last_read(const T* p, int cached) { return cached ? __ldcs(p) : *p; }

/// DCTs from their spectra.
template <typename Keep>
__device__ __forceinline__ void dct_post_of(const cplx* __restrict__ in, real* __restrict__ out, u32 l, u32 m, u32 n,
                                            const cplx* __restrict__ wl, const cplx* __restrict__ wm,
                                            const cplx* __restrict__ wn, int cached, Keep& keep) {
    in = spectrum_of(in, l, m, n);
    out = map_of(out, l, m, n);
    each_corner(l, m, n, [&](const Corner& at) {
        cplx x[HALF];
#pragma unroll
        for (int i = 0; i < HALF; ++i) x[i] = last_read(in + at.in_spectrum(i), cached);
        const Coefficients c = coefficients_of(x, at, Turns(at, wl, wm, wn));
#pragma unroll
        for (int i = 0; i < HALF; ++i) {
            if (!at.distinct(i)) continue;
            real* const row = out + at.row(i) * n;
            row[at.v] = keep(c.here[i]);
            if (at.mirrored()) row[n - at.v] = keep(c.mirror[i]);
        }
    });
}

PF_KERNEL(BLOCK) dct_post(const cplx* __restrict__ in, real* __restrict__ out, u32 l, u32 m, u32 n,
                          const cplx* __restrict__ wl, const cplx* __restrict__ wm, const cplx* __restrict__ wn,
                          int cached) {
    KeepAll keep;
    dct_post_of(in, out, l, m, n, wl, wm, wn, cached, keep);
}

/// Blocks of a multiprocessor that idct_pre is compiled for, 0 for as many as the compiler likes: with 64 registers,
/// which it takes on 10.0 and 12.0, volumes in f64 spill.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1000
constexpr int LEAST_BLOCKS = RANK == 3 && F64 ? 2 : 0;
#else
constexpr int LEAST_BLOCKS = 0;
#endif

/// Inverses' spectra: of cosines, or of sines along an axis as reverse() has it.
PF_KERNEL(BLOCK, LEAST_BLOCKS) idct_pre(const Input* __restrict__ in, cplx* __restrict__ out, u32 l, u32 m, u32 n,
                          const cplx* __restrict__ wl, const cplx* __restrict__ wm, const cplx* __restrict__ wn,
                          int sines) {
    in = map_of(in, l, m, n);
    out = spectrum_of(out, l, m, n);
    each_corner(l, m, n, [&](const Corner& at) {
        Coefficients c = read(in, at);
        reverse(c, at, sines);
        store_spectrum(out, c, at, Turns(at, wl, wm, wn));
    });
}

#if PF_RANK == 2
/// The naive form, for comparison: one thread per output, every element of the spectrum read four times.
PF_KERNEL(BLOCK) dct_post_naive(const cplx* __restrict__ in, real* __restrict__ out, u32 l, u32 m, u32 n,
                                const cplx* wl, const cplx* __restrict__ wm, const cplx* __restrict__ wn,
                                int cached) {
    const Index c = first_index();
    const u32 v = c.j, h = n / 2 + 1;
    if (v >= n) return;
    in = spectrum_of(in, l, m, n);
    out = map_of(out, l, m, n);
    for (u32 u = c.i; u < m; u += row_stride()) {
        const u32 mirror = u ? m - u : 0;
        cplx p, q;
        if (v < h) {
            p = in[at(u, v, h)];
            q = in[at(mirror, v, h)];
        } else {
            p = conj(in[at(mirror, n - v, h)]);
            q = conj(in[at(u, n - v, h)]);
        }
        out[at(u, v, n)] = real(0.5) * (wn[v] * (wm[u] * p + conj(wm[u]) * q)).x;
    }
}
#endif
