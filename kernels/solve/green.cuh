// Green's function of the field solve.
#pragma once
#include "device/common.cuh"

/// Green's function of the Laplacian with zero normal derivative at the walls, times
/// what turns the unnormalised transforms into a round trip: scale / (w_x² + w_y²),
/// zero at w = 0. The unit of length is a bin's width. A kernel's argument by value:
/// same layout as `Green` in src/cuda.
struct Green {
    real step_x;  // π / nx
    real step_y;  // (π / ny) · (bin_x / bin_y)
    real scale;

    __device__ __forceinline__ real operator()(real wx, real wy) const {
        const real d = wx * wx + wy * wy;
        return d > 0 ? scale / d : real(0);
    }
};
