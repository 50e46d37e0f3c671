// A fused 2-D transform of a map with an axis of 10000, in three passes: that axis
// is folded into 100 × 100 and takes two of them, the short one the third. In two_pass.cu
// a line of 10000 is one block, and such a map has too few of those for all
// multiprocessors; here every pass has blocks enough, and reads and writes neighbours,
// whichever axis is the long one.
//
//   DCT       folded_first_forward, folded_last_forward, short_forward
//   inverses  short_inverse, folded_first_inverse, folded_last_inverse
//
// The first two are the four stages of radix 10 of block_fft.cuh's FFT, two in each, with
// its table. Stages one and two, and three and four, exchange only what is of one line: 100
// numbers, 100 apart before the first and the last stage. A thread takes one butterfly of 10.
// Lines l and 99-l hold neighbours of each other: where those are neighbours in the map too,
// such lines' threads are two lanes (partners), which swap by shuffles. Lines of the short
// axis are complex too: frequency k of the long axis as real parts, N-k as imaginary parts,
// so that a thread has both that a DCT combines.
//
// Maps are [nx][ny], y contiguous, map blockIdx.y of a batch. Complex numbers, two rows or
// columns, are between passes [pair][10000] where the long axis is y (Y), and [10000][pair]
// where it is x. A block takes FoldedBlock's lines, or Short's, with shared memory as those
// say; threads beyond the last line repeat it. Each pass reads and writes
// every value once.
//
// The first of a transform's passes also takes integers, the last of a DCT a threshold.
#include "fft/inputs.cuh"
#include "fft/keep.cuh"
#include "transforms/short_lines.cuh"

/// The short axis' lines of N elements. Lanes are neighbours along the long axis where
/// that is y; elsewhere a line's threads are.
template <bool Y, int N> struct ShortLine {
    static constexpr int LINES = hundreds(N) ? (F64 ? 20 : 40) : Y ? 8 : 4;
    using type = GroupLine<N, LINES, Y ? LINES : 2>;
};
template <> struct ShortLine<false, 100> {
    using type = HundredLine<2>;
};

/// How they are divided. Where a line's threads are neighbours and too few for whole
/// sectors, a block's rows are STAGED in shared memory before they are written. (An H200, 10000 ×
/// 100: the DCT in f64 14.2 µs, not 14.3, in f32 9.8, not 10.4. Reads find the other parts
/// of a sector in the cache.)
template <bool Y, int N> struct Short {
    using Line = typename ShortLine<Y, N>::type;
    static constexpr int LINES = Line::LINES, THREADS = Line::THREADS;
    static constexpr int RESIDENT = hundreds(N) ? (F64 ? 512 : 640) : F64 ? 768 : 1024;
    static constexpr int BLOCKS = blocks(RESIDENT, (THREADS + 31) / 32 * 32);
    /// Of a map, and between passes, where numbers are complex and 10 threads are enough.
    static constexpr bool STAGED = !Y, STAGED_BETWEEN = !Y && N != 100;
    /// A row's distance there, so that lines use different banks, as those of 100 do.
    static constexpr int ROW = N == 100 ? N : N + 8;
    static constexpr int ROWS_BYTES = STAGED ? 2 * LINES * ROW * int(sizeof(real)) : 0;
    static constexpr int BYTES = ROWS_BYTES > Line::BYTES ? ROWS_BYTES : Line::BYTES;
    static __host__ __device__ constexpr Shape shape() {
        return {2 * Line::Table::R, Line::Table::X1, Line::Table::X2, LINES, THREADS, BYTES, false};
    }
    static_assert(LONG / 2 % LINES == 0, "blocks are full");
    static_assert(!STAGED || LINES * N / 2 % THREADS == 0, "threads take turns with rows");
};

/// A thread's place in a block of them.
template <bool Y, int N> struct ShortPlace : Short<Y, N>::Line {
    using Cut = Short<Y, N>;
    u32 line, mirror;  // the line's frequencies of the long axis
    char* rows;        // of the block, where STAGED

    __device__ __forceinline__ explicit ShortPlace(void* shared) : Cut::Line(shared), rows(static_cast<char*>(shared)) {
        line = blockIdx.x * Cut::LINES + this->lane;
        mirror = mirror_of(line);
    }
    /// Frequencies 0 and LONG/2, their own partners, go together.
    static __device__ __forceinline__ u32 mirror_of(u32 line) { return line ? LONG - line : LONG / 2; }

    /// Where the line's numbers stand between passes, STEP apart, at either frequency.
    static constexpr Offset STEP = Y ? LONG : 1;
    __device__ __forceinline__ Offset near() const { return folded_at<Y>(line, 0, N / 2); }
    __device__ __forceinline__ Offset far() const { return folded_at<Y>(mirror, 0, N / 2); }
    /// Where its coefficients begin in the map, as far apart.
    __device__ __forceinline__ Offset near_row() const { return line * (Y ? 1 : N); }
    __device__ __forceinline__ Offset far_row() const { return mirror * (Y ? 1 : N); }

    /// A line's two rows in shared memory, where the block's stand as in global memory:
    /// the lines' from the first on, then their mirror images' from the last on.
    template <typename T> __device__ __forceinline__ T* near_staged() const {
        return reinterpret_cast<T*>(rows + this->lane * Cut::ROW * sizeof(real));
    }
    template <typename T> __device__ __forceinline__ T* far_staged() const {
        return reinterpret_cast<T*>(rows + (2 * Cut::LINES - 1 - this->lane) * Cut::ROW * sizeof(real));
    }
    /// Writes them, neighbours by neighbouring threads.
    __device__ __forceinline__ void write_staged(cplx* __restrict__ out) const {
        constexpr u32 ALL = Cut::LINES * N / 2, FIRST = ALL - N / 2;
        const auto staged = [&](u32 at) {
            return reinterpret_cast<const cplx*>(rows)[at + at / (N / 2) * ((Cut::ROW - N) / 2)];
        };
        const u32 k = blockIdx.x * Cut::LINES;
        cplx *const near = out + k * (N / 2), *const far = out + (LONG - k) * (N / 2) - FIRST;
        cplx* const far_first = out + mirror_of(k) * (N / 2) - FIRST;
        __syncthreads();
#pragma unroll
        for (u32 base = 0; base < ALL; base += Cut::THREADS) {
            const u32 at = base + threadIdx.x;
            near[at] = staged(at);
            (at < FIRST ? far : far_first)[at] = staged(ALL + at);
        }
    }
};

template <bool Y, int N, typename Keep>
__device__ __forceinline__ void short_forward(const cplx* __restrict__ in, real* __restrict__ out,
                                              const cplx* __restrict__ table, const cplx* __restrict__ long_twiddles,
                                              Keep keep) {
    using Own = ShortPlace<Y, N>;
    extern __shared__ double2 memory[];
    const Own own(memory);
    const cplx w = conj(long_twiddles[own.line]);
    const cplx *const near_in = in + own.near(), *const far_in = in + own.far();
    cplx v[Own::E];
    own.read_neighbours(v, [&](Offset pair, cplx& a, cplx& b) {
        cplx x = near_in[pair * Own::STEP], y = far_in[pair * Own::STEP];
        dct_ends(own.line == 0, w, x, y);
        a = make(x.x, y.x);
        b = make(x.y, y.y);
    });
    own.dct(v, table);
    // The halves of all passes.
    const real quarter = real(0.25);
    constexpr bool STAGED = Own::Cut::STAGED;
    if (STAGED) __syncthreads();
    real* const near = STAGED ? own.template near_staged<real>() : out + own.near_row();
    real* const far = STAGED ? own.template far_staged<real>() : out + own.far_row();
    own.coefficients(v, [&](u32 k, cplx& a) {
        near[k * Own::STEP] = keep(quarter * a.x);
        far[k * Own::STEP] = keep(quarter * a.y);
    });
    if (STAGED) own.write_staged(reinterpret_cast<cplx*>(out));
    keep.count();
}

/// Reads a line of coefficients at two frequencies of the long axis.
template <bool Y, int N> struct ReadShort {
    const ShortPlace<Y, N>& own;
    cplx* v;

    template <typename In> __device__ __forceinline__ void operator()(const In* from) const {
        const In *const near = from + own.near_row(), *const far = from + own.far_row();
        own.coefficients(v, [&](u32 k, cplx& a) { a = make(real(near[k * own.STEP]), real(far[k * own.STEP])); });
    }
};

/// `sine` and `long_sine`: whether the inverse along the short and the long axis is of sines.
template <bool Y, int N, typename In>
__device__ __forceinline__ void short_inverse(In in, cplx* __restrict__ out, const cplx* __restrict__ table,
                                              const cplx* __restrict__ long_twiddles, int sine, int long_sine) {
    using Own = ShortPlace<Y, N>;
    extern __shared__ double2 memory[];
    const Own own(memory);
    const cplx w = conj(long_twiddles[own.line]);
    cplx v[Own::E];
    with_input(in, ReadShort<Y, N>{own, v});
    own.inverse(v, table, sine);
    const real sign = sine ? -1 : 1;
    constexpr bool STAGED = Own::Cut::STAGED_BETWEEN;
    if (STAGED) __syncthreads();
    cplx* const near = STAGED ? own.template near_staged<cplx>() : out + own.near();
    cplx* const far = STAGED ? own.template far_staged<cplx>() : out + own.far();
    own.write_neighbours(v, [&](Offset pair, cplx& a, cplx& b) {
        cplx x = make(a.x, sign * b.x), y = make(a.y, sign * b.y);
        idct_ends(own.line == 0, long_sine, w, x, y);
        near[pair * Own::STEP] = x;
        far[pair * Own::STEP] = y;
    });
    if (STAGED) own.write_staged(out);
}

#define PF_FOLDED(NAME, PARTNERS)                                                                                      \
    PF_KERNEL(FoldedBlock<PARTNERS>::THREADS, FoldedBlock<PARTNERS>::BLOCKS) folded_##NAME##_10000

/// The long axis' passes, by which axis it is. Those that read or write the map have partners
/// where it is y.
#define PF_FOLDED_PASSES(AXIS, Y)                                                                                      \
    PF_SHAPE(folded_map_##AXIS##_shape_10000) = FoldedBlock<Y>::shape();                                               \
    PF_FOLDED(first_forward_##AXIS, Y)(const real* in, cplx* out, const cplx* table, u32 pairs) {                      \
        const size_t map = blockIdx.y * size_t(LONG) * pairs;                                                          \
        folded_first_forward<Y>(in + 2 * map, out + map, table, pairs);                                                \
    }                                                                                                                  \
    PF_FOLDED(first_forward_integer_##AXIS, Y)(const void* in, cplx* out, const cplx* table, u32 pairs, int type) {    \
        const size_t map = blockIdx.y * size_t(LONG) * pairs;                                                          \
        folded_first_forward<Y>(Integers{in, type, 2 * map}, out + map, table, pairs);                                 \
    }                                                                                                                  \
    PF_FOLDED(last_forward_##AXIS, false)(cplx * data, const cplx* table, u32 pairs) {                                 \
        folded_last_forward<Y>(data + blockIdx.y * size_t(LONG) * pairs, table, pairs);                                \
    }                                                                                                                  \
    PF_FOLDED(first_inverse_##AXIS, false)(const cplx* in, cplx* out, const cplx* table, u32 pairs) {                  \
        const size_t map = blockIdx.y * size_t(LONG) * pairs;                                                          \
        folded_first_inverse<Y>(in + map, out + map, table, pairs);                                                    \
    }                                                                                                                  \
    PF_FOLDED(last_inverse_##AXIS, Y)(const cplx* in, real* out, const cplx* table, u32 pairs, int sine) {             \
        const size_t map = blockIdx.y * size_t(LONG) * pairs;                                                          \
        folded_last_inverse<Y>(in + map, out + 2 * map, table, pairs, sine);                                           \
    }

#define PF_SHORT(NAME, Y, N) PF_KERNEL(Short<Y, N>::THREADS, Short<Y, N>::BLOCKS) short_##NAME

/// The short axis' pass.
#define PF_SHORT_PASS(AXIS, Y, N)                                                                                      \
    PF_SHAPE(short_##AXIS##_shape_##N) = Short<Y, N>::shape();                                                         \
    PF_SHORT(forward_##AXIS##_##N, Y, N)(const cplx* in, real* out, const cplx* table, const cplx* long_twiddles) {    \
        const size_t map = blockIdx.y * size_t(LONG) * (N / 2);                                                        \
        short_forward<Y, N>(in + map, out + 2 * map, table, long_twiddles, KeepAll{});                                 \
    }                                                                                                                  \
    PF_SHORT(forward_threshold_##AXIS##_##N, Y, N)(const cplx* in, real* out, const cplx* table,                       \
                                                   const cplx* long_twiddles, real epsilon, u64* kept, Kept* parts) {  \
        const size_t map = blockIdx.y * size_t(LONG) * (N / 2);                                                        \
        short_forward<Y, N>(in + map, out + 2 * map, table, long_twiddles, KeepLarge{epsilon, kept, parts});           \
    }                                                                                                                  \
    PF_SHORT(inverse_##AXIS##_##N, Y, N)(const real* in, cplx* out, const cplx* table, const cplx* long_twiddles,      \
                                         int sine, int long_sine) {                                                    \
        const size_t map = blockIdx.y * size_t(LONG) * (N / 2);                                                        \
        short_inverse<Y, N>(in + 2 * map, out + map, table, long_twiddles, sine, long_sine);                           \
    }                                                                                                                  \
    PF_SHORT(inverse_integer_##AXIS##_##N, Y, N)(const void* in, cplx* out, const cplx* table,                         \
                                                 const cplx* long_twiddles, int sine, int long_sine, int type) {       \
        const size_t map = blockIdx.y * size_t(LONG) * (N / 2);                                                        \
        short_inverse<Y, N>(Integers{in, type, 2 * map}, out + map, table, long_twiddles, sine, long_sine);            \
    }

#define PF_SHORT_PASSES(N)  PF_SHORT_PASSES_(N)
#define PF_SHORT_PASSES_(N) PF_SHORT_PASS(x, false, N) PF_SHORT_PASS(y, true, N)

#if !defined(PF_LINE) || PF_LINE == 10000
PF_SHAPE(folded_shape_10000) = FoldedBlock<false>::shape();
PF_FOLDED_PASSES(x, false)
PF_FOLDED_PASSES(y, true)
#endif
#ifndef PF_LINE
#define PF_EVERY(K) K(64) K(100) K(128)
PF_EVERY(PF_SHORT_PASSES)
#elif PF_LINE < 10000
PF_SHORT_PASSES(PF_LINE)
#endif
