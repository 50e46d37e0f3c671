// Density and force on their own: correctness against a float64 reference on
// the host, then times of every way to call them, next to the mapping that
// DREAMPlace uses (4 threads per body, one atomic addition per bin).
//
//   nvcc -O3 -std=c++17 -arch=sm_90 -I kernels -o density_force benchmarks/density_force.cu
//   ./density_force check            correctness only
//   ./density_force time [FILE.json] [SIZE...]
//                                    times; sizes A B C M (M: thousands of macros)
//   ./density_force quick [SIZE...]  f32 alone, without the peer
//   ./density_force parts [SIZE...]  kernels one by one
//   ./density_force sweep [SIZE...]  sizes of chunks
//   ./density_force strays [SIZE...] what bodies cost that have left their patch
//   ./density_force once SIZE        one step of each kind, for a profiler
//
// Times are medians over replays of a CUDA graph that holds several steps back
// to back, per step, in microseconds; inputs are resident.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "../kernels/bodies/order.cu"
#include "../kernels/bodies/density.cu"
#include "../kernels/bodies/force.cu"

#define CUDA(call)                                                                                     \
    do {                                                                                               \
        cudaError_t status_ = (call);                                                                  \
        if (status_ != cudaSuccess) {                                                                  \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(status_)); \
            exit(1);                                                                                   \
        }                                                                                              \
    } while (0)

// ---------------------------------------------------------------- peer kernels
// DREAMPlace's mapping, from its description: block (2, 2, 64), threads x and y
// stride over a body's bins along y and x. Sizes, offsets and ratios stand in
// arrays of their own; movable cells are visited in order of width.
template <typename T>
__global__ void __launch_bounds__(256) peer_density(const T* x, const T* y, const T* w, const T* h, const T* ox,
                                                    const T* oy, const T* ratio, const int* sorted, int n, T xl, T yl,
                                                    T bx, T by, T inv_x, T inv_y, int nx, int ny, T* map) {
    const int at = blockIdx.x * blockDim.z + threadIdx.z;
    if (at >= n) return;
    const int i = sorted ? sorted[at] : at;
    const T x0 = x[i] + ox[i], y0 = y[i] + oy[i], x1 = x0 + w[i], y1 = y0 + h[i], r = ratio[i];
    const int il = max(int((x0 - xl) * inv_x), 0), ih = min(int((x1 - xl) * inv_x) + 1, nx);
    const int jl = max(int((y0 - yl) * inv_y), 0), jh = min(int((y1 - yl) * inv_y) + 1, ny);
    for (int k = il + threadIdx.y; k < ih; k += blockDim.y) {
        const T px = min(x1, xl + k * bx + bx) - max(x0, xl + k * bx);
        for (int j = jl + threadIdx.x; j < jh; j += blockDim.x) {
            const T py = min(y1, yl + j * by + by) - max(y0, yl + j * by);
            atomicAdd(&map[k * ny + j], px * r * py);
        }
    }
}

template <typename T>
__global__ void __launch_bounds__(256) peer_force(const T* x, const T* y, const T* w, const T* h, const T* ox,
                                                  const T* oy, const T* ratio, const int* sorted, int n, T xl, T yl,
                                                  T bx, T by, T inv_x, T inv_y, int nx, int ny, const T* ex,
                                                  const T* ey, T* fx, T* fy) {
    __shared__ T sum_x[64], sum_y[64];
    const int at = blockIdx.x * blockDim.z + threadIdx.z;
    if (threadIdx.x == 0 && threadIdx.y == 0) sum_x[threadIdx.z] = sum_y[threadIdx.z] = 0;
    __syncthreads();
    if (at < n) {
        const int i = sorted ? sorted[at] : at;
        const T x0 = x[i] + ox[i], y0 = y[i] + oy[i], x1 = x0 + w[i], y1 = y0 + h[i];
        const int il = max(int((x0 - xl) * inv_x), 0), ih = min(int((x1 - xl) * inv_x) + 1, nx);
        const int jl = max(int((y0 - yl) * inv_y), 0), jh = min(int((y1 - yl) * inv_y) + 1, ny);
        T gx = 0, gy = 0;
        for (int k = il + threadIdx.y; k < ih; k += blockDim.y) {
            const T px = min(x1, xl + k * bx + bx) - max(x0, xl + k * bx);
            for (int j = jl + threadIdx.x; j < jh; j += blockDim.x) {
                const T py = min(y1, yl + j * by + by) - max(y0, yl + j * by);
                gx += px * py * ex[k * ny + j];
                gy += px * py * ey[k * ny + j];
            }
        }
        atomicAdd(&sum_x[threadIdx.z], gx * ratio[i]);
        atomicAdd(&sum_y[threadIdx.z], gy * ratio[i]);
    }
    __syncthreads();
    if (at < n && threadIdx.x == 0 && threadIdx.y == 0) {
        const int i = sorted ? sorted[at] : at;
        fx[i] = sum_x[threadIdx.z];
        fy[i] = sum_y[threadIdx.z];
    }
}

// --------------------------------------------------------------------- designs
struct Design {
    std::string name;
    double xl, yl, die_x, die_y;
    int nx, ny;
    int movable;
    double filler_w, filler_h;
    std::vector<double> x, y, w, h, ratio;  // movable cells, then fillers
    double bin_x() const { return die_x / nx; }
    double bin_y() const { return die_y / ny; }
    int bodies() const { return int(x.size()); }
};

static Design make_design(const std::string& name, bool clustered, int macros, unsigned seed) {
    Design d;
    d.name = name + (clustered ? " clustered" : "");
    int fillers;
    if (name == "A") { d.movable = 210000, fillers = 160000, d.die_x = 10692, d.nx = 512; }
    else if (name == "B") { d.movable = 490000, fillers = 1320000, d.die_x = 23190, d.nx = 1024; }
    else if (name == "C") { d.movable = 2170000, fillers = 2720000, d.die_x = 32000, d.nx = 2048; }
    else if (name == "M") { d.movable = 490000, fillers = 1320000, d.die_x = 23190, d.nx = 1024; macros = 3000; }
    else { d.movable = 5000, fillers = 3000, d.die_x = 1003.7, d.nx = 48; }  // "t", for correctness
    d.die_y = d.die_x;
    d.ny = d.nx;
    d.xl = 0, d.yl = 0;
    if (name == "t") { d.xl = 459.3, d.yl = -77.1, d.die_y = 1731.9, d.ny = 53; }
    d.filler_w = 15, d.filler_h = 12;
    std::mt19937_64 rng(seed);
    std::uniform_real_distribution<double> u(0, 1);
    std::normal_distribution<double> g(0, 1);
    d.movable += macros;
    const int n = d.movable + fillers;
    for (int i = 0; i < n; ++i) {
        const bool filler = i >= d.movable, macro = i < macros;
        double w = filler ? 15 : 3 + int(u(rng) * 27), h = 12;
        if (macro) {
            const double most = std::min(200.0, d.nx / 4.0);
            w = (10 + u(rng) * (most - 10)) * d.bin_x();
            h = (10 + u(rng) * (most - 10)) * d.bin_y();
        }
        double cx = u(rng), cy = u(rng);
        if (clustered && !filler && !macro) {
            do { cx = 0.5 + 0.05 * g(rng); cy = 0.5 + 0.05 * g(rng); } while (cx < 0 || cx > 1 || cy < 0 || cy > 1);
        }
        d.x.push_back(d.xl + cx * (d.die_x - w));
        d.y.push_back(d.yl + cy * (d.die_y - h));
        d.w.push_back(w);
        d.h.push_back(h);
        const double sx = std::sqrt(2.0) * d.bin_x(), sy = std::sqrt(2.0) * d.bin_y();
        d.ratio.push_back(w * h / (std::max(w, sx) * std::max(h, sy)));
        if (name == "t" && i % 50 == 7) {  // some hang over the edge or lie off the die
            d.x.back() = d.xl - 40 + u(rng) * (d.die_x + 80);
            d.y.back() = d.yl - 40 + u(rng) * (d.die_y + 80);
        }
    }
    return d;
}

// The model in float64, for the positions as they stand rounded to the
// engine's precision. Areas in bins.
static void reference(const Design& d, const std::vector<double>& x, const std::vector<double>& y,
                      const std::vector<double>& fixed, const std::vector<double>& ex, const std::vector<double>& ey,
                      double target, std::vector<double>& rho, double& excess, double& most, std::vector<double>& fx,
                      std::vector<double>& fy) {
    rho = fixed;
    fx.assign(d.bodies(), 0);
    fy.assign(d.bodies(), 0);
    const double bx = d.bin_x(), by = d.bin_y();
    for (int n = 0; n < d.bodies(); ++n) {
        if (n == d.movable) {
            excess = most = 0;
            for (double a : rho) { excess += std::max(0.0, a - target); most = std::max(most, a); }
        }
        const double sw = std::max(d.w[n], std::sqrt(2.0) * bx), sh = std::max(d.h[n], std::sqrt(2.0) * by);
        const double x0 = (x[n] - d.xl + 0.5 * (d.w[n] - sw)) / bx, y0 = (y[n] - d.yl + 0.5 * (d.h[n] - sh)) / by;
        const double x1 = x0 + sw / bx, y1 = y0 + sh / by;
        for (int i = std::max(0, int(std::floor(x0))); i < d.nx && i < x1; ++i) {
            const double px = std::min(x1, i + 1.0) - std::max(x0, double(i));
            for (int j = std::max(0, int(std::floor(y0))); j < d.ny && j < y1; ++j) {
                const double area = d.ratio[n] * px * (std::min(y1, j + 1.0) - std::max(y0, double(j)));
                rho[size_t(i) * d.ny + j] += area;
                fx[n] += area * bx * by * ex[size_t(i) * d.ny + j];
                fy[n] += area * bx * by * ey[size_t(i) * d.ny + j];
            }
        }
    }
}

static double relative(const std::vector<double>& a, const std::vector<double>& b) {
    double diff = 0, norm = 0;
    for (size_t i = 0; i < a.size(); ++i) { diff += (a[i] - b[i]) * (a[i] - b[i]); norm += b[i] * b[i]; }
    return std::sqrt(diff / norm);
}

// ------------------------------------------------------------------------ bench
template <typename T>
struct Kernels;
#define KERNELS(T, P)                                             \
    template <>                                                   \
    struct Kernels<T> {                                           \
        static constexpr auto count = order_count##P;             \
        static constexpr auto tiles = order_tiles##P;             \
        static constexpr auto place = order_place##P;             \
        static constexpr auto invert = order_invert##P;           \
        static constexpr auto bodies_slots = density_slots##P;    \
        static constexpr auto bodies_caller = density_caller##P;  \
        static constexpr auto large = density_large##P;           \
        static constexpr auto finish = density_finish##P;         \
        static constexpr auto force_slots = force_slots##P;       \
        static constexpr auto give_back = force_return##P;        \
    };
KERNELS(float, _f32)
KERNELS(double, _f64)

template <typename V>
V* upload(const std::vector<V>& host) {
    V* device;
    CUDA(cudaMalloc(&device, std::max<size_t>(1, host.size()) * sizeof(V)));
    CUDA(cudaMemcpy(device, host.data(), host.size() * sizeof(V), cudaMemcpyHostToDevice));
    return device;
}
template <typename V>
V* room(size_t count, std::vector<void*>& owned) {
    V* device;
    CUDA(cudaMalloc(&device, std::max<size_t>(1, count) * sizeof(V)));
    CUDA(cudaMemset(device, 0, std::max<size_t>(1, count) * sizeof(V)));
    owned.push_back(device);
    return device;
}
template <typename V>
std::vector<double> download(const V* device, size_t count) {
    std::vector<V> host(count);
    CUDA(cudaMemcpy(host.data(), device, count * sizeof(V), cudaMemcpyDeviceToHost));
    return std::vector<double>(host.begin(), host.end());
}

static int sm_count() {
    int value;
    CUDA(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 0));
    return value;
}

template <typename T>
static Axis<T> axis(double origin, double bin) {
    Axis<T> a;
    a.origin_hi = T(origin);
    a.origin_lo = T(origin - double(a.origin_hi));
    a.bin_hi = T(bin);
    a.bin_lo = T(bin - double(a.bin_hi));
    a.inverse = T(1 / bin);
    return a;
}

struct Spread {
    double median, min, max;
    int samples;
};

__global__ void sweep_maps(float4* maps, size_t count) {
    const size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= count) return;
    float4 v = maps[i];
    v.x += 1, v.y += 1, v.z += 1, v.w += 1;
    maps[i] = v;
}

template <typename T>
struct Bench {
    typedef typename Bits<T>::Pair Pair;
    typedef Kernels<T> K;
    typedef typename SumOf<T>::Word Word;
    enum { LIMBS = sizeof(T) / 4 };
    const Design& d;
    Plan<T> plan{};
    std::vector<void*> owned;
    int n, tiles, max_chunks, keys;
    size_t bins;
    u32 half;  // of ids and records, that the order is in
    // Lower-left corners: where bodies are ordered, and where they are by then, in the
    // caller's order and in slots (with what `reset_slots` brings back).
    Pair *start, *caller, *slots, *slots_kept, *staged, *staged_force, *force_back;
    T *ex, *ey, *fixed, *rho;
    Record<T> *records, *macros;
    u32 *counts, *cursors, *slot_of, *ids, *from, *strays, *flags, *guests;
    Word* words;
    u64 *beside, *differences;
    Tile* listed;
    Chunk* chunks;
    Stats* stats;
    Wear* wear;
    u64* posted;
    float4* swept;
    cudaStream_t stream;
    std::vector<double> host_x, host_y;  // as the device has them
    // the peer's arrays
    T *px, *py, *pw, *ph, *pox, *poy, *pratio, *pfx, *pfy;
    int* psorted;

    template <typename V>
    V* keep(V* p) { owned.push_back(p); return p; }

    Bench(const Design& design, int chunk, const std::vector<double>& fixed_map, const std::vector<double>& field_x,
          const std::vector<double>& field_y, double target, double drift)
        : d(design) {
        CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
        n = d.bodies();
        bins = size_t(d.nx) * d.ny;
        const double bx = d.bin_x(), by = d.bin_y(), s2 = std::sqrt(2.0);
        std::vector<Record<T>> first_records, macro_records;
        std::vector<u32> first_ids;
        double weight = 0;
        int movable_macros = 0;
        for (int i = 0; i < n; ++i) {
            Record<T> r;
            r.w = T(d.w[i] / bx);
            r.h = T(d.h[i] / by);
            r.ratio = T(d.ratio[i]);
            r.id = i;
            const int ew = int(std::max(double(r.w), s2)) + 2, eh = int(std::max(double(r.h), s2)) + 2;
            weight += std::max(1.0, d.w[i] / bx * d.h[i] / by);
            if (ew * eh > 64) {
                macro_records.push_back(r);
                movable_macros += i < d.movable;
            } else {
                first_ids.push_back(i);
                if (i < d.movable) first_records.push_back(r);
            }
        }
        for (const auto& r : macro_records) first_ids.push_back(r.id);
        plan.x = axis<T>(d.xl, bx);
        plan.y = axis<T>(d.yl, by);
        plan.stretch = T(s2);
        plan.filler_w = T(d.filler_w / bx);
        plan.filler_h = T(d.filler_h / by);
        plan.filler_ratio = n > d.movable ? T(d.ratio[n - 1]) : T(0);
        plan.target = T(target);
        plan.force_unit = T(bx * by);
        plan.nx = d.nx, plan.ny = d.ny;
        plan.large = int(macro_records.size());
        plan.movable_ids = d.movable;
        plan.bodies = n - plan.large;
        plan.movable = plan.records = d.movable - movable_macros;
        plan.tiles_x = (d.nx + TILE - 1) / TILE;
        plan.tiles_y = (d.ny + TILE - 1) / TILE;
        tiles = plan.tiles_x * plan.tiles_y;
        if (!chunk) chunk = plan.bodies < sm_count() * 4096 ? 1023 : 2047;
        plan.chunk = chunk;
        const int spare = int(std::ceil(std::log2(chunk + 1.0)));
        plan.limb_bits = 32 - spare;
        const int capacity = int(std::ceil(std::log2(weight + 2)));
        const int bits = std::is_same<T, float>::value ? 32 - spare : std::min(2 * plan.limb_bits, 64 - capacity);
        plan.scale = T(std::ldexp(1.0, bits));
        plan.unscale = T(std::ldexp(1.0, -bits));
        max_chunks = tiles + plan.bodies / chunk + 1;
        plan.max_chunks = max_chunks;
        keys = tiles * 2;
        plan.excess_scale = T(std::ldexp(1.0, 62 - int(std::ceil(std::log2(weight + double(bins))))));

        px = room<T>(n, owned), py = room<T>(n, owned), pfx = room<T>(n, owned), pfy = room<T>(n, owned);
        start = room<Pair>(n, owned), caller = room<Pair>(n, owned), slots = room<Pair>(n, owned);
        slots_kept = room<Pair>(n, owned), force_back = room<Pair>(n, owned);
        move_by(0);
        CUDA(cudaMemcpy(start, caller, n * sizeof(Pair), cudaMemcpyDeviceToDevice));
        move_by(drift);
        macros = keep(upload(macro_records));
        ex = keep(upload(std::vector<T>(field_x.begin(), field_x.end())));
        ey = keep(upload(std::vector<T>(field_y.begin(), field_y.end())));
        fixed = keep(upload(std::vector<T>(fixed_map.begin(), fixed_map.end())));
        rho = room<T>(bins, owned);
        staged = room<Pair>(n, owned), staged_force = room<Pair>(n, owned);
        half = 0;
        first_records.resize(2 * plan.records);
        records = keep(upload(first_records));
        first_ids.resize(2 * n);
        ids = keep(upload(first_ids));
        counts = room<u32>(keys, owned), cursors = room<u32>(keys, owned);
        slot_of = room<u32>(n, owned), from = room<u32>(n, owned);
        strays = room<u32>(1, owned);
        flags = room<u32>(tiles, owned), guests = room<u32>(tiles, owned);
        words = room<Word>(2 * bins, owned), beside = room<u64>(LIMBS == 1 ? 2 * bins : 0, owned);
        differences = room<u64>(plan.large ? 2 * size_t(tiles) * TILE * TILE : 0, owned);
        listed = room<Tile>(tiles + 1, owned);
        chunks = room<Chunk>(max_chunks, owned);
        stats = room<Stats>(1, owned);
        wear = room<Wear>(1, owned);
        CUDA(cudaMallocHost(&posted, sizeof(u64)));
        swept = room<float4>(swept_quads(), owned);

        std::vector<T> w(n), h(n), ox(n), oy(n), ra(n);
        for (int i = 0; i < n; ++i) {
            const double sw = std::max(d.w[i], s2 * bx), sh = std::max(d.h[i], s2 * by);
            w[i] = T(sw), h[i] = T(sh), ox[i] = T(0.5 * (d.w[i] - sw)), oy[i] = T(0.5 * (d.h[i] - sh)), ra[i] = T(d.ratio[i]);
        }
        std::vector<int> by_width(d.movable);
        for (int i = 0; i < d.movable; ++i) by_width[i] = i;
        std::stable_sort(by_width.begin(), by_width.end(), [&](int a, int b) { return w[a] < w[b]; });
        pw = keep(upload(w)), ph = keep(upload(h)), pox = keep(upload(ox)), poy = keep(upload(oy)), pratio = keep(upload(ra));
        psorted = keep(upload(by_width));

    }
    // Every body a Gaussian of `drift` bins from where it is ordered.
    void move_by(double drift) {
        std::mt19937 rng(99);
        std::normal_distribution<float> g(0, 1);
        std::vector<T> hx(n), hy(n);
        std::vector<Pair> pairs(n);
        for (int i = 0; i < n; ++i) {
            pairs[i].x = hx[i] = T(d.x[i] + drift * d.bin_x() * g(rng));
            pairs[i].y = hy[i] = T(d.y[i] + drift * d.bin_y() * g(rng));
        }
        host_x.assign(hx.begin(), hx.end());
        host_y.assign(hy.begin(), hy.end());
        CUDA(cudaMemcpy(px, hx.data(), n * sizeof(T), cudaMemcpyHostToDevice));
        CUDA(cudaMemcpy(py, hy.data(), n * sizeof(T), cudaMemcpyHostToDevice));
        CUDA(cudaMemcpy(caller, pairs.data(), n * sizeof(Pair), cudaMemcpyHostToDevice));
    }
    // Reads and writes six maps, as a solve does: what it leaves of L2.
    size_t swept_quads() const { return 6 * bins * sizeof(T) / sizeof(float4); }
    void sweep() { sweep_maps<<<grid(swept_quads()), 256, 0, stream>>>(swept, swept_quads()); }
    static constexpr size_t dense_bytes = LIMB_STRIDE * (sizeof(T) / 4), field_bytes = size_t(PATCH) * PATCH * sizeof(Pair);
    ~Bench() {
        for (void* p : owned) cudaFree(p);
        cudaFreeHost(posted);
        cudaStreamDestroy(stream);
    }

    int grid(size_t count) const { return int((count + 255) / 256); }

    u32* id_of() { return ids + half * n; }
    template <typename Kernel, typename... Arguments>
    void tally(Kernel kernel, bool overlap, Arguments... arguments) {
        const int threads = plan.bodies < sm_count() * 4096 ? 128 : 512, each = threads * ORDER_EACH;
        const int bytes = keys * 4 + each * 2;
        const bool local = bytes <= 48000;
        launch(overlap, kernel, (n + each - 1) / each, threads, local ? bytes : 0, plan, arguments..., int(local));
    }
    void count(const u32* order, const Pair* corners) { tally(K::count, false, order, corners, counts, staged); }
    void list() { launch(true, K::tiles, 1, 1024, 0, plan, (uint2*)counts, (uint2*)cursors, listed, wear); }
    void place(const Wanted<T>& wanted) {
        tally(K::place, true, (const Pair*)staged, cursors, ids, records, half, wanted, (const Tile*)listed,
              chunks);
    }
    // From the caller's order.
    void order(const Pair* corners) {
        count(id_of(), corners), list(), place({slot_of, nullptr, nullptr});
        half ^= 1;
    }
    // From slots, corners with them.
    void order_slots() {
        count(nullptr, slots), list(), place({nullptr, from, slots});
        half ^= 1;
    }
    void invert() { K::invert<<<grid(n), 256, 0, stream>>>(n, id_of(), slot_of); }
    // What a placer that keeps its arrays in slot order holds since then.
    void to_slots() {
        std::vector<u32> id(n);
        CUDA(cudaMemcpyAsync(id.data(), id_of(), n * 4, cudaMemcpyDeviceToHost, stream));
        CUDA(cudaStreamSynchronize(stream));
        std::vector<Pair> pairs(n);
        for (int k = 0; k < n; ++k) pairs[k].x = T(host_x[id[k]]), pairs[k].y = T(host_y[id[k]]);
        CUDA(cudaMemcpyAsync(slots_kept, pairs.data(), n * sizeof(Pair), cudaMemcpyHostToDevice, stream));
        reset_slots();
        sync();
    }
    void reset_slots() { CUDA(cudaMemcpyAsync(slots, slots_kept, n * sizeof(Pair), cudaMemcpyDeviceToDevice, stream)); }
    template <typename... Parameters, typename... Arguments>
    void launch(bool overlap, void (*kernel)(Parameters...), int blocks, int threads, size_t shared, Arguments... arguments) {
        cudaLaunchAttribute attribute;
        attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
        attribute.val.programmaticStreamSerializationAllowed = 1;
        cudaLaunchConfig_t config = {};
        config.gridDim = dim3(blocks);
        config.blockDim = dim3(threads);
        config.dynamicSmemBytes = shared;
        config.stream = stream;
        config.attrs = &attribute;
        config.numAttrs = overlap ? 1 : 0;
        CUDA(cudaLaunchKernelEx(&config, kernel, Parameters(arguments)...));
    }
    void bodies(int order) {
        auto kernel = order == SLOTS ? K::bodies_slots : K::bodies_caller;
        kernel<<<max_chunks + (plan.large + 7) / 8, 256, dense_bytes, stream>>>(
            plan, chunks, macros, records, ids, order == SLOTS ? slots : caller, staged, words, beside, guests,
            differences, flags, strays, stats);
        if (plan.large) K::large<<<tiles, 256, 0, stream>>>(plan, words, beside, differences, flags);
    }
    void finish() {
        launch(true, K::finish, int((bins + 1023) / 1024) + 1, 256, 0, plan, (const T*)fixed, words, beside, guests, rho,
               strays, stats, wear, posted);
    }
    void density(int order) {
        bodies(order);
        finish();
    }
    // 0: corners and forces in slots; 1: corners as the density staged them, forces to the caller's order
    void force(int way) {
        K::force_slots<<<max_chunks + plan.large, 256, field_bytes, stream>>>(
            plan, chunks, macros, records, way == 0 ? slots : staged, ex, ey, staged_force);
        if (way == 1) give_back();
    }
    void give_back() {
        const int each = 256 * RETURN_EACH;
        launch(true, K::give_back, (n + each - 1) / each, 256, 0, plan, slot_of, staged_force, force_back);
    }
    void peer_step_density() {
        const dim3 block(2, 2, 64);
        CUDA(cudaMemcpyAsync(rho, fixed, bins * sizeof(T), cudaMemcpyDeviceToDevice, stream));
        const T xl = T(d.xl), yl = T(d.yl), bx = T(d.bin_x()), by = T(d.bin_y()), ix = T(1 / d.bin_x()), iy = T(1 / d.bin_y());
        const int m = d.movable, f = n - m;
        peer_density<T><<<(m + 63) / 64, block, 0, stream>>>(px, py, pw, ph, pox, poy, pratio, psorted, m, xl, yl, bx, by, ix, iy, d.nx, d.ny, rho);
        peer_density<T><<<(f + 63) / 64, block, 0, stream>>>(px + m, py + m, pw + m, ph + m, pox + m, poy + m, pratio + m, nullptr, f, xl, yl, bx, by, ix, iy, d.nx, d.ny, rho);
    }
    void peer_step_force() {
        const dim3 block(2, 2, 64);
        const T xl = T(d.xl), yl = T(d.yl), bx = T(d.bin_x()), by = T(d.bin_y()), ix = T(1 / d.bin_x()), iy = T(1 / d.bin_y());
        const int m = d.movable, f = n - m;
        peer_force<T><<<(m + 63) / 64, block, 0, stream>>>(px, py, pw, ph, pox, poy, pratio, psorted, m, xl, yl, bx, by, ix, iy, d.nx, d.ny, ex, ey, pfx, pfy);
        peer_force<T><<<(f + 63) / 64, block, 0, stream>>>(px + m, py + m, pw + m, ph + m, pox + m, poy + m, pratio + m, nullptr, f, xl, yl, bx, by, ix, iy, d.nx, d.ny, ex, ey, pfx + m, pfy + m);
    }
    // Microseconds per call of `step` in a graph that holds several; `before`
    // runs before every replay and is not timed.
    Spread time(const std::function<void()>& step, int inner = 10, int replays = 15,
                const std::function<void()>& before = [] {}) {
        cudaGraph_t graph;
        cudaGraphExec_t exec;
        CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
        for (int k = 0; k < inner; ++k) step();
        CUDA(cudaStreamEndCapture(stream, &graph));
        CUDA(cudaGraphInstantiate(&exec, graph, 0));
        cudaEvent_t a, b;
        CUDA(cudaEventCreate(&a));
        CUDA(cudaEventCreate(&b));
        std::vector<double> all;
        for (int k = 0; k < replays + 2; ++k) {
            before();
            CUDA(cudaEventRecord(a, stream));
            CUDA(cudaGraphLaunch(exec, stream));
            CUDA(cudaEventRecord(b, stream));
            CUDA(cudaEventSynchronize(b));
            float ms;
            CUDA(cudaEventElapsedTime(&ms, a, b));
            if (k >= 2) all.push_back(ms * 1000.0 / inner);
        }
        CUDA(cudaGetLastError());
        cudaGraphExecDestroy(exec);
        cudaGraphDestroy(graph);
        cudaEventDestroy(a);
        cudaEventDestroy(b);
        std::sort(all.begin(), all.end());
        return {all[all.size() / 2], all.front(), all.back(), replays};
    }
    void sync() { CUDA(cudaStreamSynchronize(stream)); CUDA(cudaGetLastError()); }
    Stats read_stats() {
        Stats s;
        CUDA(cudaMemcpy(&s, stats, sizeof s, cudaMemcpyDeviceToHost));
        return s;
    }
};

static std::vector<double> noise(size_t count, unsigned seed, double low, double high) {
    std::mt19937_64 rng(seed);
    std::uniform_real_distribution<double> u(low, high);
    std::vector<double> out(count);
    for (double& v : out) v = float(u(rng));
    return out;
}

static int failures = 0;
static void expect(bool good, const char* what, const char* where) {
    if (!good) { ++failures; printf("FAILED %s: %s\n", where, what); }
}

template <typename T>
static void check(const Design& d, int chunk, double drift, const char* precision) {
    const size_t bins = size_t(d.nx) * d.ny;
    const auto fixed = noise(bins, 5, 0, 1), ex = noise(bins, 6, -1, 1), ey = noise(bins, 7, -1, 1);
    const double target = 0.9;
    Bench<T> b(d, chunk, fixed, ex, ey, target, drift);
    std::vector<double> rho, fx, fy;
    double excess = 0, most = 0;
    reference(d, b.host_x, b.host_y, fixed, ex, ey, target, rho, excess, most, fx, fy);
    b.order(b.start);
    b.sync();
    b.to_slots();
    std::vector<u32> slots(b.n);
    const auto read_slots = [&] {
        b.invert();
        b.sync();
        CUDA(cudaMemcpy(slots.data(), b.slot_of, b.n * 4, cudaMemcpyDeviceToHost));
    };
    read_slots();
    {
        auto seen = slots;
        std::sort(seen.begin(), seen.end());
        bool whole = true;
        for (int i = 0; i < b.n; ++i) whole &= seen[i] == u32(i);
        expect(whole, "slots are a permutation", d.name.c_str());
    }
    const bool f32 = std::is_same<T, float>::value;
    const double bound = f32 ? 1e-6 : 3e-13;
    std::vector<double> first;
    printf("check %-12s %s chunk %4d drift %.1f:", d.name.c_str(), precision, b.plan.chunk, drift);
    // By slots, by the caller's order, by slots of a new order.
    for (int order : {SLOTS, CALLER, SLOTS}) {
        for (int again = 0; again < 2; ++again) {
            CUDA(cudaMemsetAsync(b.rho, 0xff, bins * sizeof(T), b.stream));
            b.density(order);
            b.sync();
            const auto got = download(b.rho, bins);
            const Stats s = b.read_stats();
            const double error = relative(got, rho), found = std::ldexp(double(s.excess), -std::ilogb(double(b.plan.excess_scale)));
            if (first.empty()) {
                first = got;
                double worst = 0;
                for (size_t i = 0; i < bins; ++i) worst = std::max(worst, std::fabs(got[i] - rho[i]));
                printf(" rho %.2e (max %.1e) excess %.1e strays %.2f%%", error, worst, std::fabs(found - excess) / excess,
                       100.0 * double(s.strays) / b.n);
            }
            expect(error < bound, "rho", d.name.c_str());
            expect(got == first, "the same bits", d.name.c_str());
            expect(std::fabs(found - excess) < (f32 ? 1e-5 : 1e-11) * excess, "excess", d.name.c_str());
            expect(std::fabs(s.largest - most) < (f32 ? 1e-5 : 1e-11) * most, "largest", d.name.c_str());
        }
        if (order == CALLER) b.order_slots(), b.sync();
    }
    read_slots();
    b.density(CALLER);  // stages positions in the new order
    for (int way = 0; way < 2; ++way) {
        auto* const at = way == 0 ? b.staged_force : b.force_back;
        CUDA(cudaMemsetAsync(at, 0xff, 2 * b.n * sizeof(T), b.stream));
        b.force(way);
        b.sync();
        const auto pairs = download(reinterpret_cast<const T*>(at), 2 * b.n);
        std::vector<double> gx(b.n), gy(b.n);
        for (int i = 0; i < b.n; ++i) {
            const size_t k = way == 0 ? slots[i] : i;
            gx[i] = pairs[2 * k], gy[i] = pairs[2 * k + 1];
        }
        const double e = std::max(relative(gx, fx), relative(gy, fy));
        if (way == 0) printf(" force %.2e", e);
        expect(e < bound * 2, "force", d.name.c_str());
    }
    b.peer_step_density();
    b.sync();
    auto peer = download(b.rho, bins);  // fixed in bin areas, bodies in layout units squared
    for (size_t i = 0; i < bins; ++i) peer[i] = fixed[i] + (peer[i] - fixed[i]) / (d.bin_x() * d.bin_y());
    printf(" | peer rho %.2e", relative(peer, rho));
    b.peer_step_force();
    b.sync();
    printf(" force %.2e\n", std::max(relative(download(b.pfx, b.n), fx), relative(download(b.pfy, b.n), fy)));
    fflush(stdout);
}

// Thousands of bodies in one bin: what shared and global words must hold.
static void check_pile() {
    Design d;
    d.name = "pile";
    d.xl = d.yl = 0, d.die_x = d.die_y = 64, d.nx = d.ny = 8;
    d.movable = 9000, d.filler_w = 8, d.filler_h = 8;
    for (int i = 0; i < 13000; ++i) {
        d.x.push_back(16), d.y.push_back(24), d.w.push_back(12), d.h.push_back(12), d.ratio.push_back(1);
        if (i >= d.movable) d.w.back() = d.h.back() = 8, d.ratio.back() = 0.5;
    }
    for (int chunk : {1023, 2047}) {
        check<float>(d, chunk, 0, "f32");
        check<double>(d, chunk, 0, "f64");
    }
}

static std::string quoted(const char* name, const Spread& t) {
    char text[200];
    snprintf(text, sizeof text, "\"%s\": {\"median\": %.3f, \"min\": %.3f, \"max\": %.3f, \"samples\": %d}", name,
             t.median, t.min, t.max, t.samples);
    return text;
}

// One line on the terminal, and the same as a JSON object.
template <typename T>
static std::string times(const Design& d, int chunk, bool clustered, double drift, bool peer) {
    const bool f32 = std::is_same<T, float>::value;
    const size_t bins = size_t(d.nx) * d.ny;
    const auto fixed = noise(bins, 5, 0, 0.1), ex = noise(bins, 6, -1, 1), ey = noise(bins, 7, -1, 1);
    Bench<T> b(d, chunk, fixed, ex, ey, 1.0, drift);
    // From the order of where bodies stood to that of where they stand. A replay
    // makes the same order again, for it goes from one half to the other.
    b.order(b.start), b.sync(), b.to_slots();
    const Spread order = b.time([&] { b.order(b.caller); }, 1, 9);
    b.order(b.start), b.sync(), b.to_slots();
    const Spread reorder = b.time([&] { b.order_slots(); }, 1, 9, [&] { b.reset_slots(); });
    b.order(b.start), b.sync(), b.to_slots();
    const Spread ds = b.time([&] { b.density(SLOTS); });
    const u64 strays = b.read_stats().strays;
    const Spread dc = b.time([&] { b.density(CALLER); }), fin = b.time([&] { b.finish(); });
    const Spread fs = b.time([&] { b.force(0); }), fc = b.time([&] { b.force(1); });
    printf("%-12s %s chunk %4d drift %.1f | order %6.1f, of slots %6.1f, strays %5.2f%% | density slots %6.1f caller %6.1f"
           " (finish %5.1f) | force slots %6.1f caller %6.1f",
           d.name.c_str(), f32 ? "f32" : "f64", b.plan.chunk, drift, order.median, reorder.median,
           100.0 * double(strays) / b.n, ds.median, dc.median, fin.median, fs.median, fc.median);
    char text[400];
    snprintf(text, sizeof text,
             "{\"design\": \"%c\", \"start\": \"%s\", \"precision\": \"%s\", \"movable\": %d, \"fillers\": %d,"
             " \"large\": %d, \"bins\": %d, \"drift_bins\": %.1f, \"strays\": %llu, \"microseconds\": {",
             d.name[0], clustered ? "clustered" : "uniform", f32 ? "f32" : "f64", d.movable, b.n - d.movable,
             b.plan.large, d.nx, drift, strays);
    std::string json = text + quoted("order", order) + ", " + quoted("order_slots", reorder) + ", " +
                       quoted("density_slots", ds) + ", " + quoted("density_caller", dc) + ", " +
                       quoted("force_slots", fs) + ", " + quoted("force_caller", fc);
    if (peer) {
        const Spread pd = b.time([&] { b.peer_step_density(); }, 4, 9), pf = b.time([&] { b.peer_step_force(); }, 4, 9);
        printf(" | peer density %6.1f force %6.1f", pd.median, pf.median);
        json += ", " + quoted("peer_density", pd) + ", " + quoted("peer_force", pf);
    }
    printf("\n");
    fflush(stdout);
    return json + "}}";
}

// The parts of an order and of a step, one by one.
static void parts(const Design& d) {
    const size_t bins = size_t(d.nx) * d.ny;
    const auto fixed = noise(bins, 5, 0, 0.1), ex = noise(bins, 6, -1, 1), ey = noise(bins, 7, -1, 1);
    Bench<float> b(d, 0, fixed, ex, ey, 1.0, 1.5);
    b.order(b.start);
    b.sync();
    b.to_slots();
    printf("%-12s density %5.1f bodies %5.1f finish %5.1f force %5.1f return %5.1f |", d.name.c_str(),
           b.time([&] { b.density(SLOTS); }).median, b.time([&] { b.bodies(SLOTS); }).median, b.time([&] { b.finish(); }).median,
           b.time([&] { b.force(0); }).median, b.time([&] { b.give_back(); }).median);
    const double sweep = b.time([&] { b.sweep(); }).median;
    printf(" after %.1f us of solve-like traffic: density %5.1f caller %5.1f |", sweep,
           b.time([&] { b.sweep(), b.density(SLOTS); }).median - sweep,
           b.time([&] { b.sweep(), b.density(CALLER); }).median - sweep);
    // The same order again each time, as in `times`.
    const auto none = [&] { CUDA(cudaMemsetAsync(b.counts, 0, b.keys * 4, b.stream)); };
    const auto part = [&](const char* name, const u32* ids, const auto* corners, const Wanted<float>& wanted) {
        const auto counted = [&] { none(), b.count(ids, corners); };
        printf(" %s: count %5.1f", name, b.time([&] { b.count(ids, corners); }, 1, 9, none).median);
        printf(" list %5.1f", b.time([&] { b.list(); }, 1, 9, counted).median);
        printf(" place %5.1f", b.time([&] { b.place(wanted); }, 1, 9, [&] { counted(), b.list(); }).median);
    };
    part("order", b.id_of(), b.caller, {b.slot_of, nullptr, nullptr});
    part("of slots", nullptr, b.slots_kept, {nullptr, b.from, b.slots});
    printf(" and slots inverted %5.1f\n", b.time([&] { b.invert(); }).median);
    fflush(stdout);
}

// Times by how far bodies have moved since they were ordered.
static void strays(const Design& d) {
    const size_t bins = size_t(d.nx) * d.ny;
    const auto fixed = noise(bins, 5, 0, 0.1), ex = noise(bins, 6, -1, 1), ey = noise(bins, 7, -1, 1);
    Bench<float> b(d, 0, fixed, ex, ey, 1.0, 0);
    for (double drift : {0.0, 1.5, 2.0, 2.5, 3.0, 4.0, 8.0}) {
        b.move_by(drift);
        b.order(b.start);
        b.sync();
        b.to_slots();
        const double ds = b.time([&] { b.density(SLOTS); }).median;
        const u64 strays = b.read_stats().strays;
        const double dc = b.time([&] { b.density(CALLER); }).median, fs = b.time([&] { b.force(0); }).median;
        const double fc = b.time([&] { b.force(1); }).median;
        printf("%-12s drift %.1f strays %7llu %8.4f%% density slots %6.1f caller %6.1f force slots %6.1f caller %6.1f\n", d.name.c_str(),
               drift, strays, 100.0 * double(strays) / b.n, ds, dc, fs, fc);
        fflush(stdout);
    }
}

int main(int argc, char** argv) {
    const std::string mode = argc > 1 ? argv[1] : "check";
    std::vector<std::string> names(argv + std::min(argc, 2), argv + argc);
    std::string file;
    for (auto at = names.begin(); at != names.end(); ++at)
        if (at->size() > 1 && mode != "check") {
            file = *at;
            names.erase(at);
            break;
        }
    if (names.empty()) names = {"A", "B", "C", "M"};
    cudaDeviceProp prop;
    CUDA(cudaGetDeviceProperties(&prop, 0));
    printf("%s, sm_%d%d, %d SMs, L2 %d MB\n", prop.name, prop.major, prop.minor, prop.multiProcessorCount, prop.l2CacheSize >> 20);
    if (mode == "check") {
        for (int macros : {0, 40}) {
            const Design d = make_design("t", false, macros, 1);
            for (int chunk : {1023, 2047})
                for (double drift : {0.0, 4.0, 30.0}) {
                    check<float>(d, chunk, drift, "f32");
                    check<double>(d, chunk, drift, "f64");
                }
        }
        check_pile();
        if (argc > 2) return failures != 0;  // "check small"
        check<float>(make_design("A", true, 0, 2), 0, 1.5, "f32");
        check<double>(make_design("A", false, 0, 2), 0, 1.5, "f64");
        check<float>(make_design("C", false, 0, 2), 0, 1.5, "f32");
        check<float>(make_design("M", false, 0, 2), 0, 1.5, "f32");
        printf(failures ? "%d FAILURES\n" : "all checks passed\n", failures);
        return failures != 0;
    }
    std::string rows;
    for (const auto& name : names) {
        for (bool clustered : {false, true}) {
            if (clustered && (name == "M" || mode == "parts" || mode == "strays")) break;
            const Design d = make_design(name, clustered, 0, 3);
            const auto add = [&](const std::string& row) { rows += (rows.empty() ? "    " : ",\n    ") + row; };
            if (mode == "quick") {
                add(times<float>(d, 0, clustered, 1.5, false));
            } else if (mode == "time") {
                add(times<float>(d, 0, clustered, 1.5, true));
                add(times<double>(d, 0, clustered, 1.5, true));
            } else if (mode == "sweep") {
                for (int chunk : {511, 767, 1023, 1535, 2047}) add(times<float>(d, chunk, clustered, 1.5, false));
            } else if (mode == "strays") {
                strays(d);
            } else if (mode == "parts") {
                parts(d);
            } else if (mode == "once") {
                const size_t bins = size_t(d.nx) * d.ny;
                const auto fixed = noise(bins, 5, 0, 0.1), ex = noise(bins, 6, -1, 1), ey = noise(bins, 7, -1, 1);
                Bench<float> b(d, 0, fixed, ex, ey, 1.0, 1.5);
                b.order(b.start);
                b.sync();
                b.to_slots();
                for (int order = 0; order < 2; ++order) b.density(order);
                for (int way = 0; way < 2; ++way) b.force(way);
                b.sync();
            }
        }
    }
    if (!file.empty()) {
        FILE* out = fopen(file.c_str(), "w");
        if (!out) {
            fprintf(stderr, "%s: cannot be written\n", file.c_str());
            return 1;
        }
        fprintf(out, "{\n  \"device\": \"%s\",\n  \"steps_per_graph\": 10,\n  \"rows\": [\n%s\n  ]\n}\n", prop.name,
                rows.c_str());
        fclose(out);
    }
    return 0;
}
