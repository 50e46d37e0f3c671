// The vectors of a placer's accelerated descent, two coordinates per body: the
// step, and the preconditioned gradient with the sums that steer the next one
// (Lu et al., "ePlace", TODAES 2015, section 5; DREAMPlace, section III-C).
//
//   descent_step      u' = v - step g,  v' = clamp(u' + momentum (u' - u)),  sum (v' - v)^2
//   descent_gradient  g' = (dWA - lambda force) / max(1, beta pin weight + alpha lambda area)
//                     and the sums |dWA|, |force|, g'^2, (g' - g)^2
//
// Numbers that change from one evaluation to the next come from device memory
// (`Parameters`), and so does which of the vectors are read and which written: one captured graph
// serves every step. Blocks have 256 threads; grids are of fixed size, with a grid-stride loop
// over bodies. Sums are in f64 in a fixed order (grid_sums, in shared memory): the same
// bits on every run of a device. Movable cells stand first, then fillers, which have no
// pins. Vectors are two arrays, x and y; what goes to the engine and comes from it is pairs,
// x and y of a body side by side.
//
// Memory traffic, values per body: a step reads 6 (v, u, g) and writes 6 (u', v', and v' again
// where the engine reads it); a gradient reads 4 (g, force), for movable cells 3 more (dWA, pin
// weight), and writes 2. Upper bounds (2) and areas (1) are read of bodies up to `uniform`.
#include "device/reduce.cuh"

/// `Parameters` in src/cuda. The last three are whole numbers: which v is the current one and
/// which the next, and which u and g are the current ones.
struct Parameters {
    double gamma, lambda, pin_factor, area_factor, step, momentum, v, next_v, turn;
};

/// One value per body and coordinate: `Pair` in src/cuda.
struct Vector {
    real *x, *y;
};

/// The vectors of a descent: `Addresses` in src/cuda.
struct Vectors {
    Vector v[3], u[2], g[2];
};

__device__ __forceinline__ Vector one_of(const Vector (&v)[3], double k) { return k == 0 ? v[0] : k == 1 ? v[1] : v[2]; }
__device__ __forceinline__ Vector one_of(const Vector (&v)[2], bool second) { return second ? v[1] : v[0]; }

/// What stays the same: `Bodies` in src/cuda.
struct Bodies {
    const real *high_x, *high_y;  // largest lower-left corner inside the die
    const real* area;
    const real* pin_weight;  // of movable cells
    real low_x, low_y;
    u32 bodies, movable;
    u32 uniform;  // bodies from here on are as large as this one
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

__device__ __forceinline__ double square(double a) { return a * a; }

PF_KERNEL(BLOCK, F64 ? 3 : 4) descent_step(const Bodies bodies, const Parameters* __restrict__ parameters,
                                           const Vectors vectors, real2* positions, double* partial, u32* ticket,
                                           double* moved) {
    const real step = real(parameters->step), momentum = real(parameters->momentum);
    const bool turn = parameters->turn != 0;
    const Vector v = one_of(vectors.v, parameters->v), next_v = one_of(vectors.v, parameters->next_v);
    const Vector u = one_of(vectors.u, turn), next_u = one_of(vectors.u, !turn), g = one_of(vectors.g, turn);
    double sums[1] = {0};
    // Two bodies at a time: what is fetched of both is asked for before anything is written.
    const u32 stride = gridDim.x * BLOCK;
    for (u32 first = blockIdx.x * BLOCK + threadIdx.x; first < bodies.bodies; first += 2 * stride) {
        real2 at[2], other[2], slope[2], high[2];
#pragma unroll
        for (u32 k = 0; k < 2; ++k) {
            const u32 i = min(first + k * stride, bodies.bodies - 1), size = min(i, bodies.uniform);
            at[k] = make(v.x[i], v.y[i]);
            other[k] = make(u.x[i], u.y[i]);
            slope[k] = make(g.x[i], g.y[i]);
            high[k] = make(bodies.high_x[size], bodies.high_y[size]);
        }
#pragma unroll
        for (u32 k = 0; k < 2; ++k) {
            const u32 i = first + k * stride;
            if (i >= bodies.bodies) break;
            const real x =
                advance(at[k].x, other[k].x, slope[k].x, step, momentum, bodies.low_x, high[k].x, next_u.x + i);
            const real y =
                advance(at[k].y, other[k].y, slope[k].y, step, momentum, bodies.low_y, high[k].y, next_u.y + i);
            next_v.x[i] = x;
            next_v.y[i] = y;
            positions[i] = make(x, y);
            sums[0] += square(double(x) - double(at[k].x)) + square(double(y) - double(at[k].y));
        }
    }
    grid_sums(sums, partial, ticket, moved);
}

/// With `proposed` at the vectors that the last step led to. Without it at the current ones: there
/// is nothing to compare with, and those two sums are zero. The last block gathers all there is to
/// say of the evaluation in `sample`: its own four sums, then that of the step, HPWL and WA as the
/// wirelength's kernel left them, then the engine's energy and the three values of its density's
/// statistics, as bit patterns.
PF_KERNEL(BLOCK, 4) descent_gradient(const Bodies bodies, const Parameters* __restrict__ parameters,
                                     const Vectors vectors, int proposed, const Vector wirelength, const real2* forces,
                                     double* partial, u32* ticket, const double* moved, const double* lengths,
                                     const double* energy, const u64* density, double* sample) {
    const real lambda = real(parameters->lambda);
    const real per_pin = real(parameters->pin_factor);
    const real area_weight = real(parameters->area_factor * parameters->lambda);
    const bool turn = parameters->turn != 0;
    const Vector v = one_of(vectors.v, parameters->v);
    const Vector g = one_of(vectors.g, turn), next_g = one_of(vectors.g, proposed ? !turn : turn);
    double sums[4] = {0, 0, 0, 0};
    for (u32 i = blockIdx.x * BLOCK + threadIdx.x; i < bodies.bodies; i += gridDim.x * BLOCK) {
        const bool movable = i < bodies.movable;
        const u32 k = i < bodies.uniform ? i : bodies.uniform;
        const real wx = movable ? wirelength.x[i] : real(0), wy = movable ? wirelength.y[i] : real(0);
        const real2 force = forces[i];
        const real fx = force.x, fy = force.y;
        const real weight = (movable ? per_pin * bodies.pin_weight[i] : real(0)) + area_weight * bodies.area[k];
        const real scale = real(1) / (weight > real(1) ? weight : real(1));
        const real gx = (wx - lambda * fx) * scale, gy = (wy - lambda * fy) * scale;
        if (proposed) {
            sums[3] += square(double(gx) - double(g.x[i])) + square(double(gy) - double(g.y[i]));
        } else {
            // x - x: a position that is NaN or infinite shows here, whatever its gradient is. One that a
            // step led to shows in the step's sum.
            const real x = v.x[i], y = v.y[i];
            sums[2] += double((x - x) + (y - y));
        }
        next_g.x[i] = gx;
        next_g.y[i] = gy;
        sums[0] += fabs(double(wx)) + fabs(double(wy));
        sums[1] += fabs(double(fx)) + fabs(double(fy));
        sums[2] += square(gx) + square(gy);
    }
    if (!grid_sums(sums, partial, ticket, sample)) return;
    if (threadIdx.x == 0) {
        sample[4] = proposed ? *moved : 0;
        sample[5] = lengths[0];
        sample[6] = lengths[1];
        sample[7] = *energy;
        for (int k = 0; k < 3; ++k) sample[8 + k] = __longlong_as_double(density[k]);
    }
}
