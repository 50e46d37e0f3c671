// Positions and maps as a caller has them, in PF_REAL: on the way to the maps of congestion.cu, and from them.
//
//   arrays_positions   a caller's positions to the doubles of the nodes that they are of; a thread per position
//   arrays_map         a map, or the sum of two, to a caller's memory; a thread per bin
#include "device/common.cuh"

PF_KERNEL(BLOCK) arrays_positions(double* __restrict__ to, const real* __restrict__ from, const u32* __restrict__ nodes,
                                  u32 count) {
    const u32 k = blockIdx.x * BLOCK + threadIdx.x;
    if (k < count) to[nodes[k]] = double(from[k]);
}

/// `two`: whether `b` is added.
PF_KERNEL(BLOCK) arrays_map(real* __restrict__ to, const double* __restrict__ a, const double* __restrict__ b, u32 two,
                            u32 count) {
    const u32 k = blockIdx.x * BLOCK + threadIdx.x;
    if (k < count) to[k] = real(two ? a[k] + b[k] : a[k]);
}
