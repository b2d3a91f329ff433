#pragma once

// The one table of options. An option that describes a run is an axis: it has an `apply`, which writes one
// point of the axis into a Config; the others steer the process.

#include <string>
#include <string_view>
#include <vector>

#include "harness/config/config.h"

namespace latchlab {

struct OptionEntry {
  std::string_view name;      ///< without the dashes
  std::string_view metavar;   ///< what stands for its value in help and errors; empty for a flag
  std::string_view standard;  ///< its default, for help
  std::string_view meaning;   ///< in a few words; empty for those that help does not show
  void (*apply)(Config&, const std::string& value);
};

/// All rows, in the order of help.
[[nodiscard]] const std::vector<OptionEntry>& option_rows();

/// Throws InputError that suggests the nearest name, also of `others`: options that the command has beside these.
[[nodiscard]] const OptionEntry& option_row(std::string_view name, std::vector<std::string> others = {});

}  // namespace latchlab
