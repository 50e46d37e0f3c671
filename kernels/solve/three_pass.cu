// The three-pass solve's kernels for the line lengths in use: PF_LINE, or every
// one. Rows have ny elements and columns nx, so a map that is not square takes
// its row kernels from one length and its column kernel from another.
//
// How a length is cut up was measured on an H200: elements a thread holds, lines
// a block takes, what goes through shared memory in halves, what is parked there.
#include "solve/separate_columns.cuh"

/// How rows are cut up on the way back. Two row pairs side by side read whole
/// cache lines of a panel, which pays where two blocks still fit a multiprocessor.
template <int N> struct Inverse {
    static constexpr int E = F64 ? (N <= 256 ? 8 : 16) : N <= 512 ? 8 : N >= 2048 ? 32 : 16;
    static constexpr int C = (F64 ? N == 1024 : N == 1024 || N == 2048 || N == 4096) ? 2 : 1;
    static constexpr int T = N / E;
    static constexpr int LINES = T * C < 32 ? 32 / (T * C) : F64 && N == 512 ? 2 : 1;
    static constexpr bool SPLIT = F64 && E == 16 && N != 1024;
    static constexpr int THREADS = T * C * LINES;
    static constexpr int RESIDENT = F64 ? (E == 8 ? 768 : 512) : E == 32 ? 512 : 1024;
    static constexpr int BLOCKS = RESIDENT / THREADS > 16 ? 16 : RESIDENT / THREADS > 1 ? RESIDENT / THREADS : 1;
    static constexpr int BYTES = BlockFft<N, E, C, LINES, SPLIT>::BYTES * LINES;
};

/// APART: P and Q go through FFTs of their own, as columns_apart() has it.
template <int N> struct Columns {
    static constexpr int E = N <= 512 ? 8 : !F64 && N >= 2048 ? 32 : 16;
    static constexpr int T = N / E;
    static constexpr bool APART = !F64 && N >= 4096;
    static constexpr int C = F64 ? (N == 8192 ? 1 : 2) : N == 512 || APART ? 2 : 4;
    static constexpr bool SPLIT = APART || (F64 && N != 1024 && E == 16);
    static constexpr bool PARK = N >= 2048 || (F64 && N == 1024);
    static constexpr bool AGAIN = F64 ? N >= 1024 : N >= 2048;
    static constexpr int THREADS = T * C;
    static constexpr int RESIDENT = 512;
    static constexpr int BLOCKS = RESIDENT / THREADS > 8 ? 8 : RESIDENT / THREADS > 1 ? RESIDENT / THREADS : 1;
    static constexpr int BYTES =
        BlockFft<N, E, C, 1, SPLIT>::BYTES + (APART ? N * C * sizeof(cplx) : PARK ? N * C * sizeof(real) : 0);
};

template <int N>
__device__ __forceinline__ void columns_of(cplx* p, cplx* q, const cplx* table, Green green, unsigned units, double* partial) {
    typedef Columns<N> S;
    if constexpr (S::APART) columns_apart<N, S::E, S::C>(p, q, table, green, units, partial);
    else columns<N, S::E, S::C, S::SPLIT, S::PARK, S::AGAIN>(p, q, table, green, partial);
}

#define THREE_PASS(N) THREE_PASS_(N)
#define SHAPE(S, N, LINES, GOES_ON) \
    {S<N>::E, Stages<N, S<N>::E>::X1, Stages<N, S<N>::E>::X2, LINES, S<N>::THREADS, S<N>::BYTES, GOES_ON}
#define THREE_PASS_(N)                                                                                                \
    extern "C" __device__ const Shape rows_shape_##N = SHAPE(Rows, N, Rows<N>::LINES, 0);                             \
    extern "C" __device__ const Shape columns_shape_##N = SHAPE(Columns, N, Columns<N>::C, Columns<N>::APART);        \
    extern "C" __device__ const Shape inverse_shape_##N = SHAPE(Inverse, N, Inverse<N>::LINES * Inverse<N>::C, 0);    \
    extern "C" __global__ void __launch_bounds__(Rows<N>::THREADS, Rows<N>::BLOCKS)                                   \
    rows_forward_##N(const real* rho, cplx* out, const cplx* table, unsigned pairs) {                                 \
        typedef Rows<N> S;                                                                                            \
        rows_forward<N, S::E, S::LINES, S::SPLIT>(rho, out, table, pairs);                                            \
    }                                                                                                                 \
    extern "C" __global__ void __launch_bounds__(Columns<N>::THREADS, Columns<N>::BLOCKS)                             \
    columns_##N(cplx* p, cplx* q, const cplx* table, Green green, unsigned units, double* partial) {                  \
        columns_of<N>(p, q, table, green, units, partial);                                                            \
    }                                                                                                                 \
    extern "C" __global__ void __launch_bounds__(Inverse<N>::THREADS, Inverse<N>::BLOCKS)                             \
    rows_inverse_##N(const cplx* p, const cplx* q, real* phi, real* ex, real* ey, const cplx* table, real step_y,     \
                     unsigned pairs, const double* partial, unsigned partials, double* energy) {                      \
        typedef Inverse<N> S;                                                                                         \
        rows_inverse<N, S::E, S::C, S::LINES, S::SPLIT, true>(p, q, phi, ex, ey, table, step_y, pairs, partial,       \
                                                              partials, energy);                                      \
    }                                                                                                                 \
    extern "C" __global__ void __launch_bounds__(Inverse<N>::THREADS, Inverse<N>::BLOCKS)                             \
    rows_inverse_field_##N(const cplx* p, const cplx* q, real* ex, real* ey, const cplx* table, real step_y,          \
                           unsigned pairs, const double* partial, unsigned partials, double* energy) {                \
        typedef Inverse<N> S;                                                                                         \
        rows_inverse<N, S::E, S::C, S::LINES, S::SPLIT, false>(p, q, nullptr, ex, ey, table, step_y, pairs, partial,  \
                                                               partials, energy);                                     \
    }

#ifdef PF_LINE
THREE_PASS(PF_LINE)
#else
THREE_PASS(64)
THREE_PASS(128)
THREE_PASS(256)
THREE_PASS(512)
THREE_PASS(1024)
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
// Longer lines do not fit the shared memory of compute capability 7.5.
THREE_PASS(2048)
THREE_PASS(4096)
THREE_PASS(8192)
#endif
#endif
