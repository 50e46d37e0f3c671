// Density: the area every bin holds, and from it ρ, overflow and maximum.
//
//   density_slots   overlaps of all bodies, into sums per bin; positions in slot order
//   density_pairs   the same, positions in the caller's order, x and y of a body side by
//                   side: each is one access at random, and is left in slot order for the force
//   density_halves  the same, x of all bodies before y of all: two accesses each
//   density_large   large bodies' share of the sums, from their differences
//   density_finish  ρ = fixed + movable + fillers, overflow and maximum of fixed +
//                   movable; leaves the sums at zero for the next step. ρ and fixed are
//                   centered: less the background, which is taken off before anything is
//                   rounded
//   density_off_die area of movable cells off the die, for a host that reads the overflow
//
// All sums are integers: a contribution is rounded once to 1/scale of a bin, in the same way wherever it is added, so
// the same positions give the same bits whatever order the device works in. A block adds its chunk's bodies to a patch
// in shared memory, which adds 32-bit integers natively (and floating-point numbers by compare-and-swap), and then the
// patch to the sums of all bins (sums.cuh). Large bodies are added there from differences (large.cuh).
//
// Blocks have 256 threads. density_slots, density_pairs and density_halves: a block for every eight large bodies, then
// one for every chunk; shared memory holds a patch of both classes (bodies.cuh), 15 KiB in f32 and 30 in f64, and the
// list of bodies outside their halo. They read a corner (2 values) and, but for fillers of one size, a record (4
// values) per body; in the caller's order they also write the corner. density_large: a block per tile. density_finish:
// four bins a thread, which moves six values per bin (two sums read and set to zero, fixed area read, ρ written), and
// one more block that tells the host how stale the order is (bodies.cuh). density_off_die: a block for every BLOCK large
// bodies, then one for every chunk, which read a corner and a record per movable cell. Maps are [nx][ny], y contiguous.
// With PF_REGIONS there is a map for each fence region, and density_large and density_finish have as many blocks more.
#include "bodies/large.cuh"
#include "bodies/sums.cuh"
#include "device/dependent_launch.cuh"
#include "device/reduce.cuh"

// Bodies whose loads are in flight at once, and blocks per multiprocessor the registers must allow. Measured on an H200
// (4.9 million bodies, 2048² bins, f32, whole density step): (2, 6) 79 µs, (4, 4) 83, (1, 8) 82, (1, 6) 87, (2, 7) 87.
constexpr int DEPOSIT_AHEAD = 2, DEPOSIT_BLOCKS = F64 ? 3 : REGIONS ? 5 : 6;

/// A body of more than 3 × 3 bins: its bins in the patch go there, others to global memory. True when some did.
__device__ __forceinline__ bool deposit_any(const Setup& setup, const Span& sx, const Span& sy, real weight, u32 of,
                                            int row, int column, u32 patch, const Sums& sums) {
    bool outside = false;
    for_each_bin<1>(setup, sx, sy, 0, 1, 0, 1, [&](int k, int l, int i, int j, real wx, real wy) {
        const auto value = fixed_point(wx * weight, wy);
        if (!value) return;
        if (u32(row + k) < PATCH && u32(column + l) < PATCH) {
            patch_add(patch + ((row + k) * PATCH + column + l) * 4, setup.limb_bits, value);
        } else {
            add_any(sums, of * sums.bins + u32(i) * u32(setup.ny) + u32(j), value);
            outside = true;
        }
    });
    return outside;
}

/// Slots of bodies outside their halo, of at most 3 × 3 bins, in shared memory. Added where it was found, each held up
/// its warp by 1.5 µs, and with it the block: with 1 % of them, 4.9 million bodies took 172 µs and not 90 (H200). While
/// a block's last warp adds them the others add the patch, then they help it.
struct Outside {
    u32 count, taken;
    u32 slot[LARGEST_CHUNK + 1];  // as many as a chunk has (part_begin of order.cu)
};

/// One body. Its class's patch stands at address `patch` of shared memory. True when the
/// body reached beyond it and has been added; one of few bins that did is listed in `outside`.
template <bool FILLER>
__device__ __forceinline__ bool deposit(const Setup& setup, const Body& body, u32 slot, const Chunk& chunk, u32 patch,
                                        const Sums& sums, Outside& outside) {
    const Span sx = span_of(setup.x, body.corner.x, body.w, setup.stretch);
    const Span sy = span_of(setup.y, body.corner.y, body.h, setup.stretch);
    const real weight = body.ratio * setup.scale;
    const int row = sx.first - chunk.left, column = sy.first - chunk.low;
    if (fmax(sx.end, sy.end) > real(3)) return deposit_any(setup, sx, sy, weight, FILLER, row, column, patch, sums);
    if (!within(row, column)) {
        outside.slot[atomicAdd(&outside.count, 1u)] = slot;
        return false;
    }
    const real y[3] = {overlap(sy, 0), overlap(sy, 1), overlap(sy, 2)};
    const u32 address = patch + (row * PATCH + column) * 4;
#pragma unroll
    for (int k = 0; k < 3; ++k) {
        const real wx = overlap(sx, k) * weight;
#pragma unroll
        for (int l = 0; l < 3; ++l) patch_add(address + (k * PATCH + l) * 4, setup.limb_bits, fixed_point(wx, y[l]));
    }
    return false;
}

/// The bodies listed in `outside`, each by the next free thread. Returns how many of the thread's lie on the die.
__device__ __forceinline__ u32 deposit_outside(const Setup& setup, u32 half, const Record* __restrict__ records,
                                               const real2* corners, const Sums& sums, Outside& outside) {
    u32 counted = 0;
    for (;;) {
        const u32 n = atomicAdd(&outside.taken, 1u);
        if (n >= outside.count) break;
        const u32 slot = outside.slot[n];
        const bool filler = slot >= u32(setup.movable);
        const Body body = slot < u32(setup.records)
                              ? load_body<SLOTS, true>(setup, slot, half, records, nullptr, corners)
                              : load_body<SLOTS, false>(setup, slot, half, records, nullptr, corners);
        const Span sx = span_of(setup.x, body.corner.x, body.w, setup.stretch);
        const Span sy = span_of(setup.y, body.corner.y, body.h, setup.stretch);
        const real weight = body.ratio * setup.scale;
        const real y[3] = {overlap(sy, 0), overlap(sy, 1), overlap(sy, 2)};
        const bool direct = has_room(setup, sums, sx.first, sy.first, body.ratio);
        bool on_die = false;
#pragma unroll
        for (int k = 0; k < 3; ++k) {
            const u32 i = sx.first + k;
            const real wx = overlap(sx, k) * weight;
#pragma unroll
            for (int l = 0; l < 3; ++l) {
                const u32 j = sy.first + l;
                const auto value = fixed_point(wx, y[l]);
                if (!value || i >= u32(setup.nx) || j >= u32(setup.ny)) continue;
                const u32 at = (filler ? sums.bins : 0) + i * u32(setup.ny) + j;
                if (direct) atomicAdd(sums.values + at, Sum(value));
                else add_any(sums, at, value);
                on_die = true;
            }
        }
        counted += on_die;
    }
    return counted;
}

/// The bodies of slots [begin, end). In the caller's order, positions also go to
/// `staged`, in slot order, for the force.
template <int ORDER, bool FILLER, bool RECORD>
__device__ __forceinline__ u32 deposit_slots(const Setup& setup, const Chunk& chunk, u32 begin, u32 end, u32 patch,
                                             const Record* __restrict__ records, const u32* __restrict__ id_of,
                                             const real2* __restrict__ corners, real2* staged, const Sums& sums,
                                             Outside& outside) {
    u32 counted = 0;
    for_each_body<DEPOSIT_AHEAD, ORDER, RECORD>(
        setup, chunk.half, begin, end, records, id_of, corners, [&](u32 slot, const Body& body) {
            if (ORDER != SLOTS) staged[slot] = body.corner;
            counted += deposit<FILLER>(setup, body, slot, chunk, patch, sums, outside);
        });
    return counted;
}

/// Adds a patch to the sums by so many of the block's threads: a thread has a
/// column, or two neighbouring ones in f32, and takes rows of both classes in turn.
__device__ __forceinline__ void add_patch(const Setup& setup, const Chunk& chunk, const u32* patch,
                                          const SumsOf<u32>& sums, u32 threads) {
    constexpr u32 ACROSS = PATCH / 2;
    static_assert(PATCH <= BLOCK - 32, "all warps but one have a thread for every column");
    const u32 rows = threads / ACROSS, down = threadIdx.x / ACROSS, column = threadIdx.x % ACROSS * 2;
    const u32 j = u32(chunk.low) + column;
    if (down >= rows || j >= u32(setup.ny)) return;
    const bool pairs = setup.ny % 2 == 0;
#pragma unroll 2
    for (u32 row = down; row < 2 * PATCH; row += rows) {
        const uint2 value = *reinterpret_cast<const uint2*>(patch + row * PATCH + column);
        const u32 of = row >= PATCH ? 1 : 0, i = u32(chunk.left) + row - of * PATCH;
        if (!(value.x | value.y) || i >= u32(setup.nx)) continue;
        const u32 at = of * sums.bins + i * u32(setup.ny) + j;
        if (pairs && max(value.x, value.y) < chunk.limit) {
            atomicAdd(reinterpret_cast<u64*>(sums.values + at), value.x | u64(value.y) << 32);
        } else {
            add_any(sums, at, value.x);
            if (j + 1 < u32(setup.ny)) add_any(sums, at + 1, value.y);
        }
    }
}
__device__ __forceinline__ void add_patch(const Setup& setup, const Chunk& chunk, const u32* patch,
                                          const SumsOf<u64>& sums, u32 threads) {
    const u32 rows = threads / PATCH, down = threadIdx.x / PATCH, column = threadIdx.x % PATCH;
    const u32 j = u32(chunk.low) + column;
    if (down >= rows || j >= u32(setup.ny)) return;
#pragma unroll 2
    for (u32 row = down; row < 2 * PATCH; row += rows) {
        const u32* const at = patch + row * PATCH + column;
        const u64 value = at[0] + (u64(at[PATCH_VALUES]) << setup.limb_bits);
        const u32 of = row >= PATCH ? 1 : 0, i = u32(chunk.left) + row - of * PATCH;
        if (value && i < u32(setup.nx)) atomicAdd(sums.values + of * sums.bins + i * u32(setup.ny) + j, value);
    }
}

/// One block per chunk.
template <int ORDER>
__device__ __forceinline__ void deposit_chunk(const Setup& setup, const Chunk& chunk,
                                              const Record* __restrict__ records, const u32* __restrict__ id_of,
                                              const real2* __restrict__ corners, real2* staged, const Sums& sums,
                                              u32* counted) {
    extern __shared__ uint4 patch_storage[];
    __shared__ Outside outside;
    if (threadIdx.x == 0) outside.count = outside.taken = 0;
    const u32 movable = u32(__cvta_generic_to_shared(patch_storage)), fillers = movable + PATCH * PATCH * 4;
    for (u32 w = threadIdx.x; w < PATCH_VALUES / 4 * sizeof(real) / 4; w += blockDim.x)
        patch_storage[w] = make_uint4(0, 0, 0, 0);
    __syncthreads();
    u32 count = deposit_slots<ORDER, false, true>(setup, chunk, chunk.movable_begin, chunk.movable_end, movable,
                                                  records, id_of, corners, staged, sums, outside);
    if (!setup.exact_size && setup.records == setup.movable)
        count += deposit_slots<ORDER, true, false>(setup, chunk, chunk.filler_begin, chunk.filler_end, fillers, records,
                                                   id_of, corners, staged, sums, outside);
    else if (!setup.exact_size)
        count += deposit_slots<ORDER, true, true>(setup, chunk, chunk.filler_begin, chunk.filler_end, fillers, records,
                                                  id_of, corners, staged, sums, outside);
    __syncthreads();
    let_next_start();
    const u32 adders = outside.count ? blockDim.x - 32 : blockDim.x;
    add_patch(setup, chunk, reinterpret_cast<const u32*>(patch_storage), sums, adders);
    if (outside.count)
        count += deposit_outside(setup, chunk.half, records, ORDER != SLOTS ? staged : corners, sums, outside);
    if (count) atomicAdd(counted, count);
}

/// The values the host reads after a step, three numbers of 64 bits (`RawStatistics`): for all bodies, and with
/// PF_REGIONS then for those of each region.
struct Stats {
    u64 excess;      // sum over bins of max(0, fixed + movable - target): bin areas, fixed point
    double largest;  // largest fixed + movable, bin areas
    u64 outside;     // bodies outside their halo
};

/// Blocks: eight large bodies each, then chunks.
template <int ORDER>
__device__ __forceinline__ void deposit_bodies(const Setup& setup, const Chunk* __restrict__ chunks,
                                               const Record* __restrict__ large, const Record* __restrict__ records,
                                               const u32* __restrict__ id_of, const real2* __restrict__ corners,
                                               real2* staged, const Sums& sums, u32* outside, Stats* stats,
                                               const Regions& regions) {
    if (blockIdx.x == 0 && threadIdx.x == 0) {  // for density_finish
        stats->excess = 0;
        stats->largest = 0;
    }
    if (REGIONS && blockIdx.x == 0)
        for (u32 k = threadIdx.x; k < u32(setup.regions); k += blockDim.x) stats[1 + k] = {0, 0, 0};
    const u32 before = (u32(setup.large) + 7) / 8;
    if (blockIdx.x < before) {
        const u32 k = blockIdx.x * 8 + threadIdx.x / 32;
        if (k < u32(setup.large) && own_large(setup, k))
            deposit_large<ORDER>(setup, k, large, corners, staged, sums, regions);
        return;
    }
    Chunk chunk = chunks[blockIdx.x - before];
    if (chunk.empty()) return;
    const u32 region = chunk.take_region();
    deposit_chunk<ORDER>(setup_in(setup, regions, region), chunk, records, id_of, corners, staged,
                         sums.in(setup, region), outside);
}

/// Excess and largest of all blocks, as integers, so that their order does not show. Those of the
/// block's region go to its own numbers too.
__device__ __forceinline__ void add_stats(const Setup& setup, real excess, real most, Stats* stats, u32 region) {
    __shared__ double block_excess[8], block_largest[8];
    excess = warp_total(excess);
    most = warp_max(most);
    if (threadIdx.x % 32 == 0) {
        block_excess[threadIdx.x / 32] = double(excess);
        block_largest[threadIdx.x / 32] = double(most) + double(setup.background);
    }
    __syncthreads();
    if (threadIdx.x != 0) return;
    double e = 0, l = 0;
    for (u32 k = 0; k < 8; ++k) {
        e += block_excess[k];
        l = fmax(l, block_largest[k]);
    }
    // Positive numbers compare as their bits do.
    atomicAdd(&stats->excess, u64(e * double(setup.excess_scale)));
    atomicMax(reinterpret_cast<u64*>(&stats->largest), u64(__double_as_longlong(l)));
    if (!REGIONS) return;
    Stats* const own = stats + 1 + region;
    atomicAdd(&own->excess, u64(e * double(setup.excess_scale)));
    atomicMax(reinterpret_cast<u64*>(&own->largest), u64(__double_as_longlong(l)));
}

/// A bin's sum, with its carry, which is set to zero.
__device__ __forceinline__ u64 take_sum(const SumsOf<u32>& sums, u32 at, u32 value) {
    if (!(value & HAS_CARRY)) return value;
    const u64 carry = sums.carry[at];
    sums.carry[at] = 0;
    return carry + (value & ~HAS_CARRY);
}
__device__ __forceinline__ u64 take_sum(const SumsOf<u64>&, u32, u64 value) { return value; }

/// Tells the host, to read now or some steps later, the order's number in the upper half
/// and in the lower what bodies outside their halo have added up to since it was made.
__device__ __forceinline__ void post_age(Age* age, u32 outside, u64* posted) {
    Age now = *age;
    now.least = min(now.least, outside);
    now.excess += outside - now.least;
    *age = now;
    *reinterpret_cast<volatile u64*>(posted) = u64(now.order) << 32 | min(now.excess, u64(0xffffffffu));
}

/// A block of its own: others would wait for it at their end.
__device__ __forceinline__ void finish_outside(bool exact_size, u32* outside, Stats* stats, Age* age, u64* posted) {
    wait_for_previous();
    if (threadIdx.x != 0) return;
    const u32 now = *outside;
    stats->outside = now;
    *outside = 0;
    if (!exact_size) post_age(age, now, posted);
}

/// Bins [first, end), four per thread. With TARGETS every bin has a target density of its own, less
/// the background. A block adds up the excess of 1024 bins: where `first` is a multiple of that, parts
/// of a map add up to the bits of the whole. Maps and sums are those of one region.
template <bool TARGETS>
__device__ __forceinline__ void finish_bins(const Setup& setup, const real* __restrict__ fixed,
                                            const real* __restrict__ targets, const Sums& sums, u32 first, u32 end,
                                            real* __restrict__ rho, Stats* stats, u32 region) {
    real excess = 0, most = -setup.background;
    const bool vector = (REGIONS ? u32(setup.nx) * u32(setup.ny) : sums.bins) % 4 == 0;
    const u32 thread = blockIdx.x * blockDim.x + threadIdx.x, b = first + thread * 4;
    Four<Sum> movable = {}, filler = {};
    Four<real> base = {}, out;
    if (vector && b < end) base = *reinterpret_cast<const Four<real>*>(fixed + b);
    wait_for_previous();
    if (vector && b < end) {
        movable = *reinterpret_cast<const Four<Sum>*>(sums.values + b);
        filler = *reinterpret_cast<const Four<Sum>*>(sums.values + sums.bins + b);
    }
#pragma unroll
    for (u32 k = 0; k < 4; ++k) {
        if (b + k >= end) break;
        if (!vector) {
            base.v[k] = fixed[b + k];
            movable.v[k] = sums.values[b + k];
            filler.v[k] = sums.values[sums.bins + b + k];
        }
        const real area = base.v[k] + real(take_sum(sums, b + k, movable.v[k])) * setup.unscale;
        out.v[k] = area + real(take_sum(sums, sums.bins + b + k, filler.v[k])) * setup.unscale;
        excess += fmax(area - (TARGETS ? __ldg(targets + b + k) : setup.target), real(0));
        most = fmax(most, area);
        if (!vector) {
            rho[b + k] = out.v[k];
            sums.values[b + k] = sums.values[sums.bins + b + k] = 0;
        }
    }
    if (vector && b < end) {
        *reinterpret_cast<Four<real>*>(rho + b) = out;
        *reinterpret_cast<Four<Sum>*>(sums.values + b) = Four<Sum>{};
        *reinterpret_cast<Four<Sum>*>(sums.values + sums.bins + b) = Four<Sum>{};
    }
    if (!F64)
        for (u32 t = thread; t < tiles_of(setup); t += (gridDim.x - 1) * blockDim.x)
            sums.outside_weight[t] = 0;
    add_stats(setup, excess, most, stats, region);
}

/// All blocks of a map and one more; with PF_REGIONS so many for each region, whose target and background,
/// the former less the latter, are among `levels`.
template <bool TARGETS>
__device__ __forceinline__ void finish(const Setup& setup, const real* fixed, const real* targets, const Sums& sums,
                                       u32 first, u32 end, real* rho, u32* outside, Stats* stats, Age* age, u64* posted,
                                       const real* levels) {
    const u32 region = REGIONS ? blockIdx.y : 0;
    if (blockIdx.x == gridDim.x - 1) {
        if (region == 0) finish_outside(setup.exact_size != 0, outside, stats, age, posted);
        return;
    }
#if PF_REGIONS
    Setup own = setup;
    own.target = __ldg(levels + 2 * region);
    own.background = __ldg(levels + 2 * region + 1);
    const u32 bin = first_bin(setup, region);
    finish_bins<TARGETS>(own, fixed + bin, TARGETS ? targets + bin : targets, sums.in(setup, region), first, end,
                         rho + bin, stats, region);
#else
    finish_bins<TARGETS>(setup, fixed, targets, sums, first, end, rho, stats, region);
#endif
}

/// How far beyond the die, in bins, rounding alone may move an edge.
struct Rounding {
    double x, y;
};

/// Length of a body along one axis that lies on the die, bins. Rounding alone takes nothing off the die.
__device__ __forceinline__ double on_die(const Axis& axis, real position, real size, int bins, double rounding) {
    const Span span = span_of(axis, position, size, real(0));
    const double low = double(span.first) + double(span.start), high = low + double(size);
    if (low >= -rounding && high <= bins + rounding) return size;
    return fmax(fmin(high, double(bins)) - fmax(low, 0.0), 0.0);
}

/// Area off the die of a body, at its exact size, in fixed point like the overflow.
__device__ __forceinline__ u64 off_die(const Setup& setup, const Rounding& rounding, real2 corner, real w, real h) {
    const double across = on_die(setup.x, corner.x, w, setup.nx, rounding.x);
    const double up = on_die(setup.y, corner.y, h, setup.ny, rounding.y);
    return u64((double(w) * double(h) - across * up) * double(setup.excess_scale));
}

/// Adds to the sum of all bodies, and with PF_REGIONS to that of their region.
__device__ __forceinline__ void add_off_die(u64* sums, u32 region, u64 area) {
    if (!area) return;
    atomicAdd(sums, area);
    if (REGIONS) atomicAdd(sums + 1 + region, area);
}

#define PF_DENSITY_BODIES(SUFFIX, ORDER)                                                                               \
    PF_KERNEL(BLOCK, DEPOSIT_BLOCKS) density_##SUFFIX(const Setup setup, const Chunk* chunks, const Record* large,     \
                                                      const Record* records, const u32* id_of, const real2* corners,   \
                                                      real2* staged, Sum* values, u64* carry, u32* outside_weight,     \
                                                      u64* differences, u32* flags, u32* outside, Stats* stats,        \
                                                      const Regions regions) {                                         \
        const Sums sums = {values, carry, outside_weight, differences, flags, all_bins(setup)};                        \
        deposit_bodies<ORDER>(setup, chunks, large, records, id_of, corners, staged, sums, outside, stats, regions);   \
    }
PF_DENSITY_BODIES(slots, SLOTS)
PF_DENSITY_BODIES(pairs, PAIRS)
PF_DENSITY_BODIES(halves, HALVES)

PF_KERNEL(BLOCK) density_large(const Setup setup, Sum* values, u64* carry, u64* differences, u32* flags) {
    const u32 bin = REGIONS ? first_bin(setup, blockIdx.x / tiles_of(setup)) : 0;
    add_large(setup, {values + bin, carry + bin, nullptr, differences, flags, all_bins(setup)});
}

PF_KERNEL(BLOCK) density_off_die(const Setup setup, const Rounding rounding, const Chunk* chunks, const Record* large,
                                 const Record* records, const real2* corners, u64* sums, const Regions regions) {
    const u32 before = (u32(setup.large) + BLOCK - 1) / BLOCK;
    if (blockIdx.x < before) {
        const u32 k = blockIdx.x * BLOCK + threadIdx.x;
        if (k >= u32(setup.large) || !own_large(setup, k) || u32(large[k].id) >= u32(setup.movable_ids)) return;
        const u32 slot = setup.bodies + k;
        const u64 area = off_die(setup, rounding, corners[slot], large[k].w, large[k].h);
        add_off_die(sums, region_at(setup, regions, slot), area);
        return;
    }
    Chunk chunk = chunks[blockIdx.x - before];
    if (chunk.empty()) return;
    const u32 region = chunk.take_region();
    u64 area = 0;
    for_each_body<1, SLOTS, true>(
        setup, chunk.half, chunk.movable_begin, chunk.movable_end, records, nullptr, corners,
        [&](u32, const Body& body) { area += off_die(setup, rounding, body.corner, body.w, body.h); });
    add_off_die(sums, region, area);
}

#define PF_DENSITY_FINISH(NAME, TARGETS)                                                                               \
    PF_KERNEL(BLOCK, F64 ? 4 : REGIONS ? 6 : 8) NAME(const Setup setup, const real* fixed, const real* targets,        \
                                                     Sum* values, u64* carry, u32* outside_weight, u32 first,          \
                                                     u32 end, real* rho, u32* outside, Stats* stats, Age* age,         \
                                                     u64* posted, const real* levels) {                                \
        const Sums sums = {values, carry, outside_weight, nullptr, nullptr, all_bins(setup)};                          \
        finish<TARGETS>(setup, fixed, targets, sums, first, end, rho, outside, stats, age, posted, levels);            \
    }
PF_DENSITY_FINISH(density_finish, false)
PF_DENSITY_FINISH(density_finish_targets, true)
