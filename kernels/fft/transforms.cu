// Single transforms of one to three axes through one real FFT, and transposes that bring other axes of an array to its
// end. spectra.cuh and reorder.cuh describe the grids and memory of the kernels.
#include "fft/spectra.cuh"
#include "fft/transpose.cuh"
#if PF_RANK == 1
#include "fft/longer.cuh"
#endif

/// dct_post with zero for coefficients smaller than epsilon; `kept` gets the number of coefficients that are not.
PF_KERNEL(BLOCK, 2) dct_post_threshold(const cplx* __restrict__ in, real* __restrict__ out, u32 l, u32 m, u32 n,
                                    const cplx* __restrict__ wl, const cplx* __restrict__ wm,
                                    const cplx* __restrict__ wn, int cached, real epsilon, u64* kept, Kept* parts) {
    KeepLarge keep = {epsilon, kept, parts};
    dct_post_of(in, out, l, m, n, wl, wm, wn, cached, keep);
    keep.count();
}
