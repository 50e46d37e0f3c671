// The three-pass solve's kernels (three_pass.cuh) for the line lengths in use: PF_LINE, or
// every one. Rows have ny elements and columns nx, so a map that is not square takes its
// row kernels from one length and its column kernel from another.
//
// How a length is divided was measured on an H200: elements a thread holds, lines a block
// takes, what goes through shared memory in halves, what is kept there.
#include "solve/separate_columns.cuh"

/// How rows are divided in the inverse transforms. Two row pairs side by side read whole cache lines
/// of a panel, which pays where two blocks still fit a multiprocessor.
template <int N> struct SolveRowsBack {
    static constexpr int E = F64 ? (N <= 256 ? 8 : 16) : N <= 512 ? 8 : N >= 2048 ? 32 : 16;
    static constexpr int C = (F64 ? N == 1024 : N == 1024 || N == 2048 || N == 4096) ? 2 : 1;
    static constexpr int T = N / E;
    static constexpr int LINES = T * C < 32 ? 32 / (T * C) : F64 && N == 512 ? 2 : 1;
    static constexpr bool SPLIT = F64 && E == 16 && N != 1024;
    using Fft = BlockFft<N, E, C, LINES, SPLIT>;
    static constexpr int THREADS = T * C * LINES;
    static constexpr int BLOCKS = blocks(F64 ? (E == 8 ? 768 : 512) : E == 32 ? 512 : 1024, THREADS);
    static constexpr int BYTES = Fft::BYTES * LINES;
};

/// SEPARATE: P and Q go through FFTs of their own, as separate_columns() has it.
template <int N> struct SolveColumns {
    static constexpr int E = N <= 512 ? 8 : !F64 && N >= 2048 ? 32 : 16;
    static constexpr int T = N / E;
    static constexpr bool SEPARATE = !F64 && N >= 4096;
    static constexpr int C = F64 ? (N == 8192 ? 1 : 2) : N == 512 || SEPARATE ? 2 : 4;
    static constexpr bool SPLIT = SEPARATE || (F64 && N != 1024 && E == 16);
    static constexpr bool IN_SHARED = N >= 2048 || (F64 && N == 1024);
    static constexpr bool RECOMPUTE = F64 ? N >= 1024 : N >= 2048;
    using Fft = BlockFft<N, E, C, 1, SPLIT>;
    static constexpr int THREADS = T * C;
    static constexpr int BLOCKS = blocks(512, THREADS, 8);
    static constexpr int BYTES = Fft::BYTES + (SEPARATE ? N * C * sizeof(cplx) : IN_SHARED ? N * C * sizeof(real) : 0);
};

template <int N>
__device__ __forceinline__ void solve_columns(cplx* p, cplx* q, const cplx* table, Green green, u32 units,
                                              double* partial) {
    using S = SolveColumns<N>;
    if constexpr (S::SEPARATE) separate_columns<typename S::Fft>(p, q, table, green, units, partial);
    else columns<typename S::Fft, S::IN_SHARED, S::RECOMPUTE>(p, q, table, green, partial);
}

#define PF_THREE_PASS(N) PF_THREE_PASS_(N)
#define PF_THREE_PASS_(N)                                                                                              \
    PF_SHAPE(rows_shape_##N) = shape_of<Rows<N>>(Rows<N>::LINES);                                                      \
    PF_SHAPE(columns_shape_##N) = shape_of<SolveColumns<N>>(SolveColumns<N>::C, SolveColumns<N>::SEPARATE);            \
    PF_SHAPE(inverse_shape_##N) = shape_of<SolveRowsBack<N>>(SolveRowsBack<N>::LINES * SolveRowsBack<N>::C);           \
    PF_KERNEL(Rows<N>::THREADS, Rows<N>::BLOCKS) rows_forward_##N(const real* rho, cplx* out, const cplx* table,       \
                                                                  u32 pairs) {                                         \
        rows_forward<Rows<N>::Fft>(rho, out, table, pairs);                                                            \
    }                                                                                                                  \
    PF_KERNEL(SolveColumns<N>::THREADS, SolveColumns<N>::BLOCKS) columns_##N(                                          \
        cplx* p, cplx* q, const cplx* table, Green green, u32 units, double* partial) {                                \
        solve_columns<N>(p, q, table, green, units, partial);                                                          \
    }                                                                                                                  \
    PF_KERNEL(SolveRowsBack<N>::THREADS, SolveRowsBack<N>::BLOCKS) rows_inverse_##N(                                   \
        const cplx* p, const cplx* q, real* phi, real* ex, real* ey, const cplx* table, real step_y, u32 pairs,        \
        const double* partial, u32 partials, double* energy) {                                                         \
        rows_inverse<SolveRowsBack<N>::Fft, true>(p, q, phi, ex, ey, table, step_y, pairs, partial, partials, energy); \
    }                                                                                                                  \
    PF_KERNEL(SolveRowsBack<N>::THREADS, SolveRowsBack<N>::BLOCKS) rows_inverse_field_##N(                             \
        const cplx* p, const cplx* q, real* ex, real* ey, const cplx* table, real step_y, u32 pairs,                   \
        const double* partial, u32 partials, double* energy) {                                                         \
        rows_inverse<SolveRowsBack<N>::Fft, false>(p, q, nullptr, ex, ey, table, step_y, pairs, partial, partials,     \
                                                   energy);                                                            \
    }

#ifdef PF_LINE
PF_THREE_PASS(PF_LINE)
#else
PF_THREE_PASS(64)
PF_THREE_PASS(128)
PF_THREE_PASS(256)
PF_THREE_PASS(512)
PF_THREE_PASS(1024)
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
// Longer lines do not fit the shared memory of compute capability 7.5.
PF_THREE_PASS(2048)
PF_THREE_PASS(4096)
PF_THREE_PASS(8192)
#endif
#endif
