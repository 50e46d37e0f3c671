// The second of three passes for long lines in f32, of which shared memory holds few: P of two neighbouring columns
// goes through one FFT, then Q of both. A lane takes both columns' 16 bytes at once, so two lanes fill a sector.
//
// Blocks of N/E·C threads, as many as are resident at once (persistent). Shared memory: N·C complex numbers for Q's
// spectrum or the next unit, then the exchange's. A value is read once and two are written.
#pragma once
#include "solve/joined_columns.cuh"

/// Copies 16 bytes to shared memory without waiting for them, past the registers.
__device__ __forceinline__ void copy_async(Pack* to, const Pack* from) {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(u32(__cvta_generic_to_shared(to))), "l"(from)
                 : "memory");
#else
    *to = *from;
#endif
}

/// Waits for all copies of this thread.
__device__ __forceinline__ void wait_for_copies() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

/// A unit is 2C columns. A block takes units blockIdx, blockIdx + grid, …, and has read one before it
/// writes it. The block's part of the energy Σ φ·ρ (by Parseval) goes to `columns.energy`.
///
/// A line goes through three FFTs: forward, P's inverse, Q's inverse, by the same instructions, for an inverse FFT is a
/// forward one with real and imaginary parts swapped before and after. Separate ones would exceed the instruction
/// cache. Shared memory holds Q's spectrum during P's FFT, the next unit's columns during Q's, and behind it the
/// exchange.
template <typename Columns>
__device__ __forceinline__ void separate_columns(const Columns& columns, const cplx* __restrict__ table,
                                                 const Green& green, u32 units) {
    static_assert(C * sizeof(Pack) == 2 * C * sizeof(cplx), "16 bytes hold two neighbours");
    extern __shared__ double2 memory[];
    __shared__ double warps[WARPS];
    cplx* const spectrum = reinterpret_cast<cplx*>(memory) + threadIdx.x;
    Pack* const copied = reinterpret_cast<Pack*>(memory) + threadIdx.x;
    void* const shared = reinterpret_cast<cplx*>(memory) + N * C;
    const u32 c = threadIdx.x % C;
    cplx v[ROOM];
    auto copy_unit = [&](u32 unit, u32 t) {
        const cplx* from = columns.at(unit * (2 * C) + 2 * c).read();
        const cplx* const ends[2] = {from + t * PANEL, from + (N - 1 - t) * PANEL};
        int n = 0;
        Fft::neighbours(v, [&](int end, int offset, cplx&, cplx&) {
            copy_async(copied + n++ * THREADS, reinterpret_cast<const Pack*>(ends[end] + offset * int(PANEL)));
        });
    };
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = 0;
    wait_for_previous();
    copy_unit(blockIdx.x, threadIdx.x / C);
    // Column 0's P is to its neighbour's about as 1 to this, and Ey takes nothing from it:
    // unscaled, its rounding errors would exceed Ey's where nx is the longer.
    const real ratio = green.step_x / green.step_y, least = ratio < 1 ? ratio * ratio : real(1);
#pragma unroll 1
    for (u32 unit = blockIdx.x; unit < units; unit += gridDim.x) {
        const u32 column = columns.number(unit * (2 * C) + 2 * c);
        enum Phase { FORWARD, P, Q };
#pragma unroll 1
        for (u32 phase = FORWARD; phase <= Q; ++phase) {
            // Values that depend on the thread alone are computed again each time.
            u32 t = threadIdx.x / C;
            asm volatile("" : "+r"(t));
            if (phase == FORWARD) {
                wait_for_copies();
                int n = 0;
                Fft::neighbours(v, [&](int, int, cplx& a, cplx& b) {
                    const Pack x = copied[n++ * THREADS];
                    a = make(x.v[0], x.v[2]);
                    b = make(x.v[1], x.v[3]);
                });
            } else {
                if (phase == Q) {
#pragma unroll
                    for (int i = 0; i < E; ++i) v[i] = spectrum[i * THREADS];
                    __syncthreads();
                    if (unit + gridDim.x < units) copy_unit(unit + gridDim.x, t);
                }
                Fft::pairs<Fft::PAIRED, Fft::NATURAL>(v, t, table, [&](const Frequency& at, cplx& a, cplx& b) {
                    if (at.zero) b = make(0, 0);
                    idct_pair(at.w, a, b);
                    a = make(a.y, a.x);
                    b = make(b.y, b.x);
                });
            }
            Fft::run_with<-1>(v, ThreadCoord{t, c, 0, shared}, Fft::second_of(t, phase != FORWARD), table);
            if (phase == FORWARD) {
                const real wy = green.step_y * real(column), wy2 = wy * wy;
                const real other = green.step_y * real(column + 1), other2 = other * other;
                const real scale = column == 0 ? green.scale * least : green.scale;
                real sum = 0, other_sum = 0;
                Fft::pairs<Fft::NATURAL, Fft::PAIRED>(v, t, table, [&](const Frequency& at, cplx& a, cplx& b) {
                    dct_pair(at.w, a, b);
                    const real wa = green.step_x * at.k, wb = green.step_x * (real(N) - at.k);
                    const real wa2 = wa * wa, wb2 = wb * wb;
                    cplx pa = make(quotient(scale * a.x, wa2 + wy2), quotient(green.scale * a.y, wa2 + other2));
                    cplx pb = make(quotient(scale * b.x, wb2 + wy2), quotient(green.scale * b.y, wb2 + other2));
                    if (at.zero) {
                        if (column == 0) pa.x = 0;
                        pb = make(0, 0);
                    }
                    const real part = at.zero ? real(0.5) : real(1);
                    sum += part * pa.x * a.x;
                    other_sum += part * pa.y * a.y;
                    if (at.partner >= 0) {
                        sum += pb.x * b.x;
                        other_sum += pb.y * b.y;
                    }
                    // For the sine transform Q's coefficients in reverse.
                    spectrum[at.at * THREADS] = make(wb * pb.x, wb * pb.y);
                    if (at.partner >= 0) spectrum[at.partner * THREADS] = make(wa * pa.x, wa * pa.y);
                    a = pa;
                    b = pb;
                });
                const double energy =
                    warp_sum_of<THREADS>((column == 0 ? 0.5 / double(least) : 1.0) * double(sum) + double(other_sum));
                if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] += energy;
            } else {
                if (column == 0 && least < 1) {
                    const real back = 1 / least;
#pragma unroll
                    for (int i = 0; i < E; ++i) v[i].y *= back;
                }
                const real sign = phase == Q ? -1 : 1;
                const auto to = columns.at(columns.written(unit) * (2 * C) + 2 * c).write(phase == Q, t);
                Fft::neighbours(v, [&](int end, int offset, cplx& a, cplx& b) {
                    const Pack x = {{a.y, sign * b.y, a.x, sign * b.x}};
                    *reinterpret_cast<Pack*>(to(end, offset)) = x;
                });
            }
        }
    }
    let_next_start();
    store_energy(columns, warps);
}
