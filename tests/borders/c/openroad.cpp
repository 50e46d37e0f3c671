// The adapter for OpenROAD behind an interface of the same shape as gpl's, held to Poisson's
// equation: with square and with unlike bins, with counts that no power of two divides. And the whole
// density step behind the interface of gpl's gradient, held to sums over bins as gpl makes them.

#include "placefield_openroad.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <vector>

#include "check.h"
#include "shape.hpp"

static double mode(double waves, double at, int bins)
{
  return std::cos(M_PI * waves * at / bins);
}

// rho = sum of modes a cos(wx (i + 1/2)) cos(wy (j + 1/2)), in which the Laplacian is diagonal: phi =
// rho / (kx^2 + ky^2), with lengths in bin widths, so that ky = (pi q / ny) (bin_x / bin_y).
static void poisson(int nx, int ny, float bin_x, float bin_y)
{
  const double modes[3][3] = {{1.0, 2, 1}, {0.5, 0, 3}, {-0.7, 4, 0}};
  const std::size_t bins = static_cast<std::size_t>(nx) * ny;
  std::vector<float> rho(bins), phi(bins), ex(bins), ey(bins);
  std::vector<double> want_phi(bins), want_ex(bins), want_ey(bins);
  for (int i = 0; i < nx; ++i) {
    for (int j = 0; j < ny; ++j) {
      const std::size_t at = static_cast<std::size_t>(i) * ny + j;
      double value = 1.0;
      for (const auto& [a, p, q] : modes) {
        const double kx = M_PI * p / nx, ky = M_PI * q / ny * bin_x / bin_y;
        const double squared = kx * kx + ky * ky;
        const double cx = mode(p, i + 0.5, nx), cy = mode(q, j + 0.5, ny);
        const double sx = std::sin(M_PI * p * (i + 0.5) / nx), sy = std::sin(M_PI * q * (j + 0.5) / ny);
        value += a * cx * cy;
        want_phi[at] += a * cx * cy / squared;
        want_ex[at] += a * kx * sx * cy / squared;
        want_ey[at] += a * ky * cx * sy / squared;
      }
      rho[at] = static_cast<float>(value);
    }
  }
  const std::vector<float> given = rho;
  std::unique_ptr<shape::Backend> backend = std::make_unique<Adapter>(nx, ny, bin_x, bin_y, PLACEFIELD_CPU, 2);
  const shape::Grid none{nullptr, nx, ny};
  auto span = [&](std::vector<float>& map) {
    shape::Grid grid = none;
    grid.data = map.data();
    return grid;
  };
  backend->solve(span(rho), span(phi), span(ex), span(ey));
  CHECK(rho == given);
  auto off = [&](const std::vector<float>& got, const std::vector<double>& want) {
    double square = 0.0, norm = 0.0;
    for (std::size_t at = 0; at < bins; ++at) {
      square += (got[at] - want[at]) * (got[at] - want[at]);
      norm += want[at] * want[at];
    }
    return std::sqrt(square / norm);
  };
  CHECK(off(phi, want_phi) < 2e-6);
  CHECK(off(ex, want_ex) < 2e-6);
  CHECK(off(ey, want_ey) < 2e-6);

  // By second differences, that need no modes: (laplacian phi + rho - mean) is small where the
  // mesh resolves the waves; here only that its sign and the bins' shape are right.
  const int i = nx / 2, j = ny / 2;
  auto p = [&](int di, int dj) { return static_cast<double>(phi[static_cast<std::size_t>(i + di) * ny + j + dj]); };
  const double aspect = static_cast<double>(bin_x) / bin_y;
  const double laplacian
      = p(1, 0) - 2 * p(0, 0) + p(-1, 0) + aspect * aspect * (p(0, 1) - 2 * p(0, 0) + p(0, -1));
  CHECK(std::fabs(laplacian + rho[static_cast<std::size_t>(i) * ny + j] - 1.0) < 0.1);
}

// Cells of all kinds over a die off the origin, and the sums over its bins.
struct Problem
{
  shape::Owner owner{{-50000, 70000, 24, 16, 4000.0, 3000.0}};
  std::vector<shape::Cell> cells;

  void add(shape::Cell::Kind kind, int cx, int cy, int dx, int dy)
  {
    cells.emplace_back(kind, cx, cy, dx, dy, 4000.0, 3000.0);
    owner.cells.clear();
    for (const shape::Cell& cell : cells) {
      owner.cells.emplace_back(&cell);
    }
  }

  explicit Problem(float target)
  {
    owner.target = target;
    for (int j = 0; j < 16; ++j) {
      for (int i = 0; i < 24; ++i) {
        owner.bins.emplace_back(i, j);
      }
    }
    taken(3, 4, 6e6 * target);
    uint32_t seed = 1;
    const auto random = [&](int low, int high) {
      seed = seed * 1664525U + 1013904223U;
      return low + static_cast<int>((seed >> 8) % static_cast<uint32_t>(high - low));
    };
    for (int k = 0; k < 60; ++k) {
      const auto kind = k < 40 ? shape::Cell::kStandard : k < 42 ? shape::Cell::kMacro : shape::Cell::kFiller;
      const int most = kind == shape::Cell::kMacro ? 18000 : 9000;
      add(kind, random(-40000, 36000), random(80000, 108000), random(most / 6, most), random(most / 6, most));
    }
    add(shape::Cell::kPin, -50000, 80000, 500, 500);
  }

  void taken(int i, int j, double area) { owner.bins[j * 24 + i].taken = static_cast<int64_t>(area); }

  template <class Use>
  void overlaps(const shape::Cell& cell, Use use) const
  {
    for (int i = 0; i < 24; ++i) {
      const double low_x = -50000 + 4000.0 * i, low_y = 70000;
      const double wide = std::min<double>(cell.dUx(), low_x + 4000) - std::max<double>(cell.dLx(), low_x);
      for (int j = 0; wide > 0 && j < 16; ++j) {
        const double from = low_y + 3000.0 * j;
        const double high = std::min<double>(cell.dUy(), from + 3000) - std::max<double>(cell.dLy(), from);
        if (high > 0 && !cell.isIOPin()) {
          use(static_cast<std::size_t>(i) * 16 + j, wide * high * cell.getDensityScale());
        }
      }
    }
  }

  // The relative difference, RMS, from the adapter's gradients.
  double off(Density& density) const
  {
    const double target = owner.target;
    std::vector<double> area(24 * 16);
    for (const shape::Bin& bin : owner.bins) {
      area[bin.x() * 16 + bin.y()] = static_cast<double>(bin.getNonPlaceArea());
    }
    for (const shape::Cell& cell : cells) {
      overlaps(cell, [&](std::size_t bin, double of) { area[bin] += cell.isMacroInstance() ? target * of : of; });
    }
    std::vector<float> maps(4 * 24 * 16);
    for (std::size_t bin = 0; bin < area.size(); ++bin) {
      maps[bin] = static_cast<float>(area[bin] / (4000.0 * 3000.0 * target));
    }
    const auto map = [&](int k) { return shape::Grid{maps.data() + k * 24 * 16, 24, 16}; };
    Adapter(24, 16, 4000.0F, 3000.0F, PLACEFIELD_CPU, 1).solve(map(0), map(1), map(2), map(3));
    std::vector<shape::Point> found(cells.size());
    density.getCellGradients(owner.cells, found);
    double square = 0.0, alone_square = 0.0, norm = 0.0;
    for (std::size_t k = 0; k < cells.size(); ++k) {
      double x = 0.0, y = 0.0;
      overlaps(cells[k], [&](std::size_t bin, double of) {
        x += of * maps[2 * 24 * 16 + bin];
        y += of * maps[3 * 24 * 16 + bin];
      });
      square += (found[k].x - x) * (found[k].x - x) + (found[k].y - y) * (found[k].y - y);
      norm += x * x + y * y;
      const shape::Point alone = density.getCellGradient(owner.cells[k]);
      if (!cells[k].isIOPin()) {
        alone_square += (alone.x - x) * (alone.x - x) + (alone.y - y) * (alone.y - y);
      }
    }
    CHECK(std::sqrt(alone_square / norm) < 2e-3);
    return std::sqrt(square / norm);
  }
};

// gpl's whole numbers leave a unit or two of a bin's thousands.
static void gradients(float target)
{
  Problem problem(target);
  Density density(&problem.owner, PLACEFIELD_CPU, 1);
  CHECK(std::string(density.name()) == "CPU (placefield)");
  CHECK(density.getCellGradient(problem.owner.cells[0]).x == 0.0F);
  CHECK(problem.off(density) < 2e-3);
  // Changes in a run: fixed area, a size, the number of cells, a cell's kind, the target density.
  problem.taken(20, 9, 1e7 * target);
  CHECK(problem.off(density) < 2e-3);
  problem.cells[3] = shape::Cell(shape::Cell::kStandard, 0, 90000, 14000, 13000, 4000.0, 3000.0);
  CHECK(problem.off(density) < 2e-3);
  problem.add(shape::Cell::kStandard, 10000, 80000, 7000, 10000);
  CHECK(problem.off(density) < 2e-3);
  problem.cells[3] = shape::Cell(shape::Cell::kMacro, 0, 90000, 14000, 13000, 4000.0, 3000.0);
  CHECK(problem.off(density) < 2e-3);
  problem.owner.target = 0.5F;
  problem.taken(3, 4, 6e6 * 0.5);
  problem.taken(20, 9, 1e7 * 0.5);
  CHECK(problem.off(density) < 2e-3);
  std::vector<shape::Point> few(3);
  bool refused = false;
  try {
    density.getCellGradients(problem.owner.cells, few);
  } catch (const std::runtime_error&) {
    refused = true;
  }
  CHECK(refused);
}

template <class Call>
static bool throws(Call call)
{
  try {
    call();
  } catch (const std::runtime_error& error) {
    return std::string(error.what()).rfind("placefield: ", 0) == 0;
  }
  return false;
}

int main()
{
  poisson(32, 32, 1.0F, 1.0F);
  poisson(32, 64, 2.0F, 1.5F);
  poisson(36, 25, 0.8F, 3.0F);
  poisson(31, 40, 3.0F, 0.5F);

  CHECK(throws([] { Adapter(0, 8, 1.0F, 1.0F); }));
  CHECK(throws([] { Adapter(8, 8, 1.0F, std::nanf("")); }));
  CHECK(throws([] { Adapter(8, 8, 1.0F, 1.0F, 4096); }));
  Adapter small(8, 8, 1.0F, 1.0F);
  CHECK(std::string(small.name()) == "CPU (placefield)");
  std::vector<float> maps(4 * 64, 0.5F);
  auto map = [&](int k) { return shape::Grid{maps.data() + 64 * k, 8, 8}; };
  small.solve(map(0), map(1), map(2), map(3));
  CHECK(maps[64] == 0.0F && maps[0] == 0.5F);
  CHECK(throws([&] { small.solve(shape::Grid{maps.data(), 4, 16}, map(1), map(2), map(3)); }));
  CHECK(throws([&] { small.solve(map(0), map(1), map(1), map(3)); }));
  maps[5] = std::nanf("");
  CHECK(throws([&] { small.solve(map(0), map(1), map(2), map(3)); }));
  NoAdapter().solve(map(0), map(1), map(2), map(3));
  CHECK(std::isnan(maps[5]) && std::string(NoAdapter().name()).rfind("none", 0) == 0);

  gradients(1.0F);
  gradients(0.8F);

  const auto named = [](const char* device) {
    setenv("GPL_PLACEFIELD", device, 1);
    return placefield::device_from_environment();
  };
  CHECK(named("cpu") == PLACEFIELD_CPU && named("0") == 0 && named("12") == 12 && !named(""));
  CHECK(throws([&] { named("cuda:0"); }) && throws([&] { named("99999"); }) && throws([&] { named("-1"); }));
  unsetenv("GPL_PLACEFIELD");
  CHECK(!placefield::device_from_environment());
  std::printf("%d checks passed\n", checks_made);
}
