// The order of the slots: a counting sort of the bodies by the tile of bins they stand in,
// made on the device whenever too many bodies are outside their halo.
//
//   order_count_…  how many bodies every tile has
//   order_tiles    where every tile begins (one block)
//   order_place    bodies to their new slots, and the list of chunks
//   order_invert   slot of every body from the body of every slot
//   order_move     values to another order
//   order_move_pairs  the same of pairs
//   order_interleave     pairs from two arrays, in another order where one is given
//   order_deinterleave    two arrays from pairs, likewise
//
// A new order is made from the one before, in which most bodies stand in the tile that they go to or beside it: memory
// that is read and written is then close together. Netlist indices and records are kept twice, [half][slot], for a slot
// is written before the body that had it has been read: an order goes from one half to the other, and chunks name the
// current one (bodies.cuh).
//
// order_count and order_place: blocks of 128 or 512 threads, ORDER_EACH bodies a thread, and where there is room for
// them counters of all tiles in shared memory: 8 bytes a tile (2 counters) and 2 a body (the counters that the block
// uses). order_tiles: one block of 1024 threads. The others: blocks of 256 threads, a body each.
//
// Bytes per body, with v those of a value: order_count reads a corner (2v) and, where corners are the caller's, an
// index (4), and writes the corner (2v); order_place reads corner and index (2v + 4), and writes the index (4), the
// other outputs (4 each for slots, 2v for corners), and moves every record (4v in, 4v out).
//
// The order within a tile comes from atomic counters and differs from run to run. Neither
// the density (integer sums) nor a force (a sum over one body's bins) depends on it.
//
// With PF_SEVERAL bodies are worked on by several ranks, each of which has the tiles of an interval and the slots of
// their bodies, its own slots. A rank makes its part of an order from these alone: it counts its bodies, and after a
// barrier reads the counts of all of them, from which each makes the same list of tiles. Tiles are divided anew; a body
// that comes to a tile of another rank is written to that one's slots, with its position. Before the first order a
// rank's own slots are those of its share (shares.cuh). Large bodies stay with the rank that they are assigned to.
#include "bodies/bodies.cuh"
#include "bodies/shares.cuh"
#include "device/dependent_launch.cuh"
#include "device/reduce.cuh"

/// Counter of a body: its region, its tile and whether it is a filler.
__device__ __forceinline__ u32 counter_of(const Setup& setup, const Regions& regions, const real2& corner, u32 slot) {
    const int i = span_of(setup.x, corner.x, real(0), real(0)).first,
              j = span_of(setup.y, corner.y, real(0), real(0)).first;
    const u32 before = REGIONS ? region_at(setup, regions, slot) * tiles_of(setup) : 0;
    return (before + tile_at(setup, i, j)) * 2 + (int(slot) >= setup.movable ? 1 : 0);
}

/// A rank's own slots, as an order has them.
struct alignas(16) OwnSlots {
    u32 movable_begin, movable_end, filler_begin, filler_end;
};

#if PF_SEVERAL
/// The arrays that an order on several ranks is made from and written to, for every rank.
struct AllBodies {
    u32* counts[MOST_RANKS];      // by tile and class, two halves: of this order, and zeros
    u32* ids[MOST_RANKS];         // and the next two: two halves
    Record* records[MOST_RANKS];
    real2* corners[MOST_RANKS];   // a pair per body, in the caller's order
    u8* worker[MOST_RANKS];       // the rank that works on each body of the share
    Shares shares;
    OwnSlots* own;  // of this rank, two halves
    u32 half;       // in which the order before is
    u32 padding;
};
#define PF_ALL_BODIES , const __grid_constant__ AllBodies ranks
#else
struct AllBodies {};
#define PF_ALL_BODIES
__device__ constexpr AllBodies ranks = {};
#endif

/// The slot that is number `k` here: on several ranks one of the rank's own, and beyond these none.
__device__ __forceinline__ int slot_at(const Setup& setup, const AllBodies& ranks, u32 k) {
#if PF_SEVERAL
    // movable_begin, movable_end, filler_begin, filler_end; this half is not written meanwhile.
    const uint4 own = __ldg(reinterpret_cast<const uint4*>(ranks.own + ranks.half));
    const u32 movable = own.y - own.x, slot = k < movable ? own.x + k : own.z + (k - movable);
    return k < movable || slot < own.w ? slot : setup.bodies + setup.large;
#else
    return k;
#endif
}

constexpr u32 NO_COUNTER = 0xffffffffu;

/// A block's own counters, in shared memory, where all tiles' have room there, and
/// which of them are not zero: in slot order a few.
struct Histogram {
    u32 *counts, *used;
    u16* indices;  // of the `used` counters that are not zero
};

__device__ __forceinline__ Histogram clear_histogram(u32 size) {
    extern __shared__ u32 histogram_storage[];
    __shared__ u32 used;
    for (u32 k = threadIdx.x; k < size; k += blockDim.x) histogram_storage[k] = 0;
    if (threadIdx.x == 0) used = 0;
    __syncthreads();
    return {histogram_storage, &used, reinterpret_cast<u16*>(histogram_storage + size)};
}

/// Counts a body of every lane of a warp, and returns how many its counter had before it. In slot order most lanes have
/// the same counter, and would wait for one another: the first of them adds for all.
__device__ __forceinline__ u32 count_together(bool local, const Histogram& histogram, u32* counters, u32 counter) {
    const u32 lane = threadIdx.x % 32, same = __match_any_sync(ALL_LANES, counter), first = __ffs(same) - 1;
    u32 before = 0;
    if (counter != NO_COUNTER && lane == first) {
        before = atomicAdd((local ? histogram.counts : counters) + counter, u32(__popc(same)));
        if (local && before == 0) histogram.indices[atomicAdd(histogram.used, 1u)] = counter;
    }
    return __shfl_sync(ALL_LANES, before, first) + __popc(same & ((1u << lane) - 1));
}

/// Corners are the caller's and `ids` leads to them, or in slots.
/// They are left in `staged`, in slots. Large bodies keep their slots, at the end.
template <int ORDER>
__device__ __forceinline__ void count_bodies(const Setup& setup, const u32* __restrict__ ids,
                                             const real2* __restrict__ corners, u32* counts, real2* staged,
                                             bool local, const Regions& regions, const AllBodies& ranks) {
    const Histogram histogram = clear_histogram(local ? 2 * all_tiles(setup) : 0);
    const int first = blockIdx.x * blockDim.x * ORDER_EACH + threadIdx.x;
    real2 corner[ORDER_EACH];
#pragma unroll
    for (int k = 0; k < ORDER_EACH; ++k) {
        const int slot = slot_at(setup, ranks, first + k * blockDim.x);
        if (slot < setup.bodies) corner[k] = corner_at<ORDER>(setup, corners, ORDER == SLOTS ? slot : ids[slot]);
    }
#pragma unroll
    for (int k = 0; k < ORDER_EACH; ++k) {
        const int slot = slot_at(setup, ranks, first + k * blockDim.x);
        u32 counter = NO_COUNTER;
        if (slot < setup.bodies) {
            staged[slot] = corner[k];
            counter = counter_of(setup, regions, corner[k], slot);
        }
        count_together(local, histogram, counts, counter);
    }
    __syncthreads();
    for (u32 k = threadIdx.x; k < *histogram.used; k += blockDim.x) {
        const u32 counter = histogram.indices[k];
        atomicAdd(counts + counter, histogram.counts[counter]);
    }
}

/// Exclusive prefix sums of three numbers over the block; `total` gets the sums of all.
__device__ __forceinline__ void block_prefix(u32 (&value)[3], u32 (&total)[3]) {
    __shared__ u32 warps[3][32];
    const u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32, count = blockDim.x / 32;
    u32 sum[3];
    for (int k = 0; k < 3; ++k) sum[k] = warp_prefix(value[k]);
    __syncthreads();
    if (lane == 31)
        for (int k = 0; k < 3; ++k) warps[k][warp] = sum[k];
    __syncthreads();
    for (int k = 0; k < 3; ++k) {
        const u32 upto = warp_prefix(lane < count ? warps[k][lane] : 0);
        total[k] = __shfl_sync(ALL_LANES, upto, 31);
        const u32 before = __shfl_sync(ALL_LANES, upto, warp ? warp - 1 : 0);
        value[k] = (warp ? before : 0) + sum[k] - value[k];
    }
}

/// Where a tile's bodies begin, movable cells and fillers, and its chunks; they end where the next tile's begin.
struct alignas(16) Tile {
    u32 movable, filler, chunk, rank;  // and the rank that works on it
};

/// Where part `k` begins when `count` bodies are divided evenly among `parts`. Movable cells and fillers are each
/// divided so, and both may leave one over: a tile's chunk has up to setup.chunk + 1 bodies, of one class at most
/// setup.chunk.
__device__ __forceinline__ u32 part_begin(u32 count, u32 parts, u32 k) {
    return k * (count / parts) + min(k, count % parts);
}

__device__ __forceinline__ u32 chunks_for(const Setup& setup, u32 movable, u32 fillers) {
    return (movable + fillers + setup.chunk - 1) / setup.chunk;
}

/// The rank that works on tile `t`: tiles stand in the order of x, and a rank has an interval of
/// them, by half for their number and by half for the bodies in those before. Every rank makes the
/// same order of tiles from the same positions.
__device__ __forceinline__ u32 rank_of(const Setup& setup, uint2 first, u32 t) {
    if (!SEVERAL) return 0;
    const u64 tiles = all_tiles(setup), bodies = max(setup.bodies, 1);
    const u64 before = first.x + (first.y - u32(setup.movable));
    return u32((before * tiles + t * bodies) * u32(setup.ranks) / (2 * tiles * bodies));
}

/// How many bodies tile `t` has, and of them those of ranks `before` this one. Counters become zero for the next order:
/// on several ranks those of the half that is not read any more.
__device__ __forceinline__ uint2 take_counts(const Setup& setup, uint2* __restrict__ counts, u32 t, uint2& before,
                                             const AllBodies& ranks) {
    before = make_uint2(0, 0);
#if PF_SEVERAL
    uint2 sum = before;
    const u32 tiles = all_tiles(setup), rank = u32(setup.rank);
    for (u32 k = 0; k < u32(setup.ranks); ++k) {
        if (k == rank) before = sum;
        const uint2 own = reinterpret_cast<const uint2*>(ranks.counts[k])[ranks.half * tiles + t];
        sum = make_uint2(sum.x + own.x, sum.y + own.y);
    }
    reinterpret_cast<uint2*>(ranks.counts[rank])[(ranks.half ^ 1) * tiles + t] = make_uint2(0, 0);
    return sum;
#else
    const uint2 count = counts[t];
    counts[t] = before;
    return count;
#endif
}

/// Tiles per thread and round of order_tiles.
constexpr u32 TILES_EACH = 2;

/// One block of 1024 threads. `tiles` has one more, after the last; `cursors` become the first slots of every tile and
/// class, `counts` zero for the next order, and the order's age zero. Threads have neighbouring tiles, through shared
/// memory: for sums over them, and to read and write whole lines.
__device__ __forceinline__ void list_tiles(const Setup& setup, uint2* __restrict__ counts, uint2* __restrict__ cursors,
                                           Tile* __restrict__ tiles, Age* age, const AllBodies& ranks) {
    __shared__ uint2 part[1024 * TILES_EACH];
    __shared__ u32 part_chunk[1024 * TILES_EACH];
    wait_for_previous();
    let_next_start();
    if (threadIdx.x == 0) {
        age->order += 1;
        age->excess = 0;
#if PF_SEVERAL
        ranks.own[ranks.half ^ 1] = OwnSlots{};
#endif
    }
    const u32 size = all_tiles(setup), mine = threadIdx.x * TILES_EACH;
    u32 movable = 0, filler = setup.movable, list = 0;
    for (u32 base = 0; base < size; base += 1024 * TILES_EACH) {
        uint2 of_others[TILES_EACH];
        __syncthreads();
#pragma unroll
        for (u32 e = 0; e < TILES_EACH; ++e) {
            const u32 at = e * 1024 + threadIdx.x;
            part[at] = make_uint2(0, 0);
            if (base + at < size) part[at] = take_counts(setup, counts, base + at, of_others[e], ranks);
        }
        __syncthreads();
        u32 before[3] = {}, sum[3];
        for (u32 e = 0; e < TILES_EACH; ++e) {
            const uint2 count = part[mine + e];
            before[0] += count.x;
            before[1] += count.y;
            before[2] += chunks_for(setup, count.x, count.y);
        }
        block_prefix(before, sum);
        for (u32 e = 0; e < TILES_EACH; ++e) {
            const uint2 count = part[mine + e];
            part[mine + e] = make_uint2(movable + before[0], filler + before[1]);
            part_chunk[mine + e] = list + before[2];
            before[0] += count.x;
            before[1] += count.y;
            before[2] += chunks_for(setup, count.x, count.y);
        }
        __syncthreads();
#pragma unroll
        for (u32 e = 0; e < TILES_EACH; ++e) {
            const u32 at = e * 1024 + threadIdx.x;
            if (base + at >= size) break;
            cursors[base + at] = make_uint2(part[at].x + of_others[e].x, part[at].y + of_others[e].y);
            tiles[base + at] = {part[at].x, part[at].y, part_chunk[at], rank_of(setup, part[at], base + at)};
        }
        movable += sum[0];
        filler += sum[1];
        list += sum[2];
    }
    if (threadIdx.x == 0) tiles[size] = {movable, filler, list, 0};
}

/// The whole grid: a warp per tile, a chunk per lane. Unused ones, and those of other ranks' tiles, are without bodies.
__device__ __forceinline__ void list_chunks(const Setup& setup, const Tile* __restrict__ tiles,
                                            Chunk* __restrict__ chunks, u32 half, const AllBodies& ranks) {
    const u32 thread = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
    const u32 size = all_tiles(setup);
    for (u32 t = thread / 32; t < size; t += threads / 32) {
        const Tile tile = tiles[t], next = tiles[t + 1];
        const u32 movable = next.movable - tile.movable, fillers = next.filler - tile.filler;
        const u32 parts = next.chunk - tile.chunk;
#if PF_SEVERAL
        const u32 rank = u32(setup.rank);
        const bool mine = tile.rank == rank;
        if (mine && threadIdx.x % 32 == 0) {
            OwnSlots* const own = ranks.own + half;
            if (t == 0 || tiles[t - 1].rank != rank) {
                own->movable_begin = tile.movable;
                own->filler_begin = tile.filler;
            }
            if (t + 1 == size || next.rank != rank) {
                own->movable_end = next.movable;
                own->filler_end = next.filler;
            }
        }
#else
        constexpr bool mine = true;
#endif
        for (u32 k = threadIdx.x % 32; k < parts; k += 32) {
            Chunk chunk;
            chunk.movable_begin = tile.movable + part_begin(movable, parts, k);
            chunk.movable_end = tile.movable + part_begin(movable, parts, k + 1);
            chunk.filler_begin = tile.filler + part_begin(fillers, parts, k);
            chunk.filler_end = tile.filler + part_begin(fillers, parts, k + 1);
            const u32 region = REGIONS ? t / tiles_of(setup) : 0, own = REGIONS ? t % tiles_of(setup) : t;
            chunk.left = (int(own / setup.tiles_y) << TILE_SHIFT) - HALO;
            chunk.low = (int(own % setup.tiles_y) << TILE_SHIFT) - HALO;
            chunk.limit = (1u << 27) / parts;
            chunk.half = half | region << 1;
            chunks[tile.chunk + k] = mine ? chunk : Chunk{};
        }
    }
    for (u32 at = tiles[size].chunk + thread; at < u32(setup.max_chunks); at += threads) chunks[at] = Chunk{};
}

/// The results of an order beside the order itself, each null where not asked for.
struct OrderOutputs {
    u32* slot_of;    // slot of every body
    u32* from;       // slot before of the body in every slot
    real2* corners;  // corners in the new slots
};

/// Netlist indices and records to their new slots. A block counts its bodies by
/// tile, then takes as many slots from each cursor.
__device__ __forceinline__ void place_bodies(const Setup& setup, const real2* __restrict__ staged, u32* cursors,
                                             const u32* __restrict__ ids, u32* __restrict__ new_ids,
                                             const Record* __restrict__ records, Record* __restrict__ new_records,
                                             const OrderOutputs& outputs, const Tile* tiles, bool local,
                                             const Regions& regions, const AllBodies& ranks) {
    const Histogram histogram = clear_histogram(local ? 2 * all_tiles(setup) : 0);
    if (!local) wait_for_previous();
    const int first = blockIdx.x * blockDim.x * ORDER_EACH + threadIdx.x, all = setup.bodies + setup.large;
    real2 corner[ORDER_EACH];
    // Counter and rank within the block, 16 bits each; or the slot itself.
    u32 place[ORDER_EACH], id[ORDER_EACH];
    u32 worker[ORDER_EACH];  // the counter, until tiles are listed; not used on one device
#pragma unroll
    for (int k = 0; k < ORDER_EACH; ++k) {
        const int slot = slot_at(setup, ranks, first + k * blockDim.x);
        if (slot < setup.bodies) corner[k] = staged[slot];
        if (slot < all) id[k] = ids[slot];
    }
#pragma unroll
    for (int k = 0; k < ORDER_EACH; ++k) {
        const int slot = slot_at(setup, ranks, first + k * blockDim.x);
        u32 counter = NO_COUNTER;
        if (slot < setup.bodies) counter = counter_of(setup, regions, corner[k], slot);
        const u32 before = count_together(local, histogram, cursors, counter);
        place[k] = local ? counter << 16 | before : before;
        worker[k] = counter;
    }
    if (local) wait_for_previous();
    __syncthreads();
    for (u32 k = threadIdx.x; k < *histogram.used; k += blockDim.x) {
        const u32 counter = histogram.indices[k];
        histogram.counts[counter] = atomicAdd(cursors + counter, histogram.counts[counter]);
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < ORDER_EACH; ++k) {
        const int slot = slot_at(setup, ranks, first + k * blockDim.x);
        place[k] = slot >= setup.bodies ? slot
                   : local             ? histogram.counts[place[k] >> 16] + (place[k] & 0xffff)
                                       : place[k];
        if (SEVERAL && slot < setup.bodies) worker[k] = tiles[worker[k] / 2].rank;
    }
    // Records in flight, as many at once as registers hold.
    constexpr int AHEAD = 16 / sizeof(real);
#pragma unroll
    for (int base = 0; base < ORDER_EACH; base += AHEAD) {
        Record record[AHEAD];
#pragma unroll
        for (int k = 0; k < AHEAD; ++k) {
            const int slot = slot_at(setup, ranks, first + (base + k) * blockDim.x);
            if (slot < setup.records) record[k] = read_once(records + slot);
        }
#pragma unroll
        for (int k = 0; k < AHEAD; ++k) {
            const int slot = slot_at(setup, ranks, first + (base + k) * blockDim.x);
            if (slot >= setup.records) continue;
#if PF_SEVERAL
            new_records = ranks.records[worker[base + k]] + (ranks.half ^ 1) * setup.records;
#endif
            new_records[place[base + k]] = record[k];
        }
    }
#pragma unroll
    for (int k = 0; k < ORDER_EACH; ++k) {
        const int slot = slot_at(setup, ranks, first + k * blockDim.x);
        if (slot >= all) break;
#if PF_SEVERAL
        const u32 now = worker[k];
        new_ids = ranks.ids[now] + (ranks.half ^ 1) * all;
        if (now != u32(setup.rank)) {
            ranks.corners[now][id[k]] = corner[k];
            ranks.worker[rank_of_body(ranks.shares, id[k])][id[k]] = u8(now);
        }
#endif
        new_ids[place[k]] = id[k];
        if (outputs.slot_of) outputs.slot_of[id[k]] = place[k];
        if (outputs.from) outputs.from[place[k]] = slot;
        if (outputs.corners && slot < setup.bodies) outputs.corners[place[k]] = corner[k];
    }
}

#define PF_ORDER_COUNT(SUFFIX, ORDER)                                                                                  \
    PF_KERNEL(512, 8 / sizeof(real)) order_count_##SUFFIX(const Setup setup, const u32* ids, const real2* corners,     \
                                                          u32* counts, real2* staged, int local,                       \
                                                          const Regions regions PF_ALL_BODIES) {                       \
        count_bodies<ORDER>(setup, ids, corners, counts, staged, local != 0, regions, ranks);                          \
    }
PF_ORDER_COUNT(slots, SLOTS)
PF_ORDER_COUNT(pairs, PAIRS)
PF_ORDER_COUNT(halves, HALVES)

PF_KERNEL(1024) order_tiles(const Setup setup, uint2* counts, uint2* cursors, Tile* tiles, Age* age PF_ALL_BODIES) {
    list_tiles(setup, counts, cursors, tiles, age, ranks);
}

PF_KERNEL(512, 8 / sizeof(real)) order_place(const Setup setup, const real2* staged, u32* cursors, u32* ids,
                                             Record* records, u32 half, const OrderOutputs outputs, const Tile* tiles,
                                             Chunk* chunks, int local, const Regions regions PF_ALL_BODIES) {
    const u32 count = setup.bodies + setup.large, other = half ^ 1;
    place_bodies(setup, staged, cursors, ids + half * count, ids + other * count, records + half * setup.records,
                 records + other * setup.records, outputs, tiles, local != 0, regions, ranks);
    list_chunks(setup, tiles, chunks, other, ranks);
}

PF_KERNEL(BLOCK) order_invert(u32 count, const u32* id_of, u32* slot_of) {
    const u32 slot = blockIdx.x * blockDim.x + threadIdx.x;
    if (slot < count) slot_of[id_of[slot]] = slot;
}

PF_KERNEL(BLOCK) order_move(u32 count, const u32* from, const real* values, real* moved) {
    const u32 at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at < count) moved[at] = values[from[at]];
}

PF_KERNEL(BLOCK) order_move_pairs(u32 count, const u32* from, const real2* values, real2* moved) {
    const u32 at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at < count) moved[at] = values[from[at]];
}

PF_KERNEL(BLOCK) order_interleave(u32 count, const u32* from, const real* x, const real* y, real2* pairs) {
    const u32 at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= count) return;
    const u32 k = from ? from[at] : at;
    pairs[at].x = x[k];
    pairs[at].y = y[k];
}

PF_KERNEL(BLOCK) order_deinterleave(u32 count, const u32* from, const real2* pairs, real* x, real* y) {
    const u32 at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= count) return;
    const real2 pair = pairs[from ? from[at] : at];
    x[at] = pair.x;
    y[at] = pair.y;
}
