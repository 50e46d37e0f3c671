// Shared parts of density and force: the position of a rectangle on the bins.
//
// A body is a rectangle that moves: a movable cell or a filler. Each of its sides is stretched about the body's centre
// to at least `stretch` bins (√2 for the smoothed density, 0 for the exact one), and its area is multiplied by `ratio`,
// so that it stays what it was (ePlace, eq. 21; DREAMPlace, section III-B).
//
// Bodies are worked on in *slots*: an order made by order.cu in which bodies that stand close together follow one
// another. Slots hold the movable cells first, then the fillers, then the large bodies, which are worked on one by one.
// A block takes one chunk, bodies of one tile of TILE² bins, and keeps the tile and HALO bins around it (a patch) in
// shared memory. A body that has left its patch since the order was made is outside its halo; it is counted all the
// same, through global memory.
//
// With PF_REGIONS bodies are in several fence regions, each of which has its own maps over the
// same bins, one region's after the other's. Slots of movable cells, of fillers and of large bodies
// are then each in the order of regions, and chunks are of one tile of one region.
#pragma once
#include "device/common.cuh"

#ifndef PF_REGIONS
#define PF_REGIONS 0
#endif
#ifndef PF_THIN_MACROS
#define PF_THIN_MACROS 0
#endif
constexpr bool REGIONS = PF_REGIONS;

// Bins around a tile that a block keeps with it: four, so that a row of the patch begins at a multiple of 16 bytes.
constexpr int TILE_SHIFT = 5, HALO = 4;
static_assert(TILE == 1 << TILE_SHIFT && PATCH == (TILE + 2 * HALO + 2 + 3) / 4 * 4, "a patch is a tile with its halo");
// Fours of bins in a row of a patch, and in a patch.
constexpr int PATCH_ROW = PATCH / 4, PATCH_QUADS = PATCH * PATCH_ROW;
static_assert(TILE % 4 == 0 && HALO % 4 == 0, "rows of a patch begin at whole fours of bins");
static_assert(PATCH <= 2 * TILE, "a bin lies in the patches of four tiles at most (sums.cuh)");

/// One axis of the bins. `origin` and `bin` are split into the nearest number and what
/// that leaves, so that a position keeps its own precision.
struct Axis {
    real origin_hi, origin_lo;
    real bin_hi, bin_lo;
    real inverse;
};

/// Everything that stays the same from one step to the next.
struct Setup {
    Axis x, y;
    real stretch;   // least extent of a body, bins
    real filler_w;  // fillers' size, bins, and ratio
    real filler_h;
    real filler_ratio;
    real scale;         // fixed-point units per bin area: a power of two
    real unscale;       // its inverse
    real target;        // target density, less the background
    real background;    // mean density, which maps leave out
    real force_unit;    // bin area: overlaps in bins to layout units squared
    real excess_scale;  // fixed-point units of the overflow per bin area
    int nx, ny;
    int bodies;       // slots, large bodies left out
    int movable;      // slots of movable cells, large bodies left out
    int records;      // slots that have a record: `movable`, or all
    int exact_size;   // bodies count at their exact size, and fillers do not
    int large;        // slots bodies .. bodies + large
    int movable_ids;  // bodies below this index in the netlist are movable cells
    int max_chunks;   // room in the list of chunks
    int tiles_x, tiles_y;
    int chunk;      // most bodies in a chunk
    int limb_bits;  // f64: bits of a fixed-point number's lower limb
    int regions;    // fence regions
    int rank, ranks;  // whose tiles and large bodies are worked on, of so many devices
};

/// Values that differ between fence regions, read only with PF_REGIONS.
struct Regions {
    const u32* starts;    // first slots of the regions' movable cells, fillers, large movable cells and large fillers
    const real* fillers;  // of each region: `filler_w`, `filler_h` and `filler_ratio` of the setup
};

/// The region of the body in a slot: that of the last start that is not beyond it.
__device__ __forceinline__ u32 region_at(const Setup& setup, const Regions& regions, u32 slot) {
    if (!REGIONS) return 0;
    u32 first = 0, count = 4 * u32(setup.regions);
    while (count > 1) {
        const u32 half = count / 2;
        const bool upper = __ldg(regions.starts + first + half) <= slot;
        first += upper ? half : 0;
        count = upper ? count - half : half;
    }
    return first % u32(setup.regions);
}

#if PF_REGIONS
/// The setup for one region.
__device__ __forceinline__ Setup setup_in(Setup setup, const Regions& regions, u32 region) {
    setup.filler_w = __ldg(regions.fillers + 3 * region);
    setup.filler_h = __ldg(regions.fillers + 3 * region + 1);
    setup.filler_ratio = __ldg(regions.fillers + 3 * region + 2);
    return setup;
}
#else
__device__ __forceinline__ const Setup& setup_in(const Setup& setup, const Regions&, u32) { return setup; }
#endif

/// Tiles of one region, and of all.
__device__ __forceinline__ u32 tiles_of(const Setup& setup) { return u32(setup.tiles_x * setup.tiles_y); }
__device__ __forceinline__ u32 all_tiles(const Setup& setup) {
    return REGIONS ? tiles_of(setup) * u32(setup.regions) : tiles_of(setup);
}

/// Whether large body `k` is worked on here.
__device__ __forceinline__ bool own_large(const Setup& setup, u32 k) { return k % u32(setup.ranks) == u32(setup.rank); }

/// Bins of all regions' maps.
__device__ __forceinline__ u32 all_bins(const Setup& setup) {
    const u32 bins = u32(setup.nx) * u32(setup.ny);
    return REGIONS ? bins * u32(setup.regions) : bins;
}

/// The first bin of a region's map.
__device__ __forceinline__ u32 first_bin(const Setup& setup, u32 region) {
    return REGIONS ? region * (u32(setup.nx) * u32(setup.ny)) : 0;
}

template <typename T> struct IdOf {
    using type = u32;
};
template <> struct IdOf<double> {
    using type = u64;
};

/// A body's constants, in bins, and its netlist index. A negative ratio is that of a body whose area is multiplied by
/// it also where bodies count at their exact size; for every other one it is 1 there.
struct alignas(4 * sizeof(real)) Record {
    real w, h, ratio;
    IdOf<real>::type id;
};

/// How stale the order is that bodies are worked on in.
struct alignas(16) Age {
    u32 order;   // how many orders have been made
    u32 least;   // bodies outside their halo in the step that had fewest: as many stay outside in any order
    u64 excess;  // such bodies beyond these, of all steps since the order together
};

/// The bodies of one block: slots of movable cells and of fillers, and the first bin of the patch, which may lie
/// outside the die. `limit`: see sums.cuh. One without bodies is unused.
struct alignas(16) Chunk {
    u32 movable_begin, movable_end;
    u32 filler_begin, filler_end;
    int left, low;
    u32 limit;
    u32 half;  // of the records and netlist indices, that this order is in; with PF_REGIONS also `region`

    __device__ __forceinline__ bool empty() const { return movable_begin == movable_end && filler_begin == filler_end; }
    /// The chunk's region, which is taken out of `half`.
    __device__ __forceinline__ u32 take_region() {
        if (!REGIONS) return 0;
        const u32 region = half >> 1;
        half &= 1;
        return region;
    }
};

/// How an array holds the lower-left corners of the bodies.
enum PositionLayout {
    SLOTS = 0,   // slots, x and y side by side
    PAIRS = 1,   // the caller's order, reached through a body's id; x and y side by side
    HALVES = 2,  // the same; x of all bodies, then y of all
};

/// The lower-left corner of slot or body `at`. An array of HALVES need not begin where a pair can.
template <int ORDER>
__device__ __forceinline__ real2 corner_at(const Setup& setup, const real2* __restrict__ corners, u32 at) {
    if (ORDER == SLOTS) return __ldcs(corners + at);
    if (ORDER == PAIRS) return __ldg(corners + at);
    const real* const x = reinterpret_cast<const real*>(corners);
    return make(__ldg(x + at), __ldg(x + u32(setup.bodies + setup.large) + at));
}

// Arithmetic that the compiler must neither contract nor reorder.
__device__ __forceinline__ float add_rn(float a, float b) { return __fadd_rn(a, b); }
__device__ __forceinline__ double add_rn(double a, double b) { return __dadd_rn(a, b); }
__device__ __forceinline__ float fma_rn(float a, float b, float c) { return __fmaf_rn(a, b, c); }
__device__ __forceinline__ double fma_rn(double a, double b, double c) { return __fma_rn(a, b, c); }
/// Clamps to [0, 1].
__device__ __forceinline__ float saturate(float a) { return __saturatef(a); }
__device__ __forceinline__ double saturate(double a) { return fmin(fmax(a, 0.0), 1.0); }

/// The integer that a number is rounded to when 3/2 of the first number whose unit in the
/// last place is 1 is added to it.
__device__ __forceinline__ int low_bits(float rounded) { return __float_as_int(rounded) - 0x4b400000; }
__device__ __forceinline__ int low_bits(double rounded) { return __double2loint(rounded); }

/// A stretched body along one axis: it covers [start, end) counted in bins from the left edge of bin `first`, which may
/// lie outside the die; 0 <= start <= 1 + 2 MARGIN of span_of.
struct Span {
    int first;
    real start, end;
};

/// `position` is the lower-left corner in layout units, `size` is in bins.
///
/// The distance from the die's edge is kept as a sum of two numbers (its rounding error is found as in Knuth's
/// two-sum), and the fraction of a bin as one fused multiply-add from the bin's own edge: both lose nothing that the
/// position had. Adding ROUND rounds to an integer at the full rate, which neither floor nor a conversion has. A
/// position that is NaN or infinite, or far off the die, ends far off the die.
///
/// The first bin is found in `real`, whose rounding may miss by one near an edge; a guess that is MARGIN too low (in
/// bins, and wider than that rounding, `lost` included, for every grid there can be) is never too high, and `overlap`
/// takes a start beyond 1 as it is. The part of the die's edge beyond the precision of `real` may be a large part of a
/// bin where the die is far from zero.
__device__ __forceinline__ Span span_of(const Axis& axis, real position, real size, real stretch) {
    constexpr real ROUND = F64 ? real(6755399441055744.0) : real(12582912.0), MARGIN = real(0.00390625);
    const real stretched = fmax(size, stretch), spread = size - stretched;
    const real s = add_rn(position, -axis.origin_hi);
    const real b = add_rn(s, -position);
    const real lost = add_rn(add_rn(position, -add_rn(s, -b)), -add_rn(axis.origin_hi, b));
    const real far = real(1048576);
    real guess = fma_rn(add_rn(s, -axis.origin_lo), axis.inverse, fma_rn(spread, real(0.5), real(-0.5) - MARGIN));
    guess = add_rn(fmin(fmax(guess, -far), far), ROUND);
    const real i = add_rn(guess, -ROUND);
    const real r = fma_rn(-i, axis.bin_hi, s) + (fma_rn(-i, axis.bin_lo, lost) - axis.origin_lo);
    Span span;
    span.first = low_bits(guess);
    span.start = fmin(fma_rn(r, axis.inverse, spread * real(0.5)), real(2));
    span.end = span.start + stretched;
    return span;
}

/// Length of bin `k` (counted from `first`) that the span covers.
__device__ __forceinline__ real overlap(const Span& span, int k) {
    const real end = saturate(span.end - real(k));
    return k < 2 ? end - saturate(span.start - real(k)) : end;
}

/// One past the last bin covered, counted from `first`; within what an `int` holds beyond `first`.
__device__ __forceinline__ int extent(const Span& span) {
    const real most = real(1 << 30);
    return int(fmin(fmax(span.end, -most), most)) + 1;
}

/// Whether the 3 × 3 bins from (row, column) on are in the patch.
__device__ __forceinline__ bool within(int row, int column) { return u32(row) < PATCH - 2 && u32(column) < PATCH - 2; }

/// The tile of bin (i, j), for one off the die the nearest at the edge.
__device__ __forceinline__ u32 tile_at(const Setup& setup, int i, int j) {
    i = min(max(i, 0), setup.nx - 1);
    j = min(max(j, 0), setup.ny - 1);
    return u32(i >> TILE_SHIFT) * setup.tiles_y + u32(j >> TILE_SHIFT);
}

/// Calls f(k, l, i, j, wx, wy) for every bin (i, j) on the die that a body may cover: bin
/// (k, l) counted from its first, with the lengths covered along x and y. Rows k = row,
/// row + rows, … and columns l = column, column + columns, …
template <int UNROLL, typename F>
__device__ __forceinline__ void for_each_bin(const Setup& setup, const Span& sx, const Span& sy, int row, int rows,
                                             int column, int columns, const F& f) {
    const int end_x = extent(sx), end_y = extent(sy);
    for (int l = column; l < end_y; l += columns) {
        const int j = sy.first + l;
        if (u32(j) >= u32(setup.ny)) continue;
        const real wy = overlap(sy, l);
#pragma unroll UNROLL
        for (int k = row; k < end_x; k += rows) {
            const int i = sx.first + k;
            if (u32(i) < u32(setup.nx)) f(k, l, i, j, overlap(sx, k), wy);
        }
    }
}

/// The factor of the area of a body of `w` by `h` bins. A negative ratio is that of a macro: the target density, times
/// its area over its smoothed one. Only with PF_THIN_MACROS are there macros whose areas differ: the division made
/// density and wirelength, which run at the same time, 9 % longer on an H100 at adaptec1's statistics.
__device__ __forceinline__ real weight_of(const Setup& setup, real ratio, real w, real h) {
#if PF_THIN_MACROS
    // The least extent of a body in the smoothed density, bins: `LEAST_EXTENT` in src/charge.
    constexpr real LEAST = real(1.4142135623730951);
    if (setup.exact_size && ratio < real(0))
        return fabs(ratio) * fmax(real(1), LEAST / w) * fmax(real(1), LEAST / h);
#endif
    return setup.exact_size && ratio > real(0) ? real(1) : fabs(ratio);
}

/// A body loaded from a slot.
struct Body {
    real2 corner;
    real w, h, ratio;
};

/// A record, for L2 to drop first: the maps are what should stay there.
__device__ __forceinline__ Record read_once(const Record* at) {
    Record record;
    for (u32 k = 0; k < sizeof(record) / 16; ++k)
        reinterpret_cast<uint4*>(&record)[k] = __ldcs(reinterpret_cast<const uint4*>(at) + k);
    return record;
}

/// Loads slot `slot`: its lower-left corner by `ORDER`, constants from its record in
/// half `half` or, for fillers of one size, from the setup.
template <int ORDER, bool RECORD>
__device__ __forceinline__ Body load_body(const Setup& setup, u32 slot, u32 half, const Record* __restrict__ records,
                                          const u32* __restrict__ id_of, const real2* __restrict__ corners) {
    Body body;
    u32 at = slot;
    if (RECORD) {
        const Record record = read_once(records + (half * setup.records + slot));
        body.w = record.w;
        body.h = record.h;
        body.ratio = weight_of(setup, record.ratio, record.w, record.h);
        if (ORDER != SLOTS) at = u32(record.id);
    } else {
        body.w = setup.filler_w;
        body.h = setup.filler_h;
        body.ratio = setup.filler_ratio;
        if (ORDER != SLOTS) at = id_of[half * (setup.bodies + setup.large) + slot];
    }
    body.corner = corner_at<ORDER>(setup, corners, at);
    return body;
}

/// Calls f(slot, body) for the block's threads' slots of [begin, end), with the loads of
/// AHEAD bodies in flight before the first is used.
template <int AHEAD, int ORDER, bool RECORD, typename F>
__device__ __forceinline__ void for_each_body(const Setup& setup, u32 half, u32 begin, u32 end,
                                              const Record* __restrict__ records, const u32* __restrict__ id_of,
                                              const real2* __restrict__ corners, const F& f) {
    Body body[AHEAD];
    for (u32 slot = begin + threadIdx.x; slot < end; slot += AHEAD * blockDim.x) {
#pragma unroll
        for (u32 k = 0; k < AHEAD; ++k) {
            const u32 at = slot + k * blockDim.x;
            if (k == 0 || at < end) body[k] = load_body<ORDER, RECORD>(setup, at, half, records, id_of, corners);
        }
#pragma unroll
        for (u32 k = 0; k < AHEAD; ++k) {
            const u32 at = slot + k * blockDim.x;
            if (k != 0 && at >= end) break;
            f(at, body[k]);
        }
    }
}
