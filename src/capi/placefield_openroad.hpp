// An FftBackend for OpenROAD's global placer (src/gpl): Poisson's equation by placefield, on the CPU
// or on a CUDA device, for any bin counts and any shape of bins, from and to host memory.
// Header only; needs placefield.h and the library. Where it goes is in openroad.md beside it.

#ifndef PLACEFIELD_OPENROAD_HPP
#define PLACEFIELD_OPENROAD_HPP

#include <cstddef>
#include <stdexcept>
#include <string>

#include "placefield.h"

namespace placefield {

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
    placefield_options options;
    placefield_error error;
    check(placefield_options_init(&options, sizeof options, &error), error);
    options.precision = PLACEFIELD_PRECISION_F32;
    options.device = device;
    options.threads = threads;
    check(placefield_solver_new(&grid, &options, &solver_, &error), error);
    name_ = device == PLACEFIELD_CPU ? "CPU (placefield)"
                                     : "CUDA:" + std::to_string(device) + " (placefield)";
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
    check(placefield_solver_solve_f32(
              solver_, density.data, phi.data, field_x.data, field_y.data, bins, nullptr, &error),
          error);
  }

  const char* name() const override { return name_.c_str(); }

 private:
  static void check(placefield_status status, const placefield_error& error)
  {
    if (status != PLACEFIELD_STATUS_OK) {
      throw std::runtime_error(std::string("placefield: ") + error.message);
    }
  }

  int bin_cnt_x_;
  int bin_cnt_y_;
  placefield_solver* solver_ = nullptr;
  std::string name_;
};

}  // namespace placefield

#endif
