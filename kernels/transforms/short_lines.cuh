// The short axis' lines of folded.cu, a block's LINES of N values, in registers.
//
// A line's elements are shared out to threads in two ways: as pairs of neighbours, on which
// read_neighbours() and write_neighbours() call f(q, a, b), a = value 2q and b = value 2q+1,
// and as coefficients, on which coefficients() calls f(k, a). dct() leads from neighbours to
// coefficients, inverse() back.
#pragma once
#include "transforms/folded.cuh"

/// Frequency N/2 of a DCT over that of its FFT, both passes' halves left out.
constexpr real ROOT = real(1.41421356237309504880);

/// dct_pair() where frequencies 0 and N/2, each its own partner, stand for a pair too.
__device__ __forceinline__ void dct_ends(bool own, cplx w, cplx& a, cplx& b) {
    if (own) {
        a = a + a;
        b = make(ROOT * b.x, ROOT * b.y);
    } else {
        dct_pair(w, a, b);
    }
}

/// The same of idct_pair(), of cosines or of sines.
__device__ __forceinline__ void idct_ends(bool own, int sine, cplx w, cplx& a, cplx& b) {
    if (own) {
        if (sine) a = make(0, 0);
        b = make(ROOT * b.x, ROOT * b.y);
    } else {
        if (sine) reverse_pair(false, a, b);
        idct_pair(w, a, b);
    }
}

/// By block_fft.cuh, C lines a group.
template <int N, int COUNT, int C> struct GroupLine {
    static constexpr int LINES = COUNT, E = hundreds(N) ? 20 : 8, T = N / E, GROUPS = LINES / C;
    using Fft = BlockFft<N, E, C, GROUPS, false>;
    using Table = Stages<N, E>;
    static constexpr int THREADS = T * LINES, BYTES = GROUPS * Fft::BYTES;
    Place place;
    u32 lane;  // of the block's lines

    __device__ __forceinline__ explicit GroupLine(void* memory) {
        const u32 within = threadIdx.x % (T * C), group = threadIdx.x / (T * C);
        place = {within / C, within % C, group, static_cast<char*>(memory) + group * Fft::BYTES};
        lane = group * C + place.lane;
    }
    template <typename F> __device__ __forceinline__ void neighbours(cplx* v, F f) const {
        const Offset ends[2] = {place.t, N - 1 - place.t};
        Fft::neighbours(v, [&](int end, int offset, cplx& a, cplx& b) { f(ends[end] + offset, a, b); });
    }
    template <typename F> __device__ __forceinline__ void read_neighbours(cplx* v, F f) const { neighbours(v, f); }
    template <typename F> __device__ __forceinline__ void write_neighbours(cplx* v, F f) const { neighbours(v, f); }
    template <typename F> __device__ __forceinline__ void coefficients(cplx* v, F f) const {
        Fft::coefficients(v, place.t, f);
    }
    __device__ __forceinline__ void dct(cplx* v, const cplx* __restrict__ table) const { ::dct<Fft>(v, place, table); }
    __device__ __forceinline__ void inverse(cplx* v, const cplx* __restrict__ table, int sine) const {
        ::inverse<Fft>(v, place, table, sine);
    }
};

/// Lines of 100, whose 10 threads are neighbours and so read and write 10 neighbours of a
/// row at once; each takes one butterfly of radix 10 of either stage.
/// Pairs of lanes are partners, as in folded.cuh, here at both ends of the FFT: they
/// have the butterflies t and 9-t of the line's numbers, and t and 10-t of its
/// frequencies; 0 and 5, whose partners are their own, for t = 0.
///
/// (An H200, 10000 × 100 in f64: the inverse's first pass 5.1 µs with 2 lines a block, 5.4
/// with 5 or 10, 7.6 with 1; by GroupLine, staged, 5.9.)
template <int COUNT> struct HundredLine {
    static constexpr int LINES = COUNT, N = 100, E = RADIX, HALF = E / 2, T = N / E;
    using Table = Stages<N, 2 * E>;
    /// [line][position], ten and a gap.
    static constexpr int PITCH = E * (E + 1);
    static constexpr int THREADS = T * LINES, BYTES = LINES * PITCH * int(sizeof(cplx));
    cplx* memory;
    u32 lane;                    // of the block's lines
    u32 positions, frequencies;  // the thread's butterflies
    bool paired;                 // with its partner's frequencies, not its own

    __device__ __forceinline__ explicit HundredLine(void* shared) {
        const u32 t = threadIdx.x % E / 2;
        const bool second = threadIdx.x % 2;
        lane = threadIdx.x / E;
        positions = second ? E - 1 - t : t;
        frequencies = !second ? t : t ? E - t : HALF;
        paired = t != 0;
        memory = static_cast<cplx*>(shared) + lane * PITCH;
    }

    /// Element i and the partner's element 9-i are neighbours.
    template <typename F> __device__ __forceinline__ void neighbours(cplx* v, F f) const {
        const Offset first = positions;
#pragma unroll
        for (int i = 0; i < HALF; ++i) f(first + i * E, v[i], v[E - 1 - i]);
    }
    template <typename F> __device__ __forceinline__ void read_neighbours(cplx* v, F f) const {
        neighbours(v, f);
        swap_with_partner(v);
    }
    template <typename F> __device__ __forceinline__ void write_neighbours(cplx* v, F f) const {
        swap_with_partner(v);
        neighbours(v, f);
    }

    /// Elements i and 9-i are frequencies k and 100-k, or 0 and 50.
    template <typename F> __device__ __forceinline__ void coefficients(cplx* v, F f) const {
        const u32 last = frequencies ? N - frequencies : N / 2;
        f(frequencies, v[0]);
        f(last, v[E - 1]);
#pragma unroll
        for (int i = 1; i < HALF; ++i) {
            f(frequencies + i * E, v[i]);
            f(N - frequencies - i * E, v[E - 1 - i]);
        }
    }
    /// Calls f(own, w, a, b) on frequencies k and 100-k, w = e^{iπk/200}, or on 0 and 50, `own`.
    template <typename F> __device__ __forceinline__ void pairs(cplx* v, const cplx* __restrict__ table, F f) const {
        const bool near = frequencies <= HALF;
        const cplx quarter = __ldg(table + Table::QUARTER + (near ? frequencies : E - frequencies));
        const cplx w = near ? quarter : rotate<E>(conj(quarter), 1);
        f(frequencies == 0, w, v[0], v[E - 1]);
#pragma unroll
        for (int i = 1; i < HALF; ++i) f(false, rotate<E>(w, i), v[i], v[E - 1 - i]);
    }
    /// From a butterfly's elements to those of pairs, or back.
    template <bool BACK> __device__ __forceinline__ void pair_up(cplx* v) const {
        cplx own[E];
#pragma unroll
        for (int i = HALF; i < E; ++i) {
            // Frequency 0's: 10 to 40 pair up with 90 to 60, in element 9-i not 10-i; 50 comes last.
            const int before = BACK ? (i == HALF ? E - 1 : i - 1) : (i == E - 1 ? HALF : i + 1);
            own[i] = frequencies ? v[i] : v[before];
        }
        swap_with_partner(v);
#pragma unroll
        for (int i = HALF; i < E; ++i) v[i] = paired ? v[i] : own[i];
    }

    /// Both stages, from butterfly `from` to `to`.
    template <int S>
    __device__ __forceinline__ void fft(cplx* v, u32 from, u32 to, const cplx* __restrict__ table) const {
        const FoldedTwiddles<E> twiddles(table + Table::TABLE_LAST, to);
        dft<E, S>(v);
#pragma unroll
        for (int i = 0; i < E; ++i) memory[from * (E + 1) + i] = v[i];
        __syncthreads();
#pragma unroll
        for (int i = 0; i < E; ++i) v[i] = memory[i * (E + 1) + to];
        folded_stage<S>(v, twiddles);
    }
    __device__ __forceinline__ void dct(cplx* v, const cplx* __restrict__ table) const {
        fft<-1>(v, positions, frequencies, table);
        pair_up<false>(v);
        pairs(v, table, [](bool own, cplx w, cplx& a, cplx& b) { dct_ends(own, w, a, b); });
    }
    __device__ __forceinline__ void inverse(cplx* v, const cplx* __restrict__ table, int sine) const {
        pairs(v, table, [&](bool own, cplx w, cplx& a, cplx& b) { idct_ends(own, sine, w, a, b); });
        pair_up<true>(v);
        fft<1>(v, frequencies, positions, table);
    }
};
