// The last of the three passes of the field solve (src/spectral.rs), along y: φ = IDCT(P), Ex = IDCT(Q) and
// Ey = IDXST(w_y P): w_y is constant along a column, so φ and Ey share P.
//
// A launch makes some of the three maps (FieldMaps). How lines are divided: shape.cuh. A block takes GROUPS·C row pairs,
// those of a group neighbours and of one map; the groups of a row pair's maps are neighbours: P's second reader finds
// it in L2. Two values are read and three written for each bin, without φ two and two, for φ alone one and one. Block 0
// also adds up the energy. PF_BATCH: there is more than one solve; the first energy is then that of all, before that of
// each.
#include "device/dependent_launch.cuh"
#include "device/reduce.cuh"
#include "lines/places.cuh"
#include "lines/shape.cuh"

#ifndef PF_BATCH
#define PF_BATCH 0
#endif
static_assert(Fft::BYTES * GROUPS == PF_BYTES, "the host counts shared memory otherwise");
static_assert(THREADS >= 32, "a whole warp adds up the energy");

enum Map { PHI, EX, EY };

/// The maps that a launch makes: `count` of them, `step` apart, from `first` on.
struct FieldMaps {
    u32 first, step, count;

    /// Of neighbouring lines each one's map.
    __device__ __forceinline__ Map of(u32 line) const { return Map(first + line % count * step); }
};

/// Sums `partial` by one warp, in an order that depends on `count` alone.
__device__ __forceinline__ void sum_energy(const double* __restrict__ partial, u32 count, double* __restrict__ energy) {
    double sum = 0;
    for (u32 i = threadIdx.x; i < count; i += 32) sum += partial[i];
    sum = warp_sum(sum);
    if (threadIdx.x == 0) *energy = sum;
}

PF_KERNEL(THREADS, PF_BLOCKS)
fields(const cplx* __restrict__ p, const cplx* __restrict__ q, real* __restrict__ phi, real* __restrict__ ex,
       real* __restrict__ ey, const cplx* __restrict__ table, real step_y, u32 pairs,
       const double* __restrict__ partial, u32 partials, double* __restrict__ energy, const FieldMaps maps) {
    extern __shared__ double2 memory[];
    const ThreadCoord place = coord_in(memory);
    const u32 t = place.t, line = blockIdx.x * GROUPS + place.group;
    const Map map = maps.of(line);
    u32 pair = line / maps.count * C + place.lane;
    // Rows that are not there: threads work on the last ones, and store nothing.
    const bool present = PF_WHOLE || pair < pairs;
    if (!present) pair = pairs - 1;
    const cplx* in = map == EX ? q : p;
    real* out = map == PHI ? phi : map == EX ? ex : ey;
    wait_for_previous();
    // In f64 blocks of the next solve's first pass would fill the remaining space. (An H200, solves of 512² in a row:
    // 15.2 µs, 11.9 without.)
    if (EARLY && !F64) let_next_start();
    cplx v[ROOM];
    const u32 solve = PF_BATCH ? blockIdx.y : 0;
    PanelRows<Fft, false>(solve, pair, pairs, 0).load_coefficients(v, t, in);
    Fft::pairs(v, t, table, [&](const Frequency& at, cplx& a, cplx& b) {
        if (map == EY) {
            const real wa = step_y * at.k, wb = step_y * (real(N) - at.k);
            cplx z = a;
            a = make(wb * b.x, wb * b.y);
            b = make(wa * z.x, wa * z.y);
            if (at.zero) a = make(0, 0);
        }
        if (at.zero) b = make(0, 0);
        idct_pair(at.w, a, b);
    });
    Fft::run<1>(v, place, table);
    if (!EARLY) let_next_start();
    if (present) MapRows<Fft, false>(solve, pair, pairs, 0).store_neighbours(v, t, out, 1, map == EY ? -1 : 1);
    if (blockIdx.x != 0 || threadIdx.x >= 32) return;
#if PF_BATCH
    sum_energy(partial + solve * partials, partials, energy + 1 + solve);
    if (solve != 0) return;
    partials *= gridDim.y;
#endif
    sum_energy(partial, partials, energy);
}
