// The positions of a rank's share of the bodies, to the ranks that work on them (bodies/shares.cuh).
#include "bodies/shares.cuh"

/// Grid: the blocks of the rank's share.
PF_KERNEL(BLOCK) spread_positions(const BodyBlocks blocks, const __grid_constant__ Positions all) {
    const BlockBodies own = bodies_of_block(blocks);
    for (u32 k = own.begin; k < own.count; k += own.stride) {
        const u32 i = own.body(k);
        all.send(i, all.of[all.rank][i], all.needed_by(i));
    }
}
