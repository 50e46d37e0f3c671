// What every kernel builds on: the element type, complex arithmetic, and a
// sum over the whole grid that gives the same bits on every run.
//
// One source serves both precisions: PF_REAL is float or double.
#pragma once

#ifndef PF_REAL
#define PF_REAL float
#endif

typedef PF_REAL real;

template <typename T> struct PairOf;
template <> struct PairOf<float> { typedef float2 type; };
template <> struct PairOf<double> { typedef double2 type; };
/// A complex number, laid out as cuFFT has it.
typedef PairOf<real>::type cplx;

/// Elements in 16 bytes, the widest access a thread can make at once.
constexpr unsigned LANES = 16 / sizeof(real);
struct alignas(16) Pack { real v[LANES]; };

/// Threads in every block of a kernel that sums; see grid_sum.
constexpr unsigned BLOCK = 256;

__device__ __forceinline__ cplx make(real x, real y) { cplx c; c.x = x; c.y = y; return c; }
__device__ __forceinline__ cplx conj(cplx a) { return make(a.x, -a.y); }
__device__ __forceinline__ cplx operator+(cplx a, cplx b) { return make(a.x + b.x, a.y + b.y); }
__device__ __forceinline__ cplx operator-(cplx a, cplx b) { return make(a.x - b.x, a.y - b.y); }
__device__ __forceinline__ cplx operator*(cplx a, cplx b) {
    return make(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}

/// Reads what nothing will read again. Where it is `cached` as a whole, the
/// cache is told to drop it first.
template <typename T> __device__ __forceinline__ T last_read(const T* p, int cached) {
    return cached ? __ldcs(p) : *p;
}

/// Where element n of a line goes before an N-point transform: even indices
/// ascending, then odd indices descending (Makhoul 1980).
__device__ __forceinline__ unsigned slot(unsigned n, unsigned length) {
    return n & 1 ? length - 1 - n / 2 : n / 2;
}

/// The element that stands at slot p: the inverse of slot.
__device__ __forceinline__ unsigned element(unsigned p, unsigned length) {
    return 2 * p < length ? 2 * p : 2 * (length - p) - 1;
}

/// Green's function of the Laplacian with zero normal derivative at the walls,
/// times what turns the paper's unnormalised transforms into a round trip:
/// scale / (w_x² + w_y²), zero at the mean. One unit of length is a bin width.
struct Green {
    real step_x;  // π / nx
    real step_y;  // (π / ny) · (bin_x / bin_y)
    real scale;

    __device__ __forceinline__ real operator()(real wx, real wy) const {
        real d = wx * wx + wy * wy;
        return d > 0 ? scale / d : real(0);
    }
};

__device__ __forceinline__ double warp_sum(double value) {
    for (int lane = 16; lane > 0; lane /= 2) value += __shfl_down_sync(0xffffffffu, value, lane);
    return value;
}

/// The block's sum, in its first thread. Every thread of BLOCK must come here.
__device__ __forceinline__ double block_sum(double value) {
    __shared__ double warps[BLOCK / 32];
    unsigned thread = threadIdx.y * blockDim.x + threadIdx.x;
    value = warp_sum(value);
    __syncthreads();
    if (thread % 32 == 0) warps[thread / 32] = value;
    __syncthreads();
    value = thread < BLOCK / 32 ? warps[thread] : 0.0;
    return thread < 32 ? warp_sum(value) : value;
}

/// Adds `value` over all threads of the grid and writes `factor` times the sum
/// to `out`. Blocks leave their sums in `partial` (one a block); the last to
/// come adds them in order, so the result does not depend on which one that is.
/// `ticket` must be zero before the launch and is zero again after it.
__device__ __forceinline__ void grid_sum(double value, double factor, double* partial,
                                         unsigned* ticket, double* out) {
    __shared__ bool last;
    unsigned blocks = gridDim.x * gridDim.y * gridDim.z;
    unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    unsigned thread = threadIdx.y * blockDim.x + threadIdx.x;
    value = block_sum(value);
    if (thread == 0) {
        partial[block] = value;
        __threadfence();
        last = atomicInc(ticket, blocks - 1) == blocks - 1;
    }
    __syncthreads();
    if (!last) return;
    __threadfence();
    double sum = 0;
    for (unsigned i = thread; i < blocks; i += BLOCK) sum += __ldcg(partial + i);
    sum = block_sum(sum);
    if (thread == 0) *out = factor * sum;
}

/// As grid_sum for N values at once, in a grid of any number of blocks along x:
/// sum k goes to out[k], and `partial` has N values a block. True in the last
/// block to come, after its threads can read what every block has written.
template <int N>
__device__ __forceinline__ bool grid_sums(const double (&values)[N], double* partial, unsigned* ticket,
                                          double* out) {
    static_assert(N <= BLOCK / 32, "a warp adds the blocks' parts of one sum");
    __shared__ bool last;
#pragma unroll
    for (int k = 0; k < N; k++) {
        const double sum = block_sum(values[k]);
        if (threadIdx.x == 0) partial[k * gridDim.x + blockIdx.x] = sum;
    }
    if (threadIdx.x == 0) {
        __threadfence();
        last = atomicInc(ticket, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (!last) return false;
    __threadfence();
    const unsigned lane = threadIdx.x % 32, k = threadIdx.x / 32;
    if (k < N) {
        double sum = 0;
        for (unsigned i = lane; i < gridDim.x; i += 32) sum += __ldcg(partial + k * gridDim.x + i);
        sum = warp_sum(sum);
        if (lane == 0) out[k] = sum;
    }
    __syncthreads();
    return true;
}
