// Goes through every function of placefield.h, with good and with bad input.
// The header comes first: it needs no other.
#include "placefield.h"

#include "check.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

enum { NX = 12, NY = 10, BINS = NX * NY };
enum { F32 = PLACEFIELD_PRECISION_F32, F64 = PLACEFIELD_PRECISION_F64 };
static const double PI = 3.14159265358979323846;

static placefield_grid the_grid(void) {
    // Bins of 2 x 3: unlike, and off the origin.
    placefield_grid grid = {5.0, -7.0, 5.0 + 2.0 * NX, -7.0 + 3.0 * NY, NX, NY};
    return grid;
}

static placefield_options the_options(int32_t precision) {
    placefield_options options;
    CHECK(placefield_options_init(&options, sizeof options, NULL) == PLACEFIELD_STATUS_OK);
    options.precision = precision;
    options.threads = 2;
    return options;
}

static void versions(void) {
    uint32_t header = PLACEFIELD_VERSION_MAJOR << 16 | PLACEFIELD_VERSION_MINOR << 8 | PLACEFIELD_VERSION_PATCH;
    char text[32];
    CHECK(placefield_version() == header);
    snprintf(text, sizeof text, "%d.%d.%d", PLACEFIELD_VERSION_MAJOR, PLACEFIELD_VERSION_MINOR,
             PLACEFIELD_VERSION_PATCH);
    CHECK(strcmp(placefield_version_text(), text) == 0);
    CHECK(strcmp(placefield_status_name(PLACEFIELD_STATUS_OUT_OF_ORDER), "PLACEFIELD_STATUS_OUT_OF_ORDER") == 0);
    CHECK(strcmp(placefield_status_name(12345), "unknown") == 0);
    uint32_t devices = 99;
    placefield_error error;
    CHECK(placefield_cuda_devices(&devices, &error) == PLACEFIELD_STATUS_OK);
    CHECK(devices < 99 && (devices > 0 || strlen(error.message) > 0));
    CHECK(placefield_cuda_devices(NULL, NULL) == PLACEFIELD_STATUS_NULL_POINTER);
}

static void write_file(const char *name, const char *text) {
    FILE *file = fopen(name, "w");
    CHECK(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

static double weighted(const placefield_design_options *reading) {
    placefield_design *design = NULL;
    placefield_wirelength *wires = NULL;
    placefield_wirelength_result found;
    placefield_options options = the_options(F64);
    const double x[] = {400, 2000}, y[] = {0, 0};
    CHECK(placefield_design_new("chip.def", reading, &design, NULL) == PLACEFIELD_STATUS_OK);
    CHECK(placefield_wirelength_new(design, 0, &options, &wires, NULL) == PLACEFIELD_STATUS_OK);
    CHECK(placefield_wirelength_evaluate(wires, F64, x, y, 2, 100, &found, NULL, NULL) ==
          PLACEFIELD_STATUS_OK);
    CHECK(placefield_wirelength_free(wires, NULL) == PLACEFIELD_STATUS_OK);
    CHECK(placefield_design_free(design, NULL) == PLACEFIELD_STATUS_OK);
    return found.hpwl;
}

// Options of the reader and its warnings, of the design in chip.lef and chip.def.
static void reading_options(const placefield_design_options *given) {
    placefield_design *design = NULL;
    placefield_error error;
    placefield_design_options reading = *given;
    reading.placement = NULL;
    write_file("chip.wts", "UCLA wts 1.0\nn 3\nnobody 2\n");
    const double plain = weighted(&reading);
    reading.net_weights = "chip.wts";
    CHECK(plain == 1600 && weighted(&reading) == 3 * plain);
    CHECK(placefield_design_new("chip.def", &reading, &design, NULL) == PLACEFIELD_STATUS_OK);
    size_t warnings = 0, length = 0;
    CHECK(placefield_design_warnings(design, NULL, NULL) == PLACEFIELD_STATUS_NULL_POINTER);
    CHECK(placefield_design_warnings(design, &warnings, NULL) == PLACEFIELD_STATUS_OK && warnings > 0);
    char line[512], start[5];
    int unknown = 0, unplaced = 0;
    for (size_t k = 0; k < warnings; ++k) {
        CHECK(placefield_design_warning(design, k, line, sizeof line, &length, NULL) == PLACEFIELD_STATUS_OK);
        CHECK(strlen(line) == length && length > 4);
        CHECK(placefield_design_warning(design, k, start, sizeof start, NULL, NULL) == PLACEFIELD_STATUS_OK);
        CHECK(strlen(start) == 4 && strncmp(start, line, 4) == 0);
        unknown += strstr(line, "chip.wts") != NULL;
    }
    CHECK(unknown == 1);
    CHECK(placefield_design_warning(design, 0, NULL, 0, &length, NULL) == PLACEFIELD_STATUS_OK);
    CHECK(placefield_design_warning(design, 0, NULL, 9, &length, NULL) == PLACEFIELD_STATUS_NULL_POINTER);
    CHECK(placefield_design_warning(design, warnings, line, sizeof line, NULL, &error) ==
          PLACEFIELD_STATUS_BAD_ARGUMENT);
    // A cell without a position is a fault until it gets one.
    placefield_legality legality;
    const double x[] = {400, 2000}, y[] = {0, 0};
    CHECK(placefield_design_legality(design, NULL, NULL) == PLACEFIELD_STATUS_NULL_POINTER);
    CHECK(placefield_design_legality(design, &legality, NULL) == PLACEFIELD_STATUS_OK);
    unplaced += legality.unplaced == 1 && legality.legal == 0;
    CHECK(placefield_design_move(design, x, y, 2, NULL) == PLACEFIELD_STATUS_OK);
    CHECK(placefield_design_legality(design, &legality, NULL) == PLACEFIELD_STATUS_OK);
    CHECK(unplaced == 1 && legality.unplaced == 0 && legality.legal == 1);
    CHECK(placefield_design_free(design, NULL) == PLACEFIELD_STATUS_OK);
    reading.pin_position = PLACEFIELD_PIN_POSITION_MEAN;
    reading.row_blockage = reading.keep_fillers = 1;
    CHECK(weighted(&reading) == 3 * plain);
    design = NULL;
    reading.pin_position = 7;
    CHECK(placefield_design_new("chip.def", &reading, &design, &error) == PLACEFIELD_STATUS_BAD_ARGUMENT);
    reading.pin_position = PLACEFIELD_PIN_POSITION_CENTER;
    reading.pin_offset = PLACEFIELD_PIN_OFFSET_LOWER_LEFT;
    CHECK(placefield_design_new("chip.def", &reading, &design, &error) == PLACEFIELD_STATUS_BAD_ARGUMENT);
    CHECK(strcmp(error.message, "design_options.pin_offset is for .aux designs: chip.def") == 0);
    reading.pin_offset = PLACEFIELD_PIN_OFFSET_CENTER;
    reading.lef = NULL;
    CHECK(placefield_design_new("chip.def", &reading, &design, &error) == PLACEFIELD_STATUS_NULL_POINTER);
    reading.struct_size = 3;
    CHECK(placefield_design_new("chip.def", &reading, &design, &error) == PLACEFIELD_STATUS_BAD_ARGUMENT);
    CHECK(design == NULL && remove("chip.wts") == 0);
}

// A design in LEF and DEF in the current folder: two cells of 400 x 2000 units and a net.
static void designs(void) {
    write_file("chip.lef",
               "SITE core CLASS CORE ; SIZE 0.2 BY 1 ; END core\n"
               "MACRO inv CLASS CORE ; SIZE 0.2 BY 1 ; SITE core ; PIN A PORT LAYER m ; RECT 0 0 0.2 1 ; END END A\n"
               "END inv\nEND LIBRARY\n");
    write_file("chip.def",
               "VERSION 5.8 ;\nDESIGN chip ;\nUNITS DISTANCE MICRONS 2000 ;\n"
               "DIEAREA ( 0 0 ) ( 8000 2000 ) ;\nROW r core 0 0 N DO 20 BY 1 STEP 400 0 ;\n"
               "COMPONENTS 2 ;\n- a inv + PLACED ( 0 0 ) N ;\n- b inv + UNPLACED ;\nEND COMPONENTS\n"
               "NETS 1 ;\n- n ( a A ) ( b A ) ;\nEND NETS\nEND DESIGN\n");
    const char *lef[] = {"chip.lef"};
    placefield_design *design = NULL;
    placefield_error error;
    placefield_design_options reading;
    CHECK(placefield_design_options_init(&reading, sizeof reading - 1, NULL) == PLACEFIELD_STATUS_BAD_ARGUMENT);
    CHECK(placefield_design_options_init(&reading, sizeof reading, NULL) == PLACEFIELD_STATUS_OK);
    reading.lef = lef;
    reading.lefs = 1;
    CHECK(placefield_design_new(NULL, &reading, &design, &error) == PLACEFIELD_STATUS_NULL_POINTER);
    CHECK(placefield_design_new("none.def", &reading, &design, &error) == PLACEFIELD_STATUS_FILE_FAILED);
    CHECK(strstr(error.message, "none.def: ") != NULL);
    CHECK(placefield_design_new("chip.def", NULL, &design, &error) == PLACEFIELD_STATUS_FILE_FAILED);
    CHECK(placefield_design_new("chip.def", &reading, &design, &error) == PLACEFIELD_STATUS_OK);
    placefield_design_counts counts;
    CHECK(placefield_design_count(design, &counts, NULL) == PLACEFIELD_STATUS_OK);
    CHECK(counts.nodes == 2 && counts.movable == 2 && counts.nets == 1 && counts.pins == 2);
    CHECK(counts.xl == 0 && counts.xh == 8000 && counts.yh == 2000 && counts.units_per_micron == 2000);
    double x[] = {400, 2000}, y[] = {0, 0}, hpwl = 0;
    CHECK(placefield_design_move(design, x, y, 1, NULL) == PLACEFIELD_STATUS_BAD_LENGTH);
    CHECK(placefield_design_move(design, x, y, 2, NULL) == PLACEFIELD_STATUS_OK);
    CHECK(placefield_design_hpwl(design, &hpwl, NULL) == PLACEFIELD_STATUS_OK && hpwl == 1600);
    // Cells of 400 x 2000 at 400 and at 2000, pins at their middles: a wire from 600 to 2200 without height.
    double maps[7 * 4 * 2];
    for (size_t k = 0; k < 7 * 4 * 2; ++k) maps[k] = -1;
    CHECK(placefield_design_congestion(design, 4, 2, 3, 0, 0, maps, NULL) == PLACEFIELD_STATUS_BAD_ARGUMENT &&
          maps[0] == -1);
    CHECK(placefield_design_congestion(design, 4, 2, PLACEFIELD_CONVENTION_OPEN_ROAD, 0, 0, maps, &error) ==
          PLACEFIELD_STATUS_BAD_ARGUMENT);
    CHECK(strstr(error.message, "openroad") != NULL);
    CHECK(placefield_design_congestion(design, 4, 2, PLACEFIELD_CONVENTION_DREAM_PLACE, 1, 1, NULL, NULL) ==
          PLACEFIELD_STATUS_NULL_POINTER);
    CHECK(placefield_design_congestion(design, 4, 2, PLACEFIELD_CONVENTION_DREAM_PLACE, 1, 1, maps, NULL) ==
          PLACEFIELD_STATUS_OK);
    // No demand without a box; both cells share bins of 2000 x 1000 with their lower and upper halves.
    CHECK(maps[0] == 0);
    for (size_t bin = 0; bin < 8; ++bin) CHECK(fabs(maps[5 * 8 + bin] - (bin < 4 ? 0.2 : 0)) < 1e-12);
    placefield_options options = the_options(F64);
    placefield_engine *engine = NULL;
    CHECK(placefield_design_engine(design, 8, 2, 1.0, 0, &options, &engine, NULL) == PLACEFIELD_STATUS_OK);
    size_t movable = 0, bodies = 0;
    CHECK(placefield_engine_bodies(engine, &movable, &bodies, NULL) == PLACEFIELD_STATUS_OK);
    CHECK(movable == 2 && bodies == 2);
    CHECK(placefield_engine_free(engine, NULL) == PLACEFIELD_STATUS_OK);
    CHECK(placefield_design_write(design, "placed.def", NULL) == PLACEFIELD_STATUS_OK);
    CHECK(placefield_design_free(design, NULL) == PLACEFIELD_STATUS_OK);
    CHECK(placefield_design_free(design, NULL) == PLACEFIELD_STATUS_BAD_HANDLE);
    reading.placement = "placed.def";
    CHECK(placefield_design_new("chip.def", &reading, &design, NULL) == PLACEFIELD_STATUS_OK);
    CHECK(placefield_design_hpwl(design, &hpwl, NULL) == PLACEFIELD_STATUS_OK && hpwl == 1600);
    placefield_legality legality;
    CHECK(placefield_design_legality(design, &legality, NULL) == PLACEFIELD_STATUS_OK && legality.legal == 1);
    CHECK(placefield_design_free(design, NULL) == PLACEFIELD_STATUS_OK);
    reading_options(&reading);
    CHECK(remove("chip.lef") == 0 && remove("chip.def") == 0 && remove("placed.def") == 0);
}

// One mode of rho: cos(pi p (i + 1/2) / NX) cos(pi q (j + 1/2) / NY) has phi = rho / (wx^2 + wy^2).
static void solves(void) {
    const int p = 3, q = 2;
    const double wx = PI * p / NX, wy = PI * q / NY * (2.0 / 3.0), squared = wx * wx + wy * wy;
    static double rho[BINS], phi[BINS], ex[BINS], ey[BINS];
    static float rho_f[BINS], phi_f[BINS], ex_f[BINS], ey_f[BINS];
    for (int i = 0; i < NX; ++i) {
        for (int j = 0; j < NY; ++j) {
            double mode = cos(PI * p * (i + 0.5) / NX) * cos(PI * q * (j + 0.5) / NY);
            rho[i * NY + j] = 0.25 + mode;
            rho_f[i * NY + j] = (float)(0.25 + mode);
        }
    }
    placefield_grid grid = the_grid();
    for (int32_t pipeline = PLACEFIELD_PIPELINE_FASTEST; pipeline <= PLACEFIELD_PIPELINE_THREE_PASS; ++pipeline) {
        placefield_options options = the_options(F64);
        options.pipeline = pipeline;
        placefield_solver *solver = NULL;
        placefield_error error;
        CHECK(placefield_solver_new(&grid, &options, &solver, &error) == PLACEFIELD_STATUS_OK);
        CHECK(solver != NULL && error.status == PLACEFIELD_STATUS_OK && error.message[0] == 0);
        double energy = 0.0, want_energy = 0.0;
        CHECK(placefield_solver_solve(solver, F64, rho, phi, ex, ey, BINS, &energy, &error) == PLACEFIELD_STATUS_OK);
        double worst = 0.0;
        for (int i = 0; i < NX; ++i) {
            for (int j = 0; j < NY; ++j) {
                double cx = cos(PI * p * (i + 0.5) / NX), cy = cos(PI * q * (j + 0.5) / NY);
                double sx = sin(PI * p * (i + 0.5) / NX), sy = sin(PI * q * (j + 0.5) / NY);
                int at = i * NY + j;
                worst = fmax(worst, fabs(phi[at] - cx * cy / squared));
                worst = fmax(worst, fabs(ex[at] - wx * sx * cy / squared));
                worst = fmax(worst, fabs(ey[at] - wy * cx * sy / squared));
                want_energy += phi[at] * rho[at];
            }
        }
        CHECK(worst < 1e-12);
        CHECK(fabs(energy - want_energy) < 1e-9);
        CHECK(placefield_solver_free(solver, NULL) == PLACEFIELD_STATUS_OK);
    }

    placefield_options options = the_options(F32);
    placefield_solver *solver = NULL;
    placefield_error error;
    CHECK(placefield_solver_new(&grid, &options, &solver, NULL) == PLACEFIELD_STATUS_OK);
    CHECK(placefield_solver_solve(solver, F32, rho_f, phi_f, ex_f, ey_f, BINS, NULL, NULL) == PLACEFIELD_STATUS_OK);
    double worst = 0.0;
    for (int at = 0; at < BINS; ++at) {
        worst = fmax(worst, fmax(fabs(phi[at] - phi_f[at]), fmax(fabs(ex[at] - ex_f[at]), fabs(ey[at] - ey_f[at]))));
    }
    CHECK(worst < 1e-5);

    // A refused call leaves every output as it was.
    float before = phi_f[7];
    rho_f[13] = NAN;
    CHECK(placefield_solver_solve(solver, F32, rho_f, phi_f, ex_f, ey_f, BINS, NULL, &error) ==
          PLACEFIELD_STATUS_BAD_ARGUMENT);
    CHECK(strcmp(error.message, "density of bin 13: NaN: expected a finite number") == 0);
    CHECK(error.status == PLACEFIELD_STATUS_BAD_ARGUMENT && phi_f[7] == before);
    rho_f[13] = 1.0F;
    CHECK(placefield_solver_solve(solver, F32, NULL, phi_f, ex_f, ey_f, BINS, NULL, &error) ==
          PLACEFIELD_STATUS_NULL_POINTER);
    CHECK(strcmp(error.message, "density is NULL") == 0);
    CHECK(placefield_solver_solve(solver, F32, rho_f, NULL, ex_f, ey_f, BINS, NULL, NULL) ==
          PLACEFIELD_STATUS_NULL_POINTER);
    CHECK(placefield_solver_solve(solver, F32, rho_f, phi_f, NULL, ey_f, BINS, NULL, NULL) ==
          PLACEFIELD_STATUS_NULL_POINTER);
    CHECK(placefield_solver_solve(solver, F32, rho_f, phi_f, ex_f, NULL, BINS, NULL, NULL) ==
          PLACEFIELD_STATUS_NULL_POINTER);
    CHECK(placefield_solver_solve(solver, F32, rho_f, phi_f, ex_f, ey_f, BINS + 1, NULL, &error) ==
          PLACEFIELD_STATUS_BAD_LENGTH);
    CHECK(placefield_solver_solve(solver, F32, rho_f, phi_f, ex_f, ey_f, (size_t)-1, NULL, NULL) ==
          PLACEFIELD_STATUS_BAD_LENGTH);
    CHECK(placefield_solver_solve(solver, F32, rho_f, rho_f + 1, ex_f, ey_f, BINS, NULL, NULL) ==
          PLACEFIELD_STATUS_BAD_ARGUMENT);
    CHECK(placefield_solver_solve(solver, F32, rho_f, phi_f, ex_f, ex_f, BINS, NULL, &error) ==
          PLACEFIELD_STATUS_BAD_ARGUMENT);
    CHECK(strcmp(error.message, "field_y overlaps field_x") == 0);
    const float *odd = (const float *)(const void *)((const char *)rho_f + 1);
    CHECK(placefield_solver_solve(solver, F32, odd, phi_f, ex_f, ey_f, BINS, NULL, NULL) ==
          PLACEFIELD_STATUS_BAD_ARGUMENT);
    CHECK(placefield_solver_solve(solver, F64, rho, phi, ex, ey, BINS, NULL, NULL) ==
          PLACEFIELD_STATUS_WRONG_PRECISION);
    CHECK(placefield_solver_solve(NULL, F32, rho_f, phi_f, ex_f, ey_f, BINS, NULL, NULL) ==
          PLACEFIELD_STATUS_NULL_POINTER);
    // An engine's function, a pointer into the stack, a handle that was freed.
    CHECK(placefield_engine_free((placefield_engine *)(void *)solver, NULL) == PLACEFIELD_STATUS_BAD_HANDLE);
    CHECK(placefield_solver_free((placefield_solver *)(void *)&grid, NULL) == PLACEFIELD_STATUS_BAD_HANDLE);
    CHECK(placefield_solver_free(solver, NULL) == PLACEFIELD_STATUS_OK);
    CHECK(placefield_solver_free(solver, &error) == PLACEFIELD_STATUS_BAD_HANDLE);
    CHECK(placefield_solver_solve(solver, F32, rho_f, phi_f, ex_f, ey_f, BINS, NULL, NULL) ==
          PLACEFIELD_STATUS_BAD_HANDLE);
    CHECK(placefield_solver_free(NULL, NULL) == PLACEFIELD_STATUS_OK);
}

static void options_and_grids_are_checked(void) {
    placefield_grid grid = the_grid();
    placefield_options options = the_options(F32);
    placefield_solver *solver = NULL;
    placefield_error error;
    CHECK(placefield_options_init(NULL, sizeof options, NULL) == PLACEFIELD_STATUS_NULL_POINTER);
    CHECK(placefield_options_init(&options, 3, NULL) == PLACEFIELD_STATUS_BAD_ARGUMENT);
    CHECK(placefield_bodies_init(NULL, 0, NULL) == PLACEFIELD_STATUS_NULL_POINTER);
    CHECK(placefield_solver_new(NULL, &options, &solver, NULL) == PLACEFIELD_STATUS_NULL_POINTER);
    CHECK(placefield_solver_new(&grid, NULL, &solver, NULL) == PLACEFIELD_STATUS_NULL_POINTER);
    CHECK(placefield_solver_new(&grid, &options, NULL, NULL) == PLACEFIELD_STATUS_NULL_POINTER);
    placefield_grid bad = grid;
    bad.nx = 0;
    CHECK(placefield_solver_new(&bad, &options, &solver, NULL) == PLACEFIELD_STATUS_BAD_ARGUMENT);
    bad = grid;
    bad.xh = NAN;
    CHECK(placefield_solver_new(&bad, &options, &solver, &error) == PLACEFIELD_STATUS_BAD_ARGUMENT);
    placefield_options wrong = options;
    wrong.struct_size = 0;
    CHECK(placefield_solver_new(&grid, &wrong, &solver, &error) == PLACEFIELD_STATUS_BAD_ARGUMENT);
    CHECK(strstr(error.message, "placefield_options_init") != NULL);
    wrong = options;
    wrong.precision = 7;
    CHECK(placefield_solver_new(&grid, &wrong, &solver, NULL) == PLACEFIELD_STATUS_BAD_ARGUMENT);
    wrong = options;
    wrong.pipeline = -1;
    CHECK(placefield_solver_new(&grid, &wrong, &solver, NULL) == PLACEFIELD_STATUS_BAD_ARGUMENT);
    wrong = options;
    wrong.threads = 100000;
    CHECK(placefield_solver_new(&grid, &wrong, &solver, NULL) == PLACEFIELD_STATUS_BAD_ARGUMENT);
    wrong = options;
    wrong.device = -2;
    CHECK(placefield_solver_new(&grid, &wrong, &solver, NULL) == PLACEFIELD_STATUS_BAD_ARGUMENT);
    wrong = options;
    wrong.device = 4096;
    CHECK(placefield_solver_new(&grid, &wrong, &solver, &error) == PLACEFIELD_STATUS_NO_DEVICE);
    CHECK(strlen(error.message) > 0);
    CHECK(solver == NULL);
}

enum { CELLS = 3 };

static placefield_bodies the_bodies(void) {
    static const double width[CELLS] = {4.0, 2.0, 3.0}, height[CELLS] = {3.0, 3.0, 6.0};
    static const double x[CELLS] = {9.0, 10.0, 20.0}, y[CELLS] = {0.0, 1.0, 4.0};
    static const double fixed_x[1] = {5.0}, fixed_y[1] = {-7.0}, fixed_width[1] = {3.0}, fixed_height[1] = {30.0};
    static const uint8_t macros[CELLS] = {0, 0, 1};
    placefield_bodies bodies;
    CHECK(placefield_bodies_init(&bodies, sizeof bodies, NULL) == PLACEFIELD_STATUS_OK);
    bodies.movable = CELLS;
    bodies.width = width, bodies.height = height, bodies.x = x, bodies.y = y, bodies.macros = macros;
    bodies.fixed = 1;
    bodies.fixed_x = fixed_x, bodies.fixed_y = fixed_y;
    bodies.fixed_width = fixed_width, bodies.fixed_height = fixed_height;
    bodies.fillers = 1, bodies.row_height = 3.0, bodies.target_density = 0.8;
    return bodies;
}

// Floats have steps of 8 at 1e8.
static void floats_are_too_coarse_far_away(void) {
    placefield_grid grid = {1e8, 1e8, 1e8 + 2.0 * NX, 1e8 + 3.0 * NY, NX, NY};
    placefield_bodies bodies = the_bodies();
    bodies.fixed = 0;
    placefield_error error;
    for (int32_t precision = F32; precision <= F64; ++precision) {
        placefield_options options = the_options(precision);
        placefield_engine *engine = NULL;
        placefield_status status = placefield_engine_new(&grid, &bodies, &options, &engine, &error);
        CHECK(status == (precision == F64 ? PLACEFIELD_STATUS_OK : PLACEFIELD_STATUS_BAD_ARGUMENT));
        CHECK(engine != NULL || strstr(error.message, "expected f64, or positions from an origin nearer") != NULL);
        CHECK(placefield_engine_free(engine, NULL) == PLACEFIELD_STATUS_OK);
    }
}

static void steps(void) {
    placefield_grid grid = the_grid();
    placefield_bodies bodies = the_bodies();
    placefield_options options = the_options(F64);
    placefield_engine *engine = NULL;
    placefield_error error;
    CHECK(placefield_engine_new(&grid, &bodies, &options, &engine, &error) == PLACEFIELD_STATUS_OK);
    size_t movable = 0, all = 0;
    CHECK(placefield_engine_bodies(engine, &movable, &all, NULL) == PLACEFIELD_STATUS_OK);
    CHECK(movable == CELLS && all > CELLS);
    double *x = malloc(4 * all * sizeof *x);
    CHECK(x != NULL);
    double *y = x + all, *fx = y + all, *fy = fx + all;
    static double rho[BINS], phi[BINS], ex[BINS], ey[BINS];
    CHECK(placefield_engine_force(engine, F64, fx, fy, all, &error) == PLACEFIELD_STATUS_OUT_OF_ORDER);
    CHECK(placefield_engine_start(engine, F64, x, y, all, NULL) == PLACEFIELD_STATUS_OK);
    CHECK(x[2] == 20.0 && y[2] == 4.0);
    placefield_evaluation result;
    CHECK(placefield_engine_evaluate(engine, F64, x, y, all, &result, &error) == PLACEFIELD_STATUS_OK);
    CHECK(result.overflow > 0.0 && result.max_density > 0.8 && result.energy > 0.0 && result.area_off_die == 0.0);
    CHECK(placefield_engine_force(engine, F64, fx, fy, all, NULL) == PLACEFIELD_STATUS_OK);
    // Half of cell 0, of 4 x 3, off the die is overflow, of 36 in all.
    x[0] = 3.0;
    placefield_evaluation off;
    CHECK(placefield_engine_evaluate(engine, F64, x, y, all, &off, NULL) == PLACEFIELD_STATUS_OK);
    CHECK(fabs(off.area_off_die - 6.0) < 1e-9 && off.overflow > 6.0 / 36.0);
    x[0] = 9.0;
    CHECK(placefield_engine_evaluate(engine, F64, x, y, all, NULL, NULL) == PLACEFIELD_STATUS_OK);
    double *gradient = malloc(2 * all * sizeof *gradient);
    CHECK(gradient != NULL);
    for (size_t i = 0; i < 2 * all; ++i) gradient[i] = 1.0;
    CHECK(placefield_engine_gradient(engine, F64, gradient, all, -2.0, 1, NULL) == PLACEFIELD_STATUS_OK);
    CHECK(fabs(gradient[1] - (1.0 - 2.0 * fx[1])) < 1e-12 * fabs(fx[1]));
    CHECK(fabs(gradient[all + 2] - (1.0 - 2.0 * fy[2])) < 1e-12 * (1.0 + fabs(fy[2])));
    CHECK(placefield_engine_gradient(engine, F64, gradient, all, NAN, 0, NULL) == PLACEFIELD_STATUS_BAD_ARGUMENT);
    CHECK(placefield_engine_gradient(engine, F64, NULL, all, 1.0, 0, NULL) == PLACEFIELD_STATUS_NULL_POINTER);
    CHECK(placefield_engine_gradient(engine, F64, gradient, 1, 1.0, 0, NULL) == PLACEFIELD_STATUS_BAD_LENGTH);
    CHECK(placefield_engine_gradient(engine, F32, NULL, all, 1.0, 0, NULL) == PLACEFIELD_STATUS_WRONG_PRECISION);
    free(gradient);
    // Device memory is for engines on a device.
    CHECK(placefield_engine_enqueue_energy(engine, x, all, NULL, NULL, &error) != PLACEFIELD_STATUS_OK);
    CHECK(strlen(error.message) > 0);
    CHECK(placefield_engine_enqueue_gradient(engine, fx, all, 1.0, NULL, 0, NULL, NULL) != PLACEFIELD_STATUS_OK);
    CHECK(placefield_engine_read_evaluation(engine, NULL, &result, NULL) != PLACEFIELD_STATUS_OK);
    CHECK(placefield_engine_order_if_due(engine, NULL, NULL) != PLACEFIELD_STATUS_OK);
    CHECK(placefield_engine_enqueue_energy(engine, x, 1, NULL, NULL, NULL) == PLACEFIELD_STATUS_BAD_LENGTH);
    double overflow = 0.0, largest = 0.0;
    CHECK(placefield_engine_exact(engine, &overflow, &largest, NULL) == PLACEFIELD_STATUS_OK);
    CHECK(placefield_engine_exact(engine, NULL, NULL, NULL) == PLACEFIELD_STATUS_OK);
    CHECK(overflow > 0.0 && largest > 0.8);
    CHECK(placefield_engine_map(engine, F64, PLACEFIELD_MAP_DENSITY, rho, BINS, NULL) == PLACEFIELD_STATUS_OK);
    CHECK(placefield_engine_map(engine, F64, PLACEFIELD_MAP_POTENTIAL, phi, BINS, NULL) == PLACEFIELD_STATUS_OK);
    CHECK(placefield_engine_map(engine, F64, PLACEFIELD_MAP_FIELD_X, ex, BINS, NULL) == PLACEFIELD_STATUS_OK);
    CHECK(placefield_engine_map(engine, F64, PLACEFIELD_MAP_FIELD_Y, ey, BINS, NULL) == PLACEFIELD_STATUS_OK);
    double energy = 0.0;
    for (int at = 0; at < BINS; ++at) energy += phi[at] * rho[at];
    CHECK(fabs(energy - result.energy) < 1e-9 * fabs(energy));
    // Cell 2, a macro that weighs 0.8, covers half of bin column 7 and all of 8, a third of bin row 3,
    // all of 4 and two thirds of 5; a bin's area is 6.
    const double across[2] = {0.5, 1.0}, up[3] = {1.0 / 3.0, 1.0, 2.0 / 3.0};
    double want_x = 0.0, want_y = 0.0;
    for (int i = 0; i < 2; ++i) {
        for (int j = 0; j < 3; ++j) {
            want_x += 0.8 * 6.0 * across[i] * up[j] * ex[(7 + i) * NY + 3 + j];
            want_y += 0.8 * 6.0 * across[i] * up[j] * ey[(7 + i) * NY + 3 + j];
        }
    }
    CHECK(fabs(fx[2] - want_x) < 1e-12 * (1.0 + fabs(want_x)));
    CHECK(fabs(fy[2] - want_y) < 1e-12 * (1.0 + fabs(want_y)));
    CHECK(fabs(want_x) > 1e-3 && fabs(want_x - want_y) > 1e-3);

    CHECK(placefield_engine_evaluate(engine, F64, x, y, all - 1, NULL, &error) == PLACEFIELD_STATUS_BAD_LENGTH);
    CHECK(placefield_engine_evaluate(engine, F64, NULL, y, all, NULL, NULL) == PLACEFIELD_STATUS_NULL_POINTER);
    CHECK(placefield_engine_evaluate(engine, F64, x, NULL, all, NULL, NULL) == PLACEFIELD_STATUS_NULL_POINTER);
    y[1] = INFINITY;
    CHECK(placefield_engine_evaluate(engine, F64, x, y, all, NULL, &error) == PLACEFIELD_STATUS_BAD_ARGUMENT);
    CHECK(strcmp(error.message, "y of body 1: inf: expected a finite number") == 0);
    y[1] = 1.0;
    // Results of earlier positions are not taken for those of refused ones.
    CHECK(placefield_engine_force(engine, F64, fx, fy, all, NULL) == PLACEFIELD_STATUS_OUT_OF_ORDER);
    CHECK(placefield_engine_evaluate(engine, F64, x, y, all, NULL, NULL) == PLACEFIELD_STATUS_OK);
    CHECK(placefield_engine_force(engine, F64, fx, fy, all, NULL) == PLACEFIELD_STATUS_OK);
    CHECK(placefield_engine_evaluate(engine, F64, x, NULL, all, NULL, NULL) == PLACEFIELD_STATUS_NULL_POINTER);
    CHECK(placefield_engine_map(engine, F64, PLACEFIELD_MAP_DENSITY, rho, BINS, NULL) ==
          PLACEFIELD_STATUS_OUT_OF_ORDER);
    CHECK(placefield_engine_evaluate(engine, F64, x, y, all, NULL, NULL) == PLACEFIELD_STATUS_OK);
    CHECK(placefield_engine_force(engine, F64, fx, fx, all, NULL) == PLACEFIELD_STATUS_BAD_ARGUMENT);
    CHECK(placefield_engine_map(engine, F64, 9, rho, BINS, NULL) == PLACEFIELD_STATUS_BAD_ARGUMENT);
    CHECK(placefield_engine_map(engine, F64, PLACEFIELD_MAP_DENSITY, rho, NX, NULL) == PLACEFIELD_STATUS_BAD_LENGTH);
    CHECK(placefield_engine_map(engine, F64, PLACEFIELD_MAP_DENSITY, NULL, BINS, NULL) ==
          PLACEFIELD_STATUS_NULL_POINTER);
    float small[4];
    CHECK(placefield_engine_evaluate(engine, F32, small, small, all, NULL, NULL) == PLACEFIELD_STATUS_WRONG_PRECISION);
    CHECK(placefield_engine_force(engine, F32, small, small, all, NULL) == PLACEFIELD_STATUS_WRONG_PRECISION);
    CHECK(placefield_engine_start(engine, F32, small, small, all, NULL) == PLACEFIELD_STATUS_WRONG_PRECISION);
    CHECK(placefield_engine_map(engine, F32, 0, small, BINS, NULL) == PLACEFIELD_STATUS_WRONG_PRECISION);
    CHECK(placefield_engine_bodies(engine, NULL, &all, NULL) == PLACEFIELD_STATUS_NULL_POINTER);
    CHECK(placefield_engine_free(engine, NULL) == PLACEFIELD_STATUS_OK);
    CHECK(placefield_engine_free(engine, NULL) == PLACEFIELD_STATUS_BAD_HANDLE);
    CHECK(placefield_engine_exact(engine, NULL, NULL, NULL) == PLACEFIELD_STATUS_BAD_HANDLE);
    free(x);

    placefield_engine *none = NULL;
    placefield_bodies wrong = bodies;
    wrong.width = NULL;
    CHECK(placefield_engine_new(&grid, &wrong, &options, &none, &error) == PLACEFIELD_STATUS_NULL_POINTER);
    CHECK(strcmp(error.message, "bodies.width is NULL") == 0);
    wrong = bodies;
    wrong.target_density = 1.5;
    CHECK(placefield_engine_new(&grid, &wrong, &options, &none, NULL) == PLACEFIELD_STATUS_BAD_ARGUMENT);
    wrong = bodies;
    wrong.movable = (size_t)-1;
    CHECK(placefield_engine_new(&grid, &wrong, &options, &none, NULL) == PLACEFIELD_STATUS_BAD_LENGTH);
    wrong = bodies;
    wrong.struct_size = 8;
    CHECK(placefield_engine_new(&grid, &wrong, &options, &none, NULL) == PLACEFIELD_STATUS_BAD_ARGUMENT);
    CHECK(none == NULL);
}

// The energy at `x` and `y` of an engine that was made for `bodies`.
static double energy_of(const placefield_bodies *bodies, const double *x, const double *y) {
    placefield_grid grid = the_grid();
    placefield_options options = the_options(F64);
    placefield_engine *engine = NULL;
    placefield_evaluation result;
    CHECK(placefield_engine_new(&grid, bodies, &options, &engine, NULL) == PLACEFIELD_STATUS_OK);
    CHECK(placefield_engine_evaluate(engine, F64, x, y, bodies->movable, &result, NULL) == PLACEFIELD_STATUS_OK);
    CHECK(placefield_engine_free(engine, NULL) == PLACEFIELD_STATUS_OK);
    return result.energy;
}

// Changes while a placer runs: an engine is then as one made with the new values.
static void changes(void) {
    placefield_grid grid = the_grid();
    placefield_bodies bodies = the_bodies();
    bodies.fillers = 0, bodies.target_density = 1.0;
    placefield_options options = the_options(F64);
    const double x[CELLS] = {9, 10, 20}, y[CELLS] = {0, 1, 4};
    placefield_engine *engine = NULL;
    placefield_evaluation result;
    CHECK(placefield_engine_new(&grid, &bodies, &options, &engine, NULL) == PLACEFIELD_STATUS_OK);

    const double width[CELLS] = {5, 3, 2}, height[CELLS] = {1, 2, 6};
    CHECK(placefield_engine_set_sizes(engine, width, height, CELLS, NULL) == PLACEFIELD_STATUS_OK);
    double fx[CELLS], fy[CELLS];
    CHECK(placefield_engine_force(engine, F64, fx, fy, CELLS, NULL) == PLACEFIELD_STATUS_OUT_OF_ORDER);
    CHECK(placefield_engine_evaluate(engine, F64, x, y, CELLS, &result, NULL) == PLACEFIELD_STATUS_OK);
    placefield_bodies other = bodies;
    other.width = width, other.height = height;
    CHECK(result.energy == energy_of(&other, x, y));
    other.width = height, other.height = width;
    CHECK(result.energy != energy_of(&other, x, y));
    placefield_error error;
    CHECK(placefield_engine_set_sizes(engine, width, height, 2, NULL) == PLACEFIELD_STATUS_BAD_LENGTH);
    CHECK(placefield_engine_set_sizes(engine, NULL, height, CELLS, NULL) == PLACEFIELD_STATUS_NULL_POINTER);
    const double negative[CELLS] = {5, -3, 2};
    CHECK(placefield_engine_set_sizes(engine, negative, height, CELLS, &error) == PLACEFIELD_STATUS_BAD_ARGUMENT);
    CHECK(strstr(error.message, "width of body 1") != NULL);

    // Area taken and a target density, bin by bin.
    static double taken[BINS], targets[BINS];
    for (int at = 0; at < BINS; ++at) targets[at] = at / NY < 4 ? 0.5 : 1.0;
    taken[2 * NY + 1] = 3.0;
    const double before = result.energy, overflow = result.overflow;
    CHECK(placefield_engine_set_blocked_area(engine, taken, BINS, NULL) == PLACEFIELD_STATUS_OK);
    CHECK(placefield_engine_evaluate(engine, F64, x, y, CELLS, &result, NULL) == PLACEFIELD_STATUS_OK);
    CHECK(result.energy != before);
    CHECK(placefield_engine_set_blocked_area(engine, NULL, BINS, NULL) == PLACEFIELD_STATUS_OK);
    CHECK(placefield_engine_set_target_densities(engine, targets, BINS, NULL) == PLACEFIELD_STATUS_OK);
    CHECK(placefield_engine_evaluate(engine, F64, x, y, CELLS, &result, NULL) == PLACEFIELD_STATUS_OK);
    CHECK(result.overflow > overflow);
    CHECK(placefield_engine_set_target_densities(engine, NULL, BINS, NULL) == PLACEFIELD_STATUS_OK);
    CHECK(placefield_engine_evaluate(engine, F64, x, y, CELLS, &result, NULL) == PLACEFIELD_STATUS_OK);
    CHECK(result.energy == before && result.overflow == overflow);
    CHECK(placefield_engine_set_blocked_area(engine, taken, NX, NULL) == PLACEFIELD_STATUS_BAD_LENGTH);
    targets[5] = 1.5;
    CHECK(placefield_engine_set_target_densities(engine, targets, BINS, NULL) == PLACEFIELD_STATUS_BAD_ARGUMENT);

    // A cell that stays feels no force, wherever it is said to be.
    const uint8_t stays[CELLS] = {0, 1, 0};
    CHECK(placefield_engine_set_fixed_cells(engine, stays, x, y, CELLS, NULL) == PLACEFIELD_STATUS_OK);
    CHECK(placefield_engine_evaluate(engine, F64, x, y, CELLS, &result, NULL) == PLACEFIELD_STATUS_OK);
    CHECK(placefield_engine_force(engine, F64, fx, fy, CELLS, NULL) == PLACEFIELD_STATUS_OK);
    CHECK(fx[1] == 0.0 && fy[1] == 0.0 && fx[0] != 0.0);
    const double energy = result.energy, elsewhere[CELLS] = {9, 30, 20};
    CHECK(placefield_engine_evaluate(engine, F64, elsewhere, y, CELLS, &result, NULL) == PLACEFIELD_STATUS_OK);
    CHECK(result.energy == energy);
    CHECK(placefield_engine_set_fixed_cells(engine, stays, x, y, 2, NULL) == PLACEFIELD_STATUS_BAD_LENGTH);
    CHECK(placefield_engine_free(engine, NULL) == PLACEFIELD_STATUS_OK);
    CHECK(placefield_engine_refill(engine, NULL) == PLACEFIELD_STATUS_BAD_HANDLE);

    // Larger cells leave less for fillers, whose sizes the engine has.
    bodies.fillers = 1;
    CHECK(placefield_engine_new(&grid, &bodies, &options, &engine, NULL) == PLACEFIELD_STATUS_OK);
    size_t movable, some = 0, fewer = 0;
    CHECK(placefield_engine_bodies(engine, &movable, &some, NULL) == PLACEFIELD_STATUS_OK);
    double *sizes = malloc(2 * some * sizeof *sizes), target = 0;
    CHECK(sizes != NULL && placefield_engine_sizes(engine, sizes, sizes + some, some, NULL) == PLACEFIELD_STATUS_OK);
    CHECK(sizes[1] == bodies.width[1] && sizes[some + 1] == bodies.height[1]);
    CHECK(sizes[CELLS] > 0 && sizes[CELLS] == sizes[some - 1] && sizes[some + CELLS] > 0);
    sizes[0] *= 2;
    CHECK(placefield_engine_set_sizes(engine, sizes, sizes + some, some, NULL) == PLACEFIELD_STATUS_OK);
    CHECK(placefield_engine_sizes(engine, sizes, sizes, some, NULL) == PLACEFIELD_STATUS_BAD_ARGUMENT);
    CHECK(placefield_engine_sizes(engine, sizes, sizes + some, CELLS, NULL) == PLACEFIELD_STATUS_BAD_LENGTH);
    CHECK(placefield_engine_region_target_densities(engine, &target, 1, NULL) == PLACEFIELD_STATUS_OK && target == 1.0);
    CHECK(placefield_engine_region_target_densities(engine, &target, 2, NULL) == PLACEFIELD_STATUS_BAD_LENGTH);
    free(sizes);
    CHECK(placefield_engine_set_blocked_area(engine, targets, BINS, NULL) == PLACEFIELD_STATUS_OK);
    CHECK(placefield_engine_refill(engine, NULL) == PLACEFIELD_STATUS_OK);
    CHECK(placefield_engine_bodies(engine, &movable, &fewer, NULL) == PLACEFIELD_STATUS_OK);
    CHECK(movable == CELLS && CELLS < fewer && fewer < some);
    CHECK(placefield_engine_free(engine, NULL) == PLACEFIELD_STATUS_OK);
}

typedef struct {
    placefield_engine *engine;
    float x[CELLS], y[CELLS];
    double energy;
} work;

static void *evaluate_many(void *argument) {
    work *mine = argument;
    for (int i = 0; i < 20; ++i) {
        placefield_evaluation result;
        if (placefield_engine_evaluate(mine->engine, F32, mine->x, mine->y, CELLS, &result, NULL) !=
                PLACEFIELD_STATUS_OK ||
            (i > 0 && result.energy != mine->energy)) {
            mine->energy = NAN;
            return NULL;
        }
        mine->energy = result.energy;
    }
    return NULL;
}

// Two threads on one engine wait for each other, and each gets what belongs to its positions.
static void threads(void) {
    placefield_grid grid = the_grid();
    placefield_bodies bodies = the_bodies();
    bodies.fillers = 0;
    placefield_options options = the_options(F32);
    work both[2] = {{NULL, {9, 10, 20}, {0, 1, 4}, 0}, {NULL, {9, 16, 20}, {0, 12, 4}, 0}};
    placefield_engine *engine = NULL;
    CHECK(placefield_engine_new(&grid, &bodies, &options, &engine, NULL) == PLACEFIELD_STATUS_OK);
    pthread_t other;
    both[0].engine = both[1].engine = engine;
    CHECK(pthread_create(&other, NULL, evaluate_many, &both[1]) == 0);
    evaluate_many(&both[0]);
    CHECK(pthread_join(other, NULL) == 0);
    CHECK(both[0].energy > both[1].energy);
    CHECK(placefield_engine_free(engine, NULL) == PLACEFIELD_STATUS_OK);
}

// Cells in two fences, one of two rectangles, and cells in none.
static void regions(void) {
    enum { CELLS = 30, FENCES = 2, REGIONS = 3 };
    double width[CELLS], height[CELLS], x[CELLS], y[CELLS];
    uint32_t region[CELLS];
    for (int i = 0; i < CELLS; ++i) {
        width[i] = 1.0 + 0.1 * (i % 3);
        height[i] = 2.0;
        x[i] = 6.0 + 0.7 * i;
        y[i] = 20.0 - 0.8 * i;
        region[i] = (uint32_t)(i % REGIONS);
    }
    // The die is [5, 29] x [-7, 23].
    const uint32_t of[] = {0, 0, 1};
    const double fx[] = {5.0, 9.0, 19.0}, fy[] = {-7.0, -7.0, 2.0}, fw[] = {5.0, 6.0, 8.0}, fh[] = {20.0, 9.0, 15.0};
    placefield_bodies bodies;
    placefield_error error;
    CHECK(placefield_bodies_init(&bodies, sizeof bodies, NULL) == PLACEFIELD_STATUS_OK);
    CHECK(bodies.fences == 0 && bodies.region == NULL);
    bodies.movable = CELLS;
    bodies.width = width;
    bodies.height = height;
    bodies.x = x;
    bodies.y = y;
    bodies.fillers = 1;
    bodies.fences = FENCES;
    bodies.region = region;
    bodies.fence_rects = 3;
    bodies.fence_of_rect = of;
    bodies.fence_x = fx;
    bodies.fence_y = fy;
    bodies.fence_width = fw;
    bodies.fence_height = fh;
    placefield_grid grid = the_grid();
    placefield_options options = the_options(F64);
    placefield_engine *engine = NULL;
    CHECK(placefield_engine_new(&grid, &bodies, &options, &engine, &error) == PLACEFIELD_STATUS_OK);
    size_t movable = 0, all = 0, count = 0;
    CHECK(placefield_engine_bodies(engine, &movable, &all, NULL) == PLACEFIELD_STATUS_OK);
    CHECK(movable == CELLS && all > CELLS && all < 4096);
    static uint32_t of_bodies[4096];
    CHECK(placefield_engine_regions(engine, &count, of_bodies, all, NULL) == PLACEFIELD_STATUS_OK);
    CHECK(count == REGIONS && of_bodies[4] == 1 && of_bodies[CELLS] == 0 && of_bodies[all - 1] == 2);
    CHECK(placefield_engine_regions(engine, &count, NULL, 0, NULL) == PLACEFIELD_STATUS_OK);
    CHECK(placefield_engine_regions(engine, &count, of_bodies, all + 1, &error) == PLACEFIELD_STATUS_BAD_LENGTH);
    CHECK(placefield_engine_regions(engine, NULL, NULL, 0, NULL) == PLACEFIELD_STATUS_NULL_POINTER);

    static double at[2 * 4096], gradient[2 * 4096], weighted[2 * 4096], maps[REGIONS * BINS];
    placefield_evaluation whole, parts[REGIONS];
    CHECK(placefield_engine_start(engine, F64, at, at + all, all, NULL) == PLACEFIELD_STATUS_OK);
    CHECK(placefield_engine_evaluations(engine, parts, REGIONS, NULL) == PLACEFIELD_STATUS_OUT_OF_ORDER);
    CHECK(placefield_engine_evaluate(engine, F64, at, at + all, all, &whole, NULL) == PLACEFIELD_STATUS_OK);
    CHECK(placefield_engine_evaluations(engine, parts, REGIONS, NULL) == PLACEFIELD_STATUS_OK);
    CHECK(placefield_engine_evaluations(engine, parts, 2, &error) == PLACEFIELD_STATUS_BAD_LENGTH);
    CHECK(strcmp(error.message, "2 regions, expected 3") == 0);
    CHECK(fabs(parts[0].energy + parts[1].energy + parts[2].energy - whole.energy) < 1e-12 * whole.energy);
    CHECK(whole.max_density == fmax(parts[0].max_density, fmax(parts[1].max_density, parts[2].max_density)));

    // Outside its fence a region is full: the last column of bins for the first, the first one for the second.
    CHECK(placefield_engine_map(engine, F64, PLACEFIELD_MAP_DENSITY, maps, REGIONS * BINS, NULL) ==
          PLACEFIELD_STATUS_OK);
    CHECK(maps[(NX - 1) * NY] > 0.999 && maps[BINS] > 0.999);
    CHECK(placefield_engine_map(engine, F64, PLACEFIELD_MAP_DENSITY, maps, BINS, &error) ==
          PLACEFIELD_STATUS_BAD_LENGTH);
    CHECK(strcmp(error.message, "120 bins, expected 3 \xc3\x97 12 \xc3\x97 10") == 0);

    const double weights[REGIONS] = {-1.0, -3.0, 0.5};
    CHECK(placefield_engine_gradient(engine, F64, gradient, all, -1.0, 0, NULL) == PLACEFIELD_STATUS_OK);
    CHECK(placefield_engine_region_gradient(engine, F64, weighted, all, weights, REGIONS, 0, NULL) ==
          PLACEFIELD_STATUS_OK);
    for (size_t i = 0; i < all; ++i) {
        double weight = -weights[of_bodies[i]];
        CHECK(weighted[i] == weight * gradient[i] && weighted[all + i] == weight * gradient[all + i]);
    }
    CHECK(placefield_engine_region_gradient(engine, F64, weighted, all, weights, 2, 0, NULL) ==
          PLACEFIELD_STATUS_BAD_LENGTH);
    CHECK(placefield_engine_region_gradient(engine, F64, weighted, all, NULL, REGIONS, 0, NULL) ==
          PLACEFIELD_STATUS_NULL_POINTER);
    static float narrow[2 * 4096];
    CHECK(placefield_engine_region_gradient(engine, F32, narrow, all, weights, REGIONS, 0, NULL) ==
          PLACEFIELD_STATUS_WRONG_PRECISION);
    CHECK(placefield_engine_free(engine, NULL) == PLACEFIELD_STATUS_OK);

    engine = NULL;
    region[7] = 3;
    CHECK(placefield_engine_new(&grid, &bodies, &options, &engine, &error) == PLACEFIELD_STATUS_BAD_ARGUMENT);
    CHECK(strcmp(error.message, "movable cell 7: region 3: expected a number below 3") == 0 && engine == NULL);
    region[7] = 1;
    bodies.fences = 4;
    CHECK(placefield_engine_new(&grid, &bodies, &options, &engine, &error) == PLACEFIELD_STATUS_BAD_ARGUMENT);
    CHECK(strcmp(error.message, "4 fences of 3 rectangles") == 0);
    bodies.fences = 1;
    CHECK(placefield_engine_new(&grid, &bodies, &options, &engine, &error) == PLACEFIELD_STATUS_BAD_ARGUMENT);
    CHECK(strcmp(error.message, "bodies.fence_of_rect 2: 1: expected a number below 1") == 0);
    bodies.fences = FENCES;
    bodies.fence_x = NULL;
    CHECK(placefield_engine_new(&grid, &bodies, &options, &engine, &error) == PLACEFIELD_STATUS_NULL_POINTER);
    CHECK(strcmp(error.message, "bodies.fence_x is NULL") == 0);
}

enum { SMALL = 60, SMALL_NETS = 70 };

// A chain of cells of 2 to 4 sites on 8 rows of 60 sites, with a fixed cell at a corner.
static placefield_design_arrays the_arrays(void) {
    static double width[SMALL + 1], height[SMALL + 1], x[SMALL + 1], y[SMALL + 1], rows[8 * 5];
    static uint8_t kind[SMALL + 1];
    static uint32_t net_start[SMALL_NETS + 1], pin_node[2 * SMALL_NETS];
    for (int i = 0; i <= SMALL; ++i) {
        width[i] = i < SMALL ? 2 + i % 3 : 6;
        height[i] = i < SMALL ? 8 : 16;
        x[i] = i < SMALL ? 20 + 0.3 * i : 0;
        y[i] = i < SMALL ? 30 - 0.2 * i : 0;
        kind[i] = i < SMALL ? PLACEFIELD_NODE_KIND_MOVABLE : PLACEFIELD_NODE_KIND_FIXED;
    }
    for (int net = 0; net < SMALL_NETS; ++net) {
        net_start[net + 1] = 2 * (uint32_t)net + 2;
        pin_node[2 * net] = (uint32_t)(net * 7 % (SMALL + 1));
        pin_node[2 * net + 1] = (uint32_t)((net * 7 + 1 + net % 5) % (SMALL + 1));
    }
    for (int row = 0; row < 8; ++row) {
        const double numbers[] = {0, 8.0 * row, 8, 1, 60};
        memcpy(rows + 5 * row, numbers, sizeof numbers);
    }
    placefield_design_arrays arrays;
    CHECK(placefield_design_arrays_init(&arrays, sizeof arrays, NULL) == PLACEFIELD_STATUS_OK);
    arrays.nodes = SMALL + 1;
    arrays.width = width, arrays.height = height, arrays.x = x, arrays.y = y, arrays.kind = kind;
    arrays.nets = SMALL_NETS, arrays.net_start = net_start;
    arrays.pins = 2 * SMALL_NETS, arrays.pin_node = pin_node;
    arrays.rows = 8, arrays.row = rows;
    return arrays;
}

static placefield_design *the_design(void) {
    placefield_design_arrays arrays = the_arrays();
    placefield_design *design = NULL;
    CHECK(placefield_design_from_arrays(&arrays, &design, NULL) == PLACEFIELD_STATUS_OK);
    return design;
}

static void refuse_arrays(const placefield_design_arrays *arrays, placefield_status status, const char *message) {
    placefield_design *design = NULL;
    placefield_error error;
    CHECK(placefield_design_from_arrays(arrays, &design, &error) == status && design == NULL);
    if (strstr(error.message, message) == NULL) fprintf(stderr, "%s\n", error.message);
    CHECK(strstr(error.message, message) != NULL);
}

static void arrays(void) {
    placefield_design *design = the_design();
    placefield_design_counts counts;
    CHECK(placefield_design_count(design, &counts, NULL) == PLACEFIELD_STATUS_OK);
    CHECK(counts.nodes == SMALL + 1 && counts.movable == SMALL && counts.nets == SMALL_NETS);
    CHECK(counts.pins == 2 * SMALL_NETS && counts.xh == 60 && counts.yh == 64);
    double x[SMALL], y[SMALL], width[SMALL], height[SMALL];
    CHECK(placefield_design_cells(design, x, y, width, height, SMALL, NULL) == PLACEFIELD_STATUS_OK);
    CHECK(x[5] == 20 + 0.3 * 5 && y[5] == 30 - 0.2 * 5 && width[5] == 4 && height[5] == 8);
    x[0] = -1;
    CHECK(placefield_design_cells(design, NULL, y, NULL, NULL, SMALL, NULL) == PLACEFIELD_STATUS_OK && x[0] == -1);
    CHECK(placefield_design_cells(design, x, x, NULL, NULL, SMALL, NULL) == PLACEFIELD_STATUS_BAD_ARGUMENT);
    CHECK(placefield_design_cells(design, x, y, NULL, NULL, SMALL + 1, NULL) == PLACEFIELD_STATUS_BAD_LENGTH);
    CHECK(placefield_design_write(design, "made.def", NULL) == PLACEFIELD_STATUS_FILE_FAILED);
    CHECK(placefield_design_write(design, "made.pl", NULL) == PLACEFIELD_STATUS_FILE_FAILED);
    CHECK(placefield_design_free(design, NULL) == PLACEFIELD_STATUS_OK);
    // A placement is written with names.
    char text[SMALL + 1][16];
    const char *names[SMALL + 1];
    placefield_design_arrays named = the_arrays();
    for (int i = 0; i <= SMALL; ++i) {
        snprintf(text[i], sizeof text[i], "c%d", i);
        names[i] = text[i];
    }
    named.names = names;
    CHECK(placefield_design_from_arrays(&named, &design, NULL) == PLACEFIELD_STATUS_OK);
    CHECK(placefield_design_write(design, "made.pl", NULL) == PLACEFIELD_STATUS_OK && remove("made.pl") == 0);
    CHECK(placefield_design_free(design, NULL) == PLACEFIELD_STATUS_OK);
    design = NULL;
    names[3] = "c2";
    refuse_arrays(&named, PLACEFIELD_STATUS_BAD_ARGUMENT, "names 3: 'c2' is also number 2");
    names[3] = "\xff";
    refuse_arrays(&named, PLACEFIELD_STATUS_BAD_ARGUMENT, "design_arrays.names: ");
    names[3] = NULL;
    refuse_arrays(&named, PLACEFIELD_STATUS_NULL_POINTER, "design_arrays.names is NULL");

    // A turned node is given as it lies, and so are the offsets of its pins.
    placefield_design_arrays turned;
    const double sizes[] = {3, 5}, lies[] = {7, 5}, at[] = {10, 20}, dx[] = {1, 0}, dy[] = {2, 0};
    const uint8_t east[] = {PLACEFIELD_ORIENTATION_E, PLACEFIELD_ORIENTATION_N}, north[] = {0, 9};
    const uint32_t start[] = {0, 2}, pins[] = {0, 1}, none[] = {0, 5};
    CHECK(placefield_design_arrays_init(&turned, sizeof turned + 8, NULL) == PLACEFIELD_STATUS_BAD_ARGUMENT);
    CHECK(placefield_design_arrays_init(&turned, sizeof turned, NULL) == PLACEFIELD_STATUS_OK);
    turned.nodes = 2;
    turned.width = sizes, turned.height = lies, turned.x = turned.y = at, turned.orientation = east;
    turned.nets = 1, turned.net_start = start, turned.pins = 2, turned.pin_node = pins;
    turned.pin_dx = dx, turned.pin_dy = dy;
    turned.xh = turned.yh = 100;
    double hpwl = 0;
    CHECK(placefield_design_from_arrays(&turned, &design, NULL) == PLACEFIELD_STATUS_OK);
    CHECK(placefield_design_cells(design, NULL, NULL, width, height, 2, NULL) == PLACEFIELD_STATUS_OK);
    CHECK(width[0] == 3 && height[0] == 7);
    // From (12.5, 15.5) to (22.5, 22.5).
    CHECK(placefield_design_hpwl(design, &hpwl, NULL) == PLACEFIELD_STATUS_OK && hpwl == 17);
    CHECK(placefield_design_free(design, NULL) == PLACEFIELD_STATUS_OK);

    refuse_arrays(NULL, PLACEFIELD_STATUS_NULL_POINTER, "design_arrays is NULL");
    placefield_design_arrays wrong = turned;
    wrong.width = NULL;
    refuse_arrays(&wrong, PLACEFIELD_STATUS_NULL_POINTER, "design_arrays.width is NULL");
    wrong = turned, wrong.orientation = north;
    refuse_arrays(&wrong, PLACEFIELD_STATUS_BAD_ARGUMENT, "orientation 1: 9: expected a number from 0 to 7");
    wrong = turned, wrong.kind = north;
    refuse_arrays(&wrong, PLACEFIELD_STATUS_BAD_ARGUMENT, "kind 1: 9: expected a number from 0 to 2");
    wrong = turned, wrong.pin_node = none;
    refuse_arrays(&wrong, PLACEFIELD_STATUS_BAD_ARGUMENT, "pin_node 1: 5: expected a node below 2");
    wrong = turned, wrong.nets = 0;
    refuse_arrays(&wrong, PLACEFIELD_STATUS_BAD_ARGUMENT, "design_arrays.pins: there are no nets");
    wrong = turned, wrong.nets = SIZE_MAX;
    refuse_arrays(&wrong, PLACEFIELD_STATUS_BAD_LENGTH, "net_start");
    wrong = turned, wrong.nodes = SIZE_MAX;
    refuse_arrays(&wrong, PLACEFIELD_STATUS_BAD_LENGTH, "width");
    wrong = turned, wrong.pins = 1;
    refuse_arrays(&wrong, PLACEFIELD_STATUS_BAD_ARGUMENT, "pins");
    wrong = turned, wrong.yh = 0;
    refuse_arrays(&wrong, PLACEFIELD_STATUS_BAD_ARGUMENT, "has no area");
    wrong = turned, wrong.units_per_micron = -1;
    refuse_arrays(&wrong, PLACEFIELD_STATUS_BAD_ARGUMENT, "units_per_micron: -1");
    const double bad[] = {3, NAN}, row[] = {0, 0, 8, 1, 2.5};
    wrong = turned, wrong.height = bad;
    refuse_arrays(&wrong, PLACEFIELD_STATUS_BAD_ARGUMENT, "height 1: NaN: expected a finite number");
    wrong = turned, wrong.rows = 1, wrong.row = row;
    refuse_arrays(&wrong, PLACEFIELD_STATUS_BAD_ARGUMENT, "rows 0: ");
    wrong = turned, wrong.struct_size = 1;
    refuse_arrays(&wrong, PLACEFIELD_STATUS_BAD_ARGUMENT, "struct_size");
}

// Wirelength, its gradient, and weights of the caller's.
static void wirelengths(void) {
    placefield_design *design = the_design();
    placefield_options options = the_options(F64);
    placefield_wirelength *wires = NULL;
    placefield_wirelength_result found, other;
    placefield_error error;
    enum { BODIES = SMALL + 3 };
    double x[BODIES] = {0}, y[BODIES] = {0}, gradient[2 * BODIES], unused[2 * BODIES], weights[SMALL_NETS], hpwl = 0;
    CHECK(placefield_design_cells(design, x, y, NULL, NULL, SMALL, NULL) == PLACEFIELD_STATUS_OK);
    CHECK(placefield_wirelength_new(design, 1, &options, &wires, &error) == PLACEFIELD_STATUS_BAD_ARGUMENT);
    CHECK(placefield_wirelength_new(design, 0, NULL, &wires, NULL) == PLACEFIELD_STATUS_NULL_POINTER);
    CHECK(placefield_wirelength_new(design, 0, &options, NULL, NULL) == PLACEFIELD_STATUS_NULL_POINTER);
    options.device = 0;
    CHECK(placefield_wirelength_new(design, 0, &options, &wires, NULL) == PLACEFIELD_STATUS_BAD_ARGUMENT);
    options.device = PLACEFIELD_CPU;
    CHECK(placefield_wirelength_new(design, 0, &options, &wires, NULL) == PLACEFIELD_STATUS_OK);
    CHECK(placefield_wirelength_evaluate(wires, F64, x, y, SMALL, 2, &found, NULL, NULL) == PLACEFIELD_STATUS_OK);
    CHECK(placefield_design_hpwl(design, &hpwl, NULL) == PLACEFIELD_STATUS_OK && fabs(found.hpwl - hpwl) < 1e-9 * hpwl);
    CHECK(found.smooth > 0 && found.smooth < found.hpwl);
    // Fillers have no part in it, and the gradient is the derivative.
    for (int i = 0; i < 2 * BODIES; ++i) gradient[i] = 9;
    CHECK(placefield_wirelength_evaluate(wires, F64, x, y, BODIES, 2, &other, gradient, NULL) == PLACEFIELD_STATUS_OK);
    CHECK(other.smooth == found.smooth && gradient[SMALL] == 0 && gradient[2 * BODIES - 1] == 0);
    for (int i = 0; i < SMALL; i += 13) {
        const double step = 1e-5;
        placefield_wirelength_result ends[2];
        for (int end = 0; end < 2; ++end) {
            y[i] += end == 0 ? step : -2 * step;
            CHECK(placefield_wirelength_evaluate(wires, F64, x, y, BODIES, 2, &ends[end], unused, NULL) ==
                  PLACEFIELD_STATUS_OK);
        }
        y[i] += step;
        CHECK(fabs((ends[0].smooth - ends[1].smooth) / (2 * step) - gradient[BODIES + i]) < 1e-6);
    }
    // Twice the weights are twice the wirelength; NULL gives back the design's.
    for (int net = 0; net < SMALL_NETS; ++net) weights[net] = 2;
    CHECK(placefield_wirelength_set_weights(wires, weights, SMALL_NETS, NULL) == PLACEFIELD_STATUS_OK);
    CHECK(placefield_wirelength_evaluate(wires, F64, x, y, SMALL, 2, &other, NULL, NULL) == PLACEFIELD_STATUS_OK);
    CHECK(fabs(other.hpwl - 2 * found.hpwl) < 1e-9 * hpwl && fabs(other.smooth - 2 * found.smooth) < 1e-9 * hpwl);
    weights[3] = -1;
    CHECK(placefield_wirelength_set_weights(wires, weights, SMALL_NETS, &error) == PLACEFIELD_STATUS_BAD_ARGUMENT);
    CHECK(placefield_wirelength_set_weights(wires, weights, 5, &error) == PLACEFIELD_STATUS_BAD_LENGTH);
    CHECK(placefield_wirelength_set_weights(wires, NULL, SMALL_NETS, NULL) == PLACEFIELD_STATUS_OK);
    CHECK(placefield_wirelength_evaluate(wires, F64, x, y, SMALL, 2, &other, NULL, NULL) == PLACEFIELD_STATUS_OK);
    CHECK(other.hpwl == found.hpwl && other.smooth == found.smooth);

    CHECK(placefield_wirelength_evaluate(wires, F64, x, y, 5, 2, &other, NULL, &error) == PLACEFIELD_STATUS_BAD_LENGTH);
    CHECK(strcmp(error.message, "5 bodies, expected 60 at least") == 0);
    CHECK(placefield_wirelength_evaluate(wires, F64, x, y, SIZE_MAX, 2, NULL, NULL, NULL) ==
          PLACEFIELD_STATUS_BAD_LENGTH);
    CHECK(placefield_wirelength_evaluate(wires, F64, NULL, y, SMALL, 2, NULL, NULL, NULL) ==
          PLACEFIELD_STATUS_NULL_POINTER);
    CHECK(placefield_wirelength_evaluate(wires, F64, x, y, SMALL, 0, NULL, NULL, NULL) ==
          PLACEFIELD_STATUS_BAD_ARGUMENT);
    CHECK(placefield_wirelength_evaluate(wires, F64, x, y, SMALL, 2, NULL, x, NULL) == PLACEFIELD_STATUS_BAD_ARGUMENT);
    CHECK(placefield_wirelength_evaluate(wires, 5, x, y, SMALL, 2, NULL, NULL, &error) ==
          PLACEFIELD_STATUS_BAD_ARGUMENT);
    CHECK(strcmp(error.message, "precision 5: no such precision") == 0);
    CHECK(placefield_wirelength_evaluate(wires, F32, x, y, SMALL, 2, NULL, NULL, NULL) ==
          PLACEFIELD_STATUS_WRONG_PRECISION);
    x[4] = NAN;
    CHECK(placefield_wirelength_evaluate(wires, F64, x, y, SMALL, 2, NULL, NULL, NULL) ==
          PLACEFIELD_STATUS_BAD_ARGUMENT);
    CHECK(placefield_wirelength_free(wires, NULL) == PLACEFIELD_STATUS_OK);
    CHECK(placefield_wirelength_free(wires, NULL) == PLACEFIELD_STATUS_BAD_HANDLE);
    CHECK(placefield_wirelength_free(NULL, NULL) == PLACEFIELD_STATUS_OK);

    // Every net has two pins: none is in the weighted average of smaller ones only if one is the limit.
    float narrow_x[SMALL], narrow_y[SMALL];
    for (int i = 0; i < SMALL; ++i) narrow_x[i] = narrow_y[i] = (float)i;
    options.precision = F32;
    CHECK(placefield_wirelength_new(design, 2, &options, &wires, NULL) == PLACEFIELD_STATUS_OK);
    CHECK(placefield_wirelength_evaluate(wires, F32, narrow_x, narrow_y, SMALL, 2, &found, NULL,
                                         NULL) == PLACEFIELD_STATUS_OK);
    CHECK(found.smooth > 0);
    CHECK(placefield_wirelength_free(wires, NULL) == PLACEFIELD_STATUS_OK);
    CHECK(placefield_design_free(design, NULL) == PLACEFIELD_STATUS_OK);
    CHECK(placefield_wirelength_new(design, 0, &options, &wires, NULL) == PLACEFIELD_STATUS_BAD_HANDLE);

    // Nets of three pins are left out by a limit of two; HPWL has them.
    placefield_design_arrays three = the_arrays();
    const uint32_t start[] = {0, 3}, pins[] = {0, 1, 2};
    three.nets = 1, three.net_start = start, three.pins = 3, three.pin_node = pins;
    options.precision = F64;
    x[4] = 0;
    CHECK(placefield_design_from_arrays(&three, &design, NULL) == PLACEFIELD_STATUS_OK);
    CHECK(placefield_wirelength_new(design, 2, &options, &wires, NULL) == PLACEFIELD_STATUS_OK);
    CHECK(placefield_wirelength_evaluate(wires, F64, x, y, SMALL, 2, &found, NULL, NULL) == PLACEFIELD_STATUS_OK);
    CHECK(found.smooth == 0 && found.hpwl > 0);
    CHECK(placefield_wirelength_free(wires, NULL) == PLACEFIELD_STATUS_OK);
    CHECK(placefield_design_free(design, NULL) == PLACEFIELD_STATUS_OK);
    // Floats are too coarse so far away.
    three.xl = three.yl = 1e9, three.xh = three.yh = 1e9 + 64;
    double rows[5] = {1e9, 1e9, 8, 1, 60};
    three.rows = 1, three.row = rows;
    options.precision = F32;
    CHECK(placefield_design_from_arrays(&three, &design, NULL) == PLACEFIELD_STATUS_OK);
    CHECK(placefield_wirelength_new(design, 0, &options, &wires, NULL) == PLACEFIELD_STATUS_BAD_ARGUMENT);
    CHECK(placefield_design_free(design, NULL) == PLACEFIELD_STATUS_OK);
}

static placefield_place_options the_place_options(void) {
    placefield_place_options how;
    CHECK(placefield_place_options_init(&how, sizeof how, NULL) == PLACEFIELD_STATUS_OK);
    how.engine.threads = 2;
    return how;
}

// Legal and detailed placement of positions of the caller's.
static void stages(void) {
    placefield_design *design = the_design();
    placefield_place_options how = the_place_options();
    placefield_place_result result;
    placefield_legality legality;
    placefield_error error;
    double x[SMALL], y[SMALL], after[2 * SMALL], width[SMALL];
    CHECK(placefield_design_legality(design, &legality, NULL) == PLACEFIELD_STATUS_OK);
    CHECK(legality.legal == 0 && legality.overlaps > 0 && legality.overlap_area > 0 && legality.off_row > 0);
    CHECK(placefield_design_refine(design, &how, &result, &error) == PLACEFIELD_STATUS_BAD_ARGUMENT);
    CHECK(strstr(error.message, "the placement is not legal") != NULL);
    CHECK(placefield_design_cells(design, x, y, width, NULL, SMALL, NULL) == PLACEFIELD_STATUS_OK);
    CHECK(placefield_design_legalize(design, NULL, NULL, NULL) == PLACEFIELD_STATUS_NULL_POINTER);
    CHECK(placefield_design_legalize(design, &how, &result, NULL) == PLACEFIELD_STATUS_OK);
    CHECK(result.stage == PLACEFIELD_STAGE_LEGAL && result.outcome == PLACEFIELD_OUTCOME_CONVERGED);
    CHECK(result.legal == 1 && result.failed == 0 && isnan(result.overflow));
    CHECK(placefield_design_legality(design, &legality, NULL) == PLACEFIELD_STATUS_OK && legality.legal == 1);
    const double legalized = result.hpwl;
    CHECK(placefield_design_refine(design, &how, &result, NULL) == PLACEFIELD_STATUS_OK);
    CHECK(result.stage == PLACEFIELD_STAGE_DETAILED && result.legal == 1 && result.hpwl < legalized);
    CHECK(result.iterations > 0 && result.overflow >= 0 && result.target_density == 1);
    double hpwl = 0;
    CHECK(placefield_design_hpwl(design, &hpwl, NULL) == PLACEFIELD_STATUS_OK && hpwl == result.hpwl);
    // Cells that may not move far are counted; padding keeps neighbours apart.
    CHECK(placefield_design_move(design, x, y, SMALL, NULL) == PLACEFIELD_STATUS_OK);
    how.max_displacement = 0.5;
    CHECK(placefield_design_legalize(design, &how, &result, NULL) == PLACEFIELD_STATUS_OK && result.failed > 0);
    CHECK(placefield_design_move(design, x, y, SMALL, NULL) == PLACEFIELD_STATUS_OK);
    how.max_displacement = 0;
    how.padding = 1;
    CHECK(placefield_design_legalize(design, &how, NULL, NULL) == PLACEFIELD_STATUS_OK);
    CHECK(placefield_design_cells(design, after, after + SMALL, NULL, NULL, SMALL, NULL) == PLACEFIELD_STATUS_OK);
    for (int i = 0; i < SMALL; ++i) {
        for (int j = 0; j < SMALL; ++j) {
            if (i == j || after[SMALL + i] != after[SMALL + j] || after[i] > after[j]) continue;
            CHECK(after[j] - after[i] >= width[i] + 2);
        }
    }
    // Without time no cell has a turn.
    CHECK(placefield_design_move(design, x, y, SMALL, NULL) == PLACEFIELD_STATUS_OK);
    how.time_limit = 1e-9;
    CHECK(placefield_design_legalize(design, &how, &result, NULL) == PLACEFIELD_STATUS_OK);
    CHECK(result.outcome == PLACEFIELD_OUTCOME_OUT_OF_TIME && result.legal == 0);
    CHECK(placefield_design_legality(design, &legality, NULL) == PLACEFIELD_STATUS_OK && legality.unplaced > 0);
    how.time_limit = -1;
    CHECK(placefield_design_legalize(design, &how, &result, &error) == PLACEFIELD_STATUS_BAD_ARGUMENT);
    CHECK(strcmp(error.message, "place_options.time_limit -1: expected a number from 0 to 1000000000") == 0);
    how.time_limit = 0, how.rounds = 0;
    CHECK(placefield_design_refine(design, &how, &result, NULL) == PLACEFIELD_STATUS_BAD_ARGUMENT);
    how.rounds = 1, how.until = 3;
    CHECK(placefield_design_refine(design, &how, &result, NULL) == PLACEFIELD_STATUS_BAD_ARGUMENT);
    how.until = 2, how.engine.device = 0;
    CHECK(placefield_design_legalize(design, &how, &result, NULL) == PLACEFIELD_STATUS_BAD_ARGUMENT);
    CHECK(placefield_design_free(design, NULL) == PLACEFIELD_STATUS_OK);
    // Nothing is legal without rows.
    placefield_design_arrays arrays = the_arrays();
    arrays.rows = 0, arrays.row = NULL, arrays.xh = arrays.yh = 64;
    how = the_place_options();
    CHECK(placefield_design_from_arrays(&arrays, &design, NULL) == PLACEFIELD_STATUS_OK);
    CHECK(placefield_design_legalize(design, &how, &result, NULL) == PLACEFIELD_STATUS_BAD_ARGUMENT);
    CHECK(placefield_design_free(design, NULL) == PLACEFIELD_STATUS_OK);
}

typedef struct {
    placefield_design *design;
    size_t calls, weighings, last, stop_after;
    double overflow, weight;
} watcher;

static int32_t watch(void *data, const placefield_iteration *iteration) {
    watcher *mine = data;
    placefield_design_counts counts;
    // The design can be used meanwhile.
    if (placefield_design_count(mine->design, &counts, NULL) != PLACEFIELD_STATUS_OK) return 1;
    if (counts.movable != SMALL) return 1;
    mine->calls++;
    mine->last = iteration->iteration;
    mine->overflow = iteration->overflow;
    return mine->stop_after != 0 && mine->calls >= mine->stop_after;
}

static int32_t weigh(void *data, const placefield_iteration *iteration, const double *x, const double *y,
                     size_t movable, double *weights, size_t nets) {
    watcher *mine = data;
    if (movable != SMALL || nets != SMALL_NETS || !(x[0] >= 0 && x[0] <= 60 && y[0] >= 0)) return 0;
    mine->weighings++;
    if (iteration->iteration != 3) return 0;
    for (size_t net = 0; net < nets; ++net) weights[net] = mine->weight;
    return 1;
}

// The whole flow, its callbacks and its options.
static void places(void) {
    placefield_design *design = the_design();
    placefield_place_options how = the_place_options();
    placefield_place_result result, again;
    placefield_legality legality;
    placefield_error error;
    watcher mine = {design, 0, 0, 0, 0, 0, 0};
    how.progress = watch;
    how.data = &mine;
    CHECK(placefield_place(design, &how, &result, NULL) == PLACEFIELD_STATUS_OK);
    CHECK(result.stage == PLACEFIELD_STAGE_DETAILED && result.legal == 1 && result.failed == 0);
    CHECK(mine.calls == result.iterations && mine.last == result.iterations && mine.calls > 10);
    CHECK(placefield_design_legality(design, &legality, NULL) == PLACEFIELD_STATUS_OK && legality.legal == 1);
    double hpwl = 0;
    CHECK(placefield_design_hpwl(design, &hpwl, NULL) == PLACEFIELD_STATUS_OK && hpwl == result.hpwl);
    CHECK(result.target_density > 0 && result.overflow >= 0);
    // The same input gives the same bits; doubles and another seed do not.
    how.progress = NULL;
    CHECK(placefield_place(design, &how, &again, NULL) == PLACEFIELD_STATUS_OK && again.hpwl == result.hpwl);
    how.engine.precision = F64;
    how.seed = 3, how.noise = 0.5;
    CHECK(placefield_place(design, &how, &again, NULL) == PLACEFIELD_STATUS_OK && again.legal == 1);
    // A stop ends global placement, and the later stages follow.
    how = the_place_options();
    how.progress = watch, how.data = &mine;
    mine.calls = 0, mine.stop_after = 5;
    CHECK(placefield_place(design, &how, &result, NULL) == PLACEFIELD_STATUS_OK);
    CHECK(result.outcome == PLACEFIELD_OUTCOME_STOPPED && result.iterations == 5 && mine.calls == 5);
    CHECK(result.legal == 1 && result.stage == PLACEFIELD_STAGE_DETAILED);
    // Global placement alone, with few iterations.
    how = the_place_options();
    how.until = PLACEFIELD_STAGE_GLOBAL;
    how.iterations = 7;
    CHECK(placefield_place(design, &how, &result, NULL) == PLACEFIELD_STATUS_OK);
    CHECK(result.stage == PLACEFIELD_STAGE_GLOBAL && result.outcome == PLACEFIELD_OUTCOME_OUT_OF_ITERATIONS);
    CHECK(result.iterations == 7 && result.legal == 0 && result.hpwl_weighted == result.hpwl);
    // New weights are those of the design afterwards.
    how.net_weights = weigh, how.data = &mine;
    mine.weight = 4;
    CHECK(placefield_place(design, &how, &result, NULL) == PLACEFIELD_STATUS_OK && mine.weighings == 7);
    CHECK(fabs(result.hpwl_weighted - 4 * result.hpwl) < 1e-9 * result.hpwl_weighted);
    mine.weight = NAN;
    double x[2][SMALL], y[SMALL];
    CHECK(placefield_design_cells(design, x[0], y, NULL, NULL, SMALL, NULL) == PLACEFIELD_STATUS_OK);
    CHECK(placefield_place(design, &how, &result, &error) == PLACEFIELD_STATUS_BAD_ARGUMENT);
    CHECK(strstr(error.message, "weight") != NULL);
    CHECK(placefield_design_cells(design, x[1], y, NULL, NULL, SMALL, NULL) == PLACEFIELD_STATUS_OK);
    CHECK(memcmp(x[0], x[1], sizeof x[0]) == 0);

    how = the_place_options();
    how.target_density = 1.5;
    CHECK(placefield_place(design, &how, &result, &error) == PLACEFIELD_STATUS_BAD_ARGUMENT);
    how = the_place_options();
    how.stop_overflow = -1;
    CHECK(placefield_place(design, &how, &result, &error) == PLACEFIELD_STATUS_BAD_ARGUMENT);
    how = the_place_options();
    how.nx = 16;
    CHECK(placefield_place(design, &how, &result, &error) == PLACEFIELD_STATUS_BAD_ARGUMENT);
    how.ny = 16, how.engine.device = 99;
    CHECK(placefield_place(design, &how, &result, &error) == PLACEFIELD_STATUS_NO_DEVICE);
    how.struct_size = 4;
    CHECK(placefield_place(design, &how, &result, &error) == PLACEFIELD_STATUS_BAD_ARGUMENT);
    CHECK(placefield_place(design, NULL, &result, &error) == PLACEFIELD_STATUS_NULL_POINTER);
    CHECK(placefield_place_options_init(&how, 12, NULL) == PLACEFIELD_STATUS_BAD_ARGUMENT);
    CHECK(placefield_design_free(design, NULL) == PLACEFIELD_STATUS_OK);
    how = the_place_options();
    CHECK(placefield_place(design, &how, &result, &error) == PLACEFIELD_STATUS_BAD_HANDLE);
    // Without rows there is a warning, once.
    placefield_design_arrays arrays = the_arrays();
    arrays.rows = 0, arrays.row = NULL, arrays.xh = arrays.yh = 64;
    CHECK(placefield_design_from_arrays(&arrays, &design, NULL) == PLACEFIELD_STATUS_OK);
    size_t before = 9, first = 0, second = 0;
    CHECK(placefield_design_warnings(design, &before, NULL) == PLACEFIELD_STATUS_OK && before == 0);
    CHECK(placefield_place(design, &how, &result, &error) == PLACEFIELD_STATUS_OK);
    CHECK(result.stage == PLACEFIELD_STAGE_GLOBAL);
    CHECK(placefield_design_warnings(design, &first, NULL) == PLACEFIELD_STATUS_OK && first > 0);
    CHECK(placefield_place(design, &how, &result, &error) == PLACEFIELD_STATUS_OK);
    CHECK(placefield_design_warnings(design, &second, NULL) == PLACEFIELD_STATUS_OK && second == first);
    CHECK(placefield_design_free(design, NULL) == PLACEFIELD_STATUS_OK);
}

int main(void) {
    versions();
    designs();
    arrays();
    wirelengths();
    stages();
    places();
    solves();
    options_and_grids_are_checked();
    floats_are_too_coarse_far_away();
    steps();
    changes();
    regions();
    threads();
    printf("%d checks passed\n", checks_made);
    return 0;
}
