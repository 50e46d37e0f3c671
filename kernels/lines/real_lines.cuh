// Transforms of real lines by the block FFT.
//
// Two real lines go through one complex FFT as its real and imaginary part. For
// z = p + iq, V the FFT of z reordered (Makhoul 1980) and w = e^{iπk/2N}:
//   DCT(p) + i DCT(q) = (conj(w) V[k] + w V[N-k]) / 2,
//   IDCT(p) + i IDCT(q) = IFFT of w (z[k] - i z[N-k]) / 2, z[N] = 0, reordered,
//   IDXST(x)[n] = (-1)^n IDCT(0, x[N-1], …, x[1])[n]
// in the scaling of Jiang et al. The halves are left out here.
#pragma once
#include "lines/dft.cuh"

/// From V[k] and V[N-k] to twice the DCT at k and N-k, of both lines.
__device__ __forceinline__ void dct_pair(cplx w, cplx& k, cplx& n) {
    cplx b = w * n;
    butterfly(b, k, conj(w));
    n = times_i<-1>(k);
    k = b;
}

/// From a spectrum at k and N-k to twice the inverse FFT's input.
__device__ __forceinline__ void idct_pair(cplx w, cplx& k, cplx& n) {
    cplx s = times_i<1>(n), z = k;
    k = w * (z - s);
    n = conj(w) * (z + s);
}

/// From a spectrum at k and N-k to the one whose inverse cosine transform is its inverse sine transform but for signs:
/// coefficients in reverse with a zero first. The value of b at k = 0 is not used.
__device__ __forceinline__ void reverse_pair(bool zero, cplx& a, cplx& b) {
    cplx keep = a;
    a = zero ? make(0, 0) : b;
    b = keep;
}
