// The long axis of folded.cu, 10000 in two passes: butterflies, exchanges, and where
// numbers stand in the map and between passes.
#pragma once
#include "fft/inputs.cuh"
#include "fft/map_lines.cuh"

constexpr int LONG = 10000, FOLD = 100, STEPS = 10;
/// The long axis' FFT, whose stages these are.
typedef Stages<LONG, 2 * STEPS> Long;

/// A block takes LANES lines, and reads and writes that many neighbours; partners, half
/// as many of a line and half of its mirror's: 64 or 160 bytes, where 80 would share
/// sectors with other blocks'.
/// (An H200, 100 × 10000 and 10000 × 100: with 16 the DCT in f64 takes 15.1 and 14.5 µs,
/// not 14.7; with 40 in f32 11.8 and 10.9, not 10.5. The last pass in f32 where y is long,
/// with 8 lines and 8, 3.3 µs, with 10 and 10 4.1.)
template <bool PARTNERS> struct FoldedBlock {
    static constexpr int LANES = PARTNERS && !F64 ? 16 : 20, THREADS = LANES * STEPS;
    static constexpr int BLOCKS = blocks(F64 ? 640 : 896, (THREADS + 31) / 32 * 32);
    /// Lines' distance in shared memory; odd where threads change places, so that either
    /// way through it meets different banks.
    template <bool TURNED> static constexpr int PITCH = TURNED ? LANES | 1 : LANES;
    static constexpr int BYTES = FOLD * PITCH<true> * int(sizeof(cplx));
};

/// 64 bits, so that constant distances are part of a load or a store.
typedef long long Offset;

/// Where element n of the long axis of a pair of rows or columns stands between passes.
template <bool Y> __device__ __forceinline__ Offset folded_at(unsigned n, unsigned pair, unsigned pairs) {
    return Y ? pair * LONG + n : n * pairs + pair;
}

/// One of the 100 lines of a pair of rows or columns, and which of its butterflies a
/// thread takes. Lanes are neighbours in memory: lines of one pair of rows, or columns'
/// of a line. PARTNERS are either of two lanes: lines l and 99-l, butterflies s and 9-s.
template <bool Y, bool PARTNERS> struct Folded {
    typedef FoldedBlock<PARTNERS> Block;
    static_assert(Y || !PARTNERS, "a pair of columns has no neighbours but its own");
    unsigned line, pair, step, lane;
    bool own;

    __device__ __forceinline__ Folded(unsigned lane, unsigned step, unsigned pairs) : step(step), lane(lane) {
        constexpr unsigned PARTS = (FOLD + Block::LANES - 1) / Block::LANES;
        const unsigned units = Y ? FOLD : FOLD * pairs;
        unsigned unit = (Y ? blockIdx.x % PARTS : blockIdx.x) * Block::LANES + lane;
        own = unit < units;
        if (!own) unit = units - 1;
        line = Y ? unit : unit / pairs;
        pair = Y ? blockIdx.x / PARTS : unit % pairs;
        if (PARTNERS) {
            line /= 2;
            if (unit % 2) {
                line = FOLD - 1 - line;
                this->step = STEPS - 1 - step;
            }
        }
    }
    /// Lanes next to each other first, or steps.
    static __device__ __forceinline__ Folded by_lanes(unsigned pairs) {
        return Folded(threadIdx.x % Block::LANES, threadIdx.x / Block::LANES, pairs);
    }
    static __device__ __forceinline__ Folded by_steps(unsigned pairs) {
        return Folded(threadIdx.x / STEPS, threadIdx.x % STEPS, pairs);
    }
    /// Its butterfly of stages one, three and four.
    __device__ __forceinline__ unsigned butterfly() const { return line + FOLD * step; }
};

/// Elements 5 to 9 change places with the partner's.
__device__ __forceinline__ void swap_with_partner(cplx* v) {
#pragma unroll
    for (int i = STEPS / 2; i < STEPS; ++i) {
        const cplx a = v[i];
        v[i] = make(__shfl_xor_sync(0xffffffffu, a.x, 1), __shfl_xor_sync(0xffffffffu, a.y, 1));
    }
}

/// Twiddles 1, 2, 4 and 8 of butterfly j after stages of total length L.
template <int L> struct FoldedTwiddles {
    cplx w[4];
    __device__ __forceinline__ FoldedTwiddles(const cplx* __restrict__ table, unsigned j) {
#pragma unroll
        for (int row = 0; row < 4; ++row) w[row] = __ldg(table + row * L + j % L);
    }
};

/// A stage of radix 10 after these.
template <int S, int L> __device__ __forceinline__ void folded_stage(cplx* v, const FoldedTwiddles<L>& twiddles) {
    cplx w[STEPS];
    powers_of<STEPS, S>(twiddles.w, w);
#pragma unroll
    for (int i = 1; i < STEPS; ++i) v[i] = v[i] * w[i];
    dft<STEPS, S>(v);
}

/// From one stage's outputs to the next one's inputs, of threads that change places if TURNED.
template <bool TURNED, typename Own>
__device__ __forceinline__ void folded_exchange(cplx* v, void* memory, const Own& from, const Own& to) {
    constexpr int PITCH = Own::Block::template PITCH<TURNED>;
    cplx* const shared = static_cast<cplx*>(memory);
    cplx* const out = shared + STEPS * from.step * PITCH + from.lane;
#pragma unroll
    for (int i = 0; i < STEPS; ++i) out[i * PITCH] = v[i];
    __syncthreads();
    const cplx* const in = shared + to.step * PITCH + to.lane;
#pragma unroll
    for (int i = 0; i < STEPS; ++i) v[i] = in[i * STEPS * PITCH];
}

/// Calls f(place, i) for two numbers of the map at a time, as many twos from its
/// beginning. Element i of butterfly j is slot q = j + 1000·i of the reordered line, which
/// is number 2q of the axis for i < 5 and 2(9999-q)+1 for others. Where the axis is x
/// the two are element i's real and imaginary part, the columns'. Where it is y they are
/// numbers 2q and 2q+1 of the even row, for i < 5: the latter is the partner's element
/// 9-i.
template <bool Y, typename F>
__device__ __forceinline__ void map_elements(const Folded<Y, Y>& own, unsigned pairs, F f) {
    const Offset j = own.butterfly();
    if constexpr (Y) {
        const Offset first = own.pair * LONG + j;
#pragma unroll
        for (int i = 0; i < STEPS / 2; ++i) f(first + i * Long::M, i);
    } else {
        const Offset first = 2 * j * pairs + own.pair, last = (2 * (LONG - 1 - j) + 1) * pairs + own.pair;
        const Offset step = 2 * Long::M * Offset(pairs);
#pragma unroll
        for (int i = 0; i < STEPS; ++i) f(i < STEPS / 2 ? first + i * step : last - i * step, i);
    }
}

/// Reads a butterfly of a map.
template <bool Y> struct ReadMap {
    const Folded<Y, Y>& own;
    cplx* v;
    unsigned pairs;

    template <typename In> __device__ __forceinline__ void operator()(const In* from) const {
        map_elements(own, pairs, [&](Offset at, int i) {
            const cplx two = two_at(from + 2 * at);
            if constexpr (Y) {
                const cplx below = two_at(from + 2 * (at + LONG / 2));
                v[i] = make(two.x, below.x);
                v[STEPS - 1 - i] = make(two.y, below.y);
            } else {
                v[i] = two;
            }
        });
        if (Y) swap_with_partner(v);
    }
};

/// Calls f(element, a) for a thread's elements a, APART from each other from `first`
/// on, with where they stand between passes.
template <bool Y, int APART, typename F>
__device__ __forceinline__ void folded_elements(cplx* v, unsigned first, unsigned pair, unsigned pairs, F f) {
    const Offset at = folded_at<Y>(first, pair, pairs), step = APART * (Y ? 1 : Offset(pairs));
#pragma unroll
    for (int i = 0; i < STEPS; ++i) f(at + i * step, v[i]);
}

/// Reads what stands between passes.
template <bool Y, bool PARTNERS>
__device__ __forceinline__ void read_folded(cplx* v, const cplx* in, const Folded<Y, PARTNERS>& own, unsigned pairs) {
    folded_elements<Y, Long::M>(v, own.butterfly(), own.pair, pairs, [&](Offset at, cplx& a) { a = in[at]; });
}

/// Stages one and two of v's line, and out. Where neighbours are along the long
/// axis, those of a line are the outputs: threads change places.
template <int S, bool Y, bool PARTNERS>
__device__ __forceinline__ void folded_first(cplx* v, cplx* __restrict__ out, const cplx* __restrict__ table,
                                             const Folded<Y, PARTNERS>& from, unsigned pairs) {
    extern __shared__ double2 memory[];
    const auto to = Y ? Folded<Y, PARTNERS>::by_steps(pairs) : from;
    dft<STEPS, S>(v);
    const FoldedTwiddles<STEPS> twiddles(table + Long::TABLE_1, to.step);
    folded_exchange<Y>(v, memory, from, to);
    folded_stage<S>(v, twiddles);
    if (!to.own) return;
    folded_elements<Y, STEPS>(v, FOLD * to.line + to.step, to.pair, pairs, [&](Offset at, cplx& a) { out[at] = a; });
}

/// Reads v's line, and stages three and four of it.
template <int S, bool Y, bool PARTNERS>
__device__ __forceinline__ void folded_last(cplx* v, const cplx* in, const cplx* __restrict__ table,
                                            const Folded<Y, PARTNERS>& own, unsigned pairs) {
    extern __shared__ double2 memory[];
    const FoldedTwiddles<FOLD> twiddles(table + Long::TABLE_2, own.line);
    read_folded(v, in, own, pairs);
    folded_stage<S>(v, twiddles);
    const FoldedTwiddles<Long::M> last_twiddles(table + Long::TABLE_LAST, own.butterfly());
    folded_exchange<false>(v, memory, own, own);
    folded_stage<S>(v, last_twiddles);
}

template <bool Y, typename In>
__device__ __forceinline__ void folded_first_forward(In in, cplx* __restrict__ out, const cplx* __restrict__ table,
                                                     unsigned pairs) {
    const auto own = Folded<Y, Y>::by_lanes(pairs);
    cplx v[STEPS];
    with_input(in, ReadMap<Y>{own, v, pairs});
    folded_first<-1>(v, out, table, own, pairs);
}

template <bool Y>
__device__ __forceinline__ void folded_first_inverse(const cplx* __restrict__ in, cplx* __restrict__ out,
                                                     const cplx* __restrict__ table, unsigned pairs) {
    const auto own = Folded<Y, false>::by_lanes(pairs);
    cplx v[STEPS];
    read_folded(v, in, own, pairs);
    folded_first<1>(v, out, table, own, pairs);
}

/// In place: a block writes what it has read.
template <bool Y>
__device__ __forceinline__ void folded_last_forward(cplx* data, const cplx* __restrict__ table, unsigned pairs) {
    const auto own = Folded<Y, false>::by_lanes(pairs);
    cplx v[STEPS];
    folded_last<-1>(v, data, table, own, pairs);
    if (!own.own) return;
    folded_elements<Y, Long::M>(v, own.butterfly(), own.pair, pairs, [&](Offset at, cplx& a) { data[at] = a; });
}

template <bool Y>
__device__ __forceinline__ void folded_last_inverse(const cplx* __restrict__ in, real* __restrict__ out,
                                                    const cplx* __restrict__ table, unsigned pairs, int sine) {
    const auto own = Folded<Y, Y>::by_lanes(pairs);
    cplx v[STEPS];
    folded_last<1>(v, in, table, own, pairs);
    if (Y) swap_with_partner(v);
    if (!own.own) return;
    // All passes leave their halves to this.
    const real even = real(0.25), odd = sine ? -even : even;
    cplx* const twos = reinterpret_cast<cplx*>(out);
    map_elements(own, pairs, [&](Offset at, int i) {
        if constexpr (Y) {
            const cplx a = v[i], b = v[STEPS - 1 - i];
            twos[at] = make(even * a.x, odd * b.x);
            twos[at + LONG / 2] = make(even * a.y, odd * b.y);
        } else {
            const real factor = i < STEPS / 2 ? even : odd;
            twos[at] = make(factor * v[i].x, factor * v[i].y);
        }
    });
}
