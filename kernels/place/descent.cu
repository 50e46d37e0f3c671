// The vectors of a placer's accelerated descent, two coordinates per body: the step, and the preconditioned gradient
// with the sums that steer the next one (Lu et al., "ePlace", TODAES 2015, section 5; DREAMPlace, section III-C).
//
//   descent_place     positions from a vector, for an evaluation there
//   descent_step      u' = v - step g,  v' = clamp(u' + momentum (u' - u)),  sum (v' - v)^2
//   descent_gradient  g' = (dWA - lambda force) / max(1, beta pin weight + alpha lambda area)
//                     and the sums |dWA|, |force|, g'^2, (g' - g)^2
//   descent_sample    the blocks' sums, added up, and what else the host wants to know
//
// Numbers that change from one evaluation to the next come from device memory (`Parameters`), and so does which of the
// vectors are read and which written: one captured graph serves every step. Blocks have 256 threads and as many bodies
// as the others (bodies/shares.cuh), on several devices each the blocks of its share: the vectors there hold a value
// for every body, of which those of the share are used. Sums are in f64 in a fixed order, which does not depend on how
// many devices there are: the same bits on every run. Movable cells stand first, then fillers, which have no pins.
// Vectors are two arrays, x and y; what goes to the engine and comes from it is pairs, x and y of a body side by side.
// Positions also go to the other devices that need them. Forces of one device are read where its engine leaves them, in
// slot order: in the caller's order they would be written and read once more.
//
// Memory traffic, values per body: a step reads 6 (v, u, g) and writes 6 (u', v', and v' again
// where the engine reads it); a gradient reads 2 (g), a slot and 2 at random (force), for movable cells 3 more (dWA,
// pin weight), and writes 2. Upper bounds (2) and areas (1) are read of bodies up to `uniform`.
#include "bodies/shares.cuh"
#include "device/dependent_launch.cuh"
#include "device/reduce.cuh"

/// Numbers of an evaluation. The last four are whole numbers: which v is the current one and
/// which the next, which u and g are the current ones, and the evaluation's number.
struct Parameters {
    double gamma, lambda, pin_factor, area_factor, step, momentum, v, next_v, turn, number;
};

/// One value per body and coordinate.
struct Vector {
    real *x, *y;
};

/// The vectors of a descent.
struct Vectors {
    Vector v[3], u[2], g[2];
};

__device__ __forceinline__ Vector one_of(const Vector (&v)[3], double k) {
    return k == 0 ? v[0] : k == 1 ? v[1] : v[2];
}
__device__ __forceinline__ Vector one_of(const Vector (&v)[2], bool second) { return second ? v[1] : v[0]; }

/// The data that stay the same.
struct Bodies {
    const real *high_x, *high_y;  // largest lower-left corner inside the die
    const real* area;
    const real* pin_weight;  // of movable cells
    real low_x, low_y;
    u32 uniform;  // bodies from here on are as large as this one
};

/// Where the sums of all blocks go: sum k of block b to of[k * blocks + b].
__device__ __forceinline__ double* part(const BodyBlocks& blocks, double* of) { return of + blocks.first + blockIdx.x; }

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

PF_KERNEL(BLOCK) descent_place(const BodyBlocks blocks, const Vector v, const __grid_constant__ Positions to) {
    const BlockBodies own = bodies_of_block(blocks);
    for (u32 k = own.begin; k < own.count; k += own.stride) {
        const u32 i = own.body(k);
        to.put(i, make(v.x[i], v.y[i]), to.needed_by(i));
    }
}

PF_KERNEL(BLOCK, F64 ? 3 : 4) descent_step(const BodyBlocks blocks, const Bodies bodies,
                                           const Parameters* __restrict__ parameters, const Vectors vectors,
                                           const __grid_constant__ Positions to, double* moved) {
    const real step = real(parameters->step), momentum = real(parameters->momentum);
    const bool turn = parameters->turn != 0;
    const Vector v = one_of(vectors.v, parameters->v), next_v = one_of(vectors.v, parameters->next_v);
    const Vector u = one_of(vectors.u, turn), next_u = one_of(vectors.u, !turn), g = one_of(vectors.g, turn);
    const BlockBodies own = bodies_of_block(blocks);
    double sums[1] = {0};
    // Two bodies at a time: all loads of both come before anything is written.
    for (u32 first = own.begin; first < own.count; first += 2 * own.stride) {
        real2 at[2], other[2], slope[2], high[2];
        u32 needed[2];
#pragma unroll
        for (u32 k = 0; k < 2; ++k) {
            const u32 i = own.body(min(first + k * own.stride, own.count - 1)), size = min(i, bodies.uniform);
            at[k] = make(v.x[i], v.y[i]);
            other[k] = make(u.x[i], u.y[i]);
            slope[k] = make(g.x[i], g.y[i]);
            high[k] = make(bodies.high_x[size], bodies.high_y[size]);
            needed[k] = to.needed_by(i);
        }
#pragma unroll
        for (u32 k = 0; k < 2; ++k) {
            if (first + k * own.stride >= own.count) break;
            const u32 i = own.body(first + k * own.stride);
            const real x =
                advance(at[k].x, other[k].x, slope[k].x, step, momentum, bodies.low_x, high[k].x, next_u.x + i);
            const real y =
                advance(at[k].y, other[k].y, slope[k].y, step, momentum, bodies.low_y, high[k].y, next_u.y + i);
            next_v.x[i] = x;
            next_v.y[i] = y;
            to.put(i, make(x, y), needed[k]);
            sums[0] += square(double(x) - double(at[k].x)) + square(double(y) - double(at[k].y));
        }
    }
    block_sums(sums, part(blocks, moved), blocks.blocks);
}

/// With `proposed` at the vectors that the last step led to. Without it at the current ones: there
/// is nothing to compare with, and that sum is zero. The force on body i is number slot_of[i] of `forces`, or number i
/// where `slot_of` is null.
PF_KERNEL(BLOCK, F64 ? 3 : 4) descent_gradient(const BodyBlocks blocks, const Bodies bodies,
                                               const Parameters* __restrict__ parameters, const Vectors vectors,
                                               int proposed, const Vector wirelength, const real2* forces,
                                               const u32* slot_of, double* parts) {
    const real lambda = real(parameters->lambda);
    const real per_pin = real(parameters->pin_factor);
    const real area_weight = real(parameters->area_factor * parameters->lambda);
    const bool turn = parameters->turn != 0;
    const Vector v = one_of(vectors.v, parameters->v);
    const Vector g = one_of(vectors.g, turn), next_g = one_of(vectors.g, proposed ? !turn : turn);
    const BlockBodies own = bodies_of_block(blocks);
    double sums[DESCENT_SUMS] = {0, 0, 0, 0};
    // Two bodies at a time: all loads of both come before anything is written.
    for (u32 first = own.begin; first < own.count; first += 2 * own.stride) {
        u32 slot[2];
        real2 pull[2], force[2], before[2];
        real scale[2];
#pragma unroll
        for (u32 k = 0; k < 2; ++k) {
            const u32 i = own.body(min(first + k * own.stride, own.count - 1));
            slot[k] = slot_of ? __ldcs(slot_of + i) : i;
        }
#pragma unroll
        for (u32 k = 0; k < 2; ++k) {
            const u32 at = min(first + k * own.stride, own.count - 1), i = own.body(at), size = min(i, bodies.uniform);
            const bool movable = at < own.cells;
            force[k] = forces[slot[k]];
            pull[k] = movable ? make(wirelength.x[i], wirelength.y[i]) : make(0, 0);
            before[k] = proposed ? make(g.x[i], g.y[i]) : make(v.x[i], v.y[i]);
            const real weight = (movable ? per_pin * bodies.pin_weight[i] : real(0)) + area_weight * bodies.area[size];
            scale[k] = real(1) / (weight > real(1) ? weight : real(1));
        }
#pragma unroll
        for (u32 k = 0; k < 2; ++k) {
            if (first + k * own.stride >= own.count) break;
            const u32 i = own.body(first + k * own.stride);
            const real gx = (pull[k].x - lambda * force[k].x) * scale[k];
            const real gy = (pull[k].y - lambda * force[k].y) * scale[k];
            if (proposed) {
                sums[3] += square(double(gx) - double(before[k].x)) + square(double(gy) - double(before[k].y));
            } else {
                // x - x: a position that is NaN or infinite shows here, whatever its gradient is. One that a
                // step led to shows in the step's sum.
                sums[2] += double((before[k].x - before[k].x) + (before[k].y - before[k].y));
            }
            next_g.x[i] = gx;
            next_g.y[i] = gy;
            sums[0] += fabs(double(pull[k].x)) + fabs(double(pull[k].y));
            sums[1] += fabs(double(force[k].x)) + fabs(double(force[k].y));
            sums[2] += square(gx) + square(gy);
        }
    }
    block_sums(sums, part(blocks, parts), blocks.blocks);
}

/// Every rank's data of an evaluation: its density's statistics, and whom it has waited for in vain (null on one
/// device).
struct RankReports {
    const u64* statistics[MOST_RANKS];
    const u32* missing[MOST_RANKS];
    u32 ranks, padding;
};

/// The numbers of an evaluation, in the host's memory: the gradient's four sums, then that of the step, HPWL and WA as
/// the wirelength's kernels left them, the engine's energy, its density's excess, maximum and bodies outside their
/// halos, as bit patterns, and 1 + the first rank that has waited in vain. Grid: a block for each of the five sums,
/// which are the gradient's `parts` and `moved`, a number for each of `blocks`. Behind the DESCENT_NUMBERS each block
/// leaves the evaluation's number once it has written its own: the host looks for these.
PF_KERNEL(BLOCK) descent_sample(const double* parts, const double* moved, u32 blocks, int proposed,
                                const double* lengths, const double* energy, const __grid_constant__ RankReports all,
                                const Parameters* parameters, double* sample) {
    const bool last = blockIdx.x == DESCENT_SUMS;
    wait_for_previous();
    const double sum = sum_parts(last ? moved : parts + blockIdx.x * blocks, blocks);
    if (threadIdx.x != 0) return;
    sample[blockIdx.x] = last && !proposed ? 0 : sum;
    if (last) {
        double* const rest = sample + DESCENT_SUMS + 1;
        rest[0] = lengths[0];
        rest[1] = lengths[1];
        rest[2] = *energy;
        u64 found[3] = {0, 0, 0};
        u32 missing = 0;
        for (u32 rank = 0; rank < all.ranks; ++rank) {
            const u64* const own = all.statistics[rank];
            found[0] += own[0];
            found[1] = max(found[1], own[1]);  // of numbers that are not negative: ordered as their bits are
            found[2] += own[2];
            if (!missing && all.missing[rank] && *static_cast<const volatile u32*>(all.missing[rank]))
                missing = 1 + rank;
        }
        for (int k = 0; k < 3; ++k) rest[3 + k] = __longlong_as_double(found[k]);
        rest[6] = missing;
    }
    __threadfence_system();
    *static_cast<volatile double*>(sample + DESCENT_NUMBERS + blockIdx.x) = parameters->number;
}
