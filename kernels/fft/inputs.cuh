// The integer types a transform can take its input from. cuFFT has none of them,
// so the first kernel converts as it reads (Jiang et al., "Settings").
#pragma once
#include "device/common.cuh"

/// K(SUFFIX, type) for each: src/cuda/input.rs.
#define PF_INTEGERS(K)     \
    K(_u8, unsigned char)  \
    K(_i8, signed char)    \
    K(_u16, unsigned short) \
    K(_i16, short)         \
    K(_u32, unsigned)      \
    K(_i32, int)

#define PF_NUMBER(SUFFIX, In) INTEGER##SUFFIX,
/// Their numbers, for kernels that are told which it is.
enum Integer { PF_INTEGERS(PF_NUMBER) };

/// Memory of integers of the type of that number, from element `first` on.
struct Integers {
    const void* memory;
    int type;
    size_t first;
};

/// Calls f with a pointer to the input's own type.
template <typename F> __device__ __forceinline__ void with_input(const real* in, F f) { f(in); }
template <typename F> __device__ __forceinline__ void with_input(const Integers& in, F f) {
    switch (in.type) {
#define PF_CASE(SUFFIX, In) \
    case INTEGER##SUFFIX: f(static_cast<const In*>(in.memory) + in.first); break;
        PF_INTEGERS(PF_CASE)
#undef PF_CASE
    }
}

/// The neighbours p[0] and p[1], at an even place of an array.
__device__ __forceinline__ cplx two_at(const real* p) { return *reinterpret_cast<const cplx*>(p); }
template <typename In> __device__ __forceinline__ cplx two_at(const In* p) {
    struct alignas(2 * sizeof(In)) Two { In x, y; };
    const Two two = *reinterpret_cast<const Two*>(p);
    return make(real(two.x), real(two.y));
}
