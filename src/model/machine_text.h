#pragma once
// Writes the file of a modelled machine, which MachineFile::parse reads.
#include <span>
#include <string>
#include <string_view>

#include "src/model/machine_file.h"

namespace latchlab::model {

/// Returns the text of a machine file. `values` are in the order of their tables. `comment` stands above, each of its
/// lines behind a '#'. O(values).
[[nodiscard]] std::string machine_text(std::string_view comment, std::string_view name,
                                       std::span<const MachineFile::Value> values);

}  // namespace latchlab::model
