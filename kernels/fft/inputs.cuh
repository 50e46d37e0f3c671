// The integer types a transform can take its input from. cuFFT has none of them,
// so the first kernel converts as it reads (Jiang et al., "Settings").
#pragma once
#include "device/common.cuh"

/// K(SUFFIX, type) for each: src/cuda/device/input.rs.
#define PF_INTEGERS(K)                                                                                                 \
    K(_u8, u8)                                                                                                         \
    K(_i8, signed char)                                                                                                \
    K(_u16, u16)                                                                                                       \
    K(_i16, short)                                                                                                     \
    K(_u32, u32)                                                                                                       \
    K(_i32, int)

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
