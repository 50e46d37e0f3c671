// Density: the area every bin holds, and from it rho, overflow and maximum.
//
//   density_slots   overlaps of all bodies, into sums per bin; positions in slot order
//   density_caller  the same, positions in the caller's order: each is one access
//                   at random, and is left in slot order for the force
//   density_large   large bodies' share of the sums, from their differences
//   density_finish  rho = fixed + movable + fillers, overflow and maximum of
//                   fixed + movable; leaves the sums at zero for the next step
//
// All sums are integers: a contribution is rounded once to 1/scale of a bin, in
// the same way wherever it is added, so the same positions give the same bits
// whatever order the device works in. A block of 256 threads adds its chunk's
// bodies to a patch in shared memory, which adds 32-bit integers natively (and
// floating-point numbers by compare-and-swap): movable cells' words, then
// fillers', PATCH rows of PATCH words.
//
//   f32  one 32-bit word per bin
//   f64  two 32-bit limbs of `limb_bits` bits, all low ones before all high ones
//
// A chunk holds fewer than 2^(32 - bits) bodies and none adds more than one bin
// area to a bin, so a word of a patch cannot wrap around. Then the block adds the
// patch to sums in global memory, [nx][ny], movable cells' before fillers':
//
//   f32  one 32-bit word per bin, two added at once. What a chunk adds to a bin
//        is less than its `limit`, 2^27 over the number of the tile's chunks. A
//        bin lies in the patches of four tiles at most, so all chunks together
//        add less than 2^29, large bodies less than that again. Strays add
//        together at most 2^30: those that begin in one of four tiles reach a bin,
//        and a tile admits 2^28. The highest bit says that a 64-bit word beside it
//        holds the rest, what would go beyond these bounds. That is slow, for
//        such words are seldom in L2: when strays had no other way, 955 among
//        4.9 million bodies made density_finish take 38 us instead of 27.
//   f64  one 64-bit word per bin, in which the scale leaves room for all bodies.
//
// Large bodies add differences along both axes to words of their own, tile by
// tile: at most 25 words per tile, however many bins are covered.
//
// density_finish has four bins per thread and moves six words per bin: two sums
// read and set to zero, fixed area read, rho written. It also posts how worn the
// order is (bodies.cuh) to memory of the host, which costs nothing measurable.
#include "bodies.cuh"
#include "overlap.cuh"

// Bodies whose loads are in flight at once, and blocks per multiprocessor the
// registers must allow. Measured on an H200 (4.9 million bodies, 2048^2 bins,
// f32, whole density step): (2, 6) 79 us, (4, 4) 83, (1, 8) 82, (1, 6) 87, (2, 7) 87.
#ifndef DEPOSIT_AHEAD
#define DEPOSIT_AHEAD 2
#endif
#ifndef DEPOSIT_BLOCKS
#define DEPOSIT_BLOCKS 6
#endif

// Words of a patch per limb, and bytes between the limbs of a word.
#define PATCH_WORDS (2 * PATCH * PATCH)
#define LIMB_STRIDE (PATCH_WORDS * 4)

template <typename T>
struct SumOf {
    typedef u32 Word;
};
template <>
struct SumOf<double> {
    typedef u64 Word;
};

// Sums in global memory: movable cells', then fillers'. All zero between steps.
template <typename T>
struct Sums {
    typename SumOf<T>::Word* words;
    u64* beside;   // f32: the rest, where a word's highest bit is set
    u32* guests;   // f32, per tile: weight of strays that begin there, 1/64 of a bin
    u64* large;    // differences of large bodies; bins of tile t from t * TILE^2 on
    u32* flags;    // per tile, one bit per class: differences are not zero
    u32 bins;
};
#define MARK 0x80000000u

// Adds what may not fit into a word of 32 bits.
__device__ __forceinline__ void add_any(const Sums<float>& sums, u32 at, u64 value) {
    atomicAdd(sums.beside + at, value);
    atomicOr(sums.words + at, MARK);
}
__device__ __forceinline__ void add_any(const Sums<double>& sums, u32 at, u64 value) {
    atomicAdd(sums.words + at, value);
}

// Whether a stray of at most 3 x 3 bins from (i, j) on, which adds at most `weight`
// bins to each, may add to the words themselves. Words of 64 bits hold all there
// can be. The tile's count cannot wrap around: a body adds 65 at most.
__device__ __forceinline__ bool is_guest(const Plan<float>& plan, const Sums<float>& sums, int i, int j,
                                         float weight) {
    if (plan.bodies >= 1 << 25) return false;
    const u32 share = u32(weight * 64.0f) + 1, room = u32(17179869184.0f * plan.unscale);
    return atomicAdd(sums.guests + tile_at(plan, i, j), share) + share <= room;
}
__device__ __forceinline__ bool is_guest(const Plan<double>&, const Sums<double>&, int, int, double) { return true; }

// Nearest integer to scaled_x * y. Adding 2^23 (2^52) leaves it in the low bits
// of the significand: a conversion instruction runs at a quarter of the rate.
__device__ __forceinline__ u32 fixed_point(float scaled_x, float y) {
    return __float_as_uint(multiply_add(scaled_x, y, 8388608.0f)) - 0x4b000000u;
}
__device__ __forceinline__ u64 fixed_point(double scaled_x, double y) {
    return u64(__double_as_longlong(multiply_add(scaled_x, y, 4503599627370496.0))) - 0x4330000000000000ull;
}

// Adds to a word of shared memory, given its address there. Zeros too: skipping
// them takes a branch, which costs more than the addition.
__device__ __forceinline__ void shared_add(u32 address, u32 value) {
    asm volatile("red.shared.add.u32 [%0], %1;" ::"r"(address), "r"(value) : "memory");
}

// Adds to a word of a patch.
__device__ __forceinline__ void patch_add(u32 address, int limb_bits, u32 value) { shared_add(address, value); }
__device__ __forceinline__ void patch_add(u32 address, int limb_bits, u64 value) {
    shared_add(address, u32(value) & ((1u << limb_bits) - 1));
    shared_add(address + LIMB_STRIDE, u32(value >> limb_bits));
}

// A body of more than 3 x 3 bins: those in the patch go there, others to global
// memory. True when some did.
template <typename T>
__device__ __forceinline__ bool deposit_any(const Plan<T>& plan, const Span<T>& sx, const Span<T>& sy, T weight, u32 of,
                                            int row, int column, u32 patch, const Sums<T>& sums) {
    bool strayed = false;
    walk<1>(plan, sx, sy, 0, 1, 0, 1, [&](int k, int l, int i, int j, T wx, T wy) {
        const auto value = fixed_point(wx * weight, wy);
        if (!value) return;
        if (u32(row + k) < PATCH && u32(column + l) < PATCH) {
            patch_add(patch + ((row + k) * PATCH + column + l) * 4, plan.limb_bits, value);
        } else {
            add_any(sums, of * sums.bins + u32(i) * u32(plan.ny) + u32(j), value);
            strayed = true;
        }
    });
    return strayed;
}

// Slots of strays of at most 3 x 3 bins, in shared memory. Added where it was
// found, each held up its warp by 1.5 us, and with it the block: with 1 % of
// strays, 4.9 million bodies took 172 us and not 90. While a block's last warp
// adds them the others add the patch, then they help it.
struct Strays {
    u32 count, taken;
    u32 slot[2047];  // as many as a chunk has
};

// One body. Its class's patch stands at address `patch` of shared memory. True
// when the body reached beyond it and has been counted; one of few bins that did
// is put off.
template <typename T, bool FILLER>
__device__ __forceinline__ bool deposit(const Plan<T>& plan, const Taken<T>& body, u32 slot, const Chunk& chunk,
                                        u32 patch, const Sums<T>& sums, Strays& strays) {
    const Span<T> sx = span_of(plan.x, body.corner.x, body.w, plan.stretch);
    const Span<T> sy = span_of(plan.y, body.corner.y, body.h, plan.stretch);
    const T weight = body.ratio * plan.scale;
    const int row = sx.first - chunk.left, column = sy.first - chunk.low;
    if (largest(sx.end, sy.end) > T(3)) return deposit_any(plan, sx, sy, weight, FILLER, row, column, patch, sums);
    if (!within(row, column)) {
        strays.slot[atomicAdd(&strays.count, 1u)] = slot;
        return false;
    }
    const T y[3] = {overlap(sy, 0), overlap(sy, 1), overlap(sy, 2)};
    const u32 address = patch + (row * PATCH + column) * 4;
#pragma unroll
    for (int k = 0; k < 3; ++k) {
        const T wx = overlap(sx, k) * weight;
#pragma unroll
        for (int l = 0; l < 3; ++l)
            patch_add(address + (k * PATCH + l) * 4, plan.limb_bits, fixed_point(wx, y[l]));
    }
    return false;
}

// The bodies put off, one per thread, as threads come: how many lie on the die.
template <typename T, int ORDER>
__device__ __forceinline__ u32 deposit_strays(const Plan<T>& plan, const Record<T>* __restrict__ records,
                                              const typename Bits<T>::Pair* corners, const Sums<T>& sums,
                                              Strays& strays) {
    u32 counted = 0;
    for (;;) {
        const u32 n = atomicAdd(&strays.taken, 1u);
        if (n >= strays.count) break;
        const u32 slot = strays.slot[n];
        const bool filler = slot >= u32(plan.movable);
        const Taken<T> body = slot < u32(plan.records)
                                  ? take<T, SLOTS, true>(plan, slot, records, nullptr, corners)
                                  : take<T, SLOTS, false>(plan, slot, records, nullptr, corners);
        const Span<T> sx = span_of(plan.x, body.corner.x, body.w, plan.stretch);
        const Span<T> sy = span_of(plan.y, body.corner.y, body.h, plan.stretch);
        const T weight = body.ratio * plan.scale;
        const T y[3] = {overlap(sy, 0), overlap(sy, 1), overlap(sy, 2)};
        const bool guest = is_guest(plan, sums, sx.first, sy.first, body.ratio);
        bool on_die = false;
#pragma unroll
        for (int k = 0; k < 3; ++k) {
            const u32 i = sx.first + k;
            const T wx = overlap(sx, k) * weight;
#pragma unroll
            for (int l = 0; l < 3; ++l) {
                const u32 j = sy.first + l;
                const auto value = fixed_point(wx, y[l]);
                if (!value || i >= u32(plan.nx) || j >= u32(plan.ny)) continue;
                const u32 at = (filler ? sums.bins : 0) + i * u32(plan.ny) + j;
                if (guest)
                    atomicAdd(sums.words + at, typename SumOf<T>::Word(value));
                else
                    add_any(sums, at, value);
                on_die = true;
            }
        }
        counted += on_die;
    }
    return counted;
}

// The bodies of slots [begin, end). In the caller's order, positions also go to
// `staged`, in slot order, for the force.
template <typename T, int ORDER, bool FILLER, bool RECORD>
__device__ __forceinline__ u32 deposit_slots(const Plan<T>& plan, const Chunk& chunk, u32 begin, u32 end, u32 patch,
                                             const Record<T>* __restrict__ records, const u32* __restrict__ id_of,
                                             const typename Bits<T>::Pair* __restrict__ corners,
                                             typename Bits<T>::Pair* staged, const Sums<T>& sums, Strays& strays) {
    // Several bodies' loads in flight before the first is used.
    enum { AHEAD = DEPOSIT_AHEAD };
    Taken<T> body[AHEAD];
    u32 counted = 0;
    for (u32 slot = begin + threadIdx.x; slot < end; slot += AHEAD * blockDim.x) {
#pragma unroll
        for (u32 k = 0; k < AHEAD; ++k) {
            const u32 at = slot + k * blockDim.x;
            if (k == 0 || at < end) body[k] = take<T, ORDER, RECORD>(plan, at, records, id_of, corners);
        }
#pragma unroll
        for (u32 k = 0; k < AHEAD; ++k) {
            const u32 at = slot + k * blockDim.x;
            if (k != 0 && at >= end) break;
            if (ORDER == CALLER) staged[at] = body[k].corner;
            counted += deposit<T, FILLER>(plan, body[k], at, chunk, patch, sums, strays);
        }
    }
    return counted;
}

// Adds a patch to the sums by so many of the block's threads: a thread has a
// column, or two neighbouring ones in f32, and takes rows of both classes in turn.
__device__ __forceinline__ void add_patch(const Plan<float>& plan, const Chunk& chunk, const u32* patch,
                                          const Sums<float>& sums, u32 threads) {
    enum { ACROSS = PATCH / 2 };
    const u32 rows = threads / ACROSS, down = threadIdx.x / ACROSS, column = threadIdx.x % ACROSS * 2;
    const u32 j = u32(chunk.low) + column;
    if (down >= rows || j >= u32(plan.ny)) return;
    const bool pairs = plan.ny % 2 == 0;
#pragma unroll 2
    for (u32 row = down; row < 2 * PATCH; row += rows) {
        const uint2 value = *reinterpret_cast<const uint2*>(patch + row * PATCH + column);
        const u32 of = row >= PATCH ? 1 : 0, i = u32(chunk.left) + row - of * PATCH;
        if (!(value.x | value.y) || i >= u32(plan.nx)) continue;
        const u32 at = of * sums.bins + i * u32(plan.ny) + j;
        if (pairs && max(value.x, value.y) < chunk.limit) {
            atomicAdd(reinterpret_cast<u64*>(sums.words + at), value.x | u64(value.y) << 32);
        } else {
            add_any(sums, at, value.x);
            if (j + 1 < u32(plan.ny)) add_any(sums, at + 1, value.y);
        }
    }
}
__device__ __forceinline__ void add_patch(const Plan<double>& plan, const Chunk& chunk, const u32* patch,
                                          const Sums<double>& sums, u32 threads) {
    const u32 rows = threads / PATCH, down = threadIdx.x / PATCH, column = threadIdx.x % PATCH;
    const u32 j = u32(chunk.low) + column;
    if (down >= rows || j >= u32(plan.ny)) return;
#pragma unroll 2
    for (u32 row = down; row < 2 * PATCH; row += rows) {
        const u32* const at = patch + row * PATCH + column;
        const u64 value = at[0] + (u64(at[PATCH_WORDS]) << plan.limb_bits);
        const u32 of = row >= PATCH ? 1 : 0, i = u32(chunk.left) + row - of * PATCH;
        if (value && i < u32(plan.nx)) atomicAdd(sums.words + of * sums.bins + i * u32(plan.ny) + j, value);
    }
}

// One block per chunk.
template <typename T, int ORDER>
__device__ __forceinline__ void deposit_chunk(const Plan<T>& plan, const Chunk& chunk,
                                              const Record<T>* __restrict__ records, const u32* __restrict__ id_of,
                                              const typename Bits<T>::Pair* __restrict__ corners,
                                              typename Bits<T>::Pair* staged, const Sums<T>& sums, u32* counted) {
    extern __shared__ uint4 patch_storage[];
    __shared__ Strays strays;
    if (threadIdx.x == 0) strays.count = strays.taken = 0;
    const u32 movable = u32(__cvta_generic_to_shared(patch_storage)), fillers = movable + PATCH * PATCH * 4;
    for (u32 w = threadIdx.x; w < PATCH_WORDS / 4 * sizeof(T) / 4; w += blockDim.x)
        patch_storage[w] = make_uint4(0, 0, 0, 0);
    __syncthreads();
    u32 count = deposit_slots<T, ORDER, false, true>(plan, chunk, chunk.movable_begin, chunk.movable_end, movable,
                                                     records, id_of, corners, staged, sums, strays);
    if (!plan.own_size && plan.records == plan.movable)
        count += deposit_slots<T, ORDER, true, false>(plan, chunk, chunk.filler_begin, chunk.filler_end, fillers,
                                                      records, id_of, corners, staged, sums, strays);
    else if (!plan.own_size)
        count += deposit_slots<T, ORDER, true, true>(plan, chunk, chunk.filler_begin, chunk.filler_end, fillers,
                                                     records, id_of, corners, staged, sums, strays);
    __syncthreads();
    let_next_start();
    const u32 adders = strays.count ? blockDim.x - 32 : blockDim.x;
    add_patch(plan, chunk, reinterpret_cast<const u32*>(patch_storage), sums, adders);
    if (strays.count) count += deposit_strays<T, ORDER>(plan, records, ORDER == CALLER ? staged : corners, sums, strays);
    if (count) atomicAdd(counted, count);
}

// A large body, by one warp. What it adds to the bins is a product of steps
// along x and y, each with at most five places where it changes: its first bin,
// the second, the third (whole bins from there), the last and the end. In each tile
// it touches, the differences at those places are added, with what lies before
// the tile moved to its edge; sums along both axes then give back, exactly,
// the same rounded contribution in every bin.
template <typename T, int ORDER>
__device__ __forceinline__ void deposit_large(const Plan<T>& plan, u32 k, const Record<T>* __restrict__ large,
                                              const typename Bits<T>::Pair* __restrict__ corners,
                                              typename Bits<T>::Pair* __restrict__ staged, const Sums<T>& sums) {
    const int lane = threadIdx.x % 32, p = lane / 5, q = lane % 5;
    const Record<T> body = large[k];
    const typename Bits<T>::Pair at = corners[ORDER == CALLER ? u32(body.id) : plan.bodies + k];
    if (ORDER == CALLER && lane == 0) staged[plan.bodies + k] = at;
    const bool filler = u32(body.id) >= u32(plan.movable_ids);
    if (filler && plan.own_size) return;
    const Span<T> sx = span_of(plan.x, at.x, body.w, plan.stretch);
    const Span<T> sy = span_of(plan.y, at.y, body.h, plan.stretch);
    const T weight = weight_of(plan, body.ratio) * plan.scale;
    const int rows = extent(sx), columns = extent(sy);
    const auto place = [](int p, int end) { return p < 3 ? min(p, end) : p == 3 ? max(min(2, end), end - 1) : end; };
    const auto value = [&](int p, int q) {
        if (p < 0 || p > 3 || q < 0 || q > 3) return u64(0);
        return u64(fixed_point(overlap(sx, p < 3 ? p : rows - 1) * weight, overlap(sy, q < 3 ? q : columns - 1)));
    };
    const u64 step = value(p, q) - value(p - 1, q) - value(p, q - 1) + value(p - 1, q - 1);
    const int row = sx.first + place(p, rows), column = sy.first + place(q, columns);
    const u32 of = filler ? 1 : 0;
    u64* const words = sums.large + u64(of * u32(plan.tiles_x * plan.tiles_y)) * (TILE * TILE);
    const int end_x = min(sx.first + rows, plan.nx), end_y = min(sy.first + columns, plan.ny);
    for (int i = max(sx.first, 0) & -TILE; i < end_x; i += TILE)
        for (int j = max(sy.first, 0) & -TILE; j < end_y; j += TILE) {
            const u32 tile = u32(i >> TILE_SHIFT) * plan.tiles_y + u32(j >> TILE_SHIFT);
            const int r = max(row - i, 0), c = max(column - j, 0);
            if (p < 5 && r < TILE && c < TILE && step) atomicAdd(words + tile * (TILE * TILE) + r * TILE + c, step);
            if (lane == 0) atomicOr(sums.flags + tile, 1u << of);
        }
}

// What the host reads after a step. Same layout as `Stats` in src/cuda/density.rs.
struct Stats {
    u64 excess;     // sum over bins of max(0, fixed + movable - target): bin areas, fixed point
    double largest; // largest fixed + movable, bin areas
    u64 strays;     // bodies that had left their patch
};

// Blocks: eight large bodies each, then chunks.
template <typename T, int ORDER>
__device__ __forceinline__ void deposit_bodies(const Plan<T>& plan, const Chunk* __restrict__ chunks,
                                               const Record<T>* __restrict__ large,
                                               const Record<T>* __restrict__ records, const u32* __restrict__ id_of,
                                               const typename Bits<T>::Pair* __restrict__ corners,
                                               typename Bits<T>::Pair* staged, const Sums<T>& sums, u32* strays,
                                               Stats* stats) {
    if (blockIdx.x == 0 && threadIdx.x == 0) {  // for density_finish
        stats->excess = 0;
        stats->largest = 0;
    }
    const u32 before = (u32(plan.large) + 7) / 8;
    if (blockIdx.x < before) {
        const u32 k = blockIdx.x * 8 + threadIdx.x / 32;
        if (k < u32(plan.large)) deposit_large<T, ORDER>(plan, k, large, corners, staged, sums);
        return;
    }
    const Chunk chunk = chunks[blockIdx.x - before];
    if (chunk.movable_begin == chunk.movable_end && chunk.filler_begin == chunk.filler_end) return;
    deposit_chunk<T, ORDER>(plan, chunk, records, id_of, corners, staged, sums, strays);
}

// Four neighbouring values.
template <typename W>
struct alignas(4 * sizeof(W) > 16 ? 16 : 4 * sizeof(W)) Four {
    W v[4];
};

// Sums along y and then x over a tile, of which every thread of 256 has four bins.
__device__ __forceinline__ void sum_tile(Four<u64>& own) {
    __shared__ u64 tile[TILE][TILE + 1];
    const u32 row = threadIdx.x / 8, column = threadIdx.x % 8 * 4, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (u32 k = 1; k < 4; ++k) own.v[k] += own.v[k - 1];
    u64 upto = own.v[3];
    for (u32 d = 1; d < 8; d *= 2) {
        const u64 before = __shfl_up_sync(0xffffffffu, upto, d, 8);
        if (threadIdx.x % 8 >= d) upto += before;
    }
    upto -= own.v[3];
    for (u32 k = 0; k < 4; ++k) tile[row][column + k] = own.v[k] + upto;
    __syncthreads();
    for (u32 k = 0; k < 4; ++k) {  // a row per lane, four columns per warp
        u64 sum = tile[lane][4 * warp + k];
        for (u32 d = 1; d < 32; d *= 2) {
            const u64 before = __shfl_up_sync(0xffffffffu, sum, d);
            if (lane >= d) sum += before;
        }
        tile[lane][4 * warp + k] = sum;
    }
    __syncthreads();
    for (u32 k = 0; k < 4; ++k) own.v[k] = tile[row][column + k];
    __syncthreads();
}

// Adds up the differences of one tile's large bodies, and sets them to zero.
__device__ __forceinline__ void add_exclusive(const Sums<float>& sums, u32 at, u64 value) {
    if (value < MARK / 4) {  // as much as the others leave room for
        sums.words[at] += u32(value);
    } else {
        sums.beside[at] += value;
        sums.words[at] |= MARK;
    }
}
__device__ __forceinline__ void add_exclusive(const Sums<double>& sums, u32 at, u64 value) { sums.words[at] += value; }

template <typename T>
__device__ __forceinline__ void add_large(const Plan<T>& plan, const Sums<T>& sums) {
    static_assert(TILE * TILE == 4 * 256, "a quad of bins per thread");
    const u32 flags = sums.flags[blockIdx.x];
    if (!flags) return;
    const u32 i = blockIdx.x / plan.tiles_y * TILE + threadIdx.x / 8;
    const u32 j = blockIdx.x % plan.tiles_y * TILE + threadIdx.x % 8 * 4;
    for (u32 of = 0; of < 2; ++of) {
        if (!(flags >> of & 1)) continue;
        Four<u64>* const at = reinterpret_cast<Four<u64>*>(sums.large) +
                              (of * gridDim.x + blockIdx.x) * (TILE * TILE / 4) + threadIdx.x;
        Four<u64> own = *at;
        *at = Four<u64>{};
        sum_tile(own);
#pragma unroll
        for (u32 k = 0; k < 4; ++k)
            if (own.v[k] && i < u32(plan.nx) && j + k < u32(plan.ny))
                add_exclusive(sums, of * sums.bins + i * u32(plan.ny) + j + k, own.v[k]);
    }
    __syncthreads();
    if (threadIdx.x == 0) sums.flags[blockIdx.x] = 0;
}

// Excess and largest of all blocks, as integers, so that their order does not show.
template <typename T>
__device__ __forceinline__ void add_stats(const Plan<T>& plan, T excess, T most, Stats* stats) {
    __shared__ double block_excess[8], block_largest[8];
    for (int d = 16; d; d >>= 1) {
        excess += __shfl_xor_sync(0xffffffffu, excess, d);
        most = largest(most, __shfl_xor_sync(0xffffffffu, most, d));
    }
    if (threadIdx.x % 32 == 0) {
        block_excess[threadIdx.x / 32] = double(excess);
        block_largest[threadIdx.x / 32] = double(most);
    }
    __syncthreads();
    if (threadIdx.x != 0) return;
    double e = 0, l = 0;
    for (u32 k = 0; k < 8; ++k) {
        e += block_excess[k];
        l = fmax(l, block_largest[k]);
    }
    // Numbers above zero compare as their bits do.
    atomicAdd(&stats->excess, u64(e * double(plan.excess_scale)));
    atomicMax(reinterpret_cast<u64*>(&stats->largest), u64(__double_as_longlong(l)));
}

// A bin's sum; what stands beside it is set to zero.
__device__ __forceinline__ u64 held_in(const Sums<float>& sums, u32 at, u32 word) {
    if (!(word & MARK)) return word;
    const u64 rest = sums.beside[at];
    sums.beside[at] = 0;
    return rest + (word & ~MARK);
}
__device__ __forceinline__ u64 held_in(const Sums<double>& sums, u32 at, u64 word) { return word; }

// For the host to read, now or some steps later: the order's number in the upper
// half, and what strays have added up to since it was made in the lower.
__device__ __forceinline__ void post(Wear* wear, u32 strays, u64* posted) {
    wear->least = min(wear->least, strays);
    wear->excess += strays - wear->least;
    *reinterpret_cast<volatile u64*>(posted) = u64(wear->order) << 32 | min(wear->excess, u64(0xffffffffu));
}

// Four bins per thread.
template <typename T>
__device__ __forceinline__ void finish_bins(const Plan<T>& plan, const T* __restrict__ fixed, const Sums<T>& sums,
                                            T* __restrict__ rho, u32* strays, Stats* stats, Wear* wear, u64* posted) {
    typedef typename SumOf<T>::Word Word;
    T excess = 0, most = 0;
    const bool vector = sums.bins % 4 == 0;
    const u32 b = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
    Four<Word> movable = {}, filler = {};
    Four<T> base = {}, out;
    if (vector && b < sums.bins) base = *reinterpret_cast<const Four<T>*>(fixed + b);
    wait_for_previous();
    if (vector && b < sums.bins) {
        movable = *reinterpret_cast<const Four<Word>*>(sums.words + b);
        filler = *reinterpret_cast<const Four<Word>*>(sums.words + sums.bins + b);
    }
#pragma unroll
    for (u32 k = 0; k < 4; ++k) {
        if (b + k >= sums.bins) break;
        if (!vector) {
            base.v[k] = fixed[b + k];
            movable.v[k] = sums.words[b + k];
            filler.v[k] = sums.words[sums.bins + b + k];
        }
        const T area = base.v[k] + T(held_in(sums, b + k, movable.v[k])) * plan.unscale;
        out.v[k] = area + T(held_in(sums, sums.bins + b + k, filler.v[k])) * plan.unscale;
        excess += largest(area - plan.target, T(0));
        most = largest(most, area);
        if (!vector) {
            rho[b + k] = out.v[k];
            sums.words[b + k] = sums.words[sums.bins + b + k] = 0;
        }
    }
    if (vector && b < sums.bins) {
        *reinterpret_cast<Four<T>*>(rho + b) = out;
        *reinterpret_cast<Four<Word>*>(sums.words + b) = Four<Word>{};
        *reinterpret_cast<Four<Word>*>(sums.words + sums.bins + b) = Four<Word>{};
    }
    const u32 thread = blockIdx.x * blockDim.x + threadIdx.x;
    if (sizeof(T) == 4 && thread < u32(plan.tiles_x * plan.tiles_y)) sums.guests[thread] = 0;
    add_stats(plan, excess, most, stats);
    if (thread == 0) {
        const u32 now = *strays;
        stats->strays = now;
        *strays = 0;
        if (!plan.own_size) post(wear, now, posted);
    }
}

#define PLACEFIELD_DENSITY_BODIES(T, NAME, ORDER, BLOCKS)                                                             \
    extern "C" __global__ void __launch_bounds__(256, BLOCKS)                                                         \
        NAME(const Plan<T> plan, const Chunk* chunks, const Record<T>* large, const Record<T>* records,               \
             const u32* id_of, const Bits<T>::Pair* corners, Bits<T>::Pair* staged,                                   \
             SumOf<T>::Word* words, u64* beside, u32* guests, u64* differences, u32* flags, u32* strays,              \
             Stats* stats) {                                                                                          \
        const Sums<T> sums = {words, beside, guests, differences, flags, u32(plan.nx) * u32(plan.ny)};                \
        deposit_bodies<T, ORDER>(plan, chunks, large, records, id_of, corners, staged, sums, strays, stats);          \
    }

#define PLACEFIELD_DENSITY(T, P, BLOCKS)                                                                              \
    PLACEFIELD_DENSITY_BODIES(T, density_slots##P, SLOTS, BLOCKS)                                                     \
    PLACEFIELD_DENSITY_BODIES(T, density_caller##P, CALLER, BLOCKS)                                                   \
    extern "C" __global__ void __launch_bounds__(256)                                                                 \
        density_large##P(const Plan<T> plan, SumOf<T>::Word* words, u64* beside, u64* differences, u32* flags) {      \
        const Sums<T> sums = {words, beside, nullptr, differences, flags, u32(plan.nx) * u32(plan.ny)};               \
        add_large<T>(plan, sums);                                                                                     \
    }                                                                                                                 \
    extern "C" __global__ void __launch_bounds__(256)                                                                 \
        density_finish##P(const Plan<T> plan, const T* fixed, SumOf<T>::Word* words, u64* beside, u32* guests,        \
                          T* rho, u32* strays, Stats* stats, Wear* wear, u64* posted) {                               \
        const Sums<T> sums = {words, beside, guests, nullptr, nullptr, u32(plan.nx) * u32(plan.ny)};                  \
        finish_bins<T>(plan, fixed, sums, rho, strays, stats, wear, posted);                                          \
    }

#ifdef PF_REAL
PLACEFIELD_DENSITY(PF_REAL, , (sizeof(PF_REAL) == 4 ? DEPOSIT_BLOCKS : 3))
#else
PLACEFIELD_DENSITY(float, _f32, DEPOSIT_BLOCKS)
PLACEFIELD_DENSITY(double, _f64, 3)
#endif
