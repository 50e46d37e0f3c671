// Force on every body: ratio · Σ over its bins of overlap area · (Ex, Ey), the direction
// that spreads (ePlace, eq. 20; DREAMPlace, section III-B).
//
//   force_slots    positions and forces in slot order
//   force_pairs    forces from slot order to the caller's, times a weight, written or added to
//                  what is there; x and y of a body side by side
//   force_halves   the same, x of all bodies before y of all
//   force_shares   with PF_SEVERAL: as force_slots, but each force goes to the rank that has the body in its share,
//                  in the caller's order
//   force_pairs_by_region, force_halves_by_region  with PF_REGIONS: the same, times a weight of the region
//
// force_pairs and force_halves also copy a step's energy where it is wanted.
//
// A body's sum always runs over its bins in the same order by one thread (a large body's
// by one block), so the same inputs give the same bits.
//
// Blocks have 256 threads. force_slots: one for every large body, then one for every chunk; shared memory holds the
// field of a patch (bodies.cuh), 15 KiB in f32 and 30 in f64. It reads a corner (2 values) and, but for fillers of one
// size, a record (4 values) per body and writes a force (2), and reads two maps, [nx][ny], y contiguous, once and their
// halos. force_pairs and force_halves: RETURN_EACH bodies a thread, of each 2 values and an index read and 2 values
// written, the reads at random.
#include "bodies/bodies.cuh"
#include "bodies/shares.cuh"
#include "device/dependent_launch.cuh"
#include "device/reduce.cuh"

// Chosen like DEPOSIT_AHEAD in density.cu, on the same machine at the same size: (2, 5) 60.9 µs, (1, 6) 60.1,
// (2, 6) 58.5, which spills on sm_80; (4, 4) was the slowest by a tenth.
constexpr int GATHER_AHEAD = F64 ? 1 : 2, GATHER_BLOCKS = F64 ? 4 : 5;

/// The field in bin (i, j), zero off the die.
__device__ __forceinline__ real2 field_at(const Setup& setup, u32 i, u32 j, const real* __restrict__ ex,
                                          const real* __restrict__ ey) {
    real2 e = make(0, 0);
    if (i < u32(setup.nx) && j < u32(setup.ny)) {
        e.x = __ldg(ex + (i * u32(setup.ny) + j));
        e.y = __ldg(ey + (i * u32(setup.ny) + j));
    }
    return e;
}

/// A body of more than 3 × 3 bins.
__device__ __forceinline__ real2 gather_any(const Setup& setup, const Span& sx, const Span& sy,
                                            const real* __restrict__ ex, const real* __restrict__ ey) {
    real2 force = make(0, 0);
    for_each_bin<1>(setup, sx, sy, 0, 1, 0, 1, [&](int, int, int i, int j, real wx, real wy) {
        const u32 at = u32(i) * u32(setup.ny) + u32(j);
        force.x = fma_rn(wx * wy, __ldg(ex + at), force.x);
        force.y = fma_rn(wx * wy, __ldg(ey + at), force.y);
    });
    return force;
}

/// One of at most 3 × 3, with the field of its bin (k, l) from `field`. Those outside
/// their halo are summed here too: by `gather_any` one made its warp wait.
template <typename F> __device__ __forceinline__ real2 gather_nine(const Span& sx, const real (&y)[3], const F& field) {
    real2 force = make(0, 0);
#pragma unroll
    for (int k = 0; k < 3; ++k) {
        const real wx = overlap(sx, k);
        const real2 e0 = field(k, 0), e1 = field(k, 1), e2 = field(k, 2);
        force.x = fma_rn(wx, fma_rn(y[2], e2.x, fma_rn(y[1], e1.x, y[0] * e0.x)), force.x);
        force.y = fma_rn(wx, fma_rn(y[2], e2.y, fma_rn(y[1], e1.y, y[0] * e0.y)), force.y);
    }
    return force;
}

__device__ __forceinline__ real2 gather(const Setup& setup, const Body& body, const Chunk& chunk, const real2* patch,
                                        const real* __restrict__ ex, const real* __restrict__ ey) {
    const Span sx = span_of(setup.x, body.corner.x, body.w, setup.stretch);
    const Span sy = span_of(setup.y, body.corner.y, body.h, setup.stretch);
    const int row = sx.first - chunk.left, column = sy.first - chunk.low;
    real2 force;
    if (fmax(sx.end, sy.end) <= real(3)) {
        const real y[3] = {overlap(sy, 0), overlap(sy, 1), overlap(sy, 2)};
        if (within(row, column)) {
            const real2* const e = patch + row * PATCH + column;
            force = gather_nine(sx, y, [&](int k, int l) { return e[k * PATCH + l]; });
        } else {
            force =
                gather_nine(sx, y, [&](int k, int l) { return field_at(setup, sx.first + k, sy.first + l, ex, ey); });
        }
    } else {
        force = gather_any(setup, sx, sy, ex, ey);
    }
    const real weight = body.ratio * setup.force_unit;
    force.x *= weight;
    force.y *= weight;
    return force;
}

/// Forces in slot order.
struct InSlots {
    real2* __restrict__ forces;

    __device__ __forceinline__ void put(u32 slot, u32, real2 force) const { forces[slot] = force; }
    __device__ __forceinline__ void put_large(u32 slot, u32, real2 force) const { forces[slot] = force; }
};

#if PF_SEVERAL
/// Forces of the ranks that have the bodies in their shares: a pair per body in the caller's order.
struct AllForces {
    real2* of[MOST_RANKS];
    Shares shares;
};

struct InShares {
    const AllForces& all;
    const u32* __restrict__ ids;  // two halves of so many
    u32 count;

    __device__ __forceinline__ void put(u32 slot, u32 half, real2 force) const {
        put_large(0, ids[half * count + slot], force);
    }
    __device__ __forceinline__ void put_large(u32, u32 id, real2 force) const {
        all.of[rank_of_body(all.shares, id)][id] = force;
    }
};
#endif

/// The bodies of slots [begin, end).
template <bool RECORD, typename Forces>
__device__ __forceinline__ void gather_slots(const Setup& setup, const Chunk& chunk, u32 begin, u32 end,
                                             const Record* __restrict__ records, const real2* __restrict__ corners,
                                             const real2* patch, const real* __restrict__ ex,
                                             const real* __restrict__ ey, const Forces& forces) {
    for_each_body<GATHER_AHEAD, SLOTS, RECORD>(
        setup, chunk.half, begin, end, records, nullptr, corners, [&](u32 slot, const Body& body) {
            forces.put(slot, chunk.half, gather(setup, body, chunk, patch, ex, ey));
        });
}

template <typename Forces>
__device__ __forceinline__ void gather_chunk(const Setup& setup, const Chunk& chunk, const Record* __restrict__ records,
                                             const real2* __restrict__ corners, const real* __restrict__ ex,
                                             const real* __restrict__ ey, const Forces& forces) {
    extern __shared__ double2 field_storage[];
    real2* const patch = reinterpret_cast<real2*>(field_storage);
    if (!F64 && setup.ny % 4 == 0) {
        // Four bins per thread and round.
#pragma unroll 2
        for (u32 w = threadIdx.x; w < PATCH_QUADS; w += blockDim.x) {
            const u32 row = w / PATCH_ROW;
            const int i = chunk.left + int(row), j = chunk.low + int(w - row * PATCH_ROW) * 4;
            float4 a = make_float4(0, 0, 0, 0), b = a;
            if (u32(i) < u32(setup.nx) && u32(j) < u32(setup.ny)) {
                const u32 at = u32(i) * u32(setup.ny) + u32(j);
                a = __ldg(reinterpret_cast<const float4*>(ex + at));
                b = __ldg(reinterpret_cast<const float4*>(ey + at));
            }
            float4* const to = reinterpret_cast<float4*>(field_storage) + 2 * w;
            to[0] = make_float4(a.x, b.x, a.y, b.y);
            to[1] = make_float4(a.z, b.z, a.w, b.w);
        }
    } else {
        // A warp brings a row of the patch at a time.
#pragma unroll 1
        for (u32 row = threadIdx.x / 32; row < PATCH; row += blockDim.x / 32) {
            const int i = chunk.left + int(row);
            const bool on_die = u32(i) < u32(setup.nx);
            const u32 start = u32(i) * u32(setup.ny) + u32(chunk.low);
#pragma unroll 2
            for (u32 c = threadIdx.x % 32; c < PATCH; c += 32) {
                real2 e = make(0, 0);
                if (on_die && u32(chunk.low + int(c)) < u32(setup.ny)) {
                    const u32 at = start + c;
                    e.x = __ldg(ex + at);
                    e.y = __ldg(ey + at);
                }
                patch[row * PATCH + c] = e;
            }
        }
    }
    __syncthreads();
    gather_slots<true>(setup, chunk, chunk.movable_begin, chunk.movable_end, records, corners, patch, ex, ey, forces);
    if (setup.records == setup.movable)
        gather_slots<false>(setup, chunk, chunk.filler_begin, chunk.filler_end, records, corners, patch, ex, ey,
                            forces);
    else
        gather_slots<true>(setup, chunk, chunk.filler_begin, chunk.filler_end, records, corners, patch, ex, ey, forces);
    let_next_start();  // not before: 0.2 million cells on 512² bins then took 1 µs more, and not 0.4 less (H200)
}

/// One block per large body; its warps take rows of bins in turn.
template <typename Forces>
__device__ __forceinline__ void gather_large(const Setup& setup, u32 k, const Record* __restrict__ large,
                                             const real2* __restrict__ corners, const real* __restrict__ ex,
                                             const real* __restrict__ ey, const Forces& forces,
                                             const Regions& regions) {
    __shared__ real warp_x[8], warp_y[8];
    const Record body = large[k];
    const u32 before = first_bin(setup, region_at(setup, regions, setup.bodies + k));
    const real2 at = corners[setup.bodies + k];
    const Span sx = span_of(setup.x, at.x, body.w, setup.stretch);
    const Span sy = span_of(setup.y, at.y, body.h, setup.stretch);
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    real sum_x = 0, sum_y = 0;
    for_each_bin<4>(setup, sx, sy, warp, warps, lane, 32, [&](int, int, int i, int j, real wx, real wy) {
        const u32 bin = before + u32(i) * u32(setup.ny) + u32(j);
        sum_x = fma_rn(wx * wy, __ldg(ex + bin), sum_x);
        sum_y = fma_rn(wx * wy, __ldg(ey + bin), sum_y);
    });
    sum_x = warp_total(sum_x);
    sum_y = warp_total(sum_y);
    if (lane == 0) {
        warp_x[warp] = sum_x;
        warp_y[warp] = sum_y;
    }
    __syncthreads();
    if (threadIdx.x != 0) return;
    real2 force = make(0, 0);
    for (int w = 0; w < warps; ++w) {
        force.x += warp_x[w];
        force.y += warp_y[w];
    }
    const real weight = weight_of(setup, body.ratio, body.w, body.h) * setup.force_unit;
    force.x *= weight;
    force.y *= weight;
    forces.put_large(setup.bodies + k, u32(body.id), force);
}

/// Factors of the forces of some regions, the one numbered `first` and those after it.
struct Weights {
    u32 first, count;
    real of[MOST_WEIGHTS];
};

/// `back` need not begin where a pair can in HALVES; null: forces are not wanted. Times `factor` too, where there is
/// one. BY_REGION: only bodies of the regions of `weights`, times theirs and not `weight`. The sum of the
/// `count_of_energies` numbers at `energies` goes to `energy`, unless that is null.
template <int ORDER, bool BY_REGION>
__device__ __forceinline__ void return_forces(const Setup& setup, const u32* __restrict__ slot_of, const real2* forces,
                                              real* __restrict__ back, real weight, const real* __restrict__ factor,
                                              bool add, const double* energies, u32 count_of_energies,
                                              real* energy, const Regions& regions, const Weights* weights) {
    const u32 count = u32(setup.bodies + setup.large);
    if (energy && blockIdx.x == 0 && threadIdx.x == 0) {
        wait_for_previous();
        double sum = 0;
        for (u32 k = 0; k < count_of_energies; ++k) sum += energies[k];
        *energy = real(sum);
    }
    if (!back || count == 0) return;
    const u32 first = blockIdx.x * blockDim.x * RETURN_EACH + threadIdx.x;
    real* const y = back + count;
    u32 slot[RETURN_EACH];
    real2 force[RETURN_EACH], before[RETURN_EACH];
#pragma unroll
    for (u32 k = 0; k < RETURN_EACH; ++k) {
        const u32 at = first + k * blockDim.x;
        slot[k] = at < count ? __ldcs(slot_of + at) : 0;
    }
    if (factor) weight *= __ldg(factor);
    if (add) {
#pragma unroll
        for (u32 k = 0; k < RETURN_EACH; ++k) {
            const u32 at = first + k * blockDim.x;
            if (at >= count) break;
            if (ORDER == PAIRS) before[k] = __ldcs(reinterpret_cast<const real2*>(back) + at);
            else before[k] = make(__ldcs(back + at), __ldcs(y + at));
        }
    }
    wait_for_previous();
#pragma unroll
    for (u32 k = 0; k < RETURN_EACH; ++k) force[k] = forces[slot[k]];
#pragma unroll
    for (u32 k = 0; k < RETURN_EACH; ++k) {
        const u32 at = first + k * blockDim.x;
        if (at >= count) break;
        if (BY_REGION) {
            const u32 own = region_at(setup, regions, slot[k]) - weights->first;
            if (own >= weights->count) continue;
            weight = weights->of[own];
            if (factor) weight *= __ldg(factor);
        }
        const real2 product = make(weight * force[k].x, weight * force[k].y);
        const real2 out =
            add ? make(fma_rn(weight, force[k].x, before[k].x), fma_rn(weight, force[k].y, before[k].y)) : product;
        if (ORDER == PAIRS) {
            __stcs(reinterpret_cast<real2*>(back) + at, out);
        } else {
            __stcs(back + at, out.x);
            __stcs(y + at, out.y);
        }
    }
}

/// Blocks: large bodies, then chunks.
template <typename Forces>
__device__ __forceinline__ void gather_bodies(const Setup& setup, const Chunk* chunks, const Record* large,
                                              const Record* records, const real2* corners, const real* ex,
                                              const real* ey, const Forces& forces, const Regions& regions) {
    wait_for_previous();
    if (blockIdx.x < u32(setup.large)) {
        if (own_large(setup, blockIdx.x)) gather_large(setup, blockIdx.x, large, corners, ex, ey, forces, regions);
        return;
    }
    Chunk chunk = chunks[blockIdx.x - setup.large];
    if (chunk.empty()) return;
    const u32 region = chunk.take_region(), bin = first_bin(setup, region);
    gather_chunk(setup_in(setup, regions, region), chunk, records, corners, ex + bin, ey + bin, forces);
}

PF_KERNEL(BLOCK, GATHER_BLOCKS) force_slots(const Setup setup, const Chunk* chunks, const Record* large,
                                            const Record* records, const real2* corners, const real* ex, const real* ey,
                                            real2* forces, const Regions regions) {
    gather_bodies(setup, chunks, large, records, corners, ex, ey, InSlots{forces}, regions);
}

#if PF_SEVERAL
PF_KERNEL(BLOCK, GATHER_BLOCKS) force_shares(const Setup setup, const Chunk* chunks, const Record* large,
                                             const Record* records, const real2* corners, const real* ex,
                                             const real* ey, const u32* ids, const __grid_constant__ AllForces all,
                                             const Regions regions) {
    const InShares forces = {all, ids, u32(setup.bodies + setup.large)};
    gather_bodies(setup, chunks, large, records, corners, ex, ey, forces, regions);
}
#endif

#define PF_FORCE_RETURN(SUFFIX, ORDER)                                                                                 \
    PF_KERNEL(BLOCK) force_##SUFFIX(const Setup setup, const u32* slot_of, const real2* forces, real* back,            \
                                    real weight, const real* factor, int add, const double* energies, u32 count,       \
                                    real* energy) {                                                                    \
        return_forces<ORDER, false>(setup, slot_of, forces, back, weight, factor, add != 0, energies, count, energy,   \
                                    {}, nullptr);                                                                      \
    }
PF_FORCE_RETURN(pairs, PAIRS)
PF_FORCE_RETURN(halves, HALVES)

#if PF_REGIONS
#define PF_FORCE_RETURN_BY_REGION(SUFFIX, ORDER)                                                                       \
    PF_KERNEL(BLOCK, 4) force_##SUFFIX##_by_region(const Setup setup, const u32* slot_of, const real2* forces,         \
                                                   real* back, const real* factor, int add, const Regions regions,     \
                                                   const __grid_constant__ Weights weights) {                          \
        return_forces<ORDER, true>(setup, slot_of, forces, back, 1, factor, add != 0, nullptr, 0, nullptr, regions,    \
                                   &weights);                                                                          \
    }
PF_FORCE_RETURN_BY_REGION(pairs, PAIRS)
PF_FORCE_RETURN_BY_REGION(halves, HALVES)
#endif
