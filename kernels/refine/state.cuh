// A legal placement for detailed placement: cells on rows, and the wires between them, as src/refine has them.
//
// All numbers are doubles, whatever PF_REAL is. Every product is rounded (`times`), so that no product and sum become
// one operation: with sums in the order of src/refine, results have the CPU's bits.
//
// Where cells stand: each band has a bit per site, set at left edges of cells, and beside it the cell. A search for
// neighbours looks for set bits; a move clears and sets one bit per band. Everything else is as on the CPU: nets by
// cell (pins, ascending by net), cells by net (members, ascending by cell), and of every net the two outermost cells
// on each side.
#pragma once
#include "device/reduce.cuh"

using i64 = long long;

/// Stands for fixed pins where a cell is named, and for no fence and no band.
constexpr u32 NONE = 0xffffffffu;
/// No cell at the left, or at the right.
constexpr int FAR_LEFT = -2147483647 - 1, FAR_RIGHT = 2147483647;

/// A cell's part of a net: the box that its pins span, `[max x, max -x, max y, max -y]` from its centre.
struct alignas(8) Pin {
    u32 net, member;
    double sides[4];
};

/// A net's part of a cell: the box that its pins span on the die.
struct alignas(8) Member {
    double sides[4];
    u32 cell, padding;
};

/// The outermost two cells of a net on its high and its low side along one axis.
struct alignas(16) Outermost {
    double first[2], second[2];
    u32 first_of[2], second_of[2];
    double weight;
    u64 padding;
};

/// What a cell is.
struct alignas(16) Cell {
    double centre, half_height;  // from the left edge of its first site, and from its bottom edge
    double origin_x, origin_y;   // where its displacement counts from
    u64 nets;                    // a bit for each of its nets; several may have one
    int sites;
    u32 kind, fence, view;
    u32 home_row, heavy;         // the first of its pins in `Refine::reaches`, if it has more than FEW_PINS
};

/// Where a cell stands.
struct alignas(16) Spot {
    u32 row;
    int site;
    u32 mirrored, padding;
};

/// The centre of a cell, and how it lies against how it lay at first.
struct alignas(8) Pose {
    double x, y;
    u32 mirrored, flipped;
};

/// A cell and where it is to stand.
struct alignas(16) Change {
    u32 cell, row;
    int site;
    u32 mirrored;
};

/// Least slopes of the length of a cell's nets for moves to the right, left, up and down, and the most that it gains
/// if it is turned upside down.
struct alignas(8) Slopes {
    double towards[4];
    double turned;
};

struct alignas(8) RowOfSites {
    double x, pitch, y;
    u32 flipped, band;
};

struct alignas(8) KindOfCell {
    u32 mirrors, follows_rows;
};

/// The sites of a band that bits and cells are there for: 64 per word.
struct alignas(8) BandOfSites {
    u64 word;
    u32 words;
    int first;
};

struct alignas(8) RunOfSites {
    int start, end;
    u32 fence, padding;
};

/// A net of a cell along one axis, as it is without the cell.
struct alignas(8) Reach {
    double others[2], pins[2], weight;

    __device__ __forceinline__ double length(double at, bool reversed) const {
        const double a = reversed ? pins[1] : pins[0], b = reversed ? pins[0] : pins[1];
        double high = a + at, low = b - at;
        high = high > others[0] ? high : others[0];
        low = low > others[1] ? low : others[1];
        return __dmul_rn(weight, high + low);
    }
};

/// A breakpoint of a piecewise-linear function.
struct alignas(16) Break {
    double at, rise;
};

/// An end of a net of a cell in a stretch: where the slope of its length rises, in two parts, and the cell.
struct alignas(8) Ends {
    i64 weight;
    i64 part[2];
    int whole[2];
    int cell, padding;
};

/// Numbers of one batch of proposals.
struct alignas(8) Counters {
    u32 waiting[2];  // proposals that wait, in the two lists that turns read and write alternately
    u32 made, ends;  // proposals that are made in a turn, and the first free of `Refine::ends`
    u32 turns, padding;
    u64 low[GAIN_SUMS], high[GAIN_SUMS];  // sums of the lower 32 bits of gains, and of the rest
};

/// All of it.
struct Refine {
    const Cell* cells;
    Spot* spots;
    Pose* poses;
    const u32* pin_start;
    const Pin* pins;
    const u32* member_start;
    Member* members;
    const double* fixed;      // four sides of a net's fixed pins
    Outermost* extremes;      // two for each net
    Slopes* slopes;
    u8* stale;                // whether slopes have to be computed again
    const RowOfSites* rows;
    const KindOfCell* kinds;
    const u32* kind_bands;    // by kind and row the first band and the end, or NONE
    const u32* segment_start; // by view and row
    const RunOfSites* segments;
    const u32* free_start;    // by view and band
    const RunOfSites* free;
    const BandOfSites* bands;
    u64* edges;
    u32* standing;
    u64* changed;             // by resource, the greatest stamp of a proposal that changes it, and that uses it
    u64* used;
    Reach* reaches;           // of cells with many pins, for propose_swap: along x, and along y
    Break* breaks;
    Ends* ends;
    Change* changes;          // `stride` for each proposal
    u32* counts;              // of changes
    i64* gains;
    u32* waiting[2];
    u32* made;
    Counters* counters;
    double limit, least_gain, length_units, weight_units;
    u32 cell_count, net_count, row_count, band_count, first_row, end_row;
};

/// Tasks that propose in the same placement: `count` of them from number `first` on, of `all`. In propose_swap a warp
/// has `lanes` tasks.
struct Batch {
    u32 all, apart, first, count, stride, turn, lanes;
};

__device__ __forceinline__ double times(double a, double b) { return __dmul_rn(a, b); }

/// The task at a place in their order: those `apart` from one another from the first one on, then those from the
/// second.
__device__ __forceinline__ u32 nth(const Batch& batch, u32 place) {
    const u32 each = batch.all / batch.apart, longer = batch.all % batch.apart;
    const u64 of_longer = u64(longer) * (each + 1);
    if (place < of_longer) return place / (each + 1) + place % (each + 1) * batch.apart;
    place -= u32(of_longer);
    return longer + place / each + place % each * batch.apart;
}

// Rows and sites

__device__ __forceinline__ double left_of(const RowOfSites& row, int site) {
    return row.x + times(double(site), row.pitch);
}

__device__ __forceinline__ Pose pose_at(const Refine& s, u32 cell, u32 row, int site, u32 mirrored) {
    const Cell& of = s.cells[cell];
    const RowOfSites& on = s.rows[row];
    Pose pose;
    pose.x = left_of(on, site) + of.centre;
    pose.y = on.y + of.half_height;
    pose.mirrored = mirrored;
    pose.flipped = s.kinds[of.kind].follows_rows && on.flipped != s.rows[of.home_row].flipped;
    return pose;
}

/// The bands that a cell takes on a row: `first..end`; false where it may not stand.
__device__ __forceinline__ bool bands_of(const Refine& s, const Cell& of, u32 row, u32& first, u32& end) {
    const u32* bands = s.kind_bands + 2 * (size_t(of.kind) * s.row_count + row);
    first = bands[0];
    end = bands[1];
    return first != NONE;
}

__device__ __forceinline__ bool is_single(const Refine& s, const Cell& of, u32 row) {
    u32 first, end;
    return bands_of(s, of, row, first, end) && end - first == 1;
}

/// The least left edge of a cell in a band at `site` or beyond; FAR_RIGHT if there is none.
__device__ __forceinline__ int edge_from(const Refine& s, u32 band, int site) {
    const BandOfSites of = s.bands[band];
    i64 at = i64(site) - of.first;
    at = at < 0 ? 0 : at;
    u32 word = u32(min(at >> 6, i64(of.words)));
    if (word == of.words) return FAR_RIGHT;
    u64 bits = s.edges[of.word + word] >> (at & 63) << (at & 63);
    while (!bits) {
        if (++word == of.words) return FAR_RIGHT;
        bits = s.edges[of.word + word];
    }
    return of.first + int(word * 64 + __ffsll(i64(bits)) - 1);
}

/// The greatest left edge of a cell in a band before `site`; FAR_LEFT if there is none.
__device__ __forceinline__ int edge_before(const Refine& s, u32 band, int site) {
    const BandOfSites of = s.bands[band];
    const i64 at = min(i64(site) - of.first, i64(of.words) * 64) - 1;
    if (at < 0) return FAR_LEFT;
    u32 word = u32(at >> 6);
    u64 bits = s.edges[of.word + word] << (63 - (at & 63)) >> (63 - (at & 63));
    while (!bits) {
        if (word-- == 0) return FAR_LEFT;
        bits = s.edges[of.word + word];
    }
    return of.first + int(word * 64 + 63 - __clzll(i64(bits)));
}

/// The place of a site of a band in `Refine::standing`.
__device__ __forceinline__ size_t place_of(const Refine& s, u32 band, int site) {
    const BandOfSites of = s.bands[band];
    return size_t(of.word) * 64 + size_t(site - of.first);
}

/// The cell whose left edge is there.
__device__ __forceinline__ u32 cell_at(const Refine& s, u32 band, int edge) {
    return s.standing[place_of(s, band, edge)];
}

/// The right edge of the cell whose left edge is there.
__device__ __forceinline__ int right_of(const Refine& s, u32 band, int edge) {
    return edge + s.cells[cell_at(s, band, edge)].sites;
}

struct Runs {
    const RunOfSites* of;
    u32 count;

    /// How many begin at `site` or before.
    __device__ __forceinline__ u32 until(int site) const {
        u32 low = 0, high = count;
        while (low < high) {
            const u32 middle = (low + high) / 2;
            if (of[middle].start <= site) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        return low;
    }
};

__device__ __forceinline__ Runs segments_of(const Refine& s, const Cell& of, u32 row) {
    const u32* start = s.segment_start + size_t(of.view) * s.row_count + row;
    return {s.segments + start[0], start[1] - start[0]};
}

__device__ __forceinline__ Runs free_of(const Refine& s, const Cell& of, u32 band) {
    const u32* start = s.free_start + size_t(of.view) * s.band_count + band;
    return {s.free + start[0], start[1] - start[0]};
}

/// Sites `left..right`.
struct Span {
    int left, right;
};

__device__ __forceinline__ bool lies_in(const Span& span, const Runs& runs, u32 fence) {
    const u32 after = runs.until(span.left);
    return after && runs.of[after - 1].end >= span.right && runs.of[after - 1].fence == fence;
}

__device__ __forceinline__ bool holds(const Refine& s, const Cell& of, u32 row, int site) {
    return lies_in({site, site + of.sites}, segments_of(s, of, row), of.fence);
}

/// Whether a cell may stand there, where no cell is but those that `passes` accepts.
template <typename F> __device__ __forceinline__ bool fits(const Refine& s, u32 cell, u32 row, int site, F passes) {
    const Cell& of = s.cells[cell];
    if (s.limit < 1.0 / 0.0) {
        const Pose to = pose_at(s, cell, row, site, 0);
        if (!(fabs(to.x - of.origin_x) + fabs(to.y - of.origin_y) <= s.limit)) return false;
    }
    u32 band, end;
    if (!holds(s, of, row, site) || !bands_of(s, of, row, band, end)) return false;
    const Span span = {site, site + of.sites};
    for (; band < end; ++band) {
        for (int edge = edge_before(s, band, span.right); edge != FAR_LEFT; edge = edge_before(s, band, edge)) {
            const u32 other = cell_at(s, band, edge);
            if (edge + s.cells[other].sites <= span.left) break;
            if (!passes(other)) return false;
        }
        if (!lies_in(span, free_of(s, of, band), of.fence)) return false;
    }
    return true;
}

// Wires

__device__ __forceinline__ u64 bit_of(u32 net) { return u64(1) << (net % 64); }

/// The pin of a cell on a net, or NONE.
__device__ __forceinline__ u32 pin_on(const Refine& s, u32 cell, u32 net) {
    u32 low = s.pin_start[cell], end = s.pin_start[cell + 1], high = end;
    while (low < high) {
        const u32 middle = (low + high) / 2;
        if (s.pins[middle].net < net) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < end && s.pins[low].net == net ? low : NONE;
}

/// The sides of a pin of a cell that lies so.
__device__ __forceinline__ void on_die(const Pin& pin, const Pose& pose, double (&sides)[4]) {
    const u32 x = pose.mirrored ? 1 : 0, y = pose.flipped ? 3 : 2;
    sides[0] = pin.sides[x] + pose.x;
    sides[1] = pin.sides[1 - x] - pose.x;
    sides[2] = pin.sides[y] + pose.y;
    sides[3] = pin.sides[5 - y] - pose.y;
}

__device__ __forceinline__ void enlarge(double (&sides)[4], const double (&by)[4]) {
#pragma unroll
    for (u32 k = 0; k < 4; ++k) sides[k] = by[k] > sides[k] ? by[k] : sides[k];
}

__device__ __forceinline__ double length_of(const double (&sides)[4]) {
    return (sides[0] + sides[1]) + (sides[2] + sides[3]);
}

__device__ __forceinline__ void whole_of(const Outermost* net, double (&sides)[4]) {
#pragma unroll
    for (u32 k = 0; k < 4; ++k) sides[k] = net[k / 2].first[k % 2];
}

/// The sides of the other cells of a net.
__device__ __forceinline__ void without(const Outermost* net, u32 cell, double (&sides)[4]) {
#pragma unroll
    for (u32 k = 0; k < 4; ++k) {
        const Outermost& axis = net[k / 2];
        sides[k] = axis.first_of[k % 2] == cell ? axis.second[k % 2] : axis.first[k % 2];
    }
}

/// One side of the cells of a net that are not `left_out`, and of its fixed pins; with a WARP all lanes ask for it.
template <bool WARP = false, typename F>
__device__ __forceinline__ double side_without(const Refine& s, u32 net, u32 k, F left_out) {
    const Outermost& axis = s.extremes[2 * size_t(net) + k / 2];
    if (!left_out(axis.first_of[k % 2])) return axis.first[k % 2];
    if (!left_out(axis.second_of[k % 2])) return axis.second[k % 2];
    double side = s.fixed[4 * size_t(net) + k];
    const u32 lane = WARP ? threadIdx.x % 32 : 0;
    for (u32 m = s.member_start[net] + lane; m < s.member_start[net + 1]; m += WARP ? 32 : 1) {
        const Member& member = s.members[m];
        if (member.sides[k] > side && !left_out(member.cell)) side = member.sides[k];
    }
    for (u32 n = WARP ? 16 : 0; n > 0; n /= 2) {
        const double other = __shfl_xor_sync(ALL_LANES, side, n);
        side = other > side ? other : side;
    }
    return side;
}

__device__ __forceinline__ bool names(const Outermost& axis, u32 cell) {
    return axis.first_of[0] == cell || axis.first_of[1] == cell || axis.second_of[0] == cell ||
           axis.second_of[1] == cell;
}

/// Whether which cells of a net are outermost, or how far out, changes if a cell spans these sides.
__device__ __forceinline__ bool changes_net(const Outermost* net, u32 cell, const double (&sides)[4]) {
#pragma unroll
    for (u32 axis = 0; axis < 2; ++axis) {
        if (names(net[axis], cell)) return true;
        if (sides[2 * axis] > net[axis].second[0] || sides[2 * axis + 1] > net[axis].second[1]) return true;
    }
    return false;
}

/// A weighted length in whole units, towards 0.
__device__ __forceinline__ i64 units_of(const Refine& s, double length) {
    return __double2ll_rz(times(length, s.length_units));
}

__device__ __forceinline__ double length_of_units(const Refine& s, i64 units) {
    return __ll2double_rn(units) / s.length_units;
}

/// The cell's net along an axis as it is without the cell.
__device__ __forceinline__ Reach reach_of(const Refine& s, u32 cell, const Pin& pin, u32 axis) {
    const Outermost& of = s.extremes[2 * size_t(pin.net) + axis];
    Reach reach;
#pragma unroll
    for (u32 k = 0; k < 2; ++k) {
        reach.others[k] = of.first_of[k] == cell ? of.second[k] : of.first[k];
        reach.pins[k] = pin.sides[2 * axis + k];
    }
    reach.weight = of.weight;
    return reach;
}

__device__ __forceinline__ Slopes slopes_of(const Refine& s, u32 cell) {
    Slopes slopes = {};
    for (u32 p = s.pin_start[cell]; p < s.pin_start[cell + 1]; ++p) {
        const Pin& pin = s.pins[p];
        for (u32 axis = 0; axis < 2; ++axis) {
            const Outermost& of = s.extremes[2 * size_t(pin.net) + axis];
            for (u32 k = 0; k < 2; ++k) {
                if (of.first_of[k] != cell) continue;
                slopes.towards[2 * axis + k] += of.weight;
                if (of.first[k] > of.second[k]) slopes.towards[2 * axis + 1 - k] -= of.weight;
            }
            if (axis == 1 && (of.first_of[0] == cell || of.first_of[1] == cell)) {
                slopes.turned += times(of.weight, fabs(pin.sides[2] - pin.sides[3]));
            }
        }
    }
    return slopes;
}

/// Adds a proposal, the batch's `index`-th, if it has changes.
__device__ __forceinline__ void propose(const Refine& s, u32 index, u32 changes) {
    s.counts[index] = changes;
    if (changes) s.waiting[0][atomicAdd(&s.counters->waiting[0], 1u)] = index;
}
