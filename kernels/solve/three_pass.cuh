// The field solve in three passes over the map, each a batch of 1-D transforms
// with everything between two of them done in registers.
//
//   rows_forward   along y: DCT of every row of ρ
//   columns        along x: DCT, Green's function and wavenumber, and the two
//                  inverses P = IDCT(âG) and Q = IDXST(âG w_x), per column
//   rows_inverse   along y: φ = IDCT(P), Ex = IDCT(Q), Ey = IDXST(w_y P):
//                  w_y is constant along a column, so φ and Ey share P
//
// Values read and written per bin: 1 + 1, 1 + 2 and 2 + 3.
//
// Two real lines are one complex FFT, and the maps between passes stand in panels of
// columns, [panel][row pair][column of the panel]: fft/real_lines.cuh. The kernels leave the
// transforms' halves to Green::scale. Maps are [nx][ny], y contiguous. Grids are as many
// blocks as there are groups of lines (or, for long columns, as are resident at once); a
// block's threads and shared memory are those of its Shape (fft/shapes.cuh, three_pass.cu):
// E elements of a line a thread, and memory for the exchanges of its lines.
#pragma once
#include "device/dependent_launch.cuh"
#include "device/reduce.cuh"
#include "fft/real_lines.cuh"
#include "fft/shapes.cuh"
#include "solve/green.cuh"

/// Whether the next pass may start at once: short lines leave multiprocessors room for
/// its blocks; long ones do not, and then its blocks would displace this pass's.
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

/// A block takes one row pair per group of threads.
template <typename Fft>
__device__ __forceinline__ void rows_forward(const real* __restrict__ rho, cplx* __restrict__ out,
                                             const cplx* __restrict__ table, u32 pairs) {
    constexpr int N = Fft::LENGTH;
    extern __shared__ double2 memory[];
    const u32 t = threadIdx.x % Fft::T, group = threadIdx.x / Fft::T, pair = blockIdx.x * Fft::COUNT + group;
    const Place place = {t, 0, group, reinterpret_cast<char*>(memory) + group * Fft::BYTES};
    wait_for_previous();
    if (EARLY<N>) let_next_start();
    cplx v[Fft::ELEMENTS];
    load_rows<Fft>(v, place.t, rho + size_t(2 * pair) * N);
    dct<Fft>(v, place, table);
    if (!EARLY<N>) let_next_start();
    store_panels<Fft>(v, place.t, out, pair, pairs);
}

/// A block takes 2C columns, C as real parts and C as imaginary parts. P overwrites what
/// was read: a block has read its columns before it writes. P and Q of a column share an
/// FFT. `partial` gets the block's part of the energy Σ φ·ρ (by Parseval).
///
/// IN_SHARED keeps the spectrum of the second C columns in shared memory, not in registers,
/// while the first C are transformed. RECOMPUTE computes what depends on the thread alone
/// again for the second C, and so keeps none of it in registers either.
template <typename Fft, bool IN_SHARED, bool RECOMPUTE>
__device__ __forceinline__ void columns(cplx* p, cplx* __restrict__ q, const cplx* __restrict__ table,
                                        const Green green, double* __restrict__ partial) {
    constexpr int N = Fft::LENGTH, E = Fft::ELEMENTS, C = Fft::LINES;
    constexpr int THREADS = Fft::T * C;
    static_assert(2 * C <= PANEL, "a block's columns are part of a panel");
    extern __shared__ double2 memory[];
    constexpr int WARPS = THREADS > 32 ? THREADS / 32 : 1;
    __shared__ double warps[WARPS];
    const u32 t = threadIdx.x / C, c = threadIdx.x % C, first = blockIdx.x * (2 * C) + c;
    const Place place = {t, c, 0, memory};
    p += panel_at(first, 0, N / 2);
    q += panel_at(first, 0, N / 2);
    wait_for_previous();
    if (EARLY<N>) let_next_start();
    cplx v[E];
    load_columns<Fft>(v, t, p, C);
    Fft::template run<-1>(v, place, table);
    Fft::template pairs<Fft::NATURAL, Fft::PAIRED>(
        v, t, table, [&](const Frequency& at, cplx& a, cplx& b) { dct_pair(at.w, a, b); });
    if (!EARLY<N>) let_next_start();
    real kept[IN_SHARED ? 1 : E];
    real* const stored = reinterpret_cast<real*>(reinterpret_cast<char*>(memory) + Fft::BYTES) + threadIdx.x;
#pragma unroll
    for (int i = 0; i < E; ++i) (IN_SHARED ? stored[i * THREADS] : kept[IN_SHARED ? 0 : i]) = v[i].y;
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = 0;
#pragma unroll 1
    for (u32 half = 0; half < 2; ++half) {
        u32 thread = t;
        if (RECOMPUTE) asm volatile("" : "+r"(thread));
        const u32 column = first + half * C;
        const real wy = green.step_y * real(column);
        // P's largest coefficient in this column is to Q's about as 1 to `balance`. One FFT
        // carries both, so unscaled P's rounding errors would exceed Q. So wavenumbers here
        // are in units of it, and P is that many times too large.
        const real balance = column == 0 ? green.step_x : wy >= green.step_x ? wy : wy * wy / green.step_x;
        const real back = quotient(1, balance), step = green.step_x * back, scale = green.scale * back;
        const real wy2 = (wy * back) * (wy * back);
        real sum = 0;
        Fft::template pairs<Fft::PAIRED, Fft::NATURAL>(v, thread, table, [&](const Frequency& at, cplx& a, cplx& b) {
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
            // P and, for the sine transform, Q's coefficients in reverse.
            a = make(pa, wb * pb);
            b = make(pb, wa * pa);
            idct_pair(at.w, a, b);
        });
        const double energy =
            warp_sum<(THREADS < 32 ? THREADS : 32)>((column == 0 ? 0.5 : 1.0) * double(back) * double(sum));
        if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] += energy;
        Fft::template run<1>(v, Place{thread, c, 0, memory}, table);
        cplx* const p_ends[2] = {p + thread * PANEL, p + (N - 1 - thread) * PANEL};
        cplx* const q_ends[2] = {q + thread * PANEL, q + (N - 1 - thread) * PANEL};
        Fft::neighbours(v, [&](int end, int offset, cplx& a, cplx& b) {
            p_ends[end][offset * int(PANEL)] = make(back * a.x, back * b.x);
            q_ends[end][offset * int(PANEL)] = make(a.y, -b.y);
        });
        if (half == 0) {
#pragma unroll
            for (int i = 0; i < E; ++i) v[i].x = IN_SHARED ? stored[i * THREADS] : kept[IN_SHARED ? 0 : i];
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
__device__ __forceinline__ void sum_energy(const double* __restrict__ partial, u32 count, double* __restrict__ energy) {
    double sum = 0;
    for (u32 i = threadIdx.x; i < count; i += 32) sum += partial[i];
    sum = warp_sum(sum);
    if (threadIdx.x == 0) *energy = sum;
}

/// A block takes as many row pairs as its FFTs have lines, those of a group neighbours and
/// of one map. POTENTIAL: φ, Ex and Ey; otherwise Ex and Ey.
///
/// The blocks of a row pair's maps are neighbours: P's second reader finds it in L2.
template <typename Fft, bool POTENTIAL>
__device__ __forceinline__ void rows_inverse(const cplx* __restrict__ p, const cplx* __restrict__ q,
                                             real* __restrict__ phi, real* __restrict__ ex, real* __restrict__ ey,
                                             const cplx* __restrict__ table, real step_y, u32 pairs,
                                             const double* __restrict__ partial, u32 partials,
                                             double* __restrict__ energy) {
    constexpr int N = Fft::LENGTH, C = Fft::LINES;
    extern __shared__ double2 memory[];
    const u32 within = threadIdx.x % (Fft::T * C), group = threadIdx.x / (Fft::T * C);
    const Place place = {within / C, within % C, group, reinterpret_cast<char*>(memory) + group * Fft::BYTES};
    const u32 t = place.t, line = blockIdx.x * Fft::COUNT + group;
    enum Map { PHI, EX, EY };
    constexpr u32 MAPS = POTENTIAL ? 3 : 2;
    const Map map = Map(line % MAPS + (3 - MAPS));
    const u32 pair = line / MAPS * C + place.lane;
    const cplx* in = map == EX ? q : p;
    real* out = map == PHI ? phi : map == EX ? ex : ey;
    wait_for_previous();
    if (EARLY<N>) let_next_start();
    cplx v[Fft::ELEMENTS];
    load_panels<Fft>(v, t, in, pair, pairs);
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
    store_rows<Fft>(v, t, out + size_t(2 * pair) * N, 1, map == EY ? -1 : 1);
    if (blockIdx.x == 0 && threadIdx.x < 32) sum_energy(partial, partials, energy);
}
