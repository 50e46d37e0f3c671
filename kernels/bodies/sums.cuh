// What the density adds up: integers, in patches of shared memory and for every bin.
//
// A patch holds movable cells' words, then fillers', PATCH rows of PATCH words:
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
#ifndef PLACEFIELD_SUMS_CUH
#define PLACEFIELD_SUMS_CUH

#include "bodies/bodies.cuh"

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

// Four neighbouring values.
template <typename W>
struct alignas(4 * sizeof(W) > 16 ? 16 : 4 * sizeof(W)) Four {
    W v[4];
};

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

#endif
