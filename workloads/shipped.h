#pragma once

// The workload files of workloads/wiscer/, which are part of the library (cmake/shipped.cmake).

#include <string_view>
#include <vector>

namespace latchlab {

struct Shipped {
  std::string_view name;  ///< of the file, without folder and .txt
  std::string_view text;
};

[[nodiscard]] const std::vector<Shipped>& shipped_wiscer_files();

}  // namespace latchlab
