// The order of the slots: a counting sort of the bodies by the tile of bins they
// stand in, done on the device whenever too many have left their tile's patch.
//
//   order_count    rank of every body among those of its tile and class
//   order_tiles    where every tile begins, and the list of chunks (one block)
//   order_place    slot of every body
//   order_records  constants of the bodies, in slot order
//   order_move     a caller's array to another order
//   order_move_pairs  the same of pairs
//   order_join     pairs from two arrays, in another order where one is given
//   order_split    two arrays from pairs, likewise
//
// Ranks come from atomic counters, so the order within a tile differs from run
// to run. Neither the density (integer sums) nor a force (a sum over one
// body's bins) depends on it.
//
// `slots` says what order lower-left corners are in. Null: the netlist's.
// Otherwise they are in slot order and `slots` gives the netlist index of every slot.
#include "bodies.cuh"

// Counter of a body: its tile and whether it is a filler.
template <typename T>
__device__ __forceinline__ u32 counter_of(const Plan<T>& plan, const typename Bits<T>::Pair& corner, bool filler) {
    const int i = span_of(plan.x, corner.x, T(0), T(0)).first, j = span_of(plan.y, corner.y, T(0), T(0)).first;
    return tile_at(plan, i, j) * 2 + (filler ? 1 : 0);
}

template <typename T>
__device__ __forceinline__ bool is_filler(const Plan<T>& plan, int c, bool in_slots) {
    return c >= (in_slots ? plan.movable : plan.movable_ids);
}

// Bodies per thread of order_count.
#define COUNT_EACH 8

// Counters stand apart (`counter_stride`): next to each other they would share
// a few lines of L2 and wait for one another. `rank` of a large body is its slot,
// at the end, and stays.
//
// With `local` a block counts in shared memory first, one word per counter, and
// adds to each counter once: bodies in slot order, or clustered ones, would wait
// for one another at a few counters.
template <typename T>
__device__ __forceinline__ void count_bodies(const Plan<T>& plan, const u32* __restrict__ slots,
                                             const typename Bits<T>::Pair* __restrict__ corners, u32* counters,
                                             u32* __restrict__ rank, bool local) {
    extern __shared__ u32 tally[];
    const u32 size = 2 * plan.tiles_x * plan.tiles_y, none = 0xffffffffu;
    if (local) {
        for (u32 k = threadIdx.x; k < size; k += blockDim.x) tally[k] = 0;
        __syncthreads();
    }
    const int first = blockIdx.x * blockDim.x * COUNT_EACH + threadIdx.x;
    u32 counter[COUNT_EACH], before[COUNT_EACH];
#pragma unroll
    for (int k = 0; k < COUNT_EACH; ++k) {
        const int c = first + k * blockDim.x;
        counter[k] = none;
        if (c >= plan.bodies + plan.large) continue;
        if (slots ? c >= plan.bodies : plan.large && rank[c] >= u32(plan.bodies)) continue;
        counter[k] = counter_of(plan, corners[c], is_filler(plan, c, slots != nullptr));
    }
#pragma unroll
    for (int k = 0; k < COUNT_EACH; ++k) {
        if (counter[k] == none) continue;
        before[k] = atomicAdd(local ? &tally[counter[k]] : &counters[counter[k] * plan.counter_stride], 1u);
    }
    if (local) {
        __syncthreads();
        for (u32 k = threadIdx.x; k < size; k += blockDim.x)
            if (tally[k]) tally[k] = atomicAdd(&counters[k * plan.counter_stride], tally[k]);
        __syncthreads();
    }
#pragma unroll
    for (int k = 0; k < COUNT_EACH; ++k)
        if (counter[k] != none) rank[first + k * blockDim.x] = before[k] + (local ? tally[counter[k]] : 0);
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

// Where part `k` of `parts` begins when `count` bodies are dealt out evenly.
__device__ __forceinline__ u32 part_begin(u32 count, u32 parts, u32 k) {
    return k * (count / parts) + min(k, count % parts);
}

// One block. Counters become the first slots of their tile and class; the order
// is as good as new.
template <typename T>
__device__ __forceinline__ void list_chunks(const Plan<T>& plan, u32* counters, Chunk* __restrict__ chunks,
                                            Wear* wear) {
    if (threadIdx.x == 0) {
        wear->order += 1;
        wear->excess = 0;
    }
    const u32 tiles = plan.tiles_x * plan.tiles_y;
    u32 movable = 0, filler = plan.movable, list = 0;
    for (u32 base = 0; base < tiles; base += blockDim.x) {
        const u32 tile = base + threadIdx.x;
        u32* const mine = counters + u64(2 * tile) * plan.counter_stride;
        const u32 m = tile < tiles ? mine[0] : 0;
        const u32 f = tile < tiles ? mine[plan.counter_stride] : 0;
        const u32 parts = (m + f + plan.chunk - 1) / plan.chunk;
        u32 before[3] = {m, f, parts}, all[3];
        block_prefix(before, all);
        const u32 at_m = movable + before[0], at_f = filler + before[1], at = list + before[2];
        if (tile < tiles) {
            mine[0] = at_m;
            mine[plan.counter_stride] = at_f;
        }
        for (u32 k = 0; k < parts; ++k) {
            Chunk chunk = {};
            chunk.left = (int(tile / plan.tiles_y) << TILE_SHIFT) - HALO;
            chunk.low = (int(tile % plan.tiles_y) << TILE_SHIFT) - HALO;
            chunk.limit = (1u << 27) / parts;
            chunk.movable_begin = at_m + part_begin(m, parts, k);
            chunk.movable_end = at_m + part_begin(m, parts, k + 1);
            chunk.filler_begin = at_f + part_begin(f, parts, k);
            chunk.filler_end = at_f + part_begin(f, parts, k + 1);
            chunks[at + k] = chunk;
        }
        movable += all[0];
        filler += all[1];
        list += all[2];
    }
    for (u32 at = list + threadIdx.x; at < u32(plan.max_chunks); at += blockDim.x) chunks[at] = Chunk{};
}

// `slot_of[id]` becomes the slot of the body with that netlist index, and
// `id_of[slot]` that index; in the netlist's order `rank` may be `slot_of`
// itself. `from[slot]`, when asked for, is the body's place in the order that
// corners are in: a placer that keeps its arrays in slots moves them by it.
template <typename T>
__device__ __forceinline__ void place_body(const Plan<T>& plan, const u32* __restrict__ slots,
                                            const typename Bits<T>::Pair* __restrict__ corners,
                                            const u32* __restrict__ counters, const u32* rank, u32* slot_of,
                                            u32* __restrict__ id_of, u32* __restrict__ from) {
    const int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= plan.bodies + plan.large) return;
    u32 slot = rank[c];
    const bool large = slots ? c >= plan.bodies : plan.large && slot >= u32(plan.bodies);
    if (!large) {
        slot += counters[counter_of(plan, corners[c], is_filler(plan, c, slots != nullptr)) * plan.counter_stride];
    } else if (slots) {
        slot = c;
    }
    const u32 id = slots ? slots[c] : c;
    slot_of[id] = slot;
    id_of[slot] = id;
    if (from) from[slot] = c;
}

// `sizes` holds one record per body, in netlist order.
template <typename T>
__device__ __forceinline__ void place_record(const Plan<T>& plan, const Record<T>* __restrict__ sizes,
                                              const u32* __restrict__ id_of, Record<T>* __restrict__ records) {
    const int slot = blockIdx.x * blockDim.x + threadIdx.x;
    if (slot < plan.records) records[slot] = sizes[id_of[slot]];
}

#define PLACEFIELD_ORDER(T, P)                                                                                        \
    extern "C" __global__ void __launch_bounds__(1024)                                                                \
        order_count##P(const Plan<T> plan, const u32* slots, const Bits<T>::Pair* corners, u32* counters, u32* rank,  \
                       int local) {                                                                                   \
        count_bodies<T>(plan, slots, corners, counters, rank, local != 0);                                            \
    }                                                                                                                 \
    extern "C" __global__ void __launch_bounds__(1024)                                                                \
        order_tiles##P(const Plan<T> plan, u32* counters, Chunk* chunks, Wear* wear) {                                \
        list_chunks<T>(plan, counters, chunks, wear);                                                                 \
    }                                                                                                                 \
    extern "C" __global__ void __launch_bounds__(256)                                                                 \
        order_place##P(const Plan<T> plan, const u32* slots, const Bits<T>::Pair* corners, const u32* counters,       \
                       const u32* rank, u32* slot_of, u32* id_of, u32* from) {                                        \
        place_body<T>(plan, slots, corners, counters, rank, slot_of, id_of, from);                                    \
    }                                                                                                                 \
    extern "C" __global__ void __launch_bounds__(256)                                                                 \
        order_records##P(const Plan<T> plan, const Record<T>* sizes, const u32* id_of, Record<T>* records) {          \
        place_record<T>(plan, sizes, id_of, records);                                                                 \
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
