// Green's function of the field solve.
#pragma once
#include "device/common.cuh"

/// Green's function of the Laplacian with zero normal derivative at the walls, times what turns the unnormalised
/// transforms into a round trip: scale / (w_x² + w_y²), zero at w = 0. The unit of length is a bin's width. A kernel's
/// argument by value.
struct Green {
    real step_x;  // π / nx
    real step_y;  // (π / ny) · (bin_x / bin_y)
    real scale;

    __device__ __forceinline__ real operator()(real wx, real wy) const {
        const real d = wx * wx + wy * wy;
        return d > 0 ? scale / d : real(0);
    }
};

/// a / b to some 22 bits in f32: the hardware's reciprocal.
__device__ __forceinline__ float quotient(float a, float b) {
    float y;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(b));
    return a * y;
}
/// Two Newton steps on the 20 bits the hardware gives.
__device__ __forceinline__ double quotient(double a, double b) {
    double y;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(b));
    y = fma(fma(-b, y, 1.0), y, y);
    y = fma(fma(-b, y, 1.0), y, y);
    return a * y;
}
