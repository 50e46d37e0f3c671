// Tiles of a map through shared memory, so that both sides of a transpose are whole lines.
#pragma once
#include "device/common.cuh"

constexpr u32 TRANSPOSE_TILE = 32;

/// Calls put(i, j, get(i, j)) for the elements of an [rows][cols] map in the tile from
/// (top, left) on, in a block of TRANSPOSE_TILE × 8 threads: get with neighbouring columns by
/// neighbouring threads, put with neighbouring rows. A block must synchronise before its next
/// tile.
template <typename Get, typename Put>
__device__ __forceinline__ void transpose_tile(u32 top, u32 left, u32 rows, u32 cols, Get get, Put put) {
    __shared__ real tile[TRANSPOSE_TILE][TRANSPOSE_TILE + 1];
    u32 i = top + threadIdx.y, j = left + threadIdx.x;
#pragma unroll
    for (u32 k = 0; k < TRANSPOSE_TILE; k += BLOCK / TRANSPOSE_TILE)
        if (i + k < rows && j < cols) tile[threadIdx.y + k][threadIdx.x] = get(i + k, j);
    __syncthreads();
    i = top + threadIdx.x;
    j = left + threadIdx.y;
#pragma unroll
    for (u32 k = 0; k < TRANSPOSE_TILE; k += BLOCK / TRANSPOSE_TILE)
        if (i < rows && j + k < cols) put(i, j + k, tile[threadIdx.x][threadIdx.y + k]);
}
