// Sums over a warp, a block and the grid. Their order depends on the number of
// threads alone, so the same values give the same bits on every run.
#pragma once
#include "device/common.cuh"

constexpr u32 ALL_LANES = 0xffffffffu;

/// The sum over a warp's first COUNT lanes, in the first of them; COUNT is a power of
/// two, and those lanes alone come here.
template <u32 COUNT = 32, typename T> __device__ __forceinline__ T warp_sum(T value) {
#pragma unroll
    for (u32 lane = COUNT / 2; lane > 0; lane /= 2) value += __shfl_down_sync(ALL_LANES >> (32 - COUNT), value, lane);
    return value;
}

/// The sum over a warp of a block of THREADS threads, whose last warp may have fewer lanes, in the warp's first lane.
template <u32 THREADS, typename T> __device__ __forceinline__ T warp_sum_of(T value) {
    if constexpr (THREADS % 32 == 0) return warp_sum(value);
    const u32 left = THREADS - threadIdx.x / 32 * 32, lanes = left < 32 ? left : 32;
#pragma unroll
    for (u32 lane = 16; lane > 0; lane /= 2) {
        const T other = __shfl_down_sync(ALL_LANES >> (32 - lanes), value, lane);
        if (threadIdx.x % 32 + lane < lanes) value += other;
    }
    return value;
}

/// All lanes' values combined by a commutative `combine`, with the same bits in every lane.
template <typename T, typename F> __device__ __forceinline__ T warp_combine(T value, F combine) {
#pragma unroll
    for (u32 lane = 16; lane > 0; lane /= 2) value = combine(value, __shfl_xor_sync(ALL_LANES, value, lane));
    return value;
}
template <typename T> __device__ __forceinline__ T warp_total(T value) {
    return warp_combine(value, [](T a, T b) { return a + b; });
}
template <typename T> __device__ __forceinline__ T warp_min(T value) {
    return warp_combine(value, [](T a, T b) { return fmin(a, b); });
}
template <typename T> __device__ __forceinline__ T warp_max(T value) {
    return warp_combine(value, [](T a, T b) { return fmax(a, b); });
}

/// The sum of a lane's value and those of the lanes before it, in each WIDTH lanes.
template <u32 WIDTH = 32, typename T> __device__ __forceinline__ T warp_prefix(T value) {
#pragma unroll
    for (u32 d = 1; d < WIDTH; d *= 2) {
        const T before = __shfl_up_sync(ALL_LANES, value, d, WIDTH);
        if (threadIdx.x % WIDTH >= d) value += before;
    }
    return value;
}

/// The sum over a block of BLOCK threads, all of which must come here, in the first.
__device__ __forceinline__ double block_sum(double value) {
    __shared__ double warps[BLOCK / 32];
    const u32 thread = threadIdx.y * blockDim.x + threadIdx.x;
    value = warp_sum(value);
    __syncthreads();
    if (thread % 32 == 0) warps[thread / 32] = value;
    __syncthreads();
    value = thread < BLOCK / 32 ? warps[thread] : 0.0;
    return thread < 32 ? warp_sum(value) : value;
}

/// Whether this is the last of `blocks` blocks to come here; its threads can then read what every block had written.
/// `ticket` must be zero before the launch and is zero again after it.
__device__ __forceinline__ bool is_last_block(u32 thread, u32 blocks, u32* ticket) {
    __shared__ bool last;
    if (thread == 0) {
        __threadfence();
        last = atomicInc(ticket, blocks - 1) == blocks - 1;
    }
    __syncthreads();
    if (!last) return false;
    __threadfence();
    return true;
}

/// Adds `value` over all threads of the grid and writes `factor` times the sum to `out`. Blocks leave their sums in
/// `partial`, one a block, and the last one adds them. `ticket` is is_last_block's.
__device__ __forceinline__ void grid_sum(double value, double factor, double* partial, u32* ticket, double* out) {
    const u32 blocks = gridDim.x * gridDim.y * gridDim.z;
    const u32 block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    const u32 thread = threadIdx.y * blockDim.x + threadIdx.x;
    value = block_sum(value);
    if (thread == 0) partial[block] = value;
    if (!is_last_block(thread, blocks, ticket)) return;
    double sum = 0;
    for (u32 i = thread; i < blocks; i += BLOCK) sum += __ldcg(partial + i);
    sum = block_sum(sum);
    if (thread == 0) *out = factor * sum;
}

/// The block's sums of N values, which all threads of BLOCK bring: sum k goes to out[k * stride].
template <int N> __device__ __forceinline__ void block_sums(const double (&values)[N], double* out, u32 stride) {
#pragma unroll
    for (int k = 0; k < N; ++k) {
        const double sum = block_sum(values[k]);
        if (threadIdx.x == 0) out[k * stride] = sum;
    }
}

/// The sum of `count` numbers by a block of BLOCK threads, in the first.
__device__ __forceinline__ double sum_parts(const double* __restrict__ parts, u32 count) {
    double sum = 0;
#pragma unroll 4
    for (u32 k = threadIdx.x; k < count; k += BLOCK) sum += __ldcg(parts + k);
    return block_sum(sum);
}
