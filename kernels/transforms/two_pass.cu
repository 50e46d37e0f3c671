// A fused 2-D transform in two passes over the map: along one axis, then the other, each
// with its pre-processing, FFT and post-processing in registers. What is between the two
// stays in panels (fft/real_lines.cuh).
//
//   DCT       map_rows_forward along y, map_columns_forward along x
//   inverses  map_columns_inverse along x, map_rows_inverse along y
//   DCT of rows so many that a block has room for too few columns to write whole sectors
//             of them: map_columns_forward_first along x, map_rows_forward_last along y
//   inverses of as many rows of which a block takes several: the _by_column forms, which leave
//             columns one after the other between the passes
//
// The first of a transform's passes also takes integers, which it converts as it reads, and
// the last of a DCT's a threshold (fft/keep.cuh).
//
// Lengths are the powers of two from 64 to 8192 and 100 d, d a divisor of 100. Maps are
// [nx][ny], y contiguous, map blockIdx.y of a batch; between the passes complex numbers are
// [panel][row pair][column of the panel], in the _by_column forms [column][row pair], or after
// map_columns_forward_first [2C columns][row][C]. A block takes LINES row pairs or GROUPS
// times 2C columns, with threads and shared memory as MapRows and MapColumns say; where
// fewer are left, the last one is repeated. Each pass reads and writes every value once.
#include "fft/inputs.cuh"
#include "fft/keep.cuh"
#include "fft/real_lines.cuh"
#include "fft/shapes.cuh"

/// Whether long lines go through shared memory at once. (An H200, 100 × 10000 in f64:
/// the rows' pass 13.4 µs, 15.3 in two halves. Elsewhere there is no room, or it was
/// not measured and would spill registers.)
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 900
constexpr bool UNSPLIT = true;
#else
constexpr bool UNSPLIT = false;
#endif

/// How rows of N elements are divided.
template <int N, bool = hundreds(N)> struct MapRows : Rows<N> {
    static constexpr bool STAGED = false;
};
template <int N> struct MapRows<N, true> {
    static constexpr int E = 20, T = N / E;
    static constexpr int LINES = T < 32 ? 32 / T : 1;
    static constexpr bool SPLIT = F64 && !UNSPLIT && N >= 5000;
    static constexpr int THREADS = T * LINES;
    using Fft = BlockFft<N, E, 1, LINES, SPLIT>;
    static constexpr int BLOCKS = blocks(F64 ? 384 : 640, (THREADS + 31) / 32 * 32);
    static constexpr int BYTES = Fft::BYTES * LINES;
    // A block's rows of the map, neighbours, go through shared memory before they are written.
    static constexpr bool STAGED = LINES > 1;
    static_assert(!STAGED || BYTES >= 2 * LINES * N * int(sizeof(real)), "no room for a block's rows");
};

/// How columns are.
template <int N, bool = hundreds(N)> struct MapColumns {
    static constexpr int E = N <= 512 ? 8 : !F64 && N >= 2048 ? 32 : 16;
    static constexpr int T = N / E;
    static constexpr int C = F64 ? (N == 8192 ? 1 : 2) : N == 512 || N == 8192 ? 2 : 4;
    static constexpr int GROUPS = 1;
    static constexpr bool SPLIT = F64 && E == 16;
    static constexpr int THREADS = T * C;
    using Fft = BlockFft<N, E, C, 1, SPLIT>;
    static constexpr int BLOCKS = blocks(F64 ? (E == 8 ? 768 : 512) : E == 32 ? 512 : 1024, THREADS, 8);
    static constexpr int BYTES = Fft::BYTES;
};
template <int N> struct MapColumns<N, true> {
    static constexpr int E = 20, T = N / E;
    static constexpr int C = N == 10000 ? 1 : 2;
    static constexpr int GROUPS = T * C < 32 ? 32 / (T * C) : 1;
    // (Unsplit, 5000 spills a register.)
    static constexpr bool SPLIT = F64 && (N == 5000 || (N > 5000 && !UNSPLIT));
    static constexpr int THREADS = T * C * GROUPS;
    using Fft = BlockFft<N, E, C, GROUPS, SPLIT>;
    static constexpr int BLOCKS = blocks(F64 ? 384 : 640, (THREADS + 31) / 32 * 32);
    static constexpr int BYTES = Fft::BYTES * GROUPS;
};

/// Complex numbers of a map between passes, whole panels.
__device__ __forceinline__ size_t panels(u32 columns, u32 pairs) {
    return size_t((columns + PANEL - 1) / PANEL * PANEL) * pairs;
}

/// Where a complex number stands between passes: in panels, or by columns.
template <bool BY_COLUMNS> __device__ __forceinline__ u32 between(u32 column, u32 pair, u32 pairs) {
    return BY_COLUMNS ? column * pairs + pair : panel_at(column, pair, pairs);
}

/// A thread's place in a block of row pairs.
template <int N> struct RowPlace {
    using Cut = MapRows<N>;
    using Fft = typename Cut::Fft;
    Place place;
    u32 pair;
    bool repeated;  // the last pair once more, where the block has more lines than are left

    __device__ __forceinline__ RowPlace(void* memory, u32 pairs) {
        const u32 t = threadIdx.x % Cut::T, group = threadIdx.x / Cut::T;
        place = {t, 0, group, static_cast<char*>(memory) + group * Fft::BYTES};
        pair = blockIdx.x * Cut::LINES + group;
        repeated = Cut::LINES > 1 && pair >= pairs;
        if (repeated) pair = pairs - 1;
    }
};

/// A thread's place in a block of columns; `first` and the next one are its line's
/// real and imaginary parts.
template <int N> struct ColumnPlace {
    using Cut = MapColumns<N>;
    using Fft = typename Cut::Fft;
    static_assert(2 * Cut::C <= PANEL, "a group's columns are part of a panel");
    Place place;
    u32 first;
    bool repeated;  // the last columns once more

    __device__ __forceinline__ ColumnPlace(void* memory, u32 columns) {
        constexpr u32 C = Cut::C;
        const u32 within = threadIdx.x % (Cut::T * C), group = threadIdx.x / (Cut::T * C);
        place = {within / C, within % C, group, static_cast<char*>(memory) + group * Fft::BYTES};
        first = (blockIdx.x * Cut::GROUPS + group) * (2 * C) + 2 * place.lane;
        repeated = first >= columns;
        if (repeated) first = columns - 2;
    }
};

/// Reads a line of neighbours of two rows.
template <int N> struct ReadRows {
    const RowPlace<N>& own;
    cplx* v;

    template <typename In> __device__ __forceinline__ void operator()(const In* from) const {
        load_rows<typename RowPlace<N>::Fft>(v, own.place.t, from + size_t(2 * own.pair) * N);
    }
};

/// Reads a line of coefficients of two columns.
template <int N> struct ReadColumns {
    const ColumnPlace<N>& own;
    cplx* v;
    u32 columns;

    template <typename In> __device__ __forceinline__ void operator()(const In* from) const {
        from += own.first;
        ColumnPlace<N>::Fft::coefficients(v, own.place.t,
                                          [&](u32 k, cplx& a) { a = two_at(from + size_t(k) * columns); });
    }
};

/// Reads a line of neighbours of two columns.
template <int N> struct ReadColumnNeighbours {
    const ColumnPlace<N>& own;
    cplx* v;
    u32 columns;

    template <typename In> __device__ __forceinline__ void operator()(const In* from) const {
        const u32 t = own.place.t;
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
                                                 u32 pairs) {
    using Fft = typename RowPlace<N>::Fft;
    constexpr int E = MapRows<N>::E;
    extern __shared__ double2 memory[];
    const RowPlace<N> own(memory, pairs);
    const u32 pair = own.pair;
    u32 t = own.place.t;
    cplx v[E];
    with_input(in, ReadRows<N>{own, v});
    dct<Fft>(v, own.place, table);
    asm volatile("" : "+r"(t));  // addresses computed again, or registers run out
    store_panels<Fft>(v, t, out, pair, pairs);
}

template <int N, typename Keep>
__device__ __forceinline__ void columns_forward(const cplx* __restrict__ in, real* __restrict__ out,
                                                const cplx* __restrict__ table, u32 columns, Keep keep) {
    using Fft = typename ColumnPlace<N>::Fft;
    constexpr int E = MapColumns<N>::E;
    extern __shared__ double2 memory[];
    const ColumnPlace<N> own(memory, columns);
    const u32 t = own.place.t;
    cplx v[E];
    load_columns<Fft>(v, t, in + panel_at(own.first, 0, N / 2), 1);
    Fft::template run<-1>(v, own.place, table);
    // What depends on the thread alone is computed again, or registers run out.
    u32 again = t;
    asm volatile("" : "+r"(again));
    Fft::pairs(v, again, table, [&](const Frequency& at, cplx& k, cplx& n) { dct_pair(at.w, k, n); });
    // The halves of both passes.
    const real quarter = real(0.25);
    out += own.first;
    Fft::coefficients(v, again, [&](u32 k, cplx& a) {
        *reinterpret_cast<cplx*>(out + size_t(k) * columns) = make(keep(quarter * a.x), keep(quarter * a.y));
    });
    keep.count(!own.repeated);
}

template <int N, bool BY_COLUMNS, typename In>
__device__ __forceinline__ void columns_inverse(In in, cplx* __restrict__ out, const cplx* __restrict__ table,
                                                u32 columns, int sine) {
    using Fft = typename ColumnPlace<N>::Fft;
    constexpr int E = MapColumns<N>::E;
    extern __shared__ double2 memory[];
    const ColumnPlace<N> own(memory, columns);
    u32 t = own.place.t;
    cplx v[E];
    with_input(in, ReadColumns<N>{own, v, columns});
    inverse<Fft>(v, own.place, table, sine);
    asm volatile("" : "+r"(t));  // addresses computed again, or registers run out
    const real sign = sine ? -1 : 1;
    constexpr int STEP = BY_COLUMNS ? 1 : PANEL, NEXT = BY_COLUMNS ? N / 2 : 1;
    out += between<BY_COLUMNS>(own.first, 0, N / 2);
    cplx* const ends[2] = {out + t * STEP, out + (N - 1 - t) * STEP};
    Fft::neighbours(v, [&](int end, int offset, cplx& a, cplx& b) {
        cplx* at = ends[end] + offset * STEP;
        at[0] = make(a.x, sign * b.x);
        at[NEXT] = make(a.y, sign * b.y);
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
__device__ __forceinline__ void write_block_rows(const void* memory, real* __restrict__ out, u32 pairs) {
    using Cut = MapRows<N>;
    __syncthreads();
    const u32 first = blockIdx.x * Cut::LINES, left = pairs - first;
    const u32 packs = (left < Cut::LINES ? left : Cut::LINES) * (2 * N / LANES);
    const Pack* from = static_cast<const Pack*>(memory);
    Pack* to = reinterpret_cast<Pack*>(out + size_t(2 * first) * N);
    for (u32 i = threadIdx.x; i < packs; i += Cut::THREADS) to[i] = from[i];
}

template <int N, bool BY_COLUMNS>
__device__ __forceinline__ void map_rows_inverse(const cplx* __restrict__ in, real* __restrict__ out,
                                                 const cplx* __restrict__ table, u32 pairs, int sine) {
    using Fft = typename RowPlace<N>::Fft;
    constexpr int E = MapRows<N>::E;
    constexpr bool STAGED = MapRows<N>::STAGED;
    extern __shared__ double2 memory[];
    const RowPlace<N> own(memory, pairs);
    const u32 t = own.place.t, pair = own.pair;
    cplx v[E];
    Fft::coefficients(v, t, [&](u32 k, cplx& a) { a = in[between<BY_COLUMNS>(k, pair, pairs)]; });
    inverse<Fft>(v, own.place, table, sine);
    // The halves of both passes.
    const real quarter = real(0.25), odd = sine ? -quarter : quarter;
    if (STAGED) __syncthreads();
    store_rows<Fft>(v, t, STAGED ? block_rows<N>(memory) : out + size_t(2 * pair) * N, quarter, odd);
    if (STAGED) write_block_rows<N>(memory, out, pairs);
}

/// The first pass of a DCT of many rows. 2C must divide the columns.
template <int N, typename In>
__device__ __forceinline__ void columns_forward_first(In in, cplx* __restrict__ out, const cplx* __restrict__ table,
                                                      u32 columns) {
    using Fft = typename ColumnPlace<N>::Fft;
    constexpr int E = MapColumns<N>::E, C = MapColumns<N>::C;
    static_assert(MapColumns<N>::GROUPS == 1, "lines are long");
    extern __shared__ double2 memory[];
    const ColumnPlace<N> own(memory, columns);
    const u32 t = own.place.t;
    cplx v[E];
    with_input(in, ReadColumnNeighbours<N>{own, v, columns});
    dct<Fft>(v, own.place, table);
    out += blockIdx.x * size_t(N * C) + own.place.lane;
    Fft::coefficients(v, t, [&](u32 k, cplx& a) { out[k * C] = a; });
}

/// The second pass after it; `group` is the C of that one's layout.
template <int N, typename Keep>
__device__ __forceinline__ void map_rows_forward_last(const cplx* __restrict__ in, real* __restrict__ out,
                                                      const cplx* __restrict__ table, u32 pairs, u32 group, Keep keep) {
    using Fft = typename RowPlace<N>::Fft;
    constexpr int E = MapRows<N>::E;
    extern __shared__ double2 memory[];
    const RowPlace<N> own(memory, pairs);
    const u32 pair = own.pair;
    u32 t = own.place.t;
    const long long rows = 2 * pairs;
    auto at = [&](u32 q) { return in + ((q / group) * rows + 2 * pair) * group + q % group; };
    const cplx* const ends[2] = {at(t), at(N - 1 - t)};
    cplx v[E];
    Fft::neighbours(v, [&](int end, int offset, cplx& a, cplx& b) {
        const cplx* from = ends[end] + offset * rows;
        cplx x = from[0], y = from[group];
        a = make(x.x, y.x);
        b = make(x.y, y.y);
    });
    dct<Fft>(v, own.place, table);
    if (F64) asm volatile("" : "+r"(t));  // addresses computed again, or registers run out
    // The halves of both passes.
    const real quarter = real(0.25);
    constexpr bool STAGED = MapRows<N>::STAGED;
    if (STAGED) __syncthreads();
    real* even = STAGED ? block_rows<N>(memory) : out + size_t(2 * pair) * N;
    Fft::coefficients(v, t, [&](u32 k, cplx& a) {
        even[k] = keep(quarter * a.x);
        even[k + N] = keep(quarter * a.y);
    });
    if (STAGED) write_block_rows<N>(memory, out, pairs);
    keep.count(!own.repeated);
}

#define PF_MAP_ROWS(N)    PF_KERNEL(MapRows<N>::THREADS, MapRows<N>::BLOCKS)
#define PF_MAP_COLUMNS(N) PF_KERNEL(MapColumns<N>::THREADS, MapColumns<N>::BLOCKS)

#define PF_TWO_PASS(N) PF_TWO_PASS_(N)
#define PF_TWO_PASS_(N)                                                                                                \
    PF_SHAPE(rows_shape_##N) = shape_of<MapRows<N>>(MapRows<N>::LINES);                                                \
    PF_SHAPE(columns_shape_##N) = shape_of<MapColumns<N>>(MapColumns<N>::C * MapColumns<N>::GROUPS);                   \
    PF_MAP_ROWS(N) map_rows_forward_##N(const real* in, cplx* out, const cplx* table, u32 pairs) {                     \
        map_rows_forward<N>(in + blockIdx.y * size_t(2 * N) * pairs, out + blockIdx.y * panels(N, pairs), table,       \
                            pairs);                                                                                    \
    }                                                                                                                  \
    PF_MAP_ROWS(N) map_rows_forward_integer_##N(const void* in, cplx* out, const cplx* table, u32 pairs, int type) {   \
        const Integers integers = {in, type, blockIdx.y * size_t(2 * N) * pairs};                                      \
        map_rows_forward<N>(integers, out + blockIdx.y * panels(N, pairs), table, pairs);                              \
    }                                                                                                                  \
    PF_MAP_COLUMNS(N) map_columns_forward_##N(const cplx* in, real* out, const cplx* table, u32 columns) {             \
        const size_t map = blockIdx.y * size_t(N) * columns;                                                           \
        columns_forward<N>(in + blockIdx.y * panels(columns, N / 2), out + map, table, columns, KeepAll{});            \
    }                                                                                                                  \
    PF_MAP_COLUMNS(N)                                                                                                  \
    map_columns_forward_threshold_##N(const cplx* in, real* out, const cplx* table, u32 columns, real epsilon,         \
                                      u64* kept, Kept* parts) {                                                        \
        const size_t map = blockIdx.y * size_t(N) * columns;                                                           \
        columns_forward<N>(in + blockIdx.y * panels(columns, N / 2), out + map, table, columns,                        \
                           KeepLarge{epsilon, kept, parts});                                                           \
    }                                                                                                                  \
    PF_MAP_COLUMNS(N) map_columns_inverse_##N(const real* in, cplx* out, const cplx* table, u32 columns, int sine) {   \
        const size_t map = blockIdx.y * size_t(N) * columns;                                                           \
        columns_inverse<N, false>(in + map, out + blockIdx.y * panels(columns, N / 2), table, columns, sine);          \
    }                                                                                                                  \
    PF_MAP_COLUMNS(N)                                                                                                  \
    map_columns_inverse_integer_##N(const void* in, cplx* out, const cplx* table, u32 columns, int sine, int type) {   \
        const Integers integers = {in, type, blockIdx.y * size_t(N) * columns};                                        \
        columns_inverse<N, false>(integers, out + blockIdx.y * panels(columns, N / 2), table, columns, sine);          \
    }                                                                                                                  \
    PF_MAP_ROWS(N) map_rows_inverse_##N(const cplx* in, real* out, const cplx* table, u32 pairs, int sine) {           \
        map_rows_inverse<N, false>(in + blockIdx.y * panels(N, pairs), out + blockIdx.y * size_t(2 * N) * pairs,       \
                                   table, pairs, sine);                                                                \
    }

#define PF_ROWS_LAST(N) PF_ROWS_LAST_(N)
#define PF_ROWS_LAST_(N)                                                                                               \
    PF_MAP_ROWS(N) map_rows_forward_last_##N(const cplx* in, real* out, const cplx* table, u32 pairs, u32 group) {     \
        const size_t map = blockIdx.y * size_t(N) * pairs;                                                             \
        map_rows_forward_last<N>(in + map, out + 2 * map, table, pairs, group, KeepAll{});                             \
    }                                                                                                                  \
    PF_MAP_ROWS(N)                                                                                                     \
    map_rows_forward_last_threshold_##N(const cplx* in, real* out, const cplx* table, u32 pairs, u32 group,            \
                                        real epsilon, u64* kept, Kept* parts) {                                        \
        const size_t map = blockIdx.y * size_t(N) * pairs;                                                             \
        map_rows_forward_last<N>(in + map, out + 2 * map, table, pairs, group, KeepLarge{epsilon, kept, parts});       \
    }
#define PF_ROWS_SLIM(N) PF_ROWS_SLIM_(N)
#define PF_ROWS_SLIM_(N)                                                                                               \
    PF_MAP_ROWS(N) map_rows_inverse_by_column_##N(const cplx* in, real* out, const cplx* table, u32 pairs, int sine) {      \
        const size_t map = blockIdx.y * size_t(N) * pairs;                                                             \
        map_rows_inverse<N, true>(in + map, out + 2 * map, table, pairs, sine);                                        \
    }
#define PF_COLUMNS_SLIM(N) PF_COLUMNS_SLIM_(N)
#define PF_COLUMNS_SLIM_(N)                                                                                            \
    PF_MAP_COLUMNS(N)                                                                                                  \
    map_columns_inverse_by_column_##N(const real* in, cplx* out, const cplx* table, u32 columns, int sine) {                \
        const size_t map = blockIdx.y * size_t(N / 2) * columns;                                                       \
        columns_inverse<N, true>(in + 2 * map, out + map, table, columns, sine);                                       \
    }                                                                                                                  \
    PF_MAP_COLUMNS(N)                                                                                                  \
    map_columns_inverse_by_column_integer_##N(const void* in, cplx* out, const cplx* table, u32 columns, int sine,          \
                                         int type) {                                                                   \
        const size_t map = blockIdx.y * size_t(N / 2) * columns;                                                       \
        columns_inverse<N, true>(Integers{in, type, 2 * map}, out + map, table, columns, sine);                        \
    }
#define PF_COLUMNS_FIRST(N) PF_COLUMNS_FIRST_(N)
#define PF_COLUMNS_FIRST_(N)                                                                                           \
    PF_MAP_COLUMNS(N) map_columns_forward_first_##N(const real* in, cplx* out, const cplx* table, u32 columns) {       \
        const size_t map = blockIdx.y * size_t(N / 2) * columns;                                                       \
        columns_forward_first<N>(in + 2 * map, out + map, table, columns);                                             \
    }                                                                                                                  \
    PF_MAP_COLUMNS(N)                                                                                                  \
    map_columns_forward_first_integer_##N(const void* in, cplx* out, const cplx* table, u32 columns, int type) {       \
        const size_t map = blockIdx.y * size_t(N / 2) * columns;                                                       \
        columns_forward_first<N>(Integers{in, type, 2 * map}, out + map, table, columns);                              \
    }

#ifdef PF_LINE
PF_TWO_PASS(PF_LINE)
PF_ROWS_LAST(PF_LINE)
#if PF_LINE <= 200
PF_ROWS_SLIM(PF_LINE)
#elif PF_LINE >= 8192
PF_COLUMNS_FIRST(PF_LINE)
PF_COLUMNS_SLIM(PF_LINE)
#endif
#else
#define PF_EVERY(K) K(64) K(128) K(256) K(512) K(1024) K(100) K(200) K(400) K(500) K(1000)
PF_EVERY(PF_TWO_PASS)
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
// Longer lines do not fit the shared memory of compute capability 7.5.
#define PF_EVERY_LONG(K) K(2048) K(4096) K(8192) K(2000) K(2500) K(5000) K(10000)
PF_EVERY_LONG(PF_TWO_PASS)
PF_EVERY(PF_ROWS_LAST)
PF_EVERY_LONG(PF_ROWS_LAST)
#define PF_MANY_ROWS(K)  K(8192) K(10000)
PF_MANY_ROWS(PF_COLUMNS_FIRST)
PF_MANY_ROWS(PF_COLUMNS_SLIM)
PF_ROWS_SLIM(64)
PF_ROWS_SLIM(100)
PF_ROWS_SLIM(128)
PF_ROWS_SLIM(200)
#endif
#endif
