// How lines are divided over blocks: elements a thread holds, lines a block takes, what
// goes through shared memory in halves. Measured on an H200, length by length.
#pragma once
#include "fft/block_fft.cuh"

/// What a launch must know: same layout as `Shape` in src/cuda.
struct Shape {
    u32 elements, middle_1, middle_2;  // stages: E/2, these two, E/2
    u32 lines, threads, bytes;         // of a block: row pairs, or pairs of columns
    u32 persistent;                    // whether a block takes more than one group of lines
};

/// A shape, which the host reads by its name.
#define PF_SHAPE(NAME) extern "C" __device__ const Shape NAME

/// The shape that a struct like Rows has for lines of one length.
template <typename S> __host__ __device__ constexpr Shape shape_of(u32 lines, bool persistent = false) {
    return {S::E, S::Fft::X1, S::Fft::X2, lines, S::THREADS, S::BYTES, persistent};
}

/// 20 elements a thread; all stages but at most one have radix 10.
__host__ __device__ constexpr bool hundreds(int n) { return n % 100 == 0; }

/// Blocks a multiprocessor must have registers for: as many as bring this many threads, if
/// 1 to `most`.
__host__ __device__ constexpr int blocks(int resident, int threads, int most = 16) {
    return resident / threads > most ? most : resident / threads > 1 ? resident / threads : 1;
}

/// How rows of N elements are divided.
template <int N> struct Rows {
    static constexpr int E = N <= 512 ? 8 : !F64 && N == 8192 ? 32 : 16;
    static constexpr int T = N / E;
    static constexpr int LINES = T < 32 ? 32 / T : 1;
    static constexpr bool SPLIT = F64 && E == 16;
    using Fft = BlockFft<N, E, 1, LINES, SPLIT>;
    static constexpr int THREADS = T * LINES;
    /// Registers for 1024 threads in f32, 512 in f64.
    static constexpr int BLOCKS = blocks(F64 ? (E == 8 ? 768 : 512) : E == 32 ? 512 : 1024, THREADS);
    static constexpr int BYTES = Fft::BYTES * LINES;
};
