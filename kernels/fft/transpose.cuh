// Transposes of maps [rows][cols], in tiles through shared memory so that both sides are whole lines. Map blockIdx.z
// of several; blocks are TRANSPOSE_TILE × 8 threads, with a grid-stride loop over rows where those need more than 65535
// blocks. One read and one write an element.
#pragma once
#include "fft/keep.cuh"

/// out[j][i] = in[i][j].
template <typename Keep>
__device__ __forceinline__ void transpose_of(const real* __restrict__ in, real* __restrict__ out, u32 rows, u32 cols,
                                             Keep& keep) {
    __shared__ real tile[TRANSPOSE_TILE][TRANSPOSE_TILE + 1];
    const size_t map = size_t(rows) * cols;
    in += blockIdx.z * map;
    out += blockIdx.z * map;
    const u32 left = blockIdx.x * TRANSPOSE_TILE;
    for (u32 top = blockIdx.y * TRANSPOSE_TILE; top < rows; top += gridDim.y * TRANSPOSE_TILE) {
        u32 i = top + threadIdx.y, j = left + threadIdx.x;
#pragma unroll
        for (u32 k = 0; k < TRANSPOSE_TILE; k += BLOCK / TRANSPOSE_TILE)
            if (i + k < rows && j < cols) tile[threadIdx.y + k][threadIdx.x] = in[size_t(i + k) * cols + j];
        __syncthreads();
        i = top + threadIdx.x;
        j = left + threadIdx.y;
#pragma unroll
        for (u32 k = 0; k < TRANSPOSE_TILE; k += BLOCK / TRANSPOSE_TILE)
            if (i < rows && j + k < cols) out[size_t(j + k) * rows + i] = keep(tile[threadIdx.x][threadIdx.y + k]);
        __syncthreads();
    }
}

PF_KERNEL(BLOCK) transpose(const real* __restrict__ in, real* __restrict__ out, u32 rows, u32 cols) {
    KeepAll keep;
    transpose_of(in, out, rows, cols, keep);
}

/// transpose with zero for values smaller than epsilon; `kept` gets the number of coefficients that are not smaller.
PF_KERNEL(BLOCK) transpose_threshold(const real* __restrict__ in, real* __restrict__ out, u32 rows, u32 cols,
                                     real epsilon, u64* kept, Kept* parts) {
    KeepLarge keep = {epsilon, kept, parts};
    transpose_of(in, out, rows, cols, keep);
    keep.count();
}
