// Which coefficients a DCT stores: all, or zero in place of those smaller than a
// threshold, with a count of the others (Jiang et al., "Image Compression").
#pragma once
#include "device/common.cuh"

struct KeepAll {
    __device__ __forceinline__ real operator()(real x, bool = true) const { return x; }
    __device__ __forceinline__ void count() const {}
};

/// Where the blocks of a launch add up what they kept: zero before the launch and after it.
struct Kept {
    u64 sum, blocks;
};

struct KeepLarge {
    real epsilon;
    u64* total;
    Kept* parts;
    u32 kept = 0;

    /// `counted`: whether this is the only place that it stands in.
    __device__ __forceinline__ real operator()(real x, bool counted = true) {
        const bool keep = !(fabs(x) < epsilon);
        kept += keep && counted;
        return keep ? x : real(0);
    }

    /// Adds up what the block's threads kept; the last block writes the total. Every
    /// thread of every block must come here. (An H200, compression of 512² in f64: 14.3 µs,
    /// 15.5 with the total zeroed beforehand by a launch of its own.)
    __device__ __forceinline__ void count() const {
        __shared__ u32 block;
        const u32 thread = threadIdx.y * blockDim.x + threadIdx.x;
        if (thread == 0) block = 0;
        __syncthreads();
        u32 own = kept;
#if __CUDA_ARCH__ >= 800
        // A warp's lanes, fewer in a block's last one.
        const u32 lanes = blockDim.x * blockDim.y - thread / 32 * 32;
        own = __reduce_add_sync(lanes < 32 ? (1u << lanes) - 1 : 0xffffffffu, own);
        if (thread % 32 != 0) own = 0;
#endif
        if (own) atomicAdd(&block, own);
        __syncthreads();
        if (thread != 0) return;
        if (block) atomicAdd(&parts->sum, u64(block));
        __threadfence();
        const u64 blocks = u64(gridDim.x) * gridDim.y * gridDim.z;
        if (atomicAdd(&parts->blocks, 1ull) != blocks - 1) return;
        __threadfence();
        *total = atomicExch(&parts->sum, 0ull);
        parts->blocks = 0;
    }
};
