// For OpenROAD's global placer (src/gpl), on the CPU or on a CUDA device, from and to host memory: an
// FftBackend, Poisson's equation for any bin counts and any shape of bins; and a
// DensityGradientBackend, the whole density step of an engine.
// Header only; needs placefield.h and the library. Where it goes is in openroad.md beside it.

#ifndef PLACEFIELD_OPENROAD_HPP
#define PLACEFIELD_OPENROAD_HPP

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "placefield.h"

namespace placefield {

// The device that the environment variable GPL_PLACEFIELD names: "cpu", or the ordinal of a CUDA
// device; nothing where it is not set or empty. Throws std::runtime_error for anything else.
inline std::optional<int> device_from_environment()
{
  const char* const set = std::getenv("GPL_PLACEFIELD");
  if (set == nullptr || *set == '\0') {
    return std::nullopt;
  }
  const std::string device(set);
  if (device == "cpu") {
    return PLACEFIELD_CPU;
  }
  if (device.size() > 4 || device.find_first_not_of("0123456789") != std::string::npos) {
    throw std::runtime_error(
        "placefield: GPL_PLACEFIELD: expected cpu or the number of a CUDA device, found " + device);
  }
  return std::stoi(device);
}

inline void check(placefield_status status, const placefield_error& error)
{
  if (status != PLACEFIELD_STATUS_OK) {
    throw std::runtime_error(std::string("placefield: ") + error.message);
  }
}

inline std::string name_of(int device)
{
  return device == PLACEFIELD_CPU ? "CPU (placefield)"
                                  : "CUDA:" + std::to_string(device) + " (placefield)";
}

// The options of both: f32, and 0 threads are all there are.
inline placefield_options options_for(int device, unsigned threads)
{
  placefield_options options;
  placefield_error error;
  check(placefield_options_init(&options, sizeof options, &error), error);
  options.precision = PLACEFIELD_PRECISION_F32;
  options.device = device;
  options.threads = threads;
  return options;
}

// Base is gpl::FftBackend and Span gpl::BinGridSpan, or classes of the same shape: Base has a
// default constructor for its children, a virtual destructor, and the pure functions
//   void solve(Span density, Span phi, Span field_x, Span field_y)
//   const char* name() const
// Span has float* data with data[x * bin_cnt_y + y], int bin_cnt_x and int bin_cnt_y.
template <class Base, class Span>
class FftBackend final : public Base
{
 public:
  // `device` is PLACEFIELD_CPU or the ordinal of a CUDA device; 0 threads are all there are.
  // Throws std::runtime_error with the library's message.
  FftBackend(int bin_cnt_x,
             int bin_cnt_y,
             float bin_size_x,
             float bin_size_y,
             int device = PLACEFIELD_CPU,
             unsigned threads = 0)
      : bin_cnt_x_(bin_cnt_x), bin_cnt_y_(bin_cnt_y)
  {
    if (bin_cnt_x < 1 || bin_cnt_y < 1) {
      throw std::runtime_error("placefield: expected one bin at least along each axis");
    }
    placefield_grid grid{};
    grid.xh = static_cast<double>(bin_size_x) * bin_cnt_x;
    grid.yh = static_cast<double>(bin_size_y) * bin_cnt_y;
    grid.nx = static_cast<uint32_t>(bin_cnt_x);
    grid.ny = static_cast<uint32_t>(bin_cnt_y);
    const placefield_options options = options_for(device, threads);
    placefield_error error;
    check(placefield_solver_new(&grid, &options, &solver_, &error), error);
    name_ = name_of(device);
  }

  ~FftBackend() override { placefield_solver_free(solver_, nullptr); }

  // Throws std::runtime_error where a span is of another grid, a density is not finite, or the
  // device failed; phi and the field are then as they were, or undefined after a device's failure.
  void solve(Span density, Span phi, Span field_x, Span field_y) override
  {
    for (const Span* span : {&density, &phi, &field_x, &field_y}) {
      if (span->bin_cnt_x != bin_cnt_x_ || span->bin_cnt_y != bin_cnt_y_) {
        throw std::runtime_error("placefield: a map of another grid");
      }
    }
    const std::size_t bins = static_cast<std::size_t>(bin_cnt_x_) * bin_cnt_y_;
    placefield_error error;
    check(placefield_solver_solve(solver_, PLACEFIELD_PRECISION_F32, density.data, phi.data, field_x.data,
                                  field_y.data, bins, nullptr, &error),
          error);
  }

  const char* name() const override { return name_.c_str(); }

 private:
  int bin_cnt_x_;
  int bin_cnt_y_;
  placefield_solver* solver_ = nullptr;
  std::string name_;
};

// An FftBackend that solves nothing, for use beside DensityGradientBackend, which solves by itself:
// phi and the field in the bins stay what they are, zero. gpl's CPU path reads them for gradients
// alone, and besides for its pictures and one debug message.
template <class Base, class Span>
class NoFftBackend final : public Base
{
 public:
  void solve(Span /*density*/, Span /*phi*/, Span /*field_x*/, Span /*field_y*/) override {}
  const char* name() const override { return "none (placefield's gradient solves)"; }
};

// A DensityGradientBackend: density of all cells, solve and forces in one step of an engine, from the
// cells' positions, sizes and the fixed area that gpl's bins hold. Base is
// gpl::DensityGradientBackend, Owner gpl::NesterovBase, Handle gpl::GCellHandle, Cell gpl::GCell and
// Point gpl::FloatPoint, or classes of the same shape.
//
// Changes in a run (sizes, cells, target density, fixed area) are noticed at every call. Fixed
// area that gpl counts above a bin's own, up to 1.1 of it in the middle of macros, counts as the
// bin's.
template <class Base, class Owner, class Handle, class Cell, class Point>
class DensityGradientBackend final : public Base
{
 public:
  // As FftBackend. Nothing is made before the first call.
  explicit DensityGradientBackend(Owner* owner, int device = PLACEFIELD_CPU, unsigned threads = 0)
      : owner_(owner), options_(options_for(device, threads)), name_(name_of(device))
  {
  }

  ~DensityGradientBackend() override { placefield_engine_free(engine_, nullptr); }

  // Throws std::runtime_error where the engine cannot be made, or `cells` are not all of the owner's:
  // their density is that of them all.
  void getCellGradients(const std::vector<Handle>& cells, std::vector<Point>& out) override
  {
    const std::size_t count = cells.size();
    if (count != owner_->getGCells().size() || out.size() < count) {
      throw std::runtime_error("placefield: expected all cells, and a gradient for each");
    }
    if (count == 0) {
      return;
    }
    follow(cells);
    const double lx = owner_->getBinGrid().lx(), ly = owner_->getBinGrid().ly();
    for (std::size_t i = 0; i < count; ++i) {
      const Cell* const cell = cells[i];
      x_[i] = static_cast<float>((cell->dLx() + cell->dUx() - width_[i]) / 2 - lx);
      y_[i] = static_cast<float>((cell->dLy() + cell->dUy() - height_[i]) / 2 - ly);
    }
    placefield_error error;
    fields_read_ = false;
    check(placefield_engine_evaluate(engine_, PLACEFIELD_PRECISION_F32, x_.data(), y_.data(), count, nullptr,
                                     &error),
          error);
    check(placefield_engine_force(engine_, PLACEFIELD_PRECISION_F32, x_.data(), y_.data(), count, &error),
          error);
    for (std::size_t i = 0; i < count; ++i) {
      // gpl's density is a share of the target density; it counts macros by the target density in the
      // density, as the engine does, but not in their gradient.
      const float scale = static_cast<float>(1 / (macro_[i] != 0 ? target_ * target_ : target_));
      out[i].x = x_[i] * scale;
      out[i].y = y_[i] * scale;
    }
  }

  // The gradient of one cell in the field of the last call of getCellGradients, as gpl's own CPU
  // backend adds it up; zero before the first.
  Point getCellGradient(const Cell* cell) override
  {
    Point gradient;
    if (x_.empty()) {
      return gradient;
    }
    if (!fields_read_) {
      placefield_error error;
      field_x_.resize(bins_);
      field_y_.resize(bins_);
      check(placefield_engine_map(engine_, PLACEFIELD_PRECISION_F32, PLACEFIELD_MAP_FIELD_X,
                                  field_x_.data(), bins_, &error),
            error);
      check(placefield_engine_map(engine_, PLACEFIELD_PRECISION_F32, PLACEFIELD_MAP_FIELD_Y,
                                  field_y_.data(), bins_, &error),
            error);
      fields_read_ = true;
    }
    const auto& grid = owner_->getBinGrid();
    const auto xs = grid.getDensityMinMaxIdxX(cell), ys = grid.getDensityMinMaxIdxY(cell);
    const double size_x = grid.getBinSizeX(), size_y = grid.getBinSizeY();
    const auto overlap = [](double low, double high, double from, double size) {
      return std::max(0.0, std::min(high, from + size) - std::max(low, from));
    };
    double sum_x = 0, sum_y = 0;
    for (int i = xs.first; i < xs.second; ++i) {
      const double wide = overlap(cell->dLx(), cell->dUx(), grid.lx() + i * size_x, size_x);
      for (int j = ys.first; j < ys.second; ++j) {
        const double area = wide * overlap(cell->dLy(), cell->dUy(), grid.ly() + j * size_y, size_y);
        const std::size_t bin = static_cast<std::size_t>(i) * grid.getBinCntY() + j;
        sum_x += area * field_x_[bin];
        sum_y += area * field_y_[bin];
      }
    }
    const double scale = cell->getDensityScale() / target_;
    gradient.x = static_cast<float>(sum_x * scale);
    gradient.y = static_cast<float>(sum_y * scale);
    return gradient;
  }

  const char* name() const override { return name_.c_str(); }

 private:
  // Has the engine be of the cells, bins and target density as they are now.
  void follow(const std::vector<Handle>& cells)
  {
    const std::size_t count = cells.size();
    const double target = owner_->getTargetDensity();
    anew_ = anew_ || count != width_.size() || target != target_;
    width_.resize(count);
    height_.resize(count);
    macro_.resize(count);
    x_.resize(count);
    y_.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
      const Cell* const cell = cells[i];
      // Pins of the border have no density.
      const bool none = cell->isIOPin();
      const double width = none ? 0.0 : cell->dx(), height = none ? 0.0 : cell->dy();
      const std::uint8_t macro = cell->isMacroInstance() ? 1 : 0;
      sized_ = sized_ || width != width_[i] || height != height_[i];
      anew_ = anew_ || macro != macro_[i];
      width_[i] = width;
      height_[i] = height;
      macro_[i] = macro;
    }
    placefield_error error;
    if (anew_) {
      make(target);
    } else if (sized_) {
      check(placefield_engine_set_sizes(engine_, width_.data(), height_.data(), count, &error), error);
    }
    anew_ = sized_ = false;
    for (const auto& bin : owner_->getBins()) {
      const std::size_t at = static_cast<std::size_t>(bin.x()) * owner_->getBinGrid().getBinCntY() + bin.y();
      const double taken = static_cast<double>(bin.getNonPlaceArea()) / target_;
      blocked_ = blocked_ || taken != taken_[at];
      taken_[at] = taken;
    }
    if (blocked_) {
      check(placefield_engine_set_blocked_area(engine_, taken_.data(), bins_, &error), error);
      blocked_ = false;
    }
  }

  // A new engine for `width_`, `height_` and `macro_`.
  void make(double target)
  {
    placefield_error error;
    placefield_engine_free(std::exchange(engine_, nullptr), nullptr);
    const auto& bins = owner_->getBinGrid();
    placefield_grid grid{};
    grid.xh = bins.getBinSizeX() * bins.getBinCntX();
    grid.yh = bins.getBinSizeY() * bins.getBinCntY();
    grid.nx = static_cast<uint32_t>(bins.getBinCntX());
    grid.ny = static_cast<uint32_t>(bins.getBinCntY());
    placefield_bodies bodies;
    check(placefield_bodies_init(&bodies, sizeof bodies, &error), error);
    // gpl's fillers too: it counts its overflow itself.
    bodies.movable = width_.size();
    bodies.width = width_.data();
    bodies.height = height_.data();
    bodies.macros = macro_.data();
    bodies.target_density = std::min(target, 1.0);
    check(placefield_engine_new(&grid, &bodies, &options_, &engine_, &error), error);
    target_ = target;
    bins_ = static_cast<std::size_t>(grid.nx) * grid.ny;
    taken_.assign(bins_, 0.0);
  }

  Owner* owner_;
  placefield_options options_;
  std::string name_;
  placefield_engine* engine_ = nullptr;
  double target_ = 0;
  std::size_t bins_ = 0;
  std::vector<double> width_, height_, taken_;
  std::vector<std::uint8_t> macro_;
  std::vector<float> x_, y_, field_x_, field_y_;
  // The changes that the engine has not been given yet, after an error too.
  bool anew_ = true, sized_ = false, blocked_ = false, fields_read_ = false;
};

}  // namespace placefield

#endif
