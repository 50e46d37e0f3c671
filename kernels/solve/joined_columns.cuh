// The second of three passes, P and Q of a column in one FFT.
#pragma once
#include "device/dependent_launch.cuh"
#include "device/reduce.cuh"
#include "lines/places.cuh"
#include "lines/shape.cuh"
#include "solve/green.cuh"

constexpr int WARPS = (THREADS + 31) / 32;

/// A block takes 2C columns, C as real parts and C as imaginary parts. P overwrites what
/// was read: a block has read its columns before it writes. P and Q of a column share an
/// FFT. `partial` gets the block's part of the energy Σ φ·ρ (by Parseval).
///
/// IN_SHARED keeps the spectrum of the second C columns in shared memory, not in registers,
/// while the first C are transformed.
template <bool IN_SHARED>
__device__ __forceinline__ void joined_columns(cplx* p, cplx* __restrict__ q, const cplx* __restrict__ table,
                                               const Green green, double* __restrict__ partial) {
    extern __shared__ double2 memory[];
    __shared__ double warps[WARPS];
    const u32 t = threadIdx.x / C, c = threadIdx.x % C, first = blockIdx.x * (2 * C) + c;
    const Place place = {t, c, 0, memory};
    p += panel_at(first, 0, N / 2);
    q += panel_at(first, 0, N / 2);
    wait_for_previous();
    if (EARLY) let_next_start();
    cplx v[ROOM];
    load_panel_columns<Fft>(v, t, p, C);
    Fft::run<-1>(v, place, table);
    Fft::pairs<Fft::NATURAL, Fft::PAIRED>(
        v, t, table, [&](const Frequency& at, cplx& a, cplx& b) { dct_pair(at.w, a, b); });
    if (!EARLY) let_next_start();
    real kept[IN_SHARED ? 1 : E];
    real* const stored = reinterpret_cast<real*>(reinterpret_cast<char*>(memory) + Fft::BYTES) + threadIdx.x;
#pragma unroll
    for (int i = 0; i < E; ++i) (IN_SHARED ? stored[i * THREADS] : kept[IN_SHARED ? 0 : i]) = v[i].y;
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = 0;
#pragma unroll 1
    for (u32 half = 0; half < 2; ++half) {
        const u32 thread = again(t);
        const u32 column = first + half * C;
        const real wy = green.step_y * real(column);
        // P's largest coefficient in this column is to Q's about as 1 to `balance`. One FFT
        // carries both, so unscaled P's rounding errors would exceed Q. So wavenumbers here
        // are in units of it, and P is that many times too large.
        const real balance = column == 0 ? green.step_x : wy >= green.step_x ? wy : wy * wy / green.step_x;
        const real back = quotient(1, balance), step = green.step_x * back, scale = green.scale * back;
        const real wy2 = (wy * back) * (wy * back);
        real sum = 0;
        Fft::pairs<Fft::PAIRED, Fft::NATURAL>(v, thread, table, [&](const Frequency& at, cplx& a, cplx& b) {
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
        const double energy = warp_sum_of<THREADS>((column == 0 ? 0.5 : 1.0) * double(back) * double(sum));
        if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] += energy;
        Fft::run<1>(v, Place{thread, c, 0, memory}, table);
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

