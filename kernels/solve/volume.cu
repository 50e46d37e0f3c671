// The steps of a solve in three dimensions between its transforms (see src/spectral.rs).
//
// Arrays are [nx][ny][nz], z contiguous, fewer than 2^31 values. Blocks of 256 threads take the values by a grid-stride
// loop; shared memory for a sum over the grid alone. volume_coefficients reads and writes a value per bin, and so does
// volume_signs.
#include "device/reduce.cuh"

/// The coefficients that an inverse of cosines along every axis starts from: those of φ (map 0, and Σ φ·ρ by Parseval
/// goes to `energy`), or of the field along axis map - 1. A sine takes coefficient n - k of its axis at k, and none at
/// 0. `in` has the DCT of ρ; a step is a wavenumber along its axis, `scale` undoes the transforms' scaling.
PF_KERNEL(BLOCK) volume_coefficients(const real* __restrict__ in, real* __restrict__ out, u32 nx, u32 ny, u32 nz,
                                     real step_x, real step_y, real step_z, real scale, int map, double* partial,
                                     u32* ticket, double* energy) {
    const u32 count = nx * ny * nz, stride = gridDim.x * BLOCK;
    const u32 n[3] = {nx, ny, nz};
    const real steps[3] = {step_x, step_y, step_z};
    double sum = 0;
    for (u32 i = blockIdx.x * BLOCK + threadIdx.x; i < count; i += stride) {
        u32 k[3] = {i / nz / ny, i / nz % ny, i % nz};
        bool none = false;
        real factor = scale;
#pragma unroll
        for (int axis = 0; axis < 3; ++axis) {
            if (map != axis + 1) continue;
            none = k[axis] == 0;
            k[axis] = none ? 0 : n[axis] - k[axis];
            factor *= steps[axis] * k[axis];
        }
        real squares = 0, share = 1;
#pragma unroll
        for (int axis = 0; axis < 3; ++axis) {
            const real wave = steps[axis] * k[axis];
            squares += wave * wave;
            if (k[axis] == 0) share *= real(0.5);
        }
        const real rho = in[(size_t(k[0]) * ny + k[1]) * nz + k[2]];
        const real result = none || !(squares > 0) ? real(0) : rho * (factor / squares);
        out[i] = result;
        sum += double(share) * rho * result;
    }
    // Uniform over the grid: map is the same everywhere.
    if (map == 0) grid_sum(sum, 1.0, partial, ticket, energy);
}

/// The last step of a sine transform along an axis of n values `inner` apart: odd ones are negated.
PF_KERNEL(BLOCK) volume_signs(real* values, u32 count, u32 n, u32 inner) {
    for (u32 i = blockIdx.x * BLOCK + threadIdx.x; i < count; i += gridDim.x * BLOCK)
        if (i / inner % n % 2) values[i] = -values[i];
}
