// The energy of several solves that were done one after the other.
//
// energies: one warp, `count` numbers read from `energy + 1` on and their sum written to `energy`.
#include "device/reduce.cuh"

PF_KERNEL(32) energies(double* energy, u32 count) {
    double sum = 0;
    for (u32 k = threadIdx.x; k < count; k += 32) sum += energy[1 + k];
    sum = warp_sum(sum);
    if (threadIdx.x == 0) *energy = sum;
}
