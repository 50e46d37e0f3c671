// One pass of a transform: DCT, IDCT or IDXST of every line along one axis of a map, read
// and written once, with all that comes before and after its FFT done in registers.
//
// An instance is chosen by
//   PF_FORWARD         DCT (1) or the inverses (0)
//   PF_FROM, PF_TO     where lines stand before and after (places.cuh)
//   PF_INPUT           type of the values read: real, an integer, or cplx between passes
//   PF_ODD             whether the map has an odd number of rows
//   PF_HALVES          halves of transforms (real_lines.cuh) that the stores make up for
//   PF_THRESHOLD       whether small coefficients become zero (keep.cuh)
//   PF_IN_PLACE        whether in and out may be the same memory
//   PF_BATCH           whether there is more than one map
//   PF_PEERS           ranks of a solve by slabs, to whose panels its first pass stores
// and how it is divided by the shape (shape.cuh).
//
// A 2-D DCT is MapRows to PanelRows, then PanelColumns to MapColumns; its inverses are MapColumns to PanelColumns, then
// PanelRows to MapRows. More axes are MapColumns of maps of all faster axes, in place. Grid: blocks of GROUPS·C lines,
// and maps. Each pass moves one value in and one out for every value of the map.
#include "device/dependent_launch.cuh"
#include "fft/keep.cuh"
#include "lines/places.cuh"
#include "lines/shape.cuh"

static_assert(Fft::BYTES * GROUPS == PF_BYTES, "the host counts shared memory otherwise");

#if PF_IN_PLACE
#define PF_ALONE
#else
#define PF_ALONE __restrict__
#endif
#if PF_PEERS
#define PF_OUT const __grid_constant__ Slabs
#else
#define PF_OUT To::Value* PF_ALONE
#endif

using From = PF_FROM<Fft, PF_ODD>;
using To = PF_TO<Fft, PF_ODD>;
constexpr real SCALE = real(1) / (1 << PF_HALVES);

/// `lines` are pairs of real lines of a map, `across` is the number of columns of a map of
/// columns, or of rows of one of rows. `sine`: whether an inverse is of sines.
PF_KERNEL(THREADS, PF_BLOCKS)
transform(const PF_INPUT* PF_ALONE in, PF_OUT out, const cplx* __restrict__ table, u32 lines, u32 across,
#if PF_THRESHOLD
          real epsilon, u64* kept, Kept* parts
#else
          int sine
#endif
) {
    extern __shared__ double2 memory[];
    const ThreadCoord place = coord_in(memory);
    u32 line = (blockIdx.x * GROUPS + place.group) * C + place.lane;
    // Lines that are not there: threads work on the last one, and store nothing.
    const bool present = PF_WHOLE || line < lines;
    if (!present) line = lines - 1;
    const u32 map = PF_BATCH ? blockIdx.y : 0;
    u32 t = place.t;
    wait_for_previous();
    if (EARLY) let_next_start();
    cplx v[ROOM];
    const From from(map, line, lines, across);
#if PF_FORWARD
    from.load_neighbours(v, t, in);
    Fft::run<-1>(v, place, table);
    t = again(t);
    Fft::pairs(v, t, table, [&](const Frequency& at, cplx& k, cplx& n) { dct_pair(at.w, k, n); });
    if (!EARLY) let_next_start();
#if PF_THRESHOLD
    KeepLarge keep = {epsilon, kept, parts};
#else
    KeepAll keep;
#endif
    const To to(map, line, lines, across);
    if (present) to.store_coefficients(v, t, out, SCALE, keep);
    keep.count();
#else
    from.load_coefficients(v, t, in);
    Fft::pairs(v, t, table, [&](const Frequency& at, cplx& a, cplx& b) {
        if (sine) reverse_pair(at.zero, a, b);
        if (at.zero) b = make(0, 0);
        idct_pair(at.w, a, b);
    });
    Fft::run<1>(v, place, table);
    t = again(t);
    if (!EARLY) let_next_start();
    const To to(map, line, lines, across);
    if (present) to.store_neighbours(v, t, out, SCALE, sine ? -SCALE : SCALE);
#endif
}
