// One instance of a kernel that transforms lines. The host chooses how lines are divided
// over threads and blocks (src/cuda/lines/shapes.rs) and compiles the instance with
//
//   PF_N               elements of a line
//   PF_E               of those, in a thread
//   PF_X1, PF_X2       radices of the middle stages (block_fft.cuh)
//   PF_C, PF_GROUPS    lines a group of threads transforms together, groups in a block
//   PF_SPLIT           whether exchanges go through shared memory in halves
//   PF_RECOMPUTE       whether what depends on the thread alone is computed again after the
//                      FFT, not kept in registers
//   PF_BLOCKS          blocks that a multiprocessor's registers must do for
//   PF_BYTES           shared memory of a block
//   PF_WHOLE           whether the last block has as many lines as all others
//   PF_SEPARATE, PF_STORED  what waits in shared memory, and for what (solve/columns.cu)
#pragma once
#include "lines/block_fft.cuh"
#include "peers/peers.cuh"

constexpr int N = PF_N, E = PF_E, C = PF_C, GROUPS = PF_GROUPS;
// The search for the ranks of a solve by slabs takes registers too.
constexpr bool RECOMPUTE = PF_RECOMPUTE || PF_PEERS > 0;
using Fft = BlockFft<N, E, PF_X1, PF_X2, C, GROUPS, PF_SPLIT>;
constexpr int ROOM = Fft::ROOM, T = Fft::T, THREADS = T * C * GROUPS;

/// The thread's place in its block.
__device__ __forceinline__ ThreadCoord coord_in(void* memory) {
    const u32 within = threadIdx.x % (T * C), group = threadIdx.x / (T * C);
    return {within / C, within % C, group, static_cast<char*>(memory) + group * Fft::BYTES};
}

/// Whether the next kernel may start at once: short lines leave multiprocessors room for
/// its blocks; long ones do not, and then its blocks would displace this kernel's.
constexpr bool EARLY = N <= 512;

/// Has t computed again where it is used next.
__device__ __forceinline__ u32 again(u32 t) {
    if (RECOMPUTE) asm volatile("" : "+r"(t));
    return t;
}
