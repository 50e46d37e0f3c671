// CUDA's driver, opened when the program runs, by the names and types of cuda.h: what uses it compiles
// without CUDA. DRIVER(DO) is a list of DO(name, (types of the arguments)) of the program's.
#ifndef DRIVER_H
#define DRIVER_H

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>

#include "check.h"

typedef unsigned long long address;
typedef void *stream_t;

#define DONE(CALL) CHECK((CALL) == 0)

#define DRIVER_POINTER(NAME, ARGUMENTS) static int(*NAME) ARGUMENTS;
#define DRIVER_LOAD(NAME, ARGUMENTS)              \
    *(void **)(void *)&NAME = dlsym(library, #NAME); \
    CHECK(NAME != NULL);

#define DRIVER_BASE(DO)                          \
    DO(cuInit, (unsigned))                       \
    DO(cuDevicePrimaryCtxRetain, (void **, int)) \
    DO(cuCtxSetCurrent, (void *))                \
    DO(cuMemAlloc_v2, (address *, size_t))       \
    DO(cuMemFree_v2, (address))                  \
    DO(cuMemcpyHtoDAsync_v2, (address, const void *, size_t, stream_t)) \
    DO(cuMemcpyDtoHAsync_v2, (void *, address, size_t, stream_t)) \
    DO(cuStreamCreate, (stream_t *, unsigned))   \
    DO(cuStreamSynchronize, (stream_t))

DRIVER_BASE(DRIVER_POINTER)
DRIVER(DRIVER_POINTER)

// Makes the primary context of the first device, which is PyTorch's and the CUDA runtime's too, this thread's.
static inline void open_driver(void) {
    void *const library = dlopen("libcuda.so.1", RTLD_NOW);
    void *context;
    CHECK(library != NULL);
    DRIVER_BASE(DRIVER_LOAD)
    DRIVER(DRIVER_LOAD)
    DONE(cuInit(0));
    DONE(cuDevicePrimaryCtxRetain(&context, 0));
    DONE(cuCtxSetCurrent(context));
}

#endif
