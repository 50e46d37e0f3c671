// Where lines stand in memory, and how a thread reads and writes its elements of one there:
// as neighbours 2q and 2q+1 of the line itself, or as coefficients k of its spectrum.
//
// A line is two real lines, the real and the imaginary part of complex numbers:
//   MapRows       rows 2l and 2l+1 of a map [rows][N]
//   MapColumns    columns 2l and 2l+1 of a map [N][across]
//   PanelRows     the same rows between passes along rows and columns
//   PanelColumns  the same columns there
//   GroupColumns  columns between a first pass along columns and one along rows
//   GroupRows     rows there
// Between passes rows 2r and 2r+1 stay together as complex numbers, in panels of columns,
// [panel][row pair][column of the panel], so that passes along either axis read and write
// neighbours. The last panel may have columns that the map has not: passes along rows write
// zeros there, so that a pass along columns may take them with the others, and never read them.
// Where blocks have too few columns to write whole
// sectors of a map, a DCT begins along columns and leaves columns 2c and 2c+1 together, in
// groups of the C lines of a block, [group][row][C].
//
// A place is made for map `map` of a batch, of which `lines` lines (pairs of real lines) are
// transformed; `line` is the thread's.
//
//   SlabPanelRows rows between the passes of a solve by slabs, in the panels of the ranks that
//                 own the columns (peers/peers.cuh)
#pragma once
#include "fft/inputs.cuh"
#include "lines/block_fft.cuh"
#include "lines/real_lines.cuh"
#include "peers/peers.cuh"

/// Columns of a panel: 64 bytes of a row pair, unless defined otherwise.
#ifndef PF_PANEL
#define PF_PANEL (64 / sizeof(cplx))
#endif
constexpr u32 PANEL = PF_PANEL;

/// Where the complex number of a column and a row pair stands between passes.
template <u32 WIDTH = PANEL> __device__ __forceinline__ u32 panel_at(u32 column, u32 pair, u32 pairs) {
    return (column / WIDTH * pairs + pair) * WIDTH + column % WIDTH;
}

/// Complex numbers of a map of so many columns and row pairs, whole panels.
__device__ __forceinline__ size_t panels(u32 columns, u32 pairs) {
    return size_t((columns + PANEL - 1) / PANEL * PANEL) * pairs;
}

/// Reads neighbours of rows in pairs: those at `offset` from t (end 0) or from N-1-t (end 1) are at
/// ends[end][offset · step] of the even row, `next` further on of the odd one.
template <typename Fft, typename Two, typename Step>
__device__ __forceinline__ void load_rows(cplx* v, const Two* const (&ends)[2], Step step, Step next) {
    Fft::neighbours(v, [&](int end, int offset, cplx& a, cplx& b) {
        const cplx x = as_cplx(ends[end][offset * step]), y = as_cplx(ends[end][offset * step + next]);
        a = make(x.x, y.x);
        b = make(x.y, y.y);
    });
}
/// Writes them, elements 2q times `even`, 2q+1 times `odd`.
template <typename Fft>
__device__ __forceinline__ void store_rows(cplx* v, cplx* const (&ends)[2], int step, int next, real even, real odd) {
    Fft::neighbours(v, [&](int end, int offset, cplx& a, cplx& b) {
        ends[end][offset * step] = make(even * a.x, odd * b.x);
        ends[end][offset * step + next] = make(even * a.y, odd * b.y);
    });
}

/// Reads a column of a panel, from `column` on, and the one `next` columns on as one line.
template <typename Fft>
__device__ __forceinline__ void load_panel_columns(cplx* v, u32 t, const cplx* column, int next) {
    const cplx* const ends[2] = {column + t * PANEL, column + (Fft::LENGTH - 1 - t) * PANEL};
    load_rows<Fft>(v, ends, int(PANEL), next);
}

/// ODD: the number of rows, `across`, is odd, and the last line's two rows are the same one.
template <typename Fft, bool ODD> struct MapRows {
    using Value = real;
    static constexpr int N = Fft::LENGTH;
    size_t first;
    int next;  // from an even row to the odd one

    __device__ __forceinline__ MapRows(u32 map, u32 line, u32 lines, u32 across)
        : first((map * size_t(ODD ? across : 2 * lines) + 2 * line) * N),
          next(ODD && 2 * line + 1 >= across ? 0 : N) {}
    __device__ __forceinline__ int odd_row() const { return ODD ? next : N; }

    template <typename In> __device__ __forceinline__ void load_neighbours(cplx* v, u32 t, const In* map) const {
        const auto* even = twos(map + first);
        const decltype(even) ends[2] = {even + t, even + (N - 1 - t)};
        // (load_rows would have the next row's distance in a register where the number of rows is odd.)
        Fft::neighbours(v, [&](int end, int offset, cplx& a, cplx& b) {
            const cplx x = as_cplx(ends[end][offset]), y = as_cplx(ends[end][offset + odd_row() / 2]);
            a = make(x.x, y.x);
            b = make(x.y, y.y);
        });
    }
    template <typename In> __device__ __forceinline__ void load_coefficients(cplx* v, u32 t, const In* map) const {
        const In* even = map + first;
        Fft::coefficients(v, t, [&](u32 k, u32 offset, cplx& a) {
            a = make(real(even[k + offset]), real(even[k + offset + odd_row()]));
        });
    }
    __device__ __forceinline__ void store_neighbours(cplx* v, u32 t, real* map, real even, real odd) const {
        cplx* const row = reinterpret_cast<cplx*>(map + first);
        cplx* const ends[2] = {row + t, row + (N - 1 - t)};
        store_rows<Fft>(v, ends, 1, odd_row() / 2, even, odd);
    }
    template <typename Keep>
    __device__ __forceinline__ void store_coefficients(cplx* v, u32 t, real* map, real scale, Keep& keep) const {
        real* const even = map + first;
        Fft::coefficients(v, t, [&](u32 k, u32 offset, cplx& a) {
            even[k + offset] = keep(scale * a.x);
            even[k + offset + odd_row()] = keep(scale * a.y, odd_row() > 0);
        });
    }
};

template <typename Fft, bool> struct MapColumns {
    using Value = real;
    static constexpr int N = Fft::LENGTH;
    size_t first;
    u32 across;

    __device__ __forceinline__ MapColumns(u32 map, u32 line, u32 lines, u32 across)
        : first(map * (size_t(N) * across) + 2 * line), across(across) {}

    template <typename In> __device__ __forceinline__ void load_neighbours(cplx* v, u32 t, const In* map) const {
        const In* const from = map + first;
        const In* const ends[2] = {from + size_t(2 * t) * across, from + size_t(2 * (N - 1 - t)) * across};
        Fft::neighbours(v, [&](int end, int offset, cplx& a, cplx& b) {
            const In* at = ends[end] + (long long)(2 * offset) * across;
            a = two_at(at);
            b = two_at(at + across);
        });
    }
    template <typename In> __device__ __forceinline__ void load_coefficients(cplx* v, u32 t, const In* map) const {
        const In* const from = map + first;
        Fft::coefficients(v, t, [&](u32 k, u32 offset, cplx& a) { a = two_at(from + size_t(k + offset) * across); });
    }
    __device__ __forceinline__ void store_neighbours(cplx* v, u32 t, real* map, real even, real odd) const {
        real* const to = map + first;
        real* const ends[2] = {to + size_t(2 * t) * across, to + size_t(2 * (N - 1 - t)) * across};
        Fft::neighbours(v, [&](int end, int offset, cplx& a, cplx& b) {
            real* at = ends[end] + (long long)(2 * offset) * across;
            *reinterpret_cast<cplx*>(at) = make(even * a.x, even * a.y);
            *reinterpret_cast<cplx*>(at + across) = make(odd * b.x, odd * b.y);
        });
    }
    template <typename Keep>
    __device__ __forceinline__ void store_coefficients(cplx* v, u32 t, real* map, real scale, Keep& keep) const {
        real* const to = map + first;
        Fft::coefficients(v, t, [&](u32 k, u32 offset, cplx& a) {
            real* const at = to + size_t(k + offset) * across;
            *reinterpret_cast<cplx*>(at) = make(keep(scale * a.x), keep(scale * a.y));
        });
    }
};

/// `lines` is a multiple of C.
template <typename Fft, bool> struct GroupColumns {
    using Value = cplx;
    static constexpr int N = Fft::LENGTH, C = Fft::LINES;
    size_t first;

    __device__ __forceinline__ GroupColumns(u32 map, u32 line, u32 lines, u32)
        : first((map * size_t(lines) + line / C * C) * N + line % C) {}

    template <typename Keep>
    __device__ __forceinline__ void store_coefficients(cplx* v, u32 t, cplx* out, real, Keep&) const {
        out += first;
        Fft::coefficients(v, t, [&](u32 k, u32 offset, cplx& a) { out[(k + offset) * C] = a; });
    }
};

/// `across` is the C of the pass before.
template <typename Fft, bool> struct GroupRows {
    using Value = cplx;
    static constexpr int N = Fft::LENGTH;
    size_t map;
    u32 line, lines, group;

    __device__ __forceinline__ GroupRows(u32 map, u32 line, u32 lines, u32 group)
        : map(map * (size_t(N) * lines)), line(line), lines(lines), group(group) {}

    __device__ __forceinline__ void load_neighbours(cplx* v, u32 t, const cplx* in) const {
        const long long rows = 2 * lines;
        const auto at = [&](u32 q) { return in + map + ((q / group) * rows + 2 * line) * group + q % group; };
        const cplx* const ends[2] = {at(t), at(N - 1 - t)};
        load_rows<Fft>(v, ends, rows, (long long)(group));
    }
};

template <typename Fft, bool> struct PanelRows {
    using Value = cplx;
    static constexpr u32 N = Fft::LENGTH;
    size_t first;
    u32 pair, pairs;

    __device__ __forceinline__ PanelRows(u32 map, u32 line, u32 lines, u32)
        : first(map * panels(N, lines)), pair(line), pairs(lines) {}

    /// The fewest coefficients that are whole panels and a multiple of M.
    static __device__ __forceinline__ constexpr u32 whole_panels() {
        u32 count = Fft::M;
        while (count % PANEL != 0) count += Fft::M;
        return count;
    }
    /// Where coefficient k + offset stands, for a constant `offset`, a multiple of M: whole panels further on
    /// is as far for every thread.
    __device__ __forceinline__ u32 at(u32 k, u32 offset) const {
        constexpr u32 WHOLE = whole_panels();
        return panel_at(k + offset % WHOLE, pair, pairs) + offset / WHOLE * WHOLE * pairs;
    }
    __device__ __forceinline__ void load_coefficients(cplx* v, u32 t, const cplx* in) const {
        in += first;
        Fft::coefficients(v, t, [&](u32 k, u32 offset, cplx& a) { a = in[at(k, offset)]; });
    }
    template <typename Keep>
    __device__ __forceinline__ void store_coefficients(cplx* v, u32 t, cplx* out, real, Keep&) const {
        out += first;
        Fft::coefficients(v, t, [&](u32 k, u32 offset, cplx& a) { out[at(k, offset)] = a; });
        if constexpr (N % PANEL != 0)
            for (u32 k = N + t; k < (N + PANEL - 1) / PANEL * PANEL; k += Fft::T)
                out[panel_at(k, pair, pairs)] = make(0, 0);
    }
};

#if PF_PEERS
template <typename Fft, bool> struct SlabPanelRows {
    u32 line;

    __device__ __forceinline__ SlabPanelRows(u32, u32 line, u32, u32) : line(line) {}

    template <typename Keep>
    __device__ __forceinline__ void store_coefficients(cplx* v, u32 t, const Slabs& to, real, Keep&) const {
        const u32 pair = to.first_pair[to.rank] + line, pairs = to.first_pair[PF_PEERS];
        Fft::coefficients(v, t, [&](u32 k, u32 offset, cplx& a) {
            const u32 owner = owner_of(to.first_panel, (k + offset) / PANEL);
            to.columns[owner][panel_at(k + offset - to.first_panel[owner] * PANEL, pair, pairs)] = a;
        });
    }
};
#endif

template <typename Fft, bool> struct PanelColumns {
    using Value = cplx;
    static constexpr int N = Fft::LENGTH;
    size_t first;

    __device__ __forceinline__ PanelColumns(u32 map, u32 line, u32 lines, u32)
        : first(map * panels(2 * lines, N / 2) + panel_at(2 * line, 0, N / 2)) {}

    __device__ __forceinline__ void load_neighbours(cplx* v, u32 t, const cplx* in) const {
        load_panel_columns<Fft>(v, t, in + first, 1);
    }
    __device__ __forceinline__ void store_neighbours(cplx* v, u32 t, cplx* out, real even, real odd) const {
        out += first;
        cplx* const ends[2] = {out + t * PANEL, out + (N - 1 - t) * PANEL};
        store_rows<Fft>(v, ends, int(PANEL), 1, even, odd);
    }
};
