// The positions of a rank's share of the bodies (bodies/shares.cuh), to every other rank.
#include "bodies/shares.cuh"

/// Every rank's positions, a pair per body in the caller's order. Same layout as in src/cuda.
struct AllPositions {
    real2* of[MOST_RANKS];
};

/// Grid: the blocks of the rank's share.
PF_KERNEL(BLOCK) spread_positions(const Deal deal, const __grid_constant__ AllPositions all, u32 rank, u32 ranks) {
    const Dealt own = dealt(deal);
    for (u32 k = threadIdx.x; k < own.count; k += BLOCK) {
        const u32 i = own.body(k);
        const real2 at = all.of[rank][i];
        for (u32 other = 0; other < ranks; ++other)
            if (other != rank) all.of[other][i] = at;
    }
}
