// Designs that density_force.cu is timed and checked on, and the model in float64.
#pragma once
#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

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
    if (name == "A") {
        d.movable = 210000, fillers = 160000, d.die_x = 10692, d.nx = 512;
    } else if (name == "B") {
        d.movable = 490000, fillers = 1320000, d.die_x = 23190, d.nx = 1024;
    } else if (name == "C") {
        d.movable = 2170000, fillers = 2720000, d.die_x = 32000, d.nx = 2048;
    } else if (name == "M") {
        d.movable = 490000, fillers = 1320000, d.die_x = 23190, d.nx = 1024;
        macros = 3000;
    } else {
        d.movable = 5000, fillers = 3000, d.die_x = 1003.7, d.nx = 48;
    }  // "t", for correctness
    d.die_y = d.die_x;
    d.ny = d.nx;
    d.xl = 0, d.yl = 0;
    if (name == "t") {
        d.xl = 459.3, d.yl = -77.1, d.die_y = 1731.9, d.ny = 53;
    }
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
            do {
                cx = 0.5 + 0.05 * g(rng);
                cy = 0.5 + 0.05 * g(rng);
            } while (cx < 0 || cx > 1 || cy < 0 || cy > 1);
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
            for (double a : rho) {
                excess += std::max(0.0, a - target);
                most = std::max(most, a);
            }
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
    for (size_t i = 0; i < a.size(); ++i) {
        diff += (a[i] - b[i]) * (a[i] - b[i]);
        norm += b[i] * b[i];
    }
    return std::sqrt(diff / norm);
}
