// Density: the area every bin holds, and from it rho, overflow and maximum.
//
//   density_slots   overlaps of all bodies, into sums per bin; positions in slot order
//   density_caller  the same, positions in the caller's order: each is one access
//                   at random, and is left in slot order for the force
//   density_large   large bodies' share of the sums, from their differences
//   density_finish  rho = fixed + movable + fillers, overflow and maximum of
//                   fixed + movable; leaves the sums at zero for the next step.
//                   rho and fixed are less the background, which is taken off
//                   before anything is rounded
//
// All sums are integers: a contribution is rounded once to 1/scale of a bin, in
// the same way wherever it is added, so the same positions give the same bits
// whatever order the device works in. A block of 256 threads adds its chunk's
// bodies to a patch in shared memory, which adds 32-bit integers natively (and
// floating-point numbers by compare-and-swap), and then the patch to the sums of
// all bins (sums.cuh). Large bodies go there by way of differences (large.cuh).
//
// density_finish has four bins per thread and moves six words per bin: two sums
// read and set to zero, fixed area read, rho written. A block of its own posts how
// worn the order is (bodies.cuh) to memory of the host.
#include "bodies/large.cuh"
#include "device/dependent_launch.cuh"
#include "bodies/sums.cuh"

// Bodies whose loads are in flight at once, and blocks per multiprocessor the
// registers must allow. Measured on an H200 (4.9 million bodies, 2048^2 bins,
// f32, whole density step): (2, 6) 79 us, (4, 4) 83, (1, 8) 82, (1, 6) 87, (2, 7) 87.
#ifndef DEPOSIT_AHEAD
#define DEPOSIT_AHEAD 2
#endif
#ifndef DEPOSIT_BLOCKS
#define DEPOSIT_BLOCKS 6
#endif

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
template <typename T>
__device__ __forceinline__ u32 deposit_strays(const Plan<T>& plan, u32 half, const Record<T>* __restrict__ records,
                                              const typename Bits<T>::Pair* corners, const Sums<T>& sums,
                                              Strays& strays) {
    u32 counted = 0;
    for (;;) {
        const u32 n = atomicAdd(&strays.taken, 1u);
        if (n >= strays.count) break;
        const u32 slot = strays.slot[n];
        const bool filler = slot >= u32(plan.movable);
        const Taken<T> body = slot < u32(plan.records)
                                  ? take<T, SLOTS, true>(plan, slot, half, records, nullptr, corners)
                                  : take<T, SLOTS, false>(plan, slot, half, records, nullptr, corners);
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
            if (k == 0 || at < end) body[k] = take<T, ORDER, RECORD>(plan, at, chunk.half, records, id_of, corners);
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
    if (strays.count)
        count += deposit_strays<T>(plan, chunk.half, records, ORDER == CALLER ? staged : corners, sums, strays);
    if (count) atomicAdd(counted, count);
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
        block_largest[threadIdx.x / 32] = double(most) + double(plan.background);
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
    Wear worn = *wear;
    worn.least = min(worn.least, strays);
    worn.excess += strays - worn.least;
    *wear = worn;
    *reinterpret_cast<volatile u64*>(posted) = u64(worn.order) << 32 | min(worn.excess, u64(0xffffffffu));
}

// A block of its own: others would wait for it at their end.
__device__ __forceinline__ void finish_strays(bool own_size, u32* strays, Stats* stats, Wear* wear, u64* posted) {
    wait_for_previous();
    if (threadIdx.x != 0) return;
    const u32 now = *strays;
    stats->strays = now;
    *strays = 0;
    if (!own_size) post(wear, now, posted);
}

// Four bins per thread.
template <typename T>
__device__ __forceinline__ void finish_bins(const Plan<T>& plan, const T* __restrict__ fixed, const Sums<T>& sums,
                                            T* __restrict__ rho, Stats* stats) {
    typedef typename SumOf<T>::Word Word;
    T excess = 0, most = -plan.background;
    const bool vector = sums.bins % 4 == 0;
    const u32 thread = blockIdx.x * blockDim.x + threadIdx.x, b = thread * 4;
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
    if (sizeof(T) == 4 && thread < u32(plan.tiles_x * plan.tiles_y)) sums.guests[thread] = 0;
    add_stats(plan, excess, most, stats);
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
    extern "C" __global__ void __launch_bounds__(256, 32 / sizeof(T))                                                 \
        density_finish##P(const Plan<T> plan, const T* fixed, SumOf<T>::Word* words, u64* beside, u32* guests,        \
                          T* rho, u32* strays, Stats* stats, Wear* wear, u64* posted) {                               \
        const Sums<T> sums = {words, beside, guests, nullptr, nullptr, u32(plan.nx) * u32(plan.ny)};                  \
        if (blockIdx.x == gridDim.x - 1)                                                                              \
            finish_strays(plan.own_size != 0, strays, stats, wear, posted);                                           \
        else                                                                                                          \
            finish_bins<T>(plan, fixed, sums, rho, stats);                                                            \
    }

#ifdef PF_REAL
PLACEFIELD_DENSITY(PF_REAL, , (sizeof(PF_REAL) == 4 ? DEPOSIT_BLOCKS : 3))
#else
PLACEFIELD_DENSITY(float, _f32, DEPOSIT_BLOCKS)
PLACEFIELD_DENSITY(double, _f64, 3)
#endif
