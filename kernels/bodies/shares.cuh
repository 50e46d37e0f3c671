// How bodies are dealt out to blocks that sum over them, and these to ranks (src/cuda/bodies/deal.rs).
//
// A block takes as many movable cells as every other one, neighbours in the caller's order, and as many
// fillers. How many blocks there are depends on the number of bodies alone: a block's sums, added
// in the order of blocks, have the same bits however many devices the blocks run on. A rank has the bodies of
// blocks that follow one another: its share.
#pragma once
#include "device/common.cuh"

/// Most ranks: MOST_RANKS in src/cuda/bodies/deal.rs.
constexpr u32 MOST_RANKS = 16;

/// The first movable cell and filler of every rank's share. Same layout as in src/cuda.
struct Shares {
    u32 first_cell[MOST_RANKS], first_filler[MOST_RANKS];
    u32 cells, ranks;
};
static_assert(sizeof(Shares) == (2 * MOST_RANKS + 2) * sizeof(u32), "as in src/cuda");

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

/// How bodies are dealt out to blocks. Same layout as `Deal` in src/cuda.
struct Deal {
    u32 cells, bodies;
    u32 cells_each, fillers_each;
    u32 first;   // the first block that runs here
    u32 blocks;  // of all ranks
};
static_assert(sizeof(Deal) == 6 * sizeof(u32), "as in src/cuda");

/// The bodies of one block.
struct Dealt {
    u32 cell, cells, filler, count;

    /// Number k of them, of `count`.
    __device__ __forceinline__ u32 body(u32 k) const { return k < cells ? cell + k : filler + (k - cells); }
};

__device__ __forceinline__ Dealt dealt(const Deal& deal) {
    const u32 block = deal.first + blockIdx.x;
    const u32 cell = min(block * deal.cells_each, deal.cells), cells = min(deal.cells_each, deal.cells - cell);
    const u32 filler = deal.cells + min(block * deal.fillers_each, deal.bodies - deal.cells);
    return {cell, cells, filler, cells + min(deal.fillers_each, deal.bodies - filler)};
}
