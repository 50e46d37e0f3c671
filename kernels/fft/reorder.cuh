// The reordering before a forward transform and after an inverse one, on
// [rows][cols] maps with cols contiguous: out[reordered(i)][reordered(j)] = in[i][j] and
// back. With permute_rows = 0 the rows stay where they are (one axis at a time).
// blockIdx.z is the map; with depth > 1 every `depth` maps are a volume, and its
// maps are reordered as its rows are. One read and one write an element.
//
// Three ways to do it, chosen by the host: scatter (a thread reads one element
// where it stands), gather (a thread writes one element where it stands), and
// wide (a thread moves 32 bytes in and 32 bytes out, all in 16-byte accesses;
// needs cols divisible by twice LANES). Blocks of 256 threads cover a map, with
// a grid-stride loop over rows where those need more than 65535 blocks; no shared
// memory. The inverse kernels write volumes, or up to three separate maps, and
// finish the sine transforms: bit z of alternate_x (alternate_y) negates the odd
// rows (columns) of map z.
#pragma once
#include "fft/inputs.cuh"

/// Where element n of a line goes before an N-point transform: even indices ascending, then
/// odd indices descending (Makhoul 1980).
__device__ __forceinline__ u32 reordered(u32 n, u32 length) { return n & 1 ? length - 1 - n / 2 : n / 2; }

/// The element that stands at place p: the inverse of reordered().
__device__ __forceinline__ u32 natural(u32 p, u32 length) { return 2 * p < length ? 2 * p : 2 * (length - p) - 1; }

/// Row and column of a map.
struct Index {
    u32 i, j;
};

/// The first that a thread works on.
__device__ __forceinline__ Index first_index() {
    return {blockIdx.y * blockDim.y + threadIdx.y, blockIdx.x * blockDim.x + threadIdx.x};
}

/// From a thread's row to its next one: rows go by a grid-stride loop.
__device__ __forceinline__ u32 row_stride() { return gridDim.y * blockDim.y; }

__device__ __forceinline__ size_t at(u32 i, u32 j, u32 cols) { return size_t(i) * cols + j; }

/// Where map z of volumes of `depth` maps goes, and which map comes to its place.
__device__ __forceinline__ u32 map_reordered(u32 z, u32 depth) {
    return depth > 1 ? z - z % depth + reordered(z % depth, depth) : z;
}
__device__ __forceinline__ u32 map_natural(u32 z, u32 depth) {
    return depth > 1 ? z - z % depth + natural(z % depth, depth) : z;
}

PF_KERNEL(BLOCK) reorder_scatter(const Input* __restrict__ in, real* __restrict__ out, u32 rows, u32 cols,
                                 int permute_rows, u32 depth) {
    Index c = first_index();
    if (c.j >= cols) return;
    size_t map = size_t(rows) * cols;
    in += blockIdx.z * map;
    out += map_reordered(blockIdx.z, depth) * map;
    for (; c.i < rows; c.i += row_stride()) {
        u32 i = permute_rows ? reordered(c.i, rows) : c.i;
        out[at(i, reordered(c.j, cols), cols)] = real(in[at(c.i, c.j, cols)]);
    }
}

PF_KERNEL(BLOCK) reorder_gather(const Input* __restrict__ in, real* __restrict__ out, u32 rows, u32 cols,
                                int permute_rows, u32 depth) {
    Index c = first_index();
    if (c.j >= cols) return;
    size_t map = size_t(rows) * cols;
    in += map_natural(blockIdx.z, depth) * map;
    out += blockIdx.z * map;
    for (; c.i < rows; c.i += row_stride()) {
        u32 i = permute_rows ? natural(c.i, rows) : c.i;
        out[at(c.i, c.j, cols)] = real(in[at(i, natural(c.j, cols), cols)]);
    }
}

/// Of real numbers alone.
PF_KERNEL(BLOCK) reorder_wide(const real* __restrict__ in, real* __restrict__ out, u32 rows, u32 cols, int permute_rows,
                              u32 depth) {
    Index c = first_index();
    u32 half = c.j * LANES;  // this thread's even elements go to half…, its odd ones to the mirror image
    if (2 * half >= cols) return;
    size_t map = size_t(rows) * cols;
    in += blockIdx.z * map;
    out += map_reordered(blockIdx.z, depth) * map;
    for (; c.i < rows; c.i += row_stride()) {
        u32 i = permute_rows ? reordered(c.i, rows) : c.i;
        const Pack* source = reinterpret_cast<const Pack*>(in + at(c.i, 2 * half, cols));
        Pack low = source[0], high = source[1], even, odd;
#pragma unroll
        for (u32 k = 0; k < LANES; ++k) {
            const Pack& from = 2 * k < LANES ? low : high;
            even.v[k] = from.v[2 * k % LANES];
            odd.v[LANES - 1 - k] = from.v[(2 * k + 1) % LANES];
        }
        *reinterpret_cast<Pack*>(out + at(i, half, cols)) = even;
        *reinterpret_cast<Pack*>(out + at(i, cols - LANES - half, cols)) = odd;
    }
}

/// Where maps go, and the signs of their odd rows and columns: three
/// separate maps, or with `b` null a stack of any height at `a`.
struct Destination {
    real* out;
    real odd_row, odd_col;

    __device__ __forceinline__ Destination(real* a, real* b, real* c, u32 place, size_t map, u32 alternate_x,
                                           u32 alternate_y) {
        out = !b ? a + place * map : place == 0 ? a : place == 1 ? b : c;
        u32 bit = b ? place : 0;
        odd_row = alternate_x >> bit & 1 ? real(-1) : real(1);
        odd_col = alternate_y >> bit & 1 ? real(-1) : real(1);
    }
    __device__ __forceinline__ real row_sign(u32 i) const { return i & 1 ? odd_row : real(1); }
    __device__ __forceinline__ real sign(u32 i, u32 j) const { return row_sign(i) * (j & 1 ? odd_col : real(1)); }
};

PF_KERNEL(BLOCK) restore_scatter(const real* __restrict__ in, real* out0, real* out1, real* out2, u32 rows, u32 cols,
                                 int permute_rows, u32 depth, u32 alternate_x, u32 alternate_y) {
    Index c = first_index();
    if (c.j >= cols) return;
    size_t map = size_t(rows) * cols;
    Destination to(out0, out1, out2, map_natural(blockIdx.z, depth), map, alternate_x, alternate_y);
    in += blockIdx.z * map;
    u32 j = natural(c.j, cols);
    for (; c.i < rows; c.i += row_stride()) {
        u32 i = permute_rows ? natural(c.i, rows) : c.i;
        to.out[at(i, j, cols)] = to.sign(i, j) * in[at(c.i, c.j, cols)];
    }
}

PF_KERNEL(BLOCK) restore_gather(const real* __restrict__ in, real* out0, real* out1, real* out2, u32 rows, u32 cols,
                                int permute_rows, u32 depth, u32 alternate_x, u32 alternate_y) {
    Index c = first_index();
    if (c.j >= cols) return;
    size_t map = size_t(rows) * cols;
    Destination to(out0, out1, out2, blockIdx.z, map, alternate_x, alternate_y);
    in += map_reordered(blockIdx.z, depth) * map;
    u32 j = reordered(c.j, cols);
    for (; c.i < rows; c.i += row_stride()) {
        u32 i = permute_rows ? reordered(c.i, rows) : c.i;
        to.out[at(c.i, c.j, cols)] = to.sign(c.i, c.j) * in[at(i, j, cols)];
    }
}

PF_KERNEL(BLOCK) restore_wide(const real* __restrict__ in, real* out0, real* out1, real* out2, u32 rows, u32 cols,
                              int permute_rows, u32 depth, u32 alternate_x, u32 alternate_y) {
    Index c = first_index();
    u32 half = c.j * LANES;
    if (2 * half >= cols) return;
    size_t map = size_t(rows) * cols;
    Destination to(out0, out1, out2, blockIdx.z, map, alternate_x, alternate_y);
    in += map_reordered(blockIdx.z, depth) * map;
    for (; c.i < rows; c.i += row_stride()) {
        u32 i = permute_rows ? reordered(c.i, rows) : c.i;
        Pack even = *reinterpret_cast<const Pack*>(in + at(i, half, cols));
        Pack odd = *reinterpret_cast<const Pack*>(in + at(i, cols - LANES - half, cols));
        real sign = to.row_sign(c.i), odd_sign = sign * to.odd_col;
        Pack low, high;
#pragma unroll
        for (u32 k = 0; k < LANES; ++k) {
            Pack& into = 2 * k < LANES ? low : high;
            into.v[2 * k % LANES] = sign * even.v[k];
            into.v[(2 * k + 1) % LANES] = odd_sign * odd.v[LANES - 1 - k];
        }
        Pack* target = reinterpret_cast<Pack*>(to.out + at(c.i, 2 * half, cols));
        target[0] = low;
        target[1] = high;
    }
}
