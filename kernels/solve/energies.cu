// The energy of several solves that were done one after the other, or of the parts of one.
//
// energies: one warp, `count` numbers read from `parts` and their sum written to `energy`.
#include "device/reduce.cuh"

PF_KERNEL(32) energies(const double* parts, u32 count, double* energy) {
    double sum = 0;
    for (u32 k = threadIdx.x; k < count; k += 32) sum += parts[k];
    sum = warp_sum(sum);
    if (threadIdx.x == 0) *energy = sum;
}
