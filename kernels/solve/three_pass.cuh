// The field solve in three passes over the map, each a batch of 1-D transforms
// with everything between two of them done in registers.
//
//   rows_forward   along y: DCT of every row of ρ
//   columns        along x: DCT, Green's function and wavenumber, and the two
//                  inverses P = IDCT(âG) and Q = IDXST(âG w_x), per column
//   rows_inverse   along y: φ = IDCT(P), Ex = IDCT(Q), Ey = IDXST(w_y P):
//                  w_y is constant along a column, so φ and Ey share P
//
// Read and written, in words per bin: 1 + 1, 1 + 2 and 2 + 3.
//
// Two real lines go through one complex FFT as its real and imaginary part. For
// z = p + iq, V the FFT of z reordered (Makhoul 1980) and w = e^{iπk/2N}:
//   DCT(p) + i DCT(q) = (conj(w) V[k] + w V[N-k]) / 2,
//   IDCT(p) + i IDCT(q) = IFFT of w (z[k] - i z[N-k]) / 2, z[N] = 0, reordered,
//   IDXST(x)[n] = (-1)^n IDCT(0, x[N-1], …, x[1])[n]
// in the scaling of Jiang et al. The kernels leave the halves to Green::scale.
//
// Rows 2r and 2r+1 of ρ are one line of complex numbers, and stay together: the
// maps between passes hold complex numbers as [panel][row pair][column of the
// panel], so that the second pass, too, reads and writes neighbours.
#pragma once
#include "fft/block_fft.cuh"
#include "device/dependent_launch.cuh"

/// Columns of a panel: 64 bytes of a row pair.
#ifndef PF_PANEL
#define PF_PANEL (64 / sizeof(cplx))
#endif
constexpr unsigned PANEL = PF_PANEL;

/// Where a complex number stands between passes.
__device__ __forceinline__ unsigned panel_at(unsigned column, unsigned pair, unsigned pairs) {
    return (column / PANEL * pairs + pair) * PANEL + column % PANEL;
}

/// Whether the next pass may start at once: short lines leave multiprocessors
/// room for its blocks; long ones do not, and then its blocks are in the way.
template <int N> constexpr bool EARLY = N <= 512;

__device__ __forceinline__ float quotient(float a, float b) {
    float y;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(b));
    return a * y;
}
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

constexpr bool F64 = sizeof(real) == 8;

/// How rows of N elements are cut up.
template <int N> struct Rows {
    static constexpr int E = N <= 512 ? 8 : !F64 && N == 8192 ? 32 : 16;
    static constexpr int T = N / E;
    static constexpr int LINES = T < 32 ? 32 / T : 1;
    static constexpr bool SPLIT = F64 && E == 16;
    static constexpr int THREADS = T * LINES;
    /// Registers for 1024 threads in f32, 512 in f64.
    static constexpr int RESIDENT = F64 ? (E == 8 ? 768 : 512) : E == 32 ? 512 : 1024;
    static constexpr int BLOCKS = RESIDENT / THREADS > 16 ? 16 : RESIDENT / THREADS > 1 ? RESIDENT / THREADS : 1;
    static constexpr int BYTES = BlockFft<N, E, 1, LINES, SPLIT>::BYTES * LINES;
};

/// What a launch must know: `Shape` in src/cuda/three_pass.rs.
struct Shape {
    unsigned elements, middle_1, middle_2;  // stages: E/2, these two, E/2
    unsigned lines, threads, bytes;         // of a block: row pairs, or pairs of columns
    unsigned goes_on;                       // whether a block takes more than one group of lines
};

/// A block takes LINES row pairs.
template <int N, int E, int LINES, bool SPLIT>
__device__ __forceinline__ void rows_forward(const real* __restrict__ rho, cplx* __restrict__ out,
                                             const cplx* __restrict__ table, unsigned pairs) {
    typedef BlockFft<N, E, 1, LINES, SPLIT> Fft;
    extern __shared__ double2 memory[];
    const unsigned t = threadIdx.x % Fft::T, group = threadIdx.x / Fft::T, pair = blockIdx.x * LINES + group;
    const Place place = {t, 0, group, reinterpret_cast<char*>(memory) + group * Fft::BYTES};
    wait_for_previous();
    if (EARLY<N>) let_next_start();
    cplx v[E];
    const cplx* even = reinterpret_cast<const cplx*>(rho + size_t(2 * pair) * N);
    const cplx* const ends[2] = {even + t, even + (N - 1 - t)};
    Fft::neighbours(v, [&](int end, int offset, cplx& a, cplx& b) {
        cplx x = ends[end][offset], y = ends[end][offset + N / 2];
        a = make(x.x, y.x);
        b = make(x.y, y.y);
    });
    Fft::template run<-1>(v, place, table);
    Fft::pairs(v, t, table, [&](const Frequency& at, cplx& k, cplx& n) { dct_pair(at.w, k, n); });
    if (!EARLY<N>) let_next_start();
    const unsigned second = Fft::mirror(t);
#pragma unroll
    for (int i = 0; i < E / 2; ++i) {
        out[panel_at(t + i * Fft::M, pair, pairs)] = v[i];
        out[panel_at(second + i * Fft::M, pair, pairs)] = v[E / 2 + i];
    }
}

/// The sum over the first LANES lanes, the only ones there are, in the first.
template <int LANES> __device__ __forceinline__ double sum_of(double value) {
#pragma unroll
    for (int lane = LANES / 2; lane > 0; lane /= 2) value += __shfl_down_sync(0xffffffffu >> (32 - LANES), value, lane);
    return value;
}

/// A block takes 2C columns, C as real parts and C as imaginary parts. P takes
/// the place of what was read: a block has read its columns before it writes.
/// P and Q of a column share an FFT.
/// `partial` gets the block's part of the energy Σ φ·ρ (by Parseval).
///
/// PARK keeps the spectrum of the second C columns in shared memory, not in
/// registers, while the first C are transformed. AGAIN works out anew for the
/// second C what depends on the thread alone, and keeps none of it either.
template <int N, int E, int C, bool SPLIT, bool PARK, bool AGAIN>
__device__ __forceinline__ void columns(cplx* p, cplx* __restrict__ q, const cplx* __restrict__ table, const Green green,
                                        double* __restrict__ partial) {
    typedef BlockFft<N, E, C, 1, SPLIT> Fft;
    constexpr int THREADS = Fft::T * C;
    static_assert(2 * C <= PANEL, "a block's columns are part of a panel");
    extern __shared__ double2 memory[];
    constexpr int WARPS = THREADS > 32 ? THREADS / 32 : 1;
    __shared__ double warps[WARPS];
    const unsigned t = threadIdx.x / C, c = threadIdx.x % C, first = blockIdx.x * (2 * C) + c;
    const Place place = {t, c, 0, memory};
    p += panel_at(first, 0, N / 2);
    q += panel_at(first, 0, N / 2);
    wait_for_previous();
    if (EARLY<N>) let_next_start();
    cplx v[E];
    const cplx* const ends[2] = {p + t * PANEL, p + (N - 1 - t) * PANEL};
    Fft::neighbours(v, [&](int end, int offset, cplx& a, cplx& b) {
        const cplx* at = ends[end] + offset * int(PANEL);
        cplx x = at[0], y = at[C];
        a = make(x.x, y.x);
        b = make(x.y, y.y);
    });
    Fft::template run<-1>(v, place, table);
    Fft::template pairs<Fft::NATURAL, Fft::PAIRED>(v, t, table, [&](const Frequency& at, cplx& a, cplx& b) { dct_pair(at.w, a, b); });
    if (!EARLY<N>) let_next_start();
    real kept[PARK ? 1 : E];
    real* const parked = reinterpret_cast<real*>(reinterpret_cast<char*>(memory) + Fft::BYTES) + threadIdx.x;
#pragma unroll
    for (int i = 0; i < E; ++i) (PARK ? parked[i * THREADS] : kept[PARK ? 0 : i]) = v[i].y;
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = 0;
#pragma unroll 1
    for (unsigned half = 0; half < 2; ++half) {
        unsigned again = t;
        if (AGAIN) asm volatile("" : "+r"(again));
        const unsigned column = first + half * C;
        const real wy = green.step_y * real(column);
        // P's largest coefficient in this column is to Q's about as 1 to this. One
        // FFT carries both, so without it P's rounding would drown Q. So wavenumbers
        // here are in units of it, and P is that many times too large.
        const real balance = column == 0 ? green.step_x : wy >= green.step_x ? wy : wy * wy / green.step_x;
        const real back = quotient(1, balance), step = green.step_x * back, scale = green.scale * back;
        const real wy2 = (wy * back) * (wy * back);
        real sum = 0;
        Fft::template pairs<Fft::PAIRED, Fft::NATURAL>(v, again, table, [&](const Frequency& at, cplx& a, cplx& b) {
            const real wa = step * at.k, wb = step * (real(N) - at.k);
            real pa = quotient(scale * a.x, wa * wa + wy2), pb = quotient(scale * b.x, wb * wb + wy2);
            if (at.zero) {
                if (column == 0) pa = 0;
                pb = 0;
                sum += real(0.5) * pa * a.x;
            } else {
                sum += pa * a.x;
                if (!at.middle) sum += pb * b.x;
            }
            // P and, for the sine transform, Q from the other end.
            a = make(pa, wb * pb);
            b = make(pb, wa * pa);
            idct_pair(at.w, a, b);
        });
        const double energy = sum_of<(THREADS < 32 ? THREADS : 32)>((column == 0 ? 0.5 : 1.0) * double(back) * double(sum));
        if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] += energy;
        Fft::template run<1>(v, Place{again, c, 0, memory}, table);
        cplx* const p_ends[2] = {p + again * PANEL, p + (N - 1 - again) * PANEL};
        cplx* const q_ends[2] = {q + again * PANEL, q + (N - 1 - again) * PANEL};
        Fft::neighbours(v, [&](int end, int offset, cplx& a, cplx& b) {
            p_ends[end][offset * int(PANEL)] = make(back * a.x, back * b.x);
            q_ends[end][offset * int(PANEL)] = make(a.y, -b.y);
        });
        if (half == 0) {
#pragma unroll
            for (int i = 0; i < E; ++i) v[i].x = PARK ? parked[i * THREADS] : kept[PARK ? 0 : i];
        }
        p += C;
        q += C;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        double energy = 0;
        for (int i = 0; i < WARPS; ++i) energy += warps[i];
        partial[blockIdx.x] = energy;
    }
}

/// Sums `partial` by one warp, in an order that depends on `count` alone.
__device__ __forceinline__ void sum_energy(const double* __restrict__ partial, unsigned count, double* __restrict__ energy) {
    double sum = 0;
    for (unsigned i = threadIdx.x; i < count; i += 32) sum += partial[i];
    sum = warp_sum(sum);
    if (threadIdx.x == 0) *energy = sum;
}

/// A block takes LINES times C row pairs, the C side by side and of one map.
/// POTENTIAL or not: φ, Ex and Ey, or Ex and Ey.
///
/// The lines of a row pair are neighbours: P's second reader finds it in the cache.
template <int N, int E, int C, int LINES, bool SPLIT, bool POTENTIAL>
__device__ __forceinline__ void rows_inverse(const cplx* __restrict__ p, const cplx* __restrict__ q, real* __restrict__ phi,
                                             real* __restrict__ ex, real* __restrict__ ey, const cplx* __restrict__ table,
                                             real step_y, unsigned pairs, const double* __restrict__ partial,
                                             unsigned partials, double* __restrict__ energy) {
    typedef BlockFft<N, E, C, LINES, SPLIT> Fft;
    extern __shared__ double2 memory[];
    const unsigned within = threadIdx.x % (Fft::T * C), group = threadIdx.x / (Fft::T * C);
    const Place place = {within / C, within % C, group, reinterpret_cast<char*>(memory) + group * Fft::BYTES};
    const unsigned t = place.t, line = blockIdx.x * LINES + group;
    enum Map { PHI, EX, EY };
    constexpr unsigned MAPS = POTENTIAL ? 3 : 2;
    const Map map = Map(line % MAPS + (3 - MAPS));
    const unsigned pair = line / MAPS * C + place.lane;
    const cplx* in = map == EX ? q : p;
    real* out = map == PHI ? phi : map == EX ? ex : ey;
    wait_for_previous();
    if (EARLY<N>) let_next_start();
    cplx v[E];
    const unsigned second = Fft::mirror(t);
#pragma unroll
    for (int i = 0; i < E / 2; ++i) {
        v[i] = in[panel_at(t + i * Fft::M, pair, pairs)];
        v[E / 2 + i] = in[panel_at(second + i * Fft::M, pair, pairs)];
    }
    Fft::pairs(v, t, table, [&](const Frequency& at, cplx& a, cplx& b) {
        if (map == EY) {
            const real wa = step_y * at.k, wb = step_y * (real(N) - at.k);
            cplx z = a;
            a = make(wb * b.x, wb * b.y);
            b = make(wa * z.x, wa * z.y);
            if (at.zero) a = make(0, 0);
        }
        if (at.zero) b = make(0, 0);
        idct_pair(at.w, a, b);
    });
    Fft::template run<1>(v, place, table);
    if (!EARLY<N>) let_next_start();
    const real sign = map == EY ? -1 : 1;
    cplx* even = reinterpret_cast<cplx*>(out + size_t(2 * pair) * N);
    cplx* const ends[2] = {even + t, even + (N - 1 - t)};
    Fft::neighbours(v, [&](int end, int offset, cplx& a, cplx& b) {
        ends[end][offset] = make(a.x, sign * b.x);
        ends[end][offset + N / 2] = make(a.y, sign * b.y);
    });
    if (blockIdx.x == 0 && threadIdx.x < 32) sum_energy(partial, partials, energy);
}
