// Wirelength of all nets, and its gradient on every movable cell (Hsu, Chang and Balabanov, "TSV-aware analytical
// placement", DAC 2011; DREAMPlace, section III-A). Per net and axis, with t = (x - max)/gamma, s = (min - x)/gamma:
//
//   HPWL    = max - min
//   WA      = max - min + gamma (mean of t by e^t + mean of s by e^s)
//   dWA/dx  = e^t/sum(e^t) (1 + t - mean t) - e^s/sum(e^s) (1 + s - mean s)
//
// No exponent is positive, and lengths are taken from the net's own edges, so
// that nothing overflows and little cancels.
//
//   wirelength_nets    WA and HPWL of all nets of at most PIECE_PINS pins, and the gradient at their pins
//   wirelength_pieces  the others' edges and sums, piece by piece
//   wirelength_huge    their WA and HPWL, and the gradient at their pins
//   wirelength_gather  gradient of a cell: the sum over its pins; a thread per
//                      cell, a warp per cell of more than HEAVY pins. And the sums of HPWL and WA
//
// Blocks have 256 threads. Those of wirelength_nets are as many as run at once, and take intervals in turn: of wide
// nets (the whole block; HPWL alone where one is left out of WA), then a warp each, which waits for no other one, of
// chunks of the other nets. How many intervals there are depends on the nets alone, and each has a sum of its own. On
// several devices each has some of the intervals, with PF_SEVERAL: a pin's gradient goes to the device that has the
// cell in its share (bodies/shares.cuh), and there alone is the cell's sum made. One kernel for both: in several, one
// after the other, each with its tail, wirelength took 60 and not 41 µs at adaptec1's size on an H200.
//
// The lanes of a warp are divided among the nets of its chunk, the same power of two to each. One lane takes both axes,
// two lanes an axis each, more divide the pins of an axis among them: with a lane to each net, and a warp to a net of
// more than 16 pins, there were a third more instructions at adaptec1's and bigblue4's sizes. Nets of two pins, half of
// all, need no sums and no shared memory.
//
// Nets of many pins (a clock's has tens of thousands) would keep one block busy long after all others have ended. A
// block takes a piece of one: first it leaves the sums with respect to the piece's own edges, then, with those of all
// pieces brought to the net's edges, it writes the gradient at the piece's pins. The two kernels that do so are
// launched where there are such nets.
//
// No floating-point atomics: a pin's gradient is written once, a cell sums its pins in a
// fixed order, and totals are sums in f64 in a fixed order: the same bits on every run, and for any number of devices.
//
// Data. Nets stand in an order of their own, small ones first, each one's pins next to each other: `net_start` (one
// more than nets), `weight`; per pin the `pin_body` it is on and its offset from that body's lower-left corner, or
// NO_BODY and its place on the die. A chunk is at most 32 nets of at most CHUNK_PINS pins together. `body_start` and
// `body_pin` list the pins of every cell. Offsets, corners and gradients are pairs of `real`, x and y side by side: one
// access at random where two arrays take two. The rest are 32-bit integers.
//
// Exponentials are powers of two, t and s being scaled by log2(e): in single precision an instruction each. The error
// of e^t by the rounding of t is at most 2^-24 |t| e^t, less than the rounding of 1.
//
// Memory traffic of an evaluation, values: per pin 1 + 2 (body, offset), 2 at random (the body's corner), 2 written
// (gradient). Pins of wide nets are kept in shared memory, as many as it holds; the others are fetched three times.
// Per net 2. Per pin of a cell 1 (its index) and 2 at random (its gradient); per cell 1 and 2 written. Shared
// memory: 2 values per pin of a warp's chunk (8 KiB in f32, 16 KiB in f64).
#include "bodies/shares.cuh"
#include "device/reduce.cuh"

constexpr u32 NO_BODY = 0xffffffffu;
/// Pins that a thread fetches of a chunk, and keeps of a wide net.
constexpr u32 ROOM = CHUNK_PINS / 32;
// Blocks of wirelength_nets that a multiprocessor runs at once, at least: as many as do without spilling anything.
#if __CUDA_ARCH__ == 900
constexpr int NETS_BLOCKS = F64 ? 2 : SEVERAL ? 4 : 6;
#else
constexpr int NETS_BLOCKS = F64 ? 2 : 4;
#endif

/// The nets between bodies.
struct Nets {
    const u32* net_start;
    const real* weight;
    const u32* pin_body;
    const real2* pin_offset;
};

/// Where the gradients of pins go.
struct PinGradients {
    real2* of[MOST_RANKS];  // every rank's, of all pins
    Shares shares;
    u32 rank, padding;

    /// That of `pin`, which is on `body`.
    __device__ __forceinline__ void put(u32 pin, u32 body, cplx gradient) const {
#if PF_SEVERAL
        if (body != NO_BODY) of[rank_of_cell(shares, body)][pin] = gradient;
#else
        of[0][pin] = gradient;
#endif
    }
};

/// The body of `pin` again, which was loaded before; not used on one device.
__device__ __forceinline__ u32 body_again(const Nets& nets, u32 pin) { return PF_SEVERAL ? nets.pin_body[pin] : 0; }

/// A list of nets or chunks, cut into intervals of `each`, and which of these are taken here.
struct NetList {
    u32 count, each;
    u32 begin, end;  // intervals
    u32 sums;        // where the sum of the first interval goes

    __device__ __forceinline__ u32 start(u32 interval) const { return min(interval * each, count); }
};

/// Wide nets, which are a block's, then chunks of small ones, which are a warp's.
struct NetLists {
    NetList wide, chunks;
    u32 huge_sums;  // where the sum of the first net with pieces goes
    u32 sums;       // intervals of all lists and nets with pieces, on all devices
};

__device__ __forceinline__ cplx pin_at(const Nets& nets, const cplx* __restrict__ corners, u32 pin) {
    const u32 body = nets.pin_body[pin];
    const cplx offset = nets.pin_offset[pin];
    return body == NO_BODY ? offset : offset + corners[body];
}

__device__ __forceinline__ double power_of_two(double x) { return exp2(x); }
__device__ __forceinline__ float power_of_two(float x) {
    float power;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x));
    return power;
}
__device__ __forceinline__ double inverse(double x) { return 1 / x; }
__device__ __forceinline__ float inverse(float x) { return __fdividef(1.0f, x); }

/// γ, and log2(e) / γ.
struct Smoothing {
    real gamma, scale;
};
constexpr real LN_2 = real(0.693147180559945309417232121458);
constexpr double LOG2_E = 1.44269504088896340735992468100;

/// The sums behind a net's weighted average along one axis; t and s are in powers of two.
struct Average {
    real low, high;  // its edges
    real e, te;      // sum e^t, sum t e^t
    real n, sn;      // sum e^s, sum s e^s

    __device__ __forceinline__ void add(real x, real scale) {
        const real t = (x - high) * scale, s = (low - x) * scale;
        const real f = power_of_two(t), g = power_of_two(s);
        e += f;
        te += t * f;
        n += g;
        sn += s * g;
    }
    /// From sums to weights and means; the means are no powers of two any more.
    __device__ __forceinline__ void close() {
        e = inverse(e);
        te *= LN_2 * e;
        n = inverse(n);
        sn *= LN_2 * n;
    }
    __device__ __forceinline__ real gradient(real x, real scale) const {
        const real t = (x - high) * scale, s = (low - x) * scale;
        return power_of_two(t) * e * (LN_2 * t + (1 - te)) - power_of_two(s) * n * (LN_2 * s + (1 - sn));
    }
    __device__ __forceinline__ real half_perimeter() const { return high - low; }
    __device__ __forceinline__ real smooth(real gamma) const { return high - low + gamma * (te + sn); }
};

__device__ __forceinline__ Average between(real low, real high) {
    return {low, high, real(0), real(0), real(0), real(0)};
}

/// HPWL and WA.
struct Lengths {
    double hpwl, wa;
};

/// Those of a net from its lengths along both axes.
__device__ __forceinline__ Lengths lengths(real weight, real2 edges, real2 smooth) {
    return {double(weight) * (double(edges.x) + double(edges.y)),
            double(weight) * (double(smooth.x) + double(smooth.y))};
}
__device__ __forceinline__ Lengths lengths(const Average (&axis)[2], real weight, real gamma, bool smooth) {
    const real2 wa = smooth ? make(axis[0].smooth(gamma), axis[1].smooth(gamma)) : make(0, 0);
    return lengths(weight, make(axis[0].half_perimeter(), axis[1].half_perimeter()), wa);
}

/// One axis of a net of two pins: its length, and the gradients at both.
struct TwoPins {
    real length, smooth, at_first, at_second;
};

__device__ __forceinline__ TwoPins two_pins(real a, real b, Smoothing by, real weight) {
    // With p = e^t of the lower pin, which is e^s of the upper one, WA is d (1 - p) / (1 + p).
    const real length = fabs(b - a), t = -length * by.scale, p = power_of_two(t), q = inverse(1 + p);
    const real mean = LN_2 * t * p * q, slope = weight * q * (1 - p - 2 * mean);
    return {length, length + by.gamma * (mean + mean), a < b ? -slope : slope, a < b ? slope : -slope};
}

/// A chunk of nets of two pins from `begin` on, each a net and its first pin: a lane each.
__device__ __forceinline__ Lengths nets_of_two_pins(const Nets& nets, const cplx* __restrict__ corners, Smoothing by,
                                                    uint2 begin, u32 count, const PinGradients& gradients) {
    const u32 lane = threadIdx.x % 32, pin = begin.y + 2 * lane;
    if (lane >= count) return {0, 0};
    const u32 body[2] = {nets.pin_body[pin], nets.pin_body[pin + 1]};
    cplx at[2] = {nets.pin_offset[pin], nets.pin_offset[pin + 1]};
    const real weight = nets.weight[begin.x + lane];
#pragma unroll
    for (u32 k = 0; k < 2; ++k) {
        if (body[k] != NO_BODY) at[k] = at[k] + corners[body[k]];
    }
    const TwoPins x = two_pins(at[0].x, at[1].x, by, weight), y = two_pins(at[0].y, at[1].y, by, weight);
    gradients.put(pin, body[0], make(x.at_first, y.at_first));
    gradients.put(pin + 1, body[1], make(x.at_second, y.at_second));
    return lengths(weight, make(x.length, y.length), make(x.smooth, y.smooth));
}

/// One axis of a net whose pins stand in shared memory, and whose gradients take their place: `parts` lanes share it, a
/// power of two of every other lane, of which this is number `part`.
__device__ __forceinline__ Average axis_of_lanes(real* pins, u32 begin, u32 end, u32 part, u32 parts, real scale,
                                                 real weight) {
    real low = pins[begin], high = low;
    // Most nets have few pins: unrolling only takes registers.
#pragma unroll 1
    for (u32 p = begin + part; p < end; p += parts) {
        low = fmin(low, pins[p]);
        high = fmax(high, pins[p]);
    }
#pragma unroll 1
    for (u32 other = 2; other <= parts; other *= 2) {
        low = fmin(low, __shfl_xor_sync(~0u, low, other));
        high = fmax(high, __shfl_xor_sync(~0u, high, other));
    }
    Average net = between(low, high);
#pragma unroll 1
    for (u32 p = begin + part; p < end; p += parts) net.add(pins[p], scale);
#pragma unroll 1
    for (u32 other = 2; other <= parts; other *= 2) {
        net.e += __shfl_xor_sync(~0u, net.e, other);
        net.te += __shfl_xor_sync(~0u, net.te, other);
        net.n += __shfl_xor_sync(~0u, net.n, other);
        net.sn += __shfl_xor_sync(~0u, net.sn, other);
    }
    net.close();
    __syncwarp();
#pragma unroll 1
    for (u32 p = begin + part; p < end; p += parts) pins[p] = weight * net.gradient(pins[p], scale);
    return net;
}

/// A chunk of nets from `begin` to `end`, each a net and its first pin; their pins go through the warp's shared memory.
__device__ __forceinline__ Lengths nets_of_chunk(const Nets& nets, const cplx* __restrict__ corners, Smoothing by,
                                                 uint2 begin, uint2 end, real* x, real* y,
                                                 const PinGradients& gradients) {
    const u32 lane = threadIdx.x % 32, count = end.x - begin.x, pins = end.y - begin.y;
    if (pins == 2 * count) return nets_of_two_pins(nets, corners, by, begin, count, gradients);
    // All loads of a lane are issued before any of them is waited for.
    u32 body[ROOM];
    cplx at[ROOM];
#pragma unroll
    for (u32 k = 0; k < ROOM; ++k) {
        const u32 p = k * 32 + lane;
        body[k] = p < pins ? nets.pin_body[begin.y + p] : NO_BODY;
        at[k] = p < pins ? nets.pin_offset[begin.y + p] : make(0, 0);
    }
    // A net's lanes are next to each other, those of x and of y by turns.
    const u32 lanes = 32u >> (32 - __clz(count - 1)), own = lane % lanes;
    const u32 net = begin.x + lane / lanes;
    u32 from = 0, to = 0;
    real weight = 0;
    if (net < end.x) {
        from = nets.net_start[net] - begin.y;
        to = nets.net_start[net + 1] - begin.y;
        weight = nets.weight[net];
    }
#pragma unroll
    for (u32 k = 0; k < ROOM; ++k) {
        if (body[k] != NO_BODY) at[k] = at[k] + corners[body[k]];
    }
#pragma unroll
    for (u32 k = 0; k < ROOM; ++k) {
        x[k * 32 + lane] = at[k].x;
        y[k * 32 + lane] = at[k].y;
    }
    __syncwarp();
    // A lane that is alone takes x, then y; others one of them, and learn the other's lengths from the lane beside.
    const bool alone = lanes == 1;
    real2 edges = make(0, 0), smooth = make(0, 0);
#pragma unroll 1
    for (u32 axis = alone ? 0 : own % 2; axis < 2; axis += alone ? 1 : 2) {
        const Average of_axis =
            axis_of_lanes(axis ? y : x, from, to, own / 2, alone ? 1 : lanes / 2, by.scale, weight);
        edges = make(edges.y, of_axis.half_perimeter());
        smooth = make(smooth.y, of_axis.smooth(by.gamma));
    }
    if (!alone) {
        edges.x = __shfl_xor_sync(~0u, edges.y, 1);
        smooth.x = __shfl_xor_sync(~0u, smooth.y, 1);
    }
    __syncwarp();
#pragma unroll
    for (u32 k = 0; k < ROOM; ++k) {
        const u32 p = k * 32 + lane;
        if (p < pins) gradients.put(begin.y + p, body_again(nets, begin.y + p), make(x[p], y[p]));
    }
    return own == 0 && net < end.x ? lengths(weight, edges, smooth) : Lengths{0, 0};
}

/// The pins of one net or piece, of which each of the block's threads takes every BLOCK-th from its own on
/// and keeps the first ones in shared memory that no other thread looks at.
struct Kept {
    const Nets& nets;
    const cplx* corners;
    u32 begin, end;
    real *x, *y;  // of KEPT pins

    static constexpr u32 KEPT = ROOM * BLOCK;

    __device__ __forceinline__ cplx fetch(u32 p) const {
        const cplx pin = pin_at(nets, corners, p);
        if (p - begin < KEPT) {
            x[p - begin] = pin.x;
            y[p - begin] = pin.y;
        }
        return pin;
    }
    __device__ __forceinline__ cplx again(u32 p) const {
        return p - begin < KEPT ? make(x[p - begin], y[p - begin]) : pin_at(nets, corners, p);
    }
    /// The edges of this thread's pins: low and high.
    __device__ __forceinline__ void edges(cplx& low, cplx& high) const {
        low = high = pin_at(nets, corners, begin);
        for (u32 p = begin + threadIdx.x; p < end; p += BLOCK) {
            const cplx pin = fetch(p);
            low = make(fmin(low.x, pin.x), fmin(low.y, pin.y));
            high = make(fmax(high.x, pin.x), fmax(high.y, pin.y));
        }
    }
    __device__ __forceinline__ void add_to(Average (&axis)[2], real scale) const {
        for (u32 p = begin + threadIdx.x; p < end; p += BLOCK) {
            const cplx pin = again(p);
            axis[0].add(pin.x, scale);
            axis[1].add(pin.y, scale);
        }
    }
    __device__ __forceinline__ void write(const Average (&axis)[2], real weight, real scale,
                                          const PinGradients& gradients) const {
        for (u32 p = begin + threadIdx.x; p < end; p += BLOCK) {
            const cplx pin = again(p);
            gradients.put(p, body_again(nets, p),
                          make(weight * axis[0].gradient(pin.x, scale), weight * axis[1].gradient(pin.y, scale)));
        }
    }
};

/// Edges of the block's pins, and where they are `smooth` their sums, the same in all threads. `parts` has eight
/// numbers a warp.
__device__ __forceinline__ void sums_of_block(const Kept& pins, real scale, bool smooth, real (*parts)[8],
                                              Average (&axis)[2]) {
    const u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    cplx low, high;
    pins.edges(low, high);
    low = make(warp_min(low.x), warp_min(low.y));
    high = make(warp_max(high.x), warp_max(high.y));
    if (lane == 0) {
        parts[warp][0] = low.x;
        parts[warp][1] = low.y;
        parts[warp][2] = high.x;
        parts[warp][3] = high.y;
    }
    __syncthreads();
    // Unrolled, this and the loop below take more registers than all that small nets need.
#pragma unroll 1
    for (u32 w = 0; w < BLOCK / 32; ++w) {
        low = make(fmin(low.x, parts[w][0]), fmin(low.y, parts[w][1]));
        high = make(fmax(high.x, parts[w][2]), fmax(high.y, parts[w][3]));
    }
    __syncthreads();
    axis[0] = between(low.x, high.x);
    axis[1] = between(low.y, high.y);
    if (!smooth) return;
    pins.add_to(axis, scale);
#pragma unroll
    for (int k = 0; k < 2; ++k) {
        Average& a = axis[k];
        a.e = warp_total(a.e);
        a.te = warp_total(a.te);
        a.n = warp_total(a.n);
        a.sn = warp_total(a.sn);
        if (lane == 0) {
            parts[warp][4 * k] = a.e;
            parts[warp][4 * k + 1] = a.te;
            parts[warp][4 * k + 2] = a.n;
            parts[warp][4 * k + 3] = a.sn;
        }
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 2; ++k) {
        Average& a = axis[k];
        a.e = a.te = a.n = a.sn = 0;
#pragma unroll 1
        for (u32 w = 0; w < BLOCK / 32; ++w) {
            a.e += parts[w][4 * k];
            a.te += parts[w][4 * k + 1];
            a.n += parts[w][4 * k + 2];
            a.sn += parts[w][4 * k + 3];
        }
    }
    __syncthreads();
}

/// One net by the block, WA and gradient only where it is `smooth`; the lengths are in the first
/// thread. `parts` has eight numbers a warp.
__device__ __forceinline__ Lengths wide_net(const Kept& pins, Smoothing by, real weight, bool smooth,
                                            real (*parts)[8], const PinGradients& gradients) {
    Average axis[2];
    sums_of_block(pins, by.scale, smooth, parts, axis);
    if (smooth) {
        axis[0].close();
        axis[1].close();
        pins.write(axis, weight, by.scale, gradients);
    }
    return threadIdx.x == 0 ? lengths(axis, weight, by.gamma, smooth) : Lengths{0, 0};
}

/// HPWL and WA of a warp's interval to its place among the sums.
__device__ __forceinline__ void leave(Lengths total, u32 at, const NetLists& of, double* sums) {
    total = {warp_sum(total.hpwl), warp_sum(total.wa)};
    if (threadIdx.x % 32 != 0) return;
    sums[at] = total.hpwl;
    sums[of.sums + at] = total.wa;
}

/// Small nets stand first, wide ones from `small` on; those below `smooth` take part in WA. `chunk` has the first net
/// of each chunk and its first pin, and their end. `gamma` is one number; HPWL of every interval goes to `sums`, then
/// WA.
PF_KERNEL(BLOCK, NETS_BLOCKS) wirelength_nets(const Nets nets, const real2* __restrict__ corners, const double* gamma,
                                              u32 small, u32 smooth, const uint2* __restrict__ chunk,
                                              const __grid_constant__ PinGradients gradients,
                                              const __grid_constant__ NetLists of, double* sums) {
    __shared__ real x[BLOCK * ROOM], y[BLOCK * ROOM];
    // Aligned so that four of a warp's are one store.
    __shared__ alignas(16) real parts[BLOCK / 32][8];
    constexpr u32 WARPS = BLOCK / 32;
    const Smoothing by = {real(*gamma), real(LOG2_E / *gamma)};
    for (u32 at = of.wide.begin + blockIdx.x; at < of.wide.end; at += gridDim.x) {
        double hpwl = 0, wa = 0;
        const u32 end = small + of.wide.start(at + 1);
        for (u32 net = small + of.wide.start(at); net < end; ++net) {
            const Kept pins = {nets, corners, nets.net_start[net], nets.net_start[net + 1], x, y};
            if (pins.end - pins.begin > PIECE_PINS) continue;
            const Lengths found = wide_net(pins, by, nets.weight[net], net < smooth, parts, gradients);
            hpwl += found.hpwl;
            wa += found.wa;
            // `parts` is written anew, and x and y are other threads' from here on.
            __syncthreads();
        }
        if (threadIdx.x == 0) {
            sums[of.wide.sums + at] = hpwl;
            sums[of.sums + of.wide.sums + at] = wa;
        }
    }
    // The blocks that had no wide net come first.
    const u32 warp = (gridDim.x - 1 - blockIdx.x) * WARPS + threadIdx.x / 32;
    real *own_x = x + threadIdx.x / 32 * CHUNK_PINS, *own_y = y + threadIdx.x / 32 * CHUNK_PINS;
    for (u32 at = of.chunks.begin + warp; at < of.chunks.end; at += gridDim.x * WARPS) {
        Lengths total = {0, 0};
        const u32 end = of.chunks.start(at + 1);
        for (u32 k = of.chunks.start(at); k < end; ++k) {
            const Lengths found = nets_of_chunk(nets, corners, by, chunk[k], chunk[k + 1], own_x, own_y, gradients);
            total = {total.hpwl + found.hpwl, total.wa + found.wa};
            __syncwarp();
        }
        leave(total, of.chunks.sums + at, of, sums);
    }
}

/// Pins of a net that has more than one piece.
struct Piece {
    u32 begin, end;    // its pins
    u32 first, pieces;  // of the net: its first piece, and how many it has
    u32 net;
    u32 at;  // where the net's lengths go among the sums
};
static_assert(PIECE_PINS == Kept::KEPT, "the pins of a piece stay in shared memory");

/// The edges of every piece along both axes and, of nets below `smooth`, its sums with respect to them. Grid: a block
/// for each piece.
PF_KERNEL(BLOCK, 2) wirelength_pieces(const Nets nets, const real2* __restrict__ corners, const double* gamma,
                                      u32 smooth, const Piece* __restrict__ pieces, Average* found) {
    __shared__ real x[PIECE_PINS], y[PIECE_PINS];
    __shared__ alignas(16) real parts[BLOCK / 32][8];
    const Piece own = pieces[blockIdx.x];
    const Kept pins = {nets, corners, own.begin, own.end, x, y};
    Average axis[2];
    sums_of_block(pins, real(LOG2_E / *gamma), own.net < smooth, parts, axis);
    if (threadIdx.x != 0) return;
    found[2 * blockIdx.x] = axis[0];
    found[2 * blockIdx.x + 1] = axis[1];
}

/// One axis of a net from those of its `pieces`, by a warp: sums with respect to a piece's edges, brought to the net's.
__device__ __forceinline__ Average joined(const Average* __restrict__ pieces, u32 count, real scale) {
    const u32 lane = threadIdx.x % 32;
    real low = pieces[0].low, high = pieces[0].high;
    for (u32 k = lane; k < count; k += 32) {
        low = fmin(low, pieces[2 * k].low);
        high = fmax(high, pieces[2 * k].high);
    }
    Average net = between(warp_min(low), warp_max(high));
    for (u32 k = lane; k < count; k += 32) {
        const Average piece = pieces[2 * k];
        const real t = (piece.high - net.high) * scale, s = (net.low - piece.low) * scale;
        const real f = power_of_two(t), g = power_of_two(s);
        net.e += f * piece.e;
        net.te += f * (piece.te + t * piece.e);
        net.n += g * piece.n;
        net.sn += g * (piece.sn + s * piece.n);
    }
    net.e = warp_total(net.e);
    net.te = warp_total(net.te);
    net.n = warp_total(net.n);
    net.sn = warp_total(net.sn);
    return net;
}

/// The lengths of every net with pieces, and the gradient at their pins, from what wirelength_pieces `found`. Grid: a
/// block for each piece.
PF_KERNEL(BLOCK, 2) wirelength_huge(const Nets nets, const real2* __restrict__ corners, const double* gamma,
                                    u32 smooth, const Piece* __restrict__ pieces, const Average* __restrict__ found,
                                    const __grid_constant__ PinGradients gradients, u32 intervals, double* sums) {
    __shared__ Average whole[2];
    const Smoothing by = {real(*gamma), real(LOG2_E / *gamma)};
    const Piece own = pieces[blockIdx.x];
    const bool is_smooth = own.net < smooth;
    const u32 warp = threadIdx.x / 32;
    if (warp < 2) {
        Average net = joined(found + 2 * own.first + warp, own.pieces, by.scale);
        if (is_smooth) net.close();
        if (threadIdx.x % 32 == 0) whole[warp] = net;
    }
    __syncthreads();
    const Average axis[2] = {whole[0], whole[1]};
    const real weight = nets.weight[own.net];
    if (is_smooth) {
        for (u32 p = own.begin + threadIdx.x; p < own.end; p += BLOCK) {
            const cplx pin = pin_at(nets, corners, p);
            gradients.put(p, body_again(nets, p), make(weight * axis[0].gradient(pin.x, by.scale),
                                                       weight * axis[1].gradient(pin.y, by.scale)));
        }
    }
    if (blockIdx.x != own.first || threadIdx.x != 0) return;
    const Lengths of_net = lengths(axis, weight, by.gamma, is_smooth);
    sums[own.at] = of_net.hpwl;
    sums[intervals + own.at] = of_net.wa;
}

/// Where interval `k` of `intervals` begins, of `count` things.
__device__ __forceinline__ u32 interval(u32 count, u32 k, u32 intervals) { return u32(u64(count) * k / intervals); }

/// The sums of wirelength_nets, of all devices, and how they are added up: by so many blocks, each of which leaves its
/// sum of HPWL and of WA with `partial`; the last one to come (`ticket`, see is_last_block) leaves all with `lengths`.
struct LengthSums {
    const double* sums;
    double *partial, *lengths;
    u32* ticket;
    u32 count, blocks;
};

__device__ __forceinline__ void add_lengths(const LengthSums& of) {
    const u32 begin = interval(of.count, blockIdx.x, of.blocks), end = interval(of.count, blockIdx.x + 1, of.blocks);
    for (u32 k = 0; k < 2; ++k) {
        const double sum = sum_parts(of.sums + k * of.count + begin, end - begin);
        if (threadIdx.x == 0) of.partial[k * of.blocks + blockIdx.x] = sum;
    }
    if (!is_last_block(threadIdx.x, of.blocks, of.ticket)) return;
    for (u32 k = 0; k < 2; ++k) {
        const double sum = sum_parts(of.partial + k * of.blocks, of.blocks);
        if (threadIdx.x == 0) of.lengths[k] = sum;
    }
}

/// Cells from `first` on, below `cells`. Behind the blocks that add up lengths come `light` that take a cell per
/// thread, the others take one of the `heavies` cells listed in `heavy` per warp.
PF_KERNEL(BLOCK) wirelength_gather(const LengthSums lengths, u32 first, u32 cells, u32 light, u32 heavies,
                                   const u32* __restrict__ heavy,
                                   const u32* __restrict__ body_start, const u32* __restrict__ body_pin,
                                   const real2* __restrict__ pin_gradient, real* __restrict__ gx,
                                   real* __restrict__ gy) {
    if (blockIdx.x < lengths.blocks) return add_lengths(lengths);
    const u32 block = blockIdx.x - lengths.blocks;
    cplx sum = make(real(0), real(0));
    if (block < light) {
        const u32 body = first + block * BLOCK + threadIdx.x;
        if (body >= cells) return;
        const u32 begin = body_start[body], end = body_start[body + 1];
        if (end - begin > HEAVY) return;
        u32 k = begin;
        for (; k + 4 <= end; k += 4) {
            cplx pull[4];
#pragma unroll
            for (u32 j = 0; j < 4; ++j) pull[j] = pin_gradient[body_pin[k + j]];
#pragma unroll
            for (u32 j = 0; j < 4; ++j) sum = sum + pull[j];
        }
        for (; k < end; ++k) sum = sum + pin_gradient[body_pin[k]];
        gx[body] = sum.x;
        gy[body] = sum.y;
        return;
    }
    const u32 at = ((block - light) * BLOCK + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (at >= heavies) return;
    const u32 body = heavy[at];
    for (u32 k = body_start[body] + lane; k < body_start[body + 1]; k += 32) {
        sum = sum + pin_gradient[body_pin[k]];
    }
    sum = make(warp_total(sum.x), warp_total(sum.y));
    if (lane == 0) {
        gx[body] = sum.x;
        gy[body] = sum.y;
    }
}
