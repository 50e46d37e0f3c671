// Where the second of three passes reads its columns and writes P and Q of them.
#pragma once
#include "lines/places.cuh"

/// One device's panels. P overwrites what was read.
struct MapPanels {
    cplx *p, *q;
    double* partial;

    /// The address of a row pair of P or of Q: `offset` from t (end 0) or from N-1-t (end 1).
    struct Ends {
        cplx* ends[2];
        __device__ __forceinline__ cplx* operator()(int end, int offset) const {
            return ends[end] + offset * int(PANEL);
        }
    };
    /// One column, or two neighbours of which this is the first.
    struct Column {
        cplx *p, *q;
        /// Its first row pair; row pairs are PANEL apart.
        __device__ __forceinline__ const cplx* read() const { return p; }
        __device__ __forceinline__ Ends write(bool to_q, u32 t) const {
            cplx* const to = to_q ? q : p;
            return {{to + t * PANEL, to + (N - 1 - t) * PANEL}};
        }
        /// Goes to a column of the same panel.
        __device__ __forceinline__ void advance(u32 by) {
            p += by;
            q += by;
        }
    };

    /// The number of a column in the map.
    __device__ __forceinline__ u32 number(u32 column) const { return column; }
    __device__ __forceinline__ Column at(u32 column) const {
        return {p + panel_at(column, 0, N / 2), q + panel_at(column, 0, N / 2)};
    }
    /// A unit's number where its columns are written.
    __device__ __forceinline__ u32 written(u32 unit) const { return unit; }
    /// Takes a block's part of the energy.
    __device__ __forceinline__ void energy(u32 block, double part) const { partial[block] = part; }
};

#if PF_PEERS
/// The panels of one rank of a solve by slabs, which writes to the ranks that own the rows.
struct SlabColumns {
    const Slabs& slabs;

    struct Ends {
        const Slabs& slabs;
        bool to_q;
        u32 column, t;
        __device__ __forceinline__ cplx* operator()(int end, int offset) const {
            const u32 pair = (end ? N - 1 - again(t) : again(t)) + offset, owner = owner_of(slabs.first_pair, pair);
            const u32 first = slabs.first_pair[owner], pairs = slabs.first_pair[owner + 1] - first;
            return (to_q ? slabs.q : slabs.p)[owner] + panel_at<PF_WRITTEN>(column, pair - first, pairs);
        }
    };
    struct Column {
        const Slabs& slabs;
        u32 own;  // counted from the rank's first

        __device__ __forceinline__ const cplx* read() const {
            return slabs.columns[slabs.rank] + panel_at(own, 0, N / 2);
        }
        /// (The column is computed anew: kept through the FFT, f64 spills at compute capability 10.0.)
        __device__ __forceinline__ Ends write(bool to_q, u32 t) const {
            return {slabs, to_q, SlabColumns{slabs}.number(again(own)), t};
        }
        __device__ __forceinline__ void advance(u32 by) { own += by; }
    };

    __device__ __forceinline__ u32 number(u32 column) const { return slabs.first_panel[slabs.rank] * PANEL + column; }
    __device__ __forceinline__ Column at(u32 column) const { return {slabs, column}; }
    /// Addresses from it are computed anew: kept from before the FFT they spill below compute capability 9.0.
    __device__ __forceinline__ u32 written(u32 unit) const { return again(unit); }
    __device__ __forceinline__ void energy(u32 block, double part) const {
#pragma unroll
        for (int rank = 0; rank < PF_PEERS; ++rank) slabs.partial[rank][slabs.first_partial + block] = part;
    }
};
#endif
