// The field solve in three passes over the map, each a batch of 1-D transforms
// with everything between two of them done in registers.
//
//   rows_forward   along y: DCT of every row of ρ
//   columns        along x: DCT, Green's function and wavenumber, and the two
//                  inverses P = IDCT(âG) and Q = IDXST(âG w_x), per column
//   rows_inverse   along y: φ = IDCT(P), Ex = IDCT(Q), Ey = IDXST(w_y P):
//                  w_y is constant along a column, so φ and Ey share P
//
// Read and written, in words per bin: 1 + 1, 1 + 2, 2 + 3, with P's second
// reader served by the cache.
//
// Two real lines go through one complex FFT as its real and imaginary part. For
// z = p + iq, V = FFT of z reordered (Makhoul 1980) and w = e^{iπk/2N}:
//   DCT(p) + i DCT(q) = (conj(w) V[k] + w V[N-k]) / 2,
//   IDCT(p) + i IDCT(q) = IFFT of (w (z[k] - i z[N-k])) / 2, z[N] = 0, reordered,
//   IDXST(x)[n] = (-1)^n IDCT(0, x[N-1], …, x[1])[n]
// in the scaling of Jiang et al.; Green::scale takes in the four halves.
//
// Rows 2r and 2r+1 of ρ are one line of complex numbers, and stay together:
// what stands between passes is complex numbers [panel][row pair][W columns]
// with W·ny/W = ny, so that the second pass reads and writes whole panels.
#pragma once
#include "block_fft.cuh"

/// Green::scale is this over nx·ny: the round trip's 4, and a half left out four times.
constexpr double SCALE = 0.25;

/// A complex number between passes: panel, row pair, column.
__device__ __forceinline__ unsigned panel_at(unsigned column, unsigned pair, unsigned pairs, unsigned log_w) {
    return ((column >> log_w) * pairs + pair << log_w) + (column & ((1u << log_w) - 1));
}

__device__ __forceinline__ float quotient(float a, float b) { return __fdividef(a, b); }
/// Two Newton steps on the 20 bits the hardware gives.
__device__ __forceinline__ double quotient(double a, double b) {
    double y;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(b));
    y = fma(fma(-b, y, 1.0), y, y);
    y = fma(fma(-b, y, 1.0), y, y);
    return a * y;
}

/// From V[k] and V[N-k] to twice the DCT at k and N-k, of both lines.
__device__ __forceinline__ void dct_pair(cplx w, cplx& k, cplx& n) {
    cplx a = conj(w) * k, b = w * n;
    k = a + b;
    n = quarter<1>(a - b);
}

/// From a spectrum at k and N-k to twice the inverse FFT's input.
__device__ __forceinline__ void idct_pair(cplx w, cplx& k, cplx& n) {
    cplx s = quarter<1>(n), z = k;
    k = w * (z - s);
    n = conj(w) * (z + s);
}

template <int N, int E, int F, bool SPLIT>
__device__ __forceinline__ void rows_forward(const real* __restrict__ rho, cplx* __restrict__ out, const cplx* __restrict__ table,
                                             unsigned pairs, unsigned log_w) {
    constexpr int T = N / E;
    typedef BlockFft<N, E, 1, T * F, SPLIT> Fft;
    extern __shared__ double2 memory[];
    const unsigned t = threadIdx.x % T, line = threadIdx.x / T, pair = blockIdx.x * F + line;
    char* shared = reinterpret_cast<char*>(memory) + line * Fft::BYTES;
    wait_for_previous();
    let_next_start();
    cplx v[E];
    const cplx* even = reinterpret_cast<const cplx*>(rho + size_t(2 * pair) * N);
    Fft::neighbours(v, t, [&](unsigned q, cplx& a, cplx& b) {
        cplx x = last_read(even + q), y = last_read(even + N / 2 + q);
        a = make(x.x, y.x);
        b = make(x.y, y.y);
    });
    Fft::template run<-1>(v, shared, t, 0, table);
    Fft::pairs(v, t, table, [&](unsigned, cplx w, cplx& k, cplx& n) { dct_pair(w, k, n); });
    const unsigned second = Fft::mirror(t);
#pragma unroll
    for (int i = 0; i < E / 2; ++i) {
        out[panel_at(t + i * Fft::M, pair, pairs, log_w)] = v[i];
        out[panel_at(second + i * Fft::M, pair, pairs, log_w)] = v[E / 2 + i];
    }
}

template <int N, int E, int C, bool SPLIT>
__device__ __forceinline__ void columns(const cplx* __restrict__ in, cplx* __restrict__ p_out, cplx* __restrict__ q_out,
                                        const cplx* __restrict__ table, const Green green, double* __restrict__ partial) {
    constexpr int T = N / E, THREADS = T * C, W = 2 * C;
    typedef BlockFft<N, E, C, THREADS, SPLIT> Fft;
    extern __shared__ double2 memory[];
    __shared__ double warps[THREADS / 32];
    const unsigned t = threadIdx.x / C, c = threadIdx.x % C;
    const unsigned panel = blockIdx.x * (N / 2 * W) + c;
    wait_for_previous();
    let_next_start();
    cplx v[E];
    Fft::neighbours(v, t, [&](unsigned q, cplx& a, cplx& b) {
        cplx x = last_read(in + panel + q * W), y = last_read(in + panel + q * W + C);
        a = make(x.x, y.x);
        b = make(x.y, y.y);
    });
    Fft::template run<-1>(v, memory, t, c, table);
    Fft::pairs(v, t, table, [&](unsigned, cplx w, cplx& k, cplx& n) { dct_pair(w, k, n); });
    real other[E];
#pragma unroll
    for (int i = 0; i < E; ++i) other[i] = v[i].y;
    double energy = 0;
#pragma unroll 1
    for (unsigned half = 0; half < 2; ++half) {
        const unsigned column = blockIdx.x * W + half * C + c;
        const real wy = green.step_y * real(column), wy2 = wy * wy;
        real sum = 0;
        Fft::pairs(v, t, table, [&](unsigned k, cplx w, cplx& a, cplx& b) {
            const real f = real(k), wa = green.step_x * f, wb = green.step_x * (real(N) - f);
            const real xa = a.x, xb = b.x;
            real pa = quotient(green.scale * xa, wa * wa + wy2), pb = quotient(green.scale * xb, wb * wb + wy2);
            if (k == 0) {
                if (column == 0) pa = 0;
                pb = 0;
                sum += real(0.5) * pa * xa;
            } else {
                sum += pa * xa;
                if (k != N / 2) sum += pb * xb;
            }
            // P and, for the sine transform, Q from the other end.
            a = make(pa, wb * pb);
            b = make(pb, wa * pa);
            idct_pair(w, a, b);
        });
        energy += column == 0 ? 0.5 * double(sum) : double(sum);
        Fft::template run<1>(v, memory, t, c, table);
        Fft::neighbours(v, t, [&](unsigned q, cplx& a, cplx& b) {
            const unsigned at = panel + q * W + half * C;
            p_out[at] = make(a.x, b.x);
            q_out[at] = make(a.y, -b.y);
        });
#pragma unroll
        for (int i = 0; i < E; ++i) v[i].x = other[i];
    }
    energy = warp_sum(energy);
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = energy;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int i = 1; i < THREADS / 32; ++i) energy += warps[i];
        partial[blockIdx.x] = energy;
    }
}

/// The sum of `partial`, in an order that depends on `count` alone; by one warp.
__device__ __forceinline__ void sum_energy(const double* __restrict__ partial, unsigned count, double* __restrict__ energy) {
    double sum = 0;
    for (unsigned i = threadIdx.x; i < count; i += 32) sum += partial[i];
    sum = warp_sum(sum);
    if (threadIdx.x == 0) *energy = sum;
}

/// MAPS is 3 for φ, Ex and Ey, 2 for Ex and Ey.
template <int N, int E, int F, bool SPLIT, int MAPS>
__device__ __forceinline__ void rows_inverse(const cplx* __restrict__ p, const cplx* __restrict__ q, real* __restrict__ phi,
                                             real* __restrict__ ex, real* __restrict__ ey, const cplx* __restrict__ table,
                                             real step_y, unsigned pairs, unsigned log_w, const double* __restrict__ partial,
                                             unsigned partials, double* __restrict__ energy) {
    constexpr int T = N / E;
    typedef BlockFft<N, E, 1, T * F, SPLIT> Fft;
    extern __shared__ double2 memory[];
    const unsigned t = threadIdx.x % T, in_block = threadIdx.x / T, line = blockIdx.x * F + in_block;
    // The three lines of a row pair are neighbours, so that P is read twice from the cache.
    const unsigned pair = line / MAPS, map = line % MAPS + (3 - MAPS);
    char* shared = reinterpret_cast<char*>(memory) + in_block * Fft::BYTES;
    const cplx* in = map == 1 ? q : p;
    real* out = map == 0 ? phi : map == 1 ? ex : ey;
    wait_for_previous();
    let_next_start();
    cplx v[E];
    const unsigned second = Fft::mirror(t);
#pragma unroll
    for (int i = 0; i < E / 2; ++i) {
        v[i] = in[panel_at(t + i * Fft::M, pair, pairs, log_w)];
        v[E / 2 + i] = in[panel_at(second + i * Fft::M, pair, pairs, log_w)];
    }
    Fft::pairs(v, t, table, [&](unsigned k, cplx w, cplx& a, cplx& b) {
        if (map == 2) {
            const real f = real(k), wa = step_y * f, wb = step_y * (real(N) - f);
            cplx z = a;
            a = make(wb * b.x, wb * b.y);
            b = make(wa * z.x, wa * z.y);
            if (k == 0) a = make(0, 0);
        }
        if (k == 0) b = make(0, 0);
        idct_pair(w, a, b);
    });
    Fft::template run<1>(v, shared, t, 0, table);
    const real sign = map == 2 ? -1 : 1;
    cplx* even = reinterpret_cast<cplx*>(out + size_t(2 * pair) * N);
    Fft::neighbours(v, t, [&](unsigned n, cplx& a, cplx& b) {
        __stcs(even + n, make(a.x, sign * b.x));
        __stcs(even + N / 2 + n, make(a.y, sign * b.y));
    });
    if (blockIdx.x == 0 && threadIdx.x < 32) sum_energy(partial, partials, energy);
}
