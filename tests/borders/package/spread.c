// Spreads cells that start in one heap, by the density's force alone.

#include <math.h>
#include <placefield.h>
#include <stdio.h>
#include <stdlib.h>

enum { CELLS = 400, SIDE = 640 };

// Ends the program with the library's message where a call failed.
static void done(placefield_status status, const placefield_error *error) {
    if (status != PLACEFIELD_STATUS_OK) {
        fprintf(stderr, "%s: %s\n", placefield_status_name(status), error->message);
        exit(1);
    }
}

int main(void) {
    static double size[CELLS];
    static float x[CELLS], y[CELLS], force_x[CELLS], force_y[CELLS];
    for (int i = 0; i < CELLS; ++i) {
        size[i] = 16.0;
        x[i] = 220.0f + 9.0f * (float)(i % 20);
        y[i] = 220.0f + 9.0f * (float)(i / 20);
    }

    placefield_error error;
    placefield_grid grid = {0.0, 0.0, SIDE, SIDE, 32, 32};
    placefield_options options;
    placefield_bodies bodies;
    done(placefield_options_init(&options, sizeof options, &error), &error);
    done(placefield_bodies_init(&bodies, sizeof bodies, &error), &error);
    options.device = PLACEFIELD_CPU;
    bodies.movable = CELLS;
    bodies.width = bodies.height = size;
    placefield_engine *engine = NULL;
    done(placefield_engine_new(&grid, &bodies, &options, &engine, &error), &error);

    placefield_evaluation first, last;
    done(placefield_engine_evaluate(engine, PLACEFIELD_PRECISION_F32, x, y, CELLS, &first, &error), &error);
    last = first;
    for (int step = 0; step < 200; ++step) {
        done(placefield_engine_force(engine, PLACEFIELD_PRECISION_F32, force_x, force_y, CELLS, &error), &error);
        for (int i = 0; i < CELLS; ++i) {
            // Divided by the area, the force is the mean field under the cell, in bin widths (of 20). A step is
            // at most a bin, and ends on the die.
            float step_x = 20.0f * fminf(fmaxf(force_x[i] / 256.0f, -1.0f), 1.0f);
            float step_y = 20.0f * fminf(fmaxf(force_y[i] / 256.0f, -1.0f), 1.0f);
            x[i] = fminf(fmaxf(x[i] + step_x, 0.0f), SIDE - 16.0f);
            y[i] = fminf(fmaxf(y[i] + step_y, 0.0f), SIDE - 16.0f);
        }
        done(placefield_engine_evaluate(engine, PLACEFIELD_PRECISION_F32, x, y, CELLS, &last, &error), &error);
    }
    done(placefield_engine_free(engine, &error), &error);
    printf("placefield %s: overflow %.4f, after 200 steps %.4f\n", placefield_version_text(), first.overflow,
           last.overflow);
    return first.overflow > 0.5 && last.overflow < 0.05 && last.area_off_die == 0.0 ? 0 : 1;
}
