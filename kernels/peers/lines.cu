// Lines of bytes from one place to another, of the rank's own memory or of another's: what goes from rank to
// rank between passes of the paper's pipelines by slabs (src/cuda/peers/blocks.rs).
#include "device/common.cuh"

/// Same layout as in src/cuda/peers/blocks.rs. All of it is a multiple of `unit`: 4, 8 or 16 bytes.
struct Lines {
    u64 from, to;              // addresses of the first line
    u64 from_pitch, to_pitch;  // bytes from one line to the next
    u64 bytes, count;          // of a line, and lines
    u64 unit;
};

/// Units that a lane has under way at once, and those of a warp: PER_WARP in src/cuda/peers/blocks.rs.
constexpr u32 PER_LANE = 8;
constexpr u32 PER_WARP = 256;
static_assert(PER_WARP == 32 * PER_LANE, "a warp's lanes");

/// Warps take pieces of PER_WARP units in turn. Those begin where whole lines of the cache do in what is
/// written, but for the first of a line.
template <typename Unit> __device__ __forceinline__ void copy(const Lines& of) {
    const u32 lane = threadIdx.x % 32, warps = gridDim.x * (BLOCK / 32);
    const u32 units = of.bytes / sizeof(Unit), pieces = (units + 31 + PER_WARP - 1) / PER_WARP;
    for (u64 k = blockIdx.x * (BLOCK / 32) + threadIdx.x / 32; k < of.count * pieces; k += warps) {
        const u64 line = k / pieces;
        const Unit* from = reinterpret_cast<const Unit*>(of.from + line * of.from_pitch);
        Unit* to = reinterpret_cast<Unit*>(of.to + line * of.to_pitch);
        const u32 before = reinterpret_cast<u64>(to) / sizeof(Unit) % 32;
        const int first = int(k % pieces * PER_WARP + lane) - int(before);
        Unit piece[PER_LANE];
#pragma unroll
        for (int i = 0; i < int(PER_LANE); ++i)
            if (first + 32 * i >= 0 && first + 32 * i < int(units)) piece[i] = from[first + 32 * i];
#pragma unroll
        for (int i = 0; i < int(PER_LANE); ++i)
            if (first + 32 * i >= 0 && first + 32 * i < int(units)) to[first + 32 * i] = piece[i];
    }
}

/// Grid: any number of blocks across; down one for each of `all`.
PF_KERNEL(BLOCK) copy_lines(const Lines* __restrict__ all) {
    const Lines of = all[blockIdx.y];
    if (of.unit == 16) copy<uint4>(of);
    else if (of.unit == 8) copy<uint2>(of);
    else copy<u32>(of);
}
