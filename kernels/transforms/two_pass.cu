// A fused 2-D transform in two passes over the map: along one axis, then the
// other, each with its pre-processing, FFT and post-processing in registers. What
// is between the two stays in the panels of three_pass.cuh, whose rows and
// identities these are.
//
//   DCT       rows_forward along y, columns_forward along x
//   inverses  columns_inverse along x, rows_inverse along y
//   DCT of rows so many that a block has room for too few columns to write whole
//             sectors of them: columns_forward_first along x, rows_forward_last
//             along y
//   inverses of as many rows of which a block takes several: the _slim forms
//
// The first of a transform's passes also takes integers, which it converts as it
// reads, and the last of a DCT's a threshold (keep.cuh).
//
// Lines are those of three_pass.cuh and the lengths 100 d, d a divisor of 100.
// Maps are [nx][ny], y contiguous, map blockIdx.y of a batch; between the passes
// complex numbers are [panel][row pair][column of the panel], slim [column][row
// pair], or after columns_forward_first [2C columns][row][C]. A block takes LINES
// row pairs or GROUPS times 2C columns, and shared memory as MapRows and Columns
// say; where that is more than are left, the last ones are done again. Words of
// traffic a value: 1 + 1 each pass.
#include "fft/inputs.cuh"
#include "fft/keep.cuh"
#include "fft/map_lines.cuh"

/// Whether long lines go through shared memory whole. (An H200, 100 × 10000 in f64:
/// the rows' pass 13.4 µs, 15.3 in two halves. Elsewhere there is no room, or it was
/// not measured and would spill registers.)
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 900
constexpr bool WHOLE = true;
#else
constexpr bool WHOLE = false;
#endif

/// How rows of N elements are cut up.
template <int N, bool = hundreds(N)> struct MapRows : Rows<N> {
    static constexpr bool GATHERED = false;
};
template <int N> struct MapRows<N, true> {
    static constexpr int E = 20, T = N / E;
    static constexpr int LINES = T < 32 ? 32 / T : 1;
    static constexpr bool SPLIT = F64 && !WHOLE && N >= 5000;
    static constexpr int THREADS = T * LINES;
    static constexpr int BLOCKS = blocks(F64 ? 384 : 640, (THREADS + 31) / 32 * 32);
    static constexpr int BYTES = BlockFft<N, E, 1, LINES, SPLIT>::BYTES * LINES;
    // A block's rows of the map, neighbours, go through shared memory on their way out.
    static constexpr bool GATHERED = LINES > 1;
    static_assert(!GATHERED || BYTES >= 2 * LINES * N * int(sizeof(real)), "no room for a block's rows");
};

/// How columns are.
template <int N, bool = hundreds(N)> struct Columns {
    static constexpr int E = N <= 512 ? 8 : !F64 && N >= 2048 ? 32 : 16;
    static constexpr int T = N / E;
    static constexpr int C = F64 ? (N == 8192 ? 1 : 2) : N == 512 || N == 8192 ? 2 : 4;
    static constexpr int GROUPS = 1;
    static constexpr bool SPLIT = F64 && E == 16;
    static constexpr int THREADS = T * C;
    static constexpr int RESIDENT = F64 ? (E == 8 ? 768 : 512) : E == 32 ? 512 : 1024;
    static constexpr int BLOCKS = RESIDENT / THREADS > 8 ? 8 : blocks(RESIDENT, THREADS);
    static constexpr int BYTES = BlockFft<N, E, C, 1, SPLIT>::BYTES;
};
template <int N> struct Columns<N, true> {
    static constexpr int E = 20, T = N / E;
    static constexpr int C = N == 10000 ? 1 : 2;
    static constexpr int GROUPS = T * C < 32 ? 32 / (T * C) : 1;
    // (Whole, 5000 spills a register.)
    static constexpr bool SPLIT = F64 && (N == 5000 || (N > 5000 && !WHOLE));
    static constexpr int THREADS = T * C * GROUPS;
    static constexpr int BLOCKS = blocks(F64 ? 384 : 640, (THREADS + 31) / 32 * 32);
    static constexpr int BYTES = BlockFft<N, E, C, GROUPS, SPLIT>::BYTES * GROUPS;
};

/// Complex numbers of a map between passes, whole panels.
__device__ __forceinline__ size_t panels(unsigned columns, unsigned pairs) {
    return size_t((columns + PANEL - 1) / PANEL * PANEL) * pairs;
}

/// Where a complex number stands between passes: as the solve's, or a column after
/// the other.
template <bool SLIM> __device__ __forceinline__ unsigned between(unsigned column, unsigned pair, unsigned pairs) {
    return SLIM ? column * pairs + pair : panel_at(column, pair, pairs);
}

/// A thread's place in a block of row pairs.
template <int N> struct RowPlace {
    typedef MapRows<N> Cut;
    typedef BlockFft<N, Cut::E, 1, Cut::LINES, Cut::SPLIT> Fft;
    Place place;
    unsigned pair;
    bool own;

    __device__ __forceinline__ RowPlace(void* memory, unsigned pairs) {
        const unsigned t = threadIdx.x % Cut::T, group = threadIdx.x / Cut::T;
        place = {t, 0, group, static_cast<char*>(memory) + group * Fft::BYTES};
        pair = blockIdx.x * Cut::LINES + group;
        own = Cut::LINES == 1 || pair < pairs;
        if (!own) pair = pairs - 1;
    }
};

/// A thread's place in a block of columns; `first` and the next one are its line's
/// real and imaginary parts.
template <int N> struct ColumnPlace {
    typedef Columns<N> Cut;
    typedef BlockFft<N, Cut::E, Cut::C, Cut::GROUPS, Cut::SPLIT> Fft;
    static_assert(2 * Cut::C <= PANEL, "a group's columns are part of a panel");
    Place place;
    unsigned first;
    bool own;

    __device__ __forceinline__ ColumnPlace(void* memory, unsigned columns) {
        constexpr unsigned C = Cut::C;
        const unsigned within = threadIdx.x % (Cut::T * C), group = threadIdx.x / (Cut::T * C);
        place = {within / C, within % C, group, static_cast<char*>(memory) + group * Fft::BYTES};
        first = (blockIdx.x * Cut::GROUPS + group) * (2 * C) + 2 * place.lane;
        own = first < columns;
        if (!own) first = columns - 2;
    }
};

/// Reads a line of neighbours of two rows.
template <int N> struct ReadRows {
    const RowPlace<N>& own;
    cplx* v;

    template <typename In> __device__ __forceinline__ void operator()(const In* from) const {
        const unsigned t = own.place.t;
        from += size_t(2 * own.pair) * N;
        const In* const ends[2] = {from + 2 * t, from + 2 * (N - 1 - t)};
        RowPlace<N>::Fft::neighbours(v, [&](int end, int offset, cplx& a, cplx& b) {
            cplx x = two_at(ends[end] + 2 * offset), y = two_at(ends[end] + 2 * offset + N);
            a = make(x.x, y.x);
            b = make(x.y, y.y);
        });
    }
};

/// Reads a line of coefficients of two columns.
template <int N> struct ReadColumns {
    const ColumnPlace<N>& own;
    cplx* v;
    unsigned columns;

    template <typename In> __device__ __forceinline__ void operator()(const In* from) const {
        typedef typename ColumnPlace<N>::Fft Fft;
        constexpr int E = Columns<N>::E;
        const unsigned t = own.place.t, second = Fft::mirror(t);
        from += own.first;
#pragma unroll
        for (int i = 0; i < E / 2; ++i) {
            v[i] = two_at(from + size_t(t + i * Fft::M) * columns);
            v[E / 2 + i] = two_at(from + size_t(second + i * Fft::M) * columns);
        }
    }
};

/// Reads a line of neighbours of two columns.
template <int N> struct ReadColumnNeighbours {
    const ColumnPlace<N>& own;
    cplx* v;
    unsigned columns;

    template <typename In> __device__ __forceinline__ void operator()(const In* from) const {
        const unsigned t = own.place.t;
        from += own.first;
        const In* const ends[2] = {from + size_t(2 * t) * columns, from + size_t(2 * (N - 1 - t)) * columns};
        ColumnPlace<N>::Fft::neighbours(v, [&](int end, int offset, cplx& a, cplx& b) {
            const In* at = ends[end] + (long long)(2 * offset) * columns;
            a = two_at(at);
            b = two_at(at + columns);
        });
    }
};

template <int N, typename In>
__device__ __forceinline__ void map_rows_forward(In in, cplx* __restrict__ out, const cplx* __restrict__ table,
                                                 unsigned pairs) {
    typedef typename RowPlace<N>::Fft Fft;
    constexpr int E = MapRows<N>::E;
    extern __shared__ double2 memory[];
    const RowPlace<N> own(memory, pairs);
    const unsigned pair = own.pair;
    unsigned t = own.place.t;
    cplx v[E];
    with_input(in, ReadRows<N>{own, v});
    dct<Fft>(v, own.place, table);
    asm volatile("" : "+r"(t));  // addresses worked out anew, or registers run out
    const unsigned second = Fft::mirror(t);
#pragma unroll
    for (int i = 0; i < E / 2; ++i) {
        out[panel_at(t + i * Fft::M, pair, pairs)] = v[i];
        out[panel_at(second + i * Fft::M, pair, pairs)] = v[E / 2 + i];
    }
}

template <int N, typename Keep>
__device__ __forceinline__ void columns_forward(const cplx* __restrict__ in, real* __restrict__ out,
                                                const cplx* __restrict__ table, unsigned columns, Keep keep) {
    typedef typename ColumnPlace<N>::Fft Fft;
    constexpr int E = Columns<N>::E;
    extern __shared__ double2 memory[];
    const ColumnPlace<N> own(memory, columns);
    const unsigned t = own.place.t;
    in += panel_at(own.first, 0, N / 2);
    cplx v[E];
    const cplx* const ends[2] = {in + t * PANEL, in + (N - 1 - t) * PANEL};
    Fft::neighbours(v, [&](int end, int offset, cplx& a, cplx& b) {
        const cplx* at = ends[end] + offset * int(PANEL);
        cplx x = at[0], y = at[1];
        a = make(x.x, y.x);
        b = make(x.y, y.y);
    });
    Fft::template run<-1>(v, own.place, table);
    // What depends on the thread alone is worked out anew, or registers run out.
    unsigned again = t;
    asm volatile("" : "+r"(again));
    Fft::pairs(v, again, table, [&](const Frequency& at, cplx& k, cplx& n) { dct_pair(at.w, k, n); });
    // Both passes leave their halves to this.
    const real quarter = real(0.25);
    out += own.first;
    const unsigned second = Fft::mirror(again);
#pragma unroll
    for (int i = 0; i < E / 2; ++i) {
        const cplx a = v[i], b = v[E / 2 + i];
        *reinterpret_cast<cplx*>(out + size_t(again + i * Fft::M) * columns) = make(keep(quarter * a.x), keep(quarter * a.y));
        *reinterpret_cast<cplx*>(out + size_t(second + i * Fft::M) * columns) = make(keep(quarter * b.x), keep(quarter * b.y));
    }
    keep.count(own.own);
}

template <int N, bool SLIM, typename In>
__device__ __forceinline__ void columns_inverse(In in, cplx* __restrict__ out, const cplx* __restrict__ table,
                                                unsigned columns, int sine) {
    typedef typename ColumnPlace<N>::Fft Fft;
    constexpr int E = Columns<N>::E;
    extern __shared__ double2 memory[];
    const ColumnPlace<N> own(memory, columns);
    unsigned t = own.place.t;
    cplx v[E];
    with_input(in, ReadColumns<N>{own, v, columns});
    inverse<Fft>(v, own.place, table, sine);
    asm volatile("" : "+r"(t));  // addresses worked out anew, or registers run out
    const real sign = sine ? -1 : 1;
    constexpr int step = SLIM ? 1 : PANEL, next = SLIM ? N / 2 : 1;
    out += between<SLIM>(own.first, 0, N / 2);
    cplx* const ends[2] = {out + t * step, out + (N - 1 - t) * step};
    Fft::neighbours(v, [&](int end, int offset, cplx& a, cplx& b) {
        cplx* at = ends[end] + offset * step;
        at[0] = make(a.x, sign * b.x);
        at[next] = make(a.y, sign * b.y);
    });
}

/// Rows of a map as a block has them in shared memory, [2 LINES][N].
template <int N> __device__ __forceinline__ real* block_rows(void* memory) {
    return static_cast<real*>(memory) + (threadIdx.x / MapRows<N>::T) * (2 * N);
}

/// Writes a block's rows from there, neighbours by neighbouring threads. (An H200,
/// 10000 × 100 in f64: 6.7 µs for the DCT's last pass, 8.8 where the 5 threads of a
/// line write it.)
template <int N>
__device__ __forceinline__ void write_block_rows(const void* memory, real* __restrict__ out, unsigned pairs) {
    typedef MapRows<N> Cut;
    __syncthreads();
    const unsigned first = blockIdx.x * Cut::LINES, left = pairs - first;
    const unsigned packs = (left < Cut::LINES ? left : Cut::LINES) * (2 * N / LANES);
    const Pack* from = static_cast<const Pack*>(memory);
    Pack* to = reinterpret_cast<Pack*>(out + size_t(2 * first) * N);
    for (unsigned i = threadIdx.x; i < packs; i += Cut::THREADS) to[i] = from[i];
}

template <int N, bool SLIM>
__device__ __forceinline__ void map_rows_inverse(const cplx* __restrict__ in, real* __restrict__ out,
                                                 const cplx* __restrict__ table, unsigned pairs, int sine) {
    typedef typename RowPlace<N>::Fft Fft;
    constexpr int E = MapRows<N>::E;
    constexpr bool GATHERED = MapRows<N>::GATHERED;
    extern __shared__ double2 memory[];
    const RowPlace<N> own(memory, pairs);
    const unsigned t = own.place.t, pair = own.pair;
    const unsigned second = Fft::mirror(t);
    cplx v[E];
#pragma unroll
    for (int i = 0; i < E / 2; ++i) {
        v[i] = in[between<SLIM>(t + i * Fft::M, pair, pairs)];
        v[E / 2 + i] = in[between<SLIM>(second + i * Fft::M, pair, pairs)];
    }
    inverse<Fft>(v, own.place, table, sine);
    // Both passes leave their halves to this.
    const real quarter = real(0.25), odd = sine ? -quarter : quarter;
    if (GATHERED) __syncthreads();
    cplx* even = reinterpret_cast<cplx*>(GATHERED ? block_rows<N>(memory) : out + size_t(2 * pair) * N);
    cplx* const ends[2] = {even + t, even + (N - 1 - t)};
    Fft::neighbours(v, [&](int end, int offset, cplx& a, cplx& b) {
        ends[end][offset] = make(quarter * a.x, odd * b.x);
        ends[end][offset + N / 2] = make(quarter * a.y, odd * b.y);
    });
    if (GATHERED) write_block_rows<N>(memory, out, pairs);
}

/// The first pass of a DCT of many rows. 2C must divide the columns.
template <int N, typename In>
__device__ __forceinline__ void columns_forward_first(In in, cplx* __restrict__ out, const cplx* __restrict__ table,
                                                      unsigned columns) {
    typedef typename ColumnPlace<N>::Fft Fft;
    constexpr int E = Columns<N>::E, C = Columns<N>::C;
    static_assert(Columns<N>::GROUPS == 1, "lines are long");
    extern __shared__ double2 memory[];
    const ColumnPlace<N> own(memory, columns);
    const unsigned t = own.place.t;
    cplx v[E];
    with_input(in, ReadColumnNeighbours<N>{own, v, columns});
    dct<Fft>(v, own.place, table);
    out += blockIdx.x * size_t(N * C) + own.place.lane;
    const unsigned second = Fft::mirror(t);
#pragma unroll
    for (int i = 0; i < E / 2; ++i) {
        out[(t + i * Fft::M) * C] = v[i];
        out[(second + i * Fft::M) * C] = v[E / 2 + i];
    }
}

/// The second pass after it; `slim` is that one's C.
template <int N, typename Keep>
__device__ __forceinline__ void map_rows_forward_last(const cplx* __restrict__ in, real* __restrict__ out,
                                                      const cplx* __restrict__ table, unsigned pairs, unsigned slim,
                                                      Keep keep) {
    typedef typename RowPlace<N>::Fft Fft;
    constexpr int E = MapRows<N>::E;
    extern __shared__ double2 memory[];
    const RowPlace<N> own(memory, pairs);
    const unsigned pair = own.pair;
    unsigned t = own.place.t;
    const long long rows = 2 * pairs;
    auto at = [&](unsigned q) { return in + ((q / slim) * rows + 2 * pair) * slim + q % slim; };
    const cplx* const ends[2] = {at(t), at(N - 1 - t)};
    cplx v[E];
    Fft::neighbours(v, [&](int end, int offset, cplx& a, cplx& b) {
        const cplx* from = ends[end] + offset * rows;
        cplx x = from[0], y = from[slim];
        a = make(x.x, y.x);
        b = make(x.y, y.y);
    });
    dct<Fft>(v, own.place, table);
    if (F64) asm volatile("" : "+r"(t));  // addresses worked out anew, or registers run out
    // Both passes leave their halves to this.
    const real quarter = real(0.25);
    constexpr bool GATHERED = MapRows<N>::GATHERED;
    if (GATHERED) __syncthreads();
    real* even = GATHERED ? block_rows<N>(memory) : out + size_t(2 * pair) * N;
    const unsigned second = Fft::mirror(t);
#pragma unroll
    for (int i = 0; i < E / 2; ++i) {
        const unsigned k = t + i * Fft::M, mirror = second + i * Fft::M;
        even[k] = keep(quarter * v[i].x);
        even[k + N] = keep(quarter * v[i].y);
        even[mirror] = keep(quarter * v[E / 2 + i].x);
        even[mirror + N] = keep(quarter * v[E / 2 + i].y);
    }
    if (GATHERED) write_block_rows<N>(memory, out, pairs);
    keep.count(own.own);
}

#define MAP_ROWS(N) extern "C" __global__ void __launch_bounds__(MapRows<N>::THREADS, MapRows<N>::BLOCKS)
#define MAP_COLUMNS(N) extern "C" __global__ void __launch_bounds__(Columns<N>::THREADS, Columns<N>::BLOCKS)

#define TWO_PASS(N) TWO_PASS_(N)
#define TWO_PASS_(N)                                                                                                  \
    extern "C" __device__ const Shape rows_shape_##N = {MapRows<N>::E, Stages<N, MapRows<N>::E>::X1,                  \
        Stages<N, MapRows<N>::E>::X2, MapRows<N>::LINES, MapRows<N>::THREADS, MapRows<N>::BYTES};                     \
    extern "C" __device__ const Shape columns_shape_##N = {Columns<N>::E, Stages<N, Columns<N>::E>::X1,               \
        Stages<N, Columns<N>::E>::X2, Columns<N>::C * Columns<N>::GROUPS, Columns<N>::THREADS, Columns<N>::BYTES};    \
    MAP_ROWS(N) map_rows_forward_##N(const real* in, cplx* out, const cplx* table, unsigned pairs) {                  \
        map_rows_forward<N>(in + blockIdx.y * size_t(2 * N) * pairs, out + blockIdx.y * panels(N, pairs), table, pairs); \
    }                                                                                                                 \
    MAP_ROWS(N) map_rows_forward_integer_##N(const void* in, cplx* out, const cplx* table, unsigned pairs, int type) { \
        const Integers integers = {in, type, blockIdx.y * size_t(2 * N) * pairs};                                     \
        map_rows_forward<N>(integers, out + blockIdx.y * panels(N, pairs), table, pairs);                             \
    }                                                                                                                 \
    MAP_COLUMNS(N) map_columns_forward_##N(const cplx* in, real* out, const cplx* table, unsigned columns) {          \
        const size_t map = blockIdx.y * size_t(N) * columns;                                                          \
        columns_forward<N>(in + blockIdx.y * panels(columns, N / 2), out + map, table, columns, KeepAll{});           \
    }                                                                                                                 \
    MAP_COLUMNS(N) map_columns_forward_threshold_##N(const cplx* in, real* out, const cplx* table, unsigned columns,  \
                                                     real epsilon, unsigned long long* kept, Kept* parts) {                        \
        const size_t map = blockIdx.y * size_t(N) * columns;                                                          \
        columns_forward<N>(in + blockIdx.y * panels(columns, N / 2), out + map, table, columns, KeepLarge{epsilon, kept, parts}); \
    }                                                                                                                 \
    MAP_COLUMNS(N) map_columns_inverse_##N(const real* in, cplx* out, const cplx* table, unsigned columns, int sine) { \
        const size_t map = blockIdx.y * size_t(N) * columns;                                                          \
        columns_inverse<N, false>(in + map, out + blockIdx.y * panels(columns, N / 2), table, columns, sine);                \
    }                                                                                                                 \
    MAP_COLUMNS(N) map_columns_inverse_integer_##N(const void* in, cplx* out, const cplx* table, unsigned columns,    \
                                                   int sine, int type) {                                              \
        const Integers integers = {in, type, blockIdx.y * size_t(N) * columns};                                       \
        columns_inverse<N, false>(integers, out + blockIdx.y * panels(columns, N / 2), table, columns, sine);                \
    }                                                                                                                 \
    MAP_ROWS(N) map_rows_inverse_##N(const cplx* in, real* out, const cplx* table, unsigned pairs, int sine) {        \
        map_rows_inverse<N, false>(in + blockIdx.y * panels(N, pairs), out + blockIdx.y * size_t(2 * N) * pairs, table, pairs, sine); \
    }

#define ROWS_LAST(N) ROWS_LAST_(N)
#define ROWS_LAST_(N)                                                                                                 \
    MAP_ROWS(N) map_rows_forward_last_##N(const cplx* in, real* out, const cplx* table, unsigned pairs, unsigned slim) { \
        const size_t map = blockIdx.y * size_t(N) * pairs;                                                            \
        map_rows_forward_last<N>(in + map, out + 2 * map, table, pairs, slim, KeepAll{});                             \
    }                                                                                                                 \
    MAP_ROWS(N) map_rows_forward_last_threshold_##N(const cplx* in, real* out, const cplx* table, unsigned pairs,     \
                                                    unsigned slim, real epsilon, unsigned long long* kept, Kept* parts) {          \
        const size_t map = blockIdx.y * size_t(N) * pairs;                                                            \
        map_rows_forward_last<N>(in + map, out + 2 * map, table, pairs, slim, KeepLarge{epsilon, kept, parts});              \
    }
#define ROWS_SLIM(N) ROWS_SLIM_(N)
#define ROWS_SLIM_(N)                                                                                                 \
    MAP_ROWS(N) map_rows_inverse_slim_##N(const cplx* in, real* out, const cplx* table, unsigned pairs, int sine) {   \
        const size_t map = blockIdx.y * size_t(N) * pairs;                                                            \
        map_rows_inverse<N, true>(in + map, out + 2 * map, table, pairs, sine);                                       \
    }
#define COLUMNS_SLIM(N) COLUMNS_SLIM_(N)
#define COLUMNS_SLIM_(N)                                                                                              \
    MAP_COLUMNS(N) map_columns_inverse_slim_##N(const real* in, cplx* out, const cplx* table, unsigned columns, int sine) { \
        const size_t map = blockIdx.y * size_t(N / 2) * columns;                                                      \
        columns_inverse<N, true>(in + 2 * map, out + map, table, columns, sine);                                      \
    }                                                                                                                 \
    MAP_COLUMNS(N) map_columns_inverse_slim_integer_##N(const void* in, cplx* out, const cplx* table,                 \
                                                        unsigned columns, int sine, int type) {                       \
        const size_t map = blockIdx.y * size_t(N / 2) * columns;                                                      \
        columns_inverse<N, true>(Integers{in, type, 2 * map}, out + map, table, columns, sine);                       \
    }
#define COLUMNS_FIRST(N) COLUMNS_FIRST_(N)
#define COLUMNS_FIRST_(N)                                                                                             \
    MAP_COLUMNS(N) map_columns_forward_first_##N(const real* in, cplx* out, const cplx* table, unsigned columns) {    \
        const size_t map = blockIdx.y * size_t(N / 2) * columns;                                                      \
        columns_forward_first<N>(in + 2 * map, out + map, table, columns);                                            \
    }                                                                                                                 \
    MAP_COLUMNS(N) map_columns_forward_first_integer_##N(const void* in, cplx* out, const cplx* table,                \
                                                         unsigned columns, int type) {                                \
        const size_t map = blockIdx.y * size_t(N / 2) * columns;                                                      \
        columns_forward_first<N>(Integers{in, type, 2 * map}, out + map, table, columns);                             \
    }

#ifdef PF_LINE
TWO_PASS(PF_LINE)
ROWS_LAST(PF_LINE)
#if PF_LINE <= 200
ROWS_SLIM(PF_LINE)
#elif PF_LINE >= 8192
COLUMNS_FIRST(PF_LINE)
COLUMNS_SLIM(PF_LINE)
#endif
#else
#define EVERY(K) K(64) K(128) K(256) K(512) K(1024) K(100) K(200) K(400) K(500) K(1000)
EVERY(TWO_PASS)
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
// Longer lines do not fit the shared memory of compute capability 7.5.
#define EVERY_LONG(K) K(2048) K(4096) K(8192) K(2000) K(2500) K(5000) K(10000)
EVERY_LONG(TWO_PASS)
EVERY(ROWS_LAST)
EVERY_LONG(ROWS_LAST)
#define MANY_ROWS(K) K(8192) K(10000)
MANY_ROWS(COLUMNS_FIRST)
MANY_ROWS(COLUMNS_SLIM)
ROWS_SLIM(64)
ROWS_SLIM(100)
ROWS_SLIM(128)
ROWS_SLIM(200)
#endif
#endif
