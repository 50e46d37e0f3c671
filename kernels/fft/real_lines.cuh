// Transforms of real lines by the block FFT, and how blocks read and write such lines.
//
// Two real lines go through one complex FFT as its real and imaginary part. For
// z = p + iq, V the FFT of z reordered (Makhoul 1980) and w = e^{iπk/2N}:
//   DCT(p) + i DCT(q) = (conj(w) V[k] + w V[N-k]) / 2,
//   IDCT(p) + i IDCT(q) = IFFT of w (z[k] - i z[N-k]) / 2, z[N] = 0, reordered,
//   IDXST(x)[n] = (-1)^n IDCT(0, x[N-1], …, x[1])[n]
// in the scaling of Jiang et al. The halves are left out here.
//
// Rows 2r and 2r+1 of a map are one line of complex numbers, and stay together: the maps
// between passes hold complex numbers as [panel][row pair][column of the panel], so that
// passes along either axis read and write neighbours.
#pragma once
#include "fft/block_fft.cuh"
#include "fft/inputs.cuh"

/// From V[k] and V[N-k] to twice the DCT at k and N-k, of both lines.
__device__ __forceinline__ void dct_pair(cplx w, cplx& k, cplx& n) {
    cplx a = conj(w) * k, b = w * n;
    k = a + b;
    n = times_i<1>(a - b);
}

/// From a spectrum at k and N-k to twice the inverse FFT's input.
__device__ __forceinline__ void idct_pair(cplx w, cplx& k, cplx& n) {
    cplx s = times_i<1>(n), z = k;
    k = w * (z - s);
    n = conj(w) * (z + s);
}

/// From a spectrum at k and N-k to the one whose inverse cosine transform is its inverse
/// sine transform but for signs: coefficients in reverse with a zero first. What b gets at
/// k = 0 counts for nothing.
__device__ __forceinline__ void reverse_pair(bool zero, cplx& a, cplx& b) {
    cplx keep = a;
    a = zero ? make(0, 0) : b;
    b = keep;
}

/// The DCTs of the lines in v, times 2.
template <typename Fft>
__device__ __forceinline__ void dct(cplx* v, const Place& place, const cplx* __restrict__ table) {
    Fft::template run<-1>(v, place, table);
    Fft::pairs(v, place.t, table, [&](const Frequency& at, cplx& k, cplx& n) { dct_pair(at.w, k, n); });
}

/// The inverse cosine or, with `sine`, sine transforms of the coefficients in v, times 4;
/// the latter but for the sign of odd elements.
template <typename Fft>
__device__ __forceinline__ void inverse(cplx* v, const Place& place, const cplx* __restrict__ table, int sine) {
    Fft::pairs(v, place.t, table, [&](const Frequency& at, cplx& a, cplx& b) {
        if (sine) reverse_pair(at.zero, a, b);
        if (at.zero) b = make(0, 0);
        idct_pair(at.w, a, b);
    });
    Fft::template run<1>(v, place, table);
}

/// Columns of a panel: 64 bytes of a row pair.
constexpr u32 PANEL = 64 / sizeof(cplx);

/// Where a complex number stands between passes.
__device__ __forceinline__ u32 panel_at(u32 column, u32 pair, u32 pairs) {
    return (column / PANEL * pairs + pair) * PANEL + column % PANEL;
}

/// Reads two neighbouring rows of a map as one line.
template <typename Fft, typename In> __device__ __forceinline__ void load_rows(cplx* v, u32 t, const In* rows) {
    constexpr int N = Fft::LENGTH;
    using Pairs = const typename TwoOf<In>::type*;
    const Pairs even = twos(rows);
    const Pairs ends[2] = {even + t, even + (N - 1 - t)};
    Fft::neighbours(v, [&](int end, int offset, cplx& a, cplx& b) {
        const cplx x = as_cplx(ends[end][offset]), y = as_cplx(ends[end][offset + N / 2]);
        a = make(x.x, y.x);
        b = make(x.y, y.y);
    });
}

/// Writes a line to two neighbouring rows of a map, its even elements times `even` and its
/// odd ones times `odd`.
template <typename Fft> __device__ __forceinline__ void store_rows(cplx* v, u32 t, real* rows, real even, real odd) {
    constexpr int N = Fft::LENGTH;
    cplx* const first = reinterpret_cast<cplx*>(rows);
    cplx* const ends[2] = {first + t, first + (N - 1 - t)};
    Fft::neighbours(v, [&](int end, int offset, cplx& a, cplx& b) {
        ends[end][offset] = make(even * a.x, odd * b.x);
        ends[end][offset + N / 2] = make(even * a.y, odd * b.y);
    });
}

/// Reads a row pair's coefficients from the panels, and writes them there.
template <typename Fft>
__device__ __forceinline__ void load_panels(cplx* v, u32 t, const cplx* in, u32 pair, u32 pairs) {
    Fft::coefficients(v, t, [&](u32 k, cplx& a) { a = in[panel_at(k, pair, pairs)]; });
}
template <typename Fft> __device__ __forceinline__ void store_panels(cplx* v, u32 t, cplx* out, u32 pair, u32 pairs) {
    Fft::coefficients(v, t, [&](u32 k, cplx& a) { out[panel_at(k, pair, pairs)] = a; });
}

/// Reads a column of a panel, from `column` on, and the one `next` columns on as one line.
template <typename Fft> __device__ __forceinline__ void load_columns(cplx* v, u32 t, const cplx* column, int next) {
    const cplx* const ends[2] = {column + t * PANEL, column + (Fft::LENGTH - 1 - t) * PANEL};
    Fft::neighbours(v, [&](int end, int offset, cplx& a, cplx& b) {
        const cplx* at = ends[end] + offset * int(PANEL);
        const cplx x = at[0], y = at[next];
        a = make(x.x, y.x);
        b = make(x.y, y.y);
    });
}
