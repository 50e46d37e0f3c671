// One design on the device: its arrays as the engine holds them, and every step on them.
#pragma once
#include "bodies/density.cu"
#include "bodies/force.cu"
#include "bodies/order.cu"

#include "cuda_harness.h"
#include "density_force_model.h"
#include "density_force_peer.cuh"

#include <functional>

template <typename V> V* upload(const std::vector<V>& host) {
    V* device;
    CHECK(cudaMalloc(&device, std::max<size_t>(1, host.size()) * sizeof(V)));
    CHECK(cudaMemcpy(device, host.data(), host.size() * sizeof(V), cudaMemcpyHostToDevice));
    return device;
}
template <typename V> V* room(size_t count, std::vector<void*>& owned) {
    V* device;
    CHECK(cudaMalloc(&device, std::max<size_t>(1, count) * sizeof(V)));
    CHECK(cudaMemset(device, 0, std::max<size_t>(1, count) * sizeof(V)));
    owned.push_back(device);
    return device;
}
template <typename V> std::vector<double> download(const V* device, size_t count) {
    std::vector<V> host(count);
    CHECK(cudaMemcpy(host.data(), device, count * sizeof(V), cudaMemcpyDeviceToHost));
    return std::vector<double>(host.begin(), host.end());
}

static int sm_count() {
    int value;
    CHECK(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 0));
    return value;
}

static Axis axis(double origin, double bin) {
    Axis a;
    a.origin_hi = real(origin);
    a.origin_lo = real(origin - double(a.origin_hi));
    a.bin_hi = real(bin);
    a.bin_lo = real(bin - double(a.bin_hi));
    a.inverse = real(1 / bin);
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

struct Bench {
    const Design& d;
    Setup setup{};
    std::vector<void*> owned;
    int n, tiles, max_chunks, keys;
    size_t bins;
    u32 half;  // of ids and records, that the order is in
    // Lower-left corners: where bodies are ordered, and where they are by then, in the
    // caller's order and in slots (with what `reset_slots` brings back).
    real2 *start, *caller, *slots, *slots_kept, *staged, *staged_force, *force_back;
    real *ex, *ey, *fixed, *rho;
    Record *records, *macros;
    u32 *counts, *cursors, *slot_of, *ids, *from, *outside, *flags, *outside_weight;
    Sum* sums;
    u64 *rest, *differences;
    Tile* listed;
    Chunk* chunks;
    Stats* stats;
    Age* age;
    u64* posted;
    float4* swept;
    cudaStream_t stream;
    std::vector<double> host_x, host_y;  // as the device has them
    // the peer's arrays
    real *px, *py, *pw, *ph, *pox, *poy, *pratio, *pfx, *pfy;
    int* psorted;

    template <typename V> V* keep(V* p) {
        owned.push_back(p);
        return p;
    }

    Bench(const Design& design, int chunk, const std::vector<double>& fixed_map, const std::vector<double>& field_x,
          const std::vector<double>& field_y, double target, double drift)
        : d(design) {
        CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
        n = d.bodies();
        bins = size_t(d.nx) * d.ny;
        const double bx = d.bin_x(), by = d.bin_y(), s2 = std::sqrt(2.0);
        std::vector<Record> first_records, macro_records;
        std::vector<u32> first_ids;
        double weight = 0;
        int movable_macros = 0;
        for (int i = 0; i < n; ++i) {
            Record r;
            r.w = real(d.w[i] / bx);
            r.h = real(d.h[i] / by);
            r.ratio = real(d.ratio[i]);
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
        setup.x = axis(d.xl, bx);
        setup.y = axis(d.yl, by);
        setup.stretch = real(s2);
        setup.filler_w = real(d.filler_w / bx);
        setup.filler_h = real(d.filler_h / by);
        setup.filler_ratio = n > d.movable ? real(d.ratio[n - 1]) : real(0);
        setup.target = real(target);
        setup.force_unit = real(bx * by);
        setup.nx = d.nx, setup.ny = d.ny;
        setup.large = int(macro_records.size());
        setup.rank = 0, setup.ranks = 1;
        setup.movable_ids = d.movable;
        setup.bodies = n - setup.large;
        setup.movable = setup.records = d.movable - movable_macros;
        setup.tiles_x = (d.nx + TILE - 1) / TILE;
        setup.tiles_y = (d.ny + TILE - 1) / TILE;
        tiles = setup.tiles_x * setup.tiles_y;
        if (!chunk) chunk = setup.bodies < sm_count() * 4096 ? 1023 : 2047;
        setup.chunk = chunk;
        const int spare = int(std::ceil(std::log2(chunk + 1.0)));
        setup.limb_bits = 32 - spare;
        const int capacity = int(std::ceil(std::log2(weight + 2)));
        const int bits = !F64 ? 32 - spare : std::min(2 * setup.limb_bits, 64 - capacity);
        setup.scale = real(std::ldexp(1.0, bits));
        setup.unscale = real(std::ldexp(1.0, -bits));
        max_chunks = tiles + setup.bodies / chunk + 1;
        setup.max_chunks = max_chunks;
        keys = tiles * 2;
        setup.excess_scale = real(std::ldexp(1.0, 62 - int(std::ceil(std::log2(weight + double(bins))))));

        px = room<real>(n, owned), py = room<real>(n, owned), pfx = room<real>(n, owned), pfy = room<real>(n, owned);
        start = room<real2>(n, owned), caller = room<real2>(n, owned), slots = room<real2>(n, owned);
        slots_kept = room<real2>(n, owned), force_back = room<real2>(n, owned);
        move_by(0);
        CHECK(cudaMemcpy(start, caller, n * sizeof(real2), cudaMemcpyDeviceToDevice));
        move_by(drift);
        macros = keep(upload(macro_records));
        ex = keep(upload(std::vector<real>(field_x.begin(), field_x.end())));
        ey = keep(upload(std::vector<real>(field_y.begin(), field_y.end())));
        fixed = keep(upload(std::vector<real>(fixed_map.begin(), fixed_map.end())));
        rho = room<real>(bins, owned);
        staged = room<real2>(n, owned), staged_force = room<real2>(n, owned);
        half = 0;
        first_records.resize(2 * setup.records);
        records = keep(upload(first_records));
        first_ids.resize(2 * n);
        ids = keep(upload(first_ids));
        counts = room<u32>(keys, owned), cursors = room<u32>(keys, owned);
        slot_of = room<u32>(n, owned), from = room<u32>(n, owned);
        outside = room<u32>(1, owned);
        flags = room<u32>(tiles, owned), outside_weight = room<u32>(tiles, owned);
        sums = room<Sum>(2 * bins, owned), rest = room<u64>(F64 ? 0 : 2 * bins, owned);
        differences = room<u64>(setup.large ? 2 * size_t(tiles) * TILE * TILE : 0, owned);
        listed = room<Tile>(tiles + 1, owned);
        chunks = room<Chunk>(max_chunks, owned);
        stats = room<Stats>(1, owned);
        age = room<Age>(1, owned);
        CHECK(cudaMallocHost(&posted, sizeof(u64)));
        swept = room<float4>(swept_quads(), owned);

        std::vector<real> w(n), h(n), ox(n), oy(n), ra(n);
        for (int i = 0; i < n; ++i) {
            const double sw = std::max(d.w[i], s2 * bx), sh = std::max(d.h[i], s2 * by);
            w[i] = real(sw), h[i] = real(sh), ox[i] = real(0.5 * (d.w[i] - sw)), oy[i] = real(0.5 * (d.h[i] - sh)),
            ra[i] = real(d.ratio[i]);
        }
        std::vector<int> by_width(d.movable);
        for (int i = 0; i < d.movable; ++i) by_width[i] = i;
        std::stable_sort(by_width.begin(), by_width.end(), [&](int a, int b) { return w[a] < w[b]; });
        pw = keep(upload(w)), ph = keep(upload(h)), pox = keep(upload(ox)), poy = keep(upload(oy)),
        pratio = keep(upload(ra));
        psorted = keep(upload(by_width));
    }
    // Every body a Gaussian of `drift` bins from where it is ordered.
    void move_by(double drift) {
        std::mt19937 rng(99);
        std::normal_distribution<float> g(0, 1);
        std::vector<real> hx(n), hy(n);
        std::vector<real2> pairs(n);
        for (int i = 0; i < n; ++i) {
            pairs[i].x = hx[i] = real(d.x[i] + drift * d.bin_x() * g(rng));
            pairs[i].y = hy[i] = real(d.y[i] + drift * d.bin_y() * g(rng));
        }
        host_x.assign(hx.begin(), hx.end());
        host_y.assign(hy.begin(), hy.end());
        CHECK(cudaMemcpy(px, hx.data(), n * sizeof(real), cudaMemcpyHostToDevice));
        CHECK(cudaMemcpy(py, hy.data(), n * sizeof(real), cudaMemcpyHostToDevice));
        CHECK(cudaMemcpy(caller, pairs.data(), n * sizeof(real2), cudaMemcpyHostToDevice));
    }
    // Reads and writes six maps, as a solve does: what it leaves of L2.
    size_t swept_quads() const { return 6 * bins * sizeof(real) / sizeof(float4); }
    void sweep() { sweep_maps<<<grid(swept_quads()), 256, 0, stream>>>(swept, swept_quads()); }
    static constexpr size_t dense_bytes = LIMB_STRIDE * (sizeof(real) / 4),
                            field_bytes = size_t(PATCH) * PATCH * sizeof(real2);
    ~Bench() {
        for (void* p : owned) cudaFree(p);
        cudaFreeHost(posted);
        cudaStreamDestroy(stream);
    }

    int grid(size_t count) const { return int((count + 255) / 256); }

    u32* id_of() { return ids + half * n; }
    template <typename Kernel, typename... Arguments>
    void count_or_place(Kernel kernel, bool overlap, Arguments... arguments) {
        const int threads = setup.bodies < sm_count() * 4096 ? 128 : 512, each = threads * ORDER_EACH;
        const int bytes = keys * 4 + each * 2;
        const bool local = bytes <= 48000;
        launch(kernel, (n + each - 1) / each, threads, local ? bytes : 0, overlap, stream, setup, arguments...,
               int(local), Regions{});
    }
    void count(const u32* order, const real2* corners) {
        count_or_place(order ? order_count_pairs : order_count_slots, false, order, corners, counts, staged);
    }
    void list() { launch(order_tiles, 1, 1024, 0, true, stream, setup, (uint2*)counts, (uint2*)cursors, listed, age); }
    void place(const OrderOutputs& outputs) {
        count_or_place(order_place, true, (const real2*)staged, cursors, ids, records, half, outputs,
                       (const Tile*)listed, chunks);
    }
    // From the caller's order.
    void order(const real2* corners) {
        count(id_of(), corners), list(), place({slot_of, nullptr, nullptr});
        half ^= 1;
    }
    // From slots, corners with them.
    void order_slots() {
        count(nullptr, slots), list(), place({nullptr, from, slots});
        half ^= 1;
    }
    void invert() { order_invert<<<grid(n), 256, 0, stream>>>(n, id_of(), slot_of); }
    // Positions that a placer with arrays in slot order holds since then.
    void to_slots() {
        std::vector<u32> id(n);
        CHECK(cudaMemcpyAsync(id.data(), id_of(), n * 4, cudaMemcpyDeviceToHost, stream));
        CHECK(cudaStreamSynchronize(stream));
        std::vector<real2> pairs(n);
        for (int k = 0; k < n; ++k) pairs[k].x = real(host_x[id[k]]), pairs[k].y = real(host_y[id[k]]);
        CHECK(cudaMemcpyAsync(slots_kept, pairs.data(), n * sizeof(real2), cudaMemcpyHostToDevice, stream));
        reset_slots();
        sync();
    }
    void reset_slots() {
        CHECK(cudaMemcpyAsync(slots, slots_kept, n * sizeof(real2), cudaMemcpyDeviceToDevice, stream));
    }
    void bodies(int order) {
        auto kernel = order == SLOTS ? density_slots : density_pairs;
        kernel<<<max_chunks + (setup.large + 7) / 8, 256, dense_bytes, stream>>>(
            setup, chunks, macros, records, ids, order == SLOTS ? slots : caller, staged, sums, rest, outside_weight,
            differences, flags, outside, stats, Regions{});
        if (setup.large) density_large<<<tiles, 256, 0, stream>>>(setup, sums, rest, differences, flags);
    }
    void finish() {
        launch(density_finish, int((bins + 1023) / 1024) + 1, 256, 0, true, stream, setup, (const real*)fixed,
               (const real*)nullptr, sums, rest, outside_weight, 0u, u32(bins), rho, outside, stats, age, posted,
               (const real*)nullptr);
    }
    void density(int order) {
        bodies(order);
        finish();
    }
    // 0: corners and forces in slots; 1: corners as the density staged them, forces to the caller's order
    void force(int way) {
        force_slots<<<max_chunks + setup.large, 256, field_bytes, stream>>>(
            setup, chunks, macros, records, way == 0 ? slots : staged, ex, ey, staged_force, Regions{});
        if (way == 1) give_back();
    }
    void give_back() {
        const int each = 256 * RETURN_EACH;
        launch(force_pairs, (n + each - 1) / each, 256, 0, true, stream, setup, slot_of, staged_force,
               (real*)force_back, real(1), (const real*)nullptr, 0, (const double*)nullptr, 0u,
               (real*)nullptr);
    }
    void peer_step_density() {
        const dim3 block(2, 2, 64);
        CHECK(cudaMemcpyAsync(rho, fixed, bins * sizeof(real), cudaMemcpyDeviceToDevice, stream));
        const real xl = real(d.xl), yl = real(d.yl), bx = real(d.bin_x()), by = real(d.bin_y()),
                   ix = real(1 / d.bin_x()), iy = real(1 / d.bin_y());
        const int m = d.movable, f = n - m;
        peer_density<<<(m + 63) / 64, block, 0, stream>>>(px, py, pw, ph, pox, poy, pratio, psorted, m, xl, yl, bx, by,
                                                          ix, iy, d.nx, d.ny, rho);
        peer_density<<<(f + 63) / 64, block, 0, stream>>>(px + m, py + m, pw + m, ph + m, pox + m, poy + m, pratio + m,
                                                          nullptr, f, xl, yl, bx, by, ix, iy, d.nx, d.ny, rho);
    }
    void peer_step_force() {
        const dim3 block(2, 2, 64);
        const real xl = real(d.xl), yl = real(d.yl), bx = real(d.bin_x()), by = real(d.bin_y()),
                   ix = real(1 / d.bin_x()), iy = real(1 / d.bin_y());
        const int m = d.movable, f = n - m;
        peer_force<<<(m + 63) / 64, block, 0, stream>>>(px, py, pw, ph, pox, poy, pratio, psorted, m, xl, yl, bx, by,
                                                        ix, iy, d.nx, d.ny, ex, ey, pfx, pfy);
        peer_force<<<(f + 63) / 64, block, 0, stream>>>(px + m, py + m, pw + m, ph + m, pox + m, poy + m, pratio + m,
                                                        nullptr, f, xl, yl, bx, by, ix, iy, d.nx, d.ny, ex, ey, pfx + m,
                                                        pfy + m);
    }
    // Microseconds per call of `step` in a graph that holds several; `before`
    // runs before every replay and is not timed.
    Spread time(
        const std::function<void()>& step, int inner = 10, int replays = 15,
        const std::function<void()>& before = [] {}) {
        cudaGraph_t graph;
        cudaGraphExec_t exec;
        CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
        for (int k = 0; k < inner; ++k) step();
        CHECK(cudaStreamEndCapture(stream, &graph));
        CHECK(cudaGraphInstantiate(&exec, graph, 0));
        cudaEvent_t a, b;
        CHECK(cudaEventCreate(&a));
        CHECK(cudaEventCreate(&b));
        std::vector<double> all;
        for (int k = 0; k < replays + 2; ++k) {
            before();
            CHECK(cudaEventRecord(a, stream));
            CHECK(cudaGraphLaunch(exec, stream));
            CHECK(cudaEventRecord(b, stream));
            CHECK(cudaEventSynchronize(b));
            float ms;
            CHECK(cudaEventElapsedTime(&ms, a, b));
            if (k >= 2) all.push_back(ms * 1000.0 / inner);
        }
        CHECK(cudaGetLastError());
        cudaGraphExecDestroy(exec);
        cudaGraphDestroy(graph);
        cudaEventDestroy(a);
        cudaEventDestroy(b);
        std::sort(all.begin(), all.end());
        return {all[all.size() / 2], all.front(), all.back(), replays};
    }
    void sync() {
        CHECK(cudaStreamSynchronize(stream));
        CHECK(cudaGetLastError());
    }
    Stats read_stats() {
        Stats s;
        CHECK(cudaMemcpy(&s, stats, sizeof s, cudaMemcpyDeviceToHost));
        return s;
    }
};
