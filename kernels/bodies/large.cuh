// Large bodies' share of the density's sums.
//
// Large bodies add differences along both axes to an array of their own, [class][tile]
// [TILE][TILE] in 64 bits: at most 25 values per tile, however many bins are covered.
#pragma once
#include "bodies/sums.cuh"
#include "device/reduce.cuh"

/// A large body, by one warp. Its contribution to the bins is a product of steps along x and y, each with at most five
/// places where it changes: its first bin, the second, the third (whole bins from there), the last and the end. In each
/// tile it touches, the differences at those places are added, with those before the tile moved to its edge; sums along
/// both axes then yield, exactly, the same rounded contribution in every bin.
template <int ORDER>
__device__ __forceinline__ void deposit_large(const Setup& setup, u32 k, const Record* __restrict__ large,
                                              const real2* __restrict__ corners, real2* __restrict__ staged,
                                              const Sums& all_sums, const Regions& regions) {
    const Sums sums = all_sums.in(setup, region_at(setup, regions, setup.bodies + k));
    const int lane = threadIdx.x % 32, p = lane / 5, q = lane % 5;
    const Record body = large[k];
    const real2 at = corner_at<ORDER>(setup, corners, ORDER != SLOTS ? u32(body.id) : setup.bodies + k);
    if (ORDER != SLOTS && lane == 0) staged[setup.bodies + k] = at;
    const bool filler = u32(body.id) >= u32(setup.movable_ids);
    if (filler && setup.exact_size) return;
    const Span sx = span_of(setup.x, at.x, body.w, setup.stretch);
    const Span sy = span_of(setup.y, at.y, body.h, setup.stretch);
    const real weight = weight_of(setup, body.ratio, body.w, body.h) * setup.scale;
    const int rows = extent(sx), columns = extent(sy);
    const auto place = [](int p, int end) { return p < 3 ? min(p, end) : p == 3 ? max(min(2, end), end - 1) : end; };
    const auto value = [&](int p, int q) {
        if (p < 0 || p > 3 || q < 0 || q > 3) return u64(0);
        return u64(fixed_point(overlap(sx, p < 3 ? p : rows - 1) * weight, overlap(sy, q < 3 ? q : columns - 1)));
    };
    const u64 step = value(p, q) - value(p - 1, q) - value(p, q - 1) + value(p - 1, q - 1);
    const int row = sx.first + place(p, rows), column = sy.first + place(q, columns);
    const u32 of = filler ? 1 : 0;
    u64* const differences = sums.large + u64(of * all_tiles(setup)) * (TILE * TILE);
    const int end_x = min(sx.first + rows, setup.nx), end_y = min(sy.first + columns, setup.ny);
    for (int i = max(sx.first, 0) & -TILE; i < end_x; i += TILE)
        for (int j = max(sy.first, 0) & -TILE; j < end_y; j += TILE) {
            const u32 tile = u32(i >> TILE_SHIFT) * setup.tiles_y + u32(j >> TILE_SHIFT);
            const int r = max(row - i, 0), c = max(column - j, 0);
            if (p < 5 && r < TILE && c < TILE && step)
                atomicAdd(differences + tile * (TILE * TILE) + r * TILE + c, step);
            if (lane == 0) atomicOr(sums.flags + tile, 1u << of);
        }
}

/// Sums along y and then x over a tile, of which every thread of BLOCK has four bins.
__device__ __forceinline__ void sum_tile(Four<u64>& own) {
    __shared__ u64 tile[TILE][TILE + 1];
    const u32 row = threadIdx.x / 8, column = threadIdx.x % 8 * 4, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (u32 k = 1; k < 4; ++k) own.v[k] += own.v[k - 1];
    const u64 before = warp_prefix<8>(own.v[3]) - own.v[3];
    for (u32 k = 0; k < 4; ++k) tile[row][column + k] = own.v[k] + before;
    __syncthreads();
    for (u32 k = 0; k < 4; ++k)  // a row per lane, four columns per warp
        tile[lane][4 * warp + k] = warp_prefix(tile[lane][4 * warp + k]);
    __syncthreads();
    for (u32 k = 0; k < 4; ++k) own.v[k] = tile[row][column + k];
    __syncthreads();
}

/// Adds to a sum that no other thread adds to.
__device__ __forceinline__ void add_exclusive(const SumsOf<u32>& sums, u32 at, u64 value) {
    if (value < HAS_CARRY / 4) {  // within what the other sums leave of 32 bits
        sums.values[at] += u32(value);
    } else {
        sums.carry[at] += value;
        sums.values[at] |= HAS_CARRY;
    }
}
__device__ __forceinline__ void add_exclusive(const SumsOf<u64>& sums, u32 at, u64 value) { sums.values[at] += value; }

/// Adds up the differences of tile blockIdx.x's large bodies, and sets them to zero. `sums` are those of
/// the tile's region, but for the differences and flags.
__device__ __forceinline__ void add_large(const Setup& setup, const Sums& sums) {
    static_assert(TILE * TILE == 4 * BLOCK, "four bins per thread");
    const u32 flags = sums.flags[blockIdx.x];
    if (!flags) return;
    const u32 tile = REGIONS ? blockIdx.x % tiles_of(setup) : blockIdx.x;
    const u32 i = tile / setup.tiles_y * TILE + threadIdx.x / 8;
    const u32 j = tile % setup.tiles_y * TILE + threadIdx.x % 8 * 4;
    for (u32 of = 0; of < 2; ++of) {
        if (!(flags >> of & 1)) continue;
        Four<u64>* const at =
            reinterpret_cast<Four<u64>*>(sums.large) + (of * gridDim.x + blockIdx.x) * (TILE * TILE / 4) + threadIdx.x;
        Four<u64> own = *at;
        *at = Four<u64>{};
        sum_tile(own);
#pragma unroll
        for (u32 k = 0; k < 4; ++k)
            if (own.v[k] && i < u32(setup.nx) && j + k < u32(setup.ny))
                add_exclusive(sums, of * sums.bins + i * u32(setup.ny) + j + k, own.v[k]);
    }
    __syncthreads();
    if (threadIdx.x == 0) sums.flags[blockIdx.x] = 0;
}
