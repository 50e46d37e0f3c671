// A fused 2-D transform of a map with an axis of 10000, in three passes: that axis
// is folded into 100 × 100 and takes two of them, the short one the third. A line
// of 10000 is a block of two_pass.cu's, and such a map has too few of them for all
// multiprocessors; here every pass has, and reads and writes neighbours, whichever
// axis is the long one.
//
//   DCT       folded_first_forward, folded_last_forward, short_forward
//   inverses  short_inverse, folded_first_inverse, folded_last_inverse
//
// The first two are the four stages of radix 10 of block_fft.cuh's FFT, two in each,
// with its table. Stages one and two, and three and four, exchange only what is of
// one line: 100 numbers, 100 apart before the first and the last stage. A thread takes
// one butterfly of 10. Lines l and 99-l hold neighbours of each other: where those are
// neighbours in the map too, such lines' threads are two lanes, which swap by shuffles.
// Lines of the short axis are complex too: k of the long one as real parts, N-k as
// imaginary parts, so that they find both that the twiddling of a DCT combines.
//
// Maps are [nx][ny], y contiguous, map blockIdx.y of a batch. Complex numbers, two
// rows or columns, are between passes [pair][10000] where the long axis is y (Y),
// and [10000][pair] where it is x. A block takes UNITS lines, or
// Short::LINES lines; threads for which none are left read the last one again.
// Shared memory as FOLDED_BYTES and Short say. Words of traffic a value: 1 + 1 each pass.
//
// The first of a transform's passes also takes integers, the last of a DCT a
// threshold.
#include "inputs.cuh"
#include "keep.cuh"
#include "folded.cuh"

/// How the short axis' lines of N elements are cut up. Lanes are neighbours along the
/// long axis where that is y. Elsewhere a block's rows, of the map or between passes,
/// go through shared memory on their way out, for a line's few threads would write
/// parts of sectors. (An H200, 10000 × 100 in f64: the inverse's first pass 6.1 µs, not
/// 6.9. What is read finds the other parts in the cache. benchmarks/long-axes-log.md)
template <bool Y, int N> struct Short {
    static constexpr int E = hundreds(N) ? 20 : 8, T = N / E;
    static constexpr int LINES = hundreds(N) ? (Y ? (F64 ? 20 : 40) : 10) : Y ? 8 : 4;
    static constexpr int C = Y ? LINES : 2, GROUPS = LINES / C;
    static constexpr int THREADS = T * LINES;
    static constexpr int BLOCKS = blocks(F64 ? (E == 8 ? 768 : 512) : E == 8 ? 1024 : 640, (THREADS + 31) / 32 * 32);
    typedef BlockFft<N, E, C, GROUPS, false> Fft;
    /// Of a line's two rows: an odd number of 8 elements.
    static constexpr int ROWS_BYTES = (2 * N / 8 | 1) * 8 * int(sizeof(real));
    static constexpr int BYTES = Fft::larger(GROUPS * Fft::BYTES, Y ? 0 : LINES * ROWS_BYTES);
    static_assert(LONG / 2 % LINES == 0, "blocks are full");
    static_assert(Y || N / 2 % THREADS == 0, "threads take turns with a row");
};

/// What frequency N/2 of a DCT is times its FFT's, both passes' halves left out.
constexpr real ROOT = real(1.41421356237309504880);

/// A thread's place in a block of them.
template <bool Y, int N> struct ShortPlace {
    typedef Short<Y, N> Cut;
    typedef typename Cut::Fft Fft;
    Place place;
    unsigned line, mirror;  // the line's frequencies of the long axis
    char* memory;

    __device__ __forceinline__ explicit ShortPlace(void* shared) : memory(static_cast<char*>(shared)) {
        constexpr unsigned C = Cut::C;
        const unsigned within = threadIdx.x % (Cut::T * C), group = threadIdx.x / (Cut::T * C);
        place = {within / C, within % C, group, memory + group * Fft::BYTES};
        line = blockIdx.x * Cut::LINES + group * C + place.lane;
        mirror = mirror_of(line);
    }
    /// Frequencies 0 and LONG/2, their own partners, go together.
    static __device__ __forceinline__ unsigned mirror_of(unsigned line) { return line ? LONG - line : LONG / 2; }

    /// Calls f(pair, a, b) for the thread's neighbours a and b of the line: pair of rows
    /// or columns `pair`.
    template <typename F> __device__ __forceinline__ void neighbours(cplx* v, F f) const {
        const Offset ends[2] = {place.t, N - 1 - place.t};
        Fft::neighbours(v, [&](int end, int offset, cplx& a, cplx& b) { f(ends[end] + offset, a, b); });
    }

    /// Where the line's numbers stand between passes, STEP apart, at either frequency.
    static constexpr Offset STEP = Y ? LONG : 1;
    __device__ __forceinline__ Offset near() const { return folded_at<Y>(line, 0, N / 2); }
    __device__ __forceinline__ Offset far() const { return folded_at<Y>(mirror, 0, N / 2); }

    /// The line's two rows in shared memory, one after the other.
    __device__ __forceinline__ void* rows() const {
        return memory + (place.group * Cut::C + place.lane) * Cut::ROWS_BYTES;
    }
    /// Writes the block's rows from there, neighbours by neighbouring threads.
    __device__ __forceinline__ void write_rows(cplx* __restrict__ out) const {
        __syncthreads();
#pragma unroll
        for (unsigned i = 0; i < Cut::LINES; ++i) {
            const cplx* const rows = reinterpret_cast<const cplx*>(memory + i * Cut::ROWS_BYTES);
            const unsigned k = blockIdx.x * Cut::LINES + i, mirror = i ? LONG - k : mirror_of(k);
#pragma unroll
            for (unsigned two = 0; two < N / 2; two += Cut::THREADS) {
                const unsigned at = two + threadIdx.x;
                out[k * (N / 2) + at] = rows[at];
                out[mirror * (N / 2) + at] = rows[N / 2 + at];
            }
        }
    }
};

template <bool Y, int N, typename Keep>
__device__ __forceinline__ void short_forward(const cplx* __restrict__ in, real* __restrict__ out,
                                              const cplx* __restrict__ table, const cplx* __restrict__ turns, Keep keep) {
    typedef ShortPlace<Y, N> Own;
    typedef typename Own::Fft Fft;
    constexpr int E = Own::Cut::E;
    extern __shared__ double2 memory[];
    const Own own(memory);
    const cplx w = conj(turns[own.line]);
    const cplx *const near_in = in + own.near(), *const far_in = in + own.far();
    cplx v[E];
    own.neighbours(v, [&](Offset pair, cplx& a, cplx& b) {
        cplx x = near_in[pair * Own::STEP], y = far_in[pair * Own::STEP];
        if (own.line == 0) {
            x = x + x;
            y = make(ROOT * y.x, ROOT * y.y);
        } else {
            dct_pair(w, x, y);
        }
        a = make(x.x, y.x);
        b = make(x.y, y.y);
    });
    dct<Fft>(v, own.place, table);
    // All passes leave their halves to this.
    const real quarter = real(0.25);
    constexpr unsigned STEP = Y ? LONG : 1;
    if (!Y) __syncthreads();
    real* const near = Y ? out + own.line : static_cast<real*>(own.rows());
    real* const far = Y ? out + own.mirror : near + N;
    const unsigned t = own.place.t, second = Fft::mirror(t);
#pragma unroll
    for (int i = 0; i < E / 2; ++i) {
        const unsigned k = (t + i * Fft::M) * STEP, mirror = (second + i * Fft::M) * STEP;
        near[k] = keep(quarter * v[i].x);
        far[k] = keep(quarter * v[i].y);
        near[mirror] = keep(quarter * v[E / 2 + i].x);
        far[mirror] = keep(quarter * v[E / 2 + i].y);
    }
    if (!Y) own.write_rows(reinterpret_cast<cplx*>(out));
    keep.count();
}

/// Reads a line of coefficients at two frequencies of the long axis.
template <bool Y, int N> struct ReadShort {
    const ShortPlace<Y, N>& own;
    cplx* v;

    template <typename In> __device__ __forceinline__ void operator()(const In* from) const {
        typedef typename ShortPlace<Y, N>::Fft Fft;
        constexpr int E = Short<Y, N>::E;
        constexpr unsigned STEP = Y ? LONG : 1;
        const In *const near = from + own.line * (Y ? 1 : N), *const far = from + own.mirror * (Y ? 1 : N);
        const unsigned t = own.place.t, second = Fft::mirror(t);
#pragma unroll
        for (int i = 0; i < E / 2; ++i) {
            const unsigned k = (t + i * Fft::M) * STEP, mirror = (second + i * Fft::M) * STEP;
            v[i] = make(real(near[k]), real(far[k]));
            v[E / 2 + i] = make(real(near[mirror]), real(far[mirror]));
        }
    }
};

/// `sine` and `long_sine` say of either axis whether its inverse is of sines.
template <bool Y, int N, typename In>
__device__ __forceinline__ void short_inverse(In in, cplx* __restrict__ out, const cplx* __restrict__ table,
                                              const cplx* __restrict__ turns, int sine, int long_sine) {
    typedef ShortPlace<Y, N> Own;
    extern __shared__ double2 memory[];
    const Own own(memory);
    const cplx w = conj(turns[own.line]);
    cplx v[Own::Cut::E];
    with_input(in, ReadShort<Y, N>{own, v});
    inverse<typename Own::Fft>(v, own.place, table, sine);
    const real sign = sine ? -1 : 1;
    if (!Y) __syncthreads();
    cplx* const near = Y ? out + own.near() : static_cast<cplx*>(own.rows());
    cplx* const far = Y ? out + own.far() : near + N / 2;
    own.neighbours(v, [&](Offset pair, cplx& a, cplx& b) {
        cplx x = make(a.x, sign * b.x), y = make(a.y, sign * b.y);
        if (own.line == 0) {
            if (long_sine) x = make(0, 0);
            y = make(ROOT * y.x, ROOT * y.y);
        } else {
            if (long_sine) other_end(false, x, y);
            idct_pair(w, x, y);
        }
        near[pair * Own::STEP] = x;
        far[pair * Own::STEP] = y;
    });
    if (!Y) own.write_rows(out);
}

#define FOLDED(NAME) extern "C" __global__ void __launch_bounds__(FOLDED_THREADS, FOLDED_BLOCKS) folded_##NAME##_10000

/// The long axis' passes, by which axis it is.
#define FOLDED_PASSES(AXIS, Y)                                                                                        \
    FOLDED(first_forward_##AXIS)(const real* in, cplx* out, const cplx* table, unsigned pairs) {                      \
        const size_t map = blockIdx.y * size_t(LONG) * pairs;                                                         \
        folded_first_forward<Y>(in + 2 * map, out + map, table, pairs);                                               \
    }                                                                                                                 \
    FOLDED(first_forward_integer_##AXIS)(const void* in, cplx* out, const cplx* table, unsigned pairs, int type) {    \
        const size_t map = blockIdx.y * size_t(LONG) * pairs;                                                         \
        folded_first_forward<Y>(Integers{in, type, 2 * map}, out + map, table, pairs);                                \
    }                                                                                                                 \
    FOLDED(last_forward_##AXIS)(cplx* data, const cplx* table, unsigned pairs) {                                      \
        folded_last_forward<Y>(data + blockIdx.y * size_t(LONG) * pairs, table, pairs);                               \
    }                                                                                                                 \
    FOLDED(first_inverse_##AXIS)(const cplx* in, cplx* out, const cplx* table, unsigned pairs) {                      \
        const size_t map = blockIdx.y * size_t(LONG) * pairs;                                                         \
        folded_first_inverse<Y>(in + map, out + map, table, pairs);                                                   \
    }                                                                                                                 \
    FOLDED(last_inverse_##AXIS)(const cplx* in, real* out, const cplx* table, unsigned pairs, int sine) {             \
        const size_t map = blockIdx.y * size_t(LONG) * pairs;                                                         \
        folded_last_inverse<Y>(in + map, out + 2 * map, table, pairs, sine);                                          \
    }

#define SHORT(NAME, Y, N)                                                                                             \
    extern "C" __global__ void __launch_bounds__(Short<Y, N>::THREADS, Short<Y, N>::BLOCKS) short_##NAME

/// The short axis' pass.
#define SHORT_PASS(AXIS, Y, N)                                                                                        \
    extern "C" __device__ const Shape short_##AXIS##_shape_##N = {Short<Y, N>::E, Stages<N, Short<Y, N>::E>::X1,      \
        Stages<N, Short<Y, N>::E>::X2, Short<Y, N>::LINES, Short<Y, N>::THREADS, Short<Y, N>::BYTES};                 \
    SHORT(forward_##AXIS##_##N, Y, N)(const cplx* in, real* out, const cplx* table, const cplx* turns) {              \
        const size_t map = blockIdx.y * size_t(LONG) * (N / 2);                                                       \
        short_forward<Y, N>(in + map, out + 2 * map, table, turns, KeepAll{});                                        \
    }                                                                                                                 \
    SHORT(forward_threshold_##AXIS##_##N, Y, N)(const cplx* in, real* out, const cplx* table, const cplx* turns,      \
                                                real epsilon, unsigned long long* kept, Kept* parts) {                \
        const size_t map = blockIdx.y * size_t(LONG) * (N / 2);                                                       \
        short_forward<Y, N>(in + map, out + 2 * map, table, turns, KeepLarge{epsilon, kept, parts});                  \
    }                                                                                                                 \
    SHORT(inverse_##AXIS##_##N, Y, N)(const real* in, cplx* out, const cplx* table, const cplx* turns, int sine,      \
                                      int long_sine) {                                                                \
        const size_t map = blockIdx.y * size_t(LONG) * (N / 2);                                                       \
        short_inverse<Y, N>(in + 2 * map, out + map, table, turns, sine, long_sine);                                  \
    }                                                                                                                 \
    SHORT(inverse_integer_##AXIS##_##N, Y, N)(const void* in, cplx* out, const cplx* table, const cplx* turns,        \
                                              int sine, int long_sine, int type) {                                    \
        const size_t map = blockIdx.y * size_t(LONG) * (N / 2);                                                       \
        short_inverse<Y, N>(Integers{in, type, 2 * map}, out + map, table, turns, sine, long_sine);                   \
    }

#define SHORT_PASSES(N) SHORT_PASSES_(N)
#define SHORT_PASSES_(N) SHORT_PASS(x, false, N) SHORT_PASS(y, true, N)

#if !defined(PF_LINE) || PF_LINE == 10000
extern "C" __device__ const Shape folded_shape_10000 = {2 * STEPS, STEPS, STEPS, UNITS, FOLDED_THREADS, FOLDED_BYTES};
FOLDED_PASSES(x, false)
FOLDED_PASSES(y, true)
#endif
#ifndef PF_LINE
#define EVERY(K) K(64) K(100) K(128)
EVERY(SHORT_PASSES)
#elif PF_LINE < 10000
SHORT_PASSES(PF_LINE)
#endif
