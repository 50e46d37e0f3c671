// Interfaces of the same shape as gpl's for its transforms and its density's gradient, and the adapters behind them.
#ifndef SHAPE_HPP
#define SHAPE_HPP

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "placefield_openroad.hpp"

namespace shape {

struct Grid
{
  float* data = nullptr;
  int bin_cnt_x = 0;
  int bin_cnt_y = 0;
};

class Backend
{
 public:
  virtual ~Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;
  virtual void solve(Grid density, Grid phi, Grid field_x, Grid field_y) = 0;
  virtual const char* name() const = 0;

 protected:
  Backend() = default;
};

struct Point
{
  float x = 0;
  float y = 0;
};

// A cell in whole units, with the size that its density is spread over: of the square root of 2 bins at least.
class Cell
{
 public:
  enum Kind { kStandard, kMacro, kFiller, kPin };

  Cell(Kind kind, int cx, int cy, int dx, int dy, double bin_x, double bin_y) : kind_(kind), dx_(dx), dy_(dy)
  {
    const double least_x = std::sqrt(2) * bin_x, least_y = std::sqrt(2) * bin_y;
    scale_ = static_cast<float>(std::min(1.0, dx / least_x) * std::min(1.0, dy / least_y));
    const int wide = static_cast<int>(std::max<double>(dx, least_x));
    const int high = static_cast<int>(std::max<double>(dy, least_y));
    d_lx_ = cx - wide / 2;
    d_ly_ = cy - high / 2;
    d_ux_ = cx + wide / 2;
    d_uy_ = cy + high / 2;
  }

  int dLx() const { return d_lx_; }
  int dLy() const { return d_ly_; }
  int dUx() const { return d_ux_; }
  int dUy() const { return d_uy_; }
  int dx() const { return dx_; }
  int dy() const { return dy_; }
  float getDensityScale() const { return scale_; }
  bool isMacroInstance() const { return kind_ == kMacro; }
  bool isIOPin() const { return kind_ == kPin; }

 private:
  Kind kind_;
  int dx_, dy_, d_lx_, d_ly_, d_ux_, d_uy_;
  float scale_;
};

class Handle
{
 public:
  explicit Handle(const Cell* cell) : cell_(cell) {}
  operator const Cell*() const { return cell_; }

 private:
  const Cell* cell_;
};

class Bin
{
 public:
  Bin(int x, int y) : x_(x), y_(y) {}
  int x() const { return x_; }
  int y() const { return y_; }
  int64_t getNonPlaceArea() const { return taken; }
  int64_t taken = 0;

 private:
  int x_, y_;
};

class BinGrid
{
 public:
  BinGrid(int lx, int ly, int nx, int ny, double size_x, double size_y)
      : lx_(lx), ly_(ly), nx_(nx), ny_(ny), size_x_(size_x), size_y_(size_y)
  {
  }
  int lx() const { return lx_; }
  int ly() const { return ly_; }
  int getBinCntX() const { return nx_; }
  int getBinCntY() const { return ny_; }
  double getBinSizeX() const { return size_x_; }
  double getBinSizeY() const { return size_y_; }
  std::pair<int, int> getDensityMinMaxIdxX(const Cell* cell) const
  {
    return range(cell->dLx() - lx_, cell->dUx() - lx_, size_x_, nx_);
  }
  std::pair<int, int> getDensityMinMaxIdxY(const Cell* cell) const
  {
    return range(cell->dLy() - ly_, cell->dUy() - ly_, size_y_, ny_);
  }

 private:
  static std::pair<int, int> range(int low, int high, double size, int count)
  {
    return {std::max(static_cast<int>(low / size), 0), std::min(static_cast<int>(std::ceil(high / size)), count)};
  }

  int lx_, ly_, nx_, ny_;
  double size_x_, size_y_;
};

struct Owner
{
  BinGrid grid;
  std::vector<Bin> bins{};
  std::vector<Handle> cells{};
  float target = 1.0F;

  BinGrid& getBinGrid() { return grid; }
  std::vector<Bin>& getBins() { return bins; }
  const std::vector<Handle>& getGCells() const { return cells; }
  float getTargetDensity() const { return target; }
};

class Gradients
{
 public:
  virtual ~Gradients() = default;
  Gradients(const Gradients&) = delete;
  Gradients& operator=(const Gradients&) = delete;
  virtual void getCellGradients(const std::vector<Handle>& cells, std::vector<Point>& out) = 0;
  virtual Point getCellGradient(const Cell* cell) = 0;
  virtual const char* name() const = 0;

 protected:
  Gradients() = default;
};

}  // namespace shape

using Adapter = placefield::FftBackend<shape::Backend, shape::Grid>;
using NoAdapter = placefield::NoFftBackend<shape::Backend, shape::Grid>;
using Density = placefield::
    DensityGradientBackend<shape::Gradients, shape::Owner, shape::Handle, shape::Cell, shape::Point>;

#endif
