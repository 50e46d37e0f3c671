// The four ways from a 1-D DCT, or its inverse, to a real FFT (Jiang et al.,
// algorithm 1): of 4n, 2n (mirrored or padded) and n values. The last one's
// kernels are in reorder.cuh and lines.cuh; here are those of the others, and
// all with integer inputs.
//
// Lines are [rows][n], n contiguous, and the FFT's sides [rows][length] and
// [rows][length/2 + 1]. w[k] = e^{-jπk/2n}. Blocks of 256 threads cover the rows;
// beyond 65535 blocks down threads go on. Words of traffic a value, read and
// written: before the FFT 1 + length/n, after it 2 + 1 of its 1 + length/n.
//
// The inverses take the same steps backwards. Those of the two 2n-point ones are
// one and the same: the coefficients turned by conj(w), n zeros, and the first
// half of what the inverse FFT gives.
#include "fft/block_fft.cuh"
#include "fft/inputs.cuh"
#include "fft/lines.cuh"

PF_INTEGERS(PF_REORDER)
PF_INTEGERS(PF_IDCT_PRE)

/// Zero at even places; the line, then its mirror image, at odd ones. A thread
/// writes two values.
#define PF_DCT_PRE_4N(SUFFIX, In)                                                                    \
    extern "C" __global__ void __launch_bounds__(BLOCK)                                              \
    dct_pre_4n##SUFFIX(const In* __restrict__ in, real* __restrict__ out, unsigned rows, unsigned n) { \
        Cell c = cell();                                                                             \
        if (c.j >= 2 * n) return;                                                                    \
        unsigned j = c.j < n ? c.j : 2 * n - 1 - c.j;                                                \
        for (; c.i < rows; c.i += down())                                                            \
            reinterpret_cast<cplx*>(out)[at(c.i, c.j, 2 * n)] = make(0, real(in[at(c.i, j, n)]));    \
    }

/// The line and its mirror image.
#define PF_DCT_PRE_MIRRORED(SUFFIX, In)                                                              \
    extern "C" __global__ void __launch_bounds__(BLOCK)                                              \
    dct_pre_mirrored##SUFFIX(const In* __restrict__ in, real* __restrict__ out, unsigned rows, unsigned n) { \
        Cell c = cell();                                                                             \
        if (c.j >= 2 * n) return;                                                                    \
        unsigned j = c.j < n ? c.j : 2 * n - 1 - c.j;                                                \
        for (; c.i < rows; c.i += down()) out[at(c.i, c.j, 2 * n)] = real(in[at(c.i, j, n)]);        \
    }

/// The line and as many zeros.
#define PF_DCT_PRE_PADDED(SUFFIX, In)                                                                \
    extern "C" __global__ void __launch_bounds__(BLOCK)                                              \
    dct_pre_padded##SUFFIX(const In* __restrict__ in, real* __restrict__ out, unsigned rows, unsigned n) { \
        Cell c = cell();                                                                             \
        if (c.j >= 2 * n) return;                                                                    \
        for (; c.i < rows; c.i += down())                                                            \
            out[at(c.i, c.j, 2 * n)] = c.j < n ? real(in[at(c.i, c.j, n)]) : real(0);                \
    }

/// DCT from a spectrum of `half` complex numbers a row: scale · Re(w X), or
/// scale · Re(X) where there is nothing to turn.
extern "C" __global__ void __launch_bounds__(BLOCK)
dct_post_long(const cplx* __restrict__ in, real* __restrict__ out, unsigned rows, unsigned n, unsigned half,
              const cplx* __restrict__ w, real scale, int turned) {
    Cell c = cell();
    unsigned k = c.j;
    if (k >= n) return;
    for (; c.i < rows; c.i += down()) {
        cplx x = in[at(c.i, k, half)];
        out[at(c.i, k, n)] = scale * (turned ? (w[k] * x).x : x.x);
    }
}

/// Coefficient k of a cosine or sine transform of a line: that one takes them
/// from the other end, with a zero first.
template <typename In>
__device__ __forceinline__ real coefficient(const In* __restrict__ line, unsigned k, unsigned n, int sine) {
    return !sine ? real(line[k]) : k ? real(line[n - k]) : real(0);
}

/// ½ conj(w) X, then zeros: n + 1 complex numbers.
#define PF_IDCT_PRE_2N(SUFFIX, In)                                                                   \
    extern "C" __global__ void __launch_bounds__(BLOCK)                                              \
    idct_pre_2n##SUFFIX(const In* __restrict__ in, cplx* __restrict__ out, unsigned rows, unsigned n, \
                        const cplx* __restrict__ w, int sine) {                                      \
        Cell c = cell();                                                                             \
        unsigned k = c.j;                                                                            \
        if (k > n) return;                                                                           \
        for (; c.i < rows; c.i += down()) {                                                          \
            real x = k < n ? real(0.5) * coefficient(in + at(c.i, 0, n), k, n, sine) : real(0);      \
            out[at(c.i, k, n + 1)] = make(x * w[k].x, -x * w[k].y);                                  \
        }                                                                                            \
    }

/// ¼ X, a zero, -¼ X backwards: the spectrum of a line like dct_pre_4n's.
#define PF_IDCT_PRE_4N(SUFFIX, In)                                                                   \
    extern "C" __global__ void __launch_bounds__(BLOCK)                                              \
    idct_pre_4n##SUFFIX(const In* __restrict__ in, cplx* __restrict__ out, unsigned rows, unsigned n, \
                        const cplx* __restrict__, int sine) {                                        \
        Cell c = cell();                                                                             \
        unsigned k = c.j;                                                                            \
        if (k > 2 * n) return;                                                                       \
        const real quarter = k < n ? real(0.25) : real(-0.25);                                       \
        for (; c.i < rows; c.i += down()) {                                                          \
            real x = k == n ? real(0) : coefficient(in + at(c.i, 0, n), k < n ? k : 2 * n - k, n, sine); \
            out[at(c.i, k, 2 * n + 1)] = make(quarter * x, 0);                                       \
        }                                                                                            \
    }

#define PF_LONG_PRE(SUFFIX, In)      \
    PF_DCT_PRE_4N(SUFFIX, In)        \
    PF_DCT_PRE_MIRRORED(SUFFIX, In)  \
    PF_DCT_PRE_PADDED(SUFFIX, In)    \
    PF_IDCT_PRE_2N(SUFFIX, In)       \
    PF_IDCT_PRE_4N(SUFFIX, In)
PF_LONG_PRE(, real)
PF_INTEGERS(PF_LONG_PRE)

/// Value k of a row is element step·k + first of `length`; odd ones negated for a
/// sine transform.
extern "C" __global__ void __launch_bounds__(BLOCK)
idct_post_long(const real* __restrict__ in, real* __restrict__ out, unsigned rows, unsigned n, unsigned length,
               unsigned step, unsigned first, int sine) {
    Cell c = cell();
    unsigned k = c.j;
    if (k >= n) return;
    const real sign = sine && k & 1 ? real(-1) : real(1);
    for (; c.i < rows; c.i += down()) out[at(c.i, k, n)] = sign * in[at(c.i, step * k + first, length)];
}

// The N-point algorithm for few long lines, which cuFFT gives to one
// multiprocessor each: the FFT's last (an inverse one's first) step, of radix 16,
// is part of the post- (pre-) processing, and cuFFT has 16 lines of n/16 for every
// line (an H200, f64, one line of 2^15: 29 µs without). Element 16 j + r of the
// reordered line is element j of line r. n is divisible by 256.

constexpr unsigned PARTS = 16;

/// Where slot p of a block's 256 stands in shared memory: slots PARTS apart in
/// different banks.
__device__ __forceinline__ unsigned part_bank(unsigned p) { return p + p / PARTS; }

/// The reordering: blocks of 256 slots, to 16 neighbours in each of 16 lines.
#define PF_REORDER_SPLIT(SUFFIX, In)                                                                 \
    extern "C" __global__ void __launch_bounds__(BLOCK)                                              \
    reorder_split##SUFFIX(const In* __restrict__ in, real* __restrict__ out, unsigned rows, unsigned n) { \
        __shared__ real tile[BLOCK + BLOCK / PARTS];                                                 \
        const unsigned t = threadIdx.x, first = blockIdx.x * BLOCK, from = element(first + t, n);    \
        const unsigned part = t / PARTS, j = t % PARTS, to = part * (n / PARTS) + first / PARTS + j; \
        for (unsigned row = blockIdx.y; row < rows; row += gridDim.y) {                              \
            tile[part_bank(t)] = real(in[at(row, from, n)]);                                         \
            __syncthreads();                                                                         \
            out[at(row, to, n)] = tile[part_bank(j * PARTS + part)];                                 \
            __syncthreads();                                                                         \
        }                                                                                            \
    }
PF_REORDER_SPLIT(, real)
PF_INTEGERS(PF_REORDER_SPLIT)

/// The reordering undone; odd elements negated for a sine transform.
extern "C" __global__ void __launch_bounds__(BLOCK)
restore_split(const real* __restrict__ in, real* __restrict__ out, unsigned rows, unsigned n, int sine) {
    __shared__ real tile[BLOCK + BLOCK / PARTS];
    const unsigned t = threadIdx.x, first = blockIdx.x * BLOCK, to = element(first + t, n);
    const unsigned part = t / PARTS, j = t % PARTS, from = part * (n / PARTS) + first / PARTS + j;
    const real sign = sine && to & 1 ? real(-1) : real(1);
    for (unsigned row = blockIdx.y; row < rows; row += gridDim.y) {
        tile[part_bank(j * PARTS + part)] = in[at(row, from, n)];
        __syncthreads();
        out[at(row, to, n)] = sign * tile[part_bank(t)];
        __syncthreads();
    }
}

/// e^{-j2πrk/n} for r < 16, k <= n/32.
__device__ __forceinline__ void part_turns(cplx* turn, const cplx* __restrict__ w, unsigned k) {
    turn[1] = w[4 * k];
    turn[2] = w[8 * k];
    turn[4] = w[16 * k];
    turn[8] = w[32 * k];
#pragma unroll
    for (int r = 3; r < int(PARTS); r++) {
        const int high = r >= 8 ? 8 : r >= 4 ? 4 : 2;
        if (r != high) turn[r] = turn[high] * turn[r - high];
    }
}

/// DCT from the spectra of the 16 lines, [rows][16][n/32 + 1].
extern "C" __global__ void __launch_bounds__(64)
dct_post_split(const cplx* __restrict__ in, real* __restrict__ out, unsigned rows, unsigned n,
               const cplx* __restrict__ w) {
    const unsigned part = n / PARTS, h = part / 2 + 1, k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= h) return;
    const bool mirror = k && 2 * k < part;
#pragma unroll 1
    for (unsigned row = blockIdx.y; row < rows; row += gridDim.y) {
        cplx v[PARTS];
#pragma unroll
        for (unsigned r = 0; r < PARTS; r++) v[r] = in[at(row * PARTS + r, k, h)];
        cplx turn[PARTS];
        part_turns(turn, w, k);
#pragma unroll
        for (unsigned r = 1; r < PARTS; r++) v[r] = v[r] * turn[r];
        dft16<-1>(v);
#if __CUDA_ARCH__ >= 1000
        // There no twiddle is read ahead of this: in f64 it would spill. (An H200,
        // where nothing spills: 5.6 µs for a line of 2^14 in f64 without, 8.2 with.)
        asm volatile("" : "+l"(w));
#endif
#pragma unroll
        for (unsigned m = 0; m < PARTS; m++) {
            const unsigned u = k + m * part;
            const cplx z = w[u] * v[m];
            out[at(row, u, n)] = z.x;
            if (mirror) out[at(row, n - u, n)] = -z.y;
        }
    }
}

/// Spectra of the 16 lines for the inverse cosine or sine transform.
#define PF_IDCT_PRE_SPLIT(SUFFIX, In)                                                                \
    extern "C" __global__ void __launch_bounds__(64)                                                 \
    idct_pre_split##SUFFIX(const In* __restrict__ in, cplx* __restrict__ out, unsigned rows, unsigned n, \
                           const cplx* __restrict__ w, int sine) {                                   \
        const unsigned part = n / PARTS, h = part / 2 + 1, k = blockIdx.x * blockDim.x + threadIdx.x; \
        if (k >= h) return;                                                                          \
        _Pragma("unroll 1") for (unsigned row = blockIdx.y; row < rows; row += gridDim.y) {          \
            cplx turn[PARTS], v[PARTS];                                                              \
            const In* line = in + at(row, 0, n);                                                     \
            _Pragma("unroll") for (unsigned m = 0; m < PARTS; m++) {                                 \
                const unsigned u = k + m * part;                                                     \
                v[m] = pre(real(line[u]), u ? real(line[n - u]) : real(0), u, sine, w[u]);           \
            }                                                                                        \
            dft16<1>(v);                                                                             \
            part_turns(turn, w, k);                                                                  \
            out[at(row * PARTS, k, h)] = v[0];                                                       \
            _Pragma("unroll") for (unsigned r = 1; r < PARTS; r++)                                   \
                out[at(row * PARTS + r, k, h)] = v[r] * conj(turn[r]);                               \
        }                                                                                            \
    }
PF_IDCT_PRE_SPLIT(, real)
PF_INTEGERS(PF_IDCT_PRE_SPLIT)
