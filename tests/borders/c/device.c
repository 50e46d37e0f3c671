// The engine on device memory of this program's, on a stream of this program's, against host memory.
// Needs a CUDA device: without one it says so and ends with 2. CUDA's driver is opened when it
// runs, so that it compiles anywhere.
#define _POSIX_C_SOURCE 200809L
#include "placefield.h"

#include <math.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#define DRIVER(DO)                                                         \
    DO(cuCtxCreate_v2, (void **, unsigned, int))                           \
    DO(cuCtxDestroy_v2, (void *))                                          \
    DO(cuStreamDestroy_v2, (stream_t))                                     \
    DO(cuLaunchHostFunc, (stream_t, void (*)(void *), void *))             \
    DO(cuStreamBeginCapture_v2, (stream_t, int))                           \
    DO(cuStreamEndCapture, (stream_t, void **))                            \
    DO(cuGraphInstantiateWithFlags, (void **, void *, unsigned long long)) \
    DO(cuGraphLaunch, (void *, stream_t))                                  \
    DO(cuGraphExecDestroy, (void *))                                       \
    DO(cuGraphDestroy, (void *))
#include "driver.h"

#define OK(CALL) succeeded((CALL), &error, __LINE__)

static void succeeded(placefield_status status, const placefield_error *error, int line) {
    if (status != PLACEFIELD_STATUS_OK) fprintf(stderr, "line %d: %s\n", line, error->message);
    CHECK(status == PLACEFIELD_STATUS_OK);
}

static void *pointer(address at) {
    return (void *)(uintptr_t)at;
}

enum { CELLS = 3000, NX = 64, NY = 48 };
static double width[CELLS], height[CELLS], start_x[CELLS], start_y[CELLS];

static placefield_engine *engine_on(int32_t device, int32_t precision, size_t *bodies) {
    // Bins of 2 x 3, off the origin.
    placefield_grid grid = {5.0, -7.0, 5.0 + 2.0 * NX, -7.0 + 3.0 * NY, NX, NY};
    double fixed[4] = {20.0, 30.0, 17.0, 21.0};
    placefield_error error;
    placefield_options options;
    placefield_bodies cells;
    OK(placefield_options_init(&options, sizeof options, &error));
    OK(placefield_bodies_init(&cells, sizeof cells, &error));
    options.device = device;
    options.precision = precision;
    options.threads = 2;
    cells.movable = CELLS;
    cells.width = width;
    cells.height = height;
    cells.x = start_x;
    cells.y = start_y;
    cells.fixed = 1;
    cells.fixed_x = fixed;
    cells.fixed_y = fixed + 1;
    cells.fixed_width = fixed + 2;
    cells.fixed_height = fixed + 3;
    cells.fillers = 1;
    cells.target_density = 0.9;
    placefield_engine *engine = NULL;
    OK(placefield_engine_new(&grid, &cells, &options, &engine, &error));
    size_t movable;
    OK(placefield_engine_bodies(engine, &movable, bodies, &error));
    CHECK(movable == CELLS);
    return engine;
}

// Numbers of one precision.
typedef struct numbers {
    int32_t precision;
    size_t size;
    size_t count;
    void *host;
    address device;
} numbers;

static numbers make(int32_t precision, size_t count) {
    numbers made = {precision, precision == PLACEFIELD_PRECISION_F32 ? sizeof(float) : sizeof(double), count, NULL, 0};
    made.host = calloc(count, made.size);
    CHECK(made.host != NULL);
    DONE(cuMemAlloc_v2(&made.device, count * made.size));
    return made;
}

static void destroy(numbers *of) {
    free(of->host);
    DONE(cuMemFree_v2(of->device));
}

static double at(const numbers *of, size_t k) {
    return of->size == sizeof(float) ? (double)((const float *)of->host)[k] : ((const double *)of->host)[k];
}

static void set(const numbers *of, size_t k, double value) {
    if (of->size == sizeof(float)) ((float *)of->host)[k] = (float)value;
    else ((double *)of->host)[k] = value;
}

static void send(const numbers *of, stream_t stream) {
    DONE(cuMemcpyHtoDAsync_v2(of->device, of->host, of->count * of->size, stream));
}

static void fetch(const numbers *of, stream_t stream) {
    DONE(cuMemcpyDtoHAsync_v2(of->host, of->device, of->count * of->size, stream));
    DONE(cuStreamSynchronize(stream));
}

// The step from and to host memory, in the engine's precision: x of every body, then y.
static placefield_evaluation by_host(placefield_engine *engine, const numbers *positions, numbers *gradient) {
    const size_t bodies = positions->count / 2;
    placefield_evaluation result;
    placefield_error error;
    if (positions->size == sizeof(float)) {
        const float *x = positions->host;
        OK(placefield_engine_evaluate(engine, PLACEFIELD_PRECISION_F32, x, x + bodies, bodies, &result, &error));
        OK(placefield_engine_gradient(engine, PLACEFIELD_PRECISION_F32, gradient->host, bodies, -1.0, 0, &error));
    } else {
        const double *x = positions->host;
        OK(placefield_engine_evaluate(engine, PLACEFIELD_PRECISION_F64, x, x + bodies, bodies, &result, &error));
        OK(placefield_engine_gradient(engine, PLACEFIELD_PRECISION_F64, gradient->host, bodies, -1.0, 0, &error));
    }
    return result;
}

static double off(const numbers *got, const numbers *want) {
    double square = 0.0, norm = 0.0;
    for (size_t k = 0; k < got->count; ++k) {
        const double difference = at(got, k) - at(want, k);
        square += difference * difference;
        norm += at(want, k) * at(want, k);
    }
    return sqrt(square / norm);
}

// Where the bodies stand in turn `turn`: off the start, each by a little of its own.
static void place(const numbers *positions, const double *start, int turn) {
    for (size_t k = 0; k < positions->count; ++k) {
        set(positions, k, start[k] + turn * 0.7 + 0.001 * (double)(k % 97));
    }
}

static double *starts(placefield_engine *engine, size_t bodies, int32_t precision) {
    double *start = malloc(2 * bodies * sizeof *start);
    float *narrow = malloc(2 * bodies * sizeof *narrow);
    CHECK(start != NULL && narrow != NULL);
    placefield_error error;
    if (precision == PLACEFIELD_PRECISION_F32) {
        OK(placefield_engine_start(engine, PLACEFIELD_PRECISION_F32, narrow, narrow + bodies, bodies, &error));
        for (size_t k = 0; k < 2 * bodies; ++k) start[k] = narrow[k];
    } else {
        OK(placefield_engine_start(engine, PLACEFIELD_PRECISION_F64, start, start + bodies, bodies, &error));
    }
    free(narrow);
    return start;
}

static void hold_up(void *unused) {
    const struct timespec twenty_milliseconds = {0, 20000000};
    (void)unused;
    nanosleep(&twenty_milliseconds, NULL);
}

static void steps(int32_t precision) {
    size_t bodies, on_host;
    placefield_error error;
    placefield_engine *engine = engine_on(0, precision, &bodies);
    placefield_engine *same = engine_on(0, precision, &on_host);
    placefield_engine *cpu = engine_on(PLACEFIELD_CPU, precision, &on_host);
    CHECK(bodies == on_host && bodies > CELLS);
    const double near = precision == PLACEFIELD_PRECISION_F32 ? 1e-4 : 1e-10;
    double *start = starts(engine, bodies, precision);
    numbers positions = make(precision, 2 * bodies), gradient = make(precision, 2 * bodies);
    numbers want = make(precision, 2 * bodies), processor = make(precision, 2 * bodies);
    numbers factor = make(precision, 1), energy = make(PLACEFIELD_PRECISION_F64, 1);
    stream_t stream;
    DONE(cuStreamCreate(&stream, 1));
    void *graph = NULL, *runs = NULL;
    for (int turn = 0; turn < 8; ++turn) {
        place(&positions, start, turn);
        const placefield_evaluation host = by_host(same, &positions, &want);
        const placefield_evaluation reference = by_host(cpu, &positions, &processor);
        CHECK(fabs(host.energy / reference.energy - 1.0) < near && off(&want, &processor) < near);
        // Positions arrive late: what is enqueued behind them sees them.
        DONE(cuLaunchHostFunc(stream, hold_up, NULL));
        send(&positions, stream);
        if (turn == 4) {
            DONE(cuStreamBeginCapture_v2(stream, 1));
        }
        if (turn <= 4) {
            OK(placefield_engine_enqueue_energy(engine, pointer(positions.device), bodies, pointer(energy.device),
                                                stream, &error));
            OK(placefield_engine_enqueue_gradient(engine, pointer(gradient.device), bodies, -1.0, NULL, 0, stream,
                                                  &error));
        }
        if (turn == 4) {
            DONE(cuStreamEndCapture(stream, &graph));
            DONE(cuGraphInstantiateWithFlags(&runs, graph, 0));
        }
        if (turn >= 4) {
            DONE(cuGraphLaunch(runs, stream));
        }
        fetch(&energy, stream);
        fetch(&gradient, stream);
        CHECK(at(&energy, 0) == host.energy);
        for (size_t k = 0; k < 2 * bodies; ++k) {
            if (at(&gradient, k) != at(&want, k)) CHECK(at(&gradient, k) == at(&want, k));
        }
        placefield_evaluation result;
        OK(placefield_engine_read_evaluation(engine, stream, &result, &error));
        CHECK(result.energy == host.energy && result.overflow == host.overflow &&
              result.max_density == host.max_density);
        OK(placefield_engine_order_if_due(engine, stream, &error));
    }
    // Added to what is there, times a number of the device: -f + 4 * 0.25 * f.
    set(&factor, 0, 0.25);
    send(&factor, stream);
    OK(placefield_engine_enqueue_gradient(engine, pointer(gradient.device), bodies, 4.0, pointer(factor.device), 1,
                                          stream, &error));
    fetch(&gradient, stream);
    for (size_t k = 0; k < 2 * bodies; ++k) {
        if (at(&gradient, k) != 0.0) CHECK(at(&gradient, k) == 0.0);
    }
    // Other sizes, on host memory after it, and on the legacy default stream.
    double *grown = malloc(bodies * sizeof *grown), *tall = malloc(bodies * sizeof *tall);
    CHECK(grown != NULL && tall != NULL);
    for (size_t k = 0; k < bodies; ++k) {
        grown[k] = 2.5;
        tall[k] = 1.5;
    }
    DONE(cuGraphExecDestroy(runs));
    DONE(cuGraphDestroy(graph));
    OK(placefield_engine_set_sizes(engine, grown, tall, bodies, &error));
    OK(placefield_engine_set_sizes(same, grown, tall, bodies, &error));
    const placefield_evaluation after = by_host(same, &positions, &want);
    OK(placefield_engine_enqueue_energy(engine, pointer(positions.device), bodies, pointer(energy.device), NULL,
                                        &error));
    fetch(&energy, NULL);
    CHECK(at(&energy, 0) == after.energy);
    CHECK(by_host(engine, &positions, &gradient).energy == after.energy && off(&gradient, &want) == 0.0);
    free(grown);
    free(tall);
    free(start);
    DONE(cuStreamDestroy_v2(stream));
    numbers *const all[] = {&positions, &gradient, &want, &processor, &factor, &energy};
    for (size_t k = 0; k < sizeof all / sizeof *all; ++k) destroy(all[k]);
    OK(placefield_engine_free(engine, &error));
    OK(placefield_engine_free(same, &error));
    OK(placefield_engine_free(cpu, &error));
}

static void refusals(void) {
    size_t bodies, on_host;
    placefield_error error;
    placefield_engine *engine = engine_on(0, PLACEFIELD_PRECISION_F64, &bodies);
    placefield_engine *cpu = engine_on(PLACEFIELD_CPU, PLACEFIELD_PRECISION_F64, &on_host);
    numbers positions = make(PLACEFIELD_PRECISION_F64, 2 * bodies),
            gradient = make(PLACEFIELD_PRECISION_F64, 2 * bodies);
    double *start = starts(engine, bodies, PLACEFIELD_PRECISION_F64);
    place(&positions, start, 0);
    stream_t stream, foreign;
    DONE(cuStreamCreate(&stream, 1));
    send(&positions, stream);
    void *const corners = pointer(positions.device), *const to = pointer(gradient.device);
#define ENERGY(ENGINE, CORNERS, BODIES, TO, STREAM) \
    placefield_engine_enqueue_energy(ENGINE, CORNERS, BODIES, TO, STREAM, &error)
#define GRADIENT(TO, WEIGHT, FACTOR)                                                                                   \
    placefield_engine_enqueue_gradient(engine, TO, bodies, WEIGHT, FACTOR, 0, stream, &error)
    CHECK(GRADIENT(to, 1.0, NULL) == PLACEFIELD_STATUS_OUT_OF_ORDER);
    // Nothing that has not run can be captured.
    void *graph;
    DONE(cuStreamBeginCapture_v2(stream, 1));
    CHECK(ENERGY(engine, corners, bodies, NULL, stream) == PLACEFIELD_STATUS_OUT_OF_ORDER);
    DONE(cuStreamEndCapture(stream, &graph));
    DONE(cuGraphDestroy(graph));
    CHECK(ENERGY(engine, corners, bodies - 1, NULL, stream) == PLACEFIELD_STATUS_BAD_LENGTH);
    CHECK(ENERGY(engine, corners, (size_t)-1, NULL, stream) == PLACEFIELD_STATUS_BAD_LENGTH);
    // Host memory, none, memory that ends before its numbers or is not aligned to them, memory given back.
    CHECK(ENERGY(engine, positions.host, bodies, NULL, stream) == PLACEFIELD_STATUS_BAD_ARGUMENT);
    CHECK(strstr(error.message, "no memory of this device") != NULL);
    CHECK(ENERGY(engine, NULL, bodies, NULL, stream) == PLACEFIELD_STATUS_BAD_ARGUMENT);
    CHECK(ENERGY(engine, pointer(positions.device + 8 * bodies), 2 * bodies, NULL, stream) ==
          PLACEFIELD_STATUS_BAD_LENGTH);
    CHECK(ENERGY(engine, pointer(positions.device + 4), bodies, NULL, stream) == PLACEFIELD_STATUS_BAD_ARGUMENT);
    CHECK(ENERGY(engine, corners, bodies, pointer(positions.device + 4), stream) == PLACEFIELD_STATUS_BAD_ARGUMENT);
    numbers gone = make(PLACEFIELD_PRECISION_F64, 2 * bodies);
    destroy(&gone);
    CHECK(ENERGY(engine, pointer(gone.device), bodies, NULL, stream) == PLACEFIELD_STATUS_BAD_ARGUMENT);
    CHECK(ENERGY(NULL, corners, bodies, NULL, stream) == PLACEFIELD_STATUS_NULL_POINTER);
    CHECK(ENERGY(cpu, corners, bodies, NULL, stream) != PLACEFIELD_STATUS_OK);
    // A stream of another context.
    void *other, *primary;
    DONE(cuCtxCreate_v2(&other, 0, 0));
    DONE(cuStreamCreate(&foreign, 1));
    CHECK(ENERGY(engine, corners, bodies, NULL, foreign) == PLACEFIELD_STATUS_BAD_ARGUMENT);
    DONE(cuStreamDestroy_v2(foreign));
    DONE(cuCtxDestroy_v2(other));
    DONE(cuDevicePrimaryCtxRetain(&primary, 0));
    DONE(cuCtxSetCurrent(primary));
    // All of it has left the engine as it was.
    placefield_evaluation result;
    const placefield_evaluation want = by_host(cpu, &positions, &gradient);
    OK(ENERGY(engine, corners, bodies, NULL, stream));
    CHECK(GRADIENT(positions.host, 1.0, NULL) == PLACEFIELD_STATUS_BAD_ARGUMENT);
    CHECK(GRADIENT(to, NAN, NULL) == PLACEFIELD_STATUS_BAD_ARGUMENT);
    CHECK(GRADIENT(to, 1.0, positions.host) == PLACEFIELD_STATUS_BAD_ARGUMENT);
    OK(placefield_engine_read_evaluation(engine, stream, &result, &error));
    CHECK(fabs(result.energy / want.energy - 1.0) < 1e-10);
    free(start);
    destroy(&positions);
    destroy(&gradient);
    DONE(cuStreamDestroy_v2(stream));
    OK(placefield_engine_free(engine, &error));
    CHECK(ENERGY(engine, corners, bodies, NULL, NULL) == PLACEFIELD_STATUS_BAD_HANDLE);
    OK(placefield_engine_free(cpu, &error));
}

typedef struct worker {
    placefield_engine *engine;
    size_t bodies;
    double *start;
    int turn;
    double want;
    int wrong;
} worker;

// Of one engine, on a stream of this thread's own.
static void *works(void *of) {
    worker *const self = of;
    placefield_error error;
    void *context;
    stream_t stream;
    int bad = cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context) || cuStreamCreate(&stream, 1);
    address positions = 0, energy = 0;
    bad = bad || cuMemAlloc_v2(&positions, 2 * self->bodies * sizeof(double)) || cuMemAlloc_v2(&energy, sizeof(double));
    double *there = malloc(2 * self->bodies * sizeof *there);
    for (size_t k = 0; k < 2 * self->bodies; ++k)
        there[k] = self->start[k] + self->turn * 0.7 + 0.001 * (double)(k % 97);
    for (int turn = 0; turn < 25 && !bad; ++turn) {
        double got = 0.0;
        bad = cuMemcpyHtoDAsync_v2(positions, there, 2 * self->bodies * sizeof *there, stream) ||
              placefield_engine_enqueue_energy(self->engine, pointer(positions), self->bodies, pointer(energy), stream,
                                               &error) ||
              cuMemcpyDtoHAsync_v2(&got, energy, sizeof got, stream) || cuStreamSynchronize(stream);
        self->wrong += got != self->want;
    }
    free(there);
    self->wrong += bad || cuMemFree_v2(positions) || cuMemFree_v2(energy) || cuStreamDestroy_v2(stream);
    return NULL;
}

static void threads(void) {
    size_t bodies;
    placefield_error error;
    placefield_engine *engine = engine_on(0, PLACEFIELD_PRECISION_F64, &bodies);
    double *start = starts(engine, bodies, PLACEFIELD_PRECISION_F64);
    numbers positions = make(PLACEFIELD_PRECISION_F64, 2 * bodies),
            gradient = make(PLACEFIELD_PRECISION_F64, 2 * bodies);
    worker workers[3];
    pthread_t running[3];
    for (int k = 0; k < 3; ++k) {
        place(&positions, start, k);
        const double want = by_host(engine, &positions, &gradient).energy;
        workers[k] = (worker){engine, bodies, start, k, want, 0};
    }
    CHECK(workers[0].want != workers[1].want);
    for (int k = 0; k < 3; ++k) CHECK(pthread_create(&running[k], NULL, works, &workers[k]) == 0);
    for (int k = 0; k < 3; ++k) CHECK(pthread_join(running[k], NULL) == 0 && workers[k].wrong == 0);
    free(start);
    destroy(&positions);
    destroy(&gradient);
    OK(placefield_engine_free(engine, &error));
}

int main(void) {
    uint32_t devices = 0;
    placefield_error error;
    OK(placefield_cuda_devices(&devices, &error));
    if (devices == 0) {
        fprintf(stderr, "device: no CUDA device: %s\n", error.message);
        return 2;
    }
    open_driver();
    for (int k = 0; k < CELLS; ++k) {
        width[k] = 0.5 + (k * 37 % 100) * 0.03;
        height[k] = 0.7 + (k * 53 % 100) * 0.04;
        start_x[k] = 10.0 + (k * 71 % 997) * 0.1;
        start_y[k] = (k * 29 % 991) * 0.1;
    }
    steps(PLACEFIELD_PRECISION_F32);
    steps(PLACEFIELD_PRECISION_F64);
    refusals();
    threads();
    printf("%d checks passed\n", checks_made);
    return 0;
}
