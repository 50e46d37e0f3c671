// One complex FFT of a line by a group of threads, the line in registers.
//
// N points, E a thread, T = N/E threads. The first and the last stage have
// radix R = E/2, two butterflies a thread, chosen so that a thread holds both
// ends of every pair its neighbours in the algorithm need:
//   first stage of a forward, last of an inverse FFT: slots p and N-1-p, the
//     two neighbours x[2p], x[2p+1] of a reordered line (Makhoul 1980);
//   last stage of a forward, first of an inverse FFT: frequencies k and N-k,
//     which the twiddling of a DCT combines.
// Element i of the first butterfly and element E-1-i of the thread's array are
// such a pair (frequencies in thread 0 pair up differently: see pairs()). So no
// exchange is needed but those between stages, which go through shared memory,
// and every access to a map is to two neighbours at once.
//
// Stages are Stockham's: both ends in natural order. A stage of radix X after
// stages of total length L takes butterfly j's inputs at j + i·N/X, turns them
// by e^{∓2πi(j mod L)/(LX)} and leaves output i at (j/L)·L·X + j mod L + i·L.
#pragma once
#include "device/common.cuh"

/// cos(πi/32), i = 0…16, a constant once i is.
__device__ __forceinline__ constexpr double cos_32(int i) {
    return i == 0    ? 1.0
           : i == 1  ? 0.99518472667219688624
           : i == 2  ? 0.98078528040323044913
           : i == 3  ? 0.95694033573220886494
           : i == 4  ? 0.92387953251128675613
           : i == 5  ? 0.88192126434835502971
           : i == 6  ? 0.83146961230254523708
           : i == 7  ? 0.77301045336273696081
           : i == 8  ? 0.70710678118654752440
           : i == 9  ? 0.63439328416364549822
           : i == 10 ? 0.55557023301960222474
           : i == 11 ? 0.47139673682599764856
           : i == 12 ? 0.38268343236508977173
           : i == 13 ? 0.29028467725446236764
           : i == 14 ? 0.19509032201612826785
           : i == 15 ? 0.09801714032956060199
                     : 0.0;
}

/// cos(πi/20), i = 0…10, a constant once i is.
__device__ __forceinline__ constexpr double cos_20(int i) {
    return i == 0    ? 1.0
           : i == 1  ? 0.98768834059513772619
           : i == 2  ? 0.95105651629515357212
           : i == 3  ? 0.89100652418836786236
           : i == 4  ? 0.80901699437494742410
           : i == 5  ? 0.70710678118654752440
           : i == 6  ? 0.58778525229247312917
           : i == 7  ? 0.45399049973954679156
           : i == 8  ? 0.30901699437494742410
           : i == 9  ? 0.15643446504023086901
                     : 0.0;
}

/// Multiplies by e^{iπn/2R}, 0 <= n <= R, for R = 10 or a divisor of 16.
template <int R> __device__ __forceinline__ cplx turn(cplx a, int n) {
    if (n == 0) return a;
    if (n == R) return make(-a.y, a.x);
    if (R == 10) return a * make(real(cos_20(n)), real(cos_20(10 - n)));
    return a * make(real(cos_32(n * (16 / R))), real(cos_32(16 - n * (16 / R))));
}

/// Multiplies by S·i.
template <int S> __device__ __forceinline__ cplx quarter(cplx a) {
    return S > 0 ? make(-a.y, a.x) : make(a.y, -a.x);
}

/// DFTs of 2, 4, 5, 8, 10 and 16 points in place, exponent of sign S.
template <int S> __device__ __forceinline__ void dft2(cplx& a, cplx& b) {
    cplx t = a;
    a = t + b;
    b = t - b;
}

template <int S> __device__ __forceinline__ void dft4(cplx& v0, cplx& v1, cplx& v2, cplx& v3) {
    cplx a = v0 + v2, b = v0 - v2, c = v1 + v3, d = quarter<S>(v1 - v3);
    v0 = a + c;
    v2 = a - c;
    v1 = b + d;
    v3 = b - d;
}

template <int S> __device__ __forceinline__ void dft5(cplx& v0, cplx& v1, cplx& v2, cplx& v3, cplx& v4) {
    const real c1 = real(cos_20(8)), c2 = real(-cos_20(4)), s1 = real(cos_20(2)), s2 = real(cos_20(6));
    const cplx a = v1 + v4, b = v2 + v3, c = v1 - v4, d = v2 - v3;
    const cplx e = make(v0.x + c1 * a.x + c2 * b.x, v0.y + c1 * a.y + c2 * b.y);
    const cplx f = make(v0.x + c2 * a.x + c1 * b.x, v0.y + c2 * a.y + c1 * b.y);
    const cplx g = quarter<S>(make(s1 * c.x + s2 * d.x, s1 * c.y + s2 * d.y));
    const cplx h = quarter<S>(make(s2 * c.x - s1 * d.x, s2 * c.y - s1 * d.y));
    v0 = v0 + a + b;
    v1 = e + g;
    v4 = e - g;
    v2 = f + h;
    v3 = f - h;
}

/// 2 and 5 have no common divisor: with element 5a + 2b and output 5c + 6d (mod 10)
/// there is no twiddle between DFTs of 5 over b and of 2 over a (Good 1958).
template <int S> __device__ __forceinline__ void dft10(cplx* v) {
    dft5<S>(v[0], v[2], v[4], v[6], v[8]);
    dft5<S>(v[5], v[7], v[9], v[1], v[3]);
    const cplx a0 = v[0], a1 = v[2], a2 = v[4], a3 = v[6], a4 = v[8];
    const cplx b0 = v[5], b1 = v[7], b2 = v[9], b3 = v[1], b4 = v[3];
    v[0] = a0 + b0;
    v[5] = a0 - b0;
    v[6] = a1 + b1;
    v[1] = a1 - b1;
    v[2] = a2 + b2;
    v[7] = a2 - b2;
    v[8] = a3 + b3;
    v[3] = a3 - b3;
    v[4] = a4 + b4;
    v[9] = a4 - b4;
}

template <int S> __device__ __forceinline__ void dft8(cplx* v) {
    const real h = real(0.70710678118654752440);
    dft4<S>(v[0], v[2], v[4], v[6]);
    dft4<S>(v[1], v[3], v[5], v[7]);
    cplx a = v[3], b = v[7], c = v[5];
    a = make(h * (a.x - S * a.y), h * (a.y + S * a.x));
    b = make(-h * (b.x + S * b.y), h * (S * b.x - b.y));
    c = quarter<S>(c);
    cplx e0 = v[0], e1 = v[2], e2 = v[4], e3 = v[6], o = v[1];
    v[0] = e0 + o;
    v[4] = e0 - o;
    v[1] = e1 + a;
    v[5] = e1 - a;
    v[2] = e2 + c;
    v[6] = e2 - c;
    v[3] = e3 + b;
    v[7] = e3 - b;
}

template <int S> __device__ __forceinline__ void dft16(cplx* v) {
#pragma unroll
    for (int r = 0; r < 4; ++r) dft4<S>(v[r], v[r + 4], v[r + 8], v[r + 12]);
    const real c1 = real(cos_32(4)), s1 = real(S * cos_32(12)), h = real(cos_32(8));
    // Element r + 4q is turned by e^{S·2πi·rq/16}.
    v[5] = v[5] * make(c1, s1);
    v[9] = make(h * (v[9].x - S * v[9].y), h * (v[9].y + S * v[9].x));
    v[13] = v[13] * make(real(cos_32(12)), real(S * cos_32(4)));
    v[6] = make(h * (v[6].x - S * v[6].y), h * (v[6].y + S * v[6].x));
    v[10] = quarter<S>(v[10]);
    v[14] = make(-h * (v[14].x + S * v[14].y), h * (S * v[14].x - v[14].y));
    v[7] = v[7] * make(real(cos_32(12)), real(S * cos_32(4)));
    v[11] = make(-h * (v[11].x + S * v[11].y), h * (S * v[11].x - v[11].y));
    v[15] = v[15] * make(-c1, -s1);
#pragma unroll
    for (int q = 0; q < 4; ++q) dft4<S>(v[4 * q], v[4 * q + 1], v[4 * q + 2], v[4 * q + 3]);
    // Output q + 4p now stands at 4q + p.
#pragma unroll
    for (int q = 0; q < 4; ++q)
#pragma unroll
        for (int p = q + 1; p < 4; ++p) {
            cplx t = v[4 * q + p];
            v[4 * q + p] = v[4 * p + q];
            v[4 * p + q] = t;
        }
}

template <int X, int S> __device__ __forceinline__ void dft(cplx* v) {
    if constexpr (X == 2) dft2<S>(v[0], v[1]);
    else if constexpr (X == 4) dft4<S>(v[0], v[1], v[2], v[3]);
    else if constexpr (X == 5) dft5<S>(v[0], v[1], v[2], v[3], v[4]);
    else if constexpr (X == 8) dft8<S>(v);
    else if constexpr (X == 10) dft10<S>(v);
    else dft16<S>(v);
}

/// The twiddles of a stage of radix X, w[1] to w[X-1], from a table's powers 1, 2, 4 and 8.
template <int X, int S> __device__ __forceinline__ void powers_of(const cplx* table, cplx* w) {
#pragma unroll
    for (int p = 1, row = 0; p < X; p *= 2, ++row) w[p] = S > 0 ? conj(table[row]) : table[row];
#pragma unroll
    for (int p = 3; p < X; ++p) {
        int high = p >= 8 ? 8 : p >= 4 ? 4 : 2;
        if (p != high) w[p] = w[high] * w[p - high];
    }
}

/// Where the twiddles of a line's FFT stand in its table, and its stages.
///
/// After the first, each stage has, for every power 1, 2, 4, 8 below its radix,
/// e^{-2πi·power·m/(LX)} for m < L; then come e^{+iπk/2N}, k = 0…N/E.
template <int N, int E> struct Stages {
    static constexpr int R = E / 2;        // radix of first and last stage
    static constexpr int T = N / E;        // threads
    static constexpr int M = N / R;        // butterflies of such a stage
    static constexpr int MIDDLE = N / (R * R);
    static constexpr int X1 = R == 10 ? (MIDDLE <= 10 ? MIDDLE : MIDDLE == 25 ? 5 : 10)
                                      : MIDDLE <= (E < 16 ? E : 16) ? MIDDLE : MIDDLE >= 128 ? 16 : 8;
    static constexpr int X2 = MIDDLE / X1;
    static_assert(R * R * X1 * X2 == N && X2 <= 16 && E % X1 == 0 && E % X2 == 0 && T >= 1, "no stages for this length");

    static __host__ __device__ constexpr int powers(int radix) { return radix > 8 ? 4 : radix > 4 ? 3 : radix > 2 ? 2 : radix > 1 ? 1 : 0; }
    static constexpr int TABLE_1 = 0;
    static constexpr int TABLE_2 = TABLE_1 + powers(X1) * R;
    static constexpr int TABLE_LAST = TABLE_2 + powers(X2) * R * X1;
    static constexpr int QUARTER = TABLE_LAST + powers(R) * M;
    static constexpr int TABLE = QUARTER + T + 1;
};

/// Which elements of which line a thread has: `t` of T threads, line `lane` of
/// the C lines that a group of T·C threads transforms together.
struct Place {
    unsigned t, lane;
    unsigned group;  // of the block's groups
    void* shared;    // the group's own BlockFft::BYTES
};

/// A pair of frequencies k and N-k of a thread. What it knows of them is a
/// constant once pairs() is unrolled.
struct Frequency {
    real k;
    cplx w;             // e^{iπk/2N}
    int at, partner;    // elements of the thread's array; no partner is -1
    bool zero, middle;  // k = 0 and k = N/2 are their own partners
};

/// What goes through shared memory at once.
template <bool SPLIT> struct SlotOf { typedef cplx type; };
template <> struct SlotOf<true> { typedef real type; };

/// FFTs of C lines by a group of T·C threads, thread t·C + lane; GROUPS groups in a block.
///
/// SPLIT sends real and imaginary parts through shared memory one after the
/// other, in half the room.
template <int N, int E, int C, int GROUPS, bool SPLIT> struct BlockFft : Stages<N, E> {
    using Stages<N, E>::R;
    using Stages<N, E>::T;
    using Stages<N, E>::M;
    using Stages<N, E>::X1;
    using Stages<N, E>::X2;

    /// Lanes that shared memory serves at once, by elements of one line.
    static constexpr int SLOT = SPLIT ? sizeof(real) : sizeof(cplx);
    static constexpr int AT_ONCE = (128 / SLOT) / C > 1 ? (128 / SLOT) / C : 1;

    /// The padding between two stages: L slots after every `every`, so that
    /// lanes that write L neighbours each, L·X apart, meet different banks.
    template <int L, int X> struct Pad {
        static constexpr int every = (AT_ONCE + L * X - 1) / (L * X) * (L * X);
        static constexpr int size = L < AT_ONCE ? L : 0;
        static __host__ __device__ __forceinline__ constexpr unsigned at(unsigned slot) { return size ? slot + slot / every * size : slot; }
    };
    static __host__ __device__ constexpr int larger(int a, int b) { return a > b ? a : b; }
    /// Shared memory for C lines.
    static constexpr int SLOTS = larger(Pad<1, R>::at(N), larger(X1 > 1 ? Pad<R, X1>::at(N) : 0, X2 > 1 ? Pad<R * X1, X2>::at(N) : 0));
    static constexpr int BYTES = SLOTS * C * SLOT;

    /// Waits for the group. Groups go their own ways: one's arithmetic overlaps
    /// with another's exchange.
    static __device__ __forceinline__ void sync(const Place& place) {
        if constexpr (32 % (T * C) == 0) __syncwarp();
        else if constexpr (GROUPS == 1 || T * C % 32 != 0) __syncthreads();
        else asm volatile("bar.sync %0, %1;" ::"r"(place.group + 1), "n"(T * C) : "memory");
    }

    /// The second butterfly of a thread at the end with pairs k, N-k.
    static __device__ __forceinline__ unsigned mirror(unsigned t) { return t ? M - t : M / 2; }

    /// A thread's second butterfly, beside butterfly t, in the first and the last stage.
    struct Second { unsigned first, last; };
    static __device__ __forceinline__ Second second_of(unsigned t, bool inverse) {
        const unsigned slots = M - 1 - t, frequencies = mirror(t);
        return inverse ? Second{frequencies, slots} : Second{slots, frequencies};
    }

    enum Kind { FIRST, LAST, PLAIN };
    template <Kind K> static __device__ __forceinline__ unsigned butterfly(unsigned t, Second second, int b) {
        if (K == PLAIN) return t + b * T;
        return b == 0 ? t : K == FIRST ? second.first : second.last;
    }

    template <typename Slot, int L, int X, Kind FROM>
    static __device__ __forceinline__ void addresses_from(Slot** at, const Place& place, Second second) {
#pragma unroll
        for (int b = 0; b < E / X; ++b) {
            unsigned j = butterfly<FROM>(place.t, second, b);
            unsigned slot = Pad<L, X>::at(L == 1 ? j * X : j / L * (L * X) + j % L);
            at[b] = static_cast<Slot*>(place.shared) + (slot * C + place.lane);
        }
    }

    /// Input i of butterfly b, `at` its first, padded as Pad<L, X> does.
    template <typename Slot, int L, int X, int Y, Kind TO>
    static __device__ __forceinline__ Slot& source(Slot* const* at, const Place& place, Second second, int b, int i) {
        typedef Pad<L, X> P;
        constexpr unsigned stride = N / Y;
        if constexpr (stride % P::every == 0) return at[b][i * int(P::at(stride) * C)];
        unsigned slot = P::at(butterfly<TO>(place.t, second, b) + i * stride);
        return static_cast<Slot*>(place.shared)[slot * C + place.lane];
    }

    template <int L, int X, Kind FROM, int Y, Kind TO>
    static __device__ __forceinline__ void exchange(cplx* v, const Place& place, Second second) {
        typedef typename SlotOf<SPLIT>::type Slot;
        Slot *from[E / X], *to[E / Y];
        addresses_from<Slot, L, X, FROM>(from, place, second);
#pragma unroll
        for (int b = 0; b < E / Y; ++b)
            to[b] = static_cast<Slot*>(place.shared) + (Pad<L, X>::at(butterfly<TO>(place.t, second, b)) * C + place.lane);
        // The wait for the last reader comes here, not after the reads, so that
        // the arithmetic between them overlaps with slower warps' reads.
        sync(place);
        if constexpr (SPLIT) {
#pragma unroll
            for (int b = 0; b < E / X; ++b)
#pragma unroll
                for (int i = 0; i < X; ++i) from[b][i * (L * C)] = v[b * X + i].x;
            sync(place);
            real re[E];
#pragma unroll
            for (int b = 0; b < E / Y; ++b)
#pragma unroll
                for (int i = 0; i < Y; ++i) re[b * Y + i] = source<Slot, L, X, Y, TO>(to, place, second, b, i);
            sync(place);
#pragma unroll
            for (int b = 0; b < E / X; ++b)
#pragma unroll
                for (int i = 0; i < X; ++i) from[b][i * (L * C)] = v[b * X + i].y;
            sync(place);
#pragma unroll
            for (int b = 0; b < E / Y; ++b)
#pragma unroll
                for (int i = 0; i < Y; ++i)
                    v[b * Y + i] = make(re[b * Y + i], source<Slot, L, X, Y, TO>(to, place, second, b, i));
        } else {
#pragma unroll
            for (int b = 0; b < E / X; ++b)
#pragma unroll
                for (int i = 0; i < X; ++i) from[b][i * (L * C)] = v[b * X + i];
            sync(place);
#pragma unroll
            for (int b = 0; b < E / Y; ++b)
#pragma unroll
                for (int i = 0; i < Y; ++i) v[b * Y + i] = source<Slot, L, X, Y, TO>(to, place, second, b, i);
        }
    }

    /// Powers 1, 2, 4 and 8 of a stage's twiddles, for as many butterflies as differ in them.
    template <int L, int X, Kind K> struct Powers {
        // (Powers of radix 10 would leave no registers in f64.)
        static constexpr bool same = K == PLAIN && T % L == 0 && X != 10;
        static constexpr int COUNT = L == 1 ? 1 : same ? 1 : E / X;
        cplx w[COUNT][4];
        __device__ __forceinline__ void load(const cplx* __restrict__ table, unsigned t, Second second) {
#pragma unroll
            for (int b = 0; b < COUNT; ++b)
#pragma unroll
                for (int row = 0; (1 << row) < X; ++row) w[b][row] = __ldg(table + row * L + butterfly<K>(t, second, b) % L);
        }
    };

    template <int L, int X, int S, Kind K> static __device__ __forceinline__ void stage(cplx* v, const Powers<L, X, K>& powers) {
        if constexpr (L > 1) {
            cplx w[X];
#pragma unroll
            for (int b = 0; b < E / X; ++b) {
                if (b < Powers<L, X, K>::COUNT) powers_of<X, S>(powers.w[b], w);
#pragma unroll
                for (int i = 1; i < X; ++i) v[b * X + i] = v[b * X + i] * w[i];
            }
        }
#pragma unroll
        for (int b = 0; b < E / X; ++b) dft<X, S>(v + b * X);
    }

    /// An exchange and the stage after it, whose twiddles are on their way meanwhile.
    template <int S, int L, int X, Kind FROM, int Y, Kind TO>
    static __device__ __forceinline__ void next_stage(cplx* v, const Place& place, Second second, const cplx* __restrict__ table) {
        Powers<L * X, Y, TO> powers;
        powers.load(table, place.t, second);
        exchange<L, X, FROM, Y, TO>(v, place, second);
        stage<L * X, Y, S, TO>(v, powers);
    }

    /// In and out: v[i] at t + i·M, v[R + i] at the thread's other butterfly + i·M.
    template <int S> static __device__ __forceinline__ void run(cplx* v, const Place& place, const cplx* __restrict__ table) {
        run_with<S>(v, place, second_of(place.t, S > 0), table);
    }
    /// The same, with second butterflies that a thread works out when it runs.
    template <int S>
    static __device__ __forceinline__ void run_with(cplx* v, const Place& place, Second second, const cplx* __restrict__ table) {
        typedef Stages<N, E> G;
        stage<1, R, S, FIRST>(v, Powers<1, R, FIRST>());
        if constexpr (X1 == 1) {
            next_stage<S, 1, R, FIRST, R, LAST>(v, place, second, table + G::TABLE_LAST);
        } else {
            next_stage<S, 1, R, FIRST, X1, PLAIN>(v, place, second, table + G::TABLE_1);
            if constexpr (X2 == 1) {
                next_stage<S, R, X1, PLAIN, R, LAST>(v, place, second, table + G::TABLE_LAST);
            } else {
                next_stage<S, R, X1, PLAIN, X2, PLAIN>(v, place, second, table + G::TABLE_2);
                next_stage<S, R * X1, X2, PLAIN, R, LAST>(v, place, second, table + G::TABLE_LAST);
            }
        }
    }

    /// How a thread's elements at the end with pairs k, N-k stand: as run() has
    /// them, or so that i and E-1-i are partners in thread 0 too, but for i = 0,
    /// which there are frequencies 0 and N/2, their own partners.
    enum Order { NATURAL, PAIRED };
    static __device__ __forceinline__ void pair_up(cplx* v, unsigned t) {
        if (t != 0) return;
        cplx first[R / 2];
#pragma unroll
        for (int i = 0; i < R / 2; ++i) first[i] = v[R / 2 + i];
#pragma unroll
        for (int i = 0; i < R / 2; ++i) v[R / 2 + i] = v[R + R / 2 + i];
        v[E - 1] = first[0];
#pragma unroll
        for (int i = 1; i < R / 2; ++i) v[E - 1 - i] = first[R / 2 - i];
    }
    static __device__ __forceinline__ void take_apart(cplx* v, unsigned t) {
        if (t != 0) return;
        cplx first[R / 2];
        first[0] = v[E - 1];
#pragma unroll
        for (int i = 1; i < R / 2; ++i) first[R / 2 - i] = v[E - 1 - i];
#pragma unroll
        for (int i = 0; i < R / 2; ++i) v[R + R / 2 + i] = v[R / 2 + i];
#pragma unroll
        for (int i = 0; i < R / 2; ++i) v[R / 2 + i] = first[i];
    }

    /// Calls f(frequency, a, b) on every pair of frequencies a = v[k], b = v[N-k]
    /// of the thread; for k = 0 and N/2 b is a copy of a, and dropped.
    ///
    /// Thread 0 moves its elements so as to go with its warp through all but one
    /// pair: others wait for it at the next exchange.
    template <Order IN = NATURAL, Order OUT = NATURAL, typename F>
    static __device__ __forceinline__ void pairs(cplx* v, unsigned t, const cplx* __restrict__ table, F f) {
        // e^{iπM/2N} = e^{iπ/2R}.
        const cplx* const quarter = table + Stages<N, E>::QUARTER;
        const unsigned other = t ? t : M / 2;
        const cplx w = __ldg(quarter + t), other_w = __ldg(quarter + other);
        if (IN == NATURAL) pair_up(v, t);
        if (t != 0) {
            f(Frequency{real(t), w, 0, E - 1, false, false}, v[0], v[E - 1]);
        } else {
            cplx copy = v[0];
            f(Frequency{0, make(1, 0), 0, -1, true, false}, v[0], copy);
            copy = v[E - 1];
            f(Frequency{real(N / 2), turn<R>(make(1, 0), R / 2), E - 1, -1, false, true}, v[E - 1], copy);
        }
#pragma unroll
        for (int i = 1; i < R; ++i) {
            const bool near = i < R / 2;
            const real k = real(near ? t : other) + real(i * M);
            f(Frequency{k, turn<R>(near ? w : other_w, i), i, E - 1 - i, false, false}, v[i], v[E - 1 - i]);
        }
        if (OUT == NATURAL) take_apart(v, t);
    }

    /// Calls f(end, offset, a, b) for every pair of slots a = v[q], b = v[N-1-q]
    /// of the thread, q < N/2: elements 2q and 2q+1 of the line. q is `offset`,
    /// a constant, from t (end 0) or from N-1-t (end 1), so that with an address
    /// for either end every access is at a constant distance from one.
    template <typename F> static __device__ __forceinline__ void neighbours(cplx* v, F f) {
#pragma unroll
        for (int i = 0; i < R / 2; ++i) f(0, i * M, v[i], v[E - 1 - i]);
#pragma unroll
        for (int i = R / 2; i < R; ++i) f(1, -i * M, v[E - 1 - i], v[i]);
    }
};
