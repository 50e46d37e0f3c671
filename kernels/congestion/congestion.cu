// Congestion maps of a placement: RUDY and related maps, by the formulas of src/congestion/maps.md, with the bits of
// src/congestion on the CPU. All numbers are doubles, whatever PF_REAL is.
//
//   congestion_nets       the boxes of nets, and their pins; a thread per net
//   congestion_large_nets the same; a block per net of many pins
//   congestion_cells      the area or the number of cells, and the pins of a cell spread over it; a thread per node
//   congestion_macros     the area of macros; a thread per macro
//   congestion_integrate  second differences to sums along one axis; a warp per line
//   congestion_finish     sums to maps; a thread per bin
//
// A box adds x[a]·y[b] to the bins that it covers, where a and b are "first", "between" and "last" along an axis. The
// nine products are rounded to 64-bit integers. For a box of at most DIRECT bins they are added to the bins; for a
// larger one their second differences along both axes, 16 numbers however large the box is, from which
// congestion_integrate makes sums. Integers have the same sum in any order: the same bits on every run.
//
// Data: maps of sums have (nx + 1)·(ny + 1) entries, y contiguous, with a column and a row beyond the last bin for
// boxes that end there; an entry has one number or two. Nets are CSR, pins as offsets from their node's centre.
//
// Memory traffic: per pin 5 values (node, offset, the node's position) twice, of which 2 at random; per net 2 atomics
// per bin or 32; per bin 11 zeroed, 5 integrated along both axes and 11 written. Blocks have 256 threads; 256 bytes
// of shared memory for a large net's bounds.
#include "device/reduce.cuh"

/// Numbers that a box of so many bins adds to them at most: more take second differences.
constexpr u32 DIRECT = 8;

/// One axis of bins.
struct Axis {
    const double* edges;  // ascending, one more than bins
    double per_bin;       // bins per unit of length where all are equally wide, else 0
    double mean;          // width of a bin
    u32 bins, padding;

    __device__ __forceinline__ double width(u32 bin) const { return edges[bin + 1] - edges[bin]; }
    /// Where `at` lies, in bins from the first edge, moved to the nearest end if it is beyond.
    __device__ __forceinline__ double in_bins(double at) const {
        double u;
        if (per_bin > 0) {
            u = (at - edges[0]) * per_bin;
        } else {
            u32 low = 0, high = bins + 1;  // the first edge beyond `at`
            while (low < high) {
                const u32 middle = (low + high) / 2;
                if (edges[middle] <= at) {
                    low = middle + 1;
                } else {
                    high = middle;
                }
            }
            const u32 bin = min(max(low, 1u), bins) - 1;
            u = bin + (at - edges[bin]) / width(bin);
        }
        return u < 0 ? 0 : u > bins ? double(bins) : u;
    }
    __device__ __forceinline__ bool holds(double at) const { return at >= edges[0] && at <= edges[bins]; }
};

/// Bins as one convention counts them.
struct Grid {
    Axis x, y;
    u32 but_the_last;  // a bin holds its right edge, and of several bins the last is left out
    u32 convention;    // 0 CircuitNet, 1 DREAMPlace, 2 OpenROAD

    __device__ __forceinline__ size_t entry(u32 i, u32 j) const { return size_t(i) * (y.bins + 1) + j; }
    __device__ __forceinline__ u32 bin(const Axis& axis, double at) const {
        const double u = axis.in_bins(at);
        if (!but_the_last) return min(u32(u), axis.bins - 1);
        const u32 end = u32(ceil(u));
        return end ? end - 1 : 0;
    }
};
constexpr u32 CIRCUITNET = 0, DREAMPLACE = 1, OPENROAD = 2;

/// The bins of one axis that an interval covers, and its share of the first and, of several, of the last.
struct Cover {
    u32 first, last;
    double head, tail;

    __device__ __forceinline__ u32 count() const { return last - first + 1; }
    /// Shares of the first bin, of those between and of the last.
    __device__ __forceinline__ void shares(double (&to)[3]) const {
        to[0] = head;
        to[1] = first == last ? 0.0 : 1.0;
        to[2] = tail;
    }
    /// Those shares over the interval's length, or their limit if it has none.
    __device__ __forceinline__ void shares_per_length(const Axis& axis, double length, double (&to)[3]) const {
        const double most = 1.0 / axis.width(first);
        to[0] = length > 0 ? fmin(head / length, most) : most;
        to[1] = first == last ? 0.0 : 1.0 / length;
        to[2] = first == last || tail == 0 ? 0.0 : fmin(tail / length, 1.0 / axis.width(last));
    }
};

/// Whether `[low, high]` covers any bin, and which.
__device__ __forceinline__ bool cover_of(const Grid& grid, const Axis& axis, double low, double high, Cover& cover) {
    // Written so that a NaN fails it.
    if (!(low <= high && high >= axis.edges[0] && low <= axis.edges[axis.bins])) return false;
    const double from = axis.in_bins(low), to = axis.in_bins(high);
    const u32 beyond = u32(ceil(to)), end = beyond ? beyond - 1 : 0;
    const u32 ceiling = u32(ceil(from));
    cover.first = grid.but_the_last ? (ceiling ? ceiling - 1 : 0) : min(u32(from), axis.bins - 1);
    cover.last = max(end, cover.first);
    const bool one = cover.first == cover.last;
    cover.head = fmax(one ? fmin(to - from, 1.0) : double(cover.first + 1) - from, 0.0);
    cover.tail = one || grid.but_the_last ? 0.0 : fmax(to - double(cover.last), 0.0);
    return true;
}

__device__ __forceinline__ void add_number(u64* to, u64 value) {
    if (value) atomicAdd(to, value);
}
__device__ __forceinline__ u64 integer(double value) { return u64(__double2ll_rn(value)); }

/// The contribution of one channel of a box: products of factors along x and along y.
struct Factors {
    double x[3], y[3];
};

/// Sums that boxes add to: those of bins, and second differences; entries of `channels` numbers.
struct Sums {
    u64 *bins, *differences;
};

template <u32 C>
__device__ __forceinline__ void add_box(const Grid& grid, const Sums& sums, const Cover& x, const Cover& y,
                                        const Factors (&factors)[C], double scale) {
    u64 products[3][3][C];
#pragma unroll
    for (u32 a = 0; a < 3; ++a)
#pragma unroll
        for (u32 b = 0; b < 3; ++b)
#pragma unroll
            for (u32 c = 0; c < C; ++c) products[a][b][c] = integer(factors[c].x[a] * scale * factors[c].y[b]);
    if (x.count() * y.count() <= DIRECT && x.count() <= DIRECT && y.count() <= DIRECT) {
        for (u32 i = x.first; i <= x.last; ++i)
            for (u32 j = y.first; j <= y.last; ++j) {
                const bool left = i == x.first, right = !left && i == x.last;
                const bool low = j == y.first, high = !low && j == y.last;
#pragma unroll
                for (u32 c = 0; c < C; ++c) {
                    // Selected and not indexed: the products stay in registers.
                    const u64 at_low = left ? products[0][0][c] : right ? products[2][0][c] : products[1][0][c];
                    const u64 between = left ? products[0][1][c] : right ? products[2][1][c] : products[1][1][c];
                    const u64 at_high = left ? products[0][2][c] : right ? products[2][2][c] : products[1][2][c];
                    add_number(sums.bins + C * grid.entry(i, j) + c, low ? at_low : high ? at_high : between);
                }
            }
        return;
    }
    const u32 columns[4] = {x.first, x.first + 1, x.last, x.last + 1};
    const u32 rows[4] = {y.first, y.first + 1, y.last, y.last + 1};
#pragma unroll
    for (u32 a = 0; a < 4; ++a)
#pragma unroll
        for (u32 b = 0; b < 4; ++b)
#pragma unroll
            for (u32 c = 0; c < C; ++c) {
                // Along x first, of the row's product and of that of the row before it.
                const u64 here =
                    b == 3 ? 0 : (a == 3 ? 0 : products[a % 3][b % 3][c]) - (a ? products[(a + 2) % 3][b % 3][c] : 0);
                const u64 before =
                    b ? (a == 3 ? 0 : products[a % 3][(b + 2) % 3][c]) - (a ? products[(a + 2) % 3][(b + 2) % 3][c] : 0)
                      : 0;
                add_number(sums.differences + C * grid.entry(columns[a], rows[b]) + c, here - before);
            }
}

/// The nets, as the host has arranged them.
struct Nets {
    const u32* start;      // of each net's pins, and their number
    const double* weight;  // 0 for one without wires
    const u32* pin_node;
    const double2* pin_offset;  // from the node's centre, turned as it is
    const double2* size;        // of every node, turned as it is
    const double *x, *y;        // lower-left corners of the nodes
    double wires_scale, pins_scale;
    double least_x, least_y;  // sides that pin RUDY divides by at least

    __device__ __forceinline__ double2 pin(u32 p) const {
        const u32 node = pin_node[p];
        const double2 offset = pin_offset[p], of = size[node];
        const double xl = x[node], yl = y[node];
        return make_double2((xl + (xl + of.x)) / 2 + offset.x, (yl + (yl + of.y)) / 2 + offset.y);
    }
};

/// Where nets add. Entries have two numbers.
struct NetSums {
    Sums wires;  // horizontal, vertical, of nets of several bins
    u64* within;  // the same of nets within one bin
    u64* pins;    // weighed by their nets, and their number
};

/// One net, of which a thread has the pins from `rank` on in steps of `size`; `join` makes bounds of all threads' own.
template <typename Join>
__device__ __forceinline__ void add_net(const Grid& grid, const Nets& nets, const NetSums& sums, u32 net, u32 rank,
                                        u32 size, Join join) {
    const u32 begin = nets.start[net], end = nets.start[net + 1];
    const double infinity = __longlong_as_double(0x7ff0000000000000LL);
    double xl = infinity, yl = infinity, xh = -infinity, yh = -infinity;
    for (u32 p = begin + rank; p < end; p += size) {
        const double2 at = nets.pin(p);
        xl = fmin(xl, at.x), xh = fmax(xh, at.x), yl = fmin(yl, at.y), yh = fmax(yh, at.y);
    }
    join(xl, yl, xh, yh);
    const double weight = nets.weight[net], width = fmax(xh - xl, 0.0), height = fmax(yh - yl, 0.0);
    const bool flat = width == 0 || height == 0, circuitnet = grid.convention == CIRCUITNET;
    Cover x, y;
    const bool in_x = cover_of(grid, grid.x, xl, xh, x), in_y = cover_of(grid, grid.y, yl, yh, y);
    if (rank == 0 && weight != 0 && in_x && in_y && isfinite(width) && isfinite(height) && (circuitnet || !flat)) {
        // Horizontal wires are as long as a bin's share of the width, and as many as its share of the height.
        Factors factors[2];
        x.shares(factors[0].x);
        y.shares_per_length(grid.y, height, factors[0].y);
        x.shares_per_length(grid.x, width, factors[1].x);
        y.shares(factors[1].y);
#pragma unroll
        for (u32 k = 0; k < 3; ++k) factors[0].y[k] *= weight, factors[1].x[k] *= weight;
        if (x.count() == 1 && y.count() == 1) {
            u64* const to = sums.within + 2 * grid.entry(x.first, y.first);
#pragma unroll
            for (u32 c = 0; c < 2; ++c)
                add_number(to + c, integer(factors[c].x[0] * factors[c].y[0] * nets.wires_scale));
        } else {
            add_box<2>(grid, sums.wires, x, y, factors, nets.wires_scale);
        }
    }
    double of_net;
    if (grid.convention == DREAMPLACE) {
        of_net = weight / (in_x ? x.count() : 1) + weight / (in_y ? y.count() : 1);
    } else {
        of_net = weight / fmax(width, nets.least_x) + weight / fmax(height, nets.least_y);
        if (grid.convention == OPENROAD && flat) of_net = 0;
    }
    const u64 values[2] = {integer(of_net * nets.pins_scale), integer(nets.pins_scale)};
    for (u32 p = begin + rank; p < end; p += size) {
        const double2 at = nets.pin(p);
        if (!grid.x.holds(at.x) || !grid.y.holds(at.y)) continue;
        u64* const to = sums.pins + 2 * grid.entry(grid.bin(grid.x, at.x), grid.bin(grid.y, at.y));
#pragma unroll
        for (u32 c = 0; c < 2; ++c) add_number(to + c, values[c]);
    }
}

// Blocks of congestion_nets that a multiprocessor runs at once, at least: as many as do without spilling anything.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1000
constexpr int NETS_BLOCKS = 2;
#else
constexpr int NETS_BLOCKS = 3;
#endif

/// The nets of `order`, of few pins each.
PF_KERNEL(BLOCK, NETS_BLOCKS) congestion_nets(Grid grid, Nets nets, NetSums sums, const u32* __restrict__ order,
                                              u32 count) {
    const u32 k = blockIdx.x * BLOCK + threadIdx.x;
    if (k < count) add_net(grid, nets, sums, order[k], 0, 1, [](double&, double&, double&, double&) {});
}

/// The net of `order` that is the block's.
PF_KERNEL(BLOCK, 2) congestion_large_nets(Grid grid, Nets nets, NetSums sums, const u32* __restrict__ order) {
    __shared__ double bounds[4][BLOCK / 32];
    add_net(grid, nets, sums, order[blockIdx.x], threadIdx.x, BLOCK,
            [](double& xl, double& yl, double& xh, double& yh) {
                const double own[4] = {warp_min(xl), warp_min(yl), warp_max(xh), warp_max(yh)};
                if (threadIdx.x % 32 == 0)
#pragma unroll
                    for (u32 k = 0; k < 4; ++k) bounds[k][threadIdx.x / 32] = own[k];
                __syncthreads();
                for (u32 warp = 0; warp < BLOCK / 32; ++warp) {
                    xl = fmin(xl, bounds[0][warp]), yl = fmin(yl, bounds[1][warp]);
                    xh = fmax(xh, bounds[2][warp]), yh = fmax(yh, bounds[3][warp]);
                }
            });
}

/// A node's pins, and whether it takes area, in one number.
constexpr u32 TAKES_AREA = 1u << 31;

/// Nodes, and where they add. Entries have one number.
struct Cells {
    const double2* size;
    const double *x, *y;
    const u32* pins;  // with TAKES_AREA
    Sums density, pin_utilization;
    double density_scale, pins_scale;
    u32 count, padding;
};

/// Adds a rectangle's shares of bins, or 1 to those it covers as CircuitNet counts them.
__device__ __forceinline__ void add_rectangle(const Grid& grid, const Sums& sums, const Cover& x, const Cover& y,
                                              double scale) {
    Factors factors[1];
    if (grid.convention == CIRCUITNET) {
#pragma unroll
        for (u32 k = 0; k < 3; ++k) {
            factors[0].x[k] = k == 0 || (k == 1 && x.count() > 1) ? 1.0 : 0.0;
            factors[0].y[k] = k == 0 || (k == 1 && y.count() > 1) ? 1.0 : 0.0;
        }
    } else {
        x.shares(factors[0].x);
        y.shares(factors[0].y);
    }
    add_box<1>(grid, sums, x, y, factors, scale);
}

PF_KERNEL(BLOCK) congestion_cells(Grid grid, Cells cells) {
    const u32 k = blockIdx.x * BLOCK + threadIdx.x;
    if (k >= cells.count) return;
    const double2 size = cells.size[k];
    const double xl = cells.x[k], yl = cells.y[k], xh = xl + size.x, yh = yl + size.y;
    const u32 pins = cells.pins[k] & ~TAKES_AREA;
    Cover x, y;
    if (cells.pins[k] & TAKES_AREA && cover_of(grid, grid.x, xl, xh, x) && cover_of(grid, grid.y, yl, yh, y))
        add_rectangle(grid, cells.density, x, y, cells.density_scale);
    if (grid.convention != DREAMPLACE || pins == 0) return;
    const double least = 1.4142135623730951;  // bins, LEAST_EXTENT in src/charge/smoothing.rs
    const double width = fmax(xh - xl, least * grid.x.mean), height = fmax(yh - yl, least * grid.y.mean);
    const double cx = (xl + xh) / 2, cy = (yl + yh) / 2;
    if (!cover_of(grid, grid.x, cx - 0.5 * width, cx + 0.5 * width, x)) return;
    if (!cover_of(grid, grid.y, cy - 0.5 * height, cy + 0.5 * height, y)) return;
    Factors factors[1];
    x.shares_per_length(grid.x, width, factors[0].x);
    y.shares_per_length(grid.y, height, factors[0].y);
#pragma unroll
    for (u32 a = 0; a < 3; ++a) factors[0].x[a] *= pins;
    add_box<1>(grid, cells.pin_utilization, x, y, factors, cells.pins_scale);
}

/// Macros, and where they add.
struct Macros {
    const double2* size;
    const double *x, *y;
    const u32* node;
    const double2* halo;  // what is added to the lower left corner, and to the upper right one
    Sums sums;            // entries of one number
    double scale;
    u32 count, padding;
};

PF_KERNEL(BLOCK) congestion_macros(Grid grid, Macros macros) {
    const u32 k = blockIdx.x * BLOCK + threadIdx.x;
    if (k >= macros.count) return;
    const u32 node = macros.node[k];
    const double2 size = macros.size[node];
    const double2 low = macros.halo[2 * k], high = macros.halo[2 * k + 1];
    const double xl = macros.x[node], yl = macros.y[node], xh = xl + size.x, yh = yl + size.y;
    Cover x, y;
    if (!cover_of(grid, grid.x, xl + low.x, xh + high.x, x) || !cover_of(grid, grid.y, yl + low.y, yh + high.y, y))
        return;
    // In CircuitNet's script a macro within one bin along an axis covers nothing.
    if (grid.convention == CIRCUITNET && (x.count() == 1 || y.count() == 1)) return;
    add_rectangle(grid, macros.sums, x, y, macros.scale);
}

/// Prefix sums along lines of `length` entries, from one to the next `step` numbers apart, lines `across`.
PF_KERNEL(BLOCK) congestion_integrate(u64* values, u32 lines, u32 length, u64 across, u64 step) {
    const u32 line = blockIdx.x * (BLOCK / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (line >= lines) return;
    values += line * across;
    u64 before = 0;
    for (u32 k = 0; k < length; k += 32) {
        const u32 at = k + lane;
        const u64 own = at < length ? values[at * step] : 0;
        const u64 sum = before + warp_prefix(own);
        if (at < length) values[at * step] = sum;
        before = __shfl_sync(ALL_LANES, sum, 31);
    }
}

/// Sums in units, and the maps that are made of them.
struct Finish {
    NetSums nets;
    Sums density, pin_utilization, macros;
    double wires_unit, pins_unit, density_unit, utilization_unit, macros_unit;
    double horizontal, vertical;  // tracks per layout unit
    double wire_percent;          // OpenROAD: 100 times the width of a wire
    double pin_capacity;
    double* maps;  // [11][nx][ny]: the kinds in order, then long nets' and short nets' demand
};

/// A convention's own number for demand in both directions.
__device__ __forceinline__ double rudy(const Grid& grid, const Finish& of, double horizontal, double vertical) {
    if (grid.convention == CIRCUITNET) return horizontal + vertical;
    if (grid.convention == OPENROAD) return of.wire_percent * (horizontal + vertical);
    return fmax(horizontal / of.horizontal, vertical / of.vertical);
}

__device__ __forceinline__ double in_units(u64 sum, double unit) { return double((long long)(sum)) * unit; }

PF_KERNEL(BLOCK) congestion_finish(Grid grid, Finish of) {
    const u32 i = blockIdx.y, j = blockIdx.x * BLOCK + threadIdx.x;
    if (j >= grid.y.bins) return;
    for (u32 column = i; column < grid.x.bins; column += gridDim.y) {
        const size_t at = grid.entry(column, j), bins = size_t(grid.x.bins) * grid.y.bins;
        double long_nets[2], short_nets[2];
#pragma unroll
        for (u32 c = 0; c < 2; ++c) {
            long_nets[c] =
                in_units(of.nets.wires.bins[2 * at + c] + of.nets.wires.differences[2 * at + c], of.wires_unit);
            short_nets[c] = in_units(of.nets.within[2 * at + c], of.wires_unit);
        }
        double pin_rudy = in_units(of.nets.pins[2 * at], of.pins_unit);
        const double pins = in_units(of.nets.pins[2 * at + 1], of.pins_unit);
        const double density = in_units(of.density.bins[at] + of.density.differences[at], of.density_unit);
        const double macros = in_units(of.macros.bins[at] + of.macros.differences[at], of.macros_unit);
        if (grid.convention == OPENROAD) pin_rudy *= of.wire_percent;
        double pin_density = pins;
        if (grid.convention == DREAMPLACE)
            pin_density =
                in_units(of.pin_utilization.bins[at] + of.pin_utilization.differences[at], of.utilization_unit) /
                of.pin_capacity;
        const double values[11] = {rudy(grid, of, long_nets[0] + short_nets[0], long_nets[1] + short_nets[1]),
                                   pin_rudy,
                                   rudy(grid, of, long_nets[0], long_nets[1]),
                                   rudy(grid, of, short_nets[0], short_nets[1]),
                                   fmin(macros, 1.0),
                                   density,
                                   pin_density,
                                   long_nets[0],
                                   long_nets[1],
                                   short_nets[0],
                                   short_nets[1]};
        const size_t bin = size_t(column) * grid.y.bins + j;
#pragma unroll
        for (u32 k = 0; k < 11; ++k) of.maps[k * bins + bin] = values[k];
    }
}
