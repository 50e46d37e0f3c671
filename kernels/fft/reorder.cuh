// The reordering before a forward transform and after an inverse one, along the last PF_RANK axes of arrays [l][m][n],
// n contiguous: out[reordered(h)][reordered(i)][reordered(j)] = in[h][i][j] and back. For one axis m counts lines; l is
// 1 except for three. One read and one write an element.
//
// Two ways to do it, chosen by the host: scatter (a thread reads one element where it stands) and wide (a thread moves
// 32 bytes in and 32 bytes out, all in 16-byte accesses; needs n divisible by twice LANES); and for the paper's tables,
// forward alone, gather (a thread writes one element where it stands). Blocks of 256 threads cover a map of [m][n], with
// a grid-stride loop over rows where those need more than 65535 blocks; blockIdx.z counts maps. No shared memory. The
// inverse kernels write one array after the other, or up to three separate maps, and finish the sine transforms: bit z
// of alternate_x (alternate_y) negates the odd rows (columns) of map z.
#pragma once
#include "fft/inputs.cuh"

#ifndef PF_RANK
#define PF_RANK 2
#endif
/// Axes that are transformed together.
constexpr int RANK = PF_RANK;

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

/// For an element or place along one axis: the place that it goes to, or the element that is there.
template <bool PLACE> __device__ __forceinline__ u32 other_of(u32 k, u32 length) {
    return PLACE ? natural(k, length) : reordered(k, length);
}
/// Returns that index of a row or of a map; they move only if their axis is transformed.
template <bool PLACE> __device__ __forceinline__ u32 other_row(u32 i, u32 m) {
    return RANK > 1 ? other_of<PLACE>(i, m) : i;
}
template <bool PLACE> __device__ __forceinline__ u32 other_map(u32 z, u32 l) {
    return RANK > 2 ? z - z % l + other_of<PLACE>(z % l, l) : z;
}

/// Calls f(map, row, column, place) for a thread's elements, each with the distance of its place from the array's
/// first. PLACE: threads are assigned to places, otherwise to elements.
template <bool PLACE, typename F> __device__ __forceinline__ void each_element(u32 l, u32 m, u32 n, F f) {
    const Index c = first_index();
    if (c.j >= n) return;
    const u32 z = blockIdx.z, map = other_map<PLACE>(z, l), j = other_of<PLACE>(c.j, n);
    const size_t first = size_t(PLACE ? z : map) * m * n;
    for (u32 i = c.i; i < m; i += row_stride()) {
        const u32 row = other_row<PLACE>(i, m);
        if (PLACE) f(map, row, j, first + at(i, c.j, n));
        else f(z, i, c.j, first + at(row, j, n));
    }
}

/// Calls f(map, row, column, even, odd) for pieces of 2·LANES elements of a row, even ones of which go to
/// the LANES places from `even` on, odd ones backwards to those from `odd` on.
template <typename F> __device__ __forceinline__ void each_piece(u32 l, u32 m, u32 n, F f) {
    const Index c = first_index();
    const u32 half = c.j * LANES;
    if (2 * half >= n) return;
    const size_t first = size_t(other_map<false>(blockIdx.z, l)) * m * n;
    for (u32 i = c.i; i < m; i += row_stride()) {
        const size_t row = first + at(other_row<false>(i, m), 0, n);
        f(blockIdx.z, i, 2 * half, row + half, row + n - LANES - half);
    }
}

template <bool PLACE> __device__ __forceinline__ void reorder(const Input* in, real* out, u32 l, u32 m, u32 n) {
    each_element<PLACE>(l, m, n, [&](u32 z, u32 i, u32 j, size_t place) {
        out[place] = real(in[(size_t(z) * m + i) * n + j]);
    });
}

PF_KERNEL(BLOCK) reorder_scatter(const Input* __restrict__ in, real* __restrict__ out, u32 l, u32 m, u32 n) {
    reorder<false>(in, out, l, m, n);
}

PF_KERNEL(BLOCK) reorder_gather(const Input* __restrict__ in, real* __restrict__ out, u32 l, u32 m, u32 n) {
    reorder<true>(in, out, l, m, n);
}

/// For real numbers only.
PF_KERNEL(BLOCK) reorder_wide(const Input* __restrict__ in, real* __restrict__ out, u32 l, u32 m, u32 n) {
    each_piece(l, m, n, [&](u32 z, u32 i, u32 j, size_t to_even, size_t to_odd) {
        const Pack* source = reinterpret_cast<const Pack*>(in + (size_t(z) * m + i) * n + j);
        Pack low = source[0], high = source[1], even, odd;
#pragma unroll
        for (u32 k = 0; k < LANES; ++k) {
            const Pack& from = 2 * k < LANES ? low : high;
            even.v[k] = from.v[2 * k % LANES];
            odd.v[LANES - 1 - k] = from.v[(2 * k + 1) % LANES];
        }
        *reinterpret_cast<Pack*>(out + to_even) = even;
        *reinterpret_cast<Pack*>(out + to_odd) = odd;
    });
}

/// The target of a map, and the signs of its odd rows and columns: one of three separate maps, or with `b` null the
/// z-th of as many as there are at `a`.
struct Destination {
    real* out;
    real odd_row, odd_col;

    __device__ __forceinline__ Destination(real* a, real* b, real* c, u32 z, size_t map, u32 alternate_x,
                                           u32 alternate_y) {
        out = !b ? a + z * map : z == 0 ? a : z == 1 ? b : c;
        const u32 bit = b ? z : 0;
        odd_row = alternate_x >> bit & 1 ? real(-1) : real(1);
        odd_col = alternate_y >> bit & 1 ? real(-1) : real(1);
    }
    __device__ __forceinline__ real row_sign(u32 i) const { return i & 1 ? odd_row : real(1); }
    __device__ __forceinline__ real sign(u32 i, u32 j) const { return row_sign(i) * (j & 1 ? odd_col : real(1)); }
};

PF_KERNEL(BLOCK) restore_scatter(const real* __restrict__ in, real* out0, real* out1, real* out2, u32 l, u32 m, u32 n,
                                 u32 alternate_x, u32 alternate_y) {
    const u32 z = other_map<true>(blockIdx.z, l);
    const Destination to(out0, out1, out2, z, size_t(m) * n, alternate_x, alternate_y);
    each_element<true>(
        l, m, n, [&](u32, u32 i, u32 j, size_t place) { to.out[at(i, j, n)] = to.sign(i, j) * in[place]; });
}

PF_KERNEL(BLOCK) restore_wide(const real* __restrict__ in, real* out0, real* out1, real* out2, u32 l, u32 m, u32 n,
                              u32 alternate_x, u32 alternate_y) {
    const Destination to(out0, out1, out2, blockIdx.z, size_t(m) * n, alternate_x, alternate_y);
    each_piece(l, m, n, [&](u32, u32 i, u32 j, size_t from_even, size_t from_odd) {
        const Pack even = *reinterpret_cast<const Pack*>(in + from_even);
        const Pack odd = *reinterpret_cast<const Pack*>(in + from_odd);
        const real sign = to.row_sign(i), odd_sign = sign * to.odd_col;
        Pack low, high;
#pragma unroll
        for (u32 k = 0; k < LANES; ++k) {
            Pack& into = 2 * k < LANES ? low : high;
            into.v[2 * k % LANES] = sign * even.v[k];
            into.v[(2 * k + 1) % LANES] = odd_sign * odd.v[LANES - 1 - k];
        }
        Pack* target = reinterpret_cast<Pack*>(to.out + at(i, j, n));
        target[0] = low;
        target[1] = high;
    });
}
