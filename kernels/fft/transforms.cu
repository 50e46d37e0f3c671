// Single transforms of one to three axes through one real FFT, and what brings others of an array's axes to its end.
// spectra.cuh and reorder.cuh say what grids and memory the kernels take.
#include "fft/spectra.cuh"
#include "fft/transpose.cuh"
#if PF_RANK == 1
#include "fft/longer.cuh"
#endif

/// As dct_post, with zero for what is smaller than epsilon; `kept` gets the
/// number of coefficients that are not.
PF_KERNEL(BLOCK, 2) dct_post_threshold(const cplx* __restrict__ in, real* __restrict__ out, u32 l, u32 m, u32 n,
                                    const cplx* __restrict__ wl, const cplx* __restrict__ wm,
                                    const cplx* __restrict__ wn, int cached, real epsilon, u64* kept, Kept* parts) {
    KeepLarge keep = {epsilon, kept, parts};
    dct_post_of(in, out, l, m, n, wl, wm, wn, cached, keep);
    keep.count();
}
