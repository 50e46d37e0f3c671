// What density and force share: where a rectangle lies on the bins.
//
// A body is a rectangle that moves: movable cells and fillers. Each axis is
// stretched about the body's centre to at least `stretch` bins (sqrt 2 for the
// smoothed density, 0 for the exact one) and weighed by `ratio` so that its
// area stays what it was (ePlace, eq. 21; DREAMPlace, section III-B).
//
// Bodies are worked on in *slots*: an order made by kernels/order.cu in which
// bodies that stand close together follow one another. Slots hold the movable
// cells first, then the fillers, then the large bodies, which are worked on one
// by one. A block takes one chunk, bodies of one tile of bins, and keeps the
// tile and its surroundings (a patch) in shared memory. A body that has left
// its patch since the last ordering is still counted, by way of global memory.
//
// No host headers: this text is compiled by NVRTC and by nvcc.
#ifndef PLACEFIELD_BODIES_CUH
#define PLACEFIELD_BODIES_CUH

typedef unsigned int u32;
typedef unsigned long long u64;

// Bins along a side of a tile, around it, and along a side of a patch: a body
// of up to 3 bins may begin in its last bin but two, and its rows hold whole
// quads of bins. As in src/cuda/plan.rs.
#define TILE_SHIFT 5
#define TILE (1 << TILE_SHIFT)
#define HALO 4
#define PATCH ((TILE + 2 * HALO + 2 + 3) / 4 * 4)
// Quads of bins in a row of a patch, and in a patch.
#define PATCH_ROW (PATCH / 4)
#define PATCH_QUADS (PATCH * PATCH_ROW)

// One axis of the bins. `origin` and `bin` are split into the nearest T and
// what that leaves, so that a position keeps its own precision.
template <typename T>
struct Axis {
    T origin_hi, origin_lo;
    T bin_hi, bin_lo;
    T inverse;
};

// Everything that stays the same from one step to the next. Same layout as
// `Plan` in src/cuda/plan.rs.
template <typename T>
struct Plan {
    Axis<T> x, y;
    T stretch;        // least extent of a body, bins
    T filler_w;       // fillers' size, bins, and weight
    T filler_h;
    T filler_ratio;
    T scale;          // fixed-point units per bin area: a power of two
    T unscale;        // its inverse
    T target;         // target density, less the background
    T background;     // what is left out of maps
    T force_unit;     // bin area: overlaps in bins to layout units squared
    T excess_scale;   // fixed-point units of the overflow per bin area
    int nx, ny;
    int bodies;       // slots, large bodies left out
    int movable;      // slots of movable cells, large bodies left out
    int records;      // slots that have a record: `movable`, or all
    int own_size;     // bodies count at their own size, and fillers do not
    int large;        // slots bodies .. bodies + large
    int movable_ids;  // bodies below this index in the netlist are movable cells
    int max_chunks;   // room in the list of chunks
    int tiles_x, tiles_y;
    int chunk;        // most bodies in a chunk
    int limb_bits;    // f64: bits of a fixed-point number's lower limb
};

static_assert(sizeof(Plan<float>) == 132 && sizeof(Plan<double>) == 216, "as in src/cuda/plan.rs");

template <typename T>
struct Bits;
template <>
struct Bits<float> {
    typedef u32 Id;
    typedef float2 Pair;
};
template <>
struct Bits<double> {
    typedef u64 Id;
    typedef double2 Pair;
};

// A body's constants, in bins, and its netlist index. A negative ratio is that
// of a body whose weight is the ratio also where bodies count at their own size;
// every other one's is 1 there.
template <typename T>
struct alignas(4 * sizeof(T)) Record {
    T w, h, ratio;
    typename Bits<T>::Id id;
};

// How far bodies have left the order they are worked on in. Same layout as
// `Bodies::wear` in src/cuda/bodies.rs.
struct alignas(16) Wear {
    u32 order;   // how many have been made
    u32 least;   // strays of the step that had fewest: those no order mends
    u64 excess;  // strays beyond these, of all steps since the order together
};

// The bodies of one block: slots of movable cells and of fillers, and the first
// bin of the patch, which may lie outside the die. `limit`: see sums.cuh. One
// without bodies is unused.
struct alignas(16) Chunk {
    u32 movable_begin, movable_end;
    u32 filler_begin, filler_end;
    int left, low;
    u32 limit;
    u32 half;  // of the records and netlist indices, that this order is in
};

// What order lower-left corners are in.
enum Order {
    SLOTS = 0,
    CALLER = 1,  // reached through a body's id
};

__device__ __forceinline__ float magnitude(float a) { return fabsf(a); }
__device__ __forceinline__ double magnitude(double a) { return fabs(a); }
template <typename T>
__device__ __forceinline__ T largest(T a, T b);
template <>
__device__ __forceinline__ float largest(float a, float b) { return fmaxf(a, b); }
template <>
__device__ __forceinline__ double largest(double a, double b) { return fmax(a, b); }
template <typename T>
__device__ __forceinline__ T smallest(T a, T b);
template <>
__device__ __forceinline__ float smallest(float a, float b) { return fminf(a, b); }
template <>
__device__ __forceinline__ double smallest(double a, double b) { return fmin(a, b); }
__device__ __forceinline__ float multiply_add(float a, float b, float c) { return __fmaf_rn(a, b, c); }
__device__ __forceinline__ double multiply_add(double a, double b, double c) { return __fma_rn(a, b, c); }
__device__ __forceinline__ float add_rn(float a, float b) { return __fadd_rn(a, b); }
__device__ __forceinline__ double add_rn(double a, double b) { return __dadd_rn(a, b); }
__device__ __forceinline__ float saturate(float a) { return __saturatef(a); }
__device__ __forceinline__ double saturate(double a) { return fmin(fmax(a, 0.0), 1.0); }

// 3/2 of the first number whose unit in the last place is 1: a number in front
// of it is rounded to an integer, which then stands in the low bits.
__device__ __forceinline__ float whole_of(float) { return 12582912.0f; }
__device__ __forceinline__ double whole_of(double) { return 6755399441055744.0; }
__device__ __forceinline__ int low_bits(float rounded) { return __float_as_int(rounded) - 0x4b400000; }
__device__ __forceinline__ int low_bits(double rounded) { return __double2loint(rounded); }

// A stretched body along one axis: it covers [start, end) counted in bins from
// the left edge of bin `first`, 0 <= start <= 1 + 2 NUDGE. `first` may lie
// outside the die.
template <typename T>
struct Span {
    int first;
    T start, end;
};

// The first bin is found in T, whose rounding may miss by one near an edge; a
// guess this much too low (in bins, and wider than that rounding for every grid
// there can be) is never too high, and `overlap` takes a start beyond 1 as it is.
#define NUDGE 0.00390625

// `position` is the lower-left corner in layout units, `size` is in bins.
//
// The distance from the die's edge is kept as a sum of two numbers (its
// rounding error is found as in Knuth's two-sum), and the fraction of a bin as
// one fused multiply-add from the bin's own edge: both lose nothing that the
// position had. Adding `whole` rounds to an integer at the full rate, which
// neither floor nor a conversion has. A position that is not a number, or far
// off the die, ends far off the die.
template <typename T>
__device__ __forceinline__ Span<T> span_of(const Axis<T>& axis, T position, T size, T stretch) {
    const T stretched = largest(size, stretch), spread = size - stretched;
    const T s = add_rn(position, -axis.origin_hi);
    const T b = add_rn(s, -position);
    const T lost = add_rn(add_rn(position, -add_rn(s, -b)), -add_rn(axis.origin_hi, b));
    const T far = T(1048576), whole = whole_of(T(0));
    T guess = multiply_add(s, axis.inverse, multiply_add(spread, T(0.5), T(-0.5 - NUDGE)));
    guess = add_rn(smallest(largest(guess, -far), far), whole);
    const T i = add_rn(guess, -whole);
    const T r = multiply_add(-i, axis.bin_hi, s) + (multiply_add(-i, axis.bin_lo, lost) - axis.origin_lo);
    Span<T> span;
    span.first = low_bits(guess);
    span.start = smallest(multiply_add(r, axis.inverse, spread * T(0.5)), T(2));
    span.end = span.start + stretched;
    return span;
}

// Length of bin `k` (counted from `first`) that the span covers.
template <typename T>
__device__ __forceinline__ T overlap(const Span<T>& span, int k) {
    const T end = saturate(span.end - T(k));
    return k < 2 ? end - saturate(span.start - T(k)) : end;
}

// One past the last bin covered, counted from `first`.
template <typename T>
__device__ __forceinline__ int extent(const Span<T>& span) {
    return int(span.end) + 1;
}

// True when the 3 x 3 bins from (row, column) on are in the patch.
__device__ __forceinline__ bool within(int row, int column) {
    return u32(row) < PATCH - 2 && u32(column) < PATCH - 2;
}

// The tile of bin (i, j), for one off the die the nearest at the edge.
template <typename T>
__device__ __forceinline__ u32 tile_at(const Plan<T>& plan, int i, int j) {
    i = min(max(i, 0), plan.nx - 1);
    j = min(max(j, 0), plan.ny - 1);
    return u32(i >> TILE_SHIFT) * plan.tiles_y + u32(j >> TILE_SHIFT);
}

// Calls `visit(k, l, i, j, wx, wy)` for every bin (i, j) on the die that a body
// may cover: bin (k, l) counted from its first, with the lengths covered along x
// and y. Rows k = row, row + rows, … and columns l = column, column + columns, …
template <int UNROLL, typename T, typename Visit>
__device__ __forceinline__ void walk(const Plan<T>& plan, const Span<T>& sx, const Span<T>& sy, int row, int rows,
                                     int column, int columns, const Visit& visit) {
    const int end_x = extent(sx), end_y = extent(sy);
    for (int l = column; l < end_y; l += columns) {
        const int j = sy.first + l;
        if (u32(j) >= u32(plan.ny)) continue;
        const T wy = overlap(sy, l);
#pragma unroll UNROLL
        for (int k = row; k < end_x; k += rows) {
            const int i = sx.first + k;
            if (u32(i) < u32(plan.nx)) visit(k, l, i, j, overlap(sx, k), wy);
        }
    }
}

// What a body's area is multiplied with.
template <typename T>
__device__ __forceinline__ T weight_of(const Plan<T>& plan, T ratio) {
    return plan.own_size && ratio > T(0) ? T(1) : magnitude(ratio);
}

// A body taken from a slot.
template <typename T>
struct Taken {
    typename Bits<T>::Pair corner;
    T w, h, ratio;
};

// A record, for L2 to drop first: the maps are what should stay there.
template <typename T>
__device__ __forceinline__ Record<T> read_once(const Record<T>* at) {
    Record<T> record;
    for (u32 k = 0; k < sizeof(record) / 16; ++k)
        reinterpret_cast<uint4*>(&record)[k] = __ldcs(reinterpret_cast<const uint4*>(at) + k);
    return record;
}

// Loads slot `slot`: its lower-left corner by `ORDER`, constants from its record
// in half `half` or, for fillers of one size, from the plan.
template <typename T, int ORDER, bool RECORD>
__device__ __forceinline__ Taken<T> take(const Plan<T>& plan, u32 slot, u32 half,
                                         const Record<T>* __restrict__ records,
                                         const u32* __restrict__ id_of,
                                         const typename Bits<T>::Pair* __restrict__ corners) {
    Taken<T> body;
    u32 at = slot;
    if (RECORD) {
        const Record<T> record = read_once(records + (half * plan.records + slot));
        body.w = record.w;
        body.h = record.h;
        body.ratio = weight_of(plan, record.ratio);
        if (ORDER == CALLER) at = u32(record.id);
    } else {
        body.w = plan.filler_w;
        body.h = plan.filler_h;
        body.ratio = plan.filler_ratio;
        if (ORDER == CALLER) at = id_of[half * (plan.bodies + plan.large) + slot];
    }
    body.corner = ORDER == SLOTS ? __ldcs(corners + at) : __ldg(corners + at);
    return body;
}

#endif
