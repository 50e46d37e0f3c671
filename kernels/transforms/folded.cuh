// The long axis of folded.cu, 10000 in two passes: butterflies, exchanges, and where numbers
// stand in the map and between passes.
#pragma once
#include "device/reduce.cuh"
#include "fft/inputs.cuh"
#include "fft/real_lines.cuh"
#include "fft/shapes.cuh"

constexpr int LONG = 10000, FOLD = 100, RADIX = 10;
/// The long axis' FFT: four stages of radix 10, two a pass.
using Long = Stages<LONG, 2 * RADIX>;

/// A block takes LANES lines, and reads and writes that many neighbours; where lanes are
/// partners, half as many of a line and half of its mirror image: 64 or 160 bytes, where 80
/// would share sectors with other blocks.
/// (An H200, 100 × 10000 and 10000 × 100: with 16 the DCT in f64 takes 15.1 and 14.5 µs,
/// not 14.7; with 40 in f32 11.8 and 10.9, not 10.5. The last pass in f32 where y is long,
/// with 8 lines and 8, 3.3 µs, with 10 and 10 4.1.)
template <bool PARTNERS> struct FoldedBlock {
    static constexpr int LANES = PARTNERS && !F64 ? 16 : 20, THREADS = LANES * RADIX;
    static constexpr int BLOCKS = blocks(F64 ? 640 : 896, (THREADS + 31) / 32 * 32);
    /// Distance of lines in shared memory; odd where threads change places, so that both
    /// orders of access use different banks.
    template <bool SWITCHED> static constexpr int PITCH = SWITCHED ? LANES | 1 : LANES;
    static constexpr int BYTES = FOLD * PITCH<true> * int(sizeof(cplx));
    static __host__ __device__ constexpr Shape shape() {
        return {2 * RADIX, RADIX, RADIX, LANES, THREADS, BYTES, false};
    }
};

/// 64 bits, so that constant distances are part of a load or a store.
using Offset = long long;

/// Where element n of the long axis of a pair of rows or columns stands between passes.
template <bool Y> __device__ __forceinline__ Offset folded_at(u32 n, u32 pair, u32 pairs) {
    return Y ? pair * LONG + n : n * pairs + pair;
}

/// One of the 100 lines of a pair of rows or columns, and which of its butterflies a thread
/// takes. Neighbouring lanes are neighbours in memory: lines of one pair of rows, or one line
/// of neighbouring pairs of columns. With PARTNERS every two lanes are partners: lines l and
/// 99-l, butterflies s and 9-s.
template <bool Y, bool PARTNERS> struct Folded {
    using Block = FoldedBlock<PARTNERS>;
    static_assert(Y || !PARTNERS, "a pair of columns has no neighbours but its own");
    u32 line, pair, step, lane;
    bool repeated;  // the last line once more, where a block has more than are left

    __device__ __forceinline__ Folded(u32 lane, u32 step, u32 pairs) : step(step), lane(lane) {
        constexpr u32 PARTS = (FOLD + Block::LANES - 1) / Block::LANES;
        const u32 units = Y ? FOLD : FOLD * pairs;
        u32 unit = (Y ? blockIdx.x % PARTS : blockIdx.x) * Block::LANES + lane;
        repeated = unit >= units;
        if (repeated) unit = units - 1;
        line = Y ? unit : unit / pairs;
        pair = Y ? blockIdx.x / PARTS : unit % pairs;
        if (PARTNERS) {
            line /= 2;
            if (unit % 2) {
                line = FOLD - 1 - line;
                this->step = RADIX - 1 - step;
            }
        }
    }
    /// Neighbouring threads are neighbouring lanes, or neighbouring butterflies of a lane.
    static __device__ __forceinline__ Folded by_lanes(u32 pairs) {
        return Folded(threadIdx.x % Block::LANES, threadIdx.x / Block::LANES, pairs);
    }
    static __device__ __forceinline__ Folded by_steps(u32 pairs) {
        return Folded(threadIdx.x / RADIX, threadIdx.x % RADIX, pairs);
    }
    /// Its butterfly of stages one, three and four.
    __device__ __forceinline__ u32 butterfly() const { return line + FOLD * step; }
};

/// Swaps elements 5 to 9 with the partner's.
__device__ __forceinline__ void swap_with_partner(cplx* v) {
#pragma unroll
    for (int i = RADIX / 2; i < RADIX; ++i) {
        const cplx a = v[i];
        v[i] = make(__shfl_xor_sync(ALL_LANES, a.x, 1), __shfl_xor_sync(ALL_LANES, a.y, 1));
    }
}

/// Twiddles 1, 2, 4 and 8 of butterfly j after stages of total length L.
template <int L> struct FoldedTwiddles {
    cplx w[4];
    __device__ __forceinline__ FoldedTwiddles(const cplx* __restrict__ table, u32 j) {
#pragma unroll
        for (int row = 0; row < 4; ++row) w[row] = __ldg(table + row * L + j % L);
    }
};

/// A stage of radix 10 with these twiddles.
template <int S, int L> __device__ __forceinline__ void folded_stage(cplx* v, const FoldedTwiddles<L>& twiddles) {
    cplx w[RADIX];
    powers_of<RADIX, S>(twiddles.w, w);
#pragma unroll
    for (int i = 1; i < RADIX; ++i) v[i] = v[i] * w[i];
    dft<RADIX, S>(v);
}

/// From one stage's outputs to the next one's inputs, by threads that change places if SWITCHED.
template <bool SWITCHED, typename Own>
__device__ __forceinline__ void folded_exchange(cplx* v, void* memory, const Own& from, const Own& to) {
    constexpr int PITCH = Own::Block::template PITCH<SWITCHED>;
    cplx* const shared = static_cast<cplx*>(memory);
    cplx* const out = shared + RADIX * from.step * PITCH + from.lane;
#pragma unroll
    for (int i = 0; i < RADIX; ++i) out[i * PITCH] = v[i];
    __syncthreads();
    const cplx* const in = shared + to.step * PITCH + to.lane;
#pragma unroll
    for (int i = 0; i < RADIX; ++i) v[i] = in[i * RADIX * PITCH];
}

/// Calls f(place, i) for two neighbours of the map at a time, values 2 place and 2 place + 1.
/// Element i of butterfly j is position q = j + 1000·i of the reordered line, which is value 2q of
/// the axis for i < 5 and 2(9999-q)+1 for others. Where the axis is x the two neighbours are
/// element i's real and imaginary part, of two columns. Where it is y they are values 2q and
/// 2q+1 of the even row, for i < 5: the latter is the partner's element 9-i.
template <bool Y, typename F> __device__ __forceinline__ void map_elements(const Folded<Y, Y>& own, u32 pairs, F f) {
    const Offset j = own.butterfly();
    if constexpr (Y) {
        const Offset first = own.pair * LONG + j;
#pragma unroll
        for (int i = 0; i < RADIX / 2; ++i) f(first + i * Long::M, i);
    } else {
        const Offset first = 2 * j * pairs + own.pair, last = (2 * (LONG - 1 - j) + 1) * pairs + own.pair;
        const Offset step = 2 * Long::M * Offset(pairs);
#pragma unroll
        for (int i = 0; i < RADIX; ++i) f(i < RADIX / 2 ? first + i * step : last - i * step, i);
    }
}

/// Reads a butterfly of a map.
template <bool Y> struct ReadMap {
    const Folded<Y, Y>& own;
    cplx* v;
    u32 pairs;

    template <typename In> __device__ __forceinline__ void operator()(const In* from) const {
        map_elements(own, pairs, [&](Offset at, int i) {
            const cplx two = as_cplx(twos(from)[at]);
            if constexpr (Y) {
                const cplx below = as_cplx(twos(from)[at + LONG / 2]);
                v[i] = make(two.x, below.x);
                v[RADIX - 1 - i] = make(two.y, below.y);
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
__device__ __forceinline__ void folded_elements(cplx* v, u32 first, u32 pair, u32 pairs, F f) {
    const Offset at = folded_at<Y>(first, pair, pairs), step = APART * (Y ? 1 : Offset(pairs));
#pragma unroll
    for (int i = 0; i < RADIX; ++i) f(at + i * step, v[i]);
}

/// Reads what a pass has left for the next one.
template <bool Y, bool PARTNERS>
__device__ __forceinline__ void read_folded(cplx* v, const cplx* in, const Folded<Y, PARTNERS>& own, u32 pairs) {
    folded_elements<Y, Long::M>(v, own.butterfly(), own.pair, pairs, [&](Offset at, cplx& a) { a = in[at]; });
}

/// Stages one and two of v's line, and stores it. Where neighbours are along the long axis,
/// the outputs of a line are neighbours, so threads change places between the stages.
template <int S, bool Y, bool PARTNERS>
__device__ __forceinline__ void folded_first(cplx* v, cplx* __restrict__ out, const cplx* __restrict__ table,
                                             const Folded<Y, PARTNERS>& from, u32 pairs) {
    extern __shared__ double2 memory[];
    const auto to = Y ? Folded<Y, PARTNERS>::by_steps(pairs) : from;
    dft<RADIX, S>(v);
    const FoldedTwiddles<RADIX> twiddles(table + Long::TABLE_1, to.step);
    folded_exchange<Y>(v, memory, from, to);
    folded_stage<S>(v, twiddles);
    if (to.repeated) return;
    folded_elements<Y, RADIX>(v, FOLD * to.line + to.step, to.pair, pairs, [&](Offset at, cplx& a) { out[at] = a; });
}

/// Loads v's line, and stages three and four of it.
template <int S, bool Y, bool PARTNERS>
__device__ __forceinline__ void folded_last(cplx* v, const cplx* in, const cplx* __restrict__ table,
                                            const Folded<Y, PARTNERS>& own, u32 pairs) {
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
                                                     u32 pairs) {
    const auto own = Folded<Y, Y>::by_lanes(pairs);
    cplx v[RADIX];
    with_input(in, ReadMap<Y>{own, v, pairs});
    folded_first<-1>(v, out, table, own, pairs);
}

template <bool Y>
__device__ __forceinline__ void folded_first_inverse(const cplx* __restrict__ in, cplx* __restrict__ out,
                                                     const cplx* __restrict__ table, u32 pairs) {
    const auto own = Folded<Y, false>::by_lanes(pairs);
    cplx v[RADIX];
    read_folded(v, in, own, pairs);
    folded_first<1>(v, out, table, own, pairs);
}

/// In place: a block writes what it has read.
template <bool Y>
__device__ __forceinline__ void folded_last_forward(cplx* data, const cplx* __restrict__ table, u32 pairs) {
    const auto own = Folded<Y, false>::by_lanes(pairs);
    cplx v[RADIX];
    folded_last<-1>(v, data, table, own, pairs);
    if (own.repeated) return;
    folded_elements<Y, Long::M>(v, own.butterfly(), own.pair, pairs, [&](Offset at, cplx& a) { data[at] = a; });
}

template <bool Y>
__device__ __forceinline__ void folded_last_inverse(const cplx* __restrict__ in, real* __restrict__ out,
                                                    const cplx* __restrict__ table, u32 pairs, int sine) {
    const auto own = Folded<Y, Y>::by_lanes(pairs);
    cplx v[RADIX];
    folded_last<1>(v, in, table, own, pairs);
    if (Y) swap_with_partner(v);
    if (own.repeated) return;
    // The halves of all passes.
    const real even = real(0.25), odd = sine ? -even : even;
    cplx* const map = reinterpret_cast<cplx*>(out);
    map_elements(own, pairs, [&](Offset at, int i) {
        if constexpr (Y) {
            const cplx a = v[i], b = v[RADIX - 1 - i];
            map[at] = make(even * a.x, odd * b.x);
            map[at + LONG / 2] = make(even * a.y, odd * b.y);
        } else {
            const real factor = i < RADIX / 2 ? even : odd;
            map[at] = make(factor * v[i].x, factor * v[i].y);
        }
    });
}
