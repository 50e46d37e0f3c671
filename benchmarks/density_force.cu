// Density and force on their own: correctness against a float64 reference on the host,
// then times of every way to call them, next to the mapping that DREAMPlace uses (4 threads
// per body, one atomic addition per bin). One precision a build, -DPF_REAL=float or double:
//
//   nvcc -O3 -std=c++17 -arch=sm_90 -DPF_REAL=float -I kernels -o density_force benchmarks/density_force.cu
//   ./density_force check [small]    correctness only; of small designs only
//   ./density_force time [FILE.json] [SIZE...]
//                                    times; sizes A B C M (M: thousands of macros)
//   ./density_force quick [SIZE...]  without the peer
//   ./density_force parts [SIZE...]  kernels one by one
//   ./density_force sweep [SIZE...]  sizes of chunks
//   ./density_force outside [SIZE...] what bodies outside their halo cost
//   ./density_force once SIZE        one step of each kind, for a profiler
//
// Times are medians over replays of a CUDA graph that holds several steps back to back, per
// step, in microseconds; inputs are resident.
#include "density_force_bench.cuh"

constexpr const char* PRECISION = F64 ? "f64" : "f32";

static std::vector<double> noise(size_t count, u32 seed, double low, double high) {
    std::mt19937_64 rng(seed);
    std::uniform_real_distribution<double> u(low, high);
    std::vector<double> out(count);
    for (double& v : out) v = float(u(rng));
    return out;
}

static int failures = 0;
static void expect(bool good, const char* what, const char* where) {
    if (!good) {
        ++failures;
        printf("FAILED %s: %s\n", where, what);
    }
}

static void check(const Design& d, int chunk, double drift) {
    const size_t bins = size_t(d.nx) * d.ny;
    const auto fixed = noise(bins, 5, 0, 1), ex = noise(bins, 6, -1, 1), ey = noise(bins, 7, -1, 1);
    const double target = 0.9;
    Bench b(d, chunk, fixed, ex, ey, target, drift);
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
        CHECK(cudaMemcpy(slots.data(), b.slot_of, b.n * 4, cudaMemcpyDeviceToHost));
    };
    read_slots();
    {
        auto seen = slots;
        std::sort(seen.begin(), seen.end());
        bool whole = true;
        for (int i = 0; i < b.n; ++i) whole &= seen[i] == u32(i);
        expect(whole, "slots are a permutation", d.name.c_str());
    }
    const bool f32 = !F64;
    const double bound = f32 ? 1e-6 : 3e-13;
    std::vector<double> first;
    printf("check %-12s %s chunk %4d drift %.1f:", d.name.c_str(), PRECISION, b.setup.chunk, drift);
    // By slots, by the caller's order, by slots of a new order.
    for (int order : {SLOTS, PAIRS, SLOTS}) {
        for (int again = 0; again < 2; ++again) {
            CHECK(cudaMemsetAsync(b.rho, 0xff, bins * sizeof(real), b.stream));
            b.density(order);
            b.sync();
            const auto got = download(b.rho, bins);
            const Stats s = b.read_stats();
            const double error = relative(got, rho),
                         found = std::ldexp(double(s.excess), -std::ilogb(double(b.setup.excess_scale)));
            if (first.empty()) {
                first = got;
                double worst = 0;
                for (size_t i = 0; i < bins; ++i) worst = std::max(worst, std::fabs(got[i] - rho[i]));
                printf(" rho %.2e (max %.1e) excess %.1e outside %.2f%%", error, worst,
                       std::fabs(found - excess) / excess, 100.0 * double(s.outside) / b.n);
            }
            expect(error < bound, "rho", d.name.c_str());
            expect(got == first, "the same bits", d.name.c_str());
            expect(std::fabs(found - excess) < (f32 ? 1e-5 : 1e-11) * excess, "excess", d.name.c_str());
            expect(std::fabs(s.largest - most) < (f32 ? 1e-5 : 1e-11) * most, "largest", d.name.c_str());
        }
        if (order == PAIRS) b.order_slots(), b.sync();
    }
    read_slots();
    b.density(PAIRS);  // stages positions in the new order
    for (int way = 0; way < 2; ++way) {
        auto* const at = way == 0 ? b.staged_force : b.force_back;
        CHECK(cudaMemsetAsync(at, 0xff, 2 * b.n * sizeof(real), b.stream));
        b.force(way);
        b.sync();
        const auto pairs = download(reinterpret_cast<const real*>(at), 2 * b.n);
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

// Thousands of bodies in one bin: what sums in shared and global memory must hold.
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
        check(d, chunk, 0);
    }
}

static std::string quoted(const char* name, const Spread& t) {
    char text[200];
    snprintf(text, sizeof text, "\"%s\": {\"median\": %.3f, \"min\": %.3f, \"max\": %.3f, \"samples\": %d}", name,
             t.median, t.min, t.max, t.samples);
    return text;
}

// One line on the terminal, and the same as a JSON object.
static std::string times(const Design& d, int chunk, bool clustered, double drift, bool peer) {
    const size_t bins = size_t(d.nx) * d.ny;
    const auto fixed = noise(bins, 5, 0, 0.1), ex = noise(bins, 6, -1, 1), ey = noise(bins, 7, -1, 1);
    Bench b(d, chunk, fixed, ex, ey, 1.0, drift);
    // From the order of where bodies stood to that of where they stand. A replay
    // makes the same order again, for it goes from one half to the other.
    b.order(b.start), b.sync(), b.to_slots();
    const Spread order = b.time([&] { b.order(b.caller); }, 1, 9);
    b.order(b.start), b.sync(), b.to_slots();
    const Spread reorder = b.time([&] { b.order_slots(); }, 1, 9, [&] { b.reset_slots(); });
    b.order(b.start), b.sync(), b.to_slots();
    const Spread ds = b.time([&] { b.density(SLOTS); });
    const u64 outside = b.read_stats().outside;
    const Spread dc = b.time([&] { b.density(PAIRS); }), fin = b.time([&] { b.finish(); });
    const Spread fs = b.time([&] { b.force(0); }), fc = b.time([&] { b.force(1); });
    printf(
        "%-12s %s chunk %4d drift %.1f | order %6.1f, of slots %6.1f, outside %5.2f%% | density slots %6.1f caller "
        "%6.1f"
        " (finish %5.1f) | force slots %6.1f caller %6.1f",
        d.name.c_str(), PRECISION, b.setup.chunk, drift, order.median, reorder.median, 100.0 * double(outside) / b.n,
        ds.median, dc.median, fin.median, fs.median, fc.median);
    char text[400];
    snprintf(text, sizeof text,
             "{\"design\": \"%c\", \"start\": \"%s\", \"precision\": \"%s\", \"movable\": %d, \"fillers\": %d,"
             " \"large\": %d, \"bins\": %d, \"drift_bins\": %.1f, \"outside\": %llu, \"microseconds\": {",
             d.name[0], clustered ? "clustered" : "uniform", PRECISION, d.movable, b.n - d.movable, b.setup.large, d.nx,
             drift, outside);
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
    Bench b(d, 0, fixed, ex, ey, 1.0, 1.5);
    b.order(b.start);
    b.sync();
    b.to_slots();
    printf("%-12s density %5.1f bodies %5.1f finish %5.1f force %5.1f return %5.1f |", d.name.c_str(),
           b.time([&] { b.density(SLOTS); }).median, b.time([&] { b.bodies(SLOTS); }).median,
           b.time([&] { b.finish(); }).median, b.time([&] { b.force(0); }).median,
           b.time([&] { b.give_back(); }).median);
    const double sweep = b.time([&] { b.sweep(); }).median;
    printf(" after %.1f us of solve-like traffic: density %5.1f caller %5.1f |", sweep,
           b.time([&] { b.sweep(), b.density(SLOTS); }).median - sweep,
           b.time([&] { b.sweep(), b.density(PAIRS); }).median - sweep);
    // The same order again each time, as in `times`.
    const auto none = [&] { CHECK(cudaMemsetAsync(b.counts, 0, b.keys * 4, b.stream)); };
    const auto part = [&](const char* name, const u32* ids, const auto* corners, const OrderOutputs& outputs) {
        const auto counted = [&] { none(), b.count(ids, corners); };
        printf(" %s: count %5.1f", name, b.time([&] { b.count(ids, corners); }, 1, 9, none).median);
        printf(" list %5.1f", b.time([&] { b.list(); }, 1, 9, counted).median);
        printf(" place %5.1f", b.time([&] { b.place(outputs); }, 1, 9, [&] { counted(), b.list(); }).median);
    };
    part("order", b.id_of(), b.caller, {b.slot_of, nullptr, nullptr});
    part("of slots", nullptr, b.slots_kept, {nullptr, b.from, b.slots});
    printf(" and slots inverted %5.1f\n", b.time([&] { b.invert(); }).median);
    fflush(stdout);
}

// Times by how far bodies have moved since they were ordered.
static void outside(const Design& d) {
    const size_t bins = size_t(d.nx) * d.ny;
    const auto fixed = noise(bins, 5, 0, 0.1), ex = noise(bins, 6, -1, 1), ey = noise(bins, 7, -1, 1);
    Bench b(d, 0, fixed, ex, ey, 1.0, 0);
    for (double drift : {0.0, 1.5, 2.0, 2.5, 3.0, 4.0, 8.0}) {
        b.move_by(drift);
        b.order(b.start);
        b.sync();
        b.to_slots();
        const double ds = b.time([&] { b.density(SLOTS); }).median;
        const u64 outside = b.read_stats().outside;
        const double dc = b.time([&] { b.density(PAIRS); }).median, fs = b.time([&] { b.force(0); }).median;
        const double fc = b.time([&] { b.force(1); }).median;
        printf(
            "%-12s drift %.1f outside %7llu %8.4f%% density slots %6.1f caller %6.1f force slots %6.1f caller %6.1f\n",
            d.name.c_str(), drift, outside, 100.0 * double(outside) / b.n, ds, dc, fs, fc);
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
    CHECK(cudaGetDeviceProperties(&prop, 0));
    printf("%s, sm_%d%d, %d SMs, L2 %d MB\n", prop.name, prop.major, prop.minor, prop.multiProcessorCount,
           prop.l2CacheSize >> 20);
    if (mode == "check") {
        for (int macros : {0, 40}) {
            const Design d = make_design("t", false, macros, 1);
            for (int chunk : {1023, 2047})
                for (double drift : {0.0, 4.0, 30.0}) {
                    check(d, chunk, drift);
                }
        }
        check_pile();
        if (argc > 2) return failures != 0;  // "check small"
        check(make_design("A", !F64, 0, 2), 0, 1.5);
        if (!F64) check(make_design("C", false, 0, 2), 0, 1.5);
        if (!F64) check(make_design("M", false, 0, 2), 0, 1.5);
        printf(failures ? "%d FAILURES\n" : "all checks passed\n", failures);
        return failures != 0;
    }
    std::string rows;
    for (const auto& name : names) {
        for (bool clustered : {false, true}) {
            if (clustered && (name == "M" || mode == "parts" || mode == "outside")) break;
            const Design d = make_design(name, clustered, 0, 3);
            const auto add = [&](const std::string& row) { rows += (rows.empty() ? "    " : ",\n    ") + row; };
            if (mode == "quick") {
                add(times(d, 0, clustered, 1.5, false));
            } else if (mode == "time") {
                add(times(d, 0, clustered, 1.5, true));
            } else if (mode == "sweep") {
                for (int chunk : {511, 767, 1023, 1535, 2047}) add(times(d, chunk, clustered, 1.5, false));
            } else if (mode == "outside") {
                outside(d);
            } else if (mode == "parts") {
                parts(d);
            } else if (mode == "once") {
                const size_t bins = size_t(d.nx) * d.ny;
                const auto fixed = noise(bins, 5, 0, 0.1), ex = noise(bins, 6, -1, 1), ey = noise(bins, 7, -1, 1);
                Bench b(d, 0, fixed, ex, ey, 1.0, 1.5);
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
