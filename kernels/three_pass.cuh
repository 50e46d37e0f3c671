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
#include "block_fft.cuh"
#include "overlap.cuh"

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

#ifndef PF_LATE
#define PF_LATE 0
#endif
/// Brings 16 bytes to shared memory without waiting for them, past the registers.
__device__ __forceinline__ void bring(Pack* to, const Pack* from) {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(unsigned(__cvta_generic_to_shared(to))), "l"(from) : "memory");
#else
    *to = *from;
#endif
}

/// Waits for all that this thread has brought.
__device__ __forceinline__ void wait_for_brought() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

/// A lane's two columns, of a unit of 2C: what 16 bytes hold beside each other.
template <int C> struct Pairing {
    static constexpr bool NEXT = sizeof(cplx) == 8;
    static constexpr int APART = NEXT ? 1 : C;
    static constexpr int PIECES = NEXT ? 1 : 2;
    static __device__ __forceinline__ unsigned first(unsigned lane) { return NEXT ? 2 * lane : lane; }
    /// Elements 2q and 2q+1 of both columns, as they stand in a map.
    static __device__ __forceinline__ void from(const Pack* pieces, cplx& a, cplx& b) {
        const real* x = pieces[0].v;
        const real* y = NEXT ? x + 2 : pieces[PIECES - 1].v;
        a = make(x[0], y[0]);
        b = make(x[1], y[1]);
    }
    static __device__ __forceinline__ void to(Pack* pieces, cplx a, cplx b) {
        real* x = pieces[0].v;
        real* y = NEXT ? x + 2 : pieces[PIECES - 1].v;
        x[0] = a.x;
        x[1] = b.x;
        y[0] = a.y;
        y[1] = b.y;
    }
};

/// A unit is 2C columns. A block takes units blockIdx, blockIdx + grid, …; P takes
/// the place of what was read, by nobody else. `partial` gets the block's part of
/// the energy Σ φ·ρ (by Parseval).
///
/// A line goes through three FFTs: forward, P's inverse, Q's inverse, by the same
/// instructions: an inverse FFT is a forward one with real and imaginary parts
/// swapped before and after. PARK keeps Q's spectrum in shared memory, not in
/// registers, during P's. AHEAD brings the next unit's columns to the same place
/// during Q's.
template <int N, int E, int C, bool SPLIT, bool PARK, bool AHEAD>
__device__ __forceinline__ void columns(cplx* p, cplx* q, const cplx* __restrict__ table, const Green green, unsigned units,
                                        double* __restrict__ partial) {
    typedef BlockFft<N, E, C, 1, SPLIT> Fft;
    typedef Pairing<C> Pair;
    constexpr int THREADS = Fft::T * C;
    static_assert(2 * C <= PANEL, "a unit's columns are part of a panel");
    static_assert(PARK || !AHEAD, "columns are brought to where spectra are parked");
    extern __shared__ double2 memory[];
    constexpr int WARPS = THREADS > 32 ? THREADS / 32 : 1;
    __shared__ double warps[WARPS];
    const unsigned c = threadIdx.x % C;
    cplx* const parked = reinterpret_cast<cplx*>(memory) + threadIdx.x;
    Pack* const brought = reinterpret_cast<Pack*>(memory) + threadIdx.x;
    void* const shared = reinterpret_cast<char*>(memory) + (PARK ? N * C * sizeof(cplx) : 0);
    cplx v[E];
    auto bring_unit = [&](unsigned unit, unsigned t) {
        const cplx* from = p + panel_at(unit * (2 * C) + Pair::first(c), 0, N / 2);
        const cplx* const ends[2] = {from + t * PANEL, from + (N - 1 - t) * PANEL};
        int n = 0;
        Fft::neighbours(v, [&](int end, int offset, cplx&, cplx&) {
#pragma unroll
            for (int i = 0; i < Pair::PIECES; ++i)
                bring(brought + (n++) * THREADS, reinterpret_cast<const Pack*>(ends[end] + offset * int(PANEL) + i * C));
        });
    };
    wait_for_previous();
    if (EARLY<N>) let_next_start();
    double energy = 0;
    if (AHEAD) bring_unit(blockIdx.x, threadIdx.x / C);
#pragma unroll 1
    for (unsigned unit = blockIdx.x; unit < units; unit += gridDim.x) {
        const unsigned column = unit * (2 * C) + Pair::first(c);
        const size_t first = panel_at(column, 0, N / 2);
        // Column 0's P is to its neighbour's about as 1 to this, and Ey takes nothing
        // from it: without this its rounding would drown Ey's where nx is the longer.
        const real ratio = green.step_x / green.step_y;
        const real least = column == 0 && ratio < 1 ? ratio * ratio : real(1);
        cplx kept[PARK ? 1 : E];
#pragma unroll 1
        for (unsigned phase = 0; phase < 3; ++phase) {
            unsigned t = threadIdx.x / C;
            asm volatile("" : "+r"(t));
            const Place place = {t, c, 0, shared};
            if (phase == 0) {
                if (AHEAD) wait_for_brought();
                const cplx* const ends[2] = {p + first + t * PANEL, p + first + (N - 1 - t) * PANEL};
                int n = 0;
                Fft::neighbours(v, [&](int end, int offset, cplx& a, cplx& b) {
                    Pack pieces[Pair::PIECES];
#pragma unroll
                    for (int i = 0; i < Pair::PIECES; ++i)
                        pieces[i] = AHEAD ? brought[(n++) * THREADS]
                                          : *reinterpret_cast<const Pack*>(ends[end] + offset * int(PANEL) + i * C);
                    Pair::from(pieces, a, b);
                });
            } else {
                if (phase == 2) {
#pragma unroll
                    for (int i = 0; i < E; ++i) v[i] = PARK ? parked[i * THREADS] : kept[PARK ? 0 : i];
                    if (AHEAD) Fft::sync(place);
                    if (AHEAD && !PF_LATE) {
                        if (unit + gridDim.x < units) bring_unit(unit + gridDim.x, t);
                    }
                }
                Fft::template pairs<Fft::PAIRED, Fft::NATURAL>(v, t, table, [&](const Frequency& at, cplx& a, cplx& b) {
                    if (at.zero) b = make(0, 0);
                    idct_pair(at.w, a, b);
                    a = make(a.y, a.x);
                    b = make(b.y, b.x);
                });
                if (AHEAD && PF_LATE && phase == 2 && unit + gridDim.x < units) bring_unit(unit + gridDim.x, t);
            }
            Fft::template run_between<-1>(v, place, Fft::ends(t, phase != 0), table);
            if (phase == 0) {
                const real wy = green.step_y * real(column), wy2 = wy * wy;
                const real other = green.step_y * real(column + Pair::APART), other2 = other * other;
                const real scale = green.scale * least;
                real sum = 0, other_sum = 0;
                Fft::template pairs<Fft::NATURAL, Fft::PAIRED>(v, t, table, [&](const Frequency& at, cplx& a, cplx& b) {
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
                    // For the sine transform Q from the other end.
                    const cplx qa = make(wb * pb.x, wb * pb.y), qb = make(wa * pa.x, wa * pa.y);
                    (PARK ? parked[at.at * THREADS] : kept[PARK ? 0 : at.at]) = qa;
                    if (at.partner >= 0) (PARK ? parked[at.partner * THREADS] : kept[PARK ? 0 : at.partner]) = qb;
                    a = pa;
                    b = pb;
                });
                energy += (column == 0 ? 0.5 / double(least) : 1.0) * double(sum) + double(other_sum);
            } else {
                if (least < 1) {
                    const real back = 1 / least;
#pragma unroll
                    for (int i = 0; i < E; ++i) v[i].y *= back;
                }
                const real sign = phase == 2 ? -1 : 1;
                cplx* const to = (phase == 2 ? q : p) + first;
                cplx* const ends[2] = {to + t * PANEL, to + (N - 1 - t) * PANEL};
                Fft::neighbours(v, [&](int end, int offset, cplx& a, cplx& b) {
                    Pack pieces[Pair::PIECES];
                    Pair::to(pieces, make(a.y, a.x), make(sign * b.y, sign * b.x));
#pragma unroll
                    for (int i = 0; i < Pair::PIECES; ++i)
                        *reinterpret_cast<Pack*>(ends[end] + offset * int(PANEL) + i * C) = pieces[i];
                });
            }
        }
    }
    if (!EARLY<N>) let_next_start();
    energy = sum_of<(THREADS < 32 ? THREADS : 32)>(energy);
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = energy;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int i = 1; i < WARPS; ++i) energy += warps[i];
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
