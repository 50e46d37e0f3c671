// An interface of the same shape as gpl's for its transforms, and the adapter behind it.
#ifndef SHAPE_HPP
#define SHAPE_HPP

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

}  // namespace shape

using Adapter = placefield::FftBackend<shape::Backend, shape::Grid>;

#endif
