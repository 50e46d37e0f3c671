// A fused 2-D transform in two passes over the map: along one axis, then the
// other, each with its pre-processing, FFT and post-processing in registers. What
// is between the two stays in the panels of three_pass.cuh, whose rows and
// identities these are.
//
//   DCT       rows_forward along y, columns_forward along x
//   inverses  columns_inverse along x, rows_inverse along y
//   DCT of 8192 rows: columns_forward_first along x, rows_forward_last along y. A
//             block has room for too few columns to write whole sectors of rows.
//
// Maps are [nx][ny], y contiguous, map blockIdx.y of a batch; between the passes
// complex numbers are [panel][row pair][column of the panel]. A block takes LINES
// row pairs or 2C columns, and shared memory as Rows and Columns say. Words of
// traffic a value: 1 + 1 each pass.
#include "three_pass.cuh"

template <int N> struct Columns {
    static constexpr int E = N <= 512 ? 8 : !F64 && N >= 2048 ? 32 : 16;
    static constexpr int T = N / E;
    static constexpr int C = F64 ? (N == 8192 ? 1 : 2) : N == 512 || N == 8192 ? 2 : 4;
    static constexpr bool SPLIT = F64 && E == 16;
    static constexpr int THREADS = T * C;
    static constexpr int RESIDENT = F64 ? (E == 8 ? 768 : 512) : E == 32 ? 512 : 1024;
    static constexpr int BLOCKS = RESIDENT / THREADS > 8 ? 8 : RESIDENT / THREADS > 1 ? RESIDENT / THREADS : 1;
    static constexpr int BYTES = BlockFft<N, E, C, 1, SPLIT>::BYTES;
};

/// To a transform's coefficients from those at the other end, with a zero first:
/// a sine transform is a cosine transform of these. `copy` of k = 0 is dropped.
__device__ __forceinline__ void other_end(bool zero, cplx& a, cplx& b) {
    cplx keep = a;
    a = zero ? make(0, 0) : b;
    b = keep;
}

/// Columns first and first + 1 are a line of complex numbers.
template <int N, int E, int C, bool SPLIT>
__device__ __forceinline__ void columns_forward(const cplx* __restrict__ in, real* __restrict__ out,
                                                const cplx* __restrict__ table, unsigned columns) {
    typedef BlockFft<N, E, C, 1, SPLIT> Fft;
    static_assert(2 * C <= PANEL, "a block's columns are part of a panel");
    extern __shared__ double2 memory[];
    const unsigned t = threadIdx.x / C, c = threadIdx.x % C, first = blockIdx.x * (2 * C) + 2 * c;
    const Place place = {t, c, 0, memory};
    in += panel_at(first, 0, N / 2);
    cplx v[E];
    const cplx* const ends[2] = {in + t * PANEL, in + (N - 1 - t) * PANEL};
    Fft::neighbours(v, [&](int end, int offset, cplx& a, cplx& b) {
        const cplx* at = ends[end] + offset * int(PANEL);
        cplx x = at[0], y = at[1];
        a = make(x.x, y.x);
        b = make(x.y, y.y);
    });
    Fft::template run<-1>(v, place, table);
    // What depends on the thread alone is worked out anew, or registers run out.
    unsigned again = t;
    asm volatile("" : "+r"(again));
    Fft::pairs(v, again, table, [&](const Frequency& at, cplx& k, cplx& n) { dct_pair(at.w, k, n); });
    // Both passes leave their halves to this.
    const real quarter = real(0.25);
    out += first;
    const unsigned second = Fft::mirror(again);
#pragma unroll
    for (int i = 0; i < E / 2; ++i) {
        const cplx a = v[i], b = v[E / 2 + i];
        *reinterpret_cast<cplx*>(out + size_t(again + i * Fft::M) * columns) = make(quarter * a.x, quarter * a.y);
        *reinterpret_cast<cplx*>(out + size_t(second + i * Fft::M) * columns) = make(quarter * b.x, quarter * b.y);
    }
}

template <int N, int E, int C, bool SPLIT>
__device__ __forceinline__ void columns_inverse(const real* __restrict__ in, cplx* __restrict__ out,
                                                const cplx* __restrict__ table, unsigned columns, int sine) {
    typedef BlockFft<N, E, C, 1, SPLIT> Fft;
    extern __shared__ double2 memory[];
    const unsigned t = threadIdx.x / C, c = threadIdx.x % C, first = blockIdx.x * (2 * C) + 2 * c;
    const Place place = {t, c, 0, memory};
    in += first;
    cplx v[E];
    const unsigned second = Fft::mirror(t);
#pragma unroll
    for (int i = 0; i < E / 2; ++i) {
        v[i] = *reinterpret_cast<const cplx*>(in + size_t(t + i * Fft::M) * columns);
        v[E / 2 + i] = *reinterpret_cast<const cplx*>(in + size_t(second + i * Fft::M) * columns);
    }
    Fft::pairs(v, t, table, [&](const Frequency& at, cplx& a, cplx& b) {
        if (sine) other_end(at.zero, a, b);
        if (at.zero) b = make(0, 0);
        idct_pair(at.w, a, b);
    });
    Fft::template run<1>(v, place, table);
    const real sign = sine ? -1 : 1;
    out += panel_at(first, 0, N / 2);
    cplx* const ends[2] = {out + t * PANEL, out + (N - 1 - t) * PANEL};
    Fft::neighbours(v, [&](int end, int offset, cplx& a, cplx& b) {
        cplx* at = ends[end] + offset * int(PANEL);
        at[0] = make(a.x, sign * b.x);
        at[1] = make(a.y, sign * b.y);
    });
}

/// Complex numbers of a row that columns_forward_first leaves together.
constexpr unsigned SLIM = Columns<8192>::C;

/// The first pass of a DCT of N rows: to reals, [2C columns][row][column].
template <int N, int E, int C, bool SPLIT>
__device__ __forceinline__ void columns_forward_first(const real* __restrict__ in, cplx* __restrict__ out,
                                                      const cplx* __restrict__ table, unsigned columns) {
    typedef BlockFft<N, E, C, 1, SPLIT> Fft;
    extern __shared__ double2 memory[];
    const unsigned t = threadIdx.x / C, c = threadIdx.x % C;
    const Place place = {t, c, 0, memory};
    // Rows of pairs of columns.
    const unsigned row = columns / 2;
    const cplx* pair = reinterpret_cast<const cplx*>(in) + blockIdx.x * C + c;
    const cplx* const ends[2] = {pair + size_t(2 * t) * row, pair + size_t(2 * (N - 1 - t)) * row};
    cplx v[E];
    Fft::neighbours(v, [&](int end, int offset, cplx& a, cplx& b) {
        const cplx* at = ends[end] + (long long)(2 * offset) * row;
        a = at[0];
        b = at[row];
    });
    Fft::template run<-1>(v, place, table);
    Fft::pairs(v, t, table, [&](const Frequency& at, cplx& k, cplx& n) { dct_pair(at.w, k, n); });
    out += blockIdx.x * size_t(N * C) + c;
    const unsigned second = Fft::mirror(t);
#pragma unroll
    for (int i = 0; i < E / 2; ++i) {
        out[(t + i * Fft::M) * C] = v[i];
        out[(second + i * Fft::M) * C] = v[E / 2 + i];
    }
}

/// The second pass after it. A block takes LINES row pairs of one map.
template <int N, int E, int LINES, bool SPLIT>
__device__ __forceinline__ void rows_forward_last(const cplx* __restrict__ in, real* __restrict__ out,
                                                  const cplx* __restrict__ table, unsigned pairs) {
    typedef BlockFft<N, E, 1, LINES, SPLIT> Fft;
    extern __shared__ double2 memory[];
    const unsigned t = threadIdx.x % Fft::T, group = threadIdx.x / Fft::T, pair = blockIdx.x * LINES + group;
    const Place place = {t, 0, group, reinterpret_cast<char*>(memory) + group * Fft::BYTES};
    const long long rows = 2 * pairs;
    auto at = [&](unsigned q) { return in + ((q / SLIM) * rows + 2 * pair) * SLIM + q % SLIM; };
    const cplx* const ends[2] = {at(t), at(N - 1 - t)};
    cplx v[E];
    Fft::neighbours(v, [&](int end, int offset, cplx& a, cplx& b) {
        cplx x = ends[end][offset * rows], y = ends[end][offset * rows + SLIM];
        a = make(x.x, y.x);
        b = make(x.y, y.y);
    });
    Fft::template run<-1>(v, place, table);
    Fft::pairs(v, t, table, [&](const Frequency& at, cplx& k, cplx& n) { dct_pair(at.w, k, n); });
    // Both passes leave their halves to this.
    const real quarter = real(0.25);
    real* even = out + size_t(2 * pair) * N;
    const unsigned second = Fft::mirror(t);
#pragma unroll
    for (int i = 0; i < E / 2; ++i) {
        const unsigned k = t + i * Fft::M, mirror = second + i * Fft::M;
        even[k] = quarter * v[i].x;
        even[k + N] = quarter * v[i].y;
        even[mirror] = quarter * v[E / 2 + i].x;
        even[mirror + N] = quarter * v[E / 2 + i].y;
    }
}

/// A block takes LINES row pairs of one map.
template <int N, int E, int LINES, bool SPLIT>
__device__ __forceinline__ void map_rows_inverse(const cplx* __restrict__ in, real* __restrict__ out,
                                                 const cplx* __restrict__ table, unsigned pairs, int sine) {
    typedef BlockFft<N, E, 1, LINES, SPLIT> Fft;
    extern __shared__ double2 memory[];
    const unsigned t = threadIdx.x % Fft::T, group = threadIdx.x / Fft::T, pair = blockIdx.x * LINES + group;
    const Place place = {t, 0, group, reinterpret_cast<char*>(memory) + group * Fft::BYTES};
    cplx v[E];
    const unsigned second = Fft::mirror(t);
#pragma unroll
    for (int i = 0; i < E / 2; ++i) {
        v[i] = in[panel_at(t + i * Fft::M, pair, pairs)];
        v[E / 2 + i] = in[panel_at(second + i * Fft::M, pair, pairs)];
    }
    Fft::pairs(v, t, table, [&](const Frequency& at, cplx& a, cplx& b) {
        if (sine) other_end(at.zero, a, b);
        if (at.zero) b = make(0, 0);
        idct_pair(at.w, a, b);
    });
    Fft::template run<1>(v, place, table);
    // Both passes leave their halves to this.
    const real quarter = real(0.25), odd = sine ? -quarter : quarter;
    cplx* even = reinterpret_cast<cplx*>(out + size_t(2 * pair) * N);
    cplx* const ends[2] = {even + t, even + (N - 1 - t)};
    Fft::neighbours(v, [&](int end, int offset, cplx& a, cplx& b) {
        ends[end][offset] = make(quarter * a.x, odd * b.x);
        ends[end][offset + N / 2] = make(quarter * a.y, odd * b.y);
    });
}

#define TWO_PASS(N) TWO_PASS_(N)
#define TWO_PASS_(N)                                                                                                  \
    extern "C" __device__ const Shape rows_shape_##N = {Rows<N>::E, Stages<N, Rows<N>::E>::X1,                        \
        Stages<N, Rows<N>::E>::X2, Rows<N>::LINES, Rows<N>::THREADS, Rows<N>::BYTES};                                 \
    extern "C" __device__ const Shape columns_shape_##N = {Columns<N>::E, Stages<N, Columns<N>::E>::X1,               \
        Stages<N, Columns<N>::E>::X2, Columns<N>::C, Columns<N>::THREADS, Columns<N>::BYTES};                         \
    extern "C" __global__ void __launch_bounds__(Rows<N>::THREADS, Rows<N>::BLOCKS)                                   \
    map_rows_forward_##N(const real* in, cplx* out, const cplx* table, unsigned pairs) {                              \
        const size_t map = blockIdx.y * size_t(pairs);                                                                \
        rows_forward<N, Rows<N>::E, Rows<N>::LINES, Rows<N>::SPLIT>(in + 2 * map * N, out + map * N, table, pairs);   \
    }                                                                                                                 \
    extern "C" __global__ void __launch_bounds__(Columns<N>::THREADS, Columns<N>::BLOCKS)                             \
    map_columns_forward_##N(const cplx* in, real* out, const cplx* table, unsigned columns) {                         \
        const size_t map = blockIdx.y * size_t(columns);                                                              \
        columns_forward<N, Columns<N>::E, Columns<N>::C, Columns<N>::SPLIT>(in + map * (N / 2), out + map * N, table, columns); \
    }                                                                                                                 \
    extern "C" __global__ void __launch_bounds__(Columns<N>::THREADS, Columns<N>::BLOCKS)                             \
    map_columns_inverse_##N(const real* in, cplx* out, const cplx* table, unsigned columns, int sine) {               \
        const size_t map = blockIdx.y * size_t(columns);                                                              \
        columns_inverse<N, Columns<N>::E, Columns<N>::C, Columns<N>::SPLIT>(in + map * N, out + map * (N / 2), table, columns, sine); \
    }                                                                                                                 \
    extern "C" __global__ void __launch_bounds__(Rows<N>::THREADS, Rows<N>::BLOCKS)                                   \
    map_rows_inverse_##N(const cplx* in, real* out, const cplx* table, unsigned pairs, int sine) {                    \
        const size_t map = blockIdx.y * size_t(pairs);                                                                \
        map_rows_inverse<N, Rows<N>::E, Rows<N>::LINES, Rows<N>::SPLIT>(in + map * N, out + 2 * map * N, table, pairs, sine); \
    }

#define ROWS_LAST(N) ROWS_LAST_(N)
#define ROWS_LAST_(N)                                                                                                 \
    extern "C" __global__ void __launch_bounds__(Rows<N>::THREADS, Rows<N>::BLOCKS)                                   \
    map_rows_forward_last_##N(const cplx* in, real* out, const cplx* table, unsigned pairs) {                         \
        const size_t map = blockIdx.y * size_t(pairs);                                                                \
        rows_forward_last<N, Rows<N>::E, Rows<N>::LINES, Rows<N>::SPLIT>(in + map * N, out + 2 * map * N, table, pairs); \
    }
#define COLUMNS_FIRST(N) COLUMNS_FIRST_(N)
#define COLUMNS_FIRST_(N)                                                                                             \
    extern "C" __global__ void __launch_bounds__(Columns<N>::THREADS, Columns<N>::BLOCKS)                             \
    map_columns_forward_first_##N(const real* in, cplx* out, const cplx* table, unsigned columns) {                   \
        const size_t map = blockIdx.y * size_t(columns);                                                              \
        columns_forward_first<N, Columns<N>::E, Columns<N>::C, Columns<N>::SPLIT>(in + map * N, out + map * (N / 2), table, columns); \
    }

#ifdef PF_LINE
TWO_PASS(PF_LINE)
ROWS_LAST(PF_LINE)
#if PF_LINE == 8192
COLUMNS_FIRST(PF_LINE)
#endif
#else
TWO_PASS(64)
TWO_PASS(128)
TWO_PASS(256)
TWO_PASS(512)
TWO_PASS(1024)
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
// Longer lines do not fit the shared memory of compute capability 7.5.
TWO_PASS(2048)
TWO_PASS(4096)
TWO_PASS(8192)
ROWS_LAST(64)
ROWS_LAST(128)
ROWS_LAST(256)
ROWS_LAST(512)
ROWS_LAST(1024)
ROWS_LAST(2048)
ROWS_LAST(4096)
ROWS_LAST(8192)
COLUMNS_FIRST(8192)
#endif
#endif
