// How ranks wait for each other, and how it is tested that they reach each other's memory.
//
// A rank has signals in its own device memory: its generation (the number of its barriers), whom it waited for in vain,
// and for every rank the generation that this rank has announced. All count up for ever and are compared by their
// difference, so nothing is ever reset while others may look at it. A rank that is one barrier ahead cannot overwrite a
// value another still waits for: that one waits for any generation as high as its own.
//
// PTX memory model: st.release.sys orders what the rank's stream wrote before it, also to other devices' memory, before
// the announcement; ld.acquire.sys orders it before what the waiting rank's stream does next.
#include "device/common.cuh"

/// Where a rank's signals stand, in units of SIGNAL_WORDS.
enum Signal : u32 { GENERATION, MISSING, ANNOUNCED };

/// Every rank's signals.
struct Signals {
    u32* of[MOST_RANKS];
};

/// Whether counter `a` is as far as `b`, whichever has wrapped around.
__host__ __device__ constexpr bool reached(u32 a, u32 b) { return int(a - b) >= 0; }
static_assert(reached(5, 5) && reached(6, 5) && !reached(4, 5), "in order");
static_assert(reached(2, 0xfffffffeu) && !reached(0xfffffffeu, 2), "around the end");

__device__ __forceinline__ void announce(u32* at, u32 value) {
    asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(at), "r"(value) : "memory");
}
__device__ __forceinline__ u32 look(const u32* at) {
    u32 value;
    asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(at) : "memory");
    return value;
}
__device__ __forceinline__ u64 nanoseconds() {
    u64 time;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
    return time;
}

/// Announces this rank to `count` ranks, and waits for all of them, at most `limit` nanoseconds: then the signal
/// MISSING gets 1 + the rank that did not come, and from there on no rank is waited for. Grid: one block of a warp, a
/// thread for each rank.
PF_KERNEL(32) meet(const __grid_constant__ Signals signals, u32 rank, u32 count, u64 limit) {
    u32* const own = signals.of[rank];
    const u32 generation = own[GENERATION * SIGNAL_WORDS] + 1, peer = threadIdx.x;
    const bool waits = own[MISSING * SIGNAL_WORDS] == 0;
    __syncwarp();
    if (peer == 0) own[GENERATION * SIGNAL_WORDS] = generation;
    if (peer >= count) return;
    __threadfence_system();
    announce(signals.of[peer] + (ANNOUNCED + rank) * SIGNAL_WORDS, generation);
    if (!waits) return;
    const u32* const theirs = own + (ANNOUNCED + peer) * SIGNAL_WORDS;
    const u64 start = nanoseconds();
    while (!reached(look(theirs), generation)) {
        if (nanoseconds() - start < limit) continue;
        atomicCAS(own + MISSING * SIGNAL_WORDS, 0u, 1 + peer);
        return;
    }
}

/// A number that depends on its place and on the rank that wrote it.
__device__ __forceinline__ u32 pattern(u32 i, u32 seed) { return (i + 1) * 2654435761u ^ (seed * 0x9e3779b9u + 1); }

/// Writes `count` numbers to another rank's memory. Grid: a thread for each.
PF_KERNEL(BLOCK) write_pattern(u32* to, u32 count, u32 seed) {
    const u32 i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < count) to[i] = pattern(i, seed);
}

/// Counts those that are not what write_pattern wrote. Grid: a thread for each.
PF_KERNEL(BLOCK) check_pattern(const u32* from, u32 count, u32 seed, u32* wrong) {
    const u32 i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < count && *static_cast<const volatile u32*>(from + i) != pattern(i, seed)) atomicAdd(wrong, 1u);
}
