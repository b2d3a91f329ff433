#pragma once

// The workload files of workloads/wiscer/, which are compiled into the library (cmake/shipped.cmake).

#include <string_view>
#include <vector>

namespace latchlab {

struct Shipped {
  std::string_view name;  ///< the file's name, without folder and .txt
  std::string_view text;
};

[[nodiscard]] const std::vector<Shipped>& shipped_wiscer_files();

}  // namespace latchlab
