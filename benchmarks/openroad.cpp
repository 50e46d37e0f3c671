// The adapter for OpenROAD on a CUDA device: a solve from and to host memory beside the copies that it
// cannot do without, one map there and three back, by CUDA's driver alone. Host memory as it comes from
// the allocator, and page-locked. Microseconds, medians of 60 by turns.
//
//   openroad [FILE.json]
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <functional>
#include <vector>

#include "shape.hpp"

#define DRIVER(DO) DO(cuMemAllocHost_v2, (void **, size_t)) DO(cuMemFreeHost, (void *))
#include "driver.h"

static double median(std::vector<double> times)
{
  std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
  return times[times.size() / 2];
}

static double microseconds(const std::function<void()>& body)
{
  const auto begun = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begun).count();
}

int main(int argc, char** argv)
{
  uint32_t devices = 0;
  placefield_error error;
  CHECK(placefield_cuda_devices(&devices, &error) == PLACEFIELD_STATUS_OK);
  if (devices == 0) {
    std::fprintf(stderr, "openroad: no CUDA device: %s\n", error.message);
    return 2;
  }
  open_driver();
  stream_t stream;
  DONE(cuStreamCreate(&stream, 1));
  std::FILE* const json = argc > 1 ? std::fopen(argv[1], "w") : nullptr;
  const char* between = "[";
  std::printf("bins   host memory  copies alone  solve    more\n");
  for (const int side : {512, 1024, 2048, 4096}) {
    const std::size_t bins = static_cast<std::size_t>(side) * side, bytes = bins * sizeof(float);
    address there;
    DONE(cuMemAlloc_v2(&there, 4 * bytes));
    Adapter adapter(side, side, 1.0F, 1.0F, 0);
    for (const bool locked : {false, true}) {
      std::vector<float> paged(locked ? 0 : 4 * bins);
      void* pinned = nullptr;
      if (locked) {
        DONE(cuMemAllocHost_v2(&pinned, 4 * bytes));
      }
      float* const maps = locked ? static_cast<float*>(pinned) : paged.data();
      for (std::size_t k = 0; k < 4 * bins; ++k) {
        maps[k] = static_cast<float>(k % 1013) / 1013 + static_cast<float>(std::sin(0.01 * static_cast<double>(k)));
      }
      const auto map = [&](int k) { return shape::Grid{maps + k * bins, side, side}; };
      const auto copies = [&] {
        DONE(cuMemcpyHtoDAsync_v2(there, maps, bytes, stream));
        for (int k = 1; k < 4; ++k) {
          DONE(cuMemcpyDtoHAsync_v2(maps + k * bins, there + k * bytes, bytes, stream));
        }
        DONE(cuStreamSynchronize(stream));
      };
      const auto solve = [&] { adapter.solve(map(0), map(1), map(2), map(3)); };
      std::vector<double> alone, whole;
      for (int turn = -5; turn < 60; ++turn) {
        const double copied = microseconds(copies), solved = microseconds(solve);
        if (turn >= 0) {
          alone.push_back(copied);
          whole.push_back(solved);
        }
      }
      const double copied = median(alone), solved = median(whole);
      const char* const memory = locked ? "page-locked" : "paged";
      std::printf("%-6d %-12s %10.1f %9.1f %7.1f\n", side, memory, copied, solved, solved - copied);
      if (json != nullptr) {
        std::fprintf(json, "%s{\"bins\": %d, \"memory\": \"%s\", \"copies_us\": %.2f, \"solve_us\": %.2f}",
                     between, side, memory, copied, solved);
        between = ",\n ";
      }
      if (locked) {
        DONE(cuMemFreeHost(pinned));
      }
    }
    DONE(cuMemFree_v2(there));
  }
  if (json != nullptr) {
    std::fprintf(json, "]\n");
    std::fclose(json);
  }
}
