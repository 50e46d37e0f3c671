// Wirelength of all nets, and its gradient on every movable cell (Hsu, Chang
// and Balabanov, "TSV-aware analytical placement", DAC 2011; DREAMPlace,
// section III-A). Per net and axis, with t = (x - max)/gamma, s = (min - x)/gamma:
//
//   HPWL    = max - min
//   WA      = max - min + gamma (mean of t by e^t + mean of s by e^s)
//   dWA/dx  = e^t/sum(e^t) (1 + t - mean t) - e^s/sum(e^s) (1 + s - mean s)
//
// No exponent is positive, and lengths are taken from the net's own edges, so
// that nothing overflows and little cancels.
//
//   wirelength_nets    WA and HPWL of all nets, and the gradient at every pin
//   wirelength_gather  gradient of a cell: the sum over its pins; a thread per
//                      cell, a warp per cell of more than HEAVY pins
//
// Blocks have 256 threads. Those of wirelength_nets, as many as run at once (persistent),
// take turns in a list of work: a wide net (the whole block; HPWL alone where it is left out of
// WA), 8 large nets (a warp each), a chunk of small nets (a thread each). One kernel for all
// three: in three, one after the other, each with its tail, wirelength took 60 and not 41 µs
// at adaptec1's size on an H200.
//
// No floating-point atomics: a pin's gradient is written once, a cell sums its pins in a
// fixed order, and totals are sums in f64 over a grid of fixed size (grid_sums): the same
// bits on every run of a device.
//
// Data. Nets stand in an order of their own, small ones first, each one's pins next to each
// other: `net_start` (one more than nets), `weight`; per pin the `pin_body` it sits on and
// its offset from that body's lower-left corner, or NO_BODY and its place on the die. A
// chunk is at most 256 nets of at most CHUNK_PINS pins together. `body_start` and `body_pin`
// list the pins of every cell. Offsets, positions and gradients are `real`, the rest 32-bit
// integers.
//
// Memory traffic of an evaluation, values: per pin 1 + 2 (body, offsets), 2 at random (the
// body's corner), 2 written (gradient); once more without the writing, from a cache, for
// large nets. Per net 2. Per pin of a cell 1 (its index) and 2 at random (its gradient); per
// cell 1 and 2 written. Shared memory: 2 values per pin of a chunk (8 KiB in f32, 16 KiB in
// f64).
#include "device/reduce.cuh"

constexpr u32 NO_BODY = 0xffffffffu;
/// Most pins of a chunk: CHUNK_PINS in src/cuda.
constexpr u32 CHUNK_PINS = 1024;
/// A cell of more pins is a warp's: HEAVY in src/cuda.
constexpr u32 HEAVY = 64;
// Blocks of wirelength_nets that a multiprocessor runs at once, at least: as many as do without
// spilling anything.
constexpr int NETS_BLOCKS = F64 ? 2 : 4;

/// What connects the bodies. Same layout as `NetAddresses` in src/cuda.
struct Nets {
    const u32* net_start;
    const real* weight;
    const u32* pin_body;
    const real* pin_x;
    const real* pin_y;
};

/// Where the pins are. Same layout as `Corners` in src/cuda.
struct Corners {
    const real* x;
    const real* y;
};

__device__ __forceinline__ cplx pin_at(const Nets& nets, const Corners& at, u32 pin) {
    const u32 body = nets.pin_body[pin];
    cplx p = make(nets.pin_x[pin], nets.pin_y[pin]);
    if (body != NO_BODY) {
        p.x += at.x[body];
        p.y += at.y[body];
    }
    return p;
}

/// The sums behind a net's weighted average along one axis.
struct Average {
    real low, high;  // its edges
    real e, te;      // sum e^t, sum t e^t
    real n, sn;      // sum e^s, sum s e^s

    __device__ __forceinline__ void add(real x, real inverse_gamma) {
        const real t = (x - high) * inverse_gamma, s = (low - x) * inverse_gamma;
        const real f = exp(t), g = exp(s);
        e += f;
        te += t * f;
        n += g;
        sn += s * g;
    }
    /// From sums to weights and means.
    __device__ __forceinline__ void close() {
        e = real(1) / e;
        te *= e;
        n = real(1) / n;
        sn *= n;
    }
    __device__ __forceinline__ real gradient(real x, real inverse_gamma) const {
        const real t = (x - high) * inverse_gamma, s = (low - x) * inverse_gamma;
        return exp(t) * e * (1 + t - te) - exp(s) * n * (1 + s - sn);
    }
    __device__ __forceinline__ real half_perimeter() const { return high - low; }
    __device__ __forceinline__ real smooth(real gamma) const { return high - low + gamma * (te + sn); }
};

__device__ __forceinline__ Average between(real low, real high) {
    return {low, high, real(0), real(0), real(0), real(0)};
}

/// One axis of a small net whose pins stand in shared memory, and whose
/// gradients take their place.
__device__ __forceinline__ Average small_axis(real* pins, u32 begin, u32 end, real inverse_gamma, real weight) {
    real low = pins[begin], high = low;
    for (u32 p = begin + 1; p < end; ++p) {
        low = fmin(low, pins[p]);
        high = fmax(high, pins[p]);
    }
    Average net = between(low, high);
    // Most nets have two or three pins: unrolling only takes registers.
#pragma unroll 1
    for (u32 p = begin; p < end; ++p) net.add(pins[p], inverse_gamma);
    net.close();
#pragma unroll 1
    for (u32 p = begin; p < end; ++p) pins[p] = weight * net.gradient(pins[p], inverse_gamma);
    return net;
}

/// HPWL and WA.
struct Lengths {
    double hpwl, wa;
};

__device__ __forceinline__ Lengths lengths(const Average& x, const Average& y, real weight, real gamma) {
    return {double(weight) * (double(x.half_perimeter()) + double(y.half_perimeter())),
            double(weight) * (double(x.smooth(gamma)) + double(y.smooth(gamma)))};
}

struct Smoothing {
    real gamma, inverse;
};

/// Nets `first` to `last`, a thread each; their pins go through shared memory.
__device__ __forceinline__ Lengths small_nets(const Nets& nets, const Corners& at, Smoothing by, u32 first, u32 last,
                                              real* x, real* y, cplx* __restrict__ pin_gradient) {
    const u32 begin = nets.net_start[first], end = nets.net_start[last];
    for (u32 p = begin + threadIdx.x; p < end; p += BLOCK) {
        const cplx pin = pin_at(nets, at, p);
        x[p - begin] = pin.x;
        y[p - begin] = pin.y;
    }
    __syncthreads();
    Lengths found = {0, 0};
    const u32 net = first + threadIdx.x;
    if (net < last) {
        const u32 from = nets.net_start[net] - begin, to = nets.net_start[net + 1] - begin;
        const real weight = nets.weight[net];
        const Average along_x = small_axis(x, from, to, by.inverse, weight);
        const Average along_y = small_axis(y, from, to, by.inverse, weight);
        found = lengths(along_x, along_y, weight, by.gamma);
    }
    __syncthreads();
    for (u32 p = begin + threadIdx.x; p < end; p += BLOCK) {
        pin_gradient[p] = make(x[p - begin], y[p - begin]);
    }
    __syncthreads();
    return found;
}

/// One net by a warp; the lengths are in its first lane.
__device__ __forceinline__ Lengths large_net(const Nets& nets, const Corners& at, Smoothing by, u32 net,
                                             cplx* __restrict__ pin_gradient) {
    const u32 lane = threadIdx.x % 32, begin = nets.net_start[net], end = nets.net_start[net + 1];
    cplx low = pin_at(nets, at, begin), high = low;
    for (u32 p = begin + lane; p < end; p += 32) {
        const cplx pin = pin_at(nets, at, p);
        low = make(fmin(low.x, pin.x), fmin(low.y, pin.y));
        high = make(fmax(high.x, pin.x), fmax(high.y, pin.y));
    }
    Average axis[2] = {between(warp_min(low.x), warp_max(high.x)), between(warp_min(low.y), warp_max(high.y))};
    for (u32 p = begin + lane; p < end; p += 32) {
        const cplx pin = pin_at(nets, at, p);
        axis[0].add(pin.x, by.inverse);
        axis[1].add(pin.y, by.inverse);
    }
    for (Average& a : axis) {
        a.e = warp_total(a.e);
        a.te = warp_total(a.te);
        a.n = warp_total(a.n);
        a.sn = warp_total(a.sn);
        a.close();
    }
    const real weight = nets.weight[net];
    for (u32 p = begin + lane; p < end; p += 32) {
        const cplx pin = pin_at(nets, at, p);
        pin_gradient[p] =
            make(weight * axis[0].gradient(pin.x, by.inverse), weight * axis[1].gradient(pin.y, by.inverse));
    }
    return lane == 0 ? lengths(axis[0], axis[1], weight, by.gamma) : Lengths{0, 0};
}

/// One net by the block, WA and gradient only where it is `smooth`; the lengths are in the first
/// thread. `parts` has eight numbers a warp.
__device__ __forceinline__ Lengths wide_net(const Nets& nets, const Corners& at, Smoothing by, u32 net, bool smooth,
                                            real (*parts)[8], cplx* __restrict__ pin_gradient) {
    const u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const u32 begin = nets.net_start[net], end = nets.net_start[net + 1];
    cplx low = pin_at(nets, at, begin), high = low;
    for (u32 p = begin + threadIdx.x; p < end; p += BLOCK) {
        const cplx pin = pin_at(nets, at, p);
        low = make(fmin(low.x, pin.x), fmin(low.y, pin.y));
        high = make(fmax(high.x, pin.x), fmax(high.y, pin.y));
    }
    low = make(warp_min(low.x), warp_min(low.y));
    high = make(warp_max(high.x), warp_max(high.y));
    if (lane == 0) {
        parts[warp][0] = low.x;
        parts[warp][1] = low.y;
        parts[warp][2] = high.x;
        parts[warp][3] = high.y;
    }
    __syncthreads();
    for (u32 w = 0; w < BLOCK / 32; ++w) {
        low = make(fmin(low.x, parts[w][0]), fmin(low.y, parts[w][1]));
        high = make(fmax(high.x, parts[w][2]), fmax(high.y, parts[w][3]));
    }
    __syncthreads();
    const real weight = nets.weight[net];
    Average axis[2] = {between(low.x, high.x), between(low.y, high.y)};
    if (!smooth) {
        const double length = double(axis[0].half_perimeter()) + double(axis[1].half_perimeter());
        return threadIdx.x == 0 ? Lengths{double(weight) * length, 0} : Lengths{0, 0};
    }
    for (u32 p = begin + threadIdx.x; p < end; p += BLOCK) {
        const cplx pin = pin_at(nets, at, p);
        axis[0].add(pin.x, by.inverse);
        axis[1].add(pin.y, by.inverse);
    }
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
        for (u32 w = 0; w < BLOCK / 32; ++w) {
            a.e += parts[w][4 * k];
            a.te += parts[w][4 * k + 1];
            a.n += parts[w][4 * k + 2];
            a.sn += parts[w][4 * k + 3];
        }
        a.close();
    }
    __syncthreads();
    for (u32 p = begin + threadIdx.x; p < end; p += BLOCK) {
        const cplx pin = pin_at(nets, at, p);
        pin_gradient[p] =
            make(weight * axis[0].gradient(pin.x, by.inverse), weight * axis[1].gradient(pin.y, by.inverse));
    }
    return threadIdx.x == 0 ? lengths(axis[0], axis[1], weight, by.gamma) : Lengths{0, 0};
}

/// Nets below `small` are small, those from there to `large` large, the others, up to `all`,
/// wide; those below `smooth` take part in WA. `chunk_net` has the first net of each of `chunks` chunks,
/// and their end. `gamma` is one number; `sums` become HPWL and WA.
PF_KERNEL(BLOCK, NETS_BLOCKS) wirelength_nets(const Nets nets, const Corners at, const double* gamma, u32 small,
                                              u32 large, u32 smooth, u32 all, u32 chunks,
                                              const u32* __restrict__ chunk_net, cplx* __restrict__ pin_gradient,
                                              double* partial, u32* ticket, double* sums) {
    __shared__ real x[CHUNK_PINS], y[CHUNK_PINS];
    // Aligned so that four of a warp's are one store.
    __shared__ alignas(16) real parts[BLOCK / 32][8];
    constexpr u32 WARPS = BLOCK / 32;
    const Smoothing by = {real(*gamma), real(1 / *gamma)};
    const u32 wide = all - large, warps = (large - small + WARPS - 1) / WARPS;
    double total[2] = {0, 0};
    // What takes longest first.
    for (u32 work = blockIdx.x; work < wide + warps + chunks; work += gridDim.x) {
        Lengths found = {0, 0};
        if (work < wide) {
            const u32 net = large + work;
            found = wide_net(nets, at, by, net, net < smooth, parts, pin_gradient);
        } else if (work < wide + warps) {
            const u32 net = small + (work - wide) * WARPS + threadIdx.x / 32;
            if (net < large) found = large_net(nets, at, by, net, pin_gradient);
        } else {
            const u32 chunk = work - wide - warps;
            found = small_nets(nets, at, by, chunk_net[chunk], chunk_net[chunk + 1], x, y, pin_gradient);
        }
        total[0] += found.hpwl;
        total[1] += found.wa;
    }
    grid_sums(total, partial, ticket, sums);
}

/// Blocks below `light` take a cell per thread, the others one of the `heavies`
/// cells listed in `heavy` per warp.
PF_KERNEL(BLOCK) wirelength_gather(u32 cells, u32 light, u32 heavies, const u32* __restrict__ heavy,
                                   const u32* __restrict__ body_start, const u32* __restrict__ body_pin,
                                   const cplx* __restrict__ pin_gradient, real* __restrict__ gx,
                                   real* __restrict__ gy) {
    cplx sum = make(real(0), real(0));
    if (blockIdx.x < light) {
        const u32 body = blockIdx.x * BLOCK + threadIdx.x;
        if (body >= cells) return;
        const u32 begin = body_start[body], end = body_start[body + 1];
        if (end - begin > HEAVY) return;
        for (u32 k = begin; k < end; ++k) sum = sum + pin_gradient[body_pin[k]];
        gx[body] = sum.x;
        gy[body] = sum.y;
        return;
    }
    const u32 at = ((blockIdx.x - light) * BLOCK + threadIdx.x) / 32, lane = threadIdx.x % 32;
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
