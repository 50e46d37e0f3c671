// The sums of the density: integers, in patches of shared memory and for every bin.
//
// A patch holds movable cells' sums, then fillers', PATCH rows of PATCH values:
//
//   f32  32 bits per bin
//   f64  two 32-bit limbs of `limb_bits` bits, all low ones before all high ones
//
// A chunk holds fewer than 2^(32 - bits) bodies and none adds more than one bin area to a bin, so a value of a patch
// cannot wrap around. Then the block adds the patch to sums in global memory, [nx][ny], movable cells' before fillers':
//
//   f32  32 bits per bin, two bins added at once. A chunk adds less to a bin than its `limit`,
//        2^27 over the number of the tile's chunks. A bin lies in the patches of four tiles at
//        most, so all chunks together add less than 2^29, large bodies less than that again.
//        Bodies outside their halo add together at most 2^30: those that begin in one of four
//        tiles reach a bin, and a tile admits 2^28. The highest bit marks that 64 bits in `carry`
//        hold sums beyond these bounds. They are slow, being seldom in L2: when all bodies
//        outside their halo were added there, 955 of them among 4.9 million made density_finish
//        take 38 µs instead of 27 (H200).
//   f64  64 bits per bin, in which the scale leaves room for all bodies.
#pragma once
#include "bodies/bodies.cuh"

/// Values of a patch per limb, and bytes between the limbs of a value.
constexpr int PATCH_VALUES = 2 * PATCH * PATCH, LIMB_STRIDE = PATCH_VALUES * 4;

/// Sums in global memory: movable cells', then fillers'. All zero between steps.
template <typename Value> struct SumsOf {
    Value* values;
    u64* carry;            // f32: what values with HAS_CARRY are short of
    u32* outside_weight;  // f32, per tile: weight of bodies outside their halo that begin there, 1/64 of a bin
    u64* large;           // differences of large bodies; bins of tile t from t * TILE² on
    u32* flags;           // per tile, one bit per class: differences are not zero
    u32 bins;  // of a class's maps

    /// The sums of one region, to be indexed by its own bins and tiles.
    __device__ __forceinline__ SumsOf in(const Setup& setup, u32 region) const {
        if (!REGIONS) return *this;
        const u32 bin = first_bin(setup, region), tile = region * tiles_of(setup);
        return {values + bin, carry + bin, outside_weight + tile, large + u64(tile) * (TILE * TILE),
                flags + tile, bins};
    }
};
template <typename T> struct SumOf {
    using type = u32;
};
template <> struct SumOf<double> {
    using type = u64;
};
using Sum = SumOf<real>::type;
using Sums = SumsOf<Sum>;
constexpr u32 HAS_CARRY = 0x80000000u;

/// Four neighbouring values.
template <typename V> struct alignas(4 * sizeof(V) > 16 ? 16 : 4 * sizeof(V)) Four {
    V v[4];
};

/// Adds what may not fit into 32 bits.
__device__ __forceinline__ void add_any(const SumsOf<u32>& sums, u32 at, u64 value) {
    atomicAdd(sums.carry + at, value);
    atomicOr(sums.values + at, HAS_CARRY);
}
__device__ __forceinline__ void add_any(const SumsOf<u64>& sums, u32 at, u64 value) {
    atomicAdd(sums.values + at, value);
}

/// Whether a body outside its halo, of at most 3 × 3 bins from (i, j) on, to each of which
/// it adds at most `weight` bins, may add to the sums themselves. 64 bits hold all there
/// can be. The tile's count cannot wrap around: a body adds 65 at most.
__device__ __forceinline__ bool has_room(const Setup& setup, const SumsOf<u32>& sums, int i, int j, float weight) {
    if (setup.bodies >= 1 << 25) return false;
    const u32 share = u32(weight * 64.0f) + 1, room = u32(17179869184.0f * setup.unscale);
    return atomicAdd(sums.outside_weight + tile_at(setup, i, j), share) + share <= room;
}
__device__ __forceinline__ bool has_room(const Setup&, const SumsOf<u64>&, int, int, double) { return true; }

/// Nearest integer to scaled_x * y. Adding 2^23 (2^52) leaves it in the low bits of the
/// significand: a conversion instruction runs at a quarter of the rate.
__device__ __forceinline__ u32 fixed_point(float scaled_x, float y) {
    return __float_as_uint(fma_rn(scaled_x, y, 8388608.0f)) - 0x4b000000u;
}
__device__ __forceinline__ u64 fixed_point(double scaled_x, double y) {
    return u64(__double_as_longlong(fma_rn(scaled_x, y, 4503599627370496.0))) - 0x4330000000000000ull;
}

/// Adds to 32 bits of shared memory, given their address there. Zeros too: skipping them
/// takes a branch, which costs more than the addition.
__device__ __forceinline__ void shared_add(u32 address, u32 value) {
    asm volatile("red.shared.add.u32 [%0], %1;" ::"r"(address), "r"(value) : "memory");
}

/// Adds to a value of a patch.
__device__ __forceinline__ void patch_add(u32 address, int limb_bits, u32 value) { shared_add(address, value); }
__device__ __forceinline__ void patch_add(u32 address, int limb_bits, u64 value) {
    shared_add(address, u32(value) & ((1u << limb_bits) - 1));
    shared_add(address + LIMB_STRIDE, u32(value >> limb_bits));
}
