// The peer of density_force.cu: DREAMPlace's mapping, from its description.
#pragma once
#include "device/common.cuh"

/// Blocks are (2, 2, 64), threads x and y stride over a body's bins along y and x. Sizes, offsets and ratios stand in
/// arrays of their own; movable cells are visited in order of width.
__global__ void __launch_bounds__(256)
    peer_density(const real* x, const real* y, const real* w, const real* h, const real* ox, const real* oy,
                 const real* ratio, const int* sorted, int n, real xl, real yl, real bx, real by, real inv_x,
                 real inv_y, int nx, int ny, real* map) {
    const int at = blockIdx.x * blockDim.z + threadIdx.z;
    if (at >= n) return;
    const int i = sorted ? sorted[at] : at;
    const real x0 = x[i] + ox[i], y0 = y[i] + oy[i], x1 = x0 + w[i], y1 = y0 + h[i], r = ratio[i];
    const int il = max(int((x0 - xl) * inv_x), 0), ih = min(int((x1 - xl) * inv_x) + 1, nx);
    const int jl = max(int((y0 - yl) * inv_y), 0), jh = min(int((y1 - yl) * inv_y) + 1, ny);
    for (int k = il + threadIdx.y; k < ih; k += blockDim.y) {
        const real px = min(x1, xl + k * bx + bx) - max(x0, xl + k * bx);
        for (int j = jl + threadIdx.x; j < jh; j += blockDim.x) {
            const real py = min(y1, yl + j * by + by) - max(y0, yl + j * by);
            atomicAdd(&map[k * ny + j], px * r * py);
        }
    }
}

__global__ void __launch_bounds__(256)
    peer_force(const real* x, const real* y, const real* w, const real* h, const real* ox, const real* oy,
               const real* ratio, const int* sorted, int n, real xl, real yl, real bx, real by, real inv_x, real inv_y,
               int nx, int ny, const real* ex, const real* ey, real* fx, real* fy) {
    __shared__ real sum_x[64], sum_y[64];
    const int at = blockIdx.x * blockDim.z + threadIdx.z;
    if (threadIdx.x == 0 && threadIdx.y == 0) sum_x[threadIdx.z] = sum_y[threadIdx.z] = 0;
    __syncthreads();
    if (at < n) {
        const int i = sorted ? sorted[at] : at;
        const real x0 = x[i] + ox[i], y0 = y[i] + oy[i], x1 = x0 + w[i], y1 = y0 + h[i];
        const int il = max(int((x0 - xl) * inv_x), 0), ih = min(int((x1 - xl) * inv_x) + 1, nx);
        const int jl = max(int((y0 - yl) * inv_y), 0), jh = min(int((y1 - yl) * inv_y) + 1, ny);
        real gx = 0, gy = 0;
        for (int k = il + threadIdx.y; k < ih; k += blockDim.y) {
            const real px = min(x1, xl + k * bx + bx) - max(x0, xl + k * bx);
            for (int j = jl + threadIdx.x; j < jh; j += blockDim.x) {
                const real py = min(y1, yl + j * by + by) - max(y0, yl + j * by);
                gx += px * py * ex[k * ny + j];
                gy += px * py * ey[k * ny + j];
            }
        }
        atomicAdd(&sum_x[threadIdx.z], gx * ratio[i]);
        atomicAdd(&sum_y[threadIdx.z], gy * ratio[i]);
    }
    __syncthreads();
    if (at < n && threadIdx.x == 0 && threadIdx.y == 0) {
        const int i = sorted ? sorted[at] : at;
        fx[i] = sum_x[threadIdx.z];
        fy[i] = sum_y[threadIdx.z];
    }
}
