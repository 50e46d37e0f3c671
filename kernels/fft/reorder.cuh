// The reordering before a forward transform and after an inverse one, on
// [rows][cols] maps with cols contiguous: out[slot(i)][slot(j)] = in[i][j] and
// back. With permute_rows = 0 the rows stay where they are (one axis at a time).
// blockIdx.z is the map; with depth > 1 every `depth` maps are a volume, and its
// maps are reordered as its rows are. One read and one write an element.
//
// Three ways to do it, chosen by the host: scatter (a thread reads one element
// where it stands), gather (a thread writes one element where it stands), and
// wide (a thread moves 32 bytes in and 32 bytes out, all in 16-byte accesses;
// needs cols divisible by twice LANES). Blocks of 256 threads cover a map, but
// for what is beyond 65535 blocks down: threads go on from there. The inverse
// kernels write volumes, or up to three maps at addresses of their own, and
// finish the sine transforms: bit z of alternate_x (alternate_y) negates the odd
// rows (columns) of map z.
#pragma once
#include "device/common.cuh"

struct Cell { unsigned i, j; };

__device__ __forceinline__ Cell cell() {
    return {blockIdx.y * blockDim.y + threadIdx.y, blockIdx.x * blockDim.x + threadIdx.x};
}

/// From a thread's row to its next one.
__device__ __forceinline__ unsigned down() { return gridDim.y * blockDim.y; }

__device__ __forceinline__ size_t at(unsigned i, unsigned j, unsigned cols) {
    return size_t(i) * cols + j;
}

/// Where map z of volumes of `depth` maps goes, and what stands at its place.
__device__ __forceinline__ unsigned map_slot(unsigned z, unsigned depth) {
    return depth > 1 ? z - z % depth + slot(z % depth, depth) : z;
}
__device__ __forceinline__ unsigned map_element(unsigned z, unsigned depth) {
    return depth > 1 ? z - z % depth + element(z % depth, depth) : z;
}

/// Kernels that take what `In` says it is, under names that end in SUFFIX. Other
/// types than real are converted as they are read.
#define PF_REORDER(SUFFIX, In)                                                                       \
    extern "C" __global__ void __launch_bounds__(BLOCK)                                              \
    reorder_scatter##SUFFIX(const In* __restrict__ in, real* __restrict__ out, unsigned rows,        \
                            unsigned cols, int permute_rows, unsigned depth) {                       \
        reorder_scatter_of(in, out, rows, cols, permute_rows, depth);                                \
    }                                                                                                \
    extern "C" __global__ void __launch_bounds__(BLOCK)                                              \
    reorder_gather##SUFFIX(const In* __restrict__ in, real* __restrict__ out, unsigned rows,         \
                           unsigned cols, int permute_rows, unsigned depth) {                        \
        reorder_gather_of(in, out, rows, cols, permute_rows, depth);                                 \
    }

template <typename In>
__device__ __forceinline__ void reorder_scatter_of(const In* __restrict__ in, real* __restrict__ out,
                                                   unsigned rows, unsigned cols, int permute_rows,
                                                   unsigned depth) {
    Cell c = cell();
    if (c.j >= cols) return;
    size_t map = size_t(rows) * cols;
    in += blockIdx.z * map;
    out += map_slot(blockIdx.z, depth) * map;
    for (; c.i < rows; c.i += down()) {
        unsigned i = permute_rows ? slot(c.i, rows) : c.i;
        out[at(i, slot(c.j, cols), cols)] = real(in[at(c.i, c.j, cols)]);
    }
}

template <typename In>
__device__ __forceinline__ void reorder_gather_of(const In* __restrict__ in, real* __restrict__ out,
                                                  unsigned rows, unsigned cols, int permute_rows,
                                                  unsigned depth) {
    Cell c = cell();
    if (c.j >= cols) return;
    size_t map = size_t(rows) * cols;
    in += map_element(blockIdx.z, depth) * map;
    out += blockIdx.z * map;
    for (; c.i < rows; c.i += down()) {
        unsigned i = permute_rows ? element(c.i, rows) : c.i;
        out[at(c.i, c.j, cols)] = real(in[at(i, element(c.j, cols), cols)]);
    }
}

PF_REORDER(, real)

extern "C" __global__ void __launch_bounds__(BLOCK)
reorder_wide(const real* __restrict__ in, real* __restrict__ out, unsigned rows, unsigned cols,
             int permute_rows, unsigned depth) {
    Cell c = cell();
    unsigned half = c.j * LANES;  // this thread's even elements go to half…, its odd ones to the mirror image
    if (2 * half >= cols) return;
    size_t map = size_t(rows) * cols;
    in += blockIdx.z * map;
    out += map_slot(blockIdx.z, depth) * map;
    for (; c.i < rows; c.i += down()) {
        unsigned i = permute_rows ? slot(c.i, rows) : c.i;
        const Pack* source = reinterpret_cast<const Pack*>(in + at(c.i, 2 * half, cols));
        Pack low = source[0], high = source[1], even, odd;
#pragma unroll
        for (unsigned k = 0; k < LANES; k++) {
            const Pack& from = 2 * k < LANES ? low : high;
            even.v[k] = from.v[2 * k % LANES];
            odd.v[LANES - 1 - k] = from.v[(2 * k + 1) % LANES];
        }
        *reinterpret_cast<Pack*>(out + at(i, half, cols)) = even;
        *reinterpret_cast<Pack*>(out + at(i, cols - LANES - half, cols)) = odd;
    }
}

/// Where maps go, and the signs of their odd rows and columns: three maps at
/// addresses of their own, or with `b` null a stack of any height at `a`.
struct Outlet {
    real* out;
    real odd_row, odd_col;

    __device__ __forceinline__ Outlet(real* a, real* b, real* c, unsigned place, size_t map,
                                      unsigned alternate_x, unsigned alternate_y) {
        out = !b ? a + place * map : place == 0 ? a : place == 1 ? b : c;
        unsigned bit = b ? place : 0;
        odd_row = alternate_x >> bit & 1 ? real(-1) : real(1);
        odd_col = alternate_y >> bit & 1 ? real(-1) : real(1);
    }
    __device__ __forceinline__ real row_sign(unsigned i) const { return i & 1 ? odd_row : real(1); }
    __device__ __forceinline__ real sign(unsigned i, unsigned j) const {
        return row_sign(i) * (j & 1 ? odd_col : real(1));
    }
};

extern "C" __global__ void __launch_bounds__(BLOCK)
restore_scatter(const real* __restrict__ in, real* out0, real* out1, real* out2, unsigned rows,
                unsigned cols, int permute_rows, unsigned depth, unsigned alternate_x,
                unsigned alternate_y) {
    Cell c = cell();
    if (c.j >= cols) return;
    size_t map = size_t(rows) * cols;
    Outlet to(out0, out1, out2, map_element(blockIdx.z, depth), map, alternate_x, alternate_y);
    in += blockIdx.z * map;
    unsigned j = element(c.j, cols);
    for (; c.i < rows; c.i += down()) {
        unsigned i = permute_rows ? element(c.i, rows) : c.i;
        to.out[at(i, j, cols)] = to.sign(i, j) * in[at(c.i, c.j, cols)];
    }
}

extern "C" __global__ void __launch_bounds__(BLOCK)
restore_gather(const real* __restrict__ in, real* out0, real* out1, real* out2, unsigned rows,
               unsigned cols, int permute_rows, unsigned depth, unsigned alternate_x,
               unsigned alternate_y) {
    Cell c = cell();
    if (c.j >= cols) return;
    size_t map = size_t(rows) * cols;
    Outlet to(out0, out1, out2, blockIdx.z, map, alternate_x, alternate_y);
    in += map_slot(blockIdx.z, depth) * map;
    unsigned j = slot(c.j, cols);
    for (; c.i < rows; c.i += down()) {
        unsigned i = permute_rows ? slot(c.i, rows) : c.i;
        to.out[at(c.i, c.j, cols)] = to.sign(c.i, c.j) * in[at(i, j, cols)];
    }
}

extern "C" __global__ void __launch_bounds__(BLOCK)
restore_wide(const real* __restrict__ in, real* out0, real* out1, real* out2, unsigned rows,
             unsigned cols, int permute_rows, unsigned depth, unsigned alternate_x,
             unsigned alternate_y) {
    Cell c = cell();
    unsigned half = c.j * LANES;
    if (2 * half >= cols) return;
    size_t map = size_t(rows) * cols;
    Outlet to(out0, out1, out2, blockIdx.z, map, alternate_x, alternate_y);
    in += map_slot(blockIdx.z, depth) * map;
    for (; c.i < rows; c.i += down()) {
        unsigned i = permute_rows ? slot(c.i, rows) : c.i;
        Pack even = *reinterpret_cast<const Pack*>(in + at(i, half, cols));
        Pack odd = *reinterpret_cast<const Pack*>(in + at(i, cols - LANES - half, cols));
        real sign = to.row_sign(c.i), odd_sign = sign * to.odd_col;
        Pack low, high;
#pragma unroll
        for (unsigned k = 0; k < LANES; k++) {
            Pack& into = 2 * k < LANES ? low : high;
            into.v[2 * k % LANES] = sign * even.v[k];
            into.v[(2 * k + 1) % LANES] = odd_sign * odd.v[LANES - 1 - k];
        }
        Pack* target = reinterpret_cast<Pack*>(to.out + at(c.i, 2 * half, cols));
        target[0] = low;
        target[1] = high;
    }
}
