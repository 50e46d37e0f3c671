// The vectors of a placer's accelerated descent, two coordinates per body: the
// step, and the preconditioned gradient with the sums that steer the next one
// (Lu et al., "ePlace", TODAES 2015, section 5; DREAMPlace, section III-C).
//
//   descent_step      u' = v - step g,  v' = clamp(u' + momentum (u' - u))
//   descent_gradient  g' = (dWA - lambda force) / max(1, beta pin weight + alpha lambda area)
//                     and the sums |dWA|, |force|, g'^2, (v' - v)^2, (g' - g)^2
//
// Numbers that change from one evaluation to the next come from device memory
// (`Parameters`), so that a captured graph can be replayed with other ones. Blocks have 256
// threads, a body each; descent_gradient has a grid of fixed size and a grid-stride loop
// over bodies. Its sums are in f64 in a fixed order (grid_sums, in shared memory): the same
// bits on every run of a device. Movable cells stand first, then fillers, which have no
// pins. Vectors are two arrays, x and y; what goes to the engine and comes from it is pairs,
// x and y of a body side by side.
//
// Memory traffic, values per body: a step reads 8 (v, u, g, upper bounds) and writes 6 (u',
// v', and v' again where the engine reads it); a gradient reads 9 (v', v, g, force, area),
// for movable cells 3 more (dWA, pin weight), and writes 2.
#include "device/reduce.cuh"

/// `Parameters` in src/cuda.
struct Parameters {
    double gamma, lambda, pin_factor, area_factor, step, momentum;
};

/// One value per body and coordinate: `Pair` in src/cuda.
struct Vector {
    real *x, *y;
};

/// A point of the descent: `Addresses` in src/cuda.
struct Point {
    Vector v, u, g;
};

/// What stays the same: `Bodies` in src/cuda.
struct Bodies {
    const real *high_x, *high_y;  // largest lower-left corner inside the die
    const real* area;
    const real* pin_weight;  // of movable cells
    real low_x, low_y;
    u32 bodies, movable;
};

/// NaN where `value` is NaN.
__device__ __forceinline__ real clamp(real value, real low, real high) {
    return value < low ? low : value > high ? high : value;
}

/// Writes the next u and returns the next v, one coordinate.
__device__ __forceinline__ real advance(real v, real u, real g, real step, real momentum, real low, real high,
                                        real* next_u) {
    const real next = v - step * g;
    *next_u = next;
    return clamp(next + momentum * (next - u), low, high);
}

PF_KERNEL(BLOCK) descent_step(const Bodies bodies, const Parameters* __restrict__ parameters, const Point from,
                              const Point to, real2* positions) {
    const u32 i = blockIdx.x * BLOCK + threadIdx.x;
    if (i >= bodies.bodies) return;
    const real step = real(parameters->step), momentum = real(parameters->momentum);
    const real x =
        advance(from.v.x[i], from.u.x[i], from.g.x[i], step, momentum, bodies.low_x, bodies.high_x[i], to.u.x + i);
    const real y =
        advance(from.v.y[i], from.u.y[i], from.g.y[i], step, momentum, bodies.low_y, bodies.high_y[i], to.u.y + i);
    to.v.x[i] = x;
    to.v.y[i] = y;
    positions[i] = make(x, y);
}

__device__ __forceinline__ double square(double a) { return a * a; }

/// Without `compare` the last two sums are zero, and `from` is not read. The last block
/// gathers all there is to say of the evaluation in `sample`: the five sums, then HPWL and
/// WA as the wirelength's kernel left them, then the engine's energy and the three values of
/// its density's statistics, as bit patterns.
PF_KERNEL(BLOCK, 4) descent_gradient(const Bodies bodies, const Parameters* __restrict__ parameters, const Point from,
                                     const Point to, int compare, const Vector wirelength, const real2* forces,
                                     double* partial, u32* ticket, const double* lengths, const double* energy,
                                     const u64* density, double* sample) {
    const real lambda = real(parameters->lambda);
    const real per_pin = real(parameters->pin_factor);
    const real area_weight = real(parameters->area_factor * parameters->lambda);
    double sums[5] = {0, 0, 0, 0, 0};
    for (u32 i = blockIdx.x * BLOCK + threadIdx.x; i < bodies.bodies; i += gridDim.x * BLOCK) {
        const bool movable = i < bodies.movable;
        const real wx = movable ? wirelength.x[i] : real(0), wy = movable ? wirelength.y[i] : real(0);
        const real2 force = forces[i];
        const real fx = force.x, fy = force.y;
        const real weight = (movable ? per_pin * bodies.pin_weight[i] : real(0)) + area_weight * bodies.area[i];
        const real scale = real(1) / (weight > real(1) ? weight : real(1));
        const real gx = (wx - lambda * fx) * scale, gy = (wy - lambda * fy) * scale;
        const real x = to.v.x[i], y = to.v.y[i];
        to.g.x[i] = gx;
        to.g.y[i] = gy;
        sums[0] += fabs(double(wx)) + fabs(double(wy));
        sums[1] += fabs(double(fx)) + fabs(double(fy));
        // x - x: a position that is NaN or infinite shows here, whatever its gradient is.
        sums[2] += square(gx) + square(gy) + double((x - x) + (y - y));
        if (compare) {
            sums[3] += square(double(x) - double(from.v.x[i])) + square(double(y) - double(from.v.y[i]));
            sums[4] += square(double(gx) - double(from.g.x[i])) + square(double(gy) - double(from.g.y[i]));
        }
    }
    if (!grid_sums(sums, partial, ticket, sample)) return;
    if (threadIdx.x == 0) {
        sample[5] = lengths[0];
        sample[6] = lengths[1];
        sample[7] = *energy;
        for (int k = 0; k < 3; ++k) sample[8 + k] = __longlong_as_double(density[k]);
    }
}
