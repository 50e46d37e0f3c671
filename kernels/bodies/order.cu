// The order of the slots: a counting sort of the bodies by the tile of bins they
// stand in, done on the device whenever too many have left their tile's patch.
//
//   order_count    how many bodies every tile has
//   order_tiles    where every tile begins (one block)
//   order_place    bodies to their new slots, and the list of chunks
//   order_invert   slot of every body from the body of every slot
//   order_move     values to another order
//   order_move_pairs  the same of pairs
//   order_join     pairs from two arrays, in another order where one is given
//   order_split    two arrays from pairs, likewise
//
// A new order is made from the one before, in which most bodies stand in the
// tile that they go to or beside it: what is read and written then lies together.
// Netlist indices and records are kept twice, for a slot is written before the
// body that had it has been read: an order goes from one half to the other, and
// chunks say in which it is (bodies.cuh).
//
// order_count reads 3 words per body (2 where corners are in slots) and writes 2;
// order_place reads 3, and writes 2 for the caller's order, 4 for slots, and moves
// 4 words of every record. (Words of the engine's precision; indices are 4 bytes.)
//
// The order within a tile comes from atomic counters and differs from run to
// run. Neither the density (integer sums) nor a force (a sum over one body's bins)
// depends on it.
#include "bodies/bodies.cuh"
#include "device/dependent_launch.cuh"

// Counter of a body: its tile and whether it is a filler.
template <typename T>
__device__ __forceinline__ u32 counter_of(const Plan<T>& plan, const typename Bits<T>::Pair& corner, bool filler) {
    const int i = span_of(plan.x, corner.x, T(0), T(0)).first, j = span_of(plan.y, corner.y, T(0), T(0)).first;
    return tile_at(plan, i, j) * 2 + (filler ? 1 : 0);
}

// Bodies per thread of order_count and order_place. Measured on an H200 (C of the
// log, corners in slots, order_place alone): 4 per thread of blocks of 512 or 256
// and two blocks' registers 75 us; three blocks', or 8 per thread, which spill, 90.
#define ORDER_EACH 4
#define NO_COUNTER 0xffffffffu

// A block's own counters, in shared memory, where all tiles' have room there, and
// which of them are not zero: in slot order a few.
struct Tally {
    u32 *held, *touches;
    unsigned short* touched;
};

__device__ __forceinline__ Tally clear_tally(u32 size) {
    extern __shared__ u32 tally_storage[];
    __shared__ u32 touches;
    for (u32 k = threadIdx.x; k < size; k += blockDim.x) tally_storage[k] = 0;
    if (threadIdx.x == 0) touches = 0;
    __syncthreads();
    return {tally_storage, &touches, reinterpret_cast<unsigned short*>(tally_storage + size)};
}

// Counts a body of every lane of a warp, and returns how many its counter had
// before it. In slot order most lanes have the same counter, and would wait for one
// another: the first of them adds for all.
__device__ __forceinline__ u32 count_together(bool local, const Tally& tally, u32* counters, u32 counter) {
    const u32 lane = threadIdx.x % 32, same = __match_any_sync(0xffffffffu, counter), first = __ffs(same) - 1;
    u32 before = 0;
    if (counter != NO_COUNTER && lane == first) {
        before = atomicAdd((local ? tally.held : counters) + counter, u32(__popc(same)));
        if (local && before == 0) tally.touched[atomicAdd(tally.touches, 1u)] = counter;
    }
    return __shfl_sync(0xffffffffu, before, first) + __popc(same & ((1u << lane) - 1));
}

// Corners are the caller's and `ids` leads to them, or in slots and `ids` is null.
// They are left in `staged`, in slots. Large bodies keep their slots, at the end.
template <typename T>
__device__ __forceinline__ void count_bodies(const Plan<T>& plan, const u32* __restrict__ ids,
                                             const typename Bits<T>::Pair* __restrict__ corners, u32* counts,
                                             typename Bits<T>::Pair* __restrict__ staged, bool local) {
    const Tally tally = clear_tally(local ? 2 * plan.tiles_x * plan.tiles_y : 0);
    const int first = blockIdx.x * blockDim.x * ORDER_EACH + threadIdx.x;
    typename Bits<T>::Pair corner[ORDER_EACH];
#pragma unroll
    for (int k = 0; k < ORDER_EACH; ++k) {
        const int slot = first + k * blockDim.x;
        if (slot < plan.bodies) corner[k] = ids ? __ldg(corners + ids[slot]) : __ldcs(corners + slot);
    }
#pragma unroll
    for (int k = 0; k < ORDER_EACH; ++k) {
        const int slot = first + k * blockDim.x;
        u32 counter = NO_COUNTER;
        if (slot < plan.bodies) {
            staged[slot] = corner[k];
            counter = counter_of(plan, corner[k], slot >= plan.movable);
        }
        count_together(local, tally, counts, counter);
    }
    __syncthreads();
    for (u32 k = threadIdx.x; k < *tally.touches; k += blockDim.x) {
        const u32 counter = tally.touched[k];
        atomicAdd(counts + counter, tally.held[counter]);
    }
}

// Exclusive prefix sums of three numbers over the block; `total` gets the sums of all.
__device__ __forceinline__ void block_prefix(u32 (&value)[3], u32 (&total)[3]) {
    __shared__ u32 warps[3][32];
    const u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32, count = blockDim.x / 32;
    u32 sum[3];
    for (int k = 0; k < 3; ++k) {
        sum[k] = value[k];
        for (u32 d = 1; d < 32; d <<= 1) {
            const u32 below = __shfl_up_sync(0xffffffffu, sum[k], d);
            if (lane >= d) sum[k] += below;
        }
    }
    __syncthreads();
    if (lane == 31)
        for (int k = 0; k < 3; ++k) warps[k][warp] = sum[k];
    __syncthreads();
    for (int k = 0; k < 3; ++k) {
        u32 upto = lane < count ? warps[k][lane] : 0;
        for (u32 d = 1; d < 32; d <<= 1) {
            const u32 below = __shfl_up_sync(0xffffffffu, upto, d);
            if (lane >= d) upto += below;
        }
        total[k] = __shfl_sync(0xffffffffu, upto, 31);
        const u32 before = __shfl_sync(0xffffffffu, upto, warp ? warp - 1 : 0);
        value[k] = (warp ? before : 0) + sum[k] - value[k];
    }
}

// Where a tile's bodies begin, movable cells and fillers, and its chunks; they end
// where the next tile's begin.
struct alignas(16) Tile {
    u32 movable, filler, chunk, unused;
};

// Where part `k` begins when `count` bodies are dealt out evenly to `parts`.
__device__ __forceinline__ u32 part_begin(u32 count, u32 parts, u32 k) {
    return k * (count / parts) + min(k, count % parts);
}

template <typename T>
__device__ __forceinline__ u32 chunks_for(const Plan<T>& plan, u32 movable, u32 fillers) {
    return (movable + fillers + plan.chunk - 1) / plan.chunk;
}

// Tiles per thread and round of order_tiles.
#define TILES_EACH 2

// One block of 1024 threads. `tiles` has one more, after the last; `cursors` become
// the first slots of every tile and class, `counts` zero for the next order. This
// order is as good as new. Threads have neighbouring tiles, by way of shared memory:
// for sums over them, and to read and write whole lines.
template <typename T>
__device__ __forceinline__ void list_tiles(const Plan<T>& plan, uint2* __restrict__ counts,
                                           uint2* __restrict__ cursors, Tile* __restrict__ tiles, Wear* wear) {
    __shared__ uint2 part[1024 * TILES_EACH];
    __shared__ u32 part_chunk[1024 * TILES_EACH];
    wait_for_previous();
    let_next_start();
    if (threadIdx.x == 0) {
        wear->order += 1;
        wear->excess = 0;
    }
    const u32 size = plan.tiles_x * plan.tiles_y, mine = threadIdx.x * TILES_EACH;
    u32 movable = 0, filler = plan.movable, list = 0;
    for (u32 base = 0; base < size; base += 1024 * TILES_EACH) {
        __syncthreads();
#pragma unroll
        for (u32 e = 0; e < TILES_EACH; ++e) {
            const u32 at = e * 1024 + threadIdx.x;
            part[at] = base + at < size ? counts[base + at] : make_uint2(0, 0);
            if (base + at < size) counts[base + at] = make_uint2(0, 0);
        }
        __syncthreads();
        u32 before[3] = {}, all[3];
        for (u32 e = 0; e < TILES_EACH; ++e) {
            const uint2 count = part[mine + e];
            before[0] += count.x;
            before[1] += count.y;
            before[2] += chunks_for(plan, count.x, count.y);
        }
        block_prefix(before, all);
        for (u32 e = 0; e < TILES_EACH; ++e) {
            const uint2 count = part[mine + e];
            part[mine + e] = make_uint2(movable + before[0], filler + before[1]);
            part_chunk[mine + e] = list + before[2];
            before[0] += count.x;
            before[1] += count.y;
            before[2] += chunks_for(plan, count.x, count.y);
        }
        __syncthreads();
        for (u32 at = threadIdx.x; at < 1024 * TILES_EACH && base + at < size; at += 1024) {
            cursors[base + at] = part[at];
            tiles[base + at] = {part[at].x, part[at].y, part_chunk[at], 0};
        }
        movable += all[0];
        filler += all[1];
        list += all[2];
    }
    if (threadIdx.x == 0) tiles[size] = {movable, filler, list, 0};
}

// The whole grid: a warp per tile, a chunk per lane. Unused ones are without bodies.
template <typename T>
__device__ __forceinline__ void list_chunks(const Plan<T>& plan, const Tile* __restrict__ tiles,
                                            Chunk* __restrict__ chunks, u32 half) {
    const u32 thread = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
    const u32 size = plan.tiles_x * plan.tiles_y;
    for (u32 t = thread / 32; t < size; t += threads / 32) {
        const Tile tile = tiles[t], next = tiles[t + 1];
        const u32 movable = next.movable - tile.movable, fillers = next.filler - tile.filler;
        const u32 parts = next.chunk - tile.chunk;
        for (u32 k = threadIdx.x % 32; k < parts; k += 32) {
            Chunk chunk;
            chunk.movable_begin = tile.movable + part_begin(movable, parts, k);
            chunk.movable_end = tile.movable + part_begin(movable, parts, k + 1);
            chunk.filler_begin = tile.filler + part_begin(fillers, parts, k);
            chunk.filler_end = tile.filler + part_begin(fillers, parts, k + 1);
            chunk.left = (int(t / plan.tiles_y) << TILE_SHIFT) - HALO;
            chunk.low = (int(t % plan.tiles_y) << TILE_SHIFT) - HALO;
            chunk.limit = (1u << 27) / parts;
            chunk.half = half;
            chunks[tile.chunk + k] = chunk;
        }
    }
    for (u32 at = tiles[size].chunk + thread; at < u32(plan.max_chunks); at += threads) chunks[at] = Chunk{};
}

// What an order gives back beside the order itself, each null where not wanted.
template <typename T>
struct Wanted {
    u32* slot_of;                     // slot of every body
    u32* from;                        // slot before of the body in every slot
    typename Bits<T>::Pair* corners;  // corners in the new slots
};

// Netlist indices and records to their new slots. A block counts its bodies by
// tile, then takes as many slots from each cursor.
template <typename T>
__device__ __forceinline__ void place_bodies(const Plan<T>& plan, const typename Bits<T>::Pair* __restrict__ staged,
                                             u32* cursors, const u32* __restrict__ ids, u32* __restrict__ new_ids,
                                             const Record<T>* __restrict__ records,
                                             Record<T>* __restrict__ new_records, const Wanted<T>& wanted,
                                             bool local) {
    const Tally tally = clear_tally(local ? 2 * plan.tiles_x * plan.tiles_y : 0);
    if (!local) wait_for_previous();
    const int first = blockIdx.x * blockDim.x * ORDER_EACH + threadIdx.x, all = plan.bodies + plan.large;
    typename Bits<T>::Pair corner[ORDER_EACH];
    // Counter and rank within the block, 16 bits each; or the slot itself.
    u32 place[ORDER_EACH], id[ORDER_EACH];
#pragma unroll
    for (int k = 0; k < ORDER_EACH; ++k) {
        const int slot = first + k * blockDim.x;
        if (slot < plan.bodies) corner[k] = staged[slot];
        if (slot < all) id[k] = ids[slot];
    }
#pragma unroll
    for (int k = 0; k < ORDER_EACH; ++k) {
        const int slot = first + k * blockDim.x;
        u32 counter = NO_COUNTER;
        if (slot < plan.bodies) counter = counter_of(plan, corner[k], slot >= plan.movable);
        const u32 before = count_together(local, tally, cursors, counter);
        place[k] = local ? counter << 16 | before : before;
    }
    if (local) wait_for_previous();
    __syncthreads();
    for (u32 k = threadIdx.x; k < *tally.touches; k += blockDim.x) {
        const u32 counter = tally.touched[k];
        tally.held[counter] = atomicAdd(cursors + counter, tally.held[counter]);
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < ORDER_EACH; ++k) {
        const int slot = first + k * blockDim.x;
        place[k] = slot >= plan.bodies ? slot : local ? tally.held[place[k] >> 16] + (place[k] & 0xffff) : place[k];
    }
    // Records on their way, as many at once as registers hold.
    enum { AHEAD = 16 / sizeof(T) };
#pragma unroll
    for (int base = 0; base < ORDER_EACH; base += AHEAD) {
        Record<T> record[AHEAD];
#pragma unroll
        for (int k = 0; k < AHEAD; ++k) {
            const int slot = first + (base + k) * blockDim.x;
            if (slot < plan.records) record[k] = read_once(records + slot);
        }
#pragma unroll
        for (int k = 0; k < AHEAD; ++k) {
            const int slot = first + (base + k) * blockDim.x;
            if (slot < plan.records) new_records[place[base + k]] = record[k];
        }
    }
#pragma unroll
    for (int k = 0; k < ORDER_EACH; ++k) {
        const int slot = first + k * blockDim.x;
        if (slot >= all) break;
        new_ids[place[k]] = id[k];
        if (wanted.slot_of) wanted.slot_of[id[k]] = place[k];
        if (wanted.from) wanted.from[place[k]] = slot;
        if (wanted.corners && slot < plan.bodies) wanted.corners[place[k]] = corner[k];
    }
}

#define PLACEFIELD_ORDER(T, P)                                                                                        \
    extern "C" __global__ void __launch_bounds__(512, 8 / sizeof(T))                                                  \
        order_count##P(const Plan<T> plan, const u32* ids, const Bits<T>::Pair* corners, u32* counts,                 \
                       Bits<T>::Pair* staged, int local) {                                                            \
        count_bodies<T>(plan, ids, corners, counts, staged, local != 0);                                              \
    }                                                                                                                 \
    extern "C" __global__ void __launch_bounds__(1024)                                                                \
        order_tiles##P(const Plan<T> plan, uint2* counts, uint2* cursors, Tile* tiles, Wear* wear) {                  \
        list_tiles<T>(plan, counts, cursors, tiles, wear);                                                            \
    }                                                                                                                 \
    extern "C" __global__ void __launch_bounds__(512, 8 / sizeof(T))                                                  \
        order_place##P(const Plan<T> plan, const Bits<T>::Pair* staged, u32* cursors, u32* ids, Record<T>* records,   \
                       u32 half, const Wanted<T> wanted, const Tile* tiles, Chunk* chunks, int local) {               \
        const u32 all = plan.bodies + plan.large, other = half ^ 1;                                                   \
        place_bodies<T>(plan, staged, cursors, ids + half * all, ids + other * all, records + half * plan.records,    \
                        records + other * plan.records, wanted, local != 0);                                          \
        list_chunks<T>(plan, tiles, chunks, other);                                                                   \
    }                                                                                                                 \
    extern "C" __global__ void __launch_bounds__(256)                                                                 \
        order_invert##P(u32 count, const u32* id_of, u32* slot_of) {                                                  \
        const u32 slot = blockIdx.x * blockDim.x + threadIdx.x;                                                       \
        if (slot < count) slot_of[id_of[slot]] = slot;                                                                \
    }                                                                                                                 \
    extern "C" __global__ void __launch_bounds__(256)                                                                 \
        order_move##P(u32 count, const u32* from, const T* values, T* moved) {                                        \
        const u32 at = blockIdx.x * blockDim.x + threadIdx.x;                                                         \
        if (at < count) moved[at] = values[from[at]];                                                                 \
    }                                                                                                                 \
    extern "C" __global__ void __launch_bounds__(256)                                                                 \
        order_move_pairs##P(u32 count, const u32* from, const Bits<T>::Pair* pairs, Bits<T>::Pair* moved) {           \
        const u32 at = blockIdx.x * blockDim.x + threadIdx.x;                                                         \
        if (at < count) moved[at] = pairs[from[at]];                                                                  \
    }                                                                                                                 \
    extern "C" __global__ void __launch_bounds__(256)                                                                 \
        order_join##P(u32 count, const u32* from, const T* x, const T* y, Bits<T>::Pair* pairs) {                     \
        const u32 at = blockIdx.x * blockDim.x + threadIdx.x;                                                         \
        if (at >= count) return;                                                                                      \
        const u32 k = from ? from[at] : at;                                                                           \
        pairs[at].x = x[k];                                                                                           \
        pairs[at].y = y[k];                                                                                           \
    }                                                                                                                 \
    extern "C" __global__ void __launch_bounds__(256)                                                                 \
        order_split##P(u32 count, const u32* from, const Bits<T>::Pair* pairs, T* x, T* y) {                          \
        const u32 at = blockIdx.x * blockDim.x + threadIdx.x;                                                         \
        if (at >= count) return;                                                                                      \
        const Bits<T>::Pair pair = pairs[from ? from[at] : at];                                                       \
        x[at] = pair.x;                                                                                               \
        y[at] = pair.y;                                                                                               \
    }

#ifdef PF_REAL
PLACEFIELD_ORDER(PF_REAL, )
#else
PLACEFIELD_ORDER(float, _f32)
PLACEFIELD_ORDER(double, _f64)
#endif
