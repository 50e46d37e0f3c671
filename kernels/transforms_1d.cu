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
#include "inputs.cuh"
#include "lines.cuh"

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
