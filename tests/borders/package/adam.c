// Places a small design that it generates: Adam on wirelength and density, then legalization and detailed
// placement.

#include <math.h>
#include <placefield.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { CELLS = 500, PADS = 4, NODES = CELLS + PADS, NETS = 600, ROWS = 20, BINS = 32, MOST_ITERATIONS = 800 };
static const double SIDE = 160.0, ROW_HEIGHT = 8.0;

// Ends the program with the library's message if a call failed.
static void done(placefield_status status, const placefield_error *error) {
    if (status != PLACEFIELD_STATUS_OK) {
        fprintf(stderr, "%s: %s\n", placefield_status_name(status), error->message);
        exit(1);
    }
}

// A random number from 0 to below 1, the same ones in every run.
static double uniform(void) {
    static uint64_t state = 12345;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(state >> 33) / 2147483648.0;
}

static double clamp(double value, double least, double most) {
    return fmin(fmax(value, least), most);
}

// Cells of 2 to 5 sites on 20 rows, a pad in every corner, and nets of 2 to 4 pins between near numbers.
static placefield_design *generated(placefield_error *error) {
    static double width[NODES], height[NODES], x[NODES], y[NODES], rows[5 * ROWS];
    static uint8_t kind[NODES];
    static uint32_t net_start[NETS + 1], pin_node[4 * NETS];
    for (int i = 0; i < NODES; ++i) {
        int pad = i - CELLS;
        width[i] = pad < 0 ? 2.0 + floor(4.0 * uniform()) : 1.0;
        height[i] = pad < 0 ? ROW_HEIGHT : 1.0;
        kind[i] = pad < 0 ? PLACEFIELD_NODE_KIND_MOVABLE : PLACEFIELD_NODE_KIND_FIXED_OVERLAPPABLE;
        x[i] = pad < 0 ? SIDE / 2.0 : (SIDE - 1.0) * (pad % 2);
        y[i] = pad < 0 ? SIDE / 2.0 : (SIDE - 1.0) * (pad / 2);
    }
    uint32_t pins = 0;
    for (int net = 0; net < NETS; ++net) {
        int first = (int)(CELLS * uniform()), count = 2 + (int)(3.0 * uniform());
        net_start[net] = pins;
        pin_node[pins++] = net < 8 * PADS ? (uint32_t)(CELLS + net % PADS) : (uint32_t)first;
        for (int k = 1; k < count; ++k) {
            const int beside = first + k * (1 + (int)(12.0 * uniform()));
            pin_node[pins++] = (uint32_t)(beside % CELLS);
        }
    }
    net_start[NETS] = pins;
    for (int row = 0; row < ROWS; ++row) {
        rows[5 * row + 1] = ROW_HEIGHT * row;
        rows[5 * row + 2] = ROW_HEIGHT;
        rows[5 * row + 3] = 1.0;
        rows[5 * row + 4] = SIDE;
    }
    placefield_design_arrays arrays;
    placefield_design *design = NULL;
    done(placefield_design_arrays_init(&arrays, sizeof arrays, error), error);
    arrays.nodes = NODES;
    arrays.width = width;
    arrays.height = height;
    arrays.x = x;
    arrays.y = y;
    arrays.kind = kind;
    arrays.nets = NETS;
    arrays.net_start = net_start;
    arrays.pins = pins;
    arrays.pin_node = pin_node;
    arrays.rows = ROWS;
    arrays.row = rows;
    done(placefield_design_from_arrays(&arrays, &design, error), error);
    return design;
}

int main(void) {
    placefield_error error;
    placefield_options options;
    placefield_design *design = generated(&error);
    placefield_engine *engine = NULL;
    placefield_wirelength *wires = NULL;
    const int32_t f64 = PLACEFIELD_PRECISION_F64;
    done(placefield_options_init(&options, sizeof options, &error), &error);
    options.precision = f64;
    done(placefield_design_engine(design, BINS, BINS, 0.9, 1, &options, &engine, &error), &error);
    done(placefield_wirelength_new(design, 0, &options, &wires, &error), &error);

    // Bodies are the movable cells, then fillers. Every array has x of all bodies, then y.
    size_t movable, n;
    done(placefield_engine_bodies(engine, &movable, &n, &error), &error);
    double *size = calloc(14 * n, sizeof *size);
    if (size == NULL) return 1;
    double *at = size + 2 * n, *pull = at + 2 * n, *force = pull + 2 * n, *first = force + 2 * n;
    double *second = first + 2 * n, *step = second + 2 * n;
    done(placefield_engine_sizes(engine, size, size + n, n, &error), &error);
    done(placefield_engine_start(engine, f64, at, at + n, n, &error), &error);

    const double bin = SIDE / BINS;
    double weight = 0.0, overflow = 1.0;
    placefield_evaluation density;
    placefield_wirelength_result wirelength = {0.0, 0.0};
    // Cells in one place feel the same force for ever, so each starts a little beside the others.
    for (size_t i = 0; i < movable; ++i) {
        at[i] += bin * (uniform() - 0.5);
        at[n + i] += bin * (uniform() - 0.5);
    }
    int iteration = 0;
    for (; iteration < MOST_ITERATIONS && overflow > 0.08; ++iteration) {
        const double gamma = bin * (0.5 + 4.0 * overflow);
        done(placefield_engine_evaluate(engine, f64, at, at + n, n, &density, &error), &error);
        done(placefield_engine_force(engine, f64, force, force + n, n, &error), &error);
        done(placefield_wirelength_evaluate(wires, f64, at, at + n, n, gamma, &wirelength, pull, &error), &error);
        overflow = density.overflow;
        double pulls = 0.0, pushes = 0.0;
        for (size_t i = 0; i < 2 * n; ++i) {
            // Divided by the area, the force is the mean field under the body, in bin widths.
            force[i] /= size[i % n] * size[n + i % n];
            if (i % n < movable) pulls += fabs(pull[i]), pushes += fabs(force[i]);
        }
        weight = iteration == 0 ? 0.1 * pulls / pushes : 1.02 * weight;
        const double unbias_first = 1.0 - pow(0.9, iteration + 1), unbias_second = 1.0 - pow(0.99, iteration + 1);
        for (size_t i = 0; i < 2 * n; ++i) {
            const double gradient = pull[i] - weight * force[i];
            first[i] = 0.9 * first[i] + 0.1 * gradient;
            second[i] = 0.99 * second[i] + 0.01 * gradient * gradient;
            step[i] = 0.2 * bin * (first[i] / unbias_first) / (sqrt(second[i] / unbias_second) + 1e-12);
            // Bodies stay on the die, beyond which there is no field.
            at[i] = clamp(at[i] - step[i], 0.0, SIDE - size[i]);
        }
    }
    printf("%d iterations: HPWL %.0f, overflow %.4f\n", iteration, wirelength.hpwl, overflow);

    placefield_place_options how;
    placefield_place_result legal, refined;
    placefield_legality legality;
    done(placefield_place_options_init(&how, sizeof how, &error), &error);
    done(placefield_design_move(design, at, at + n, movable, &error), &error);
    done(placefield_design_legalize(design, &how, &legal, &error), &error);
    printf("legalized: HPWL %.0f\n", legal.hpwl);
    done(placefield_design_refine(design, &how, &refined, &error), &error);
    done(placefield_design_legality(design, &legality, &error), &error);
    printf("refined: HPWL %.0f, %s\n", refined.hpwl, legality.legal ? "legal" : "not legal");
    done(placefield_wirelength_free(wires, &error), &error);
    done(placefield_engine_free(engine, &error), &error);
    done(placefield_design_free(design, &error), &error);
    free(size);
    return overflow <= 0.08 && legality.legal && refined.hpwl < legal.hpwl ? 0 : 1;
}
