// The reordering before a forward transform and after an inverse one, on
// [rows][cols] maps with cols contiguous: out[slot(i)][slot(j)] = in[i][j] and
// back. With permute_rows = 0 the rows stay where they are (one axis at a time).
//
// Three ways to do it, chosen by the host: scatter (a thread reads one element
// where it stands), gather (a thread writes one element where it stands), and
// wide (a thread moves 32 bytes in and 32 bytes out, all in 16-byte accesses;
// needs cols divisible by twice LANES). The inverse kernels take up to three
// maps, one per blockIdx.z, and finish the sine transforms: bit z of
// alternate_x (alternate_y) negates the odd rows (columns) of map z.
#pragma once
#include "common.cuh"

struct Cell { unsigned i, j; };

__device__ __forceinline__ Cell cell() {
    return {blockIdx.y * blockDim.y + threadIdx.y, blockIdx.x * blockDim.x + threadIdx.x};
}

__device__ __forceinline__ size_t at(unsigned i, unsigned j, unsigned cols) {
    return size_t(i) * cols + j;
}

extern "C" __global__ void reorder_scatter(const real* __restrict__ in, real* __restrict__ out,
                                           unsigned rows, unsigned cols, int permute_rows) {
    Cell c = cell();
    if (c.i >= rows || c.j >= cols) return;
    unsigned i = permute_rows ? slot(c.i, rows) : c.i;
    out[at(i, slot(c.j, cols), cols)] = in[at(c.i, c.j, cols)];
}

extern "C" __global__ void reorder_gather(const real* __restrict__ in, real* __restrict__ out,
                                          unsigned rows, unsigned cols, int permute_rows) {
    Cell c = cell();
    if (c.i >= rows || c.j >= cols) return;
    unsigned i = permute_rows ? element(c.i, rows) : c.i;
    out[at(c.i, c.j, cols)] = in[at(i, element(c.j, cols), cols)];
}

extern "C" __global__ void reorder_wide(const real* __restrict__ in, real* __restrict__ out,
                                        unsigned rows, unsigned cols, int permute_rows) {
    Cell c = cell();
    unsigned half = c.j * LANES;  // this thread's even elements go to half…, its odd ones to the mirror image
    if (c.i >= rows || 2 * half >= cols) return;
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

/// Where map z goes, and the sign of its odd rows and columns.
struct Outlet {
    real* out;
    real odd_row, odd_col;

    __device__ __forceinline__ Outlet(real* a, real* b, real* c, unsigned alternate_x, unsigned alternate_y) {
        unsigned z = blockIdx.z;
        out = z == 0 ? a : z == 1 ? b : c;
        odd_row = alternate_x >> z & 1 ? real(-1) : real(1);
        odd_col = alternate_y >> z & 1 ? real(-1) : real(1);
    }
    __device__ __forceinline__ real row_sign(unsigned i) const { return i & 1 ? odd_row : real(1); }
    __device__ __forceinline__ real sign(unsigned i, unsigned j) const {
        return row_sign(i) * (j & 1 ? odd_col : real(1));
    }
};

extern "C" __global__ void restore_scatter(const real* __restrict__ in, real* out0, real* out1, real* out2,
                                           unsigned rows, unsigned cols, int permute_rows,
                                           unsigned alternate_x, unsigned alternate_y) {
    Cell c = cell();
    if (c.i >= rows || c.j >= cols) return;
    Outlet to(out0, out1, out2, alternate_x, alternate_y);
    in += size_t(blockIdx.z) * rows * cols;
    unsigned i = permute_rows ? element(c.i, rows) : c.i, j = element(c.j, cols);
    to.out[at(i, j, cols)] = to.sign(i, j) * in[at(c.i, c.j, cols)];
}

extern "C" __global__ void restore_gather(const real* __restrict__ in, real* out0, real* out1, real* out2,
                                          unsigned rows, unsigned cols, int permute_rows,
                                          unsigned alternate_x, unsigned alternate_y) {
    Cell c = cell();
    if (c.i >= rows || c.j >= cols) return;
    Outlet to(out0, out1, out2, alternate_x, alternate_y);
    in += size_t(blockIdx.z) * rows * cols;
    unsigned i = permute_rows ? slot(c.i, rows) : c.i, j = slot(c.j, cols);
    to.out[at(c.i, c.j, cols)] = to.sign(c.i, c.j) * in[at(i, j, cols)];
}

extern "C" __global__ void restore_wide(const real* __restrict__ in, real* out0, real* out1, real* out2,
                                        unsigned rows, unsigned cols, int permute_rows,
                                        unsigned alternate_x, unsigned alternate_y) {
    Cell c = cell();
    unsigned half = c.j * LANES;
    if (c.i >= rows || 2 * half >= cols) return;
    Outlet to(out0, out1, out2, alternate_x, alternate_y);
    in += size_t(blockIdx.z) * rows * cols;
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
