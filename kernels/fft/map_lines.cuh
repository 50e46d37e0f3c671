// The lines of single transforms of maps by FFTs of our own, two_pass.cu and
// folded.cu: lengths, blocks, and what a transform is beside its FFT.
#pragma once
#include "solve/three_pass.cuh"

/// 20 elements a thread, all stages of radix 10 but for one of d's divisors.
__host__ __device__ constexpr bool hundreds(int n) { return n % 100 == 0; }

/// As many as give multiprocessors this many threads, if 1 to 16.
__host__ __device__ constexpr int blocks(int resident, int threads) {
    return resident / threads > 16 ? 16 : resident / threads > 1 ? resident / threads : 1;
}

/// To a transform's coefficients from those at the other end, with a zero first:
/// a sine transform is a cosine transform of these. What b gets at k = 0 counts for nothing.
__device__ __forceinline__ void other_end(bool zero, cplx& a, cplx& b) {
    cplx keep = a;
    a = zero ? make(0, 0) : b;
    b = keep;
}

/// The DCTs of the lines in v, times 2, and an inverse's of coefficients, times 4.
template <typename Fft>
__device__ __forceinline__ void dct(cplx* v, const Place& place, const cplx* __restrict__ table) {
    Fft::template run<-1>(v, place, table);
    Fft::pairs(v, place.t, table, [&](const Frequency& at, cplx& k, cplx& n) { dct_pair(at.w, k, n); });
}
template <typename Fft>
__device__ __forceinline__ void inverse(cplx* v, const Place& place, const cplx* __restrict__ table, int sine) {
    Fft::pairs(v, place.t, table, [&](const Frequency& at, cplx& a, cplx& b) {
        if (sine) other_end(at.zero, a, b);
        if (at.zero) b = make(0, 0);
        idct_pair(at.w, a, b);
    });
    Fft::template run<1>(v, place, table);
}
