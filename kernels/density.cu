// Density: the area every bin holds, and from it rho, overflow and maximum.
//
//   density_slots   overlaps of all bodies, into sums per bin; positions in slot order
//   density_caller  the same, positions in the caller's order
//   density_finish  rho = fixed + movable + fillers, overflow and maximum of
//                   fixed + movable; leaves the sums at zero for the next step
//
// A block's sums are integers: a contribution is rounded once to 1/scale of a
// bin, in the same way wherever it is added. Shared memory adds 32-bit integers
// natively and floating-point numbers by compare-and-swap, so this is the fast
// way; with integers in global memory too, the same positions give the same bits
// whatever order the device works in.
//
//   f32  one 32-bit word per bin in shared memory
//   f64  two 32-bit limbs of `limb_bits` bits
//
// A chunk holds fewer than 2^(32 - bits) bodies and none adds more than one bin
// area to a bin, so a word in shared memory cannot wrap around; the scale leaves
// room for all bodies' area in one 64-bit word.
#include "bodies.cuh"

// Bodies whose loads are in flight at once, and blocks per multiprocessor the
// registers must allow. Measured on an H200 (4.9 million bodies, 2048^2 bins,
// f32, whole density step): (2, 6) 79 us, (4, 4) 83, (1, 8) 82, (1, 6) 87, (2, 7) 87.
#ifndef DEPOSIT_AHEAD
#define DEPOSIT_AHEAD 2
#endif
#ifndef DEPOSIT_BLOCKS
#define DEPOSIT_BLOCKS 6
#endif

// Sums per bin in global memory: the movable cells' map, then the fillers'.
//   Rounded  f32: a floating-point number per bin. What a block adds to a bin is
//            one rounded number; the order of those few shows in the last bit.
//   Exact    f32 or f64: a 64-bit integer per bin. The same bits on every run.
struct Rounded {
    typedef float Word;
    enum { LIMBS = 1, QUADS = 1 };
    float* words;
    float unscale;

    __device__ __forceinline__ void add(u32 at, u32 value) const { atomicAdd(&words[at], float(value) * unscale); }
    // Four neighbouring bins; `at` is a multiple of four.
    __device__ __forceinline__ void add4(u32 at, uint4 value) const {
#if __CUDA_ARCH__ >= 900
        asm volatile("red.global.add.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(words + at), "f"(float(value.x) * unscale),
                     "f"(float(value.y) * unscale), "f"(float(value.z) * unscale), "f"(float(value.w) * unscale)
                     : "memory");
#else
        if (value.x) add(at, value.x);
        if (value.y) add(at + 1, value.y);
        if (value.z) add(at + 2, value.z);
        if (value.w) add(at + 3, value.w);
#endif
    }
};

template <typename T>
struct Exact {
    typedef u64 Word;
    enum { LIMBS = sizeof(T) / 4, QUADS = 0 };
    u64* words;
    T unscale;

    __device__ __forceinline__ void add(u32 at, u64 value) const { atomicAdd(&words[at], value); }
};

// What is used unless the same bits are asked for.
template <typename T>
struct Usual {
    typedef Exact<T> Sums;
};
template <>
struct Usual<float> {
    typedef Rounded Sums;
};

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

// Adds to a word of a patch; `stride` is the distance between limbs in bytes.
__device__ __forceinline__ void patch_add(u32 address, u32 stride, int limb_bits, u32 value) {
    shared_add(address, value);
}
__device__ __forceinline__ void patch_add(u32 address, u32 stride, int limb_bits, u64 value) {
    shared_add(address, u32(value) & ((1u << limb_bits) - 1));
    shared_add(address + stride, u32(value >> limb_bits));
}

__device__ __forceinline__ void add_quad(const Rounded& sums, u32 at, uint4 value) { sums.add4(at, value); }
template <typename S>
__device__ __forceinline__ void add_quad(const S&, u32, uint4) {}

// What a patch holds of one bin.
__device__ __forceinline__ u32 patch_read(const u32* word, u32 stride, int limb_bits, float) { return *word; }
__device__ __forceinline__ u64 patch_read(const u32* word, u32 stride, int limb_bits, double) {
    return u64(*word) + (u64(word[stride]) << limb_bits);
}

// A body that is not in the 3 x 3 bins of the fast path: bins in the patch go
// there, others to global memory. True when some did.
template <typename T, typename S>
__device__ __forceinline__ bool deposit_any(const Plan<T>& plan, const Span<T>& sx, const Span<T>& sy, T weight, u32 map,
                                         int row, int column, u32 patch, u32 stride, const S& sums) {
    const int rows = extent(sx), columns = extent(sy);
    bool strayed = false;
    for (int k = 0; k < rows; ++k) {
        const int i = sx.first + k;
        if (u32(i) >= u32(plan.nx)) continue;
        const T wx = overlap(sx, k) * weight;
        for (int l = 0; l < columns; ++l) {
            const int j = sy.first + l;
            if (u32(j) >= u32(plan.ny)) continue;
            const auto value = fixed_point(wx, overlap(sy, l));
            if (!value) continue;
            if (u32(row + k) < u32(plan.patch) && u32(column + l) < u32(plan.patch)) {
                patch_add(patch + ((row + k) * plan.patch + column + l) * 4, stride, plan.limb_bits, value);
            } else {
                sums.add(map + u32(i) * u32(plan.ny) + u32(j), value);
                strayed = true;
            }
        }
    }
    return strayed;
}

// One body. Its class's patch stands at address `patch` of shared memory. True
// when the body reached beyond it.
template <typename T, typename S, bool FILLER>
__device__ __forceinline__ bool deposit(const Plan<T>& plan, const Taken<T>& body, const Chunk& chunk, u32 patch,
                                        u32 stride, const S& sums) {
    const Span<T> sx = span_of(plan.x, body.x, body.w, plan.stretch);
    const Span<T> sy = span_of(plan.y, body.y, body.h, plan.stretch);
    const T weight = body.ratio * plan.scale;
    const int row = sx.first - chunk.left, column = sy.first - chunk.low;
    if (!within(plan, row, column, sx, sy)) {
        const u32 map = FILLER ? u32(plan.nx) * u32(plan.ny) : 0;
        return deposit_any(plan, sx, sy, weight, map, row, column, patch, stride, sums);
    }
    const T y0 = overlap(sy, 0), y1 = overlap(sy, 1), y2 = overlap(sy, 2);
    u32 address = patch + (row * plan.patch + column) * 4;
#pragma unroll
    for (int k = 0; k < 3; ++k, address += plan.patch * 4) {
        const T wx = overlap(sx, k) * weight;
        patch_add(address, stride, plan.limb_bits, fixed_point(wx, y0));
        patch_add(address + 4, stride, plan.limb_bits, fixed_point(wx, y1));
        patch_add(address + 8, stride, plan.limb_bits, fixed_point(wx, y2));
    }
    return false;
}

// The bodies of slots [begin, end). In the caller's order, positions also go to
// `staged`, in slot order, for the force.
template <typename T, typename S, int ORDER, bool FILLER, bool RECORD>
__device__ __forceinline__ u32 deposit_slots(const Plan<T>& plan, const Chunk& chunk, u32 begin, u32 end, u32 patch,
                                             u32 stride, const Record<T>* __restrict__ records,
                                             const u32* __restrict__ id_of, const T* __restrict__ x,
                                             const T* __restrict__ y, typename Bits<T>::Pair* __restrict__ staged,
                                             const S& sums) {
    // Several bodies' loads in flight before the first is used.
    enum { AHEAD = DEPOSIT_AHEAD };
    Taken<T> body[AHEAD];
    u32 strays = 0;
    for (u32 slot = begin + threadIdx.x; slot < end; slot += AHEAD * blockDim.x) {
#pragma unroll
        for (u32 k = 0; k < AHEAD; ++k) {
            const u32 at = slot + k * blockDim.x;
            if (k == 0 || at < end) body[k] = take<T, ORDER, RECORD>(plan, at, records, id_of, x, y, nullptr);
        }
#pragma unroll
        for (u32 k = 0; k < AHEAD; ++k) {
            const u32 at = slot + k * blockDim.x;
            if (k != 0 && at >= end) break;
            if (ORDER == CALLER) {
                typename Bits<T>::Pair pair;
                pair.x = body[k].x;
                pair.y = body[k].y;
                staged[at] = pair;
            }
            strays += deposit<T, S, FILLER>(plan, body[k], chunk, patch, stride, sums);
        }
    }
    return strays;
}

// One block per chunk.
template <typename T, typename S, int ORDER>
__device__ __forceinline__ void deposit_chunk(const Plan<T>& plan, const Chunk& chunk,
                                              const Record<T>* __restrict__ records, const u32* __restrict__ id_of,
                                              const T* __restrict__ x, const T* __restrict__ y,
                                              typename Bits<T>::Pair* __restrict__ staged, const S& sums,
                                              u32* strays) {
    extern __shared__ uint4 patch_storage[];
    u32* const patch = reinterpret_cast<u32*>(patch_storage);
    const u32 address = u32(__cvta_generic_to_shared(patch));
    const u32 side = u32(plan.patch), area = side * side, stride = 2 * area * 4;
    for (u32 w = threadIdx.x; w < area / 2 * S::LIMBS; w += blockDim.x) patch_storage[w] = make_uint4(0, 0, 0, 0);
    __syncthreads();
    u32 stray = deposit_slots<T, S, ORDER, false, true>(plan, chunk, chunk.movable_begin, chunk.movable_end, address,
                                                        stride, records, id_of, x, y, staged, sums);
    const u32 fillers = address + area * 4;
    if (!plan.own_size && plan.records == plan.movable)
        stray += deposit_slots<T, S, ORDER, true, false>(plan, chunk, chunk.filler_begin, chunk.filler_end, fillers,
                                                         stride, records, id_of, x, y, staged, sums);
    else if (!plan.own_size)
        stray += deposit_slots<T, S, ORDER, true, true>(plan, chunk, chunk.filler_begin, chunk.filler_end, fillers,
                                                        stride, records, id_of, x, y, staged, sums);
    if (stray) atomicAdd(strays, stray);
    __syncthreads();

    const u32 map = u32(plan.nx) * u32(plan.ny);
    if (S::QUADS && plan.aligned) {
        const u32 quads = side / 4;
        for (u32 w = threadIdx.x; w < 2 * side * quads; w += blockDim.x) {
            const uint4 value = patch_storage[w];
            if (!(value.x | value.y | value.z | value.w)) continue;
            const u32 row = w / quads, of = row >= side ? 1 : 0;
            const int i = chunk.left + int(row - of * side), j = chunk.low + int(w - row * quads) * 4;
            if (u32(i) < u32(plan.nx) && u32(j) < u32(plan.ny))
                add_quad(sums, of * map + u32(i) * u32(plan.ny) + u32(j), value);
        }
        return;
    }
    // A warp adds a row of the patch at a time.
#pragma unroll 1
    for (u32 row = threadIdx.x / 32; row < 2 * side; row += blockDim.x / 32) {
        const u32 of = row >= side ? 1 : 0;
        const int i = chunk.left + int(row - of * side);
        if (u32(i) >= u32(plan.nx)) continue;
        const u32 start = of * map + u32(i) * u32(plan.ny) + u32(chunk.low);
#pragma unroll 1
        for (u32 c = threadIdx.x % 32; c < side; c += 32) {
            const auto value = patch_read(patch + row * side + c, 2 * area, plan.limb_bits, T(0));
            if (value && u32(chunk.low + int(c)) < u32(plan.ny)) sums.add(start + c, value);
        }
    }
}

// One block per piece of a large body: a warp takes a row of bins at a time.
template <typename T, typename S, int ORDER>
__device__ __forceinline__ void deposit_piece(const Plan<T>& plan, const Piece& piece,
                                              const Record<T>* __restrict__ large, const T* __restrict__ x,
                                              const T* __restrict__ y,
                                              typename Bits<T>::Pair* __restrict__ staged, const S& sums) {
    const Record<T> body = large[piece.body];
    const typename Bits<T>::Pair at = large_at<T, ORDER>(plan, piece.body, u32(body.id), x, y, nullptr);
    if (ORDER == CALLER && piece.x == 0 && piece.y == 0 && threadIdx.x == 0)
        staged[plan.bodies + piece.body] = at;
    const Span<T> sx = span_of(plan.x, at.x, body.w, plan.stretch);
    const Span<T> sy = span_of(plan.y, at.y, body.h, plan.stretch);
    const T weight = weight_of(plan, body.ratio) * plan.scale;
    const bool filler = u32(body.id) >= u32(plan.movable_ids);
    if (filler && plan.own_size) return;
    const u32 map = filler ? u32(plan.nx) * u32(plan.ny) : 0;
    const int rows = min(int(piece.x) + PIECE, extent(sx)), columns = min(int(piece.y) + PIECE, extent(sy));
    for (int l = int(piece.y) + int(threadIdx.x % 32); l < columns; l += 32) {
        const int j = sy.first + l;
        if (u32(j) >= u32(plan.ny)) continue;
        const T wy = overlap(sy, l);
#pragma unroll 4
        for (int k = int(piece.x) + int(threadIdx.x / 32); k < rows; k += blockDim.x / 32) {
            const int i = sx.first + k;
            const auto value = fixed_point(overlap(sx, k) * weight, wy);
            if (u32(i) < u32(plan.nx) && value) sums.add(map + u32(i) * u32(plan.ny) + u32(j), value);
        }
    }
}

// What the host reads after a step. Same layout as `Stats` in src/cuda/density.rs.
struct Stats {
    u64 excess;     // sum over bins of max(0, fixed + movable - target): bin areas, fixed point
    double largest; // largest fixed + movable, bin areas
    u64 strays;     // bodies that had left their patch
};

template <typename T, typename S, int ORDER>
__device__ __forceinline__ void deposit_bodies(const Plan<T>& plan, const Chunk* __restrict__ chunks,
                                               const Piece* __restrict__ pieces, const Record<T>* __restrict__ large,
                                               const Record<T>* __restrict__ records, const u32* __restrict__ id_of,
                                               const T* __restrict__ x, const T* __restrict__ y,
                                               typename Bits<T>::Pair* __restrict__ staged, const S& sums, u32* strays,
                                               Stats* stats) {
    if (blockIdx.x == 0 && threadIdx.x == 0) {  // for density_finish
        stats->excess = 0;
        stats->largest = 0;
    }
    if (blockIdx.x < u32(plan.pieces)) {
        deposit_piece<T, S, ORDER>(plan, pieces[blockIdx.x], large, x, y, staged, sums);
        return;
    }
    const Chunk chunk = chunks[blockIdx.x - plan.pieces];
    if (chunk.movable_begin == chunk.movable_end && chunk.filler_begin == chunk.filler_end) return;
    deposit_chunk<T, S, ORDER>(plan, chunk, records, id_of, x, y, staged, sums, strays);
}

// What a bin's sum comes to, in bin areas.
__device__ __forceinline__ float area_of(const Rounded&, float word) { return word; }
template <typename T>
__device__ __forceinline__ T area_of(const Exact<T>& sums, u64 word) {
    return T(word) * sums.unscale;
}

// Four neighbouring values.
template <typename W>
struct alignas(4 * sizeof(W) > 16 ? 16 : 4 * sizeof(W)) Four {
    W v[4];
};

// Four bins per thread and round. Each block adds what it found to `stats` as
// integers, so the order of blocks does not show.
template <typename T, typename S>
__device__ __forceinline__ void finish_bins(const Plan<T>& plan, const T* __restrict__ fixed, const S& sums,
                                               T* __restrict__ rho, u32* strays, Stats* stats) {
    typedef typename S::Word Word;
    __shared__ double block_excess[8], block_largest[8];
    const u32 bins = u32(plan.nx) * u32(plan.ny);
    T excess = 0, most = 0;
    const bool vector = bins % 4 == 0;
    const u32 step = vector ? 4 : 1;
    for (u32 b = (blockIdx.x * blockDim.x + threadIdx.x) * step; b < bins; b += gridDim.x * blockDim.x * step) {
        Four<Word> m, f;
        Four<T> base, out;
        if (vector) {
            m = *reinterpret_cast<const Four<Word>*>(sums.words + b);
            f = *reinterpret_cast<const Four<Word>*>(sums.words + bins + b);
            base = *reinterpret_cast<const Four<T>*>(fixed + b);
        } else {
            m.v[0] = sums.words[b];
            f.v[0] = sums.words[bins + b];
            base.v[0] = fixed[b];
        }
#pragma unroll
        for (u32 k = 0; k < 4; ++k) {
            if (k >= step) break;
            const T held = base.v[k] + area_of(sums, m.v[k]);
            out.v[k] = held + area_of(sums, f.v[k]);
            excess += largest(held - plan.target, T(0));
            most = largest(most, held);
        }
        if (vector) {
            Four<Word> zero = {};
            *reinterpret_cast<Four<T>*>(rho + b) = out;
            *reinterpret_cast<Four<Word>*>(sums.words + b) = zero;
            *reinterpret_cast<Four<Word>*>(sums.words + bins + b) = zero;
        } else {
            rho[b] = out.v[0];
            sums.words[b] = 0;
            sums.words[bins + b] = 0;
        }
    }
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
    for (u32 k = 0; k < blockDim.x / 32; ++k) {
        e += block_excess[k];
        l = fmax(l, block_largest[k]);
    }
    // Numbers above zero compare as their bits do.
    atomicAdd(&stats->excess, u64(e * double(plan.excess_scale)));
    atomicMax(reinterpret_cast<u64*>(&stats->largest), u64(__double_as_longlong(l)));
    if (blockIdx.x == 0) {
        stats->strays = *strays;
        *strays = 0;
    }
}

#define PLACEFIELD_DENSITY_BODIES(T, NAME, ORDER, S, BLOCKS)                                                          \
    extern "C" __global__ void __launch_bounds__(256, BLOCKS)                                                         \
        NAME(const Plan<T> plan, const Chunk* chunks, const Piece* pieces, const Record<T>* large,                   \
             const Record<T>* records, const u32* id_of, const T* x, const T* y, Bits<T>::Pair* staged,               \
             S::Word* words, u32* strays, Stats* stats) {                                                             \
        const S sums = {words, plan.unscale};                                                                         \
        deposit_bodies<T, S, ORDER>(plan, chunks, pieces, large, records, id_of, x, y, staged, sums, strays, stats); \
    }

#define PLACEFIELD_DENSITY_FINISH(T, NAME, S)                                                                         \
    extern "C" __global__ void __launch_bounds__(256)                                                                 \
        NAME(const Plan<T> plan, const T* fixed, S::Word* words, T* rho, u32* strays, Stats* stats) {                 \
        const S sums = {words, plan.unscale};                                                                         \
        finish_bins<T, S>(plan, fixed, sums, rho, strays, stats);                                                     \
    }

#define PLACEFIELD_DENSITY(T, P, BLOCKS)                                                                              \
    PLACEFIELD_DENSITY_BODIES(T, density_slots##P, SLOTS, Usual<T>::Sums, BLOCKS)                                     \
    PLACEFIELD_DENSITY_BODIES(T, density_caller##P, CALLER, Usual<T>::Sums, BLOCKS)                                   \
    PLACEFIELD_DENSITY_FINISH(T, density_finish##P, Usual<T>::Sums)                                                   \
    PLACEFIELD_DENSITY_BODIES(T, density_slots_exact##P, SLOTS, Exact<T>, BLOCKS)                                     \
    PLACEFIELD_DENSITY_BODIES(T, density_caller_exact##P, CALLER, Exact<T>, BLOCKS)                                   \
    PLACEFIELD_DENSITY_FINISH(T, density_finish_exact##P, Exact<T>)

#ifdef PF_REAL
PLACEFIELD_DENSITY(PF_REAL, , (sizeof(PF_REAL) == 4 ? DEPOSIT_BLOCKS : 3))
#else
PLACEFIELD_DENSITY(float, _f32, DEPOSIT_BLOCKS)
PLACEFIELD_DENSITY(double, _f64, 3)
#endif
