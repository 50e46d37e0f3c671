// The second of the three passes of the field solve (src/spectral.rs), along x: DCT, Green's function and
// wavenumber, and the two inverses P = IDCT(âG) and Q = IDXST(âG w_x), per column.
//
// An instance is divided by its shape (shape.cuh), GROUPS = 1, and by
//   PF_SEPARATE   whether P and Q of a column go through FFTs of their own (separate_columns.cuh) or through
//                 one (joined_columns.cuh)
//   PF_STORED     real numbers of a thread's spectrum that wait in shared memory, not in registers
//   PF_BATCH      whether there is more than one map
//   PF_PEERS, PF_WRITTEN  ranks of a solve by slabs (peers/peers.cuh), each of which has some of the
//                 columns, and columns of a panel that they write
// Blocks take units of 2C columns, those of a map each. One value is read and two are written for each bin. The kernels
// leave the transforms' halves to Green::scale.
#if PF_SEPARATE
#include "solve/separate_columns.cuh"
#else
#include "solve/joined_columns.cuh"
#endif

static_assert(GROUPS == 1 && 2 * C <= PANEL, "a block's columns are part of a panel");
static_assert(Fft::BYTES + THREADS * PF_STORED * sizeof(real) == PF_BYTES, "the host counts shared memory otherwise");

template <typename Columns>
__device__ __forceinline__ void solve_columns(const Columns& columns, const cplx* __restrict__ table,
                                              const Green& green, u32 units) {
#if PF_SEPARATE
    separate_columns(columns, table, green, units);  // persistent
#else
    joined_columns<PF_STORED>(columns, table, green);
#endif
}

#if PF_PEERS
PF_KERNEL(THREADS, PF_BLOCKS)
columns_slabs(const __grid_constant__ Slabs slabs, const cplx* table, Green green, u32 units) {
    solve_columns(SlabColumns{slabs}, table, green, units);
}
#else
PF_KERNEL(THREADS, PF_BLOCKS)
columns(cplx* p, cplx* q, const cplx* table, Green green, u32 units, double* partial) {
#if PF_BATCH
    const size_t first = blockIdx.y * panels(2 * C * units, N / 2);
    p += first;
    q += first;
    partial += blockIdx.y * gridDim.x;
#endif
    solve_columns(MapPanels{p, q, partial}, table, green, units);
}
#endif
