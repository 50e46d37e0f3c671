// Programmatic dependent launch (compute capability 9.0): the start of a kernel
// beside the end of the one before it in the stream.
#pragma once

/// Waits for the kernel before this one in the stream, when it was launched to overlap with it; else does nothing.
__device__ __forceinline__ void wait_for_previous() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/// Lets the next kernel's blocks start on multiprocessors that can hold them.
__device__ __forceinline__ void let_next_start() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
