// The base of every kernel: types, complex arithmetic, and how kernels are declared.
//
// The kernels are C++17 as both NVRTC and nvcc take it, without host headers. One
// source serves both precisions: PF_REAL is float or double. Unsigned integers are
// u8 to u64, as on the host; signed ones are int. Includes are relative to kernels/.
#pragma once
#include "device/constants.cuh"

#ifndef PF_REAL
#define PF_REAL float
#endif

using u8 = unsigned char;
using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;

using real = PF_REAL;
constexpr bool F64 = sizeof(real) == 8;

template <typename T> struct PairOf;
template <> struct PairOf<float> {
    using type = float2;
};
template <> struct PairOf<double> {
    using type = double2;
};
/// Two numbers side by side: x and y of a point or of a force.
using real2 = PairOf<real>::type;
/// A complex number, laid out as cuFFT has it.
using cplx = real2;

/// A kernel, with the arguments of __launch_bounds__. Kernels have C names, by which
/// the host loads them; what there are several instances of is compiled once for each.
#define PF_KERNEL(...) extern "C" __global__ void __launch_bounds__(__VA_ARGS__)

/// Values in 16 bytes, the widest access a thread can make at once.
constexpr u32 LANES = 16 / sizeof(real);
struct alignas(16) Pack {
    real v[LANES];
};

__device__ __forceinline__ cplx make(real x, real y) {
    cplx c;
    c.x = x;
    c.y = y;
    return c;
}
__device__ __forceinline__ cplx conj(cplx a) { return make(a.x, -a.y); }
__device__ __forceinline__ cplx operator+(cplx a, cplx b) { return make(a.x + b.x, a.y + b.y); }
__device__ __forceinline__ cplx operator-(cplx a, cplx b) { return make(a.x - b.x, a.y - b.y); }
__device__ __forceinline__ cplx operator*(cplx a, cplx b) { return make(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }
/// Multiplies by S·i, S = ±1.
template <int S> __device__ __forceinline__ cplx times_i(cplx a) { return S > 0 ? make(-a.y, a.x) : make(a.y, -a.x); }
