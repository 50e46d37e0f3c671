// Memory that the system refuses is a status, and the program goes on.
#include "placefield.h"

#include "check.h"

#include <string.h>
#include <sys/resource.h>

int main(void) {
    const struct rlimit limit = {1500000000, 1500000000};
    CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
    placefield_options options;
    CHECK(placefield_options_init(&options, sizeof options, NULL) == PLACEFIELD_STATUS_OK);
    options.precision = PLACEFIELD_PRECISION_F64;
    options.threads = 1;
    placefield_bodies bodies;
    CHECK(placefield_bodies_init(&bodies, sizeof bodies, NULL) == PLACEFIELD_STATUS_OK);
    const double width[] = {1.0}, height[] = {2.0};
    bodies.movable = 1;
    bodies.width = width;
    bodies.height = height;
    // In turn there is no memory for the charge, for the rest of the engine, and for nothing.
    const uint32_t bins[] = {16384, 4500, 64};
    for (int k = 0; k < 3; ++k) {
        const placefield_status want = k == 2 ? PLACEFIELD_STATUS_OK : PLACEFIELD_STATUS_OUT_OF_MEMORY;
        const placefield_grid grid = {0.0, 0.0, 64.0, 64.0, bins[k], bins[k]};
        placefield_error error;
        placefield_engine *engine = NULL;
        CHECK(placefield_engine_new(&grid, &bodies, &options, &engine, &error) == want);
        CHECK(error.status == (int32_t)want && (engine != NULL) == (k == 2));
        CHECK(k == 2 || strstr(error.message, " of memory, and ") != NULL);
        CHECK(engine == NULL || placefield_engine_free(engine, NULL) == PLACEFIELD_STATUS_OK);
    }
    const placefield_grid grid = {0.0, 0.0, 64.0, 64.0, 16384, 16384};
    placefield_solver *solver = NULL;
    placefield_error error;
    CHECK(placefield_solver_new(&grid, &options, &solver, &error) == PLACEFIELD_STATUS_OUT_OF_MEMORY);
    CHECK(solver == NULL && strstr(error.message, " of memory, and ") != NULL);
    printf("%d checks passed\n", checks_made);
    return 0;
}
