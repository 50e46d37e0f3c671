// Force on every body: ratio * sum over its bins of overlap area * (Ex, Ey),
// the direction that spreads (ePlace, eq. 20; DREAMPlace, section III-B).
//
//   force_slots   positions and forces in slot order
//   force_return  forces from slot order to the caller's
//
// A body's sum always runs over its bins in the same order by one thread (a
// large body's by one block), so the same inputs give the same bits.
#include "bodies/bodies.cuh"
#include "device/dependent_launch.cuh"

// As in density.cu. Same machine and size: (2, 5) 60.9 us, (1, 6) 60.1, (2, 6) 58.5, which
// spills on sm_80; (4, 4) was the slowest by a tenth.
#ifndef GATHER_AHEAD
#define GATHER_AHEAD (sizeof(T) == 4 ? 2 : 1)
#endif
#ifndef GATHER_BLOCKS
#define GATHER_BLOCKS 5
#endif

// The field in bin (i, j), zero off the die.
template <typename T>
__device__ __forceinline__ typename Bits<T>::Pair field_at(const Plan<T>& plan, u32 i, u32 j,
                                                           const T* __restrict__ ex, const T* __restrict__ ey) {
    typename Bits<T>::Pair e;
    e.x = 0;
    e.y = 0;
    if (i < u32(plan.nx) && j < u32(plan.ny)) {
        e.x = __ldg(ex + (i * u32(plan.ny) + j));
        e.y = __ldg(ey + (i * u32(plan.ny) + j));
    }
    return e;
}

// A body of more than 3 x 3 bins.
template <typename T>
__device__ __forceinline__ typename Bits<T>::Pair gather_any(const Plan<T>& plan, const Span<T>& sx, const Span<T>& sy,
                                                          const T* __restrict__ ex, const T* __restrict__ ey) {
    typename Bits<T>::Pair force;
    force.x = 0;
    force.y = 0;
    walk<1>(plan, sx, sy, 0, 1, 0, 1, [&](int, int, int i, int j, T wx, T wy) {
        const u32 at = u32(i) * u32(plan.ny) + u32(j);
        force.x = multiply_add(wx * wy, __ldg(ex + at), force.x);
        force.y = multiply_add(wx * wy, __ldg(ey + at), force.y);
    });
    return force;
}

// One of at most 3 x 3, with the field of its bin (k, l) from `field`. Those that
// have left the patch go this way too: by `gather_any` one held up its warp.
template <typename T, typename Field>
__device__ __forceinline__ typename Bits<T>::Pair gather_nine(const Span<T>& sx, const T (&y)[3], const Field& field) {
    typename Bits<T>::Pair force;
    force.x = 0;
    force.y = 0;
#pragma unroll
    for (int k = 0; k < 3; ++k) {
        const T wx = overlap(sx, k);
        const typename Bits<T>::Pair e0 = field(k, 0), e1 = field(k, 1), e2 = field(k, 2);
        force.x = multiply_add(wx, multiply_add(y[2], e2.x, multiply_add(y[1], e1.x, y[0] * e0.x)), force.x);
        force.y = multiply_add(wx, multiply_add(y[2], e2.y, multiply_add(y[1], e1.y, y[0] * e0.y)), force.y);
    }
    return force;
}

template <typename T>
__device__ __forceinline__ typename Bits<T>::Pair gather(const Plan<T>& plan, const Taken<T>& body, const Chunk& chunk,
                                                         const typename Bits<T>::Pair* patch,
                                                         const T* __restrict__ ex, const T* __restrict__ ey) {
    typedef typename Bits<T>::Pair Pair;
    const Span<T> sx = span_of(plan.x, body.corner.x, body.w, plan.stretch);
    const Span<T> sy = span_of(plan.y, body.corner.y, body.h, plan.stretch);
    const int row = sx.first - chunk.left, column = sy.first - chunk.low;
    Pair force;
    if (largest(sx.end, sy.end) <= T(3)) {
        const T y[3] = {overlap(sy, 0), overlap(sy, 1), overlap(sy, 2)};
        if (within(row, column)) {
            const Pair* const e = patch + row * PATCH + column;
            force = gather_nine(sx, y, [&](int k, int l) { return e[k * PATCH + l]; });
        } else {
            force = gather_nine(sx, y, [&](int k, int l) { return field_at(plan, sx.first + k, sy.first + l, ex, ey); });
        }
    } else {
        force = gather_any(plan, sx, sy, ex, ey);
    }
    const T weight = body.ratio * plan.force_unit;
    force.x *= weight;
    force.y *= weight;
    return force;
}

// The bodies of slots [begin, end).
template <typename T, bool RECORD>
__device__ __forceinline__ void gather_slots(const Plan<T>& plan, const Chunk& chunk, u32 begin, u32 end,
                                            const Record<T>* __restrict__ records,
                                            const typename Bits<T>::Pair* __restrict__ corners,
                                            const typename Bits<T>::Pair* patch, const T* __restrict__ ex,
                                            const T* __restrict__ ey,
                                            typename Bits<T>::Pair* __restrict__ forces) {
    enum { AHEAD = GATHER_AHEAD };
    Taken<T> body[AHEAD];
    for (u32 slot = begin + threadIdx.x; slot < end; slot += AHEAD * blockDim.x) {
#pragma unroll
        for (u32 k = 0; k < AHEAD; ++k) {
            const u32 at = slot + k * blockDim.x;
            if (k == 0 || at < end) body[k] = take<T, SLOTS, RECORD>(plan, at, chunk.half, records, nullptr, corners);
        }
#pragma unroll
        for (u32 k = 0; k < AHEAD; ++k) {
            const u32 at = slot + k * blockDim.x;
            if (k != 0 && at >= end) break;
            forces[at] = gather(plan, body[k], chunk, patch, ex, ey);
        }
    }
}

template <typename T>
__device__ __forceinline__ void gather_chunk(const Plan<T>& plan, const Chunk& chunk,
                                            const Record<T>* __restrict__ records,
                                            const typename Bits<T>::Pair* __restrict__ corners,
                                            const T* __restrict__ ex, const T* __restrict__ ey,
                                            typename Bits<T>::Pair* __restrict__ forces) {
    typedef typename Bits<T>::Pair Pair;
    extern __shared__ double2 field_storage[];
    Pair* const patch = reinterpret_cast<Pair*>(field_storage);
    if (sizeof(T) == 4 && plan.ny % 4 == 0) {
        // Four bins per thread and round.
#pragma unroll 2
        for (u32 w = threadIdx.x; w < PATCH_QUADS; w += blockDim.x) {
            const u32 row = w / PATCH_ROW;
            const int i = chunk.left + int(row), j = chunk.low + int(w - row * PATCH_ROW) * 4;
            float4 a = make_float4(0, 0, 0, 0), b = a;
            if (u32(i) < u32(plan.nx) && u32(j) < u32(plan.ny)) {
                const u32 at = u32(i) * u32(plan.ny) + u32(j);
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
            const bool on_die = u32(i) < u32(plan.nx);
            const u32 start = u32(i) * u32(plan.ny) + u32(chunk.low);
#pragma unroll 2
            for (u32 c = threadIdx.x % 32; c < PATCH; c += 32) {
                Pair e;
                e.x = 0;
                e.y = 0;
                if (on_die && u32(chunk.low + int(c)) < u32(plan.ny)) {
                    const u32 at = start + c;
                    e.x = __ldg(ex + at);
                    e.y = __ldg(ey + at);
                }
                patch[row * PATCH + c] = e;
            }
        }
    }
    __syncthreads();
    gather_slots<T, true>(plan, chunk, chunk.movable_begin, chunk.movable_end, records, corners, patch, ex, ey, forces);
    if (plan.records == plan.movable)
        gather_slots<T, false>(plan, chunk, chunk.filler_begin, chunk.filler_end, records, corners, patch, ex, ey, forces);
    else
        gather_slots<T, true>(plan, chunk, chunk.filler_begin, chunk.filler_end, records, corners, patch, ex, ey, forces);
    let_next_start();  // not before: A of the log then took 1 us more, and not 0.4 less
}

// One block per large body; its warps take rows of bins in turn.
template <typename T>
__device__ __forceinline__ void gather_large(const Plan<T>& plan, u32 k, const Record<T>* __restrict__ large,
                                            const typename Bits<T>::Pair* __restrict__ corners,
                                            const T* __restrict__ ex, const T* __restrict__ ey,
                                            typename Bits<T>::Pair* __restrict__ forces) {
    __shared__ T warp_x[8], warp_y[8];
    const Record<T> body = large[k];
    const typename Bits<T>::Pair at = corners[plan.bodies + k];
    const Span<T> sx = span_of(plan.x, at.x, body.w, plan.stretch);
    const Span<T> sy = span_of(plan.y, at.y, body.h, plan.stretch);
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    T sum_x = 0, sum_y = 0;
    walk<4>(plan, sx, sy, warp, warps, lane, 32, [&](int, int, int i, int j, T wx, T wy) {
        const u32 bin = u32(i) * u32(plan.ny) + u32(j);
        sum_x = multiply_add(wx * wy, __ldg(ex + bin), sum_x);
        sum_y = multiply_add(wx * wy, __ldg(ey + bin), sum_y);
    });
    for (int d = 16; d; d >>= 1) {
        sum_x += __shfl_xor_sync(0xffffffffu, sum_x, d);
        sum_y += __shfl_xor_sync(0xffffffffu, sum_y, d);
    }
    if (lane == 0) {
        warp_x[warp] = sum_x;
        warp_y[warp] = sum_y;
    }
    __syncthreads();
    if (threadIdx.x != 0) return;
    typename Bits<T>::Pair force;
    force.x = 0;
    force.y = 0;
    for (int w = 0; w < warps; ++w) {
        force.x += warp_x[w];
        force.y += warp_y[w];
    }
    const T weight = weight_of(plan, body.ratio) * plan.force_unit;
    force.x *= weight;
    force.y *= weight;
    forces[plan.bodies + k] = force;
}

// Bodies per thread of force_return, whose accesses at random are in flight at once.
#define RETURN_EACH 4

template <typename Pair>
__device__ __forceinline__ void return_forces(u32 count, const u32* __restrict__ slot_of,
                                              const Pair* forces, Pair* __restrict__ back) {
    const u32 first = blockIdx.x * blockDim.x * RETURN_EACH + threadIdx.x;
    u32 slot[RETURN_EACH];
    Pair force[RETURN_EACH];
#pragma unroll
    for (u32 k = 0; k < RETURN_EACH; ++k) {
        const u32 at = first + k * blockDim.x;
        slot[k] = at < count ? __ldcs(slot_of + at) : 0;
    }
    wait_for_previous();
#pragma unroll
    for (u32 k = 0; k < RETURN_EACH; ++k) force[k] = forces[slot[k]];
#pragma unroll
    for (u32 k = 0; k < RETURN_EACH; ++k) {
        const u32 at = first + k * blockDim.x;
        if (at < count) __stcs(back + at, force[k]);
    }
}

#define PLACEFIELD_FORCE(T, P, BLOCKS)                                                                                \
    extern "C" __global__ void __launch_bounds__(256, BLOCKS)                                                         \
        force_slots##P(const Plan<T> plan, const Chunk* chunks, const Record<T>* large, const Record<T>* records,     \
                       const Bits<T>::Pair* corners, const T* ex, const T* ey, Bits<T>::Pair* forces) {               \
        if (blockIdx.x < u32(plan.large)) {                                                                           \
            gather_large<T>(plan, blockIdx.x, large, corners, ex, ey, forces);                                        \
            return;                                                                                                   \
        }                                                                                                             \
        const Chunk chunk = chunks[blockIdx.x - plan.large];                                                          \
        if (chunk.movable_begin == chunk.movable_end && chunk.filler_begin == chunk.filler_end) return;               \
        gather_chunk<T>(plan, chunk, records, corners, ex, ey, forces);                                               \
    }                                                                                                                 \
    extern "C" __global__ void __launch_bounds__(256)                                                                 \
        force_return##P(const Plan<T> plan, const u32* slot_of, const Bits<T>::Pair* forces, Bits<T>::Pair* back) {   \
        return_forces(u32(plan.bodies + plan.large), slot_of, forces, back);                                          \
    }

#ifdef PF_REAL
PLACEFIELD_FORCE(PF_REAL, , (sizeof(PF_REAL) == 4 ? GATHER_BLOCKS : 4))
#else
PLACEFIELD_FORCE(float, _f32, GATHER_BLOCKS)
PLACEFIELD_FORCE(double, _f64, 4)
#endif
