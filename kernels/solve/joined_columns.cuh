// The second of three passes, P and Q of a column in one FFT.
#pragma once
#include "device/dependent_launch.cuh"
#include "device/reduce.cuh"
#include "lines/shape.cuh"
#include "solve/green.cuh"
#include "solve/panels.cuh"

constexpr int WARPS = (THREADS + 31) / 32;

/// Adds up what warps have of the block's part of the energy Σ φ·ρ (by Parseval).
template <typename Columns> __device__ __forceinline__ void store_energy(const Columns& columns, const double* warps) {
    __syncthreads();
    if (threadIdx.x != 0) return;
    double energy = 0;
    for (int i = 0; i < WARPS; ++i) energy += warps[i];
    columns.energy(blockIdx.x, energy);
}

/// A block takes 2C columns, C as real parts and C as imaginary parts; it has read its columns before it writes. P and
/// Q of a column share an FFT. The block's part of the energy Σ φ·ρ (by Parseval) goes to `columns.energy`.
///
/// While the first C columns are transformed, the spectrum of the second C waits: STORED of a thread's elements in
/// shared memory, the others in registers.
template <int STORED, typename Columns>
__device__ __forceinline__ void joined_columns(const Columns& columns, const cplx* __restrict__ table,
                                               const Green& green) {
    extern __shared__ double2 memory[];
    __shared__ double warps[WARPS];
    const u32 t = threadIdx.x / C, c = threadIdx.x % C, first = blockIdx.x * (2 * C) + c;
    const ThreadCoord place = {t, c, 0, memory};
    wait_for_previous();
    if (EARLY) let_next_start();
    cplx v[ROOM];
    auto here = columns.at(first);
    load_panel_columns<Fft>(v, t, here.read(), C);
    Fft::run<-1>(v, place, table);
    Fft::pairs<Fft::NATURAL, Fft::PAIRED>(
        v, t, table, [&](const Frequency& at, cplx& a, cplx& b) { dct_pair(at.w, a, b); });
    if (!EARLY) let_next_start();
    real kept[E];
    real* const stored = reinterpret_cast<real*>(reinterpret_cast<char*>(memory) + Fft::BYTES) + threadIdx.x;
#pragma unroll
    for (int i = 0; i < E; ++i) (i < STORED ? stored[i * THREADS] : kept[i]) = v[i].y;
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = 0;
#pragma unroll 1
    for (u32 half = 0; half < 2; ++half) {
        const u32 thread = again(t);
        const u32 column = columns.number(first + half * C);
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
        Fft::run<1>(v, ThreadCoord{thread, c, 0, memory}, table);
        const auto p = here.write(false, thread), q = here.write(true, thread);
        Fft::neighbours(v, [&](int end, int offset, cplx& a, cplx& b) {
            *p(end, offset) = make(back * a.x, back * b.x);
            *q(end, offset) = make(a.y, -b.y);
        });
        if (half == 0) {
#pragma unroll
            for (int i = 0; i < E; ++i) v[i].x = i < STORED ? stored[i * THREADS] : kept[i];
        }
        here.advance(C);
    }
    store_energy(columns, warps);
}
