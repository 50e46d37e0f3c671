// What single 2-D transforms have beyond the field solve's (quad.cuh):
// the threshold of lossy compression, and the transposed variant, which
// transforms an [m][n] map through an FFT of [n][m] (Jiang et al., "Results on
// 2D DCTs"): the transpose is part of the pre- and post-processing, through tiles in
// shared memory, so that both sides of every kernel are whole lines.
//
// Maps are [m][n], n contiguous, map blockIdx.z of a batch; spectra are
// [m][n/2 + 1], transposed [n][m/2 + 1]. a[k] = e^{-jπk/2m}, b[k] = e^{-jπk/2n}.
// One read and one write an element. Blocks of 256 threads, 32 × 8 for a tile of 32 × 32
// elements and 256 × 1 for one of TILE_U × TILE_V quads; shared memory holds a tile.
#include "fft/quad.cuh"
#include "fft/transpose.cuh"

/// As dct2_post, with zero for what is smaller than epsilon; `kept` gets the
/// number of coefficients that are not.
PF_KERNEL(BLOCK) dct2_post_threshold(const cplx* __restrict__ in, real* __restrict__ out, u32 m, u32 n,
                                     const cplx* __restrict__ a, const cplx* __restrict__ b, int cached, real epsilon,
                                     u64* kept, Kept* parts) {
    KeepLarge keep = {epsilon, kept, parts};
    dct2_post_of(in, out, m, n, a, b, cached, keep);
    keep.count();
}

/// out[reordered(j)][reordered(i)] = in[i][j].
PF_KERNEL(BLOCK) reorder_transposed(const Input* __restrict__ in, real* __restrict__ out, u32 m, u32 n) {
    const size_t map = size_t(m) * n;
    in += blockIdx.z * map;
    out += blockIdx.z * map;
    transpose_tile(
        blockIdx.y * TRANSPOSE_TILE, blockIdx.x * TRANSPOSE_TILE, m, n,
        [&](u32 i, u32 j) { return real(in[at(i, j, n)]); },
        [&](u32 i, u32 j, real x) { out[at(reordered(j, n), reordered(i, m), m)] = x; });
}

/// out[i][j] = ±in[reordered(j)][reordered(i)], minus in odd rows with alternate_x and in odd columns
/// with alternate_y. (The tile is one of the transposed map: its rows are columns of out.)
PF_KERNEL(BLOCK) restore_transposed(const real* __restrict__ in, real* __restrict__ out, u32 m, u32 n, int alternate_x,
                                    int alternate_y) {
    const size_t map = size_t(m) * n;
    in += blockIdx.z * map;
    out += blockIdx.z * map;
    transpose_tile(
        blockIdx.x * TRANSPOSE_TILE, blockIdx.y * TRANSPOSE_TILE, n, m,
        [&](u32 j, u32 i) {
            return (i & 1 && alternate_x ? real(-1) : real(1)) * in[at(reordered(j, n), reordered(i, m), m)];
        },
        [&](u32 j, u32 i, real x) { out[at(i, j, n)] = (j & 1 && alternate_y ? real(-1) : real(1)) * x; });
}

/// Quads of a tile, one a thread: along u 128 bytes of a spectrum.
constexpr u32 TILE_U = 128 / sizeof(cplx), TILE_V = BLOCK / TILE_U;

/// A tile of quads, between one order of threads and the other.
struct QuadTile {
    real x[4][TILE_U][TILE_V + 2];

    __device__ __forceinline__ void put(u32 u, u32 v, Quad q) {
        x[0][u][v] = q.x00;
        x[1][u][v] = q.x01;
        x[2][u][v] = q.x10;
        x[3][u][v] = q.x11;
    }
};

/// A thread's place in a tile: neighbours along u where a spectrum is read or
/// written, and along v where a map is.
struct InTile {
    u32 i, j, u, v;
    __device__ __forceinline__ InTile(bool along_u) {
        const u32 t = threadIdx.x;
        i = along_u ? t % TILE_U : t / TILE_V;
        j = along_u ? t / TILE_U : t % TILE_V;
        u = blockIdx.x * TILE_U + i;
        v = blockIdx.y * TILE_V + j;
    }
    __device__ __forceinline__ bool inside(u32 m, u32 n) const { return 2 * u <= m && 2 * v <= n; }
};

/// From the spectrum of the transposed map to coefficients, [m][n].
template <typename Keep>
__device__ __forceinline__ void dct2_post_transposed_of(const cplx* __restrict__ in, real* __restrict__ out, u32 m,
                                                        u32 n, const cplx* __restrict__ a, const cplx* __restrict__ b,
                                                        Keep& keep) {
    __shared__ QuadTile tile;
    u32 h = m / 2 + 1;
    in += blockIdx.z * (size_t(n) * h);
    out += blockIdx.z * (size_t(m) * n);
    const InTile from(true), to(false);
    if (from.inside(m, n)) {
        const u32 u = from.u, v = from.v;
        cplx p = in[at(v, u, h)], q = v ? in[at(n - v, u, h)] : p;
        tile.put(from.i, from.j, post(p, q, b[v], a[u], v, u));
    }
    __syncthreads();
    if (to.inside(m, n)) {
        const u32 u = to.u, v = to.v, i = to.i, j = to.j;
        bool mirror_u = u && 2 * u < m, mirror_v = v && 2 * v < n;
        out[at(u, v, n)] = keep(tile.x[0][i][j]);
        if (mirror_u) out[at(m - u, v, n)] = keep(tile.x[1][i][j]);
        if (mirror_v) out[at(u, n - v, n)] = keep(tile.x[2][i][j]);
        if (mirror_u && mirror_v) out[at(m - u, n - v, n)] = keep(tile.x[3][i][j]);
    }
}

PF_KERNEL(BLOCK) dct2_post_transposed(const cplx* __restrict__ in, real* __restrict__ out, u32 m, u32 n,
                                      const cplx* __restrict__ a, const cplx* __restrict__ b, int) {
    KeepAll keep;
    dct2_post_transposed_of(in, out, m, n, a, b, keep);
}

PF_KERNEL(BLOCK) dct2_post_transposed_threshold(const cplx* __restrict__ in, real* __restrict__ out, u32 m, u32 n,
                                                const cplx* __restrict__ a, const cplx* __restrict__ b, int,
                                                real epsilon, u64* kept, Kept* parts) {
    KeepLarge keep = {epsilon, kept, parts};
    dct2_post_transposed_of(in, out, m, n, a, b, keep);
    keep.count();
}

/// From coefficients to the spectrum of the transposed map.
PF_KERNEL(BLOCK) idct2_pre_transposed(const Input* __restrict__ in, cplx* __restrict__ out, u32 m, u32 n,
                                      const cplx* __restrict__ a, const cplx* __restrict__ b, int sine_x, int sine_y) {
    __shared__ QuadTile tile;
    u32 h = m / 2 + 1;
    in += blockIdx.z * (size_t(m) * n);
    out += blockIdx.z * (size_t(n) * h);
    const InTile from(false), to(true);
    if (from.inside(m, n)) tile.put(from.i, from.j, read_quad(in, m, n, from.u, from.v));
    __syncthreads();
    if (!to.inside(m, n)) return;
    const u32 u = to.u, v = to.v, i = to.i, j = to.j;
    // Rows and columns have changed places.
    Quad x = {tile.x[0][i][j], tile.x[2][i][j], tile.x[1][i][j], tile.x[3][i][j]};
    idct2_pre_quad(x, out, n, m, b[v], a[u], v, u, sine_y, sine_x);
}
