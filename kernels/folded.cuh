// The long axis of folded.cu, 10000 in two passes: butterflies, exchanges, and where
// numbers stand in the map and between passes.
#pragma once
#include "inputs.cuh"
#include "map_lines.cuh"

constexpr int LONG = 10000, FOLD = 100, STEPS = 10;
/// The long axis' FFT, whose stages and neighbours these are.
typedef BlockFft<LONG, 2 * STEPS, 1, 1, false> Long;
typedef Stages<LONG, 2 * STEPS> LongStages;

/// Pairs of lines of a block, which reads and writes that many neighbours, 160 bytes
/// (an H200, 100 × 10000: 15.4 µs for the DCT in f64 and 12.2 in f32, 16.1 and 13.0 with
/// 20 and 10), and their distance in shared memory, odd so that either way through it
/// meets different banks.
constexpr int UNITS = F64 ? 10 : 20, PITCH = UNITS | 1;
constexpr int FOLDED_THREADS = UNITS * STEPS;
constexpr int FOLDED_BLOCKS = blocks(F64 ? 384 : 640, (FOLDED_THREADS + 31) / 32 * 32);
constexpr int FOLDED_BYTES = 2 * FOLD * PITCH * int(sizeof(cplx));

/// 64 bits, so that constant distances are part of a load or a store.
typedef long long Offset;

/// Where element n of the long axis of a pair of rows or columns stands between passes.
template <bool Y> __device__ __forceinline__ Offset folded_at(unsigned n, unsigned pair, unsigned pairs) {
    return Y ? pair * LONG + n : n * pairs + pair;
}

/// The lines `line` and 99 - line of a pair of rows or columns, and which of their
/// butterflies a thread takes, `step` and 9 - step.
template <bool Y> struct Folded {
    unsigned line, pair, step, lane;
    bool own;

    /// Lanes are neighbours in memory.
    __device__ __forceinline__ Folded(unsigned lane, unsigned step, unsigned pairs) : step(step), lane(lane) {
        unsigned unit = blockIdx.x * UNITS + lane;
        own = unit < FOLD / 2 * pairs;
        if (!own) unit = FOLD / 2 * pairs - 1;
        line = Y ? unit % (FOLD / 2) : unit / pairs;
        pair = Y ? unit / (FOLD / 2) : unit % pairs;
    }
    /// The first of its two butterflies of stages one, three and four.
    __device__ __forceinline__ unsigned butterfly() const { return line + FOLD * step; }
};

/// The other butterfly.
__device__ __forceinline__ Long::Second mirrored(unsigned j) { return {Long::M - 1 - j, 0}; }

/// A stage of radix 10 after stages of total length L.
template <int L, int S>
__device__ __forceinline__ void folded_stage(cplx* v, const Long::Powers<L, STEPS, Long::FIRST>& powers) {
    Long::stage<L, STEPS, S, Long::FIRST>(v, powers);
}

/// From one stage's outputs to the next one's inputs.
template <bool Y>
__device__ __forceinline__ void folded_exchange(cplx* v, void* memory, const Folded<Y>& from, const Folded<Y>& to) {
    cplx* const shared = static_cast<cplx*>(memory);
    cplx* const out = shared + STEPS * from.step * PITCH + from.lane;
    cplx* const out_mirrored = shared + (FOLD + STEPS * (STEPS - 1 - from.step)) * PITCH + from.lane;
#pragma unroll
    for (int i = 0; i < STEPS; ++i) {
        out[i * PITCH] = v[i];
        out_mirrored[i * PITCH] = v[STEPS + i];
    }
    __syncthreads();
    const cplx* const in = shared + to.step * PITCH + to.lane;
    const cplx* const in_mirrored = shared + (FOLD + STEPS - 1 - to.step) * PITCH + to.lane;
#pragma unroll
    for (int i = 0; i < STEPS; ++i) {
        v[i] = in[i * STEPS * PITCH];
        v[STEPS + i] = in_mirrored[i * STEPS * PITCH];
    }
}

/// Calls f(first, next, a, b) for a thread's neighbours a and b along the long axis:
/// the places of two numbers of the map each, as many twos from its beginning. Where
/// the long axis is x those are a's and b's, the columns' or their real and imaginary
/// parts; else the even and the odd row's, of a and b.
template <bool Y, typename F>
__device__ __forceinline__ void map_neighbours(cplx* v, const Folded<Y>& own, unsigned pairs, F f) {
    const Offset j = own.butterfly(), step = Y ? 1 : 2 * pairs, next = Y ? LONG / 2 : pairs;
    const Offset first = Y ? own.pair * LONG : own.pair;
    const Offset ends[2] = {first + j * step, first + (LONG - 1 - j) * step};
    Long::neighbours(v, [&](int end, int offset, cplx& a, cplx& b) {
        const Offset at = ends[end] + offset * step;
        f(at, at + next, a, b);
    });
}

/// Reads neighbours along the long axis of a map.
template <bool Y> struct ReadMap {
    const Folded<Y>& own;
    cplx* v;
    unsigned pairs;

    template <typename In> __device__ __forceinline__ void operator()(const In* from) const {
        map_neighbours(v, own, pairs, [&](Offset first, Offset next, cplx& a, cplx& b) {
            const cplx x = two_at(from + 2 * first), y = two_at(from + 2 * next);
            a = Y ? make(x.x, y.x) : x;
            b = Y ? make(x.y, y.y) : y;
        });
    }
};

/// Calls f(element, a) for a thread's elements a, APART from each other from `first`
/// and `second` on, with where they stand between passes.
template <bool Y, int APART, typename F>
__device__ __forceinline__ void folded_elements(cplx* v, unsigned first, unsigned second, unsigned pair, unsigned pairs, F f) {
    const Offset at = folded_at<Y>(first, pair, pairs), second_at = folded_at<Y>(second, pair, pairs);
    const Offset step = APART * (Y ? 1 : pairs);
#pragma unroll
    for (int i = 0; i < STEPS; ++i) {
        f(at + i * step, v[i]);
        f(second_at + i * step, v[STEPS + i]);
    }
}

/// Reads what stands between passes.
template <bool Y>
__device__ __forceinline__ void read_folded(cplx* v, const cplx* in, const Folded<Y>& own, unsigned pairs) {
    const unsigned j = own.butterfly();
    folded_elements<Y, Long::M>(v, j, Long::M - 1 - j, own.pair, pairs, [&](Offset at, cplx& a) { a = in[at]; });
}

/// Stages one and two of v's lines, and out. Where neighbours are along the long
/// axis, those of a line are the outputs: threads change places.
template <bool Y, int S>
__device__ __forceinline__ void folded_first(cplx* v, cplx* __restrict__ out, const cplx* __restrict__ table,
                                             const Folded<Y>& from, unsigned pairs) {
    extern __shared__ double2 memory[];
    const Folded<Y> to = Y ? Folded<Y>(threadIdx.x / STEPS, threadIdx.x % STEPS, pairs) : from;
    folded_stage<1, S>(v, Long::Powers<1, STEPS, Long::FIRST>());
    const unsigned j = STEPS * to.line + to.step;
    Long::Powers<STEPS, STEPS, Long::FIRST> powers;
    powers.load(table + LongStages::TABLE_1, j, mirrored(j));
    folded_exchange(v, memory, from, to);
    folded_stage<STEPS, S>(v, powers);
    if (!to.own) return;
    const unsigned first = FOLD * to.line + to.step, second = LONG - 1 - FOLD * to.line - (FOLD - STEPS) - to.step;
    folded_elements<Y, STEPS>(v, first, second, to.pair, pairs, [&](Offset at, cplx& a) { out[at] = a; });
}

/// Reads v's lines, and stages three and four of them.
template <bool Y, int S>
__device__ __forceinline__ void folded_last(cplx* v, const cplx* in, const cplx* __restrict__ table,
                                            const Folded<Y>& own, unsigned pairs) {
    extern __shared__ double2 memory[];
    const unsigned j = own.butterfly();
    Long::Powers<FOLD, STEPS, Long::FIRST> powers;
    powers.load(table + LongStages::TABLE_2, j, mirrored(j));
    read_folded(v, in, own, pairs);
    folded_stage<FOLD, S>(v, powers);
    Long::Powers<Long::M, STEPS, Long::FIRST> last_powers;
    last_powers.load(table + LongStages::TABLE_LAST, j, mirrored(j));
    folded_exchange(v, memory, own, own);
    folded_stage<Long::M, S>(v, last_powers);
}

template <bool Y> __device__ __forceinline__ Folded<Y> folded_place(unsigned pairs) {
    return Folded<Y>(threadIdx.x % UNITS, threadIdx.x / UNITS, pairs);
}

template <bool Y, typename In>
__device__ __forceinline__ void folded_first_forward(In in, cplx* __restrict__ out, const cplx* __restrict__ table,
                                                     unsigned pairs) {
    const Folded<Y> own = folded_place<Y>(pairs);
    cplx v[2 * STEPS];
    with_input(in, ReadMap<Y>{own, v, pairs});
    folded_first<Y, -1>(v, out, table, own, pairs);
}

template <bool Y>
__device__ __forceinline__ void folded_first_inverse(const cplx* __restrict__ in, cplx* __restrict__ out,
                                                     const cplx* __restrict__ table, unsigned pairs) {
    const Folded<Y> own = folded_place<Y>(pairs);
    cplx v[2 * STEPS];
    read_folded(v, in, own, pairs);
    folded_first<Y, 1>(v, out, table, own, pairs);
}

/// In place: a block writes what it has read.
template <bool Y>
__device__ __forceinline__ void folded_last_forward(cplx* data, const cplx* __restrict__ table, unsigned pairs) {
    const Folded<Y> own = folded_place<Y>(pairs);
    cplx v[2 * STEPS];
    folded_last<Y, -1>(v, data, table, own, pairs);
    if (!own.own) return;
    const unsigned j = own.butterfly();
    folded_elements<Y, Long::M>(v, j, Long::M - 1 - j, own.pair, pairs, [&](Offset at, cplx& a) { data[at] = a; });
}

template <bool Y>
__device__ __forceinline__ void folded_last_inverse(const cplx* __restrict__ in, real* __restrict__ out,
                                                    const cplx* __restrict__ table, unsigned pairs, int sine) {
    const Folded<Y> own = folded_place<Y>(pairs);
    cplx v[2 * STEPS];
    folded_last<Y, 1>(v, in, table, own, pairs);
    if (!own.own) return;
    // All passes leave their halves to this.
    const real even = real(0.25), odd = sine ? -even : even;
    cplx* const twos = reinterpret_cast<cplx*>(out);
    map_neighbours(v, own, pairs, [&](Offset first, Offset next, cplx& a, cplx& b) {
        twos[first] = Y ? make(even * a.x, odd * b.x) : make(even * a.x, even * a.y);
        twos[next] = Y ? make(even * a.y, odd * b.y) : make(odd * b.x, odd * b.y);
    });
}
