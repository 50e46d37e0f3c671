// One complex FFT of a line by a group of threads, the line in registers.
//
// N points, E a thread, T = N/E threads. The first and the last stage have
// radix R = E/2, two butterflies a thread, chosen so that a thread holds both
// ends of every pair its neighbours in the algorithm need:
//   first stage of a forward, last of an inverse FFT: positions p and N-1-p, the
//     two neighbours x[2p], x[2p+1] of a reordered line (Makhoul 1980);
//   last stage of a forward, first of an inverse FFT: frequencies k and N-k,
//     which the post-processing of a DCT combines.
// Element i of the first butterfly and element E-1-i of the thread's array are
// such a pair (frequencies in thread 0 pair up differently: see pairs()). So no
// exchange is needed but those between stages, which go through shared memory,
// and every access to a map is to two neighbours at once.
//
// Stages are Stockham's: both ends in natural order. A stage of radix X after
// stages of total length L takes butterfly j's inputs at j + i·N/X, multiplies them
// by powers of e^{∓2πi(j mod L)/(LX)} and leaves output i at (j/L)·L·X + j mod L + i·L.
#pragma once
#include "lines/dft.cuh"

/// Where the twiddles of a line's FFT stand in its table, and its stages: radices R, X1, X2 and R, of which X1 or X2
/// may be 1. Butterflies of the middle stages are assigned to the threads in turn, as many to each as there are in the
/// first threads: where T does not divide them, the last threads have one less to do.
///
/// After the first, each stage has, for every power 1, 2, 4, 8 below its radix,
/// e^{-2πi·power·m/(LX)} for m < L; then come e^{+iπk/2N}, k = 0…N/E.
template <int N, int E, int X_1, int X_2> struct Stages {
    static constexpr int LENGTH = N;
    static constexpr int R = E / 2;  // radix of first and last stage
    static constexpr int T = N / E;  // threads
    static constexpr int M = N / R;  // butterflies of such a stage
    static constexpr int X1 = X_1, X2 = X_2;
    static_assert(R % 2 == 0 && R * R * X1 * X2 == N && T >= 1 && (X1 > 1 || X2 == 1), "no stages for this length");

    /// Butterflies of radix X of a thread.
    static __host__ __device__ constexpr int each(int radix) { return (N / radix + T - 1) / T; }
    static __host__ __device__ constexpr int larger(int a, int b) { return a > b ? a : b; }
    /// Elements a thread has room for: more than E where they do not divide.
    static constexpr int ROOM = larger(E, larger(X1 > 1 ? each(X1) * X1 : 0, X2 > 1 ? each(X2) * X2 : 0));

    static __host__ __device__ constexpr int powers(int radix) {
        return radix > 8 ? 4 : radix > 4 ? 3 : radix > 2 ? 2 : radix > 1 ? 1 : 0;
    }
    static constexpr int TABLE_1 = 0;
    static constexpr int TABLE_2 = TABLE_1 + powers(X1) * R;
    static constexpr int TABLE_LAST = TABLE_2 + powers(X2) * R * X1;
    static constexpr int QUARTER = TABLE_LAST + powers(R) * M;
    static constexpr int TABLE = QUARTER + T + 1;
};

/// Which elements of which line a thread has: `t` of T threads, line `lane` of the C lines
/// that a group of T·C threads transforms together. (Kernels work it out where they use
/// it: returned by a function it takes registers, and rows of 2048 in f32 spill.)
struct ThreadCoord {
    u32 t, lane;
    u32 group;     // of the block's groups
    void* shared;  // the group's own BlockFft::BYTES
};

/// A pair of frequencies k and N-k of a thread. All but k and w are constants once pairs() is unrolled.
struct Frequency {
    real k;
    cplx w;             // e^{iπk/2N}
    int at, partner;    // elements of the thread's array; no partner is -1
    bool zero, middle;  // k = 0 and k = N/2 are their own partners
};

/// The values moved by one access to shared memory.
template <bool SPLIT> struct SlotOf {
    using type = cplx;
};
template <> struct SlotOf<true> {
    using type = real;
};

/// FFTs of C lines by a group of T·C threads, thread t·C + lane; GROUPS groups in a block.
///
/// SPLIT exchanges real and imaginary parts one after the other, in half the shared memory.
template <int N, int E, int X_1, int X_2, int C, int GROUPS, bool SPLIT> struct BlockFft : Stages<N, E, X_1, X_2> {
    using Table = Stages<N, E, X_1, X_2>;
    using Table::each;
    using Table::larger;
    using Table::M;
    using Table::R;
    using Table::ROOM;
    using Table::T;
    using Table::X1;
    using Table::X2;
    static constexpr int ELEMENTS = E, LINES = C, COUNT = GROUPS;

    /// Elements of one line that a wavefront of shared memory (128 bytes) serves.
    static constexpr int SLOT = SPLIT ? sizeof(real) : sizeof(cplx);
    static constexpr int AT_ONCE = (128 / SLOT) / C > 1 ? (128 / SLOT) / C : 1;

    /// The padding between two stages: L slots after every EVERY, so that
    /// lanes that write L neighbours each, L·X apart, use different banks.
    template <int L, int X> struct Pad {
        static constexpr int EVERY = (AT_ONCE + L * X - 1) / (L * X) * (L * X);
        static constexpr int SIZE = L < AT_ONCE ? L : 0;
        static __host__ __device__ __forceinline__ constexpr u32 at(u32 slot) {
            return SIZE ? slot + slot / EVERY * SIZE : slot;
        }
    };
    /// Shared memory for C lines.
    static constexpr int SLOTS =
        larger(Pad<1, R>::at(N), larger(X1 > 1 ? Pad<R, X1>::at(N) : 0, X2 > 1 ? Pad<R * X1, X2>::at(N) : 0));
    static constexpr int BYTES = SLOTS * C * SLOT;

    /// Waits for the group alone, so that one group's arithmetic overlaps with another's exchange.
    static __device__ __forceinline__ void sync(const ThreadCoord& place) {
        if constexpr (32 % (T * C) == 0) __syncwarp();
        else if constexpr (GROUPS == 1 || T * C % 32 != 0) __syncthreads();
        else asm volatile("bar.sync %0, %1;" ::"r"(place.group + 1), "n"(T * C) : "memory");
    }

    /// The second butterfly of a thread at the end with pairs k, N-k.
    static __device__ __forceinline__ u32 mirror(u32 t) { return t ? M - t : M / 2; }

    /// A thread's second butterfly, beside butterfly t, in the first and the last stage.
    struct Second {
        u32 first, last;
    };
    static __device__ __forceinline__ Second second_of(u32 t, bool inverse) {
        const u32 positions = M - 1 - t, frequencies = mirror(t);
        return inverse ? Second{frequencies, positions} : Second{positions, frequencies};
    }

    enum Kind { FIRST, LAST, PLAIN };
    /// Butterfly b of a thread in a stage of radix X.
    template <int X, Kind K> static __device__ __forceinline__ u32 butterfly(u32 t, Second second, int b) {
        if (K == PLAIN) return has<X>(t, b) ? t + b * T : 0;
        return b == 0 ? t : K == FIRST ? second.first : second.last;
    }
    /// Whether the thread has one; values computed without one are not stored.
    template <int X> static __device__ __forceinline__ bool has(u32 t, int b) {
        return N / X % T == 0 || b < each(X) - 1 || t + b * T < N / X;
    }

    template <typename Slot, int L, int X, Kind FROM>
    static __device__ __forceinline__ void addresses_from(Slot** at, const ThreadCoord& place, Second second) {
#pragma unroll
        for (int b = 0; b < each(X); ++b) {
            u32 j = butterfly<X, FROM>(place.t, second, b);
            u32 slot = Pad<L, X>::at(L == 1 ? j * X : j / L * (L * X) + j % L);
            at[b] = static_cast<Slot*>(place.shared) + (slot * C + place.lane);
        }
    }

    /// Input i of butterfly b, `at` its first, padded as Pad<L, X> does.
    template <typename Slot, int L, int X, int Y, Kind TO>
    static __device__ __forceinline__ Slot& source(Slot* const* at, const ThreadCoord& place, Second second, int b,
                                                   int i) {
        using P = Pad<L, X>;
        constexpr u32 STRIDE = N / Y;
        if constexpr (STRIDE % P::EVERY == 0) return at[b][i * int(P::at(STRIDE) * C)];
        u32 slot = P::at(butterfly<Y, TO>(place.t, second, b) + i * STRIDE);
        return static_cast<Slot*>(place.shared)[slot * C + place.lane];
    }

    /// Calls f(element, address) for all that a thread has of a stage of radix X before an exchange.
    template <int L, int X, Kind FROM, typename Slot, typename F>
    static __device__ __forceinline__ void outputs(Slot* const* from, const ThreadCoord& place, F f) {
#pragma unroll
        for (int b = 0; b < each(X); ++b)
            if (FROM != PLAIN || has<X>(place.t, b)) {
#pragma unroll
                for (int i = 0; i < X; ++i) f(b * X + i, from[b] + i * (L * C));
            }
    }

    template <int L, int X, Kind FROM, int Y, Kind TO>
    static __device__ __forceinline__ void exchange(cplx* v, const ThreadCoord& place, Second second) {
        using Slot = typename SlotOf<SPLIT>::type;
        Slot *from[each(X)], *to[each(Y)];
        addresses_from<Slot, L, X, FROM>(from, place, second);
#pragma unroll
        for (int b = 0; b < each(Y); ++b)
            to[b] = static_cast<Slot*>(place.shared) +
                    (Pad<L, X>::at(butterfly<Y, TO>(place.t, second, b)) * C + place.lane);
        // The wait for the last reader comes here, not after the reads, so that
        // the arithmetic between them overlaps with slower warps' reads.
        sync(place);
        real re[ROOM];
#pragma unroll
        for (int part = 0; part <= SPLIT; ++part) {
            if (part > 0) sync(place);
            outputs<L, X, FROM>(from, place, [&](int e, Slot* at) {
                if constexpr (SPLIT) *at = part ? v[e].y : v[e].x;
                else *at = v[e];
            });
            sync(place);
#pragma unroll
            for (int b = 0; b < each(Y); ++b)
#pragma unroll
                for (int i = 0; i < Y; ++i) {
                    const Slot in = source<Slot, L, X, Y, TO>(to, place, second, b, i);
                    if constexpr (!SPLIT) v[b * Y + i] = in;
                    else if (part == 0) re[b * Y + i] = in;
                    else v[b * Y + i] = make(re[b * Y + i], in);
                }
        }
    }

    /// Powers 1, 2, 4 and 8 of a stage's twiddles, for as many butterflies as differ in them.
    template <int L, int X, Kind K> struct Powers {
        // (Powers of radix 10 would leave no registers in f64.)
        static constexpr bool SAME = K == PLAIN && T % L == 0 && N / X % T == 0 && X != 10;
        static constexpr int COUNT = L == 1 ? 1 : SAME ? 1 : each(X);
        cplx w[COUNT][4];
        __device__ __forceinline__ void load(const cplx* __restrict__ table, u32 t, Second second) {
#pragma unroll
            for (int b = 0; b < COUNT; ++b)
#pragma unroll
                for (int row = 0; (1 << row) < X; ++row)
                    w[b][row] = __ldg(table + row * L + butterfly<X, K>(t, second, b) % L);
        }
    };

    template <int L, int X, int S, Kind K>
    static __device__ __forceinline__ void stage(cplx* v, const Powers<L, X, K>& powers) {
#pragma unroll
        for (int b = 0; b < each(X); ++b) {
            if constexpr (L == 1) dft<X, S>(v + b * X);
            else dft_with_twiddles<X, S>(v + b * X, powers.w[b < Powers<L, X, K>::COUNT ? b : 0]);
        }
    }

    /// An exchange and the stage after it, whose twiddles are loaded meanwhile.
    template <int S, int L, int X, Kind FROM, int Y, Kind TO>
    static __device__ __forceinline__ void next_stage(cplx* v, const ThreadCoord& place, Second second,
                                                      const cplx* __restrict__ table) {
        Powers<L * X, Y, TO> powers;
        powers.load(table, place.t, second);
        exchange<L, X, FROM, Y, TO>(v, place, second);
        stage<L * X, Y, S, TO>(v, powers);
    }

    /// In and out: v[i] at t + i·M, v[R + i] at the thread's other butterfly + i·M.
    template <int S>
    static __device__ __forceinline__ void run(cplx* v, const ThreadCoord& place, const cplx* __restrict__ table) {
        run_with<S>(v, place, second_of(place.t, S > 0), table);
    }
    /// Runs it with second butterflies that are known only at run time.
    template <int S>
    static __device__ __forceinline__ void run_with(cplx* v, const ThreadCoord& place, Second second,
                                                    const cplx* __restrict__ table) {
        stage<1, R, S, FIRST>(v, Powers<1, R, FIRST>());
        if constexpr (X1 == 1) {
            next_stage<S, 1, R, FIRST, R, LAST>(v, place, second, table + Table::TABLE_LAST);
        } else {
            next_stage<S, 1, R, FIRST, X1, PLAIN>(v, place, second, table + Table::TABLE_1);
            if constexpr (X2 == 1) {
                next_stage<S, R, X1, PLAIN, R, LAST>(v, place, second, table + Table::TABLE_LAST);
            } else {
                next_stage<S, R, X1, PLAIN, X2, PLAIN>(v, place, second, table + Table::TABLE_2);
                next_stage<S, R * X1, X2, PLAIN, R, LAST>(v, place, second, table + Table::TABLE_LAST);
            }
        }
    }

    /// The order of a thread's elements at the end with pairs k, N-k: that of run(), or one in which i and E-1-i are
    /// partners in thread 0 too, except i = 0: there those are frequencies 0 and N/2, their own partners.
    enum Order { NATURAL, PAIRED };
    /// The index in NATURAL order of thread 0's element i in PAIRED order.
    static __host__ __device__ constexpr int natural(int i) {
        if (i == E - 1) return R / 2;
        return 2 * i / R == 1 ? i + R : 2 * i / R == 3 ? i + 1 - R : i;
    }
    /// From the other order to this one.
    template <Order TO> static __device__ __forceinline__ void put_in_order(cplx* v, u32 t) {
        if (t != 0) return;
        cplx old[E];
#pragma unroll
        for (int i = 0; i < E; ++i) old[i] = v[i];
#pragma unroll
        for (int i = 0; i < E; ++i) v[TO == PAIRED ? i : natural(i)] = old[TO == PAIRED ? natural(i) : i];
    }

    /// Calls f(frequency, a, b) on every pair of frequencies a = v[k], b = v[N-k]
    /// of the thread; for k = 0 and N/2 b is a copy of a that is not stored.
    ///
    /// Thread 0 reorders its elements so that it diverges from its warp in one pair only:
    /// the others wait for it at the next exchange.
    template <Order IN = NATURAL, Order OUT = NATURAL, typename F>
    static __device__ __forceinline__ void pairs(cplx* v, u32 t, const cplx* __restrict__ table, F f) {
        // e^{iπM/2N} = e^{iπ/2R}.
        const cplx* const quarter = table + Table::QUARTER;
        const u32 other = t ? t : M / 2;
        const cplx w = __ldg(quarter + t), other_w = __ldg(quarter + other);
        if (IN == NATURAL) put_in_order<PAIRED>(v, t);
        if (t != 0) {
            f(Frequency{real(t), w, 0, E - 1, false, false}, v[0], v[E - 1]);
        } else {
            cplx copy = v[0];
            f(Frequency{0, make(1, 0), 0, -1, true, false}, v[0], copy);
            copy = v[E - 1];
            f(Frequency{real(N / 2), rotate<R>(make(1, 0), R / 2), E - 1, -1, false, true}, v[E - 1], copy);
        }
#pragma unroll
        for (int i = 1; i < R; ++i) {
            const bool near = i < R / 2;
            const real k = real(near ? t : other) + real(i * M);
            f(Frequency{k, rotate<R>(near ? w : other_w, i), i, E - 1 - i, false, false}, v[i], v[E - 1 - i]);
        }
        if (OUT == NATURAL) put_in_order<NATURAL>(v, t);
    }

    /// Calls f(k, offset, a) on every frequency k + offset of the thread, a = v[k + offset], in run()'s order: k is
    /// one of the two lowest, t and mirror(t), and `offset` a constant, a multiple of M.
    template <typename F> static __device__ __forceinline__ void coefficients(cplx* v, u32 t, F f) {
        const u32 second = mirror(t);
#pragma unroll
        for (int i = 0; i < R; ++i) {
            f(t, u32(i * M), v[i]);
            f(second, u32(i * M), v[R + i]);
        }
    }

    /// Calls f(end, offset, a, b) for every pair of positions a = v[q], b = v[N-1-q] of the thread, q < N/2: elements
    /// 2q and 2q+1 of the line. q is `offset`, a constant, from t (end 0) or from N-1-t (end 1), so that with an
    /// address for either end every access is at a constant distance from one.
    template <typename F> static __device__ __forceinline__ void neighbours(cplx* v, F f) {
#pragma unroll
        for (int i = 0; i < R / 2; ++i) f(0, i * M, v[i], v[E - 1 - i]);
#pragma unroll
        for (int i = R / 2; i < R; ++i) f(1, -i * M, v[E - 1 - i], v[i]);
    }
};
