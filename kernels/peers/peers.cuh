// Maps of which several devices (ranks) hold a part each, and how a kernel finds whose part an element is in.
//
// A solve by slabs spreads a map [nx][ny] twice. For the passes along rows a rank has an interval of row pairs; for the
// pass along columns it has an interval of panels of columns (lines/places.cuh). A pass writes each element straight
// into the memory of the rank that reads it in the next pass. Addresses are of the unified address space of a process;
// how devices come to reach each other's memory is the host's part (src/cuda/peers).
//
// Transfers between devices are in pieces of 128 bytes and more. (Two H200s, stores in pieces of 32 and 64 bytes: 4096²
// in f32 in 311 µs, in larger ones 244, on one device too.) So panels from the first pass to the second are 128 bytes
// of a row pair (PF_PANEL columns), and those from the second to the third as many columns as a block stores at once
// (PF_WRITTEN), of which row pairs follow each other.
//
// PF_PEERS is the number of ranks; 0, or not defined, is a kernel of one device.
#pragma once
#include "device/common.cuh"

#ifndef PF_PEERS
#define PF_PEERS 0
#endif

#if PF_PEERS
/// Data of all ranks for the passes of one. A kernel's argument by value.
struct Slabs {
    cplx* columns[PF_PEERS];      // every rank's panels [panel][row pair][column], all row pairs
    cplx* p[PF_PEERS];            // every rank's P, [panel][row pair][column], all panels
    cplx* q[PF_PEERS];            // and Q
    double* partial[PF_PEERS];    // every rank's copy of the energy's parts, of all ranks
    u32 first_pair[PF_PEERS + 1];   // a rank's first row pair
    u32 first_panel[PF_PEERS + 1];  // and its first panel
    u32 rank;                     // whose passes these are
    u32 first_partial;            // the first of the energy's parts that are its own
};

/// The rank in whose interval `index` is, of intervals that begin at `first`.
__device__ __forceinline__ u32 owner_of(const u32* first, u32 index) {
    u32 owner = 0;
#pragma unroll
    for (int rank = 1; rank < PF_PEERS; ++rank) owner += index >= first[rank];
    return owner;
}
#endif
