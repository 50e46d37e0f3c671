// Times the three-pass solve's kernels one by one and together, in every shape
// worth trying, and checks them against a host reference. Needs nvcc alone:
//   nvcc -O3 -std=c++17 -arch=sm_90 -DPF_REAL=float -I kernels benchmarks/three_pass.cu -o three_pass
// Prints one line per kernel and shape, then one per size with the fastest of each.
#include "solve/separate_columns.cuh"

#include "cuda_harness.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

constexpr int blocks_for(int threads, int registers) { return std::max(1, 65536 / (threads * registers)); }

template <int N, int E, int F, bool S, int REGS>
__global__ void __launch_bounds__(N / E * F, blocks_for(N / E * F, REGS))
    forward(const real* rho, cplx* p, const cplx* table, u32 pairs) {
    rows_forward<BlockFft<N, E, 1, F, S>>(rho, p, table, pairs);
}
template <int N, int E, int C, bool S, bool IN_SHARED, bool RECOMPUTE, int REGS>
__global__ void __launch_bounds__(N / E * C, blocks_for(N / E * C, REGS))
    column(cplx* p, cplx* q, const cplx* table, Green green, double* partial) {
    columns<BlockFft<N, E, C, 1, S>, IN_SHARED, RECOMPUTE>(p, q, table, green, partial);
}
template <int N, int E, int C, int REGS, bool F32>
__global__ void __launch_bounds__(N / E * C, blocks_for(N / E * C, REGS))
    separate_column(cplx* p, cplx* q, const cplx* table, Green green, u32 units, double* partial) {
    if constexpr (F32) separate_columns<BlockFft<N, E, C, 1, true>>(p, q, table, green, units, partial);
}
template <int N, int E, int C, int F, bool S, int REGS, int MAPS>
__global__ void __launch_bounds__(N / E * C * F, blocks_for(N / E * C * F, REGS))
    inverse(const cplx* p, const cplx* q, real* phi, real* ex, real* ey, const cplx* table, real step, u32 pairs,
            const double* partial, u32 partials, double* energy) {
    rows_inverse<BlockFft<N, E, C, F, S>, MAPS == 3>(p, q, phi, ex, ey, table, step, pairs, partial, partials, energy);
}

struct Maps {
    u32 nx, ny;
    double ratio;  // bin_x / bin_y
    real *rho, *phi, *ex, *ey;
    cplx *p, *q;
    double *partial, *energy;
    std::vector<real> host;
    size_t bins() const { return size_t(nx) * ny; }
    Maps(u32 nx, u32 ny, double ratio) : nx(nx), ny(ny), ratio(ratio), host(size_t(nx) * ny) {
        for (real** m : {&rho, &phi, &ex, &ey}) CHECK(cudaMalloc(m, bins() * sizeof(real)));
        for (cplx** m : {&p, &q}) CHECK(cudaMalloc(m, bins() / 2 * sizeof(cplx)));
        CHECK(cudaMalloc(&partial, 8192 * sizeof(double)));
        CHECK(cudaMalloc(&energy, sizeof(double)));
        srand(1);
        for (auto& v : host) v = real(rand()) / real(RAND_MAX);
        CHECK(cudaMemcpy(rho, host.data(), bins() * sizeof(real), cudaMemcpyHostToDevice));
    }
    ~Maps() {
        for (void* m :
             {(void*)rho, (void*)phi, (void*)ex, (void*)ey, (void*)p, (void*)q, (void*)partial, (void*)energy})
            cudaFree(m);
    }
    double step_y() const { return M_PI / ny * ratio; }
    Green green() const {
        Green green;
        green.step_x = real(M_PI / nx);
        green.step_y = real(step_y());
        green.scale = real(0.25 / (double(nx) * ny));
        return green;
    }
};

template <int N, int E> cplx* table() {
    using G = Stages<N, E>;
    std::vector<cplx> host;
    auto put = [&](double angle) {
        cplx w;
        w.x = real(cos(angle));
        w.y = real(sin(angle));
        host.push_back(w);
    };
    auto stage = [&](int l, int x) {
        for (int p = 1; p < x; p *= 2)
            for (int m = 0; m < l; ++m) put(-2 * M_PI * double(p) * m / (double(l) * x));
    };
    stage(G::R, G::X1);
    stage(G::R * G::X1, G::X2);
    stage(G::M, G::R);
    for (int k = 0; k <= G::T; ++k) put(M_PI * k / (2.0 * N));
    if (int(host.size()) != G::TABLE) {
        printf("table of %zu, expected %d\n", host.size(), G::TABLE);
        exit(1);
    }
    cplx* device;
    CHECK(cudaMalloc(&device, host.size() * sizeof(cplx)));
    CHECK(cudaMemcpy(device, host.data(), host.size() * sizeof(cplx), cudaMemcpyHostToDevice));
    return device;
}

/// PROFILE=1: every kernel runs once, for a profiler.
const bool PROFILE = getenv("PROFILE") != nullptr;
/// CARVEOUT=percent: shared memory's part of the L1 cache, the same for all kernels.
const int CARVEOUT = getenv("CARVEOUT") ? atoi(getenv("CARVEOUT")) : -1;

float timed(const std::function<void(cudaStream_t)>& work) {
    if (PROFILE) {
        work(0);
        CHECK(cudaDeviceSynchronize());
        return 1;
    }
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK(cudaStreamCreate(&stream));
    work(stream);
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    for (int i = 0; i < 20; ++i) work(stream);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    cudaEvent_t start, stop;
    CHECK(cudaEventCreate(&start));
    CHECK(cudaEventCreate(&stop));
    for (int i = 0; i < 2; ++i) CHECK(cudaGraphLaunch(exec, stream));
    std::vector<float> times;
    for (int k = 0; k < 11; ++k) {
        CHECK(cudaEventRecord(start, stream));
        CHECK(cudaGraphLaunch(exec, stream));
        CHECK(cudaEventRecord(stop, stream));
        CHECK(cudaStreamSynchronize(stream));
        float ms;
        CHECK(cudaEventElapsedTime(&ms, start, stop));
        times.push_back(ms / 20 * 1000);
    }
    std::sort(times.begin(), times.end());
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
    cudaStreamDestroy(stream);
    return times[times.size() / 2];
}

__global__ void copy_kernel(const float4* in, float4* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i];
}

using Launch = std::function<void(cudaStream_t, bool)>;
struct Candidate {
    std::string name;
    Launch run;
    float time;
};
/// The number of partial sums the last column kernel left.
u32 partials;
std::vector<Candidate> first, second, third;

template <typename K> void allow(K kernel, size_t bytes) {
    CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(bytes)));
    CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, CARVEOUT));
}

std::string describe(const char* kind, const void* kernel, int e, int c, int f, bool s, int threads, size_t bytes) {
    cudaFuncAttributes attr;
    int resident = 0;
    CHECK(cudaFuncGetAttributes(&attr, kernel));
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, threads, bytes));
    char text[200];
    snprintf(text, sizeof text, "%s E%d x%dx%d%s %3d regs %zu local %dx%d thr", kind, e, c, f, s ? " split" : "",
             attr.numRegs, attr.localSizeBytes, resident, threads);
    return text;
}

void add(std::vector<Candidate>& to, const char* size, std::string name, Launch run) {
    float us = timed([&](cudaStream_t s) { run(s, false); });
    printf("%s %s %-50s %8.2f us\n", F64 ? "f64" : "f32", size, name.c_str(), us);
    fflush(stdout);
    to.push_back({name, run, us});
}

template <int N, int E, int C, int F, bool S, int REGS> void rows(Maps& m, const char* size) {
    using Fft = BlockFft<N, E, C, F, S>;
    const size_t bytes = size_t(Fft::BYTES) * F;
    const u32 threads = N / E * C * F, pairs = m.nx / 2;
    const cplx* tw = table<N, E>();
    Maps* mp = &m;
    auto k3 = inverse<N, E, C, F, S, REGS, 3>;
    if constexpr (C == 1) {
        auto k1 = forward<N, E, F, S, REGS>;
        allow(k1, bytes);
        add(first, size, describe("pass 1", (const void*)k1, E, 1, F, S, threads, bytes),
            [=](cudaStream_t s, bool o) { launch(k1, pairs / F, threads, bytes, o, s, mp->rho, mp->p, tw, pairs); });
    }
    allow(k3, bytes);
    add(third, size, describe("pass 3", (const void*)k3, E, C, F, S, threads, bytes), [=](cudaStream_t s, bool o) {
        launch(k3, pairs * 3 / (C * F), threads, bytes, o, s, mp->p, mp->q, mp->phi, mp->ex, mp->ey, tw,
               real(mp->step_y()), pairs, mp->partial, partials, mp->energy);
    });
}

template <int N, int E, int C, bool S, bool IN_SHARED, bool RECOMPUTE, int REGS> void cols(Maps& m, const char* size) {
    using Fft = BlockFft<N, E, C, 1, S>;
    const size_t bytes = Fft::BYTES + (IN_SHARED ? N * C * sizeof(real) : 0);
    const u32 threads = N / E * C;
    const cplx* tw = table<N, E>();
    Maps* mp = &m;
    auto k2 = column<N, E, C, S, IN_SHARED, RECOMPUTE, REGS>;
    allow(k2, bytes);
    const Green green = m.green();
    add(second, size,
        describe((std::string("pass 2") + (IN_SHARED ? " in shared" : "") + (RECOMPUTE ? " recomputed" : "")).c_str(),
                 (const void*)k2, E, C, 1, S, threads, bytes),
        [=](cudaStream_t s, bool o) {
            partials = mp->ny / (2 * C);
            launch(k2, partials, threads, bytes, o, s, mp->p, mp->q, tw, green, mp->partial);
        });
}

/// In f32. As many blocks as run at once.
template <int N, int E, int C, int REGS> void separate(Maps& m, const char* size) {
    const size_t bytes = BlockFft<N, E, C, 1, true>::BYTES + N * C * sizeof(cplx);
    const u32 threads = N / E * C, units = m.ny / (2 * C);
    const cplx* tw = table<N, E>();
    Maps* mp = &m;
    auto k2 = separate_column<N, E, C, REGS, !F64>;
    allow(k2, bytes);
    const Green green = m.green();
    int resident = 0, multiprocessors = 0;
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, k2, threads, bytes));
    CHECK(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0));
    const u32 blocks = std::min(units, u32(resident * multiprocessors));
    add(second, size, describe("pass 2 separate", (const void*)k2, E, C, 1, true, threads, bytes),
        [=](cudaStream_t s, bool o) {
            partials = blocks;
            launch(k2, blocks, threads, bytes, o, s, mp->p, mp->q, tw, green, units, mp->partial);
        });
}

// Worst relative error of a handful of modes of φ, Ex, Ey against ρ's, in f64.
double mode_error(Maps& m) {
    const u32 nx = m.nx, ny = m.ny;
    std::vector<real> phi(m.bins()), ex(m.bins()), ey(m.bins());
    CHECK(cudaMemcpy(phi.data(), m.phi, m.bins() * sizeof(real), cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(ex.data(), m.ex, m.bins() * sizeof(real), cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(ey.data(), m.ey, m.bins() * sizeof(real), cudaMemcpyDeviceToHost));
    double worst = 0;
    const u32 modes[][2] = {{1, 2}, {3, 0}, {0, 5}, {nx / 3, ny / 5}, {nx - 1, ny - 2}, {nx / 2, 1}, {2, ny / 2}};
    double energy = 0, got = 0;
    for (size_t i = 0; i < m.bins(); ++i) energy += double(phi[i]) * m.host[i];
    CHECK(cudaMemcpy(&got, m.energy, sizeof got, cudaMemcpyDeviceToHost));
    worst = fabs(got - energy) / fabs(energy);
    for (auto [u, v] : modes) {
        std::vector<double> cx(nx), sx(nx), cy(ny), sy(ny);
        for (u32 i = 0; i < nx; ++i) cx[i] = cos(M_PI * u * (i + .5) / nx), sx[i] = sin(M_PI * u * (i + .5) / nx);
        for (u32 j = 0; j < ny; ++j) cy[j] = cos(M_PI * v * (j + .5) / ny), sy[j] = sin(M_PI * v * (j + .5) / ny);
        double r = 0, p = 0, x = 0, y = 0;
        for (u32 i = 0; i < nx; ++i)
            for (u32 j = 0; j < ny; ++j) {
                size_t at = size_t(i) * ny + j;
                r += m.host[at] * cx[i] * cy[j];
                p += phi[at] * cx[i] * cy[j];
                x += ex[at] * sx[i] * cy[j];
                y += ey[at] * cx[i] * sy[j];
            }
        double wx = M_PI * u / nx, wy = m.step_y() * v, want = r / (wx * wx + wy * wy);
        auto off = [&](double a, double b) {
            double e = fabs(a - b) / fabs(b);
            worst = e <= worst ? worst : e;
        };
        off(p, want);
        if (u) off(x, wx * want);
        if (v) off(y, wy * want);
    }
    return worst;
}

void together(Maps& m, const char* size) {
    if (PROFILE) return;
    float copy = timed([&](cudaStream_t s) {
        int n = int(m.bins() * sizeof(real) / 16);
        copy_kernel<<<(n + 255) / 256, 256, 0, s>>>((const float4*)m.rho, (float4*)m.phi, n);
    });
    auto fastest = [](std::vector<Candidate>& all) {
        return *std::min_element(all.begin(), all.end(), [](auto& a, auto& b) { return a.time < b.time; });
    };
    Candidate one = fastest(first), three = fastest(third);
    for (auto& two : second) {
        float plain = timed([&](cudaStream_t s) {
            one.run(s, false);
            two.run(s, false);
            three.run(s, false);
        });
        float overlap = timed([&](cudaStream_t s) {
            one.run(s, false);
            two.run(s, true);
            three.run(s, true);
        });
        for (real* map : {m.phi, m.ex, m.ey}) CHECK(cudaMemset(map, 255, m.bins() * sizeof(real)));
        one.run(0, false);
        two.run(0, false);
        three.run(0, false);
        CHECK(cudaDeviceSynchronize());
        printf(
            "SOLVE %s %s copy %.2f | %.2f overlapped %.2f us = %.2f x five copies | %.2f + %.2f + %.2f | error %.1e | "
            "%s; %s; %s\n",
            F64 ? "f64" : "f32", size, copy, plain, overlap, std::min(plain, overlap) / (5 * copy), one.time, two.time,
            three.time, mode_error(m), one.name.c_str(), two.name.c_str(), three.name.c_str());
        fflush(stdout);
    }
    first.clear();
    second.clear();
    third.clear();
}

int main() {
    if constexpr (!F64) {
        {
            Maps m(512, 512, 1);
            rows<512, 8, 1, 2, false, 64>(m, "512");
            rows<512, 8, 2, 1, false, 64>(m, "512");
            rows<512, 8, 1, 1, false, 64>(m, "512");
            cols<512, 8, 2, false, false, false, 128>(m, "512");
            together(m, "512");
        }
        {
            Maps m(1024, 1024, 1);
            rows<1024, 16, 1, 1, false, 64>(m, "1024");
            rows<1024, 16, 2, 1, false, 64>(m, "1024");
            rows<1024, 16, 4, 1, false, 64>(m, "1024");
            rows<1024, 16, 2, 2, false, 64>(m, "1024");
            cols<1024, 16, 4, false, false, false, 128>(m, "1024");
            together(m, "1024");
        }
        {
            Maps m(2048, 2048, 1);
            rows<2048, 16, 1, 1, false, 64>(m, "2048");
            rows<2048, 16, 2, 1, false, 64>(m, "2048");
            rows<2048, 16, 4, 1, false, 64>(m, "2048");
            rows<2048, 32, 1, 1, false, 128>(m, "2048");
            rows<2048, 32, 2, 1, false, 128>(m, "2048");
            cols<2048, 32, 4, false, true, true, 128>(m, "2048");
            separate<2048, 32, 2, 128>(m, "2048");
            together(m, "2048");
        }
        {
            Maps m(4096, 4096, 1);
            rows<4096, 16, 1, 1, false, 64>(m, "4096");
            rows<4096, 16, 2, 1, false, 64>(m, "4096");
            rows<4096, 16, 2, 1, true, 64>(m, "4096");
            rows<4096, 32, 2, 1, false, 128>(m, "4096");
            rows<4096, 16, 4, 1, true, 64>(m, "4096");
            cols<4096, 32, 4, false, true, true, 128>(m, "4096");
            separate<4096, 32, 2, 128>(m, "4096");
            separate<4096, 32, 4, 128>(m, "4096");
            together(m, "4096");
        }
        {
            Maps m(8192, 8192, 1);
            rows<8192, 32, 1, 1, false, 128>(m, "8192");
            cols<8192, 32, 2, false, true, true, 128>(m, "8192");
            separate<8192, 32, 2, 128>(m, "8192");
            together(m, "8192");
        }
    } else {
        {
            Maps m(512, 512, 1);
            rows<512, 8, 1, 1, false, 80>(m, "512");
            rows<512, 8, 2, 1, false, 80>(m, "512");
            rows<512, 16, 2, 1, true, 128>(m, "512");
            rows<512, 16, 1, 2, true, 128>(m, "512");
            rows<512, 16, 2, 1, false, 128>(m, "512");
            cols<512, 8, 2, false, false, false, 128>(m, "512");
            together(m, "512");
        }
        {
            Maps m(1024, 1024, 1);
            rows<1024, 16, 1, 1, true, 128>(m, "1024");
            rows<1024, 16, 2, 1, true, 128>(m, "1024");
            rows<1024, 16, 2, 1, false, 128>(m, "1024");
            rows<1024, 16, 4, 1, true, 128>(m, "1024");
            cols<1024, 16, 2, true, false, true, 168>(m, "1024");
            cols<1024, 16, 2, false, true, true, 128>(m, "1024");
            together(m, "1024");
        }
        {
            Maps m(2048, 2048, 1);
            rows<2048, 16, 1, 1, true, 128>(m, "2048");
            rows<2048, 16, 2, 1, true, 128>(m, "2048");
            rows<2048, 16, 4, 1, true, 128>(m, "2048");
            cols<2048, 16, 2, true, true, true, 128>(m, "2048");
            together(m, "2048");
        }
        {
            Maps m(4096, 4096, 1);
            rows<4096, 16, 1, 1, true, 128>(m, "4096");
            rows<4096, 16, 2, 1, true, 128>(m, "4096");
            cols<4096, 16, 2, true, true, true, 128>(m, "4096");
            together(m, "4096");
        }
    }
}
