// What the benchmarks in CUDA C++ share: checked calls, and launches that may overlap.
#pragma once
#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                                                                    \
    do {                                                                                                               \
        cudaError_t status_ = (call);                                                                                  \
        if (status_ != cudaSuccess) {                                                                                  \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(status_));                \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

/// Launches a kernel, with `overlap` beside the end of the one before it in the stream
/// (programmatic dependent launch).
template <typename... Parameters, typename... Arguments>
void launch(void (*kernel)(Parameters...), unsigned grid, unsigned block, size_t shared, bool overlap,
            cudaStream_t stream, Arguments... arguments) {
    cudaLaunchAttribute attribute;
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(grid);
    config.blockDim = dim3(block);
    config.dynamicSmemBytes = shared;
    config.stream = stream;
    config.attrs = &attribute;
    config.numAttrs = overlap ? 1 : 0;
    CHECK(cudaLaunchKernelEx(&config, kernel, Parameters(arguments)...));
}
