// Prints overflow, area off the die and HPWL of the design that is the first argument, on 8 x 4 bins.

#include "placefield.h"

#include <stdio.h>

int main(int count, char **words) {
    enum { F64 = PLACEFIELD_PRECISION_F64, MOST = 64 };
    placefield_error error = {0};
    placefield_design *design = NULL;
    placefield_engine *engine = NULL;
    placefield_options options;
    placefield_evaluation found;
    double x[MOST], y[MOST], hpwl = 0.0;
    size_t movable, bodies;
    int failed = count != 2 || placefield_options_init(&options, sizeof options, &error);
    options.precision = F64;
    failed = failed || placefield_design_new(words[1], NULL, &design, &error)
             || placefield_design_engine(design, 8, 4, 1.0, 0, &options, &engine, &error)
             || placefield_engine_bodies(engine, &movable, &bodies, &error) || bodies > MOST
             || placefield_engine_start(engine, F64, x, y, bodies, &error)
             || placefield_engine_evaluate(engine, F64, x, y, bodies, &found, &error)
             || placefield_design_hpwl(design, &hpwl, &error);
    if (failed) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    printf("%.17g %.17g %.17g\n", found.overflow, found.area_off_die, hpwl);
    return placefield_engine_free(engine, NULL) || placefield_design_free(design, NULL);
}
