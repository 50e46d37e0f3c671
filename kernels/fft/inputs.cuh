// Types that a transform's first kernel reads, chosen by the host (src/cuda/device/input.rs): real numbers, or integers
// that it converts as it reads, for cuFFT has none (Jiang et al., "Settings").
#pragma once
#include "device/common.cuh"

using i8 = signed char;
using i16 = short;
using i32 = int;

#ifndef PF_INPUT
#define PF_INPUT real
#endif
using Input = PF_INPUT;

/// Two neighbours of an array, at an even place.
template <typename In> struct alignas(2 * sizeof(In)) Two {
    In x, y;
};
template <typename In> struct TwoOf {
    using type = Two<In>;
};
template <> struct TwoOf<real> {
    using type = cplx;
};

/// An array by its twos, and one of them as a complex number.
template <typename In> __device__ __forceinline__ const typename TwoOf<In>::type* twos(const In* p) {
    return reinterpret_cast<const typename TwoOf<In>::type*>(p);
}
__device__ __forceinline__ cplx as_cplx(cplx two) { return two; }
template <typename In> __device__ __forceinline__ cplx as_cplx(Two<In> two) { return make(real(two.x), real(two.y)); }

/// The neighbours p[0] and p[1].
template <typename In> __device__ __forceinline__ cplx two_at(const In* p) { return as_cplx(*twos(p)); }
