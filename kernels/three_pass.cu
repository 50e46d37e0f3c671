// The three-pass solve's kernels for the line lengths in use: PF_LINE, or every
// one. Rows have ny elements and columns nx, so a map that is not square takes
// its row kernels from one length and its column kernel from another.
//
// How a length is cut up was measured on an H200: elements a thread holds, lines
// a block takes, what goes through shared memory in halves, what is parked there.
#include "three_pass.cuh"

template <int N> struct Columns {
    static constexpr int E = N <= 512 ? 8 : !F64 && N >= 2048 ? 32 : 16;
    static constexpr int T = N / E;
    static constexpr int C = F64 ? (N == 8192 ? 1 : 2) : N == 512 || N == 8192 ? 2 : 4;
    static constexpr bool SPLIT = F64 && E == 16;
    static constexpr bool PARK = N >= 2048;
    static constexpr bool AGAIN = F64 ? N >= 1024 : N >= 2048;
    static constexpr int THREADS = T * C;
    static constexpr int RESIDENT = N == 1024 && F64 ? 384 : 512;
    static constexpr int BLOCKS = RESIDENT / THREADS > 8 ? 8 : RESIDENT / THREADS > 1 ? RESIDENT / THREADS : 1;
    static constexpr int BYTES = BlockFft<N, E, C, 1, SPLIT>::BYTES + (PARK ? N * C * sizeof(real) : 0);
};

#define THREE_PASS(N) THREE_PASS_(N)
#define THREE_PASS_(N)                                                                                                \
    extern "C" __device__ const Shape rows_shape_##N = {Rows<N>::E, Stages<N, Rows<N>::E>::X1,                        \
        Stages<N, Rows<N>::E>::X2, Rows<N>::LINES, Rows<N>::THREADS, Rows<N>::BYTES};                                 \
    extern "C" __device__ const Shape columns_shape_##N = {Columns<N>::E, Stages<N, Columns<N>::E>::X1,               \
        Stages<N, Columns<N>::E>::X2, Columns<N>::C, Columns<N>::THREADS, Columns<N>::BYTES};                         \
    extern "C" __global__ void __launch_bounds__(Rows<N>::THREADS, Rows<N>::BLOCKS)                                   \
    rows_forward_##N(const real* rho, cplx* out, const cplx* table, unsigned pairs) {                                 \
        rows_forward<N, Rows<N>::E, Rows<N>::LINES, Rows<N>::SPLIT>(rho, out, table, pairs);                          \
    }                                                                                                                 \
    extern "C" __global__ void __launch_bounds__(Columns<N>::THREADS, Columns<N>::BLOCKS)                             \
    columns_##N(cplx* p, cplx* q, const cplx* table, Green green, double* partial) {                                  \
        columns<N, Columns<N>::E, Columns<N>::C, Columns<N>::SPLIT, Columns<N>::PARK, Columns<N>::AGAIN>(p, q, table, green, partial);   \
    }                                                                                                                 \
    extern "C" __global__ void __launch_bounds__(Rows<N>::THREADS, Rows<N>::BLOCKS)                                   \
    rows_inverse_##N(const cplx* p, const cplx* q, real* phi, real* ex, real* ey, const cplx* table, real step_y,     \
                     unsigned pairs, const double* partial, unsigned partials, double* energy) {                      \
        rows_inverse<N, Rows<N>::E, Rows<N>::LINES, Rows<N>::SPLIT, true>(p, q, phi, ex, ey, table, step_y, pairs,    \
                                                                          partial, partials, energy);                 \
    }                                                                                                                 \
    extern "C" __global__ void __launch_bounds__(Rows<N>::THREADS, Rows<N>::BLOCKS)                                   \
    rows_inverse_field_##N(const cplx* p, const cplx* q, real* ex, real* ey, const cplx* table, real step_y,          \
                           unsigned pairs, const double* partial, unsigned partials, double* energy) {                \
        rows_inverse<N, Rows<N>::E, Rows<N>::LINES, Rows<N>::SPLIT, false>(p, q, nullptr, ex, ey, table, step_y,      \
                                                                           pairs, partial, partials, energy);         \
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
