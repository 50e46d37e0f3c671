// The density's sums, from every rank to those that own the bins.
//
// A rank adds its own bodies to sums of all bins in its own memory (bodies/density.cu). Of the bins another rank owns,
// few are not zero where ranks have bodies that stand together: those are added to the owner's sums, and set to zero
// here. Integers: in whatever order they arrive, the owner has the bits of one device. It has added its own before a
// barrier, and reads after the next one.
//
// f32: arriving sums go to the 64 bits in `carry` (bodies/sums.cuh), for the owner's 32 have no room for more than its
// own bodies.
#include "bodies/sums.cuh"

/// Where every rank has its sums, and which bins it owns. A kernel's argument by value.
struct AllSums {
    Sum* values[MOST_RANKS];
    u64* carry[MOST_RANKS];
    u32 first[MOST_RANKS + 1];  // the first bin of each, multiples of four, and the number of bins after the last
    u32 count, rank;            // ranks, and whose sums are sent
    u32 padding;
};

/// Adds this rank's sum of a bin to the owner's and sets it to zero.
__device__ __forceinline__ void send(const AllSums& all, u32 owner, u32 at, u32 value) {
    u64 whole = value & ~HAS_CARRY;
    u64* const carry = all.carry[all.rank] + at;
    if (value & HAS_CARRY) {
        whole += *carry;
        *carry = 0;
    }
    all.values[all.rank][at] = 0;
    atomicAdd_system(all.carry[owner] + at, whole);
    atomicOr_system(all.values[owner] + at, HAS_CARRY);
}
__device__ __forceinline__ void send(const AllSums& all, u32 owner, u32 at, u64 value) {
    all.values[all.rank][at] = 0;
    atomicAdd_system(all.values[owner] + at, value);
}

/// Sends the sums of all bins that other ranks own. Grid: as many threads as four bins of one class each, in turns.
PF_KERNEL(BLOCK) send_sums(const __grid_constant__ AllSums all) {
    const u32 bins = all.first[all.count], begin = all.first[all.rank], end = all.first[all.rank + 1];
    const u32 fours = (bins - (end - begin) + 3) / 4;
    const Sum* const values = all.values[all.rank];
    for (u32 four = blockIdx.x * BLOCK + threadIdx.x; four < 2 * fours; four += gridDim.x * BLOCK) {
        const u32 of = four >= fours ? bins : 0;
        u32 bin = (of ? four - fours : four) * 4;
        if (bin >= begin) bin += end - begin;
        Four<Sum> own = {};
        if (bins % 4 == 0) own = *reinterpret_cast<const Four<Sum>*>(values + of + bin);
        else
            for (u32 k = 0; k < 4; ++k) own.v[k] = bin + k < bins ? values[of + bin + k] : 0;
        if (!(own.v[0] | own.v[1] | own.v[2] | own.v[3])) continue;
        u32 owner = 0;
        for (u32 rank = 1; rank < all.count; ++rank) owner += bin >= all.first[rank];
        for (u32 k = 0; k < 4; ++k)
            if (own.v[k]) send(all, owner, of + bin + k, own.v[k]);
    }
}
