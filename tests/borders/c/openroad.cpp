// The adapter for OpenROAD behind an interface of the same shape as gpl's, held to Poisson's
// equation: with square and with unlike bins, with counts that no power of two divides.

#include "placefield_openroad.hpp"

#include <cmath>
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
  std::printf("%d checks passed\n", checks_made);
}
