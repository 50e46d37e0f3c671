// How bodies are divided among blocks that sum over them, and these among ranks (src/cuda/bodies/shares.rs).
//
// A group of blocks takes as many movable cells as every other one, neighbours in the caller's order, and as many
// fillers; its blocks take these in turn, 256 at a time. How many groups and blocks there are depends on the number of
// bodies alone: a block's sums, added in the order of blocks, have the same bits however many devices the blocks run
// on. A rank has the bodies of groups that follow one another: its share. It moves them, and gets the forces on them.
// The rank that works on a body's density and force, where the body stands, may be another one (order.cu): its worker.
//
// Kernels of several ranks are compiled with PF_SEVERAL, so that those of one device have no code for ranks.
#pragma once
#include "device/common.cuh"

#ifndef PF_SEVERAL
#define PF_SEVERAL 0
#endif
constexpr bool SEVERAL = PF_SEVERAL;

/// The first movable cell and filler of every rank's share.
struct Shares {
    u32 first_cell[MOST_RANKS], first_filler[MOST_RANKS];
    u32 cells, ranks;
};

/// The rank that has a movable cell in its share.
__device__ __forceinline__ u32 rank_of_cell(const Shares& shares, u32 cell) {
    u32 rank = 0;
    for (u32 k = 1; k < shares.ranks; ++k) rank += cell >= shares.first_cell[k];
    return rank;
}

/// The rank that has a body in its share.
__device__ __forceinline__ u32 rank_of_body(const Shares& shares, u32 body) {
    if (body < shares.cells) return rank_of_cell(shares, body);
    u32 rank = 0;
    for (u32 k = 1; k < shares.ranks; ++k) rank += body >= shares.first_filler[k];
    return rank;
}

/// How bodies are divided among blocks, and which of these run here.
struct BodyBlocks {
    u32 cells, bodies;
    u32 cells_each, fillers_each;  // of a group
    u32 group;                     // blocks of a group
    u32 first;                     // the first block that runs here
    u32 blocks;                    // of all ranks
};

/// The bodies of one block: numbers `begin`, begin + stride … of the `count` of its group, for the first thread.
struct BlockBodies {
    u32 cell, cells, filler, count, begin, stride;

    /// Number k of the group.
    __device__ __forceinline__ u32 body(u32 k) const { return k < cells ? cell + k : filler + (k - cells); }
};

__device__ __forceinline__ BlockBodies bodies_of_block(const BodyBlocks& of) {
    const u32 block = of.first + blockIdx.x, group = block / of.group;
    const u32 cell = min(group * of.cells_each, of.cells), cells = min(of.cells_each, of.cells - cell);
    const u32 filler = of.cells + min(group * of.fillers_each, of.bodies - of.cells);
    const u32 count = cells + min(of.fillers_each, of.bodies - filler);
    return {cell, cells, filler, count, block % of.group * BLOCK + threadIdx.x, of.group * BLOCK};
}

/// Every rank's positions, a pair per body in the caller's order, and the ranks that need those of this one's share.
struct Positions {
    real2* of[MOST_RANKS];
    const u8* worker;  // the rank that works on each body; null on one device
    const u16* nets;   // of every movable cell, a bit for each rank that has a net of it; null where no rank has any
    u32 cells;
    u32 rank, ranks;  // whose share it is
    u32 padding;

    /// A bit for each rank that needs a body's position. Not used on one device.
    __device__ __forceinline__ u32 needed_by(u32 i) const {
        if (ranks == 1) return 0;
        const u32 of_nets = nets && i < cells ? __ldg(nets + i) : 0;
        return of_nets | 1u << __ldg(worker + i);
    }
    /// To the other ranks that need it.
    __device__ __forceinline__ void send(u32 i, real2 at, u32 needed) const {
        for (u32 other = 0; other < ranks; ++other)
            if (other != rank && needed >> other & 1) of[other][i] = at;
    }
    /// To those and to this rank itself.
    __device__ __forceinline__ void put(u32 i, real2 at, u32 needed) const {
        of[rank][i] = at;
        send(i, at, needed);
    }
};
